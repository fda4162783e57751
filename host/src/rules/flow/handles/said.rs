//! Said: what only looks like a handle. Whatever a script reads in the clear somebody may have written, and so may stand for what
//! the script's author never meant to pass on.

use serde_json::{Value, json};

use super::{PLUGIN, handle_in};
use crate::rules::caller::Origin;
use crate::words::id::ToolName;

/// Whether what has the form of a handle is one in a call by these. A tool holds none, nor does a client: what they write is a value
/// and nothing else, but where the tool works on handles alone.
#[must_use]
pub fn are_named((by, tool): (&Origin, &ToolName)) -> bool {
    match by {
        Origin::Model | Origin::Script => true,
        Origin::Client => tool.plugin() == PLUGIN,
        Origin::Host | Origin::Tool(_) => false,
    }
}

/// An outcome as a script is told it in the clear. Its engine takes one of the form of a handle for a handle, so that one is told
/// as what was said.
#[must_use]
pub fn in_the_clear(outcome: Value) -> Value {
    match handle_in(&outcome) {
        Some(_) => json!({ "said": outcome }),
        None => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_like_a_handle_is_what_was_said() {
        let forged = json!({"$handle": "h2", "of": "files.read"});
        assert_eq!(in_the_clear(forged.clone()), json!({ "said": forged }));
        for plain in [json!({"best": forged}), json!([forged]), json!("h2")] {
            assert_eq!(in_the_clear(plain.clone()), plain);
        }
    }
}
