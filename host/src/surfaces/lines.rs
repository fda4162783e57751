//! JSON automation: a request a line in, an envelope a line out (surface `json`).
//!
//! A line that is no request is answered like any other, and the next one is read: a program that writes one wrong line
//! learns of it at its place.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::{Value, json};

use super::carried::OverJson;
use super::catalogue;
use super::wish::{self, Answered, Options};
use crate::guests::tasks::Tasks;
use crate::rules::json as strict;
use crate::runs::host::Host;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::id::shown;
use crate::words::limits::{JSON_LINE_BYTES, JSON_LINE_ID_CHARS};

/// What a line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The program's own name for it, which its envelope bears; `null` where it has none.
    pub id: Value,
    /// The tool's name: its own, or that of a catalogue.
    pub action: String,
    /// Its arguments.
    pub input: Value,
    /// Who asks.
    pub surface: Surface,
    /// What else is asked of the call.
    pub options: Options,
}

/// A line as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Payload {
    action: String,
    #[serde(default = "nothing")]
    input: Value,
    #[serde(default)]
    confirm: bool,
    timeout_ms: Option<u64>,
    retries: Option<u32>,
    retry_delay_ms: Option<u64>,
    idempotency_key: Option<String>,
    #[serde(default)]
    surface: OverJson,
    #[serde(default)]
    id: Value,
}

fn nothing() -> Value {
    json!({})
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// `BadLine`, with what is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is no UTF-8 text"))?;
        let value = strict::parse(text).map_err(|why| wrong(&shown(&why)))?;
        if !value.is_object() {
            return Err(wrong("it is no JSON object"));
        }
        let payload = serde_json::from_value::<Payload>(value);
        let payload = payload.map_err(|error| wrong(&shown(&error.to_string())))?;
        Ok(Self {
            id: checked(payload.id)?,
            action: payload.action,
            input: payload.input,
            surface: payload.surface.into(),
            options: Options {
                confirm: payload.confirm,
                timeout_ms: payload.timeout_ms,
                retries: payload.retries,
                retry_delay_ms: payload.retry_delay_ms,
                idempotency_key: payload.idempotency_key,
                // A program wrote it.
                typed: false,
                piped: false,
                client: String::new(),
            },
        })
    }
}

/// The name of a request: a text or a number, and none that is a document.
fn checked(id: Value) -> Result<Value> {
    let fits = match &id {
        Value::Null | Value::Number(_) => true,
        Value::String(text) => text.chars().count() <= JSON_LINE_ID_CHARS,
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    let what = format!("`id` is a number, or a text of at most {JSON_LINE_ID_CHARS} characters");
    if fits { Ok(id) } else { Err(wrong(&what)) }
}

fn wrong(why: &str) -> Error {
    Error::new(Code::BadLine, format!("the line is no request: {why}"))
        .hint(r#"write {"action":"text.count","input":{"text":"a b"}} on one line"#)
}

/// The next line that says something, without its end; nothing at the end of the input. One that is too long is read
/// to its end and not kept.
///
/// # Errors
/// What the reader says.
pub fn next(reader: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>>>> {
    loop {
        let Some((line, whole)) = one(reader)? else {
            return Ok(None);
        };
        if whole > JSON_LINE_BYTES {
            let why = format!("it has {whole} bytes, and at most {JSON_LINE_BYTES} may be");
            return Ok(Some(Err(wrong(&why))));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Ok(line)));
        }
    }
}

/// A line as far as it is kept, and how long it is.
fn one(reader: &mut impl BufRead) -> io::Result<Option<(Vec<u8>, usize)>> {
    let (mut line, mut whole) = (Vec::new(), 0_usize);
    loop {
        let found = match reader.fill_buf() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if found.is_empty() {
            return Ok((whole > 0).then_some((line, whole)));
        }
        let end = found.iter().position(|byte| *byte == b'\n');
        let part = found.get(..end.unwrap_or(found.len())).unwrap_or_default();
        let room = JSON_LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
        whole = whole.saturating_add(part.len());
        let taken = part.len().saturating_add(usize::from(end.is_some()));
        reader.consume(taken);
        if end.is_some() {
            return Ok(Some((line, whole)));
        }
    }
}

/// Does what a line asks for, for this client, who has piped it or not; whatever comes of it is an envelope.
pub async fn answer(
    host: &Host,
    line: Result<Vec<u8>>,
    ((client, piped), tasks): ((&str, bool), &Tasks),
) -> Answered {
    let mut line = match line.and_then(|bytes| Line::read(&bytes)) {
        Ok(line) => line,
        Err(error) => return Answered::refused("", Surface::Json, &error),
    };
    client.clone_into(&mut line.options.client);
    line.options.piped = piped;
    let action = catalogue::full(host, &line.action);
    let (named, what) = ((host.new_run(), line.surface), (&*action, line.input));
    let mut answered = wish::call(host, named, what, &line.options, tasks).await;
    if let Value::Object(envelope) = &mut answered.envelope {
        if line.id != Value::Null {
            envelope.insert("id".to_owned(), line.id);
        }
        if let Some(run) = &answered.waits {
            envelope.insert("run".to_owned(), run.as_str().into());
            // Whatever keeps them from being read, the run is known.
            let questions = wish::questions_for(host, run, line.surface).await;
            let questions = questions.unwrap_or_default();
            envelope.insert("questions".to_owned(), questions.into());
        }
    }
    answered
}

/// The worse of two exit statuses. To wait for an answer is no failure; beyond that, the higher number is the worse.
#[must_use]
pub fn worse(one: u8, other: u8) -> u8 {
    let waits = Code::Asked.exit_status();
    let badness = |status: u8| match status {
        0 => 0,
        status if status == waits => 1,
        status => u16::from(status).saturating_add(1),
    };
    if badness(other) > badness(one) {
        other
    } else {
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], buffer: usize) -> Vec<Result<Vec<u8>, String>> {
        let mut reader = io::BufReader::with_capacity(buffer, input);
        let mut all = Vec::new();
        while let Some(line) = next(&mut reader).unwrap() {
            all.push(line.map_err(|error| error.message().to_owned()));
        }
        all
    }

    #[test]
    fn lines_are_cut_wherever_they_come() {
        for buffer in [1, 2, 7, 4_096] {
            let found = lines(b"one\n\n  \r\ntwo\r\nthree", buffer);
            let expected = [&b"one"[..], b"two\r", b"three"];
            assert_eq!(found, expected.map(|line| Ok(line.to_vec())), "{buffer}");
            assert_eq!(lines(b"", buffer), []);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept_and_the_next_one_is_read() {
        let most = vec![b'a'; JSON_LINE_BYTES];
        let mut input = most.clone();
        input.extend_from_slice(b"a\nnext\n");
        input.extend_from_slice(&most);
        let found = lines(&input, 8_192);
        assert_eq!(found.len(), 3);
        let error = found.first().unwrap().as_ref().unwrap_err();
        assert!(error.contains("1048577 bytes"), "{error}");
        assert_eq!(found.get(1), Some(&Ok(b"next".to_vec())));
        assert_eq!(found.get(2), Some(&Ok(most)));
    }

    #[test]
    fn a_line_says_what_is_asked() {
        let read = |text: &str| Line::read(text.as_bytes());
        let plain = read(r#"{"action":"a.b"}"#).unwrap();
        assert_eq!((plain.input, plain.id), (json!({}), Value::Null));
        assert_eq!(plain.options, Options::default());
        assert_eq!(plain.surface, Surface::Json);
        for (said, surface) in [("ai-sdk", Surface::AiSdk), ("dev", Surface::Dev)] {
            let line = read(&format!(r#"{{"action":"a.b","surface":"{said}"}}"#)).unwrap();
            assert_eq!(line.surface, surface);
        }
        let full = r#"{"action":"a.b","input":{"x":1},"confirm":true,"timeoutMs":5,"retries":2,
            "retryDelayMs":7,"idempotencyKey":"k","id":7}"#;
        let full = read(full).unwrap();
        assert_eq!((full.input, full.id), (json!({"x": 1}), json!(7)));
        let options = Options {
            confirm: true,
            timeout_ms: Some(5),
            retries: Some(2),
            retry_delay_ms: Some(7),
            idempotency_key: Some("k".to_owned()),
            client: String::new(),
            typed: false,
            piped: false,
        };
        assert_eq!(full.options, options);
    }

    #[test]
    fn what_is_no_request_is_said() {
        let long = format!(r#"{{"action":"a.b","id":"{}"}}"#, "x".repeat(257));
        for (text, says) in [
            ("{", "EOF"),
            ("[]", "no JSON object"),
            ("3", "no JSON object"),
            (r#"{"input":{}}"#, "missing field `action`"),
            (r#"{"action":"a.b","user":"root"}"#, "unknown field `user`"),
            (r#"{"action":"a.b","typed":true}"#, "unknown field `typed`"),
            (r#"{"action":"a.b","action":"c.d"}"#, "twice"),
            (r#"{"action":"a.b","id":{}}"#, "`id` is"),
            (r#"{"action":"a.b","confirm":"yes"}"#, "expected a boolean"),
            (r#"{"action":"a.b","timeoutMs":-1}"#, "expected u64"),
            (
                r#"{"action":"a.b","surface":"cli"}"#,
                "unknown variant `cli`",
            ),
            (
                r#"{"action":"a.b","surface":"react"}"#,
                "unknown variant `react`",
            ),
            (&long, "`id` is"),
        ] {
            let error = Line::read(text.as_bytes()).unwrap_err();
            assert_eq!(error.code(), Code::BadLine, "{text}");
            assert!(error.message().contains(says), "{text}: {error}");
        }
        assert!(Line::read(b"\xff").is_err());
    }

    #[test]
    fn the_worst_status_is_told() {
        for (one, other, worst) in [
            (0, 75, 75),
            (75, 2, 2),
            (4, 3, 4),
            (124, 130, 130),
            (1, 0, 1),
        ] {
            assert_eq!((worse(one, other), worse(other, one)), (worst, worst));
        }
    }
}
