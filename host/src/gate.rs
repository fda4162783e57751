//! The gate: the only judge of effects, and the journal that every judgement goes into first.
//!
//! [`Permit`] and its maker share this file, so that no other can make one (invariant 3).
//! `tests/forge` holds the attempts to get around it, none of which compiles.

pub mod journal;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::rules::caller::Caller;
use crate::rules::policy::Policy;
use crate::rules::{Durability, Effect};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Content, Denial, EffectKind, End, Event, Finished, Judged, Spent, Verdict,
};
use crate::words::id::Seq;
use crate::words::label::Label;

use journal::Journal;

/// Proof that one effect was allowed and that the judgement is on record. Used once: performing
/// takes it by value. It cannot be copied, made from nothing, or read from a file.
#[must_use = "a permit that is not used is an effect that does not happen"]
pub struct Permit<E: Effect> {
    effect: E,
    terms: E::Terms,
    seq: Seq,
}

impl<E: Effect> Permit<E> {
    /// The record of the judgement.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// What was allowed.
    #[must_use]
    pub fn effect(&self) -> &E {
        &self.effect
    }

    /// Turns the proof into the effect and what its allowance entails. Whoever calls this performs.
    pub(crate) fn redeem(self) -> (E, E::Terms) {
        (self.effect, self.terms)
    }
}

impl<E: Effect> fmt::Debug for Permit<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Permit({:?})", E::KIND)
    }
}

/// What came of an effect that was performed.
#[derive(Debug)]
pub struct Performed<T> {
    /// The outcome, or how it failed.
    pub result: Result<T>,
    /// What the journal keeps of it.
    pub content: Content,
    /// Everything that influenced the outcome, failures included.
    pub label: Label,
    /// What it took.
    pub spent: Spent,
}

impl<T> Performed<T> {
    /// An outcome of which the journal keeps nothing but that it was.
    #[must_use]
    pub fn of(result: Result<T>, label: Label, spent: Spent) -> Self {
        Self {
            result,
            content: Content::Empty,
            label,
            spent,
        }
    }
}

/// The only judge of effects.
#[derive(Clone, Debug)]
pub struct Gate {
    policy: Arc<Policy>,
    journal: Journal,
}

impl Gate {
    /// A gate that asks `policy` and writes to `journal`.
    #[must_use]
    pub fn new(policy: Arc<Policy>, journal: Journal) -> Self {
        Self { policy, journal }
    }

    /// What the operator allows.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Where judgements go.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Judges an effect and, if it is allowed, lets `perform` happen between the two records of it:
    /// `Judged`, as durable as the effect asks, and `Finished`, whatever came of it.
    ///
    /// # Errors
    /// `Denied`; or the journal's own failure, in which case nothing was performed.
    pub(crate) async fn pass<E, T, F, Fut>(
        &self,
        caller: &Caller,
        effect: E,
        perform: F,
    ) -> Result<(Seq, Performed<T>)>
    where
        E: Effect,
        F: FnOnce(Permit<E>) -> Fut,
        Fut: Future<Output = Performed<T>>,
    {
        let permit = self.judge(caller, effect).await?;
        let seq = permit.seq;
        let mut open = Open {
            gate: self,
            caller,
            of: Some(seq),
        };
        let performed = perform(permit).await;
        open.of = None;
        self.finish(caller, seq, &performed)?;
        Ok((seq, performed))
    }

    async fn judge<E: Effect>(&self, caller: &Caller, effect: E) -> Result<Permit<E>> {
        let judgement = effect.judge(caller, &self.policy);
        let verdict = match &judgement {
            Ok(allowed) => Verdict::Allow {
                rule: allowed.rule.clone(),
            },
            Err(denial) => Verdict::Deny(denial.clone()),
        };
        let seq = self.record(caller, E::KIND, effect.subject(), effect.content(), verdict)?;
        let allowed = judgement.map_err(|denial| denied(&denial))?;
        match effect.durability() {
            Durability::Batched => {}
            Durability::Committed => self.journal.commit().await?,
            Durability::Synced => self.journal.sync().await?,
        }
        Ok(Permit {
            effect,
            terms: allowed.terms,
            seq,
        })
    }

    /// Records that a wish was turned down before it was an effect: no such tool, wrong arguments.
    ///
    /// # Errors
    /// The journal's own failure.
    pub(crate) fn turn_down(
        &self,
        caller: &Caller,
        kind: EffectKind,
        (subject, content): (String, Content),
        denial: Denial,
    ) -> Result<Seq> {
        self.record(caller, kind, subject, content, Verdict::Deny(denial))
    }

    fn record(
        &self,
        caller: &Caller,
        effect: EffectKind,
        subject: String,
        content: Content,
        verdict: Verdict,
    ) -> Result<Seq> {
        let judged = Judged {
            effect,
            subject,
            origin: caller.origin.to_string(),
            content,
            label: caller.label.clone(),
            verdict,
        };
        self.journal
            .append(&caller.run, caller.parent, Event::Judged(judged))
    }

    fn finish<T>(&self, caller: &Caller, of: Seq, performed: &Performed<T>) -> Result<()> {
        let end = match &performed.result {
            Ok(_) => End::Done {
                content: performed.content.clone(),
            },
            Err(error) => failed(error),
        };
        let finished = Finished {
            of,
            end,
            label: performed.label.clone(),
            spent: performed.spent,
        };
        self.journal
            .append(&caller.run, of, Event::Finished(finished))
            .map(|_| ())
    }
}

/// An effect under way. Dropped before it has ended, it leaves the record that nobody saw its end
/// (invariant 11).
struct Open<'a> {
    gate: &'a Gate,
    caller: &'a Caller,
    of: Option<Seq>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let Some(of) = self.of else { return };
        let error = Error::new(Code::InDoubt, "the run ended before this did");
        let unseen = Performed::<()>::of(Err(error), self.caller.label.clone(), Spent::default());
        // The record is lost only with the journal, and then nothing more happens anyway.
        let _ = self.gate.finish(self.caller, of, &unseen);
    }
}

/// The end of something that failed.
#[must_use]
pub fn failed(error: &Error) -> End {
    End::Failed {
        code: error.code(),
        message: error.message().to_owned(),
        issues: error.issue_list().to_vec(),
    }
}

/// What was wrong with a wish, as the record of its denial.
#[must_use]
pub fn unfit(error: &Error) -> Denial {
    Denial {
        rule: error.code().envelope().to_owned(),
        reason: error.message().to_owned(),
        allow: Vec::new(),
    }
}

/// A denial as an error: the reason for everybody, the policy lines for whoever may write them.
#[must_use]
pub fn denied(denial: &Denial) -> Error {
    let error = Error::new(Code::Denied, denial.reason.clone());
    if denial.allow.is_empty() {
        error
    } else {
        error.hint(format!(
            "to allow it, write in `lazaret.toml`:\n{}",
            denial.allow.join("\n")
        ))
    }
}
