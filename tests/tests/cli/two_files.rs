//! The user's own file beside a workspace's: a workspace only narrows, and where both name one thing,
//! the user's counts.

use crate::station::Station;

const READ_DOCS: &str =
    "[mounts.docs]\npath = \"docs\"\n[grants.\"files.*\"]\nmounts = { docs = \"read\" }\n";

fn with_both(user: &str, workspace: &str) -> Station {
    let station = Station::new();
    station.write("docs/a.txt", "the workspace's");
    station.write_user_file(user);
    station.write("lazaret.toml", workspace);
    station.trust();
    station
}

#[test]
fn the_users_file_counts_alone_and_needs_no_trust() {
    let station = Station::new();
    station.write_user_file("block = [\"text.count\"]\n");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(3)
        .says(&["error: `text.count` is blocked by `block = [\"text.count\"]` in [ROOT]/config/lazaret/lazaret.toml"])
        .never("warning");
}

#[test]
fn a_wrong_users_file_is_named() {
    let station = Station::new();
    station.write_user_file("frob = 1\n");
    station
        .run(&["tools"])
        .ends(2)
        .says(&["error: `[ROOT]/config/lazaret/lazaret.toml`, line 1, column 1"]);
}

#[test]
fn what_the_user_blocks_no_workspace_grants() {
    let station = with_both("block = [\"files.*\"]\n", READ_DOCS);
    station
        .run(&["call", "files.read", r#"{"path":"docs/a.txt"}"#])
        .ends(3)
        .says(&["is blocked by `block = [\"files.*\"]`"]);
}

#[test]
fn what_a_workspace_blocks_is_blocked_too() {
    let station = with_both("", "block = [\"text.count\"]\n");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(3);
}

#[test]
fn grants_of_both_add_up() {
    let station = with_both("[grants.\"notes.*\"]\nnotes = \"write\"\n", READ_DOCS);
    station
        .run(&["call", "files.read", r#"{"path":"docs/a.txt"}"#])
        .ends(0);
    station
        .run(&["call", "notes.put", r#"{"key":"k","text":"t"}"#])
        .ends(0);
}

#[test]
fn the_users_mount_counts() {
    let station = with_both("", READ_DOCS);
    let own = station.user_file().parent().unwrap().join("own");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("a.txt"), "the user's").unwrap();
    station.write_user_file("[mounts.docs]\npath = \"own\"\n");
    station
        .run(&["call", "files.read", r#"{"path":"docs/a.txt"}"#])
        .ends(0)
        .prints(&["the user's"]);
}

#[test]
fn a_mount_that_the_user_has_read_only_stays_so() {
    let station = with_both(
        "",
        "[mounts.docs]\npath = \"docs\"\naccess = \"write\"\n[grants.\"files.*\"]\nmounts = { docs = \"write\" }\n",
    );
    let folder = station.workspace().join("docs");
    station.write_user_file(&format!(
        "[mounts.docs]\npath = {folder:?}\naccess = \"read\"\n"
    ));
    station
        .run(&[
            "call",
            "files.write",
            r#"{"path":"docs/b.txt","content":"x"}"#,
        ])
        .ends(3);
    assert!(!folder.join("b.txt").exists());
}

#[test]
fn the_users_model_counts() {
    let model = "[models.m]\nprovider = \"scripted\"\nscript = \"answers.jsonl\"\n";
    let agent = "[agents.a]\nmodels = [\"m\"]\n";
    let station = with_both(model, &format!("{agent}{model}"));
    station.write("answers.jsonl", r#"{"text":"the workspace's"}"#);
    let answers = station.user_file().with_file_name("answers.jsonl");
    std::fs::write(answers, r#"{"text":"the user's"}"#).unwrap();
    station.run(&["run", "hi"]).ends(0).prints(&["the user's"]);
}

#[test]
fn limits_of_both_tighten() {
    let station = with_both("[limits]\nfuel = 100\n", "[limits]\nfuel = 1000000000\n");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(1)
        .says(&["error: "]);
    let station = with_both("[limits]\nfuel = 1000000000\n", "[limits]\nfuel = 100\n");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(1);
}

#[test]
fn risk_classes_of_both_tighten() {
    let station = with_both("allow_risk = []\n", "allow_risk = [\"read_only\"]\n");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(3)
        .says(&[
            "`text.count` is of class read_only",
            "[grants.\"text.count\"]",
        ]);
}
