//! `lazaret runs`, and a journal that is damaged, foreign, newer, locked, planted or cannot be written.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;

use crate::station::{Ended, Station};

/// Where the records of a station without configuration are.
fn folder(station: &Station) -> PathBuf {
    station.state().join("runs")
}

fn call(station: &Station) -> Ended {
    station.run(&["call", "text.count", r#"{"text":"a"}"#])
}

/// A station with one call on record.
fn used() -> (Station, PathBuf) {
    let station = Station::new();
    call(&station).ends(0);
    let path = folder(&station).join("journal.db");
    (station, path)
}

/// Every command that needs the journal says the same, and nothing runs without it.
#[track_caller]
fn refuses(station: &Station, status: i32, says: &str) {
    for ended in [station.run(&["runs", "list"]), call(station)] {
        ended.ends(status).says_only(says);
    }
}

const DAMAGED: &str = "error: `[ROOT]/state/lazaret/runs/journal.db` is damaged or no journal
hint: copy what can still be read and verified: lazaret runs repair
hint: or move it away; lazaret then begins a new one, and the old one stays for repair";

#[test]
fn runs_are_listed_newest_first() {
    let station = Station::new();
    station
        .run(&["runs", "list"])
        .ends(0)
        .says_only("no runs yet");
    for tool in ["text.count", "text.nope", "files.remove"] {
        station.run(&["call", tool, r#"{"text":"a","path":"b"}"#]);
    }
    let ended = station.run(&["runs", "list"]).ends(0).says_only("");
    let rows: Vec<String> = ended
        .out
        .lines()
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "[RUN] [TIME] bad_args files.remove",
            "[RUN] [TIME] unknown_tool text.nope",
            "[RUN] [TIME] bad_args text.count",
        ]
    );
    let one = station
        .run(&["runs", "list", "--limit", "1", "--json"])
        .listed();
    assert_eq!(one.len(), 1);
    assert_eq!(one[0]["started"]["subject"], "files.remove");
    assert_eq!(one[0]["stopped"]["code"], "bad_args");
}

/// Runs are chosen by how they stand, by what was begun, and by when.
#[test]
fn runs_are_listed_by_what_is_asked_for() {
    let station = Station::with("ask = [\"text.diff\"]\n");
    call(&station).ends(0);
    station.run(&["call", "text.nope"]).ends(4);
    let diff = r#"{"old":"a","new":"b"}"#;
    station.run(&["call", "text.diff", diff]).ends(75);
    let list = |arguments: &[&str]| -> Vec<String> {
        let listed = station.run(&[&["runs", "list", "--json"], arguments].concat());
        let subject = |run: &Value| run["started"]["subject"].as_str().unwrap().to_owned();
        listed.ends(0).listed().iter().map(subject).collect()
    };
    assert_eq!(list(&["--status", "done"]), ["text.count"]);
    assert_eq!(list(&["--status", "failed"]), ["text.nope"]);
    assert_eq!(list(&["--status", "unknown_tool"]), ["text.nope"]);
    assert_eq!(list(&["--status", "waiting"]), ["text.diff"]);
    assert_eq!(list(&["--agent", "text.count"]), ["text.count"]);
    assert_eq!(list(&["--since", "1h"]).len(), 3);
    assert_eq!(list(&["--since", "1h", "--limit", "1"]), ["text.diff"]);
    assert!(list(&["--since", "2999-01-01"]).is_empty());
    let none = station.run(&["runs", "list", "--agent", "nobody"]).ends(0);
    none.says(&["none of the newest 3 runs"]);
    for (flag, wrong, says) in [
        ("--status", "wating", "did you mean `waiting`?"),
        ("--since", "soon", "write `30m`, `12h` or `7d`"),
    ] {
        station
            .run(&["runs", "list", flag, wrong])
            .ends(2)
            .says(&[says]);
    }
}

#[test]
fn a_run_is_shown_record_by_record() {
    let (station, _) = used();
    station
        .run(&["runs", "show", "last"])
        .ends(0)
        .prints(&["[RUN] [TIME]\n   0 run text.count\n", "done"]);
    let events: Vec<String> = station
        .records()
        .iter()
        .map(|record| record["event"].as_str().unwrap().to_owned())
        .collect();
    let wanted = [
        "started", "judged", "finished", "judged", "finished", "stopped",
    ];
    assert_eq!(events, wanted);
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_name() {
    let (station, path) = used();
    let name: String = Connection::open(path)
        .unwrap()
        .query_row("SELECT run FROM records LIMIT 1", [], |row| row.get(0))
        .unwrap();
    station
        .run(&["runs", "show", &name])
        .ends(0)
        .prints(&["text.count"]);
    station
        .run(&["runs", "show", &name[..20]])
        .ends(0)
        .prints(&["text.count"]);
    call(&station).ends(0);
    station.run(&["runs", "show", "2"]).ends(2).says_only(
        "error: more than one run begins with `2`\nhint: write more of its name; `lazaret runs list` shows them",
    );
    station.run(&["runs", "show", "zzz"]).ends(4).says_only(
        "error: there is no run that begins with `zzz`\nhint: `lazaret runs list` shows them\n\
         hint: looked in `[ROOT]/state/lazaret/runs`: what another folder holds is found from there, or with `--config FILE`",
    );
}

#[test]
fn without_runs_there_is_no_last_one() {
    Station::new()
        .run(&["runs", "show"])
        .ends(4)
        .says_only(
            "error: there is no run yet\n\
             hint: looked in `[ROOT]/state/lazaret/runs`: what another folder holds is found from there, or with `--config FILE`",
        );
}

#[test]
fn limits_of_the_list_are_checked() {
    for limit in ["0", "1001", "x"] {
        Station::new()
            .run(&["runs", "list", "--limit", limit])
            .ends(2)
            .says(&["--limit <LIMIT>"]);
    }
}

#[test]
fn random_bytes_are_no_journal() {
    let (station, path) = used();
    let noise: Vec<u8> = (0..8_192u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(&path, &noise).unwrap();
    refuses(&station, 1, DAMAGED);
    assert_eq!(fs::read(&path).unwrap(), noise, "it stays for repair");
}

#[test]
fn a_text_is_no_journal() {
    let (station, path) = used();
    fs::write(path, "nothing of ours\n").unwrap();
    refuses(&station, 1, DAMAGED);
}

#[test]
fn a_journal_that_was_cut_is_damaged() {
    let (station, path) = used();
    let bytes = fs::read(&path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 3]).unwrap();
    refuses(&station, 1, DAMAGED);
}

#[test]
fn a_journal_with_a_flipped_page_is_damaged() {
    let (station, path) = used();
    let mut bytes = fs::read(&path).unwrap();
    bytes[4_096..].fill(0xA5);
    fs::write(path, bytes).unwrap();
    let ended = station.run(&["runs", "list"]).ends(1);
    ended.says(&[
        "is damaged or no journal",
        "hint: copy what can still be read and verified: lazaret runs repair",
    ]);
}

#[test]
fn a_record_that_cannot_be_read_is_named() {
    let (station, path) = used();
    let database = Connection::open(path).unwrap();
    database
        .execute("UPDATE records SET event = '{' WHERE seq = 1", [])
        .unwrap();
    station
        .run(&["runs", "show"])
        .ends(1)
        .says(&["error: record 1 of run `[RUN]` cannot be read"]);
}

#[test]
fn an_empty_file_becomes_a_journal() {
    let (station, path) = used();
    fs::write(path, "").unwrap();
    station
        .run(&["runs", "list"])
        .ends(0)
        .says_only("no runs yet");
    call(&station).ends(0);
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    let station = Station::new();
    call(&station);
    let path = folder(&station).join("journal.db");
    fs::remove_file(&path).unwrap();
    let foreign = Connection::open(&path).unwrap();
    foreign
        .execute("CREATE TABLE songs (title TEXT)", [])
        .unwrap();
    refuses(
        &station,
        1,
        "error: `[ROOT]/state/lazaret/runs/journal.db` is a database of something else
hint: move it away, or choose another journal",
    );
    let tables: i64 = foreign
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let (station, path) = used();
    Connection::open(path)
        .unwrap()
        .pragma_update(None, "user_version", 9)
        .unwrap();
    refuses(
        &station,
        2,
        "error: `[ROOT]/state/lazaret/runs/journal.db` was written by a newer lazaret: it has version 9, and this one reads up to 4
hint: use the newer lazaret, or move the file away",
    );
}

#[test]
fn a_locked_journal_is_waited_for_and_then_busy() {
    let (station, path) = used();
    let holder = Connection::open(path).unwrap();
    holder
        .pragma_update(None, "locking_mode", "EXCLUSIVE")
        .unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    call(&station).ends(5).says_only(
        "error: `[ROOT]/state/lazaret/runs/journal.db` is locked by another process; waited 10000 ms
hint: end the other lazaret, or try again",
    );
    drop(holder);
    call(&station).ends(0);
}

#[test]
fn a_link_in_the_journals_place_is_not_followed() {
    let (station, path) = used();
    let target = station.write("target.db", "precious");
    fs::remove_file(&path).unwrap();
    symlink(&target, &path).unwrap();
    refuses(
        &station,
        3,
        "error: `[ROOT]/state/lazaret/runs/journal.db` is a link or belongs to somebody else\nhint: move it away",
    );
    assert_eq!(station.read("target.db"), "precious");
}

#[test]
fn a_second_name_of_the_journal_is_refused() {
    let (station, path) = used();
    fs::hard_link(&path, station.workspace().join("other.db")).unwrap();
    call(&station)
        .ends(3)
        .says(&["is a link or belongs to somebody else"]);
}

#[test]
fn a_records_folder_that_is_a_link_is_refused() {
    let station = Station::with("");
    let elsewhere = station.workspace().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, station.workspace().join(".lazaret")).unwrap();
    refuses(
        &station,
        3,
        "error: `[HERE]/.lazaret` is a link, or others may write to it\nhint: remove it; lazaret makes a new one",
    );
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn a_records_folder_that_is_a_file_is_refused() {
    let station = Station::with("");
    station.write(".lazaret", "");
    refuses(
        &station,
        1,
        "error: `[HERE]/.lazaret` cannot be created: there is something of that name already\nhint: make room there, or let \
         yourself write there; the journal stands beside `lazaret.toml`, so `--config FILE` with one in another folder has its own",
    );
}

/// The command without the superuser's right to write everywhere; by itself for anybody else.
fn modest(station: &Station, arguments: &[&str]) -> Ended {
    let mut command = station.command(arguments);
    if !rustix::process::geteuid().is_root() {
        return station.finish(&mut command);
    }
    let mut modest = Command::new("setpriv");
    modest.args(["--bounding-set", "-dac_override,-dac_read_search"]);
    modest.arg(command.get_program()).args(arguments);
    station.finish(station.settle(&mut modest))
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What may not be written is said before anything runs.
#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let station = Station::with("");
    let folder = station.workspace();
    mode(&folder, 0o500);
    let ended = modest(&station, &["call", "text.count", r#"{"text":"a"}"#]);
    mode(&folder, 0o700);
    ended.ends(1).says(&[
        "error: `[HERE]/.lazaret` cannot be created: its owner does not allow it",
        "hint: make room there, or let yourself write there",
    ]);
}

/// As after a disk was mounted anew for reading alone: what was there is there, and nothing can be added to it.
#[test]
fn a_journal_that_may_only_be_read_any_more_is_a_clean_stop() {
    let (station, path) = used();
    let write = ["call", "files.write", r#"{"path":"a","content":"b"}"#];
    for (folder_mode, file_mode) in [(0o500, 0o400), (0o700, 0o400)] {
        mode(&path, file_mode);
        mode(&folder(&station), folder_mode);
        let ended = modest(&station, &write);
        mode(&folder(&station), 0o700);
        mode(&path, 0o600);
        let ended = ended.ends(1).never("panicked").says(&["error: "]);
        assert!(ended.err.contains("cannot be"), "{ended}");
        assert!(!station.workspace().join("a").exists());
    }
    // Once it can be written again, nothing is missing.
    let listed = station.run(&["runs", "list", "--json"]).ends(0).listed();
    assert_eq!(listed.len(), 1);
    station.run(&["runs", "verify", "--all"]).ends(0);
    call(&station).ends(0);
}

/// One page of records is gone, in the middle of twelve runs.
#[test]
fn what_can_be_read_of_a_damaged_journal_is_copied() {
    let station = Station::new();
    let text = "words of a run ".repeat(150);
    for _ in 0..12 {
        let args = serde_json::json!({ "text": text }).to_string();
        station.run(&["call", "text.count", &args]).ends(0);
    }
    let path = folder(&station).join("journal.db");
    let mut bytes = fs::read(&path).unwrap();
    let names: Vec<String> = runs_in(&path);
    let lost = &names[6];
    // A leaf of the table: it says so itself, and holds what was written of the run.
    let page = bytes.chunks(4_096).position(|page| {
        let has = |text: &[u8]| page.windows(text.len()).any(|window| window == text);
        page[0] == 0x0a && has(lost.as_bytes()) && has(b"{\"event\":\"")
    });
    let at = page.unwrap() * 4_096;
    bytes[at..at + 4_096].fill(0xA5);
    fs::write(&path, &bytes).unwrap();
    station
        .run(&["runs", "verify", "--all"])
        .ends(1)
        .says(&["hint: copy what can still be read"]);
    let copied = station.run(&["runs", "repair"]).ends(0);
    copied.prints(&[
        "[RUN] ",
        "ok",
        "`[ROOT]/state/lazaret/runs/journal-repaired.db`",
    ]);
    assert_eq!(
        fs::read(&path).unwrap(),
        bytes,
        "the damaged one stays as it is"
    );
    let told = station
        .run(&["runs", "repair", "--replace", "--json"])
        .ends(0)
        .json();
    let runs = told["runs"].as_array().unwrap();
    let whole = runs.iter().filter(|run| run["lost"].is_null()).count();
    assert!((6..12).contains(&whole), "{told}");
    assert_eq!(
        fs::read(folder(&station).join("journal-damaged.db")).unwrap(),
        bytes
    );
    // It is a journal as any other: what is in it is as it was written, and it goes on.
    let kept = runs_in(&path);
    assert!(kept.len() >= whole && kept.iter().all(|run| names.contains(run)));
    let first = station.run(&["runs", "show", &names[0], "--json"]).ends(0);
    assert!(first.out.contains("\"stopped\""), "{first}");
    call(&station).ends(0);
    let found = station
        .run(&["runs", "list", "--limit", "100", "--json"])
        .ends(0)
        .listed();
    assert_eq!(found.len(), kept.len() + 1);
    // A second damaged one is not written over the first.
    let again = station.run(&["runs", "repair", "--replace"]);
    again
        .ends(1)
        .says(&["journal-damaged.db` is there already", "hint: move it away"]);
}

/// What is missing behind the last record of a run may have happened.
#[test]
fn a_run_that_lost_its_end_does_not_go_on_after_a_repair() {
    let station = Station::with(
        "ask = [\"text.count\"]\n[mounts.here]\npath = \".\"\naccess = \"write\"\n\
         [grants.\"files.write\"]\nmounts = { here = \"write\" }\n",
    );
    let write = ["call", "files.write", r#"{"path":"here/a","content":"b"}"#];
    station.run(&write).ends(0);
    call(&station).ends(75);
    let path = station.workspace().join(".lazaret/journal.db");
    let database = Connection::open(&path).unwrap();
    let first = "SELECT run FROM records WHERE seq = 0 ORDER BY at LIMIT 1";
    let cut = format!("DELETE FROM records WHERE run = ({first}) AND seq > 0");
    assert!(database.execute(&cut, []).unwrap() > 1);
    let run: String = database.query_row(first, [], |row| row.get(0)).unwrap();
    // Whoever has it open would go on writing into the one that is put away.
    station
        .run(&["runs", "repair", "--replace"])
        .ends(5)
        .says(&[
            "journal.db` is open in another process",
            "hint: end it first",
        ]);
    drop(database);
    station.run(&["runs", "repair", "--replace"]).ends(0);
    station.run(&["runs", "verify", "--all"]).ends(0);
    station.run(&["runs", "resume", &run]).says(&["has ended"]);
    station
        .run(&["runs", "show", &run])
        .prints(&["the journal was repaired"]);
    // What waits was left whole, and goes on.
    let asked = station.run(&["ask", "list", "--json"]).listed();
    let question = asked[0]["question"].as_str().unwrap();
    station.run(&["ask", "allow", question]).ends(0);
    station.run(&["runs", "resume", "last"]).ends(0);
}

#[test]
fn where_nothing_can_be_read_there_is_no_copy() {
    let (station, path) = used();
    fs::write(&path, [0xA5; 8_192]).unwrap();
    station.run(&["runs", "repair"]).ends(1).says_only(
        "error: nothing of `[ROOT]/state/lazaret/runs/journal.db` can be read: it is damaged or no journal\n\
         hint: move it away; lazaret then begins a new one",
    );
    assert!(!folder(&station).join("journal-repaired.db").exists());
    let none = Station::new();
    none.run(&["runs", "repair"])
        .ends(4)
        .says(&["there is no journal `[ROOT]/state"]);
}

/// Nor is one put away with which nothing is wrong, with or without runs.
#[test]
fn what_is_not_damaged_is_not_repaired() {
    let (station, path) = used();
    for holds in ["1 run", "0 runs"] {
        let says = format!(
            "ok nothing is wrong with `[ROOT]/state/lazaret/runs/journal.db`, which holds {holds}: there is nothing to repair"
        );
        for words in [&["runs", "repair"][..], &["runs", "repair", "--replace"]] {
            station.run(words).ends(0).says_only("").prints(&[&says]);
        }
        let told = station.run(&["runs", "repair", "--json"]).ends(0).json();
        assert_eq!(told["damaged"], serde_json::Value::Null, "{told}");
        for name in [
            "journal-repaired.db",
            "journal-repairing.db",
            "journal-damaged.db",
        ] {
            assert!(!folder(&station).join(name).exists(), "{name}");
        }
        let database = Connection::open(&path).unwrap();
        database.execute("DELETE FROM records", []).unwrap();
    }
}

fn runs_in(path: &Path) -> Vec<String> {
    let database = Connection::open(path).unwrap();
    let mut query = database
        .prepare("SELECT DISTINCT run FROM records ORDER BY run")
        .unwrap();
    let runs = query.query_map([], |row| row.get(0)).unwrap();
    runs.map(Result::unwrap).collect()
}

/// Files of this process may not grow: the nearest that a test comes to a full disk.
#[test]
fn a_journal_that_cannot_grow_stops_the_call() {
    let (station, path) = used();
    let size = fs::metadata(path).unwrap().len();
    let mut shell = Command::new("/bin/bash");
    // bash counts in blocks of 1024 bytes; the signal becomes an error of the write.
    let limited = format!(
        "trap '' XFSZ; ulimit -f {}; exec \"$0\" call files.write '{{\"path\":\"a\",\"content\":\"b\"}}'",
        size / 1_024
    );
    let lazaret = station.command(&[]).get_program().to_owned();
    let ended = station.finish(
        station
            .settle(&mut shell)
            .args(["-c", &limited])
            .arg(lazaret),
    );
    assert_eq!(ended.status, 1, "{ended}");
    ended.says(&["error: "]).never("panicked");
    assert!(!station.workspace().join("a").exists());
}

#[test]
fn twenty_processes_share_a_journal() {
    let station = Station::new();
    let children: Vec<_> = (0..20)
        .map(|n| {
            let args = format!(r#"{{"text":"{n}"}}"#);
            let mut command = station.command(&["call", "text.count", &args, "--json"]);
            station.spawn(&mut command)
        })
        .collect();
    for child in children {
        station.wait(child).ends(0).says_only("");
    }
    let runs = station
        .run(&["runs", "list", "--limit", "100", "--json"])
        .listed();
    assert_eq!(runs.len(), 20);
    for run in runs {
        assert_eq!(run["stopped"]["end"], "done", "{run}");
    }
}
