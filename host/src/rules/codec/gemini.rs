//! Generated content as Google's Gemini defined it: the request. The answer's side is in `decode`.

mod decode;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use self::decode::Content;
use super::attached::{Looked, looked_at};
use super::calls::is_made_up;
use super::names::ToolNames;
use super::{Target, args, at_most, merged, schemas, with};
use crate::words::message::{Card, Message, Observation, Prompt, Reply};

/// What stands for the signature of a call that another provider made: without any, newer models refuse the
/// history (Google's documentation of thought signatures).
const FOREIGN: &str = "skip_thought_signature_validator";

/// Writes a prompt as a request; that it is for a stream is said in the URL.
pub(super) fn encode(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<u8> {
    let mut own = Map::new();
    if let Some(schema) = &prompt.shape {
        let config = json!({
            "responseMimeType": "application/json",
            "responseSchema": schemas::open_api(schema),
        });
        own.insert("generationConfig".to_owned(), config);
    }
    if prompt.answer_only && !prompt.cards.is_empty() {
        let config = json!({"functionCallingConfig": {"mode": "NONE"}});
        own.insert("toolConfig".to_owned(), config);
    }
    let tools: Vec<Value> = prompt.cards.iter().map(|card| tool(card, names)).collect();
    let request = Request {
        rest: at_most(
            merged(own, target.extra),
            &["generationConfig", "maxOutputTokens"],
            prompt.most,
        ),
        tools: (!tools.is_empty()).then(|| json!([{"functionDeclarations": tools}])),
        system_instruction: (!prompt.instructions.is_empty())
            .then(|| json!({"parts": [{"text": prompt.instructions}]})),
        contents: contents(target, prompt, names),
    };
    // Text and JSON values with text as keys always have a JSON form.
    serde_json::to_vec(&request).unwrap_or_default()
}

/// Tools and instructions stand before what was said: they change less often.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(flatten)]
    rest: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    contents: Vec<Turn>,
}

/// What one side says, until the other does.
#[derive(Serialize)]
struct Turn {
    role: &'static str,
    parts: Vec<Value>,
}

/// An object without properties is refused, so a tool without arguments has no parameters.
fn tool(card: &Card, names: &ToolNames) -> Value {
    let tool = json!({"name": names.wire(&card.name), "description": card.description});
    let parameters = schemas::open_api(&schemas::of_object(&card.input));
    let has_any = parameters.get("properties").is_some();
    with(tool, "parameters", has_any.then_some(parameters))
}

/// The two sides take turns, and none says nothing; the outcomes of one turn's calls go together.
fn contents(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut called: BTreeMap<&str, String> = BTreeMap::new();
    for message in &prompt.messages {
        let (role, parts) = match message {
            Message::User { text, attached } => {
                let inline = |one: Looked<'_>| json!({"inlineData": {"mimeType": one.mime, "data": one.base64}});
                let looked_at = looked_at(attached).map(inline);
                ("user", looked_at.chain([json!({"text": text})]).collect())
            }
            Message::Assistant(reply) => {
                let calls = reply.calls.iter();
                called.extend(calls.map(|call| (call.id.as_str(), names.wire(&call.tool))));
                ("model", model(target, reply, names))
            }
            Message::Tool { id, observation } => {
                let name = called.get(id.as_str()).cloned().unwrap_or_default();
                ("user", vec![outcome(id, &name, observation)])
            }
        };
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(parts),
            Some(_) | None => turns.push(Turn { role, parts }),
        }
    }
    turns
}

fn outcome(id: &str, name: &str, observation: &Observation) -> Value {
    let key = if observation.ok { "output" } else { "error" };
    let response = json!({key: observation.text});
    let outcome = json!({"name": name, "response": response});
    json!({"functionResponse": with(outcome, "id", own_id(id))})
}

/// An id that the provider gave, or another one before it.
fn own_id(id: &str) -> Option<Value> {
    (!is_made_up(id)).then(|| json!(id))
}

/// A signature goes back with the part that it came with.
fn model(target: &Target<'_>, reply: &Reply, names: &ToolNames) -> Vec<Value> {
    let signature = |call| {
        let mut thoughts = reply.thoughts_to(target.by, call).rev();
        thoughts.find_map(|thought| thought.opaque.get("thoughtSignature").cloned())
    };
    let mut parts = Vec::new();
    if !reply.text.is_empty() {
        let part = json!({"text": reply.text});
        parts.push(with(part, "thoughtSignature", signature(None)));
    }
    for (place, call) in reply.calls.iter().enumerate() {
        let name = names.wire(&call.tool);
        let wish = json!({"name": name, "args": args::object(&call.args)});
        let part = json!({"functionCall": with(wish, "id", own_id(&call.id))});
        let is_foreign = place == 0 && reply.by != target.by;
        let foreign = is_foreign.then(|| json!(FOREIGN));
        let signature = signature(Some(&call.id)).or(foreign);
        parts.push(with(part, "thoughtSignature", signature));
    }
    parts
}

#[cfg(test)]
mod tests;
