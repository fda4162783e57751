//! What a run counts of its turns, and when that is too much (U-04, U-15, C-05…C-07).

use std::collections::HashMap;

use super::super::json;
use super::super::pace::{OnDenied, Pace};
use super::{Fared, Fault, Seen};
use crate::words::error::Code;
use crate::words::event::Limit;
use crate::words::id::{Digest, shown};
use crate::words::message::{ToolCall, WishedArgs};

/// What was counted so far. All of it follows from the run's records, so a run that goes on counts on.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Turns that runs of its session have taken before.
    pub(super) before: u32,
    /// Calls of the model.
    calls: u32,
    /// Those of them that were malformed.
    corrections: u32,
    /// Turns until now, in a row, in which every call failed.
    failed_turns: u32,
    /// The last batch with what came of it, and how often that was so in a row.
    batch: Option<(Digest, u32)>,
    /// How often each call was denied.
    denied: HashMap<Digest, u32>,
    /// How often an answer did not stand.
    pub(super) repairs: u32,
    /// Whether the model was told to answer in plain text, since there is nothing of what it calls.
    plain: bool,
}

impl Counts {
    /// The model wishes for so many calls.
    pub(super) fn wished(&mut self, pace: &Pace, calls: usize) -> Result<(), Fault> {
        if self.plain {
            let why = "the model called tools though it was told that none of those is there, and to answer in plain text";
            return Err(Fault {
                code: Code::UnknownTool,
                ..Fault::limit(Limit::NoSuchTools, why)
            });
        }
        let made = u32::try_from(calls.min(pace.calls_per_turn)).unwrap_or(u32::MAX);
        self.calls = self.calls.saturating_add(made);
        if self.calls > pace.calls {
            let why = format!(
                "the model wished for more than {} calls; of its last reply none was made",
                pace.calls
            );
            return Err(Fault::limit(Limit::CallLimit, &why));
        }
        Ok(())
    }

    /// All calls of a turn have ended, in order.
    pub(super) fn turn(
        &mut self,
        pace: &Pace,
        calls: &[ToolCall],
        seen: &[Seen],
    ) -> Result<(), Fault> {
        let ended: Vec<(&ToolCall, &Seen)> = calls.iter().zip(seen).collect();
        self.plain = !seen.is_empty() && all(seen, |fared| fared == Fared::Unavailable);
        // The first that says so ends the run; all of them count.
        let counted = [
            self.count_denied(pace, &ended),
            self.count_failed(pace, &ended),
            self.count_corrections(pace, seen),
            self.count_batch(pace, &ended),
        ];
        counted.into_iter().collect()
    }

    fn count_denied(&mut self, pace: &Pace, ended: &[(&ToolCall, &Seen)]) -> Result<(), Fault> {
        let mut fault = Ok(());
        for (call, _) in ended.iter().filter(|(_, seen)| seen.fared == Fared::Denied) {
            let times = self.denied.entry(digest_of(&[words_of(call)])).or_default();
            *times = times.saturating_add(1);
            let tool = shown(&call.tool);
            let why = match pace.on_denied {
                OnDenied::Fail => {
                    format!(
                        "a call of `{tool}` was denied, and the run ends there (`on_denied = \"fail\"`)"
                    )
                }
                OnDenied::Tell if *times > pace.denied_repeats.saturating_add(1) => {
                    format!("the same call of `{tool}` was denied {times} times")
                }
                OnDenied::Tell => continue,
            };
            fault = fault.and(Err(Fault::fatal(Code::Denied, why)));
        }
        fault
    }

    fn count_failed(&mut self, pace: &Pace, ended: &[(&ToolCall, &Seen)]) -> Result<(), Fault> {
        let failed = |(call, seen): &(&ToolCall, &Seen)| match seen.fared {
            Fared::Failed(code) => Some((call.tool.clone(), code)),
            Fared::Well | Fared::Malformed | Fared::Unavailable | Fared::Denied | Fared::Cut => {
                None
            }
        };
        let first = ended.iter().find_map(failed);
        if ended.iter().any(|(_, seen)| seen.fared == Fared::Well) {
            self.failed_turns = 0;
        } else if ended.iter().all(|end| failed(end).is_some()) {
            self.failed_turns = self.failed_turns.saturating_add(1);
        }
        match first {
            Some((tool, code)) if !pace.recover_tool_failures => {
                let why = format!(
                    "a call of `{}` failed ({}), and the run ends there (`recover_tool_failures = false`)",
                    shown(&tool),
                    code.word()
                );
                Err(Fault::fatal(code, why))
            }
            Some(_) | None if self.failed_turns > pace.failed_turns => {
                let why = format!("every call failed, {} turns in a row", self.failed_turns);
                Err(Fault::limit(Limit::FailureLimit, &why))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn count_corrections(&mut self, pace: &Pace, seen: &[Seen]) -> Result<(), Fault> {
        let wrong = seen
            .iter()
            .filter(|seen| matches!(seen.fared, Fared::Malformed | Fared::Unavailable));
        let wrong = u32::try_from(wrong.count()).unwrap_or(u32::MAX);
        self.corrections = self.corrections.saturating_add(wrong);
        if self.corrections <= pace.corrections {
            return Ok(());
        }
        let why = format!(
            "the model made more than {} malformed calls",
            pace.corrections
        );
        Err(Fault::limit(Limit::CorrectionLimit, &why))
    }

    /// The same calls with the same outcomes are not what gets anybody further.
    fn count_batch(&mut self, pace: &Pace, ended: &[(&ToolCall, &Seen)]) -> Result<(), Fault> {
        let parts = ended.iter().map(|(call, seen)| {
            let observation = &seen.observation;
            format!("{} {} {}", words_of(call), observation.ok, observation.text)
        });
        let batch = digest_of(&parts.collect::<Vec<_>>());
        let times = match self.batch {
            Some((last, times)) if last == batch => times.saturating_add(1),
            Some(_) | None => 1,
        };
        self.batch = Some((batch, times));
        if times < pace.identical_batches {
            return Ok(());
        }
        let why = format!("the same calls had the same outcomes {times} turns in a row");
        Err(Fault::limit(Limit::LoopGuard, &why))
    }
}

fn all(seen: &[Seen], is: impl Fn(Fared) -> bool) -> bool {
    seen.iter().all(|seen| is(seen.fared))
}

/// A call in words that no other call has.
fn words_of(call: &ToolCall) -> String {
    match &call.args {
        WishedArgs::Json(args) => format!("{} {}", call.tool, json::canonical(args)),
        WishedArgs::Broken(text) => format!("{}! {text}", call.tool),
    }
}

/// Of texts in their order; where one ends and the next begins counts.
fn digest_of(texts: &[String]) -> Digest {
    let mut all = String::new();
    for text in texts {
        all.push_str(&format!("{} {text}\n", text.len()));
    }
    Digest::of(all.as_bytes())
}
