//! Pace: how far a run of an agent may go, and what of its own ends it before there is an answer (U-04, U-15).
//!
//! Every number is a key of `[agents.NAME]`; its default stands in `words/limits.rs`.

use serde::Deserialize;

use crate::words::limits::{
    CALL_TIMEOUT_MS_MAX, CALLS_PARALLEL, CALLS_PER_TURN, RUN_CALLS, RUN_CORRECTIONS,
    RUN_DENIED_REPEATS, RUN_FAILED_TURNS, RUN_IDENTICAL_BATCHES, TURN_TIMEOUT_MS,
};

/// How far a run may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Provider calls of all runs of a session together; absent: no limit (R-28a).
    pub session_turns: Option<u32>,
    /// Calls of one turn that are made; what is beyond is told to the model, and not made.
    pub calls_per_turn: usize,
    /// Calls of its model, all turns together.
    pub calls: u32,
    /// Malformed calls that are told to the model; one more ends the run (R-31a).
    pub corrections: u32,
    /// Turns in a row in which every call failed, that are told to the model; one more ends the run (C-06).
    pub failed_turns: u32,
    /// So many turns in a row with the same calls, arguments and outcomes end the run.
    pub identical_batches: u32,
    /// Calls that only look and run at once; 1 makes all calls one by one.
    pub parallel: usize,
    /// Whether the run goes on when a tool has failed.
    pub recover_tool_failures: bool,
    /// What becomes of a run when a call is denied.
    pub on_denied: OnDenied,
    /// How often a call that was denied may be wished for again.
    pub denied_repeats: u32,
    /// Whether the model is asked once more when its turns are over, and may only answer then (C-02).
    pub final_answer_turn: bool,
    /// One question to a model, from request to the last byte.
    pub turn_timeout_ms: u64,
    /// One call, whatever its tool and `[limits]` say: the shortest holds.
    pub call_timeout_ms: u64,
    /// The whole run, from its beginning, waiting included; absent: no limit.
    pub run_timeout_ms: Option<u64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            session_turns: None,
            calls_per_turn: CALLS_PER_TURN,
            calls: RUN_CALLS,
            corrections: RUN_CORRECTIONS,
            failed_turns: RUN_FAILED_TURNS,
            identical_batches: RUN_IDENTICAL_BATCHES,
            parallel: CALLS_PARALLEL,
            recover_tool_failures: true,
            on_denied: OnDenied::Tell,
            denied_repeats: RUN_DENIED_REPEATS,
            final_answer_turn: false,
            turn_timeout_ms: TURN_TIMEOUT_MS,
            call_timeout_ms: CALL_TIMEOUT_MS_MAX,
            run_timeout_ms: None,
        }
    }
}

/// What becomes of a run when a call of its model is denied (C-05).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OnDenied {
    /// The model is told, and may go on in another way.
    #[default]
    Tell,
    /// The run ends.
    Fail,
}
