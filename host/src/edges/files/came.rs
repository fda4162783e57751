//! Came: what comes of a wish, its label and what it has used of a quota.

use super::FileOutcome;
use crate::words::error::Result;
use crate::words::event::Wrote;
use crate::words::label::Label;

/// What came of a wish.
pub(super) struct Came {
    pub(super) result: Result<FileOutcome>,
    /// What influenced the outcome, where that is known.
    pub(super) label: Option<Label>,
    /// How much of a quota its run has used by then, where it may have filled a mount.
    pub(super) wrote: Option<Wrote>,
}

impl From<Result<FileOutcome>> for Came {
    fn from(result: Result<FileOutcome>) -> Self {
        Self {
            result,
            label: None,
            wrote: None,
        }
    }
}
