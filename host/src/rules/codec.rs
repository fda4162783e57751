//! Codecs: what a model provider's wire format says, as plain values.
//!
//! They are rules and not edges, since nothing here opens a connection: bytes go in, words come
//! out, and a recorded stream tests all of it. A provider's answer is text from outside: it may be
//! cut, repeated, malformed or endless, and still nothing here panics, grows without bound or
//! passes on a call that did not arrive whole. Not done here: HTTP, deadlines, retries, and the
//! question whether a tool exists.
//!
//! Each format is one file with the request and a folder with the answer's side (`decode`), its
//! tests and recorded streams; what formats share lies beside them. A new format is a line in each
//! table of [`Wire`].

pub mod again;
mod anthropic;
pub mod args;
mod attached;
mod calls;
mod decode;
mod draft;
pub mod envelope;
mod fault;
mod gemini;
pub mod lines;
pub mod names;
mod ollama;
mod openai;
mod responses;
pub(crate) mod schemas;
pub mod sse;

use serde_json::{Map, Value};

use self::decode::{Dialect, Framing};
use self::lines::Lines;
use self::names::ToolNames;
use self::sse::Sse;
use crate::words::message::Prompt;

pub use self::decode::Decoder;
pub(crate) use self::draft::readable;
pub use self::fault::refused;

/// A wire format: how a provider is asked, and how it answers.
///
/// ```
/// use lazaret::rules::codec::{Target, Wire};
/// use lazaret::words::message::{Message, Prompt};
///
/// let prompt = Prompt { messages: vec![Message::user("Hello.")], ..Prompt::default() };
/// let extra = serde_json::Map::new();
/// let target = Target { model: "m", by: "", extra: &extra, streams: false };
/// let body: serde_json::Value = serde_json::from_slice(&Wire::OpenAi.encode(&target, &prompt).body)?;
/// assert_eq!(body["messages"][0]["content"], "Hello.");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions, which Ollama, llama.cpp, vLLM and many others speak, too.
    OpenAi,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's generated content.
    Gemini,
    /// Ollama's own chat.
    Ollama,
}

/// Whom a prompt is written for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The model's name there.
    pub model: &'a str,
    /// Whose thoughts may be told back: those of replies that say so.
    pub by: &'a str,
    /// Keys of the request's body beside the host's own, from the operator.
    pub extra: &'a Map<String, Value>,
    /// Whether the answer shall come as a stream; otherwise in one piece.
    pub streams: bool,
}

/// A request's body, and the table that its answer is read with.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// JSON text.
    pub body: Vec<u8>,
    /// Which of our names stands for which name in it.
    pub names: ToolNames,
}

impl Wire {
    /// All that there are.
    pub const ALL: [Self; 5] = [
        Self::OpenAi,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
    ];

    /// Its name in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Who is taken to answer, in the words of OpenTelemetry.
    #[must_use]
    pub fn provider(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Responses => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gcp.gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Path and query of a request, below the provider's base.
    #[must_use]
    pub fn path(self, model: &str, streams: bool) -> String {
        match self {
            Self::OpenAi => "/chat/completions".to_owned(),
            Self::Responses => "/responses".to_owned(),
            Self::Anthropic => "/messages".to_owned(),
            Self::Gemini if streams => format!("/models/{model}:streamGenerateContent?alt=sse"),
            Self::Gemini => format!("/models/{model}:generateContent"),
            Self::Ollama => "/chat".to_owned(),
        }
    }

    /// The header that holds the key, and what stands before the key in it.
    #[must_use]
    pub fn key(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi | Self::Responses | Self::Ollama => ("authorization", "Bearer "),
            Self::Anthropic => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
        }
    }

    /// Headers beside that of the key.
    #[must_use]
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        const JSON: (&str, &str) = ("content-type", "application/json");
        const EVENTS: (&str, &str) = ("accept", "text/event-stream");
        match self {
            Self::OpenAi | Self::Responses | Self::Gemini => &[JSON, EVENTS],
            Self::Anthropic => &[JSON, EVENTS, ("anthropic-version", "2023-06-01")],
            Self::Ollama => &[JSON, ("accept", "application/x-ndjson")],
        }
    }

    /// Keys of the body that the host alone writes: what is said, by whom, and that it streams.
    #[must_use]
    pub fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi | Self::Ollama => &["model", "stream", "tools", "messages"],
            Self::Responses => &["model", "stream", "store", "instructions", "tools", "input"],
            Self::Anthropic => &["model", "stream", "system", "tools", "messages"],
            Self::Gemini => &["systemInstruction", "tools", "contents"],
        }
    }

    /// Writes a prompt as a request. The same prompt always becomes the same bytes.
    #[must_use]
    pub fn encode(self, target: &Target<'_>, prompt: &Prompt) -> Encoded {
        let names = ToolNames::new(prompt.cards.iter().map(|card| card.name.as_str()));
        let body = match self {
            Self::OpenAi => openai::encode(target, prompt, &names),
            Self::Responses => responses::encode(target, prompt, &names),
            Self::Anthropic => anthropic::encode(target, prompt, &names),
            Self::Gemini => gemini::encode(target, prompt, &names),
            Self::Ollama => ollama::encode(target, prompt, &names),
        };
        Encoded { body, names }
    }

    /// A decoder of the answer to the request that `names` came with.
    #[must_use]
    pub fn decoder(self, names: ToolNames) -> Decoder {
        let dialect: Box<dyn Dialect> = match self {
            Self::OpenAi => Box::new(openai::Completion),
            Self::Responses => Box::new(responses::Items::default()),
            Self::Anthropic => Box::new(anthropic::Blocks::default()),
            Self::Gemini => Box::new(gemini::Content::default()),
            Self::Ollama => Box::new(ollama::Chat::default()),
        };
        let framing = match self {
            Self::OpenAi | Self::Responses | Self::Anthropic | Self::Gemini => {
                Framing::Events(Sse::default())
            }
            Self::Ollama => Framing::Lines(Lines::default()),
        };
        Decoder::new(names, framing, dialect)
    }
}

/// The host's own keys with the operator's: where both say something, the operator's counts, object by object.
fn merged(mut own: Map<String, Value>, extra: &Map<String, Value>) -> Map<String, Value> {
    for (key, value) in extra {
        let whole = match (own.remove(key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => {
                Value::Object(merged(ours, theirs))
            }
            (_, theirs) => theirs.clone(),
        };
        own.insert(key.clone(), whole);
    }
    own
}

/// The body's keys with an answer of so many tokens at most, said at `path`: of the operator's number and this one the lower
/// counts.
fn at_most(mut keys: Map<String, Value>, path: &[&str], most: u64) -> Map<String, Value> {
    let Some((key, rest)) = path.split_first().filter(|_| most > 0) else {
        return keys;
    };
    let said = keys.remove(*key);
    let value = match (rest, said) {
        ([], said) => {
            let said = said
                .as_ref()
                .and_then(Value::as_u64)
                .filter(|said| *said > 0);
            Value::from(said.map_or(most, |said| said.min(most)))
        }
        (rest, Some(Value::Object(inner))) => Value::Object(at_most(inner, rest, most)),
        (rest, _) => Value::Object(at_most(Map::new(), rest, most)),
    };
    keys.insert((*key).to_owned(), value);
    keys
}

/// The object with one more entry, where there is one to add.
fn with(mut object: Value, key: &str, entry: Option<Value>) -> Value {
    if let (Some(map), Some(entry)) = (object.as_object_mut(), entry) {
        map.insert(key.to_owned(), entry);
    }
    object
}

#[cfg(test)]
mod tests;
