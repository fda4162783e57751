//! The chain of a run: which of its models is asked next, how often, and after what wait (U-36).
//!
//! Pure: it is told what became of each attempt and what time it is, and says what to do. [`Chain`] is one for a
//! whole run and is shared by whoever asks on its behalf: what it has learned of a provider — that it wants to be
//! left alone, that its key was read again, that it does not stream — survives from turn to turn, and never
//! reaches another run. A [`Walk`] is the way of one prompt through the models. Who asks is `runs/chain.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::{Candidate, Needs};
use crate::words::event::{Attempted, Event, Onward, Record, Tried};
use crate::words::limits::{
    CHAIN_ATTEMPTS, CHAIN_BACKOFF_MAX_MS, CHAIN_BACKOFF_MS, CHAIN_COOLDOWN_MS, CHAIN_MS_MAX,
    CHAIN_RETRY_AFTER_MAX_MS,
};
use crate::words::message::{Message, Prompt};
use crate::words::setback::{Miss, Setback};

/// How patient a run is with its models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Times that one model is asked for one reply.
    pub attempts: u32,
    /// How waits grow.
    pub backoff: Backoff,
    /// The first wait.
    pub backoff_ms: u64,
    /// The longest wait that the run chooses by itself.
    pub backoff_max_ms: u64,
    /// How long a provider is left alone that wanted fewer requests.
    pub cooldown_ms: u64,
    /// The longest wait that a server can ask for.
    pub retry_after_max_ms: u64,
    /// Whether a step begins anew when a model broke off after its first words (R-12d); otherwise that is final.
    pub restart_step: bool,
    /// Who is asked first.
    pub order: Order,
    /// Whether the tools of a turn say which tier is asked in the next one (G-76).
    pub tool_tiers: bool,
    /// What becomes of what was thought (G-57).
    pub thoughts: Thoughts,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            attempts: CHAIN_ATTEMPTS,
            backoff: Backoff::default(),
            backoff_ms: CHAIN_BACKOFF_MS,
            backoff_max_ms: CHAIN_BACKOFF_MAX_MS,
            cooldown_ms: CHAIN_COOLDOWN_MS,
            retry_after_max_ms: CHAIN_RETRY_AFTER_MAX_MS,
            restart_step: false,
            order: Order::default(),
            tool_tiers: false,
            thoughts: Thoughts::default(),
        }
    }
}

/// How waits grow from attempt to attempt.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// Each is twice the one before.
    #[default]
    Exponential,
    /// Each is longer by the first.
    Linear,
}

/// In which order models are asked.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As they are named.
    #[default]
    Listed,
    /// Who has done well lately first (S-38).
    Health,
}

/// What becomes of a model's thoughts in its later prompts.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Thoughts {
    /// They are told back, as their provider gave them.
    #[default]
    Keep,
    /// They are told to nobody again.
    Strip,
}

impl Terms {
    /// The wait after so many failures in a row.
    #[must_use]
    pub fn wait_ms(&self, failures: u32) -> u64 {
        let times = match self.backoff {
            Backoff::Exponential => 2_u64
                .checked_pow(failures.saturating_sub(1))
                .unwrap_or(u64::MAX),
            Backoff::Linear => u64::from(failures),
        };
        self.backoff_ms
            .saturating_mul(times)
            .min(self.backoff_max_ms)
    }
}

/// What a run has learned of its providers, and on what terms it asks them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    terms: Terms,
    /// Providers that are left alone.
    cooling: BTreeMap<String, Cooling>,
    /// Providers whose key was read again.
    refreshed: BTreeSet<String>,
    /// Models that do not stream.
    unstreamed: BTreeSet<String>,
    /// The turn in which the provider was changed last: what was thought before it is told to nobody any more
    /// (R-12e).
    apart: u32,
}

/// How long a provider is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cooling {
    /// In milliseconds of whoever asks' steady clock.
    from: u64,
    ms: u64,
}

/// The way of one prompt through the models.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    at: usize,
    /// Failures of the model where it is.
    failures: u32,
    /// The provider that was given up last.
    left: Option<String>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask the model at this place.
    Ask {
        /// Its place in the chain.
        at: usize,
        /// Whether it streams.
        streams: bool,
    },
    /// The model at this place is not asked.
    Skip {
        /// Its place in the chain.
        at: usize,
        /// Why not.
        miss: Miss,
    },
    /// There is none left.
    Nobody,
}

/// How an attempt has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of setback it was.
    pub setback: Setback,
    /// When the server may be asked again, where it said so.
    pub after_ms: Option<u64>,
    /// Whether anything was said before.
    pub said: bool,
}

/// What an attempt that failed leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The same model is asked again, after so many milliseconds.
    Again(u64),
    /// The next model is asked.
    Onward,
    /// No other model is asked: it would not help, or it would say twice what was said.
    Over,
}

impl Walk {
    /// Whether there is nobody further to ask.
    #[must_use]
    pub fn is_behind(&self, candidates: &[Candidate]) -> bool {
        self.at >= candidates.len()
    }
}

impl Chain {
    /// A chain on these terms, which knows nothing yet.
    #[must_use]
    pub fn on(terms: Terms) -> Self {
        Self {
            terms,
            ..Self::default()
        }
    }

    /// In which order models are asked.
    #[must_use]
    pub fn order(&self) -> Order {
        self.terms.order
    }

    /// What becomes of what was thought.
    #[must_use]
    pub fn thoughts(&self) -> Thoughts {
        self.terms.thoughts
    }

    /// What was thought in earlier turns than this one is told to nobody any more.
    #[must_use]
    pub fn apart(&self) -> u32 {
        self.apart
    }

    /// For how much longer the provider is left alone.
    #[must_use]
    pub fn cools_ms(&self, provider: &str, now: u64) -> u64 {
        let cooling = self.cooling.get(provider);
        cooling.map_or(0, |cooling| {
            cooling.from.saturating_add(cooling.ms).saturating_sub(now)
        })
    }

    /// Learns again what earlier lives of the run have learned of these providers.
    pub fn recall(&mut self, candidates: &[Candidate], records: &[Record]) {
        let of = |model: &str| candidates.iter().find(|one| one.model == model);
        let mut left = None;
        for record in records {
            match &record.event {
                Event::Attempted(attempted) => {
                    if let Some(candidate) = of(&attempted.model) {
                        left = self.recall_one(candidate, (attempted, record.at)).or(left);
                    }
                }
                Event::Prompted { turn, model, .. } => {
                    let provider = of(model).map(|candidate| candidate.provider.as_str());
                    if left.take().is_some_and(|left| Some(left) != provider) {
                        self.apart = self.apart.max(*turn);
                    }
                }
                Event::Started(_)
                | Event::Replied { .. }
                | Event::Judged(_)
                | Event::Finished(_)
                | Event::Scripted(_)
                | Event::Rested { .. }
                | Event::Paused { .. }
                | Event::Answered { .. }
                | Event::Expired { .. }
                | Event::Resumed { .. }
                | Event::Overspent(_)
                | Event::Compacted(_)
                | Event::Brought(_)
                | Event::Observed { .. }
                | Event::Stopped(_) => {}
            }
        }
    }

    /// What one attempt has taught, and which provider it gave up for another.
    fn recall_one<'a>(
        &mut self,
        candidate: &'a Candidate,
        (attempted, at): (&Attempted, u64),
    ) -> Option<&'a str> {
        let Tried::Failed {
            setback,
            then,
            cools_ms,
            ..
        } = &attempted.tried
        else {
            return None;
        };
        let provider = &candidate.provider;
        if *cools_ms > 0 {
            let cooling = Cooling {
                from: at,
                ms: (*cools_ms).min(CHAIN_MS_MAX),
            };
            self.cooling.insert(provider.clone(), cooling);
        }
        if *then == Onward::Again && *setback == Setback::Unauthorised {
            self.refreshed.insert(provider.clone());
        }
        if *then == Onward::Again && *setback == Setback::Unstreamed {
            self.unstreamed.insert(candidate.model.clone());
        }
        (*then == Onward::Next && attempted.turn > 0).then_some(provider)
    }

    /// What to do next for a prompt, at `now` in milliseconds of a clock that goes on steadily. Who is passed over is told once, and
    /// the walk goes on behind it.
    pub fn next(
        &mut self,
        walk: &mut Walk,
        candidates: &[Candidate],
        (needs, now): (&Needs, u64),
    ) -> Next {
        let Some(candidate) = candidates.get(walk.at) else {
            return Next::Nobody;
        };
        let at = walk.at;
        // A clock that was set back begins them anew, so that it keeps nobody away for longer than was asked for.
        for cooling in self.cooling.values_mut() {
            cooling.from = cooling.from.min(now);
        }
        // Between two attempts nobody is passed over: a provider cools down when it is given up.
        let miss = (walk.failures == 0)
            .then(|| self.miss(candidate, needs, now))
            .flatten();
        if let Some(miss) = miss {
            walk.at += 1;
            return Next::Skip { at, miss };
        }
        if let Some(left) = walk.left.take()
            && left != candidate.provider
        {
            self.apart = self.apart.max(needs.turn);
        }
        Next::Ask {
            at,
            streams: !self.unstreamed.contains(&candidate.model),
        }
    }

    fn miss(&self, candidate: &Candidate, needs: &Needs, now: u64) -> Option<Miss> {
        let cools = self.cools_ms(&candidate.provider, now) > 0;
        candidate
            .misses(needs)
            .or_else(|| cools.then_some(Miss::Cooling))
    }

    /// What follows from a failure of the model that was asked last.
    pub fn failed(
        &mut self,
        walk: &mut Walk,
        candidates: &[Candidate],
        (failure, now): (Failure, u64),
    ) -> Then {
        let Some(candidate) = candidates.get(walk.at) else {
            return Then::Over;
        };
        if failure.said && !self.terms.restart_step {
            return Then::Over;
        }
        match failure.setback {
            // What one is not to say, no other is asked for (G-59a).
            Setback::Filtered | Setback::Lasting => Then::Over,
            // Once for each provider and run, and it grants one attempt (R-07a).
            Setback::Unauthorised
                if candidate.has_key && self.refreshed.insert(candidate.provider.clone()) =>
            {
                Then::Again(0)
            }
            Setback::Unauthorised => Then::Over,
            Setback::Unstreamed if self.unstreamed.insert(candidate.model.clone()) => {
                Then::Again(0)
            }
            Setback::Unstreamed => Then::Over,
            Setback::TooLong => Self::onward(walk, candidate),
            Setback::Limited | Setback::Overloaded | Setback::TooSlow | Setback::Broken => {
                self.patient(walk, candidate, (failure, now))
            }
        }
    }

    /// Of what may pass.
    fn patient(
        &mut self,
        walk: &mut Walk,
        candidate: &Candidate,
        (failure, now): (Failure, u64),
    ) -> Then {
        walk.failures = walk.failures.saturating_add(1);
        let asked = failure.after_ms.unwrap_or(0);
        if walk.failures < self.terms.attempts && asked <= self.terms.retry_after_max_ms {
            return Then::Again(self.terms.wait_ms(walk.failures).max(asked));
        }
        if failure.setback == Setback::Limited {
            let rest = self.terms.cooldown_ms.max(asked.min(CHAIN_MS_MAX));
            let cooling = Cooling {
                from: now,
                ms: rest,
            };
            self.cooling.insert(candidate.provider.clone(), cooling);
        }
        Self::onward(walk, candidate)
    }

    fn onward(walk: &mut Walk, candidate: &Candidate) -> Then {
        *walk = Walk {
            at: walk.at + 1,
            failures: 0,
            left: Some(candidate.provider.clone()),
        };
        Then::Onward
    }
}

/// Takes out of the prompt of `turn` what was thought in turns before `apart`. The last reply in it is of the turn
/// before, and each one before that of the turn before that, however many at the beginning were left out.
pub fn without_thoughts(prompt: &mut Prompt, turn: u32, apart: u32) {
    let replies = prompt.messages.iter_mut().rev();
    let replies = replies.filter_map(|message| match message {
        Message::Assistant(reply) => Some(reply),
        Message::User { .. } | Message::Tool { .. } => None,
    });
    for (of, reply) in (1..turn).rev().zip(replies) {
        if of < apart {
            reply.thoughts.clear();
        }
    }
}

/// The same of all thoughts.
pub fn thoughtless(prompt: &mut Prompt) {
    for message in &mut prompt.messages {
        if let Message::Assistant(reply) = message {
            reply.thoughts.clear();
        }
    }
}

#[cfg(test)]
mod tests;
