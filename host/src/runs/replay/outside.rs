//! The outside of a run that is replayed: what its records hold of outcomes and replies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock};

use super::ends::{Said, error, is_given_up, is_open, late, spent};
use crate::gate::journal::Journal;
use crate::guests::apart::{Done, Telling};
use crate::guests::guest::Trail;
use crate::guests::recorded::Recorded;
use crate::rules::context::rolling::HOST;
use crate::rules::flow::apart::fault_in;
use crate::rules::flow::records::Seen;
use crate::rules::script::TOOL;
use crate::rules::server;
use crate::rules::server::asked::used_by;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Attempted, Content, EffectKind, End, Event, Finished, Judged, Noted, Onward, Record, Scripted,
    Tried, Verdict,
};
use crate::words::id::{Place, RunId, Seq};
use crate::words::label::{Sort, Source};
use crate::words::lock::lock;
use crate::words::message::{Reply, Usage};

/// Outcomes by place, replies by turn, beginnings of scripts.
#[derive(Debug)]
pub(super) struct Outside {
    outcomes: Mutex<BTreeMap<Place, VecDeque<Outcome>>>,
    replies: Mutex<VecDeque<(Result<Reply>, bool)>>,
    summaries: Mutex<VecDeque<Result<(String, Usage)>>>,
    noted: Mutex<VecDeque<Vec<Noted>>>,
    scripted: BTreeMap<Place, Scripted>,
    /// What steered calls of attached files.
    given: BTreeMap<String, String>,
    /// The ends of rests.
    rested: BTreeSet<Seq>,
    /// Where a model is asked, or passed over.
    asked: BTreeSet<Seq>,
    /// Where the time of the run was over, if it ever was.
    late: Option<Seq>,
    /// Where scripts were ended since their time was over, or their run had used up what it may: the records in between,
    /// and with what.
    spent: Vec<(RangeInclusive<Seq>, Said)>,
    /// What models have used that were asked in the middle of calls, each with the place of the record that came next.
    used: Vec<(Seq, Usage)>,
    /// Where the run is recorded again.
    again: OnceLock<(Journal, RunId)>,
}

/// What came of one call.
#[derive(Debug)]
enum Outcome {
    /// This, and its end stands at that place.
    Came(Seq, Box<Done>),
    /// Nobody saw its end.
    Open,
}

impl Outside {
    /// Of the records of a run that come again; `all` are those inside of its calls as well, and `own` the places of the
    /// former among them.
    ///
    /// # Errors
    /// `BadInput` for an outcome that was not kept.
    pub(super) fn of(records: &[Record], (all, own): (&[Record], &[Seq])) -> Result<Self> {
        let ends: BTreeMap<Seq, (Seq, &Finished)> = records.iter().filter_map(end).collect();
        let mut outcomes: BTreeMap<Place, VecDeque<Outcome>> = BTreeMap::new();
        for (seq, judged) in records.iter().filter_map(performed) {
            let outcome = match ends.get(&seq).filter(|(_, finished)| !is_open(finished)) {
                None => Outcome::Open,
                Some((at, finished)) => {
                    let done = done(judged, (seq, finished))?;
                    Outcome::Came(*at, Box::new(done))
                }
            };
            let place = judged.place.clone();
            outcomes.entry(place).or_default().push_back(outcome);
        }
        Ok(Self {
            outcomes: Mutex::new(outcomes),
            replies: Mutex::new(replies(records)),
            summaries: Mutex::new(summaries(records)),
            noted: Mutex::new(noted(records)),
            scripted: scripted(records),
            given: given(all),
            rested: places(records, |event| matches!(event, Event::Rested { .. })),
            asked: places(records, |event| {
                matches!(event, Event::Prompted { .. } | Event::Attempted(_))
            }),
            late: late(records),
            spent: spent(records),
            used: used(all, own),
            again: OnceLock::new(),
        })
    }

    /// The run is recorded again in this journal.
    pub(super) fn recorded_in(&self, journal: &Journal, run: &RunId) {
        let _ = self.again.set((journal.clone(), run.clone()));
    }

    /// Whether the record that comes next is one of these.
    fn is_at(&self, places: &BTreeSet<Seq>) -> bool {
        let again = self.again.get();
        again.is_some_and(|(journal, run)| places.contains(&journal.placed(run)))
    }

    /// Returns when so many records are there again: the next one has that place.
    async fn turn_of(&self, place: Seq) {
        let Some((journal, run)) = self.again.get() else {
            return;
        };
        loop {
            // Before the look, so that no record between the two is missed: each one moves the clock.
            let moved = journal.clock().moved();
            if journal.placed(run) >= place {
                return;
            }
            match moved {
                Some(moved) => moved.await,
                None => return,
            }
        }
    }
}

impl Recorded for Outside {
    fn done<'a>(&'a self, place: &'a Place) -> Pin<Box<dyn Future<Output = Done> + Send + 'a>> {
        let outcome = lock(&self.outcomes)
            .get_mut(place)
            .and_then(VecDeque::pop_front);
        Box::pin(async move {
            let Some(Outcome::Came(at, done)) = outcome else {
                return std::future::pending().await;
            };
            self.turn_of(at).await;
            *done
        })
    }

    fn scripted(&self, place: &Place) -> Option<Scripted> {
        self.scripted.get(place).cloned()
    }

    fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    fn rested(&self) -> bool {
        self.is_at(&self.rested)
    }

    fn asks_on(&self) -> bool {
        self.is_at(&self.asked)
    }

    fn is_late(&self) -> bool {
        let again = self.again.get().zip(self.late);
        again.is_some_and(|((journal, run), late)| journal.placed(run) >= late)
    }

    fn spent(&self) -> Option<Error> {
        let (journal, run) = self.again.get()?;
        let here = journal.placed(run);
        let mut spent = self.spent.iter();
        let (_, said) = spent.find(|(places, _)| places.contains(&here))?;
        Some(error(said))
    }

    fn used_inside(&self) -> Usage {
        let mut sum = Usage::default();
        if let Some((journal, run)) = self.again.get() {
            let here = journal.placed(run);
            let until = self.used.iter().take_while(|(place, _)| *place <= here);
            until.for_each(|(_, usage)| sum.add(*usage));
        }
        sum
    }

    fn summary(&self) -> Result<(String, Usage)> {
        let summary = lock(&self.summaries).pop_front();
        summary.unwrap_or_else(|| Err(Error::new(Code::Cancelled, "the run was left here")))
    }

    fn noted(&self) -> Vec<Noted> {
        lock(&self.noted).pop_front().unwrap_or_default()
    }

    fn reply(&self) -> (Result<Reply>, bool) {
        let reply = lock(&self.replies).pop_front();
        let left = || Err(Error::new(Code::Cancelled, "the run was left here"));
        reply.unwrap_or_else(|| (left(), false))
    }
}

/// The end of something: of which record, where it stands, and what it says.
fn end(record: &Record) -> Option<(Seq, (Seq, &Finished))> {
    let Event::Finished(finished) = &record.event else {
        return None;
    };
    Some((finished.of, (record.seq, finished)))
}

/// A call that was made, and not of a script: that one is run again.
fn performed(record: &Record) -> Option<(Seq, &Judged)> {
    let Event::Judged(judged) = &record.event else {
        return None;
    };
    let allowed = matches!(judged.verdict, Verdict::Allow { .. });
    let made = allowed && judged.effect == EffectKind::Call && judged.subject != TOOL;
    (made && is_top(judged)).then_some((record.seq, judged))
}

/// Whether somebody wished for it whom a replay has: not a guest, and not the host on their behalf.
pub(super) fn is_top(judged: &Judged) -> bool {
    matches!(judged.origin.as_str(), "client" | "model" | "script")
}

/// What came of a call, as it came from its guest.
fn done(judged: &Judged, (seq, finished): (Seq, &Finished)) -> Result<Done> {
    let own = Source::new(Sort::Tool, judged.subject.as_str());
    let plugin = judged.subject.split('.').next().unwrap_or_default();
    let has = |source: Source| finished.label.with(source) == finished.label;
    // A component's words or a server's.
    let is_heard = has(own) || has(server::source(plugin));
    let (result, telling) = match &finished.end {
        End::Done {
            content: Content::Inline(value),
        } => (Ok(value.clone()), Telling::Whole),
        End::Done { .. } => {
            let what = format!(
                "what came of `{}` (record {seq}) was not kept, so the run cannot be replayed",
                judged.subject
            );
            return Err(Error::bad_input(what).hint("of what is secret a journal keeps nothing"));
        }
        End::Failed {
            code,
            message,
            issues,
            retryable,
        } => {
            let error = Error::new(*code, message.clone())
                .issues(issues.clone())
                .retry(*retryable);
            let sentence = finished.told.as_ref().and_then(fault_in);
            let telling = match sentence {
                Some(sentence) => Telling::Sentence(sentence.to_owned()),
                None if is_heard => Telling::Whole,
                None => Telling::Free,
            };
            (Err(error), telling)
        }
    };
    let mut trail = Trail::default();
    trail.read = finished.read.clone().unwrap_or_default();
    trail.records = Seen {
        label: finished.label.clone(),
        touched: finished.touched.clone(),
    };
    Ok(Done {
        result,
        telling,
        trail,
        remade: finished.remade.clone(),
        spent: finished.spent,
    })
}

/// What each model that was asked said, in order; of one that failed, how its request did.
fn replies(records: &[Record]) -> VecDeque<(Result<Reply>, bool)> {
    let mut replies = VecDeque::new();
    for (place, record) in records.iter().enumerate() {
        if !matches!(record.event, Event::Prompted { .. }) {
            continue;
        }
        let mut reply = Err(Error::new(Code::ProviderFailed, "it was not kept why"));
        let mut said = false;
        for next in records.iter().skip(place + 1) {
            if let Event::Replied { reply: said, .. } = &next.event {
                reply = Ok(said.clone());
                break;
            }
            // What became of the attempt, in the words that its chain went by.
            if let Event::Attempted(attempted) = &next.event
                && let Some((error, spoke)) = missed(attempted)
            {
                (reply, said) = (Err(error), spoke);
                break;
            }
            // The request itself, of which the prompt is the cause.
            if let Event::Finished(finished) = &next.event
                && let Some(error) = failure(finished)
            {
                reply = Err(error);
            }
            if let Event::Stopped(stopped) = &next.event
                && is_given_up(&stopped.end)
            {
                reply = Err(Error::new(
                    Code::Cancelled,
                    "nobody waited for it any longer",
                ));
            }
            if matches!(
                next.event,
                Event::Prompted { .. } | Event::Stopped(_) | Event::Resumed { .. }
            ) {
                break;
            }
        }
        replies.push_back((reply, said));
    }
    replies
}

/// How an attempt failed, and whether something was said before it did, as far as its chain went by that.
fn missed(attempted: &Attempted) -> Option<(Error, bool)> {
    let Tried::Failed {
        setback,
        code,
        message,
        wait_ms,
        cools_ms,
        usage,
        then,
        restarts,
        ..
    } = &attempted.tried
    else {
        return None;
    };
    let mut error = Error::new(*code, message.clone()).setback(*setback);
    if !usage.is_nothing() {
        error = error.spending(*usage);
    }
    // Whichever it is, the chain makes the same of it.
    let after_ms = *wait_ms.max(cools_ms);
    let said = *restarts || *then == Onward::Over && *cools_ms == 0;
    Some((error.after_ms((after_ms > 0).then_some(after_ms)), said))
}

/// What tools had to say of it, fold by fold.
fn noted(records: &[Record]) -> VecDeque<Vec<Noted>> {
    let noted = records.iter().filter_map(|record| {
        let Event::Compacted(compacted) = &record.event else {
            return None;
        };
        Some(compacted.after.clone())
    });
    noted.collect()
}

/// What models wrote of what was folded, in order; of one that wrote nothing, why.
fn summaries(records: &[Record]) -> VecDeque<Result<(String, Usage)>> {
    let told = records.iter().filter_map(|record| {
        let Event::Compacted(compacted) = &record.event else {
            return None;
        };
        if compacted.by != HOST {
            return Some(Ok((compacted.summary.clone(), compacted.spent.usage)));
        }
        let why = &compacted.instead;
        let failed = || {
            let error = Error::new(Code::ProviderFailed, why.clone());
            Err(error.spending(compacted.spent.usage))
        };
        (!why.is_empty()).then(failed)
    });
    told.collect()
}

fn failure(finished: &Finished) -> Option<Error> {
    let End::Failed {
        code,
        message,
        retryable,
        ..
    } = &finished.end
    else {
        return None;
    };
    Some(Error::new(*code, message.clone()).retry(*retryable))
}

/// Texts of attached files, as far as they are on record.
fn given(all: &[Record]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for record in all {
        if let Event::Judged(judged) = &record.event {
            texts.extend(judged.given.clone());
        }
    }
    texts
}

/// What was used in the middle of calls, where it was.
fn used(all: &[Record], own: &[Seq]) -> Vec<(Seq, Usage)> {
    let used = all.iter().filter_map(|record| {
        let Event::Finished(finished) = &record.event else {
            return None;
        };
        let of = all.iter().find(|one| one.seq == finished.of)?;
        let Event::Judged(judged) = &of.event else {
            return None;
        };
        let usage = used_by(judged, finished);
        let place = own.partition_point(|seq| *seq < record.seq);
        let place = Seq::try_from(place).unwrap_or(Seq::MAX);
        (!is_top(judged) && !usage.is_nothing()).then_some((place, usage))
    });
    used.collect()
}

/// Where such records stand.
fn places(records: &[Record], is_one: impl Fn(&Event) -> bool) -> BTreeSet<Seq> {
    let found = records.iter().filter(|record| is_one(&record.event));
    found.map(|record| record.seq).collect()
}

/// How each script first began.
fn scripted(records: &[Record]) -> BTreeMap<Place, Scripted> {
    let mut scripted = BTreeMap::new();
    for record in records {
        let Event::Scripted(began) = &record.event else {
            continue;
        };
        let of = records.iter().find(|other| other.seq == record.parent);
        if let Some(Event::Judged(judged)) = of.map(|of| &of.event) {
            let place = judged.place.clone();
            scripted.entry(place).or_insert_with(|| began.clone());
        }
    }
    scripted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::words::event::Read;
    use crate::words::label::Label;

    /// Whoever tells the ledger of it again says the same as before.
    #[test]
    fn what_a_call_has_read_stands_in_its_end() {
        let judged = json!({
            "effect": "call", "subject": "book.find", "origin": "model", "content": "empty", "label": ["user"],
            "verdict": {"verdict": "allow", "rule": "r"},
        });
        let finished = |read: Option<Value>| {
            let mut finished = json!({
                "of": 1, "end": "done", "content": {"inline": 1}, "label": ["user", "file:book"], "spent": {"us": 1},
            });
            if let Some(read) = read {
                finished["read"] = read;
            }
            serde_json::from_value::<Finished>(finished).unwrap()
        };
        let judged: Judged = serde_json::from_value(judged).unwrap();
        let read = |read| done(&judged, (1, &finished(read))).unwrap().trail.read;
        let book = Label::of(Source::new(Sort::File, "book"));
        assert_eq!(
            read(Some(json!({"label": ["file:book"], "at": ["file:book"]}))),
            Read::at(book)
        );
        assert_eq!(read(None), Read::default());
    }
}
