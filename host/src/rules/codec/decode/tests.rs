//! What holds for every wire format, over recorded streams: a file of bytes and, beside it, the reply.
//! What is special to one format is in its own tests.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::{Target, Wire};
use super::*;
use crate::words::error::Code;
use crate::words::limits::{CALLS_PER_TURN, STREAM_LINE_BYTES, USAGE_TOKENS};
use crate::words::message::{Message, Prompt, ToolCall, Usage, WishedArgs};

pub(in crate::rules::codec) type Read = Result<(Reply, Vec<Delta>), (Code, String, bool)>;

pub(in crate::rules::codec) const HALF_WAY: &str = "the model provider's stream stopped half-way";

/// A recorded stream and the reply that it is.
struct Recorded(Wire, &'static str, &'static str);

macro_rules! recorded {
    ($wire:ident, $path:literal) => {
        Recorded(
            Wire::$wire,
            include_str!(concat!("../", $path, ".txt")),
            include_str!(concat!("../", $path, ".json")),
        )
    };
}

const RECORDED: [Recorded; 16] = [
    recorded!(OpenAi, "openai/streams/openai"),
    recorded!(OpenAi, "openai/streams/ollama"),
    recorded!(OpenAi, "openai/streams/llama"),
    recorded!(OpenAi, "openai/streams/vllm"),
    recorded!(Responses, "responses/streams/calls"),
    recorded!(Responses, "responses/streams/text"),
    recorded!(Responses, "responses/streams/cut"),
    recorded!(Anthropic, "anthropic/streams/calls"),
    recorded!(Anthropic, "anthropic/streams/text"),
    recorded!(Anthropic, "anthropic/streams/cut"),
    recorded!(Gemini, "gemini/streams/calls"),
    recorded!(Gemini, "gemini/streams/text"),
    recorded!(Gemini, "gemini/streams/blocked"),
    recorded!(Ollama, "ollama/streams/calls"),
    recorded!(Ollama, "ollama/streams/text"),
    recorded!(Ollama, "ollama/streams/cut"),
];

macro_rules! whole {
    ($wire:ident, $path:literal) => {
        Recorded(
            Wire::$wire,
            include_str!(concat!("../", $path, ".whole.json")),
            include_str!(concat!("../", $path, ".json")),
        )
    };
}

/// The same answers in one piece: each is the reply that its stream is.
const WHOLE: [Recorded; 16] = [
    whole!(OpenAi, "openai/streams/openai"),
    whole!(OpenAi, "openai/streams/ollama"),
    whole!(OpenAi, "openai/streams/llama"),
    whole!(OpenAi, "openai/streams/vllm"),
    whole!(Responses, "responses/streams/calls"),
    whole!(Responses, "responses/streams/text"),
    whole!(Responses, "responses/streams/cut"),
    whole!(Anthropic, "anthropic/streams/calls"),
    whole!(Anthropic, "anthropic/streams/text"),
    whole!(Anthropic, "anthropic/streams/cut"),
    whole!(Gemini, "gemini/streams/calls"),
    whole!(Gemini, "gemini/streams/text"),
    whole!(Gemini, "gemini/streams/blocked"),
    whole!(Ollama, "ollama/streams/calls"),
    whole!(Ollama, "ollama/streams/text"),
    whole!(Ollama, "ollama/streams/cut"),
];

pub(in crate::rules::codec) fn names() -> ToolNames {
    ToolNames::new(["text.count", "files.list"])
}

pub(in crate::rules::codec) fn read<'a>(
    wire: Wire,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Read {
    let told = |error: Error| {
        (
            error.code(),
            error.message().to_owned(),
            error.is_retryable(),
        )
    };
    let mut decoder = wire.decoder(names());
    let mut deltas = Vec::new();
    for piece in pieces {
        deltas.extend(decoder.push(piece).map_err(told)?);
    }
    Ok((decoder.finish().map_err(told)?, deltas))
}

fn has_lines(wire: Wire) -> bool {
    matches!(wire.decoder(names()).framing, Framing::Lines(_))
}

/// The same stream with every ending of lines, with a byte order mark and with what says nothing.
fn forms(wire: Wire, stream: &str) -> Vec<String> {
    let mut forms = vec![
        stream.to_owned(),
        stream.replace('\n', "\r"),
        stream.replace('\n', "\r\n"),
        format!("\u{FEFF}{stream}"),
    ];
    if has_lines(wire) {
        forms.push(format!("\n {}\n\r\n", stream.replace('\n', "\n\r \n")));
        // Without its ending, a last line that is no JSON is one that was cut.
        let last = stream.trim_end().rsplit('\n').next().unwrap_or_default();
        if serde_json::from_str::<Value>(last).is_ok() {
            forms.push(stream.trim_end().to_owned());
        }
    } else if !stream.trim_start().starts_with(['{', '<']) {
        forms.push(stream.replace("\n\n", "\r\n\n"));
        let noisy = stream.replace("\n\n", "\nid: 1\n:\n\n: ping\n\nevent: x\n\n");
        forms.push(format!("\u{FEFF}: hello\n\n{noisy}: bye\n\n"));
        forms.push(stream.replace("data: ", "data:"));
    }
    forms
}

/// Feeds `stream` whole, cut in two at every byte and byte by byte, in each of its forms: it must
/// make no difference.
/// Forms of streams, and the cuts of them, that were read so far in this process.
static FORMS: AtomicUsize = AtomicUsize::new(0);
static CUTS: AtomicUsize = AtomicUsize::new(0);

#[track_caller]
pub(in crate::rules::codec) fn same_however_cut(wire: Wire, stream: &str) -> Read {
    let wanted = read(wire, [stream.as_bytes()]);
    for form in forms(wire, stream) {
        let bytes = form.as_bytes();
        FORMS.fetch_add(1, Ordering::Relaxed);
        CUTS.fetch_add(bytes.len() + 1, Ordering::Relaxed);
        assert_eq!(read(wire, [bytes]), wanted, "{form:?}");
        assert_eq!(
            read(wire, bytes.chunks(1)),
            wanted,
            "byte by byte: {form:?}"
        );
        for at in 0..bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(read(wire, [head, tail]), wanted, "cut at {at}: {form:?}");
        }
    }
    wanted
}

#[track_caller]
pub(in crate::rules::codec) fn check(wire: Wire, stream: &str) -> Reply {
    let (reply, deltas) = same_however_cut(wire, stream).unwrap();
    let text = |delta: &Delta| match delta {
        Delta::Text(text) => Some(text.clone()),
        Delta::Thought(_) | Delta::Call(_) => None,
    };
    let shown: String = deltas.iter().filter_map(text).collect();
    if has_lines(wire) || !stream.trim_start().starts_with('{') {
        assert_eq!(shown, reply.text, "what is shown is what is said");
    }
    reply
}

#[track_caller]
pub(in crate::rules::codec) fn check_fails(
    wire: Wire,
    stream: &str,
    message: &str,
    retryable: bool,
) {
    let wanted = (Code::ProviderFailed, message.to_owned(), retryable);
    assert_eq!(same_however_cut(wire, stream), Err(wanted));
}

pub(in crate::rules::codec) fn call(id: &str, tool: &str, args: Value) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        args: WishedArgs::Json(args),
    }
}

/// A stream of these events, framed as the format frames them.
pub(in crate::rules::codec) fn framed(wire: Wire, events: &[Value]) -> String {
    let one = |event: &Value| {
        if has_lines(wire) {
            format!("{event}\n")
        } else {
            format!("data: {event}\n\n")
        }
    };
    events.iter().map(one).collect()
}

/// Counts as no model can have used them, and what is made of each.
pub(in crate::rules::codec) fn absurd() -> Vec<(Value, u64)> {
    use serde_json::json;
    vec![
        (json!(-1), 0),
        (json!(i64::MIN), 0),
        (json!(1.5), 0),
        (json!(1e300), 0),
        (json!("7"), 0),
        (json!(null), 0),
        (json!([7]), 0),
        (json!({"a": 7}), 0),
        (json!(u64::MAX), USAGE_TOKENS),
    ]
}

pub(in crate::rules::codec) fn usage(
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    reasoning_tokens: u64,
) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        cached_tokens,
        reasoning_tokens,
        ..Usage::default()
    }
}

/// Writes a prompt for a model without extra keys.
pub(in crate::rules::codec) fn request(wire: Wire, by: &str, prompt: &Prompt) -> Value {
    let extra = Map::new();
    let target = Target {
        model: "m",
        by,
        extra: &extra,
        streams: true,
    };
    serde_json::from_slice(&wire.encode(&target, prompt).body).unwrap()
}

#[test]
fn recorded_streams() {
    let mut wrong = Vec::new();
    for (place, Recorded(wire, stream, wanted)) in RECORDED.iter().enumerate() {
        let got = serde_json::to_value(check(*wire, stream)).unwrap();
        if got != serde_json::from_str::<Value>(wanted).unwrap() {
            wrong.push(format!("{place} {wire:?} {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let (forms, cuts) = (FORMS.load(Ordering::Relaxed), CUTS.load(Ordering::Relaxed));
    assert!(
        forms >= 3 * RECORDED.len() && cuts > 20_000,
        "{forms} {cuts}"
    );
    // Past the test's own output, which is shown of failures alone.
    let streams = RECORDED.len();
    let _ = writeln!(
        std::io::stderr(),
        "stream splits: {cuts} cuts of {streams} streams in {forms} forms, all the same"
    );
}

#[test]
fn an_answer_in_one_piece_is_the_reply_that_its_stream_is() {
    for (place, Recorded(wire, whole, wanted)) in WHOLE.iter().enumerate() {
        let wanted: Value = serde_json::from_str(wanted).unwrap();
        for size in [whole.len(), 7, 1] {
            let (reply, _) = read(*wire, whole.as_bytes().chunks(size)).unwrap();
            assert_eq!(
                serde_json::to_value(reply).unwrap(),
                wanted,
                "{place} {wire:?}"
            );
        }
    }
}

#[test]
fn a_stream_cut_anywhere_never_yields_what_is_incomplete() {
    for Recorded(wire, stream, _) in RECORDED {
        let (wanted, _) = read(wire, [stream.as_bytes()]).unwrap();
        let mut ends = 0;
        for end in 0..stream.trim_end().len() {
            match read(wire, [&stream.as_bytes()[..end]]) {
                Err(told) => assert_eq!(told, (Code::ProviderFailed, HALF_WAY.to_owned(), true)),
                Ok((reply, _)) => {
                    let parts = |reply: &Reply| {
                        (
                            reply.text.clone(),
                            reply.calls.clone(),
                            reply.thoughts.clone(),
                        )
                    };
                    assert_eq!(parts(&reply), parts(&wanted), "{wire:?} {end}");
                    ends += 1;
                }
            }
        }
        assert!(ends < stream.len() / 2, "{wire:?}");
    }
}

#[test]
fn nothing_after_the_end_is_read() {
    for Recorded(wire, stream, _) in RECORDED {
        // It has no end but that of the connection.
        if wire == Wire::Gemini {
            continue;
        }
        let (wanted, _) = read(wire, [stream.as_bytes()]).unwrap();
        let flood = "x".repeat(STREAM_BYTES + 1);
        for more in [
            "data: junk\n\n",
            stream,
            "data: {\"error\":{}}\n\n",
            "{\"error\":{}}\n",
            "<html>",
            &flood,
        ] {
            let both = format!("{stream}{more}");
            assert_eq!(read(wire, [both.as_bytes()]).unwrap().0, wanted, "{wire:?}");
            let pieces = [stream.as_bytes(), more.as_bytes()];
            assert_eq!(read(wire, pieces).unwrap().0, wanted, "{wire:?}");
        }
    }
}

#[test]
fn what_is_no_stream() {
    for wire in Wire::ALL {
        let html = "the model provider answered with HTML";
        check_fails(wire, "<!DOCTYPE html><p>data: {}</p>", html, false);
        check_fails(wire, " \r\n <html>", html, false);
        check_fails(wire, "", HALF_WAY, true);
        check_fails(wire, "\n\n", HALF_WAY, true);
        let junk = "the model provider sent something that is no JSON";
        let (first, last) = if has_lines(wire) {
            ("", "\n")
        } else {
            ("data: ", "\n\n")
        };
        for text in ["junk", "{\"a\":", "{}}"] {
            check_fails(wire, &format!("{first}{text}{last}"), junk, true);
        }
        for other in ["7", "{}", "{\"detail\":\"Not Found\"}", "[]"] {
            let (_, told, retryable) =
                read(wire, [format!("{first}{other}{last}").as_bytes()]).unwrap_err();
            assert!(
                told.starts_with("the model provider sent JSON that is no "),
                "{wire:?} {told}"
            );
            assert!(!retryable, "{wire:?}");
        }
    }
}

#[test]
fn reported_errors_are_classified_by_kind_in_every_format() {
    for Recorded(wire, stream, _) in RECORDED {
        let first = framed(wire, &[]) + stream;
        let cut = first.len() / 3;
        let cut = first[..cut].rfind('\n').map_or(0, |at| at + 1);
        let before = &first[..cut];
        // In the middle of an event it would be a part of it.
        let before = if has_lines(wire) || before.ends_with("\n\n") {
            before
        } else {
            ""
        };
        for (error, kind, retryable) in [
            (
                r#"{"error":{"type":"overloaded_error","message":"canary"}}"#,
                " `overloaded_error`",
                true,
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error"}}"#,
                " `invalid_request_error`",
                false,
            ),
            (
                r#"{"type":"error","code":"rate_limit_exceeded","message":"canary"}"#,
                " `rate_limit_exceeded`",
                true,
            ),
            (
                r#"{"type":"error","code":"insufficient_quota"}"#,
                " `insufficient_quota`",
                false,
            ),
            (
                r#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#,
                " `UNAVAILABLE`",
                true,
            ),
            (
                r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
                " `INVALID_ARGUMENT`",
                false,
            ),
            (r#"{"error":"canary: invalid_request_error 401"}"#, "", true),
        ] {
            let framing = if has_lines(wire) {
                format!("{error}\n")
            } else {
                format!("data: {error}\n\n")
            };
            let told = format!("the model provider reported the error{kind} in its answer");
            let wanted = Err((Code::ProviderFailed, told, retryable));
            assert_eq!(
                read(wire, [format!("{before}{framing}").as_bytes()]),
                wanted,
                "{wire:?}"
            );
            assert_eq!(
                read(wire, [error.as_bytes()]),
                wanted,
                "{wire:?}: in one piece"
            );
        }
    }
}

#[test]
fn floods_end_in_a_typed_error() {
    for wire in Wire::ALL {
        let code = |pieces: &[&[u8]]| {
            read(wire, pieces.iter().copied())
                .map(|_| ())
                .unwrap_err()
                .0
        };
        let line = vec![b'x'; STREAM_LINE_BYTES];
        assert_eq!(code(&[b"data: ", &line, b"x"]), Code::TooBig, "{wire:?}");
        assert_eq!(
            code(&[b"{", &vec![b' '; STREAM_BYTES]]),
            Code::TooBig,
            "{wire:?}"
        );
        assert_eq!(
            code(&[&vec![b' '; STREAM_BYTES + 1]]),
            Code::TooBig,
            "{wire:?}"
        );
    }
}

/// Whatever was read can be told to any provider, its own or another.
fn check_told_back(wire: Wire, reply: Reply) {
    let ids: BTreeSet<_> = reply.calls.iter().map(|call| &call.id).collect();
    assert_eq!(ids.len(), reply.calls.len());
    assert!(reply.calls.len() <= CALLS_PER_TURN);
    let reply = Reply {
        by: wire.word().to_owned(),
        ..reply
    };
    let prompt = Prompt {
        messages: vec![Message::Assistant(reply)],
        ..Prompt::default()
    };
    for to in Wire::ALL {
        assert!(request(to, wire.word(), &prompt).is_object());
    }
}

#[test]
fn what_is_no_text_is_replaced() {
    let mut seen = 0;
    for Recorded(wire, stream, _) in RECORDED {
        if !stream.contains("Three") {
            continue;
        }
        for (written, said) in [
            ("a\\ud83d", "a\u{FFFD}"),
            ("a\\u0000b", "a\u{FFFD}b"),
            ("\\ud83d\\ude00", "\u{1F600}"),
        ] {
            let text = check(wire, &stream.replace("Three", written)).text;
            assert!(text.starts_with(&format!("{said} wo")), "{wire:?} {text}");
        }
        let mut bytes = stream.replace("Three", "a@b").into_bytes();
        for byte in &mut bytes {
            if *byte == b'@' {
                *byte = 0xFF;
            }
        }
        let (reply, _) = read(wire, bytes.chunks(1)).unwrap();
        assert!(
            reply.text.starts_with("a\u{FFFD}b wo"),
            "{wire:?} {}",
            reply.text
        );
        seen += 1;
    }
    assert!(seen > Wire::ALL.len());
}

#[test]
fn thoughts_are_told_to_nobody_else() {
    for Recorded(wire, stream, _) in RECORDED {
        let (reply, _) = read(wire, [stream.as_bytes()]).unwrap();
        let told = |by: &str, to: Wire| {
            let reply = Reply {
                by: by.to_owned(),
                ..reply.clone()
            };
            let messages = vec![Message::Assistant(reply)];
            request(
                to,
                "us",
                &Prompt {
                    messages,
                    ..Prompt::default()
                },
            )
            .to_string()
        };
        for to in Wire::ALL {
            let other = told("them", to);
            assert!(
                !other.contains("c2lnbmVk") && !other.contains("Hm"),
                "{wire:?} {to:?} {other}"
            );
        }
        let signed = reply
            .thoughts
            .iter()
            .any(|thought| !thought.opaque.is_null());
        assert_eq!(told("us", wire).contains("c2lnbmVk"), signed, "{wire:?}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(
        wire in prop::sample::select(&Wire::ALL[..]),
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..16),
    ) {
        let _ = read(wire, pieces.iter().map(Vec::as_slice));
    }

    /// Recorded streams with bytes overwritten: no panic, cutting makes no difference, and what is
    /// read can be told back.
    #[test]
    fn damage_is_survived(
        which in 0..RECORDED.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        size in 1usize..50,
    ) {
        let Recorded(wire, stream, _) = &RECORDED[which];
        let mut bytes = stream.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = read(*wire, [bytes.as_slice()]);
        prop_assert_eq!(&whole, &read(*wire, bytes.chunks(size)));
        if let Ok((reply, _)) = whole {
            check_told_back(*wire, reply);
        }
    }

    /// Recorded events left out, repeated and in any order: likewise.
    #[test]
    fn disorder_is_survived(
        which in 0..RECORDED.len(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..24),
    ) {
        let Recorded(wire, stream, _) = &RECORDED[which];
        let ending = if has_lines(*wire) { "\n" } else { "\n\n" };
        let events: Vec<&str> = stream.split_inclusive(ending).collect();
        let shuffled: String = order.iter().map(|at| *at.get(&events)).collect();
        if let Ok((reply, _)) = read(*wire, [shuffled.as_bytes()]) {
            check_told_back(*wire, reply);
        }
    }
}
