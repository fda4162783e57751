//! Questions of a run: what was asked, and how each stands. A fold of its records.
//!
//! A question is bound to a wish — run, place in it, tool, component, arguments — and to why it is asked. What a
//! person has allowed counts for that wish at that place, as long as nothing speaks against it that they have not
//! been told.

mod readable;
pub mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::readable::Readable;
use super::budget::is_overspending;
use super::grant::Pattern;
use super::server::asked::{form_of, is_form};
use super::server::form::Form;
use crate::words::event::{Answer, Content, EffectKind, Event, Judged, Question, Record, Verdict};
use crate::words::id::{Place, QuestionId, RunId, Seq};
use crate::words::label::Label;

/// Said of a call that waits, whatever for.
pub const ASKED: &str = "this call waits for a person's answer";

/// What becomes of a question where nobody is there to be asked.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Unattended {
    /// The run is left, and waits.
    #[default]
    Pause,
    /// It counts as answered with no, and the run goes on.
    Deny,
}

impl Unattended {
    /// The word, as in `lazaret.toml`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Deny => "deny",
        }
    }
}

/// What policy says about questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskRules {
    /// Tools that a person is asked about before every call.
    pub tools: Vec<Pattern>,
    /// Tools whose calls by models, scripts and tools count as confirmed, each named alone.
    pub confirmed: Vec<Pattern>,
    /// What becomes of a question where nobody is there to be asked.
    pub unattended: Unattended,
    /// How long the questions of a run that begins may be answered; for ever where it says nothing.
    pub expires_ms: Option<u64>,
}

/// A question that was asked, and what about.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The run that waits.
    pub run: RunId,
    /// Since when, in milliseconds since 1970.
    pub at: u64,
    /// What would be called.
    pub subject: String,
    /// With what.
    pub content: Content,
    /// Everything that influenced the wish.
    pub label: Label,
    /// The question.
    pub question: Question,
}

impl Waiting {
    /// Whether its time is over.
    #[must_use]
    pub fn is_late(&self, now: u64) -> bool {
        self.question.until.is_some_and(|until| until <= now)
    }

    /// What an answer to it counts as: where no value of it could steer again, `always` says no more than a yes.
    #[must_use]
    pub fn counted(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Always if self.question.values.is_empty() => Answer::Allow,
            Answer::Allow | Answer::Always | Answer::Deny => answer,
        }
    }

    /// The form that it is about, if it is about one: what a server wants to know in the middle of a call.
    #[must_use]
    pub fn form(&self) -> Option<Form> {
        form_of(&self.subject, &self.content).map(|(_, form)| form)
    }
}

/// How a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits.
    Open,
    /// Somebody has answered.
    Answered(Answer),
    /// Nobody has in time.
    Expired,
}

/// What is known of a wish that has to be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A person has said yes to it, knowing all that speaks against it.
    Yes,
    /// A person has said no.
    No,
    /// Nobody has said anything in time.
    Nothing,
}

/// What stands against a call that persons were asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against<'a> {
    /// One has said no, and why; empty where they did not say.
    No(&'a str),
    /// Nobody has answered in time.
    Late,
}

/// All questions of a run, in the order in which they were asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    all: Vec<(Waiting, Standing)>,
    places: BTreeMap<QuestionId, usize>,
    /// What was last asked at a place, as long as nothing else was decided there.
    last: BTreeMap<Place, QuestionId>,
    /// Why those who answered said what they said; empty where they did not say.
    reasons: BTreeMap<QuestionId, String>,
    /// Forms that a server waits for in the middle of a call, and the record of that call.
    forms: BTreeMap<QuestionId, Seq>,
    /// What was asked about the call at a place.
    calls: BTreeMap<Place, Vec<QuestionId>>,
}

impl Questions {
    /// Whether nothing was asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Reads the records of a run.
    #[must_use]
    pub fn of(records: &[Record]) -> Self {
        let mut questions = Self::default();
        let mut after = records.iter().skip(1);
        for record in records {
            let next = after.next().map(|next| &next.event);
            match &record.event {
                Event::Judged(judged) if is_wish(judged) => questions.judged(record, judged),
                Event::Judged(judged) if is_form(judged) => questions.put(record, judged),
                // Whoever waits for it has written that down, and nobody takes it up again.
                Event::Answered {
                    question, answer, ..
                } if questions.forms.contains_key(question) => {
                    questions.settle(question, Standing::Answered(*answer));
                }
                Event::Finished(finished) => questions.over(|call| call == finished.of),
                Event::Paused { .. } | Event::Stopped(_) | Event::Resumed { .. } => {
                    questions.over(|_| true);
                }
                // An answer counts with the pause right after it, which the run's mark vouches for: one that was
                // slipped into the journal has none, and a later pause is not its own.
                Event::Answered {
                    question,
                    answer,
                    reason,
                } if matches!(next, Some(Event::Paused { .. })) => {
                    questions.settle(question, Standing::Answered(*answer));
                    questions.reasons.insert(question.clone(), reason.clone());
                }
                Event::Expired { question } => questions.settle(question, Standing::Expired),
                Event::Judged(_)
                | Event::Answered { .. }
                | Event::Started(_)
                | Event::Brought(_)
                | Event::Prompted { .. }
                | Event::Attempted(_)
                | Event::Replied { .. }
                | Event::Scripted(_)
                | Event::Rested { .. }
                | Event::Overspent(_)
                | Event::Compacted(_)
                | Event::Observed { .. } => {}
            }
        }
        questions
    }

    fn judged(&mut self, record: &Record, judged: &Judged) {
        let Verdict::Ask(question) = &judged.verdict else {
            self.last.remove(&judged.place);
            return;
        };
        self.last.insert(judged.place.clone(), question.id.clone());
        // A run that was taken up more than once has asked more than once. The first time counts: to go on is no
        // way to more time.
        if self.places.contains_key(&question.id) {
            return;
        }
        self.keep(record, judged, question);
    }

    /// A form waits as long as its call is under way, whatever else is asked meanwhile.
    fn put(&mut self, record: &Record, judged: &Judged) {
        if let Verdict::Ask(question) = &judged.verdict {
            self.forms.insert(question.id.clone(), record.parent);
            self.keep(record, judged, question);
        }
    }

    /// The calls of which this is true are over, and nobody waits in their middle.
    fn over(&mut self, is_over: impl Fn(Seq) -> bool) {
        let over = self.forms.iter().filter(|(_, call)| is_over(**call));
        let over: Vec<QuestionId> = over.map(|(question, _)| question.clone()).collect();
        for question in over {
            self.settle(&question, Standing::Expired);
        }
    }

    fn keep(&mut self, record: &Record, judged: &Judged, question: &Question) {
        self.places.insert(question.id.clone(), self.all.len());
        if judged.effect == EffectKind::Call {
            let asked = self.calls.entry(judged.place.clone()).or_default();
            asked.push(question.id.clone());
        }
        let waiting = Waiting {
            run: record.run.clone(),
            at: record.at,
            subject: judged.subject.clone(),
            content: judged.content.clone(),
            label: judged.label.clone(),
            question: question.clone(),
        };
        self.all.push((waiting, Standing::Open));
    }

    /// Once, and for all times.
    fn settle(&mut self, id: &QuestionId, standing: Standing) {
        let place = self.places.get(id).copied();
        let one = place.and_then(|place| self.all.get_mut(place));
        if let Some((_, open @ Standing::Open)) = one {
            *open = standing;
        }
    }

    fn get(&self, id: &QuestionId) -> Option<&(Waiting, Standing)> {
        self.all.get(*self.places.get(id)?)
    }

    /// How a question stands; nothing where it was never asked.
    #[must_use]
    pub fn standing(&self, id: &QuestionId) -> Option<Standing> {
        self.get(id).map(|(_, standing)| *standing)
    }

    /// When the time of a question is over that was asked before.
    #[must_use]
    pub fn until(&self, id: &QuestionId) -> Option<Option<u64>> {
        self.get(id).map(|(waiting, _)| waiting.question.until)
    }

    /// Those that wait. What was decided otherwise since, or is asked for other reasons now, does not.
    pub fn open(&self) -> impl Iterator<Item = &Waiting> {
        self.all.iter().filter_map(|(waiting, standing)| {
            let id = &waiting.question.id;
            let is_last = self.last.values().any(|last| last == id);
            let waits = *standing == Standing::Open && (is_last || self.forms.contains_key(id));
            waits.then_some(waiting)
        })
    }

    /// Those that wait and whose time is over.
    #[must_use]
    pub fn late(&self, now: u64) -> Vec<QuestionId> {
        let late = self.open().filter(|waiting| waiting.is_late(now));
        late.map(|waiting| waiting.question.id.clone()).collect()
    }

    /// The values that persons have answered for, for the rest of the run.
    pub fn always(&self) -> impl Iterator<Item = &QuestionId> {
        let always = self
            .all
            .iter()
            .filter(|(_, standing)| *standing == Standing::Answered(Answer::Always));
        always.flat_map(|(waiting, _)| &waiting.question.values)
    }

    /// Why a person has said no to this wish; empty where they did not say.
    #[must_use]
    pub fn why_not(&self, wish: &QuestionId) -> &str {
        let is_no = |(waiting, standing): &&(Waiting, Standing)| {
            waiting.question.wish == *wish && *standing == Standing::Answered(Answer::Deny)
        };
        let no = self.all.iter().find(is_no);
        let why = no.and_then(|(waiting, _)| self.reasons.get(&waiting.question.id));
        why.map_or("", String::as_str)
    }

    /// What stands against the call at this place: it is not made, however it is judged by now. There is one call at a place of
    /// a run, so neither another answer, nor a line that was written since, nor a newer component makes it one that nobody
    /// was asked about.
    #[must_use]
    pub fn against(&self, place: &Place) -> Option<Against<'_>> {
        let (mut late, mut allowed) = (None, false);
        for id in self.calls.get(place)? {
            match self.standing(id) {
                Some(Standing::Answered(Answer::Deny)) => {
                    let why = self.reasons.get(id);
                    return Some(Against::No(why.map_or("", String::as_str)));
                }
                Some(Standing::Answered(Answer::Allow | Answer::Always)) => allowed = true,
                Some(Standing::Expired) => late = Some(Against::Late),
                // Where no answer is needed any more, the judgement that says so takes the question back.
                Some(Standing::Open) | None => {}
            }
        }
        late.filter(|_| !allowed)
    }

    /// What persons have said to this wish. `reasons` are all that speak against it now: a yes that was said without
    /// one of them is none.
    #[must_use]
    pub fn said(&self, (id, wish): (&QuestionId, &QuestionId), reasons: &[&str]) -> Option<Said> {
        let about = |waiting: &Waiting| waiting.question.wish == *wish;
        let knew = |waiting: &Waiting| {
            let told = &waiting.question.reasons;
            waiting.question.id == *id
                || reasons
                    .iter()
                    .all(|reason| told.iter().any(|told| told == reason))
        };
        let of_wish = self.all.iter().filter(|(waiting, _)| about(waiting));
        let mut said = None;
        for (waiting, standing) in of_wish {
            match standing {
                Standing::Open => {}
                Standing::Expired => said = said.or(Some(Said::Nothing)),
                // A no is a no to the wish, whatever else speaks against it now.
                Standing::Answered(Answer::Deny) => return Some(Said::No),
                Standing::Answered(Answer::Allow | Answer::Always) if knew(waiting) => {
                    said = Some(Said::Yes);
                }
                Standing::Answered(Answer::Allow | Answer::Always) => {}
            }
        }
        said
    }
}

/// Whether a judgement is of a wish that a person can be asked about: a tool's own call cannot wait.
fn is_wish(judged: &Judged) -> bool {
    let is_call = judged.effect == EffectKind::Call
        && matches!(judged.origin.as_str(), "client" | "model" | "script");
    is_call || is_overspending(judged)
}

#[cfg(test)]
mod tests;
