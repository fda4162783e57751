//! The envelope: what a client gets of one call (rows ).

use serde_json::{Value, json};

use crate::guests::guest::Artifact;
use crate::runs::host::Called;
use crate::words::error::Error;
use crate::words::event::Surface;

/// The envelope of a call that was made.
#[must_use]
pub fn of_call(called: &Called, surface: Surface) -> Value {
    let outcome = &called.outcome;
    let artifacts: Vec<Value> = outcome.trail.artifacts.iter().map(artifact).collect();
    let meta = json!({
        "action": outcome.tool,
        "invocationId": format!("{}:{}", called.run, outcome.seq),
        "surface": surface,
        "durationMs": outcome.spent.us / 1_000,
        "label": outcome.label,
        "usage": outcome.spent,
    });
    let logs = &outcome.trail.logs;
    match &outcome.result {
        Ok(data) => json!({"ok": true, "data": data, "artifacts": artifacts, "logs": logs, "meta": meta}),
        Err(error) => json!({
            "ok": false, "error": of_error(error), "artifacts": artifacts, "logs": logs, "meta": meta,
        }),
    }
}

/// The `error` of an envelope.
#[must_use]
pub fn of_error(error: &Error) -> Value {
    json!({
        "code": error.code().envelope(),
        "message": error.message(),
        "issues": error.issue_list(),
        "retryable": error.is_retryable(),
        "kind": error.code(),
        "hints": error.hints(),
    })
}

/// Text stays text; other bytes are shown by their number, and `--out FOLDER` writes them.
fn artifact(artifact: &Artifact) -> Value {
    let mut value = json!({
        "id": artifact.id,
        "type": "file",
        "name": artifact.name,
        "mediaType": artifact.media_type,
        "metadata": artifact.metadata,
        "bytes": artifact.bytes.len(),
    });
    if let (Some(map), Ok(text)) = (value.as_object_mut(), std::str::from_utf8(&artifact.bytes)) {
        map.insert("text".to_owned(), text.into());
    }
    value
}
