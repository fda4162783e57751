//! One tool, every surface (A-01, A-02): the same wish has the same envelope, whichever way it comes.

use serde_json::{Value, json};

use crate::client::Client;
use crate::serving::Serving;
use crate::station::{Station, hostile};

/// What can go wrong with a call stands here once: who may not, who has to be asked, and what breaks.
fn station() -> Station {
    let config = format!(
        "ask = [\"hostile.destroy\"]\nblock = [\"clock.now\"]\n[grants.\"hostile.destroy\"]\n\
         [[permissions]]\ntools = \"text.diff\"\nverdict = \"quota used up\"\n\
         [[permissions]]\ntools = \"text.replace\"\nverdict = false\n\
         [plugins]\nhostile = {:?}\n",
        hostile()
    );
    Station::with(&config)
}

/// A wish, and the code of what comes of it; none where it is well.
fn cases() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let count = json!({"text": "a b"});
    vec![
        ("text.count", count, None),
        (
            "text.query",
            json!({"json": {"a": [1, 2]}, "path": "/a/1"}),
            None,
        ),
        ("text.count", json!({}), Some("VALIDATION_ERROR")),
        ("text.count", json!({"text": 1}), Some("VALIDATION_ERROR")),
        (
            "text.count",
            json!({"text": "a", "user": "root"}),
            Some("VALIDATION_ERROR"),
        ),
        ("clock.now", json!({}), Some("AUTHORIZATION_ERROR")),
        (
            "text.diff",
            json!({"old": "a", "new": "b"}),
            Some("AUTHORIZATION_ERROR"),
        ),
        (
            "text.replace",
            json!({"text": "a", "pattern": "a", "replacement": "b"}),
            Some("AUTHORIZATION_ERROR"),
        ),
        (
            "files.read",
            json!({"path": "../../etc/passwd"}),
            Some("AUTHORIZATION_ERROR"),
        ),
        (
            "text.search",
            json!({"text": "a", "pattern": "("}),
            Some("INTERNAL_ERROR"),
        ),
    ]
}

/// What has to be the same: not the names of runs, not the time, not which surface it was, and not what influenced
/// it, since a program's words are nobody's.
fn told(station: &Station, envelope: &Value) -> Value {
    // As the station shows it of a command.
    let text = envelope.to_string();
    let here = station.workspace().display().to_string();
    let envelope: Value = serde_json::from_str(&text.replace(&here, "[HERE]")).expect("JSON");
    let logs = envelope["logs"].as_array().expect("logs");
    let logs = logs.iter().map(|log| json!([log["level"], log["message"]]));
    let error = &envelope["error"];
    json!({
        "ok": envelope["ok"],
        "data": envelope["data"],
        "error": [error["code"], error["message"], error["issues"], error["retryable"], error["kind"]],
        "artifacts": envelope["artifacts"],
        "logs": logs.collect::<Vec<_>>(),
        "action": envelope["meta"]["action"],
    })
}

#[test]
fn the_same_wish_has_the_same_envelope_on_every_surface() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    for (tool, input, code) in cases() {
        let text = input.to_string();
        let cli = station.run(&["call", tool, &text, "--json"]).json();
        let line = json!({"action": tool, "input": input}).to_string();
        let lines = station.run(&["json", &line]).json();
        let http = serving.call(tool, input.clone()).json();
        assert_eq!(cli["error"]["code"].as_str(), code, "{tool} {text}: {cli}");
        let expected = told(&station, &cli);
        for (surface, envelope) in [("json", &lines), ("http", &http)] {
            assert_eq!(
                told(&station, envelope),
                expected,
                "{surface}: {tool} {text}"
            );
            assert_eq!(envelope["meta"]["surface"], surface);
        }
        // A tool that nobody may call there is not offered to a client of MCP in the first place.
        if tool == "clock.now" {
            continue;
        }
        let mcp = client.call(&tool.replace('.', "__"), input);
        let envelope = &mcp["structuredContent"];
        assert_eq!(told(&station, envelope), expected, "mcp: {tool} {text}");
        assert_eq!(mcp["isError"], code.is_some());
    }
    client.end().ends(0);
    serving.end().ends(0);
}

#[test]
fn what_is_not_there_is_said_on_every_surface() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    let cli = station.run(&["call", "text.cuont", "--json"]).json();
    let lines = station
        .run(&["json", r#"{"action":"text.cuont","input":{}}"#])
        .json();
    let http = serving
        .call("text.cuont", json!({}))
        .fails(404, "ACTION_NOT_FOUND");
    for error in [&cli["error"], &lines["error"], &http] {
        assert_eq!(error["code"], "ACTION_NOT_FOUND");
        let hint = error["hints"][0].as_str().unwrap_or_default();
        assert!(hint.starts_with("did you mean `text.count`"), "{hint}");
    }
    // A client of MCP is answered by its protocol: a name that it was not told of is a wrong parameter.
    let answer = client.ask(
        "tools/call",
        json!({"name": "text__cuont", "arguments": {}}),
    );
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_question_waits_on_every_surface_and_is_answered_on_any_other() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    let input = json!({});
    let cli = station
        .run(&["call", "hostile.destroy", "{}", "--confirm", "--json"])
        .ends(75)
        .json();
    let line = json!({"action": "hostile.destroy", "input": input, "confirm": true}).to_string();
    let lines = station.run(&["json", &line]).json();
    let path = "/v1/tools/hostile.destroy/call";
    let http = serving
        .post(path, &json!({"input": input, "confirm": true}))
        .is(202);
    for envelope in [&cli, &lines, &http] {
        assert_eq!(envelope["error"]["code"], "CONFIRMATION_REQUIRED");
        assert_eq!(envelope["error"]["kind"], "asked");
    }
    let waiting = serving.get("/v1/questions").is(200);
    assert_eq!(waiting["questions"].as_array().map(Vec::len), Some(3));
    // What HTTP asks, the command line answers; and the other way round.
    let asked = http["questions"][0]["question"]
        .as_str()
        .expect("a question");
    station.run(&["ask", "deny", asked]).ends(0);
    serving
        .post(
            &format!("/v1/questions/{asked}"),
            &json!({"answer": "allow"}),
        )
        .fails(409, "VALIDATION_ERROR");
    let mut others = waiting["questions"].as_array().expect("a list").iter();
    let other = others.find(|waiting| waiting["question"] != asked);
    let question = other.expect("another one")["question"]
        .as_str()
        .expect("a name");
    let path = format!("/v1/questions/{question}");
    let answered = serving.post(&path, &json!({"answer": "deny"})).is(200);
    let events = serving.events(answered["run"].as_str().expect("a run"), None);
    assert_eq!(events.last().expect("an end").name, "end");
    drop(client.ask("ping", json!({})));
}
