//! What is known of a call before its next attempt, and whether there is one (U-17).

use std::time::Duration;

use super::super::guest::LogLine;
use super::super::station::Station;
use super::{Outcome, Request};
use crate::rules::caller::Caller;
use crate::rules::flow::apart::Apart;
use crate::rules::retry;
use crate::words::error::{Code, Error};
use crate::words::event::Glimpse;
use crate::words::id::shown;
use crate::words::label::Label;

/// What is known of a call's attempts that have failed.
#[derive(Default)]
pub(super) struct Before {
    failed: u32,
    /// What influenced them: that there is another one is their doing.
    label: Label,
    behind: Label,
    logs: Vec<LogLine>,
}

impl Before {
    /// How long to wait before the call is made again; nothing where it is not.
    pub(super) fn wait_ms(
        &self,
        (station, caller): (&Station, &Caller),
        request: &Request,
        error: &Error,
    ) -> Option<u64> {
        let tool = station.catalog.resolve(&request.tool, &[]).ok()?;
        // Of what is held nothing more may leave than once.
        if Apart::of(&tool.name).is_some() {
            return None;
        }
        let retries = station.gate.policy().bounds.retries;
        let retry = retries.of(&tool.declared, caller.known.asked.retry);
        let wait_ms = retry::wait_ms(retry, self.failed.saturating_add(1), error)?;
        let in_time = Duration::from_millis(wait_ms) < caller.deadline.rest();
        // A tool that calls tools has a number of calls, and each attempt is one.
        let may_call = || caller.depth == 0 || caller.budget.take_call();
        (in_time && may_call()).then_some(wait_ms)
    }

    /// Counts an attempt that has failed, and says so.
    pub(super) fn failed(
        &mut self,
        (station, caller): (&Station, &Caller),
        outcome: Outcome,
        wait_ms: u64,
    ) -> Outcome {
        self.failed = self.failed.saturating_add(1);
        self.label = self.label.join(&outcome.label);
        self.behind = self.behind.join(&outcome.behind);
        let why = outcome.result.as_ref().err().map(Error::code);
        let message = format!(
            "attempt {} failed ({}); again in {wait_ms} ms",
            self.failed,
            why.map(Code::word).unwrap_or_default()
        );
        let journal = station.gate.journal();
        let glimpse = Glimpse::Progress {
            of: outcome.seq,
            tool: shown(&outcome.tool),
            message: message.clone(),
            percent: None,
            label: self.label.clone(),
        };
        journal.glimpse(&caller.run, glimpse);
        self.logs.push(LogLine {
            level: "warn",
            message,
            fields: serde_json::json!({}),
            time: journal.clock().now_ms(),
        });
        outcome
    }

    /// The last attempt, as what came of the call.
    pub(super) fn joined(self, mut outcome: Outcome) -> Outcome {
        if self.failed > 0 {
            outcome.label = outcome.label.join(&self.label);
            outcome.behind = outcome.behind.join(&self.behind);
            outcome.trail.logs.splice(0..0, self.logs);
            let attempts = self.failed.saturating_add(1);
            outcome.result = outcome.result.map_err(|error| match error.code() == Code::TooSlow {
                true => error.hint(format!(
                    "this was attempt {attempts}, and each has that time for itself (`retry` of its manifest, `--retries`)"
                )),
                false => error,
            });
        }
        outcome
    }
}
