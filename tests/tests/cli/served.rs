//! Every file of `tests/served`: requests to `lazaret serve` as bytes, and what each must be answered with.

use std::path::Path;

use lazaret_tests::client::Told;
use serde::Deserialize;
use serde_json::Value;

use crate::serving::Serving;
use crate::station::Station;

/// One attack; `{token}` is the server's own, `{length}` that of the body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    about: String,
    rows: Vec<u32>,
    /// What the model of the agent `a` says, turn by turn, in a server of its own.
    #[serde(default)]
    replies: Vec<Value>,
    /// What its `lazaret.toml` says before anything else.
    #[serde(default)]
    policy: String,
    sent: Vec<Sent>,
}

/// A request, its lines as they are written, and the status that answers it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    text: String,
    status: u16,
    /// What an agent says then, all of it,
    told: Option<String>,
    /// or what stands in that;
    #[serde(default)]
    holds: Vec<String>,
}

/// What an agent has said over `/v1/chat/completions`, whole or piece by piece.
fn said(told: &Told) -> String {
    let events = told.body.lines();
    let events = events.filter_map(|line| line.strip_prefix("data: {"));
    let events: Vec<Value> = events
        .map(|line| serde_json::from_str(&format!("{{{line}")).expect("JSON"))
        .collect();
    if events.is_empty() {
        let said = &told.json()["choices"][0]["message"]["content"];
        return said.as_str().expect("a text").to_owned();
    }
    let pieces = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
    pieces.collect()
}

fn all() -> Vec<Attack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("served");
    let entries = std::fs::read_dir(folder).expect("the folder of attacks");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.expect("an attack").path());
        toml::from_str(&text.expect("an attack can be read")).expect("an attack")
    };
    entries.map(read).collect()
}

/// Sends what a file says, and looks at what comes back; whatever it was, the server then answers as before.
#[track_caller]
fn strike(server: &Serving<'_>, attack: &Attack) {
    let offered = server.get("/v1/tools").is(200);
    for sent in &attack.sent {
        let text = sent.text.replace("{token}", &server.token);
        let (head, body) = text.split_once("\n\n").expect("a head");
        let length = body.trim_end().len().to_string();
        let head = head.replace("{length}", &length).replace('\n', "\r\n");
        let body = body.trim_end();
        let told = server.raw(format!("{head}\r\n\r\n{body}").as_bytes());
        let what = format!("{}\n{}{told:?}", attack.about, sent.text);
        assert_eq!(told.status, sent.status, "{what}");
        assert!(!told.body.contains(&server.token), "{what}");
        if let Some(wanted) = &sent.told {
            assert_eq!(said(&told), *wanted, "{what}");
        }
        for wanted in &sent.holds {
            let said = said(&told);
            assert!(said.contains(wanted), "{wanted}\n{said}");
        }
    }
    let still = server.get("/v1/tools");
    assert_eq!(still.is(200), offered, "{}", attack.about);
}

/// Each of them is turned away in the log as well, in words of the host alone, and the server goes on.
#[test]
fn every_request_is_answered_as_its_file_says() {
    let station = Station::new();
    let server = Serving::logging(&station, "lazaret::door=info");
    let attacks = all();
    assert!(attacks.len() >= 5, "attacks are missing");
    let mut refused = 0;
    for attack in attacks {
        assert!(!attack.rows.is_empty(), "{}", attack.about);
        if attack.replies.is_empty() {
            strike(&server, &attack);
            // What is wrong in a message of MCP is said in one, behind the door.
            let at_door = attack.sent.iter();
            let of_message =
                |sent: &&Sent| sent.status == 400 && sent.text.starts_with("POST /mcp");
            let at_door = at_door.filter(|sent| !of_message(sent));
            let statuses = at_door.map(|sent| sent.status);
            refused += statuses
                .filter(|status| matches!(status, 400..=403))
                .count();
            continue;
        }
        let lines: Vec<String> = attack.replies.iter().map(Value::to_string).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let station = Station::scripted("[\"text.*\"]", &lines, "");
        let config = format!("{}\n{}", attack.policy, station.read("lazaret.toml"));
        station.write("lazaret.toml", config);
        station.trust();
        strike(&Serving::start(&station), &attack);
    }
    let logged = server.end().err;
    assert_eq!(logged.matches("turned away").count(), refused, "{logged}");
    assert!(!logged.contains("evil"), "{logged}");
}
