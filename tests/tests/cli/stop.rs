//! Deadlines, limits and Ctrl-C: the exit status says which, and the journal has the end.

use std::io::Write;
use std::process::{Child, Stdio};

use lazaret_tests::nobody::Nobody;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::provider;
use crate::server::{Answer, Server};
use crate::station::Station;

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// A server that hears a request and never answers, and a station that may ask it.
fn silent(more: &str) -> (Server, Station, String) {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = Station::with(&format!(
        "[grants.\"web.get_page\"]\nfetch = [{{ url = \"{}/\", private = true }}]\n{more}",
        server.url()
    ));
    let args = format!(r#"{{"url":"{}/"}}"#, server.url());
    (server, station, args)
}

#[test]
fn an_interrupted_call_ends_with_130() {
    let (server, station, args) = silent("");
    let mut command = station.command(&["call", "web.get_page", &args, "--json"]);
    let child = station.spawn(&mut command);
    server.wait();
    interrupt(&child);
    let ended = station.wait(child);
    let envelope = ended.json();
    assert_eq!(envelope["error"]["code"], "CANCELLED", "{ended}");
    assert_eq!(envelope["error"]["retryable"], json!(false));
    ended.ends(130).never("panicked");
    let records = station.records();
    let stopped = records.last().unwrap();
    assert_eq!(
        (&stopped["event"], &stopped["code"]),
        (&json!("stopped"), &json!("cancelled"))
    );
}

#[test]
fn a_call_that_takes_too_long_ends_with_124() {
    let (_server, station, args) = silent("[limits]\ntimeout_ms = 300\nretries = 0\n");
    let ended = station.run(&["call", "web.get_page", &args, "--json"]);
    assert_eq!(ended.json()["error"]["code"], "TIMEOUT", "{ended}");
    assert_eq!(ended.json()["error"]["retryable"], json!(true));
    ended.ends(124);
    assert_eq!(station.records().last().unwrap()["code"], "too_slow");
}

#[test]
fn a_call_that_works_too_much_ends_with_1() {
    let station = Station::with("[limits]\nfuel = 100\n");
    let ended = station.run(&["call", "text.count", r#"{"text":"a"}"#, "--json"]);
    assert_eq!(ended.json()["error"]["kind"], "out_of_fuel", "{ended}");
    ended.ends(1);
}

#[test]
fn a_server_that_is_not_there_ends_with_5() {
    let nobody = Nobody::new();
    let url = nobody.url();
    let station = Station::with(&format!(
        "[grants.\"web.get_page\"]\nfetch = [{{ url = \"{url}/\", private = true }}]\n"
    ));
    let ended = station.run(&[
        "call",
        "web.get_page",
        &format!(r#"{{"url":"{url}/"}}"#),
        "--json",
    ]);
    assert_eq!(
        ended.json()["error"]["code"],
        "EXTERNAL_SERVICE_ERROR",
        "{ended}"
    );
    ended.ends(5);
}

#[test]
fn an_interrupted_run_ends_with_130_and_a_record() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = provider::station(&server);
    let child = station.spawn(&mut station.command(&["run", "how long?", "--json"]));
    server.wait();
    interrupt(&child);
    let ended = station.wait(child);
    let events = ended.lines();
    let stopped = events.last().unwrap();
    assert_eq!(
        (&stopped["event"], &stopped["code"]),
        (&json!("stopped"), &json!("cancelled"))
    );
    ended.ends(130).says_only("");
    assert_eq!(station.records().last(), events.last());
}

#[test]
fn an_interrupted_run_says_so() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = provider::station(&server);
    let child = station.spawn(&mut station.command(&["run", "how long?"]));
    server.wait();
    interrupt(&child);
    station
        .wait(child)
        .ends(130)
        .says(&["cancelled", "record: lazaret runs show [RUN]"]);
}

#[test]
fn a_reader_that_leaves_does_not_stop_the_run() {
    let station = Station::scripted("[]", &[r#"{"text":"done"}"#], "");
    let mut child = station.spawn(station.command(&["run", "--json"]).stdin(Stdio::piped()));
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(b"hi").unwrap();
    station.wait(child).ends(0).never("panicked");
    assert_eq!(station.records().last().unwrap()["end"], "done");
}
