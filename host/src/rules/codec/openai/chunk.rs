//! Chat completions: one event of a stream, or an answer in one piece, as it is on the wire.
//!
//! Fields are read as loosely as servers differ: whatever may be missing may also be null, and what
//! is not known is passed over. What is known must have its kind.

use serde::Deserialize;
use serde_json::Value;

use super::super::{envelope, may_pass};
use super::calls::{FunctionPiece, Piece};
use crate::words::error::{Code, Error};
use crate::words::id::shown;
use crate::words::message::{StopReason, Usage};

/// One event of a stream, or an answer in one piece.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// The rest is of an error that has no object of its own.
    #[serde(default)]
    object: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    r#type: Option<Value>,
    #[serde(default)]
    code: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(default)]
    pub(super) delta: Option<Said>,
    #[serde(default)]
    pub(super) message: Option<Said>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) content: Option<Value>,
    #[serde(default)]
    pub(super) refusal: Option<Value>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<Piece>>,
    #[serde(default)]
    pub(super) function_call: Option<FunctionPiece>,
}

impl Chunk {
    /// The error that it reports instead of an answer.
    pub(super) fn reported(&self) -> Option<Error> {
        let bare = self.object.as_ref().is_some_and(|object| object == "error");
        let part = |key: &str, own: &Option<Value>| match &self.error {
            Some(error) => error.get(key).cloned(),
            None => own.clone(),
        };
        let kind = part("type", &self.r#type);
        let code = part("code", &self.code);
        let message = match &self.error {
            Some(Value::String(text)) => Some(Value::String(text.clone())),
            Some(_) | None => part("message", &self.message),
        };
        (bare || self.error.is_some()).then(|| reported(kind.as_ref(), code.as_ref(), message))
    }
}

/// An error within an answer, classified by its kind and code and never by its text, which
/// only the developer's log sees.
fn reported(kind: Option<&Value>, code: Option<&Value>, message: Option<Value>) -> Error {
    let words = || [kind, code].into_iter().flatten().filter_map(Value::as_str);
    let status = [code, kind]
        .into_iter()
        .flatten()
        .find_map(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
        .filter(|status| (100..600).contains(status))
        .and_then(|status| u16::try_from(status).ok());
    let retryable = status.map_or_else(|| !words().any(is_lasting), may_pass);
    let kind = words().map(|word| format!(" `{}`", shown(word))).next();
    let kind = kind
        .or(status.map(|status| format!(" {status}")))
        .unwrap_or_default();
    let text = message
        .as_ref()
        .and_then(Value::as_str)
        .map(shown)
        .unwrap_or_default();
    failed(&format!(
        "the model provider reported the error{kind} in its answer"
    ))
    .retry(retryable)
    .because(anyhow::Error::msg(text))
}

/// Kinds of errors that the same request would meet again.
fn is_lasting(kind: &str) -> bool {
    matches!(
        kind,
        "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "not_supported_error"
            | "insufficient_quota"
            | "billing_hard_limit_reached"
            | "invalid_api_key"
            | "model_not_found"
            | "context_length_exceeded"
            | "exceed_context_size_error"
            | "content_filter"
            | "BadRequestError"
            | "NotFoundError"
    )
}

pub(super) fn read_chunk(text: &str) -> Result<Chunk, Error> {
    envelope::read(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => no_completion(),
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => {
            failed("the model provider sent something that is no JSON")
        }
    })
}

/// Text, or the text of a list of parts; thoughts and pictures are left out.
pub(super) fn read_text(content: &Value) -> String {
    let part = |part: &Value| {
        let is_text = part
            .get("type")
            .is_some_and(|kind| kind == "text" || kind == "refusal");
        let text = part
            .get("text")
            .or(part.get("refusal"))
            .filter(|_| is_text)?;
        Some(text.as_str()?.to_owned())
    };
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    // Many things that text is handed to end at a NUL.
    if text.contains('\0') {
        text.replace('\0', "\u{FFFD}")
    } else {
        text
    }
}

pub(super) fn read_stop(reason: &str) -> Result<StopReason, Error> {
    match reason {
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => Ok(StopReason::End),
        "tool_calls" | "function_call" => Ok(StopReason::Calls),
        "length" | "max_tokens" | "model_length" => Ok(StopReason::Length),
        "content_filter" => Ok(StopReason::Filtered),
        // Such as `abort` and `error`: whatever it is, it is no end.
        other => Err(failed(&format!(
            "the model provider stopped for `{}`",
            shown(other)
        ))),
    }
}

pub(super) fn read_usage(usage: &Value) -> Usage {
    let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let input_tokens = number("/prompt_tokens").unwrap_or(0);
    let cached = number("/prompt_tokens_details/cached_tokens");
    Usage {
        input_tokens,
        output_tokens: number("/completion_tokens").unwrap_or(0),
        cached_tokens: cached.unwrap_or(0).min(input_tokens),
    }
}

pub(super) fn failed(message: &str) -> Error {
    Error::new(Code::ProviderFailed, message)
}

pub(super) fn no_completion() -> Error {
    failed("the model provider sent JSON that is no chat completion")
        .retry(false)
        .hint("check the provider's URL: it ends in `/chat/completions`")
}
