//! `lazaret policy explain` says what happens: each call is explained and then made, and both end alike.

use lazaret_tests::saying;
use serde_json::json;

use crate::station::{Ended, Station};

const POLICY: &str = r#"
[mounts.out]
path = "out"
access = "create"
[mounts.notes]
path = "notes"
access = "write"
[grants."files.*"]
mounts = { out = "create", notes = "write" }
[[permissions]]
tools = "text.*"
surfaces = ["http"]
verdict = false
"#;

fn station() -> Station {
    let station = Station::new();
    let reads = json!({"effect": "read-only", "hosts": ["GET https://api.test/"]});
    station.write("odd.wasm", saying::component("odd", &reads, "1"));
    station.write("out/old.md", "");
    station.write("notes/old.md", "");
    station.write(
        "lazaret.toml",
        format!("{POLICY}[plugins]\nodd = \"odd.wasm\"\n"),
    );
    station.trust();
    station
}

/// Explains a call, makes it, and compares how both end.
fn agree(station: &Station, tool: &str, args: &str) -> Ended {
    let explained = station.run(&["policy", "explain", tool, args]);
    let called = station.run(&["call", tool, args, "--confirm"]);
    assert_eq!(
        explained.status == 0,
        called.status == 0,
        "{explained}\n{called}"
    );
    explained
}

#[test]
fn an_address_is_read_as_egress_reads_it() {
    let station = station();
    for url in [
        "https://evil.test/x",
        "HTTPS://evil.test/x",
        "hTTP://169.254.169.254/",
        "ftp://evil.test/",
        "https://u:p@evil.test/",
        "nonsense",
    ] {
        let args = json!({"url": url}).to_string();
        agree(&station, "web.get_page", &args)
            .ends(3)
            .prints(&["deny"]);
    }
}

#[test]
fn a_tool_that_wants_a_host_is_no_tool_that_looks_at_what_is_here() {
    let station = station();
    let args = json!({"url": "https://elsewhere.test/"}).to_string();
    station
        .run(&["policy", "explain", "odd.run", &args])
        .ends(3)
        .prints(&["network_read", "deny GET https://elsewhere.test/"]);
}

#[test]
fn a_file_is_judged_by_the_ways_in_which_it_may_be_written() {
    let station = station();
    let write = |path: &str, mode: &str| {
        let mut args = json!({"path": path, "content": "x"});
        if !mode.is_empty() {
            args["mode"] = mode.into();
        }
        agree(&station, "files.write", &args.to_string())
    };
    write("out/new.md", "create").ends(0);
    write("out/old.md", "replace")
        .ends(3)
        .prints(&["may be made anew and not changed"]);
    write("out/old.md", "append").ends(3);
    write("notes/new.md", "").ends(0);
    write("notes/old.md", "replace").ends(0);
    write("elsewhere/new.md", "").ends(3);
}

#[test]
fn lines_for_one_surface_are_seen_from_there() {
    let station = station();
    let explain = |more: &[&str]| {
        let explain = ["policy", "explain", "text.count", r#"{"text":"a"}"#];
        station.run(&[&explain[..], more].concat())
    };
    explain(&[]).ends(0);
    explain(&["--surface", "http"])
        .ends(3)
        .prints(&["Not authorized to perform this action"]);
    explain(&["--surface", "htp"])
        .ends(2)
        .says(&["cli, json, http"]);
}

/// What lets a tool of this name send letters, as a plugin of nobody's trust.
const MAILER: &str = "[plugins]\nmailer = \"mailer.wasm\"\n[mounts.outbox]\npath = \"outbox\"\naccess = \"create\"\n\
                      [grants.\"mailer.run\"]\nmounts = { outbox = \"create\" }\n";

fn mailer(flow: &serde_json::Value, more: &str) -> Station {
    let station = Station::new();
    let sends = json!({
        "effect": "external-stateful", "risk": "external_write", "mounts": "write", "flow": flow,
    });
    station.write("mailer.wasm", saying::component("mailer", &sends, "1"));
    station.write("outbox/1.json", "{}");
    station.write("lazaret.toml", format!("{MAILER}{more}"));
    station.trust();
    station
}

const LETTER: &str = r#"{"to": ["grace@partner.test"], "source": "see https://partner.test/"}"#;

#[test]
fn an_address_of_mail_is_no_file_whatever_its_argument_is_called() {
    let told = json!({"steering": {"to": "mail"}, "content": ["source"]});
    let by_policy =
        "[flow.tools.\"mailer.run\"]\nsteering = { to = \"mail\" }\ncontent = [\"source\"]\n";
    for station in [mailer(&told, ""), mailer(&json!({}), by_policy)] {
        agree(&station, "mailer.run", LETTER)
            .ends(0)
            .prints(&["allow mailer.run"])
            .never("guess")
            .never("write grace@partner.test");
    }
}

#[test]
fn what_only_a_name_speaks_for_is_guessed_decides_nothing_and_proposes_nothing() {
    let station = mailer(&json!({}), "");
    agree(&station, "mailer.run", LETTER)
        .ends(0)
        .prints(&["guess if `to/0` is a path, write grace@partner.test would be denied: "])
        .never("to allow it")
        .never("[mounts");
    let explained = station.run(&["policy", "explain", "mailer.run", LETTER, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&explained.ends(0).out).unwrap();
    assert_eq!(told["verdicts"][1]["guessedFrom"], "source");
    assert_eq!(told["verdicts"][2]["guessedFrom"], "to/0");
    // Where somebody has said that it is a file, it is one.
    let station = mailer(&json!({"steering": {"to": "file"}}), "");
    station
        .run(&[
            "policy",
            "explain",
            "mailer.run",
            r#"{"to": "elsewhere.md"}"#,
        ])
        .ends(3)
        .prints(&[
            "deny write elsewhere.md",
            "did you mean `outbox/elsewhere.md`?",
        ]);
}

/// The flag that a question offers is for that value, whatever stands in it.
#[test]
fn no_word_in_what_is_vouched_for_is_vouched_for() {
    let station = Station::new();
    let policy = "[mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\n[grants.\"files.*\"]\n\
                  mounts = { out = \"write\" }\n[grants.\"files.remove\"]\nmounts = { out = \"write\" }\n[flow]\nmode = \"enforce\"\n";
    station.write("lazaret.toml", policy);
    station.write("out/keep", "");
    station.trust();
    let name = "out/notes for out/keep";
    let judged = |tool: &str, path: &str| {
        let args = match tool {
            "files.write" => json!({"path": path, "content": "x"}),
            _ => json!({"path": path}),
        };
        let args = args.to_string();
        let asked = ["policy", "explain", tool, args.as_str(), "--as", "model"];
        let under = ["--influence", "web:https://evil.test"];
        station.run(&[&asked[..], &under, &["--vouch", name]].concat())
    };
    let other = judged("files.write", "out/notes for out/list").ends(0);
    other.prints(&["# or, for one run: --vouch 'out/notes for out/list'"]);
    let own = judged("files.write", name).ends(0);
    own.prints(&["allow files.write", "typed by the user or the operator"]);
    for tool in ["files.write", "files.remove"] {
        let inner = judged(tool, "out/keep").ends(0);
        inner.prints(&[&format!("ask {tool}"), "nobody vouches for it"]);
    }
}

/// The name of what is made ends its question by the flag, and by the line that is printed beside it.
#[test]
fn a_name_that_policy_vouches_for_counts_as_one_by_flag() {
    let station = Station::new();
    let policy = "[mounts.inbox]\npath = \"inbox\"\n[grants.\"notes.*\"]\nnotes = \"write\"\n";
    station.write("lazaret.toml", policy);
    station.write("inbox/a", "");
    station.trust();
    let args = r#"{"key":"evil","text":"x"}"#;
    let asked = ["policy", "explain", "notes.put", args, "--as", "model"];
    let asked = [&asked[..], &["--influence", "file:inbox"]].concat();
    let line =
        "[flow.tools.\"notes.put\"]\n  vouch = [\"evil\"]\n  # or, for one run: --vouch evil";
    station.run(&asked).prints(&["ask notes.put", line]);
    let flag = [&asked[..], &["--vouch", "evil"]].concat();
    station.run(&flag).prints(&["allow notes.put"]);
    station.write(
        "lazaret.toml",
        format!("{policy}{}\n", line.replace("\n  ", "\n")),
    );
    station.trust();
    station.run(&asked).prints(&["allow notes.put"]);
}
