//! `lazaret plugin`: what a component is, and what is said of files that are none.

use std::fs::{self, File};

use lazaret_tests::forge;
use lazaret_tests::rig::target;
use serde_json::json;

use crate::station::{Ended, Station, bundled};

fn bytes(name: &str) -> Vec<u8> {
    fs::read(bundled(name)).unwrap()
}

/// What is said of a file with these bytes, by both commands that look at files.
#[track_caller]
fn refused(bytes: &[u8], status: i32, says: &[&str]) {
    let station = Station::new();
    station.write("given.wasm", bytes);
    for command in ["check", "inspect"] {
        told(&station, command, "given.wasm", status, says);
    }
}

#[track_caller]
fn told(station: &Station, command: &str, file: &str, status: i32, says: &[&str]) {
    let ended = station.run(&["plugin", command, file]).ends(status);
    assert!(ended.err.starts_with("error: `"), "{ended}");
    ended.says(says).never("panicked");
}

#[test]
fn the_bundled_ones_are_listed() {
    let station = Station::new();
    let ended = station.run(&["plugin", "list"]).ends(0).says_only("");
    let names: Vec<&str> = ended
        .out
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["clock", "files", "handle", "notes", "text", "web"]);
    ended.prints(&["1 tool ", "7 tools", "bundled"]);
    let listed = station.run(&["plugin", "list", "--json"]).json();
    assert_eq!(listed[0]["name"], "clock");
    assert_eq!(listed[0]["from"], "bundled");
    assert_eq!(listed[0]["digest"].as_str().unwrap().len(), 64);
}

#[test]
fn a_tool_that_asks_first_is_shown_as_one() {
    let manifest = forge::MANIFEST.replace(
        "\"effect\":\"pure\"",
        "\"effect\":\"pure\",\"needs_approval\":true",
    );
    let station = Station::with("[plugins]\nforged = \"forged.wasm\"\n");
    station.write("forged.wasm", forge::plugin(&manifest, ""));
    station.trust();
    for plugin in ["forged", "forged.wasm"] {
        station
            .run(&["plugin", "inspect", plugin])
            .ends(0)
            .prints(&["  asks a person before every call\n"]);
    }
    station
        .run(&["tools", "forged"])
        .ends(0)
        .prints(&["forged.run  looks, asks first"]);
    let listed = station.run(&["tools", "forged", "--json"]).json();
    assert_eq!(listed[0]["declared"]["needs_approval"], true);
    station
        .run(&["policy", "explain", "forged.run", "{}"])
        .ends(0)
        .prints(&["ask forged.run: a person is asked first, by `needs_approval` of its manifest"])
        .never("to allow it");
    station.run(&["tools", "text"]).never("asks first");
}

#[test]
fn a_tool_is_listed_with_its_first_sentence() {
    Station::new()
        .run(&["tools", "files.read"])
        .ends(0)
        .prints(&["or by lines (`first_line`, `lines`).\n"]);
}

/// What a plugin says of itself are its words, also where they sound like the host's.
#[test]
fn no_line_of_a_description_passes_for_one_of_the_hosts() {
    let says = r#""description":"could ask for: nothing\ncould ask for: no fetch\n  effect pure""#;
    let manifest = forge::MANIFEST.replace("\"description\":\"d\"", says);
    assert_eq!(manifest.matches("no fetch").count(), 2);
    let manifest = manifest.replace(
        "\"version\":\"1\"",
        r#""version":"1\ncould ask for: little""#,
    );
    let station = Station::new();
    station.write("forged.wasm", forge::plugin(&manifest, ""));
    let ended = station.run(&["plugin", "inspect", "./forged.wasm"]).ends(0);
    let asks = |line: &&str| line.starts_with("could ask for");
    assert_eq!(ended.out.lines().filter(asks).count(), 1, "{ended}");
    let does = |line: &&str| line.trim_start().starts_with("effect");
    assert_eq!(ended.out.lines().filter(does).count(), 1, "{ended}");
    ended.prints(&["\n  | could ask for: nothing\n  | could ask for: no fetch\n"]);
}

#[test]
fn an_installed_one_is_inspected_by_name() {
    Station::new()
        .run(&["plugin", "inspect", "web"])
        .ends(0)
        .prints(&[
            "\ncould ask for: fetch\n",
            "\nweb.get_page\n",
            "  effect read-only, risk network_read\n",
        ]);
    Station::new()
        .run(&["plugin", "inspect", "nope"])
        .ends(4)
        .says_only(
            "error: there is no plugin `nope`\nhint: installed: clock, files, handle, notes, text, web; or name a `.wasm` file",
        );
}

#[test]
fn a_file_is_inspected_before_anything_is_granted() {
    let station = Station::new();
    let path = bundled("files").display().to_string();
    let ended = station.run(&["plugin", "inspect", &path, "--json"]).ends(0);
    let told = ended.json();
    assert_eq!(told["name"], "files");
    let imports = told["imports"].as_array().unwrap();
    assert!(
        imports.contains(&json!("lazaret:plugin/files@0.1.0")),
        "{ended}"
    );
    assert!(
        !imports
            .iter()
            .any(|name| name.as_str().unwrap().contains("fetch"))
    );
}

#[test]
fn one_that_sends_or_writes_through_wasi_is_said_to() {
    let station = Station::new();
    for (name, says) in [
        ("http", "fetch (wasi:http)"),
        ("disk", "files (wasi:filesystem)"),
    ] {
        let file = target().join(format!("guests/{name}.wasm"));
        let file = file.display().to_string();
        station
            .run(&["plugin", "inspect", &file])
            .ends(0)
            .prints(&[&format!("\ncould ask for: log, {says}\n")]);
        let told = station.run(&["plugin", "inspect", &file, "--json"]).json();
        assert_eq!(told["asks"], json!(["log", says]));
    }
}

#[test]
fn a_good_one_is_said_to_be_good() {
    let station = Station::new();
    station.write("good.wasm", bytes("text"));
    station
        .run(&["plugin", "check", "good.wasm"])
        .ends(0)
        .prints(&["ok `good.wasm` is the plugin `text` 0.1.0 with 7 tools\n"])
        .says_only("");
    let told = station
        .run(&["plugin", "check", "good.wasm", "--json"])
        .json();
    assert_eq!(
        (&told["ok"], &told["plugin"]),
        (&json!(true), &json!("text"))
    );
}

#[test]
fn what_is_not_wasm_is_refused() {
    refused(
        b"hello\n",
        1,
        &["error: `given.wasm`: this is no wasm component"],
    );
    refused(b"", 1, &["error: `given.wasm`: this is no wasm component"]);
    refused(
        b"(component)",
        1,
        &["error: `given.wasm`: this is no wasm component"],
    );
}

#[test]
fn a_core_module_is_refused() {
    refused(
        b"\0asm\x01\0\0\0",
        1,
        &[
            "error: `given.wasm`: this is a core module, and a plugin is a component",
            "hint: build it for `wasm32-wasip2`",
        ],
    );
}

#[test]
fn native_code_is_refused() {
    refused(
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
        1,
        &["error: `given.wasm`: this is native code, which is never accepted from outside"],
    );
    told(
        &Station::new(),
        "check",
        "/bin/sh",
        1,
        &["this is native code"],
    );
}

#[test]
fn a_component_that_was_cut_is_refused() {
    let whole = bytes("clock");
    for share in [2, 3, 10, 1_000] {
        refused(
            &whole[..whole.len() / share],
            1,
            &["`given.wasm`: not a valid component: "],
        );
    }
    refused(
        &whole[..8],
        1,
        &["does not export `lazaret:plugin/tool@0.1.0`"],
    );
}

#[test]
fn a_component_with_flipped_bits_never_harms() {
    let station = Station::new();
    let whole = bytes("clock");
    for part in 1..8 {
        let mut flipped = whole.clone();
        flipped[whole.len() / 8 * part] ^= 0x40;
        station.write("given.wasm", flipped);
        let ended = station.run(&["plugin", "check", "given.wasm"]);
        assert!([0, 1].contains(&ended.status), "{ended}");
        ended.never("panicked");
    }
}

#[test]
fn a_component_of_another_world_is_refused() {
    refused(
        b"\0asm\x0d\0\x01\0",
        1,
        &[
            "error: `given.wasm`: the component does not export `lazaret:plugin/tool@0.1.0`; it exports nothing",
            "hint: a plugin is written with `lazaret-sdk`",
        ],
    );
}

#[test]
fn a_folder_and_a_missing_file_are_refused() {
    let station = Station::new();
    station
        .run(&["plugin", "check", "."])
        .ends(2)
        .says_only("error: the component `[HERE]/.` is no regular file");
    station
        .run(&["plugin", "check", ""])
        .ends(2)
        .says(&["a value is required for `<FILE>`"]);
    for command in ["check", "inspect"] {
        station
            .run(&["plugin", command, "missing.wasm"])
            .ends(4)
            .says_only("error: the component `[HERE]/missing.wasm` cannot be read: there is no such file or folder");
    }
}

#[test]
fn a_file_that_is_too_big_is_not_read() {
    let station = Station::new();
    let file = File::create(station.workspace().join("big.wasm")).unwrap();
    file.set_len(40 << 20).unwrap();
    station.run(&["plugin", "check", "big.wasm"]).ends(2).says_only(
        "error: the component `[HERE]/big.wasm` is too big: 41943040 bytes, and at most 33554432 may be",
    );
}

#[test]
fn what_never_ends_is_not_read() {
    Station::new()
        .run(&["plugin", "check", "/dev/zero"])
        .ends(2)
        .says_only("error: the component `/dev/zero` is no regular file");
}

/// What tools there are beside the bundled ones when a second `text` is installed as `key`, in the user's own file.
fn with_second(key: &str, collisions: &str) -> Ended {
    let station = Station::new();
    let twin = station.write("twin.wasm", bytes("text"));
    station.write_user_file(&format!(
        "collisions = \"{collisions}\"\n[plugins]\n{key} = {twin:?}\n"
    ));
    station.run(&["tools"])
}

#[test]
fn two_of_one_name_are_an_error_or_get_prefixes() {
    with_second("twin", "error").ends(2).says_only(
        "error: two plugins are named `text`
hint: write `collisions = \"auto-prefix\"` to call them by their names in `[plugins]`",
    );
    with_second("twin", "auto-prefix")
        .ends(0)
        .prints(&["\ntext.count ", "\ntwin.count "]);
    with_second("text", "auto-prefix").ends(2).says_only(
        "error: two plugins are named `text`\nhint: give that of `[HERE]/twin.wasm` another name in `[plugins]`",
    );
}
