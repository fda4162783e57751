//! `[pace]`: how far runs of agents go, where `[agents.NAME]` does not say.

use serde::Deserialize;

use super::file::AgentTable;
use crate::rules::pace::{OnDenied, Pace};
use crate::words::limits::RUN_TURNS;

/// `[pace]`, and the same keys of `[agents.NAME]` over it, key by key.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PaceTable {
    /// Provider calls of one run.
    pub turns: Option<u32>,
    /// Provider calls of all runs of a session together; absent: each run has its own turns.
    pub session_turns: Option<u32>,
    /// Calls of one turn that are made.
    pub calls_per_turn: Option<usize>,
    /// Calls of an agent's model, all turns together.
    pub calls: Option<u32>,
    /// Malformed calls that are told to the model.
    pub corrections: Option<u32>,
    /// Turns in a row in which every call failed, that are told to the model.
    pub failed_turns: Option<u32>,
    /// So many turns in a row that are the same end the run.
    pub identical_batches: Option<u32>,
    /// Calls that only look and run at once.
    pub parallel: Option<usize>,
    /// Whether the run goes on when a tool has failed.
    pub recover_tool_failures: Option<bool>,
    /// What becomes of a run when a call is denied: `tell` or `fail`.
    pub on_denied: Option<OnDenied>,
    /// How often a call that was denied may be wished for again.
    pub denied_repeats: Option<u32>,
    /// Whether the model is asked once more when its turns are over, and may only answer then.
    pub final_answer_turn: Option<bool>,
    /// One question to a model.
    pub turn_timeout_ms: Option<u64>,
    /// One call.
    pub call_timeout_ms: Option<u64>,
    /// The whole run, from its beginning; absent: no limit.
    pub run_timeout_ms: Option<u64>,
}

impl PaceTable {
    /// What an agent says of itself. Its table has these keys once more, since what is read cannot both be flattened and
    /// refuse unknown keys.
    pub(super) fn of(agent: &AgentTable) -> Self {
        Self {
            turns: agent.turns,
            session_turns: agent.session_turns,
            calls_per_turn: agent.calls_per_turn,
            calls: agent.calls,
            corrections: agent.corrections,
            failed_turns: agent.failed_turns,
            identical_batches: agent.identical_batches,
            parallel: agent.parallel,
            recover_tool_failures: agent.recover_tool_failures,
            on_denied: agent.on_denied,
            denied_repeats: agent.denied_repeats,
            final_answer_turn: agent.final_answer_turn,
            turn_timeout_ms: agent.turn_timeout_ms,
            call_timeout_ms: agent.call_timeout_ms,
            run_timeout_ms: agent.run_timeout_ms,
        }
    }

    /// What this table says, and what `below` does where it is silent.
    #[must_use]
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            turns: self.turns.or(below.turns),
            session_turns: self.session_turns.or(below.session_turns),
            calls_per_turn: self.calls_per_turn.or(below.calls_per_turn),
            calls: self.calls.or(below.calls),
            corrections: self.corrections.or(below.corrections),
            failed_turns: self.failed_turns.or(below.failed_turns),
            identical_batches: self.identical_batches.or(below.identical_batches),
            parallel: self.parallel.or(below.parallel),
            recover_tool_failures: self.recover_tool_failures.or(below.recover_tool_failures),
            on_denied: self.on_denied.or(below.on_denied),
            denied_repeats: self.denied_repeats.or(below.denied_repeats),
            final_answer_turn: self.final_answer_turn.or(below.final_answer_turn),
            turn_timeout_ms: self.turn_timeout_ms.or(below.turn_timeout_ms),
            call_timeout_ms: self.call_timeout_ms.or(below.call_timeout_ms),
            run_timeout_ms: self.run_timeout_ms.or(below.run_timeout_ms),
        }
    }

    /// The least of what two tables say; where they choose, what this one does.
    #[must_use]
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            turns: least(self.turns, other.turns),
            session_turns: least(self.session_turns, other.session_turns),
            calls_per_turn: least(self.calls_per_turn, other.calls_per_turn),
            calls: least(self.calls, other.calls),
            corrections: least(self.corrections, other.corrections),
            failed_turns: least(self.failed_turns, other.failed_turns),
            identical_batches: least(self.identical_batches, other.identical_batches),
            parallel: least(self.parallel, other.parallel),
            denied_repeats: least(self.denied_repeats, other.denied_repeats),
            turn_timeout_ms: least(self.turn_timeout_ms, other.turn_timeout_ms),
            call_timeout_ms: least(self.call_timeout_ms, other.call_timeout_ms),
            run_timeout_ms: least(self.run_timeout_ms, other.run_timeout_ms),
            recover_tool_failures: self.recover_tool_failures.or(other.recover_tool_failures),
            on_denied: self.on_denied.or(other.on_denied),
            final_answer_turn: self.final_answer_turn.or(other.final_answer_turn),
        }
    }

    /// What this table says, or what `other` does where that is less. Who says nothing keeps what holds anyway.
    #[must_use]
    pub(super) fn below(self, other: Self) -> Self {
        let usual = Self::usual();
        Self {
            recover_tool_failures: self.recover_tool_failures,
            on_denied: self.on_denied,
            final_answer_turn: self.final_answer_turn,
            ..self.over(usual).least(other)
        }
    }

    /// What holds for an agent that says nothing.
    #[must_use]
    pub(super) fn spelled_out(self) -> Self {
        let pace = Pace::default();
        let choices = Self {
            recover_tool_failures: Some(pace.recover_tool_failures),
            on_denied: Some(pace.on_denied),
            final_answer_turn: Some(pace.final_answer_turn),
            ..Self::usual()
        };
        self.over(choices)
    }

    /// What holds where nobody says anything.
    fn usual() -> Self {
        let pace = Pace::default();
        Self {
            turns: Some(RUN_TURNS),
            session_turns: pace.session_turns,
            calls_per_turn: Some(pace.calls_per_turn),
            calls: Some(pace.calls),
            corrections: Some(pace.corrections),
            failed_turns: Some(pace.failed_turns),
            identical_batches: Some(pace.identical_batches),
            parallel: Some(pace.parallel),
            recover_tool_failures: None,
            on_denied: None,
            final_answer_turn: None,
            denied_repeats: Some(pace.denied_repeats),
            turn_timeout_ms: Some(pace.turn_timeout_ms),
            call_timeout_ms: Some(pace.call_timeout_ms),
            run_timeout_ms: pace.run_timeout_ms,
        }
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
