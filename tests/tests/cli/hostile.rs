//! Guests that misbehave, seen from the shell: what ends with which status, and that it ends.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::station::{Ended, Station, hostile};

/// Trusts a configuration with the hostile plugin in it.
fn station(more: &str) -> Station {
    let station = Station::scripted(
        "[\"hostile.*\"]",
        &[],
        &format!("{more}[plugins]\nhostile = {:?}\n", hostile()),
    );
    std::fs::remove_file(station.workspace().join("script.jsonl")).unwrap();
    station
}

fn call(more: &str, tool: &str, args: &str) -> Ended {
    station(more).run(&["call", tool, args, "--json"])
}

#[track_caller]
fn ends(more: &str, tool: &str, args: &str, wanted: (i32, &str, &str)) {
    let ended = call(more, tool, args);
    let error = &ended.json()["error"];
    let (status, code, kind) = wanted;
    assert_eq!(
        (&error["code"], &error["kind"]),
        (&json!(code), &json!(kind)),
        "{ended}"
    );
    ended
        .ends(status)
        .never("panicked at")
        .never("wasm backtrace");
}

#[test]
fn a_loop_is_ended_on_time() {
    ends(
        "[limits]\ncpu_ms = 50\n",
        "hostile.spin",
        "{}",
        (124, "TIMEOUT", "too_slow"),
    );
    ends(
        "[limits]\ntimeout_ms = 50\n",
        "hostile.spin",
        "{}",
        (124, "TIMEOUT", "too_slow"),
    );
    ends(
        "[limits]\nfuel = 1000000\n",
        "hostile.spin",
        "{}",
        (1, "INTERNAL_ERROR", "out_of_fuel"),
    );
}

#[test]
fn a_sleeper_is_ended_on_time() {
    ends(
        "[limits]\ntimeout_ms = 50\n",
        "hostile.sleep",
        "{}",
        (124, "TIMEOUT", "too_slow"),
    );
}

#[test]
fn an_interrupted_loop_ends_with_130() {
    let station = station("");
    station.write("script.jsonl", r#"{"calls":[{"tool":"hostile.spin"}]}"#);
    let mut child = station.spawn(&mut station.command(&["run", "hi", "--json"]));
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut events = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert!(events.any(|event| event["event"] == "judged" && event["subject"] == "hostile.spin"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let last = events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["code"]),
        (&json!("stopped"), &json!("cancelled"))
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn traps_and_panics_are_failures_of_the_guest() {
    for tool in ["hostile.traps", "hostile.recurse"] {
        ends("", tool, "{}", (1, "INTERNAL_ERROR", "trapped"));
    }
    let ended = call("", "hostile.panics", r#"{"message":"oh"}"#);
    assert_eq!(ended.json()["error"]["code"], "INTERNAL_ERROR", "{ended}");
    ended.ends(1);
}

#[test]
fn memory_is_limited() {
    ends(
        "[limits]\nmemory_mib = 8\n",
        "hostile.hoard",
        "{}",
        (1, "INTERNAL_ERROR", "out_of_memory"),
    );
}

#[test]
fn an_outcome_is_limited() {
    let hundred = r#"{"bytes":100000000}"#;
    let ended = call("[limits]\nmemory_mib = 256\n", "hostile.text", hundred);
    assert_eq!(ended.json()["ok"], false, "{:.300}", ended.out);
    assert!(ended.out.len() < 4_096);
    ended.ends(1);
}

#[test]
fn logs_before_a_limit_are_kept_and_the_rest_is_counted() {
    let ended = call("", "hostile.log_lines", r#"{"lines":100000}"#).ends(0);
    let envelope = ended.json();
    let logs = envelope["logs"].as_array().unwrap();
    assert!((100..=1_001).contains(&logs.len()), "{}", logs.len());
    assert_eq!(logs[0]["message"], "line");
    assert_eq!(logs[0]["level"], "info");
}

#[test]
fn artifacts_are_written_where_they_were_asked_for() {
    let station = station("");
    let call = [
        "call",
        "hostile.add_artifacts",
        r#"{"count":2,"bytes":3}"#,
        "--out",
        "kept",
        "--json",
    ];
    let ended = station.run(&call).ends(0);
    assert_eq!(ended.json()["artifacts"].as_array().unwrap().len(), 2);
    let files = std::fs::read_dir(station.workspace().join("kept")).unwrap();
    for file in files {
        let file = file.unwrap();
        assert!(file.file_name().to_str().unwrap().is_ascii());
        assert_eq!(std::fs::read(file.path()).unwrap(), b"aaa");
    }
    ended.never("\u{202e}");
    // What is there is never written over.
    let again = station.run(&call).ends(1);
    again.says(&["cannot be written: there is something of that name already"]);
}

/// What a tool has made is the tool's in whatever folder it was saved, and so is what is told of its run.
#[test]
fn what_is_saved_in_a_mount_is_read_under_the_influence_of_who_made_it() {
    let station = station(
        "[mounts.mine]\npath = \"mine\"\nown = true\n[grants.\"files.*\"]\nmounts = { mine = \"read\" }\n",
    );
    station.write("mine/own.txt", "own");
    let args = r#"{"count":1,"bytes":3}"#;
    let add = ["call", "hostile.add_artifacts", args, "--out", "mine"];
    station.run(&add).ends(0);
    let export = ["runs", "export", "last", "--output", "mine/run.jsonl"];
    station.run(&export).ends(0);
    for (path, expected) in [
        ("mine/artifact-1-a_u_202e_b.txt", true),
        ("mine/run.jsonl", true),
        ("mine/own.txt", false),
    ] {
        let args = json!({ "path": path }).to_string();
        let read = station.run(&["call", "files.read", &args, "--json"]);
        let label = read.ends(0).json()["meta"]["label"].to_string();
        assert!(label.contains("file:mine"), "{path}: {label}");
        let maker = "tool:hostile.add_artifacts";
        assert_eq!(label.contains(maker), expected, "{path}: {label}");
        let listed = ["labels", "list", "--file", path];
        let word = if expected { maker } else { "your own" };
        station.run(&listed).ends(0).prints(&[word]);
    }
    // A file that was there has nobody's label but its own.
    station.run(&add).ends(1);
    station
        .run(&["labels", "clear", "--file", "mine/run.jsonl"])
        .ends(0);
    station.run(&export).ends(1);
    let listed = ["labels", "list", "--file", "mine/run.jsonl"];
    station.run(&listed).ends(0).prints(&["your own"]);
}

#[test]
fn a_tool_of_another_surface_is_not_offered_here() {
    ends(
        "",
        "hostile.only_http",
        "{}",
        (4, "UNSUPPORTED_SURFACE", "bad_surface"),
    );
}

#[test]
fn a_tool_for_other_tools_is_not_called_from_here() {
    ends(
        "",
        "hostile.only_tools",
        "{}",
        (3, "AUTHORIZATION_ERROR", "denied"),
    );
}

#[test]
fn a_tool_that_declares_nothing_counts_as_high_risk() {
    station("")
        .run(&["call", "hostile.unclassified", "{}"])
        .ends(3)
        .says(&["[grants.\"hostile.unclassified\"]"]);
    let path = hostile().display().to_string();
    Station::new().run(&["plugin", "check", &path]).ends(0).says(&[
        "warning: `unclassified` does not declare its effect, so it counts as side-effecting and high risk",
        "hint: declare `effect` if it does less",
    ]);
}
