//! What arrives with a cloned repository grants nothing until its owner says so (invariant 14).

use std::fs;

use crate::station::{Ended, Station, bundled};

const CONFIG: &str = "[mounts.docs]\npath = \"docs\"\naccess = \"write\"
[grants.\"files.*\"]\nmounts = { docs = \"write\" }
[plugins]\ntwin = \"twin.wasm\"
[agents.a]\nmodels = [\"m\"]
[models.m]\nprovider = \"scripted\"\nscript = \"script.jsonl\"
";

/// A workspace as it was cloned.
fn cloned() -> Station {
    let station = Station::new();
    station.write("docs/a.txt", "x");
    station.write("script.jsonl", r#"{"text":"hello"}"#);
    station.write("twin.wasm", fs::read(bundled("clock")).unwrap());
    station.write("lazaret.toml", CONFIG);
    station
}

fn write(station: &Station) -> Ended {
    let args = r#"{"path":"docs/b.txt","content":"y"}"#;
    station.run(&["call", "files.write", args])
}

#[test]
fn a_new_file_grants_nothing_and_says_so() {
    let station = cloned();
    write(&station).ends(3).says(&[
        "warning: `[HERE]/lazaret.toml` is not trusted, so nothing in it counts
hint: read it, then run `lazaret policy trust`",
    ]);
    assert!(!station.workspace().join("docs/b.txt").exists());
    assert!(
        !station.workspace().join(".lazaret").exists(),
        "nothing is written beside a file that nobody trusts"
    );
}

#[test]
fn its_plugins_agents_and_models_are_not_there() {
    let station = cloned();
    station.run(&["tools"]).ends(0).never("twin");
    station.run(&["run", "hi", "--agent", "a"]).ends(4).says(&[
        "error: there is no agent `a`",
        "there are no agents in the configuration",
    ]);
}

#[test]
fn trust_makes_it_count() {
    let station = cloned();
    station
        .run(&["policy", "trust"])
        .ends(0)
        .prints(&[
            "trusted `[HERE]/lazaret.toml` counts from now on, exactly as it is (",
            "\n  files.* 0 destinations, 1 mount, notes none",
        ])
        .says_only("");
    write(&station).ends(0).never("warning");
    station.run(&["tools"]).prints(&["twin.now"]);
    station.run(&["run", "hi"]).ends(0).prints(&["hello"]);
}

#[test]
fn a_change_of_one_byte_ends_it() {
    let station = cloned();
    station.trust();
    station.write("lazaret.toml", format!("{CONFIG}#"));
    write(&station).ends(3).says(&[
        "warning: `[HERE]/lazaret.toml` or a component in it has changed since it was trusted, so nothing in it counts
hint: look at what changed, then run `lazaret policy trust`",
    ]);
    // The same bytes are trusted again.
    station.write("lazaret.toml", CONFIG);
    write(&station).ends(0).never("warning");
}

#[test]
fn a_change_of_a_component_that_it_names_ends_it() {
    let station = cloned();
    station.trust();
    station.write("twin.wasm", fs::read(bundled("text")).unwrap());
    write(&station)
        .ends(3)
        .says(&["or a component in it has changed"]);
    fs::remove_file(station.workspace().join("twin.wasm")).unwrap();
    write(&station)
        .ends(3)
        .says(&["or a component in it has changed"]);
}

#[test]
fn trust_can_be_revoked() {
    let station = cloned();
    station.trust();
    station
        .run(&["policy", "trust", "--revoke"])
        .ends(0)
        .prints(&["`[HERE]/lazaret.toml` no longer counts"]);
    write(&station).ends(3).says(&["is not trusted"]);
    station
        .run(&["policy", "trust", "--revoke"])
        .ends(0)
        .prints(&["`[HERE]/lazaret.toml` was not trusted"]);
}

#[test]
fn a_copy_elsewhere_is_not_trusted() {
    let station = cloned();
    station.trust();
    station.write("copy/lazaret.toml", "");
    station
        .run_in("copy", &["policy", "check"])
        .ends(0)
        .says(&["warning: `[HERE]/copy/lazaret.toml` is not trusted"]);
}

#[test]
fn the_warning_is_no_data() {
    let station = cloned();
    let ended = station.run(&["call", "text.count", r#"{"text":"a"}"#, "--json"]);
    assert_eq!(ended.json()["ok"], true);
    ended.says(&["warning: "]);
    let quiet = station.run(&["call", "text.count", r#"{"text":"a"}"#, "--quiet"]);
    quiet.ends(0).says_only("");
}

#[test]
fn without_a_file_there_is_nothing_to_trust() {
    Station::new()
        .run(&["policy", "trust"])
        .ends(4)
        .says_only(
            "error: there is no `lazaret.toml` here or above\nhint: write one; `lazaret demo` shows an example",
        );
}

#[test]
fn pins_that_cannot_be_read_are_an_error_and_no_trust() {
    let station = cloned();
    station.trust();
    fs::write(station.state().join("trust.json"), "{").unwrap();
    write(&station).ends(1).says(&[
        "error: `[ROOT]/state/lazaret/trust.json` cannot be read",
        "hint: remove it, and trust your policies again",
    ]);
}
