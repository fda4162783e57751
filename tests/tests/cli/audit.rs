//! What was decided and whether it is on record as it was: the chain, exports and imports (attack 81).

use std::fs;
use std::path::PathBuf;

use lazaret_tests::wait::found;
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::provider;
use crate::server::{Answer, Server};
use crate::serving::Serving;
use crate::station::{Ended, Station};

pub fn database(station: &Station) -> Connection {
    let here = station.workspace().join(".lazaret/journal.db");
    let path: PathBuf = match here.exists() {
        true => here,
        false => station.state().join("runs/journal.db"),
    };
    Connection::open(path).unwrap()
}

/// A station with one run of six records, and its name.
fn used() -> (Station, String) {
    let station = Station::new();
    station
        .run(&["call", "text.count", r#"{"text":"a b"}"#])
        .ends(0);
    let name = newest(&station);
    (station, name)
}

fn newest(station: &Station) -> String {
    let query = "SELECT run FROM records WHERE seq = 0 ORDER BY at DESC, run DESC LIMIT 1";
    let row = |row: &rusqlite::Row<'_>| row.get(0);
    database(station).query_row(query, [], row).unwrap()
}

fn verify(station: &Station) -> Ended {
    station.run(&["runs", "verify", "--all"])
}

/// Another user's key, as on another machine.
fn other_key(station: &Station) {
    fs::write(station.state().join("key"), [9; 32]).unwrap();
}

fn export(station: &Station, run: &str) -> PathBuf {
    let path = station.workspace().join(format!("{run}.jsonl"));
    station
        .run(&["runs", "export", run, "--output", path.to_str().unwrap()])
        .ends(0)
        .says_only("exported: [RUN]");
    path
}

fn forget(station: &Station) {
    database(station)
        .execute_batch("DELETE FROM records; DELETE FROM imports; DELETE FROM contents")
        .unwrap();
}

#[test]
fn a_run_that_nobody_touched_is_intact() {
    let (station, _) = used();
    station
        .run(&["runs", "verify"])
        .ends(0)
        .prints(&["intact [RUN] 6 records: every record is as it was written"]);
    let ended = station.run(&["runs", "verify", "--all", "--json"]).ends(0);
    assert_eq!(ended.listed().len(), 1);
    assert_eq!(ended.json()[0]["state"], "intact");
    assert_eq!(ended.json()[0]["seq"], Value::Null);
    // Of one that is named there is no list.
    let one = station.run(&["runs", "verify", "last", "--json"]).ends(0);
    assert_eq!(one.json(), ended.json()[0]);
    let without = Station::new();
    verify(&without).ends(0).says_only("no runs yet");
    without.run(&["runs", "verify"]).ends(4);
}

#[test]
fn whoever_looks_at_a_run_that_was_changed_is_told() {
    let (station, _) = used();
    let looks: [&[&str]; 4] = [
        &["runs", "show"],
        &["runs", "show", "--audit"],
        &["runs", "show", "--json"],
        &["policy", "explain", "--run", "last"],
    ];
    for look in looks {
        station.run(look).ends(0).says_only("");
    }
    let shown = station.run(&["runs", "show"]).ends(0);
    shown.prints(&[" more records: --audit shows what was decided, --json everything"]);
    let change =
        "UPDATE records SET event = replace(event, 'text.count', 'text.codes') WHERE seq = 1";
    database(&station).execute(change, []).unwrap();
    for look in looks {
        station.run(look).ends(1).says(&[
            "error: the run is not as it was written: record 1 does not fit: ",
            "hint: lazaret runs verify [RUN]",
        ]);
    }
    // By what it never was, no policy is tried or made.
    station.write("new.toml", "");
    for judged in [
        &["policy", "test", "last", "--policy", "new.toml"][..],
        &["policy", "suggest", "last"],
    ] {
        station.run(judged).ends(1).says(&[
            "is not as it was written: record 1 does not fit: ",
            "hint: lazaret runs verify [RUN]",
        ]);
    }
}

/// What somebody does to the records, the first that does not fit then, and why.
const CHANGES: &[(&str, u64, &str)] = &[
    (
        "UPDATE records SET event = replace(event, 'text.count', 'text.codes') WHERE seq = 0",
        0,
        "was changed",
    ),
    (
        "UPDATE records SET at = at + 1 WHERE seq = 2",
        2,
        "was changed",
    ),
    (
        "UPDATE records SET parent = 0 WHERE seq = 2",
        2,
        "was changed",
    ),
    ("DELETE FROM records WHERE seq = 3", 3, "is missing"),
    ("DELETE FROM records WHERE seq = 0", 0, "is missing"),
    (
        "UPDATE records SET seq = seq + 1 WHERE seq = 5",
        5,
        "is missing",
    ),
    (
        "UPDATE records SET chain = NULL WHERE seq = 4",
        4,
        "was removed",
    ),
    (
        "UPDATE records SET chain = x'00' WHERE seq = 4",
        4,
        "was removed",
    ),
    (
        "UPDATE records SET chain = zeroblob(32) WHERE seq = 1",
        1,
        "was changed",
    ),
    ("UPDATE records SET run = 'other'", 0, "was changed"),
    (
        "INSERT INTO records SELECT run, 6, at, parent, event, chain FROM records WHERE seq = 5",
        6,
        "put in",
    ),
    (
        "UPDATE records SET seq = 9 WHERE seq = 1; UPDATE records SET seq = 1 WHERE seq = 3; UPDATE records SET seq = 3 WHERE seq = 9",
        1,
        "moved",
    ),
    // The chain removed from the beginning, and the beginning changed.
    (
        "UPDATE records SET chain = NULL, at = 1 WHERE seq < 3",
        3,
        "was changed",
    ),
    (
        "INSERT INTO imports SELECT run, 1 FROM records WHERE seq = 0",
        0,
        "was changed",
    ),
];

#[test]
fn every_change_of_a_record_is_found() {
    for (change, seq, says) in CHANGES {
        let (station, _) = used();
        database(&station).execute_batch(change).unwrap();
        verify(&station).ends(1).prints(&[
            "broken",
            &format!("record {seq} does not fit: it "),
            says,
        ]);
        let ended = station.run(&["runs", "verify", "--all", "--json"]).ends(1);
        assert_eq!(ended.json()[0]["seq"], *seq, "{change}: {ended}");
    }
}

#[test]
fn an_end_that_was_cut_off_is_missed() {
    for (kept, status) in [(5, 1), (1, 1), (6, 0)] {
        let (station, _) = used();
        database(&station)
            .execute("DELETE FROM records WHERE seq >= ?1", [kept])
            .unwrap();
        let ended = verify(&station).ends(status);
        if status == 1 {
            ended.prints(&["cut [RUN]", "its last records are missing"]);
        }
    }
    // A run that waits has no end, and has lost none.
    let station = Station::with("ask = [\"text.replace\"]");
    let script = "return await tools.text.replace({text: 'a', pattern: 'a', replacement: 'b'})";
    station.run(&["script", "-e", script]).ends(75);
    verify(&station).ends(0).prints(&["intact"]);
    // What it was left with is known.
    let last = "DELETE FROM records WHERE seq = (SELECT max(seq) FROM records)";
    database(&station).execute(last, []).unwrap();
    verify(&station).ends(1).prints(&["cut [RUN]"]);
}

#[test]
fn a_content_that_is_gone_is_found() {
    let (station, _) = used();
    let long = "a ".repeat(4_000);
    let args = serde_json::json!({"text": long}).to_string();
    station.run(&["call", "text.count", &args]).ends(0);
    verify(&station).ends(0);
    let changed =
        database(&station).execute("UPDATE contents SET text = replace(text, 'a', 'b')", []);
    assert_eq!(changed.unwrap(), 1);
    verify(&station)
        .ends(1)
        .prints(&["broken", "is missing or damaged", "intact"]);
}

#[test]
fn a_journal_without_chains_opens_and_says_so() {
    let (station, run) = used();
    database(&station)
        .execute_batch(
            "ALTER TABLE records DROP COLUMN chain; DROP TABLE imports; PRAGMA user_version = 1",
        )
        .unwrap();
    station
        .run(&["runs", "show"])
        .ends(1)
        .prints(&["text.count"])
        .says(&["nothing is known of them"]);
    verify(&station).ends(1).prints(&[
        "unchained [RUN] 6 records: its first 6 records were written before there were chains",
    ]);
    // What comes after is chained.
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    verify(&station).ends(1).prints(&["unchained", "intact"]);
    // And nobody vouches for what was not.
    let path = export(&station, &run);
    forget(&station);
    station
        .run(&["runs", "import", path.to_str().unwrap()])
        .ends(0)
        .prints(&["what another host wrote may say anything"]);
}

#[test]
fn what_another_key_wrote_does_not_pass_for_ours() {
    let (station, _) = used();
    other_key(&station);
    verify(&station)
        .ends(1)
        .prints(&["broken", "another host's key"]);
}

#[test]
fn only_what_was_decided_is_shown() {
    let station = Station::with("block = [\"text.diff\"]");
    station
        .run(&["call", "text.diff", r#"{"old":"a","new":"b"}"#])
        .ends(3);
    let ended = station.run(&["runs", "show", "--audit"]).ends(0);
    assert_eq!(
        ended.out.lines().collect::<Vec<_>>(),
        [
            "   1 [TIME] deny call text.diff by client [user] blocked_tool: `text.diff` is blocked by `block = [\"text.diff\"]` in [HERE]/lazaret.toml",
            "   2 [TIME] allow show envelope by client [user] a run's own user may see what it says",
            "1 allowed, 0 asked, 1 denied",
        ]
    );
    let lines = station
        .run(&["runs", "show", "--audit", "--json"])
        .ends(0)
        .lines();
    assert_eq!(lines.len(), 3);
    assert!(lines[..2].iter().all(|line| line["event"] == "judged"));
    assert_eq!(lines[2]["denied"], 1);
    // About what is not there nothing is decided.
    station.run(&["call", "text.nope"]).ends(4);
    let audit = ["runs", "show", "--audit"];
    station.run(&audit).ends(0).prints(&[
        " wrong call text.nope by client ",
        "1 allowed, 0 asked, 0 denied, 1 wrong",
    ]);
    let lines = station
        .run(&[&audit[..], &["--json"]].concat())
        .ends(0)
        .lines();
    assert_eq!(
        (&lines[2]["denied"], &lines[2]["wrong"]),
        (&0.into(), &1.into())
    );
}

/// G-80: whatever a subject holds, an audit line is one line of text.
#[test]
fn audit_lines_are_lines() {
    let station = Station::with("");
    let name: String = (0..0x20u8).chain([0x7f]).map(char::from).collect();
    let args = serde_json::json!({"path": format!("a{name}\u{9b}\u{202e}b")}).to_string();
    station.run(&["call", "files.read", &args]).ends(3);
    for arguments in [
        &["runs", "show", "--audit"][..],
        &["runs", "show", "--audit", "--json"],
    ] {
        let ended = station.run(arguments).ends(0);
        let odd = ended
            .out
            .chars()
            .find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(odd, None, "{ended}");
        let lines = ended
            .out
            .lines()
            .filter(|line| line.contains("deny"))
            .count();
        assert!(lines >= 1 && ended.out.lines().count() < 9, "{ended}");
    }
}

#[test]
fn questions_and_answers_are_decisions() {
    let station = Station::with("ask = [\"text.replace\"]");
    let script = "return await tools.text.replace({text: 'a', pattern: 'a', replacement: 'b'})";
    station.run(&["script", "-e", script]).ends(75);
    let list = station.run(&["ask", "list", "--json"]).listed();
    let id = list[0]["question"].as_str().unwrap();
    station.run(&["ask", "allow", id]).ends(0);
    station.run(&["runs", "resume"]).ends(0);
    station.run(&["runs", "show", "--audit"]).ends(0).prints(&[
        "ask call text.replace by script [user] `ask = [\"text.replace\"]`",
        "answered: allow question ",
        "4 allowed, 1 asked, 0 denied",
    ]);
    verify(&station).ends(0);
}

#[test]
fn what_left_comes_back_as_it_was() {
    let (station, run) = used();
    let path = export(&station, &run);
    let text = fs::read_to_string(&path).unwrap();
    station
        .run(&["runs", "import", path.to_str().unwrap()])
        .ends(2)
        .says_only(
            "error: the run `[RUN]` is in the journal already\nhint: lazaret runs show [RUN]",
        );
    forget(&station);
    station
        .run(&["runs", "import", path.to_str().unwrap()])
        .ends(0)
        .prints(&["intact [RUN] 6 records, exported here and imported again"]);
    station.run(&["runs", "list"]).prints(&["done (imported)"]);
    let again = station.run(&["runs", "export", &run]).ends(0);
    assert_eq!(again.out, text.replace(&run, "[RUN]"));
    // A file that is there is not written over.
    station
        .run(&["runs", "export", &run, "--output", path.to_str().unwrap()])
        .ends(1)
        .says(&["there is something of that name already"]);
}

#[test]
fn what_comes_from_elsewhere_is_marked_and_goes_nowhere() {
    let station = Station::with("ask = [\"text.replace\"]");
    let script = "return await tools.text.replace({text: 'a', pattern: 'a', replacement: 'b'})";
    station.run(&["script", "-e", script]).ends(75);
    let run = newest(&station);
    let path = export(&station, &run);
    let path = path.to_str().unwrap();
    let other = Station::with("ask = [\"text.replace\"]");
    other
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    let bytes = fs::read(path).unwrap();
    let path = other.write("theirs.jsonl", bytes);
    let path = path.to_str().unwrap();
    other_key(&other);
    other.run(&["runs", "import", path]).ends(0).prints(&[
        "unproven [RUN]",
        "imported: what another host wrote may say anything",
        "whether it was written so cannot be known",
    ]);
    let shown = other.run(&["runs", "show", &run, "--json"]).ends(0).lines();
    assert!(
        shown
            .iter()
            .filter_map(|record| record.get("label"))
            .all(|label| { label.as_array().unwrap().contains(&"file:/import".into()) })
    );
    other
        .run(&["runs", "show", &run])
        .ends(0)
        .prints(&["(imported)"]);
    let listed = other.run(&["runs", "list", "--json"]).ends(0).listed();
    let imported: Vec<&Value> = listed.iter().map(|run| &run["imported"]).collect();
    assert_eq!(imported, [false, true]);
    // It is not what `last` means, asks nobody anything, and nothing of it goes on.
    other.run(&["runs", "show"]).ends(1).prints(&["text.count"]);
    other.run(&["ask", "list"]).ends(0).says(&["nothing waits"]);
    // What was written before with the other key does not fit this one.
    verify(&other)
        .ends(1)
        .prints(&["unproven [RUN]", "another host's key"]);
    other
        .run(&["runs", "verify", &run])
        .ends(1)
        .prints(&["unproven [RUN]"])
        .never("as it was written");
    // Exported again it is still nobody's.
    let again = other.run(&["runs", "export", &run]).ends(0);
    assert!(!again.out.contains("\"mac\""), "{again}");
}

/// In a folder where nothing has begun: what was imported is what is looked at next.
#[test]
fn what_alone_was_imported_is_named() {
    let (station, run) = used();
    let path = export(&station, &run);
    let text = fs::read(&path).unwrap();
    let look = "look at it: lazaret runs show [RUN]";
    forget(&station);
    station
        .run_with_input(&["runs", "import", "-"], &text)
        .ends(0)
        .says_only(look)
        .prints(&["intact [RUN] 6 records, exported here and imported again"]);
    for words in [&["runs", "show"][..], &["runs", "verify", "last"]] {
        station.run(words).ends(4).says(&[
            "there is no run that began here, only imported ones",
            "hint: lazaret runs show [RUN]",
        ]);
    }
    station
        .run_with_input(&["runs", "import", "-"], b"no run\n")
        .ends(2)
        .says(&["this is no exported run"]);
    station
        .run_with_input(&["runs", "import", "-"], &vec![b' '; (64 << 20) + 1])
        .ends(2)
        .says(&["is too big"]);
}

/// A name that was lost on the way, as that of a variable, is not the newest run.
#[test]
fn no_name_at_all_is_no_run() {
    let (station, _) = used();
    for words in [
        &["runs", "show", ""][..],
        &["runs", "show", "", "--audit"],
        &["runs", "watch", ""],
        &["runs", "verify", ""],
        &["runs", "export", ""],
        &["runs", "replay", ""],
        &["runs", "resume", ""],
        &["runs", "cancel", ""],
        &["runs", "prune", ""],
        &["policy", "explain", "--run", ""],
    ] {
        station
            .run(words)
            .ends(2)
            .says(&["error: no run is named\n", "`last`"]);
    }
    station.run(&["runs", "show", "last"]).ends(0);
}

/// What was imported goes on nowhere, so that whoever watches it is told where it breaks off.
#[test]
fn an_imported_run_without_an_end_is_watched_to_its_last_record() {
    let provider = Server::start(vec![Answer::Silence(String::new())]);
    let station = provider::station(&provider);
    let mut child = station.spawn(&mut station.command(&["run", "x"]));
    provider.wait();
    found("the run is on record", || {
        let shown = station.run(&["runs", "show", "last"]);
        (shown.status != 4).then_some(())
    });
    child.kill().unwrap();
    station.wait(child).ends(-1);
    let run = newest(&station);
    let path = export(&station, &run);
    forget(&station);
    station
        .run(&["runs", "import", path.to_str().unwrap()])
        .ends(0);
    station
        .run(&["runs", "watch", &run])
        .ends(0)
        .says(&["the run was imported without its end: nothing in it goes on"]);
    let server = Serving::start(&station);
    let end = server.events(&run, None).last().expect("an end");
    assert_eq!(end.value, serde_json::json!({"state": "unfinished"}));
}

#[test]
fn an_imported_run_is_not_taken_up() {
    let station = Station::with("ask = [\"text.replace\"]");
    let script = "return await tools.text.replace({text: 'a', pattern: 'a', replacement: 'b'})";
    station.run(&["script", "-e", script]).ends(75);
    let run = newest(&station);
    let path = export(&station, &run);
    forget(&station);
    station
        .run(&["runs", "import", path.to_str().unwrap()])
        .ends(0);
    station
        .run(&["runs", "resume", &run])
        .ends(2)
        .says(&["was imported, so nothing in it goes on"]);
    station
        .run(&["runs", "cancel", &run])
        .ends(2)
        .says(&["was imported, so nothing in it goes on"]);
    verify(&station).ends(0).prints(&["intact"]);
}

#[test]
fn files_that_are_no_exported_run_are_refused() {
    let (station, run) = used();
    let path = export(&station, &run);
    let whole = fs::read_to_string(&path).unwrap();
    forget(&station);
    let cut = &whole[..whole.len() * 2 / 3];
    for (text, status, says) in [
        (
            String::new(),
            2,
            "this is no exported run: its first line is none of ours",
        ),
        ("{\"a\":1}\n".to_owned(), 2, "this is no exported run"),
        (cut.to_owned(), 2, "the exported run was changed: line"),
        (
            whole.replace("text.count", "text.diff"),
            2,
            "its last line does not fit the lines before it",
        ),
        (
            whole.replace("\"version\":1", "\"version\":7"),
            2,
            "written by a newer lazaret",
        ),
        (
            whole.replace(&run, "../../../etc/passwd"),
            2,
            "the name of its run is none of ours",
        ),
        ("[".repeat(1 << 20), 2, "this is no exported run"),
        (
            format!("{whole}{whole}"),
            2,
            "there are lines after its last one",
        ),
    ] {
        let path = station.write("other.jsonl", text);
        station
            .run(&["runs", "import", path.to_str().unwrap()])
            .ends(status)
            .says(&[says, "\nhint: "]);
    }
    station.write("big.jsonl", vec![b' '; (64 << 20) + 1]);
    station
        .run(&["runs", "import", "big.jsonl"])
        .ends(2)
        .says(&["is too big"]);
    station.run(&["runs", "import", "none.jsonl"]).ends(4);
    station
        .run(&["runs", "import", "."])
        .ends(2)
        .says(&["no regular file"]);
    let count: i64 = database(&station)
        .query_row(
            "SELECT (SELECT count(*) FROM records) + (SELECT count(*) FROM imports)",
            params![],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(count, 0, "nothing is written");
}

#[test]
fn what_was_changed_is_not_exported() {
    let (station, run) = used();
    database(&station)
        .execute("UPDATE records SET at = 1 WHERE seq = 2", [])
        .unwrap();
    station.run(&["runs", "export", &run]).ends(1).says(&[
        "is not exported: record 2 does not fit",
        "lazaret runs verify [RUN]",
    ]);
}
