//! Chat as the server sends it, oddly; what is recorded and what all formats share is tested in
//! `decode/tests`.

use serde_json::{Value, json};

use super::super::Wire;
use super::super::decode::tests::{self as shared, HALF_WAY, call, framed};
use crate::words::message::{Reply, StopReason, WishedArgs};

fn check(lines: &[Value]) -> Reply {
    shared::check(Wire::Ollama, &framed(Wire::Ollama, lines))
}

#[track_caller]
fn check_fails(lines: &[Value], message: &str) {
    let stream = framed(Wire::Ollama, lines);
    shared::check_fails(Wire::Ollama, &stream, message, true);
}

fn says(message: Value) -> Value {
    json!({"message": message, "done": false})
}

fn ends(reason: Value) -> Value {
    json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason})
}

fn wish(args: Value) -> Value {
    json!({"tool_calls": [{"function": {"name": "text__count", "arguments": args}}]})
}

#[test]
fn reasons_to_stop() {
    for (reason, stop) in [
        (json!("stop"), StopReason::End),
        (json!(null), StopReason::End),
        (json!("length"), StopReason::Length),
    ] {
        let reply = check(&[says(json!({"content": "hi"})), ends(reason)]);
        assert_eq!((reply.text.as_str(), reply.stop), ("hi", stop));
    }
    check_fails(
        &[ends(json!("load"))],
        "the model provider stopped for `load`",
    );
    check_fails(&[says(json!({"content": "hi"}))], HALF_WAY);
    check_fails(&[says(wish(json!({})))], HALF_WAY);
}

#[test]
fn calls_are_kept_apart_and_in_order() {
    let reply = check(&[
        says(wish(json!({"n": 1}))),
        says(wish(json!({"n": 1}))),
        says(wish(json!("{\"n\":2}"))),
        says(wish(json!("{"))),
        ends(json!("stop")),
    ]);
    let one = |id, n: u64| call(id, "text.count", json!({"n": n}));
    assert_eq!(
        reply.calls[..3],
        [one("call_0", 1), one("call_1", 1), one("call_2", 2)]
    );
    assert_eq!(reply.calls[3].args, WishedArgs::Broken("{".to_owned()));
    assert_eq!(reply.stop, StopReason::Calls);
}

#[test]
fn a_key_that_comes_twice_in_an_input_is_no_argument() {
    let lines = [says(wish(json!({"n": 1, "m": 2}))), ends(json!("stop"))];
    let stream = framed(Wire::Ollama, &lines).replace("\"m\":", "\"n\":");
    let reply = shared::check(Wire::Ollama, &stream);
    assert!(matches!(reply.calls[0].args, WishedArgs::Broken(_)));
}

#[test]
fn a_last_line_may_lack_its_ending_and_not_its_end() {
    let whole = framed(
        Wire::Ollama,
        &[says(json!({"content": "hi"})), ends(json!("stop"))],
    );
    let (reply, _) = shared::read(Wire::Ollama, [whole.trim_end().as_bytes()]).unwrap();
    assert_eq!(reply.text, "hi");
    for end in 0..whole.trim_end().len() {
        assert!(
            shared::read(Wire::Ollama, [&whole.as_bytes()[..end]]).is_err(),
            "{end}"
        );
    }
}

#[test]
fn thoughts_lead_to_what_follows() {
    let mut last = wish(json!({}));
    last["thinking"] = json!("c");
    let reply = check(&[
        says(json!({"thinking": "a", "content": ""})),
        says(json!({"thinking": "b", "content": "hi"})),
        says(last),
        ends(json!("stop")),
    ]);
    let told: Vec<_> = reply
        .thoughts
        .iter()
        .map(|one| (one.text.as_str(), one.call.as_deref()))
        .collect();
    assert_eq!(told, [("ab", None), ("c", Some("call_0"))]);
}

#[test]
fn usage_that_is_none() {
    for (count, wanted) in shared::absurd() {
        let mut last = ends(json!("stop"));
        last["prompt_eval_count"] = count.clone();
        last["eval_count"] = count;
        assert_eq!(check(&[last]).usage, shared::usage(wanted, wanted, 0, 0));
    }
    assert_eq!(
        check(&[ends(json!("stop"))]).usage,
        shared::usage(0, 0, 0, 0)
    );
}

#[test]
fn more_calls_than_can_be_used_are_an_error() {
    let many = vec![says(wish(json!({}))); 65];
    let stream = framed(Wire::Ollama, &many);
    let error = shared::read(Wire::Ollama, [stream.as_bytes()]).unwrap_err();
    assert_eq!(error.0, crate::words::error::Code::TooBig);
}
