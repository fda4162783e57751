//! Responses: one event of a stream, or an answer in one piece, as it is on the wire.
//!
//! An answer is a list of items. Text is taken as it comes; calls and thoughts only once their item is done,
//! since what comes before may be less than all.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::calls::Piece;
use super::super::decode::Dialect;
use super::super::draft::{Draft, stopped_for, tokens};
use super::super::envelope;
use super::super::fault::Fault;
use crate::words::error::Error;
use crate::words::limits::CALLS_PER_TURN;
use crate::words::message::{StopReason, Usage};

/// The dialect of responses.
#[derive(Debug, Default)]
pub(in crate::rules::codec) struct Items {
    /// Whether the text of the message that is open has come in pieces.
    said: bool,
    /// Items that were done: one counts once.
    done: BTreeSet<i64>,
}

const WHAT: &str = "response";

impl Dialect for Items {
    fn event(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        // Some servers and proxies end so, as in their chat completions.
        if text == "[DONE]" {
            return Ok(());
        }
        let event: Value = envelope::event(text, WHAT)?;
        if let Some(fault) = Fault::find(&event) {
            return Err(fault.error());
        }
        let Some(kind) = event.get("type").and_then(Value::as_str) else {
            return Err(envelope::no_such(WHAT));
        };
        let index = event.get("output_index").and_then(Value::as_i64);
        let index = index.unwrap_or(0);
        let delta = event.get("delta").and_then(Value::as_str);
        let delta = delta.unwrap_or_default();
        match kind {
            "response.output_item.added" => match event.get("item") {
                Some(item) => self.begin(index, item, draft),
                None => Ok(()),
            },
            "response.output_text.delta" | "response.refusal.delta" => {
                self.said |= !delta.is_empty();
                draft.say(delta);
                Ok(())
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                draft.think(delta)
            }
            "response.output_item.done" => match event.get("item") {
                Some(item) => self.end(index, item, draft),
                None => Ok(()),
            },
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = event.get("response").unwrap_or(&Value::Null);
                draft.end();
                finished(response, draft)
            }
            _ => Ok(()),
        }
    }

    fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        let answer: Value = envelope::event(text, WHAT)?;
        if let Some(fault) = Fault::find(&answer) {
            return Err(fault.error());
        }
        let Some(items) = answer.get("output").and_then(Value::as_array) else {
            return Err(envelope::no_such(WHAT));
        };
        for (index, item) in (0..).zip(items) {
            self.begin(index, item, draft)?;
            self.end(index, item, draft)?;
        }
        finished(&answer, draft)
    }
}

impl Items {
    fn begin(&mut self, index: i64, item: &Value, draft: &mut Draft) -> Result<(), Error> {
        self.said = false;
        match kind(item) {
            // Its name is not shown before all of it is there.
            "function_call" => {
                draft.open(index);
                check_open(draft)
            }
            "reasoning" => {
                draft.pause();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, index: i64, item: &Value, draft: &mut Draft) -> Result<(), Error> {
        let said = std::mem::take(&mut self.said);
        match kind(item) {
            "message" if !said => {
                for text in parts(item, "content") {
                    draft.say(text);
                }
                Ok(())
            }
            "reasoning" => {
                if !draft.is_thinking() {
                    for text in parts(item, "summary").chain(parts(item, "content")) {
                        draft.think(text)?;
                    }
                }
                draft.seal(kept(item))
            }
            "function_call" => {
                // An item that is not whole stays open, and with it the answer.
                let status = item.get("status").and_then(Value::as_str);
                if matches!(status, Some("in_progress" | "incomplete")) {
                    draft.open(index);
                    return Ok(());
                }
                draft.close(index);
                if !self.done.insert(index) {
                    return Ok(());
                }
                let text = |key: &str| {
                    let text = item.get(key).and_then(Value::as_str);
                    text.unwrap_or_default().to_owned()
                };
                let piece = Piece {
                    index: Some(index),
                    id: text("call_id"),
                    name: text("name"),
                    args: text("arguments"),
                };
                draft.pieces(vec![piece]).map(|_| ())
            }
            _ => Ok(()),
        }
    }
}

fn check_open(draft: &Draft) -> Result<(), Error> {
    let open = draft.open_calls();
    if open > CALLS_PER_TURN {
        let what = "the number of calls in one reply";
        return Err(Error::too_many(what, CALLS_PER_TURN, open));
    }
    Ok(())
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The texts of an item's parts.
fn parts<'a>(item: &'a Value, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let parts = item.get(key).and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default().iter();
    parts.filter_map(|part| part.get("text").or(part.get("refusal"))?.as_str())
}

/// A thought's item as it is told back: all but how far it is.
fn kept(item: &Value) -> Value {
    let mut kept = item.clone();
    if let Some(kept) = kept.as_object_mut() {
        kept.remove("status");
    }
    kept
}

/// What the answer as a whole says of its end.
fn finished(response: &Value, draft: &mut Draft) -> Result<(), Error> {
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        draft.spend(read_usage(usage));
    }
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        return Err(Fault::of(error).error());
    }
    let status = response.get("status").and_then(Value::as_str);
    let reason = response.pointer("/incomplete_details/reason");
    draft.stop(match (status, reason.and_then(Value::as_str)) {
        (Some("completed"), _) => StopReason::End,
        (Some("incomplete"), Some("max_output_tokens" | "max_tokens")) => StopReason::Length,
        (Some("incomplete"), Some("content_filter")) => StopReason::Filtered,
        (status, reason) => {
            return Err(stopped_for(reason.or(status).unwrap_or_default()));
        }
    });
    Ok(())
}

fn read_usage(usage: &Value) -> Usage {
    let input_tokens = tokens(usage, "/input_tokens");
    let output_tokens = tokens(usage, "/output_tokens");
    let cached = tokens(usage, "/input_tokens_details/cached_tokens");
    let kept = tokens(usage, "/input_tokens_details/cache_write_tokens");
    let reasoning = tokens(usage, "/output_tokens_details/reasoning_tokens");
    Usage {
        input_tokens,
        output_tokens,
        cached_tokens: cached.min(input_tokens),
        kept_tokens: kept.min(input_tokens),
        reasoning_tokens: reasoning.min(output_tokens),
        ..Usage::default()
    }
}
