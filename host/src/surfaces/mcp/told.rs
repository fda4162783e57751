//! What a client is told of a call: the envelope as structured content, and beside it what a model reads.
//!
//! Row A-34 wants the envelope, and clients hold structured content to the schema that was listed, of failures too: so
//! that schema is the envelope's, with the tool's own inside (`tools.rs`). The text is the outcome alone: a model that
//! is shown text needs no invocation id. Either may be what a model reads, so both are treated as their label asks for
//! (`runs/observe.rs`); marks stand around the text, since in structured content they would break its schema.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ResourceContents};
use serde_json::{Value, json};

use super::tools::{Offered, RESUME_RUN};
use crate::guests::guest::Artifact;
use crate::rules::scrub::clean_strings;
use crate::runs::host::Host;
use crate::runs::left::{Readable, Waiting};
use crate::surfaces::envelope::without_bytes;
use crate::surfaces::wish::Answered;
use crate::surfaces::{again, listed, question};
use crate::words::error::Error;
use crate::words::event::Surface;
use crate::words::id::RunId;
use crate::words::inert::visible;
use crate::words::label::{Label, Source};

/// Room for what is around an outcome in a message.
const AROUND_BYTES: usize = 4 << 10;

/// What a client is told of a call, in so many bytes at most.
pub(super) fn told(host: &Host, answered: &Answered, most: usize) -> CallToolResult {
    let label = label_of(&answered.envelope);
    let text = host.between_marks(text(&answered.envelope), &label);
    let mut content = vec![ContentBlock::text(text)];
    let id = answered.envelope.pointer("/meta/invocationId");
    let id = id.and_then(Value::as_str).unwrap_or_default();
    let read = |text: &str| {
        let mut read = Value::from(text);
        host.fit(&mut read, &label);
        read.as_str().unwrap_or_default().to_owned()
    };
    let blocks = answered.artifacts.iter();
    content.extend(blocks.map(|artifact| block(artifact, id, &read)));
    let mut envelope = without_bytes(answered.envelope.clone());
    let artifacts = envelope.get_mut("artifacts").and_then(Value::as_array_mut);
    let fields = artifacts.into_iter().flatten();
    let fields = fields.filter_map(Value::as_object_mut);
    for field in fields.flat_map(serde_json::Map::values_mut) {
        host.fit(field, &label);
    }
    within(answered, with(content, envelope), most)
}

/// Who had influence on what is told. Where nobody can say, it may be anybody.
fn label_of(envelope: &Value) -> Label {
    let label = envelope.pointer("/meta/label").cloned();
    let label = label.and_then(|label| serde_json::from_value(label).ok());
    label.unwrap_or_else(|| Label::of(Source::imported()))
}

/// What is told, or that it is more than a message holds.
fn within(answered: &Answered, told: CallToolResult, most: usize) -> CallToolResult {
    let bytes = serde_json::to_vec(&told).map_or(usize::MAX, |bytes| bytes.len());
    if bytes.saturating_add(AROUND_BYTES) <= most {
        return told;
    }
    let error = Error::too_big("the answer", most, bytes)
        .hint("let a script cut it: `run_script` returns what you need of it");
    let action = answered.envelope.pointer("/meta/action");
    let action = action.and_then(Value::as_str).unwrap_or_default();
    let mut refused = Answered::refused(action, Surface::Mcp, &error).envelope;
    if let (Some(map), Some(meta)) = (refused.as_object_mut(), answered.envelope.get("meta")) {
        map.insert("meta".to_owned(), meta.clone());
    }
    with(vec![ContentBlock::text(text(&refused))], refused)
}

/// What a client is told of a call that waits for a person whom it cannot ask: of which run, and by which ticket it goes
/// on with that. A model reads it: where the file of the policy lies is not in it, nor a question that was wished for under the
/// influence of a secret.
pub(super) fn pending(
    host: &Host,
    (answered, waiting): (&Answered, &[Waiting]),
    run: Option<(&RunId, String)>,
) -> CallToolResult {
    let mut envelope = answered.envelope.clone();
    let (readable, more) = host.readable(waiting, Surface::Mcp);
    let questions = readable.iter().map(|one| asks(one, readable.len()));
    let questions: Vec<String> = questions.collect();
    let labels = readable.iter().map(|one| &one.waiting.label);
    let label = labels.fold(label_of(&envelope), |all, label| all.join(label));
    // The error itself says the first question and how it is answered, which the questions say each.
    let mut lines = match waiting {
        [] => vec![host.between_marks(text(&envelope), &label)],
        [_, ..] => vec![waits(&envelope, (readable.len(), more))],
    };
    if !questions.is_empty() {
        lines.push(host.between_marks(questions.join("\n"), &label));
    }
    if more {
        let list = again::hint("lazaret ask list");
        lines.push(format!(
            "what is asked is secret: a person finds it, and how it is answered, with: {list}"
        ));
    }
    if let (Some(map), Some((run, ticket))) = (envelope.as_object_mut(), run) {
        let args = json!({"run": ticket});
        lines.push(format!("then call `{RESUME_RUN}` with {args}"));
        map.insert("run".to_owned(), json!(run));
        map.insert("resume".to_owned(), args);
        map.insert(
            "questions".to_owned(),
            readable.iter().map(listed::readable).collect(),
        );
    }
    let policy = host.policy();
    // A number is another one only where it is another text.
    let plain = |text: &str| Some(policy.without_origin(text)).filter(|plain| plain != text);
    clean_strings(&mut envelope, &plain);
    let text = policy.without_origin(&lines.join("\n"));
    with(vec![ContentBlock::text(text)], envelope)
}

/// That a call waits, and for how many answers.
fn waits(envelope: &Value, (readable, some_secret): (usize, bool)) -> String {
    let code = envelope.pointer("/error/code").and_then(Value::as_str);
    let answers = match (readable, some_secret) {
        // A script that asks more or less often by what it knows says that by their number.
        (_, true) => "answers by a person".to_owned(),
        (1, false) => "an answer by a person".to_owned(),
        (many, false) => format!("{many} answers by a person"),
    };
    format!("{}: the call waits for {answers}", code.unwrap_or_default())
}

/// A question, one of so many, and what a person may do about it.
fn asks(one: &Readable, together: usize) -> String {
    let id = &one.waiting.question.id;
    let allow =
        format!("a person answers it with: lazaret ask allow {id}   (or: lazaret ask deny {id})");
    let look =
        format!("A person reads all of it, and how it is answered, with: lazaret ask show {id}");
    let deny = format!("a person denies it with: lazaret ask deny {id}");
    let next = question::Next { allow, look, deny };
    format!("question {id}:\n{}", question::told(one, together, next))
}

/// A request that cannot be answered with an outcome at all: the error of the protocol, with ours inside.
pub(super) fn protocol(answered: &Answered, offered: &Offered) -> ErrorData {
    let mut error = answered.envelope.get("error").cloned();
    let hints = error.as_mut().and_then(|error| error.get_mut("hints"));
    for hint in hints.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::String(text) = hint {
            *text = offered.worded(text);
        }
    }
    let said = error.as_ref().and_then(|error| error.get("message"));
    let said = said.and_then(Value::as_str).unwrap_or_default().to_owned();
    ErrorData::invalid_params(said, error)
}

fn with(content: Vec<ContentBlock>, envelope: Value) -> CallToolResult {
    let ok = envelope.get("ok") == Some(&Value::Bool(true));
    let mut told = match ok {
        true => CallToolResult::success(content),
        false => CallToolResult::error(content),
    };
    told.structured_content = Some(envelope);
    told
}

/// What a model reads: an outcome that is text as it is, any other as JSON; of a failure its code, why, and what helps.
fn text(envelope: &Value) -> String {
    let Some(error) = envelope.get("error") else {
        return match envelope.get("data") {
            Some(Value::String(text)) => text.clone(),
            Some(data) => data.to_string(),
            None => String::new(),
        };
    };
    let word = |value: &Value, key: &str| {
        let word = value.get(key).and_then(Value::as_str);
        word.unwrap_or_default().to_owned()
    };
    let place = |issue: &Value| match word(issue, "path") {
        whole if whole.is_empty() => "/".to_owned(),
        path => path,
    };
    let list = |key: &str| {
        error
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut lines = vec![format!(
        "{}: {}",
        word(error, "code"),
        word(error, "message")
    )];
    lines.extend(
        list("issues").map(|issue| format!("- {}: {}", place(issue), word(issue, "message"))),
    );
    lines.extend(list("hints").filter_map(Value::as_str).map(str::to_owned));
    lines.join("\n")
}

/// An artifact as its kind of content; its bytes are a guest's, and nobody but the client looks at them. `read` is how a
/// model may read a text of it.
fn block(artifact: &Artifact, call: &str, read: &dyn Fn(&str) -> String) -> ContentBlock {
    let kind = artifact.media_type.as_str();
    let mime = visible(kind);
    let encoded = || STANDARD.encode(&artifact.bytes);
    if kind.starts_with("image/") {
        return ContentBlock::image(encoded(), mime);
    }
    if kind.starts_with("audio/") {
        return ContentBlock::audio(encoded(), mime);
    }
    let uri = format!("lazaret:artifact/{call}/{}", artifact.id);
    // A model reads text: what hides in it, or is to be taken out, stays in bytes, which nobody reads by chance, and
    // which are whole.
    let text = std::str::from_utf8(&artifact.bytes).ok();
    let text = text.filter(|text| read(text) == text.replace("\r\n", "\n"));
    ContentBlock::resource(match text {
        Some(text) => ResourceContents::text(text, uri).with_mime_type(mime),
        None => ResourceContents::blob(encoded(), uri).with_mime_type(mime),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::error::{Code, Issue};
    use crate::words::limits::MCP_FRAME_BYTES;

    /// By their number a script would say what it knows.
    #[test]
    fn where_some_questions_are_secret_nobody_is_told_how_many_there_are() {
        let envelope = json!({"error": {"code": "E_ASKED"}});
        for (readable, some_secret, answers) in [
            (0, true, "answers by a person"),
            (2, true, "answers by a person"),
            (1, false, "an answer by a person"),
            (2, false, "2 answers by a person"),
        ] {
            let expected = format!("E_ASKED: the call waits for {answers}");
            assert_eq!(waits(&envelope, (readable, some_secret)), expected);
        }
    }

    #[test]
    fn text_is_what_a_model_reads() {
        for (data, expected) in [
            (json!("a\nb"), "a\nb"),
            (json!({"a": 1}), "{\"a\":1}"),
            (json!(null), "null"),
        ] {
            assert_eq!(text(&json!({"ok": true, "data": data})), expected);
        }
        let issue = Issue {
            path: "/a".to_owned(),
            message: "is no number".to_owned(),
        };
        let error = Error::new(Code::BadArgs, "Invalid action input.")
            .issues(vec![issue])
            .hint("look at the schema");
        let refused = Answered::refused("a.b", Surface::Mcp, &error);
        assert_eq!(
            text(&refused.envelope),
            "VALIDATION_ERROR: Invalid action input.\n- /a: is no number\nlook at the schema"
        );
    }

    #[test]
    fn an_outcome_that_no_message_holds_is_a_failure() {
        let answered = |text: String| Answered {
            envelope: json!({"ok": true, "data": text, "artifacts": [], "logs": [], "meta": {"action": "a.b"}}),
            code: None,
            waits: None,
            artifacts: Vec::new(),
        };
        let told = |answered: &Answered, most| {
            let content = vec![ContentBlock::text(text(&answered.envelope))];
            within(answered, with(content, answered.envelope.clone()), most)
        };
        let fits = told(&answered("x".repeat(400_000)), MCP_FRAME_BYTES);
        assert_eq!(fits.is_error, Some(false));
        let less = told(&answered("x".repeat(400_000)), 400_000);
        assert_eq!(less.is_error, Some(true));
        let big = told(&answered("x".repeat(600_000)), MCP_FRAME_BYTES);
        assert_eq!(big.is_error, Some(true));
        let envelope = big.structured_content.unwrap();
        assert_eq!(envelope["error"]["kind"], "too_big");
        assert_eq!(envelope["meta"]["action"], "a.b");
    }

    #[test]
    fn artifacts_are_content_of_their_kind() {
        let of = |media_type: &str, bytes: &[u8]| {
            let artifact = Artifact {
                id: "1".to_owned(),
                name: "n".to_owned(),
                media_type: media_type.to_owned(),
                metadata: json!({}),
                bytes: bytes.to_vec(),
            };
            let read = |text: &str| visible(text).replace("orders", "[removed]");
            json!(block(&artifact, "r:1", &read))
        };
        assert_eq!(
            of("image/png", b"a"),
            json!({"type": "image", "data": "YQ==", "mimeType": "image/png"})
        );
        assert_eq!(of("audio/wav", b"a")["type"], "audio");
        let text = of("text/csv", b"a,b");
        assert_eq!(
            text["resource"],
            json!({"uri": "lazaret:artifact/r:1/1", "mimeType": "text/csv", "text": "a,b"})
        );
        assert_eq!(of("application/pdf", &[0xff])["resource"]["blob"], "/w==");
        let lines = of("text/csv", b"a,b\r\n1,2\r\n");
        assert_eq!(lines["resource"]["text"], "a,b\r\n1,2\r\n");
        // Text with something hidden in it is no text for a model.
        let hidden = of("text/plain", "a\u{202e}b".as_bytes());
        assert_eq!(hidden["resource"]["blob"], STANDARD.encode("a\u{202e}b"));
        assert_eq!(hidden["resource"].get("text"), None);
        // Nor is one in which something stands that is to be taken out.
        let ordering = of("text/plain", b"orders");
        assert_eq!(ordering["resource"]["blob"], STANDARD.encode("orders"));
    }
}
