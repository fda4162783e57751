//! Vocabularies: what the five systems call what fails here (U-05).
//!
//! Tables and nothing else: each answers for every one of our words, so that a new one does not build until all have
//! answered. Where a system has no word for something, it has that of what it does about it.

use super::error::Code;
use super::event::Limit;
use super::setback::Setback;

/// A system whose words are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Thirteen codes (R-35a).
    Relavium,
    /// Kinds of errors of tools (G-17b).
    Graphorin,
    /// Types of errors of tools (S-14d).
    Sage,
    /// Codes of envelopes.
    Ageniti,
    /// Errors of its loop (O-05, O-17).
    Oxydra,
}

impl System {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Relavium,
        Self::Graphorin,
        Self::Sage,
        Self::Ageniti,
        Self::Oxydra,
    ];

    /// What it calls a failure: by our code, by the bound that ended the run where one did, and by why the model gave
    /// no reply where that was it. Never by a text.
    #[must_use]
    pub fn word(self, code: Code, limit: Option<Limit>, setback: Option<Setback>) -> &'static str {
        match self {
            Self::Relavium => relavium(code, limit, setback),
            Self::Graphorin => graphorin(code, setback),
            Self::Sage => sage(code, setback),
            Self::Ageniti => code.envelope(),
            Self::Oxydra => oxydra(code, setback),
        }
    }
}

/// R-29 to R-35a.
fn relavium(code: Code, limit: Option<Limit>, setback: Option<Setback>) -> &'static str {
    match (limit, code) {
        (Some(Limit::TurnLimit | Limit::CallLimit), _) => "turn_limit",
        (Some(Limit::RunTimeout), _) => "run_timeout",
        (Some(Limit::TokenBudget | Limit::CostBudget), _) => "budget_exceeded",
        (
            Some(
                Limit::CorrectionLimit
                | Limit::FailureLimit
                | Limit::LoopGuard
                | Limit::NoSuchTools,
            ),
            _,
        ) => "tool_failed",
        (
            None,
            Code::BadInput | Code::BadArgs | Code::BadLine | Code::BadPlugin | Code::BadSurface,
        ) => "validation",
        (None, Code::Denied | Code::Asked | Code::Unconfirmed | Code::Unsafe) => "tool_denied",
        (None, Code::OverBudget) => "budget_exceeded",
        (None, Code::Cancelled) => "cancelled",
        (None, Code::OutOfFuel | Code::OutOfMemory | Code::Trapped) => "sandbox_error",
        (None, Code::Unauthenticated) => "provider_auth",
        (None, Code::ProviderFailed) => provider(setback),
        (
            None,
            Code::UnknownTool
            | Code::TooBig
            | Code::TooSlow
            | Code::GuestFailed
            | Code::ScriptFailed
            | Code::Stalled
            | Code::NotJson
            | Code::BadOutcome
            | Code::FetchFailed
            | Code::Busy
            | Code::NotFound
            | Code::Conflict
            | Code::RateLimited,
        ) => "tool_failed",
        (None, Code::Diverged | Code::DiskFailed | Code::InDoubt | Code::Corrupt | Code::Bug) => {
            "internal"
        }
    }
}

/// what a chain came to.
fn provider(setback: Option<Setback>) -> &'static str {
    match setback {
        Some(Setback::Unauthorised) => "provider_auth",
        Some(Setback::Limited) => "provider_rate_limit",
        Some(Setback::Filtered) => "content_filter",
        Some(Setback::TooLong | Setback::Unstreamed | Setback::Lasting) => "validation",
        Some(Setback::Overloaded | Setback::TooSlow | Setback::Broken) | None => {
            "provider_unavailable"
        }
    }
}

/// G-17b, and `capability_blocked` of its later versions.
fn graphorin(code: Code, setback: Option<Setback>) -> &'static str {
    match code {
        Code::BadInput | Code::BadArgs | Code::BadLine | Code::TooBig => "invalid_input",
        Code::UnknownTool | Code::NotFound => "unknown_tool",
        Code::BadSurface | Code::BadPlugin | Code::Unauthenticated => "capability_blocked",
        Code::Denied => "dataflow_policy_blocked",
        Code::Asked | Code::Unconfirmed => "approval_denied",
        Code::RateLimited | Code::Busy => "rate_limited",
        Code::TooSlow => "timeout",
        Code::OutOfFuel | Code::OutOfMemory | Code::Trapped | Code::Unsafe => "sandbox_violation",
        Code::NotJson | Code::BadOutcome => "invalid_output",
        Code::Cancelled => "aborted",
        Code::ProviderFailed if setback == Some(Setback::Limited) => "rate_limited",
        Code::ProviderFailed if setback == Some(Setback::TooSlow) => "timeout",
        Code::Conflict
        | Code::OverBudget
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::InDoubt
        | Code::Corrupt
        | Code::Bug => "execution_failed",
    }
}

/// S-14d.
fn sage(code: Code, setback: Option<Setback>) -> &'static str {
    match code {
        Code::BadInput
        | Code::BadArgs
        | Code::BadLine
        | Code::TooBig
        | Code::NotJson
        | Code::BadOutcome => "validation",
        Code::UnknownTool | Code::NotFound | Code::BadSurface => "not_found",
        Code::RateLimited | Code::Busy => "rate_limited",
        Code::TooSlow | Code::OutOfFuel => "timeout",
        Code::ProviderFailed if setback == Some(Setback::Limited) => "rate_limited",
        Code::ProviderFailed if setback == Some(Setback::TooSlow) => "timeout",
        Code::BadPlugin
        | Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::Conflict
        | Code::Unsafe
        | Code::OverBudget
        | Code::OutOfMemory
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::InDoubt
        | Code::Cancelled
        | Code::Corrupt
        | Code::Bug => "unknown",
    }
}

/// O-05, O-16, O-17, O-19 to O-23.
fn oxydra(code: Code, setback: Option<Setback>) -> &'static str {
    match code {
        Code::OverBudget => "BudgetExceeded",
        Code::Cancelled => "Cancelled",
        Code::ProviderFailed if setback == Some(Setback::TooLong) => "BudgetExceeded",
        Code::ProviderFailed => "ProviderFailed",
        Code::BadInput
        | Code::BadArgs
        | Code::UnknownTool
        | Code::BadSurface
        | Code::BadPlugin
        | Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::RateLimited
        | Code::BadLine
        | Code::Conflict
        | Code::Unsafe
        | Code::TooBig
        | Code::TooSlow
        | Code::OutOfFuel
        | Code::OutOfMemory
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::NotJson
        | Code::BadOutcome
        | Code::FetchFailed
        | Code::DiskFailed
        | Code::Busy
        | Code::NotFound
        | Code::InDoubt
        | Code::Corrupt
        | Code::Bug => "ToolExecutionFailed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code that there is, by its JSON word.
    fn codes() -> Vec<Code> {
        let words = "bad_input bad_args unknown_tool bad_surface bad_plugin denied asked unconfirmed unauthenticated \
            rate_limited bad_line conflict unsafe over_budget too_big too_slow out_of_fuel out_of_memory trapped guest_failed \
            script_failed stalled diverged not_json bad_outcome fetch_failed provider_failed disk_failed busy not_found \
            in_doubt cancelled corrupt bug";
        let read = |word: &str| serde_json::from_str(&format!("{word:?}")).unwrap();
        words.split_whitespace().map(read).collect()
    }

    #[test]
    fn no_word_leaves_the_closed_sets() {
        let relavium = "validation content_filter provider_auth provider_rate_limit provider_unavailable tool_denied \
            tool_failed budget_exceeded run_timeout turn_limit cancelled sandbox_error internal";
        let graphorin = "approval_denied sandbox_violation timeout invalid_input invalid_output execution_failed unknown_tool \
            aborted inbound_sanitization_blocked dataflow_policy_blocked rate_limited capability_blocked";
        let sage = "timeout not_found rate_limited validation unknown";
        for code in codes() {
            let word = |system: System| system.word(code, None, None);
            for (system, set) in [
                (System::Relavium, relavium),
                (System::Graphorin, graphorin),
                (System::Sage, sage),
            ] {
                let word = word(system);
                assert!(
                    set.split_whitespace().any(|known| known == word),
                    "{code:?} {word}"
                );
            }
            assert_eq!(word(System::Ageniti), code.envelope());
        }
    }

    #[test]
    fn what_a_chain_came_to_and_what_ended_a_run_have_their_words() {
        let relavium = |code, limit, setback| System::Relavium.word(code, limit, setback);
        for (setback, word) in [
            (Setback::Unauthorised, "provider_auth"),
            (Setback::Limited, "provider_rate_limit"),
            (Setback::Overloaded, "provider_unavailable"),
            (Setback::Broken, "provider_unavailable"),
            (Setback::Filtered, "content_filter"),
            (Setback::Lasting, "validation"),
        ] {
            assert_eq!(relavium(Code::ProviderFailed, None, Some(setback)), word);
        }
        for (limit, word) in [
            (Limit::TurnLimit, "turn_limit"),
            (Limit::RunTimeout, "run_timeout"),
            (Limit::CostBudget, "budget_exceeded"),
            (Limit::LoopGuard, "tool_failed"),
        ] {
            assert_eq!(relavium(Code::OverBudget, Some(limit), None), word);
        }
        let turns = |system: System| system.word(Code::OverBudget, Some(Limit::TurnLimit), None);
        assert_eq!(turns(System::Oxydra), "BudgetExceeded");
        assert_eq!(
            System::Graphorin.word(Code::Cancelled, None, None),
            "aborted"
        );
        assert_eq!(System::Sage.word(Code::TooSlow, None, None), "timeout");
    }
}
