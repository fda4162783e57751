//! Secrets that a server has for a call: those that its own lines give it, and the token of whoever has logged in.
//!
//! A program has them in its environment from its start, and whoever is asked over HTTP in each request of the call. Which
//! those are is on record before the server is asked, as it is for a request of a guest.

use serde_json::{Value, json};

use super::{Terms, Variable, Way};
use crate::rules::caller::Caller;
use crate::rules::policy::Policy;
use crate::rules::{Allowed, Consent, Durability, Effect};
use crate::words::error::Result;
use crate::words::event::{Content, Denial, EffectKind};

/// A secret that a server has, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where it stands, in words.
    pub place: String,
    /// Its name.
    pub secret: String,
}

/// The secrets that a server has for one call; at least one.
#[derive(Clone, Debug)]
pub struct Lent {
    /// The server's name.
    pub server: String,
    /// Which, and where.
    pub uses: Vec<Use>,
}

impl Terms {
    /// The secrets that its own lines give a server.
    #[must_use]
    pub fn uses(&self) -> Vec<Use> {
        match &self.way {
            Way::Program(program) => {
                let named = program.env.iter().filter_map(|(name, said)| match said {
                    Variable::Secret(secret) => Some(Use {
                        place: format!("variable `{name}`"),
                        secret: secret.clone(),
                    }),
                    Variable::Plain(_) => None,
                });
                named.collect()
            }
            Way::Remote(remote) => remote.headers.iter().map(super::Header::used).collect(),
        }
    }
}

impl super::Header {
    /// The secret that it is a place of.
    #[must_use]
    pub fn used(&self) -> Use {
        Use {
            place: format!("header `{}`", self.name),
            secret: self.secret.clone(),
        }
    }
}

impl Effect for Lent {
    const KIND: EffectKind = EffectKind::Fetch;
    type Terms = ();

    fn subject(&self) -> String {
        super::source(&self.server).to_string()
    }

    fn wish(&self) -> String {
        format!("have its secrets for the server `{}`", self.server)
    }

    /// Names alone: a value is in no effect.
    fn content(&self) -> Content {
        let uses = self.uses.iter();
        let uses = uses.map(|used| json!({"secret": used.secret, "place": used.place}));
        Content::Inline(json!({"secrets": uses.collect::<Vec<Value>>()}))
    }

    /// The line of the operator's that names the server is the line that gives it its secrets: it has no others.
    fn judge(&self, _: &Caller, _: &Policy) -> Result<Allowed<()>, Denial> {
        let uses = self.uses.iter();
        let uses = uses.map(|used| format!("secret {} in {}", used.secret, used.place));
        let uses: Vec<String> = uses.collect();
        Ok(Allowed {
            rule: format!("[mcp.{}]: {}", self.server, uses.join("; ")),
            terms: (),
            consent: Consent::NotNeeded,
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        Durability::Committed
    }
}
