//! Forking: a new run that begins with what another one had done by the end of one of its turns.
//!
//! It says where it comes from. What the other run's records say of influence goes along, and its questions, their
//! answers and all that was made of them does not: an answer is for one wish in one run.

use super::up_to;
use crate::gate::journal::{Journal, Provenance};
use crate::rules::budget::is_overspending;
use crate::rules::flow::handles::ADOPT;
use crate::runs::host::{Goal, Host};
use crate::runs::left::{Wished, wished_in};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Forked, Record, Tried, Verdict};
use crate::words::id::{RunId, Seq};

impl Host {
    /// Makes a run that begins with another one's turns up to that one; [`Host::resume`] goes on with it.
    ///
    /// # Errors
    /// `NotFound`; `Denied` for a run of another host or workspace, or one in which a text was adopted by then, `Corrupt` for one whose records are not as they were written;
    /// `BadInput` for one that has no turns, or not so many.
    pub async fn fork(&self, run: &RunId, turn: u32) -> Result<RunId> {
        let (records, verified) = self.journal().verified(run).await?;
        verified.check()?;
        check_home(run, verified.provenance)?;
        let Wished::Goal(goal) = wished_in(run, &records)? else {
            let what = format!("the run `{run}` is one call or script, which has no turns");
            return Err(Error::bad_input(what).hint("run it anew"));
        };
        let goal = Goal {
            run: self.new_run(),
            // A person vouches for one run.
            vouch: Vec::new(),
            ..goal
        };
        self.prepare(&goal)?;
        let records = up_to(&records, turn)?;
        check_own(records)?;
        let hold = self.begin(&goal.run, &goal.agent, &goal.wish())?;
        let from = Forked {
            run: run.clone(),
            turn,
        };
        let files = self.kept.attached.find(run, goal.with.files.clone())?;
        self.kept.attach(&goal.run, &files)?;
        copy(self.journal(), &goal.run, (records, from))?;
        self.journal().sync().await?;
        self.journal().let_go(&goal.run);
        drop(hold);
        Ok(goal.run)
    }
}

/// In another workspace other records vouch, and what was nobody's witness there is one here.
fn check_home(run: &RunId, provenance: Provenance) -> Result<()> {
    let (whose, hint) = match provenance {
        Provenance::Here | Provenance::Returned => return Ok(()),
        Provenance::Moved => (
            "was made in another workspace",
            format!(
                "fork it there, or begin anew with what it holds: lazaret run … --with {run}:HANDLE"
            ),
        ),
        Provenance::Foreign => (
            "was imported from another host",
            "begin anew; `lazaret runs show` shows what it did".to_owned(),
        ),
    };
    let what = format!("the run `{run}` {whose}, so nothing in it goes on");
    Err(Error::new(Code::Denied, what).hint(hint))
}

/// What a person has made their own words in a run is not theirs in another one, and its model has read it as such.
fn check_own(records: &[Record]) -> Result<()> {
    let adopted = records.iter().any(|record| {
        matches!(&record.event, Event::Judged(judged)
            if judged.subject == ADOPT && matches!(judged.verdict, Verdict::Allow { .. }))
    });
    if !adopted {
        return Ok(());
    }
    let what = "a person has adopted a text by then, which holds for that run alone";
    Err(Error::new(Code::Denied, what).hint("`--until` an earlier turn, or begin anew"))
}

/// Appends what happened in one run to another one, at new places.
fn copy(journal: &Journal, run: &RunId, (records, from): (&[Record], Forked)) -> Result<()> {
    let mut places: Vec<Option<Seq>> = Vec::new();
    let now = |places: &[Option<Seq>], seq: Seq| {
        let place = usize::try_from(seq).ok().and_then(|seq| places.get(seq));
        place.copied().flatten()
    };
    for record in records {
        // The end of what does not go along does not either.
        let goes = if let Event::Finished(finished) = &record.event {
            now(&places, finished.of).is_some()
        } else {
            goes_along(&record.event)
        };
        if !goes {
            places.push(None);
            continue;
        }
        let mut event = record.event.clone();
        if let Event::Started(started) = &mut event {
            started.forked = Some(from.clone());
            // What its user vouched for, they did for that run.
            started.narrowed.vouch.clear();
        }
        if let Event::Attempted(attempted) = &mut event
            && let Tried::Failed { cools_ms, .. } = &mut attempted.tried
        {
            // It was long ago.
            *cools_ms = 0;
        }
        if let Event::Finished(finished) = &mut event {
            finished.of = now(&places, finished.of).unwrap_or_default();
        }
        let parent = now(&places, record.parent).unwrap_or_default();
        let stamp = journal.append(run, parent, event)?;
        places.push(Some(stamp.seq));
    }
    Ok(())
}

fn goes_along(event: &Event) -> bool {
    match event {
        // What a person has granted, they have for that run.
        Event::Judged(judged) => {
            !matches!(judged.verdict, Verdict::Ask(_)) && !is_overspending(judged)
        }
        Event::Started(_)
        | Event::Brought(_)
        | Event::Attempted(_)
        | Event::Compacted(_)
        | Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Observed { .. } => true,
        Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        // What is used up of its budget the copy will say itself.
        | Event::Overspent(_)
        | Event::Stopped(_) => false,
    }
}
