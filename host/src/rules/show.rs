//! Rule for showing: text that reaches the run's own user is never asked about, but it is recorded. Everything it
//! was derived from is committed before it reaches them, when its run ends: whoever ends a run sees to that.

use serde_json::json;

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
    /// What it looks like, where a client's model reads it (`rules/inbound.rs`).
    pub flags: Vec<String>,
}

impl Effect for Show {
    const KIND: EffectKind = EffectKind::Show;
    type Terms = ();

    fn subject(&self) -> String {
        self.what.to_owned()
    }

    fn content(&self) -> Content {
        if self.flags.is_empty() {
            return Content::Size { bytes: self.bytes };
        }
        Content::Inline(json!({"bytes": self.bytes, "flags": self.flags}))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_looks_like_stands_in_its_record() {
        let content = |flags: &[&str]| {
            let show = Show {
                what: "envelope",
                bytes: 7,
                flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            };
            show.content()
        };
        assert_eq!(content(&[]), Content::Size { bytes: 7 });
        let flagged = json!({"bytes": 7, "flags": ["forget"]});
        assert_eq!(content(&["forget"]), Content::Inline(flagged));
    }
}
