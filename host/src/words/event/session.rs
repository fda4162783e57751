//! What a run shares with others: the session that it belongs to, and what was folded of all that came before.

use serde::{Deserialize, Serialize};

use super::Spent;
use crate::words::error::Code;
use crate::words::id::{Digest, ToolName};
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
    /// What tools had to say once it was folded, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Noted>,
    /// What it took.
    pub spent: Spent,
}

/// What a tool had to say when older turns had been folded (G-70).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// The tool.
    pub tool: ToolName,
    /// Its words, which the model is told behind the summary; empty where it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What influenced them.
    pub label: Label,
    /// Why it said nothing, where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Code>,
}

impl Compacted {
    /// How many tools had something to say (G-66).
    #[must_use]
    pub fn noted(&self) -> usize {
        let noted = self.after.iter();
        noted.filter(|noted| noted.failed.is_none()).count()
    }

    /// The summary and behind it what tools had to say, as a model is told it.
    #[must_use]
    pub fn told(&self) -> String {
        let mut text = self.summary.clone();
        for noted in self.after.iter().filter(|noted| noted.failed.is_none()) {
            text.push_str(&format!("\n\n[{}]\n{}", noted.tool, noted.text));
        }
        text
    }
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
