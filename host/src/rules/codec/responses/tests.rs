//! Responses as the server sends them, oddly; what is recorded and what all formats share is tested in
//! `decode/tests`.

use serde_json::{Value, json};

use super::super::Wire;
use super::super::decode::tests::{self as shared, HALF_WAY, call, framed};
use crate::words::message::{Reply, StopReason, WishedArgs};

fn check(events: &[Value]) -> Reply {
    shared::check(Wire::Responses, &framed(Wire::Responses, events))
}

#[track_caller]
fn check_fails(events: &[Value], message: &str, retryable: bool) {
    let stream = framed(Wire::Responses, events);
    shared::check_fails(Wire::Responses, &stream, message, retryable);
}

fn item(kind: &str, index: i64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
}

fn wish(id: &str, args: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "text__count", "arguments": args})
}

fn ends(status: &str, more: Value) -> Value {
    let mut response = json!({"status": status, "error": null});
    for (key, value) in more.as_object().unwrap() {
        response[key] = value.clone();
    }
    json!({"type": format!("response.{status}"), "response": response})
}

fn done() -> Value {
    ends("completed", json!({}))
}

#[test]
fn a_call_whose_item_is_not_done_is_no_call() {
    check_fails(&[item("added", 0, wish("a", "{}")), done()], HALF_WAY, true);
    let mut cut = wish("a", "{}");
    cut["status"] = json!("in_progress");
    check_fails(&[item("done", 0, cut), done()], HALF_WAY, true);
    let stopped = "the model provider stopped for `cancelled`";
    check_fails(
        &[
            item("done", 0, wish("a", "{}")),
            ends("completed", json!({"status": "cancelled"})),
        ],
        stopped,
        true,
    );
    let length = ends(
        "incomplete",
        json!({"incomplete_details": {"reason": "max_output_tokens"}}),
    );
    let reply = check(&[
        item("done", 0, wish("a", "{}")),
        item("added", 1, wish("b", "")),
        length.clone(),
    ]);
    assert_eq!(
        (reply.calls, reply.stop),
        (vec![call("a", "text.count", json!({}))], StopReason::Length)
    );
    let filtered = ends(
        "incomplete",
        json!({"incomplete_details": {"reason": "content_filter"}}),
    );
    let reply = check(&[item("done", 0, wish("a", "{}")), filtered]);
    assert_eq!((reply.calls.len(), reply.stop), (0, StopReason::Filtered));
}

#[test]
fn an_item_counts_once_and_whole() {
    let pieces = |text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": text});
    let reply = check(&[
        item("added", 3, wish("a", "")),
        pieces("{\"other\""),
        item("done", 3, wish("a", "{\"n\":1}")),
        item("done", 3, wish("b", "{\"n\":2}")),
        item("done", -1, wish("a", "{")),
        done(),
    ]);
    assert_eq!(reply.calls.len(), 2);
    assert_eq!(reply.calls[0], call("a", "text.count", json!({"n": 1})));
    assert_eq!(reply.calls[1].id, "a_1");
    assert_eq!(reply.calls[1].args, WishedArgs::Broken("{".to_owned()));
}

#[test]
fn text_that_did_not_stream_is_said_once() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}, {"type": "refusal", "refusal": "no"}]});
    let delta = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "hi"});
    assert_eq!(
        check(&[item("done", 0, message.clone()), done()]).text,
        "hino"
    );
    let streamed = [
        item("added", 0, json!({"type": "message"})),
        delta,
        item("done", 0, message),
        done(),
    ];
    assert_eq!(check(&streamed).text, "hi");
}

#[test]
fn thoughts_are_kept_as_they_are() {
    let thought = json!({"type": "reasoning", "id": "rs", "encrypted_content": "+/A==", "new_key": [1, {"a": null}],
        "status": "completed", "summary": [{"type": "summary_text", "text": "Hm."}]});
    let reply = check(&[
        item("done", 0, thought.clone()),
        item("done", 1, wish("a", "{}")),
        done(),
    ]);
    let mut kept = thought;
    kept.as_object_mut().unwrap().remove("status");
    assert_eq!(reply.thoughts.len(), 1);
    assert_eq!(reply.thoughts[0].opaque, kept);
    assert_eq!(
        (
            reply.thoughts[0].text.as_str(),
            reply.thoughts[0].call.as_deref()
        ),
        ("Hm.", Some("a"))
    );
}

#[test]
fn failures_are_classified() {
    let failed = |code: &str| {
        ends(
            "failed",
            json!({"error": {"code": code, "message": "canary"}}),
        )
    };
    let told = |kind: &str| format!("the model provider reported the error `{kind}` in its answer");
    check_fails(&[failed("server_error")], &told("server_error"), true);
    check_fails(
        &[failed("rate_limit_exceeded")],
        &told("rate_limit_exceeded"),
        true,
    );
    check_fails(&[failed("invalid_prompt")], &told("invalid_prompt"), false);
    check_fails(
        &[ends("failed", json!({}))],
        "the model provider stopped for `failed`",
        true,
    );
    let error =
        json!({"type": "error", "code": "server_error", "message": "canary", "sequence_number": 3});
    check_fails(&[error], &told("server_error"), true);
    check_fails(&[], HALF_WAY, true);
}

#[test]
fn usage_that_is_none() {
    for (count, wanted) in shared::absurd() {
        let usage = json!({"input_tokens": count, "output_tokens": count,
            "input_tokens_details": {"cached_tokens": count}, "output_tokens_details": {"reasoning_tokens": count}});
        let reply = check(&[ends("completed", json!({"usage": usage}))]);
        assert_eq!(reply.usage, shared::usage(wanted, wanted, wanted, wanted));
    }
}

#[test]
fn answers_in_one_piece() {
    let body = json!({
        "object": "response", "status": "completed", "error": null,
        "output": [
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
            {"type": "function_call", "call_id": "a", "name": "text__count", "arguments": "{\"n\":1}", "status": "completed"},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let reply = shared::check(Wire::Responses, &format!("\n {body:#}\n"));
    assert_eq!((reply.text.as_str(), reply.stop), ("hi", StopReason::Calls));
    assert_eq!(reply.calls, [call("a", "text.count", json!({"n": 1}))]);
    assert_eq!(reply.thoughts[0].call, None);
    assert_eq!(reply.usage, shared::usage(3, 4, 0, 0));
}

#[test]
fn more_than_can_be_used_is_an_error() {
    for kind in ["added", "done"] {
        let many: Vec<Value> = (0..=64)
            .map(|index| item(kind, index, wish("a", "{}")))
            .collect();
        let stream = framed(Wire::Responses, &many);
        let error = shared::read(Wire::Responses, [stream.as_bytes()]).unwrap_err();
        assert_eq!(error.0, crate::words::error::Code::TooBig, "{kind}");
    }
}
