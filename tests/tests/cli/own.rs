//! What is not a tool's to reach: folders outside of a mount, and the host's own, by whatever way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::station::Station;

const WRITE_DOCS: &str = "[mounts.docs]\npath = \"docs\"\naccess = \"write\"\n\
    [grants.\"files.*\"]\nmounts = { docs = \"write\" }\n\
    [grants.\"files.write\"]\nmounts = { docs = \"write\" }\n";

#[test]
fn a_mount_that_is_a_link_out_of_the_workspace_is_refused() {
    let station = Station::new();
    let outside = station.workspace().join("../outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, station.workspace().join("docs")).unwrap();
    station.write("lazaret.toml", WRITE_DOCS);
    station.trust();
    station
        .run(&["tools"])
        .ends(2)
        .says(&["[mounts.docs]: `docs` is a link that leads out of the folder of this file"]);
}

#[test]
fn a_mount_that_is_a_link_within_the_workspace_is_followed() {
    let station = Station::new();
    station.write("real/a.txt", "inside");
    symlink("real", station.workspace().join("docs")).unwrap();
    station.write("lazaret.toml", WRITE_DOCS);
    station.trust();
    station
        .run(&["call", "files.read", r#"{"path":"docs/a.txt"}"#])
        .ends(0)
        .prints(&["inside"]);
}

#[test]
fn the_hosts_own_folders_are_out_of_reach_by_any_mount() {
    let station = Station::new();
    let state = station.state();
    let mounts = [
        ("state", state.clone()),
        ("cache", state.join("cache")),
        ("begun", state.join("begun")),
        ("engines", state.join("engines")),
        ("answers", state.join("answers")),
        ("attached", state.join("attached")),
        ("above", state.join("..")),
    ];
    // Makes the folders.
    station.run(&["script", "-e", "return 1"]).ends(0);
    for (name, path) in mounts {
        let config = format!(
            "[mounts.own]\npath = {path:?}\n[grants.\"files.*\"]\nmounts = {{ own = \"read\" }}\n"
        );
        station.write("lazaret.toml", config);
        station.run(&["policy", "trust"]);
        let path = if name == "above" {
            "own/lazaret/key"
        } else {
            "own/key"
        };
        let args = format!(r#"{{"path":"{path}"}}"#);
        let ended = station.run(&["call", "files.read", &args]);
        assert_ne!(ended.status, 0, "{name}: {ended}");
        assert!(
            ended.err.contains("lazaret's own folder"),
            "{name}: {ended}"
        );
    }
}

#[test]
fn the_hosts_own_folders_are_out_of_reach_by_a_link() {
    let station = Station::with(WRITE_DOCS.replace("docs\"\naccess", ".\"\naccess").as_str());
    station.run(&["tools"]).ends(0);
    symlink(".lazaret", station.workspace().join("docs")).unwrap();
    for path in ["docs/docs/journal.db", "docs/.lazaret/journal.db"] {
        let args = format!(r#"{{"path":"{path}"}}"#);
        station
            .run(&["call", "files.read", &args])
            .ends(3)
            .says(&["lazaret's own folder"]);
        let args = format!(r#"{{"path":"{path}","content":"x"}}"#);
        station
            .run(&["call", "files.write", &args])
            .ends(3)
            .says(&["lazaret's own folder"]);
    }
}

/// A mount in which everything lies: this workspace, another project, and the user's own state folder.
fn all_mounted() -> Station {
    let station = Station::new();
    let all = station.workspace().join("..");
    station.write(
        "lazaret.toml",
        format!(
            "[mounts.all]\npath = {all:?}\naccess = \"write\"\n[grants.\"files.*\"]\nmounts = {{ all = \"write\" }}\n"
        ),
    );
    station.trust();
    station.run(&["script", "-e", "return 1"]).ends(0);
    let others = all.join("others/.lazaret");
    fs::create_dir_all(&others).unwrap();
    fs::write(others.join("journal.db"), "theirs").unwrap();
    station
}

#[test]
fn no_link_leads_to_what_lies_in_the_hosts_own_folders() {
    let station = all_mounted();
    let all = station.workspace().join("..");
    for (to, link) in [
        (".lazaret/journal.db", "journal"),
        ("../state/lazaret/key", "key"),
        ("../state/lazaret/answers", "answers"),
        ("../others/.lazaret", "folder"),
        ("../others/.lazaret/journal.db", "file"),
    ] {
        symlink(to, station.workspace().join(link)).unwrap();
    }
    let own = ["lazaret's own folder"];
    for path in ["journal", "key", "folder/journal.db", "file"] {
        let args = format!(r#"{{"path":"all/ws/{path}"}}"#);
        station
            .run(&["call", "files.read", &args])
            .ends(3)
            .says(&own);
    }
    for path in ["key", "answers/new", "folder/journal.db", "folder/new"] {
        let args = format!(r#"{{"path":"all/ws/{path}","content":"x","mode":"replace"}}"#);
        station
            .run(&["call", "files.write", &args])
            .ends(3)
            .says(&own);
    }
    for path in ["answers", "folder"] {
        let args = format!(r#"{{"path":"all/ws/{path}"}}"#);
        station
            .run(&["call", "files.list", &args])
            .ends(3)
            .says(&own);
    }
    let theirs = fs::read_to_string(all.join("others/.lazaret/journal.db")).unwrap();
    assert_eq!(theirs, "theirs");
    assert!(!station.state().join("answers/new").exists());
}

#[test]
fn the_hosts_own_folders_stay_with_the_folder_that_they_lie_in() {
    let station = all_mounted();
    let all = station.workspace().join("..");
    for source in ["state", "others"] {
        let args = format!(r#"{{"source":"all/{source}","target":"all/elsewhere"}}"#);
        station
            .run(&["call", "files.move", &args])
            .ends(3)
            .says(&["holds lazaret's own folder, and stays where it is"]);
    }
    assert!(station.state().join("key").exists());
    assert!(!all.join("elsewhere").exists());
}

#[test]
fn a_file_with_a_second_name_is_not_written() {
    let station = Station::new();
    station.write("docs/a.txt", "old");
    fs::write(station.workspace().join("../precious"), "precious").unwrap();
    let linked = station.workspace().join("docs/linked.txt");
    fs::hard_link(station.workspace().join("../precious"), &linked).unwrap();
    station.write("lazaret.toml", WRITE_DOCS);
    station.trust();
    for mode in ["replace", "append"] {
        let args = format!(r#"{{"path":"docs/linked.txt","content":"x","mode":"{mode}"}}"#);
        let ended = station.run(&["call", "files.write", &args]).ends(3);
        let precious = fs::read_to_string(station.workspace().join("../precious")).unwrap();
        assert_eq!(precious, "precious", "{mode}: {ended}");
    }
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let station = Station::new();
    let script = station.write("docs/run.sh", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    station.write("lazaret.toml", WRITE_DOCS);
    station.trust();
    let args = r#"{"path":"docs/run.sh","content":"new","mode":"replace"}"#;
    station.run(&["call", "files.write", args]).ends(0);
    assert_eq!(station.read("docs/run.sh"), "new");
    let mode = fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[test]
fn a_demo_leaves_the_files_of_others_alone() {
    let station = Station::new();
    station.write("mine/lazaret.toml", "# mine\n");
    let ended = station.run(&["demo", "--folder", "mine"]);
    assert_ne!(ended.status, 0, "{ended}");
    assert_eq!(station.read("mine/lazaret.toml"), "# mine\n");
}

#[test]
fn what_a_tool_did_is_told_where_its_artifacts_cannot_be_saved() {
    let station = Station::with(&format!(
        "[plugins]\nhostile = {:?}\n[grants.\"hostile.*\"]\n",
        crate::station::hostile()
    ));
    station.write("taken", "a file");
    let ended = station.run(&[
        "call",
        "hostile.add_artifacts",
        r#"{"count":1,"bytes":3}"#,
        "--out",
        "taken",
    ]);
    assert_ne!(ended.status, 0, "{ended}");
    assert!(ended.err.contains("cannot"), "{ended}");
}

#[test]
fn calls_after_a_fatal_error_are_not_made() {
    // The second call of the first reply asks for a person: what stands behind it waits as well.
    let lines = [
        r#"{"calls":[{"tool":"text.count","args":{"text":"a"}},{"tool":"files.write","args":{"path":"docs/a.txt","content":"x"}},{"tool":"text.count","args":{"text":"never"}}]}"#,
        r#"{"text":"done"}"#,
    ];
    let more = format!("ask = [\"files.write\"]\n{WRITE_DOCS}");
    let station = Station::new();
    fs::create_dir(station.workspace().join("docs")).unwrap();
    station.write("script.jsonl", lines.join("\n"));
    station.write(
        "lazaret.toml",
        format!(
            "{more}[agents.a]\ntools = [\"*\"]\nmodels = [\"m\"]\n\
             [models.m]\nprovider = \"scripted\"\nscript = \"script.jsonl\"\n"
        ),
    );
    station.trust();
    station.run(&["run", "go"]).ends(75);
    let records = station.records();
    let judged = records.iter().filter(|record| record["event"] == "judged");
    let subjects: Vec<_> = judged.map(|record| record["subject"].clone()).collect();
    assert_eq!(subjects, ["text.count", "files.write"]);
}
