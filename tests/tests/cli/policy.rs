//! `lazaret policy`: what is said of lines, and that the advice of a denial, followed, allows.

use lazaret_tests::forge;
use serde_json::json;

use crate::server::{Answer, Server, plain};
use crate::station::{Ended, Station, hostile};

#[test]
fn a_policy_that_is_well_formed_is_counted() {
    Station::new()
        .run(&["policy", "check"])
        .ends(0)
        .prints(&["ok the built-in policy: 1 grant, 1 mount (no `lazaret.toml` here or above: `lazaret init` writes one)\n"])
        .says_only("");
    let told = Station::with("[grants.\"text.*\"]\n")
        .run(&["policy", "check", "--json"])
        .json();
    assert_eq!(
        told,
        json!({"ok": true, "origin": "[HERE]/lazaret.toml", "lines": 1, "unused": [], "findings": [],
            "traces": null, "estimated": [], "since": null})
    );
}

#[test]
fn a_line_about_nothing_is_pointed_at() {
    let station = Station::with("[grants.\"txet.*\"]\n");
    station.run(&["policy", "check"]).ends(0).says_only(
        "warning: `[HERE]/lazaret.toml`: [grants.\"txet.*\"] is about no tool that is installed
hint: did you mean `text.*`?",
    );
    assert_eq!(
        station.run(&["policy", "check", "--json"]).json()["unused"],
        json!(["txet.*"])
    );
}

#[test]
fn words_that_were_read_in_another_component_are_pointed_at() {
    let (plugin, other) = (hostile(), "0".repeat(64));
    let station = Station::with(&format!(
        "[plugins]\nhostile = \"{}\"\n[flow.read]\nhostile = \"{other}\"\nnobody = \"{other}\"\n\
         [flow.classes]\n\"tool:hostile.*\" = {{ integrity = \"untrusted\", secrecy = \"private\" }}\n",
        plugin.display()
    ));
    let told = station
        .run(&["plugin", "inspect", "hostile", "--json"])
        .json();
    let now = told["digest"].as_str().unwrap().to_owned();
    let checked = station.run(&["policy", "check"]).ends(0).says(&[
        "[flow.read] `hostile` was read in another component, and counts for nothing",
        &format!("hint: `lazaret plugin inspect hostile`, then `hostile = \"{now}\"`"),
        "[flow.read] `nobody` is about no plugin that is installed",
    ]);
    let checked = checked.never("tool:hostile.*");
    drop(checked);
    let read = station.read("lazaret.toml").replacen(&other, &now, 1);
    station.write("lazaret.toml", read);
    station.trust();
    let checked = station.run(&["policy", "check"]).ends(0);
    drop(checked.never("`hostile` was read"));
}

#[test]
fn a_line_that_asks_more_than_its_mount_gives_is_pointed_at() {
    Station::with(
        "[mounts.here]\npath = \".\"\n[grants.\"files.*\"]\nmounts = { here = \"write\" }\n",
    )
    .run(&["policy", "check"])
    .ends(0)
    .says(&[
        "warning: `[HERE]/lazaret.toml`: [grants.\"files.*\"] asks \"write\" of the mount `here`, which allows \"read\"",
        "hint: write `access = \"write\"` in [mounts.\"here\"], or less in the grant",
    ]);
}

#[test]
fn an_allowed_tool_is_explained() {
    let station = Station::new();
    station
        .run(&["policy", "explain", "text.count"])
        .ends(0)
        .prints(&[
            "allow text.count: tools of class read_only need no line\n",
            "its guest may touch:\n  nothing but its arguments\n",
        ]);
    station
        .run(&["policy", "explain", "files.read"])
        .ends(0)
        .prints(&["  read files in `.`\n"])
        .never("no line grants it");
    // What cannot do without notes is denied without any.
    let lacking = "its manifest also wants, and no line grants it:\n  read notes\n";
    let explained = station.run(&["policy", "explain", "notes.list"]);
    explained.ends(3).prints(&[
        "allow notes.list: ",
        "deny read notes: `notes.list` may not read notes (notes_not_granted)\n",
        "  [grants.\"notes.list\"]\n  notes = \"read\"\n",
        lacking,
    ]);
    let args = r#"{"text":"a"}"#;
    let told = station
        .run(&["policy", "explain", "text.count", args, "--json"])
        .json();
    assert_eq!(told["verdicts"][0]["verdict"], "allow");
    assert_eq!(told["mayTouch"], json!([]));
    assert_eq!(told["wants"], json!([]));
}

#[test]
fn a_denied_tool_is_explained_with_the_line_that_would_allow() {
    let station = Station::new();
    let ended = station
        .run(&["policy", "explain", "files.remove"])
        .ends(3)
        .says_only("");
    ended.prints(&[
        "deny files.remove: `files.remove` is of class high_risk, and no line of the built-in policy is about it alone",
        "to allow it, write in `lazaret.toml`:\n  [grants.\"files.remove\"]\n",
    ]);
    let told = station
        .run(&["policy", "explain", "files.remove", "--json"])
        .ends(3)
        .json();
    let verdict = &told["verdicts"][0];
    assert_eq!(
        (&verdict["subject"], &verdict["verdict"]),
        (&json!("files.remove"), &json!("deny"))
    );
    assert_eq!(
        verdict["denial"]["allow"],
        json!(["[grants.\"files.remove\"]"])
    );
}

/// A key of `[plugins]` is a name in a workspace's file; in the user's own only where the component's is somebody else's.
#[test]
fn a_name_of_a_plugin_that_counts_for_nothing_is_said() {
    let enemy = format!("[plugins]\nenemy = {:?}\n", hostile());
    Station::with(&enemy)
        .run(&["policy", "check"])
        .ends(0)
        .never("names nothing");
    let station = Station::new();
    station.write_user_file(&enemy);
    let ended = station.run(&["policy", "check"]).ends(0);
    ended.says(&["[plugins] `enemy` names nothing: the component calls itself `hostile`"]);
    station.write_user_file(&format!("[plugins]\nhostile = {:?}\n", hostile()));
    station
        .run(&["policy", "check"])
        .ends(0)
        .never("names nothing");
}

#[test]
fn what_a_call_would_do_is_judged_too() {
    let args = r#"{"path":"b.txt","content":"x"}"#;
    Station::new()
        .run(&["policy", "explain", "files.write", args])
        .ends(3)
        .prints(&[
            "allow files.write: [grants.\"files.*\"] in the built-in policy\n",
            "deny write b.txt: `b.txt` may be read and not changed (mount_read_only)\n",
            "  [grants.\"files.write\"]\n  mounts = { \".\" = \"create\" }\n",
        ]);
}

#[test]
fn a_tool_that_cannot_do_without_notes_is_denied_without_them() {
    let args = r#"{"key":"k","text":"t"}"#;
    let explain = ["policy", "explain", "notes.put", args];
    let call = ["call", "notes.put", args];
    // A line that is about it and grants nothing lets it be called, and does not help.
    let station = Station::with("[grants.\"notes.put\"]\n");
    let there =
        "in [grants.\"notes.put\"], which is there already, add or change:\n  notes = \"write\"\n";
    station
        .run(&explain)
        .ends(3)
        .prints(&["deny write notes: `notes.put` may not write notes", there]);
    station.run(&call).ends(3).says(&[there]);
    let station = Station::with("");
    let lines =
        "to allow it, write in `lazaret.toml`:\n  [grants.\"notes.put\"]\n  notes = \"write\"\n";
    station.run(&explain).ends(3).prints(&[lines]);
    station.run(&call).ends(3).says(&[lines]);
    station.write(
        "lazaret.toml",
        "[grants.\"notes.put\"]\nnotes = \"write\"\n",
    );
    station.trust();
    station.run(&explain).ends(0);
    station.run(&call).ends(0);
}

/// Pasted as they are, the lines of several rows are a file that is accepted, and each row is allowed.
#[test]
fn what_is_proposed_together_is_pasted_as_it_stands() {
    for (tool, args) in [
        ("web.post", r#"{"url":"https://a.test/x","text":"b"}"#),
        ("files.remove", r#"{"path":"docs/a.md"}"#),
        (
            "files.move",
            r#"{"source":"docs/a.md","target":"out/b.md"}"#,
        ),
    ] {
        let station = Station::with("");
        station.write("docs/a.md", "x");
        station.write("out/keep", "");
        let explain = ["policy", "explain", tool, args];
        let ended = station.run(&explain).ends(3);
        let heads = ended.out.matches("to allow it, write in").count();
        assert_eq!(heads, 1, "{ended}");
        let table = format!("[grants.\"{tool}\"]");
        assert_eq!(ended.out.matches(&table).count(), 1, "{ended}");
        let (_, lines) = ended.out.split_once("write in `lazaret.toml`:\n").unwrap();
        let lines = lines.lines().map_while(|line| line.strip_prefix("  "));
        let lines: Vec<&str> = lines.collect();
        station.write("lazaret.toml", lines.join("\n"));
        station.trust();
        station.run(&explain).ends(0);
    }
}

#[test]
fn a_permission_is_proposed_at_once_and_no_further_than_it_takes() {
    let station = Station::with("[mounts.\"docs\"]\npath = \"docs\"\n");
    station.write("docs/keep", "");
    let args = r#"{"path":"docs/n.md","content":"x"}"#;
    let lines = [
        "in [mounts.\"docs\"], which is there already, add or change:\n  access = \"create\"\n",
        "  [grants.\"files.write\"]\n  mounts = { \"docs\" = \"create\" }\n",
    ];
    let explained = station.run(&["policy", "explain", "files.write", args]);
    explained.ends(3).prints(&lines).never("\"write\"");
    let call = ["call", "files.write", args];
    station.run(&call).ends(3).says(&lines).never("\"write\"");
    assert_eq!(follow_until_allowed(&station, &call), 1);
    // What is there already takes more.
    let args = r#"{"path":"docs/n.md","content":"x","mode":"replace"}"#;
    station
        .run(&["policy", "explain", "files.write", args])
        .ends(3)
        .prints(&["access = \"write\"\n"]);
}

#[test]
fn what_a_blocked_tool_lacks_is_no_line() {
    Station::with("block = [\"text.*\"]\n")
        .run(&["policy", "explain", "text.count"])
        .ends(3)
        .prints(&["is blocked by `block = [\"text.*\"]` in [HERE]/lazaret.toml (blocked_tool)"])
        .never("to allow it");
}

#[test]
fn a_question_about_nothing_is_refused() {
    let station = Station::new();
    station
        .run(&["policy", "explain", "text.cuont"])
        .ends(4)
        .says(&["there is no tool `text.cuont`", "did you mean `text.count`"]);
    station
        .run(&["policy", "explain", "text.count", "{}"])
        .ends(2)
        .says(&["/: `text` is missing, a string"]);
}

/// Puts the lines that a denial printed into the configuration: each table once, each line below its
/// table. A line that says more of what is there already stands in its place.
fn follow(station: &Station, ended: &Ended) {
    let advice: Vec<&str> = ended
        .err
        .lines()
        .skip_while(|line| !line.starts_with("hint: to allow it, write in `lazaret.toml`:"))
        .skip(1)
        .map_while(|line| line.strip_prefix("  "))
        .collect();
    assert!(!advice.is_empty(), "{ended}");
    let mut config: Vec<String> = station
        .read("lazaret.toml")
        .lines()
        .map(str::to_owned)
        .collect();
    let mut place = 0;
    for line in advice {
        let there = line.strip_prefix("in ");
        let there =
            there.and_then(|line| line.strip_suffix(", which is there already, add or change:"));
        let line = there.unwrap_or(line);
        let key = line.split('=').next().unwrap_or_default();
        if line.starts_with('[') {
            place = config
                .iter()
                .position(|known| known == line)
                .unwrap_or_else(|| {
                    config.push(line.to_owned());
                    config.len() - 1
                });
            continue;
        }
        let end = (place + 1..config.len())
            .find(|at| config[*at].starts_with('['))
            .unwrap_or(config.len());
        match (place + 1..end).find(|at| config[*at].starts_with(key)) {
            Some(at) => line.clone_into(&mut config[at]),
            None => config.insert(place + 1, line.to_owned()),
        }
    }
    station.write("lazaret.toml", config.join("\n"));
    station.trust();
}

/// Calls until it is allowed; each denial must lead on.
#[track_caller]
fn follow_until_allowed(station: &Station, call: &[&str]) -> usize {
    for denials in 0..4 {
        let ended = station.run(call);
        if ended.status == 0 {
            return denials;
        }
        follow(station, &ended.ends(3));
    }
    panic!("{}", station.run(call));
}

#[test]
fn the_advice_about_writing_works() {
    let station = Station::with("[mounts.\".\"]\npath = \".\"\n");
    let call = ["call", "files.write", r#"{"path":"b.txt","content":"x"}"#];
    assert!(follow_until_allowed(&station, &call) > 0);
    assert_eq!(station.read("b.txt"), "x");
    station
        .run(&[
            "call",
            "files.write",
            r#"{"path":"../b.txt","content":"x"}"#,
        ])
        .ends(3);
}

#[test]
fn the_advice_about_a_page_works() {
    let answer = || Answer::Bytes(plain(200, "text/html", "<h1>Salt</h1>"));
    let server = Server::start(vec![answer(), answer()]);
    let station = Station::with("");
    let args = format!(r#"{{"url":"{}/a"}}"#, server.url());
    let call = ["call", "web.get_page", args.as_str()];
    assert_eq!(follow_until_allowed(&station, &call), 1);
    station.run(&call).ends(0).prints(&["# Salt"]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn the_advice_about_posting_works() {
    let server = Server::start(vec![Answer::Bytes(plain(200, "text/plain", "thanks"))]);
    let station = Station::with("");
    let args = format!(r#"{{"url":"{}/a","text":"x"}}"#, server.url());
    let call = ["call", "web.post", args.as_str()];
    assert!(follow_until_allowed(&station, &call) > 0);
    assert!(server.requests()[0].starts_with("POST /a "));
}

#[test]
fn the_advice_about_removing_works() {
    let station = Station::with("[mounts.\".\"]\npath = \".\"\n");
    station.write("a.txt", "x");
    let call = ["call", "files.remove", r#"{"path":"a.txt"}"#, "--confirm"];
    assert!(follow_until_allowed(&station, &call) > 0);
    assert!(!station.workspace().join("a.txt").exists());
}

#[test]
fn the_advice_about_notes_works() {
    let station = Station::with("");
    let call = ["call", "notes.put", r#"{"key":"k","text":"t"}"#];
    assert!(follow_until_allowed(&station, &call) > 0);
    follow_until_allowed(&station, &["call", "notes.get", r#"{"key":"k"}"#]);
}

#[test]
fn what_a_line_needs_and_does_not_find_is_said_before_the_first_run() {
    let station = Station::new();
    station.write(
        "lazaret.toml",
        "[grants.\"web.get_page\"]
fetch = [\"http://127.0.0.1:1/\", \"https://a.test/\"]
secrets = [
  { name = \"far\", to = \"https://b.test/\", header = \"x\" },
  { name = \"near\", to = \"https://a.test/\", header = \"x\" },
]
[models.near]\nprovider = \"openai\"\nurl = \"http://localhost:1/v1\"\nmodel = \"x\"\nkey_env = \"NOBODY_SETS_THIS\"
[models.said]\nprovider = \"scripted\"\nscript = \"gone.jsonl\"
",
    );
    let private =
        "is not on the public internet, and nothing is sent there without `private = true`";
    station
        .run(&["policy", "check"])
        .ends(0)
        .says(&[
            &format!("[grants.\"web.get_page\"] `http://127.0.0.1:1/` {private}"),
            "hint: write `{ url = \"http://127.0.0.1:1/\", private = true }`",
            "secrets: `far` is for `https://b.test/`, and no `fetch` lets these tools send anything there",
            &format!("[models.near] `http://localhost:1/v1` {private}"),
            "[models.near] key_env: the variable `NOBODY_SETS_THIS` is not set here",
            "[models.said] script: the replies `[HERE]/gone.jsonl` cannot be read",
        ])
        .never("`near` is for");
    station.trust();
    station.run(&["doctor"]).ends(0).prints(&[
        "careful models         [models.near] key_env: the variable `NOBODY_SETS_THIS` is not set here",
        "careful models         [models.said] script: the replies",
    ]);
}

const IDLE: &str = r#"
block = ["files.remove", "web.post"]
confirmed = ["files.write"]
ask = ["files.remove"]
[mounts.all]
path = "all"
access = "write"
own = true
[mounts.mail]
path = "all/mail"
[mounts.twin]
path = "all/mail"
[mounts.unused]
path = "in"
workspace = true
quota_mib = 3
max_file_mib = 4
[mounts.small]
path = "small"
access = "write"
quota_mib = 3
max_file_mib = 4
[grants."files.*"]
mounts = { all = "write", mail = "read", twin = "read", small = "write" }
[grants."files.read"]
mounts = { all = "read" }
[grants."notes.*"]
notes = "write"
[grants."notes.get"]
notes = "read"
[grants."web.get_json"]
fetch = ["https://a.test/", "https://a.test/x", "https://*.a.test/", "https://b.a.test/"]
[grants."web.post"]
fetch = [{ url = "https://b.test/", methods = ["POST"] }]
[flow]
mode = "off"
browse = "witness"
release = ["web.post"]
vouch = ["x", "x"]
common = ["name", "mail", "name"]
[flow.classes]
"mcp:none" = { integrity = "trusted", secrecy = "public" }
[flow.tools."web.get_json"]
reply = "url"
accepts = "private"
records = { vouches = { value = "mail" } }
[flow.tools."text.count"]
accepts = "private"
vouch = ["y", "y"]
[agents.a]
tools = ["web.get_json", "web.*"]
[[permissions]]
tools = "notes.*"
surfaces = ["http", "mcp"]
verdict = false
[[permissions]]
tools = "notes.put"
surfaces = ["mcp"]
verdict = true
[[permissions]]
tools = "notes.put"
verdict = "not here"
"#;

const IDLE_SAYS: &[&str] = &[
    "[grants.\"web.post\"] is about nothing but tools that `block` names",
    "`ask = [\"files.remove\"]` is about nothing but tools that `block` names",
    "[flow] `release = [\"web.post\"]` is about nothing but tools that `block` names",
    "[agents.a] `tools`: `web.get_json` is in `web.*` already",
    "[flow] `vouch` has `x` twice",
    "[flow] `common` has `name` twice",
    "[flow] `common` has `name`, and no records vouch for that kind: what you type of it never counts\nhint: take it out of `common`",
    "[agents.a] has no model, so each of its runs fails\nhint: write `models = [\"NAME\"]` there",
    "[mounts.unused] `workspace` counts for nothing beside `access = \"read\"`: nothing is written there",
    "[mounts.unused] `quota_mib` counts for nothing",
    "[mounts.unused] `max_file_mib` counts for nothing",
    "[mounts.small] `max_file_mib = 4` counts for nothing beside `quota_mib = 3`: no run writes that much there",
    "[flow.tools.\"web.get_json\"] `reply` counts for nothing: `web.get_json` changes and sends nothing",
    "[flow.tools.\"text.count\"] `accepts` counts for nothing",
    "[flow.tools.\"text.count\"] `vouch` counts for nothing",
    "[flow.tools.\"text.count\"] `vouch` has `y` twice",
    "`confirmed = [\"files.write\"]` is about no tool that asks to be confirmed",
    "[mounts.unused] is granted to no tool",
    "[mounts.all] holds the folder of [mounts.mail]: what is read there may be anybody's, no more than `read` is given there",
    "[mounts.all] holds the folder of [mounts.twin]: ",
    "[mounts.mail] and [mounts.twin] are one folder: each gives the least of both",
    "[flow] `browse = \"witness\"` counts for nothing beside `mode = \"off\"`",
    "[flow] `release` counts for nothing beside `mode = \"off\"`",
    "[flow.classes] `mcp:none` is about no MCP server that there is",
    "`value` is of kind `mail`, which vouches where the user has started the record, and nothing says who has",
    "what it fetches from `https://a.test` anybody may have written and everybody may read, so it vouches for nothing",
    "hint: if none but you and yours read there: [flow.classes] \"web:https://a.test\" = { integrity = \"untrusted\", secrecy = \"private\" }; \
     what a tool's code reads there it then sends only where its call names it, or with `accepts = \"private\"`",
    "[grants.\"files.read\"] grants `read` in mount `all`, where [grants.\"files.*\"] in [HERE]/lazaret.toml grants `write`",
    "[grants.\"notes.get\"] grants `read` of notes, where [grants.\"notes.*\"]",
    "[grants.\"web.get_json\"] grants `GET|HEAD https://a.test/x`, which its own line `GET|HEAD https://a.test/` covers",
    "[grants.\"web.get_json\"] grants `GET|HEAD https://b.a.test/`, which its own line `GET|HEAD https://*.a.test/` covers",
    "[[permissions]] about `notes.put` counts for nothing behind the one about `notes.*` in [HERE]/lazaret.toml: the first line about a call decides\nhint: put the narrower line before the wider one",
];

/// Lines that are about something, and still say nothing.
#[test]
fn lines_that_do_nothing_are_pointed_at() {
    let station = Station::with(IDLE);
    for folder in ["all/mail", "in", "small"] {
        station.write(&format!("{folder}/keep"), "");
    }
    station.run(&["policy", "check"]).ends(0).says(IDLE_SAYS);
    station
        .run(&["policy", "check", "--strict"])
        .ends(1)
        .says(IDLE_SAYS);
    let told = station
        .run(&["policy", "check", "--strict", "--json"])
        .ends(1);
    let found = told.json()["findings"].as_array().unwrap().len();
    assert_eq!(found, IDLE_SAYS.len() - 1);
    Station::with("[grants.\"text.*\"]\n")
        .run(&["policy", "check", "--strict"])
        .ends(0);
}

/// One line for a secret, or for calls, says it; another one that is narrower says nothing more.
#[test]
fn secrets_and_calls_that_are_granted_twice_are_pointed_at() {
    let check = |lines: &str| {
        let station = Station::new();
        station.write("lazaret.toml", lines);
        station.run(&["policy", "check"]).ends(0)
    };
    let secret = |to: &str, header: &str| {
        format!("{{ name = \"github\", to = \"https://{to}/\", header = \"{header}\" }}")
    };
    let grant = |tools: &str, secrets: &[String]| {
        format!("[grants.\"{tools}\"]\nsecrets = [{}]\n", secrets.join(", "))
    };
    let x = secret("x.test", "authorization");
    let below = secret("x.test/a", "authorization");
    check(&grant("web.get_page", &[x.clone(), x.clone()])).says(&[
        "[grants.\"web.get_page\"] grants the secret `github` for `https://x.test/` twice, as its own line before does\nhint: one of",
    ]);
    check(&grant("web.get_page", &[below.clone(), x.clone()])).says(&[
        "grants the secret `github` for `https://x.test/a/`, which its own line for `https://x.test/` covers\nhint: leave the narrower",
    ]);
    let apart = [
        x.clone(),
        secret("x.test/a", "x-key"),
        secret("y.test", "authorization"),
    ];
    check(&grant("web.get_page", &apart))
        .never("twice")
        .never("covers");
    let wide = grant("web.*", std::slice::from_ref(&x));
    let same = grant("web.get_page", std::slice::from_ref(&x));
    check(&format!("{wide}{same}")).says(&[
        "[grants.\"web.get_page\"] grants the secret `github` for `https://x.test/`, as [grants.\"web.*\"] in",
    ]);
    check(&format!("{wide}{}", grant("web.get_page", &[below]))).says(&[
        "grants the secret `github` for `https://x.test/a/`, which the line for `https://x.test/` of [grants.\"web.*\"]",
    ]);
    let calls = |tools: &str, calls: &str| format!("[grants.\"{tools}\"]\ncalls = [{calls}]\n");
    check(&calls("text.count", "\"web.*\", \"web.post\""))
        .says(&["[grants.\"text.count\"] `calls`: `web.post` is in `web.*` already"]);
    let same = calls("text.*", "\"web.post\"") + &calls("text.count", "\"web.post\"");
    check(&same)
        .says(&["[grants.\"text.count\"] grants calls of `web.post`, as [grants.\"text.*\"] in"]);
    let wider = calls("text.*", "\"web.*\"") + &calls("text.count", "\"web.post\"");
    check(&wider).says(&[
        "[grants.\"text.count\"] grants calls of `web.post`, which `web.*` of [grants.\"text.*\"]",
    ]);
    let other = calls("text.*", "\"web.get_page\"") + &calls("text.count", "\"web.post\"");
    check(&other).never("covers").never(", as [grants");
}

/// Files for a component that knows nothing of files change nothing.
#[test]
fn files_for_a_component_that_looks_for_none_are_pointed_at() {
    let says = "[grants.\"text.count\"] says `wasi_files = true`, and no tool of it looks for files through `wasi:filesystem`";
    Station::with("[grants.\"text.count\"]\nwasi_files = true\n")
        .run(&["policy", "check"])
        .ends(0)
        .says(&[says]);
    let station = Station::with(&format!(
        "[plugins]\nhostile = {:?}\n[grants.\"hostile.*\"]\nwasi_files = true\n",
        hostile()
    ));
    station
        .run(&["policy", "check"])
        .ends(0)
        .never("wasi_files");
}

/// What is said of records and lets nobody know, or everybody vouch.
#[test]
fn tools_of_which_nobody_knows_what_they_write_are_pointed_at() {
    let said = "[flow.tools.\"notes.list\"]\nrecords = { asks = { prefix = \"value\" } }\n";
    let open =
        "nothing says which record of `notes` a call of `notes.delete`, `notes.put` has written";
    let told = Station::with(said)
        .run(&["policy", "check"])
        .ends(0)
        .says(&[open]);
    told.says(&[
        "`asks` has `prefix`, and its whole outcome counts as one record, also where the list in it is empty",
        "hint: write `at = \"/notes/*\"`",
    ]);
    for put in ["id = \"id\"", "changes = \"key\""] {
        // Whoever deletes by ids alone says which.
        let known = format!(
            "{said}[flow.tools.\"notes.put\"]\nrecords = {{ {put} }}\n[flow.tools.\"notes.delete\"]\nsteering = {{ key = \"id\" }}"
        );
        let told = Station::with(&known).run(&["policy", "check"]);
        told.never("which record of `notes`");
    }
    Station::with("")
        .run(&["policy", "check"])
        .never("which record of");
}

const NEVER: &str = r#"
[grants."text.count"]
fetch = ["https://a.test/"]
[grants."files.*"]
fetch = ["https://b.test/"]
[grants."web.get_page"]
fetch = [{ url = "http://169.254.169.254/", private = true }, "https://metadata.google.internal/", "https://c.test/"]
[grants."text.query"]
calls = ["web.*"]
[flow]
mode = "off"
guards = ["lethal-trifecta"]
release = ["files.write"]
strict = true
vouch = ["", "x"]
me = [" "]
[flow.tools."files.write"]
vouch = [" "]
[flow.classes]
"secret:x" = { integrity = "trusted", secrecy = "secret" }
"#;

const NEVER_SAYS: &[&str] = &[
    "[grants.\"text.count\"] grants `GET|HEAD https://a.test/`, and no tool of it can send a request\nhint: leave it out",
    "[grants.\"files.*\"] grants `GET|HEAD https://b.test/`, and no tool of it can send a request",
    "[grants.\"web.get_page\"] `http://169.254.169.254/` leads to a cloud's metadata service, which no line opens\nhint: leave it out",
    "[grants.\"web.get_page\"] `https://metadata.google.internal/` leads to a cloud's metadata service",
    "[grants.\"text.query\"] grants calls of `web.*`, which no tool of it wants\nhint: leave it out",
    "[flow] `guards` counts for nothing beside `mode = \"off\"`\nhint: leave one of the two out",
    "[flow] `release` counts for nothing beside `mode = \"off\"`",
    "[flow] `strict` counts for nothing beside `mode = \"off\"`",
    "[flow] `vouch` has an empty value, which is nobody's",
    "[flow] `me` has an empty value, which is nobody's",
    "[flow.tools.\"files.write\"] `vouch` has an empty value, which is nobody's",
    "[flow.classes] `secret:x` is about no tool whose outcomes are secret that there is",
];

/// What a manifest names is all that its tool can be given, whatever a line grants.
#[test]
fn destinations_beyond_what_a_manifest_wants_are_pointed_at() {
    let wants =
        "\"effect\":\"read-only\",\"risk\":\"network_read\",\"hosts\":[\"GET https://a.test/api\"]";
    let manifest = forge::MANIFEST.replace("\"effect\":\"pure\"", wants);
    let check = |line: &str| {
        let station = Station::with(&format!(
            "[plugins]\nforged = \"forged.wasm\"\n[grants.\"forged.run\"]\nfetch = [{line}]\n"
        ));
        station.write("forged.wasm", forge::plugin(&manifest, ""));
        station.trust();
        station.run(&["policy", "check"]).ends(0)
    };
    let beyond =
        "and no tool of it wants that much\nhint: their manifests want: GET https://a.test/api";
    for (line, shown) in [
        ("\"https://a.test/\"", "GET|HEAD https://a.test/"),
        ("\"https://b.test/api\"", "GET|HEAD https://b.test/api"),
        (
            "{ url = \"https://a.test/api\", methods = [\"POST\"] }",
            "POST https://a.test/api",
        ),
    ] {
        let says = format!("[grants.\"forged.run\"] grants `{shown}`, {beyond}");
        check(line).says(&[&says]);
    }
    check("\"https://a.test/api\"").never("wants that much");
    check("\"https://a.test/api/v1\"").never("wants that much");
}

/// Lines that are well-formed and about something, and can never count.
#[test]
fn lines_that_can_never_count_are_pointed_at() {
    let station = Station::with(NEVER);
    let told = station.run(&["policy", "check", "--strict", "--quiet"]);
    told.ends(1).says(NEVER_SAYS);
    let told = station.run(&["policy", "check", "--quiet", "--json"]);
    let told = told.ends(0).json();
    let found = told["findings"].as_array().unwrap();
    assert_eq!(found.len(), NEVER_SAYS.len(), "{found:#?}");
    // Where flows are judged, the first of them count.
    station.write(
        "lazaret.toml",
        NEVER.replace("mode = \"off\"", "mode = \"enforce\""),
    );
    station
        .run(&["policy", "check"])
        .ends(0)
        .never("counts for nothing");
}

/// A mount inside another one that takes nothing away from it is worth no word: `lazaret init` proposes one.
#[test]
fn a_mount_that_gives_more_than_the_one_around_it_is_no_mistake() {
    let station = Station::with(
        "[mounts.\".\"]\npath = \".\"\n[mounts.out]\npath = \"out\"\naccess = \"write\"\nworkspace = true
        [grants.\"files.*\"]\nmounts = { \".\" = \"read\", out = \"write\" }\n",
    );
    station.write("out/keep", "");
    station
        .run(&["policy", "check", "--strict"])
        .ends(0)
        .says_only("");
    station
        .run(&[
            "call",
            "files.write",
            r#"{"path":"out/a.md","content":"x"}"#,
        ])
        .ends(0);
}
