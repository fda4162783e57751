//! Imports: what a guest may ask for. One file for each interface of `wit/plugin.wit`.
//!
//! An import does not perform. It checks the shape of the request, hands it to the run's task set,
//! and waits for the answer (invariant 11).

mod artifacts;
mod call;
mod fetch;
mod files;
mod log;
mod notes;

use std::future::Future;
use std::sync::Arc;

use super::bindings::lazaret::plugin::types::{self, Refusal};
use super::guest::{Errand, Inside, Visit};
use super::station::Station;
use crate::gate::{Performed, Permit, unfit};
use crate::rules::Effect;
use crate::rules::caller::{Caller, Origin};
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Content;
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::{EFFECT_TIMEOUT_MS, EFFECTS_PER_CALL};

impl types::Host for Inside {}

impl Inside {
    /// The call that this guest is here for.
    fn visit(&mut self) -> Result<&mut Visit, Refusal> {
        match &mut self.errand {
            Errand::Call(visit) => Ok(visit),
            Errand::Manifest => Err(Refusal {
                code: types::Code::Denied,
                message: "nothing may be asked for while the manifest is read".to_owned(),
                retryable: false,
            }),
        }
    }

    /// What influences what this guest writes: all that it was given and has read, and its own code where nobody
    /// has said that it makes nothing up.
    fn own_label(&mut self) -> Result<Label, Refusal> {
        let visit = self.visit()?;
        let label = visit.caller().label;
        let trusted = &visit.station.gate.policy().flows.classes.trusted_plugins;
        Ok(match &visit.caller.origin {
            Origin::Tool(tool) if !trusted.contains(tool.plugin()) => {
                label.with(Source::new(Sort::Tool, tool.as_str()))
            }
            Origin::Tool(_) | Origin::Client | Origin::Model | Origin::Host | Origin::Script => {
                label
            }
        })
    }

    /// Lets an effect be judged and performed in the run's task set, and waits for it.
    async fn hand_over<E, T, F, Fut>(&mut self, effect: Result<E>, perform: F) -> Result<T, Refusal>
    where
        E: Effect + 'static,
        T: Send + 'static,
        F: FnOnce(Arc<Station>, Permit<E>, Deadline) -> Fut + Send + 'static,
        Fut: Future<Output = Performed<T>> + Send + 'static,
    {
        let visit = self.visit()?;
        visit.trail.effects = visit.trail.effects.saturating_add(1);
        if visit.trail.effects > EFFECTS_PER_CALL {
            // Not even recorded: a record for each would fill the journal.
            let what = "this call has asked for as many files, fetches and notes as it may";
            return Err(visit.refuse(&Error::new(Code::OverBudget, what)));
        }
        let (station, caller) = (visit.station.clone(), visit.caller());
        let effect = match effect {
            Ok(effect) => effect,
            Err(error) => {
                let what = ("malformed".to_owned(), Content::Empty);
                let why = (unfit(&error), error);
                let not = station.gate.turn_down(&caller, E::KIND, what, why);
                return Err(visit.refuse(&not.error));
            }
        };
        let work = async move {
            let deadline = caller
                .deadline
                .earlier(Deadline::after_ms(EFFECT_TIMEOUT_MS));
            let gate = station.gate.clone();
            let passed = gate.pass(&caller, effect, |permit| perform(station, permit, deadline));
            passed.await.map_err(Error::from)
        };
        let outcome = visit.tasks.clone().run(work).await;
        let visit = self.visit()?;
        match outcome {
            Ok(passed) => {
                let performed = passed.performed;
                visit.trail.label = visit.trail.label.join(&performed.label);
                match performed.result {
                    Ok(value) => {
                        visit.trail.refused = None;
                        Ok(value)
                    }
                    Err(error) => Err(visit.refuse(&error)),
                }
            }
            Err(error) => Err(visit.refuse(&error)),
        }
    }
}

impl Visit {
    /// The guest as a caller, under the influence of all that it has read so far.
    pub(super) fn caller(&self) -> Caller {
        Caller {
            label: self.caller.label.join(&self.trail.label),
            ..self.caller.clone()
        }
    }

    /// Remembers a refusal, and says it in the guest's terms: hints are for whoever may act on them.
    fn refuse(&mut self, error: &Error) -> Refusal {
        self.trail.refused = Some((error.code(), error.hints().to_vec()));
        Refusal {
            code: code_of(error.code()),
            message: self
                .station
                .scrub
                .clean(&self.station.gate.policy().without_origin(error.message())),
            retryable: error.is_retryable(),
        }
    }
}

/// A closed code in the guest's terms.
fn code_of(code: Code) -> types::Code {
    match code {
        Code::BadInput | Code::BadArgs => types::Code::BadInput,
        Code::Denied | Code::Asked | Code::BadSurface => types::Code::Denied,
        Code::UnknownTool | Code::NotFound => types::Code::NotFound,
        Code::TooBig => types::Code::TooBig,
        Code::TooSlow => types::Code::TooSlow,
        Code::OverBudget | Code::OutOfFuel | Code::OutOfMemory => types::Code::OverBudget,
        Code::Cancelled => types::Code::Cancelled,
        Code::BadPlugin
        | Code::Trapped
        | Code::GuestFailed
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
