//! What a run shares with others: the session that it belongs to, and what was folded of all that came before.

use serde::{Deserialize, Serialize};

use super::Spent;
use crate::words::id::Digest;
use crate::words::label::Label;

/// The place of a run in a session: the runs of one user that share context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InSession {
    /// The session's name among its user's.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// The run's place in it, from 0 without gaps.
    pub place: u64,
    /// Digest of the messages of the runs before it, as they were when it began.
    pub earlier: Digest,
}

/// Older turns were folded into a summary, which the model is told in their place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// So many messages it stands for, from the first one of the session.
    pub through: u64,
    /// Turns that were folded this time.
    pub turns: u64,
    /// The summary.
    pub summary: String,
    /// What influenced it.
    pub label: Label,
    /// Who wrote it: `host`, or the name of a model.
    pub by: String,
    /// Why then.
    pub cause: Cause,
    /// Tokens of the whole context before.
    pub before_tokens: u64,
    /// And after.
    pub after_tokens: u64,
    /// Of the summary.
    pub summary_tokens: u64,
    /// Whether they were estimated, and not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Why the model that was to write it did not; empty where it did, or none was to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instead: String,
    /// What it took.
    pub spent: Spent,
}

/// Why older turns were folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The window was filling.
    Window,
    /// Somebody asked for it.
    Asked,
    /// A model said that its prompt was too long.
    Refused,
}
