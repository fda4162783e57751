//! Whose a failure is, read back over HTTP from the records of a run that has ended.

use serde_json::{Value, json};

use crate::provider;
use crate::serve::counting;
use crate::server::{Answer, Server, plain};
use crate::serving::Serving;
use crate::station::Station;

/// With more said before what its file says.
fn saying(station: Station, more: &str) -> Station {
    let config = format!("{more}\n{}", station.read("lazaret.toml"));
    station.write("lazaret.toml", config);
    station.trust();
    station
}

/// What a run ended with, once it has.
fn failure(station: &Station) -> Value {
    let server = Serving::start(station);
    let begun = server
        .post("/v1/runs", &json!({"prompt": "Count."}))
        .is(201);
    let run = begun["run"].as_str().expect("a name");
    server.events(run, None).last().expect("an end");
    let shown = server.get(&format!("/v1/runs/{run}")).is(200);
    shown["error"].clone()
}

fn check(station: &Station, kind: &str, source: &str) -> Value {
    let error = failure(station);
    let said = (&error["kind"], &error["source"]);
    assert_eq!(said, (&json!(kind), &json!(source)), "{error}");
    error
}

#[test]
fn a_failure_that_is_read_back_says_whose_it_was() {
    // A bound of the run.
    let error = check(&counting("[pace]\nturns = 1"), "over_budget", "run");
    assert!(error.get("alias").is_none(), "{error}");
    // What its provider said, in the words of a system as well.
    let refuses = Server::start(vec![Answer::Bytes(plain(400, "application/json", "{}"))]);
    let station = saying(provider::station(&refuses), "profile = \"relavium\"");
    let error = check(&station, "provider_failed", "provider");
    assert!(error["alias"].is_string(), "{error}");
    // Its silence: the code alone would say that it was a tool.
    let silent = Server::start(vec![Answer::Silence(String::new())]);
    let station = saying(provider::station(&silent), "[pace]\nturn_timeout_ms = 200");
    check(&station, "too_slow", "provider");
}
