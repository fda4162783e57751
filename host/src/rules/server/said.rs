//! What a server answers to a call: a value or a failure, and files beside it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::rules::bounds::Bounds;
use crate::rules::json;
use crate::rules::sanitise::visible;
use crate::rules::schema::Schema;
use crate::words::error::{Code, Error, Result};
use crate::words::inert::one_line;
use crate::words::length::{cut, json_bytes, only_counted};
use crate::words::limits::failures::{FAILURE_BYTES, FAILURE_CHARS};
use crate::words::limits::unread::ANSWER_WRITTEN_TIMES;
use crate::words::limits::{ARTIFACT_BYTES, ARTIFACTS, JSON_DEPTH};

/// What came of a call at a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The value.
    pub value: Value,
    /// Files: names, media types, bytes.
    pub files: Vec<Attached>,
}

/// A file beside a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its name, for people.
    pub name: String,
    /// Its media type, as the server says.
    pub media_type: String,
    /// Itself.
    pub bytes: Vec<u8>,
}

/// An answer that is no longer than what is made of it may be: all of it is looked through before it is read.
///
/// # Errors
/// `TooBig`; `GuestFailed` where a failure has too many words.
pub fn check_size(answer: &Value, bounds: &Bounds) -> Result<()> {
    let words = words_of(blocks(answer));
    if is_failure(answer) && words > FAILURE_BYTES {
        return Err(Error::new(Code::GuestFailed, only_counted(words)));
    }
    // Three bytes of a file are four characters.
    let files = ARTIFACT_BYTES.div_ceil(3).saturating_mul(4);
    let said = bounds.outcome_bytes.saturating_mul(ANSWER_WRITTEN_TIMES);
    let (most, bytes) = (said.saturating_add(files), json_bytes(answer));
    match bytes <= most {
        true => Ok(()),
        false => Err(Error::too_big("the server's answer", most, bytes)),
    }
}

fn blocks(answer: &Value) -> &[Value] {
    let blocks = answer.get("content").and_then(Value::as_array);
    blocks.map_or(&[][..], Vec::as_slice)
}

fn is_failure(answer: &Value) -> bool {
    answer.get("isError").and_then(Value::as_bool) == Some(true)
}

/// Bytes of all that the blocks of an answer say that is no file.
fn words_of(blocks: &[Value]) -> usize {
    let words = |block: &Value| {
        let inner = block.get("resource").and_then(|inner| inner.get("text"));
        let texts = [block.get("text"), inner].into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::len).sum::<usize>()
    };
    blocks.iter().map(words).sum()
}

/// Reads the answer to a call. `output` is the schema that the tool promised, if it did.
///
/// # Errors
/// `GuestFailed` in the server's words, `TooBig`, `BadOutcome`, `NotJson`.
pub fn read(answer: &Value, (output, bounds): (Option<&Schema>, &Bounds)) -> Result<Said> {
    let mut told = Told::default();
    for block in blocks(answer) {
        told.take(block)?;
    }
    let text = told.lines.join("\n");
    if is_failure(answer) {
        return Err(failed(&text, str::to_owned));
    }
    let structured = answer
        .get("structuredContent")
        .filter(|value| !value.is_null());
    let value = match (structured, output) {
        (Some(value), _) => value.clone(),
        (None, None) => Value::String(text),
        // Some servers write what they promised as text.
        (None, Some(_)) => json::parse(&text).map_err(|_| {
            let what = "the server promised an outcome of a form, and sent none";
            Error::new(Code::BadOutcome, what)
        })?,
    };
    if !json::is_within(&value, JSON_DEPTH) {
        let what = format!("the server's answer is nested deeper than {JSON_DEPTH}");
        return Err(Error::new(Code::NotJson, what));
    }
    let bytes = json_bytes(&value);
    bounds.check_outcome(bytes)?;
    let issues = output.map_or_else(Vec::new, |schema| schema.issues(&value));
    if !issues.is_empty() {
        let what = "the tool's outcome does not fit its own output schema";
        return Err(Error::new(Code::BadOutcome, what).issues(issues));
    }
    Ok(Said {
        value,
        files: told.files,
    })
}

/// A failure in a server's own words, bounded; they are cleaned before they are cut, since half a secret is not recognised. What
/// is too long to be cleaned is not cut either, and its length is told.
#[must_use]
pub fn failed(words: &str, clean: impl FnOnce(&str) -> String) -> Error {
    let mut message = match words.len() <= FAILURE_BYTES {
        true => cut(visible(clean(words).trim()), FAILURE_CHARS),
        false => only_counted(words.len()),
    };
    if message.is_empty() {
        "the server says that it failed, and not why".clone_into(&mut message);
    }
    Error::new(Code::GuestFailed, message)
}

#[derive(Default)]
struct Told {
    lines: Vec<String>,
    files: Vec<Attached>,
    bytes: usize,
}

impl Told {
    fn take(&mut self, block: &Value) -> Result<()> {
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = text(block, "type").unwrap_or_default();
        match kind.as_str() {
            "text" => self.lines.extend(text(block, "text")),
            "image" | "audio" => {
                let media_type = text(block, "mimeType").unwrap_or_default();
                let encoded = text(block, "data").unwrap_or_default();
                self.keep(&kind, &media_type, &encoded)?;
            }
            "resource" => {
                let resource = block.get("resource").unwrap_or(&Value::Null);
                self.resource(resource)?;
            }
            "resource_link" => {
                let link = json!({"uri": text(block, "uri"), "name": text(block, "name")});
                self.lines.push(format!("resource {link}"));
            }
            _ => self
                .lines
                .push("[content of a kind that is not known here]".to_owned()),
        }
        Ok(())
    }

    /// Contents of a resource: text is text, and bytes are a file.
    fn resource(&mut self, resource: &Value) -> Result<()> {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        match (text("text"), text("blob")) {
            (Some(said), _) => {
                self.lines.push(said.to_owned());
                Ok(())
            }
            (None, Some(blob)) => {
                let name = text("uri").unwrap_or("resource");
                let media_type = text("mimeType").unwrap_or_default();
                self.keep(name, media_type, blob)
            }
            (None, None) => Ok(()),
        }
    }

    fn keep(&mut self, name: &str, media_type: &str, encoded: &str) -> Result<()> {
        if self.files.len() >= ARTIFACTS {
            return Err(Error::too_many(
                "the list of artifacts",
                ARTIFACTS,
                self.files.len() + 1,
            ));
        }
        let wrong = |_| Error::new(Code::NotJson, "the server sent bytes that are no base64");
        let bytes = STANDARD.decode(encoded).map_err(wrong)?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > ARTIFACT_BYTES {
            return Err(Error::too_big(
                "the artifacts together",
                ARTIFACT_BYTES,
                self.bytes,
            ));
        }
        // It stands in a line of ours, and can neither end it nor hide in it.
        let media_type = one_line(media_type);
        let number = self.files.len() + 1;
        self.lines.push(format!(
            "[artifact-{number}: {media_type}, {} bytes]",
            bytes.len()
        ));
        self.files.push(Attached {
            name: name.to_owned(),
            media_type,
            bytes,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::limits::OUTCOME_BYTES;

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn text_is_joined_and_structured_content_comes_first() {
        let value = |answer: Value| {
            read(&answer, (None, &Bounds::default()))
                .map(|said| said.value)
                .unwrap()
        };
        assert_eq!(
            value(json!({"content": [text("a"), text("b")]})),
            json!("a\nb")
        );
        assert_eq!(
            value(json!({"content": [text("a")], "structuredContent": {"n": 1}})),
            json!({"n": 1})
        );
        assert_eq!(value(json!({})), json!(""));
    }

    #[test]
    fn a_promise_is_kept_or_the_call_has_failed() {
        let schema = Schema::compile(json!({"type": "object", "required": ["n"]})).unwrap();
        let read = |answer: Value| read(&answer, (Some(&schema), &Bounds::default()));
        assert!(read(json!({"structuredContent": {"n": 1}})).is_ok());
        assert!(read(json!({"content": [text("{\"n\": 1}")]})).is_ok());
        for bad in [
            json!({"structuredContent": {}}),
            json!({"content": [text("n is 1")]}),
            json!({}),
        ] {
            assert_eq!(read(bad).unwrap_err().code(), Code::BadOutcome);
        }
    }

    #[test]
    fn an_outcome_is_nested_no_deeper_than_any_other() {
        let read = |levels: usize| {
            let nested = (0..levels).fold(json!(1), |inner, _| json!([inner]));
            read(
                &json!({"structuredContent": nested}),
                (None, &Bounds::default()),
            )
        };
        assert!(read(JSON_DEPTH).is_ok());
        assert_eq!(read(JSON_DEPTH + 1).unwrap_err().code(), Code::NotJson);
    }

    #[test]
    fn a_media_type_ends_no_line() {
        let image = json!({"type": "image", "mimeType": "a\nhint: z\u{202e}", "data": "AAEC"});
        let said = read(&json!({"content": [image]}), (None, &Bounds::default())).unwrap();
        let hides = |text: &str| text.contains(['\n', '\u{202e}']);
        assert!(!hides(said.value.as_str().unwrap()), "{}", said.value);
        assert!(!hides(&said.files[0].media_type));
    }

    #[test]
    fn a_failure_has_the_servers_words_and_hides_nothing() {
        let error = read(
            &json!({"isError": true, "content": [text("no\u{202e} such")]}),
            (None, &Bounds::default()),
        )
        .unwrap_err();
        assert_eq!(error.code(), Code::GuestFailed);
        assert!(error.message().starts_with("no") && !error.message().contains('\u{202e}'));
        let long = read(
            &json!({"isError": true, "content": [text(&"x".repeat(9_000))]}),
            (None, &Bounds::default()),
        );
        assert_eq!(
            long.unwrap_err().message().chars().count(),
            FAILURE_CHARS + 1
        );
        let said = |words: &str| failed(words, |words| words.replace("canary", "[REDACTED]"));
        assert!(!said("").message().is_empty());
        let most = format!("canary {}", "x".repeat(FAILURE_BYTES - 7));
        assert!(said(&most).message().starts_with("[REDACTED] xxx"));
        let error = said(&format!("{most}x"));
        assert!(
            error.message().contains("in 262145 bytes"),
            "{}",
            error.message()
        );
    }

    /// Files beside it are no words.
    #[test]
    fn an_answer_is_looked_at_by_its_length_first() {
        let sized = |answer: &Value| check_size(answer, &Bounds::default());
        let block = text(&"x".repeat(FAILURE_BYTES));
        let image = json!({"type": "image", "data": "A".repeat(FAILURE_BYTES)});
        let resource = json!({"type": "resource", "resource": {"text": "x"}});
        assert!(sized(&json!({"isError": true, "content": [block, image]})).is_ok());
        let error = sized(&json!({"isError": true, "content": [block, resource]})).unwrap_err();
        assert_eq!(error.code(), Code::GuestFailed);
        assert!(
            error.message().contains("in 262145 bytes"),
            "{}",
            error.message()
        );
        let most = ARTIFACT_BYTES.div_ceil(3) * 4 + ANSWER_WRITTEN_TIMES * OUTCOME_BYTES;
        let data = |bytes: usize| json!({"structuredContent": "x".repeat(bytes)});
        let around = json_bytes(&data(0));
        assert!(sized(&data(most - around)).is_ok());
        let error = sized(&data(most - around + 1)).unwrap_err();
        assert_eq!(error.code(), Code::TooBig);
    }

    #[test]
    fn pictures_are_files_and_bounded() {
        let image = |data: &str| json!({"type": "image", "mimeType": "image/png", "data": data});
        let said = read(
            &json!({"content": [text("see"), image("AAEC")]}),
            (None, &Bounds::default()),
        )
        .unwrap();
        assert_eq!(said.files[0].bytes, [0, 1, 2]);
        assert_eq!(said.value, json!("see\n[artifact-1: image/png, 3 bytes]"));
        let many: Vec<Value> = (0..40).map(|_| image("AAEC")).collect();
        assert_eq!(
            read(&json!({"content": many}), (None, &Bounds::default()))
                .unwrap_err()
                .code(),
            Code::TooBig
        );
        assert!(
            read(
                &json!({"content": [image("%%")]}),
                (None, &Bounds::default())
            )
            .is_err()
        );
        let resource = json!({"type": "resource", "resource": {"uri": "x:/a", "blob": "AAEC"}});
        assert_eq!(
            read(&json!({"content": [resource]}), (None, &Bounds::default()))
                .unwrap()
                .files[0]
                .name,
            "x:/a"
        );
    }
}
