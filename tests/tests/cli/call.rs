//! `lazaret call`: where arguments come from, and what is said when they are wrong.

use std::path::Path;

use serde_json::json;

use crate::server::{Answer, Server, plain};
use crate::station::{Ended, Station, hostile};

fn call(args: &str) -> Ended {
    Station::new().run(&["call", "text.count", args])
}

fn missing(args: &str) -> Ended {
    call(args)
        .ends(2)
        .says(&["error: Invalid action input: the arguments are not JSON: "])
}

#[test]
fn arguments_are_given_in_place() {
    call(r#"{"text":"a b"}"#)
        .ends(0)
        .prints(&["\"words\": 2"])
        .says_only("");
}

/// A handle is a run's own, and what a person calls is a run of its own that holds nothing.
#[test]
fn a_call_holds_no_handle() {
    let station = Station::new();
    let held = r#"{"value":{"$handle":"h1"},"pointer":"/a"}"#;
    for tool in ["handle.read", "handle.field"] {
        station
            .run(&["call", tool, held])
            .ends(4)
            .says(&["there is no handle `h1` in this run, which holds nothing"]);
    }
    // Anywhere else it is a value like another.
    station
        .run(&["call", "text.count", r#"{"text":{"$handle":"h1"}}"#])
        .ends(2)
        .says(&["/text: expected a string"]);
}

#[test]
fn arguments_are_read_from_a_file() {
    let station = Station::new();
    station.write("args.json", r#"{"text":"from a file"}"#);
    let ended = station.run(&["call", "text.count", "@args.json"]);
    ended.ends(0).prints(&["\"words\": 3"]);
}

#[test]
fn arguments_are_read_from_standard_input() {
    let input = br#"{"text":"one two three four"}"#;
    let ended = Station::new().run_with_input(&["call", "text.count", "-"], input);
    ended.ends(0).prints(&["\"words\": 4"]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    call("@none.json")
        .ends(4)
        .says_only("error: the file `none.json` cannot be read: there is no such file or folder");
}

#[test]
fn a_folder_is_no_arguments() {
    call("@.")
        .ends(2)
        .says_only("error: the file `.` is no regular file");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let station = Station::new();
    station.write("args.json", b"{\"text\":\"\xff\"}");
    station
        .run(&["call", "text.count", "@args.json"])
        .ends(2)
        .says_only("error: `args.json` is no UTF-8 text");
    station
        .run_with_input(&["call", "text.count", "-"], b"\xff")
        .ends(2)
        .says_only("error: standard input is no UTF-8 text");
}

#[test]
fn arguments_that_are_too_big_are_refused() {
    let station = Station::new();
    let args = format!(r#"{{"text":"{}"}}"#, "a".repeat(70_000));
    station.write("args.json", &args);
    let limit = "has more than 65536 bytes, the most that arguments may have";
    station
        .run(&["call", "text.count", "@args.json"])
        .ends(2)
        .says_only(&format!("error: `args.json` {limit}"));
    station
        .run_with_input(&["call", "text.count", "-"], args.as_bytes())
        .ends(2)
        .says_only(&format!("error: standard input {limit}"));
}

#[test]
fn an_endless_input_is_not_read_to_its_end() {
    let station = Station::new();
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let mut command = station.command(&["call", "text.count", "-"]);
    station
        .finish(command.stdin(zero))
        .ends(2)
        .says(&["error: standard input has more than 65536 bytes"]);
}

#[test]
fn what_is_no_json_is_shown_how_to_quote() {
    missing("{nope").says(&[
        "line 1 column 2",
        "hint: write them in single quotes: lazaret call text.count '{\"text\":\"a b\"}'",
    ]);
    missing("");
    missing(r#"{"text":"a"} x"#);
    missing(r#"{"text":"a","text":"b"}"#).says(&["text"]);
    missing(&format!("{}{}", "[".repeat(100), "]".repeat(100)));
}

#[test]
fn arguments_that_miss_the_schema_are_told_place_by_place() {
    call(r#"{"txt":"a"}"#).ends(2).says(&[
        "error: Invalid action input.",
        "\n  /: there is no `txt` here; did you mean `text`?",
        "\n  /: `text` is missing, a string",
        "\nrecord: lazaret runs show [RUN]",
    ]);
    call(r#"{"text":3}"#)
        .ends(2)
        .says(&["\n  /text: expected a string, and this is a number"]);
    call(r#""x""#)
        .ends(2)
        .says(&["\n  /: expected an object, and this is a string"]);
}

#[test]
fn a_value_that_misses_the_schema_is_not_repeated() {
    call(r#"{"text":{"password":"canary-5521"}}"#)
        .ends(2)
        .never("canary-5521");
}

#[test]
fn a_word_of_several_is_told_with_the_others() {
    let args = r#"{"path":"a.md","content":"x","mode":"creat"}"#;
    Station::new()
        .run(&["call", "files.write", args])
        .ends(2)
        .says(&[r#"/mode: expected one of "create", "replace", "append"; did you mean "create"?"#]);
}

#[test]
fn what_is_left_out_of_a_listing_or_a_search_is_said() {
    use std::os::unix::ffi::OsStrExt;
    let station = Station::new();
    station.write("a.txt", "tea");
    let odd = std::ffi::OsStr::from_bytes(b"b\xff.txt");
    std::fs::write(station.workspace().join(odd), "tea").unwrap();
    let listed = station.run(&["call", "files.list", "{}", "--json"]).json();
    assert_eq!(listed["data"]["total"], 2, "{listed}");
    let search = |args: &str| station.run(&["call", "files.search", args, "--json"]);
    let found = search(r#"{"pattern":"tea"}"#).json();
    let passed_over = json!([{"path": "b\u{fffd}.txt", "reason": "it cannot be read"}]);
    assert_eq!(found["data"]["passed_over"], passed_over, "{found}");
    let whole = search(r#"{"pattern":"tea","glob":"a.*"}"#).json();
    assert_eq!(whole["data"]["skipped"], 0, "{whole}");
    assert_eq!(whole["data"].get("passed_over"), None, "{whole}");
    for (tool, args) in [
        ("files.list", r#"{"path":"a.txt"}"#),
        ("files.search", r#"{"path":"a.txt","pattern":"tea"}"#),
    ] {
        station
            .run(&["call", tool, args])
            .says(&["`a.txt` is a file, and `path` is a folder: `files.read` reads a file"]);
    }
}

/// What fits a tool's schema and is of no use to it still is wrong input.
#[test]
fn arguments_that_a_tool_cannot_use_end_as_those_that_do_not_fit() {
    let station = Station::new();
    let no_pattern = "error: the pattern is no regular expression that can be used";
    for (tool, args, says) in [
        ("files.search", r#"{"pattern":"("}"#, no_pattern),
        ("text.search", r#"{"text":"a","pattern":"("}"#, no_pattern),
        (
            "files.read",
            r#"{"path":"a","lines":1,"offset":1}"#,
            "error: ask for lines or for bytes, not for both",
        ),
        (
            "text.query",
            r#"{"json":{},"path":"a"}"#,
            "error: `a` is no path",
        ),
    ] {
        station.run(&["call", tool, args]).ends(2).says(&[says]);
    }
}

#[test]
fn an_unknown_tool_is_answered_with_near_names() {
    let station = Station::new();
    station.run(&["call", "text.cuont"]).ends(4).says(&[
        "error: there is no tool `text.cuont`",
        "\nhint: did you mean `text.count`",
    ]);
    station
        .run(&["call", "zzzzzzzz"])
        .ends(4)
        .says(&["hint: `lazaret tools` lists them"]);
    station.run(&["call", ""]).ends(4);
    station
        .run(&["call", "text.count\u{1b}[31m"])
        .ends(4)
        .never("\u{1b}");
}

#[test]
fn every_call_leaves_a_record() {
    let station = Station::new();
    for (args, code) in [
        (["text.cuont", "{}"], "unknown_tool"),
        (["text.count", "{}"], "bad_args"),
        (["files.read", r#"{"path":"../x"}"#], "denied"),
        (["text.count", r#"{"text":"a"}"#], ""),
    ] {
        station.run(&["call", args[0], args[1]]);
        let records = station.records();
        let last = records.last().unwrap();
        assert_eq!(last["event"], "stopped", "{args:?}");
        assert_eq!(last["code"].as_str().unwrap_or_default(), code, "{args:?}");
    }
}

#[test]
fn quiet_says_nothing_but_the_outcome() {
    Station::new()
        .run(&["call", "text.count", "{}", "--quiet"])
        .ends(2)
        .never("record:");
}

/// A tool that sleeps, called with these flags under this policy.
fn sleeps(policy: &str, flags: &[&str]) -> Ended {
    let station = Station::with(&format!("{policy}[plugins]\nhostile = {:?}\n", hostile()));
    let mut arguments = vec!["call", "hostile.sleep"];
    arguments.extend(flags);
    station.run(&arguments)
}

/// Within which time it says that it did not end.
fn time_ms(ended: &Ended) -> u64 {
    let (_, rest) = ended.err.split_once("did not end within its ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_call_has_the_time_that_its_caller_gives_it_and_that_policy_does() {
    let shorter = "[limits]\ntimeout_ms = 50\n";
    for (policy, ms) in [("", "50"), (shorter, "60000")] {
        let ended = sleeps(policy, &["--timeout-ms", ms]).ends(124);
        assert_eq!(time_ms(&ended), 50, "{ended}");
    }
    for beyond in ["0", "600001", "soon"] {
        sleeps("", &["--timeout-ms", beyond]).ends(2);
    }
}

/// Asks for a page of a server that is busy at first; returns how often it was asked.
fn busy_once(flags: &[&str]) -> (Ended, usize) {
    let busy = Answer::Bytes(plain(503, "text/plain", "later"));
    let page = Answer::Bytes(plain(200, "text/plain", "a page"));
    let server = Server::start(vec![busy, page]);
    let station = Station::with(&format!(
        "[grants.\"web.get_page\"]\nfetch = [{{ url = \"{}/\", private = true }}]\n",
        server.url()
    ));
    let args = json!({"url": format!("{}/page", server.url())}).to_string();
    let mut arguments = vec!["call", "web.get_page", args.as_str()];
    arguments.extend(flags);
    let ended = station.run(&arguments);
    (ended, server.requests().len())
}

#[test]
fn a_call_is_made_again_as_often_as_its_caller_says() {
    let (ended, asked) = busy_once(&["--retries", "1"]);
    ended.ends(0).prints(&["a page"]);
    assert_eq!(asked, 2);
    let (ended, asked) = busy_once(&["--retries", "0"]);
    ended.ends(5).says(&["answered with status 503"]);
    assert_eq!(asked, 1);
}

#[test]
fn what_a_tool_takes_is_printed_and_nothing_is_called() {
    let station = Station::new();
    let schema = station
        .run(&["call", "text.count", "--schema"])
        .ends(0)
        .json();
    assert_eq!(schema["properties"]["text"]["type"], "string", "{schema}");
    station
        .run(&["call", "text.cuont", "--schema"])
        .ends(4)
        .says(&["did you mean `text.count`"]);
    station
        .run(&["call", "text.count", "--schema", "--confirm"])
        .ends(2);
    station.run(&["runs", "list"]).ends(0).never("text.");
}

#[test]
fn events_come_one_a_line_and_the_envelope_is_the_last() {
    let station = Station::new();
    let ended = station
        .run(&["call", "text.count", r#"{"text":"a b"}"#, "--ndjson"])
        .ends(0);
    let lines = ended.says_only("").lines();
    let (envelope, events) = lines.split_last().expect("lines");
    assert_eq!(envelope["data"]["words"], 2, "{envelope}");
    let words: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert_eq!(words.len(), events.len());
    assert_eq!(
        (words.first(), words.last()),
        (Some(&"started"), Some(&"stopped")),
        "{words:?}"
    );
    let failed = station
        .run(&["call", "text.count", "{}", "--ndjson"])
        .ends(2)
        .lines();
    let (envelope, events) = failed.split_last().expect("lines");
    assert_eq!(envelope["error"]["code"], "VALIDATION_ERROR", "{envelope}");
    assert_eq!(
        events.last().map(|event| &event["event"]),
        Some(&json!("stopped"))
    );
}

/// Row A-24a: what a tool logs, how far it is, and what files it has, at once and with the call that it belongs to.
#[test]
fn what_a_tool_says_on_the_way_is_streamed() {
    let station = Station::new();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests/conformance.wasm");
    station.write(
        "lazaret.toml",
        format!("[plugins]\nconformance = {suite:?}\n"),
    );
    station.trust();
    let ended = station
        .run(&["call", "conformance.everything", "{}", "--ndjson"])
        .ends(0);
    let lines = ended.says_only("").lines();
    let judged = lines.iter().find(|line| line["event"] == "judged");
    let of = &judged.expect("a judgement")["seq"];
    let all = |event: &'static str| lines.iter().filter(move |line| line["event"] == event);
    for said in all("said") {
        assert_eq!(&said["of"], of, "{said}");
        assert_eq!(said["tool"], "conformance.everything");
        assert_eq!(
            said["label"],
            json!(["user", "tool:conformance.everything"])
        );
        assert_eq!(
            (&said["message"], &said["fields"]),
            (&json!("a line"), &json!({"rows": 3}))
        );
    }
    let levels: Vec<_> = all("said").map(|said| said["level"].clone()).collect();
    assert_eq!(levels, ["debug", "info", "warn", "error"]);
    let far: Vec<_> = all("progress").map(|far| far["percent"].clone()).collect();
    // A line that says so is progress as well.
    let said = [json!(50.0), json!(null), json!(75.0), json!(100.0)];
    assert_eq!(far[far.len() - 4..], said);
    let files: Vec<_> = all("artifact").map(|file| file["id"].clone()).collect();
    assert_eq!(files, ["artifact-1", "artifact-2", "artifact-3"]);
    let last = all("artifact").next_back().expect("a file");
    assert_eq!(
        (&last["name"], &last["bytes"]),
        (&json!("rows.bin"), &json!(2))
    );
}

/// A key is kept in the journal, so that another process knows it as well.
#[test]
fn what_was_made_under_a_key_happens_no_second_time() {
    let station = Station::with(
        "[mounts.out]\npath = \"out\"\naccess = \"write\"\n[grants.\"files.*\"]\nmounts = { out = \"write\" }\n",
    );
    station.write("out/other.md", "");
    let append = |line: &str, key: &str| {
        let args = json!({"path": "out/log.md", "content": format!("{line}\n"), "mode": "append"});
        let call = [
            "call",
            "files.write",
            &args.to_string(),
            "--idempotency-key",
            key,
            "--json",
        ];
        station.run(&call).ends(0).json()
    };
    let first = append("paid", "pay-1");
    let again = append("paid", "pay-1");
    assert_eq!(station.read("out/log.md"), "paid\n");
    assert_eq!(first["data"], again["data"]);
    assert_eq!(first["meta"]["usage"]["repeated"], json!(null));
    assert_eq!(again["meta"]["usage"]["repeated"], true);
    // A repeat of a repeat is one of the first.
    append("paid", "pay-1");
    // Another key, other arguments, another surface: another call (A-18b).
    append("paid", "pay-2");
    append("paid more", "pay-1");
    assert_eq!(station.read("out/log.md"), "paid\npaid\npaid more\n");
    // Whoever has the journal cannot make up what came of it.
    let journal = station.workspace().join(".lazaret/journal.db");
    let database = rusqlite::Connection::open(&journal).unwrap();
    let forged = "UPDATE records SET event = replace(event, 'paid more', 'paid less')";
    assert!(database.execute(forged, []).unwrap() > 0);
    drop(database);
    let args =
        json!({"path": "out/log.md", "content": "paid more\n", "mode": "append"}).to_string();
    station
        .run(&["call", "files.write", &args, "--idempotency-key", "pay-1"])
        .never("repeated");
    assert_eq!(station.read("out/log.md"), "paid\npaid\npaid more\n");
}
