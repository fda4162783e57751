//! Files of records, as `lazaret policy suggest` and `test` read them: anybody may have written one.

use lazaret::words::id::Digest;
use serde_json::{Value, json};

use crate::flows::{DONE, MOUNTS, SHADOW, WRITE, run, shown};
use crate::station::Station;

/// What its user vouches for, and writes to.
const OWN: &str = "[mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\n\
    [grants.\"files.*\"]\nmounts = { out = \"write\" }\n";

/// Whoever wrote a file of records wrote their labels: it counts as imported, and that is said. An export of this host's own
/// is what it says.
#[test]
fn a_file_of_records_proposes_nothing_but_comments() {
    let more = format!("{MOUNTS}{SHADOW}");
    let station = Station::scripted("[\"files.*\"]", &[WRITE, DONE], &more);
    station.write("inbox/keep", "");
    station.write("out/keep", "");
    run(&station, 0);
    let line = "\n  \"out/from-letter.md\",  # record ";
    let suggest = |named: &str| station.run(&["policy", "suggest", named]).ends(0);
    suggest("last").prints(&[line]).says_only("");
    let export = ["runs", "export", "last", "--output"];
    let exported = [&export[..], &["own.jsonl"]].concat();
    station.run(&exported).ends(0);
    suggest("own.jsonl").prints(&[line]).says_only("");
    let records = shown(&station);
    station.write("bare.jsonl", records.replace("from-letter", "of-eve"));
    // What says of itself that no host vouches for it.
    let own = station.read("own.jsonl");
    let (lines, last) = own.trim_end().rsplit_once('\n').unwrap();
    let mut last: Value = serde_json::from_str(last).unwrap();
    last.as_object_mut().unwrap().remove("mac").unwrap();
    station.write("theirs.jsonl", format!("{lines}\n{last}\n"));
    for (named, path) in [
        ("bare.jsonl", "out/of-eve.md"),
        ("theirs.jsonl", "out/from-letter.md"),
    ] {
        let warning = format!("warning: this host vouches for no record in `{named}`: whoever");
        let ended = suggest(named).says(&[&warning]).prints(&[
            &format!("\n  # \"{path}\",  # record "),
            "wished under the influence of an imported run: take it out",
        ]);
        let active = |line: &&str| !line.trim_start().starts_with('#');
        let mut active = ended.out.lines().filter(active);
        assert!(active.all(|line| !line.contains(path)), "{ended}");
        station.write("new.toml", station.read("lazaret.toml"));
        let test = ["policy", "test", named, "--policy", "new.toml"];
        station.run(&test).says(&[&warning]);
    }
    // What no host would have written is no record.
    let kind = records.replace("\"kind\":\"file\"", "\"kind\":\"fi\\u001ble\"");
    assert_ne!(kind, records);
    station.write("bare.jsonl", kind);
    let refused = station.run(&["policy", "suggest", "bare.jsonl"]).ends(2);
    refused.says(&["this is no record: it names a run or a kind as no host would"]);
}

/// What is made of the one effect of a tool that stands in these records: another one, of another size.
fn with_effect(line: &str, (effect, subject, bytes): (&str, &str, u64)) -> String {
    let mut record: Value = serde_json::from_str(line).unwrap();
    if record["effect"] == "file" {
        record["effect"] = json!(effect);
        record["subject"] = json!(subject);
        record["content"] = json!({"size": {"bytes": bytes}});
    }
    record.to_string()
}

/// Whoever wrote a file of records wrote its numbers as well: none of them is how much memory is taken.
#[test]
fn what_a_file_of_records_says_of_sizes_takes_no_memory() {
    let station = Station::scripted("[\"files.*\"]", &[WRITE, DONE], OWN);
    station.write("out/keep", "");
    run(&station, 0);
    let records = shown(&station);
    for (effect, status, says) in [
        (
            ("file", "write out/from-letter.md", u64::MAX),
            0,
            "0 changes",
        ),
        (
            ("keep", "put files/a", 6_000_000_000),
            1,
            "a note has at most 65536 bytes",
        ),
        (
            ("fetch", "POST https://a.test/", u64::MAX),
            0,
            "its body is longer than that of any request may be",
        ),
    ] {
        let lines = records.lines().map(|line| with_effect(line, effect));
        let lines: Vec<String> = lines.collect();
        assert!(lines.iter().any(|line| line.contains(effect.1)));
        station.write("bare.jsonl", lines.join("\n"));
        let test = ["policy", "test", "bare.jsonl", "--policy", "lazaret.toml"];
        station.run(&test).ends(status).prints(&[says]);
    }
}

/// Whoever wrote a file of records wrote what each is about.
#[test]
fn what_a_record_in_a_file_is_about_stays_on_its_line() {
    let station = Station::scripted("[\"files.*\"]", &[WRITE, DONE], OWN);
    station.write("out/keep", "");
    run(&station, 0);
    let records = shown(&station);
    for (effect, status) in [
        (("keep", "put files/a\n0 changes", 6_000_000_000), 1),
        (("fetch", "POST https://a.test/\n0 changes", u64::MAX), 0),
    ] {
        let lines = records.lines().map(|line| with_effect(line, effect));
        let lines: Vec<String> = lines.collect();
        station.write("bare.jsonl", lines.join("\n"));
        let test = ["policy", "test", "bare.jsonl", "--policy", "lazaret.toml"];
        let ended = station.run(&test).ends(status);
        ended.prints(&["\\u{a}0 changes: "]).never("\n0 changes");
    }
}

/// Of an import, all but its end is what whoever wrote it says.
#[test]
fn who_had_influence_on_an_imported_run_stays_on_its_line() {
    let (theirs, ours) = (
        Station::scripted("[\"files.*\"]", &[WRITE, DONE], OWN),
        Station::scripted("[\"files.*\"]", &[WRITE, DONE], OWN),
    );
    theirs.write("out/keep", "");
    run(&theirs, 0);
    let export = ["runs", "export", "last", "--output", "own.jsonl"];
    theirs.run(&export).ends(0);
    let by = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record["effect"] == "call" {
            record["label"] = json!(["mcp:x\n         label   user"]);
        }
        record.to_string()
    };
    let (text, name) = without_proof(&theirs.read("own.jsonl"), by);
    ours.write("theirs.jsonl", text);
    ours.run(&["runs", "import", "theirs.jsonl"]).ends(0);
    let explain = ["policy", "explain", "--run", &name];
    let ended = ours.run(&explain);
    ended
        .prints(&["label   mcp:x\\u{a}        \\u{20}label   user: untrusted"])
        .never("\n         label   user");
}

/// An export whose lines were changed so, with the end that anybody can write; and its run.
fn without_proof(text: &str, change: impl Fn(&str) -> String) -> (String, String) {
    let (lines, last) = text.trim_end().rsplit_once('\n').unwrap();
    let mut last: Value = serde_json::from_str(last).unwrap();
    let lines: Vec<String> = lines.lines().map(change).collect();
    // What the lines come to anybody can say.
    let after = |chain: Digest, line: &String| {
        let all = [chain.bytes().as_slice(), line.as_bytes()].concat();
        Digest::of(&all)
    };
    let chain = lines.iter().fold(Digest::from([0; 32]), after);
    last.as_object_mut().unwrap().remove("mac").unwrap();
    last["chain"] = json!(chain.to_string());
    let name = last["end"].as_str().unwrap().to_owned();
    (format!("{}\n{last}\n", lines.join("\n")), name)
}

/// Nor does an export that proves nothing, once it was taken in.
#[test]
fn what_an_import_says_of_sizes_takes_no_memory() {
    let more = format!("{MOUNTS}{SHADOW}");
    let station = || {
        let station = Station::scripted("[\"files.*\"]", &[WRITE, DONE], &more);
        station.write("inbox/keep", "");
        station.write("out/keep", "");
        station
    };
    let (theirs, ours) = (station(), station());
    run(&theirs, 0);
    let export = ["runs", "export", "last", "--output", "own.jsonl"];
    theirs.run(&export).ends(0);
    let effect = ("file", "write out/from-letter.md", u64::MAX);
    let changed = |line: &str| with_effect(line, effect);
    let (text, name) = without_proof(&theirs.read("own.jsonl"), changed);
    ours.write("theirs.jsonl", text);
    ours.run(&["runs", "import", "theirs.jsonl"]).ends(0);
    ours.run(&["policy", "test", &name, "--policy", "lazaret.toml"])
        .ends(0)
        .prints(&["0 changes"]);
}

/// A terminal would do what stands in it.
#[test]
fn a_run_in_a_file_of_records_is_called_as_a_host_would_call_it() {
    let station = Station::scripted("[\"files.*\"]", &[DONE], "");
    run(&station, 0);
    let records = shown(&station);
    let named = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record["run"] = json!("x\u{1b}[2J");
        record.to_string()
    };
    let lines: Vec<String> = records.lines().map(named).collect();
    station.write("bare.jsonl", lines.join("\n"));
    let refused = station.run(&["policy", "suggest", "bare.jsonl"]).ends(2);
    refused.says(&["line 1: this is no record: it names a run or a kind as no host would"]);
}

/// Under the influence of an import, what a model has chosen here would be asked about.
#[test]
fn a_file_of_records_is_judged_again_as_it_stands() {
    let station = Station::scripted("[\"files.*\"]", &[WRITE, DONE], OWN);
    station.write("out/keep", "");
    run(&station, 0);
    station.write("bare.jsonl", shown(&station));
    for named in ["last", "bare.jsonl"] {
        station
            .run(&["policy", "test", named, "--policy", "lazaret.toml"])
            .ends(0)
            .prints(&["0 changes"]);
    }
}

#[test]
fn what_names_neither_a_run_nor_a_file_is_said_to_be_neither() {
    let station = Station::scripted("[\"files.*\"]", &[DONE], "");
    run(&station, 0);
    for of in [&["suggest"][..], &["test", "--policy", "lazaret.toml"]] {
        let args = [&["policy"], of, &["night.jsonl"]].concat();
        station.run(&args).ends(4).says(&[
            "run that begins with `night.jsonl`",
            "nor is there a file `night.jsonl`",
        ]);
    }
}
