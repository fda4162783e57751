//! The exit status of each kind of end (rows A-30 and A-30a), by a process each; 5 of a server that is not there, 124, 130
//! and 1 of a tool that works too much stand in `stop.rs`, 75 in `questions.rs`.

use lazaret_tests::saying;
use serde_json::json;

use crate::station::{Ended, Station};

fn ends(ended: Ended, status: i32, code: &str) {
    let envelope = ended.json();
    assert_eq!(envelope["error"]["code"], code, "{ended}");
    ended.ends(status);
}

#[test]
fn success_is_0() {
    let ended = Station::new().run(&["call", "text.count", r#"{"text":"a"}"#, "--json"]);
    ended.ends(0);
}

#[test]
fn wrong_input_and_wrong_output_are_2() {
    let station = Station::new();
    ends(
        station.run(&["call", "text.count", "{}", "--json"]),
        2,
        "VALIDATION_ERROR",
    );
    for (says, code) in [
        ("3", "OUTPUT_VALIDATION_ERROR"),
        ("no json", "OUTPUT_SERIALIZATION_ERROR"),
        ("NaN", "OUTPUT_SERIALIZATION_ERROR"),
    ] {
        let more = json!({"output": {"type": "string"}});
        ends(call_of(&saying::component("odd", &more, says)), 2, code);
    }
}

/// What comes of calling a component's only tool.
fn call_of(component: &[u8]) -> Ended {
    let station = Station::new();
    station.write("odd.wasm", component);
    station.write("lazaret.toml", "[plugins]\nodd = \"odd.wasm\"");
    station.trust();
    station.run(&["call", "odd.run", "{}", "--json"])
}

#[test]
fn what_a_tool_says_of_its_failure_decides() {
    for (code, status) in [
        ("AUTHENTICATION_ERROR", 3),
        ("RATE_LIMITED", 5),
        ("CONCURRENCY_LIMIT", 5),
        ("EXTERNAL_SERVICE_ERROR", 5),
        ("CONFLICT", 1),
        ("UNSAFE_ACTION", 1),
    ] {
        let component = saying::failing("odd", &json!({}), false, &json!({"code": code}));
        ends(call_of(&component), status, code);
    }
    let component = saying::failing("odd", &json!({}), false, &json!({}));
    ends(call_of(&component), 1, "INTERNAL_ERROR");
}

#[test]
fn what_is_not_allowed_or_not_confirmed_is_3() {
    let remove = ["call", "files.remove", r#"{"path":"a"}"#, "--json"];
    ends(Station::new().run(&remove), 3, "CONFIRMATION_REQUIRED");
    let confirmed = [&remove[..], &["--confirm"]].concat();
    ends(Station::new().run(&confirmed), 3, "AUTHORIZATION_ERROR");
}

#[test]
fn what_is_not_there_is_4() {
    let station = Station::new();
    ends(
        station.run(&["call", "text.nope", "--json"]),
        4,
        "ACTION_NOT_FOUND",
    );
    let more = json!({"surfaces": ["mcp"]});
    ends(
        call_of(&saying::component("odd", &more, "1")),
        4,
        "UNSUPPORTED_SURFACE",
    );
}
