//! A client of MCP over standard input and output, as small as one can be: it says exactly what a test says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::station::{Ended, Station};

/// No answer takes so long, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

/// A server under way, and its client.
pub struct Client<'a> {
    station: &'a Station,
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What was said beside the answers that were waited for.
    pub heard: Vec<Value>,
    next: i64,
}

impl<'a> Client<'a> {
    /// Begins the server, and nothing else.
    pub fn of(station: &'a Station) -> Self {
        Self::begun(station, &mut station.command(&["mcp"]))
    }

    pub fn begun(station: &'a Station, command: &mut Command) -> Self {
        let mut child = station.spawn(command.stdin(Stdio::piped()));
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, messages) = sync_channel(10_000);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            station,
            input: child.stdin.take(),
            child,
            messages,
            heard: Vec::new(),
            next: 0,
        }
    }

    /// A session of today's version, whose client offers this.
    pub fn offering(station: &'a Station, offers: Value) -> Self {
        let mut client = Self::of(station);
        let begun = client.begin("2025-11-25", offers);
        assert_eq!(begun["result"]["protocolVersion"], "2025-11-25", "{begun}");
        client
    }

    pub fn start(station: &'a Station) -> Self {
        Self::offering(station, json!({}))
    }

    /// Begins a session; what was answered.
    pub fn begin(&mut self, version: &str, offers: Value) -> Value {
        let answer = self.ask(
            "initialize",
            json!({"protocolVersion": version, "capabilities": offers, "clientInfo": {"name": "test", "version": "1"}}),
        );
        self.tell(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        // A server that has ended is what some tests are about.
        let _ = self.input.as_mut().unwrap().write_all(bytes);
    }

    pub fn tell(&mut self, message: Value) {
        self.send(format!("{message}\n").as_bytes());
    }

    /// Makes a request; its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.tell(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Makes a request and waits for its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool; its outcome.
    #[track_caller]
    pub fn call(&mut self, tool: &str, args: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": args}));
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    /// The answer to a request; what comes before it is kept.
    #[track_caller]
    pub fn answer(&mut self, id: i64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for a message like this, and keeps those before it.
    #[track_caller]
    pub fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.heard.iter().position(&wanted) {
            return self.heard.remove(place);
        }
        loop {
            let message = match self.messages.recv_timeout(LONG) {
                Ok(message) => message,
                Err(why) => panic!("{why}; before that came {:?}", self.heard),
            };
            if wanted(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// What was said of this method so far.
    pub fn said(&self, method: &str) -> Vec<Value> {
        let of = |message: &&Value| message["method"] == method;
        self.heard.iter().filter(of).cloned().collect()
    }

    /// Closes its side, and waits for the server to end.
    pub fn end(mut self) -> Ended {
        drop(self.input.take());
        let mut out = String::new();
        while let Ok(message) = self.messages.recv_timeout(LONG) {
            out.push_str(&format!("{message}\n"));
        }
        let ended = self.station.wait(self.child);
        Ended { out, ..ended }
    }
}
