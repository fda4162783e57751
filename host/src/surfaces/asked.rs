//! A question that waits, as programs are told of it.

use serde_json::{Value, json};

use crate::runs::left::Waiting;

/// A question that waits, with what it is about.
pub(super) fn asked(waiting: &Waiting) -> Value {
    json!({
        "question": waiting.question.id,
        "text": waiting.question.text,
        "rule": waiting.question.rule,
        "reasons": waiting.question.reasons,
        "lines": waiting.question.lines,
        "run": waiting.run,
        "at": waiting.at,
        "until": waiting.question.until,
        "tool": waiting.subject,
        "classes": waiting.question.classes,
        "args": waiting.content,
        "label": waiting.label,
    })
}
