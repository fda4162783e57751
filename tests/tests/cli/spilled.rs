//! Secrets of guests, and every way out of this program: what is called, recorded, exported, served and asked.

use lazaret_tests::spell::{found, spelled};
use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{Answer, Server, plain};
use crate::serving::Serving;
use crate::station::{Station, hostile};

const CANARY: &str = "canary-Zq9+7f3a9c";

#[track_caller]
fn nowhere(what: &str, text: &str) {
    if let Some(spelling) = found(CANARY, text.as_bytes()) {
        panic!("{what} holds the secret as `{spelling}`:\n{text}");
    }
}

/// A guest that may send the secret, and everything else.
fn station(server: &Server, more: &str) -> Station {
    let to = server.url();
    let station = Station::with(&format!(
        "{more}\n[flow]\nmode = \"off\"\n[plugins]\nhostile = {:?}\n[mounts.out]\npath = \"out\"\naccess = \"write\"\n\
         [grants.\"hostile.*\"]\nfetch = [{{ url = \"{to}/\", private = true }}]\nmounts = {{ out = \"write\" }}\n\
         notes = \"write\"\ncalls = [\"*\"]\n\
         secrets = [{{ name = \"canary\", to = \"{to}/\", header = \"x-key\" }}]\n",
        hostile()
    ));
    station.write("out/keep", "");
    let value = format!("{CANARY}\n");
    let set = station.run_with_input(&["secret", "set", "canary"], value.as_bytes());
    set.ends(0);
    station
}

/// What the guest is to send, and to hand out.
fn args(server: &Server, end: &str) -> Value {
    let request = json!({"url": server.url(), "headers": ["x-key={{secret:canary}}"]});
    json!({"requests": [request], "texts": spelled(CANARY), "end": end})
}

/// A server that says what it was sent, in every spelling.
fn telling() -> Server {
    let body = spelled(CANARY).join(" ");
    let answer = || Answer::Bytes(plain(200, "text/plain", &body));
    Server::start((0..12).map(|_| answer()).collect())
}

const ENDS: [&str; 3] = ["return", "fail", "panic"];

#[test]
fn no_command_prints_a_secret_that_a_guest_has_got() {
    let server = telling();
    let station = station(&server, "");
    for end in ENDS {
        let args = args(&server, end).to_string();
        let called = station.run(&["call", "hostile.spill", &args]);
        nowhere("a call", &called.to_string());
        for read in [
            &["runs", "show", "last"][..],
            &["runs", "show", "last", "--json"],
            &["runs", "show", "last", "--audit", "--json"],
            &["runs", "export", "last"],
            &["runs", "export", "last", "--format", "otlp"],
            &["policy", "explain", "--run", "last", "--json"],
        ] {
            let told = station.run(read).ends(0);
            assert!(!told.out.is_empty(), "{read:?}");
            nowhere(&read.join(" "), &told.to_string());
        }
    }
    let sent = server.requests();
    let header = format!("x-key: {CANARY}\r\n");
    let with_it = sent.iter().filter(|request| request.contains(&header));
    assert_eq!(with_it.count(), ENDS.len(), "{sent:?}");
}

#[test]
fn no_client_is_served_a_secret_that_a_guest_has_got() {
    let server = telling();
    let station = station(&server, "");
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    for end in ENDS {
        let args = args(&server, end);
        let called = serving.call("hostile.spill", args.clone()).json();
        nowhere("a call over HTTP", &called.to_string());
        let runs = serving.get("/v1/runs?limit=1").is(200);
        nowhere("a list of runs", &runs.to_string());
        let run = runs["runs"][0]["run"].as_str().expect("a name");
        let shown = serving.get(&format!("/v1/runs/{run}")).is(200);
        nowhere("a run", &shown.to_string());
        let events: Vec<_> = serving.events(run, None).collect();
        assert!(events.len() > 3, "{events:?}");
        nowhere("the events of a run", &format!("{events:?}"));
        let told = client.call("hostile__spill", args);
        nowhere("a call over MCP", &told.to_string());
        nowhere("what is said beside it", &format!("{:?}", client.heard));
    }
    client.end().ends(0);
    assert_eq!(server.requests().len(), 2 * ENDS.len());
}

#[test]
fn no_question_shows_a_secret() {
    let server = telling();
    let station = station(&server, "ask = [\"hostile.spill\"]");
    let args = args(&server, "return");
    let asked = station.run(&["call", "hostile.spill", &args.to_string()]);
    let asked = asked.ends(75);
    nowhere("a call that waits", &asked.to_string());
    let listed = station.run(&["ask", "list", "--json"]).ends(0);
    nowhere("a list of questions", &listed.to_string());
    let id = listed.json()[0]["question"].clone();
    let id = id.as_str().expect("a name");
    for read in [
        &["ask", "list"][..],
        &["ask", "show", id],
        &["ask", "show", id, "--json"],
    ] {
        let told = station.run(read).ends(0);
        nowhere(&read.join(" "), &told.to_string());
    }
    let serving = Serving::start(&station);
    let questions = serving.get("/v1/questions").is(200);
    assert_eq!(questions["questions"].as_array().map(Vec::len), Some(1));
    nowhere("questions over HTTP", &questions.to_string());
    let mut client = Client::start(&station);
    let told = client.call("hostile__spill", args);
    assert!(told.to_string().contains("lazaret ask allow"), "{told}");
    nowhere("a question over MCP", &told.to_string());
    client.end().ends(0);
}
