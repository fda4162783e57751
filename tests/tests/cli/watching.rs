//! Watching runs: logs, progress, traces, and the records of a run as they are written.

use lazaret_tests::nobody::Nobody;
use lazaret_tests::wait::found;
use serde_json::{Value, json};

use super::server::{Answer, Server, plain};
use super::station::Station;

/// Stands wherever a run says something.
const CANARY: &str = "canary-9d2c";

fn counting(more: &str) -> Station {
    let call = json!({"calls": [{"tool": "text.count", "args": {"text": CANARY}}]}).to_string();
    let says = json!({"text": format!("It is {CANARY}.")}).to_string();
    Station::scripted("[\"text.count\"]", &[&call, &says], more)
}

fn logged(station: &Station, variables: &[(&str, &str)]) -> String {
    let mut command = station.command(&["run", "--quiet", &format!("Count {CANARY}.")]);
    let ended = station.finish(command.envs(variables.iter().copied()));
    assert_eq!(ended.status, 0, "{ended}");
    ended.err
}

#[test]
fn a_log_has_a_line_for_each_record_and_nothing_that_was_said() {
    let station = counting("");
    assert_eq!(logged(&station, &[]), "");
    let info = logged(&station, &[("RUST_LOG", "info")]);
    for line in [
        "started run=",
        "prompted run=",
        "subject=\"[1/8] m\"",
        "subject=\"text.count allow\"",
        "finished run=",
        "stopped run=",
    ] {
        assert!(info.contains(line), "{line}: {info}");
    }
    assert!(!info.contains("lazaret.verdict"), "{info}");
    let debug = logged(&station, &[("RUST_LOG", "lazaret=debug")]);
    assert!(
        debug.contains("lazaret.verdict=allow") && debug.contains("lazaret.spent.us="),
        "{debug}"
    );
    for log in [&info, &debug] {
        assert!(!log.contains(CANARY), "{log}");
        assert!(
            !log.contains('\u{1b}'),
            "no colours where nobody sees them: {log}"
        );
    }
}

#[test]
fn our_own_variable_wins_over_the_common_one() {
    let station = counting("");
    let both = [("RUST_LOG", "info"), ("LAZARET_LOG", "off")];
    assert_eq!(logged(&station, &both), "");
    let both = [("RUST_LOG", "off"), ("LAZARET_LOG", "lazaret=info")];
    assert!(logged(&station, &both).contains("started run="));
}

/// What a library that holds requests says of them is none of the log's, whatever is asked for.
#[test]
fn libraries_that_hold_secrets_stay_quiet() {
    let server = Server::start(vec![Answer::Bytes(plain(200, "application/json", "{}"))]);
    let traces = format!(
        "[traces]\nendpoint = \"{}\"\nprivate = true\nheaders = {{ x-key = {{ env = \"OTLP_KEY\" }} }}\n",
        server.url()
    );
    let station = counting(&traces);
    let asked =
        "trace,hyper=trace,hyper::proto=trace,hyper_util::client=trace,reqwest::connect=trace";
    let log = logged(
        &station,
        &[("RUST_LOG", asked), ("OTLP_KEY", "hunter-2-hunter-2")],
    );
    assert!(!log.contains("hunter-2"), "{log}");
    for library in [" hyper", " reqwest", " hyper_util"] {
        assert!(!log.contains(library), "{library}: {log}");
    }
    let [request] = server.requests().try_into().expect("one request");
    assert!(
        request.to_lowercase().contains("x-key: hunter-2-hunter-2"),
        "{request}"
    );
    assert!(!request.contains(CANARY), "{request}");
}

#[test]
fn steps_come_on_the_stream_of_the_run_before_what_they_are_of() {
    let station = counting("");
    let ended = station.run(&["run", "Count.", "--json"]).ends(0);
    let events: Vec<Value> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let steps = events.iter().filter(|event| event["event"] == "step");
    let steps: Vec<&str> = steps
        .filter_map(|event| event["message"].as_str())
        .collect();
    assert_eq!(
        steps,
        [
            "[1/8] asking m",
            "[1/8] running text.count",
            "[2/8] asking m"
        ]
    );
    let at = |word: &str, key: &str, value: &str| {
        let found = events
            .iter()
            .position(|event| event["event"] == word && event[key] == value);
        found.expect("it is there")
    };
    assert!(at("step", "kind", "tool_execution") < at("judged", "subject", "text.count"));
    let run = events.iter().position(|event| event["event"] == "replied");
    assert!(at("step", "kind", "provider_call") < run.expect("a reply"));
}

#[test]
fn a_dead_collector_costs_a_run_nothing_and_is_said_once() {
    let nobody = Nobody::new();
    let url = nobody.url();
    let traces = format!("[traces]\nendpoint = \"{url}\"\nprivate = true\nattempts = 1\n");
    let station = counting(&traces);
    let ended = station.run(&["run", "Count."]).ends(0);
    assert_eq!(ended.err.matches("spans are lost").count(), 1, "{ended}");
    station
        .run(&["run", "Count.", "--quiet"])
        .ends(0)
        .says_only("");
    // What looks at runs tells nobody.
    station.run(&["runs", "show", "last"]).ends(0).says_only("");
}

#[test]
fn what_hangs_at_the_end_of_a_process_is_said_to_be_lost() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let traces = format!(
        "[traces]\nendpoint = \"{}\"\nprivate = true\ntimeout_ms = 600000\nflush_ms = 20\n",
        server.url()
    );
    let ended = counting(&traces).run(&["run", "Count."]).ends(0);
    assert_eq!(ended.err.matches("spans are lost").count(), 1, "{ended}");
}

#[test]
fn a_collector_that_nobody_trusted_is_told_nothing() {
    let server = Server::start(vec![Answer::Bytes(plain(200, "application/json", "{}"))]);
    let station = Station::new();
    let traces = format!(
        "[traces]\nendpoint = \"{}\"\nprivate = true\n",
        server.url()
    );
    station.write("lazaret.toml", traces);
    station
        .run(&["call", "text.count", "{\"text\":\"a\"}"])
        .ends(0)
        .says(&["is not trusted"]);
    assert_eq!(server.requests(), Vec::<String>::new());
    station
        .run(&["policy", "check"])
        .prints(&[&format!("{}/v1/traces", server.url())]);
    let told = format!("traces of every run go to {}", server.url());
    station.run(&["policy", "trust"]).ends(0).prints(&[&told]);
    station
        .run(&["call", "text.count", "{\"text\":\"a\"}"])
        .ends(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_spans_of_a_run_can_be_had_without_a_collector_and_are_the_same_again() {
    let station = counting("");
    station.run(&["run", &format!("Count {CANARY}.")]).ends(0);
    let export = ["runs", "export", "last", "--format", "otlp"];
    let first = station.run(&export).ends(0);
    let spans = &first.json()["resourceSpans"][0]["scopeSpans"][0]["spans"];
    let mut names: Vec<&str> = spans
        .as_array()
        .expect("spans")
        .iter()
        .filter_map(|span| span["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "chat m",
            "chat m",
            "execute_tool text.count",
            "invoke_agent a",
            "turn",
            "turn"
        ]
    );
    assert!(!first.out.contains(CANARY), "{first}");
    assert_eq!(station.run(&export).ends(0).out, first.out);
}

#[test]
fn the_records_of_a_run_are_watched_from_any_of_them_on() {
    let station = counting("");
    station.run(&["run", "Count."]).ends(0);
    let all = station.run(&["runs", "show", "last", "--json"]).ends(0).out;
    let watched = station
        .run(&["runs", "watch", "last", "--json"])
        .ends(0)
        .out;
    let places = |text: &str| -> Vec<u64> {
        let records = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        records
            .filter_map(|record| record["seq"].as_u64())
            .collect()
    };
    assert_eq!(places(&watched), places(&all));
    let rest = station
        .run(&["runs", "watch", "last", "--from", "3", "--json"])
        .ends(0)
        .out;
    assert_eq!(places(&rest), places(&all)[3..]);
    station
        .run(&["runs", "watch", "last"])
        .ends(0)
        .prints(&["text.count", "done"]);
    station.run(&["runs", "watch", "nowhere"]).ends(4);
    station
        .run(&["runs", "watch", "last", "--from", "100"])
        .ends(2)
        .says(&["has ended, and"]);
}

/// A run of another process is seen while it goes on.
#[test]
fn a_run_of_another_process_is_watched_to_its_end() {
    let station = counting("");
    let slow = "await tools.text.count({text: 'a'}); await new Promise(done => setTimeout(done, 1500)); return 7";
    let script = station.spawn(
        station
            .command(&["script", "-e", slow])
            .stdin(std::process::Stdio::null()),
    );
    let watched = found("the run begins", || {
        let watched = station.run(&["runs", "watch", "last", "--json"]);
        // Until it has begun there is none.
        (watched.status != 4).then_some(watched)
    });
    station.wait(script).ends(0);
    let last = watched.out.lines().last().expect("a record");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["event"], "stopped", "{watched}");
}
