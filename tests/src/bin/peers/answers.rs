//! The recorded answers: each stream beside its codec, and the same answer in one piece.

use std::path::{Path, PathBuf};

use lazaret::rules::codec::Wire;
use lazaret::rules::codec::names::ToolNames;
use lazaret::words::message::Reply;
use lazaret_tests::server::Answer;

/// An answer as a provider sends it.
pub struct Recorded {
    /// Its name, such as `calls`.
    pub name: String,
    /// Whether it is a stream.
    pub streams: bool,
    /// Its bytes.
    pub body: String,
}

/// All of one format.
pub struct Answers {
    /// By name, streams and wholes.
    pub all: Vec<Recorded>,
}

/// Tools that the recorded calls name.
pub fn names() -> ToolNames {
    ToolNames::new(["text.count", "files.list"])
}

impl Answers {
    /// What lies beside the codec.
    pub fn recorded(wire: Wire) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../host/src/rules/codec")
            .join(wire.word())
            .join("streams");
        let entries = std::fs::read_dir(&folder).expect("the recorded streams are there");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort_unstable();
        let all: Vec<Recorded> = paths.iter().filter_map(|path| read(path)).collect();
        assert!(!all.is_empty(), "{}", folder.display());
        Self { all }
    }

    /// The one that only says something.
    pub fn text(&self, streams: bool) -> &Recorded {
        let says = |one: &&Recorded| one.streams == streams && one.body.contains("Three");
        let has_end = |one: &&Recorded| matches!(one.name.as_str(), "text" | "vllm");
        let mut found = self.all.iter().filter(says).filter(has_end);
        found.next().expect("each format has recorded a text")
    }
}

/// A stream or a whole answer; what lies beside them is what they mean.
fn read(path: &Path) -> Option<Recorded> {
    let file = path.file_name()?.to_str()?;
    let (name, streams) = match file.strip_suffix(".txt") {
        Some(name) => (name, true),
        None => (file.strip_suffix(".whole.json")?, false),
    };
    Some(Recorded {
        name: name.to_owned(),
        streams,
        body: std::fs::read_to_string(path).expect("a recorded answer is text"),
    })
}

impl Recorded {
    /// How a report names it.
    pub fn place(&self) -> String {
        let form = if self.streams { "streamed" } else { "whole" };
        format!("`{}` {form}", self.name)
    }

    /// The server's answer, at this path.
    pub fn at(&self, wire: Wire, path: String) -> Answer {
        let media_type = match (wire, self.streams) {
            (_, false) => "application/json",
            (Wire::Ollama, true) => "application/x-ndjson",
            (Wire::OpenAi | Wire::Responses | Wire::Anthropic | Wire::Gemini, true) => {
                "text/event-stream"
            }
        };
        let headers = [("content-type".to_owned(), media_type.to_owned())];
        Answer {
            path,
            headers: headers.into_iter().collect(),
            body: self.body.clone(),
            ..Answer::default()
        }
    }

    /// What our codec reads.
    pub fn reply(&self, wire: Wire) -> Result<Reply, String> {
        let mut decoder = wire.decoder(names());
        decoder
            .push(self.body.as_bytes())
            .map_err(|error| format!("our codec failed: {error}"))?;
        decoder
            .finish()
            .map_err(|error| format!("our codec failed: {error}"))
    }
}

/// The path of a provider's base, as the README has it.
pub fn base(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Anthropic => "/v1",
        Wire::Gemini => "/v1beta",
        Wire::Ollama => "/api",
    }
}
