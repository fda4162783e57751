//! Chat: one line of a stream as it is on the wire, of which an answer in one piece is the only one.

use serde_json::Value;

use super::super::args;
use super::super::calls::Piece;
use super::super::decode::Dialect;
use super::super::draft::{Draft, stopped_for, tokens};
use super::super::envelope;
use super::super::fault::Fault;
use crate::words::error::Error;
use crate::words::message::{StopReason, Usage};

/// The dialect of chat.
#[derive(Debug, Default)]
pub(in crate::rules::codec) struct Chat {
    /// Calls so far: each comes whole, and some servers number none of them.
    calls: i64,
}

const WHAT: &str = "chat";

impl Dialect for Chat {
    fn event(&mut self, event: &str, draft: &mut Draft) -> Result<(), Error> {
        let line: Value = envelope::event(event, WHAT)?;
        if let Some(fault) = Fault::find(&line) {
            return Err(fault.error());
        }
        let done = line.get("done").and_then(Value::as_bool);
        if done.is_none() && line.get("message").is_none() {
            return Err(envelope::no_such(WHAT));
        }
        let message = line.get("message").unwrap_or(&Value::Null);
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        draft.think(text("thinking"))?;
        draft.say(text("content"));
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.map(Vec::as_slice).unwrap_or_default() {
            draft.pieces(vec![self.call(call, event)])?;
        }
        if done == Some(true) {
            draft.end();
            draft.spend(read_usage(&line));
            draft.stop(read_stop(line.get("done_reason"))?);
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error> {
        self.event(text, draft)
    }
}

impl Chat {
    fn call(&mut self, call: &Value, event: &str) -> Piece {
        let text = |pointer: &str| {
            let text = call.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        self.calls = self.calls.saturating_add(1);
        Piece {
            index: Some(self.calls),
            id: text("/id"),
            name: text("/function/name"),
            args: args::text_of(call.pointer("/function/arguments"), event),
        }
    }
}

fn read_stop(reason: Option<&Value>) -> Result<StopReason, Error> {
    match reason.and_then(Value::as_str) {
        // Older servers give none.
        None | Some("stop" | "") => Ok(StopReason::End),
        Some("length") => Ok(StopReason::Length),
        // Such as `load` and `unload`: whatever it is, it is no end.
        Some(other) => Err(stopped_for(other)),
    }
}

fn read_usage(line: &Value) -> Usage {
    Usage {
        input_tokens: tokens(line, "/prompt_eval_count"),
        output_tokens: tokens(line, "/eval_count"),
        ..Usage::default()
    }
}
