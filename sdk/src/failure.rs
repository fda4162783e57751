//! How a tool fails, and how the host refuses.
//!
//! [`Failure`] is what a tool returns, [`Refusal`] what it gets. `?` turns a refusal, and any other
//! error, into a failure and keeps what is known about it.

use std::any::Any;
use std::error::Error;
use std::fmt;

use serde_json::{Value, json};

use crate::bindings::lazaret::plugin::types;

/// Why a tool gives up.
///
/// It is deliberately no [`Error`] itself: so that any error becomes one by `?`.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    message: String,
    retryable: bool,
    details: Option<Value>,
}

impl Failure {
    /// A failure that will come again if the same call does. One sentence, for whoever called.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            retryable: false,
            details: None,
        }
    }

    /// Says that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Says which of the reasons that every surface knows it is.
    #[must_use]
    pub fn because_of(mut self, reason: Reason) -> Self {
        let mut details = match self.details.take() {
            Some(Value::Object(details)) => details,
            Some(other) => serde_json::Map::from_iter([("details".to_owned(), other)]),
            None => serde_json::Map::new(),
        };
        details.insert("code".to_owned(), reason.as_str().into());
        self.details = Some(Value::Object(details));
        self
    }

    /// Adds details for programs. The fields `code` and `issues` are the host's to read.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Puts what was attempted before the message, as in `cannot read the table: no such file`.
    #[must_use]
    pub fn while_doing(mut self, attempt: impl fmt::Display) -> Self {
        self.message = format!("{attempt}: {}", self.message);
        self
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Details for programs, if there are any.
    pub fn details(&self) -> Option<&Value> {
        self.details.as_ref()
    }
}

/// Reasons that keep their code on every surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The arguments fit their schema, and still nothing can be done with them: see [`bad_input!`](crate::bad_input).
    BadInput,
    /// Asked for more often than may be: say as well that it is retryable.
    RateLimited,
    /// It clashes with how things are.
    Conflict,
    /// What was asked for would be unsafe.
    Unsafe,
    /// Too many calls at once.
    TooManyAtOnce,
    /// Whoever is asked does not know who asks.
    Unauthenticated,
    /// What is outside has failed.
    External,
}

impl Reason {
    /// The code, as it stands in an envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadInput => "VALIDATION_ERROR",
            Self::RateLimited => "RATE_LIMITED",
            Self::Conflict => "CONFLICT",
            Self::Unsafe => "UNSAFE_ACTION",
            Self::TooManyAtOnce => "CONCURRENCY_LIMIT",
            Self::Unauthenticated => "AUTHENTICATION_ERROR",
            Self::External => "EXTERNAL_SERVICE_ERROR",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        if let Some(refusal) = (&error as &dyn Any).downcast_ref::<Refusal>() {
            return refusal.to_failure();
        }
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Some errors repeat their cause in their own words.
            if !message.contains(&cause_text) {
                message = format!("{message}: {cause_text}");
            }
            source = cause.source();
        }
        Self::new(message)
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            message: failure.message,
            retryable: failure.retryable,
            details: failure
                .details
                .map(|details| details.to_string())
                .unwrap_or_default(),
        }
    }
}

/// The closed set of reasons why a request to the host came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request is malformed: fix it, do not repeat it.
    BadInput,
    /// Policy does not allow it. The message says which line would.
    Denied,
    /// There is no such file, note or tool.
    NotFound,
    /// A size limit was passed.
    TooBig,
    /// A deadline passed.
    TooSlow,
    /// The call or its run has spent what it may spend.
    OverBudget,
    /// The world outside failed: network, disk, another tool.
    Failed,
    /// The run was cancelled.
    Cancelled,
}

impl Code {
    /// The code as it is written elsewhere, such as `not-found`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadInput => "bad-input",
            Self::Denied => "denied",
            Self::NotFound => "not-found",
            Self::TooBig => "too-big",
            Self::TooSlow => "too-slow",
            Self::OverBudget => "over-budget",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a request of ours did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub code: Code,
    /// One sentence.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl Refusal {
    fn to_failure(&self) -> Failure {
        Failure {
            message: self.message.clone(),
            retryable: self.retryable,
            details: Some(json!({ "code": self.code.as_str() })),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for Refusal {}

impl From<types::Refusal> for Refusal {
    fn from(refusal: types::Refusal) -> Self {
        let code = match refusal.code {
            types::Code::BadInput => Code::BadInput,
            types::Code::Denied => Code::Denied,
            types::Code::NotFound => Code::NotFound,
            types::Code::TooBig => Code::TooBig,
            types::Code::TooSlow => Code::TooSlow,
            types::Code::OverBudget => Code::OverBudget,
            types::Code::Failed => Code::Failed,
            types::Code::Cancelled => Code::Cancelled,
        };
        Self {
            code,
            message: refusal.message,
            retryable: refusal.retryable,
        }
    }
}

/// `or_fail`: a failure with a sentence of one's own, for what is missing or went wrong.
pub trait OrFail<T> {
    /// The value, or a failure that says `message` (and the error after a colon, if there is one).
    fn or_fail(self, message: impl fmt::Display) -> Result<T, Failure>;

    /// The same, where it is the arguments that are to blame: [`Reason::BadInput`].
    fn or_bad_input(self, message: impl fmt::Display) -> Result<T, Failure>
    where
        Self: Sized,
    {
        let failed = self.or_fail(message);
        failed.map_err(|failure| failure.because_of(Reason::BadInput))
    }
}

impl<T> OrFail<T> for Option<T> {
    fn or_fail(self, message: impl fmt::Display) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::new(message.to_string()))
    }
}

impl<T, E: Into<Failure>> OrFail<T> for Result<T, E> {
    fn or_fail(self, message: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| error.into().while_doing(message))
    }
}

/// Returns a failure from the function it stands in, with a message as in `format!`.
#[macro_export]
macro_rules! fail {
    ($($message:tt)+) => {
        return ::core::result::Result::Err($crate::Failure::new(::std::format!($($message)+)))
    };
}

/// Returns a failure from the function it stands in, with a message as in `format!`: the arguments fit their schema, and
/// still nothing can be done with them.
#[macro_export]
macro_rules! bad_input {
    ($($message:tt)+) => {
        return ::core::result::Result::Err(
            $crate::Failure::new(::std::format!($($message)+)).because_of($crate::Reason::BadInput),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_what_it_knows() {
        let refusal = Refusal {
            code: Code::TooSlow,
            message: "10 s passed".to_owned(),
            retryable: true,
        };
        let failure = Failure::from(refusal);
        assert_eq!(failure.message(), "10 s passed");
        assert!(failure.is_retryable());
        assert_eq!(failure.details(), Some(&json!({ "code": "too-slow" })));
    }

    #[test]
    fn any_error_becomes_a_failure() {
        fn parse(text: &str) -> Result<u8, Failure> {
            Ok(text.parse::<u8>()?)
        }
        let failure = parse("x").unwrap_err();
        assert_eq!(failure.message(), "invalid digit found in string");
        assert!(!failure.is_retryable());
    }

    #[test]
    fn or_fail_says_what_was_attempted() {
        let failure = None::<u8>.or_fail("there is no number").unwrap_err();
        assert_eq!(failure.message(), "there is no number");
        let failure = "x".parse::<u8>().or_fail("`x` is no number").unwrap_err();
        assert_eq!(
            failure.message(),
            "`x` is no number: invalid digit found in string"
        );
    }

    #[test]
    fn fail_returns() {
        fn give_up(name: &str) -> Result<(), Failure> {
            fail!("there is no `{name}`")
        }
        assert_eq!(give_up("x").unwrap_err().message(), "there is no `x`");
    }

    #[test]
    fn whoever_cannot_use_its_arguments_says_so() {
        fn parse(text: &str) -> Result<u8, Failure> {
            if text.is_empty() {
                bad_input!("there is no `{}`", "text");
            }
            text.parse::<u8>().or_bad_input("`text` is no number")
        }
        let says = "`text` is no number: invalid digit found in string";
        for (text, says) in [("", "there is no `text`"), ("x", says)] {
            let failure = parse(text).unwrap_err();
            assert_eq!(failure.message(), says);
            assert_eq!(
                failure.details(),
                Some(&json!({ "code": "VALIDATION_ERROR" }))
            );
        }
    }
}
