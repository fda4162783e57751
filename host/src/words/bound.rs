//! Bounds that an operator sets, and what is said of one that was passed: every such sentence is made here.
//!
//! How much it was stands in the sentence, with its unit: whoever passed it could have counted. The key of `lazaret.toml`
//! that says so stands in a hint, which neither a guest nor a model reads.

use super::error::{Code, Error};
use super::event::Limit;
use super::limits::run::{RUN_CPU_MS_MAX, RUN_JOURNAL_MIB_MAX};
use super::limits::{
    ARGS_BYTES, CALL_CPU_MS, CALL_FUEL, CALL_TIMEOUT_MS_MAX, CALLS_PER_CALL,
    GUEST_MEMORY_BYTES_MAX, OUTCOME_BYTES, SCRIPT_CALLS_MAX, SCRIPT_CHARS, SCRIPT_CPU_MS_MAX,
};

/// What is said of a bound that has no key.
pub const FIXED: &str = "this is fixed: nothing in `lazaret.toml` changes it";

/// A bound of a call or of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Work of one call, in units of fuel.
    Fuel,
    /// Processor time of one call, in milliseconds.
    Cpu,
    /// Memory of one guest, in bytes.
    Memory,
    /// Time of one call from its beginning to its end, in milliseconds.
    Deadline,
    /// Inner calls of one call.
    Calls,
    /// Arguments of one call, in bytes.
    Arguments,
    /// Outcome of one call, in bytes.
    Outcome,
    /// Source of a script, in characters.
    ScriptChars,
    /// Calls of one script.
    ScriptCalls,
    /// Processor time of one script, in milliseconds, or the work of so much time.
    ScriptCpu,
    /// Memory of one script, in bytes.
    ScriptMemory,
    /// Time of one script from its beginning to its end, in milliseconds.
    ScriptWall,
    /// Processor time of all guests of one run, in milliseconds.
    RunCpu,
    /// Records of one run and what they hold, in bytes.
    RunJournal,
}

impl Bound {
    /// `who` has passed it; `limit` is in the unit of the bound.
    #[must_use]
    pub fn passed(self, who: &str, limit: u64) -> Error {
        let mib = limit >> 20;
        let (code, what) = match self {
            Self::Fuel => (
                Code::OutOfFuel,
                format!("{who} used up its {limit} units of work"),
            ),
            Self::Cpu | Self::ScriptCpu => (
                Code::TooSlow,
                format!("{who} used up its {limit} ms of processor time"),
            ),
            Self::Memory | Self::ScriptMemory => (
                Code::OutOfMemory,
                format!("{who} asked for more memory than it may have, which is {mib} MiB"),
            ),
            Self::Deadline | Self::ScriptWall => (
                Code::TooSlow,
                format!("{who} did not end within its {limit} ms"),
            ),
            Self::Calls => (
                Code::OverBudget,
                format!("{who} has made the {limit} inner calls that it may make"),
            ),
            Self::Arguments => (
                Code::TooBig,
                format!("{who} have more than the {limit} bytes that they may have"),
            ),
            Self::Outcome => (
                Code::TooBig,
                format!("{who} has more than the {limit} bytes that it may have"),
            ),
            Self::ScriptChars => (
                Code::TooBig,
                format!("{who} has more than the {limit} characters that it may have"),
            ),
            Self::ScriptCalls => (
                Code::OverBudget,
                format!("{who} may call {limit} tools, and wished for one more"),
            ),
            Self::RunCpu => (
                Code::OverBudget,
                format!(
                    "{who} has used up the {limit} ms of processor time that all its calls may use together"
                ),
            ),
            Self::RunJournal => (
                Code::OverBudget,
                format!(
                    "{who} has filled the {mib} MiB that its records may take, so it begins nothing more"
                ),
            ),
        };
        // What has used up all that it may will do so again.
        Error::new(code, what).retry(false).hint(self.hint(limit))
    }

    /// What says how much it is, and how much it may be.
    #[must_use]
    pub fn hint(self, limit: u64) -> String {
        let Some((key, most)) = self.key() else {
            return FIXED.to_owned();
        };
        let shown = match self {
            Self::Memory | Self::RunJournal => limit >> 20,
            Self::Fuel
            | Self::Cpu
            | Self::Deadline
            | Self::Calls
            | Self::Arguments
            | Self::Outcome
            | Self::ScriptChars
            | Self::ScriptCalls
            | Self::ScriptCpu
            | Self::ScriptMemory
            | Self::ScriptWall
            | Self::RunCpu => limit,
        };
        match most {
            Some(most) if shown >= most => {
                // More is nowhere to be had.
                format!(
                    "that is the most that `[limits] {key}` of `lazaret.toml` may say; what helps is to do less at once"
                )
            }
            Some(most) => format!(
                "`[limits] {key}` of `lazaret.toml` says how much, and may say {most} at most"
            ),
            None => format!("`[limits] {key}` of `lazaret.toml` says how much"),
        }
    }

    /// Its key in `[limits]`, and the largest value of that, in the unit of the key; nothing where it has no key.
    fn key(self) -> Option<(&'static str, Option<u64>)> {
        let of = |size: usize| u64::try_from(size).ok();
        match self {
            Self::Fuel => Some(("fuel", Some(CALL_FUEL))),
            Self::Cpu => Some(("cpu_ms", Some(CALL_CPU_MS))),
            Self::Memory => Some(("memory_mib", of(GUEST_MEMORY_BYTES_MAX >> 20))),
            Self::Deadline => Some(("timeout_ms", Some(CALL_TIMEOUT_MS_MAX))),
            Self::Calls => Some(("calls", Some(u64::from(CALLS_PER_CALL)))),
            Self::Arguments => Some(("argument_bytes", of(ARGS_BYTES))),
            Self::Outcome => Some(("outcome_bytes", of(OUTCOME_BYTES))),
            Self::ScriptChars => Some(("script_chars", of(SCRIPT_CHARS))),
            Self::ScriptCalls => Some(("script_calls", Some(u64::from(SCRIPT_CALLS_MAX)))),
            Self::ScriptCpu => Some(("script_cpu_ms", Some(SCRIPT_CPU_MS_MAX))),
            Self::ScriptMemory => None,
            Self::ScriptWall => Some(("script_wall_ms", None)),
            Self::RunCpu => Some(("run_cpu_ms", Some(RUN_CPU_MS_MAX))),
            Self::RunJournal => Some(("run_journal_mib", Some(RUN_JOURNAL_MIB_MAX))),
        }
    }
}

/// What says how far a run of this agent goes, where a bound of that has ended it; nothing where no key does, or where
/// what ended it says so itself.
#[must_use]
pub fn pace_hint(limit: Limit, agent: &str) -> Option<String> {
    let key = match limit {
        Limit::TurnLimit => "turns",
        Limit::CallLimit => "calls",
        Limit::CorrectionLimit => "corrections",
        Limit::FailureLimit => "failed_turns",
        Limit::LoopGuard => "identical_batches",
        Limit::RunTimeout => "run_timeout_ms",
        Limit::NoSuchTools | Limit::TokenBudget | Limit::CostBudget => return None,
    };
    Some(format!(
        "`{key}` of `[agents.{agent}]` or of `[pace]` in `lazaret.toml` says how much"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_says_how_much_and_which_key_says_so() {
        let most = "that is the most that `[limits] fuel` of `lazaret.toml` may say; what helps is to do less at once";
        for (bound, limit, code, message, hint) in [
            (
                Bound::Fuel,
                CALL_FUEL,
                Code::OutOfFuel,
                "its 20000000000 units of work",
                most,
            ),
            (
                Bound::Fuel,
                5,
                Code::OutOfFuel,
                "its 5 units of work",
                "`[limits] fuel` of `lazaret.toml` says how much, and may say 20000000000 at most",
            ),
            (
                Bound::Memory,
                16 << 20,
                Code::OutOfMemory,
                "which is 16 MiB",
                "`[limits] memory_mib` of `lazaret.toml` says how much, and may say 256 at most",
            ),
            (
                Bound::ScriptWall,
                70,
                Code::TooSlow,
                "within its 70 ms",
                "`[limits] script_wall_ms` of `lazaret.toml` says how much",
            ),
            (
                Bound::ScriptMemory,
                48 << 20,
                Code::OutOfMemory,
                "48 MiB",
                "this is fixed: nothing in `lazaret.toml` changes it",
            ),
        ] {
            let error = bound.passed("it", limit);
            assert_eq!(error.code(), code, "{bound:?}");
            assert!(error.message().contains(message), "{error}");
            assert_eq!(error.hints(), [hint]);
            assert!(!error.is_retryable());
        }
    }
}
