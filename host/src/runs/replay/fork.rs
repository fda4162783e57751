//! Forking: a new run that begins with what another one had done by the end of one of its turns.
//!
//! It says where it comes from. What the other run's records say of influence goes along, and its questions, their
//! answers and all that was made of them does not: an answer is for one wish in one run.

use super::up_to;
use crate::gate::journal::{Journal, Provenance};
use crate::runs::host::{Goal, Host};
use crate::runs::left::{Wished, wished_in};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Forked, Record, Verdict};
use crate::words::id::{RunId, Seq};

impl Host {
    /// Makes a run that begins with another one's turns up to that one; [`Host::resume`] goes on with it.
    ///
    /// # Errors
    /// `NotFound`; `Denied` for a run of another host, `Corrupt` for one whose records are not as they were written;
    /// `BadInput` for one that has no turns, or not so many.
    pub async fn fork(&self, run: &RunId, turn: u32) -> Result<RunId> {
        let (records, verified) = self.journal().verified(run).await?;
        verified.check()?;
        if verified.provenance == Provenance::Foreign {
            let what =
                format!("the run `{run}` was imported from another host, so nothing in it goes on");
            return Err(Error::new(Code::Denied, what)
                .hint("begin anew; `lazaret runs show` shows what it did"));
        }
        let Wished::Goal(goal) = wished_in(run, &records)? else {
            let what = format!("the run `{run}` is one call or script, which has no turns");
            return Err(Error::bad_input(what).hint("run it anew"));
        };
        let goal = Goal {
            run: self.new_run(),
            ..goal
        };
        self.prepare(&goal)?;
        let hold = self.begin(&goal.run, &goal.agent, &goal.wish())?;
        let from = Forked {
            run: run.clone(),
            turn,
        };
        copy(self.journal(), &goal.run, (up_to(&records, turn)?, from))?;
        self.journal().sync().await?;
        self.journal().let_go(&goal.run);
        drop(hold);
        Ok(goal.run)
    }
}

/// Appends what happened in one run to another one, at new places.
fn copy(journal: &Journal, run: &RunId, (records, from): (&[Record], Forked)) -> Result<()> {
    let mut places: Vec<Option<Seq>> = Vec::new();
    let now = |places: &[Option<Seq>], seq: Seq| {
        let place = usize::try_from(seq).ok().and_then(|seq| places.get(seq));
        place.copied().flatten().unwrap_or_default()
    };
    for record in records {
        if !goes_along(&record.event) {
            places.push(None);
            continue;
        }
        let mut event = record.event.clone();
        if let Event::Started(started) = &mut event {
            started.forked = Some(from.clone());
        }
        if let Event::Finished(finished) = &mut event {
            finished.of = now(&places, finished.of);
        }
        let stamp = journal.append(run, now(&places, record.parent), event)?;
        places.push(Some(stamp.seq));
    }
    Ok(())
}

fn goes_along(event: &Event) -> bool {
    match event {
        Event::Judged(judged) => !matches!(judged.verdict, Verdict::Ask(_)),
        Event::Started(_)
        | Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Observed { .. } => true,
        Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed
        | Event::Stopped(_) => false,
    }
}
