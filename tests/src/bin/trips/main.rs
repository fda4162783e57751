//! How long a round trip over MCP takes, over standard input and output: `make load`, or `trips PROGRAM [N]`.
//!
//! `ping` is what two processes, two pipes and the protocol take by themselves; a call is all gates, its guest, and its
//! record on the disk.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    fn begin(program: &PathBuf, home: &std::path::Path) -> Self {
        let mut child = Command::new(program)
            .arg("mcp")
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("LAZARET_SYSTEM_CONFIG", home.join("none.toml"))
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("lazaret can be run");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self {
            child,
            input,
            output,
            next: 0,
        }
    }

    /// Makes a request and reads on to its answer.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let line = format!("{request}\n");
        self.input.write_all(line.as_bytes()).expect("it reads");
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it writes");
            assert!(read > 0, "the server has ended");
            let answer: Value = serde_json::from_str(&line).expect("it writes JSON");
            if answer["id"] == self.next {
                return answer;
            }
        }
    }

    fn trips(&mut self, what: &str, (method, params): (&str, &Value), times: usize) {
        let mut took: Vec<Duration> = (0..times)
            .map(|_| {
                let began = Instant::now();
                let answer = self.ask(method, params);
                assert!(answer.get("result").is_some(), "{answer}");
                began.elapsed()
            })
            .collect();
        // The first ones compile and open.
        let mut took = took.split_off(times / 10);
        took.sort();
        let at = |percent: usize| took[took.len() * percent / 100].as_micros();
        println!(
            "{what:<44} p50 {:>6} µs   p90 {:>6} µs   p99 {:>6} µs",
            at(50),
            at(90),
            at(99)
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments
        .next()
        .expect("which program? `make load` says it");
    let program = PathBuf::from(program).canonicalize().expect("a program");
    let times = arguments
        .next()
        .map_or(2_000, |times| times.parse().expect("a number"));
    let home = tempfile::tempdir().expect("there is a place for files");
    let mut server = Server::begin(&program, home.path());
    let offers = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    server.ask("initialize", &offers);
    let call = json!({"name": "text__count", "arguments": {"text": "a b"}});
    let search = json!({"name": "search_tools", "arguments": {"query": "count"}});
    server.trips("ping", ("ping", &json!({})), times);
    server.trips("tools/list", ("tools/list", &json!({})), times / 4);
    server.trips("search_tools", ("tools/call", &search), times / 4);
    server.trips(
        "a pure tool, recorded, on the disk",
        ("tools/call", &call),
        times,
    );
    drop(server.input);
    server.child.wait().expect("it ends");
}
