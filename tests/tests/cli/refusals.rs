//! Failures as programs read them, over HTTP and MCP: `tests/golden/refusals.txt`, to be read aloud. What the server itself
//! has done wrong cannot be asked for here: `http::answer` and `mcp::session` show it.

use std::fmt::Write as _;

use lazaret_tests::client::Told;
use lazaret_tests::golden::assert_golden;
use lazaret_tests::saying;
use regex::Regex;
use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{Answer, Server};
use crate::serving::Serving;
use crate::station::{Station, hostile};

/// What a head says of a failure beside its body.
const TOLD: [&str; 3] = ["allow", "retry-after", "www-authenticate"];

/// All failures so far, as text.
struct Shown<'a> {
    text: String,
    station: &'a Station,
}

impl Shown<'_> {
    /// One over HTTP, which has this status.
    #[track_caller]
    fn http(&mut self, what: &str, status: u16, told: &Told) {
        let body = told.is(status);
        let said = told
            .headers
            .iter()
            .filter(|(name, _)| TOLD.contains(&name.as_str()));
        let mut head = String::new();
        for (name, value) in said {
            let value = if name == "retry-after" {
                "[SECONDS]"
            } else {
                value
            };
            writeln!(head, "{name}: {value}").expect("text");
        }
        self.add(
            &format!("HTTP {status}: {what}"),
            &format!("{head}{}", steady(&body)),
        );
    }

    /// One over MCP: an error of the protocol with this number.
    #[track_caller]
    fn protocol(&mut self, what: &str, number: i64, message: &Value) {
        assert_eq!(message["error"]["code"], number, "{message}");
        self.add(&format!("MCP {number}: {what}"), &steady(message));
    }

    fn add(&mut self, head: &str, text: &str) {
        let text = self.station.plain(text);
        writeln!(self.text, "== {head}\n{text}\n").expect("text");
    }
}

/// Without what differs from run to run: names, times, ports.
fn steady(value: &Value) -> String {
    let mut value = value.clone();
    settle(&mut value);
    let mut text = serde_json::to_string_pretty(&value).expect("JSON");
    for (pattern, name) in [
        (
            r"lazaret ask (allow|deny|show) [0-9a-f]+",
            "lazaret ask $1 [QUESTION]",
        ),
        (r"`[0-9a-f]{12,}`", "`[QUESTION]`"),
        (r"untrusted text [0-9a-f]{16}", "untrusted text [NONCE]"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
    ] {
        let pattern = Regex::new(pattern).expect("an expression");
        text = pattern.replace_all(&text, name).into_owned();
    }
    text
}

fn settle(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "usage" | "durationMs" | "at" | "time" => *value = "_".into(),
                    // It is shown elsewhere, field for field.
                    "questions" => *value = "[…]".into(),
                    _ => settle(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Somebody elsewhere who says nothing, and tools that fail in each way.
fn station(server: &Server) -> Station {
    let station = Station::new();
    let mut config = format!(
        "ask = [\"text.diff\"]\n[grants.\"files.remove\"]\n[grants.\"web.get_page\"]\nfetch = [{{ url = \"{}/\", private = true }}]\n\
         [plugins]\nhostile = {:?}\nwrong = \"wrong.wasm\"\n",
        server.url(),
        hostile()
    );
    for (name, code) in [
        ("torn", "CONFLICT"),
        ("unsafe", "UNSAFE_ACTION"),
        ("shut", "AUTHENTICATION_ERROR"),
        ("slow", "RATE_LIMITED"),
    ] {
        let says = saying::failing(name, &json!({}), false, &json!({"code": code}));
        station.write(&format!("{name}.wasm"), says);
        writeln!(config, "{name} = \"{name}.wasm\"").expect("text");
    }
    let text = json!({"output": {"type": "string"}});
    station.write("wrong.wasm", saying::component("wrong", &text, "3"));
    station.write("lazaret.toml", config);
    station.trust();
    station
}

/// Whoever is not let in, and what is no request of ours.
fn at_the_door(shown: &mut Shown<'_>, serving: &Serving<'_>) {
    let (token, json) = (
        format!("Bearer {}", serving.token),
        ("content-type", "application/json"),
    );
    let host = ("host", serving.address.as_str());
    shown.http(
        "no token",
        401,
        &serving.bare("GET", "/v1/tools", &[host], ""),
    );
    shown.http(
        "no token, of a client that knows chat completions",
        401,
        &serving.bare("GET", "/v1/models", &[host], ""),
    );
    let other = [("host", "evil.example"), ("authorization", token.as_str())];
    shown.http(
        "another name of this machine",
        403,
        &serving.bare("GET", "/v1/tools", &other, ""),
    );
    let origin = [("origin", "http://evil.example")];
    shown.http(
        "a page of another server",
        403,
        &serving.send("GET", "/v1/tools", &origin, ""),
    );
    shown.http("no address of ours", 404, &serving.get("/nowhere"));
    shown.http(
        "no run",
        404,
        &serving.get("/v1/runs/20200101-000000-000000000000"),
    );
    shown.http(
        "another method",
        405,
        &serving.send("DELETE", "/v1/runs", &[], ""),
    );
    let path = "/v1/tools/text.count/call";
    shown.http("no JSON", 400, &serving.send("POST", path, &[json], "{"));
    shown.http(
        "a field that nobody knows",
        400,
        &serving.post(path, &json!({"user": "root"})),
    );
    shown.http(
        "a query that does not fit",
        400,
        &serving.get("/v1/runs?limit=0"),
    );
    shown.http(
        "another kind of body",
        415,
        &serving.send("POST", path, &[("content-type", "text/plain")], "{}"),
    );
    let big = json!({"input": {"text": "a".repeat(1 << 20)}});
    shown.http("a body that is too big", 413, &serving.post(path, &big));
}

/// What becomes of calls.
fn of_calls(shown: &mut Shown<'_>, serving: &Serving<'_>) {
    let call = |tool: &str| serving.call(tool, json!({}));
    shown.http(
        "arguments that do not fit",
        400,
        &serving.call("text.count", json!({"text": 1})),
    );
    shown.http("a tool that is not there", 404, &call("text.cuont"));
    shown.http(
        "a call that is not granted",
        403,
        &serving.call("web.get_json", json!({"url": "https://example.com/"})),
    );
    shown.http(
        "a call to be confirmed",
        409,
        &serving.call("files.remove", json!({"path": "a"})),
    );
    shown.http(
        "a call that a person is asked about",
        202,
        &serving.call("text.diff", json!({"old": "a", "new": "b"})),
    );
    shown.http("a tool that wants to be signed in", 401, &call("shut.run"));
    shown.http(
        "a tool that refuses what is not safe",
        403,
        &call("unsafe.run"),
    );
    shown.http(
        "a tool that finds something else there",
        409,
        &call("torn.run"),
    );
    shown.http("a tool that was asked too often", 429, &call("slow.run"));
    shown.http("a tool that traps", 500, &call("hostile.traps"));
    shown.http(
        "a tool that returns what it did not promise",
        500,
        &call("wrong.run"),
    );
    let late = json!({"input": {}, "timeoutMs": 50});
    shown.http(
        "a tool that does not end",
        504,
        &serving.post("/v1/tools/hostile.sleep/call", &late),
    );
}

/// A call of somebody elsewhere: one that speaks no HTTP, and one that says nothing until the call is ended.
fn of_others(shown: &mut Shown<'_>, serving: &Serving<'_>, server: &Server) {
    let once = json!({"input": {"url": server.url()}, "retries": 0});
    let page = || serving.post("/v1/tools/web.get_page/call", &once);
    shown.http("a server that speaks something else", 502, &page());
    server.wait();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(page);
        server.wait();
        let runs = serving.get("/v1/runs").is(200)["runs"].clone();
        let mut runs = runs.as_array().expect("runs").iter();
        let running = runs
            .find(|run| run["state"] == "running")
            .expect("one that waits");
        let cancel = format!(
            "/v1/runs/{}/cancel",
            running["run"].as_str().expect("a name")
        );
        serving.post(&cancel, &json!({})).is(200);
        shown.http(
            "a call that was cancelled",
            499,
            &waiting.join().expect("an answer"),
        );
    });
}

/// Too much, and too slowly: servers of their own, since what they allow is little.
fn of_bounds(shown: &mut Shown<'_>) {
    let station = Station::with("[serve]\nrequests_per_minute = 1\nfailures_per_minute = 1\n");
    let serving = Serving::start(&station);
    let wrong = [
        ("host", serving.address.as_str()),
        ("authorization", "Bearer guess"),
    ];
    let guess = || serving.bare("GET", "/v1/runs", &wrong, "");
    guess();
    shown.http("tokens that are guessed", 429, &guess());
    serving.get("/v1/runs");
    shown.http("too many requests", 429, &serving.get("/v1/runs"));
    let station = Station::with("[serve]\nbody_ms = 200\n");
    let serving = Serving::start(&station);
    let slow = format!(
        "POST /v1/scripts HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: 100\r\n\r\n{{",
        serving.address, serving.token
    );
    shown.http(
        "a body that does not arrive",
        408,
        &serving.raw(slow.as_bytes()),
    );
}

/// What a client of MCP is told where the protocol has no place for an envelope; and an envelope, where it has.
fn over_mcp(shown: &mut Shown<'_>, station: &Station) {
    let mut client = Client::start(station);
    let mut sends = |bytes: &[u8]| {
        client.send(bytes);
        client.until(|message| message.get("error").is_some())
    };
    shown.protocol("no JSON", -32700, &sends(b"{nope\n"));
    shown.protocol("no message", -32600, &sends(b"[]\n"));
    let asked = client.ask("prompts/get", json!({"name": "x"}));
    shown.protocol("a method that is not there", -32601, &asked);
    let asked = client.ask("tools/call", json!({"arguments": {}}));
    shown.protocol("parameters that do not fit", -32602, &asked);
    let asked = client.ask(
        "tools/call",
        json!({"name": "text__cuont", "arguments": {}}),
    );
    shown.protocol("a tool that is not there", -32602, &asked);
    let asked = client.ask("tools/list", json!({"cursor": "nowhere"}));
    shown.protocol("a page that is not there", -32602, &asked);
    for (what, tool, args) in [
        (
            "arguments that do not fit",
            "text__count",
            json!({"text": 1}),
        ),
        (
            "a call that is not granted",
            "web__get_json",
            json!({"url": "https://example.com/"}),
        ),
        (
            "a call to be confirmed",
            "files__remove",
            json!({"path": "a"}),
        ),
        ("a tool that fails", "torn__run", json!({})),
    ] {
        let outcome = client.call(tool, args);
        assert_eq!(outcome["isError"], true, "{outcome}");
        shown.add(&format!("MCP isError: {what}"), &steady(&outcome));
    }
    client.end().ends(0);
}

#[test]
fn every_failure_reads_as_it_did_to_a_program() {
    let server = Server::start(vec![
        Answer::Bytes("no HTTP\r\n\r\n".to_owned()),
        Answer::Silence(String::new()),
    ]);
    let station = station(&server);
    let serving = Serving::start(&station);
    let mut shown = Shown {
        text: String::new(),
        station: &station,
    };
    at_the_door(&mut shown, &serving);
    of_calls(&mut shown, &serving);
    of_others(&mut shown, &serving, &server);
    of_bounds(&mut shown);
    over_mcp(&mut shown, &station);
    assert!(shown.text.contains("\"kind\": \"cancelled\""));
    assert_golden("refusals", &shown.text);
}
