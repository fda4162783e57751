//! What `lazaret serve` does with what it should not be sent (row 113 of the attacks, and A-33).

use std::io::{Read, Write};
use std::net::TcpStream;

use lazaret_tests::client::rest_of;
use lazaret_tests::wait::found;
use serde_json::{Value, json};

use crate::serve::counting;
use crate::serving::Serving;
use crate::station::Station;

/// A page on the internet that points its own name at this machine is not spoken to.
#[test]
fn another_name_is_refused_before_the_token_is_looked_at() {
    let station = Station::new();
    let server = Serving::start(&station);
    let token = format!("Bearer {}", server.token);
    for host in [
        "evil.example",
        "evil.example:7420",
        "localhost.evil.example",
        "10.0.0.1",
    ] {
        for path in ["/v1/tools", "/", "/healthz", "/nowhere"] {
            let headers = [("host", host), ("authorization", token.as_str())];
            server
                .bare("GET", path, &headers, "")
                .fails(403, "AUTHORIZATION_ERROR");
        }
    }
    let absolute = format!(
        "GET http://evil.example/v1/tools HTTP/1.1\r\nhost: localhost\r\nauthorization: {token}\r\nconnection: close\r\n\r\n"
    );
    server
        .raw(absolute.as_bytes())
        .fails(403, "AUTHORIZATION_ERROR");
    let none =
        format!("GET /v1/tools HTTP/1.1\r\nauthorization: {token}\r\nconnection: close\r\n\r\n");
    assert_eq!(server.raw(none.as_bytes()).status, 400);
    let two = [
        ("host", "localhost"),
        ("host", "evil.example"),
        ("authorization", &token),
    ];
    assert_eq!(server.bare("GET", "/v1/tools", &two, "").status, 400);
}

#[test]
fn a_page_of_another_server_may_not_ask() {
    let station = Station::new();
    let server = Serving::start(&station);
    let own = format!("http://{}", server.address);
    server
        .send("GET", "/v1/tools", &[("origin", &own)], "")
        .is(200);
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://localhost",
    ] {
        for (method, path) in [
            ("GET", "/v1/tools"),
            ("POST", "/v1/runs"),
            ("OPTIONS", "/v1/runs"),
        ] {
            let told = server.send(method, path, &[("origin", origin)], "");
            told.fails(403, "AUTHORIZATION_ERROR");
            assert_eq!(told.header("access-control-allow-origin"), None);
        }
    }
    let site = [("sec-fetch-site", "cross-site")];
    server
        .send("GET", "/v1/tools", &site, "")
        .fails(403, "AUTHORIZATION_ERROR");
}

#[test]
fn nobody_comes_in_without_the_token_and_whoever_guesses_is_slowed_down() {
    let station = Station::with("[serve]\nfailures_per_minute = 4\n");
    let server = Serving::start(&station);
    let host = ("host", server.address.as_str());
    let knock = |said: &str| server.bare("GET", "/v1/runs", &[host, ("authorization", said)], "");
    let told = server.bare("GET", "/v1/tools", &[host], "");
    told.fails(401, "AUTHENTICATION_ERROR");
    assert_eq!(told.header("www-authenticate"), Some("Bearer"));
    // Whoever is turned away has no connection to keep, whatever it says of that.
    let stays = format!("GET /v1/tools HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    let told = server.raw(stays.as_bytes());
    assert_eq!(told.header("connection"), Some("close"));
    let almost = format!("Bearer {}", &server.token[..server.token.len() - 1]);
    knock(&almost).fails(401, "AUTHENTICATION_ERROR");
    knock(&format!("Basic {}", server.token)).fails(401, "AUTHENTICATION_ERROR");
    let told = knock("Bearer guess");
    told.fails(429, "RATE_LIMITED");
    let after: u64 = told
        .header("retry-after")
        .expect("a time")
        .parse()
        .expect("seconds");
    assert!((1..=61).contains(&after), "{after}");
    // Neither in the address, nor in a body.
    let path = format!("/v1/tools?token={}", server.token);
    assert_eq!(server.bare("GET", &path, &[host], "").status, 429);
    server.get("/v1/tools").is(200);
    // Nobody learns which addresses there are.
    assert_eq!(server.bare("GET", "/nowhere", &[host], "").status, 429);
}

#[test]
fn requests_are_counted() {
    let station = Station::with("[serve]\nrequests_per_minute = 2\n");
    let server = Serving::start(&station);
    let statuses = [1, 2, 3].map(|_| server.get("/v1/questions").status);
    assert_eq!(statuses, [200, 200, 429]);
    server.get("/healthz").is(200);
}

#[test]
fn what_is_no_request_of_ours_is_said_in_an_envelope() {
    let station = Station::new();
    let server = Serving::start(&station);
    server.get("/nowhere").fails(404, "NOT_FOUND");
    server.get("/v1/tools/%ff").fails(400, "VALIDATION_ERROR");
    server
        .get(&format!("/v1/runs/{}", "a".repeat(300)))
        .fails(413, "VALIDATION_ERROR");
    server
        .get("/v1/runs?limit=0")
        .fails(400, "VALIDATION_ERROR");
    server
        .get("/v1/runs?limit=x")
        .fails(400, "VALIDATION_ERROR");
    server
        .get("/v1/runs?user=root")
        .fails(400, "VALIDATION_ERROR");
    for (method, path, allowed) in [
        ("DELETE", "/v1/runs", "GET,HEAD,POST"),
        ("GET", "/v1/scripts", "POST"),
        ("PUT", "/v1/tools", "GET,HEAD"),
        ("POST", "/", "GET,HEAD"),
        ("PUT", "/mcp", "GET,POST,DELETE"),
    ] {
        let answer = server.send(method, path, &[], "");
        assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
        let error = answer.fails(405, "VALIDATION_ERROR");
        let said = error["message"].as_str().unwrap_or_default();
        assert!(said.contains(&format!("`{method}`")), "{said}");
    }
}

#[test]
fn a_body_is_json_of_one_form_and_no_longer_than_it_may_be() {
    let station = Station::new();
    let server = Serving::start(&station);
    let path = "/v1/tools/text.count/call";
    let send = |kind: &str, body: &str| server.send("POST", path, &[("content-type", kind)], body);
    let json = "application/json";
    let good = json!({"input": {"text": "a"}}).to_string();
    send("text/plain", &good).fails(415, "VALIDATION_ERROR");
    server
        .send("POST", path, &[], &good)
        .fails(415, "VALIDATION_ERROR");
    send("application/json; charset=utf-8", &good).is(200);
    let deep = "[".repeat(50_000);
    for body in [
        "",
        "{",
        "[]",
        "nope",
        "{\"input\":{},\"input\":{}}",
        "{\"input\":[]}",
        "{\"input\":{},\"user\":\"root\"}",
        "{\"input\":{},\"auth\":{\"role\":\"admin\"}}",
        "{\"input\":{},\"timeoutMs\":0}",
        "{\"input\":{},\"timeoutMs\":\"1\"}",
        "{\"input\":{},\"idempotencyKey\":\"\"}",
        &deep,
    ] {
        send(json, body).fails(400, "VALIDATION_ERROR");
    }
    let big = json!({"input": {"text": "a".repeat(1 << 20)}}).to_string();
    send(json, &big).fails(413, "VALIDATION_ERROR");
    // Of one that says nothing of its length no more is read than may be.
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: {json}\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        server.address, server.token
    );
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    let flood = format!("{head}{}", chunk.repeat(40));
    server.raw(flood.as_bytes()).fails(413, "VALIDATION_ERROR");
    let broken = format!("{head}zz\r\n");
    assert_eq!(server.raw(broken.as_bytes()).status, 400);
}

#[test]
fn what_is_sent_too_slowly_is_not_waited_for() {
    let station = Station::with("[serve]\nbody_ms = 2000\nhead_ms = 2000\n");
    let server = Serving::start(&station);
    let slow = format!(
        "POST /v1/scripts HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: 100\r\n\r\n{{",
        server.address, server.token
    );
    let accepts = "accept: application/json, text/event-stream\r\ncontent-length";
    let mcp = slow
        .replace("/v1/scripts", "/mcp")
        .replace("content-length", accepts);
    // A head that never ends: the connection does.
    let mut stream = server.connect();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: ")
        .expect("a beginning");
    // Each is slow by itself, and all of them at once.
    let client = &*server;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let told = client.raw(slow.as_bytes());
            told.fails(408, "VALIDATION_ERROR");
        });
        scope.spawn(|| assert_eq!(client.raw(mcp.as_bytes()).status, 408));
        rest_of(stream);
    });
    server.get("/healthz").is(200);
}

/// A client that asks and never reads loses its place, also one that has the token.
#[test]
fn whoever_does_not_read_has_no_seat_to_keep() {
    let station = Station::with("[serve]\nconnections = 1\nwrite_ms = 300\n");
    let server = Serving::start(&station);
    let ask = format!(
        "GET /openapi.json HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    );
    let mut stream = server.connect();
    // More than the system keeps for a client that is slow, and fewer than are counted.
    stream
        .write_all(ask.repeat(1_000).as_bytes())
        .expect("it takes them");
    server.get("/healthz").is(200);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let told = String::from_utf8_lossy(&all).matches("HTTP/1.1 ").count();
    assert!((1..1_000).contains(&told), "{told}");
}

/// Asks on a connection that stays, and reads the answer.
fn asked(stream: &mut TcpStream, head: &str) -> String {
    let ask = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{head}\r\n");
    stream.write_all(ask.as_bytes()).expect("it takes it");
    let (mut all, mut some) = (Vec::new(), [0; 4_096]);
    while !all.ends_with(b"}") {
        let read = stream.read(&mut some).expect("an answer");
        assert!(read > 0, "it was closed");
        all.extend_from_slice(&some[..read]);
    }
    String::from_utf8(all).expect("text")
}

/// All seats are taken, most of them by whoever has no token and never goes: those make room, the first of them first.
#[test]
fn whoever_brings_no_token_keeps_nobody_out_who_does() {
    let station = Station::with("[serve]\nconnections = 3\nhead_ms = 600000\n");
    let server = Serving::start(&station);
    let token = format!("authorization: Bearer {}\r\n", server.token);
    let mut known = server.connect();
    asked(&mut known, &token);
    let [mut first, mut second] = [server.connect(), server.connect()];
    for stranger in [&mut first, &mut second] {
        asked(stranger, "");
    }
    // Half a head more, and nothing after it.
    first
        .write_all(b"GET / HTTP/1.1\r\nhost: ")
        .expect("it takes it");
    server.get("/v1/tools").is(200);
    rest_of(first);
    // Nobody else had to go.
    asked(&mut second, "");
    asked(&mut known, "");
    // More than there are seats, and each of them without a word.
    let silent: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    server.get("/v1/tools").is(200);
    drop(silent);
    asked(&mut known, "");
}

#[test]
fn bytes_that_are_no_http_are_no_harm() {
    let station = Station::new();
    let server = Serving::start(&station);
    let long = format!(
        "GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "a".repeat(100_000)
    );
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(1_000));
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        long.as_bytes(),
        many.as_bytes(),
    ] {
        let status = server.raw(bytes).status;
        assert!(status == 0 || (400..=431).contains(&status), "{status}");
    }
    server.get("/healthz").is(200);
}

/// A name of a run tells nothing and opens nothing: whoever has the token is its user, and nobody else comes in.
#[test]
fn names_of_runs_cannot_be_guessed_at_a_profit() {
    let station = counting("ask = [\"text.count\"]");
    let server = Serving::start(&station);
    let run = server
        .post("/v1/runs", &json!({"prompt": "Count."}))
        .is(201)["run"]
        .clone();
    let run = run.as_str().expect("a name");
    server.events(run, None).last().expect("an end");
    let stranger = lazaret_tests::client::Client {
        token: "laz_guess".to_owned(),
        ..(*server).clone()
    };
    for path in ["", "/flow", "/events"] {
        stranger
            .get(&format!("/v1/runs/{run}{path}"))
            .fails(401, "AUTHENTICATION_ERROR");
        server
            .get(&format!("/v1/runs/20990101-000000-00000000{path}"))
            .fails(404, "NOT_FOUND");
        server
            .get(&format!("/v1/runs/..%2f..%2fetc{path}"))
            .fails(404, "NOT_FOUND");
    }
    for path in ["cancel", "resume"] {
        stranger
            .post(&format!("/v1/runs/{run}/{path}"), &json!({}))
            .fails(401, "AUTHENTICATION_ERROR");
        server
            .post(&format!("/v1/runs/nowhere/{path}"), &json!({}))
            .fails(404, "NOT_FOUND");
    }
    // A request that is sent again does nothing again.
    let id = server.get("/v1/questions").is(200)["questions"][0]["question"].clone();
    let path = format!("/v1/questions/{}", id.as_str().expect("a name"));
    stranger
        .post(&path, &json!({"answer": "allow"}))
        .fails(401, "AUTHENTICATION_ERROR");
    server.post(&path, &json!({"answer": "allow"})).is(200);
    server
        .post(&path, &json!({"answer": "allow"}))
        .fails(409, "CONFLICT");
    server.get(&path).fails(409, "CONFLICT");
}

#[test]
fn no_more_begins_than_may_be_at_once() {
    let station = Station::with("[serve]\nruns = 1\nwatchers = 1\n");
    let server = Serving::start(&station);
    let slow = json!({"source": "await new Promise(done => setTimeout(done, 60000))"}).to_string();
    let head = format!(
        "POST /v1/scripts HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{slow}",
        server.address,
        server.token,
        slow.len()
    );
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).expect("a request");
    let run = found("the script begins", || {
        let runs = server.get("/v1/runs").is(200)["runs"].clone();
        runs[0]["run"].as_str().map(str::to_owned)
    });
    let told = server.call("text.count", json!({"text": "a"}));
    let error = told.fails(429, "CONCURRENCY_LIMIT");
    assert_eq!(
        (&error["retryable"], told.header("retry-after")),
        (&Value::Bool(true), Some("1"))
    );
    let mut events = server.events(&run, None);
    events.next().expect("a record");
    server
        .get(&format!("/v1/runs/{run}/events"))
        .fails(429, "CONCURRENCY_LIMIT");
    let told = server
        .post(&format!("/v1/runs/{run}/cancel"), &json!({}))
        .is(200);
    assert_eq!(told["state"], "paused", "a script that is stopped is left");
    server.call("text.count", json!({"text": "a"})).is(200);
}

/// What a tool or a model says cannot steer a terminal that prints an answer, and the token is in no record.
#[test]
fn answers_are_inert_and_hold_no_token() {
    let station = Station::new();
    let server = Serving::start(&station);
    let told = server.post(
        "/v1/scripts",
        &json!({"source": "return '\\u202e\\u009b2J' + String.fromCharCode(27)"}),
    );
    assert_eq!(told.is(200)["data"], "\u{202e}\u{9b}2J\u{1b}");
    assert!(told.body.is_ascii(), "{}", told.body);
    let all = station.run(&["runs", "show", "last", "--json"]).ends(0);
    assert!(!all.out.contains(&server.token));
}
