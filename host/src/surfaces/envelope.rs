//! The envelope: what a client gets of one call (rows ).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use crate::guests::guest::{Artifact, LogLine};
use crate::runs::host::Called;
use crate::surfaces::again;
use crate::words::error::{Code, Error, Issue};
use crate::words::event::{Spent, Surface};
use crate::words::id::RunId;
use crate::words::label::Label;
use crate::words::whose::Whose;

/// What a client gets of one call. Its fields stand in the order of the rows.
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    ok: bool,
    #[serde(flatten)]
    end: Ended<'a>,
    /// The run that waits for an answer; nothing where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    /// What it waits for; `error.hints` says how it is answered.
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    questions: &'a [Value],
    artifacts: Vec<Value>,
    logs: &'a [LogLine],
    meta: Meta<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ended<'a> {
    Data(&'a Value),
    Error(Failure<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    action: &'a str,
    invocation_id: String,
    surface: Surface,
    duration_ms: u64,
    label: &'a Label,
    usage: Spent,
}

/// The `error` of an envelope; `kind` is our own closed code, `code` the one of row A-25.
#[derive(Debug, Serialize)]
pub struct Failure<'a> {
    code: &'static str,
    message: &'a str,
    issues: &'a [Issue],
    retryable: bool,
    kind: Code,
    /// Whose it is.
    source: Whose,
    /// What the system whose profile was chosen calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<&'static str>,
    hints: Vec<Cow<'a, str>>,
}

impl<'a> Failure<'a> {
    /// Of an error.
    #[must_use]
    pub fn of(error: &'a Error) -> Self {
        Self {
            code: error.code().envelope(),
            message: error.message(),
            issues: error.issue_list(),
            retryable: error.is_retryable(),
            kind: error.code(),
            source: error.whose(),
            alias: error.alias(),
            hints: error.hints().iter().map(|one| again::hint(one)).collect(),
        }
    }
}

impl<'a> Envelope<'a> {
    /// Of a call that was made.
    #[must_use]
    pub fn of(called: &'a Called, surface: Surface) -> Self {
        let outcome = &called.outcome;
        let end = match &outcome.result {
            Ok(data) => Ended::Data(data),
            Err(error) => Ended::Error(Failure::of(error)),
        };
        let waits = matches!(&outcome.result, Err(error) if error.code() == Code::Asked);
        Self {
            ok: outcome.result.is_ok(),
            end,
            run: waits.then_some(&called.run),
            questions: &[],
            artifacts: outcome.trail.artifacts.iter().map(artifact).collect(),
            logs: &outcome.trail.logs,
            meta: Meta {
                action: &outcome.tool,
                invocation_id: format!("{}:{}", called.run, outcome.seq),
                surface,
                duration_ms: outcome.spent.us / 1_000,
                label: &outcome.label,
                usage: outcome.spent,
            },
        }
    }
}

impl<'a> Envelope<'a> {
    /// Of a wish that never became a call, or of a command that failed as a whole: there is no record of it, so nothing of
    /// `meta` is known but who asked for what.
    #[must_use]
    pub fn refused(
        action: &'a str,
        (surface, label): (Surface, &'a Label),
        error: &'a Error,
    ) -> Self {
        Self {
            ok: false,
            end: Ended::Error(Failure::of(error)),
            run: None,
            questions: &[],
            artifacts: Vec::new(),
            logs: &[],
            meta: Meta {
                action,
                invocation_id: String::new(),
                surface,
                duration_ms: 0,
                label,
                usage: Spent::default(),
            },
        }
    }

    /// The same with the open questions of its run.
    #[must_use]
    pub fn asking(self, questions: &'a [Value]) -> Self {
        Self { questions, ..self }
    }
}

/// [`Envelope::refused`] as JSON.
#[must_use]
pub fn refused(action: &str, surface: Surface, error: &Error) -> Value {
    let label = Label::default();
    json!(Envelope::refused(action, (surface, &label), error))
}

/// The envelope of what the host knows by itself: no tool ran, so that nothing of it is on record.
#[must_use]
pub fn found(action: &str, surface: Surface, data: &Value, label: &Label) -> Value {
    json!({
        "ok": true,
        "data": data,
        "artifacts": [],
        "logs": [],
        "meta": {
            "action": action,
            "invocationId": "",
            "surface": surface,
            "durationMs": 0,
            "label": label,
            "usage": Spent::default(),
        },
    })
}

/// Text stays text; other bytes are told as base64. What kind of thing it is its `metadata` may say (row A-22).
fn artifact(artifact: &Artifact) -> Value {
    let (how, content) = match std::str::from_utf8(&artifact.bytes) {
        Ok(text) => ("text", text.to_owned()),
        Err(_) => (BASE64, STANDARD.encode(&artifact.bytes)),
    };
    let kind = artifact.metadata.get("type").and_then(Value::as_str);
    json!({
        "id": artifact.id,
        "type": kind.unwrap_or("file"),
        "name": artifact.name,
        "mediaType": artifact.media_type,
        "metadata": artifact.metadata,
        "bytes": artifact.bytes.len(),
        how: content,
    })
}

/// Where the bytes of an artifact stand that is no text.
const BASE64: &str = "base64";

/// The same envelope for whoever is given the bytes of its artifacts beside it.
#[must_use]
pub fn without_bytes(mut envelope: Value) -> Value {
    let artifacts = envelope.get_mut("artifacts").and_then(Value::as_array_mut);
    for artifact in artifacts.into_iter().flatten() {
        if let Some(fields) = artifact.as_object_mut() {
            fields.remove(BASE64);
        }
    }
    envelope
}
