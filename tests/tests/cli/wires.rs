//! Every wire format against a stub on loopback that speaks it: the stub sends the recorded streams of the
//! codec's own tests, the program does the calls that they wish, and is asked again with what came of them.

use serde_json::{Value, json};

use crate::server::{Answer, Server, plain};
use crate::station::{Ended, Station};

/// A format, and what a server that speaks it says.
pub struct Wire {
    pub word: &'static str,
    /// The request's line, below the base that is configured.
    path: &'static str,
    /// The header with the key, as it arrives.
    key: &'static str,
    pub media_type: &'static str,
    pub calls: &'static str,
    pub text: &'static str,
    /// The same two answers, each in one piece.
    pub wholes: [&'static str; 2],
}

macro_rules! streams {
    ($name:literal) => {
        include_str!(concat!("../../../host/src/rules/codec/", $name, ".txt"))
    };
}

macro_rules! wholes {
    ($calls:literal, $text:literal) => {
        [
            include_str!(concat!(
                "../../../host/src/rules/codec/",
                $calls,
                ".whole.json"
            )),
            include_str!(concat!(
                "../../../host/src/rules/codec/",
                $text,
                ".whole.json"
            )),
        ]
    };
}

pub const KEY: &str = "canary-5b1d0e-key";

pub const WIRES: [Wire; 5] = [
    Wire {
        word: "openai",
        path: "/base/chat/completions",
        key: "authorization: bearer canary-5b1d0e-key",
        media_type: "text/event-stream",
        calls: streams!("openai/streams/openai"),
        text: streams!("openai/streams/vllm"),
        wholes: wholes!("openai/streams/openai", "openai/streams/vllm"),
    },
    Wire {
        word: "responses",
        path: "/base/responses",
        key: "authorization: bearer canary-5b1d0e-key",
        media_type: "text/event-stream",
        calls: streams!("responses/streams/calls"),
        text: streams!("responses/streams/text"),
        wholes: wholes!("responses/streams/calls", "responses/streams/text"),
    },
    Wire {
        word: "anthropic",
        path: "/base/messages",
        key: "x-api-key: canary-5b1d0e-key",
        media_type: "text/event-stream",
        calls: streams!("anthropic/streams/calls"),
        text: streams!("anthropic/streams/text"),
        wholes: wholes!("anthropic/streams/calls", "anthropic/streams/text"),
    },
    Wire {
        word: "gemini",
        path: "/base/models/tiny:streamGenerateContent?alt=sse",
        key: "x-goog-api-key: canary-5b1d0e-key",
        media_type: "text/event-stream",
        calls: streams!("gemini/streams/calls"),
        text: streams!("gemini/streams/text"),
        wholes: wholes!("gemini/streams/calls", "gemini/streams/text"),
    },
    Wire {
        word: "ollama",
        path: "/base/chat",
        key: "authorization: bearer canary-5b1d0e-key",
        media_type: "application/x-ndjson",
        calls: streams!("ollama/streams/calls"),
        text: streams!("ollama/streams/text"),
        wholes: wholes!("ollama/streams/calls", "ollama/streams/text"),
    },
];

fn station(wire: &Wire, server: &Server) -> Station {
    Station::with(&format!(
        "[agents.a]\ninstructions = \"be brief\"\ntools = [\"text.*\"]\nmodels = [\"m\"]\n\
         [models.m]\nprovider = \"{}\"\nurl = \"{}/base\"\nmodel = \"tiny\"\nkey_env = \"STATION_KEY\"\n\
         private = true\nextra = {{ station_extra = {{ a = [1] }} }}\n",
        wire.word,
        server.url()
    ))
}

fn ask(station: &Station) -> Ended {
    let mut command = station.command(&["run", "count"]);
    station.finish(command.env("STATION_KEY", KEY))
}

fn sends(wire: &Wire, stream: &str) -> Answer {
    Answer::Bytes(plain(200, wire.media_type, stream))
}

#[test]
fn a_call_goes_round_in_every_format() {
    for wire in &WIRES {
        let server = Server::start(vec![sends(wire, wire.calls), sends(wire, wire.text)]);
        let station = station(wire, &server);
        let ended = ask(&station).ends(0);
        assert_eq!(ended.out, "Three words.\n", "{}", wire.word);
        ended.says(&["→ text.count {\"text\":\"a b\"}"]).never(KEY);
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{}", wire.word);
        for request in &requests {
            let line = format!("POST {} HTTP/1.1\r\n", wire.path);
            assert!(request.starts_with(&line), "{request}");
            assert!(request.to_lowercase().contains(wire.key), "{request}");
        }
        for body in server.bodies() {
            assert_eq!(body["station_extra"], json!({"a": [1]}), "{}", wire.word);
        }
        let (first, second) = (&requests[0], &requests[1]);
        assert!(first.contains("text__count"), "{first}");
        assert!(!first.contains("words\\\":2"), "{first}");
        assert!(
            second.contains("\\\"words\\\":2"),
            "{}: {second}",
            wire.word
        );
        assert!(
            !station
                .records()
                .iter()
                .any(|record| record.to_string().contains(KEY))
        );
    }
}

/// What ends an answer in each format, and what does where a filter ended it; Ollama has none.
const FILTERED: [(&str, &str, &str); 4] = [
    (
        "openai",
        "\"finish_reason\":\"stop\"",
        "\"finish_reason\":\"content_filter\"",
    ),
    (
        "responses",
        "\"status\":\"completed\",\"error\":null,\"incomplete_details\":null",
        "\"status\":\"incomplete\",\"error\":null,\"incomplete_details\":{\"reason\":\"content_filter\"}",
    ),
    (
        "anthropic",
        "\"stop_reason\":\"end_turn\"",
        "\"stop_reason\":\"refusal\"",
    ),
    (
        "gemini",
        "\"finishReason\":\"STOP\"",
        "\"finishReason\":\"SAFETY\"",
    ),
];

/// R-34: an answer that its provider's filter cut off is a failure, and no other model is asked; what was said is kept.
#[test]
fn an_answer_that_is_filtered_is_a_failure_in_every_format() {
    for (word, ends, filtered) in FILTERED {
        let wire = WIRES
            .iter()
            .find(|wire| wire.word == word)
            .expect("a format");
        assert!(wire.text.contains(ends), "{word}");
        let stream = wire.text.replace(ends, filtered);
        let server = Server::start(vec![sends(wire, &stream), sends(wire, wire.text)]);
        let station = station(wire, &server);
        let mut command = station.command(&["run", "count"]);
        let ended = station.finish(command.env("STATION_KEY", KEY)).ends(5);
        ended.says(&["its content filter stopped the model"]);
        assert_eq!(server.requests().len(), 1, "{word}");
        let records = station.records();
        let said = records
            .iter()
            .find(|one| one["event"] == "replied")
            .expect("a reply");
        assert_eq!(said["reply"]["text"], "Three words.", "{word}");
        let end = records.last().expect("an end");
        assert_eq!(
            (&end["end"], &end["code"]),
            (&json!("failed"), &json!("provider_failed"))
        );
        station.run(&["runs", "replay", "last"]).ends(0);
    }
}

/// The thoughts of the first reply, as they are told back in the second request.
fn told_back(wire: &Wire) -> Value {
    let server = Server::start(vec![sends(wire, wire.calls), sends(wire, wire.text)]);
    ask(&station(wire, &server)).ends(0);
    server.bodies().pop().unwrap()
}

#[test]
fn what_is_signed_is_told_back_as_it_was() {
    let [openai, responses, anthropic, gemini, ollama] = &WIRES;
    let body = told_back(openai);
    assert!(!body.to_string().contains("thinking"));
    let body = told_back(responses);
    let item = &body["input"][1];
    assert_eq!(item["type"], "reasoning");
    assert_eq!(item["encrypted_content"], "c2lnbmVk+/A=");
    assert_eq!(body["store"], false);
    let body = told_back(anthropic);
    let blocks = &body["messages"][1]["content"];
    let signed = json!({"type": "thinking", "thinking": "Hm, count.", "signature": "c2lnbmVk+/A="});
    assert_eq!(blocks[0], signed);
    assert_eq!(
        blocks[1],
        json!({"type": "redacted_thinking", "data": "c2lnbmVkBw=="})
    );
    assert_eq!(blocks[2]["type"], "text");
    let body = told_back(gemini);
    let part = &body["contents"][1]["parts"][1];
    assert_eq!(part["functionCall"]["name"], "text__count");
    assert_eq!(part["thoughtSignature"], "c2lnbmVk+/A=");
    let body = told_back(ollama);
    assert_eq!(body["messages"][2]["thinking"], "Hm, count.");
}

#[test]
fn what_is_thought_is_streamed_beside_what_is_said() {
    for wire in WIRES.iter().skip(1) {
        let server = Server::start(vec![sends(wire, wire.calls), sends(wire, wire.text)]);
        let station = station(wire, &server);
        let mut command = station.command(&["run", "count", "--json"]);
        let ended = station.finish(command.env("STATION_KEY", KEY)).ends(0);
        let of = |kind: &str| -> String {
            let events = ended.lines().into_iter();
            let events = events.filter(|event| event["event"] == kind);
            events
                .map(|event| event["text"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(of("thought"), "Hm, count.", "{}", wire.word);
        assert_eq!(of("text"), "Let me count é😀.Three words.", "{}", wire.word);
    }
}

#[test]
fn a_stream_that_stops_half_way_does_nothing_in_any_format() {
    for wire in &WIRES {
        let half = &wire.calls[..wire.calls.floor_char_boundary(wire.calls.len() * 2 / 3)];
        let server = Server::start(vec![sends(wire, half)]);
        let station = station(wire, &server);
        ask(&station)
            .ends(5)
            .says(&["error: the model provider's stream stopped half-way"]);
        let called = |record: &Value| record["event"] == "judged" && record["effect"] == "call";
        assert!(!station.records().iter().any(called), "{}", wire.word);
    }
}

#[test]
fn a_refusal_is_told_by_its_kind_and_not_by_its_text() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"canary-text"}}"#;
    for wire in &WIRES {
        let refuses = Answer::Bytes(plain(429, "application/json", body));
        let server = Server::start(vec![refuses]);
        ask(&station(wire, &server))
            .ends(5)
            .says(&[
                "error: the model provider wants fewer requests: status 429 `rate_limit_error`",
            ])
            .never("canary-text");
    }
}

#[test]
fn a_kind_that_echoes_the_key_is_not_told() {
    let body = json!({"error": {"type": KEY, "message": KEY}}).to_string();
    let [wire, ..] = &WIRES;
    let server = Server::start(vec![Answer::Bytes(plain(401, "application/json", &body))]);
    let station = station(wire, &server);
    ask(&station).ends(5).never(KEY);
    assert!(
        !station
            .records()
            .iter()
            .any(|record| record.to_string().contains(KEY))
    );
}

#[test]
fn what_extra_may_not_say() {
    for (wire, key) in WIRES
        .iter()
        .zip(["messages", "store", "system", "contents", "stream"])
    {
        let station = Station::new();
        station.write(
            "lazaret.toml",
            format!(
                "[models.m]\nprovider = \"{}\"\nurl = \"http://a.test\"\nmodel = \"m\"\nextra = {{ {key} = 1 }}\n",
                wire.word
            ),
        );
        station.run(&["policy", "check"]).ends(2).says(&[
            &format!("[models.m]: `extra` has `{key}`, which the host writes itself"),
            &format!("hint: take `{key}` out of `extra`"),
        ]);
    }
}

#[test]
fn a_model_that_is_none_is_refused() {
    for model in ["", "a b", "../x", "m?key=1", "m#", "m:other"] {
        let station = Station::new();
        station.write(
            "lazaret.toml",
            format!(
                "[models.m]\nprovider = \"gemini\"\nurl = \"http://a.test\"\nmodel = \"{model}\"\n"
            ),
        );
        let said = format!("[models.m]: `model` is no model's name: `{model}`");
        station.run(&["policy", "check"]).ends(2).says(&[&said]);
    }
}
