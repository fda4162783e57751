//! `lazaret mcp --listen`: clients of MCP over HTTP, and who is not let in.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use lazaret_tests::client::rest_of;
use lazaret_tests::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::station::Station;

struct Server<'a> {
    station: &'a Station,
    child: Child,
    port: u16,
    token: String,
}

/// What came back.
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    /// The last message of a stream, or the one of a plain answer.
    fn message(&self) -> Value {
        let mut data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let last = data.rfind(|data| !data.is_empty());
        serde_json::from_str(last.unwrap_or(&self.body))
            .unwrap_or_else(|why| panic!("{why}: {}", self.body))
    }
}

const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

impl<'a> Server<'a> {
    fn of(station: &'a Station) -> Self {
        let mut command = station.command(&["mcp", "--listen", "127.0.0.1:0"]);
        let mut child = station.spawn(command.stdin(Stdio::null()));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        out.read_line(&mut url).unwrap();
        let port = url
            .trim()
            .strip_suffix("/mcp")
            .and_then(|url| url.rsplit(':').next());
        let port = port.unwrap_or_else(|| panic!("{url}")).parse().unwrap();
        let token = station.run(&["serve", "--show-token"]).ends(0).out;
        let token = token.trim().to_owned();
        Self {
            station,
            child,
            port,
            token,
        }
    }

    /// Sends a request with these lines in its head beside those that all have.
    fn send(&self, method: &str, lines: &[&str], body: &str) -> Got {
        self.send_bytes(method, lines, body.as_bytes())
    }

    fn send_bytes(&self, method: &str, lines: &[&str], body: &[u8]) -> Got {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut head = format!(
            "{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for line in [
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        ]
        .iter()
        .filter(|usual| {
            !lines
                .iter()
                .any(|line| line.split(':').next() == usual.split(':').next())
        })
        .chain(lines)
        {
            head.push_str(&format!("{line}\r\n"));
        }
        if !lines.iter().any(|line| line.starts_with("Host:")) {
            head.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        // A server that has had enough does not read on.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Got {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// The same with the token.
    fn post(&self, lines: &[&str], body: &str) -> Got {
        self.post_bytes(lines, body.as_bytes())
    }

    fn post_bytes(&self, lines: &[&str], body: &[u8]) -> Got {
        let token = format!("Authorization: Bearer {}", self.token);
        self.send_bytes("POST", &[&[token.as_str()], lines].concat(), body)
    }

    /// What it has said beside its address.
    fn end(mut self) -> String {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        let mut said = String::new();
        let mut err = self.child.stderr.take().unwrap();
        err.read_to_string(&mut said).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.station.run(&["runs", "verify", "--all"]).ends(0);
        said
    }
}

#[test]
fn only_whoever_has_the_token_comes_in() {
    let station = Station::new();
    let server = Server::of(&station);
    let almost = format!("Authorization: Bearer {}x", server.token);
    let basic = format!("Authorization: Basic {}", server.token);
    for lines in [
        &[][..],
        &["Authorization: Bearer"],
        &["Authorization: Bearer x"],
        &[almost.as_str()],
        &[basic.as_str()],
    ] {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            let got = server.send(method, lines, BEGIN);
            assert_eq!(got.status, 401, "{lines:?}: {}", got.body);
            assert_eq!(got.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(server.post(&[], BEGIN).status, 200);
    let token = server.token.clone();
    let said = server.end();
    assert!(said.contains(&format!("Bearer {token}")), "{said}");
    // The token is this user's: it is the same the next time, and is not said again.
    let again = Server::of(&station);
    assert_eq!(again.token, token);
    let said = again.end();
    assert!(!said.contains(&token), "{said}");
}

/// Whoever guesses is counted, and keeps nobody out who knows.
#[test]
fn wrong_tokens_are_counted() {
    let station = Station::with("[serve]\nfailures_per_minute = 2\n");
    let server = Server::of(&station);
    let statuses = [(); 3].map(|()| {
        let got = server.send("POST", &["Authorization: Bearer x"], BEGIN);
        got.status
    });
    assert_eq!(statuses, [401, 401, 429]);
    assert_eq!(server.post(&[], BEGIN).status, 200);
    server.end();
}

/// As in `lazaret serve`: what holds from now on is told, and is the same door's token.
#[test]
fn a_configuration_and_a_token_that_change_hold_from_then_on() {
    let station = Station::new();
    let mut server = Server::of(&station);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "text__count", "arguments": {"text": "a b"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let call = call.to_string();
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: text__count",
    ];
    assert!(server.post(&lines, &call).message()["error"].is_null());
    station.write_user_file("block = [\"text.count\"]");
    until("the configuration holds", || {
        !server.post(&lines, &call).message()["error"].is_null()
    });
    let renewed = station.run(&["serve", "--new-token"]).ends(0).out;
    until("the old token is refused", || {
        server.post(&lines, &call).status == 401
    });
    renewed.trim().clone_into(&mut server.token);
    assert_eq!(server.post(&[], BEGIN).status, 200);
    server.end();
}

/// A page that some browser was led to asks under its own name, and is not answered, token or not.
#[test]
fn pages_of_others_are_not_answered() {
    let station = Station::new();
    let server = Server::of(&station);
    let own = format!("Origin: http://127.0.0.1:{}", server.port);
    for (line, status) in [
        ("Host: evil.test", 403),
        ("Host: evil.test:80", 403),
        ("Host: 127.0.0.1.evil.test", 403),
        ("Origin: https://evil.test", 403),
        ("Origin: null", 403),
        ("Origin: http://localhost.evil.test", 403),
        // Of another page of this machine nobody knows whose it is.
        ("Origin: http://localhost:5173", 403),
        ("Host: localhost:80.evil.test", 403),
        (&own, 200),
        ("Host: localhost", 200),
    ] {
        let got = server.post(&[line], BEGIN);
        assert_eq!(got.status, status, "{line}: {}", got.body);
    }
    server.end();
}

#[test]
fn a_session_calls_and_ends() {
    let station = Station::with("[mcp_server]\nsessions = 1\n");
    let server = Server::of(&station);
    let begun = server.post(&[], BEGIN);
    assert_eq!(begun.message()["result"]["serverInfo"]["name"], "lazaret");
    let session = format!(
        "Mcp-Session-Id: {}",
        begun.header("mcp-session-id").unwrap()
    );
    let lines = [session.as_str(), "MCP-Protocol-Version: 2025-11-25"];
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(server.post(&lines, note).status, 202);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "text__count", "arguments": {"text": "a b"}}});
    let got = server.post(&lines, &call.to_string()).message();
    assert_eq!(
        got["result"]["structuredContent"]["data"]["words"], 2,
        "{got}"
    );
    // There may be one session, and there is.
    let full = server.post(&[], BEGIN);
    assert_eq!(full.status, 503, "{}", full.body);
    let token = format!("Authorization: Bearer {}", server.token);
    let ended = server.send("DELETE", &[&token, &session], "");
    assert!((200..300).contains(&ended.status), "{}", ended.status);
    assert_eq!(server.post(&lines, &call.to_string()).status, 404);
    assert_eq!(server.post(&[], BEGIN).status, 200);
    server.end();
}

/// What begins a session is what is asked, and no name of a version in the head. Of those that come at once, one gets it.
#[test]
fn sessions_are_counted_whatever_version_is_named() {
    let station = Station::with("[mcp_server]\nsessions = 1\n");
    let server = Server::of(&station);
    let newest = BEGIN.replace("2025-11-25", "2026-07-28");
    let newest = (
        &["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: initialize"][..],
        newest.as_str(),
    );
    let usual = (&[][..], BEGIN);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let begun: Vec<_> = [newest, usual, newest, usual, newest, usual]
            .map(|(lines, body)| scope.spawn(|| server.post(lines, body).status))
            .into_iter()
            .collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|had| **had == status).count();
    assert_eq!((count(200), count(503)), (1, 5), "{statuses:?}");
    for (lines, body) in [newest, usual] {
        assert_eq!(server.post(lines, body).status, 503);
    }
    server.end();
}

/// The bounds of `[serve]` hold here as well.
#[test]
fn what_is_sent_too_slowly_is_not_waited_for() {
    let station = Station::with("[serve]\nbody_ms = 2000\nhead_ms = 2000\n");
    let server = Server::of(&station);
    let begun = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{{",
        server.token
    );
    // Each is slow by itself, and both of them at once.
    let slow = [
        (begun.as_str(), " 408 "),
        ("POST /mcp HTTP/1.1\r\nHost: ", ""),
    ]
    .map(|(sent, status)| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        (stream, status)
    });
    for (stream, status) in slow {
        let told = rest_of(stream);
        assert!(told.contains(status), "{told}");
    }
    assert_eq!(server.post(&[], BEGIN).status, 200);
    server.end();
}

/// Whoever has no token and never goes makes room for whoever has it.
#[test]
fn whoever_brings_no_token_keeps_nobody_out_who_does() {
    let station = Station::with("[serve]\nconnections = 1\nhead_ms = 600000\n");
    let server = Server::of(&station);
    let mut stranger = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let ask = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stranger.write_all(ask).unwrap();
    // It is answered, and stays.
    let mut said = [0; 12];
    stranger.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 404");
    assert_eq!(server.post(&[], BEGIN).status, 200);
    rest_of(stranger);
    server.end();
}

#[test]
fn the_newest_version_has_no_sessions() {
    let station = Station::with("[mcp_server]\nsessions = 1\n");
    let server = Server::of(&station);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "text__count", "arguments": {"text": "a b"}, "_meta": meta}});
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: text__count",
    ];
    for _ in 0..3 {
        let got = server.post(&lines, &call.to_string());
        assert_eq!(got.header("mcp-session-id"), None);
        let got = got.message();
        assert_eq!(
            got["result"]["structuredContent"]["data"]["words"], 2,
            "{got}"
        );
    }
    server.end();
}

#[test]
fn bodies_are_bounded_and_must_be_messages() {
    let station = Station::new();
    let server = Server::of(&station);
    assert_eq!(server.post(&[], &"x".repeat((1 << 20) + 1)).status, 413);
    for bad in ["nope", "[]", "{}"] {
        let got = server.post(&[], bad);
        assert!(
            (400..500).contains(&got.status),
            "{bad}: {} {}",
            got.status,
            got.body
        );
    }
    assert_eq!(
        server.post(&["Content-Type: text/plain"], BEGIN).status / 100,
        4
    );
    assert_eq!(server.post(&[], BEGIN).status, 200);
    server.end();
}

/// As over standard input: two readers of one message would see two, and the library takes the last of a key.
#[test]
fn what_is_no_strict_json_is_refused_in_the_words_of_the_protocol() {
    let station = Station::new();
    let server = Server::of(&station);
    let nested = format!("{}{}", "[".repeat(90), "]".repeat(90));
    let arguments = |written: &str| {
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"text__count","arguments":ARGS,
            "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        call.replace("ARGS", written)
    };
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: text__count",
    ];
    let good = server.post(&lines, &arguments(r#"{"text":"b c"}"#));
    let told = good.message();
    assert_eq!(
        told["result"]["structuredContent"]["data"]["words"], 2,
        "{told}"
    );
    for (body, says) in [
        (
            arguments(r#"{"text":"a","text":"b c"}"#).into_bytes(),
            "the body is no JSON: a key comes twice",
        ),
        (
            arguments(&format!(r#"{{"text":"a","more":{nested}}}"#)).into_bytes(),
            "the body is no JSON: nested deeper than 64",
        ),
        (b"nope".to_vec(), "the body is no JSON: "),
        (b"\"\xff\"".to_vec(), "the body is no UTF-8 text"),
    ] {
        let got = server.post_bytes(&lines, &body);
        assert_eq!(
            (got.status, got.header("content-type")),
            (400, Some("application/json"))
        );
        let told = got.message();
        assert_eq!(told["error"]["code"], -32700, "{told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{message}");
    }
    server.end();
}

#[test]
fn it_listens_for_this_machine_alone() {
    let station = Station::new();
    station
        .run(&["mcp", "--listen", "0.0.0.0:0"])
        .ends(2)
        .says(&["`0.0.0.0:0` is no address of this machine alone"]);
    station.run(&["mcp", "--listen", "here"]).ends(2);
}
