//! The provider that speaks OpenAI's chat completions, against a server on loopback: what it is asked,
//! and what becomes of its streams.

use serde_json::{Value, json};

use crate::server::{Answer, Server, stream};
use crate::station::Station;

/// An agent whose model is at the server.
pub fn station(server: &Server) -> Station {
    station_at(&server.url())
}

/// An agent whose model is at this address.
pub fn station_at(url: &str) -> Station {
    let station = Station::new();
    station.write(
        "lazaret.toml",
        format!(
            "[agents.a]\ninstructions = \"be brief\"\ntools = [\"text.*\"]\nmodels = [\"m\"]\n
[models.m]\nprovider = \"openai\"\nurl = \"{url}/v1\"\nmodel = \"tiny\"\nprivate = true\n"
        ),
    );
    station.trust();
    station
}

pub fn choice(delta: Value, finish: Option<&str>) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
}

/// A stream that says this text.
pub fn says(text: &str) -> Answer {
    Answer::Bytes(stream(&[
        choice(json!({"content": text}), None),
        choice(json!({}), Some("stop")),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}).to_string(),
        "[DONE]".to_owned(),
    ]))
}

pub fn piece(index: usize, name: &str, args: &str) -> String {
    let id = format!("call_{index}");
    let function = json!({"name": name, "arguments": args});
    choice(
        json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
        None,
    )
}

/// A stream that calls these tools, each with its arguments as text.
fn calls(wishes: &[(&str, &str)]) -> Answer {
    let pieces = wishes.iter().enumerate();
    let mut events: Vec<String> = pieces
        .map(|(index, (name, args))| piece(index, name, args))
        .collect();
    events.push(choice(json!({}), Some("tool_calls")));
    events.push("[DONE]".to_owned());
    Answer::Bytes(stream(&events))
}

/// What the model read of its calls, in its last prompt.
fn observed(server: &Server) -> Vec<String> {
    let bodies = server.bodies();
    let messages = bodies.last().unwrap()["messages"].as_array().unwrap();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_text_is_the_answer() {
    let server = Server::start(vec![says("forty days")]);
    let ended = station(&server).run(&["run", "how long?"]).ends(0);
    assert_eq!(ended.out, "forty days\n");
    ended.says(&["[1/8] m", "done after 1 turn, 7 tokens"]);
}

#[test]
fn what_is_asked_is_a_chat_completion() {
    let server = Server::start(vec![says("yes")]);
    station(&server).run(&["run", "how long?"]).ends(0);
    let request = &server.requests()[0];
    assert!(
        request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        !request.to_lowercase().contains("authorization"),
        "no key is configured"
    );
    let body = &server.bodies()[0];
    assert_eq!(body["model"], "tiny");
    assert_eq!(body["stream"], true);
    let roles: Vec<&Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["role"])
        .collect();
    assert_eq!(roles, ["system", "user"]);
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"text__count"), "{names:?}");
    assert!(
        names.iter().all(|name| name.starts_with("text__")),
        "{names:?}"
    );
}

#[test]
fn a_call_is_made_and_its_outcome_is_told() {
    let server = Server::start(vec![
        calls(&[("text__count", r#"{"text":"a b c"}"#)]),
        says("three"),
    ]);
    let ended = station(&server).run(&["run", "count"]).ends(0);
    ended
        .prints(&["three"])
        .says(&["→ text.count {\"text\":\"a b c\"}"]);
    let told: Value = serde_json::from_str(&observed(&server)[0]).unwrap();
    assert_eq!(told["words"], 3);
}

#[test]
fn parallel_calls_are_told_in_order() {
    let server = Server::start(vec![
        calls(&[
            ("text__count", r#"{"text":"a"}"#),
            ("text__count", r#"{"text":"a b"}"#),
            ("text__count", r#"{"text":"a b c"}"#),
        ]),
        says("done"),
    ]);
    let station = station(&server);
    station.run(&["run", "count"]).ends(0);
    let words: Vec<u64> = observed(&server)
        .iter()
        .map(|text| {
            serde_json::from_str::<Value>(text).unwrap()["words"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(words, [1, 2, 3]);
}

#[test]
fn broken_arguments_are_told_and_corrected() {
    let server = Server::start(vec![
        calls(&[("text__count", r#"{"text": "#)]),
        calls(&[("text__count", r#"{"txt":"a b"}"#)]),
        calls(&[("text__count", r#"{"text":"a b"}"#)]),
        says("two"),
    ]);
    station(&server)
        .run(&["run", "count"])
        .ends(0)
        .prints(&["two"]);
    let observed = observed(&server);
    assert!(observed[0].contains("not JSON"), "{observed:?}");
    assert!(
        observed[1].contains("`text` is missing, a string"),
        "{observed:?}"
    );
    assert!(observed[2].contains("\"words\":2"), "{observed:?}");
}

#[test]
fn an_unknown_tool_is_told() {
    let server = Server::start(vec![
        calls(&[("text__cuont", "{}"), ("files__read", r#"{"path":"a"}"#)]),
        says("sorry"),
    ]);
    station(&server)
        .run(&["run", "count"])
        .ends(0)
        .prints(&["sorry"]);
    let observed = observed(&server);
    assert!(
        observed[0].contains("there is no tool `text"),
        "{observed:?}"
    );
    assert!(
        !observed[1].contains("grants"),
        "policy lines are for the operator: {observed:?}"
    );
}

/// Runs against one stream that ends before it is whole.
fn half_way(events: &[String]) {
    let server = Server::start(vec![Answer::Bytes(stream(events))]);
    let station = station(&server);
    station
        .run(&["run", "count"])
        .ends(5)
        .says(&["error: the model provider's stream stopped half-way"]);
    let records = station.records();
    let stopped = records.last().unwrap();
    assert_eq!(stopped["event"], "stopped");
    assert_eq!(stopped["code"], "provider_failed");
    let called = |record: &Value| record["event"] == "judged" && record["effect"] == "call";
    assert!(
        !records.iter().any(called),
        "nothing of a half reply is done"
    );
}

#[test]
fn a_stream_that_stops_half_way_ends_the_run() {
    half_way(&[choice(json!({"content": "forty "}), None)]);
    half_way(&[piece(0, "text__count", r#"{"text":"a b"}"#)]);
    half_way(&[piece(0, "text__count", r#"{"text":"a"#)]);
    half_way(&[]);
}

#[test]
fn a_length_that_was_promised_and_not_sent_ends_the_run() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
    let event = choice(json!({"content": "forty "}), None);
    let server = Server::start(vec![Answer::Bytes(format!("{head}data: {event}\n\n"))]);
    station(&server)
        .run(&["run", "count"])
        .ends(5)
        .says(&["error: "])
        .never("panicked");
}

#[test]
fn text_is_streamed_as_it_comes() {
    let event = choice(json!({"content": "forty "}), None);
    let begun = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {event}\n\n"
    );
    let server = Server::start(vec![Answer::Silence(begun)]);
    let station = station(&server);
    let mut child = station.spawn(&mut station.command(&["run", "how long?", "--json"]));
    let out = std::io::BufReader::new(child.stdout.take().unwrap());
    let seen = std::io::BufRead::lines(out)
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|event| event["event"] == "text");
    assert_eq!(seen.unwrap()["text"], "forty ");
    drop(server);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// An agent whose model is at the server, with a fixture's tools.
fn station_with_fixture(server: &Server, agent: &str) -> Station {
    Station::with(&format!(
        "[plugins]\nhostile = \"{}\"\n[agents.a]\nmodels = [\"m\"]\n{agent}\n[models.m]\nprovider = \"openai\"\n\
         url = \"{}/v1\"\nmodel = \"tiny\"\nprivate = true\n",
        crate::station::hostile().display(),
        server.url()
    ))
}

/// The tools of each prompt: name and description.
fn told(server: &Server) -> Vec<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tool = |tool: &Value| {
        (
            text(&tool["function"]["name"]),
            text(&tool["function"]["description"]),
        )
    };
    let tools = |body: &Value| body["tools"].as_array().unwrap().iter().map(tool).collect();
    server.bodies().iter().map(tools).collect()
}

/// What the system says in each prompt.
fn system(server: &Server) -> Vec<String> {
    let bodies = server.bodies();
    let first = bodies.iter().map(|body| &body["messages"][0]);
    let said = first.map(|message| {
        assert_eq!(message["role"], "system");
        message["content"].as_str().unwrap().to_owned()
    });
    said.collect()
}

/// A name is a text of whoever gave it: the system says that of a stranger's tool as little as that of one that was found,
/// and says the same in every turn.
#[test]
fn the_system_names_no_tool_of_a_stranger_and_none_that_was_found() {
    for (trust, named) in [
        ("", "text.count, search_tools"),
        (
            "[flow]\ntrust = [\"hostile\"]",
            "hostile.echo, text.count, search_tools",
        ),
    ] {
        let server = Server::start(vec![
            calls(&[("search_tools", r#"{"query":"spoons"}"#)]),
            calls(&[("hostile__polish", r#"{"spoon":"big"}"#)]),
            says("shiny"),
        ]);
        let tools = "tools = [\"hostile.polish\", \"hostile.echo\", \"text.count\"]";
        let station = station_with_fixture(&server, &format!("{tools}\n{trust}"));
        station.run(&["run", "polish"]).ends(0).prints(&["shiny"]);
        let told = told(&server);
        assert_eq!((told[0].len(), told[1].len()), (3, 4), "it was found");
        let system = system(&server);
        let stable = format!(
            "Tools that policy lets you call: {named}, and what else your list of tools shows. Others do not exist for you."
        );
        assert_eq!(system[0], stable);
        for said in &system {
            // What the marks mean comes behind, once there are any.
            assert!(said.starts_with(&stable), "{said}");
            assert!(!said.contains("polish"), "{said}");
            assert_eq!(said.contains("hostile"), !trust.is_empty(), "{said}");
        }
        assert_eq!(system[1], system[2]);
    }
}

#[test]
fn a_tool_that_was_found_comes_last_and_without_examples() {
    let server = Server::start(vec![
        calls(&[("search_tools", r#"{"query":"spoons"}"#)]),
        calls(&[("hostile__polish", r#"{"spoon":"big"}"#)]),
        says("shiny"),
    ]);
    let station = station_with_fixture(&server, "tools = [\"hostile.polish\", \"text.count\"]");
    station.run(&["run", "polish"]).ends(0).prints(&["shiny"]);
    let told = told(&server);
    let names =
        |turn: usize| -> Vec<&str> { told[turn].iter().map(|(name, _)| name.as_str()).collect() };
    assert_eq!(names(0), ["text__count", "search_tools"]);
    assert_eq!(names(1), ["text__count", "search_tools", "hostile__polish"]);
    assert_eq!(told[1], told[2]);
    assert_eq!(told[0][..], told[1][..2], "what was shown stays as it was");
    let (_, description) = &told[1][2];
    assert!(
        description.contains("Polishes spoons") && !description.contains("big"),
        "{description}"
    );
    assert!(observed(&server)[1].contains("big shines"));
}

#[test]
fn in_code_mode_the_catalogue_stands_with_the_script() {
    let server = Server::start(vec![
        calls(&[(
            "run_script",
            r#"{"source":"return (await tools.text.count({text: 'a b c'})).words"}"#,
        )]),
        says("three"),
    ]);
    let station = station_with_fixture(
        &server,
        "calling = \"code\"\ntools = [\"hostile.polish\", \"text.count\"]",
    );
    station.run(&["run", "count"]).ends(0).prints(&["three"]);
    let told = told(&server);
    assert_eq!(told[0].len(), 2);
    assert_eq!(
        (told[0][0].0.as_str(), told[0][1].0.as_str()),
        ("run_script", "search_tools")
    );
    let catalogue = &told[0][0].1;
    assert!(
        catalogue.contains("text.count — ") && catalogue.contains("hostile.polish — "),
        "{catalogue}"
    );
    assert!(
        !catalogue.contains("destroy") && !catalogue.contains("diff"),
        "{catalogue}"
    );
    // Who was shown a stranger's words is told so of all that follows.
    let seen = observed(&server).concat();
    assert!(
        seen.contains("from tool:hostile.* ") && seen.contains("]\n3\n["),
        "{seen}"
    );
}

#[test]
fn a_server_on_this_machine_is_asked_where_its_table_says_so() {
    let station = Station::with(
        "[agents.a]\nmodels = [\"m\"]\n[models.m]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"x\"\n",
    );
    station
        .run(&["run", "hi"])
        .ends(3)
        .says(&[
            "127.0.0.1 is not on the public internet, and its table does not say `private = true`",
            "  [models.m]\n  private = true",
        ])
        .never("the line `POST");
}
