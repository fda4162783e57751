//! Responses as OpenAI defined them: the request. The answer's side is in `decode`.
//!
//! Nothing is kept there between requests (`store` is false): a run is in the journal and nowhere else, so
//! thoughts come and go as ciphertext.

mod decode;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use self::decode::Items;
use super::attached::looked_at;
use super::names::ToolNames;
use super::{Target, args, at_most, merged, schemas};
use crate::words::attachment::Attachment;
use crate::words::message::{Card, Message, Prompt, Reply, Thought, WishedArgs};

/// Writes a prompt as a request for a stream.
pub(super) fn encode(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<u8> {
    let mut own = Map::new();
    if let Some(schema) = &prompt.shape {
        let strict = schemas::is_strict(schema);
        let format =
            json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": strict});
        own.insert("text".to_owned(), json!({"format": format}));
    }
    if prompt.answer_only && !prompt.cards.is_empty() {
        own.insert("tool_choice".to_owned(), json!("none"));
    }
    let request = Request {
        model: target.model,
        stream: target.streams,
        store: false,
        rest: at_most(
            merged(own, target.extra),
            &["max_output_tokens"],
            prompt.most,
        ),
        tools: prompt.cards.iter().map(|card| tool(card, names)).collect(),
        instructions: &prompt.instructions,
        input: input(target, prompt, names),
    };
    // Text and JSON values with text as keys always have a JSON form.
    serde_json::to_vec(&request).unwrap_or_default()
}

/// Tools and instructions stand before what was said: they change less often.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Value>,
}

/// Not `strict`, which is the default here: it refuses schemas with anything optional.
fn tool(card: &Card, names: &ToolNames) -> Value {
    json!({
        "type": "function",
        "name": names.wire(&card.name),
        "description": card.description,
        "parameters": schemas::of_object(&card.input),
        "strict": false,
    })
}

fn input(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<Value> {
    let mut items = Vec::new();
    for message in &prompt.messages {
        match message {
            Message::User { text, attached } => {
                items.push(json!({"role": "user", "content": said(text, attached)}));
            }
            Message::Assistant(reply) => assistant(target, reply, names, &mut items),
            Message::Tool { id, observation } => items.push(json!({
                "type": "function_call_output",
                "call_id": id,
                "output": observation.text,
            })),
        }
    }
    items
}

/// Words alone are a text.
fn said(text: &str, attached: &[Attachment]) -> Value {
    let looked_at = looked_at(attached).map(|one| {
        if one.is_picture {
            json!({"type": "input_image", "image_url": one.url()})
        } else {
            json!({"type": "input_file", "filename": one.name, "file_data": one.url()})
        }
    });
    let parts: Vec<Value> = looked_at.collect();
    if parts.is_empty() {
        return json!(text);
    }
    let words = json!({"type": "input_text", "text": text});
    parts.into_iter().chain([words]).collect()
}

/// Each thought stands before what it led to; without that, it would be refused.
fn assistant(target: &Target<'_>, reply: &Reply, names: &ToolNames, items: &mut Vec<Value>) {
    if !reply.text.is_empty() {
        items.extend(reply.thoughts_to(target.by, None).filter_map(thought));
        items.push(json!({"role": "assistant", "content": reply.text}));
    }
    for call in &reply.calls {
        let thoughts = reply.thoughts_to(target.by, Some(&call.id));
        items.extend(thoughts.filter_map(thought));
        let arguments = match &call.args {
            WishedArgs::Json(value) => value.to_string(),
            WishedArgs::Broken(text) => args::broken(text).to_string(),
        };
        items.push(json!({
            "type": "function_call",
            "call_id": call.id,
            "name": names.wire(&call.tool),
            "arguments": arguments,
        }));
    }
}

/// The item that the thought was; none where the provider would have to remember it.
fn thought(thought: &Thought) -> Option<Value> {
    let sealed = thought.opaque.get("encrypted_content")?;
    sealed.is_string().then(|| thought.opaque.clone())
}

#[cfg(test)]
mod tests;
