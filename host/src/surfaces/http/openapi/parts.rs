//! Schemas of answers. What stands in a record depends on its event; these say what every one of them has.

use serde_json::{Map, Value, json};

use super::reference;

/// All of them, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let groups = [plain(), calls(), runs(), flows(), questions(), chat()];
    let all = groups.into_iter().flatten();
    all.map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

type Named = Vec<(&'static str, Value)>;

/// An object that has all of these, and may have others.
fn object(fields: &Value) -> Value {
    let names: Vec<&String> = fields
        .as_object()
        .map(|map| map.keys().collect())
        .unwrap_or_default();
    json!({"type": "object", "required": names, "properties": fields})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

fn or_null(kind: &str) -> Value {
    json!({"type": [kind, "null"]})
}

fn plain() -> Named {
    vec![
        ("Text", text()),
        (
            "Health",
            object(&json!({"ok": {"const": true}, "version": text()})),
        ),
        (
            "Document",
            object(&json!({"openapi": text(), "paths": {"type": "object"}})),
        ),
        ("Tools", object(&json!({"tools": list(&reference("Tool"))}))),
        (
            "Tool",
            object(&json!({
                "name": text(),
                "description": text(),
                "plugin": text(),
                "digest": text(),
                "effect": {"enum": ["pure", "read-only", "side-effecting", "external-stateful", "destructive"]},
                "risk": text(),
                "visibility": {"enum": ["public", "local", "private", "user"]},
                "surfaces": list(&text()),
                "needsApproval": flag(),
                "requiresConfirmation": flag(),
                "input": {"type": ["object", "boolean"]},
                "output": {"type": ["object", "boolean"]},
                "examples": list(&json!({"type": "object"})),
            })),
        ),
        (
            "Agents",
            object(&json!({"agents": list(&object(&json!({
                "name": text(),
                "description": text(),
                "tools": list(&text()),
                "models": list(&text()),
            })))})),
        ),
    ]
}

fn calls() -> Named {
    let trail = json!({
        "artifacts": list(&reference("Artifact")),
        "logs": list(&json!({"type": "object"})),
        "meta": reference("Meta"),
    });
    let with = |ok: bool, key: &str, value: Value| {
        let mut fields = trail.clone();
        if let Some(map) = fields.as_object_mut() {
            map.insert("ok".to_owned(), json!({"const": ok}));
            map.insert(key.to_owned(), value);
        }
        object(&fields)
    };
    let waits = object(&json!({"run": text(), "questions": list(&reference("Question"))}));
    vec![
        (
            "Meta",
            object(&json!({
                "action": text(),
                "invocationId": text(),
                "surface": {"enum": ["http", "ai-sdk", "react", "dev"]},
                "durationMs": count(),
                "label": {},
                "usage": {"type": "object"},
            })),
        ),
        (
            "Why",
            object(&json!({
                "code": text(),
                "message": text(),
                "issues": list(&object(&json!({"path": text(), "message": text()}))),
                "retryable": flag(),
                "kind": text(),
                "source": {"enum": ["client", "tool", "provider", "run", "host"]},
                "hints": list(&text()),
            })),
        ),
        ("Artifact", artifact()),
        ("Envelope", with(true, "data", json!({}))),
        ("Failure", with(false, "error", reference("Why"))),
        (
            "WaitingEnvelope",
            json!({"allOf": [reference("Failure"), waits]}),
        ),
    ]
}

/// A file that came with an outcome: as text where it is that, and else as base64.
fn artifact() -> Value {
    let fields = json!({
        "id": text(),
        "type": text(),
        "name": text(),
        "mediaType": text(),
        "metadata": {"type": "object"},
        "bytes": count(),
    });
    let mut told = object(&fields);
    if let Some(properties) = told
        .pointer_mut("/properties")
        .and_then(Value::as_object_mut)
    {
        properties.insert("text".to_owned(), text());
        let base64 = json!({"type": "string", "contentEncoding": "base64"});
        properties.insert("base64".to_owned(), base64);
    }
    told
}

fn runs() -> Named {
    vec![
        ("Standing", object(&json!({"run": text(), "state": text()}))),
        (
            "Runs",
            object(&json!({"runs": list(&object(&json!({
                "run": text(),
                "state": text(),
                "subject": or_null("string"),
                "goal": or_null("string"),
                "surface": or_null("string"),
                "startedAt": count(),
                "endedAt": or_null("integer"),
                "imported": flag(),
            })))})),
        ),
        (
            "Record",
            object(&json!({
                "run": text(),
                "seq": count(),
                "at": count(),
                "parent": count(),
                "event": text(),
            })),
        ),
        (
            "Run",
            object(&json!({
                "run": text(),
                "state": text(),
                "subject": or_null("string"),
                "goal": or_null("string"),
                "answer": {},
                "error": or_null("object"),
                "records": list(&reference("Record")),
                "questions": list(&reference("Question")),
                "held": list(&object(&json!({
                    "name": text(), "type": text(), "bytes": count(), "tool": text(), "label": {},
                }))),
                "usage": {"type": "object"},
                "models": {"type": "object"},
            })),
        ),
    ]
}

fn flows() -> Named {
    let classed = object(&json!({"source": text(), "integrity": text(), "secrecy": text()}));
    let value = object(&json!({
        "argument": text(),
        "value": text(),
        "kind": text(),
        "witness": text(),
        "origins": list(&object(&json!({
            "seq": count(), "tool": text(), "path": text(), "label": {},
        }))),
    }));
    // Of a handle whose label is not on record, nobody knows the sources.
    let handle = object(&json!({
        "argument": text(),
        "handle": text(),
        "sources": {"type": ["array", "null"], "items": classed},
        "said": text(),
    }));
    vec![
        (
            "Flows",
            object(&json!({"run": text(), "flows": list(&reference("Flow"))})),
        ),
        (
            "Flow",
            object(&json!({
                "seq": count(),
                "subject": text(),
                "origin": text(),
                "values": list(&value),
                "handles": list(&handle),
                "sources": list(&classed),
                "verdict": object(&json!({"verdict": {"enum": ["allow", "deny", "ask"]}})),
                "reason": text(),
            })),
        ),
    ]
}

/// A question that is asked for by its name says what the handles in it hold, where there are any; one that comes with what
/// waits for it, whether whoever reads it there reads all that is asked.
fn with_more(mut question: Value) -> Value {
    if let Some(fields) = question
        .get_mut("properties")
        .and_then(Value::as_object_mut)
    {
        let held = object(&json!({"argument": text(), "handle": text()}));
        fields.insert("held".to_owned(), list(&held));
        fields.insert("whole".to_owned(), json!({"type": "boolean"}));
    }
    question
}

fn questions() -> Named {
    vec![
        (
            "Questions",
            object(&json!({"questions": list(&reference("Question"))})),
        ),
        (
            "Question",
            with_more(object(&json!({
                "question": text(),
                "text": text(),
                "rule": text(),
                "reasons": list(&text()),
                "records": list(&text()),
                "lines": list(&text()),
                "run": text(),
                "at": count(),
                "until": or_null("integer"),
                "tool": text(),
                "classes": or_null("object"),
                "args": {},
                "label": {},
                "form": or_null("object"),
            }))),
        ),
        (
            "Replied",
            object(&json!({
                "question": text(),
                "answer": {"enum": ["allow", "always", "deny"]},
                "run": text(),
                "state": text(),
            })),
        ),
    ]
}

fn chat() -> Named {
    let model = json!({
        "id": text(), "object": {"const": "model"}, "created": count(), "owned_by": text(),
    });
    let message = json!({
        "type": "object",
        "required": ["role"],
        "properties": {"role": text(), "content": {"type": ["string", "array", "null"]}},
    });
    let asked = json!({
        "type": "object",
        "required": ["model", "messages"],
        "properties": {
            "model": {"type": "string", "description": "The agent."},
            "messages": {"type": "array", "items": message, "minItems": 1},
            "stream": {"type": ["boolean", "null"]},
            "response_format": {"type": ["object", "null"]},
        },
    });
    vec![
        ("Completion", asked),
        (
            "Completed",
            object(&json!({
                "id": text(),
                "object": {"const": "chat.completion"},
                "created": count(),
                "model": text(),
                "choices": list(&object(&json!({
                    "index": count(),
                    "message": object(&json!({"role": text(), "content": text()})),
                    "finish_reason": {"const": "stop"},
                }))),
                "usage": {"type": "object"},
                "lazaret": object(&json!({
                    "run": text(), "state": text(), "questions": list(&reference("Question")),
                })),
            })),
        ),
        (
            "Refusal",
            object(&json!({"error": object(&json!({
                "message": text(), "type": text(), "param": {"type": "null"}, "code": text(),
            }))})),
        ),
        (
            "Models",
            object(&json!({"object": {"const": "list"}, "data": list(&reference("Model"))})),
        ),
        ("Model", object(&model)),
    ]
}
