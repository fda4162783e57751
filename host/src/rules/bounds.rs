//! Bounds of guests, calls and runs, from `[limits]`.

use super::flow::handles::Given;
use super::retry::Retries;
use super::schema::Args;
use super::tooling::ToolRules;
use crate::words::bound::Bound;
use crate::words::error::{Error, Result};
use crate::words::length::json_bytes;
use crate::words::limits::run::{RUN_CPU_MS, RUN_JOURNAL_BYTES};
use crate::words::limits::unread::ARGS_WRITTEN_TIMES;
use crate::words::limits::{
    ARGS_BYTES, CALL_CPU_MS, CALL_FUEL, CALL_TIMEOUT_MS, CALL_TIMEOUT_MS_MAX, CALLS_PER_CALL,
    GUEST_MEMORY_BYTES, HANDLES, OUTCOME_BYTES, WASM_STACK_BYTES,
};

/// What bounds guests, calls and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Of one guest of a tool.
    pub guest: GuestBounds,
    /// Of a whole run.
    pub run: RunBounds,
    /// Deadline that caps what manifests name.
    pub timeout_ms: u64,
    /// Deadline of a tool whose manifest names none.
    pub silent_timeout_ms: u64,
    /// Inner calls of one outer call.
    pub calls: u32,
    /// Arguments of one call as JSON text.
    pub argument_bytes: usize,
    /// Outcome of one call as JSON text.
    pub outcome_bytes: usize,
    /// Repetitions of a call that failed and may succeed later.
    pub retries: Retries,
    /// What tools may be called, and how they are shown.
    pub tools: ToolRules,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            guest: GuestBounds::default(),
            run: RunBounds::default(),
            timeout_ms: CALL_TIMEOUT_MS_MAX,
            silent_timeout_ms: CALL_TIMEOUT_MS,
            calls: CALLS_PER_CALL,
            argument_bytes: ARGS_BYTES,
            outcome_bytes: OUTCOME_BYTES,
            retries: Retries::default(),
            tools: ToolRules::default(),
        }
    }
}

/// What one guest may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestBounds {
    /// Units of fuel.
    pub fuel: u64,
    /// Processor time in ticks of a millisecond.
    pub cpu_ms: u64,
    /// All its memories together.
    pub memory_bytes: usize,
    /// Its native stack.
    pub stack_bytes: usize,
}

impl Default for GuestBounds {
    fn default() -> Self {
        Self {
            fuel: CALL_FUEL,
            cpu_ms: CALL_CPU_MS,
            memory_bytes: GUEST_MEMORY_BYTES,
            stack_bytes: WASM_STACK_BYTES,
        }
    }
}

/// What all that belongs to one run may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunBounds {
    /// Processor time of all its guests, in ticks of a millisecond.
    pub cpu_ms: u64,
    /// What its records and their contents take in the journal.
    pub journal_bytes: u64,
    /// Outcomes that it holds at once.
    pub handles: usize,
}

impl Default for RunBounds {
    fn default() -> Self {
        Self {
            cpu_ms: RUN_CPU_MS,
            journal_bytes: RUN_JOURNAL_BYTES,
            handles: HANDLES,
        }
    }
}

impl RunBounds {
    /// A run of which so much is in the journal may go on.
    ///
    /// # Errors
    /// `OverBudget`.
    pub fn check_journal(&self, bytes: u64) -> Result<()> {
        match bytes < self.journal_bytes {
            true => Ok(()),
            false => Err(Bound::RunJournal.passed("the run", self.journal_bytes)),
        }
    }
}

impl Bounds {
    /// The deadline of a call: its client's, its manifest's or the usual one, and never beyond policy (U-08).
    #[must_use]
    pub fn deadline_ms(&self, own: Option<u64>) -> u64 {
        own.unwrap_or(self.silent_timeout_ms).min(self.timeout_ms)
    }

    /// An outcome that has no more bytes than it may have.
    ///
    /// # Errors
    /// `TooBig`.
    pub fn check_outcome(&self, bytes: usize) -> Result<()> {
        if bytes <= self.outcome_bytes {
            return Ok(());
        }
        let most = u64::try_from(self.outcome_bytes).unwrap_or(u64::MAX);
        let error = Error::too_big("the outcome", self.outcome_bytes, bytes);
        Err(error.hint(Bound::Outcome.hint(most)))
    }

    /// Arguments of which no more was written than may be; what handles hold may be as long as outcomes are.
    ///
    /// # Errors
    /// `TooBig`.
    pub fn fitting(&self, args: Args, given: &Given) -> Result<Args> {
        let places = given.places.iter();
        let held = places.filter_map(|place| given.value.pointer(place));
        let held: usize = held.map(json_bytes).sum();
        let bytes = args.text().len().saturating_sub(held);
        if bytes > self.argument_bytes {
            return Err(self.too_big_arguments(bytes));
        }
        Ok(args)
    }

    /// A text of arguments that may fit once it is read: without its blanks and escapes it is shorter.
    ///
    /// # Errors
    /// `TooBig`, in the words of [`Bounds::fitting`].
    pub fn check_written(&self, bytes: usize) -> Result<()> {
        if bytes > self.argument_bytes.saturating_mul(ARGS_WRITTEN_TIMES) {
            return Err(self.too_big_arguments(bytes));
        }
        Ok(())
    }

    fn too_big_arguments(&self, bytes: usize) -> Error {
        let most = u64::try_from(self.argument_bytes).unwrap_or(u64::MAX);
        let error = Error::too_big("the text of the arguments", self.argument_bytes, bytes);
        error.hint(Bound::Arguments.hint(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_of_arguments_is_bounded_and_what_handles_hold_is_not() {
        let bounds = Bounds {
            argument_bytes: 12,
            ..Bounds::default()
        };
        let fits = |args: serde_json::Value, places: &[&str]| {
            let mut given = Given::plain(args.clone());
            given.places = places.iter().map(|place| (*place).to_owned()).collect();
            bounds.fitting(Args::own(args), &given).is_ok()
        };
        let args = |text: &str| serde_json::json!({ "a": text });
        assert!(fits(args("1234"), &[]));
        assert!(!fits(args("12345"), &[]));
        assert!(fits(args(&"5".repeat(99)), &["/a"]));
    }

    #[test]
    fn a_text_of_arguments_may_have_blanks_and_escapes_and_no_more() {
        let bounds = Bounds {
            argument_bytes: 12,
            ..Bounds::default()
        };
        assert!(bounds.check_written(12 * ARGS_WRITTEN_TIMES).is_ok());
        let error = bounds.check_written(12 * ARGS_WRITTEN_TIMES + 1);
        let error = error.unwrap_err();
        assert_eq!(error.code(), crate::words::error::Code::TooBig);
        let says = "the text of the arguments is too big: 49 bytes, and at most 12 may be";
        assert_eq!(error.message(), says);
    }

    #[test]
    fn nobody_has_more_time_than_policy_says() {
        let bounds = Bounds {
            timeout_ms: 1_000,
            silent_timeout_ms: 500,
            ..Bounds::default()
        };
        for (own, has) in [(None, 500), (Some(100), 100), (Some(60_000), 1_000)] {
            assert_eq!(bounds.deadline_ms(own), has, "{own:?}");
        }
        let silent = Bounds {
            silent_timeout_ms: 5_000,
            ..bounds
        };
        assert_eq!(silent.deadline_ms(None), 1_000);
    }

    #[test]
    fn a_run_goes_on_until_it_has_written_what_it_may() {
        let run = RunBounds {
            journal_bytes: 2 << 20,
            ..RunBounds::default()
        };
        assert!(run.check_journal((2 << 20) - 1).is_ok());
        let error = run.check_journal(2 << 20).unwrap_err();
        assert_eq!(error.code(), crate::words::error::Code::OverBudget);
        assert!(error.message().contains("the 2 MiB"), "{error}");
        assert!(!error.is_retryable());
    }
}
