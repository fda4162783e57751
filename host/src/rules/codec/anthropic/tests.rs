//! Messages as the server sends them, oddly; what is recorded and what all formats share is tested in
//! `decode/tests`.

use serde_json::{Value, json};

use super::super::Wire;
use super::super::decode::tests::{self as shared, HALF_WAY, call, framed};
use crate::words::limits::CALLS_PER_TURN;
use crate::words::message::{Reply, StopReason, Usage, WishedArgs};

fn check(events: &[Value]) -> Reply {
    shared::check(Wire::Anthropic, &framed(Wire::Anthropic, events))
}

#[track_caller]
fn check_fails(events: &[Value], message: &str) {
    let stream = framed(Wire::Anthropic, events);
    shared::check_fails(Wire::Anthropic, &stream, message, true);
}

fn begins(index: i64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn grows(index: i64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn args(index: i64, json: &str) -> Value {
    grows(
        index,
        json!({"type": "input_json_delta", "partial_json": json}),
    )
}

fn ends(index: i64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn wish(index: i64, id: &str) -> Value {
    begins(
        index,
        json!({"type": "tool_use", "id": id, "name": "text__count", "input": {}}),
    )
}

fn stops(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}})
}

fn over() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn a_call_whose_block_did_not_end_is_no_call() {
    for reason in ["tool_use", "end_turn"] {
        check_fails(
            &[wish(0, "a"), args(0, "{\"n\":1}"), stops(reason), over()],
            HALF_WAY,
        );
    }
    let cut = [
        wish(0, "a"),
        args(0, "{\"n\":1}"),
        ends(0),
        wish(1, "b"),
        args(1, "{\"n\":"),
        stops("max_tokens"),
        over(),
    ];
    let reply = check(&cut);
    assert_eq!(reply.calls, [call("a", "text.count", json!({"n": 1}))]);
    assert_eq!(reply.stop, StopReason::Length);
    // What the provider refuses to show does not act.
    let reply = check(&[
        wish(0, "a"),
        args(0, "{}"),
        ends(0),
        stops("refusal"),
        over(),
    ]);
    assert_eq!((reply.calls.len(), reply.stop), (0, StopReason::Filtered));
}

#[test]
fn pieces_belong_to_the_block_that_is_open() {
    let reply = check(&[
        args(5, "{\"lost\":1}"),
        wish(1, "a"),
        wish(7, "a"),
        args(1, "{\"n\""),
        args(7, "{}"),
        args(1, ":1}"),
        ends(1),
        args(1, "{\"late\":1}"),
        ends(7),
        ends(99),
        stops("tool_use"),
        over(),
    ]);
    let wanted = [
        call("a", "text.count", json!({"n": 1})),
        call("a_1", "text.count", json!({})),
    ];
    assert_eq!(reply.calls, wanted);
}

#[test]
fn an_input_that_comes_at_once() {
    let block = json!({"type": "tool_use", "id": "a", "name": "text__count", "input": {"n": 1}});
    let reply = check(&[begins(0, block), ends(0), stops("tool_use"), over()]);
    assert_eq!(reply.calls, [call("a", "text.count", json!({"n": 1}))]);
}

#[test]
fn arguments_that_cannot_be_used_are_broken() {
    for text in ["{", "{\"n\":1,\"n\":2}", "{}{"] {
        let reply = check(&[
            wish(0, "a"),
            args(0, text),
            ends(0),
            stops("tool_use"),
            over(),
        ]);
        assert_eq!(reply.calls[0].args, WishedArgs::Broken(text.to_owned()));
    }
}

#[test]
fn a_key_that_comes_twice_in_an_input_is_no_argument() {
    let block =
        json!({"type": "tool_use", "id": "a", "name": "text__count", "input": {"n": 1, "m": 2}});
    let events = [begins(0, block), ends(0), stops("tool_use"), over()];
    let stream = framed(Wire::Anthropic, &events).replace("\"m\":", "\"n\":");
    let reply = shared::check(Wire::Anthropic, &stream);
    assert!(matches!(reply.calls[0].args, WishedArgs::Broken(_)));
}

#[test]
fn thoughts_are_kept_as_they_are() {
    let signature = "+/A==\u{e9}\\n";
    let events = [
        begins(
            0,
            json!({"type": "thinking", "thinking": "a", "signature": ""}),
        ),
        grows(0, json!({"type": "thinking_delta", "thinking": "b"})),
        grows(
            3,
            json!({"type": "signature_delta", "signature": "of another"}),
        ),
        grows(
            0,
            json!({"type": "signature_delta", "signature": signature}),
        ),
        ends(0),
        // Not signed, so nobody can use it again.
        begins(1, json!({"type": "thinking", "thinking": "c"})),
        ends(1),
        wish(2, "x"),
        ends(2),
        stops("tool_use"),
        over(),
    ];
    let reply = check(&events);
    let told: Vec<_> = reply
        .thoughts
        .iter()
        .map(|one| (one.text.as_str(), one.call.as_deref()))
        .collect();
    assert_eq!(told, [("ab", Some("x")), ("c", Some("x"))]);
    assert_eq!(
        reply.thoughts[0].opaque,
        json!({"type": "thinking", "signature": signature})
    );
    assert_eq!(reply.thoughts[1].opaque, Value::Null);
}

#[test]
fn reasons_to_stop() {
    let said = |reason: &str| {
        check(&[
            begins(0, json!({"type": "text", "text": "hi"})),
            ends(0),
            stops(reason),
            over(),
        ])
    };
    for (reason, stop) in [
        ("end_turn", StopReason::End),
        ("stop_sequence", StopReason::End),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::Filtered),
    ] {
        assert_eq!(
            (said(reason).text.as_str(), said(reason).stop),
            ("hi", stop)
        );
    }
    check_fails(
        &[stops("pause_turn"), over()],
        "the model provider stopped for `pause_turn`",
    );
    check_fails(
        &[stops("tool_use"), over()],
        "the model provider stopped for tools and named none",
    );
    check_fails(&[over()], HALF_WAY);
}

#[test]
fn usage_is_the_last_word_of_each_kind() {
    let start = |usage: Value| json!({"type": "message_start", "message": {"usage": usage}});
    let last = |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let both = |first: Value, second: Value| check(&[start(first), last(second), over()]).usage;
    let kept = |usage| Usage {
        kept_tokens: 100,
        ..usage
    };
    let first = json!({"input_tokens": 1, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 100, "output_tokens": 1});
    assert_eq!(
        both(first.clone(), json!({"output_tokens": 7})),
        kept(shared::usage(111, 7, 10, 0))
    );
    assert_eq!(
        both(
            first.clone(),
            json!({"input_tokens": 2, "output_tokens": null})
        ),
        kept(shared::usage(112, 1, 10, 0))
    );
    assert_eq!(both(first, json!(7)), kept(shared::usage(111, 1, 10, 0)));
    for (count, wanted) in shared::absurd() {
        let usage = json!({"input_tokens": count, "output_tokens": count});
        assert_eq!(both(json!({}), usage), shared::usage(wanted, wanted, 0, 0));
    }
}

#[test]
fn answers_in_one_piece() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "a", "name": "text__count", "input": {"n": 1}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let reply = shared::check(Wire::Anthropic, &format!("\n {body:#}\n"));
    assert_eq!((reply.text.as_str(), reply.stop), ("hi", StopReason::Calls));
    assert_eq!(reply.calls, [call("a", "text.count", json!({"n": 1}))]);
    assert_eq!(reply.thoughts[0].opaque["signature"], "s");
    assert_eq!(reply.usage, shared::usage(3, 4, 0, 0));
}

#[test]
fn more_than_can_be_used_is_an_error() {
    let many: Vec<Value> = (0..=64).map(|index| wish(index, "a")).collect();
    assert_eq!(many.len(), CALLS_PER_TURN + 1);
    let stream = framed(Wire::Anthropic, &many);
    let error = shared::read(Wire::Anthropic, [stream.as_bytes()]).unwrap_err();
    assert_eq!(error.0, crate::words::error::Code::TooBig);
    let thought = |index| begins(index, json!({"type": "redacted_thinking", "data": "x"}));
    let many: Vec<Value> = (0..1_000).map(thought).collect();
    let stream = framed(Wire::Anthropic, &many);
    let error = shared::read(Wire::Anthropic, [stream.as_bytes()]).unwrap_err();
    assert_eq!(error.0, crate::words::error::Code::TooBig);
}

#[test]
fn a_whole_answer_that_was_cut_has_no_call_at_its_end() {
    let block = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "text__count", "input": input});
    let whole = |stop: &str| {
        let content = [
            block("a", json!({"text": "a"})),
            block("b", json!({"text": "b, and then"})),
        ];
        let answer = json!({"content": content, "stop_reason": stop});
        let calls = shared::check(Wire::Anthropic, &answer.to_string()).calls;
        calls.into_iter().map(|call| call.id).collect::<Vec<_>>()
    };
    assert_eq!(whole("tool_use"), ["a", "b"]);
    assert_eq!(whole("max_tokens"), ["a"]);
    assert_eq!(whole("model_context_window_exceeded"), ["a"]);
}
