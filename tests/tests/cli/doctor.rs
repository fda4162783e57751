//! `lazaret doctor`: what works, what does not, and how to mend it.

use std::fs;

use serde_json::Value;

use crate::station::Station;

fn finding<'a>(told: &'a Value, what: &str) -> &'a Value {
    let findings = told["findings"].as_array().unwrap();
    findings
        .iter()
        .find(|finding| finding["what"] == what)
        .unwrap()
}

#[test]
fn a_sound_station_is_said_to_be_sound() {
    let ended = Station::new().run(&["doctor"]).ends(0).says_only("");
    ended.never("broken").prints(&[
        "ok      program        lazaret 0.1.0",
        "ok      state          [ROOT]/state/lazaret\n",
        "ok      configuration  no `lazaret.toml` here or above; built-in policy holds\n",
        "ok      journal        [ROOT]/state/lazaret/runs/journal.db\n",
        "ok      plugins        6 plugins with",
        "ok      a call         text.count answered after",
        "ok      a script       TypeScript ran after",
        "careful agents         0 agents, 0 models: `lazaret run` needs one of each\n",
        "hint: `lazaret demo` shows a configuration with both",
    ]);
}

#[test]
fn what_is_tried_leaves_no_run() {
    let station = Station::new();
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    let runs = || station.run(&["runs", "list", "--json"]).ends(0).out;
    let before = runs();
    station.run(&["doctor"]).ends(0);
    assert_eq!(runs(), before);
}

#[test]
fn agents_and_models_are_counted() {
    let station = Station::scripted("[]", &[r#"{"text":"x"}"#], "");
    let told = station.run(&["doctor", "--json"]).ends(0).json();
    assert_eq!(told["ok"], true);
    assert_eq!(finding(&told, "agents")["state"], "ok");
    assert_eq!(
        finding(&told, "configuration")["text"],
        "[HERE]/lazaret.toml (trusted)"
    );
    assert_eq!(
        finding(&told, "journal")["text"],
        "[HERE]/.lazaret/journal.db"
    );
}

#[test]
fn a_file_that_is_not_trusted_is_no_sickness() {
    let station = Station::new();
    station.write("lazaret.toml", "");
    station.run(&["doctor"]).ends(0).prints(&[
        "careful configuration  [HERE]/lazaret.toml is not trusted, so nothing in it counts",
        "hint: read it, then run `lazaret policy trust`",
    ]);
}

#[test]
fn a_wrong_configuration_is_broken() {
    let station = Station::new();
    station.write("lazaret.toml", "blok = []\n");
    station.run(&["doctor"]).ends(1).prints(&[
        "broken  configuration  `[HERE]/lazaret.toml`, line 1, column 1: there is no key `blok` here",
        "hint: did you mean `block`?",
    ]);
    let told = station.run(&["doctor", "--json"]).ends(1).json();
    assert_eq!(told["ok"], false);
    assert_eq!(finding(&told, "configuration")["state"], "error");
}

#[test]
fn a_damaged_journal_is_broken() {
    let station = Station::new();
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    fs::write(station.state().join("runs/journal.db"), "nothing of ours").unwrap();
    station.run(&["doctor"]).ends(1).prints(&[
        "journal.db` is damaged or no journal",
        "lazaret runs repair",
    ]);
}

#[test]
fn a_missing_mount_is_broken() {
    Station::with("[mounts.docs]\npath = \"none\"\n")
        .run(&["doctor"])
        .ends(1)
        .prints(&[
            "broken  mount          `[HERE]/lazaret.toml`, line 2: [mounts.docs]: `path` leads nowhere",
            "hint: mkdir -p [HERE]/none",
            "ok      a call",
        ]);
}

#[test]
fn a_state_folder_that_others_may_write_is_broken() {
    use std::os::unix::fs::PermissionsExt;
    let station = Station::new();
    fs::set_permissions(station.state(), fs::Permissions::from_mode(0o777)).unwrap();
    station
        .run(&["doctor"])
        .ends(1)
        .prints(&["others may write to it"]);
}

#[test]
fn a_home_that_is_missing_is_said() {
    let station = Station::new();
    let mut command = station.command(&["doctor"]);
    let command = command
        .env_remove("HOME")
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME");
    station.finish(command).ends(2).says_only(
        "error: there is no home folder: `HOME` is not set
hint: set `HOME`, or `XDG_CONFIG_HOME` and `XDG_STATE_HOME`",
    );
}

#[test]
fn a_key_that_is_none_is_broken() {
    let station = Station::new();
    fs::write(station.state().join("key"), "short").unwrap();
    station
        .run(&["doctor"])
        .ends(1)
        .prints(&["`[ROOT]/state/lazaret/key` is no key", "hint: remove it"]);
}

#[test]
fn whatever_is_in_place_of_a_journal_is_told_as_its_own_line() {
    let station = Station::new();
    let folder = station.state().join("runs");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
    for rest in ["journal.db-wal", "journal.db-shm"] {
        let _ = fs::remove_file(folder.join(rest));
    }
    fs::write(folder.join("journal.db"), [7; 4_096]).unwrap();
    station
        .run(&["doctor"])
        .ends(1)
        .prints(&[
            "broken  journal        `[ROOT]/state/lazaret/runs/journal.db` is damaged or no journal",
            "ok      a call ",
        ])
        .never("ok      journal");
}
