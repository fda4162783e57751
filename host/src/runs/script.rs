//! Driving a script: starts its guest, performs what it waits for, and hands in the answers one by one.
//!
//! All that this keeps is in the journal. A script that is left — for a question, a long rest, the end
//! of the process — is run again from its start, and the answers of its earlier lives come first, in
//! their order. Only when they are used up does anything happen anew.

mod absent;
mod begin;
mod life;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;

use self::life::{Ended, Life};
use super::rest;
use crate::gate::{Passed, Performed};
use crate::guests::dispatch::{Outcome, Scripted, clean, recorded, tell_script};
use crate::guests::guest::Trail;
use crate::guests::script::ScriptEngine;
use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::script::TOOL;
use crate::words::bound::Bound;
use crate::words::clock::Clock;
use crate::words::error::{Error, Result};
use crate::words::event::{Record, Spent};
use crate::words::id::{Digest, Seq};
use crate::words::lock::lock;

/// A script that is to be run, or to go on.
pub(super) struct Script<'a> {
    pub(super) station: &'a Arc<Station>,
    pub(super) tasks: &'a Tasks,
    /// Who wishes it. Its place is the script's, its reach what the script may call.
    pub(super) caller: Caller,
    pub(super) source: String,
    /// Engines of earlier lives, by digest.
    pub(super) engines: &'a (dyn Engines + 'a),
    pub(super) waited: Waited,
}

/// What a script has waited for in this process, where nobody who sets a clock moves it.
#[derive(Default)]
pub(super) struct Waited {
    /// The end of a rest that was waited for without a guest; 0 before the first.
    rested: AtomicU64,
    /// When its time is over, by the steady time of the clock.
    wall: OnceLock<u64>,
    /// When each rest that it has wished for here is over, likewise, by its position.
    rests: Mutex<BTreeMap<u32, u64>>,
}

impl Waited {
    /// A script wishes for a rest until then, or has before: what is waited for it counts from the first time.
    fn rests(&self, clock: &Clock, (position, due): (u32, u64)) {
        let rest_ms = due.saturating_sub(clock.now_ms());
        let steady = clock.steady_ms().saturating_add(rest_ms);
        lock(&self.rests).entry(position).or_insert(steady);
    }

    /// When a rest is over by the steady time of the clock.
    fn over(&self, position: u32) -> u64 {
        let over = lock(&self.rests).get(&position).copied();
        over.unwrap_or(u64::MAX)
    }
}

/// Where the engines of scripts that were left are kept.
pub(super) trait Engines: Send + Sync {
    /// The engine of that digest.
    ///
    /// # Errors
    /// `NotFound` where nobody kept it.
    fn kept(&self, digest: Digest) -> Result<ScriptEngine>;
}

impl Script<'_> {
    /// Runs the script to its end, or until it has to be left: then the outcome is `Asked` or `Cancelled`.
    pub(super) async fn run(self, records: Vec<Record>) -> Outcome {
        let mut trail = Trail::default();
        // It takes its time, and may change what was looked at before.
        self.tasks.repeats().clear();
        match self.pass(records, &mut trail).await {
            Ok(Passed { seq, at, performed }) => {
                let behind = performed.label;
                let (result, label) = match &performed.told {
                    Some(told) => Scripted::seen(told, &behind, &self.caller),
                    None => (performed.result, behind.clone()),
                };
                Outcome {
                    tool: TOOL.to_owned(),
                    seq,
                    at,
                    result,
                    label,
                    behind,
                    trail,
                    spent: performed.spent,
                }
            }
            Err((at, error)) => Outcome {
                tool: TOOL.to_owned(),
                seq: self.caller.parent,
                at,
                result: clean(self.station, Err(error)),
                label: self.caller.label.clone(),
                behind: self.caller.label.clone(),
                trail,
                spent: Spent::default(),
            },
        }
    }

    async fn pass(
        &self,
        records: Vec<Record>,
        trail: &mut Trail,
    ) -> Result<Passed<Value>, (u64, Error)> {
        let chars = self.source.chars().count();
        let most = self.station.gate.policy().scripts.chars;
        if chars > most {
            let error = Error::too_long("the script", most, chars);
            let most = u64::try_from(most).unwrap_or(u64::MAX);
            return Err((0, error.hint(Bound::ScriptChars.hint(most))));
        }
        let scripts = &self.station.scripts;
        let call = scripts.call(&self.source);
        let caller = scripts.caller(&self.caller);
        let passed = self.station.gate.pass(&caller, call, async |permit| {
            let seq = permit.seq();
            let (call, _within) = permit.redeem();
            self.perform((&call, seq), records, trail).await
        });
        passed
            .await
            .map_err(|not| (not.judged.map_or(0, |judged| judged.at), not.error))
    }

    /// One life after the other, until the script ends or has to be left.
    async fn perform(
        &self,
        (call, seq): (&Call, Seq),
        mut records: Vec<Record>,
        trail: &mut Trail,
    ) -> Performed<Value> {
        let began = Clock::instant();
        let (mut label, mut spent);
        let (mut fuel, mut cpu_ms) = (0_u64, 0_u64);
        let result = loop {
            *trail = Trail::default();
            let mut life = Life::new(self, &records, seq, trail);
            let ended = life.live().await;
            label = life.ends_under();
            spent = life.spent();
            fuel = fuel.saturating_add(spent.fuel);
            cpu_ms = cpu_ms.saturating_add(spent.cpu_ms);
            (spent.fuel, spent.cpu_ms) = (fuel, cpu_ms);
            drop(life);
            match ended {
                Ok(Ended::Value(value)) => break Ok(value),
                Ok(Ended::Resting { until, steady }) => match self.rest(until, steady).await {
                    Ok(again) => {
                        self.waited.rested.store(until, Ordering::Release);
                        records = again;
                    }
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        let result = clean(self.station, result);
        let content = recorded(self.station, &result, &label);
        let classes = &self.station.gate.policy().flows.classes;
        spent.us = Spent::since(began).us;
        // It may spell what it was told of, and its user, who is there, may read that.
        let unsaid = classes.is_secret(&label);
        let told = tell_script(self.station, (&self.caller, call), (&result, &label));
        let (told, label) = match told {
            Some(Scripted { told, behind }) => (Some(told), behind),
            None => (None, label),
        };
        Performed {
            content,
            unsaid,
            told,
            ..Performed::of(result, label, spent)
        }
    }

    /// Returns when a rest of this position is over; in a replay, where it was.
    async fn rest_over(&self, clock: &Clock, (position, due): (u32, u64)) {
        let Some(recorded) = &self.station.recorded else {
            return rest::until_either(clock, due, self.waited.over(position)).await;
        };
        loop {
            // Before the look, so that no record between the two is missed: each one moves the clock.
            let moved = clock.moved();
            match moved {
                Some(moved) if !recorded.rested() => moved.await,
                Some(_) | None => return,
            }
        }
    }

    /// Waits without a guest, and reads the records again: they are all that is known of the script.
    async fn rest(&self, until: u64, steady: u64) -> Result<Vec<Record>> {
        let journal = self.station.gate.journal();
        journal.commit().await?;
        let waiting = async {
            rest::until_either(journal.clock(), until, steady).await;
            Ok(())
        };
        self.tasks.unless_cancelled(waiting).await?;
        let (records, verified) = journal.verified(&self.caller.run).await?;
        verified.check().map(|()| records)
    }
}
