//! What a guest has heard so far: everything that influences what it wishes next, how often it has asked, and how its
//! last request ended.
//!
//! Shared, since answers of `wasi:http` arrive while the guest runs, apart from its store.

use std::sync::{Arc, Mutex};

use crate::words::error::{Code, Error};
use crate::words::label::{Label, Source};
use crate::words::lock::lock;

/// What a guest has heard so far. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    label: Label,
    /// What it makes of all it knows, where its tool says that this is secret.
    secret: Option<Source>,
    has_read: bool,
    refused: Option<Refused>,
    effects: u32,
}

/// A request that was refused.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) code: Code,
    /// Advice for whoever may act on it.
    pub(super) hints: Vec<String>,
    /// Whether nobody knows if it has happened, though it must not happen twice.
    pub(super) in_doubt: bool,
}

impl Heard {
    /// Of a guest whose tool says that what it returns is secret, with that source, or says no such thing.
    pub(super) fn of(secret: Option<Source>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            secret,
            ..Inner::default()
        })))
    }

    /// Everything that it has read.
    pub(super) fn label(&self) -> Label {
        lock(&self.0).label.clone()
    }

    /// What it brings into its next wish beside its caller. Where its tool says that what it returns is secret, so is
    /// what it knows: nobody sees which part of it the guest wishes with. Before it has read anything it knows what its
    /// caller knows, so where it fetches that from is none; but what it passes on it may have made up itself, as a
    /// password is.
    pub(super) fn brings(&self, passes_on: bool) -> Label {
        let heard = lock(&self.0);
        match &heard.secret {
            Some(secret) if passes_on || heard.has_read => heard.label.with(secret.clone()),
            Some(_) | None => heard.label.clone(),
        }
    }

    /// It is about to read what has this label.
    pub(super) fn learn(&self, label: &Label) {
        let mut heard = lock(&self.0);
        heard.label = heard.label.join(label);
        heard.has_read = true;
    }

    /// It asks for one more effect; how many it has asked for with this one.
    pub(super) fn count_effect(&self) -> u32 {
        let mut heard = lock(&self.0);
        heard.effects = heard.effects.saturating_add(1);
        heard.effects
    }

    /// Its last request was granted.
    pub(super) fn granted(&self) {
        lock(&self.0).refused = None;
    }

    /// Its last request was refused: a guest that then gives up failed for that reason.
    pub(super) fn refused(&self, error: &Error) {
        lock(&self.0).refused = Some(Refused {
            code: error.code(),
            hints: error.hints().to_vec(),
            in_doubt: error.is_in_doubt(),
        });
    }

    /// Why its last request was refused, if it was.
    pub(super) fn last_refusal(&self) -> Option<Refused> {
        lock(&self.0).refused.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Sort;

    #[test]
    fn what_a_secret_tool_passes_on_is_secret_and_so_is_all_after_it_has_read() {
        let secret = Source::new(Sort::Secret, "safe.run");
        let is_secret = |heard: &Heard, passes_on| {
            let label = heard.brings(passes_on);
            label.covers(&Label::default().with(secret.clone()))
        };
        let heard = Heard::of(Some(secret.clone()));
        assert!(!is_secret(&heard, false) && is_secret(&heard, true));
        heard.learn(&Label::default());
        assert!(is_secret(&heard, false) && is_secret(&heard, true));
        let plain = Heard::of(None);
        plain.learn(&Label::default());
        assert!(!is_secret(&plain, false) && !is_secret(&plain, true));
    }
}
