//! Chat completions as OpenAI defined them and Ollama, llama.cpp and vLLM speak them: the request.
//!
//! The answer's side is in `decode`, `chunk` and `calls`. The same prompt always becomes the same
//! bytes, and a longer one begins with the shorter one's, so that a provider may cache what it has
//! read. Nothing is left out or shortened here: that was decided before.

mod calls;
mod chunk;
mod decode;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::decode::{Decoder, decode_whole};
use super::names::ToolNames;
use crate::words::message::{Card, Message, Prompt, Reply, WishedArgs};

/// A request's body, and the table that its answer is read with.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// JSON text.
    pub body: Vec<u8>,
    /// Which of our names stands for which name in it.
    pub names: ToolNames,
}

/// Writes a prompt for `model` as a request for a stream with its usage at the end.
///
/// Instructions are the first message and the only one of the system's; there is none where they
/// are empty. Arguments that are no JSON go back as the text that the model gave.
#[must_use]
pub fn encode(model: &str, prompt: &Prompt) -> Encoded {
    let names = ToolNames::new(prompt.cards.iter().map(|card| card.name.as_str()));
    let system = Some(WireMessage::System {
        content: &prompt.instructions,
    })
    .filter(|_| !prompt.instructions.is_empty());
    let said = prompt
        .messages
        .iter()
        .map(|message| wire_message(message, &names));
    let request = Request {
        model,
        tools: prompt
            .cards
            .iter()
            .map(|card| wire_tool(card, &names))
            .collect(),
        messages: system.into_iter().chain(said).collect(),
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
    };
    // Text and JSON values with text as keys always have a JSON form.
    let body = serde_json::to_vec(&request).unwrap_or_default();
    Encoded { body, names }
}

/// Tools stand before the messages: they change less often.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
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

fn wire_message<'a>(message: &'a Message, names: &ToolNames) -> WireMessage<'a> {
    match message {
        Message::User { text } => WireMessage::User { content: text },
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
        WishedArgs::Broken(text) => {
            Cow::Owned(serde_json::json!({"broken_arguments": text}).to_string())
        }
    }
}

fn wire_tool<'a>(card: &'a Card, names: &ToolNames) -> WireTool<'a> {
    WireTool {
        r#type: "function",
        function: WireCard {
            name: names.wire(&card.name),
            description: &card.description,
            parameters: parameters(&card.input),
        },
    }
}

/// A schema as providers take it: of an object that names its properties, even where it has none.
fn parameters(schema: &Value) -> Cow<'_, Value> {
    match schema.as_object() {
        Some(known) if known.contains_key("type") && known.contains_key("properties") => {
            Cow::Borrowed(schema)
        }
        Some(known) => {
            let mut whole = known.clone();
            whole.entry("type").or_insert_with(|| json!("object"));
            whole.entry("properties").or_insert_with(|| json!({}));
            Cow::Owned(Value::Object(whole))
        }
        None => Cow::Owned(json!({"type": "object", "properties": {}})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Label;
    use crate::words::message::{Observation, ToolCall};

    fn call(id: &str, tool: &str, args: WishedArgs) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            tool: tool.to_owned(),
            args,
        }
    }

    fn card(name: &str, input: Value) -> Card {
        Card {
            name: name.to_owned(),
            description: "does it".to_owned(),
            input,
            output: json!({}),
        }
    }

    fn prompt() -> Prompt {
        let observation = Observation {
            text: "3".to_owned(),
            ok: true,
            label: Label::default(),
            flags: Vec::new(),
        };
        let calls = vec![
            call("a", "text.count", WishedArgs::Json(json!({"n": 1}))),
            call("b", "rm -rf", WishedArgs::Broken("{\"x".to_owned())),
        ];
        Prompt {
            instructions: "Be brief.".to_owned(),
            cards: vec![
                card(
                    "text.count",
                    json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
                ),
                card("clock.now", json!({"type": "object"})),
                card("x.any", json!(true)),
            ],
            messages: vec![
                Message::User {
                    text: "Count.".to_owned(),
                },
                Message::Assistant(Reply {
                    calls,
                    ..Reply::default()
                }),
                Message::Tool {
                    id: "a".to_owned(),
                    observation,
                },
                Message::Assistant(Reply {
                    text: "Three.".to_owned(),
                    ..Reply::default()
                }),
                Message::Assistant(Reply::default()),
            ],
        }
    }

    #[test]
    fn requests() {
        let encoded = encode("gpt-4o", &prompt());
        let tool = |name: &str, schema: Value| {
            let function = json!({"name": name, "description": "does it", "parameters": schema});
            json!({"type": "function", "function": function})
        };
        let called = |id: &str, name: &str, args: &str| {
            let function = json!({"name": name, "arguments": args});
            json!({"id": id, "type": "function", "function": function})
        };
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let wanted = json!({
            "model": "gpt-4o",
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [
                tool("text__count", schema),
                tool("clock__now", json!({"type": "object", "properties": {}})),
                tool("x__any", json!({"type": "object", "properties": {}})),
            ],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Count."},
                {"role": "assistant", "content": null, "tool_calls": [
                    called("a", "text__count", "{\"n\":1}"),
                    called("b", "rm_-rf", r#"{"broken_arguments":"{\"x"}"#),
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "3"},
                {"role": "assistant", "content": "Three."},
                {"role": "assistant", "content": ""},
            ],
        });
        assert_eq!(
            serde_json::from_slice::<Value>(&encoded.body).unwrap(),
            wanted
        );
        assert_eq!(encoded.names.full("clock__now"), "clock.now");
    }

    #[test]
    fn requests_without_tools_and_instructions() {
        let body = encode("m", &Prompt::default()).body;
        let wanted =
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}"#;
        assert_eq!(String::from_utf8(body).unwrap(), wanted);
    }

    #[test]
    fn requests_are_the_same_and_grow_at_the_end() {
        let long = prompt();
        assert_eq!(encode("m", &long).body, encode("m", &long.clone()).body);
        for length in 0..long.messages.len() {
            let mut short = long.clone();
            short.messages.truncate(length);
            let body = encode("m", &short).body;
            let start = body.strip_suffix(b"]}").unwrap();
            assert!(encode("m", &long).body.starts_with(start), "{length}");
        }
    }
}
