//! Generated content as the server sends it, oddly; what is recorded and what all formats share is tested
//! in `decode/tests`.

use serde_json::{Value, json};

use super::super::Wire;
use super::super::decode::tests::{self as shared, HALF_WAY, call, framed};
use crate::words::message::{Reply, StopReason, WishedArgs};

fn check(events: &[Value]) -> Reply {
    shared::check(Wire::Gemini, &framed(Wire::Gemini, events))
}

#[track_caller]
fn check_fails(events: &[Value], message: &str) {
    let stream = framed(Wire::Gemini, events);
    shared::check_fails(Wire::Gemini, &stream, message, true);
}

fn says(parts: Value, reason: &str) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    if !reason.is_empty() {
        candidate["finishReason"] = json!(reason);
    }
    json!({"candidates": [candidate]})
}

fn wish(args: Value) -> Value {
    json!({"functionCall": {"name": "text__count", "args": args}})
}

#[test]
fn reasons_to_stop() {
    let text = json!([{"text": "hi"}]);
    for (reason, stop) in [
        ("STOP", StopReason::End),
        ("MAX_TOKENS", StopReason::Length),
        ("SAFETY", StopReason::Filtered),
        ("RECITATION", StopReason::Filtered),
    ] {
        let reply = check(&[says(text.clone(), reason)]);
        assert_eq!((reply.text.as_str(), reply.stop), ("hi", stop));
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "OTHER", "whatever"] {
        let told = format!("the model provider stopped for `{reason}`");
        check_fails(&[says(text.clone(), reason)], &told);
    }
    check_fails(&[says(text.clone(), "")], HALF_WAY);
    check_fails(&[says(text, "FINISH_REASON_UNSPECIFIED")], HALF_WAY);
    check_fails(&[], HALF_WAY);
}

#[test]
fn calls_have_no_numbers_and_are_kept_apart() {
    let reply = check(&[
        says(json!([wish(json!({"n": 1})), wish(json!({"n": 1}))]), ""),
        says(json!([wish(json!({"n": 2}))]), ""),
        says(
            json!([wish(json!(null)), {"functionCall": {"name": "files__list", "id": "x"}}]),
            "STOP",
        ),
    ]);
    let one = |id, args| call(id, "text.count", args);
    let wanted = [
        one("call_0", json!({"n": 1})),
        one("call_1", json!({"n": 1})),
        one("call_2", json!({"n": 2})),
        one("call_3", json!({})),
        call("x", "files.list", json!({})),
    ];
    assert_eq!(
        (reply.calls.as_slice(), reply.stop),
        (&wanted[..], StopReason::Calls)
    );
    let filtered = check(&[says(json!([wish(json!({}))]), "SAFETY")]);
    assert_eq!(filtered.calls, []);
}

#[test]
fn a_key_that_comes_twice_in_an_input_is_no_argument() {
    let events = [says(json!([wish(json!({"n": 1, "m": 2}))]), "STOP")];
    let stream = framed(Wire::Gemini, &events).replace("\"m\":", "\"n\":");
    let reply = shared::check(Wire::Gemini, &stream);
    assert!(matches!(reply.calls[0].args, WishedArgs::Broken(_)));
}

#[test]
fn some_models_say_stop_with_every_piece() {
    let reply = check(&[
        says(json!([{"text": "a"}]), "STOP"),
        says(json!([{"text": "b"}]), "STOP"),
        says(json!([wish(json!({}))]), "STOP"),
    ]);
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("ab", 1));
    // A call after the end has an end of its own.
    check_fails(
        &[says(json!([]), "STOP"), says(json!([wish(json!({}))]), "")],
        HALF_WAY,
    );
}

#[test]
fn a_signature_stays_with_its_part() {
    let signed = |mut part: Value, signature: &str| {
        part["thoughtSignature"] = json!(signature);
        part
    };
    let reply = check(&[says(
        json!([
            {"text": "Hm.", "thought": true},
            signed(json!({"text": "hi"}), "of text"),
            signed(wish(json!({})), "of call"),
            wish(json!({})),
        ]),
        "STOP",
    )]);
    let kept: Vec<_> = reply
        .thoughts
        .iter()
        .map(|one| {
            (
                one.text.as_str(),
                one.opaque["thoughtSignature"].as_str(),
                one.call.as_deref(),
            )
        })
        .collect();
    let wanted = [
        ("Hm.", None, None),
        ("", Some("of text"), None),
        ("", Some("of call"), Some("call_0")),
    ];
    assert_eq!(kept, wanted);
}

#[test]
fn usage_that_is_none() {
    for (count, wanted) in shared::absurd() {
        let mut event = says(json!([{"text": "hi"}]), "STOP");
        event["usageMetadata"] = json!({"promptTokenCount": count, "candidatesTokenCount": count,
            "thoughtsTokenCount": count, "cachedContentTokenCount": count});
        let usage = check(&[event]).usage;
        assert_eq!(usage, shared::usage(wanted, 2 * wanted, wanted, wanted));
    }
}

#[test]
fn answers_in_one_piece() {
    let mut body = says(json!([{"text": "hi"}, wish(json!({"n": 1}))]), "STOP");
    body["usageMetadata"] = json!({"promptTokenCount": 3, "candidatesTokenCount": 4});
    let reply = shared::check(Wire::Gemini, &format!("\n {body:#}\n"));
    assert_eq!((reply.text.as_str(), reply.stop), ("hi", StopReason::Calls));
    assert_eq!(reply.usage, shared::usage(3, 4, 0, 0));
}

#[test]
fn only_the_first_candidate_counts() {
    let other = json!({"index": 1, "content": {"parts": [{"text": "no"}]}, "finishReason": "STOP"});
    let mut event = says(json!([{"text": "hi"}, {"inlineData": {}}, 7]), "STOP");
    event["candidates"].as_array_mut().unwrap().push(other);
    assert_eq!(check(&[event]).text, "hi");
}

#[test]
fn more_calls_than_can_be_used_are_an_error() {
    let many: Vec<Value> = (0..65).map(|n| wish(json!({"n": n}))).collect();
    let stream = framed(Wire::Gemini, &[says(json!(many), "STOP")]);
    let error = shared::read(Wire::Gemini, [stream.as_bytes()]).unwrap_err();
    assert_eq!(error.0, crate::words::error::Code::TooBig);
}
