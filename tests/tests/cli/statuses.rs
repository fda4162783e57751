//! The exit status of each kind of end (rows A-30 and A-30a), by a process each; 5 of a server that is not there, 124, 130
//! and 1 of a tool that works too much stand in `stop.rs`, 75 in `questions.rs`.

use lazaret_tests::saying;
use serde_json::json;

use crate::server::{Answer, Server};
use crate::serving::Serving;
use crate::station::{Ended, Station, hostile};

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
        ("VALIDATION_ERROR", 2),
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

/// Row A-33: over HTTP, by what tools say of themselves.
#[test]
fn over_http_the_status_says_what_kind_of_end_it_was() {
    let said = |code: &str| match code {
        "" => json!({}),
        code => json!({ "code": code }),
    };
    let ends = [
        ("VALIDATION_ERROR", 400),
        ("AUTHENTICATION_ERROR", 401),
        ("UNSAFE_ACTION", 403),
        ("CONFLICT", 409),
        ("RATE_LIMITED", 429),
        ("CONCURRENCY_LIMIT", 429),
        ("EXTERNAL_SERVICE_ERROR", 502),
        ("", 500),
    ];
    let station = Station::new();
    let mut config = "[plugins]\nwrong = \"wrong.wasm\"\n".to_owned();
    for (place, (code, _)) in ends.iter().enumerate() {
        let name = format!("odd{place}");
        let component = saying::failing(&name, &json!({}), false, &said(code));
        station.write(&format!("{name}.wasm"), component);
        config.push_str(&format!("{name} = \"{name}.wasm\"\n"));
    }
    let text = json!({"output": {"type": "string"}});
    station.write("wrong.wasm", saying::component("wrong", &text, "3"));
    station.write("lazaret.toml", &config);
    station.trust();
    let serving = Serving::start(&station);
    let call = |tool: &str| serving.call(tool, json!({}));
    for (place, (code, status)) in ends.iter().enumerate() {
        let expected = if code.is_empty() {
            "INTERNAL_ERROR"
        } else {
            code
        };
        call(&format!("odd{place}.run")).fails(*status, expected);
    }
    call("wrong.run").fails(500, "OUTPUT_VALIDATION_ERROR");
    call("text.nope").fails(404, "ACTION_NOT_FOUND");
}

/// The same, by what happens to a call.
#[test]
fn over_http_the_status_says_what_happened() {
    let server = Server::start(vec![
        Answer::Bytes("no HTTP\r\n\r\n".to_owned()),
        Answer::Silence(String::new()),
    ]);
    let station = Station::new();
    let config = format!(
        "[plugins]\nhostile = {:?}\n[grants.\"web.get_page\"]\nfetch = [{{ url = \"{}/\", private = true }}]\n",
        hostile(),
        server.url()
    );
    station.write("lazaret.toml", &config);
    station.trust();
    let serving = Serving::start(&station);
    serving
        .call("hostile.traps", json!({}))
        .fails(500, "INTERNAL_ERROR");
    let late = json!({"input": {}, "timeoutMs": 50});
    serving
        .post("/v1/tools/hostile.sleep/call", &late)
        .fails(504, "TIMEOUT");
    let once = json!({"input": {"url": server.url()}, "retries": 0});
    let page = || serving.post("/v1/tools/web.get_page/call", &once);
    page().fails(502, "EXTERNAL_SERVICE_ERROR");
    server.wait();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(page);
        server.wait();
        let runs = serving.get("/v1/runs").is(200)["runs"].clone();
        let mut runs = runs.as_array().expect("runs").iter();
        let running = runs.find(|run| run["state"] == "running");
        let run = running.expect("one that waits")["run"].clone();
        let cancel = format!("/v1/runs/{}/cancel", run.as_str().expect("a name"));
        serving.post(&cancel, &json!({})).is(200);
        waiting.join().expect("an answer").fails(499, "CANCELLED");
    });
}
