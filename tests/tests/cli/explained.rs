//! `lazaret policy explain` says what happens: each call is explained and then made, and both end alike.

use lazaret_tests::saying;
use serde_json::json;

use crate::station::{Ended, Station};

const POLICY: &str = r#"
[mounts.out]
path = "out"
access = "create"
[mounts.notes]
path = "notes"
access = "write"
[grants."files.*"]
mounts = { out = "create", notes = "write" }
[[permissions]]
tools = "text.*"
surfaces = ["http"]
verdict = false
"#;

fn station() -> Station {
    let station = Station::new();
    let reads = json!({"effect": "read-only", "hosts": ["GET https://api.test/"]});
    station.write("odd.wasm", saying::component("odd", &reads, "1"));
    station.write("out/old.md", "");
    station.write("notes/old.md", "");
    station.write(
        "lazaret.toml",
        format!("{POLICY}[plugins]\nodd = \"odd.wasm\"\n"),
    );
    station.trust();
    station
}

/// Explains a call, makes it, and compares how both end.
fn agree(station: &Station, tool: &str, args: &str) -> Ended {
    let explained = station.run(&["policy", "explain", tool, args]);
    let called = station.run(&["call", tool, args, "--confirm"]);
    assert_eq!(
        explained.status == 0,
        called.status == 0,
        "{explained}\n{called}"
    );
    explained
}

#[test]
fn an_address_is_read_as_egress_reads_it() {
    let station = station();
    for url in [
        "https://evil.test/x",
        "HTTPS://evil.test/x",
        "hTTP://169.254.169.254/",
        "ftp://evil.test/",
        "https://u:p@evil.test/",
        "nonsense",
    ] {
        let args = json!({"url": url}).to_string();
        agree(&station, "web.get_page", &args)
            .ends(3)
            .prints(&["deny"]);
    }
}

#[test]
fn a_tool_that_wants_a_host_is_no_tool_that_looks_at_what_is_here() {
    let station = station();
    let args = json!({"url": "https://elsewhere.test/"}).to_string();
    station
        .run(&["policy", "explain", "odd.run", &args])
        .ends(3)
        .prints(&["network_read", "deny GET https://elsewhere.test/"]);
}

#[test]
fn a_file_is_judged_by_the_ways_in_which_it_may_be_written() {
    let station = station();
    let write = |path: &str, mode: &str| {
        let mut args = json!({"path": path, "content": "x"});
        if !mode.is_empty() {
            args["mode"] = mode.into();
        }
        agree(&station, "files.write", &args.to_string())
    };
    write("out/new.md", "create").ends(0);
    write("out/old.md", "replace")
        .ends(3)
        .prints(&["may be made anew and not changed"]);
    write("out/old.md", "append").ends(3);
    write("notes/new.md", "").ends(0);
    write("notes/old.md", "replace").ends(0);
    write("elsewhere/new.md", "").ends(3);
}

#[test]
fn lines_for_one_surface_are_seen_from_there() {
    let station = station();
    let explain = |more: &[&str]| {
        let explain = ["policy", "explain", "text.count", r#"{"text":"a"}"#];
        station.run(&[&explain[..], more].concat())
    };
    explain(&[]).ends(0);
    explain(&["--surface", "http"])
        .ends(3)
        .prints(&["Not authorized to perform this action"]);
    explain(&["--surface", "htp"])
        .ends(2)
        .says(&["cli, json, http"]);
}
