//! Whose deadline it was that a call has missed: several may say one, and the shortest holds.

use super::super::catalog::{By, Tool};
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::policy::Policy;
use crate::words::bound::Bound;
use crate::words::error::{AFTER_DOUBT, Code, Error};

/// What is said of the deadline of a call, known when it begins.
pub(super) fn deadline(caller: &Caller, call: &Call, tool: &Tool, policy: &Policy) -> String {
    let most = policy.bounds.timeout_ms;
    let asked = caller.known.asked.timeout_ms;
    let said = asked.or(call.declared.conduct.timeout_ms);
    let own = said.unwrap_or(policy.bounds.silent_timeout_ms);
    let may_ask = match caller.origin {
        Origin::Client => format!("; `--timeout-ms` asks for another, up to {most} ms"),
        Origin::Model | Origin::Script | Origin::Tool(_) | Origin::Host => String::new(),
    };
    // A moment has passed since a deadline of the same length was set.
    let rest = caller.deadline.rest().as_millis().saturating_add(1_000);
    if rest < u128::from(own.min(most)) {
        return match caller.origin {
            Origin::Model => {
                "`[pace] call_timeout_ms` of `lazaret.toml` and the time that its run \
                              still had say how long it may take"
                    .to_owned()
            }
            Origin::Client | Origin::Script | Origin::Tool(_) | Origin::Host => {
                "it is a part of another call, whose time was over".to_owned()
            }
        };
    }
    if own > most {
        return Bound::Deadline.hint(most);
    }
    match (&tool.by, asked) {
        (_, Some(_)) => {
            "its client asked for this deadline of each attempt (`--timeout-ms`)".to_owned()
        }
        (By::Component(_), None) => {
            let who = match said {
                Some(_) => format!("its manifest says {own} ms (`timeout_ms`)"),
                None => format!(
                    "its manifest says nothing (`timeout_ms`), and `[limits] silent_timeout_ms` of `lazaret.toml` \
                     then says {own} ms"
                ),
            };
            format!("{who}{may_ask}")
        }
        (By::Server(served), None) => {
            let name = &served.server.terms().name;
            format!(
                "`[mcp.{name}.limits] call_timeout_ms` of `lazaret.toml`, or `timeout_ms` of the tool \
                 there, says {own} ms{may_ask}"
            )
        }
    }
}

/// Whether a call that failed so was cut off, wherever it was.
pub(super) fn is_cut_off(error: &Error) -> bool {
    matches!(error.code(), Code::TooSlow | Code::Cancelled)
}

/// The failure of a call of which nobody knows how far it came. By the rule that holds after a crash, one that may not be
/// made again is in doubt: whoever is told so does not wish for it once more before they have looked.
pub(super) fn doubted(error: Error, (call, policy): (&Call, &Policy), is_open: bool) -> Error {
    if !is_open || call.declared.is_repeatable() {
        return error;
    }
    // Who lets writes be made again has said that they may happen twice (C-37).
    let again = error.is_retryable() && policy.bounds.retries.writes;
    let tool = format!("`{}`", call.tool);
    error.in_doubt(&tool).retry(again).hint(AFTER_DOUBT)
}

/// A failure with that, if it is one of time and says nothing of it yet.
pub(super) fn told(error: Error, deadline: &str) -> Error {
    if error.code() == Code::TooSlow && error.hints().is_empty() {
        return error.hint(deadline);
    }
    error
}
