//! Messages as Anthropic defined them: the request. The answer's side is in `decode`.
//!
//! Marks for its cache stand where a later prompt is still the same: after the tools, after the
//! instructions, and after what was said last.

mod decode;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use self::decode::Blocks;
use super::attached::looked_at;
use super::names::ToolNames;
use super::{Target, args, at_most, merged, schemas, with};
use crate::words::attachment::Attachment;
use crate::words::id::Digest;
use crate::words::limits::REPLY_TOKENS;
use crate::words::message::{Card, Message, Prompt, Reply, Thought};

/// Writes a prompt as a request for a stream.
pub(super) fn encode(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<u8> {
    let mut own = Map::new();
    own.insert("max_tokens".to_owned(), json!(REPLY_TOKENS));
    if let Some(schema) = &prompt.shape {
        let format = json!({"type": "json_schema", "schema": schemas::closed(schema)});
        own.insert("output_config".to_owned(), json!({"format": format}));
    }
    if prompt.answer_only && !prompt.cards.is_empty() {
        own.insert("tool_choice".to_owned(), json!({"type": "none"}));
    }
    let mut tools: Vec<Value> = prompt.cards.iter().map(|card| tool(card, names)).collect();
    mark(tools.last_mut());
    let (steady, rest) = instructions(prompt);
    let mut system: Vec<Value> = steady.map(text).into_iter().collect();
    mark(system.last_mut());
    system.extend(rest.map(text));
    let request = Request {
        model: target.model,
        stream: target.streams,
        rest: at_most(merged(own, target.extra), &["max_tokens"], prompt.most),
        tools,
        system,
        messages: messages(target, prompt, names),
    };
    // Text and JSON values with text as keys always have a JSON form.
    serde_json::to_vec(&request).unwrap_or_default()
}

/// What every prompt of the run is told, and behind the mark what only this one is and later ones are.
fn instructions(prompt: &Prompt) -> (Option<&str>, Option<&str>) {
    let whole = prompt.instructions.as_str();
    let at = Some(prompt.steady).filter(|at| *at > 0);
    let parts = at.and_then(|at| whole.split_at_checked(at));
    let (steady, rest) = parts.unwrap_or((whole, ""));
    let is_said = |text: &&str| !text.trim().is_empty();
    (
        Some(steady).filter(is_said),
        Some(rest.trim_start()).filter(is_said),
    )
}

/// Tools and instructions stand before the messages: they change less often.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Value>,
    messages: Vec<Turn>,
}

/// What one side says, until the other does.
#[derive(Serialize)]
struct Turn {
    role: &'static str,
    content: Vec<Value>,
}

fn tool(card: &Card, names: &ToolNames) -> Value {
    json!({
        "name": names.wire(&card.name),
        "description": card.description,
        "input_schema": schemas::of_object(&card.input),
    })
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn mark(block: Option<&mut Value>) {
    // Thoughts take no mark.
    if let Some(Value::Object(block)) = block
        && !is_thought(block)
    {
        let kind = json!({"type": "ephemeral"});
        block.insert("cache_control".to_owned(), kind);
    }
}

fn is_thought(block: &Map<String, Value>) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("thinking" | "redacted_thinking"))
}

/// The two sides take turns, and none says nothing: neighbours of one side go together, and empty text is
/// left out, since the provider refuses both.
fn messages(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in &prompt.messages {
        let (role, content) = match message {
            Message::User { text, attached } => ("user", user(text, attached)),
            Message::Assistant(reply) => ("assistant", assistant(target, reply, names)),
            Message::Tool { id, observation } => {
                let block = json!({"type": "tool_result", "tool_use_id": wire_id(id)});
                let text = Some(&observation.text).filter(|text| !text.is_empty());
                let block = with(block, "content", text.map(|text| json!(text)));
                let block = with(
                    block,
                    "is_error",
                    (!observation.ok).then_some(Value::Bool(true)),
                );
                ("user", vec![block])
            }
        };
        match turns.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => turns.push(Turn { role, content }),
        }
    }
    mark(turns.last_mut().and_then(|turn| turn.content.last_mut()));
    turns
}

/// What is looked at stands before what is said of it.
fn user(said: &str, attached: &[Attachment]) -> Vec<Value> {
    let looked_at = looked_at(attached).map(|one| {
        let source = json!({"type": "base64", "media_type": one.mime, "data": one.base64});
        if one.is_picture {
            json!({"type": "image", "source": source})
        } else {
            json!({"type": "document", "title": one.name, "source": source})
        }
    });
    looked_at.chain(said_text(said)).collect()
}

fn said_text(said: &str) -> Option<Value> {
    (!said.trim().is_empty()).then(|| text(said))
}

/// Each thought stands before what it led to.
fn assistant(target: &Target<'_>, reply: &Reply, names: &ToolNames) -> Vec<Value> {
    let thoughts = reply.thoughts_to(target.by, None);
    let mut blocks: Vec<Value> = thoughts.filter_map(thought).collect();
    blocks.extend(said_text(&reply.text));
    for call in &reply.calls {
        let thoughts = reply.thoughts_to(target.by, Some(&call.id));
        blocks.extend(thoughts.filter_map(thought));
        blocks.push(json!({
            "type": "tool_use",
            "id": wire_id(&call.id),
            "name": names.wire(&call.tool),
            "input": args::object(&call.args),
        }));
    }
    blocks
}

/// The block that the thought was; none where the provider has not signed it.
fn thought(thought: &Thought) -> Option<Value> {
    let mut block = thought.opaque.as_object()?.clone();
    if block.contains_key("signature") {
        block.insert("thinking".to_owned(), json!(thought.text));
    }
    Some(Value::Object(block))
}

/// An id in the characters that the provider takes. Its own are; another's, after a change of models, may
/// not be.
fn wire_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !id.is_empty() && id.chars().all(fits) {
        id.to_owned()
    } else {
        format!("call_{}", Digest::of(id.as_bytes()).short())
    }
}

#[cfg(test)]
mod tests;
