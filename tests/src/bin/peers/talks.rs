//! The requests that an SDK sends in the course of a conversation, and those that our codec writes for it.

use lazaret::rules::codec::{Target, Wire};
use lazaret::words::label::Label;
use lazaret::words::message::{Card, Message, Observation, Prompt, Reply, StopReason};
use serde_json::{Map, Value, json};

use crate::Bench;
use crate::answers::{Answers, Recorded, base};
use crate::rules::{About, difference};

/// The key that the SDKs are given (`tests/peers/reading.py`).
const KEY: &str = "peers-key";
const SYSTEM: &str = "Be brief.";
/// Outcomes of calls, as many as there are; every second one failed.
const OUTCOMES: [(&str, bool); 4] = [
    ("3", true),
    ("no", false),
    ("{\"n\": 3}", true),
    ("-", false),
];

/// A stream that the SDK cannot go on from: an older Ollama says in each event whose it is and numbers all calls 0, and the
/// SDK writes one after the other. That it does is among the rules of what is read.
const SPOILT: (Wire, &str, bool) = (Wire::OpenAi, "ollama", true);

/// Plays a conversation on every recorded answer that one can go on from.
pub fn compare(bench: &mut Bench, wire: Wire, answers: &Answers) {
    for answer in &answers.all {
        match answer.reply(wire) {
            Ok(_) if (wire, answer.name.as_str(), answer.streams) == SPOILT => {}
            Ok(reply) if matches!(reply.stop, StopReason::End | StopReason::Calls) => {
                let text = answers.text(answer.streams);
                match play(bench, wire, [answer, text, text]) {
                    Ok(requests) => check(bench, wire, answer, &reply, (text, &requests)),
                    Err(failed) => {
                        bench.count(wire, "requests sent", &answer.place(), Some(failed));
                    }
                }
            }
            // A run ends there.
            Ok(_) | Err(_) => {}
        }
    }
}

/// What the SDK sent: one request for each answer.
fn play(bench: &mut Bench, wire: Wire, said: [&Recorded; 3]) -> Result<Vec<String>, String> {
    let streams = said[0].streams;
    let place = |step: usize| format!("/play/{}/{streams}/{step}", said[0].name);
    let path = |step| format!("{}{}{}", place(step), base(wire), wire.path("m", streams));
    let answers = said.iter().enumerate();
    let answers = answers.map(|(step, answer)| answer.at(wire, path(step)));
    bench.server.say(answers.collect());
    let url = |step| format!("http://127.0.0.1:{}{}", bench.server.port(), place(step));
    let outcomes = OUTCOMES.map(|(text, ok)| json!({"text": text, "ok": ok}));
    let reply = said[0].reply(wire)?;
    let second = if reply.calls.is_empty() {
        json!({"user": "More."})
    } else {
        json!({"outcomes": outcomes})
    };
    let tools = cards().into_iter().map(|card| {
        let name = card.name.replace('.', "__");
        json!({"name": name, "description": card.description, "schema": card.input})
    });
    let talk = json!({
        "system": SYSTEM,
        "tools": tools.collect::<Vec<_>>(),
        "streams": streams,
        "steps": [{"user": "Count."}, second, {"user": "Go on."}],
    });
    let before = bench.server.sent().len();
    let places: Vec<String> = (0..said.len()).map(url).collect();
    bench
        .sdk
        .ask(wire, "play", json!({"places": places, "talk": talk}))?;
    Ok(bench.server.sent().split_off(before))
}

/// Compares each of them with ours.
fn check(
    bench: &mut Bench,
    wire: Wire,
    answer: &Recorded,
    reply: &Reply,
    (text, requests): (&Recorded, &[String]),
) {
    let again = text.reply(wire).expect("it was read before");
    for (step, request) in requests.iter().enumerate() {
        let prompt = prompt(step, reply, &again);
        let ours = written(wire, answer.streams, &prompt);
        let place = format!("{}, request {}", answer.place(), step + 1);
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
        let mut theirs = serde_json::from_str(body).unwrap_or(Value::Null);
        let mut same = ours.clone();
        bench.rules.apply(wire, About::Body, &mut same, &mut theirs);
        bench.count(wire, "bodies sent", &place, difference(&same, &theirs));
        let (mut said, mut theirs) = (our_head(wire, answer.streams), their_head(head));
        bench.rules.apply(wire, About::Head, &mut said, &mut theirs);
        bench.count(wire, "heads sent", &place, difference(&said, &theirs));
        let fits = bench.sdk.ask(wire, "complaints", json!({"body": ours}));
        bench.count(wire, "bodies typed", &place, complaint(fits));
    }
    assert_eq!(requests.len(), 3, "{wire:?}");
}

/// What the SDK's types have against a body.
pub fn complaint(fits: Result<Value, String>) -> Option<String> {
    match fits {
        Ok(Value::Array(complaints)) if complaints.is_empty() => None,
        Ok(complaints) => Some(format!("the SDK's types: {complaints}")),
        Err(failed) => Some(failed),
    }
}

/// The prompt of one step.
fn prompt(step: usize, reply: &Reply, again: &Reply) -> Prompt {
    let user = |text: &str| Message::user(text);
    let said = |reply: &Reply| {
        Message::Assistant(Reply {
            by: "us".to_owned(),
            ..reply.clone()
        })
    };
    let mut messages = vec![user("Count.")];
    if step > 0 {
        messages.push(said(reply));
        let told = reply.calls.iter().zip(OUTCOMES);
        messages.extend(told.map(|(call, (text, ok))| Message::Tool {
            id: call.id.clone(),
            observation: Observation {
                text: text.to_owned(),
                ok,
                label: Label::default(),
                flags: Vec::new(),
            },
        }));
        if reply.calls.is_empty() {
            messages.push(user("More."));
        }
    }
    if step > 1 {
        messages.extend([said(again), user("Go on.")]);
    }
    Prompt {
        instructions: SYSTEM.to_owned(),
        cards: cards(),
        messages,
        ..Prompt::default()
    }
}

/// Our request.
fn written(wire: Wire, streams: bool, prompt: &Prompt) -> Value {
    let extra = Map::new();
    let target = Target {
        model: "m",
        by: "us",
        extra: &extra,
        streams,
    };
    let body = wire.encode(&target, prompt).body;
    serde_json::from_slice(&body).expect("a request is JSON")
}

/// Tools whose schemas have what schemas of tools have.
pub fn cards() -> Vec<Card> {
    let find = json!({
        "type": "object",
        "properties": {
            "from": {"type": "string", "description": "whose", "minLength": 1},
            "kind": {"type": "string", "enum": ["letter", "parcel"]},
            "most": {"type": ["integer", "null"], "minimum": 1, "maximum": 50},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
            "sent": {
                "type": "object",
                "properties": {"after": {"type": "string", "format": "date-time"}, "exact": {"type": "boolean"}},
                "required": ["after"],
            },
            "size": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        },
        "required": ["from"],
    });
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}},
        "required": ["text"], "additionalProperties": false});
    let nothing = json!({"type": "object", "properties": {}});
    let card = |name: &str, input: Value| Card {
        name: name.to_owned(),
        description: format!("{name}, and what it does"),
        input,
        output: json!({}),
    };
    vec![
        card("text.count", text),
        card("files.list", nothing),
        card("mail.find", find),
    ]
}

/// What stands before a request of ours: path and headers that say something.
fn our_head(wire: Wire, streams: bool) -> Value {
    let path = format!("{}{}", base(wire), wire.path("m", streams));
    let (name, before) = wire.key();
    let mut head = json!({"path": path, (name): format!("{before}{KEY}")});
    for (name, value) in wire.headers() {
        head[*name] = json!(value);
    }
    head
}

/// The same of theirs; the path without the place that the server was asked at.
fn their_head(head: &str) -> Value {
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default();
    let path = line.split(' ').nth(1).unwrap_or_default();
    let path: Vec<&str> = path.splitn(6, '/').collect();
    let path = format!("/{}", path.last().unwrap_or(&""));
    let mut said = json!({"path": path});
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name = name.to_lowercase();
        let known = [
            "authorization",
            "accept",
            "content-type",
            "anthropic-version",
        ];
        if known.contains(&name.as_str()) || name.ends_with("-key") {
            said[name] = json!(value);
        }
    }
    said
}
