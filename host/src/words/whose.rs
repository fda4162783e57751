//! Whose a failure is, and what a model that is told of it may do about that (U-05, C-15, S-14d).

use serde::{Deserialize, Serialize};

use super::error::Code;
use super::event::{Event, Record, failed_last};

/// Where a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// Whoever wished: what was wished is wrong.
    Client,
    /// The tool, or what it reaches.
    Tool,
    /// The model's provider.
    Provider,
    /// The run: its bounds, its policy, its questions.
    Run,
    /// This host.
    Host,
}

impl Whose {
    /// Of a failure of which nobody says it.
    #[must_use]
    pub fn of(code: Code) -> Self {
        match code {
            Code::BadInput
            | Code::BadArgs
            | Code::UnknownTool
            | Code::BadSurface
            | Code::Unconfirmed
            | Code::Unauthenticated
            | Code::BadLine
            | Code::ScriptFailed
            | Code::Stalled
            | Code::Diverged
            | Code::NotFound
            | Code::Cancelled => Self::Client,
            Code::BadPlugin
            | Code::Conflict
            | Code::Unsafe
            | Code::TooBig
            | Code::TooSlow
            | Code::OutOfFuel
            | Code::OutOfMemory
            | Code::Trapped
            | Code::GuestFailed
            | Code::NotJson
            | Code::BadOutcome
            | Code::FetchFailed
            | Code::InDoubt => Self::Tool,
            Code::ProviderFailed => Self::Provider,
            Code::Denied | Code::Asked | Code::OverBudget => Self::Run,
            Code::RateLimited | Code::DiskFailed | Code::Busy | Code::Corrupt | Code::Bug => {
                Self::Host
            }
        }
    }
}

impl Whose {
    /// Of the failure that a run ended with, as its records say it: an end has a code and a bound, and of a model that took
    /// too long the attempt before it says so, where the code alone would say that it was a tool.
    #[must_use]
    pub fn of_end(code: Code, records: &[Record]) -> Self {
        if let Some(Event::Stopped(stopped)) = records.last().map(|record| &record.event)
            && stopped.limit.is_some()
        {
            return Self::Run;
        }
        match failed_last(records) {
            Some((failed, _)) if failed == code => Self::Provider,
            Some(_) | None => Self::of(code),
        }
    }
}

const LATER: &str = "The same call may succeed later.";
const ARGUMENTS: &str = "Call it with other arguments, or with less.";
const SCRIPT: &str = "Mend the script, then run it again.";
const ANOTHER: &str = "The same call will fail again: take another tool, or another way.";
const DOUBT: &str = "It may have happened: do not wish for it again before the user has looked.";
const USER: &str = "Do not wish for the same again: mend what was wrong with it, or tell the user what is missing.";

/// What a model may do that is told of a failed call.
#[must_use]
pub fn recovery(code: Code) -> &'static str {
    match code {
        Code::TooSlow | Code::FetchFailed | Code::Busy | Code::RateLimited => LATER,
        Code::BadInput
        | Code::BadArgs
        | Code::BadLine
        | Code::TooBig
        | Code::OutOfFuel
        | Code::OutOfMemory
        | Code::NotFound => ARGUMENTS,
        Code::ScriptFailed | Code::Stalled => SCRIPT,
        Code::UnknownTool
        | Code::BadSurface
        | Code::Conflict
        | Code::Unsafe
        | Code::Trapped
        | Code::GuestFailed
        | Code::Diverged
        | Code::NotJson
        | Code::BadOutcome
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::Corrupt
        | Code::Bug => ANOTHER,
        Code::InDoubt => DOUBT,
        Code::BadPlugin
        | Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::OverBudget
        | Code::Cancelled => USER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_the_tools_unless_somebody_says_otherwise() {
        assert_eq!(Whose::of(Code::TooSlow), Whose::Tool);
        assert_eq!(Whose::of(Code::ProviderFailed), Whose::Provider);
        assert_eq!(Whose::of(Code::OverBudget), Whose::Run);
    }

    /// What a run ended with, read back: without a bound, and with no model that said nothing, the code alone says it.
    #[test]
    fn an_end_is_whose_its_records_say() {
        use crate::words::event::{Attempted, Content, End, Limit, Onward, Stopped, Tried};
        use crate::words::id::RunId;
        use crate::words::message::Usage;
        use crate::words::setback::Setback;

        let record = |event: Event| Record {
            seq: 1,
            run: RunId::known("r"),
            at: 0,
            parent: 0,
            event,
        };
        let late = |turn| {
            record(Event::Attempted(Attempted {
                turn,
                model: "m".to_owned(),
                tried: Tried::Failed {
                    setback: Setback::TooSlow,
                    code: Code::TooSlow,
                    message: "late".to_owned(),
                    then: Onward::Over,
                    wait_ms: 0,
                    cools_ms: 0,
                    restarts: false,
                    usage: Usage::default(),
                },
            }))
        };
        let end = |limit| {
            record(Event::Stopped(Stopped {
                end: End::Done {
                    content: Content::Empty,
                },
                turns: 1,
                usage: Usage::default(),
                limit,
            }))
        };
        let whose = |records: &[Record]| Whose::of_end(Code::TooSlow, records);
        assert_eq!(whose(&[end(None)]), Whose::Tool);
        assert_eq!(whose(&[late(1), end(None)]), Whose::Provider);
        assert_eq!(whose(&[late(1), end(Some(Limit::RunTimeout))]), Whose::Run);
        assert_eq!(whose(&[late(0), end(None)]), Whose::Tool);
        assert_eq!(
            Whose::of_end(Code::Denied, &[late(1), end(None)]),
            Whose::Run
        );
    }

    /// S-14d, kind by kind: timeout, not found, rate limited, validation, unknown.
    #[test]
    fn each_kind_of_failure_says_what_may_be_done() {
        for (code, says) in [
            (Code::TooSlow, LATER),
            (Code::NotFound, ARGUMENTS),
            (Code::UnknownTool, ANOTHER),
            (Code::RateLimited, LATER),
            (Code::BadArgs, ARGUMENTS),
            (Code::ScriptFailed, SCRIPT),
            (Code::GuestFailed, ANOTHER),
            (Code::Denied, USER),
            (Code::InDoubt, DOUBT),
        ] {
            assert_eq!(recovery(code), says, "{code:?}");
        }
    }
}
