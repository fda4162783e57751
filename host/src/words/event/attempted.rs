//! Attempts: what became of a model that gave no reply, and what was done instead.

use serde::{Deserialize, Serialize};

use super::{Event, Record, is_false, is_zero};
use crate::words::error::Code;
use crate::words::message::{StopReason, Usage};
use crate::words::setback::{Miss, Setback};

/// What became of a model that gave no reply. What gave one is told by `Prompted` and `Replied`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// The turn, from 1; 0 for a question about what is held.
    pub turn: u32,
    /// The model.
    pub model: String,
    /// Whether it was asked.
    #[serde(flatten)]
    pub tried: Tried,
}

/// What the model of a run failed with, where that is the last that was heard of it: its attempt, or a reply that its provider
/// withheld. Models that are asked about what is held are none of these.
#[must_use]
pub fn failed_last(records: &[Record]) -> Option<(Code, Setback)> {
    let last = records.iter().rev().find_map(|record| {
        if let Event::Replied { reply, .. } = &record.event {
            let filtered = reply.stop == StopReason::Filtered;
            return Some(filtered.then_some((Code::ProviderFailed, Setback::Filtered)));
        }
        let Event::Attempted(attempted) = &record.event else {
            return None;
        };
        (attempted.turn > 0).then(|| attempted.tried.failed())
    });
    last.flatten()
}

impl Tried {
    /// What a model that was asked failed with.
    fn failed(&self) -> Option<(Code, Setback)> {
        match self {
            Self::Failed { code, setback, .. } => Some((*code, *setback)),
            Self::Skipped { .. } => None,
        }
    }
}

/// Whether a model was asked, and what happens instead of its reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Tried {
    /// It was, and failed.
    Failed {
        /// What kind of setback it was.
        setback: Setback,
        /// Closed code.
        code: Code,
        /// One sentence.
        message: String,
        /// What is done.
        then: Onward,
        /// How long that waits, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        wait_ms: u64,
        /// How long its provider is left alone from here, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        cools_ms: u64,
        /// Whether something had been said, so that the step begins anew.
        #[serde(default, skip_serializing_if = "is_false")]
        restarts: bool,
        /// What it has counted until then, and what that cost. Of a question about what is held it stands in the end of its
        /// call, and of a summary in its record, too.
        #[serde(default, skip_serializing_if = "Usage::is_nothing")]
        usage: Usage,
    },
    /// It was not.
    Skipped {
        /// Why not.
        miss: Miss,
    },
}

/// What follows an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Onward {
    /// The same model is asked again.
    Again,
    /// The next model is asked, if there is one.
    Next,
    /// The turn begins anew: what it is told is shortened first, or its budget asked again.
    Anew,
    /// No model is asked.
    Over,
}
