//! Giving a run up: at once or after its step, and what becomes of its questions (U-07). From `[abort]`.

use serde::Deserialize;

use crate::words::limits::CANCEL_GRACE_MS;

/// How runs are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Whether the step under way ends first: a question to the model, or the calls of a reply (G-55).
    pub drain: bool,
    /// Time that what is under way has to end; then it is dropped (G-54).
    pub grace_ms: u64,
    /// What becomes of questions that wait for a person (G-56).
    pub pending: Pending,
}

impl Default for Abort {
    fn default() -> Self {
        Self {
            drain: false,
            grace_ms: CANCEL_GRACE_MS,
            pending: Pending::default(),
        }
    }
}

/// What becomes of the questions of a run that is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pending {
    /// They count as answered with no, and the run ends as cancelled.
    #[default]
    Deny,
    /// They stay, and the run can be taken up again.
    Hold,
    /// The run ends as failed.
    Fail,
}
