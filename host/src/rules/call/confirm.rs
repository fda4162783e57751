//! Who confirms a call of a kind that has to be confirmed (rows ).
//!
//! A client says so with the call, where its surface has no way to ask by itself. A call of a model or a script is
//! confirmed by the words of the user: where each value that steers it has a witness that is enough for what cannot
//! be undone (design §5), they have said what is to be done, and to ask would be to ask twice. Everything else is asked, unless a line of policy says that it
//! counts as confirmed.

use std::fmt;

use super::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::flow;
use crate::rules::manifest::Declared;
use crate::rules::policy::Policy;
use crate::words::error::{Code, Error};
use crate::words::event::Surface;
use crate::words::id::ToolName;

/// By whose wish it is that a person says so. Few manifests have the key: what takes something away needs none.
#[must_use]
pub fn rule(declared: &Declared) -> &'static str {
    match declared.conduct.requires_confirmation {
        Some(true) => "`requires_confirmation` of its manifest",
        Some(false) | None => "its manifest, which says that it is `destructive`",
    }
}

/// Whether a call is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It need not be.
    NotNeeded,
    /// It is, by this.
    By(String),
    /// It is not.
    Open,
}

impl fmt::Display for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded | Self::Open => Ok(()),
            Self::By(who) => write!(out, "; confirmed by {who}"),
        }
    }
}

impl Standing {
    /// Of a call that has been checked.
    pub(super) fn of(call: &Call, caller: &Caller, policy: &Policy) -> Self {
        if !call.declared.requires_confirmation() {
            return Self::NotNeeded;
        }
        match &caller.origin {
            Origin::Client if asks_by_itself(caller.surface) => {
                Self::By(format!("the surface `{}`", caller.surface.word()))
            }
            // Without it there is no call to judge; see `unconfirmed`.
            Origin::Client => Self::By("the client".to_owned()),
            Origin::Model | Origin::Script | Origin::Tool(_) | Origin::Host => {
                let line = policy.confirmed_line(&call.tool);
                let said = line.or_else(|| {
                    let said = is_witnessed(call, caller, policy);
                    said.then(|| "the witnesses of its values".to_owned())
                });
                said.map_or(Self::Open, Self::By)
            }
        }
    }
}

/// What a client is told that has not confirmed what it has to; nothing where it has, or need not.
#[must_use]
pub fn unconfirmed(tool: &ToolName, declared: &Declared, caller: &Caller) -> Option<Error> {
    let is_client = caller.origin == Origin::Client;
    let may_stay_silent = caller.known.asked.confirmed || asks_by_itself(caller.surface);
    if !is_client || may_stay_silent || !declared.requires_confirmation() {
        return None;
    }
    let effect = declared.effect.word();
    let what = format!("`{tool}` is {effect}, and each call of it has to be confirmed");
    let hint =
        "say so with the call: `--confirm` on the command line, `\"confirm\": true` in a request";
    Some(Error::new(Code::Unconfirmed, what).hint(hint))
}

/// Whether whoever is behind a surface is asked there before a call of their own comes here. Of what a model of their run
/// calls they know nothing there.
fn asks_by_itself(surface: Surface) -> bool {
    match surface {
        Surface::React | Surface::Dev => true,
        Surface::Cli | Surface::Json | Surface::Http | Surface::Mcp | Surface::AiSdk => false,
    }
}

/// Whether there are values that steer, and each has a witness that is enough for what cannot be undone: whatever is
/// done with flows otherwise. That an id stands in a list says nothing of whether it may go.
fn is_witnessed(call: &Call, caller: &Caller, policy: &Policy) -> bool {
    flow::weigh(call, caller, policy).is_ok_and(|weighing| {
        !weighing.weighed.is_empty() && weighing.weak == 0 && weighing.open.is_empty()
    })
}

#[cfg(test)]
mod tests;
