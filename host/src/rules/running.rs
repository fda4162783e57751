//! How runs go, whoever they are of: how they are given up (U-07), and which outcomes are given again (U-18).
//!
//! From `[abort]`, `[cache]` and `[health]`, and of `[limits]` what is attached.

use serde::Deserialize;

use super::health::Weights;
use crate::words::limits::{
    ATTACHMENT_BYTES, ATTACHMENTS, CANCEL_GRACE_MS, KEYED_CALLS, KEYED_TTL_MS, REPEATS,
    REPEATS_TTL_MS, WATCH_EVENTS,
};
use crate::words::vocabulary::System;

/// How runs go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRules {
    /// How they are given up.
    pub abort: Abort,
    /// Which outcomes are given again.
    pub caching: Caching,
    /// How the health of models is counted.
    pub health: Weights,
    /// What a run may be given to look at.
    pub attaching: Attaching,
    /// What waits for whoever watches.
    pub watching: Watching,
    /// Whose words for failures are said beside ours.
    pub system: Option<System>,
}

/// What waits for whoever watches a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watching {
    /// Events; of what comes then, what is not kept is dropped.
    pub events: usize,
}

impl Default for Watching {
    fn default() -> Self {
        Self {
            events: WATCH_EVENTS,
        }
    }
}

/// What one run may be given to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attaching {
    /// Files.
    pub files: usize,
    /// Bytes of all of them together.
    pub bytes: usize,
}

impl Default for Attaching {
    fn default() -> Self {
        Self {
            files: ATTACHMENTS,
            bytes: ATTACHMENT_BYTES,
        }
    }
}

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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema,
)]
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

/// How long outcomes are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    /// Outcomes of one turn's calls that only look; 0 keeps none.
    pub entries: usize,
    /// How long each is kept, if the turn lasts so long.
    pub ttl_ms: u64,
    /// Outcomes of writes that clients sent with a key; 0 keeps none.
    pub keyed_entries: usize,
    /// How long each is kept.
    pub keyed_ttl_ms: u64,
}

impl Default for Caching {
    fn default() -> Self {
        Self {
            entries: REPEATS,
            ttl_ms: REPEATS_TTL_MS,
            keyed_entries: KEYED_CALLS,
            keyed_ttl_ms: KEYED_TTL_MS,
        }
    }
}
