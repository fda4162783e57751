//! Calls that have to be confirmed, at the command line and in JSON automation.

use serde_json::json;

use crate::inline::at_terminal;
use crate::station::Station;

const POLICY: &str = r#"
[mounts.here]
path = "."
access = "write"
own = true
[grants."files.remove"]
mounts = { here = "write" }
[flow]
mode = "off"
"#;

const CALL: [&str; 3] = ["call", "files.remove", r#"{"path":"here/old.txt"}"#];

fn station() -> Station {
    let station = Station::with(POLICY);
    station.write("old.txt", "old");
    station
}

fn is_there(station: &Station) -> bool {
    station.workspace().join("old.txt").exists()
}

#[test]
fn what_cannot_be_undone_is_confirmed_with_the_call() {
    let station = station();
    station.run(&CALL).ends(3).says(&[
        "error: `files.remove` is destructive, and each call of it has to be confirmed",
        "hint: say so with the call: `--confirm`",
        "lazaret runs show",
    ]);
    assert!(is_there(&station));
    let records = station.records();
    assert_eq!(records[1]["verdict"]["rule"], "CONFIRMATION_REQUIRED");
    station.run(&[&CALL[..], &["--confirm"]].concat()).ends(0);
    assert!(!is_there(&station));
    let records = station.records();
    let rule = records[1]["verdict"]["rule"].as_str().unwrap();
    assert!(rule.ends_with("; confirmed by the client"), "{rule}");
}

#[test]
fn the_codes_of_earlier_stages_come_first() {
    let station = station();
    let code = |arguments: &[&str]| {
        let ended = station.run(&[arguments, &["--json"]].concat());
        let code = ended.json()["error"]["code"].as_str().unwrap().to_owned();
        (code, ended.status)
    };
    let say = |code: &str, status| (code.to_owned(), status);
    let wrong = ["call", "files.remove", r#"{"pth":"here/old.txt"}"#];
    assert_eq!(code(&wrong), say("VALIDATION_ERROR", 2));
    assert_eq!(code(&CALL), say("CONFIRMATION_REQUIRED", 3));
    assert!(is_there(&station));
    // Permission comes after it.
    let other = Station::new();
    let ended = other.run(&[&CALL[..], &["--json"]].concat());
    assert_eq!(ended.json()["error"]["code"], "CONFIRMATION_REQUIRED");
    let ended = other.run(&[&CALL[..], &["--json", "--confirm"]].concat());
    assert_eq!(ended.json()["error"]["code"], "AUTHORIZATION_ERROR");
}

#[test]
fn a_program_confirms_in_its_request() {
    let station = station();
    for (confirm, status) in [(json!(false), 3), (json!(true), 0)] {
        let input = json!({"path": "here/old.txt"});
        let line = json!({"action": "files.remove", "input": input, "confirm": confirm});
        station.run(&["json", &line.to_string()]).ends(status);
        assert_eq!(is_there(&station), status != 0);
    }
}

#[test]
fn somebody_at_a_terminal_is_asked() {
    let station = station();
    for (answers, status) in [(&["n"][..], 3), (&["q"], 3), (&["what?", "show", "y"], 0)] {
        let (ended, _, shown) = at_terminal(&station, &CALL, answers);
        assert_eq!(ended, status, "{shown}");
        for part in [
            "? shall `files.remove` be called? (asked by its manifest, which says that it is `destructive`)",
            "path = here/old.txt",
            "the tool is destructive, risk high_risk",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(is_there(&station), status != 0, "{shown}");
        let told = shown.contains("`what?` is no answer: y, n, show or q");
        assert_eq!(told, answers.len() == 3, "{shown}");
        let said_no = shown.contains("error: you said no, so `files.remove` was not called");
        assert_eq!(said_no, answers == ["n"], "{shown}");
        assert!(!said_no || !shown.contains("--confirm"), "{shown}");
    }
    let (_, _, shown) = at_terminal(&station, &[&CALL[..], &["--no-ask"]].concat(), &[]);
    assert!(!shown.contains("shall"), "{shown}");
}

#[test]
fn a_script_waits_where_nobody_has_confirmed_and_a_line_lifts_that() {
    let script = |station: &Station| {
        station.write(
            "wipe.js",
            "const p = ['here', 'old.txt'];
            await tools.files.remove({path: p.join('/')}); return 'gone'",
        );
        station.run(&["script", "wipe.js"])
    };
    let asking = station();
    script(&asking).ends(75).says(&[
        "`files.remove`",
        "it is asked by its manifest, which says that it is `destructive`",
    ]);
    assert!(is_there(&asking));
    let lifted = Station::with(&format!("confirmed = [\"files.remove\"]\n{POLICY}"));
    lifted.write("old.txt", "old");
    script(&lifted).ends(0).prints(&["gone"]);
    Station::with("confirmed = [\"files.*\"]")
        .run(&["tools"])
        .ends(2)
        .says(&["`confirmed = [\"files.*\"]` names no tool alone"]);
}
