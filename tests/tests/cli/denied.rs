//! What may be done without any configuration, and how a denial reads.

use crate::station::Station;

#[test]
fn the_working_directory_may_be_read() {
    let station = Station::new();
    station.write("docs/a.txt", "salt and oil\n");
    station
        .run(&["call", "files.read", r#"{"path":"docs/a.txt"}"#])
        .ends(0)
        .prints(&["salt and oil"]);
    station
        .run(&["call", "files.search", r#"{"path":".","pattern":"salt"}"#])
        .ends(0)
        .prints(&["docs/a.txt"]);
}

#[test]
fn a_path_out_of_it_is_denied_with_the_reason() {
    let station = Station::new();
    station
        .run(&["call", "files.read", r#"{"path":"../../etc/passwd"}"#])
        .ends(3)
        .says(&["error: the path `../../etc/passwd` leads out of the mounts with `..`"])
        .never("root:");
    for path in ["/etc/passwd", "docs/../../x", "a\\u0000b", "~/x"] {
        let args = format!(r#"{{"path":"{path}"}}"#);
        let ended = station.run(&["call", "files.read", &args]).never("root:");
        assert!([3, 4].contains(&ended.status), "{path}: {ended}");
    }
}

#[test]
fn a_link_out_of_it_is_not_followed() {
    let station = Station::new();
    std::os::unix::fs::symlink("/etc", station.workspace().join("out")).unwrap();
    station
        .run(&["call", "files.read", r#"{"path":"out/passwd"}"#])
        .ends(3)
        .never("root:");
}

#[test]
fn writing_is_denied_with_the_lines_that_would_allow() {
    let station = Station::new();
    station
        .run(&["call", "files.write", r#"{"path":"b.txt","content":"x"}"#])
        .ends(3)
        .says(&["error: `b.txt` may be read and not changed
hint: to allow it, write in `lazaret.toml`:
  [mounts.\".\"]\n"])
        .says(&[
            "  access = \"create\"\n",
            "  [grants.\"files.write\"]\n",
            "  mounts = { \".\" = \"create\" }\n",
        ]);
    assert!(!station.workspace().join("b.txt").exists());
}

#[test]
fn a_high_risk_tool_needs_a_line_about_it_alone() {
    let station = Station::new();
    station.write("a.txt", "kept");
    station
        .run(&["call", "files.remove", r#"{"path":"a.txt"}"#, "--confirm"])
        .ends(3)
        .says(&[
            "error: `files.remove` is of class high_risk, and no line of the built-in policy is about it alone",
            "  [grants.\"files.remove\"]",
        ]);
    assert_eq!(station.read("a.txt"), "kept");
}

#[test]
fn the_network_is_denied() {
    let station = Station::new();
    station
        .run(&["call", "web.get_page", r#"{"url":"https://example.com/"}"#])
        .ends(3)
        .says(&[
            "web.get_page` may not send GET to https://example.com",
            "  [grants.\"web.get_page\"]\n  fetch = [\"https://example.com/\"]",
        ]);
    station
        .run(&["call", "web.get_page", r#"{"url":"http://127.0.0.1:1/"}"#])
        .ends(3)
        .says(&["fetch = [{ url = \"http://127.0.0.1:1/\", private = true }]"]);
}

#[test]
fn a_path_beside_the_granted_one_is_denied_as_that() {
    let station =
        Station::with("[grants.\"web.get_page\"]\nfetch = [\"https://docs.test/mine\"]\n");
    let args = r#"{"url":"https://docs.test/other?x=1"}"#;
    station.run(&["call", "web.get_page", args]).ends(3).says(&[
        "`web.get_page` may not send GET to https://docs.test/other: granted there is https://docs.test/mine",
        "which is there already, add to `fetch`:\n  \"https://docs.test/other\"\n",
    ]);
}

#[test]
fn notes_are_denied() {
    Station::new()
        .run(&["call", "notes.put", r#"{"key":"k","text":"t"}"#])
        .ends(3)
        .says(&["hint: to allow it, write in `lazaret.toml`:\n  [grants.\"notes."]);
}
