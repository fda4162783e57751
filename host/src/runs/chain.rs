//! Asking the models of a run, one after the other, until one gives a reply (U-36).
//!
//! What is done next is decided in `rules/chain.rs`; here it is done: each attempt on record before it is made,
//! what became of it after, and the waits between by the steady time of the run's clock, so that nobody who sets a
//! clock moves them, and whoever cancels the run does not wait for them.

use super::provider::{Asking, Model, Sent};
use super::rest;
use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::caller::{Caller, Known};
use crate::rules::candidate::{Candidate, Needs, nobody};
use crate::rules::chain::{
    Failure, Next, Order, Then, Thoughts, Walk, thoughtless, without_thoughts,
};
use crate::rules::plan::WITHHELD;
use crate::rules::scrub::credentials::without_credentials;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Attempted, Event, Onward, Tried};
use crate::words::id::RunId;
use crate::words::label::Label;
use crate::words::lock::lock;
use crate::words::message::{Delta, Prompt, Reply, StopReason, Usage};
use crate::words::setback::{Miss, Setback};

/// Who is asked, on whose behalf.
pub(super) struct Asked<'a> {
    pub(super) station: &'a Station,
    pub(super) tasks: &'a Tasks,
    pub(super) run: &'a RunId,
    pub(super) known: &'a Known,
    /// First choice first.
    pub(super) models: &'a [&'a Model],
    /// What is behind the prompt.
    pub(super) label: &'a Label,
    /// The turn, from 1; 0 for a question about what is held.
    pub(super) turn: u32,
    /// For how long it is waited, all waits together.
    pub(super) patience: Patience,
    /// Whether whoever asks would rather look at it anew after such a failure than have a model asked again.
    pub(super) anew: &'a (dyn Fn(&Error) -> bool + Send + Sync),
}

/// What comes of asking.
pub(super) enum Said {
    /// A reply.
    Reply(Reply),
    /// This failure, and whoever asks looks at it anew.
    Anew(Error),
}

/// How long whoever asks waits between attempts.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// As long as the terms of the chain say.
    Endless,
    /// Until the time of the call is over that it is for.
    Until(Deadline),
    /// Not at all.
    None,
}

impl Patience {
    fn ms(self) -> u64 {
        match self {
            Self::Endless => u64::MAX,
            Self::Until(deadline) => u64::try_from(deadline.rest().as_millis()).unwrap_or(u64::MAX),
            Self::None => 0,
        }
    }
}

/// The way of one prompt.
#[derive(Default)]
struct Way<'a> {
    walk: Walk,
    /// Who may be asked, in this order,
    models: Vec<&'a Model>,
    /// as the chain sees them.
    candidates: Vec<Candidate>,
    needs: Needs,
    /// Who was passed over.
    passed: Vec<(&'a str, Miss)>,
    /// Attempts with the model where it is.
    attempts: u32,
    /// What is left of the patience that there was, by the run's own clock.
    patience_ms: u64,
    /// What attempts that failed have used, of a question that is no turn.
    lost: Usage,
}

/// What is about to be asked: the model, what it is told, what it is sent for that, and whether it shall stream.
pub(super) type About<'p> = (&'p Model, (&'p Prompt, &'p Sent, bool));

impl<'a> Asked<'a> {
    /// A reply of the first model that gives one. `prepare` says who asks a model, and who sees what it says
    /// while it does; it is asked once for each attempt.
    ///
    /// # Errors
    /// The failure of the model that was asked last, in words that may be shown; `Denied`, `TooBig`,
    /// `BadInput` or `ProviderFailed` where none could be asked; the journal's failure.
    pub(super) async fn ask<S: FnMut(Delta)>(
        &self,
        prompt: &Prompt,
        mut prepare: impl FnMut(About<'_>) -> Result<(Caller, S)>,
    ) -> Result<Said> {
        let policy = self.station.gate.policy();
        let how = (&policy.flows.classes, policy.inbound.caps.chars_per_token);
        let models = self.ordered();
        let mut way = Way {
            candidates: models.iter().map(|model| model.candidate()).collect(),
            models,
            needs: Needs::of((self.turn, prompt), self.label, how),
            patience_ms: self.patience.ms(),
            ..Way::default()
        };
        let mut last = None;
        while let Some((model, streams)) = self.next(&mut way)? {
            // What the model is about to see must not be lost after it has acted on it.
            let prompt = self.told(prompt);
            let sent = model.write(&prompt, streams);
            let (caller, mut see) = prepare((model, (&prompt, &sent, streams)))?;
            self.station.gate.journal().sync().await?;
            let mut said = false;
            let asking = Asking {
                caller: &caller,
                tasks: self.tasks,
                prompt: prompt.as_ref(),
                turn: self.turn,
                attempt: way.attempts,
            };
            way.attempts += 1;
            let see = |delta| {
                said = true;
                see(delta);
            };
            let began = Clock::instant();
            let error = match model.ask(self.station, (asking, sent), see).await {
                Ok(reply) => {
                    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    lock(&self.station.health).saw(&model.name, Some(took));
                    return Ok(Said::Reply(with(reply, way.lost)));
                }
                Err(error) if error.code() == Code::Cancelled => {
                    return Err(self.cut_off(&way, model, error)?);
                }
                Err(error) => self.clean(&error),
            };
            lock(&self.station.health).saw(&model.name, None);
            let now = self.now_ms();
            self.lose(&mut way, &error);
            match self.failed(&mut way, model, (&error, said), now)? {
                (_, true) => return Ok(Said::Anew(error)),
                (Then::Again(wait_ms), _) => self.rest(wait_ms).await?,
                (Then::Onward, _) => way.attempts = 0,
                (Then::Over, _) => return Err(error.spending(way.lost)),
            }
            last = Some(error);
        }
        let private = &self.station.gate.policy().flows.classes;
        let left = nobody(&way.passed, &private.private(self.label));
        Err(last.map_or(left, |last| {
            passed_over(last, &way.passed).spending(way.lost)
        }))
    }

    /// As [`Asked::ask`], of whoever takes what comes.
    ///
    /// # Errors
    /// Likewise.
    pub(super) async fn reply<S: FnMut(Delta)>(
        &self,
        prompt: &Prompt,
        prepare: impl FnMut(About<'_>) -> Result<(Caller, S)>,
    ) -> Result<Reply> {
        match self.ask(prompt, prepare).await? {
            Said::Reply(reply) if reply.stop == StopReason::Filtered => {
                let error = Error::new(Code::ProviderFailed, WITHHELD);
                Err(error.setback(Setback::Filtered).spending(reply.usage))
            }
            Said::Reply(reply) => Ok(reply),
            Said::Anew(error) => Err(error),
        }
    }

    /// What a failed attempt has used: of a turn it is the run's at once, of anything else whoever asks has it in all.
    fn lose(&self, way: &mut Way<'_>, error: &Error) {
        let lost = error.spent().unwrap_or_default();
        match self.turn {
            0 => way.lost.add(lost),
            _ => self.known.consults.spend(lost),
        }
    }

    /// An attempt that was cut off; on record, where it has used something until then.
    fn cut_off(&self, way: &Way<'_>, model: &Model, error: Error) -> Result<Error> {
        let usage = error.spent().unwrap_or_default();
        if self.turn == 0 {
            let mut lost = way.lost;
            lost.add(usage);
            return Ok(error.spending(lost));
        }
        if !usage.is_nothing() {
            self.known.consults.spend(usage);
            let tried = Tried::Failed {
                setback: error.as_setback(),
                code: error.code(),
                message: error.message().to_owned(),
                then: Onward::Over,
                wait_ms: 0,
                cools_ms: 0,
                restarts: false,
                usage,
            };
            self.record(model, tried)?;
        }
        Ok(error)
    }

    fn ordered(&self) -> Vec<&'a Model> {
        let mut models = self.models.to_vec();
        match self.known.chain().order() {
            Order::Listed => {}
            Order::Health => lock(&self.station.health).sort(&mut models, |model| &model.name),
        }
        models
    }

    /// The model to ask, and whether it streams. Who is passed over is on record.
    fn next(&self, way: &mut Way<'a>) -> Result<Option<(&'a Model, bool)>> {
        loop {
            let now = (&way.needs, self.now_ms());
            let next = self.known.chain().next(&mut way.walk, &way.candidates, now);
            match next {
                Next::Nobody => return Ok(None),
                Next::Ask { at, streams } => {
                    let model = way.models.get(at).copied();
                    return Ok(model.map(|model| (model, streams && model.streams())));
                }
                Next::Skip { at, miss } => {
                    if let Some(model) = way.models.get(at) {
                        way.passed.push((&model.name, miss));
                        self.record(model, Tried::Skipped { miss })?;
                    }
                }
            }
        }
    }

    /// What follows from a failure, which is on record then, and whether whoever asks looks at it anew.
    fn failed(
        &self,
        way: &mut Way<'_>,
        model: &Model,
        (error, said): (&Error, bool),
        now: u64,
    ) -> Result<(Then, bool)> {
        let failure = Failure {
            setback: error.as_setback(),
            after_ms: error.again_after_ms(),
            said,
        };
        let (then, cools_ms) = {
            let mut chain = self.known.chain();
            let then = chain.failed(&mut way.walk, &way.candidates, (failure, now));
            let gave_up = then == Then::Onward && failure.setback == Setback::Limited;
            let provider = model.candidate().provider;
            let cools_ms = if gave_up {
                chain.cools_ms(&provider, now)
            } else {
                0
            };
            (then, cools_ms)
        };
        // That much passes by the clock of the run, and that much by the one that ends calls; a test moves only the first.
        let patience_ms = way.patience_ms.min(self.patience.ms());
        let then = match then {
            Then::Again(wait_ms) if wait_ms > patience_ms => Then::Over,
            then @ (Then::Again(_) | Then::Onward | Then::Over) => then,
        };
        let anew = then != Then::Over && (self.anew)(error);
        let is_last = way.walk.is_behind(&way.candidates);
        let (onward, wait_ms) = match then {
            _ if anew => (Onward::Anew, 0),
            Then::Again(wait_ms) => (Onward::Again, wait_ms),
            Then::Onward if !is_last => (Onward::Next, 0),
            Then::Onward | Then::Over => (Onward::Over, 0),
        };
        way.patience_ms = way.patience_ms.saturating_sub(wait_ms);
        let tried = Tried::Failed {
            setback: failure.setback,
            code: error.code(),
            message: error.message().to_owned(),
            then: onward,
            wait_ms,
            cools_ms,
            restarts: said && onward != Onward::Over,
            usage: error.spent().unwrap_or_default(),
        };
        self.record(model, tried)?;
        Ok((then, anew))
    }

    /// The prompt as the model is told it: without what was thought before the provider was changed.
    fn told<'p>(&self, prompt: &'p Prompt) -> std::borrow::Cow<'p, Prompt> {
        let (apart, thoughts) = {
            let chain = self.known.chain();
            (chain.apart(), chain.thoughts())
        };
        let mut told = std::borrow::Cow::Borrowed(prompt);
        if thoughts == Thoughts::Strip {
            thoughtless(told.to_mut());
        }
        if self.turn > 0 && apart > 1 {
            without_thoughts(told.to_mut(), self.turn, apart);
        }
        told
    }

    /// What a server says may be an echo of what authenticated us, or of anybody else's key.
    fn clean(&self, error: &Error) -> Error {
        let clean = |text: &str| without_credentials(&self.station.scrub.clean(text));
        error.with_words(clean, clean)
    }

    /// Waits for so long, or until somebody cancels the run. What was waited for when the run was recorded is over
    /// in a replay.
    async fn rest(&self, wait_ms: u64) -> Result<()> {
        let clock = self.station.gate.journal().clock();
        let resting = async {
            match &self.station.recorded {
                Some(recorded) if recorded.asks_on() => {}
                Some(_) => std::future::pending().await,
                None => rest::for_ms(clock, wait_ms).await,
            }
            Ok(())
        };
        self.tasks.unless_cancelled(resting).await
    }

    fn record(&self, model: &Model, tried: Tried) -> Result<()> {
        let attempted = Attempted {
            turn: self.turn,
            model: model.name.clone(),
            tried,
        };
        let journal = self.station.gate.journal();
        let event = Event::Attempted(attempted);
        journal.append(self.run, 0, event).map(|_| ())
    }

    fn now_ms(&self) -> u64 {
        self.station.gate.journal().clock().steady_ms()
    }
}

/// A reply, with what attempts before it have used.
fn with(mut reply: Reply, lost: Usage) -> Reply {
    reply.usage.add(lost);
    reply
}

/// The failure of the last model, and who was not asked at all.
fn passed_over(error: Error, passed: &[(&str, Miss)]) -> Error {
    passed.iter().fold(error, |error, (model, miss)| {
        let why = miss.words();
        error.hint(format!("the model `{model}` was not asked: {why}"))
    })
}
