//! Most: how many outcomes one run holds at once. From `[limits] handles`.

use std::collections::{BTreeMap, BTreeSet};

use super::Handles;
use crate::words::error::{Code, Error};
use crate::words::label::Label;
use crate::words::limits::{HANDLE_BYTES, HANDLES};

impl Default for Handles {
    fn default() -> Self {
        Self {
            held: BTreeMap::new(),
            gone: BTreeMap::new(),
            unseen: BTreeSet::new(),
            all: Label::default(),
            most: HANDLES,
            given: 0,
            last: 0,
            bytes: 0,
            bits: 0,
            row: 0,
        }
    }
}

impl Handles {
    /// The same, and so many at most before another one is made. What earlier lives held, what others brought and what
    /// is attached is held beyond that, since it is what the run stands on.
    #[must_use]
    pub fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }
}

/// Nothing more is held.
pub(super) fn over(most: usize) -> Error {
    let what = format!("a run holds {most} outcomes and {HANDLE_BYTES} bytes of them at most");
    Error::new(Code::OverBudget, what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Naming;
    use super::*;
    use crate::words::label::Label;

    #[test]
    fn a_run_makes_no_more_handles_than_it_may() {
        let mut handles = Handles::default().at_most(2);
        let one = (json!("x"), Label::default());
        for name in ["h1", "h2"] {
            assert_eq!(handles.hold(Naming::Next, &one.0, &one.1).unwrap(), name);
        }
        let error = handles.hold(Naming::Next, &one.0, &one.1).unwrap_err();
        assert_eq!(error.code(), Code::OverBudget);
        assert!(
            error.message().starts_with("a run holds 2 outcomes"),
            "{error}"
        );
        // An earlier life had it.
        handles.hold_as("h3", &one.0, &one.1).unwrap();
    }
}
