//! `lazaret runs prune`: what has ended is taken out of the journal, and nothing else.

use std::fs;

use serde_json::json;

use crate::audit::database;
use crate::station::Station;

const NOTED: &str = r#"{"text":"Noted."}"#;
const BLUE: &str = r#"{"when":"My colour is blue","text":"Blue."}"#;
const COUNT: &str = r#"{"calls":[{"tool":"text.count","args":{"text":"a"}}]}"#;

/// The runs of a journal, oldest first.
fn runs(station: &Station) -> Vec<String> {
    let database = database(station);
    let mut query = database
        .prepare("SELECT run FROM records WHERE seq = 0 ORDER BY at, run")
        .unwrap();
    let names = query.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn contents(station: &Station) -> i64 {
    let count = "SELECT count(*) FROM contents";
    database(station)
        .query_row(count, [], |row| row.get(0))
        .unwrap()
}

/// A call with arguments that are too large to stand in their record; the run's name.
fn counted(station: &Station, word: &str) -> String {
    let before = runs(station);
    let args = json!({"text": format!("{word} ").repeat(2_000)}).to_string();
    station.run(&["call", "text.count", &args]).ends(0);
    let mut now = runs(station);
    now.retain(|run| !before.contains(run));
    now.remove(0)
}

/// Whether the files of the journal hold this.
fn is_written(station: &Station, word: &str) -> bool {
    let path = database(station).path().unwrap().to_owned();
    ["", "-wal"].iter().any(|end| {
        let bytes = fs::read(format!("{path}{end}")).unwrap_or_default();
        let mut parts = bytes.windows(word.len());
        parts.any(|part| part == word.as_bytes())
    })
}

#[test]
fn what_has_ended_goes_with_all_that_it_held() {
    let station = Station::new();
    // So that there is a journal.
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    let (one, same) = (
        counted(&station, "needle-one"),
        counted(&station, "needle-one"),
    );
    let other = counted(&station, "needle-two");
    assert_eq!(contents(&station), 2);
    let would = station.run(&["runs", "prune", &one, "--dry-run"]).ends(0);
    would
        .prints(&["would go [RUN] 6 records"])
        .says_only("1 run of 1 would go; nothing was taken out");
    assert_eq!(runs(&station).len(), 4);
    station
        .run(&["runs", "prune", &one])
        .ends(0)
        .prints(&["gone [RUN] 6 records"])
        .says_only("1 run of 1 taken out, with all that they held");
    // Another run names the same text.
    assert_eq!(contents(&station), 2);
    assert!(is_written(&station, "needle-one"));
    station
        .run(&["runs", "show", &same, "--json"])
        .ends(0)
        .prints(&["needle-one"]);
    station.run(&["runs", "prune", &same, &same]).ends(0);
    assert_eq!(contents(&station), 1);
    assert!(!is_written(&station, "needle-one"));
    assert!(is_written(&station, "needle-two"));
    assert_eq!(runs(&station).last(), Some(&other));
    // What stays is as it was written, and what is gone is nowhere.
    station
        .run(&["runs", "verify", "--all"])
        .ends(0)
        .prints(&["intact [RUN] 6 records"]);
    for gone in [
        &["runs", "show", &one][..],
        &["runs", "prune", &one],
        &["runs", "export", &one],
    ] {
        station.run(gone).ends(4).says(&["run that begins with `"]);
    }
    // All or nothing.
    station.run(&["runs", "prune", &other, &one]).ends(4);
    assert_eq!(runs(&station).len(), 2);
}

#[test]
fn only_what_is_old_enough_goes() {
    let station = Station::new();
    for _ in 0..2 {
        station
            .run(&["call", "text.count", r#"{"text":"a"}"#])
            .ends(0);
    }
    station
        .run(&["runs", "prune", "--older", "30d"])
        .ends(0)
        .says_only("no run has ended by then");
    let gone = station
        .run(&["runs", "prune", "--older", "0d", "--json"])
        .ends(0);
    let lines = gone.lines();
    assert_eq!(lines.len(), 2, "{gone}");
    for line in lines {
        assert_eq!((&line["gone"], &line["goes"]), (&json!(true), &json!(true)));
        assert_eq!((&line["records"], &line["why"]), (&json!(6), &json!(null)));
    }
    assert!(runs(&station).is_empty());
    station
        .run(&["runs", "verify", "--all"])
        .ends(0)
        .says_only("no runs yet");
    station.run(&["runs", "prune"]).ends(2).says(&["--older"]);
    station
        .run(&["runs", "prune", "--older", "7"])
        .ends(2)
        .says(&["write `12h`, `30d` or `8w`"]);
}

#[test]
fn what_has_not_ended_stays() {
    let station = Station::scripted("[\"text.*\"]", &[COUNT, NOTED], "");
    let file = station.read("lazaret.toml");
    station.write("lazaret.toml", format!("ask = [\"text.count\"]\n{file}"));
    station.trust();
    station.run(&["run", "count", "--no-ask"]).ends(75);
    station
        .run(&["runs", "prune", "last"])
        .ends(1)
        .prints(&["stays [RUN]: it has not ended"])
        .says_only("none of 1 was taken out");
    // Nobody has named it.
    station
        .run(&["runs", "prune", "--older", "0d"])
        .ends(0)
        .says_only("no run has ended by then");
    station
        .run(&["ask", "list"])
        .ends(0)
        .prints(&["text.count"]);
    station.run(&["runs", "cancel", "last"]).ends(0);
    station.run(&["runs", "prune", "last"]).ends(0);
    assert!(runs(&station).is_empty());
}

#[test]
fn a_run_on_which_its_session_builds_stays() {
    let station = Station::scripted("[]", &[NOTED, BLUE], "");
    let say = |goal: &str| station.run(&["run", goal, "--session", "work", "--quiet"]);
    say("My colour is blue.").ends(0).prints(&["Noted."]);
    say("Which one?").ends(0).prints(&["Blue."]);
    // Another user's is another session.
    let anns = [
        "run",
        "Hello.",
        "--session",
        "work",
        "--user",
        "ann",
        "--quiet",
    ];
    station.run(&anns).ends(0);
    let all = runs(&station);
    let stays =
        "stays [RUN]: a later run of its session builds on it: name all runs of the session";
    for one in &all[..2] {
        station
            .run(&["runs", "prune", one])
            .ends(1)
            .prints(&[stays]);
    }
    assert_eq!(runs(&station), all);
    station.run(&["runs", "prune", &all[1], &all[0]]).ends(0);
    assert_eq!(runs(&station), all[2..]);
    // The session begins anew, and is told nothing.
    say("Which one?").ends(0).prints(&["Noted."]);
    station.run(&["runs", "verify", "--all"]).ends(0);
}

#[test]
fn what_was_changed_stays_to_be_looked_at_and_what_came_from_elsewhere_goes() {
    let station = Station::new();
    for _ in 0..2 {
        station
            .run(&["call", "text.count", r#"{"text":"a"}"#])
            .ends(0);
    }
    let all = runs(&station);
    let path = station.workspace().join("run.jsonl");
    let export = [
        "runs",
        "export",
        &all[1],
        "--output",
        path.to_str().unwrap(),
    ];
    station.run(&export).ends(0);
    station.run(&["runs", "prune", &all[1]]).ends(0);
    station
        .run(&["runs", "import", path.to_str().unwrap()])
        .ends(0);
    let change = "UPDATE records SET at = at + 1 WHERE seq = 2 AND run = ?1";
    database(&station).execute(change, [&all[0]]).unwrap();
    let pruned = station.run(&["runs", "prune", "--older", "0d"]).ends(0);
    pruned.prints(&[
        "stays [RUN]: its records are not as they were written: look at them first",
        "gone [RUN] 6 records",
    ]);
    assert_eq!(runs(&station), all[..1]);
    let imports = "SELECT count(*) FROM imports";
    let left: i64 = database(&station)
        .query_row(imports, [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}
