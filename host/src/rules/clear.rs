//! Rule for clearing labels: may what others had a hand in count as a person's own from now on?
//!
//! It is their word that they have looked through it, so nobody else gives it: no model, no tool, no client from outside.

use serde_json::json;

use super::caller::{Caller, Origin};
use super::policy::Policy;
use super::{Allowed, Consent, Durability, Effect, deny};
use crate::words::event::{Content, Denial, EffectKind, Surface};
use crate::words::id::shown;

/// Labels are cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clear {
    /// Of a file, or of all files in a folder, by its path on the host.
    File(String),
    /// Of a record of a service by its id, or of all of its records.
    Records {
        /// The service: what its tools have before the dot.
        service: String,
        /// The record's id; all of them without.
        id: Option<String>,
    },
}

impl Clear {
    /// What is cleared, for people.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::File(path) => path.clone(),
            Self::Records { service, id: None } => service.clone(),
            Self::Records {
                service,
                id: Some(id),
            } => format!("{service} {id}"),
        }
    }
}

impl Effect for Clear {
    const KIND: EffectKind = EffectKind::Keep;
    type Terms = ();

    fn subject(&self) -> String {
        format!("clear the label of {}", shown(&self.what()))
    }

    /// In full: a subject is cut.
    fn content(&self) -> Content {
        Content::Inline(match self {
            Self::File(path) => json!({"file": path}),
            Self::Records { service, id: None } => json!({"service": service}),
            Self::Records {
                service,
                id: Some(id),
            } => json!({"service": service, "record": id}),
        })
    }

    fn judge(&self, caller: &Caller, _: &Policy) -> Result<Allowed<()>, Denial> {
        if caller.origin != Origin::Client || caller.surface != Surface::Cli {
            let what = "labels are cleared by a person at the command line, and by nobody else";
            return Err(deny("a person's own word", what));
        }
        Ok(Allowed {
            rule: "a person's own word".to_owned(),
            terms: (),
            consent: Consent::NotNeeded,
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        Durability::Synced
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::words::clock::Deadline;
    use crate::words::id::{RunId, ToolName};

    #[test]
    fn nobody_but_a_person_at_the_command_line_clears_labels() {
        let clear = Clear::Records {
            service: "cal".to_owned(),
            id: None,
        };
        let caller = |origin: Origin, surface: Surface| Caller {
            surface,
            ..Caller::apart(
                RunId::known("r"),
                origin,
                (Arc::default(), Deadline::after_ms(9)),
            )
        };
        let may = |origin, surface| {
            let policy = Policy::nothing("here");
            clear.judge(&caller(origin, surface), &policy).is_ok()
        };
        assert!(may(Origin::Client, Surface::Cli));
        assert!(!may(Origin::Client, Surface::Http) && !may(Origin::Client, Surface::Mcp));
        let tool = Origin::Tool(ToolName::parse("cal.add").unwrap());
        for origin in [tool, Origin::Model, Origin::Script, Origin::Host] {
            assert!(!may(origin, Surface::Cli));
        }
    }
}
