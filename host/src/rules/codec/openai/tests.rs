//! Streams as servers send them, well and oddly; those that mean harm are in `hostile`.

use serde_json::{Value, json};

use super::super::Wire;
use super::super::decode::tests::{self as shared, HALF_WAY, Read, call};
use crate::words::error::Code;
use crate::words::message::{Delta, Reply, StopReason, ToolCall, Usage, WishedArgs};

mod hostile;

const OPENAI: &str = include_str!("streams/openai.txt");

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    shared::read(Wire::OpenAi, pieces)
}

#[track_caller]
fn check(stream: &str) -> Reply {
    shared::check(Wire::OpenAi, stream)
}

#[track_caller]
fn check_fails(stream: &str, message: &str, retryable: bool) {
    shared::check_fails(Wire::OpenAi, stream, message, retryable);
}

/// A stream of choices with these deltas and, unless empty, a reason to finish.
fn stream(deltas: &[Value], finish: &str) -> String {
    let event = |choice: Value| format!("data: {}\n\n", json!({"choices": [choice]}));
    let mut all: String = deltas
        .iter()
        .map(|delta| event(json!({"delta": delta})))
        .collect();
    if !finish.is_empty() {
        all.push_str(&event(json!({"delta": {}, "finish_reason": finish})));
    }
    all
}

/// A stream of tool calls, one event for each list of pieces.
fn calling(events: &[Value], finish: &str) -> String {
    let deltas: Vec<Value> = events
        .iter()
        .map(|pieces| json!({"tool_calls": pieces}))
        .collect();
    stream(&deltas, finish)
}

/// One event with one piece of a call.
fn piece(index: impl Into<Value>, id: &str, name: &str, args: impl Into<Value>) -> Value {
    let function = json!({"name": name, "arguments": args.into()});
    json!([{"index": index.into(), "id": id, "function": function}])
}

fn broken(id: &str, tool: &str, args: &str) -> ToolCall {
    let args = WishedArgs::Broken(args.to_owned());
    ToolCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        args,
    }
}

#[track_caller]
fn check_calls(events: &[Value], wanted: &[ToolCall]) {
    let reply = check(&calling(events, "tool_calls"));
    assert_eq!(
        (reply.calls.as_slice(), reply.stop),
        (wanted, StopReason::Calls)
    );
}

#[test]
fn calls_are_shown_by_name_once() {
    let (_, deltas) = read([OPENAI.as_bytes()]).unwrap();
    let shown: Vec<_> = deltas
        .iter()
        .filter(|delta| matches!(delta, Delta::Call(_)))
        .collect();
    assert_eq!(
        shown,
        [
            &Delta::Call("text.count".to_owned()),
            &Delta::Call("files.list".to_owned())
        ]
    );
}

#[test]
fn calls_come_in_every_shape() {
    let count = |arguments: Value| json!({"name": "text__count", "arguments": arguments});
    let a = || call("a", "text.count", json!({"n": 1}));
    // Arguments as a tree, without index; the name again with every piece.
    check_calls(
        &[json!([{"id": "a", "function": count(json!({"n": 1}))}])],
        &[a()],
    );
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "function": count(json!(""))}]),
            json!([{"index": 0, "id": "a", "function": count(json!("{\"n\":"))}]),
            json!([{"index": 0, "id": "", "function": count(json!("1}"))}]),
        ],
        &[a()],
    );
    // Name and arguments in pieces, the id last, empty and null parts between.
    check_calls(
        &[
            json!([{"index": 7, "function": {"name": "text", "arguments": null}}]),
            json!([{"index": 7, "function": {"name": "__cou", "arguments": ""}}]),
            json!([{"index": 7}, {"index": 1, "id": "", "function": {}}, {}]),
            json!([{"index": 7, "id": null, "function": {"name": "nt", "arguments": "{\"n\""}}]),
            json!([{"index": 7, "id": "a", "function": {"name": null, "arguments": ":1}"}}]),
        ],
        &[a()],
    );
    // The same index with another id; then without any id but with another name.
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "function": count(json!("{\"n\":1}"))}]),
            json!([{"index": 0, "id": "b", "function": count(json!("{"))}]),
            json!([{"index": 0, "function": {"arguments": "}"}}]),
            json!([{"index": 0, "function": {"name": "files__list", "arguments": "{}"}}]),
        ],
        &[
            a(),
            call("b", "text.count", json!({})),
            call("call_2", "files.list", json!({})),
        ],
    );
    // Neither index nor id: two in one event are two, pieces of later events go to the last.
    check_calls(
        &[
            json!([{"function": count(json!("{}"))}, {"function": {"name": "files__list"}}]),
            json!([{"function": {"arguments": "{\"n\""}}]),
            json!([{"function": {"arguments": ":2}"}}]),
        ],
        &[
            call("call_0", "text.count", json!({})),
            call("call_1", "files.list", json!({"n": 2})),
        ],
    );
    // No index, but ids that alternate.
    check_calls(
        &[
            json!([
                {"id": "a", "function": count(json!("{\"n\""))},
                {"id": "b", "function": count(json!("{"))},
            ]),
            json!([
                {"id": "a", "function": {"arguments": ":1}"}},
                {"id": "b", "function": {"arguments": "}"}},
            ]),
        ],
        &[a(), call("b", "text.count", json!({}))],
    );
}

#[test]
fn indexes_jump() {
    let piece = |index: i64, id: &str| piece(index, id, "x", "{}");
    check_calls(
        &[
            piece(i64::MAX, "a"),
            piece(-1, "b"),
            piece(5, "c"),
            json!([{"index": i64::MAX, "function": {"arguments": " "}}]),
        ],
        &[
            call("a", "x", json!({})),
            call("b", "x", json!({})),
            call("c", "x", json!({})),
        ],
    );
}

#[test]
fn the_older_form_of_a_call() {
    let deltas = [
        json!({"function_call": {"name": "text__count", "arguments": "{\"n\""}}),
        json!({"function_call": {"arguments": ":1}"}}),
    ];
    let reply = check(&stream(&deltas, "function_call"));
    assert_eq!(reply.calls, [call("call_0", "text.count", json!({"n": 1}))]);
}

#[test]
fn arguments_that_cannot_be_used_are_broken() {
    let piece = |args: &str| piece(0, "a", "text__count", args);
    for text in [
        "{",
        "{\"n\":1,\"n\":2}",
        "{}{",
        "nonsense",
        "{\"a\": \"\\ud800\"}",
    ] {
        check_calls(&[piece(text)], &[broken("a", "text.count", text)]);
    }
    check_calls(&[piece(" ")], &[call("a", "text.count", json!({}))]);
    check_calls(&[piece("[1]")], &[call("a", "text.count", json!([1]))]);
}

#[test]
fn objects_in_a_row_are_fanned_out() {
    let piece = |id: &str, args: &str| piece(0, id, "text__count", args);
    let one = |id: &str, n: u64| call(id, "text.count", json!({"n": n}));
    check_calls(
        &[piece("a", r#"{"n":1} {"n":2}{"n":3}"#)],
        &[one("a_0", 1), one("a_1", 2), one("a_2", 3)],
    );
    check_calls(
        &[piece("", r#"{"n":1}{"n":2}"#)],
        &[one("call_0_0", 1), one("call_0_1", 2)],
    );
    // The same, from a server that numbers every call 0 and gives no ids.
    check_calls(
        &[piece("", r#"{"n":1}"#), piece("", r#"{"n":2}"#)],
        &[one("call_0_0", 1), one("call_0_1", 2)],
    );
}

#[test]
fn ids_differ_and_can_be_told_back() {
    let piece = |index: u64, id: &str| piece(index, id, "x", "{}")[0].take();
    let long = "i".repeat(10_000);
    let pieces = [
        piece(0, "call_1"),
        piece(1, ""),
        piece(2, "call_1"),
        piece(3, "a\u{202e}b"),
        piece(4, &long),
    ];
    let reply = check(&calling(&[json!(pieces)], "tool_calls").replace(&long, "i i"));
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(
        ids,
        ["call_1", "call_1_1", "call_1_1_1", "call_3", "call_4"]
    );
    let (reply, _) = read([calling(&[json!(pieces)], "stop").as_bytes()]).unwrap();
    assert_eq!(reply.calls[4].id, "call_4");
}

#[test]
fn invented_names_are_passed_on() {
    let piece = |name: &str| piece(0, "a", name, "{}");
    for name in ["rm", "text.count", "no such tool", ""] {
        check_calls(&[piece(name)], &[call("a", name, json!({}))]);
    }
    let (reply, _) = read([calling(&[piece(&"x".repeat(1 << 20))], "stop").as_bytes()]).unwrap();
    assert!(reply.calls[0].tool.ends_with('…') && reply.calls[0].tool.len() < 200);
}

#[test]
fn reasons_to_stop() {
    let said = [json!({"content": "hi"})];
    for (reason, stop) in [
        ("stop", StopReason::End),
        ("eos", StopReason::End),
        ("length", StopReason::Length),
        ("content_filter", StopReason::Filtered),
    ] {
        let reply = check(&stream(&said, reason));
        assert_eq!((reply.text.as_str(), reply.stop), ("hi", stop));
        assert_eq!(check(&stream(&[], reason)).stop, stop, "an empty reply");
    }
    for reason in ["tool_calls", "function_call"] {
        let message = "the model provider stopped for tools and named none";
        check_fails(&stream(&said, reason), message, true);
    }
    check_fails(
        &stream(&said, "abort"),
        "the model provider stopped for `abort`",
        true,
    );
}

#[test]
fn a_reply_cut_short_has_only_calls_that_are_whole() {
    let events = |second: &str| {
        calling(
            &[
                json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]),
                json!([{"index": 1, "id": "b", "function": {"name": "x", "arguments": second}}]),
            ],
            "",
        )
    };
    let end = |reason: &str| stream(&[], reason);
    for cut in ["", "{", "{}{", "12", "tru", "\"a\""] {
        let reply = check(&(events(cut) + &end("length")));
        assert_eq!(
            (reply.calls, reply.stop),
            (vec![call("a", "x", json!({}))], StopReason::Length)
        );
        check_fails(&(events(cut) + "data: [DONE]\n\n"), HALF_WAY, true);
        // An earlier `length` is not undone by a later `stop`.
        assert_eq!(
            check(&(events(cut) + &end("length") + &end("stop")))
                .calls
                .len(),
            1
        );
    }
    assert_eq!(check(&(events("{}") + &end("length"))).calls.len(), 2);
    assert_eq!(check(&(events("{}") + "data: [DONE]\n\n")).calls.len(), 2);
    assert_eq!(check(&(events("{}") + &end("content_filter"))).calls, []);
    // A call that begins after the end has an end of its own.
    check_fails(&(end("tool_calls") + &events("{")), HALF_WAY, true);
}

#[test]
fn streams_without_an_end() {
    check_fails("", HALF_WAY, true);
    check_fails("\n\n", HALF_WAY, true);
    check_fails(": ping\n\n", HALF_WAY, true);
    check_fails("data: [DONE]\n\n", HALF_WAY, true);
    check_fails("[1, 2]", HALF_WAY, true);
    check_fails(&stream(&[json!({"content": "hi"})], ""), HALF_WAY, true);
    assert_eq!(
        check(&(stream(&[json!({"content": "hi"})], "") + "data: [DONE]\n\n")).text,
        "hi"
    );
    assert_eq!(
        check(&stream(&[json!({"content": "hi"})], "stop")).text,
        "hi"
    );
}

#[test]
fn text_in_every_shape() {
    let said = |deltas: &[Value]| check(&stream(deltas, "stop")).text;
    assert_eq!(
        said(&[
            json!({"content": null}),
            json!({"content": ""}),
            json!({"refusal": "no"})
        ]),
        "no"
    );
    let parts = json!([
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "a"},
        7,
        {"type": "text"},
    ]);
    assert_eq!(
        said(&[json!({"content": parts}), json!({"content": 7})]),
        "a"
    );
    assert_eq!(said(&[json!({"content": "a\0b"})]), "a\u{FFFD}b");
    let lone = stream(&[json!({"content": "a@b"})], "stop").replace('@', "\\ud83d");
    assert_eq!(check(&lone).text, "a\u{FFFD}b");
    let mut bytes = stream(&[json!({"content": "a@b"})], "stop").into_bytes();
    bytes
        .iter_mut()
        .filter(|byte| **byte == b'@')
        .for_each(|byte| *byte = 0xFF);
    assert_eq!(read(bytes.chunks(1)).unwrap().0.text, "a\u{FFFD}b");
    let choice = json!({"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"});
    check_fails(
        &format!("data: {}\n\n", json!({"choices": [choice]})),
        HALF_WAY,
        true,
    );
}

#[test]
fn answers_in_one_piece() {
    let body = json!({
        "id": "x", "object": "chat.completion",
        "choices": [{
            "index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "hi", "tool_calls": [
                {"id": "a", "function": {"name": "text__count", "arguments": "{\"n\":1}"}},
                {"id": "b", "function": {"name": "text__count", "arguments": {"n": 2}}},
            ]},
        }],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 9},
        },
    });
    let text = format!("\n {body:#}\n");
    let reply = check(&text);
    assert_eq!(reply.text, "hi");
    let one = |id, n: u64| call(id, "text.count", json!({"n": n}));
    assert_eq!(reply.calls, [one("a", 1), one("b", 2)]);
    assert_eq!(
        reply.usage,
        Usage {
            input_tokens: 3,
            output_tokens: 4,
            cached_tokens: 3,
            ..Usage::default()
        }
    );
    for end in 0..text.trim_end().len() {
        assert!(read([&text.as_bytes()[..end]]).is_err(), "{end}");
    }
}

#[test]
fn thoughts_are_kept_apart_from_what_is_said() {
    for key in ["reasoning", "reasoning_content"] {
        let deltas = [
            json!({key: "H"}),
            json!({key: "m."}),
            json!({"content": "hi", key: ""}),
        ];
        let reply = check(&stream(&deltas, "stop"));
        assert_eq!((reply.text.as_str(), reply.thoughts.len()), ("hi", 1));
        assert_eq!(reply.thoughts[0].text, "Hm.");
    }
}

#[test]
fn usage_that_is_none() {
    for (usage, wanted) in shared::absurd() {
        let usage = json!({"prompt_tokens": usage, "completion_tokens": usage,
            "prompt_tokens_details": {"cached_tokens": usage},
            "completion_tokens_details": {"reasoning_tokens": usage}});
        let events = stream(&[], "stop")
            + &shared::framed(Wire::OpenAi, &[json!({"choices": [], "usage": usage})]);
        assert_eq!(
            check(&events).usage,
            shared::usage(wanted, wanted, wanted, wanted)
        );
    }
}

#[test]
fn a_key_that_comes_twice_in_an_input_is_no_argument() {
    let events = calling(
        &[piece(0, "a", "text__count", json!({"n": 1, "m": 2}))],
        "stop",
    );
    let reply = check(&events.replace("\"m\":", "\"n\":"));
    assert!(matches!(reply.calls[0].args, WishedArgs::Broken(_)));
}
