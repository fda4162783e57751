//! Files of records, as `lazaret policy suggest` and `test` read them: anybody may have written one.

use serde_json::Value;

use crate::flows::{DONE, MOUNTS, SHADOW, WRITE, run};
use crate::station::Station;

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
    let shown = ["runs", "show", "last", "--json", "--quiet"];
    let records = station.run(&shown).ends(0).out;
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

/// Under the influence of an import, what a model has chosen here would be asked about.
#[test]
fn a_file_of_records_is_judged_again_as_it_stands() {
    let own = "[mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\n\
        [grants.\"files.*\"]\nmounts = { out = \"write\" }\n";
    let station = Station::scripted("[\"files.*\"]", &[WRITE, DONE], own);
    station.write("out/keep", "");
    run(&station, 0);
    let shown = ["runs", "show", "last", "--json", "--quiet"];
    station.write("bare.jsonl", station.run(&shown).ends(0).out);
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
