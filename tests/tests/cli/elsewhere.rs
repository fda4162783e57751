//! Commands that a command names lead to what it is about, also where the file was named or something was set.

use serde_json::json;

use crate::client::Client;
use crate::mcp::text;
use crate::station::{Ended, Station};

const POLICY: &str = r#"
ask = ["files.write"]
[mounts.here]
path = "."
access = "write"
[grants."files.write"]
mounts = { here = "write" }
[flow]
mode = "off"
"#;

const ARGS: &str = r#"{"path": "here/log.txt", "content": "one"}"#;

/// A workspace whose file lies in a folder of its own, and is trusted.
fn station() -> Station {
    let station = Station::new();
    station.write("my project/lazaret.toml", POLICY);
    station.write("other/x", "");
    let trust = ["policy", "trust", "--config", "my project/lazaret.toml"];
    station.run(&trust).ends(0);
    station
}

/// The command that a line of this ending names, as a shell has it.
fn command(ended: &Ended, begins: &str) -> String {
    let mut lines = ended.err.lines();
    let line = lines.find_map(|line| line.split_once(begins));
    line.unwrap_or_else(|| panic!("{begins}: {ended}"))
        .1
        .to_owned()
}

/// Runs it as a person would who has gone elsewhere.
fn typed(station: &Station, command: &str) -> Ended {
    let here = station.workspace().display().to_string();
    let words = shlex(&command.replace("[HERE]", &here).replace("[RUN]", "last"));
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    station.run_in("other", &words)
}

/// The words of a command, where quotation marks hold one together.
fn shlex(command: &str) -> Vec<String> {
    let pieces = command.split('\'').enumerate();
    let mut words = vec![String::new()];
    for (place, piece) in pieces {
        if place % 2 == 1 {
            words.last_mut().unwrap().push_str(piece);
            continue;
        }
        let mut parts = piece.split(' ');
        words.last_mut().unwrap().push_str(parts.next().unwrap());
        words.extend(parts.map(str::to_owned));
    }
    words
}

#[test]
fn a_run_that_waits_is_answered_and_gone_on_with_from_anywhere() {
    let station = station();
    let config = ["--config", "my project/lazaret.toml"];
    let call = ["call", "files.write", ARGS, "--set", "limits.calls=3"];
    let left = station.run(&[&call[..], &config].concat()).ends(75);
    let allow = left.err.lines().find(|line| line.contains(" ask allow "));
    let allow = allow.and_then(|line| line.strip_prefix("hint: "));
    let resume = command(&left, "then go on with it: ");
    assert!(
        resume.contains("my project/lazaret.toml' --set limits.calls=3 runs resume "),
        "{resume}"
    );
    let allow = allow.unwrap_or_else(|| panic!("{left}"));
    let allowed = typed(&station, allow).ends(0);
    // What comes after an answer leads there as well, and knows nothing of what was set for the call.
    let next = command(&allowed, "go on with it: ");
    assert!(
        next.contains(" --config '") && !next.contains("--set"),
        "{next}"
    );
    typed(&station, &resume).ends(0);
    assert_eq!(station.read("my project/log.txt"), "one");
}

#[test]
fn without_a_named_file_commands_are_short() {
    let station = Station::with(POLICY);
    let left = station.run(&["call", "files.write", ARGS]).ends(75);
    assert!(left.err.contains("hint: lazaret ask allow "), "{left}");
    left.never("--config");
}

#[test]
fn a_client_of_mcp_is_told_where_its_user_answers() {
    let station = station();
    let mut command = station.command(&["mcp", "--config", "my project/lazaret.toml"]);
    let mut client = Client::begun(&station, &mut command);
    client.begin("2025-11-25", json!({}));
    let args: serde_json::Value = serde_json::from_str(ARGS).unwrap();
    let outcome = client.call("files__write", args);
    let told = text(&outcome);
    assert!(
        told.contains("a person answers it with: lazaret --config '…/lazaret.toml' ask allow "),
        "{told}"
    );
    // Where that is, no model needs to know.
    assert!(!told.contains("my project"), "{told}");
}

#[test]
fn what_is_not_found_is_said_with_where_it_was_looked_for() {
    let station = Station::with(POLICY);
    for words in [&["ask", "allow", "3f9a01"][..], &["runs", "show", "2026"]] {
        station.run(words).ends(4).says(&[
            "there is no ",
            "hint: looked in `[HERE]/.lazaret`: what another folder holds is found from there, or with `--config FILE`",
        ]);
    }
    let failed = station
        .run(&["runs", "show", "2026", "--json"])
        .ends(4)
        .json();
    assert_eq!(
        failed["error"]["hints"][0],
        json!("`lazaret runs list` shows them")
    );
    // What is no run is not said to be looked for there.
    station
        .run(&["sessions", "show", "none"])
        .ends(4)
        .never("looked in");
}
