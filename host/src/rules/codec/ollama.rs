//! Chat as Ollama defined it: the request. The answer's side is in `decode`.

mod decode;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use self::decode::Chat;
use super::attached::looked_at;
use super::names::ToolNames;
use super::{Target, args, at_most, merged, schemas, with};
use crate::words::message::{Card, Message, Prompt, Reply, Thought, ToolCall};

/// Writes a prompt as a request for a stream.
pub(super) fn encode(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<u8> {
    let mut own = Map::new();
    if let Some(schema) = &prompt.shape {
        own.insert("format".to_owned(), schema.clone());
    }
    // There is no other way to say that nothing may be called.
    let cards = prompt.cards.iter().filter(|_| !prompt.answer_only);
    let tools = cards.map(|card| tool(card, names)).collect();
    let request = Request {
        model: target.model,
        stream: target.streams,
        rest: at_most(
            merged(own, target.extra),
            &["options", "num_predict"],
            prompt.most,
        ),
        tools,
        messages: messages(target, prompt, names),
    };
    // Text and JSON values with text as keys always have a JSON form.
    serde_json::to_vec(&request).unwrap_or_default()
}

/// Tools stand before the messages: they change less often.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    messages: Vec<Value>,
}

fn tool(card: &Card, names: &ToolNames) -> Value {
    let function = json!({
        "name": names.wire(&card.name),
        "description": card.description,
        "parameters": schemas::of_object(&card.input),
    });
    json!({"type": "function", "function": function})
}

fn messages(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<Value> {
    let mut messages = Vec::new();
    if !prompt.instructions.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.instructions}));
    }
    // Outcomes are told apart by the name of their tool, and by their order.
    let mut called: BTreeMap<&str, String> = BTreeMap::new();
    for message in &prompt.messages {
        messages.push(match message {
            Message::User { text, attached } => {
                let pictures = looked_at(attached).filter(|one| one.is_picture);
                let pictures: Vec<String> = pictures.map(|one| one.base64).collect();
                let message = json!({"role": "user", "content": text});
                with(
                    message,
                    "images",
                    (!pictures.is_empty()).then(|| json!(pictures)),
                )
            }
            Message::Assistant(reply) => {
                let calls = reply.calls.iter();
                called.extend(calls.map(|call| (call.id.as_str(), names.wire(&call.tool))));
                assistant(target, reply, names)
            }
            Message::Tool { id, observation } => json!({
                "role": "tool",
                "tool_name": called.get(id.as_str()).cloned().unwrap_or_default(),
                "tool_call_id": id,
                "content": observation.text,
            }),
        });
    }
    messages
}

fn assistant(target: &Target<'_>, reply: &Reply, names: &ToolNames) -> Value {
    let message = json!({"role": "assistant", "content": reply.text});
    let thought = |thought: &Thought| thought.text.clone();
    let thinking: String = reply.thoughts_by(target.by).iter().map(thought).collect();
    let thinking = (!thinking.is_empty()).then(|| json!(thinking));
    let call = |(index, call): (usize, &ToolCall)| {
        let name = names.wire(&call.tool);
        let function = json!({"index": index, "name": name, "arguments": args::object(&call.args)});
        json!({"id": call.id, "function": function})
    };
    let calls: Vec<Value> = reply.calls.iter().enumerate().map(call).collect();
    let calls = (!calls.is_empty()).then(|| json!(calls));
    with(with(message, "thinking", thinking), "tool_calls", calls)
}

#[cfg(test)]
mod tests;
