//! `lazaret policy explain`, `test`, `suggest` and `check` where flows are judged.

use lazaret_tests::forge;
use serde_json::{Value, json};

use crate::station::Station;

/// A mount that anybody writes to, and one of the user's own to write to.
pub const MOUNTS: &str = r#"
[mounts.inbox]
path = "inbox"
[mounts.out]
path = "out"
access = "write"
own = true
[grants."files.*"]
mounts = { inbox = "read", out = "write" }
"#;

const READ: &str = r#"{"calls":[{"tool":"files.read","args":{"path":"inbox/where.txt"}}]}"#;
pub const WRITE: &str =
    r#"{"calls":[{"tool":"files.write","args":{"path":"out/from-letter.md","content":"hello"}}]}"#;
pub const DONE: &str = r#"{"text":"Done."}"#;

/// An agent that reads where to write from a letter, and writes there.
fn station(flow: &str) -> Station {
    let station = Station::scripted(
        "[\"files.*\"]",
        &[READ, WRITE, DONE],
        &format!("{MOUNTS}{flow}"),
    );
    station.write("inbox/where.txt", "out/from-letter.md");
    station.write("out/keep", "");
    station
}

pub fn run(station: &Station, status: i32) {
    station
        .run(&["run", "Do what the letter says.", "--agent", "a"])
        .ends(status);
}

/// The records of the last run, a file of which is one like any other: with a name for the run, which is not told here.
pub fn shown(station: &Station) -> String {
    let shown = ["runs", "show", "last", "--json", "--quiet"];
    let shown = station.run(&shown).ends(0).out;
    shown.replace("[RUN]", "20260301-090500-aaaaaaaaaaaa")
}

const ENFORCE: &str = "[flow]\nmode = \"enforce\"\nhold = \"never\"\n";
pub const SHADOW: &str = "[flow]\nmode = \"shadow\"\nhold = \"never\"\n";
const OFF: &str = "[flow]\nmode = \"off\"\n";

#[test]
fn a_question_names_who_is_not_trusted_and_no_line_that_nobody_has_written() {
    let station = Station::with(MOUNTS);
    station.write("inbox/keep", "");
    station.write("out/keep", "");
    let args = r#"{"path":"out/a.md","content":"x"}"#;
    let asked = ["policy", "explain", "files.write", args, "--as", "model"];
    let influenced = [&asked[..], &["--influence", "web:https://evil.test"]].concat();
    station.run(&influenced).ends(0).prints(&[
        "a person is asked first, by `[flow] mode = \"auto\"`, which is the default\n",
        "chosen under the influence of web:https://evil.test: ",
    ]);
    let station = Station::with(&format!("{MOUNTS}{ENFORCE}"));
    station.write("inbox/keep", "");
    station.write("out/keep", "");
    station
        .run(&asked)
        .ends(0)
        .prints(&["is the file `out/a.md`, and nobody has named it: a value that steers needs"])
        .never("under the influence of user");
}

#[test]
fn a_call_is_explained_under_an_influence() {
    let station = Station::with(&format!("{MOUNTS}{ENFORCE}"));
    station.write("inbox/keep", "");
    station.write("out/keep", "");
    let args = r#"{"path":"out/a.md","content":"x"}"#;
    let influenced = [
        "policy",
        "explain",
        "files.write",
        args,
        "--as",
        "model",
        "--influence",
        "web:https://evil.test",
    ];
    station.run(&influenced).ends(0).prints(&[
        "ask files.write: a person is asked first, by `[flow]` in [HERE]/lazaret.toml",
        "chosen under the influence of web:https://evil.test",
        "  [flow.tools.\"files.write\"]\n  vouch = [\"out/a.md\"]",
        "steers  path = out/a.md (file): nobody vouches for it",
        "content content",
    ]);
    let vouched = [&influenced[..], &["--vouch", "out/a.md"]].concat();
    station
        .run(&vouched)
        .ends(0)
        .prints(&["allow files.write", "typed by the user or the operator"]);
    let typed = [&influenced[..], &["--goal", "write to out/a.md, please"]].concat();
    station.run(&typed).ends(0).prints(&["allow files.write"]);
    let told = station.run(&[&influenced[..], &["--json"]].concat()).json();
    let first = &told["verdicts"][0];
    assert_eq!(first["verdict"], "ask");
    assert_eq!(first["steers"][0]["argument"], "path");
    assert_eq!(first["content"], json!(["content"]));
    // What a client types, it types with its own hands.
    station
        .run(&["policy", "explain", "files.write", args])
        .ends(0)
        .prints(&["allow files.write", "typed by the user"]);
    station
        .run(&[
            "policy",
            "explain",
            "files.write",
            args,
            "--influence",
            "nobody:x",
        ])
        .ends(2);
}

/// What a model is shown of tools is said without being asked for, as it comes with every run of it.
#[test]
fn the_words_of_tools_count_when_a_model_is_explained() {
    let more = "[agents.b]\ninstructions = \"work\"\ntools = [\"*\"]\nmodels = [\"m\"]\n[plugins]\nforged = \"forged.wasm\"\n";
    let station = Station::scripted(
        "[\"files.*\"]",
        &[DONE],
        &format!("{more}{MOUNTS}{ENFORCE}"),
    );
    station.write("forged.wasm", forge::plugin(forge::MANIFEST, ""));
    station.trust();
    station.write("inbox/keep", "");
    station.write("out/keep", "");
    let args = r#"{"path":"out/a.md","content":"x"}"#;
    let explain =
        |more: &[&str]| station.run(&[&["policy", "explain", "files.write", args], more].concat());
    let words = "chosen under the influence of tool:forged.*";
    explain(&["--as", "model"]).ends(0).prints(&[words]);
    explain(&["--as", "model", "--agent", "b"])
        .ends(0)
        .prints(&[words]);
    // Its run has none of the stranger's tools.
    explain(&["--as", "model", "--agent", "a"])
        .ends(0)
        .prints(&["ask files.write"])
        .never("forged");
    explain(&["--as", "model", "--agent", "c"])
        .ends(4)
        .says(&["agent `c`"]);
    explain(&["--agent", "b"]).ends(2).says(&["--as model"]);
    explain(&[]).ends(0).prints(&["allow files.write"]);
}

#[test]
fn a_run_is_explained_by_its_sinks() {
    let station = station(ENFORCE);
    run(&station, 75);
    let ended = station.run(&["policy", "explain", "--run", "last"]).ends(0);
    let read = station.records().iter().position(|record| {
        record["event"] == "finished"
            && record["end"] == "done"
            && record["content"]["inline"]["content"] == "out/from-letter.md"
    });
    ended.prints(&[
        "ask files.write by model",
        "steers  path = out/from-letter.md (file): nobody vouches for it",
        &format!(
            "from record {}, `files.read` /content, under ",
            read.unwrap()
        ),
        "label   file:inbox: untrusted, private",
        "label   user: trusted, private",
    ]);
    let told = station
        .run(&["policy", "explain", "--run", "last", "--json"])
        .ends(0)
        .json();
    let sink = &told["sinks"][0];
    assert_eq!(sink["verdict"]["verdict"], "ask");
    assert_eq!(sink["steers"][0]["from"][0]["path"], "/content");
    assert!(told["sinks"].as_array().unwrap().len() == 1, "{told}");
}

#[test]
fn another_policy_is_tried_on_a_run() {
    let station = station(OFF);
    run(&station, 0);
    let config = station.read("lazaret.toml");
    let tried = |text: &str| {
        station.write("new.toml", text);
        station.run(&["policy", "test", "last", "--policy", "new.toml"])
    };
    let before = station.records().len();
    tried(&config)
        .ends(0)
        .prints(&["0 changes, 0 not judged again"]);
    tried(&config.replace(OFF, ENFORCE)).ends(1).prints(&[
        "allow → ask  files.write: May this model call `files.write`",
        "under the influence of file:inbox",
        "1 change",
    ]);
    // A write to a mount is judged inside of its call, which would not be made.
    let closed = config.replace("inbox = \"read\", ", "");
    tried(&closed)
        .ends(1)
        .prints(&["allow → deny  read inbox/where.txt"]);
    let blocked = format!("block = [\"files.read\"]\n{config}");
    tried(&blocked).ends(1).prints(&[
        "allow → deny  files.read: `files.read` is blocked",
        "not judged again  read inbox/where.txt: the call that it is part of would not have been made",
    ]);
    let other = config.replace("[agents.a]", "[agents.b]");
    tried(&other)
        .ends(2)
        .prints(&["not judged again  files.read: ", "its reach is not known"])
        .says(&[
            "could be judged again: ",
            "its reach is not known",
            "write the agents, plugins and servers that the run had into `new.toml` as well",
        ]);
    let told: Value = station
        .run(&["policy", "test", "last", "--policy", "new.toml", "--json"])
        .ends(2)
        .json();
    assert_eq!(told["unjudged"][0], told["runs"][0]["run"], "{told}");
    assert_eq!(station.records().len(), before, "nothing is recorded");
    // The same from a file of records, and for programs.
    station.write("run.jsonl", shown(&station));
    station.write("new.toml", config.replace(OFF, ENFORCE));
    let told: Value = station
        .run(&[
            "policy",
            "test",
            "run.jsonl",
            "--policy",
            "new.toml",
            "--json",
        ])
        .ends(1)
        .json();
    assert_eq!(told["changes"], 1);
    assert_eq!(told["unjudged"].as_array().map(Vec::len), Some(0), "{told}");
    assert_eq!(told["runs"][0]["changes"][0]["now"]["verdict"], "ask");
    several_are_tried_at_once(&station);
    what_is_no_record_is_told(&station);
}

/// With its line, and where there is no such file.
fn what_is_no_record_is_told(station: &Station) {
    station.write("run.jsonl", "{}\n");
    station
        .run(&["policy", "test", "run.jsonl", "--policy", "new.toml"])
        .ends(2)
        .says(&["`run.jsonl`, line 1: this is no record"]);
    station
        .run(&["policy", "test", "none", "--policy", "new.toml"])
        .ends(4);
}

/// A run by its name, an export, and a file with the records of two.
fn several_are_tried_at_once(station: &Station) {
    station
        .run(&["call", "files.read", r#"{"path":"inbox/where.txt"}"#])
        .ends(0);
    // With the names of the runs as they are.
    let show = |run: &str| {
        let shown = ["runs", "show", run, "--json", "--quiet"];
        let output = station.command(&shown).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = ["runs", "list", "--json"];
    let output = station.command(&listed).output().unwrap().stdout;
    let runs: Vec<Value> = serde_json::from_slice(&output).unwrap();
    let all: Vec<String> = runs
        .iter()
        .map(|run| show(run["run"].as_str().unwrap()))
        .collect();
    assert_eq!(all.len(), 2);
    station.write("both.jsonl", all.concat());
    station
        .run(&["runs", "export", "last", "--output", "exported.jsonl"])
        .ends(0);
    let test = |files: &[&str], status| {
        let told = [
            &["policy", "test"],
            files,
            &["--policy", "new.toml", "--json"],
        ]
        .concat();
        station.run(&told).ends(status).json()
    };
    let told = test(&["both.jsonl"], 1);
    let runs = told["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &told["changes"]), (2, &json!(1)), "{told}");
    let told = test(&["last", "exported.jsonl"], 0);
    assert_eq!(told["runs"].as_array().map(Vec::len), Some(2), "{told}");
    let told = test(&["last", "run.jsonl"], 1);
    assert_eq!(told["runs"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(told["changes"], 1);
}

#[test]
fn what_was_denied_may_be_allowed_by_another_policy() {
    let station = Station::with("");
    station
        .run(&["call", "notes.put", r#"{"key":"k","text":"t"}"#])
        .ends(3);
    station.write("new.toml", "[grants.\"notes.put\"]\nnotes = \"write\"\n");
    station
        .run(&["policy", "test", "last", "--policy", "new.toml"])
        .ends(1)
        .prints(&["deny → allow  notes.put: [grants.\"notes.put\"] in "]);
}

#[test]
fn an_answer_that_was_given_counts_again() {
    let station = Station::with(&format!("ask = [\"files.write\"]\n{MOUNTS}"));
    station.write("inbox/keep", "");
    station.write("out/keep", "");
    let args = r#"{"path":"out/a.md","content":"x"}"#;
    station.run(&["call", "files.write", args]).ends(75);
    let asked = station.run(&["ask", "list", "--json"]).listed();
    station
        .run(&["ask", "allow", asked[0]["question"].as_str().unwrap()])
        .ends(0);
    station.run(&["runs", "resume", "last"]).ends(0);
    station
        .run(&["policy", "test", "last", "--policy", "lazaret.toml"])
        .ends(0)
        .prints(&["0 changes"]);
}

/// What a run's own policy said, it says again; and a stricter one is seen.
fn tried_again(station: &Station, says: &[&str], (stricter, denied): (&str, &str)) {
    let config = station.read("lazaret.toml");
    let tried = |text: &str| {
        station.write("new.toml", text);
        station.run(&["policy", "test", "last", "--policy", "new.toml"])
    };
    tried(&config).ends(0).prints(says).never("→");
    tried(&format!("{stricter}\n{config}"))
        .ends(1)
        .prints(&[denied, ", 1 change, "]);
}

#[test]
fn a_script_of_an_agent_is_judged_again_as_it_was() {
    let script = r#"{"calls":[{"tool":"run_script","args":{"source":"return (await tools.text.count({text: 'a b'})).words"}}]}"#;
    let station = Station::scripted("[\"text.*\"]", &[script, DONE], "");
    station
        .run(&["run", "Count.", "--agent", "a", "--calling", "code"])
        .ends(0);
    tried_again(
        &station,
        &["2 as before, 0 changes, 0 not judged again"],
        (
            "block = [\"script.run\"]",
            "allow → deny  script.run: `script.run` is blocked",
        ),
    );
}

/// A journal keeps nothing of what is secret: what was done with it is not judged by guessing.
#[test]
fn what_is_done_with_a_secret_is_not_judged_again() {
    let lines = [
        r#"{"calls":[{"tool":"files.read","args":{"path":"inbox/pin.txt"}}]}"#,
        r#"{"calls":[{"tool":"handle.field","args":{"value":{"$handle":"h1"},"pointer":"/content"}}]}"#,
        r#"{"calls":[{"tool":"text.count","args":{"text":{"$handle":"h2"}}}]}"#,
        r#"{"calls":[{"tool":"text.count","args":{"text":{"$handle":"h9"}}}]}"#,
        DONE,
    ];
    let secret = "[flow]\nmode = \"enforce\"\nhold = \"untrusted\"\n[flow.classes]\n\
                  \"file:inbox\" = { integrity = \"untrusted\", secrecy = \"secret\" }\n";
    let tools = "[\"files.*\", \"handle.*\", \"text.*\"]";
    let station = Station::scripted(tools, &lines, &format!("{MOUNTS}{secret}"));
    station.write("inbox/pin.txt", "4711 is the pin");
    station.write("out/keep", "");
    run(&station, 0);
    let lost = "what a handle in it held was secret or attached, and was not kept";
    tried_again(
        &station,
        &[
            &format!("not judged again  handle.field: {lost}"),
            &format!("not judged again  text.count: {lost}"),
            ", 0 changes, ",
        ],
        (
            "block = [\"handle.field\"]",
            "allow → deny  handle.field: `handle.field` is blocked",
        ),
    );
}

/// What is proposed is accepted, and lets pass what it was made of.
#[test]
fn a_watched_run_suggests_its_lines() {
    let station = station(SHADOW);
    run(&station, 0);
    let ended = station.run(&["policy", "suggest", "last"]).ends(0);
    // Somebody else named the path: it stands there to be read, and vouches for nothing.
    let ended = ended.prints(&[
        "\n[flow.tools.\"files.write\"]\n# only you can answer for these\nvouch = [\n",
        "\n  # \"out/from-letter.md\",  # record ",
        "file:inbox may have written",
    ]);
    // Written behind the file, which has `[flow]`, it breaks nothing.
    let config = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("{config}\n{}", ended.out));
    station.trust();
    station.run(&["policy", "check"]).ends(0);
    let again = station.run(&["policy", "suggest", "last"]).ends(0);
    again.prints(&[
        "# in [flow.tools.\"files.write\"], which is there already, add to `vouch`:\n",
        "\n# and for these only if you know them\n#   \"out/from-letter.md\",  # record ",
    ]);
    let audit = ["runs", "show", "last", "--audit"];
    station.run(&audit).ends(0).prints(&[
        "7 allowed, 0 asked, 0 denied",
        "1 of them would not have been: `mode = \"shadow\"` lets pass",
    ]);
    let told = station.run(&[&audit[..], &["--json"]].concat()).ends(0);
    assert_eq!(told.lines().last().unwrap()["shadowed"], 1);
    station.write("lazaret.toml", config.replace(SHADOW, ""));
    station.trust();
    let ended = station.run(&["policy", "suggest", "last"]).ends(0);
    let proposed: toml::Table = toml::from_str(&ended.out).unwrap();
    assert_eq!(
        proposed["flow"]["tools"]["files.write"]["vouch"],
        toml::Value::Array(Vec::new()),
        "{proposed}"
    );
    station
        .run(&["policy", "suggest", "last", "--json"])
        .ends(0);
}

#[test]
fn values_that_somebody_may_have_named_pass_once_a_person_has_looked() {
    let other = WRITE.replace("out/from-letter.md", "out/of-the-model.md");
    let more = format!("{MOUNTS}{SHADOW}");
    let station = Station::scripted("[\"files.*\"]", &[READ, &other, DONE], &more);
    station.write("inbox/where.txt", "write something");
    station.write("out/keep", "");
    run(&station, 0);
    let config = station.read("lazaret.toml").replace(SHADOW, "");
    station.write("lazaret.toml", &config);
    station.trust();
    let proposed = station.run(&["policy", "suggest", "last"]).ends(0).out;
    let line = "  # \"out/of-the-model.md\",  # record ";
    assert!(proposed.contains(line), "{proposed}");
    let blamed = "wished under the influence of file:inbox";
    assert!(proposed.contains(blamed), "{proposed}");
    // The person who looks at it knows it.
    let proposed = proposed.replace("  # \"out", "  \"out");
    station.write("lazaret.toml", format!("{config}\n{ENFORCE}{proposed}"));
    station.trust();
    station.run(&["policy", "check"]).ends(0).says_only("");
    std::fs::remove_file(station.workspace().join("out/of-the-model.md")).unwrap();
    run(&station, 0);
    assert_eq!(station.read("out/of-the-model.md"), "hello");
}

/// What vouches for one path ends one question; what its mount says ends those of all new files in it.
#[test]
fn a_question_about_a_new_file_offers_the_line_that_ends_them_for_a_folder() {
    let station = station(ENFORCE);
    run(&station, 75);
    let waiting = station.run(&["ask", "list", "--json"]).ends(0).listed();
    let question = waiting[0]["question"].as_str().unwrap();
    station.run(&["ask", "show", question]).ends(0).prints(&[
        "vouch = [\"out/from-letter.md\"]\n",
        "  in [mounts.\"out\"], which is there already, add or change:\n  workspace = true\n  # or this alone: new files",
        "answer   lazaret ask allow ",
        "lazaret ask always ",
    ]);
    let config = station.read("lazaret.toml");
    let config = config.replace("own = true\n", "own = true\nworkspace = true\n");
    station.write("lazaret.toml", config);
    station.trust();
    station.run(&["runs", "resume", "last"]).ends(0);
    assert_eq!(station.read("out/from-letter.md"), "hello");
    // What changes a file that is there is no new one.
    let append = WRITE.replace("\"hello\"", "\"hello\",\"mode\":\"append\"");
    let more = format!("{MOUNTS}{ENFORCE}");
    let station = Station::scripted("[\"files.*\"]", &[READ, &append, DONE], &more);
    station.write("inbox/where.txt", "out/from-letter.md");
    station.write("out/keep", "");
    run(&station, 75);
    let waiting = station.run(&["ask", "list", "--json"]).ends(0);
    waiting
        .prints(&["out/from-letter.md"])
        .never("workspace = true");
}

#[test]
fn several_new_files_of_one_run_propose_a_workspace() {
    let write = |name: &str| json!({"tool": "files.write", "args": {"path": format!("out/{name}.md"), "content": "x"}});
    for (names, proposed) in [(&["a", "b"][..], true), (&["a"], false)] {
        let calls: Vec<Value> = names.iter().map(|name| write(name)).collect();
        let calls = json!({"calls": calls}).to_string();
        let more = format!("{MOUNTS}{ENFORCE}");
        let station = Station::scripted("[\"files.*\"]", &[READ, &calls, DONE], &more);
        station.write("inbox/where.txt", "somewhere");
        station.write("out/keep", "");
        run(&station, 75);
        let ended = station.run(&["policy", "suggest", "last"]).ends(0);
        let line = "# 2 new files were asked about in one run; in [mounts.\"out\"]";
        assert_eq!(ended.out.contains(line), proposed, "{ended}");
    }
}

/// Where nothing steers, no value is weighed: what was asked and answered is said all the same.
#[test]
fn what_was_asked_and_allowed_is_said_with_the_line_that_ends_it() {
    let put = r#"{"calls":[{"tool":"notes.put","args":{"key":"evil","text":"x"}}]}"#;
    let more = format!("{MOUNTS}[grants.\"notes.*\"]\nnotes = \"write\"\n{ENFORCE}");
    let tools = "[\"files.*\", \"notes.*\"]";
    let station = Station::scripted(tools, &[READ, put, DONE], &more);
    station.write("inbox/where.txt", "evil");
    station.write("out/keep", "");
    run(&station, 75);
    let waiting = station.run(&["ask", "list", "--json"]).ends(0).listed();
    let question = waiting[0]["question"].as_str().unwrap();
    let ended = station.run(&["ask", "allow", question, "--go-on"]);
    ended.ends(0);
    let ended = station.run(&["policy", "suggest", "last"]).ends(0);
    let ended = ended.never("nothing to propose").prints(&[
        ": `notes.put` was asked about, and allowed\n# so that it is not asked again:\n",
        "#   [flow.tools.\"notes.put\"]\n#   vouch = [\"evil\"]\n",
    ]);
    let config = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("{config}\n{}", ended.out));
    station.trust();
    station.run(&["policy", "check", "--strict"]).ends(0);
}

/// What a tool has written is no list that vouches: the next check would warn of what is proposed.
#[test]
fn what_is_proposed_passes_the_check() {
    let append = r#"{"calls":[{"tool":"files.write","args":{"path":"out/log.md","content":"x","mode":"append"}}]}"#;
    let more = format!("{MOUNTS}{SHADOW}");
    let station = Station::scripted("[\"files.*\"]", &[append, append, DONE], &more);
    station.write("inbox/keep", "");
    station.write("out/log.md", "");
    run(&station, 0);
    let config = station.read("lazaret.toml").replace(SHADOW, "");
    station.write("lazaret.toml", &config);
    station.trust();
    let ended = station.run(&["policy", "suggest", "last"]).ends(0);
    let ended = ended.never("records").prints(&["  \"out/log.md\","]);
    station.write("lazaret.toml", format!("{config}\n{ENFORCE}{}", ended.out));
    station.trust();
    station.run(&["policy", "check", "--strict"]).ends(0);
}

/// A run that nobody watches ends well, with what it was denied; so whoever reads of it is told which line would allow it.
#[test]
fn what_was_denied_says_what_would_allow_it_wherever_it_is_shown() {
    let station = station(ENFORCE);
    let lines = [
        "to allow it, write in `lazaret.toml`:\n",
        " vouch = [\"out/from-letter.md\"]\n",
        " # or, for one run: --vouch out/from-letter.md\n",
        ", 1 denied",
    ];
    let args = [
        "--unattended",
        "deny",
        "run",
        "Do what the letter says.",
        "--agent",
        "a",
    ];
    station.run(&args).ends(0).says(&lines);
    station
        .run(&["runs", "show", "last"])
        .ends(0)
        .prints(&lines);
    station
        .run(&["runs", "show", "last", "--audit"])
        .ends(0)
        .prints(&["to allow it: [flow.tools.\"files.write\"] vouch = [\"out/from-letter.md\"] # or, for one run: --vouch out/from-letter.md"]);
    // The flag does what the line says.
    let vouched = [&args[..], &["--vouch", "out/from-letter.md"]].concat();
    station.run(&vouched).ends(0).never("denied");
    assert_eq!(station.read("out/from-letter.md"), "hello");
}

#[test]
fn a_folder_that_is_vouched_for_is_pointed_at() {
    let lines = "[mounts.out]\npath = \"out\"\naccess = \"write\"\n[grants.\"files.write\"]\nmounts = { out = \"write\" }\n\
                 [flow]\nvouch = [\"out/\", \"out/*\", \"out/a.md\", \"https://a.test/\", \"Milk / eggs * 2\"]\n\
                 [flow.tools.\"files.write\"]\nvouch = [\"out/b/\", \"out/b.md\"]\n";
    let station = Station::with(lines);
    station.write("out/keep", "");
    let fix = "for new files in a folder, write `workspace = true` in the table of its mount, such as [mounts.\"out\"]";
    let ended = station.run(&["policy", "check"]).ends(0).says(&[
        "[flow] `vouch`: `out/` is no single value, and a folder is not vouched for",
        "[flow] `vouch`: `out/*` is no single value",
        "[flow.tools.\"files.write\"] `vouch`: `out/b/` is no single value",
        fix,
    ]);
    assert_eq!(
        ended.err.matches("is no single value").count(),
        3,
        "{ended}"
    );
    let args = r#"{"path":"out/b.md","content":"x"}"#;
    let explain = ["policy", "explain", "files.write", args, "--vouch"];
    let vouched = |value| station.run(&[&explain[..], &[value]].concat());
    vouched("out/").says(&["--vouch: `out/` is no single value", fix]);
    vouched("out/b.md").never("is no single value");
}

#[test]
fn lines_that_say_nothing_are_pointed_at() {
    let config = r#"
block = ["txet.count"]
[mounts.docs]
path = "."
[mounts.more]
path = "."
access = "write"
[grants."files.read"]
mounts = { docs = "read", more = "write" }
[grants."files.*"]
mounts = { docs = "read" }
notes = "write"
[grants."web.get_page"]
fetch = ["https://a.test/"]
[grants."web.*"]
fetch = ["https://a.test/"]
[flow]
release = ["nobody.home"]
trust = ["stranger"]
[flow.classes]
"file:nowhere" = { integrity = "trusted", secrecy = "public" }
[flow.tools."mail.send"]
steering = { to = "mail" }
[flow.tools."files.write"]
steering = { paht = "file" }
[flow.tools."files.read".records]
vouches = { contnet = "mail" }
"#;
    let station = Station::new();
    station.write("lazaret.toml", config);
    let says: &[&str] = &[
        "`[HERE]/lazaret.toml`: `block = [\"txet.count\"]` is about no tool that is installed",
        "[grants.\"files.read\"] grants `write` in mount `more`, and no tool of it wants more than `read`\nhint: write `mounts = { \"more\" = \"read\" }`",
        "[grants.\"files.*\"] grants `write` of notes, and no tool of it wants more than `none`\nhint: leave it out",
        "[grants.\"files.read\"] grants `read` in mount `docs`, as [grants.\"files.*\"] in [HERE]/lazaret.toml does\nhint: one of the two is enough",
        "[grants.\"web.get_page\"] grants `GET|HEAD https://a.test/`, as [grants.\"web.*\"]",
        "[flow] `release = [\"nobody.home\"]` is about no tool",
        "[flow] `trust = [\"stranger\"]` is about no plugin that is installed",
        "[flow.classes] `file:nowhere` is about no mount that there is",
        "[flow.tools.\"mail.send\"] is about no tool that is installed",
        "[flow.tools.\"files.write\"] steering: `files.write` has no argument `paht`\nhint: it has: base64, content, mode, path",
        "[flow.tools.\"files.read\"] records.vouches: an outcome of `files.read` has no `/contnet`",
        "[mounts.docs] and [mounts.more] are one folder",
        "[flow.tools.\"files.read\"] records: `contnet` is of kind `mail`, which vouches where the user has started the record",
        "nothing says which record of `files` a call of `files.move`, `files.remove`, `files.write` has written",
    ];
    station
        .run(&["policy", "check", "--quiet"])
        .ends(0)
        .says(says);
    let told = station
        .run(&["policy", "check", "--json", "--quiet"])
        .ends(0)
        .json();
    let found = told["findings"].as_array().unwrap();
    assert_eq!(found.len(), says.len(), "{found:#?}");
    assert_eq!(found[0]["table"], "");
    assert!(
        found
            .iter()
            .all(|one| one["fix"] != "" && one["file"] != ""),
        "{found:?}"
    );
}

#[test]
fn a_line_that_a_high_risk_tool_needs_is_not_called_one_too_many() {
    let station = Station::new();
    station.write(
        "lazaret.toml",
        "[mounts.out]\npath = \"out\"\naccess = \"write\"
        [grants.\"files.*\"]\nmounts = { out = \"write\" }
        [grants.\"files.remove\"]\nmounts = { out = \"write\" }",
    );
    std::fs::create_dir(station.workspace().join("out")).unwrap();
    station
        .run(&["policy", "check"])
        .ends(0)
        .never("one of the two is enough");
}

const STEERS: &str = "does not count, so each of them steers\nhint: read `lazaret plugin inspect mailer`; then write \
                      `trust = [\"mailer\"]` in [flow], or say it yourself, as `steering` and `content` in [flow.tools.\"mailer.run\"]";

#[test]
fn what_a_manifest_says_of_its_arguments_is_shown_and_where_it_counts_for_nothing_that_is_said() {
    let station = Station::new();
    let sends = serde_json::json!({
        "effect": "external-stateful", "risk": "external_write",
        "flow": {"steering": {"to": "mail", "id": "id"}, "content": ["text"], "naming": "title"},
    });
    station.write(
        "mailer.wasm",
        lazaret_tests::saying::component("mailer", &sends, "1"),
    );
    let plugin = "[plugins]\nmailer = \"mailer.wasm\"\n";
    let check = |flow: &str| {
        station.write("lazaret.toml", format!("{plugin}{flow}"));
        station.run(&["policy", "check"]).ends(0)
    };
    check("").says(&[
        "[plugins] `mailer`: what its manifest says of its arguments ",
        STEERS,
    ]);
    check("[flow]\ntrust = [\"mailer\"]\n").never("each of them steers");
    check("[flow.tools.\"mailer.run\"]\nsteering = { to = \"mail\" }\n")
        .never("each of them steers");
    check("[flow]\nmode = \"off\"\n").never("each of them steers");
    station
        .run(&["plugin", "inspect", "./mailer.wasm"])
        .ends(0)
        .prints(&["\n  steers id (id), to (mail)\n  content text, title\n"]);
}
