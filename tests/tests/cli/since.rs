//! What was recorded before it was a secret: whatever reads records shows them without it.

use serde_json::{Value, json};

use crate::serving::Serving;
use crate::station::{Ended, Station};

const CANARY: &str = "canary-7f3a9c-since";

/// A model that writes where a letter says, and waits for an answer to that.
fn waiting() -> Station {
    let path = format!("out/{CANARY}.md");
    let calls = [
        json!({"calls": [{"tool": "files.read", "args": {"path": "inbox/where.txt"}}]}),
        json!({"calls": [{"tool": "files.write", "args": {"path": path, "content": CANARY}}]}),
        json!({"text": CANARY}),
    ];
    let lines = calls.map(|call| call.to_string());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let policy = "[flow]\nmode = \"enforce\"\nhold = \"never\"\n[mounts.inbox]\npath = \"inbox\"\n\
                  [mounts.out]\npath = \"out\"\naccess = \"write\"\n\
                  [grants.\"files.*\"]\nmounts = { inbox = \"read\", out = \"write\" }\n";
    let station = Station::scripted("[\"files.*\"]", &lines, policy);
    station.write("inbox/where.txt", &path);
    station.write("out/keep", "");
    let other = format!("unattended = \"deny\"\n{}", station.read("lazaret.toml"));
    station.write("new.toml", other);
    station
}

fn keep(station: &Station) {
    let value = format!("{CANARY}\n");
    let set = station.run_with_input(&["secret", "set", "canary"], value.as_bytes());
    set.ends(0);
}

/// Everything that reads records of the newest run, which is of this session and user and asks this question.
fn reads(session: &str, user: &str, asked: &str) -> Vec<Vec<String>> {
    let reads = format!(
        "runs show last
runs show last --json
runs show last --audit
runs show last --audit --json
runs list
runs list --json
runs watch last
runs watch last --json
runs export last --format otlp
sessions list
sessions list --json
sessions show {session} --user {user} --json
policy explain --run last
policy explain --run last --json
policy test last --policy new.toml
policy test last --policy new.toml --json
policy suggest last
policy suggest last --json
ask list
ask list --json
ask show {asked}
ask show {asked} --json"
    );
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    reads.lines().map(words).collect()
}

/// What a command says.
fn told(station: &Station, read: &[String]) -> Ended {
    let words: Vec<&str> = read.iter().map(String::as_str).collect();
    station.run(&words)
}

#[test]
fn nothing_that_reads_records_shows_what_has_become_a_secret() {
    let station = waiting();
    let (session, user) = (format!("s-{CANARY}"), format!("u-{CANARY}"));
    let goal = format!("Look into it: {CANARY}");
    let named = [
        "run",
        "--session",
        &session,
        "--user",
        &user,
        &goal,
        "--agent",
        "a",
    ];
    station.run(&named).ends(75);
    let asked = station.run(&["ask", "list", "--json"]).listed()[0]["question"].clone();
    let asked = asked.as_str().expect("a name");
    let reads = reads(&session, &user, asked);
    let holds = |read: &&Vec<String>| told(&station, read).to_string().contains(CANARY);
    let without: Vec<_> = reads.iter().filter(|read| !holds(read)).collect();
    assert_eq!(without.len(), 2, "{without:?}");
    let exported = station.run(&["runs", "export"]).ends(0).out;
    assert!(exported.contains(CANARY) && exported.contains("\"mac\""));
    station.write("run.jsonl", &exported);
    keep(&station);
    let all = reads.iter().map(|read| (read, told(&station, read)));
    let wrong = all.filter(|(_, told)| told.out.is_empty() || told.to_string().contains(CANARY));
    let wrong: Vec<String> = wrong
        .map(|(read, told)| format!("{read:?}: {told}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
    // Records that left before are a text like any other, and judged as such.
    for read in [
        &["policy", "test", "run.jsonl", "--policy", "new.toml"][..],
        &["policy", "suggest", "run.jsonl"],
    ] {
        station.run(read).never(CANARY);
    }
    let refused = station.run(&["runs", "export"]).ends(3).never(CANARY);
    refused.says(&["records hold what has become a secret since", "--redacted"]);
    let redacted = station.run(&["runs", "export", "--redacted"]);
    let redacted = redacted.ends(0).never(CANARY).out;
    assert!(
        redacted.contains("[REDACTED]") && !redacted.contains("\"mac\""),
        "{redacted}"
    );
    let server = Serving::start(&station);
    for path in ["/v1/questions", "/v1/runs", "/v1/runs/last"] {
        let told = server.get(path).is(200).to_string();
        assert!(!told.contains(CANARY), "{path}: {told}");
    }
    drop(server);
    // What is answered, and what comes of it, is told without it as well; and no file has its name.
    let answered = station.run(&["ask", "allow", asked, "--go-on"]);
    answered.ends(0).never(CANARY);
    let named = station.workspace().join(format!("out/{CANARY}.md"));
    assert!(!named.exists(), "nothing is named by a secret");
}

#[test]
fn a_redacted_export_proves_nothing() {
    let station = waiting();
    station.run(&["run", CANARY, "--agent", "a"]).ends(75);
    keep(&station);
    let file = ["runs", "export", "--redacted", "--output", "run.jsonl"];
    station.run(&file).ends(0);
    let other = Station::new();
    other.write("run.jsonl", station.read("run.jsonl"));
    let taken: Value = other
        .run(&["runs", "import", "run.jsonl", "--json"])
        .ends(0)
        .json();
    assert_eq!(taken["imported"], true, "{taken}");
    assert_eq!(taken["state"], "unproven", "{taken}");
    // Where there is nothing to take out it is an export like any other.
    station
        .run(&["call", "text.count", "{\"text\": \"a\"}"])
        .ends(0);
    let whole = station.run(&["runs", "export", "--redacted"]).ends(0);
    assert!(whole.out.contains("\"mac\""), "{whole}");
}

#[test]
fn nobody_is_named_by_a_secret() {
    let station = Station::scripted("[]", &[r#"{"text":"Yes."}"#], "");
    keep(&station);
    for (named, what) in [
        (
            ["--session", CANARY, "--user", "ann"],
            "the name of a session",
        ),
        (
            ["--session", "work", "--user", CANARY],
            "the name of a user",
        ),
    ] {
        let run = [&["run", "Hello", "--agent", "a"][..], &named].concat();
        station
            .run(&run)
            .ends(2)
            .says(&[what, "holds a secret of the vault"])
            .never(CANARY);
    }
}

#[test]
fn what_is_explained_is_told_without_secrets() {
    let station = Station::with(
        "[flow]\nmode = \"enforce\"\n[mounts.out]\npath = \"out\"\naccess = \"write\"\n\
         [grants.\"files.write\"]\nmounts = { out = \"write\" }\n",
    );
    station.write("out/keep", "");
    keep(&station);
    let args = json!({"path": format!("out/{CANARY}.md"), "content": "x"}).to_string();
    let by = ["--as", "model", "--influence", "web:https://evil.test"];
    let explain = [&["policy", "explain", "files.write", &args][..], &by].concat();
    for json in [&[][..], &["--json"]] {
        let told = station.run(&[&explain[..], json].concat()).never(CANARY);
        assert!(told.out.contains("out/[REDACTED].md"), "{told}");
    }
}
