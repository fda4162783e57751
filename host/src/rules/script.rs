//! Scripts: what a script waits for, what is known of its earlier lives, and what comes next.
//!
//! A script is a function of its source, its seed and its answers in their order. [`Recall`] reads the
//! answers of earlier lives out of a run's records; [`Queue`] says which of its calls may run now. Who
//! performs is `runs/script.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::call::wished;
use super::flow::apart::{fault_in, fault_told};
use super::flow::handles::{in_the_clear, told_label};
use super::json as text;
use super::manifest::{Declared, Manifest};
use super::plan::{Grouping, Timing};
use crate::words::error::{AFTER_DOUBT, Code, Error, Issue, Result};
use crate::words::event::{
    Content, EffectKind, End, Event, Finished, Judged, Record, Scripted, Verdict,
};
use crate::words::id::{Digest, Place, Seq, shown};
use crate::words::label::Label;
use crate::words::limits::CALLS_PARALLEL;
use crate::words::message::WishedArgs;

/// The plugin's part of [`TOOL`]: no component may take it.
pub const PLUGIN: &str = "script";
/// The name under which policy, journal and envelopes know scripts. Models call it
/// [`RUN_SCRIPT`](super::code_mode::RUN_SCRIPT).
pub const TOOL: &str = "script.run";

/// What is declared of [`TOOL`], as a plugin would declare it. It only computes: what its script calls
/// is judged call by call.
///
/// # Errors
/// `BadPlugin` where this text is wrong.
pub fn declared() -> Result<Declared> {
    let manifest = json!({
        "plugin": PLUGIN,
        "version": "1",
        "description": "Scripts in a guest of their own.",
        "tools": [{
            "name": "run",
            "description": "Runs a script.",
            "input": {"type": "object", "properties": {"source": {"type": "string"}}, "required": ["source"]},
            "output": true,
            "effect": "pure",
        }],
    });
    let manifest = Manifest::read(&manifest.to_string())?;
    let tool = manifest.tools.into_iter().next();
    tool.ok_or_else(|| Error::bug("the manifest of scripts has no tool"))
}

/// An end as the script was told of it: a handle came without the label of what it holds.
fn told(tool: &str, finished: &Finished) -> (End, Label) {
    match &finished.told {
        Some(told) => {
            let end = match (&finished.end, fault_in(told)) {
                (End::Failed { code, .. }, Some(sentence)) => End::Failed {
                    code: *code,
                    message: fault_told(sentence, told),
                    issues: Vec::new(),
                    retryable: false,
                },
                _ => End::Done {
                    content: Content::Inline(told.clone()),
                },
            };
            (end, told_label(tool, told, &finished.label))
        }
        None => {
            let end = match &finished.end {
                End::Done {
                    content: Content::Inline(outcome),
                } => End::Done {
                    content: Content::Inline(in_the_clear(outcome.clone())),
                },
                end @ (End::Done { .. } | End::Failed { .. }) => end.clone(),
            };
            (end, finished.label.clone())
        }
    }
}

/// What a script asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// A call of a tool.
    Call {
        /// The tool as the script named it.
        tool: String,
        /// The arguments as it gave them.
        args: WishedArgs,
    },
    /// Some time to pass.
    Rest {
        /// When it is over, in milliseconds since 1970.
        due: u64,
    },
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// The tool's outcome.
    Value(Value),
    /// It failed.
    Failed {
        /// Closed code.
        code: Code,
        /// For the script to read.
        message: String,
        /// Whether the same call may succeed later.
        retryable: bool,
    },
    /// The time is over.
    Rested,
}

impl Answered {
    /// As the outcome of a call.
    ///
    /// # Errors
    /// The failure. `Bug` for a rest, which is no call.
    pub fn result(self) -> Result<Value> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Failed {
                code,
                message,
                retryable,
            } => {
                let error = Error::new(code, message).retry(retryable);
                Err(match error.is_in_doubt() {
                    true => error.hint(AFTER_DOUBT),
                    false => error,
                })
            }
            Self::Rested => Err(Error::bug("a rest is the answer of no call")),
        }
    }

    /// Of a call that failed: every issue's place stands in the message.
    #[must_use]
    pub fn failed(code: Code, message: &str, issues: &[Issue], retryable: bool) -> Self {
        let mut message = message.to_owned();
        for issue in issues {
            let place = if issue.path.is_empty() {
                "/"
            } else {
                &issue.path
            };
            message.push_str(&format!("\n- {place}: {}", issue.message));
        }
        Self::Failed {
            code,
            message,
            retryable,
        }
    }
}

/// One answer as it was given, or is to be given.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Which request.
    pub position: u32,
    /// The judgement of its call; that of a rest is none.
    pub seq: Seq,
    /// When, in milliseconds since 1970: what the script takes for now.
    pub at: u64,
    /// What.
    pub answered: Answered,
    /// What influenced it.
    pub label: Label,
}

/// A call of an earlier life.
#[derive(Clone, Debug)]
struct Called {
    subject: String,
    content: Content,
    /// What it was wished under the influence of.
    label: Label,
    seq: Seq,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// It was allowed, and nothing is known of its end.
    Open,
    /// It ended, or never began.
    Ended,
}

/// What an earlier life leaves to do for one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    /// Nothing was begun.
    Fresh,
    /// It was begun, and may or may not have happened.
    Begun(Seq),
}

/// What the journal holds of a script's earlier lives.
#[derive(Clone, Debug, Default)]
pub struct Recall {
    /// How it began; nothing where it never did.
    pub scripted: Option<Scripted>,
    /// Its answers, in the order in which they were given.
    pub settled: VecDeque<Settled>,
    calls: BTreeMap<u32, Called>,
    answered: BTreeSet<u32>,
    /// What influenced attempts at a call that were followed by another (U-17).
    attempts: BTreeMap<u32, Label>,
}

impl Recall {
    /// Reads what a run's records say of the script at `place`. `repeatable` says of a tool whether its
    /// calls may be made again when their end is not known.
    #[must_use]
    pub fn of(records: &[Record], place: &Place, repeatable: impl Fn(&str) -> bool) -> Self {
        let mut recall = Self::default();
        let mut lives: Vec<Seq> = Vec::new();
        let mut positions: BTreeMap<Seq, u32> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::Judged(judged) if is_life(judged, place) => lives.push(record.seq),
                Event::Judged(judged) if judged.effect == EffectKind::Call => {
                    if let Some(position) = judged.place.position_in(place) {
                        positions.insert(record.seq, position);
                        recall.begun(position, record.seq, judged);
                    }
                }
                Event::Finished(finished) => {
                    if let Some(position) = positions.get(&finished.of) {
                        let call = recall.calls.get(position);
                        let tool = call.map_or("", |call| call.subject.as_str());
                        let end = told(tool, finished);
                        recall.ended(*position, record.at, end, &repeatable);
                    }
                }
                Event::Scripted(scripted) if lives.contains(&record.parent) => {
                    recall.scripted.get_or_insert_with(|| scripted.clone());
                }
                Event::Rested { place: at } => {
                    if let Some(position) = at.position_in(place) {
                        recall.settle(position, record.at, Answered::Rested, Label::default());
                    }
                }
                Event::Judged(_)
                | Event::Scripted(_)
                | Event::Started(_)
                | Event::Brought(_)
                | Event::Prompted { .. }
                | Event::Attempted(_)
                | Event::Replied { .. }
                | Event::Observed { .. }
                | Event::Paused { .. }
                | Event::Answered { .. }
                | Event::Expired { .. }
                | Event::Resumed { .. }
                | Event::Overspent(_)
                | Event::Compacted(_)
                | Event::Stopped(_) => {}
            }
        }
        recall
    }

    fn begun(&mut self, position: u32, seq: Seq, judged: &Judged) {
        let state = match &judged.verdict {
            Verdict::Allow { .. } => State::Open,
            // What was asked about is judged again, with or without an answer.
            Verdict::Ask(_) | Verdict::Deny(_) => State::Ended,
        };
        let called = Called {
            subject: judged.subject.clone(),
            content: judged.content.clone(),
            label: self.under(position).join(&judged.label),
            seq,
            state,
        };
        self.calls.insert(position, called);
        self.again(position);
    }

    /// A call that has an end is made again: how that ends is what counts, and the end before it influenced that.
    fn again(&mut self, position: u32) {
        if !self.answered.remove(&position) {
            return;
        }
        let mut settled = self.settled.iter();
        let at = settled.position(|settled| settled.position == position);
        if let Some(earlier) = at.and_then(|at| self.settled.remove(at)) {
            let label = self.attempts.entry(position).or_default();
            *label = label.join(&earlier.label);
        }
    }

    /// A call that was cut off by the end of its life has no answer, unless it must not be made again:
    /// then that is its answer, from here on.
    fn ended(
        &mut self,
        position: u32,
        at: u64,
        (end, label): (End, Label),
        repeatable: &impl Fn(&str) -> bool,
    ) {
        let Some(call) = self.calls.get_mut(&position) else {
            return;
        };
        call.state = State::Ended;
        let answered = match &end {
            // Of a script: it was left, and is run again.
            End::Failed {
                code: Code::Asked, ..
            } => return,
            End::Failed {
                code: Code::Cancelled | Code::InDoubt,
                ..
            } if repeatable(&call.subject) => return,
            End::Failed {
                code: Code::Cancelled | Code::InDoubt,
                ..
            } => in_doubt(&call.subject),
            End::Failed {
                code,
                message,
                issues,
                retryable,
            } => Answered::failed(*code, message, issues, *retryable),
            End::Done { content } => Answered::Value(value_of(content)),
        };
        self.settle(position, at, answered, label);
    }

    fn settle(&mut self, position: u32, at: u64, answered: Answered, label: Label) {
        self.answered.insert(position);
        let label = match self.attempts.get(&position) {
            Some(attempts) => label.join(attempts),
            None => label,
        };
        self.settled.push_back(Settled {
            position,
            seq: self.calls.get(&position).map_or(0, |call| call.seq),
            at,
            answered,
            label,
        });
    }

    /// Compares a request with what was asked at its position before. The tool stands as it was asked for, and as it is
    /// called where that is turned down.
    ///
    /// # Errors
    /// `Diverged` with the position and both digests.
    pub fn compare(
        &self,
        position: u32,
        (tool, named): (&str, &str),
        args: &WishedArgs,
    ) -> Result<()> {
        let Some(before) = self.calls.get(&position) else {
            return Ok(());
        };
        let now = wished(args);
        // What was turned down stands shortened in its record.
        let same = before.subject == tool || before.subject == shown(named);
        if same && before.content == now {
            return Ok(());
        }
        let what = format!(
            "the script has changed its mind: request {position} was `{}` ({}), and is `{}` ({}) now",
            before.subject,
            digest_of(&before.content),
            shown(named),
            digest_of(&now)
        );
        Err(diverged(&what))
    }

    /// What earlier lives wished the call at this position under the influence of. A later one may find less behind it, since
    /// of what is secret nothing is kept, and wishes it as they did.
    #[must_use]
    pub fn under(&self, position: u32) -> Label {
        let call = self.calls.get(&position);
        call.map_or_else(Label::default, |call| call.label.clone())
    }

    /// Whether an earlier life has made a call at this position.
    #[must_use]
    pub fn is_call(&self, position: u32) -> bool {
        self.calls.contains_key(&position)
    }

    /// Whether an earlier life has an answer for this position.
    #[must_use]
    pub fn answers(&self, position: u32) -> bool {
        self.answered.contains(&position)
    }

    /// What is left to do for the call at `position`, which has no answer.
    #[must_use]
    pub fn left(&self, position: u32) -> Left {
        match self.calls.get(&position) {
            None => Left::Fresh,
            Some(call) => match &call.state {
                State::Open => Left::Begun(call.seq),
                State::Ended => Left::Fresh,
            },
        }
    }
}

/// The script does not go the way that it went.
#[must_use]
pub fn diverged(what: &str) -> Error {
    Error::new(Code::Diverged, format!("{what}; nothing was done"))
        .hint("the record is untouched; run the script anew if that is what you want")
}

/// What a script is told of a call that may or may not have happened.
#[must_use]
pub fn in_doubt(tool: &str) -> Answered {
    Answered::Failed {
        code: Code::InDoubt,
        message: format!(
            "the run was interrupted while `{tool}` was under way: it may or may not have happened, and is not repeated"
        ),
        retryable: false,
    }
}

/// Whether a record is a script's beginning at this place, in one of its lives.
#[must_use]
pub fn is_life(judged: &Judged, place: &Place) -> bool {
    judged.effect == EffectKind::Call && judged.subject == TOOL && judged.place == *place
}

fn value_of(content: &Content) -> Value {
    match content {
        Content::Inline(value) => value.clone(),
        Content::Empty | Content::Stored { .. } | Content::Size { .. } => Value::Null,
    }
}

fn digest_of(content: &Content) -> String {
    Digest::of(text::canonical(&value_of(content)).as_bytes()).short()
}

/// Calls that a script waits for, in its order, by the same barriers as the calls of a turn (U-13):
/// neighbours that only look run together, everything else runs alone. A call that waits for a person is under
/// way as far as those behind it are concerned: they are asked about, and not begun. It sends nothing meanwhile, so it bars
/// nothing by its [`Timing`]; what runs does until it ends, also where it waits for its next attempt.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    waiting: VecDeque<(u32, Grouping)>,
    /// What runs, by position.
    running: BTreeMap<u32, Timing>,
    alone: bool,
    /// What a person is asked about, the strictest of it.
    asked: Option<Grouping>,
    /// Whether a stranger has influence on what the calls do.
    guarded: bool,
}

impl Queue {
    /// One more call, behind all others.
    pub fn add(&mut self, position: u32, grouping: Grouping) {
        self.waiting.push_back((position, grouping));
    }

    /// From here on a stranger has influence on what the calls do.
    pub fn guard(&mut self) {
        self.guarded = true;
    }

    /// The next call that may begin now, if there is one. `timing` says of the call at a position what its time tells.
    pub fn begin(&mut self, timing: impl Fn(u32) -> Timing) -> Option<u32> {
        let (position, grouping) = self.waiting.front().copied()?;
        let free = match (self.asked, grouping) {
            (None | Some(Grouping::Together), Grouping::Together) => {
                !self.alone && self.running.len() < CALLS_PARALLEL
            }
            (None, Grouping::Alone) => self.running.is_empty(),
            (Some(_), Grouping::Alone) | (Some(Grouping::Alone), Grouping::Together) => false,
        };
        if !free {
            return None;
        }
        let timing = timing(position);
        if self.is_barred(timing) {
            return None;
        }
        self.waiting.pop_front();
        self.running.insert(position, timing);
        self.alone = grouping == Grouping::Alone;
        Some(position)
    }

    /// Whether something runs that it must not run beside.
    fn is_barred(&self, timing: Timing) -> bool {
        let mut running = self.running.values();
        self.guarded && running.any(|running| running.bars(timing))
    }

    /// The next call that cannot begin since another before it waits for a person. What comes before it must have
    /// ended: it is judged by what it would be judged by in its turn.
    pub fn ahead(&mut self) -> Option<u32> {
        if self.asked.is_none() || !self.running.is_empty() {
            return None;
        }
        let (position, grouping) = self.waiting.pop_front()?;
        self.bar(grouping);
        Some(position)
    }

    /// A call that had begun has ended.
    pub fn end(&mut self, position: u32) {
        self.running.remove(&position);
        if self.running.is_empty() {
            self.alone = false;
        }
    }

    /// A call that had begun waits for a person.
    pub fn ask(&mut self, position: u32) {
        self.bar(match self.alone {
            true => Grouping::Alone,
            false => Grouping::Together,
        });
        self.end(position);
    }

    fn bar(&mut self, grouping: Grouping) {
        if self.asked != Some(Grouping::Alone) {
            self.asked = Some(grouping);
        }
    }
}

#[cfg(test)]
mod tests;
