//! Clients that leave, or still wait, while their calls are under way: the call goes on, and a server that ends leaves
//! nothing half on record.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use lazaret_tests::wait::{PATIENCE, found};
use serde_json::{Value, json};

use crate::provider;
use crate::server::{self, Answer, Server};
use crate::serving::Serving;
use crate::station::Station;

/// A station that may ask somebody at this address.
fn asking(url: &str) -> Station {
    Station::with(&format!(
        "[serve]\ngrace_ms = 50\n[grants.\"web.get_page\"]\nfetch = [{{ url = \"{url}/\", private = true }}]\n"
    ))
}

/// Sends a request and waits for no answer.
fn begin(serving: &Serving<'_>, path: &str, lines: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         {lines}content-length: {}\r\n\r\n{body}",
        serving.address,
        serving.token,
        body.len()
    );
    let mut stream = serving.connect();
    stream.write_all(request.as_bytes()).expect("a request");
    stream
}

fn call(serving: &Serving<'_>, url: &str) -> TcpStream {
    let body = json!({"input": {"url": format!("{url}/")}});
    begin(serving, "/v1/tools/web.get_page/call", "", &body)
}

/// The ends of calls on record, each with whether it was done.
fn ends(records: &[Value]) -> Vec<&Value> {
    let ends = records
        .iter()
        .filter(|record| record["event"] == "finished" && record["parent"] == 1);
    ends.map(|record| &record["end"]).collect()
}

#[test]
fn a_call_goes_on_without_its_client_and_ends_on_record() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let station = asking(&url);
    let serving = Serving::start(&station);
    let client = call(&serving, &url);
    listener.set_nonblocking(true).expect("it does not block");
    let (mut asked, _) = found("it asks", || listener.accept().ok());
    asked.set_read_timeout(Some(PATIENCE)).expect("a time");
    let mut head = [0; 4_096];
    assert!(asked.read(&mut head).expect("a request") > 0);
    drop(client);
    // So often it looks at its connections, and sees that one has gone.
    for _ in 0..50 {
        serving.get("/v1/runs").is(200);
    }
    let runs = serving.get("/v1/runs").is(200)["runs"].clone();
    assert_eq!(runs[0]["state"], "running", "{runs}");
    let run = runs[0]["run"].as_str().expect("a name").to_owned();
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nHello";
    asked.write_all(page.as_bytes()).expect("an answer");
    let end = serving.events(&run, None).last().expect("an end");
    assert_eq!(end.value, json!({"state": "done"}));
    serving.end().ends(0).says_only("");
    let records = station.records();
    assert_eq!(ends(&records), [&json!("done")], "{records:?}");
}

/// A run that answers a completion belongs to the server as well, whether its client reads it in pieces or waits for all.
#[test]
fn an_agent_goes_on_without_the_client_of_its_completion() {
    for streams in [false, true] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let station = provider::station_at(&url);
        let serving = Serving::start(&station);
        let messages = json!([{"role": "user", "content": "How long?"}]);
        let body = json!({"model": "a", "messages": messages, "stream": streams});
        let client = begin(&serving, "/v1/chat/completions", "", &body);
        listener.set_nonblocking(true).expect("it does not block");
        let (mut model, _) = found("its model is asked", || listener.accept().ok());
        model.set_nonblocking(false).expect("it blocks");
        model.set_read_timeout(Some(PATIENCE)).expect("a time");
        server::read(&mut model);
        drop(client);
        // So often it looks at its connections, and sees that one has gone.
        for _ in 0..50 {
            serving.get("/v1/runs").is(200);
        }
        let runs = serving.get("/v1/runs").is(200)["runs"].clone();
        assert_eq!(runs[0]["state"], "running", "{runs}");
        let Answer::Bytes(said) = provider::says("Forty days.") else {
            panic!("it is silent");
        };
        model.write_all(said.as_bytes()).expect("an answer");
        drop(model);
        let run = runs[0]["run"].as_str().expect("a name");
        let end = serving.events(run, None).last().expect("an end");
        assert_eq!(end.value, json!({"state": "done"}), "{streams}");
        let shown = serving.get(&format!("/v1/runs/{run}")).is(200);
        assert_eq!(shown["answer"], "Forty days.");
    }
}

#[test]
fn a_server_that_ends_leaves_the_call_of_a_client_that_still_waits() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = asking(&server.url());
    let serving = Serving::start(&station);
    let mut client = call(&serving, &server.url());
    server.wait();
    serving.end().ends(0).says(&["some runs were left"]);
    // Whatever it was told, it does not wait for ever.
    let mut told = Vec::new();
    let _ = client.read_to_end(&mut told);
    // Its run has no end, so it can be taken up again, and nothing says that the call was done.
    let records = station.records();
    assert!(!ends(&records).contains(&&json!("done")), "{records:?}");
    let stopped = records.iter().any(|record| record["event"] == "stopped");
    assert!(!stopped, "{records:?}");
    station.run(&["runs", "verify", "--all"]).ends(0);
}

#[test]
fn a_server_that_ends_waits_until_calls_over_mcp_have_ended_on_record() {
    let server = Server::start(vec![Answer::Silence(String::new())]);
    let station = asking(&server.url());
    let serving = Serving::start(&station);
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
    "name": "web__get_page", "arguments": {"url": format!("{}/", server.url())}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let lines = "accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                 Mcp-Method: tools/call\r\nMcp-Name: web__get_page\r\n";
    let _client = begin(&serving, "/mcp", lines, &body);
    server.wait();
    serving.end().ends(0);
    let records = station.records();
    assert_eq!(ends(&records), [&json!("failed")], "{records:?}");
    let last = records.last().expect("records");
    assert_eq!(
        (&last["event"], &last["code"]),
        (&json!("stopped"), &json!("cancelled"))
    );
    station.run(&["runs", "verify", "--all"]).ends(0);
}
