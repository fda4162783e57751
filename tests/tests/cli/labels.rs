//! `lazaret labels`: what influenced files and records that outlive their run, and a person's word on them.

use std::fs;

use lazaret_tests::saying;
use serde_json::json;

use crate::station::Station;

const POLICY: &str = r#"
[plugins]
desk = "desk.wasm"
[flow]
mode = "enforce"
hold = "never"
release = ["desk.*", "files.write"]
trust = ["desk"]
[flow.tools."desk.add"]
content = ["id", "title"]
records = { id = "id" }
[flow.tools."desk.find"]
records = { at = "/records/*", id = "id" }
[mounts.inbox]
path = "inbox"
[mounts.out]
path = "out"
access = "write"
[grants."files.*"]
mounts = { inbox = "read", out = "write" }
[grants."files.remove"]
mounts = { out = "write" }
[grants."desk.*"]
"#;

const LETTER: &str = "await tools.files.read({path: 'inbox/letter.txt'});";

/// A file, two records, and one of which nobody was told which it is, all written as a letter says.
pub fn station() -> Station {
    let station = Station::with(POLICY);
    station.write("desk.wasm", saying::desk("desk"));
    station.write("inbox/letter.txt", "Dear reader");
    station.write("out/keep", "");
    station.trust();
    did(
        &station,
        "await tools.files.write({path: 'out/a.md', content: 'x'}); await tools.desk.add({id: ['e7', 'e8']})",
    );
    station
}

fn did(station: &Station, what: &str) {
    let source = format!("{LETTER} {what}; return 1");
    station.run(&["script", "-e", &source]).ends(0);
}

/// What influences what a run that looks at it returns.
fn seen(station: &Station, look: &str) -> String {
    let source = format!("return {look}");
    let ended = station.run(&["script", "-e", &source, "--json"]);
    ended.ends(0).out
}

#[test]
fn what_others_influenced_is_listed_and_taken_for_ones_own() {
    let station = station();
    let listed = station.run(&["labels", "list"]).ends(0);
    listed.prints(&["out/a.md", "desk: 2 records", "file:inbox"]);
    let lines = station.run(&["labels", "list", "--json"]).ends(0).listed();
    let service = lines
        .iter()
        .find(|line| line["service"] == "desk")
        .expect("the service");
    assert_eq!(
        (&service["records"], &service["under_way"], &service["each"]),
        (&json!(2), &json!(0), &json!(null))
    );
    for (arguments, label) in [
        (&["--file", "out/a.md"][..], "file:inbox"),
        (&["--file", "out/keep"], "your own"),
        (&["--service", "desk", "--record", "E7"], "file:inbox"),
        (&["--service", "desk", "--record", "e9"], "your own"),
    ] {
        let line = [&["labels", "list"], arguments].concat();
        station.run(&line).ends(0).prints(&[label]);
    }
    station
        .run(&["labels", "clear", "--service", "desk", "--record", "e7"])
        .ends(0)
        .prints(&["cleared 1 label"]);
    station
        .run(&["labels", "list", "--service", "desk", "--record", "e7"])
        .ends(0)
        .prints(&["your own"]);
    station
        .run(&["labels", "list", "--service", "desk"])
        .ends(0)
        .prints(&["1 record "]);
    station
        .run(&["labels", "clear", "--file", "out"])
        .ends(0)
        .prints(&["cleared 1 label"]);
    station
        .run(&["labels", "clear", "--service", "desk"])
        .ends(0)
        .prints(&["cleared 1 label"]);
    let nothing = station.run(&["labels", "list"]).ends(0);
    nothing.says(&["nobody else had influence"]);
}

/// What one's own tools leave of themselves on what one has written is no influence of somebody else.
#[test]
fn what_nobody_else_influenced_is_not_listed() {
    let station = Station::with(
        "[mounts.out]\npath = \"out\"\naccess = \"write\"\n[grants.\"files.*\"]\nmounts = { out = \"write\" }\n",
    );
    station.write("out/keep", "");
    station
        .run(&[
            "call",
            "files.write",
            r#"{"path":"out/a.md","content":"x"}"#,
        ])
        .ends(0);
    let nothing = station.run(&["labels", "list"]).ends(0);
    nothing.says(&["nobody else had influence"]);
    let named = ["labels", "list", "--file", "out/a.md"];
    station.run(&named).ends(0).prints(&["your own"]);
}

/// Whoever has taken something for their own has said so, and a chain says that they have.
#[test]
fn that_a_person_took_something_for_their_own_is_on_record() {
    let station = station();
    let record = ["labels", "clear", "--service", "desk", "--record", "e7"];
    station.run(&record).ends(0);
    let shown = station.run(&["runs", "show", "--json"]).ends(0);
    shown.prints(&[
        "clear the label of desk e7",
        "a person's own word",
        "{\"labels\":1}",
    ]);
    station.run(&record).ends(4);
    station
        .run(&["runs", "show"])
        .ends(0)
        .prints(&["labels clear"]);
    station.run(&["runs", "verify"]).ends(0);
    station.run(&["runs", "resume"]).says(&["has ended"]);
}

/// What is cleared counts as one's own, and nothing else does.
#[test]
fn what_was_cleared_is_read_without_influence() {
    let station = station();
    did(&station, "await tools.desk.add({title: 'x'})");
    let look = "await tools.desk.find({records: [{id: 'e7'}]})";
    let (before, file) = (
        seen(&station, look),
        "await tools.files.read({path: 'out/a.md'})",
    );
    assert!(before.contains("file:inbox"), "{before}");
    let cleared = station
        .run(&["labels", "clear", "--service", "desk", "--record", "e7"])
        .ends(0);
    cleared.says(&[
        "each record of `desk` counts as influenced by",
        "file:inbox",
        "lazaret labels clear --service desk",
    ]);
    assert!(seen(&station, look).contains("file:inbox"));
    station
        .run(&["labels", "clear", "--service", "desk"])
        .ends(0);
    assert!(!seen(&station, look).contains("file:inbox"));
    assert!(seen(&station, file).contains("file:inbox"));
    station
        .run(&["labels", "clear", "--file", "out/a.md"])
        .ends(0);
    assert!(!seen(&station, file).contains("file:inbox"));
}

/// That something is gone is told of like what is there.
#[test]
fn what_was_taken_away_is_listed_and_taken_for_ones_own() {
    let station = station();
    station.write("out/flag.md", "x");
    did(&station, "await tools.files.remove({path: 'out/flag.md'})");
    let look = "await tools.files.stat({path: 'out/flag.md'}).then(() => 1, () => 0)";
    let before = seen(&station, look);
    assert!(before.contains("file:inbox"), "{before}");
    for arguments in [&["--file", "out/flag.md"][..], &[]] {
        let line = [&["labels", "list"], arguments].concat();
        let listed = station.run(&line).ends(0);
        listed.prints(&["out/flag.md", "file:inbox"]);
    }
    station
        .run(&["labels", "clear", "--file", "out/flag.md"])
        .ends(0)
        .prints(&["cleared 1 label"]);
    assert!(!seen(&station, look).contains("file:inbox"));
}

/// It is listed by where it was, and a person who has looked through it names it as it is called now.
#[test]
fn what_a_person_has_renamed_is_listed_once_something_else_has_its_name() {
    let station = station();
    let out = station.workspace().join("out");
    fs::rename(out.join("a.md"), out.join("c.md")).unwrap();
    station
        .run(&[
            "call",
            "files.write",
            r#"{"path":"out/a.md","content":"x"}"#,
        ])
        .ends(0);
    let elsewhere = || {
        let rows = station.run(&["labels", "list", "--json"]).ends(0).listed();
        let mut rows = rows.into_iter();
        rows.find(|row| row["elsewhere"] == true)
    };
    let row = elsewhere().expect("what was there");
    assert!(row["file"].as_str().unwrap().ends_with("out/a.md"), "{row}");
    assert!(row["label"].to_string().contains("file:inbox"), "{row}");
    let named = ["labels", "list", "--file", "out/c.md"];
    station.run(&named).ends(0).prints(&["file:inbox"]);
    station
        .run(&["labels", "clear", "--file", "out/c.md"])
        .ends(0)
        .prints(&["cleared 1 label"]);
    assert!(elsewhere().is_none());
    station.run(&named).ends(0).prints(&["your own"]);
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_cleared_by_accident() {
    let station = station();
    for (arguments, status, says) in [
        (&["clear"][..], 2, "nothing is said that should be cleared"),
        (&["clear", "--record", "e7"], 2, "--service"),
        (
            &["clear", "--service", "desk", "--record", ""],
            2,
            "--record",
        ),
        (
            &["clear", "--file", "x", "--service", "desk"],
            2,
            "--service",
        ),
        (
            &["clear", "--file", "out/keep"],
            4,
            "there is no label of `out/keep`",
        ),
        (
            &["clear", "--service", "nobody"],
            4,
            "there is no label of `nobody`",
        ),
        (
            &["list", "--service", "nobody"],
            4,
            "what its tools have before the dot",
        ),
        (
            &["list", "--service", "dekc", "--record", "e7"],
            4,
            "there is no service `dekc` whose records are known\nhint: did you mean `desk`?",
        ),
    ] {
        let line = [&["labels"], arguments].concat();
        station.run(&line).ends(status).says(&[says]);
    }
    assert_eq!(
        station
            .run(&["labels", "list", "--json"])
            .ends(0)
            .listed()
            .len(),
        2
    );
}

#[test]
fn a_name_that_has_become_a_secret_is_not_shown() {
    let station = station();
    let name = "canary-7f3a9c-labels";
    did(
        &station,
        &format!("await tools.files.write({{path: 'out/{name}.md', content: 'x'}})"),
    );
    station.run(&["labels", "list"]).ends(0).prints(&[name]);
    let value = format!("{name}\n");
    let kept = station.run_with_input(&["secret", "set", "canary"], value.as_bytes());
    kept.ends(0);
    for arguments in [&["labels", "list"][..], &["labels", "list", "--json"]] {
        station.run(arguments).ends(0).never(name);
    }
    let path = format!("out/{name}.md");
    let cleared = station.run(&["labels", "clear", "--file", &path]).ends(0);
    cleared.never(name);
}
