//! `lazaret json`: a request a line, an envelope a line, in order.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::station::{Ended, Station};

/// Requests as a program writes them, one a line.
fn asked(station: &Station, arguments: &[&str], lines: &[&str]) -> Ended {
    let arguments = [&["json"], arguments].concat();
    station.run_with_input(&arguments, lines.join("\n").as_bytes())
}

fn count(id: usize, text: &str) -> String {
    json!({"action": "text.count", "input": {"text": text}, "id": id}).to_string()
}

/// The code of an envelope; empty where it went well.
fn code(envelope: &Value) -> &str {
    envelope["error"]["code"].as_str().unwrap_or_default()
}

#[test]
fn a_request_is_answered_with_the_envelope_of_its_surface() {
    let ended = Station::new().run(&[
        "json",
        r#"{"action":"text.count","input":{"text":"a b"},"id":"first"}"#,
    ]);
    let envelope = ended.json();
    assert_eq!(envelope["ok"], true, "{ended}");
    assert_eq!(envelope["id"], "first");
    assert_eq!(envelope["data"]["words"], 2);
    assert_eq!(envelope["meta"]["surface"], "json");
    assert_eq!(ended.out.lines().count(), 1);
    ended.ends(0).says_only("");
}

/// Nobody typed either; but only one of them came through standard input.
#[test]
fn what_is_no_standard_input_is_not_labelled_so() {
    let station = Station::new();
    let line = count(1, "a");
    let given = station.run(&["json", &line]).ends(0).json();
    let piped = asked(&station, &[], &[&line]).ends(0).json();
    for (envelope, source) in [(given, "file:/client"), (piped, "file:/dev/stdin")] {
        let label = envelope["meta"]["label"].as_array().unwrap();
        let files = label.iter().filter_map(|source| source.as_str());
        let files: Vec<&str> = files.filter(|source| source.starts_with("file:")).collect();
        assert_eq!(files, [source], "{envelope}");
    }
}

#[test]
fn a_bad_line_is_answered_at_its_place_and_the_next_one_is_read() {
    let station = Station::new();
    let (one, last) = (count(1, "a"), count(4, "a b c"));
    let lines = [
        one.as_str(),
        "",
        "{nope",
        r#"{"action":"text.count","input":{"text":"a"},"user":"root"}"#,
        last.as_str(),
    ];
    let ended = asked(&station, &[], &lines);
    let envelopes = ended.lines();
    let codes: Vec<&str> = envelopes.iter().map(code).collect();
    let bad = "INVALID_JSON_RUNNER_PAYLOAD";
    assert_eq!(codes, ["", bad, bad, ""], "{ended}");
    assert_eq!(envelopes[3]["data"]["words"], 3);
    let error = &envelopes[2]["error"];
    assert!(
        error["message"]
            .to_string()
            .contains("unknown field `user`")
    );
    assert_eq!(error["kind"], "bad_line");
    ended.ends(1);
}

#[test]
fn a_line_that_is_too_long_is_one_bad_line() {
    let station = Station::new();
    let (long, last) = ("a".repeat(3 << 20), count(2, "a b"));
    let ended = asked(&station, &[], &[&long, &last]);
    let envelopes = ended.lines();
    assert_eq!(envelopes.len(), 2, "{}", ended.status);
    assert_eq!(code(&envelopes[0]), "INVALID_JSON_RUNNER_PAYLOAD");
    assert_eq!(envelopes[1]["data"]["words"], 2);
}

#[test]
fn envelopes_stay_in_order_however_many_are_made_at_once() {
    let station = Station::new();
    let requests: Vec<String> = (0..40)
        .map(|id| match id % 4 {
            // One takes longer than those after it.
            0 => json!({"action": "text.count", "input": {"text": "a ".repeat(20_000)}, "id": id}),
            3 => json!({"action": "text.nope", "id": id}),
            _ => json!({"action": "text.count", "input": {"text": "a"}, "id": id}),
        })
        .map(|request| request.to_string())
        .collect();
    let lines: Vec<&str> = requests.iter().map(String::as_str).collect();
    let ended = asked(&station, &["--jobs", "8"], &lines);
    let ids: Vec<u64> = ended
        .lines()
        .iter()
        .map(|envelope| envelope["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, (0..40).collect::<Vec<_>>());
    ended.ends(4);
    for jobs in ["0", "65", "many"] {
        asked(&station, &["--jobs", jobs], &[])
            .ends(2)
            .says(&["a number from 1 to 64"]);
    }
}

#[test]
fn the_exit_status_is_that_of_the_worst_envelope() {
    let station = Station::with("ask = [\"text.diff\"]\nblock = [\"text.search\"]");
    let good = count(0, "a");
    let waits = r#"{"action":"text.diff","input":{"old":"a","new":"b"}}"#;
    let wrong = r#"{"action":"text.count","input":{}}"#;
    let denied = r#"{"action":"text.search","input":{"text":"a","pattern":"a"}}"#;
    for (lines, status) in [
        (vec![good.as_str()], 0),
        (vec![&good, waits], 75),
        (vec![waits, wrong, &good], 2),
        (vec![denied, wrong], 3),
        (vec![], 0),
    ] {
        asked(&station, &[], &lines).ends(status);
    }
    let ended = asked(&station, &[], &[waits]);
    let envelope = ended.json();
    assert_eq!(code(&envelope), "CONFIRMATION_REQUIRED");
    assert_eq!(envelope["error"]["kind"], "asked");
    assert_eq!(envelope["run"], "[RUN]", "{ended}");
}

#[test]
fn what_a_request_says_beside_its_arguments_counts() {
    let station = Station::new();
    let slow = r#"{"action":"text.count","input":{"text":"a"},"timeoutMs":0}"#;
    let ended = asked(&station, &[], &[slow]);
    assert_eq!(code(&ended.json()), "VALIDATION_ERROR", "{ended}");
    ended.ends(2);
    let once = r#"{"action":"text.count","input":{"text":"a"},"idempotencyKey":""}"#;
    asked(&station, &[], &[once]).ends(2);
}

/// A program that talks back and forth gets each answer before it writes the next line, and Ctrl-C ends it.
#[test]
fn an_answer_comes_before_the_next_line_is_written() {
    let station = Station::new();
    let mut child = station.spawn(station.command(&["json"]).stdin(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for text in ["a", "a b"] {
        writeln!(input, "{}", count(0, text)).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let envelope: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(envelope["data"]["words"], text.split(' ').count());
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
}
