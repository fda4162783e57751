//! A client of `lazaret serve`, as small as a test needs it: one connection for each request, and any bytes at all.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::wait::PATIENCE;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Client {
    /// Where the server is, such as `127.0.0.1:7420`.
    pub address: String,
    /// With which token.
    pub token: String,
    /// What was answered, for whoever holds it against the document of the API.
    pub heard: Arc<Mutex<Vec<Heard>>>,
}

/// An answer, and to what.
#[derive(Clone, Debug)]
pub struct Heard {
    pub method: String,
    pub path: String,
    pub told: Told,
}

/// What a server has answered.
#[derive(Clone, Debug)]
pub struct Told {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: Option<u64>,
    pub name: String,
    pub value: Value,
}

/// A stream of events.
pub struct Events(Body);

impl Told {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// It has this status; its JSON.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// It is a failure of this status and code.
    #[track_caller]
    pub fn fails(&self, status: u16, code: &str) -> Value {
        let told = self.is(status);
        assert_eq!(told["ok"], false, "{self:?}");
        assert_eq!(told["error"]["code"], code, "{self:?}");
        told["error"].clone()
    }
}

impl Client {
    pub fn get(&self, path: &str) -> Told {
        self.send("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Told {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            &body.to_string(),
        )
    }

    /// A call of a tool.
    pub fn call(&self, tool: &str, input: Value) -> Told {
        self.post(&format!("/v1/tools/{tool}/call"), &json!({"input": input}))
    }

    /// A request with the token and these headers as well.
    pub fn send(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Told {
        let own = [
            ("host", self.address.clone()),
            ("authorization", format!("Bearer {}", self.token)),
        ];
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
        self.bare(method, path, &headers, body)
    }

    /// A request with these headers alone, and the length of its body.
    pub fn bare(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Told {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        request.push_str(&format!("\r\n{body}"));
        let told = self.raw(request.as_bytes());
        let heard = Heard {
            method: method.to_lowercase(),
            path: path.split('?').next().unwrap_or_default().to_owned(),
            told: told.clone(),
        };
        self.heard.lock().expect("a list").push(heard);
        told
    }

    /// These bytes, whatever they are.
    pub fn raw(&self, bytes: &[u8]) -> Told {
        let mut stream = self.connect();
        // Some of what is sent here is not read to its end.
        let _ = stream.write_all(bytes);
        let mut body = Body::of(stream);
        let (status, headers) = body.head();
        let mut all = Vec::new();
        while let Some(mut piece) = body.piece() {
            all.append(&mut piece);
        }
        Told {
            status,
            headers,
            body: String::from_utf8_lossy(&all).into_owned(),
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a server");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    /// The events of a run from the one after `last` on.
    #[track_caller]
    pub fn events(&self, run: &str, last: Option<u64>) -> Events {
        let last = last.map_or(String::new(), |last| format!("last-event-id: {last}\r\n"));
        let (address, token) = (&self.address, &self.token);
        let request = format!(
            "GET /v1/runs/{run}/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{last}\r\n"
        );
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("a request");
        let mut body = Body::of(stream);
        let (status, headers) = body.head();
        assert_eq!(status, 200, "{headers:?}");
        Events(body)
    }
}

impl Iterator for Events {
    type Item = Event;

    /// The next event; nothing once the server has ended the stream.
    fn next(&mut self) -> Option<Event> {
        let (mut id, mut name, mut value) = (None, String::new(), String::new());
        loop {
            let line = self.0.line()?;
            match line.split_once(": ") {
                Some(("id", text)) => id = text.parse().ok(),
                Some(("event", text)) => text.clone_into(&mut name),
                Some(("data", text)) => value.push_str(text),
                Some(_) => {}
                None if name.is_empty() => {}
                None => {
                    let value = serde_json::from_str(&value).expect("JSON");
                    return Some(Event { id, name, value });
                }
            }
        }
    }
}

/// What a connection still says until it ends, however it does. One that stays open is none that ends.
#[track_caller]
pub fn rest_of(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("it stays: {error}"),
        // What was sent to it and not read is no reason to say nothing.
        Ok(_) | Err(_) => String::from_utf8_lossy(&all).into_owned(),
    }
}

/// What comes after a head: with a length, in chunks, or to the end.
struct Body {
    stream: BufReader<TcpStream>,
    form: Form,
    text: Vec<u8>,
}

enum Form {
    Rest(usize),
    Chunks,
    End,
}

impl Body {
    fn of(stream: TcpStream) -> Self {
        Self {
            stream: BufReader::new(stream),
            form: Form::End,
            text: Vec::new(),
        }
    }

    /// Status and headers; 0 where the server has closed the connection.
    fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let first = self.head_line();
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.head_line();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let said = |name: &str| headers.iter().find(|(known, _)| known == name);
        self.form = match (said("transfer-encoding"), said("content-length")) {
            (Some(_), _) => Form::Chunks,
            (None, Some((_, length))) => Form::Rest(length.parse().expect("a length")),
            (None, None) if status == Some(304) => Form::Rest(0),
            (None, None) => Form::End,
        };
        (status.unwrap_or(0), headers)
    }

    fn head_line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stream.read_line(&mut line);
        line.trim_end().to_owned()
    }

    /// Some of the body.
    fn piece(&mut self) -> Option<Vec<u8>> {
        match &mut self.form {
            Form::Rest(0) => None,
            Form::Rest(rest) => {
                let mut piece = vec![0; *rest];
                *rest = 0;
                self.stream.read_exact(&mut piece).ok()?;
                Some(piece)
            }
            Form::Chunks => {
                let line = self.head_line();
                let length = usize::from_str_radix(&line, 16)
                    .ok()
                    .filter(|length| *length > 0)?;
                let mut piece = vec![0; length + 2];
                self.stream.read_exact(&mut piece).ok()?;
                piece.truncate(length);
                Some(piece)
            }
            Form::End => {
                let mut piece = vec![0; 4_096];
                let read = self.stream.read(&mut piece).ok().filter(|read| *read > 0)?;
                piece.truncate(read);
                Some(piece)
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                let line = String::from_utf8(line).expect("text");
                return Some(line.trim_end_matches('\n').to_owned());
            }
            let mut piece = self.piece()?;
            self.text.append(&mut piece);
        }
    }
}
