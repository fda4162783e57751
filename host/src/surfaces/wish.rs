//! A client's wish to call a tool, as JSON lines, HTTP and MCP bring it: one form, and one way to its envelope.

use serde::Deserialize;
use serde_json::{Value, json};

use super::envelope::{Envelope, refused};
use super::listed;
use crate::guests::dispatch::Request;
use crate::guests::guest::Artifact;
use crate::guests::tasks::Tasks;
use crate::rules::caller::Invocation;
use crate::rules::manifest::Retry;
use crate::runs::host::{Called, Host};
use crate::runs::left::Waiting;
use crate::runs::written::Written;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::id::RunId;
use crate::words::limits::{CALL_RETRY_DELAY_MS, CALL_RETRY_DELAY_MS_MAX, CALL_TIMEOUT_MS_MAX};
use crate::words::message::WishedArgs;

/// What a client asks for beside tool and arguments (rows, A-18b). A field that is not known is an
/// error: who it comes from says the token, and never the body (A-13b).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Options {
    /// It is confirmed, where the tool asks for that.
    pub confirm: bool,
    /// How long it may take, in milliseconds; the tool's own time where it says nothing. Policy may allow less.
    pub timeout_ms: Option<u64>,
    /// How often it is made again after a failure that may pass; as the tool has it where it says nothing.
    pub retries: Option<u32>,
    /// How long the first wait before that is, in milliseconds; each is longer by as much. It goes with `retries`.
    pub retry_delay_ms: Option<u64>,
    /// The client's own name for the call: sent again under it, it happens no second time.
    pub idempotency_key: Option<String>,
    /// A person typed the arguments, with their own hands: then their words are witnesses (design §5). Programs leave
    /// it out.
    pub typed: bool,
    /// It came through standard input. Nobody says so of themselves.
    #[serde(skip)]
    pub piped: bool,
    /// Who calls, as far as its surface knows: a key is a client's own. Nobody says so of themselves.
    #[serde(skip)]
    pub client: String,
}

impl Options {
    /// As a call is asked with.
    ///
    /// # Errors
    /// `BadInput` for a time that no call may have, and for a wait before what is never made again.
    fn invocation(&self) -> Result<Invocation> {
        if let Some(ms) = self.timeout_ms
            && !(1..=CALL_TIMEOUT_MS_MAX).contains(&ms)
        {
            let what = format!("`timeoutMs` is 1 to {CALL_TIMEOUT_MS_MAX}, and not {ms}");
            return Err(Error::bad_input(what));
        }
        Ok(Invocation {
            key: self.idempotency_key.as_deref().map(Into::into),
            timeout_ms: self.timeout_ms,
            retry: self.retry()?,
            confirmed: self.confirm,
            client: self.client.as_str().into(),
        })
    }

    fn retry(&self) -> Result<Option<Retry>> {
        match (self.retries, self.retry_delay_ms) {
            (None, Some(_)) => {
                let error = Error::bad_input("`retryDelayMs` goes with `retries`");
                Err(error.hint("say how often: `\"retries\": 2`"))
            }
            (_, Some(ms)) if ms > CALL_RETRY_DELAY_MS_MAX => {
                let what =
                    format!("`retryDelayMs` is 0 to {CALL_RETRY_DELAY_MS_MAX}, and not {ms}");
                Err(Error::bad_input(what))
            }
            (retries, ms) => Ok(
                retries.map(|retries| Retry::linear(retries, ms.unwrap_or(CALL_RETRY_DELAY_MS)))
            ),
        }
    }

    /// How the arguments came.
    #[must_use]
    pub fn written(&self) -> Written {
        match (self.typed, self.piped) {
            (true, _) => Written::Typed,
            (false, true) => Written::Piped,
            (false, false) => Written::Sent,
        }
    }
}

/// What became of a client's wish: the envelope, and the code where it failed.
#[derive(Debug)]
pub struct Answered {
    /// The envelope, as JSON.
    pub envelope: Value,
    /// Why it failed; nothing where it did not.
    pub code: Option<Code>,
    /// The run that waits for an answer; nothing where none does.
    pub waits: Option<RunId>,
    /// What came with it.
    pub artifacts: Vec<Artifact>,
}

impl Answered {
    /// Of a wish that never became a call.
    #[must_use]
    pub fn refused(tool: &str, surface: Surface, error: &Error) -> Self {
        Self {
            envelope: refused(tool, surface, error),
            code: Some(error.code()),
            waits: None,
            artifacts: Vec::new(),
        }
    }

    /// Of a call or script that was made.
    #[must_use]
    pub fn of(called: Called, surface: Surface) -> Self {
        let code = called.outcome.result.as_ref().err().map(Error::code);
        Self {
            envelope: json!(Envelope::of(&called, surface)),
            waits: (code == Some(Code::Asked)).then(|| called.run.clone()),
            code,
            artifacts: called.outcome.trail.artifacts,
        }
    }
}

/// The open questions of a run.
///
/// # Errors
/// What reading the journal says.
pub async fn waiting(host: &Host, run: &RunId) -> Result<Vec<Waiting>> {
    let mut waiting = host.questions().await?;
    waiting.retain(|waiting| waiting.run == *run);
    Ok(waiting)
}

/// The same for whoever waits for their answers.
///
/// # Errors
/// As [`waiting`].
pub async fn questions(host: &Host, run: &RunId) -> Result<Vec<Value>> {
    let waiting = waiting(host, run).await?;
    Ok(waiting.iter().map(listed::question).collect())
}

/// The same as whoever is on the other side of this surface may read them, and of each whether that is all of it: of what is
/// secret no model is told.
///
/// # Errors
/// As [`waiting`].
pub async fn questions_for(host: &Host, run: &RunId, surface: Surface) -> Result<Vec<Value>> {
    let waiting = waiting(host, run).await?;
    let (readable, _) = host.readable(&waiting, surface);
    Ok(readable.iter().map(listed::readable).collect())
}

/// Calls a tool for a client, whatever comes of it: failures are envelopes too. `run` is from [`Host::new_run`].
pub async fn call(
    host: &Host,
    (run, surface): (RunId, Surface),
    (tool, input): (&str, Value),
    options: &Options,
    tasks: &Tasks,
) -> Answered {
    let request = Request {
        tool: tool.to_owned(),
        args: WishedArgs::Json(input),
    };
    let called = async {
        let asked = (request, &options.written(), options.invocation()?);
        host.call_asked(run, surface, asked, tasks).await
    };
    match called.await {
        Ok(called) => Answered::of(called, surface),
        Err(error) => Answered::refused(&host.told_again(tool), surface, &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(options: Value) -> Result<Option<Retry>> {
        let options: Options = serde_json::from_value(options).unwrap();
        options.invocation().map(|asked| asked.retry)
    }

    #[test]
    fn a_wait_is_of_whoever_says_how_often() {
        assert_eq!(asks(json!({})).unwrap(), None);
        for (options, expected) in [
            (json!({"retries": 2}), Retry::linear(2, 100)),
            (
                json!({"retries": 2, "retryDelayMs": 0}),
                Retry::linear(2, 0),
            ),
            (
                json!({"retries": 1, "retryDelayMs": 60_000}),
                Retry::linear(1, 60_000),
            ),
        ] {
            assert_eq!(asks(options).unwrap(), Some(expected));
        }
        for options in [
            json!({"retryDelayMs": 1}),
            json!({"retries": 1, "retryDelayMs": 60_001}),
        ] {
            let error = asks(options.clone()).expect_err("it cannot be");
            assert!(
                error.message().contains("retryDelayMs"),
                "{options}: {error}"
            );
        }
    }
}
