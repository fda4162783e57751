//! Steps: what a run is about to do, said before it does it, on the stream on which its text comes (O-44).

use serde::Serialize;

/// What is about to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Of which kind it is.
    #[serde(flatten)]
    pub doing: Doing,
    /// For a person: `[2/8] running files.read`.
    pub message: String,
    /// The turn, from 1.
    pub turn: u32,
    /// Most turns that the run may take.
    pub turns_max: u32,
}

/// The kinds of steps (O-45).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doing {
    /// A model is asked; once for each attempt.
    ProviderCall {
        /// Its name.
        model: String,
    },
    /// Tools are run.
    ToolExecution {
        /// Their names, in the order of the calls.
        tools: Vec<String>,
    },
    /// Older turns are folded into a summary.
    RollingSummary,
}
