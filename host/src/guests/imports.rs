//! Imports: what a guest may ask for. One file for each interface of `wit/plugin.wit`, and one each for `wasi:http`,
//! `wasi:filesystem` and `wasi:io/poll`.
//!
//! An import does not perform. It checks the shape of the request, hands it to the run's task set,
//! and waits for the answer (invariant 11).

mod artifacts;
mod call;
mod fetch;
mod files;
pub(super) mod filesystem;
pub(super) mod http;
mod log;
mod notes;
pub(super) mod poll;

use std::future::Future;
use std::mem;
use std::sync::Arc;

use super::bindings::lazaret::plugin::types::{self, Refusal};
use super::guest::{Errand, Inside, Visit};
use super::heard::Heard;
use super::station::Station;
use super::tasks::Tasks;
use crate::gate::{Performed, Permit, unfit};
use crate::rules::Effect;
use crate::rules::caller::{Caller, Origin};
use crate::rules::fetch::reason::Reason;
use crate::rules::scrub::KnownSecrets;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, EffectKind, Read, Verdict};
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::{EFFECT_TIMEOUT_MS, EFFECTS_PER_CALL};

impl types::Host for Inside {}

impl Inside {
    /// The call that this guest is here for.
    fn visit(&mut self) -> Result<&mut Visit, Refusal> {
        match &mut self.errand {
            Errand::Call(visit) => Ok(visit),
            Errand::Read(_) => Err(Refusal {
                code: types::Code::Denied,
                message: "nothing may be asked for while the manifest is read".to_owned(),
                retryable: false,
            }),
        }
    }

    /// Lets an effect be judged and performed in the run's task set, and waits for it.
    async fn hand_over<E, T, M, F, Fut>(&mut self, effect: M, perform: F) -> Result<T, Refusal>
    where
        E: Effect + 'static,
        T: Send + 'static,
        M: FnOnce() -> Result<E> + Send,
        F: FnOnce(Arc<Station>, Permit<E>, Deadline) -> Fut + Send + 'static,
        Fut: Future<Output = Performed<T>> + Send + 'static,
    {
        self.visit()?.wisher().ask(effect, perform).await
    }
}

impl Visit {
    /// What of the visit it takes to hand an effect over.
    fn wisher(&self) -> Wisher {
        Wisher {
            station: self.station.clone(),
            tasks: self.tasks.clone(),
            caller: self.caller.clone(),
            heard: self.heard.clone(),
        }
    }

    /// Remembers a refusal, and says it in the guest's terms: hints are for whoever may act on them.
    fn refuse(&mut self, error: &Error) -> Refusal {
        refusal_of(&self.wisher().refuse(error))
    }
}

/// An error that a guest may read, in the words of its interface.
fn refusal_of(error: &Error) -> Refusal {
    Refusal {
        code: code_of(error.code()),
        message: error.message().to_owned(),
        retryable: error.is_retryable(),
    }
}

/// A guest as the gate sees it, apart from its store: it may be gone before its effect has ended.
#[derive(Clone)]
struct Wisher {
    station: Arc<Station>,
    tasks: Tasks,
    caller: Caller,
    heard: Heard,
}

impl Wisher {
    /// The guest as a caller, under the influence of all that it has read so far, beside that of its own code and of
    /// what it was given. `passes_on` says of its wish what [`Effect::passes_on`] does.
    fn caller(&self, passes_on: bool) -> Caller {
        let heard = self.heard.brings(passes_on);
        let mut caller = self.caller.clone();
        caller.label = caller.label.join(&heard);
        caller.known.bearing = mem::take(&mut caller.known.bearing).after(heard);
        caller
    }

    /// What whatever it writes is under the influence of.
    fn written(&self) -> Label {
        self.caller(true).label
    }

    /// Hands an effect over, and says what came of it in the guest's terms. It is made once it is counted: to look through
    /// what a guest has written takes time that no meter counts.
    async fn ask<E, T, M, F, Fut>(&self, effect: M, perform: F) -> Result<T, Refusal>
    where
        E: Effect + 'static,
        T: Send + 'static,
        M: FnOnce() -> Result<E> + Send,
        F: FnOnce(Arc<Station>, Permit<E>, Deadline) -> Fut + Send + 'static,
        Fut: Future<Output = Performed<T>> + Send + 'static,
    {
        let refusal = |error: Error| refusal_of(&self.refuse(&error));
        self.count_effect().map_err(refusal)?;
        self.hand_over(effect(), perform).await.map_err(refusal)
    }

    /// One more effect is asked for. Too many are not even recorded: a record for each would fill the journal.
    fn count_effect(&self) -> Result<()> {
        if self.heard.count_effect() > EFFECTS_PER_CALL {
            let what = format!(
                "this call has asked for files, fetches and notes {EFFECTS_PER_CALL} times, and may no more"
            );
            return Err(Error::new(Code::OverBudget, what));
        }
        Ok(())
    }

    /// Who has a hand in how long an effect takes that is allowed. Nobody has in one that is refused, or that is sent to nobody.
    fn awaited<E: Effect>(&self, caller: &Caller, effect: &E) -> Option<Label> {
        let policy = self.station.gate.policy();
        match self.station.gate.foresee(caller, effect).verdict {
            Verdict::Allow { .. } => {}
            Verdict::Deny(_) | Verdict::Ask(_) => return None,
        }
        sent_to(effect.awaited(caller, policy), self.station.scrub.known())
    }

    /// Lets an effect be judged and performed in the run's task set, and waits for it. If the waiting is given up,
    /// the effect goes on, and whoever has a hand in it has been heard: so they have where nobody knows how it ended.
    async fn hand_over<E, T, F, Fut>(&self, effect: Result<E>, perform: F) -> Result<T>
    where
        E: Effect + 'static,
        T: Send + 'static,
        F: FnOnce(Arc<Station>, Permit<E>, Deadline) -> Fut + Send + 'static,
        Fut: Future<Output = Performed<T>> + Send + 'static,
    {
        let passes_on = effect.as_ref().is_ok_and(E::passes_on);
        let (station, caller) = (self.station.clone(), self.caller(passes_on));
        let effect = effect.map_err(|error| {
            let what = ("malformed".to_owned(), Content::Empty);
            let denial = match E::KIND {
                EffectKind::Fetch => Reason::unfit(&error),
                EffectKind::Call | EffectKind::File | EffectKind::Keep | EffectKind::Show => {
                    unfit(&error)
                }
            };
            let why = (denial, error);
            station.gate.turn_down(&caller, E::KIND, what, why).error
        })?;
        let awaited = self.awaited(&caller, &effect);
        let at = effect.awaited(&caller, self.station.gate.policy());
        let under_way = self.heard.under_way(awaited);
        let work = async move {
            let deadline = caller
                .deadline
                .earlier(Deadline::after_ms(EFFECT_TIMEOUT_MS));
            let gate = station.gate.clone();
            let passed = gate.pass(&caller, effect, |permit| perform(station, permit, deadline));
            passed.await.map_err(Error::from)
        };
        let performed = self.tasks.run(work).await?.performed;
        under_way.ended(&Read::of(performed.label, &at));
        let value = performed.result?;
        self.heard.granted();
        Ok(value)
    }

    /// Whether a refusal names to a stranger's code what its caller has read: files, pages, and keys of notes that it was never
    /// given, and would send on with the next request that is allowed.
    fn names_others(&self, error: &Error) -> bool {
        let is_refusal = matches!(error.code(), Code::Denied | Code::Asked | Code::Unconfirmed);
        let Origin::Tool(tool) = &self.caller.origin else {
            return false;
        };
        let classes = &self.station.gate.policy().flows.classes;
        let code = Label::of(Source::new(Sort::Tool, tool.as_str()));
        is_refusal
            && classes.is_tainted(&code)
            && self.caller.label.sources().any(|source| {
                let is_plain = matches!(source.sort(), Sort::User | Sort::Operator);
                !is_plain && error.message().contains(&source.to_string())
            })
    }

    /// Remembers a refusal, and says it as the guest may read it.
    fn refuse(&self, error: &Error) -> Error {
        let error = error.for_guests();
        self.heard.refused(error);
        let message = match self.names_others(error) {
            true => UNTOLD.to_owned(),
            false => self.station.gate.policy().without_origin(error.message()),
        };
        Error::new(error.code(), self.station.scrub.clean(&message)).retry(error.is_retryable())
    }
}

/// Said in place of a refusal that says under whose influence a stranger's code was called.
const UNTOLD: &str =
    "policy does not allow this after what whoever called has read; the record says more";

/// Those who are awaited; nobody where the name of a host among them holds a secret, which nothing is sent to: a guest would have
/// such a name in labels by not waiting for it.
fn sent_to(awaited: Label, known: &KnownSecrets) -> Option<Label> {
    let hosts = awaited.sources().filter(|one| one.sort() == Sort::Web);
    let holds_secret = hosts
        .map(Source::name)
        .any(|host| known.finds_in(host.as_bytes()));
    (!holds_secret).then_some(awaited)
}

/// A closed code in the guest's terms.
fn code_of(code: Code) -> types::Code {
    match code {
        Code::BadInput | Code::BadArgs | Code::BadLine => types::Code::BadInput,
        Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::Unsafe
        | Code::BadSurface => types::Code::Denied,
        Code::UnknownTool | Code::NotFound => types::Code::NotFound,
        Code::TooBig => types::Code::TooBig,
        Code::TooSlow => types::Code::TooSlow,
        Code::OverBudget | Code::OutOfFuel | Code::OutOfMemory | Code::RateLimited => {
            types::Code::OverBudget
        }
        Code::Cancelled => types::Code::Cancelled,
        Code::BadPlugin
        | Code::Conflict
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::NotJson
        | Code::BadOutcome
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::Busy
        | Code::InDoubt
        | Code::Corrupt
        | Code::Bug => types::Code::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_awaited_whose_name_holds_a_secret() {
        let known = KnownSecrets::default();
        known.learn(b"canary7f3a9cwire");
        let label = |sort, name| Label::of(Source::new(sort, name));
        for (awaited, is_sent) in [
            (label(Sort::Web, "http://a.wild.test"), true),
            (label(Sort::Web, "http://canary7f3a9cwire.wild.test"), false),
            // What a file is called was said by policy.
            (label(Sort::File, "canary7f3a9cwire"), true),
        ] {
            assert_eq!(
                sent_to(awaited.clone(), &known).is_some(),
                is_sent,
                "{awaited}"
            );
        }
    }
}
