//! Generated content: one event of a stream, or an answer in one piece, as it is on the wire.
//!
//! An event is an answer of which more may follow. No event says that none does: the reason to stop is the
//! end.

use serde_json::{Value, json};

use super::super::args;
use super::super::calls::Piece;
use super::super::decode::Dialect;
use super::super::draft::{Draft, stopped_for, tokens};
use super::super::envelope;
use super::super::fault::Fault;
use crate::words::error::Error;
use crate::words::message::{StopReason, Usage};

/// The dialect of generated content.
#[derive(Debug, Default)]
pub(in crate::rules::codec) struct Content {
    /// Calls so far: each comes whole, and none has a number.
    calls: i64,
}

const WHAT: &str = "generated content";

impl Dialect for Content {
    fn event(&mut self, event: &str, draft: &mut Draft) -> Result<(), Error> {
        let answer: Value = envelope::event(event, WHAT)?;
        if let Some(fault) = Fault::find(&answer) {
            return Err(fault.error());
        }
        let known = ["candidates", "promptFeedback", "usageMetadata"];
        if !known.iter().any(|key| answer.get(key).is_some()) {
            return Err(envelope::no_such(WHAT));
        }
        if let Some(usage) = answer
            .get("usageMetadata")
            .filter(|usage| usage.is_object())
        {
            draft.spend(read_usage(usage));
        }
        // The prompt was refused, so there is nothing to come.
        if answer.pointer("/promptFeedback/blockReason").is_some() {
            draft.stop(StopReason::Filtered);
        }
        // One answer was asked for.
        let Some(candidate) = answer.pointer("/candidates/0") else {
            return Ok(());
        };
        let parts = candidate.pointer("/content/parts");
        let parts = parts.and_then(Value::as_array);
        for part in parts.map(Vec::as_slice).unwrap_or_default() {
            self.part(part, event, draft)?;
        }
        let reason = candidate.get("finishReason").and_then(Value::as_str);
        if let Some(reason) = reason.filter(|reason| *reason != "FINISH_REASON_UNSPECIFIED") {
            draft.stop(read_stop(reason)?);
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        self.event(text, draft)
    }
}

impl Content {
    fn part(&mut self, part: &Value, event: &str, draft: &mut Draft) -> Result<(), Error> {
        let text = part.get("text").and_then(Value::as_str);
        let text = text.unwrap_or_default();
        let signature = part.get("thoughtSignature").filter(|one| one.is_string());
        let sealed = signature.map(|signature| json!({"thoughtSignature": signature}));
        if part.get("thought").is_some_and(|thought| thought == true) {
            draft.think(text)?;
            return sealed.map_or(Ok(()), |sealed| draft.seal(sealed));
        }
        let Some(call) = part.get("functionCall") else {
            draft.say(text);
            if let Some(sealed) = sealed {
                draft.seal(sealed)?;
                draft.settle();
            }
            return Ok(());
        };
        if let Some(sealed) = sealed {
            draft.seal(sealed)?;
        }
        draft.pieces(vec![self.call(call, event)]).map(|_| ())
    }

    fn call(&mut self, call: &Value, event: &str) -> Piece {
        let text = |key: &str| {
            let text = call.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        self.calls = self.calls.saturating_add(1);
        Piece {
            index: Some(self.calls),
            id: text("id"),
            name: text("name"),
            args: args::text_of(call.get("args"), event),
        }
    }
}

fn read_stop(reason: &str) -> Result<StopReason, Error> {
    match reason {
        "STOP" => Ok(StopReason::End),
        "MAX_TOKENS" => Ok(StopReason::Length),
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" | "ESCALATION" | "MODEL_ARMOR" => Ok(StopReason::Filtered),
        // Such as `MALFORMED_FUNCTION_CALL` and `OTHER`: whatever it is, it is no end.
        other => Err(stopped_for(other)),
    }
}

fn read_usage(usage: &Value) -> Usage {
    let input_tokens = tokens(usage, "/promptTokenCount");
    let input_tokens = input_tokens + tokens(usage, "/toolUsePromptTokenCount");
    let thought = tokens(usage, "/thoughtsTokenCount");
    Usage {
        input_tokens,
        output_tokens: tokens(usage, "/candidatesTokenCount") + thought,
        cached_tokens: tokens(usage, "/cachedContentTokenCount").min(input_tokens),
        reasoning_tokens: thought,
        ..Usage::default()
    }
}
