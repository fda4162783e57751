//! Runs that have ended, read back: what came of one, for whoever was not there.

use serde_json::Value;

use super::host::{Called, Host, caught, show_held};
use super::left::{judged_call, wished_in};
use super::observe::{is_withheld, show, treat, withhold};
use crate::gate::failed;
use crate::gate::journal::Journal;
use crate::guests::dispatch::{Outcome, clean};
use crate::guests::guest::Trail;
use crate::guests::tasks::Tasks;
use crate::rules::caller::Caller;
use crate::rules::policy::Policy;
use crate::rules::script::{TOOL, is_life};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, End, Event, Finished, Record, Spent, Started, Stopped};
use crate::words::id::{Place, RunId, Seq};
use crate::words::message::Usage;

impl Host {
    /// What came of a run of one call or script, wherever it has ended; nothing where it has not, or is an agent's. Logs
    /// and files that came with the outcome are in no record, and are not told again.
    ///
    /// # Errors
    /// `NotFound`; `Denied` where its record was changed; `Corrupt`, `DiskFailed`.
    pub async fn ended(&self, run: &RunId) -> Result<Option<Called>> {
        let (records, verified) = self.journal().verified(run).await?;
        verified.check()?;
        let began = records.first().map(|first| &first.event);
        let last = records.last().map(|last| &last.event);
        let (Some(Event::Started(started)), Some(Event::Stopped(stopped))) = (began, last) else {
            return Ok(None);
        };
        if !started.subject.contains('.') {
            return Ok(None);
        }
        let outcome = outcome_in(&records, (started, stopped), self.policy());
        let typed = wished_in(run, &records).map(|wish| wish.typed());
        let caller = Caller {
            known: self.knows(&typed.unwrap_or_default(), &records),
            ..self.client(run.clone(), started.surface, started.label.clone())
        };
        let mut outcome = show_held(&caller, outcome)?;
        withhold(&mut outcome, started.surface, self.policy());
        // What is known to be a secret now may not have been then.
        outcome.result = clean(&self.station, outcome.result);
        show(&mut outcome, self.policy().inbound.guess);
        // What it looks like stands on record.
        let _flags = treat(&mut outcome, started.surface, self.policy());
        let run = run.clone();
        Ok(Some(Called { run, outcome }))
    }
}

impl Host {
    /// A run of one call or script that breaks by a mistake of ours has an end like any other, and one (U-03).
    pub(super) async fn ended_once<T>(
        &self,
        run: &RunId,
        tasks: &Tasks,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let ended = caught(work).await;
        if let Err(error) = &ended
            && error.code() == Code::Bug
        {
            broke(self.journal(), (run, tasks), error).await?;
        }
        ended
    }
}

/// Ends a run that broke by a mistake of ours, if it goes on here and has not ended.
///
/// # Errors
/// The journal's failure.
pub(super) async fn broke(
    journal: &Journal,
    (run, tasks): (&RunId, &Tasks),
    error: &Error,
) -> Result<()> {
    tasks.cancel();
    tasks.drain().await;
    if journal.placed(run) == 0 {
        return Ok(());
    }
    journal.commit().await?;
    let records = journal.records(run).await?;
    let last = records.last().map(|last| &last.event);
    if matches!(last, Some(Event::Stopped(_))) {
        return Ok(());
    }
    let stopped = Event::Stopped(Stopped {
        end: failed(error),
        turns: 0,
        usage: Usage::default(),
        limit: None,
    });
    journal.append(run, 0, stopped)?;
    journal.sync().await
}

/// The outcome of the call that a run was: of its last attempt, or of its script's last life.
fn outcome_in(
    records: &[Record],
    (started, stopped): (&Started, &Stopped),
    policy: &Policy,
) -> Outcome {
    let found = finished_in(records, started.subject == TOOL);
    let (seq, at, label, spent) = match found {
        Some((at, finished)) => (finished.of, at, finished.label.clone(), finished.spent),
        None => (0, 0, started.label.clone(), Spent::default()),
    };
    let end = match (&stopped.end, found) {
        (End::Done { .. }, Some((_, finished))) => &finished.end,
        (end, _) => end,
    };
    let result = match end {
        // It is not on record, and something else is told in its place.
        End::Done { .. } if is_withheld(&label, started.surface, policy) => Ok(Value::Null),
        End::Done { .. } | End::Failed { .. } => result_of(end),
    };
    Outcome {
        tool: started.subject.clone(),
        seq,
        at,
        result,
        behind: label.clone(),
        label,
        trail: Trail::default(),
        spent,
    }
}

/// The end of that call, and when it was.
fn finished_in(records: &[Record], is_script: bool) -> Option<(u64, &Finished)> {
    let place = Place::default();
    let own = |seq: Seq| {
        let record = records.iter().find(|record| record.seq == seq);
        record.and_then(judged_call).is_some_and(|judged| {
            // The first call of a script has the place of a call that is a run.
            match is_script {
                true => is_life(judged, &place),
                false => judged.place.position_in(&place) == Some(0),
            }
        })
    };
    records.iter().rev().find_map(|record| {
        let Event::Finished(finished) = &record.event else {
            return None;
        };
        own(finished.of).then_some((record.at, finished))
    })
}

fn result_of(end: &End) -> Result<Value> {
    match end {
        End::Done {
            content: Content::Inline(value),
        } => Ok(value.clone()),
        End::Done { .. } => {
            let what = "the run has ended well, and its outcome is not on record";
            Err(Error::new(Code::NotFound, what))
        }
        End::Failed {
            code,
            message,
            issues,
            retryable,
        } => Err(Error::new(*code, message.clone())
            .issues(issues.clone())
            .retry(*retryable)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::clock::Clock;
    use crate::words::event::Surface;
    use crate::words::key::HostKey;

    /// Also of one that took no time that could be measured, which is how a call looks that was turned down.
    #[test]
    fn a_secret_outcome_that_has_ended_well_is_one_for_a_clients_model() {
        let stopped = Stopped {
            end: End::Done {
                content: Content::Size { bytes: 6 },
            },
            turns: 1,
            usage: Usage::default(),
            limit: None,
        };
        for (surface, label, is_told) in [
            (Surface::Mcp, "secret:safe.run", true),
            (Surface::Cli, "secret:safe.run", false),
            (Surface::Mcp, "user", false),
        ] {
            let started =
                json!({"surface": surface, "subject": "safe.run", "goal": "", "label": [label]});
            let started: Started = serde_json::from_value(started).unwrap();
            let policy = Policy::nothing("test");
            let outcome = outcome_in(&[], (&started, &stopped), &policy);
            assert_eq!(outcome.result.is_ok(), is_told, "{surface:?} {label}");
        }
    }

    #[tokio::test]
    async fn a_run_that_breaks_ends_once_and_one_that_has_not_begun_never() {
        let clock = Clock::set(1_000);
        let journal = Journal::in_memory(clock.clone(), HostKey::new(&[7; 32])).unwrap();
        let (run, tasks) = (RunId::new(&clock), Tasks::new());
        let bug = Error::bug("it panicked");
        broke(&journal, (&run, &tasks), &bug).await.unwrap();
        assert!(journal.records(&run).await.unwrap_or_default().is_empty());
        journal
            .append(&run, 0, Event::Resumed { traced: Vec::new() })
            .unwrap();
        for _ in 0..2 {
            broke(&journal, (&run, &tasks), &bug).await.unwrap();
            let records = journal.records(&run).await.unwrap();
            let words: Vec<&str> = records.iter().map(|record| record.event.word()).collect();
            assert_eq!(words, ["resumed", "stopped"]);
        }
    }
}
