//! Spans: what a run was, as a tracing tool shows it: a fold of its records.
//!
//! A span has names, numbers and closed words in it, and never what anybody said: no prompt, argument, outcome,
//! path, URL or message. What comes from outside — names of tools, models, agents — is bounded and inert, and a name
//! that leads to nothing is not shown. Ids follow from the run's name and the places of records, so a run that goes
//! on in another process goes on with its trace, and whoever exports a run twice exports the same.
//!
//! Names are those of OpenTelemetry's conventions for generative AI; ours begin with `lazaret.`.

mod about;
pub mod collector;
pub mod line;
pub mod otlp;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::words::error::Code;
use crate::words::event::{
    Attempted, EffectKind, End, Event, Finished, Judged, Record, Started, Stopped, Tried, Verdict,
};
use crate::words::id::{Digest, RunId, Seq};
use crate::words::limits::{SPAN_EVENTS, SPANS_OPEN};
use crate::words::message::{Reply, StopReason};

/// What stands behind the name of a model in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Who answers, in the words of the conventions.
    pub provider: &'static str,
    /// The model's name there.
    pub model: String,
    /// What it takes at once.
    pub window_tokens: u64,
}

/// What stands behind the names of all models.
pub type Models = Arc<BTreeMap<String, Served>>;

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name or closed word.
    Text(String),
    /// Several.
    Texts(Vec<String>),
    /// A number.
    Number(u64),
    /// Whether something is so.
    Flag(bool),
}

/// A name with a value.
pub type Attribute = (&'static str, Value);

/// A moment within a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What.
    pub name: &'static str,
    /// More of it.
    pub attributes: Vec<Attribute>,
}

/// Whether a span waits for somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is our own work.
    Internal,
    /// A server does it.
    Client,
}

/// Where a span belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// The run.
    pub trace: [u8; 16],
    /// The span.
    pub span: [u8; 8],
    /// What it is a part of; nothing for a run.
    pub parent: Option<[u8; 8]>,
}

/// Something that took time, and is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it belongs.
    pub ids: Ids,
    /// What it is.
    pub name: String,
    /// Whether it waits for somebody else.
    pub kind: Kind,
    /// When it began, in milliseconds since 1970.
    pub start_ms: u64,
    /// When it ended; not before.
    pub end_ms: u64,
    /// What there is to say of it.
    pub attributes: Vec<Attribute>,
    /// What happened on the way.
    pub moments: Vec<Moment>,
    /// Moments beyond the bound.
    pub moments_lost: u64,
    /// Why it failed, in a closed word; nothing where it did not.
    pub failed: Option<String>,
}

impl Span {
    fn add(&mut self, attributes: Vec<Attribute>) {
        self.attributes.extend(attributes);
    }

    fn moment(&mut self, at_ms: u64, name: &'static str, attributes: Vec<Attribute>) {
        if self.moments.len() >= SPAN_EVENTS {
            self.moments_lost = self.moments_lost.saturating_add(1);
            return;
        }
        self.moments.push(Moment {
            at_ms,
            name,
            attributes,
        });
    }

    fn fail(&mut self, why: String) {
        self.attributes
            .push(("error.type", Value::Text(why.clone())));
        self.failed = Some(why);
    }
}

/// What a span is, in its id: one record may begin several.
#[derive(Clone, Copy)]
enum What {
    Run,
    Turn,
    Chat,
    Effect,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Turn => "turn",
            Self::Chat => "chat",
            Self::Effect => "effect",
        }
    }
}

/// The spans of one run, as its records come.
#[derive(Debug)]
pub struct Trace {
    run: RunId,
    trace: [u8; 16],
    models: Models,
    /// What every prompt of a session says.
    session: Vec<Attribute>,
    root: Option<Span>,
    turn: Option<Turn>,
    /// The attempt that is under way, with the record that began it.
    chat: Option<(Seq, Span)>,
    effects: BTreeMap<Seq, Span>,
    done: VecDeque<Span>,
}

/// The turn under way.
#[derive(Debug)]
struct Turn {
    number: u32,
    span: Span,
    state: &'static str,
    /// The model's own ids of its calls, in their order.
    calls: Vec<String>,
}

impl Trace {
    /// Of a run that begins, or whose records are to come from the first one.
    #[must_use]
    pub fn new(run: &RunId, models: Models) -> Self {
        let digest = Digest::of(format!("lazaret trace\n{run}").as_bytes());
        Self {
            run: run.clone(),
            trace: first(digest.bytes()),
            models,
            session: Vec::new(),
            root: None,
            turn: None,
            chat: None,
            effects: BTreeMap::new(),
            done: VecDeque::new(),
        }
    }

    /// All spans of these records that are over.
    #[must_use]
    pub fn of(records: &[Record], models: Models) -> Vec<Span> {
        let Some(first) = records.first() else {
            return Vec::new();
        };
        let mut trace = Self::new(&first.run, models);
        records
            .iter()
            .flat_map(|record| trace.see(record))
            .collect()
    }

    /// Takes the next record; what is over with it.
    pub fn see(&mut self, record: &Record) -> Vec<Span> {
        let at = record.at;
        match &record.event {
            Event::Started(started) => self.started(record, started),
            Event::Prompted {
                turn,
                turns_max,
                model,
                tools,
                ..
            } => {
                self.turn_begins(record, (*turn, *turns_max));
                self.prompted(record, model, tools.len());
            }
            Event::Attempted(attempted) => self.attempted(at, attempted),
            Event::Replied { reply, .. } => self.replied(at, reply),
            Event::Judged(judged) => self.judged(record, judged),
            Event::Finished(finished) => self.finished(at, finished),
            Event::Scripted(scripted) => {
                let engine = vec![("lazaret.component", text(scripted.engine.short()))];
                if let Some(effect) = self.effects.get_mut(&record.parent) {
                    effect.moment(at, "lazaret.script.began", engine);
                }
            }
            Event::Rested { .. } => self.happens(at, "lazaret.rested", Vec::new()),
            Event::Paused { questions } => {
                let many = vec![("lazaret.questions", count(questions.len()))];
                self.happens(at, "lazaret.paused", many);
            }
            Event::Answered { answer, .. } => {
                let answer = vec![("lazaret.answer", about::word(answer))];
                self.happens(at, "lazaret.answered", answer);
            }
            Event::Expired { .. } => self.happens(at, "lazaret.expired", Vec::new()),
            Event::Resumed { .. } => self.happens(at, "lazaret.resumed", Vec::new()),
            Event::Overspent(over) => {
                self.happens(at, "lazaret.budget.overspent", about::overspent(over));
            }
            Event::Brought(_) => self.happens(at, "lazaret.brought", Vec::new()),
            Event::Observed { observation, .. } => {
                if !observation.flags.is_empty() {
                    let flags = vec![("lazaret.flags", count(observation.flags.len()))];
                    self.happens(at, "lazaret.flagged", flags);
                }
            }
            Event::Compacted(compacted) => {
                self.happens(at, "lazaret.compacted", about::compacted(compacted));
            }
            Event::Stopped(stopped) => self.stopped(at, stopped),
        }
        self.done.drain(..).collect()
    }

    fn span(&self, what: What, seq: Seq, parent: Option<[u8; 8]>, at_ms: u64) -> Span {
        Span {
            ids: Ids {
                trace: self.trace,
                span: self.id(what, seq),
                parent,
            },
            name: what.word().to_owned(),
            kind: Kind::Internal,
            start_ms: at_ms,
            end_ms: at_ms,
            attributes: Vec::new(),
            moments: Vec::new(),
            moments_lost: 0,
            failed: None,
        }
    }

    fn id(&self, what: What, seq: Seq) -> [u8; 8] {
        let of = format!("lazaret span\n{}\n{seq}\n{}", self.run, what.word());
        first(Digest::of(of.as_bytes()).bytes())
    }

    /// The run's own span: what has no other place is a part of it, also where its beginning was not seen.
    fn above(&self) -> [u8; 8] {
        let turn = self.turn.as_ref().map(|turn| turn.span.ids.span);
        turn.unwrap_or_else(|| self.id(What::Run, 0))
    }

    fn close(&mut self, mut span: Span, at_ms: u64) {
        span.end_ms = at_ms.max(span.start_ms);
        self.done.push_back(span);
    }

    /// Something that takes no time.
    fn happens(&mut self, at_ms: u64, name: &'static str, attributes: Vec<Attribute>) {
        let turn = self.turn.as_mut().map(|turn| &mut turn.span);
        if let Some(span) = turn.or(self.root.as_mut()) {
            span.moment(at_ms, name, attributes);
        }
    }

    fn started(&mut self, record: &Record, started: &Started) {
        let mut root = self.span(What::Run, 0, None, record.at);
        self.session = about::session(started);
        (root.name, root.attributes) = about::run(&self.run, started);
        root.add(self.session.clone());
        self.root = Some(root);
    }

    fn turn_begins(&mut self, record: &Record, (number, most): (u32, u32)) {
        if self.turn.as_ref().is_some_and(|turn| turn.number == number) {
            return;
        }
        self.turn_ends(record.at);
        let run = Some(self.id(What::Run, 0));
        let mut span = self.span(What::Turn, record.seq, run, record.at);
        span.add(vec![
            ("lazaret.turn", Value::Number(number.into())),
            ("lazaret.turns_max", Value::Number(most.into())),
        ]);
        self.turn = Some(Turn {
            number,
            span,
            state: "asking",
            calls: Vec::new(),
        });
    }

    fn turn_ends(&mut self, at_ms: u64) {
        self.chat_ends(at_ms, Some(Code::InDoubt));
        if let Some(Turn {
            mut span, state, ..
        }) = self.turn.take()
        {
            span.add(vec![("lazaret.turn.state", text(state))]);
            self.close(span, at_ms);
        }
    }

    fn prompted(&mut self, record: &Record, model: &str, tools: usize) {
        self.chat_ends(record.at, Some(Code::InDoubt));
        let mut span = self.span(What::Chat, record.seq, Some(self.above()), record.at);
        let served = self.models.get(model);
        let name;
        (name, span.attributes) = about::prompt(model, served, tools);
        span.name = name;
        span.kind = Kind::Client;
        span.add(self.session.clone());
        self.chat = Some((record.seq, span));
    }

    fn chat_ends(&mut self, at_ms: u64, failed: Option<Code>) {
        if let Some((_, mut span)) = self.chat.take() {
            if let Some(code) = failed {
                span.fail(code.word());
            }
            self.close(span, at_ms);
        }
    }

    fn attempted(&mut self, at_ms: u64, attempted: &Attempted) {
        let what = about::attempt(attempted);
        match &attempted.tried {
            Tried::Failed { code, .. } if attempted.turn > 0 && self.chat.is_some() => {
                if let Some((_, span)) = &mut self.chat {
                    span.add(what);
                }
                if let Some(turn) = &mut self.turn {
                    turn.state = "failed";
                }
                self.chat_ends(at_ms, Some(*code));
            }
            Tried::Failed { .. } => self.happens(at_ms, "lazaret.model.failed", what),
            Tried::Skipped { .. } => self.happens(at_ms, "lazaret.model.skipped", what),
        }
    }

    fn replied(&mut self, at_ms: u64, reply: &Reply) {
        if let Some(turn) = &mut self.turn {
            turn.calls = reply.calls.iter().map(|call| call.id.clone()).collect();
            turn.state = match reply.stop {
                StopReason::Filtered => "filtered",
                StopReason::Length => "cut",
                StopReason::End | StopReason::Calls if reply.calls.is_empty() => "answered",
                StopReason::End | StopReason::Calls => "called",
            };
        }
        let mut used = about::reply(reply);
        if let Some((_, span)) = &mut self.chat {
            let asked = span.attributes.iter().find_map(about::asked_of);
            let served = asked.and_then(|model| self.models.get(model));
            used.extend(about::filled(reply.usage, served));
            span.add(used);
        }
        self.chat_ends(at_ms, None);
    }

    fn judged(&mut self, record: &Record, judged: &Judged) {
        // That a person sees an answer takes no time, and the run's own span says it.
        if judged.effect == EffectKind::Show {
            return;
        }
        let parent = self.parent_of(record);
        let mut span = self.span(What::Effect, record.seq, Some(parent), record.at);
        let id = self.call_id(judged);
        (span.name, span.attributes) = about::effect(judged, id);
        if judged.effect == EffectKind::Fetch {
            span.kind = Kind::Client;
        }
        let verdict = about::verdict(&judged.verdict);
        span.moment(record.at, "lazaret.verdict", verdict.clone());
        match &judged.verdict {
            Verdict::Allow { .. } if self.effects.len() < SPANS_OPEN => {
                self.effects.insert(record.seq, span);
            }
            Verdict::Allow { .. } => {}
            Verdict::Deny(_) => {
                span.fail(about::refused(&judged.verdict));
                self.close(span, record.at);
            }
            Verdict::Ask(_) => self.close(span, record.at),
        }
    }

    /// What an effect is a part of: another one, an attempt, the turn, or the run.
    fn parent_of(&self, record: &Record) -> [u8; 8] {
        if let Some(effect) = self.effects.get(&record.parent) {
            return effect.ids.span;
        }
        match &self.chat {
            Some((seq, span)) if *seq == record.parent && record.parent > 0 => span.ids.span,
            Some(_) | None => self.above(),
        }
    }

    /// The model's own id of a call, where this is one of its turn.
    fn call_id(&self, judged: &Judged) -> Option<&str> {
        let turn = self.turn.as_ref()?;
        let of = crate::words::id::Place::of_turn(turn.number);
        let position = usize::try_from(judged.place.position_in(&of)?).ok()?;
        turn.calls.get(position).map(String::as_str)
    }

    fn finished(&mut self, at_ms: u64, finished: &Finished) {
        let Some(mut span) = self.effects.remove(&finished.of) else {
            return;
        };
        span.add(about::finish(finished));
        if let End::Failed { code, .. } = &finished.end {
            span.fail(code.word());
        }
        self.close(span, at_ms);
    }

    fn stopped(&mut self, at_ms: u64, stopped: &Stopped) {
        // Whatever has no end of its own was cut off; what is within ends first.
        for (_, mut span) in std::mem::take(&mut self.effects).into_iter().rev() {
            span.fail(Code::InDoubt.word());
            self.close(span, at_ms);
        }
        self.turn_ends(at_ms);
        if let Some(mut root) = self.root.take() {
            root.add(about::stop(stopped));
            if let End::Failed { code, .. } = &stopped.end {
                root.fail(code.word());
            }
            self.close(root, at_ms);
        }
    }
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn count(many: usize) -> Value {
    Value::Number(u64::try_from(many).unwrap_or(u64::MAX))
}

/// The first bytes of a digest.
fn first<const N: usize>(digest: &[u8; 32]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes
        .iter_mut()
        .zip(digest)
        .for_each(|(byte, from)| *byte = *from);
    bytes
}

#[cfg(test)]
mod tests;
