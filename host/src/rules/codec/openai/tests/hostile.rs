//! Streams that are damaged, endless, too big or no streams at all.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::words::limits::{ARGS_BYTES, CALLS_PER_TURN, STREAM_BYTES, STREAM_LINE_BYTES};
use crate::words::message::{Message, Prompt};

#[test]
fn what_is_no_stream() {
    let html = "the model provider answered with HTML";
    check_fails("<!DOCTYPE html><p>data: {}</p>", html, false);
    check_fails(" \r\n <html>", html, false);
    let junk = "the model provider sent something that is no JSON";
    for text in [
        "data: junk\n\n",
        "data: {\"choices\":\n\n",
        "data: {}}\n\n",
        "data: {\ndata: x\n\n",
        "{",
        "{}{}",
    ] {
        check_fails(text, junk, true);
    }
    let other = "the model provider sent JSON that is no chat completion";
    for text in [
        "data: 7\n\n",
        "data: {\"choices\":7}\n\n",
        "{}",
        "{\"detail\":\"Not Found\"}",
        "{\"choices\":[]}",
    ] {
        check_fails(text, other, false);
    }
    check_fails(
        &format!("{}data: junk\n\n", stream(&[], "stop")),
        junk,
        true,
    );
}

#[test]
fn reported_errors_are_classified_by_kind() {
    let told = |kind: &str| format!("the model provider reported the error{kind} in its answer");
    for (error, kind, retryable) in [
        (
            json!({"error": {"message": "x", "type": "server_error"}}),
            " `server_error`",
            true,
        ),
        (
            json!({"error": {"message": "x", "type": "invalid_request_error", "code": null}}),
            " `invalid_request_error`",
            false,
        ),
        (
            json!({"error": {"type": "tokens", "code": "rate_limit_exceeded"}}),
            " `rate_limit_exceeded`",
            true,
        ),
        (
            json!({"error": {"type": "tokens", "code": "insufficient_quota"}}),
            " `insufficient_quota`",
            false,
        ),
        (
            json!({"error": {"code": 500, "message": "x", "type": "exceed_context_size_error"}}),
            " `exceed_context_size_error`",
            true,
        ),
        (json!({"error": {"code": 401}}), " 401", false),
        (json!({"error": {"code": "503"}}), " `503`", true),
        (json!({"error": {"code": 1e300, "type": 7}}), "", true),
        (
            json!({"object": "error", "message": "x", "type": "BadRequestError", "code": 400}),
            " `BadRequestError`",
            false,
        ),
        (
            json!({"error": "rate limit invalid_request_error 401"}),
            "",
            true,
        ),
        (json!({"error": {}}), "", true),
        (
            json!({"error": {"type": "a\u{1b}[2J"}}),
            " of a kind that is not told",
            true,
        ),
    ] {
        check_fails(&format!("data: {error}\n\n"), &told(kind), retryable);
        check_fails(
            &format!(
                "{}data: {error}\n\n",
                stream(&[json!({"content": "hi"})], "stop")
            ),
            &told(kind),
            retryable,
        );
        check_fails(&error.to_string(), &told(kind), retryable);
    }
    let none = stream(&[json!({"content": "hi"})], "stop")
        .replace("{\"choices", "{\"error\":null,\"choices");
    assert_eq!(check(&none).text, "hi");
}

#[test]
fn the_text_of_an_error_is_for_the_log_only() {
    let mut decoder = Wire::OpenAi.decoder(shared::names());
    let error = decoder
        .push(b"data: {\"error\":{\"message\":\"canary\\u001b\"}}\n\n")
        .unwrap_err();
    assert!(!format!("{error} {error:?} {:?}", error.hints()).contains("canary"));
    assert_eq!(error.cause().to_string(), "canary\\u{1b}");
    assert_eq!(decoder.push(b"data: [DONE]\n\n").unwrap(), []);
    assert_eq!(decoder.finish().unwrap_err().message(), HALF_WAY);
}

#[test]
fn floods() {
    let code = |pieces: &[&[u8]]| read(pieces.iter().copied()).map(|_| ()).unwrap_err().0;
    let line = vec![b'x'; STREAM_LINE_BYTES];
    assert_eq!(code(&[b"data: ", &line, b"x"]), Code::TooBig);
    assert_eq!(code(&[b"{", &vec![b' '; STREAM_BYTES]]), Code::TooBig);
    assert_eq!(code(&[&vec![b' '; STREAM_BYTES + 1]]), Code::TooBig);

    let piece = |index: usize, args: &str| piece(index, "", "x", args);
    let many: Vec<Value> = (0..=CALLS_PER_TURN)
        .map(|index| piece(index, "{}"))
        .collect();
    assert_eq!(code(&[calling(&many, "stop").as_bytes()]), Code::TooBig);
    assert_eq!(
        read([calling(&many[1..], "stop").as_bytes()])
            .unwrap()
            .0
            .calls
            .len(),
        CALLS_PER_TURN
    );
    assert_eq!(
        code(&[calling(&[piece(0, &"{}".repeat(10_000))], "stop").as_bytes()]),
        Code::TooBig
    );

    // 10 MB of arguments, at once and in pieces: broken and short, never cut into something valid.
    let long = format!("{{}}{}", " ".repeat(ARGS_BYTES * 4));
    let pieces = vec![piece(0, &"[é".repeat(1_000)); 1_000];
    for events in [
        vec![piece(0, &long)],
        vec![piece(0, &"1".repeat(3 << 20))],
        pieces,
    ] {
        let (reply, _) = read([calling(&events, "stop").as_bytes()]).unwrap();
        let [
            ToolCall {
                args: WishedArgs::Broken(text),
                ..
            },
        ] = reply.calls.as_slice()
        else {
            panic!("{reply:?}")
        };
        assert!(text.ends_with('…') && text.chars().count() <= 501);
    }
}

/// Of arguments that nobody can use so much is kept as the operator says.
#[test]
fn arguments_that_are_too_long_are_kept_as_far_as_the_operator_says() {
    let long = [piece(0, "a", "t.x", "1".repeat(ARGS_BYTES * 4 + 1))];
    let mut decoder = Wire::OpenAi.decoder(shared::names()).keeping(9);
    decoder.push(calling(&long, "stop").as_bytes()).unwrap();
    let reply = decoder.finish().unwrap();
    assert_eq!(reply.calls[0].args, WishedArgs::Broken("111111111…".into()));
}

#[test]
fn empty_deltas_cost_nothing() {
    let empty =
        "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"tool_calls\":[{\"index\":1}]}}]}\n\n";
    let mut decoder = Wire::OpenAi.decoder(shared::names());
    for _ in 0..200_000 {
        assert!(decoder.push(empty.as_bytes()).unwrap().is_empty());
    }
    decoder.push(stream(&[], "stop").as_bytes()).unwrap();
    assert_eq!(decoder.finish().unwrap().calls, []);
}

proptest! {
    /// Parts of events in any order: no panic, and every reply is fit to be told back.
    #[test]
    fn any_calls_are_survived(
        parts in prop::collection::vec(any_piece(), 0..12),
        finish in prop::sample::select(
            &["", "stop", "tool_calls", "length", "content_filter"][..],
        ),
    ) {
        if let Ok((reply, _)) = read([calling(&parts, finish).as_bytes()]) {
            prop_assert!(!finish.is_empty());
            let ids: BTreeSet<_> = reply.calls.iter().map(|call| &call.id).collect();
            prop_assert_eq!(ids.len(), reply.calls.len());
            prop_assert!(reply.calls.len() <= CALLS_PER_TURN);
            let messages = vec![Message::Assistant(reply)];
            let prompt = Prompt { messages, ..Prompt::default() };
            prop_assert!(shared::request(Wire::OpenAi, "us", &prompt).is_object());
        }
    }
}

fn any_piece() -> impl Strategy<Value = Value> {
    let args = prop::sample::select(&["{", "}", "{}", "{\"n\":1}", "", "7"][..]);
    let id = prop::option::of("[ab]?");
    let name = prop::option::of("[xy]|text__count");
    (prop::option::of(-1i64..3), id, name, prop::option::of(args)).prop_map(
        |(index, id, name, args)| {
            json!([{"index": index, "id": id, "function": {"name": name, "arguments": args}}])
        },
    )
}
