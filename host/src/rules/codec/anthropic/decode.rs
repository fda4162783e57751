//! Messages: one event of a stream, or an answer in one piece, as it is on the wire.
//!
//! An answer is a list of blocks, each of which begins, grows and ends. A call whose block did not end is
//! no call.

use serde_json::{Map, Value, json};

use super::super::args;
use super::super::calls::Piece;
use super::super::decode::Dialect;
use super::super::draft::{Draft, stopped_for, tokens};
use super::super::envelope;
use super::super::fault::Fault;
use crate::words::error::Error;
use crate::words::message::{StopReason, Usage};

/// The dialect of messages.
#[derive(Debug, Default)]
pub(in crate::rules::codec) struct Blocks {
    /// The thought that is open: its index and its signature so far.
    thinking: Option<(i64, String)>,
    /// What is known of the cost, of which the last words count, field by field.
    usage: Map<String, Value>,
}

const WHAT: &str = "message";

impl Dialect for Blocks {
    fn event(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        let event: Value = envelope::event(text, WHAT)?;
        if let Some(fault) = Fault::find(&event) {
            return Err(fault.error());
        }
        let Some(kind) = event.get("type").and_then(Value::as_str) else {
            return Err(envelope::no_such(WHAT));
        };
        let index = event.get("index").and_then(Value::as_i64).unwrap_or(0);
        match kind {
            "message_start" => {
                self.spend(event.pointer("/message/usage"), draft);
                Ok(())
            }
            "content_block_start" => match event.get("content_block") {
                Some(block) => self.begin(index, block, (text, draft)),
                None => Ok(()),
            },
            "content_block_delta" => match event.get("delta") {
                Some(delta) => self.grow(index, delta, draft),
                None => Ok(()),
            },
            "content_block_stop" => self.end(index, draft),
            "message_delta" => {
                self.spend(event.get("usage"), draft);
                stop(event.pointer("/delta/stop_reason"), draft)
            }
            "message_stop" => {
                draft.end();
                Ok(())
            }
            // `ping`, and whatever comes later.
            _ => Ok(()),
        }
    }

    fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        let answer: Value = envelope::event(text, WHAT)?;
        if let Some(fault) = Fault::find(&answer) {
            return Err(fault.error());
        }
        let Some(blocks) = answer.get("content").and_then(Value::as_array) else {
            return Err(envelope::no_such(WHAT));
        };
        let reason = answer.get("stop_reason");
        let is_cut = read_stop(reason)? == Some(StopReason::Length);
        for (index, block) in (0..).zip(sure(blocks, is_cut)) {
            self.begin(index, block, (text, draft))?;
            self.end(index, draft)?;
        }
        self.spend(answer.get("usage"), draft);
        stop(reason, draft)
    }
}

impl Blocks {
    fn begin(
        &mut self,
        index: i64,
        block: &Value,
        (event, draft): (&str, &mut Draft),
    ) -> Result<(), Error> {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => {
                draft.say(text("text"));
                Ok(())
            }
            "thinking" => {
                draft.pause();
                self.thinking = Some((index, text("signature").to_owned()));
                draft.think(text("thinking"))
            }
            "redacted_thinking" => {
                draft.pause();
                draft.seal(json!({"type": "redacted_thinking", "data": text("data")}))
            }
            "tool_use" => {
                let input = block.get("input").filter(|input| *input != &json!({}));
                draft.open(index);
                let piece = Piece {
                    index: Some(index),
                    id: text("id").to_owned(),
                    name: text("name").to_owned(),
                    args: args::text_of(input, event),
                };
                draft.pieces(vec![piece]).map(|_| ())
            }
            // Blocks of tools that run at the provider's, which nobody asked for.
            _ => Ok(()),
        }
    }

    fn grow(&mut self, index: i64, delta: &Value, draft: &mut Draft) -> Result<(), Error> {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => {
                draft.say(text("text"));
                Ok(())
            }
            "thinking_delta" => draft.think(text("thinking")),
            "signature_delta" => {
                if let Some((open, signature)) = &mut self.thinking
                    && *open == index
                {
                    signature.push_str(text("signature"));
                }
                Ok(())
            }
            // Pieces of a block that never began, or has ended, belong to no call.
            "input_json_delta" if draft.is_open(index) => {
                let piece = Piece {
                    index: Some(index),
                    args: text("partial_json").to_owned(),
                    ..Piece::default()
                };
                draft.pieces(vec![piece]).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, index: i64, draft: &mut Draft) -> Result<(), Error> {
        draft.close(index);
        match self.thinking.take_if(|(open, _)| *open == index) {
            Some((_, signature)) if !signature.is_empty() => {
                draft.seal(json!({"type": "thinking", "signature": signature}))
            }
            Some(_) => {
                draft.pause();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The first event tells what was read, the last what was written; either may tell both.
    fn spend(&mut self, usage: Option<&Value>, draft: &mut Draft) {
        if let Some(Value::Object(usage)) = usage {
            let known = usage.iter().filter(|(_, value)| !value.is_null());
            for (key, value) in known.filter(|(key, _)| COUNTED.contains(&key.as_str())) {
                self.usage.insert(key.clone(), value.clone());
            }
        }
        let usage = Value::Object(self.usage.clone());
        let cached = tokens(&usage, "/cache_read_input_tokens");
        let written = tokens(&usage, "/cache_creation_input_tokens");
        let output_tokens = tokens(&usage, "/output_tokens");
        let thought = tokens(&usage, "/output_tokens_details/thinking_tokens");
        draft.spend(Usage {
            input_tokens: tokens(&usage, "/input_tokens") + cached + written,
            output_tokens,
            cached_tokens: cached,
            kept_tokens: written,
            reasoning_tokens: thought.min(output_tokens),
            ..Usage::default()
        });
    }
}

const COUNTED: [&str; 5] = [
    "input_tokens",
    "output_tokens",
    "output_tokens_details",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];

/// The blocks of a whole answer without the call that it was cut in: how much of its arguments is missing does not show.
fn sure(blocks: &[Value], is_cut: bool) -> &[Value] {
    let is_call = |block: &Value| block.get("type").is_some_and(|kind| kind == "tool_use");
    match blocks.split_last() {
        Some((last, sure)) if is_cut && is_call(last) => sure,
        Some(_) | None => blocks,
    }
}

fn stop(reason: Option<&Value>, draft: &mut Draft) -> Result<(), Error> {
    if let Some(stop) = read_stop(reason)? {
        draft.stop(stop);
    }
    Ok(())
}

fn read_stop(reason: Option<&Value>) -> Result<Option<StopReason>, Error> {
    let Some(reason) = reason.and_then(Value::as_str) else {
        return Ok(None);
    };
    Ok(Some(match reason {
        "end_turn" | "stop_sequence" => StopReason::End,
        "tool_use" => StopReason::Calls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Filtered,
        // Such as `pause_turn`, which only its own tools make.
        other => return Err(stopped_for(other)),
    }))
}
