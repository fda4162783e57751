//! Chat completions: one event of a stream, or an answer in one piece, as it is on the wire.
//!
//! Fields are read as loosely as servers differ: whatever may be missing may also be null, and what
//! is not known is passed over. What is known must have its kind.

use serde::Deserialize;
use serde_json::Value;

use super::super::args;
use super::super::calls::Piece;
use super::super::decode::Dialect;
use super::super::draft::{Draft, stopped_for, tokens};
use super::super::envelope;
use super::super::fault::Fault;
use crate::words::error::Error;
use crate::words::message::{StopReason, Usage};

/// One event of a stream, or an answer in one piece.
#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<i64>,
    #[serde(default)]
    delta: Option<Said>,
    #[serde(default)]
    message: Option<Said>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Said {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<Value>,
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    reasoning_content: Option<Value>,
    #[serde(default)]
    tool_calls: Option<Vec<CallPiece>>,
    #[serde(default)]
    function_call: Option<FunctionPiece>,
}

/// A piece of a call on the wire.
#[derive(Debug, Default, Deserialize)]
struct CallPiece {
    #[serde(default)]
    index: Option<i64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionPiece>,
}

/// What is called, or a piece of that.
#[derive(Debug, Default, Deserialize)]
struct FunctionPiece {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

impl From<FunctionPiece> for CallPiece {
    /// The older form of a call, of which a reply has one.
    fn from(function: FunctionPiece) -> Self {
        Self {
            index: Some(0),
            id: None,
            function: Some(function),
        }
    }
}

/// Some servers send the arguments themselves and not their text.
fn piece(call: CallPiece, event: &str) -> Piece {
    let function = call.function.unwrap_or_default();
    Piece {
        index: call.index,
        id: call.id.unwrap_or_default(),
        name: function.name.unwrap_or_default(),
        args: args::text_of(function.arguments.as_ref(), event),
    }
}

/// The dialect of chat completions.
#[derive(Debug)]
pub(in crate::rules::codec) struct Completion;

impl Dialect for Completion {
    fn event(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        if text == "[DONE]" {
            draft.end();
            return Ok(());
        }
        take(read_chunk(text)?, text, draft)
    }

    fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        let chunk = read_chunk(text)?;
        let empty = chunk.choices.as_ref().is_none_or(Vec::is_empty);
        take(chunk, text, draft)?;
        // Checked after the error that the answer may report instead.
        if empty {
            return Err(envelope::no_such(WHAT));
        }
        Ok(())
    }
}

const WHAT: &str = "chat completion";

fn read_chunk(text: &str) -> Result<Chunk, Error> {
    // Read as any JSON first: an error may stand in the place of anything.
    let answer: Value = envelope::event(text, WHAT)?;
    if let Some(fault) = Fault::find(&answer) {
        return Err(fault.error());
    }
    let known = ["choices", "usage"];
    if !known.iter().any(|key| answer.get(key).is_some()) {
        return Err(envelope::no_such(WHAT));
    }
    serde_json::from_value(answer).map_err(|_| envelope::no_such(WHAT))
}

fn take(chunk: Chunk, event: &str, draft: &mut Draft) -> Result<(), Error> {
    if let Some(usage) = &chunk.usage
        && usage.is_object()
    {
        draft.spend(read_usage(usage));
    }
    for choice in chunk.choices.unwrap_or_default() {
        // One answer was asked for.
        if choice.index.unwrap_or(0) == 0 {
            take_choice(choice, event, draft)?;
        }
    }
    Ok(())
}

fn take_choice(choice: Choice, event: &str, draft: &mut Draft) -> Result<(), Error> {
    let said = choice.delta.or(choice.message).unwrap_or_default();
    // Servers name it in one of two ways, and some in both.
    if let Some(text) = said.reasoning_content.or(said.reasoning) {
        draft.think(&read_text(&text))?;
    }
    for text in [said.content, said.refusal].iter().flatten() {
        draft.say(&read_text(text));
    }
    let mut pieces = said.tool_calls.unwrap_or_default();
    pieces.extend(said.function_call.map(CallPiece::from));
    let pieces = pieces.into_iter().map(|call| piece(call, event));
    draft.pieces(pieces.collect())?;
    if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
        draft.stop(read_stop(&reason)?);
    }
    Ok(())
}

/// Text, or the text of a list of parts; thoughts and pictures are left out.
fn read_text(content: &Value) -> String {
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
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn read_stop(reason: &str) -> Result<StopReason, Error> {
    match reason {
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => Ok(StopReason::End),
        "tool_calls" | "function_call" => Ok(StopReason::Calls),
        "length" | "max_tokens" | "model_length" => Ok(StopReason::Length),
        "content_filter" => Ok(StopReason::Filtered),
        // Such as `abort` and `error`: whatever it is, it is no end.
        other => Err(stopped_for(other)),
    }
}

fn read_usage(usage: &Value) -> Usage {
    let input_tokens = tokens(usage, "/prompt_tokens");
    let output_tokens = tokens(usage, "/completion_tokens");
    let cached = tokens(usage, "/prompt_tokens_details/cached_tokens");
    let reasoning = tokens(usage, "/completion_tokens_details/reasoning_tokens");
    Usage {
        input_tokens,
        output_tokens,
        cached_tokens: cached.min(input_tokens),
        reasoning_tokens: reasoning.min(output_tokens),
        ..Usage::default()
    }
}
