//! What a client over HTTP says of words: that a person typed them, and nothing else, makes them a witness.

use serde_json::{Value, json};

use crate::serving::Serving;
use crate::station::Station;

/// An agent that reads where to write from a letter, and writes there.
fn station() -> Station {
    let station = Station::scripted(
        "[\"files.*\"]",
        &[
            r#"{"calls":[{"tool":"files.read","args":{"path":"inbox/where.txt"}}]}"#,
            r#"{"calls":[{"tool":"files.write","args":{"path":"out/notes.md","content":"x","mode":"append"}}]}"#,
            r#"{"text":"Done."}"#,
        ],
        "[flow]\nmode = \"enforce\"\nhold = \"never\"\n[mounts.inbox]\npath = \"inbox\"\n\
         [mounts.out]\npath = \"out\"\naccess = \"write\"\n\
         [grants.\"files.*\"]\nmounts = { inbox = \"read\", out = \"write\" }\n",
    );
    station.write("inbox/where.txt", "out/notes.md");
    station.write("out/notes.md", "");
    station
}

fn said(typed: Option<bool>, mut body: Value) -> Value {
    if let Some(typed) = typed {
        body["typed"] = json!(typed);
    }
    body
}

/// What is said of typing, and whether that makes a witness.
const SAID: [(Option<bool>, bool); 3] = [(Some(true), true), (Some(false), false), (None, false)];

#[test]
fn the_words_of_a_goal_are_a_witness_where_they_were_typed() {
    for (typed, is_witness) in SAID {
        let station = station();
        let server = Serving::start(&station);
        let goal = json!({"prompt": "Append it to out/notes.md as the letter says."});
        let told = server.post("/v1/runs", &said(typed, goal)).is(201);
        let run = told["run"].as_str().expect("a name");
        let end = server.events(run, None).last().expect("an end").value;
        let state = if is_witness { "done" } else { "waiting" };
        assert_eq!(end, json!({ "state": state }), "{typed:?}");
        let written = if is_witness { "x" } else { "" };
        assert_eq!(station.read("out/notes.md"), written, "{typed:?}");
    }
}

#[test]
fn what_a_script_names_and_what_a_call_is_given_is_a_witness_where_it_was_typed() {
    for (typed, is_witness) in SAID {
        let station = station();
        let server = Serving::start(&station);
        let args = json!({"path": "out/notes.md", "content": "x", "mode": "append"});
        let source = format!("return await tools.files.write({args})");
        for (path, body) in [
            ("/v1/tools/files.write/call", json!({"input": args})),
            ("/v1/scripts", json!({"source": source})),
        ] {
            let told = server.post(path, &said(typed, body));
            if is_witness {
                told.is(200);
            } else {
                told.fails(202, "CONFIRMATION_REQUIRED");
            }
        }
        let written = if is_witness { "xx" } else { "" };
        assert_eq!(station.read("out/notes.md"), written, "{typed:?}");
    }
}
