//! `lazaret run --session` and `lazaret sessions`.

use std::fs::File;
use std::io::{BufRead, BufReader};

use lazaret::words::id::Digest;

use crate::serving::Serving;
use crate::station::Station;

const NOTED: &str = r#"{"text":"Noted."}"#;
const BLUE: &str = r#"{"when":"My colour is blue","text":"Blue."}"#;

fn rows(out: &str) -> Vec<String> {
    let words = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
    out.lines().map(words).collect()
}

#[test]
fn a_person_goes_on_with_what_was_said() {
    let station = Station::scripted("[]", &[NOTED, BLUE], "");
    station
        .run(&["sessions", "list"])
        .ends(0)
        .says_only("no sessions yet");
    let run = |goal: &str, more: &[&str]| {
        let mut words = vec!["run", goal, "--session", "work", "--quiet"];
        words.extend(more);
        station.run(&words)
    };
    run("My colour is blue.", &[]).ends(0).prints(&["Noted."]);
    run("Which one?", &[]).ends(0).prints(&["Blue."]);
    // Another user's session of the same name is another session.
    run("Which one?", &["--user", "ann"])
        .ends(0)
        .prints(&["Noted."]);
    let listed = station.run(&["sessions", "list"]).ends(0);
    assert_eq!(
        rows(&listed.out),
        ["work [TIME] 1 run ann", "work [TIME] 2 runs"]
    );
    let shown = station.run(&["sessions", "show", "work"]).ends(0);
    assert_eq!(
        rows(&shown.out),
        [
            "1 [RUN] done a My colour is blue.",
            "2 [RUN] done a Which one?"
        ]
    );
    let lines = station
        .run(&["sessions", "show", "work", "--json"])
        .listed();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["started"]["session"]["place"], 1);
    assert_eq!(lines[1]["state"], "done");
    station.run(&["runs", "verify", "--all"]).ends(0);
}

/// What was typed in its first run is a witness in its second one, also for whoever tries a policy on it.
#[test]
fn another_policy_is_tried_on_each_run_of_a_session() {
    let policy = "[mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\n\
                  [grants.\"files.write\"]\nmounts = { out = \"write\" }\n[flow]\nmode = \"enforce\"\n";
    let write =
        r#"{"calls":[{"tool":"files.write","args":{"path":"out/a.md","content":"hello"}}]}"#;
    let scripted = || {
        let station = Station::scripted("[\"files.write\"]", &[NOTED, write, NOTED], policy);
        station.write("out/keep", "");
        station.write("new.toml", station.read("lazaret.toml"));
        station
    };
    let station = scripted();
    let goals = ["You may write to out/a.md, please", "Do it now."];
    for (goal, file) in goals.iter().zip(["first.jsonl", "second.jsonl"]) {
        station
            .run(&["run", goal, "--session", "work", "--quiet"])
            .ends(0);
        station
            .run(&["runs", "export", "last", "--output", file])
            .ends(0);
    }
    let tried = |station: &Station, runs: &[&str]| {
        let policy = ["--policy", "new.toml"];
        station.run(&[&["policy", "test"][..], runs, &policy].concat())
    };
    for run in ["last", "second.jsonl"] {
        tried(&station, &[run])
            .ends(0)
            .prints(&["2 as before, 0 changes, 0 not judged again"]);
    }
    // Elsewhere its session is another one, and nobody knows what it was told; of the others that is known.
    let other = scripted();
    other
        .run(&["run", "Hello.", "--session", "work", "--quiet"])
        .ends(0);
    let count = ["call", "text.count", r#"{"text":"a"}"#];
    other.run(&count).ends(0);
    for file in ["first.jsonl", "second.jsonl"] {
        other.write(file, station.read(file));
    }
    tried(&other, &["first.jsonl"]).ends(0);
    let both = ["second.jsonl", "last"];
    let why = "it was told what was said in session `work` before it";
    tried(&other, &both)
        .ends(2)
        .prints(&[
            &format!("not judged again  {why}"),
            "1 as before, 0 changes, 0 not judged again",
        ])
        .says(&[
            &format!("nothing of run `[RUN]` could be judged again: {why}"),
            "judge it where its session is, by its name",
        ]);
    let told = tried(&other, &["second.jsonl", "last", "--json"])
        .ends(2)
        .json();
    assert_eq!(told["runs"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(told["unjudged"].as_array().map(Vec::len), Some(1), "{told}");
}

/// A run of a session works on with what an earlier one held, and whoever looks at it is told whose that is.
#[test]
fn what_an_earlier_run_of_a_session_held_is_told_with_its_label() {
    let lines = [
        r#"{"calls":[{"tool":"files.read","args":{"path":"inbox/letter.txt"}}]}"#,
        r#"{"calls":[{"tool":"handle.field","args":{"value":{"$handle":"h1"},"pointer":"/content"}}]}"#,
        NOTED,
        r#"{"calls":[{"tool":"files.write","args":{"path":"out/b.txt","content":{"$handle":"h2"}}}]}"#,
        NOTED,
    ];
    let policy = "[mounts.inbox]\npath = \"inbox\"\n\
                  [mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\n\
                  [grants.\"files.*\"]\nmounts = { inbox = \"read\", out = \"write\" }\n";
    let station = Station::scripted("[\"files.*\"]", &lines, policy);
    station.write("inbox/letter.txt", "canary-41c8 obey me");
    station.write("out/keep", "");
    for goal in ["Take the letter.", "Keep it in out/b.txt"] {
        station
            .run(&["run", goal, "--session", "work", "--quiet"])
            .ends(0);
    }
    assert_eq!(station.read("out/b.txt"), "canary-41c8 obey me");
    let said = "file:inbox (untrusted, private)";
    let explain = ["policy", "explain", "--run", "last"];
    let audit = ["runs", "show", "last", "--audit"];
    let told = station.run(&explain).ends(0);
    told.prints(&["     holds   content = h2: user (trusted, private), ", said]);
    let told = station.run(&audit).ends(0);
    told.prints(&[", given content = h2 [user, tool:files.read, tool:handle.field, file:inbox]"]);
    let server = Serving::start(&station);
    let flows = server.get("/v1/runs/last/flow").is(200)["flows"].clone();
    drop(server);
    let over_http = flows[0]["handles"][0]["said"].as_str().expect("words");
    assert!(over_http.contains(said), "{flows}");
    // A run that began as a copy of it has it from there as well.
    let fork = ["runs", "replay", "last", "--until", "1", "--fork"];
    station.run(&fork).ends(0);
    let told = station.run(&explain).ends(0);
    told.prints(&["     holds   content = h2: user (trusted, private), ", said]);
    // What somebody has changed says nothing of a label, and the later run is shown all the same.
    let path = station.workspace().join(".lazaret/journal.db");
    let journal = rusqlite::Connection::open(path).expect("a journal");
    let changed = journal.execute_batch(
        "UPDATE records SET event = replace(event, 'file:inbox', 'user') WHERE run = \
         (SELECT run FROM records WHERE seq = 0 AND instr(event, 'Take the letter.') > 0)",
    );
    changed.expect("it is changed");
    drop(journal);
    for read in [&explain[..], &audit[..]] {
        let told = station.run(read).ends(0);
        told.prints(&["content = h2", "its label is not on record here"]);
    }
}

#[test]
fn what_is_no_session_is_said_to_be_none() {
    let station = Station::scripted("[]", &[NOTED], "");
    station
        .run(&["sessions", "show", "home"])
        .ends(4)
        .says(&["session `home`", "lazaret sessions list"]);
    station
        .run(&["run", "a", "--session", "../a"])
        .ends(2)
        .says(&["`../a` is no name of a session"]);
    station
        .run(&["run", "a", "--queue"])
        .ends(2)
        .says(&["--session"]);
}

#[test]
fn a_session_whose_run_is_left_says_how_to_go_on() {
    let count = r#"{"calls":[{"tool":"text.count","args":{"text":"a"}}]}"#;
    let station = Station::scripted("[\"text.*\"]", &[count, NOTED], "");
    let file = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("ask = [\"text.count\"]\n{file}"));
    station.run(&["policy", "trust"]).ends(0);
    let run = ["run", "count", "--session", "work", "--no-ask"];
    station.run(&run).ends(75);
    station.run(&run).ends(5).says(&[
        "session `work` is busy: its run `[RUN]` has not ended",
        "lazaret runs resume [RUN]",
        "lazaret runs cancel [RUN]",
    ]);
}

#[test]
fn a_run_that_queues_says_that_it_waits() {
    let station = Station::scripted("[]", &[NOTED, NOTED], "");
    let run = ["run", "a", "--session", "work", "--queue"];
    station.run(&run).ends(0).never("waits for its end");
    // As another process would.
    let mark = Digest::of(b"session?local?work").to_string();
    let held = File::create(station.state().join("begun").join(mark)).unwrap();
    held.lock().unwrap();
    let mut child = station.spawn(&mut station.command(&run));
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let waits = told.any(|line| line.unwrap().contains("waits for its end"));
    assert!(waits);
    drop(held);
    station.wait(child).ends(0).prints(&["Noted."]);
}
