//! What a watcher of a run sees: its records, and between them what is not worth keeping.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Record, Step};
use crate::words::id::{RunId, Seq};
use crate::words::label::Label;

/// One thing that a watcher sees.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time is looked at, and most are records"
)]
pub enum Sight {
    /// A fact that is in the journal.
    Record(Record),
    /// Something that happened on the way.
    Glimpse {
        /// The run.
        run: RunId,
        /// What.
        #[serde(flatten)]
        glimpse: Glimpse,
    },
}

/// What happens between two records.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Glimpse {
    /// What the run is about to do.
    Step(Step),
    /// More of the model's text.
    Text {
        /// The piece.
        text: String,
    },
    /// More of what the model thinks, where its provider tells.
    Thought {
        /// The piece.
        text: String,
    },
    /// A tool says how far it is.
    Progress {
        /// The record of the call's judgement: several may speak at once (G-22).
        of: Seq,
        /// The tool.
        tool: String,
        /// Its words.
        message: String,
        /// 0 to 100, where it said so.
        #[serde(skip_serializing_if = "Option::is_none")]
        percent: Option<f32>,
        /// Who had influence on these words; where they are the host's own, on the call that they are about.
        #[serde(skip_serializing_if = "Label::is_empty")]
        label: Label,
    },
    /// Pieces that came faster than this watcher looked: so many are not shown. Records are never among them.
    Missed {
        /// How many.
        glimpses: u64,
    },
    /// A tool has logged a line, or a script wrote to its console.
    Said {
        /// The record of the call's judgement, or of the script's beginning.
        of: Seq,
        /// The tool; `run_script` of a script.
        tool: String,
        /// `debug`, `info`, `warn` or `error`.
        level: &'static str,
        /// The line.
        message: String,
        /// What a tool says beside it, if anything.
        #[serde(skip_serializing_if = "Map::is_empty")]
        fields: Map<String, Value>,
        /// Who had influence on these words; where they are the host's own, on the call that they are about.
        #[serde(skip_serializing_if = "Label::is_empty")]
        label: Label,
    },
    /// A tool has handed out a file, which comes with the outcome of its call.
    Artifact {
        /// The record of the call's judgement.
        of: Seq,
        /// The tool.
        tool: String,
        /// Its number in the outcome.
        id: String,
        /// As the tool calls it.
        name: String,
        /// How large it is.
        bytes: usize,
        /// Who had influence on its name.
        #[serde(skip_serializing_if = "Label::is_empty")]
        label: Label,
    },
}
