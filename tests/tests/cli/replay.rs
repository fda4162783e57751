//! `lazaret runs replay`: a run goes the same way again, without its server, its files and its secrets; and what has
//! changed since is found.

use rusqlite::Connection;
use serde_json::json;

use crate::server::{Answer, Server, plain};
use crate::station::{Ended, Station};
use crate::wires::WIRES;

const POLICY: &str = r#"
ask = ["files.write"]
[mounts.here]
path = "."
access = "write"
[grants."files.write"]
mounts = { here = "write" }
"#;

const WRITES: &str = "const count = await tools.text.count({text: 'a b'}); \
    await new Promise(resolve => setTimeout(resolve, 20)); \
    const all = await Promise.all([tools.text.count({text: 'a'}), tools.clock.now({})]); \
    const written = await tools.files.write({path: 'here/log.txt', content: 'one\\n', mode: 'append'}); \
    return [count.words, all.length, written.bytes, typeof Date.now()]";

fn replay(station: &Station) -> Ended {
    station.run(&["runs", "replay", "last"])
}

/// It goes the same way, and nothing happens.
#[track_caller]
fn is_the_same(station: &Station) {
    let before = station.run(&["runs", "list", "--json"]).ends(0).out;
    replay(station)
        .ends(0)
        .prints(&["[RUN] went the same way: "]);
    assert_eq!(before, station.run(&["runs", "list", "--json"]).ends(0).out);
}

fn asked() -> Station {
    let station = Station::with(POLICY);
    station.run(&["script", "-e", WRITES]).ends(75);
    station
}

fn answered(answer: &str) -> Station {
    let station = asked();
    let waiting = station.run(&["ask", "list", "--json"]).ends(0).listed();
    let id = waiting[0]["question"].as_str().unwrap();
    station.run(&["ask", answer, id]).ends(0);
    station.run(&["runs", "resume"]);
    station
}

#[test]
fn the_demo_goes_the_same_way_without_its_server() {
    let station = Station::new();
    station.run(&["demo", "--folder", "station"]).ends(0);
    std::fs::remove_dir_all(station.workspace().join("station/docs")).unwrap();
    std::fs::create_dir(station.workspace().join("station/docs")).unwrap();
    std::fs::remove_file(station.workspace().join("station/rehearsal.jsonl")).unwrap();
    let replayed = station.run_in("station", &["runs", "replay", "last", "--json"]);
    let replayed = replayed.ends(0).json();
    assert_eq!(replayed["diverged"], json!(null), "{replayed}");
    assert!(replayed["same"].as_u64().unwrap() > 20, "{replayed}");
    assert!(replayed["inner"].as_u64().unwrap() > 4, "{replayed}");
}

#[test]
fn a_script_that_was_left_and_went_on_does_so_again() {
    let station = asked();
    is_the_same(&station);
    let station = answered("allow");
    is_the_same(&station);
    assert_eq!(station.read("log.txt"), "one\n", "nothing was written");
    is_the_same(&answered("deny"));
}

/// The names of questions are made with a key that only the host has where the run was. All that differs is where the file with the
/// line lies.
#[test]
fn what_was_asked_on_another_host_is_called_the_same_here() {
    let policy = "ask = [\"text.count\"]\n";
    let station = Station::with(policy);
    let count = "return (await tools.text.count({text: 'a b'})).words";
    station.run(&["script", "-e", count]).ends(75);
    station
        .run(&["runs", "export", "last", "--output", "run.jsonl"])
        .ends(0);
    let exported = station.read("run.jsonl");
    let mut words = exported.split('"');
    let run = words.find(|word| word.starts_with("20")).unwrap();
    let other = Station::with(policy);
    std::fs::write(other.state().join("key"), [9; 32]).unwrap();
    other.trust();
    other.write("run.jsonl", &exported);
    other.run(&["runs", "import", "run.jsonl"]).ends(0);
    let replayed = other.run(&["runs", "replay", run, "--json"]).ends(1).json();
    let asked = |which: &str| replayed["diverged"][which]["verdict"]["id"].clone();
    assert!(asked("expected").is_string(), "{replayed}");
    assert_eq!(asked("expected"), asked("came"), "{replayed}");
}

#[test]
fn calls_go_the_same_way() {
    let station = Station::with("");
    for (tool, args) in [
        ("text.count", r#"{"text":"a b"}"#),
        ("text.count", r#"{"txt":1}"#),
        ("files.read", r#"{"path":"a"}"#),
    ] {
        station.run(&["call", tool, args]);
        is_the_same(&station);
    }
}

#[test]
fn a_run_that_was_cancelled_while_it_was_left_ends_so_again() {
    let station = asked();
    station.run(&["runs", "cancel", "last"]).ends(0);
    is_the_same(&station);
}

#[test]
fn another_policy_goes_another_way() {
    let station = answered("allow");
    let policy = POLICY.replace("ask =", "block = [\"text.count\"]\nask =");
    station.write("lazaret.toml", policy);
    station.trust();
    let ended = replay(&station).ends(1);
    ended.prints(&[
        "diverged: the run `[RUN]` went another way at record 3, after 3 that are as they were",
        "expected: {\"event\":\"judged\",\"effect\":\"call\",\"subject\":\"text.count\"",
        "\"verdict\":\"allow\"",
        "\"verdict\":\"deny\"",
    ]);
}

#[test]
fn what_a_guest_wished_is_judged_again() {
    let server = Server::start(vec![Answer::Bytes(plain(200, "text/html", "<p>late</p>"))]);
    let url = server.url();
    let policy = |method: &str| {
        format!(
            "[grants.\"web.get_page\"]\nfetch = [{{ url = \"{url}/\", methods = [\"{method}\"], private = true }}]\n"
        )
    };
    let station = Station::with(&policy("GET"));
    let args = json!({"url": format!("{url}/")}).to_string();
    station.run(&["call", "web.get_page", &args]).ends(0);
    is_the_same(&station);
    station.write("lazaret.toml", policy("HEAD"));
    station.trust();
    replay(&station)
        .ends(1)
        .prints(&["diverged: ", "\"effect\":\"fetch\"", "method_not_granted"]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn another_component_goes_another_way() {
    let station = Station::with("");
    let component = std::fs::read(crate::station::hostile()).unwrap();
    station.write("mine.wasm", &component);
    station.write("lazaret.toml", "[plugins]\nhostile = \"mine.wasm\"\n");
    station.trust();
    station
        .run(&["call", "hostile.echo", r#"{"text":"a"}"#])
        .ends(0);
    is_the_same(&station);
    // The same in all that it declares: a custom section more.
    let mut other = component;
    other.extend_from_slice(&[0, 6, 4, b'm', b'a', b'r', b'k', 1]);
    station.write("mine.wasm", &other);
    station.trust();
    replay(&station)
        .ends(1)
        .prints(&["diverged: ", "\"component\":"]);
}

#[test]
fn runs_that_cannot_be_replayed_are_named() {
    let station = answered("allow");
    station.run(&["runs", "replay", "zzz"]).ends(4);
    station
        .run(&["runs", "replay", "last", "--until", "1"])
        .ends(2)
        .says(&["the run has 0 turns"]);
    station
        .run(&["runs", "replay", "last", "--fork"])
        .ends(2)
        .says(&["--until <TURN>"]);
    let database = Connection::open(station.workspace().join(".lazaret/journal.db")).unwrap();
    let change = "UPDATE records SET at = 5 WHERE seq = 1";
    assert_eq!(database.execute(change, []).unwrap(), 1);
    replay(&station).ends(1).says(&["is not as it was written"]);
}

/// An agent that counts twice and says so.
fn counted() -> Station {
    let count =
        |text: &str| json!({"calls": [{"tool": "text.count", "args": {"text": text}}]}).to_string();
    let lines = [count("a"), count("a b"), r#"{"text":"counted"}"#.to_owned()];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let station = Station::scripted("[\"text.*\"]", &lines, "");
    station.run(&["run", "count"]).ends(0).prints(&["counted"]);
    station
}

#[test]
fn what_a_model_is_sent_is_compared_byte_for_byte() {
    let station = counted();
    let policy = station.read("lazaret.toml");
    let changed = policy.replace("\"work\"", "\"work fast\"");
    assert_ne!(policy, changed);
    station.write("lazaret.toml", changed);
    station.trust();
    replay(&station).ends(1).prints(&[
        "went another way at record 1, after 1 that is as it was",
        "expected: {\"event\":\"prompted\",\"turn\":1",
        "why:      what the model is sent has changed: its instructions",
    ]);
    station.write("lazaret.toml", policy);
    station.trust();
    is_the_same(&station);
}

#[test]
fn what_a_server_is_sent_is_compared_as_its_wire_format_has_it() {
    let wire = &WIRES[2];
    let server = Server::start(vec![Answer::Bytes(plain(200, wire.media_type, wire.text))]);
    let model = |extra: &str| {
        format!(
            "[agents.a]\nmodels = [\"m\"]\n[models.m]\nprovider = \"{}\"\nurl = \"{}/base\"\nmodel = \"m\"\n\
             private = true\nextra = {{ {extra} }}\n",
            wire.word,
            server.url()
        )
    };
    let station = Station::with(&model("temperature = 0"));
    station.run(&["run", "hello"]).ends(0);
    is_the_same(&station);
    station.write("lazaret.toml", model("temperature = 1"));
    station.trust();
    replay(&station).ends(1).prints(&[
        "went another way at record 1",
        "the wire format and its `extra`",
    ]);
}

#[test]
fn a_run_goes_on_from_one_of_its_turns_as_another() {
    let station = counted();
    is_the_same(&station);
    station
        .run(&["runs", "replay", "last", "--until", "1"])
        .ends(0)
        .prints(&["went the same way"]);
    let first = station.records();
    let lines = station
        .read("script.jsonl")
        .replace("a b", "a b c")
        .replace("counted", "again");
    station.write("script.jsonl", lines);
    station
        .run(&["runs", "replay", "last", "--until", "1", "--fork"])
        .ends(0)
        .prints(&["again"])
        .says(&["forked: [RUN] goes on after turn 1 of [RUN]"]);
    let second = station.records();
    assert_eq!(second[0]["forked"], json!({"run": "[RUN]", "turn": 1}));
    assert_eq!(
        station
            .run(&["runs", "list", "--json"])
            .ends(0)
            .listed()
            .len(),
        2
    );
    let calls = |records: &[serde_json::Value]| -> Vec<serde_json::Value> {
        let calls = records.iter().filter(|record| record["effect"] == "call");
        calls
            .map(|call| call["content"]["inline"]["text"].clone())
            .collect()
    };
    assert_eq!(calls(&first), ["a", "a b"]);
    assert_eq!(calls(&second), ["a", "a b c"]);
    station.run(&["runs", "verify", "--all"]).ends(0);
    station
        .run(&["runs", "replay", "last", "--until", "7", "--fork"])
        .ends(2)
        .says(&["so it cannot be followed to turn 7"]);
    // What a turn did that was only copied is not done again, and what came after it goes the same way.
    is_the_same(&station);
}

#[test]
fn a_run_of_a_session_is_told_of_those_before_it_again() {
    let lines = [
        r#"{"text":"Noted."}"#,
        r#"{"when":"My colour is blue","calls":[{"tool":"text.count","args":{"text":"blue"}}]}"#,
        r#"{"when":"My colour is blue","text":"One word."}"#,
        r#"{"text":"You asked for it."}"#,
    ];
    let station = Station::scripted("[\"text.*\"]", &lines, "");
    let policy = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("ask = [\"text.count\"]\n{policy}"));
    station.trust();
    let say = |more: &[&str]| {
        let mut arguments = vec!["run", "--session", "work"];
        arguments.extend(more);
        station.run(&arguments)
    };
    say(&["My colour is blue."]).ends(0);
    say(&["How many words is it?"]).ends(75);
    let asked = station.run(&["ask", "list", "--json"]).listed();
    let question = asked[0]["question"].as_str().unwrap().to_owned();
    station.run(&["ask", "allow", &question]).ends(0);
    station
        .run(&["runs", "resume", "last"])
        .ends(0)
        .prints(&["One word."]);
    is_the_same(&station);
    say(&["--compact", "What was that?"]).ends(0);
    is_the_same(&station);
    // What it was told of those before stands in their records, and must be what it was.
    let database = Connection::open(station.workspace().join(".lazaret/journal.db")).unwrap();
    let first = "run = (SELECT run FROM records WHERE seq = 0 ORDER BY at LIMIT 1)";
    let change = format!("UPDATE records SET at = 5 WHERE seq = 1 AND {first}");
    assert_eq!(database.execute(&change, []).unwrap(), 1);
    replay(&station)
        .ends(1)
        .says(&["of session `work`", "is not as it was written"]);
}

#[test]
fn a_run_that_looked_at_a_file_goes_the_same_way_without_it() {
    let station = Station::new();
    station.write("blind.jsonl", r#"{"text":"Nothing."}"#);
    let count =
        json!({"calls": [{"tool": "text.count", "args": {"text": {"$handle": "notes.txt"}}}]});
    station.write(
        "seeing.jsonl",
        format!("{count}\n{}", r#"{"text":"A chart."}"#),
    );
    station.write(
        "lazaret.toml",
        "[agents.a]\ntools = [\"text.*\"]\nmodels = [\"blind\", \"seeing\"]\n\
         [models.blind]\nprovider = \"scripted\"\nscript = \"blind.jsonl\"\ncan = { images = false }\n\
         [models.seeing]\nprovider = \"scripted\"\nscript = \"seeing.jsonl\"\n",
    );
    station.trust();
    let chart = station.write("chart.gif", "GIF89a chart");
    let notes = station.write("notes.txt", "seen from above");
    station
        .run(&[
            "run",
            "What is it?",
            "--attach",
            "chart.gif",
            "--attach",
            "notes.txt",
        ])
        .ends(0)
        .prints(&["A chart."]);
    std::fs::remove_file(chart).unwrap();
    std::fs::remove_file(notes).unwrap();
    is_the_same(&station);
    station.run(&["runs", "show", "last"]).ends(0).prints(&[
        "with chart.gif (image/gif, 12 bytes)",
        "with notes.txt (text/plain, 15 bytes)",
    ]);
}

#[test]
fn a_question_names_the_file_and_goes_the_same_way_without_it() {
    let count =
        r#"{"calls": [{"tool": "text.count", "args": {"text": {"$handle": "notes.txt"}}}]}"#;
    let lines = [count, r#"{"text":"Three words."}"#];
    let station = Station::scripted("[\"text.*\"]", &lines, "");
    let policy = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("ask = [\"text.count\"]\n{policy}"));
    station.trust();
    let notes = station.write("notes.txt", "gesehen über Nacht");
    let run = ["run", "How many words?", "--attach", "notes.txt"];
    station.run(&run).ends(75);
    let asked = station.run(&["ask", "list", "--json"]).listed();
    let question = &asked[0];
    let told = question.to_string();
    assert!(
        told.contains("the attached `notes.txt`, 19 bytes"),
        "{told}"
    );
    assert!(!told.contains("gesehen"), "{told}");
    let question = question["question"].as_str().unwrap();
    station.run(&["ask", "allow", question]).ends(0);
    station
        .run(&["runs", "resume", "last"])
        .ends(0)
        .prints(&["Three words."]);
    std::fs::remove_file(notes).unwrap();
    is_the_same(&station);
}

/// What steers a call is on record, and a replay has it from there: the file is gone.
#[test]
fn a_file_that_steers_a_call_steers_it_again() {
    let write = r#"{"calls": [{"tool": "files.write", "args": {"path": {"$handle": "name.txt"}, "content": {"$handle": "what.txt"}}}]}"#;
    for (name, ask, answer) in [
        ("here/out.txt", "ask = [\"files.write\"]\n", Some("allow")),
        ("here/out.txt", "ask = [\"files.write\"]\n", Some("deny")),
        ("here/out.txt", "[flow]\nmode = \"off\"\n", None),
        ("nowhere/out.txt", "[flow]\nmode = \"off\"\n", None),
    ] {
        let station = Station::scripted("[\"files.*\"]", &[write, r#"{"text":"There."}"#], "");
        let policy = station.read("lazaret.toml");
        let mount = "[mounts.here]\npath = \".\"\naccess = \"write\"\n[grants.\"files.write\"]\nmounts = { here = \"write\" }\n";
        station.write("lazaret.toml", format!("{ask}{mount}{policy}"));
        station.trust();
        let files = [
            station.write("name.txt", name),
            station.write("what.txt", "gesehen über Nacht"),
        ];
        let ran = station.run(&[
            "run",
            "Write it.",
            "--attach",
            "name.txt",
            "--attach",
            "what.txt",
        ]);
        if let Some(answer) = answer {
            ran.ends(75);
            let asked = station.run(&["ask", "list", "--json"]).listed();
            let question = asked[0]["question"].as_str().unwrap().to_owned();
            station.run(&["ask", answer, &question]).ends(0);
            station.run(&["runs", "resume", "last"]).ends(0);
        } else {
            ran.ends(0);
        }
        for file in files {
            std::fs::remove_file(file).unwrap();
        }
        is_the_same(&station);
        let records = station.records();
        let given = |one: &serde_json::Value| one["given"]["name.txt"] == name;
        assert!(records.iter().any(given), "{records:?}");
        let told = serde_json::to_string(&records).unwrap();
        assert!(!told.contains("gesehen"), "{told}");
    }
}

#[test]
fn a_run_of_another_host_is_looked_at_and_not_gone_on_with() {
    let station = counted();
    let other = Station::scripted("[\"text.*\"]", &[r#"{"text":"mine"}"#], "");
    std::fs::remove_file(other.state().join("key")).unwrap();
    let path = other.workspace().join("run.jsonl");
    let output = path.to_str().unwrap();
    station
        .run(&["runs", "export", "last", "--output", output])
        .ends(0);
    let head: serde_json::Value =
        serde_json::from_str(other.read("run.jsonl").lines().next().unwrap()).unwrap();
    let name = head["run"].as_str().unwrap().to_owned();
    other.run(&["runs", "import", "run.jsonl"]);
    other
        .run(&["runs", "replay", &name])
        .ends(0)
        .prints(&["the same"]);
    other
        .run(&["runs", "replay", &name, "--until", "1", "--fork"])
        .ends(3)
        .says(&["was imported from another host", "begin anew"]);
}
