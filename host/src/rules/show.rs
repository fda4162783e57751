//! Rule for showing: text that reaches the run's own user is never asked about, but it is recorded. Everything it
//! was derived from is committed before it reaches them, when its run ends: whoever ends a run sees to that.

use super::caller::Caller;
use super::policy::Policy;
use super::{Allowed, Consent, Durability, Effect};
use crate::words::event::{Content, Denial, EffectKind};

/// Text reaches a person or client.
#[derive(Clone, Debug)]
pub struct Show {
    /// What it is: `answer`, `envelope`.
    pub what: &'static str,
    /// Its length.
    pub bytes: usize,
}

impl Effect for Show {
    const KIND: EffectKind = EffectKind::Show;
    type Terms = ();

    fn subject(&self) -> String {
        self.what.to_owned()
    }

    fn content(&self) -> Content {
        Content::Size { bytes: self.bytes }
    }

    fn judge(&self, _: &Caller, _: &Policy) -> Result<Allowed<()>, Denial> {
        Ok(Allowed {
            rule: "a run's own user may see what it says".to_owned(),
            terms: (),
            consent: Consent::NotNeeded,
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        Durability::Batched
    }
}
