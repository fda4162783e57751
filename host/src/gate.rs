//! The gate: the only judge of effects, and the journal that every judgement goes into first.
//!
//! [`Permit`] and its maker share this file, so that no other can make one (invariant 3).
//! `tests/forge` holds the attempts to get around it, none of which compiles.

mod consent;
mod hushed;
pub mod journal;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use crate::rules::caller::{Caller, Origin};
use crate::rules::flow::records::Touched;
use crate::rules::policy::Policy;
use crate::rules::{Consent, Durability, Effect};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{
    Content, Denial, EffectKind, End, Event, Finished, Glimpse, Judged, Question, Read, Remade,
    Spent, Verdict, Weighed, Wrote,
};
use crate::words::id::{Digest, RunId, Seq};
use crate::words::label::Label;

pub use consent::{all_asked, asked};
use consent::{answered, consent};
use hushed::{SECRET, hush, hush_glimpse};
use journal::{Journal, Stamp};

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
    /// What is told in place of the content.
    pub told: Option<Value>,
    /// Of a call: what steps have made of it.
    pub remade: Option<Box<Remade>>,
    /// Of a call: records in its outcome that somebody had a hand in.
    pub touched: Touched,
    /// Of a call: what its tool has read for it.
    pub read: Option<Read>,
    /// Of an effect that may have filled a mount: how much of its quota the run has used.
    pub wrote: Option<Wrote>,
    /// Whether a failure is told in words that stand in no record, since they are secret.
    pub unsaid: bool,
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
            told: None,
            remade: None,
            touched: Touched::new(),
            read: None,
            wrote: None,
            unsaid: false,
            spent,
        }
    }
}

/// An effect that was performed, and the records around it.
#[derive(Debug)]
pub struct Passed<T> {
    /// The record of its judgement.
    pub seq: Seq,
    /// When its end was recorded, in milliseconds since 1970.
    pub at: u64,
    /// What came of it.
    pub performed: Performed<T>,
}

/// An effect that was not performed.
#[derive(Debug)]
pub struct NotPassed {
    /// The record of the judgement; nothing where the journal itself failed.
    pub judged: Option<Stamp>,
    /// Why not.
    pub error: Error,
}

impl NotPassed {
    fn judged(judged: Stamp, error: Error) -> Self {
        Self {
            judged: Some(judged),
            error,
        }
    }
}

impl From<Error> for NotPassed {
    fn from(error: Error) -> Self {
        Self {
            judged: None,
            error,
        }
    }
}

impl From<NotPassed> for Error {
    fn from(not: NotPassed) -> Self {
        not.error
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

    /// Shows the run's watchers what somebody says who may know a secret: of what is secret, that it was said.
    pub(crate) fn glimpse(&self, run: &RunId, mut glimpse: Glimpse) {
        hush_glimpse(&mut glimpse, &self.policy.flows.classes);
        self.journal.glimpse(run, glimpse);
    }

    /// Judges an effect and, if it is allowed, lets `perform` happen between the two records of it:
    /// `Judged`, as durable as the effect asks, and `Finished`, whatever came of it.
    ///
    /// # Errors
    /// `Denied`; `Asked` where a person has to say; `OverBudget` where the run may begin nothing more, which leaves no
    /// record; or the journal's own failure. Then nothing was performed.
    pub(crate) async fn pass<E, T, F, Fut>(
        &self,
        caller: &Caller,
        effect: E,
        perform: F,
    ) -> Result<Passed<T>, NotPassed>
    where
        E: Effect,
        F: FnOnce(Permit<E>) -> Fut,
        Fut: Future<Output = Performed<T>>,
    {
        // What the host itself asks a model is asked again after a crash.
        let once = effect.durability() == Durability::Synced && caller.origin != Origin::Host;
        let permit = self.judge(caller, effect).await?;
        let seq = permit.seq;
        let mut open = Open {
            gate: self,
            caller,
            of: Some(seq),
            once,
        };
        let performed = perform(permit).await;
        open.of = None;
        let at = self.finish(caller, seq, &performed)?.at;
        Ok(Passed { seq, at, performed })
    }

    /// The run may begin something more.
    ///
    /// # Errors
    /// `OverBudget` where its guests have used up their processor time, or its records what they may take in the
    /// journal.
    pub(crate) fn check_run(&self, caller: &Caller) -> Result<()> {
        caller.known.cpu_time.check()?;
        let kept = self.journal.kept(&caller.run)?;
        self.policy.bounds.run.check_journal(kept)
    }

    async fn judge<E: Effect>(&self, caller: &Caller, effect: E) -> Result<Permit<E>, NotPassed> {
        let (decided, weighed) = self.decide_now(caller, &effect);
        let verdict = verdict_of(&decided);
        let judged = self.record(caller, self.wished(caller, &effect, weighed, verdict))?;
        let terms = match decided {
            Ok((_, terms)) => terms,
            Err(refused) => return Err(NotPassed::judged(judged, refused.error(&self.policy))),
        };
        match effect.durability() {
            Durability::Batched => {}
            Durability::Committed => self.journal.commit().await?,
            Durability::Synced if E::KIND == EffectKind::Call => self.journal.sync().await?,
            // Once the call that it is a part of is on the disk, that says what becomes of its parts: it is in
            // doubt, and not made again.
            Durability::Synced => {
                let (run, call) = (&caller.run, caller.parent);
                self.journal.commit_after(run, call).await?;
            }
        }
        Ok(Permit {
            effect,
            terms,
            seq: judged.seq,
        })
    }

    /// Judges an effect that may not happen yet, since another before it waits for a person: what they will be
    /// asked as well, so that they are asked together. Only a question is recorded; everything else is judged when
    /// its turn comes.
    ///
    /// # Errors
    /// The journal's own failure.
    pub(crate) fn ask_ahead<E: Effect>(
        &self,
        caller: &Caller,
        effect: &E,
    ) -> Result<Option<Error>> {
        let (decided, weighed) = self.decide_now(caller, effect);
        let Err(Refused::Asked(question)) = decided else {
            return Ok(None);
        };
        let error = asked(&question);
        let verdict = Verdict::Ask(*question);
        self.record(caller, self.wished(caller, effect, weighed, verdict))?;
        Ok(Some(error))
    }

    /// Puts a question whose answer whoever wishes waits for where it is, until then. It is on record when this returns.
    ///
    /// # Errors
    /// `Denied` where nobody is asked; the journal's own failure.
    pub(crate) async fn put<E: Effect>(
        &self,
        caller: &Caller,
        effect: &E,
        until: u64,
    ) -> Result<Question, NotPassed> {
        let (mut decided, weighed) = self.decide(caller, effect);
        if let Err(Refused::Asked(question)) = &mut decided {
            question.until = Some(until);
        }
        let verdict = verdict_of(&decided);
        let judged = self.record(caller, self.wished(caller, effect, weighed, verdict))?;
        self.journal.commit().await?;
        match decided {
            Err(Refused::Asked(question)) => Ok(*question),
            Err(refused) => Err(NotPassed::judged(judged, refused.error(&self.policy))),
            Ok(_) => Err(Error::bug("a question was put that nobody has to answer").into()),
        }
    }

    /// What is decided, as it counts from now on.
    fn decide_now<E: Effect>(&self, caller: &Caller, effect: &E) -> Decided<E::Terms> {
        let (mut decided, weighed) = self.decide(caller, effect);
        if let Err(Refused::Asked(question)) = &mut decided {
            let now = self.journal.clock().now_ms();
            question.until = caller.known.until(&question.id, now);
        }
        (decided, weighed)
    }

    /// Records that a wish was turned down before it was an effect: no such tool, wrong arguments.
    ///
    /// # Errors
    /// Always: the reason, or the journal's own failure.
    pub(crate) fn turn_down(
        &self,
        caller: &Caller,
        kind: EffectKind,
        (subject, content): (String, Content),
        (denial, error): (Denial, Error),
    ) -> NotPassed {
        let wished = Wished {
            effect: kind,
            component: None,
            subject,
            content,
            given: BTreeMap::new(),
            weighed: Vec::new(),
            verdict: Verdict::Deny(denial),
        };
        match self.record(caller, wished) {
            Ok(judged) => NotPassed::judged(judged, error),
            Err(lost) => lost.into(),
        }
    }

    /// Records the end of what failed without being performed. So ends a script's call that was turned down:
    /// ends order its answers, and what it is told of them is what stands here.
    ///
    /// # Errors
    /// The journal's own failure.
    pub(crate) fn record_failed(&self, caller: &Caller, judged: Seq, error: &Error) -> Result<u64> {
        let finished = Finished {
            of: judged,
            end: failed(error),
            label: caller.label.clone(),
            told: None,
            remade: None,
            touched: Touched::new(),
            read: None,
            wrote: None,
            spent: Spent::default(),
        };
        let event = Event::Finished(finished);
        let stamp = self.journal.append(&caller.run, judged, event)?;
        Ok(stamp.at)
    }

    /// Records that nobody saw the end of an effect; when that was.
    ///
    /// # Errors
    /// The journal's own failure.
    pub(crate) fn in_doubt(&self, caller: &Caller, of: Seq) -> Result<u64> {
        self.record_failed(caller, of, &unseen().in_doubt("it"))
    }

    fn record(&self, caller: &Caller, mut wished: Wished) -> Result<Stamp> {
        // What is shown is the end of a run, and what the host wishes is a part of something that has begun. Nothing
        // else is even judged: a refusal would fill the journal as well.
        if wished.effect != EffectKind::Show && caller.origin != Origin::Host {
            self.check_run(caller)?;
        }
        self.hush_wish(caller, &mut wished);
        let judged = Judged {
            effect: wished.effect,
            component: wished.component,
            subject: wished.subject,
            origin: caller.origin.to_string(),
            place: caller.place.clone(),
            content: wished.content,
            label: caller.label.clone(),
            weighed: wished.weighed,
            given: wished.given,
            verdict: wished.verdict,
        };
        self.journal
            .append(&caller.run, caller.parent, Event::Judged(judged))
    }

    fn wished<E: Effect>(
        &self,
        caller: &Caller,
        effect: &E,
        weighed: Vec<Weighed>,
        verdict: Verdict,
    ) -> Wished {
        Wished {
            effect: E::KIND,
            component: effect.component(),
            subject: effect.subject(),
            content: effect.content(),
            given: effect.given(caller, &self.policy),
            weighed,
            verdict,
        }
    }

    /// Of what a guest or a ward that knows a secret says, how much it is stands on record (G-32). What a model, a
    /// script or a client wishes, it has said itself.
    fn hush_wish(&self, caller: &Caller, wished: &mut Wished) {
        if !self.knows_secret(caller) {
            return;
        }
        // The name of a tool, or of a server, is none of what it was given; a path or an address may be, and so may the name
        // of a tool that there is not.
        let is_name = match wished.effect {
            EffectKind::Call => wished.component.is_some(),
            EffectKind::Fetch | EffectKind::File | EffectKind::Keep | EffectKind::Show => {
                matches!(wished.content, Content::Inline(_))
            }
        };
        if !is_name {
            wished.subject = SECRET.to_owned();
        }
        hush(
            &mut wished.content,
            &mut wished.weighed,
            &mut wished.verdict,
        );
    }

    /// What stands on record of what steps have made of a call: of what is secret, how much it is.
    fn kept_remade(&self, caller: &Caller, remade: Option<Box<Remade>>) -> Option<Box<Remade>> {
        let mut remade = remade?;
        let classes = &self.policy.flows.classes;
        if classes.is_secret(&remade.label) || self.knows_secret(caller) {
            hush(
                &mut remade.content,
                &mut remade.weighed,
                &mut remade.verdict,
            );
        }
        Some(remade)
    }

    /// Whether it is a guest or a ward that knows a secret.
    fn knows_secret(&self, caller: &Caller) -> bool {
        let inside = match caller.origin {
            Origin::Tool(_) | Origin::Host => true,
            Origin::Client | Origin::Model | Origin::Script => false,
        };
        inside && self.policy.flows.classes.is_secret(&caller.label)
    }

    fn finish<T>(&self, caller: &Caller, of: Seq, performed: &Performed<T>) -> Result<Stamp> {
        let end = match &performed.result {
            Ok(_) => End::Done {
                content: performed.content.clone(),
            },
            Err(error) if self.knows_secret(caller) => {
                failed(&Error::new(error.code(), SECRET).retry(error.is_retryable()))
            }
            Err(error) if performed.unsaid => failed(&error.unsaid()),
            Err(error) => failed(error),
        };
        let finished = Finished {
            of,
            end,
            label: performed.label.clone(),
            told: performed.told.clone(),
            remade: self.kept_remade(caller, performed.remade.clone()),
            touched: performed.touched.clone(),
            read: performed.read.clone(),
            wrote: performed.wrote.clone(),
            spent: performed.spent,
        };
        self.journal
            .append(&caller.run, of, Event::Finished(finished))
    }
}

/// What stands on record of a wish, beside who wishes it: the same fields as in [`Judged`].
struct Wished {
    effect: EffectKind,
    component: Option<Digest>,
    subject: String,
    content: Content,
    given: BTreeMap<String, String>,
    weighed: Vec<Weighed>,
    verdict: Verdict,
}

/// A judgement that nobody acts upon.
#[derive(Debug)]
pub(crate) struct Foreseen<T> {
    /// The decision.
    pub(crate) verdict: Verdict,
    /// Of a sink: each value that steers, and why it may.
    pub(crate) weighed: Vec<Weighed>,
    /// What an allowance would entail.
    pub(crate) terms: Option<T>,
}

impl Gate {
    /// What would be decided: nothing is recorded, and there is no permit.
    pub(crate) fn foresee<E: Effect>(&self, caller: &Caller, effect: &E) -> Foreseen<E::Terms> {
        let (decided, weighed) = self.decide(caller, effect);
        Foreseen {
            verdict: verdict_of(&decided),
            weighed,
            terms: decided.ok().map(|(_, terms)| terms),
        }
    }

    /// What would be decided of an effect that was allowed before, and has been changed since by what the operator has put
    /// around it. Where a person has said yes to it as it was, nobody is there to be asked again, and their yes covers what
    /// it has become if it would be asked for the same, and nothing speaks against it that they did not know. Whether a
    /// yes may cover the change at all is for whoever knows what has changed.
    pub(crate) fn foresee_after<E: Effect>(
        &self,
        (caller, first): (&Caller, &E),
        (by_then, effect): (&Caller, &E),
    ) -> Foreseen<E::Terms> {
        let answered = answered(caller, first, self);
        let now = effect.judge(by_then, &self.policy);
        if let (Some(answered), Ok(now)) = (answered, now)
            && let Consent::Needed { rule, open, .. } = &now.consent
            && *rule == answered.line
            && open
                .iter()
                .all(|point| answered.reasons.contains(&point.reason))
        {
            let rule = format!(
                "{rule}; question {} was answered with yes, before steps changed the call",
                answered.id
            );
            return Foreseen {
                verdict: Verdict::Allow { rule },
                weighed: now.weighed,
                terms: Some(now.terms),
            };
        }
        self.foresee(by_then, effect)
    }

    fn decide<E: Effect>(&self, caller: &Caller, effect: &E) -> Decided<E::Terms> {
        let mut weighed = Vec::new();
        let judged = effect.judge(caller, &self.policy).map_err(Refused::Denied);
        let decided = judged.and_then(|allowed| {
            weighed = allowed.weighed;
            let rule = consent(caller, effect, self, (allowed.rule, allowed.consent))?;
            Ok((rule, allowed.terms))
        });
        (decided, weighed)
    }
}

/// The rule and the terms, or why not; and what was weighed.
type Decided<T> = (Result<(String, T), Refused>, Vec<Weighed>);

fn verdict_of<T>(decided: &Result<(String, T), Refused>) -> Verdict {
    match decided {
        Ok((rule, _)) => Verdict::Allow { rule: rule.clone() },
        Err(Refused::Denied(denial)) => Verdict::Deny(denial.clone()),
        Err(Refused::Asked(question)) => Verdict::Ask(Question::clone(question)),
    }
}

/// Why an effect may not happen, or not yet.
enum Refused {
    Denied(Denial),
    Asked(Box<Question>),
}

impl Refused {
    fn error(&self, policy: &Policy) -> Error {
        match self {
            Self::Denied(denial) => denied(denial, policy),
            Self::Asked(question) => asked(question),
        }
    }
}

/// An effect under way. Dropped before it has ended, it leaves the record that nobody saw its end
/// (invariant 11).
struct Open<'a> {
    gate: &'a Gate,
    caller: &'a Caller,
    of: Option<Seq>,
    /// Whether it must not happen twice.
    once: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let Some(of) = self.of else { return };
        // The record is lost only with the journal, and then nothing more happens anyway.
        let _ = match self.once {
            true => self.gate.in_doubt(self.caller, of),
            false => self.gate.record_failed(self.caller, of, &unseen()),
        };
    }
}

/// Nobody saw how it ended.
fn unseen() -> Error {
    Error::new(Code::InDoubt, "the run ended before this did")
}

/// The end of something that failed.
#[must_use]
pub fn failed(error: &Error) -> End {
    End::Failed {
        code: error.code(),
        message: error.message().to_owned(),
        issues: error.issue_list().to_vec(),
        retryable: error.is_retryable(),
    }
}

/// The end of a run whose outcome stands on record, or was shown, before.
#[must_use]
pub fn end_of<T>(result: &Result<T>) -> End {
    match result {
        Ok(_) => End::Done {
            content: Content::Empty,
        },
        Err(error) => failed(error),
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
pub fn denied(denial: &Denial, policy: &Policy) -> Error {
    let error = Error::new(Code::Denied, denial.reason.clone());
    match policy.hint(denial) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
