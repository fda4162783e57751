//! What was typed on the command line counts as the user's words; what was piped in or read from a file does not.

use serde_json::{Value, json};

use crate::station::{Ended, Station};

/// A mount of the user's own, and one that others write to.
fn station(mode: &str) -> Station {
    let station = Station::with(&format!(
        r#"
        [flow]
        mode = "{mode}"
        [mounts.own]
        path = "own"
        access = "write"
        own = true
        [mounts.inbox]
        path = "inbox"
        [grants."files.*"]
        mounts = {{ own = "write", inbox = "read" }}
        "#
    ));
    station.write("own/keep", "");
    station.write("inbox/args.json", args().to_string());
    station.write("args.json", args().to_string());
    station
}

fn args() -> Value {
    json!({"path": "own/a.md", "content": "x"})
}

const SCRIPT: &str = "await tools.files.write({path: 'own/a.md', content: 'x'}); return 1";
/// A question waits.
const ASKED: i32 = 75;

/// Every way in which a wish to write comes, and what stands behind it then.
fn ways(station: &Station) -> Vec<(Ended, Option<&'static str>)> {
    let args = args().to_string();
    station.write("own/job.js", SCRIPT);
    let call = |given: &str| station.run(&["call", "files.write", given, "--json"]);
    let piped = |arguments: &[&str], input: &str| {
        station.run_with_input(&[arguments, &["--json"]].concat(), input.as_bytes())
    };
    vec![
        (call(&args), None),
        (
            piped(&["call", "files.write", "-"], &args),
            Some("file:/dev/stdin"),
        ),
        (call("@args.json"), Some("file:/attached")),
        (call("@inbox/args.json"), Some("file:inbox")),
        (station.run(&["script", "-e", SCRIPT, "--json"]), None),
        // A program that the user has started by its name is the user's.
        (station.run(&["script", "own/job.js", "--json"]), None),
        (piped(&["script", "-"], SCRIPT), Some("file:/dev/stdin")),
    ]
}

#[test]
fn only_what_was_typed_is_a_witness() {
    let station = station("enforce");
    for (place, (ended, source)) in ways(&station).into_iter().enumerate() {
        let told = ended.json();
        let asked = told["error"]["code"] == "CONFIRMATION_REQUIRED";
        assert_eq!(asked, source.is_some(), "{place}: {told}");
        let label = told["meta"]["label"].to_string();
        assert!(label.contains(source.unwrap_or("user")), "{place}: {label}");
        assert_eq!(
            label.contains("file:/"),
            source.is_some_and(|source| source.contains('/'))
        );
    }
}

#[test]
fn where_nothing_is_judged_it_works_however_it_came() {
    let station = station("off");
    let path = station.workspace().join("own/a.md");
    let args = args().to_string();
    for given in [
        vec!["call", "files.write", "-"],
        vec!["call", "files.write", "@args.json"],
        vec!["call", "files.write", "@inbox/args.json"],
        vec!["script", "-"],
    ] {
        let input = if given[0] == "script" { SCRIPT } else { &args };
        station.run_with_input(&given, input.as_bytes()).ends(0);
        assert!(path.is_file(), "{given:?}");
        std::fs::remove_file(&path).unwrap();
    }
}

/// Nobody is asked twice, and not in vain: what was answered is done.
#[test]
fn a_piped_call_goes_on_after_an_answer_and_its_label_stays() {
    let station = station("enforce");
    let args = args().to_string();
    station
        .run_with_input(&["call", "files.write", "-"], args.as_bytes())
        .ends(ASKED)
        .says(&["chosen under the influence of a client or a pipe (nobody typed it here): "]);
    let waiting = station.run(&["ask", "list", "--json"]).json();
    let question = waiting[0]["question"].as_str().unwrap();
    station.run(&["ask", "allow", question]).ends(0);
    let ended = station.run(&["runs", "resume", "--json"]);
    assert!(
        ended.json()["meta"]["label"]
            .to_string()
            .contains("/dev/stdin")
    );
    assert!(station.workspace().join("own/a.md").is_file());
}

/// What is explained is what would happen.
#[test]
fn what_is_explained_came_as_it_came() {
    let station = station("enforce");
    let args = args().to_string();
    station
        .run(&["policy", "explain", "files.write", &args])
        .ends(0)
        .prints(&["allow files.write"]);
    station
        .run(&["policy", "explain", "files.write", "@args.json"])
        .ends(0)
        .prints(&["ask files.write", "a file that lies in no mount"]);
}
