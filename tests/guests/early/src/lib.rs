//! A guest that asks for all there is before anybody has called it: while it is started, and while it says what it is.
//!
//! What it was told then is the description of its tools, which ask for the same. No macro writes such a plugin, so
//! this one exports its functions by itself.
#![cfg(target_family = "wasm")]

use std::hint::black_box;
use std::sync::Mutex;

use lazaret_sdk::bindings::exports::lazaret::plugin::tool::{Failure, Guest};
use lazaret_sdk::prelude::{Refusal, Value, artifacts, call, files, json, notes};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

/// Where the server of a test is: whoever offers this component writes the port into it.
static AUTHORITY: &str = "127.0.0.1:00000";

/// What came of what was asked for before anything was called.
static BEFORE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Run while the component is started, as constructors of C++ are.
#[used]
// SAFETY: this is the section of such functions, and this one has their type.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    keep(ask("start"));
}

fn keep(lines: Vec<String>) -> Vec<String> {
    let mut before = BEFORE.lock().expect("nobody panicked with it");
    before.extend(lines);
    before.clone()
}

/// Asks for everything once, and says what came of each.
fn ask(when: &str) -> Vec<String> {
    let line = |what: &str, answer: Result<String, Refusal>| match answer {
        Ok(text) => format!("{when}: {what} -> ok {text}"),
        Err(refusal) => format!(
            "{when}: {what} -> {} {}",
            refusal.code.as_str(),
            refusal.message
        ),
    };
    let done = |()| String::new();
    let url = format!("http://{}/{when}", black_box(AUTHORITY));
    let fetched = lazaret_sdk::fetch::get(url).map(|answer| answer.status().to_string());
    let path = format!("docs/{when}.txt");
    let called: Result<Value, _> = call::invoke("text.count", &json!({ "text": when }));
    let called = match called {
        Ok(_) => format!("{when}: call -> ok"),
        Err(failure) => format!("{when}: call -> {}", failure.message()),
    };
    let folders = wasip2::filesystem::preopens::get_directories().len();
    let written = std::fs::write(format!("docs/{when}-wasi.txt"), when);
    vec![
        line("fetch", fetched),
        line(
            "file",
            files::write(&path, when.as_bytes(), files::Mode::Create).map(done),
        ),
        line("note", notes::put(when, "kept").map(done)),
        line(
            "artifact",
            artifacts::add(when, "text/plain", when.as_bytes()),
        ),
        called,
        format!("{when}: wasi:http -> {}", send(when)),
        format!(
            "{when}: wasi:filesystem -> {folders} folders, {}",
            written.is_ok()
        ),
    ]
}

/// The status of an answer through `wasi:http`, or why there is none.
fn send(when: &str) -> String {
    let request = OutgoingRequest::new(Fields::new());
    let path = format!("/{when}-wasi");
    let set = [
        request.set_scheme(Some(&Scheme::Http)),
        request.set_authority(Some(black_box(AUTHORITY))),
        request.set_path_with_query(Some(&path)),
    ];
    assert_eq!(set, [Ok(()); 3], "it is a request");
    let answer = handle(request, None).and_then(|answer| {
        answer.subscribe().block();
        answer.get().expect("it is ready").expect("it is got once")
    });
    match answer {
        Ok(answer) => format!("ok {}", answer.status()),
        Err(code) => format!("{code:?}"),
    }
}

struct Early;

impl Guest for Early {
    fn manifest() -> String {
        let tool = |name: &str, told: Vec<String>| {
            json!({
                "name": name, "description": told.join("; "), "input": {"type": "object"}, "output": {},
                "effect": "side-effecting", "risk": "network_read", "mounts": "write", "notes": "write", "calls": ["*"],
            })
        };
        let tools = [
            tool("ask_first", keep(Vec::new())),
            tool("ask", ask("manifest")),
        ];
        json!({"plugin": "early", "version": "1", "description": "Does not wait.", "tools": tools})
            .to_string()
    }

    /// The manifest of this instance was never asked for: what is kept is of its start.
    fn run(_: String, _: String) -> Result<String, Failure> {
        Ok(json!(keep(ask("call"))).to_string())
    }
}

lazaret_sdk::bindings::export_plugin!(Early with_types_in lazaret_sdk::bindings);
