//! Chains against servers on loopback: what goes over the wire when a model gives no reply.

use serde_json::{Value, json};

use crate::provider::says;
use crate::server::{Answer, Server, plain};
use crate::station::{Ended, Station};

const KEY: &str = "canary-6c2e1f-key";

macro_rules! streams {
    ($name:literal) => {
        include_str!(concat!("../../../host/src/rules/codec/", $name, ".txt"))
    };
}

/// Two models of the server, asked in order, with this said of the agent.
fn station(server: &Server, (first, second): (&str, &str), more: &str) -> Station {
    let model = |name: &str, provider: &str| {
        format!(
            "[models.{name}]\nprovider = \"{provider}\"\nurl = \"{}/{name}\"\nmodel = \"tiny\"\n\
             key_env = \"STATION_KEY\"\nprivate = true\n",
            server.url()
        )
    };
    Station::with(&format!(
        "[agents.a]\ntools = [\"text.*\"]\nmodels = [\"one\", \"two\"]\n{more}\n{}{}",
        model("one", first),
        model("two", second)
    ))
}

fn ask(station: &Station) -> Ended {
    let mut command = station.command(&["run", "count"]);
    station.finish(command.env("STATION_KEY", KEY))
}

fn sends(stream: &str) -> Answer {
    Answer::Bytes(plain(200, "text/event-stream", stream))
}

/// A refusal with a header beside it.
fn refuses(status: u16, header: &str, body: &str) -> Answer {
    let whole = plain(status, "application/json", body);
    Answer::Bytes(whole.replacen("\r\n", &format!("\r\n{header}\r\n"), 1))
}

/// Where each request went.
fn paths(server: &Server) -> Vec<String> {
    let path = |request: &String| request.split(' ').nth(1).unwrap().to_owned();
    server.requests().iter().map(path).collect()
}

#[test]
fn what_was_thought_is_told_to_nobody_after_a_change_of_providers() {
    let server = Server::start(vec![
        sends(streams!("anthropic/streams/calls")),
        refuses(529, "x-a: b", ""),
        sends(streams!("openai/streams/openai")),
        sends(streams!("anthropic/streams/text")),
    ]);
    let station = station(&server, ("anthropic", "openai"), "");
    ask(&station).ends(0).says(&[
        "no reply one the model provider failed or is overloaded: status 529; the next one is asked",
    ]);
    let (one, two) = ("/one/messages", "/two/chat/completions");
    assert_eq!(paths(&server), [one, one, two, one]);
    let bodies = server.bodies();
    let signed = |body: &Value| body.to_string().contains("c2lnbmVk");
    let told: Vec<bool> = bodies.iter().map(signed).collect();
    assert_eq!(told, [false, true, false, false], "{bodies:?}");
    // What is said and what came of calls is told all the same, and no side speaks twice in a row.
    let roles: Vec<&str> = bodies[3]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
}

#[test]
fn what_a_server_asks_for_is_bounded() {
    let chain = "[agents.a.chain]\nattempts = 2\nbackoff_ms = 1";
    for (header, requests) in [
        ("retry-after: 0", ["/one", "/one"]),
        ("retry-after: -1", ["/one", "/one"]),
        (
            "retry-after: Sun, 06 Nov 1994 08:49:37 GMT",
            ["/one", "/one"],
        ),
        ("retry-after: soon", ["/one", "/one"]),
        ("retry-after: 1000000000", ["/one", "/two"]),
        ("retry-after: 99999999999999999999999", ["/one", "/two"]),
        (
            "retry-after: Thu, 01 Jan 2099 00:00:00 GMT",
            ["/one", "/two"],
        ),
        ("retry-after-ms: 86400000", ["/one", "/two"]),
    ] {
        let server = Server::start(vec![refuses(429, header, ""), says("yes")]);
        let station = station(&server, ("openai", "openai"), chain);
        ask(&station).ends(0).prints(&["yes"]);
        let expected = requests.map(|base| format!("{base}/chat/completions"));
        assert_eq!(paths(&server), expected, "{header}");
    }
}

#[test]
fn a_key_that_is_refused_is_read_again_once_and_nobody_else_is_asked() {
    let body = json!({"error": {"type": "invalid_api_key", "message": KEY}}).to_string();
    let refused = || refuses(401, "x-a: b", &body);
    let server = Server::start(vec![refused(), refused(), says("no")]);
    let chain = "[agents.a.chain]\nattempts = 5";
    let station = station(&server, ("openai", "openai"), chain);
    ask(&station).ends(5).never(KEY);
    let path = "/one/chat/completions";
    assert_eq!(paths(&server), [path, path]);
    let records = station.records();
    assert!(
        !records
            .iter()
            .any(|record| record.to_string().contains(KEY))
    );
    let attempts = records
        .iter()
        .filter(|record| record["event"] == "attempted");
    let then: Vec<&Value> = attempts.map(|record| &record["then"]).collect();
    assert_eq!(then, ["again", "over"]);
}

#[test]
fn a_server_that_does_not_stream_is_asked_for_the_whole_answer_and_not_for_a_stream_again() {
    let refusal = json!({"error": {
        "message": "Your organization must be verified to stream this model.",
        "type": "invalid_request_error", "param": "stream", "code": "unsupported_value",
    }});
    let whole = |message: Value, finish: &str| {
        let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]});
        Answer::Bytes(plain(200, "application/json", &body.to_string()))
    };
    let function = json!({"name": "text__count", "arguments": "{\"text\":\"a b\"}"});
    let call = json!({"id": "c1", "type": "function", "function": function});
    let server = Server::start(vec![
        refuses(400, "x-a: b", &refusal.to_string()),
        whole(
            json!({"role": "assistant", "tool_calls": [call]}),
            "tool_calls",
        ),
        whole(json!({"role": "assistant", "content": "two"}), "stop"),
    ]);
    let station = station(&server, ("openai", "openai"), "");
    ask(&station).ends(0).prints(&["two"]);
    let streams: Vec<Value> = server
        .bodies()
        .iter()
        .map(|body| json!([body["stream"], body.get("stream_options").is_some()]))
        .collect();
    assert_eq!(
        streams,
        [
            json!([true, true]),
            json!([false, false]),
            json!([false, false])
        ]
    );
}

#[test]
fn a_model_that_is_said_not_to_stream_is_asked_so_in_every_format() {
    for (word, path, body) in [
        (
            "openai",
            "/base/chat/completions",
            json!({"choices": [{"index": 0, "message": {"content": "yes"}, "finish_reason": "stop"}]}),
        ),
        (
            "anthropic",
            "/base/messages",
            json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "yes"}],
                "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ),
        (
            "gemini",
            "/base/models/tiny:generateContent",
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}]}),
        ),
        (
            "ollama",
            "/base/chat",
            json!({"message": {"role": "assistant", "content": "yes"}, "done": true, "done_reason": "stop"}),
        ),
        (
            "responses",
            "/base/responses",
            json!({"status": "completed", "output": [{"type": "message", "id": "m", "role": "assistant",
                "status": "completed", "content": [{"type": "output_text", "text": "yes", "annotations": []}]}]}),
        ),
    ] {
        let server = Server::start(vec![Answer::Bytes(plain(
            200,
            "application/json",
            &body.to_string(),
        ))]);
        let station = Station::with(&format!(
            "[agents.a]\nmodels = [\"m\"]\n[models.m]\nprovider = \"{word}\"\nurl = \"{}/base\"\n\
             model = \"tiny\"\nprivate = true\nstream = false\n",
            server.url()
        ));
        ask(&station).ends(0).prints(&["yes"]);
        assert_eq!(paths(&server), [path]);
        let streams = &server.bodies()[0]["stream"];
        assert!(streams == false || word == "gemini", "{word}: {streams}");
    }
}

#[test]
fn a_redirect_and_a_page_are_no_reply_and_asked_for_once() {
    for answer in [
        refuses(302, "location: /two/chat/completions", ""),
        Answer::Bytes(plain(200, "text/html", "<html>sign in</html>")),
        Answer::Bytes(plain(204, "text/plain", "")),
        Answer::Bytes(plain(
            200,
            "application/json",
            "{\"error\":{\"type\":\"invalid_request_error\"}}",
        )),
    ] {
        let server = Server::start(vec![answer, says("no")]);
        let chain = "[agents.a.chain]\nattempts = 3\nbackoff_ms = 1";
        let station = station(&server, ("openai", "openai"), chain);
        ask(&station).ends(5);
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn an_error_loses_what_has_the_form_of_a_credential() {
    let body =
        json!({"error": {"type": "sk-ant-canary-123456", "message": "bad Bearer abc123canary"}});
    let server = Server::start(vec![refuses(400, "x-a: b", &body.to_string())]);
    let station = station(&server, ("openai", "openai"), "");
    let ended = ask(&station).ends(5);
    ended.never("canary").says(&["status 400 `[REDACTED]`"]);
    assert!(
        !station
            .records()
            .iter()
            .any(|record| record.to_string().contains("ant-canary"))
    );
}

#[test]
fn an_answer_with_a_schema_from_a_file_is_printed_as_json() {
    let server = Server::start(vec![says("{ \"n\": 2 }")]);
    let station = station(&server, ("openai", "openai"), "");
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    station.write("n.json", schema.to_string());
    let mut command = station.command(&["run", "count", "--answer-schema", "n.json"]);
    let ended = station.finish(command.env("STATION_KEY", KEY)).ends(0);
    assert_eq!(ended.out, "{\"n\":2}\n");
    let body = &server.bodies()[0];
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert!(
        body["messages"][0]
            .to_string()
            .contains("fits this JSON Schema")
    );
    let no_json = "the schema `n.json` is no JSON: expected ident at line 1 column 2";
    for (schema, says) in [("{\"type\": 7}", "n.json"), ("no", no_json)] {
        station.write("n.json", schema);
        let mut command = station.command(&["run", "count", "--answer-schema", "n.json"]);
        station
            .finish(command.env("STATION_KEY", KEY))
            .ends(2)
            .says(&[says]);
    }
}

#[test]
fn wrong_lines_about_chains_say_what_is_meant() {
    for (config, says) in [
        ("[agents.a]\nmodels = [\"fast\"]\n", "`[tiers]`"),
        (
            "[tiers]\nfast = [\"zz\"]\n",
            "[tiers] fast speaks of the model `zz`",
        ),
        ("[tiers]\nfsat = [\"zz\"]\n", "did you mean `fast`?"),
        (
            "[agents.a.chain]\nattempts = 0\n",
            "[agents.a.chain] attempts is from 1 to 10",
        ),
        ("[chain]\nretries = 2\n", "there is no key `retries` here"),
        (
            "[agents.a]\nanswer = {}\nanswer_schema = \"a.json\"\n",
            "agent `a` has `answer` and `answer_schema`",
        ),
        ("[agents.a]\nanswer_schema = \"a.json\"\n", "a.json"),
        (
            "[models.m]\nprovider = \"scripted\"\nscript = \"s\"\naccepts = \"secret\"\n",
            "`secret` is not one of those that may stand here",
        ),
    ] {
        let station = Station::new();
        station.write("lazaret.toml", config);
        let ended = station.run(&["policy", "check"]);
        assert_ne!(ended.status, 0, "{config}");
        assert!(ended.err.contains(says), "{config}: {}", ended.err);
    }
}

#[test]
fn the_chain_in_the_readme_is_one() {
    let readme = include_str!("../../../README.md");
    let block = |start: &str| {
        let mut blocks = readme.split("```toml\n");
        let block = blocks.find(|block| block.starts_with(start)).unwrap();
        block.split("```").next().unwrap()
    };
    let whole = format!("{}{}", block("[models.openai]"), block("[chain]"));
    let station = Station::with(&whole);
    station.run(&["doctor"]).ends(0);
}
