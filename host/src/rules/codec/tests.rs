//! Requests: one prompt, and the body that each format makes of it, in a file beside its codec.

use serde_json::{Value, json};

use super::decode::tests::{call, request};
use super::*;
use crate::words::attachment::{Attachment, Body};
use crate::words::error::Error;
use crate::words::label::Label;
use crate::words::message::{
    Card, Message, Observation, Reply, StopReason, Thought, ToolCall, WishedArgs,
};

/// Feeds `stream` whole, cut in two at every byte, and byte by byte.
#[track_caller]
pub(super) fn check_cut(
    read: impl Fn(&[&[u8]]) -> Result<Vec<String>, Error>,
    stream: &[u8],
    wanted: &[&str],
) {
    assert_eq!(read(&[stream]).unwrap(), wanted, "whole");
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(read(&[head, b"", tail]).unwrap(), wanted, "cut at {at}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(read(&bytes).unwrap(), wanted, "byte by byte");
}

fn card(name: &str, input: Value) -> Card {
    Card {
        name: name.to_owned(),
        description: "does it".to_owned(),
        input,
        output: json!({}),
    }
}

fn told(id: &str, text: &str, ok: bool) -> Message {
    let observation = Observation {
        text: text.to_owned(),
        ok,
        label: Label::default(),
        flags: Vec::new(),
    };
    Message::Tool {
        id: id.to_owned(),
        observation,
    }
}

fn thought(text: &str, opaque: Value, call: Option<&str>) -> Thought {
    Thought {
        text: text.to_owned(),
        opaque,
        call: call.map(str::to_owned),
    }
}

/// What each provider would have signed.
fn opaque(wire: Wire, signature: &str) -> Value {
    match wire {
        Wire::OpenAi | Wire::Ollama => Value::Null,
        Wire::Responses => {
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": signature})
        }
        Wire::Anthropic => json!({"type": "thinking", "signature": signature}),
        Wire::Gemini => json!({"thoughtSignature": signature}),
    }
}

/// Two turns of our own, with thoughts, and one of another provider's.
fn prompt(wire: Wire) -> Prompt {
    let user = |text: &str| Message::user(text);
    let first = Reply {
        by: "us".to_owned(),
        thoughts: vec![
            thought("Hm.", opaque(wire, "one"), None),
            thought("Count.", opaque(wire, "two"), Some("a")),
        ],
        text: "Let me count.".to_owned(),
        calls: vec![
            call("a", "text.count", json!({"n": 1})),
            ToolCall {
                id: "call_1".to_owned(),
                tool: "rm -rf".to_owned(),
                args: WishedArgs::Broken("{\"x".to_owned()),
            },
        ],
        stop: StopReason::Calls,
        ..Reply::default()
    };
    let second = Reply {
        by: "them".to_owned(),
        thoughts: vec![thought("Secret.", opaque(wire, "three"), Some("b:1"))],
        calls: vec![call("b:1", "clock.now", json!([]))],
        stop: StopReason::Calls,
        ..Reply::default()
    };
    let third = Reply {
        text: "Three.".to_owned(),
        ..Reply::default()
    };
    let count = json!({"type": "object", "properties": {"n": {"type": ["integer", "null"]}},
        "required": ["n"], "additionalProperties": false});
    Prompt {
        instructions: "Be brief.".to_owned(),
        steady: 0,
        cards: vec![
            card("text.count", count),
            card("clock.now", json!({"type": "object"})),
            card("x.any", json!(true)),
        ],
        messages: vec![
            user("Count."),
            Message::Assistant(first),
            told("a", "3", true),
            told("call_1", "no such tool", false),
            Message::Assistant(second),
            told("b:1", "", true),
            Message::Assistant(third),
            user("Go on."),
        ],
        replies_before: 0,
        shape: Some(
            json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}),
        ),
        answer_only: false,
        most: 0,
    }
}

#[test]
fn requests() {
    let wanted = [
        include_str!("openai/request.json"),
        include_str!("responses/request.json"),
        include_str!("anthropic/request.json"),
        include_str!("gemini/request.json"),
        include_str!("ollama/request.json"),
    ];
    let mut wrong = Vec::new();
    for (wire, wanted) in Wire::ALL.into_iter().zip(wanted) {
        let got = request(wire, "us", &prompt(wire));
        if got != serde_json::from_str::<Value>(wanted).unwrap() {
            wrong.push(format!("{wire:?} {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_attached_stands_with_the_words_it_came_with() {
    let attach =
        |name: &str, bytes: &[u8]| Attachment::new(name, bytes.to_vec(), Label::default()).unwrap();
    let mut dropped = attach("old.png", b"\x89PNG\r\n\x1a\n1");
    dropped.content = Body::default();
    let picture = attach("a.png", b"\x89PNG\r\n\x1a\n0");
    let document = attach("b.pdf", b"%PDF-1.7");
    let prompt = Prompt {
        messages: vec![Message::User {
            text: "Look.".to_owned(),
            attached: vec![dropped, picture, document],
        }],
        ..Prompt::default()
    };
    let (png, pdf) = ("iVBORw0KGgow", "JVBERi0xLjc=");
    let url = |mime: &str, base64: &str| format!("data:{mime};base64,{base64}");
    let (png_url, pdf_url) = (url("image/png", png), url("application/pdf", pdf));
    for (wire, wanted) in [
        (
            Wire::OpenAi,
            json!([{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": png_url}},
                {"type": "file", "file": {"filename": "b.pdf", "file_data": pdf_url}},
                {"type": "text", "text": "Look."},
            ]}]),
        ),
        (
            Wire::Responses,
            json!([{"role": "user", "content": [
                {"type": "input_image", "image_url": png_url},
                {"type": "input_file", "filename": "b.pdf", "file_data": pdf_url},
                {"type": "input_text", "text": "Look."},
            ]}]),
        ),
        (
            Wire::Anthropic,
            json!([{"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}},
                {"type": "document", "title": "b.pdf",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": pdf}},
                {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}},
            ]}]),
        ),
        (
            Wire::Gemini,
            json!([{"role": "user", "parts": [
                {"inlineData": {"mimeType": "image/png", "data": png}},
                {"inlineData": {"mimeType": "application/pdf", "data": pdf}},
                {"text": "Look."},
            ]}]),
        ),
        // Its chain passes it over for documents.
        (
            Wire::Ollama,
            json!([{"role": "user", "content": "Look.", "images": [png]}]),
        ),
    ] {
        let body = request(wire, "us", &prompt);
        let messages = ["messages", "input", "contents"];
        let said = messages.iter().find_map(|key| body.get(key));
        assert_eq!(said, Some(&wanted), "{wire:?}");
    }
}

#[test]
fn where_nothing_may_be_called_any_more_the_tools_stay_and_are_not_chosen() {
    for (wire, key, wanted) in [
        (Wire::OpenAi, "tool_choice", json!("none")),
        (Wire::Responses, "tool_choice", json!("none")),
        (Wire::Anthropic, "tool_choice", json!({"type": "none"})),
        (
            Wire::Gemini,
            "toolConfig",
            json!({"functionCallingConfig": {"mode": "NONE"}}),
        ),
    ] {
        let prompt = Prompt {
            answer_only: true,
            ..prompt(wire)
        };
        let body = request(wire, "us", &prompt);
        assert_eq!(body[key], wanted, "{wire:?}");
        assert!(body.get("tools").is_some(), "{wire:?}");
        // Without tools there is nothing to choose.
        let bare = Prompt {
            cards: Vec::new(),
            ..prompt.clone()
        };
        assert_eq!(request(wire, "us", &bare).get(key), None, "{wire:?}");
    }
    let ollama = Prompt {
        answer_only: true,
        ..prompt(Wire::Ollama)
    };
    assert_eq!(request(Wire::Ollama, "us", &ollama).get("tools"), None);
}

#[test]
fn empty_requests_say_little() {
    for (wire, wanted) in [
        (
            Wire::OpenAi,
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}"#,
        ),
        (
            Wire::Responses,
            r#"{"model":"m","stream":true,"store":false,"input":[]}"#,
        ),
        (
            Wire::Anthropic,
            r#"{"model":"m","stream":true,"max_tokens":8192,"messages":[]}"#,
        ),
        (Wire::Gemini, r#"{"contents":[]}"#),
        (Wire::Ollama, r#"{"model":"m","stream":true,"messages":[]}"#),
    ] {
        let wanted: Value = serde_json::from_str(wanted).unwrap();
        assert_eq!(request(wire, "", &Prompt::default()), wanted, "{wire:?}");
    }
}

fn body(wire: Wire, prompt: &Prompt) -> String {
    let extra = Map::new();
    let target = Target {
        model: "m",
        by: "us",
        extra: &extra,
        streams: true,
    };
    let body = String::from_utf8(wire.encode(&target, prompt).body).unwrap();
    // It marks where the cache may end, which is no part of what is said.
    body.replace(r#""cache_control":{"type":"ephemeral"},"#, "")
}

#[test]
fn requests_are_the_same_and_grow_at_the_end() {
    for wire in Wire::ALL {
        let long = prompt(wire);
        let whole = body(wire, &long);
        assert_eq!(whole, body(wire, &long.clone()));
        for length in 0..long.messages.len() {
            let mut short = long.clone();
            short.messages.truncate(length);
            let start = body(wire, &short);
            let start = start.trim_end_matches([']', '}']);
            assert!(
                whole.starts_with(start),
                "{wire:?} {length}: {start} {whole}"
            );
        }
    }
}

#[test]
fn empty_words_are_not_said_where_they_are_refused() {
    let user = |text: &str| Message::user(text);
    let messages = vec![
        user(" "),
        user("a"),
        Message::Assistant(Reply::default()),
        user("b"),
    ];
    let prompt = Prompt {
        messages,
        ..Prompt::default()
    };
    let said = request(Wire::Anthropic, "us", &prompt);
    let (a, mut b) = (
        json!({"type": "text", "text": "a"}),
        json!({"type": "text", "text": "b"}),
    );
    b["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(
        said["messages"],
        json!([{"role": "user", "content": [a, b]}])
    );
    let said = request(Wire::Gemini, "us", &prompt);
    let parts = json!([{"text": " "}, {"text": "a"}, {"text": "b"}]);
    assert_eq!(said["contents"], json!([{"role": "user", "parts": parts}]));
}

#[test]
fn what_the_operator_adds_counts() {
    let extra = json!({"max_tokens": 16, "output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}});
    let target = Target {
        model: "m",
        by: "us",
        extra: extra.as_object().unwrap(),
        streams: true,
    };
    let prompt = prompt(Wire::Anthropic);
    let body = Wire::Anthropic.encode(&target, &prompt).body;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["max_tokens"], 16);
    assert_eq!(body["thinking"]["type"], "adaptive");
    assert_eq!(body["output_config"]["effort"], "low");
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
}

/// What a server may use of a model is said to its provider, whatever the operator's own lines say.
#[test]
fn an_answer_has_so_many_tokens_at_most() {
    let prompt = |most| Prompt {
        messages: vec![Message::user("a")],
        most,
        ..Prompt::default()
    };
    let said = |wire: Wire, extra: Value, most: u64, at: &str| {
        let target = Target {
            model: "m",
            by: "us",
            extra: extra.as_object().unwrap(),
            streams: true,
        };
        let body = wire.encode(&target, &prompt(most)).body;
        let body: Value = serde_json::from_slice(&body).unwrap();
        body.pointer(at).and_then(Value::as_u64)
    };
    for (wire, extra, at) in [
        (Wire::OpenAi, json!({"max_tokens": 900}), "/max_tokens"),
        (
            Wire::OpenAi,
            json!({"max_completion_tokens": 900}),
            "/max_completion_tokens",
        ),
        (
            Wire::Responses,
            json!({"max_output_tokens": 900}),
            "/max_output_tokens",
        ),
        (Wire::Anthropic, json!({"max_tokens": 900}), "/max_tokens"),
        (
            Wire::Gemini,
            json!({"generationConfig": {"maxOutputTokens": 900}}),
            "/generationConfig/maxOutputTokens",
        ),
        (
            Wire::Ollama,
            json!({"options": {"num_predict": 900}}),
            "/options/num_predict",
        ),
    ] {
        assert_eq!(said(wire, extra.clone(), 50, at), Some(50), "{wire:?}");
        assert_eq!(said(wire, extra.clone(), 5_000, at), Some(900), "{wire:?}");
        assert_eq!(said(wire, extra, 0, at), Some(900), "{wire:?}");
    }
    let none = |wire, at| said(wire, json!({}), 50, at);
    assert_eq!(none(Wire::OpenAi, "/max_completion_tokens"), Some(50));
    assert_eq!(
        none(Wire::Gemini, "/generationConfig/maxOutputTokens"),
        Some(50)
    );
    let endless = json!({"options": {"num_predict": -1}});
    assert_eq!(
        said(Wire::Ollama, endless, 50, "/options/num_predict"),
        Some(50)
    );
}

#[test]
fn words_paths_and_keys() {
    let all = Wire::ALL.map(|wire| (wire.word(), wire.path("m-1", true), wire.key().0));
    let wanted = [
        ("openai", "/chat/completions", "authorization"),
        ("responses", "/responses", "authorization"),
        ("anthropic", "/messages", "x-api-key"),
        (
            "gemini",
            "/models/m-1:streamGenerateContent?alt=sse",
            "x-goog-api-key",
        ),
        ("ollama", "/chat", "authorization"),
    ];
    assert_eq!(
        all,
        wanted.map(|(word, path, key)| (word, path.to_owned(), key))
    );
    // Keys that the host writes are keys of the body.
    for wire in Wire::ALL {
        let body = request(wire, "us", &prompt(wire));
        for key in wire.own_keys() {
            let is_there = body.get(*key).is_some();
            assert!(is_there, "{wire:?} {key}");
        }
    }
}

/// What comes with the first untrusted text stands behind the mark, so that what was kept until then is found again.
#[test]
fn what_only_later_prompts_are_told_stands_behind_the_mark() {
    let told = |instructions: &str, steady: usize| {
        let prompt = Prompt {
            instructions: instructions.to_owned(),
            steady,
            messages: vec![Message::user("a")],
            ..Prompt::default()
        };
        request(Wire::Anthropic, "us", &prompt)["system"].clone()
    };
    let marked =
        json!({"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}});
    assert_eq!(told("Be brief.", 0), json!([marked]));
    let behind = json!({"type": "text", "text": "Marks."});
    assert_eq!(told("Be brief.\n\nMarks.", 9), json!([marked, behind]));
    assert_eq!(told("", 0), Value::Null);
}
