//! Runs that are left, from one process to the next: questions, Ctrl-C, and a process that is killed.

use lazaret_tests::wait;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::server::{Answer, Server};
use crate::signed::sign;
use crate::station::{Ended, Station};

const POLICY: &str = r#"
ask = ["files.write"]
[mounts.here]
path = "."
access = "write"
[grants."files.write"]
mounts = { here = "write" }
"#;

const WRITES: &str = "return (await tools.files.write({path: 'here/log.txt', content: 'one\\n', mode: 'append'})).bytes";

fn asks() -> Station {
    let station = Station::with(POLICY);
    station.run(&["script", "-e", WRITES]).ends(75).says(&[
        "files.write",
        "lazaret ask allow ",
        "lazaret runs resume [RUN]",
    ]);
    station
}

/// What a run may write into a mount it may write in all of its lives together.
#[test]
fn a_run_that_goes_on_has_used_of_its_quota_what_it_had() {
    let policy = POLICY.replace("access = \"write\"", "access = \"write\"\nquota_mib = 1");
    let policy = policy.replace("ask = [\"files.write\"]", "ask = [\"text.count\"]");
    let station = Station::with(&format!("{policy}[flow]\nmode = \"off\"\n"));
    let fills = "const half = async name => { for (let n = 0; n < 9; n++) \
        await tools.files.write({path: `here/${name}${n}.txt`, content: 'x'.repeat(60000)}); }; \
        await half('a'); await tools.text.count({text: 'a'}); await half('b')";
    station.run(&["script", "-e", fills]).ends(75);
    station.run(&["ask", "allow", &question(&station)]).ends(0);
    station
        .run(&["runs", "resume", "last"])
        .ends(2)
        .says(&["into the mount `here`", "past its quota: `quota_mib = 1`"]);
    let is_there = |name: &str| station.workspace().join(name).exists();
    assert!(is_there("a8.txt") && is_there("b6.txt") && !is_there("b7.txt"));
}

/// The questions that wait, and nothing else.
fn waiting(station: &Station) -> Vec<Value> {
    station.run(&["ask", "list", "--json"]).ends(0).listed()
}

fn question(station: &Station) -> String {
    let waiting = waiting(station);
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    waiting[0]["question"].as_str().unwrap().to_owned()
}

fn log(station: &Station) -> String {
    std::fs::read_to_string(station.workspace().join("log.txt")).unwrap_or_default()
}

fn stopped(station: &Station) -> Ended {
    station.run(&["runs", "list", "--json"]).ends(0)
}

#[test]
fn a_script_asks_waits_and_goes_on() {
    let station = asks();
    let id = question(&station);
    station.run(&["ask", "list"]).ends(0).prints(&[
        &id[..12],
        "May this script call `files.write`",
        "[RUN]",
    ]);
    station.run(&["ask", "show", &id[..6]]).ends(0).prints(&[
        &id[..12],
        "here/log.txt",
        "asked by",
        "ask = [\"files.write\"]",
        "[RUN]",
    ]);
    assert_eq!(
        waiting(&station)[0]["args"]["inline"]["path"],
        "here/log.txt"
    );
    station.run(&["runs", "list"]).ends(0).prints(&["waiting"]);
    // Nobody has said anything yet.
    station
        .run(&["runs", "resume", "last"])
        .ends(75)
        .says(&[&format!("lazaret ask allow {}", &id[..12])]);
    assert_eq!(log(&station), "");
    station
        .run(&["ask", "allow", &id])
        .ends(0)
        .prints(&["allowed"])
        .says(&["lazaret runs resume [RUN]"]);
    assert!(waiting(&station).is_empty());
    assert_eq!(log(&station), "");
    station.run(&["runs", "resume"]).ends(0).prints(&["4"]);
    assert_eq!(log(&station), "one\n");
    assert_eq!(stopped(&station).listed()[0]["state"], "done");
    station
        .run(&["runs", "resume"])
        .ends(1)
        .says(&["has ended"]);
    station
        .run(&["ask", "allow", &id])
        .ends(1)
        .says(&["was answered already, with yes", "lazaret runs show [RUN]"]);
    assert_eq!(log(&station), "one\n");
}

#[test]
fn a_no_is_told_to_the_script() {
    let station = asks();
    let id = question(&station);
    station
        .run(&["ask", "deny", &id])
        .ends(0)
        .prints(&["denied"]);
    station
        .run(&["runs", "resume"])
        .ends(2)
        .says(&["a person was asked about `files.write`, and said no"]);
    assert_eq!(log(&station), "");
}

#[test]
fn a_no_may_say_why() {
    let station = asks();
    let id = question(&station);
    let long = "x".repeat(501);
    station
        .run(&["ask", "deny", &id, "--reason", &long])
        .ends(2)
        .says(&["at most 500 characters, and this one has 501"]);
    station
        .run(&["ask", "deny", &id, "--reason", "not this week,\u{202e} Bob"])
        .ends(0)
        .prints(&["denied"]);
    // Whoever wished is told, and nothing of it is anything but text.
    station
        .run(&["runs", "resume"])
        .ends(2)
        .says(&["and said no: \"not this week,", "Bob\""]);
    let shown = station.run(&["runs", "show"]).ends(0);
    shown.prints(&["denied: not this week,"]);
    let audit = station.run(&["runs", "show", "--audit"]).ends(0);
    audit.prints(&["answered: deny: not this week,"]);
    assert_eq!(log(&station), "");
}

#[test]
fn questions_are_data_for_programs() {
    let station = asks();
    let id = question(&station);
    let shown = station.run(&["ask", "show", &id, "--json"]).ends(0).json();
    assert_eq!(shown, waiting(&station)[0]);
    assert_eq!(shown["tool"], "files.write");
    let ended = station.run(&["script", "-e", WRITES, "--json"]).ends(75);
    assert_eq!(
        ended.json()["error"]["code"],
        "CONFIRMATION_REQUIRED",
        "{ended}"
    );
    let both: Vec<String> = waiting(&station)
        .iter()
        .map(|waiting| waiting["question"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(both.len(), 2, "each run has a question of its own");
    assert_ne!(both[0], both[1]);
    let allowed = station.run(&["ask", "allow", &id, "--json"]).ends(0).json();
    assert_eq!(
        (&allowed["question"], &allowed["answer"]),
        (&json!(id), &json!("allow"))
    );
}

/// Too little of a name would answer whatever waits.
#[test]
fn a_question_is_named_by_six_characters_or_more() {
    let station = asks();
    let id = question(&station);
    for short in ["", &id[..1], &id[..5]] {
        for word in ["show", "allow", "always", "deny"] {
            station.run(&["ask", word, short]).ends(2).says(&[
                "a question is named by the first 6 characters of its name or more",
                "hint: name the question by its first characters: `lazaret ask list` has them",
            ]);
        }
    }
    assert_eq!(question(&station), id, "it waits as before");
    station.run(&["ask", "deny", &id[..6]]).ends(0);
}

#[test]
fn without_questions_there_is_nothing_to_answer() {
    let station = Station::with(POLICY);
    station
        .run(&["ask", "list"])
        .ends(0)
        .says(&["nothing waits for an answer"]);
    let none = station.run(&["ask", "list", "--json"]).ends(0);
    assert!(none.says_only("").listed().is_empty());
    station.run(&["ask", "show", "abcdef"]).ends(4);
    station.run(&["ask", "allow"]).ends(2);
    station.run(&["runs", "resume"]).ends(4);
    station.run(&["runs", "resume", "none"]).ends(4);
    station.run(&["runs", "cancel", "none"]).ends(4);
}

#[test]
fn one_call_asks_and_waits_as_well() {
    let station = Station::with(POLICY);
    let args = r#"{"path":"here/log.txt","content":"one\n","mode":"append"}"#;
    station
        .run(&["call", "files.write", args])
        .ends(75)
        .says(&["hint: lazaret ask show ", "lazaret ask allow "]);
    let id = question(&station);
    station.run(&["ask", "allow", &id]).ends(0);
    station.run(&["runs", "resume"]).ends(0);
    assert_eq!(log(&station), "one\n");
}

#[test]
fn a_run_that_is_cancelled_does_not_go_on() {
    let station = asks();
    station
        .run(&["runs", "cancel", "last"])
        .ends(0)
        .says(&["cancelled: [RUN]"]);
    assert!(waiting(&station).is_empty());
    assert_eq!(stopped(&station).listed()[0]["state"], "cancelled");
    station
        .run(&["runs", "resume"])
        .ends(1)
        .says(&["has ended"]);
    station
        .run(&["runs", "cancel", "last"])
        .ends(1)
        .says(&["has ended"]);
    assert_eq!(log(&station), "");
}

#[test]
fn an_agent_that_asks_goes_on_in_another_process() {
    let source = WRITES.replace('\n', " ");
    let call = json!({"calls": [{"tool": "run_script", "args": {"source": source}}]}).to_string();
    let policy = POLICY.replace("ask = [\"files.write\"]", "");
    let station = Station::scripted(
        "[\"files.write\"]",
        &[&call, r#"{"when":"4","text":"written"}"#],
        &policy,
    );
    let config = format!("ask = [\"files.write\"]\n{}", station.read("lazaret.toml"));
    station.write("lazaret.toml", config);
    station.trust();
    station
        .run(&["run", "write", "--calling", "code"])
        .ends(75)
        .says(&["lazaret ask allow ", "lazaret runs resume [RUN]"]);
    station.run(&["ask", "allow", &question(&station)]).ends(0);
    station
        .run(&["runs", "resume"])
        .ends(0)
        .prints(&["written"]);
    assert_eq!(log(&station), "one\n");
}

#[test]
fn an_agent_that_is_interrupted_in_a_script_says_how_it_goes_on() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let source = format!(
        "return await tools.web.get_page({{url: '{}/'}})",
        server.url()
    );
    let call = json!({"calls": [{"tool": "run_script", "args": {"source": source}}]}).to_string();
    let grant = format!(
        "[grants.\"web.get_page\"]\nfetch = [{{ url = \"{}/\", private = true }}]\n",
        server.url()
    );
    let station = Station::scripted("[\"web.get_page\"]", &[&call], &grant);
    let mut command = station.command(&["run", "read it", "--calling", "code"]);
    let child = station.spawn(&mut command);
    server.wait();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    station
        .wait(child)
        .ends(130)
        .says(&["go on with it: lazaret runs resume [RUN]"]);
}

#[test]
fn an_interrupted_script_is_left_and_goes_on() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 11\r\nconnection: close\r\n\r\n<p>late</p>";
    let server = Server::start(vec![
        Answer::Silence(String::new()),
        Answer::Bytes(page.into()),
    ]);
    let station = Station::with(&format!(
        "[mounts.here]\npath = \".\"\naccess = \"write\"\n[grants.\"files.write\"]\nmounts = {{ here = \"write\" }}\n\
         [grants.\"web.get_page\"]\nfetch = [{{ url = \"{}/\", private = true }}]\n",
        server.url()
    ));
    let source = format!(
        "{}; return (await tools.web.get_page({{url: '{}/'}}), 'went on')",
        WRITES.replace("return ", ""),
        server.url()
    );
    let child = station.spawn(&mut station.command(&["script", "-e", &source]));
    server.wait();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    station
        .wait(child)
        .ends(130)
        .says(&["cancelled", "go on with it: lazaret runs resume [RUN]"]);
    assert_eq!(log(&station), "one\n");
    station.run(&["runs", "list"]).ends(0).prints(&["paused"]);
    station
        .run(&["runs", "resume"])
        .ends(0)
        .prints(&["went on"]);
    assert_eq!(log(&station), "one\n", "what was done is not done again");
}

/// Looks at the records of the only run until they satisfy; a process is at work on it.
fn until(station: &Station, what: impl Fn(&[Value]) -> bool) {
    wait::until("the record says so", || {
        let shown = station.run(&["runs", "show", "last", "--json", "--quiet"]);
        shown.status == 0 && what(&shown.lines())
    });
}

#[test]
fn a_process_that_is_killed_while_its_script_rests_leaves_it_to_the_next() {
    let station = Station::with(&POLICY.replace("ask = [\"files.write\"]", ""));
    let source = format!(
        "{}; await new Promise(resolve => setTimeout(resolve, 3600_000)); {}",
        WRITES.replace("return ", ""),
        WRITES.replace("one", "two")
    );
    let mut child = station.spawn(&mut station.command(&["script", "-e", &source]));
    until(&station, |records| {
        let written = records
            .iter()
            .find(|record| record["subject"] == "files.write");
        written.is_some_and(|call| {
            records
                .iter()
                .any(|record| record["event"] == "finished" && record["of"] == call["seq"])
        })
    });
    child.kill().unwrap();
    station.wait(child).ends(-1);
    assert_eq!(log(&station), "one\n");
    station
        .run(&["runs", "list"])
        .ends(0)
        .prints(&["unfinished"]);
    // Two hours later.
    let journals: Vec<_> = walk(&station.workspace())
        .into_iter()
        .chain(walk(&station.state()))
        .collect();
    let journal = journals
        .iter()
        .find(|path| path.ends_with("journal.db"))
        .expect("a journal");
    let database = Connection::open(journal).unwrap();
    database
        .execute("UPDATE records SET at = at - 7200000", [])
        .unwrap();
    sign(&database, &station.state());
    drop(database);
    station.run(&["runs", "resume"]).ends(0).prints(&["4"]);
    assert_eq!(log(&station), "one\ntwo\n");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn a_journal_that_came_with_the_files_is_not_gone_on_with() {
    let station = asks();
    let id = question(&station);
    station.run(&["ask", "allow", &id]).ends(0);
    // As on another machine: the same files, and another user's state.
    std::fs::remove_dir_all(station.state().join("begun")).unwrap();
    station
        .run(&["runs", "resume"])
        .ends(3)
        .says(&["was not begun here"]);
    assert_eq!(log(&station), "");
}

/// Writes one more record behind all others of the newest run.
fn slip_in(station: &Station, event: &str) {
    let database = Connection::open(station.workspace().join(".lazaret/journal.db")).unwrap();
    let last = "SELECT run, max(seq) FROM records GROUP BY run ORDER BY max(at) DESC LIMIT 1";
    let (run, seq): (String, i64) = database
        .query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    database
        .execute(
            "INSERT INTO records (run, seq, at, parent, event) VALUES (?1, ?2, 0, 0, ?3)",
            (run, seq + 1, event),
        )
        .unwrap();
}

#[test]
fn what_was_slipped_into_the_journal_is_named_and_nothing_goes_on() {
    let other = "0".repeat(64);
    let answered =
        |id: &str| format!(r#"{{"event":"answered","question":"{id}","answer":"allow"}}"#);
    for with_pause in [false, true] {
        let station = asks();
        let id = question(&station);
        slip_in(&station, &answered(&id));
        if with_pause {
            slip_in(&station, r#"{"event":"paused","questions":[]}"#);
        }
        for arguments in [["runs", "resume"], ["runs", "resume"]] {
            station.run(&arguments).ends(1).says(&[
                " of run `[RUN]` is not as it was written: it was put in",
                "nothing in it goes on",
                "lazaret runs verify [RUN]",
                "lazaret runs cancel [RUN], then begin anew",
            ]);
            assert_eq!(log(&station), "");
        }
    }
    // An answer does not vouch for what was slipped in before it.
    let station = asks();
    let id = question(&station);
    slip_in(&station, &answered(&other));
    slip_in(
        &station,
        &format!(r#"{{"event":"paused","questions":["{id}"]}}"#),
    );
    station
        .run(&["ask", "allow", &id])
        .ends(1)
        .says(&["is not as it was written"]);
    station.run(&["runs", "resume"]).ends(1);
    assert_eq!(log(&station), "");
}

#[test]
fn a_no_that_was_cut_off_is_missed() {
    let station = asks();
    station.run(&["ask", "deny", &question(&station)]).ends(0);
    let database = Connection::open(station.workspace().join(".lazaret/journal.db")).unwrap();
    let last = "DELETE FROM records WHERE seq >= (SELECT max(seq) - 1 FROM records)";
    assert_eq!(database.execute(last, []).unwrap(), 2);
    drop(database);
    // Every record that is left is as it was written, and the question would be open again.
    station
        .run(&["ask", "allow", &question(&station)])
        .ends(3)
        .says(&["the last ones are missing"]);
    station.run(&["runs", "resume"]).ends(3);
    assert_eq!(log(&station), "");
}
