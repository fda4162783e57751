//! Errors: one closed set of codes for whoever branches, one sentence for whoever reads.
//!
//! `Display` prints the sentence alone and never the cause; causes go to the developer's log. What
//! each code means to a process, an envelope and a model is one exhaustive table each, so that a new
//! code does not compile until every table has answered.

use std::fmt;
use std::io::ErrorKind;

use serde::{Deserialize, Serialize};

use super::message::Usage;
use super::setback::Setback;
use super::whose::Whose;

/// Why something did not succeed. Closed: see the tables below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The command, configuration or request is malformed.
    BadInput,
    /// Arguments do not fit a tool's schema.
    BadArgs,
    /// No tool of that name may be called here.
    UnknownTool,
    /// The tool is not offered on this surface.
    BadSurface,
    /// A component that is no plugin of ours.
    BadPlugin,
    /// The gate said no.
    Denied,
    /// The gate waits for an answer.
    Asked,
    /// The call is of a kind that its client has to confirm, and it did not (row A-07).
    Unconfirmed,
    /// Nobody knows who asks.
    Unauthenticated,
    /// Asked for more often than may be; later it may.
    RateLimited,
    /// A line of JSON automation that is no request (row A-26).
    BadLine,
    /// It clashes with how things are, such as a second answer to one question (row A-26a).
    Conflict,
    /// A tool will not do what would be unsafe (row A-26a).
    Unsafe,
    /// A budget is spent: turns, calls, tokens, money.
    OverBudget,
    /// A size limit was passed.
    TooBig,
    /// A deadline passed.
    TooSlow,
    /// The guest used up its work units.
    OutOfFuel,
    /// The guest asked for more memory than it may have.
    OutOfMemory,
    /// The guest trapped or panicked.
    Trapped,
    /// The guest said that it failed.
    GuestFailed,
    /// A script threw, or what it called did and it did not catch that. It is whoever wrote it who can mend that.
    ScriptFailed,
    /// A script awaits what nothing will resolve.
    Stalled,
    /// A script that was taken up again wished for something else than before.
    Diverged,
    /// The guest's answer is not JSON.
    NotJson,
    /// The guest's answer does not fit its own output schema.
    BadOutcome,
    /// A request to the outside failed.
    FetchFailed,
    /// The model provider failed.
    ProviderFailed,
    /// The file system or the journal could not be read or written.
    DiskFailed,
    /// Somebody else holds it; try again.
    Busy,
    /// There is no such run, file or note.
    NotFound,
    /// It may or may not have happened.
    InDoubt,
    /// The caller gave up.
    Cancelled,
    /// Stored bytes are damaged.
    Corrupt,
    /// Our mistake.
    Bug,
}

impl Code {
    /// Exit status of a process (rows A-30, A-30a).
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Self::BadInput
            | Self::BadArgs
            | Self::TooBig
            | Self::ScriptFailed
            | Self::Stalled
            | Self::NotJson
            | Self::BadOutcome => 2,
            Self::Denied | Self::Unconfirmed | Self::Unauthenticated => 3,
            Self::UnknownTool | Self::BadSurface | Self::NotFound => 4,
            Self::FetchFailed | Self::ProviderFailed | Self::Busy | Self::RateLimited => 5,
            Self::Asked => 75,
            Self::TooSlow => 124,
            Self::Cancelled => 130,
            Self::BadPlugin
            | Self::BadLine
            | Self::Conflict
            | Self::Unsafe
            | Self::OverBudget
            | Self::OutOfFuel
            | Self::OutOfMemory
            | Self::Trapped
            | Self::GuestFailed
            | Self::Diverged
            | Self::DiskFailed
            | Self::InDoubt
            | Self::Corrupt
            | Self::Bug => 1,
        }
    }

    /// Code of an envelope (rows A-25, A-26a).
    #[must_use]
    pub fn envelope(self) -> &'static str {
        match self {
            // A script is what its client sends: what is wrong with it is found when it runs. So is what was wished too
            // large, or makes a tool return too much.
            Self::BadInput | Self::BadArgs | Self::TooBig | Self::ScriptFailed | Self::Stalled => {
                "VALIDATION_ERROR"
            }
            Self::UnknownTool => "ACTION_NOT_FOUND",
            Self::BadSurface => "UNSUPPORTED_SURFACE",
            Self::Denied => "AUTHORIZATION_ERROR",
            Self::Asked | Self::Unconfirmed => "CONFIRMATION_REQUIRED",
            Self::Unauthenticated => "AUTHENTICATION_ERROR",
            Self::RateLimited => "RATE_LIMITED",
            Self::BadLine => "INVALID_JSON_RUNNER_PAYLOAD",
            Self::Conflict => "CONFLICT",
            Self::Unsafe => "UNSAFE_ACTION",
            Self::TooSlow => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::NotJson => "OUTPUT_SERIALIZATION_ERROR",
            Self::BadOutcome => "OUTPUT_VALIDATION_ERROR",
            Self::FetchFailed | Self::ProviderFailed => "EXTERNAL_SERVICE_ERROR",
            Self::Busy => "CONCURRENCY_LIMIT",
            Self::NotFound => "NOT_FOUND",
            Self::BadPlugin
            | Self::OverBudget
            | Self::OutOfFuel
            | Self::OutOfMemory
            | Self::Trapped
            | Self::GuestFailed
            | Self::Diverged
            | Self::DiskFailed
            | Self::InDoubt
            | Self::Corrupt
            | Self::Bug => "INTERNAL_ERROR",
        }
    }

    /// Status of an HTTP answer (row A-33). What waits for an answer was accepted, and is not done yet.
    #[must_use]
    pub fn http_status(self) -> u16 {
        match self {
            Self::Asked => 202,
            Self::BadInput | Self::BadArgs | Self::BadLine | Self::ScriptFailed | Self::Stalled => {
                400
            }
            Self::Unauthenticated => 401,
            Self::Denied | Self::Unsafe => 403,
            Self::UnknownTool | Self::BadSurface | Self::NotFound => 404,
            Self::Unconfirmed | Self::Conflict | Self::Diverged | Self::InDoubt => 409,
            Self::TooBig => 413,
            Self::OverBudget | Self::Busy | Self::RateLimited => 429,
            Self::Cancelled => 499,
            Self::BadPlugin
            | Self::OutOfFuel
            | Self::OutOfMemory
            | Self::Trapped
            | Self::GuestFailed
            | Self::NotJson
            | Self::BadOutcome
            | Self::DiskFailed
            | Self::Corrupt
            | Self::Bug => 500,
            Self::FetchFailed | Self::ProviderFailed => 502,
            Self::TooSlow => 504,
        }
    }

    /// Its word, as in the journal and in a script's `ToolError`.
    #[must_use]
    pub fn word(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            Ok(_) | Err(_) => String::new(),
        }
    }

    /// Whether the same request may succeed later, where nobody said otherwise.
    #[must_use]
    pub fn retryable(self) -> bool {
        match self {
            Self::TooSlow
            | Self::FetchFailed
            | Self::ProviderFailed
            | Self::Busy
            | Self::RateLimited => true,
            Self::BadInput
            | Self::BadArgs
            | Self::BadLine
            | Self::Conflict
            | Self::Unsafe
            | Self::UnknownTool
            | Self::BadSurface
            | Self::BadPlugin
            | Self::Denied
            | Self::Asked
            | Self::Unconfirmed
            | Self::Unauthenticated
            | Self::OverBudget
            | Self::TooBig
            | Self::OutOfFuel
            | Self::OutOfMemory
            | Self::Trapped
            | Self::GuestFailed
            | Self::ScriptFailed
            | Self::Stalled
            | Self::Diverged
            | Self::NotJson
            | Self::BadOutcome
            | Self::DiskFailed
            | Self::NotFound
            | Self::InDoubt
            | Self::Cancelled
            | Self::Corrupt
            | Self::Bug => false,
        }
    }

    /// Whether a model that called a tool learns of it and goes on (true), or its run ends (U-15).
    #[must_use]
    pub fn told_to_model(self) -> bool {
        match self {
            Self::Asked
            | Self::Diverged
            | Self::ProviderFailed
            | Self::DiskFailed
            | Self::InDoubt
            | Self::Cancelled
            | Self::Corrupt
            | Self::Bug => false,
            Self::BadInput
            | Self::BadArgs
            | Self::BadLine
            | Self::Conflict
            | Self::Unsafe
            | Self::UnknownTool
            | Self::BadSurface
            | Self::BadPlugin
            | Self::Denied
            | Self::Unconfirmed
            | Self::Unauthenticated
            | Self::RateLimited
            | Self::OverBudget
            | Self::TooBig
            | Self::TooSlow
            | Self::OutOfFuel
            | Self::OutOfMemory
            | Self::Trapped
            | Self::GuestFailed
            | Self::ScriptFailed
            | Self::Stalled
            | Self::NotJson
            | Self::BadOutcome
            | Self::FetchFailed
            | Self::Busy
            | Self::NotFound => true,
        }
    }
}

/// One thing that is wrong with some arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Where, as a JSON pointer; empty for the whole.
    pub path: String,
    /// What, without the value.
    pub message: String,
}

/// A failure: code, sentence, and what to do about it.
pub struct Error(Box<Parts>);

struct Parts {
    code: Code,
    message: String,
    issues: Vec<Issue>,
    advice: Advice,
    again: Again,
    cause: anyhow::Error,
    told: Option<Error>,
    setback: Option<Setback>,
    /// When a server says that the same may be asked again, from its answer on.
    after_ms: Option<u64>,
    /// What a model that gave no reply has counted until then; absent where it has not begun to answer.
    spent: Option<Usage>,
    /// What the system whose profile was chosen calls it.
    alias: Option<&'static str>,
    /// Whose it is, where its code alone does not say.
    whose: Option<Whose>,
}

/// Lines of advice, for whoever may act on them.
#[derive(Default)]
struct Advice {
    lines: Vec<String>,
    /// Which of them says what may have been meant.
    meant: Option<usize>,
}

/// What is known of another attempt.
#[derive(Clone, Copy)]
struct Again {
    /// It may succeed later.
    may_pass: bool,
    /// What it was for may have happened already.
    in_doubt: bool,
}

/// Said of what was cut off, and must not happen twice.
pub const IN_DOUBT: &str = "may or may not have happened";

/// How to go on after it.
pub const AFTER_DOUBT: &str = "look where it would have happened: it is not made again by itself, and if it has not \
                               happened, wish for it anew";

impl Error {
    /// A failure of a code, in one sentence that may be shown.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            code,
            message: message.into(),
            issues: Vec::new(),
            advice: Advice::default(),
            again: Again {
                may_pass: code.retryable(),
                in_doubt: code == Code::InDoubt,
            },
            cause: anyhow::Error::msg(""),
            told: None,
            setback: None,
            after_ms: None,
            spent: None,
            alias: None,
            whose: None,
        }))
    }

    /// The command, configuration or request is malformed.
    #[must_use]
    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Code::BadInput, message)
    }

    /// The component is no plugin of ours.
    #[must_use]
    pub fn bad_plugin(message: impl Into<String>) -> Self {
        Self::new(Code::BadPlugin, message)
    }

    /// `what` has `got` bytes and may have `limit`.
    #[must_use]
    pub fn too_big(what: &str, limit: usize, got: usize) -> Self {
        let what = format!("{what} is too big: {got} bytes, and at most {limit} may be");
        Self::new(Code::TooBig, what)
    }

    /// `what` has `got` characters and may have `limit`.
    #[must_use]
    pub fn too_long(what: &str, limit: usize, got: usize) -> Self {
        let what = format!("{what} is too long: {got} characters, and at most {limit} may be");
        Self::new(Code::TooBig, what)
    }

    /// `what` counts `got` things and may count `limit`.
    #[must_use]
    pub fn too_many(what: &str, limit: usize, got: usize) -> Self {
        let what = format!("{what} is too big: {got}, and at most {limit} may be");
        Self::new(Code::TooBig, what)
    }

    /// `what` did not end within its time.
    #[must_use]
    pub fn too_slow(what: &str, limit_ms: u64) -> Self {
        Self::new(
            Code::TooSlow,
            format!("{what} did not end within {limit_ms} ms"),
        )
    }

    /// There is no `what`.
    #[must_use]
    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(Code::NotFound, format!("there is no {what}"))
    }

    /// Our own mistake: `what` should not be possible.
    #[must_use]
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(Code::Bug, what)
    }

    /// Adds a line of advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.advice.lines.push(hint.into());
        self
    }

    /// Adds a line of advice that says what may have been meant. Models and scripts read this one too, so it names nothing
    /// that whoever wished may not know of.
    #[must_use]
    pub fn meaning(mut self, hint: impl Into<String>) -> Self {
        self.0.advice.meant = Some(self.0.advice.lines.len());
        self.hint(hint)
    }

    /// Adds what is wrong, place by place.
    #[must_use]
    pub fn issues(mut self, issues: Vec<Issue>) -> Self {
        self.0.issues = issues;
        self
    }

    /// Says whether a repetition may help, where the code alone does not.
    #[must_use]
    pub fn retry(mut self, retryable: bool) -> Self {
        self.0.again.may_pass = retryable;
        self
    }

    /// Says that nobody knows whether `what` has happened, which must not happen twice: it was cut off.
    #[must_use]
    pub fn in_doubt(mut self, what: &str) -> Self {
        self.0.again.in_doubt = true;
        if !self.0.message.contains(IN_DOUBT) {
            self.0.message.push_str(&format!("; {what} {IN_DOUBT}"));
        }
        self
    }

    /// Whether nobody knows if it has happened, though it must not happen twice.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.0.again.in_doubt
    }

    /// Says what kind of setback it is that a model gave no reply, and with that whether it may pass.
    #[must_use]
    pub fn setback(mut self, setback: Setback) -> Self {
        self.0.setback = Some(setback);
        self.retry(setback.may_pass())
    }

    /// Says when the server may be asked again, in milliseconds from now; nothing where it has not said.
    #[must_use]
    pub fn after_ms(mut self, after_ms: Option<u64>) -> Self {
        self.0.after_ms = after_ms;
        self
    }

    /// Says what another system calls it, too: the one whose profile was chosen.
    #[must_use]
    pub fn called(mut self, alias: Option<&'static str>) -> Self {
        self.0.alias = alias;
        self
    }

    /// What that is.
    #[must_use]
    pub fn alias(&self) -> Option<&'static str> {
        self.0.alias
    }

    /// Says whose it is, where the code alone does not.
    #[must_use]
    pub fn by(mut self, whose: Whose) -> Self {
        self.0.whose = Some(whose);
        self
    }

    /// Whose it is.
    #[must_use]
    pub fn whose(&self) -> Whose {
        self.0.whose.unwrap_or_else(|| Whose::of(self.code()))
    }

    /// Says what a model that gave no reply has counted until then.
    #[must_use]
    pub fn spending(mut self, usage: Usage) -> Self {
        self.0.spent = Some(usage);
        self
    }

    /// Keeps the cause for the developer's log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<anyhow::Error>) -> Self {
        self.0.cause = cause.into();
        self
    }

    /// The same with other words: its sentence, issues and hints, without its cause.
    #[must_use]
    pub fn with_words(&self, said: impl Fn(&str) -> String, hint: impl Fn(&str) -> String) -> Self {
        let issue = |issue: &Issue| Issue {
            path: said(&issue.path),
            message: said(&issue.message),
        };
        let other = Self::new(self.code(), said(self.message()))
            .issues(self.issue_list().iter().map(issue).collect());
        let hints = self.hints().iter().map(|line| hint(line));
        let mut other = hints.fold(other, Self::hint);
        other.0.advice.meant = self.0.advice.meant;
        other.0.again = self.0.again;
        other.0.setback = self.0.setback;
        other.0.after_ms = self.0.after_ms;
        other.0.spent = self.0.spent;
        other.0.whose = self.0.whose;
        other
    }

    /// The same of which nobody learns more than its code, and whether it may pass: its words are secret.
    #[must_use]
    pub fn unsaid(&self) -> Self {
        self.unsaid_as(self.code()).retry(self.is_retryable())
    }

    /// The same of which not even its own code is told.
    #[must_use]
    pub fn unsaid_as(&self, code: Code) -> Self {
        let what = match (self.code() == Code::Asked, self.is_in_doubt()) {
            (true, _) => "it waits for an answer by a person, and what they are asked is secret",
            (false, true) => "it has not ended well, and what it said of that is secret",
            (false, false) => "it failed, and what it said of that is secret",
        };
        match self.is_in_doubt() {
            true => Self::new(code, what).in_doubt("it"),
            false => Self::new(code, what),
        }
    }

    /// Gives guests another error to read, where this one says more than they may learn. The journal keeps this
    /// one.
    #[must_use]
    pub fn but_told(mut self, told: Self) -> Self {
        self.0.told = Some(told);
        self
    }

    /// The error as a guest may read it.
    #[must_use]
    pub fn for_guests(&self) -> &Self {
        self.0.told.as_ref().unwrap_or(self)
    }

    /// The closed code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What is wrong, place by place.
    #[must_use]
    pub fn issue_list(&self) -> &[Issue] {
        &self.0.issues
    }

    /// Lines of advice, for people.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.0.advice.lines
    }

    /// The one of them that says what may have been meant, for whoever wished.
    #[must_use]
    pub fn meant(&self) -> Option<&str> {
        let at = self.0.advice.meant?;
        self.0.advice.lines.get(at).map(String::as_str)
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.again.may_pass
    }

    /// What it means that a model gave no reply for this reason.
    #[must_use]
    pub fn as_setback(&self) -> Setback {
        match (self.0.setback, self.code()) {
            (Some(setback), _) => setback,
            (None, Code::TooSlow) => Setback::TooSlow,
            (None, _) if self.is_retryable() => Setback::Broken,
            (None, _) => Setback::Lasting,
        }
    }

    /// When the server may be asked again, in milliseconds; nothing where it has not said.
    #[must_use]
    pub fn again_after_ms(&self) -> Option<u64> {
        self.0.after_ms
    }

    /// What a model that gave no reply has counted until then; nothing where it has not begun to answer.
    #[must_use]
    pub fn spent(&self) -> Option<Usage> {
        self.0.spent
    }

    /// The cause, for the developer's log only; empty where there is none.
    #[must_use]
    pub fn cause(&self) -> &anyhow::Error {
        &self.0.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for Error {}

/// Why the file system said no, in words for people.
#[must_use]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the list of kinds is open, and not ours"
)]
pub fn why(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "there is no such file or folder",
        ErrorKind::PermissionDenied => "its owner does not allow it",
        ErrorKind::AlreadyExists => "there is something of that name already",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full",
        ErrorKind::NotADirectory => "a part of the path is no folder",
        ErrorKind::IsADirectory => "it is a folder",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        ErrorKind::InvalidData => "it is no UTF-8 text",
        ErrorKind::BrokenPipe => "the reader went away",
        _ => "the system refused",
    }
}

/// An error's own result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Row A-33.
    #[test]
    fn http_status_follows_the_catalogue() {
        for (code, status) in [
            (Code::Asked, 202),
            (Code::BadArgs, 400),
            (Code::Unauthenticated, 401),
            (Code::Denied, 403),
            (Code::NotFound, 404),
            (Code::Conflict, 409),
            (Code::TooBig, 413),
            (Code::RateLimited, 429),
            (Code::Cancelled, 499),
            (Code::GuestFailed, 500),
            (Code::FetchFailed, 502),
            (Code::TooSlow, 504),
        ] {
            assert_eq!(code.http_status(), status, "{code:?}");
        }
    }

    #[test]
    fn exit_status_follows_the_catalogue() {
        // validation 2, authorization 3, not found 4, external 5, timeout 124, cancelled 130.
        for (code, status) in [
            (Code::BadArgs, 2),
            (Code::Denied, 3),
            (Code::UnknownTool, 4),
            (Code::FetchFailed, 5),
            (Code::TooSlow, 124),
            (Code::Cancelled, 130),
            (Code::ScriptFailed, 2),
            (Code::Trapped, 1),
            (Code::Asked, 75),
        ] {
            assert_eq!(code.exit_status(), status, "{code:?}");
        }
    }

    #[test]
    fn what_is_in_doubt_says_so_once_and_in_other_words_as_well() {
        let late = Error::too_slow("the call", 5);
        assert!(!late.is_in_doubt());
        let late = late.in_doubt("`web.post`").in_doubt("it");
        let says = "the call did not end within 5 ms; `web.post` may or may not have happened";
        assert_eq!(late.message(), says);
        let shown = late.with_words(str::to_uppercase, str::to_owned);
        assert!(shown.is_in_doubt() && shown.is_retryable());
        assert!(Error::new(Code::InDoubt, "x").is_in_doubt());
    }

    #[test]
    fn of_what_is_unsaid_no_word_is_left() {
        let error = Error::new(Code::ScriptFailed, "canary")
            .hint("canary")
            .issues(vec![Issue {
                path: "/canary".to_owned(),
                message: "canary".to_owned(),
            }])
            .retry(true);
        let unsaid = error.unsaid();
        assert_eq!(
            unsaid.message(),
            "it failed, and what it said of that is secret"
        );
        assert!(unsaid.hints().is_empty() && unsaid.issue_list().is_empty());
        assert_eq!(
            (unsaid.code(), unsaid.is_retryable()),
            (Code::ScriptFailed, true)
        );
        let doubted = Error::new(Code::TooSlow, "canary").in_doubt("canary");
        for unsaid in [doubted.unsaid(), doubted.unsaid_as(Code::GuestFailed)] {
            assert!(unsaid.is_in_doubt());
            let says = "it has not ended well, and what it said of that is secret; it may or may not have happened";
            assert_eq!(unsaid.message(), says);
        }
        let asked = Error::new(Code::Asked, "canary").unsaid();
        assert!(asked.message().starts_with("it waits"), "{asked}");
    }

    #[test]
    fn display_never_prints_the_cause() {
        let error = Error::bug("broken").because(anyhow::anyhow!("canary"));
        assert_eq!(format!("{error} {error:?}"), "broken Bug: broken");
    }

    /// Whatever words a hint begins with.
    #[test]
    fn what_was_meant_is_a_hint_that_was_said_to_be_one() {
        let error = Error::bad_input("a").hint("did you mean `kept`?");
        assert_eq!(error.meant(), None);
        let error = error.meaning("did you mean `b`?").hint("c");
        assert_eq!(error.meant(), Some("did you mean `b`?"));
        assert_eq!(
            error.hints(),
            ["did you mean `kept`?", "did you mean `b`?", "c"]
        );
        let other = error.with_words(str::to_owned, str::to_uppercase);
        assert_eq!(other.meant(), Some("DID YOU MEAN `B`?"));
    }
}
