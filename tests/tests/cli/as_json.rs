//! `--json`, everywhere: whatever a command prints then is JSON, one document or an event a line, and a person is told
//! nothing beside it.
//! Commands that look and change nothing are in `help`; here are all others, each in a station of its own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::help::{LOOKING, all};
use crate::labels;
use crate::serve::counting;
use crate::station::{Station, bundled};

/// What there is before a command is called.
type Before = fn() -> Station;

/// A command, as it is called, and how it ends. `QUESTION` stands for the one that waits.
type Case = (Before, &'static [&'static str], i32);

const CHANGING: [Case; 34] = [
    (Station::new, &["init"], 0),
    (Station::new, &["demo", "--folder", "demo"], 0),
    (Station::new, &["config", "schema"], 0),
    (counted, &["run", "Count."], 0),
    (waiting, &["ask", "show", "QUESTION"], 0),
    (waiting, &["ask", "allow", "QUESTION"], 0),
    (waiting, &["ask", "always", "QUESTION"], 0),
    (waiting, &["ask", "deny", "QUESTION"], 0),
    (counted, &["sessions", "show", "work"], 0),
    (Station::new, &["secret", "set", "canary"], 0),
    (with_secret, &["secret", "remove", "canary"], 0),
    (untrusted, &["policy", "trust"], 0),
    (counted, &["policy", "suggest", "last"], 0),
    (
        counted,
        &["policy", "test", "last", "--policy", "lazaret.toml"],
        0,
    ),
    (counted, &["runs", "verify", "--all"], 0),
    (counted, &["runs", "replay", "last"], 0),
    (counted, &["runs", "watch", "last"], 0),
    (counted, &["runs", "export", "last"], 0),
    (
        counted,
        &["runs", "export", "last", "--output", "run.jsonl"],
        0,
    ),
    (brought, &["runs", "import", "run.jsonl"], 0),
    (called, &["runs", "prune", "last"], 0),
    (called, &["runs", "repair"], 0),
    (waiting, &["runs", "cancel", "last"], 0),
    (allowed, &["runs", "resume", "last"], 0),
    (with_server, &["servers", "list"], 0),
    (with_server, &["servers", "check", "mail"], 0),
    (with_server, &["servers", "trust", "mail"], 0),
    (with_server, &["servers", "forget", "mail"], 0),
    (labels::station, &["labels", "list"], 0),
    (
        labels::station,
        &["labels", "clear", "--service", "desk"],
        0,
    ),
    (with_plugin, &["plugin", "check", "odd.wasm"], 0),
    (Station::new, &["plugin", "keygen", "new.key"], 0),
    (
        with_plugin,
        &["plugin", "sign", "odd.wasm", "--key", "mine.key"],
        0,
    ),
    (with_signature, &["plugin", "verify", "odd.wasm"], 0),
];

/// Commands that list, and where they have something to list.
const LISTS: [(Before, &[&str]); 10] = [
    (waiting, &["ask", "list"]),
    (counted, &["runs", "list"]),
    (counted, &["runs", "verify", "--all"]),
    (counted, &["sessions", "list"]),
    (labels::station, &["labels", "list"]),
    (labels::station, &["labels", "list", "--service", "desk"]),
    (with_server, &["servers", "list"]),
    (with_secret, &["secret", "list"]),
    (Station::new, &["plugin", "list"]),
    (Station::new, &["tools"]),
];

/// Commands that are not called here, and why.
const APART: [(&str, &str); 6] = [
    ("completions", "a script of a shell: refused, below"),
    ("man", "a manual: refused, below"),
    ("mcp", "it speaks MCP and nothing else"),
    ("serve", "its first line is JSON: `serving`"),
    ("servers login", "needs an issuer: `it mcp::login`"),
    ("servers logout", "needs a server with an address: below"),
];

fn counted() -> Station {
    let station = counting("");
    station.run(&["run", "Count.", "--session", "work"]).ends(0);
    station
}

fn called() -> Station {
    let station = Station::new();
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    station
}

fn waiting() -> Station {
    let station = counting("ask = [\"text.count\"]");
    station.run(&["run", "Count."]).ends(75);
    station
}

fn question(station: &Station) -> String {
    let listed = station.run(&["ask", "list", "--json"]).ends(0).listed();
    let id = listed[0]["question"].as_str().expect("a name");
    id.to_owned()
}

fn allowed() -> Station {
    let station = waiting();
    station.run(&["ask", "allow", &question(&station)]).ends(0);
    station
}

fn untrusted() -> Station {
    let station = Station::new();
    station.write("lazaret.toml", "block = [\"clock.*\"]\n");
    station
}

fn with_secret() -> Station {
    let station = Station::new();
    station
        .run_with_input(&["secret", "set", "canary"], b"hidden-value")
        .ends(0);
    station
}

/// What another host wrote.
fn brought() -> Station {
    let other = called();
    other
        .run(&["runs", "export", "last", "--output", "run.jsonl"])
        .ends(0);
    let station = Station::new();
    station.write("run.jsonl", other.read("run.jsonl"));
    station
}

fn with_server() -> Station {
    let stranger = env!("CARGO_BIN_EXE_stranger");
    let config =
        format!("[mcp.mail]\ncommand = [{stranger:?}, \"good\", \"notes\"]\ndata = [\"notes\"]\n");
    Station::with(&config)
}

fn with_plugin() -> Station {
    let station = Station::new();
    let bytes = std::fs::read(bundled("text")).expect("a plugin");
    station.write("odd.wasm", bytes);
    station.run(&["plugin", "keygen", "mine.key"]).ends(0);
    station
}

fn with_signature() -> Station {
    let station = with_plugin();
    station
        .run(&["plugin", "sign", "odd.wasm", "--key", "mine.key"])
        .ends(0);
    station
}

#[test]
fn whatever_changes_something_says_so_as_json() {
    for (before, words, status) in CHANGING {
        let station = before();
        let id = match words.contains(&"QUESTION") {
            true => question(&station),
            false => String::new(),
        };
        let words = words
            .iter()
            .map(|word| if *word == "QUESTION" { &id } else { *word });
        let words: Vec<&str> = words.chain(["--json"]).collect();
        let ended = station.run_with_input(&words, b"hidden-value");
        for line in ended.out.lines() {
            let parsed = serde_json::from_str::<Value>(line);
            assert!(parsed.is_ok(), "{words:?}: {line}");
        }
        assert!(!ended.out.is_empty(), "{words:?} prints nothing: {ended}");
        ended.ends(status).says_only("");
    }
}

/// One document, whatever there is to list. Plugins and tools there are always.
#[test]
fn a_list_is_one_array_also_of_nothing() {
    for (before, words) in LISTS {
        let words = [words, &["--json"]].concat();
        let some = before().run(&words).ends(0).says_only("").listed();
        assert!(!some.is_empty(), "{words:?}");
        let is_bundled = matches!(words.first(), Some(&("plugin" | "tools")));
        if is_bundled || words.contains(&"desk") {
            continue;
        }
        let none = Station::new().run(&words).ends(0).says_only("");
        assert_eq!(none.out, "[]\n", "{words:?}");
    }
    let none = Station::new().run(&["tools", "no-such-word", "--json"]);
    assert_eq!(none.ends(0).out, "[]\n");
}

#[test]
fn a_login_is_forgotten_as_json() {
    let station =
        Station::with("[mcp.far]\nurl = \"https://127.0.0.1:1/mcp\"\nlogin = { client = \"x\" }\n");
    let told = station
        .run(&["servers", "logout", "far", "--json"])
        .ends(0)
        .says_only("")
        .json();
    assert_eq!(told, json!({"ok": true, "server": "far", "wasIn": false}));
}

#[test]
fn what_is_no_json_is_refused_as_json() {
    for words in [&["completions", "bash"][..], &["man"]] {
        let ended = Station::new().run(&[words, &["--json"]].concat());
        let told = ended.json();
        assert_eq!(told["error"]["code"], "VALIDATION_ERROR", "{told}");
        ended.ends(2).says_only("");
    }
}

/// A new command is in one of the lists.
#[test]
fn every_command_is_asked_for_json_somewhere() {
    let station = Station::new();
    let known: Vec<Vec<String>> = all(&station);
    let is_leaf = |words: &&Vec<String>| {
        !words.is_empty()
            && !known
                .iter()
                .any(|other| other.len() > words.len() && other.starts_with(words))
    };
    let leaves: BTreeSet<String> = known
        .iter()
        .filter(is_leaf)
        .map(|words| words.join(" "))
        .collect();
    let listed = LOOKING
        .into_iter()
        .chain(CHANGING.map(|(_, words, _)| words));
    let listed: Vec<String> = listed.map(|words| words.join(" ")).collect();
    for leaf in &leaves {
        let is_called = listed
            .iter()
            .any(|words| *words == *leaf || words.starts_with(&format!("{leaf} ")));
        let reason = APART.iter().find(|(words, _)| words == leaf);
        assert!(
            is_called != reason.is_some(),
            "`lazaret {leaf}`: called {is_called}, apart {reason:?}"
        );
    }
    for (words, _) in APART {
        assert!(leaves.contains(words), "there is no `lazaret {words}`");
    }
}
