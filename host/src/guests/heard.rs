//! What a guest has heard so far: everything that influences what it wishes next, how often it has asked, and how its
//! last request ended.
//!
//! Shared, since answers of `wasi:http` arrive while the guest runs, apart from its store.

use std::sync::{Arc, Mutex};

use crate::words::error::{Code, Error};
use crate::words::label::Label;
use crate::words::lock::lock;

/// What a guest has heard so far. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    label: Label,
    refused: Option<Refused>,
    effects: u32,
}

/// A request that was refused: code, and advice for whoever may act on it.
pub(super) type Refused = (Code, Vec<String>);

impl Heard {
    /// Everything that it has read.
    pub(super) fn label(&self) -> Label {
        lock(&self.0).label.clone()
    }

    /// It is about to read what has this label.
    pub(super) fn learn(&self, label: &Label) {
        let mut heard = lock(&self.0);
        heard.label = heard.label.join(label);
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
        lock(&self.0).refused = Some((error.code(), error.hints().to_vec()));
    }

    /// Why its last request was refused, if it was.
    pub(super) fn last_refusal(&self) -> Option<Refused> {
        lock(&self.0).refused.clone()
    }
}
