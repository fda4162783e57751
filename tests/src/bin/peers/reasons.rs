//! The reasons to stop that an SDK's types know: each is read, or is none that a run could go on from.

use lazaret::rules::codec::Wire;
use serde_json::{Value, json};

use crate::Bench;
use crate::answers::{Answers, Recorded};

/// Those that end a run with an error, since whatever was said before them is not what was asked for.
fn is_no_end(wire: Wire, reason: &str) -> bool {
    let reasons: &[&str] = match wire {
        Wire::OpenAi | Wire::Ollama => &[],
        // Only the provider's own tools, and whoever speaks in between, end an answer so.
        Wire::Responses => &["max_messages", "steered"],
        // Only the provider's own tools pause a turn.
        Wire::Anthropic => &["pause_turn"],
        // A call that is none, an answer that is none, a picture that nobody asked for, and an answer that goes on
        // elsewhere, which we do not ask for.
        Wire::Gemini => &[
            "OTHER",
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "MISSING_THOUGHT_SIGNATURE",
            "MALFORMED_RESPONSE",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_OTHER",
            "NO_IMAGE",
            "IMAGE_RECITATION",
            "PUP_LIMITED_DISABLED",
            "CONTINUATION",
        ],
    };
    reasons.contains(&reason)
}

/// Reads an answer that stopped for each of them.
pub fn check(bench: &mut Bench, wire: Wire, answers: &Answers) {
    let reasons = bench.sdk.ask(wire, "reasons", json!({}));
    let reasons = reasons.expect("the SDK's types have reasons");
    let mut recorded = answers.all.iter();
    let calls =
        recorded.find(|one| !one.streams && matches!(one.name.as_str(), "calls" | "openai"));
    let calls = calls.expect("each format has recorded calls");
    for reason in reasons.as_array().into_iter().flatten() {
        let reason = reason.as_str().unwrap_or_default();
        let told = match (
            stopped_for(wire, calls, reason).reply(wire),
            is_no_end(wire, reason),
        ) {
            (Ok(_), false) | (Err(_), true) => None,
            (Ok(reply), true) => Some(format!("  it is an end, `{:?}`, and was none", reply.stop)),
            (Err(failed), false) => Some(format!("  nobody knows it: {failed}")),
        };
        bench.count(wire, "reasons to stop", &format!("`{reason}`"), told);
    }
}

fn stopped_for(wire: Wire, calls: &Recorded, reason: &str) -> Recorded {
    let mut body: Value = serde_json::from_str(&calls.body).expect("a whole answer is JSON");
    match wire {
        Wire::OpenAi => body["choices"][0]["finish_reason"] = json!(reason),
        Wire::Responses => {
            body["status"] = json!("incomplete");
            body["incomplete_details"] = json!({ "reason": reason });
        }
        Wire::Anthropic => body["stop_reason"] = json!(reason),
        Wire::Gemini => body["candidates"][0]["finishReason"] = json!(reason),
        Wire::Ollama => body["done_reason"] = json!(reason),
    }
    Recorded {
        name: calls.name.clone(),
        streams: false,
        body: body.to_string(),
    }
}
