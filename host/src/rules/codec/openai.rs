//! Chat completions as OpenAI defined them and Ollama, llama.cpp and vLLM speak them: the request.
//!
//! The answer's side is in `decode`. The same prompt always becomes the same
//! bytes, and a longer one begins with the shorter one's, so that a provider may cache what it has
//! read. Nothing is left out or shortened here: that was decided before.

mod decode;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use self::decode::Completion;
use super::attached::looked_at;
use super::names::ToolNames;
use super::{Target, args, at_most, merged, schemas};
use crate::words::attachment::Attachment;
use crate::words::message::{Card, Message, Prompt, Reply, WishedArgs};

/// Where an answer's bound is said: where the operator says one, since older servers know only the older name.
fn most_key(target: &Target<'_>) -> &'static str {
    match target.extra.contains_key("max_tokens") {
        true => "max_tokens",
        false => "max_completion_tokens",
    }
}

/// Writes a prompt as a request for a stream with its usage at the end.
///
/// Instructions are the first message and the only one of the system's; there is none where they
/// are empty. Arguments that are no JSON go back as the text that the model gave.
pub(super) fn encode(target: &Target<'_>, prompt: &Prompt, names: &ToolNames) -> Vec<u8> {
    let mut own = Map::new();
    if target.streams {
        own.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(schema) = &prompt.shape {
        let strict = schemas::is_strict(schema);
        let shape = json!({"name": "answer", "schema": schema, "strict": strict});
        let format = json!({"type": "json_schema", "json_schema": shape});
        own.insert("response_format".to_owned(), format);
    }
    if prompt.answer_only && !prompt.cards.is_empty() {
        own.insert("tool_choice".to_owned(), json!("none"));
    }
    let system = Some(WireMessage::System {
        content: &prompt.instructions,
    })
    .filter(|_| !prompt.instructions.is_empty());
    let said = prompt
        .messages
        .iter()
        .map(|message| wire_message(message, names));
    let request = Request {
        model: target.model,
        stream: target.streams,
        rest: at_most(merged(own, target.extra), &[most_key(target)], prompt.most),
        tools: prompt
            .cards
            .iter()
            .map(|card| wire_tool(card, names))
            .collect(),
        messages: system.into_iter().chain(said).collect(),
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
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Said<'a>,
    },
    /// `content` is null beside calls: servers differ on empty text there, and agree on null.
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// Words alone are a text: servers that look at nothing take nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Text(&'a str),
    Parts(Vec<Value>),
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: String,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireCard<'a>,
}

#[derive(Serialize)]
struct WireCard<'a> {
    name: String,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

fn said<'a>(text: &'a str, attached: &[Attachment]) -> Said<'a> {
    let looked_at = looked_at(attached).map(|one| {
        if one.is_picture {
            json!({"type": "image_url", "image_url": {"url": one.url()}})
        } else {
            json!({"type": "file", "file": {"filename": one.name, "file_data": one.url()}})
        }
    });
    let parts: Vec<Value> = looked_at.collect();
    if parts.is_empty() {
        return Said::Text(text);
    }
    let words = json!({"type": "text", "text": text});
    Said::Parts(parts.into_iter().chain([words]).collect())
}

fn wire_message<'a>(message: &'a Message, names: &ToolNames) -> WireMessage<'a> {
    match message {
        Message::User { text, attached } => WireMessage::User {
            content: said(text, attached),
        },
        Message::Assistant(Reply { text, calls, .. }) => WireMessage::Assistant {
            content: (!text.is_empty() || calls.is_empty()).then_some(text),
            tool_calls: calls
                .iter()
                .map(|call| WireCall {
                    id: &call.id,
                    r#type: "function",
                    function: WireFunction {
                        name: names.wire(&call.tool),
                        arguments: wire_args(&call.args),
                    },
                })
                .collect(),
        },
        Message::Tool { id, observation } => WireMessage::Tool {
            tool_call_id: id,
            content: &observation.text,
        },
    }
}

/// Arguments as the text that this format wants them in.
fn wire_args(args: &WishedArgs) -> Cow<'_, str> {
    match args {
        WishedArgs::Json(value) => Cow::Owned(value.to_string()),
        // Some servers parse the history's arguments again and fail on what is no JSON object.
        WishedArgs::Broken(text) => Cow::Owned(args::broken(text).to_string()),
    }
}

fn wire_tool<'a>(card: &'a Card, names: &ToolNames) -> WireTool<'a> {
    WireTool {
        r#type: "function",
        function: WireCard {
            name: names.wire(&card.name),
            description: &card.description,
            parameters: schemas::of_object(&card.input),
        },
    }
}

#[cfg(test)]
mod tests;
