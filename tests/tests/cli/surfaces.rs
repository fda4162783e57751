//! One tool, every surface (A-01, A-02): the same wish has the same envelope, whichever way it comes.

use std::path::Path;

use lazaret_tests::saying;
use serde_json::{Value, json};

use crate::client::Client;
use crate::serving::Serving;
use crate::station::{Station, hostile};

/// What the agent there calls, and says.
const AGENT: &str = r#"{"calls":[{"tool":"here.run","args":{}},{"tool":"sure.run","args":{}}]}
{"text":"Done."}"#;

/// What can go wrong with a call stands here once: who may not, who has to be asked, and what breaks. Flows are not judged:
/// whose words those of a call are is what differs between surfaces.
fn station() -> Station {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let suite = root.join("target/guests/conformance.wasm");
    assert!(suite.exists(), "there is none: plugins/build.sh guests");
    let config = format!(
        "ask = [\"hostile.destroy\"]\nblock = [\"clock.now\"]\n[grants.\"hostile.destroy\"]\n[grants.\"sure.run\"]\n\
         [[permissions]]\ntools = \"text.diff\"\nverdict = \"quota used up\"\n\
         [[permissions]]\ntools = \"text.replace\"\nverdict = false\n\
         [flow]\nmode = \"off\"\n[agents.a]\ntools = [\"here.run\", \"sure.run\"]\nmodels = [\"m\"]\n\
         [models.m]\nprovider = \"scripted\"\nscript = \"agent.jsonl\"\n[plugins]\nhostile = {:?}\nconformance = {suite:?}\nhere = \"here.wasm\"\nsure = \"sure.wasm\"\n\
         torn = \"torn.wasm\"\nodd = \"odd.wasm\"\nnone = \"none.wasm\"\n",
        hostile()
    );
    let station = Station::new();
    for (name, component) in [
        // For the command line alone,
        (
            "here",
            saying::component("here", &json!({"surfaces": ["cli"]}), "1"),
        ),
        // to be confirmed,
        (
            "sure",
            saying::component("sure", &json!({"effect": "destructive"}), "1"),
        ),
        // failing in its own words,
        (
            "torn",
            saying::failing("torn", &json!({}), true, &json!({"code": "CONFLICT"})),
        ),
        // returning what it did not promise, and nothing that is JSON.
        (
            "odd",
            saying::component("odd", &json!({"output": {"type": "string"}}), "3"),
        ),
        ("none", saying::component("none", &json!({}), "NaN")),
    ] {
        station.write(&format!("{name}.wasm"), component);
    }
    station.write("agent.jsonl", AGENT);
    station.write("lazaret.toml", config);
    station.run(&["policy", "trust", "--quiet"]).ends(0);
    station
}

/// A wish, what else is asked of it, and the code of what comes of it; none where it is well.
struct Case {
    tool: &'static str,
    input: Value,
    options: Value,
    code: Option<&'static str>,
}

fn case(tool: &'static str, input: Value, code: Option<&'static str>) -> Case {
    Case {
        tool,
        input,
        options: json!({}),
        code,
    }
}

fn cases() -> Vec<Case> {
    let empty = || json!({});
    let denied = Some("AUTHORIZATION_ERROR");
    vec![
        case("text.count", json!({"text": "a b"}), None),
        case(
            "text.query",
            json!({"json": {"a": [1, 2]}, "path": "/a/1"}),
            None,
        ),
        case("text.count", empty(), Some("VALIDATION_ERROR")),
        case("text.count", json!({"text": 1}), Some("VALIDATION_ERROR")),
        case(
            "text.count",
            json!({"text": "a", "user": "root"}),
            Some("VALIDATION_ERROR"),
        ),
        case("clock.now", empty(), denied),
        case("text.diff", json!({"old": "a", "new": "b"}), denied),
        case(
            "text.replace",
            json!({"text": "a", "pattern": "a", "replacement": "b"}),
            denied,
        ),
        case("files.read", json!({"path": "../../etc/passwd"}), denied),
        case(
            "text.search",
            json!({"text": "a", "pattern": "("}),
            Some("VALIDATION_ERROR"),
        ),
        // Files that come with it, as text and as bytes; what it logs; how far it is.
        case("conformance.multiple_content_types", empty(), None),
        case("conformance.everything", empty(), None),
        case(
            "conformance.everything",
            json!({"fails": true}),
            Some("INTERNAL_ERROR"),
        ),
        case("conformance.tool_with_logging", empty(), None),
        case("conformance.tool_with_progress", empty(), None),
        case(
            "conformance.error_handling",
            empty(),
            Some("INTERNAL_ERROR"),
        ),
        case("here.run", empty(), Some("UNSUPPORTED_SURFACE")),
        case("sure.run", empty(), Some("CONFIRMATION_REQUIRED")),
        Case {
            options: json!({"confirm": true}),
            ..case("sure.run", empty(), None)
        },
        Case {
            options: json!({"timeoutMs": 300}),
            ..case("hostile.sleep", empty(), Some("TIMEOUT"))
        },
        Case {
            options: json!({"retries": 1, "retryDelayMs": 7}),
            ..case("torn.run", empty(), Some("CONFLICT"))
        },
        case("odd.run", empty(), Some("OUTPUT_VALIDATION_ERROR")),
        case("none.run", empty(), Some("OUTPUT_SERIALIZATION_ERROR")),
    ]
}

/// What has to be the same: not the names of runs, not the time, not which surface it was. Of the label it is all but
/// whose words those of the call are: a person typed them, or a program wrote them.
fn told(station: &Station, envelope: &Value) -> Value {
    // As the station shows it of a command.
    let text = envelope.to_string();
    let here = station.workspace().display().to_string();
    let envelope: Value = serde_json::from_str(&text.replace(&here, "[HERE]")).expect("JSON");
    let logs = envelope["logs"].as_array().expect("logs");
    let logs = logs
        .iter()
        .map(|log| json!([log["level"], log["message"], log["fields"]]));
    let error = &envelope["error"];
    let label = envelope["meta"]["label"]
        .as_array()
        .expect("a label")
        .iter();
    let label = label
        .filter(|source| !["user", "file:/client"].contains(&source.as_str().unwrap_or_default()));
    let usage = &envelope["meta"]["usage"];
    json!({
        "ok": envelope["ok"],
        "data": envelope["data"],
        "error": [error["code"], error["message"], error["issues"], error["retryable"], error["kind"], error["hints"]],
        "label": label.collect::<Vec<_>>(),
        "artifacts": envelope["artifacts"],
        "logs": logs.collect::<Vec<_>>(),
        "action": envelope["meta"]["action"],
        "is timed": envelope["meta"]["durationMs"].is_u64() && usage.is_object(),
    })
}

/// The same without the bytes of artifacts, which MCP has beside it.
fn told_to_mcp(expected: &Value) -> Value {
    let mut expected = expected.clone();
    for artifact in expected["artifacts"].as_array_mut().expect("a list") {
        artifact
            .as_object_mut()
            .expect("an object")
            .remove("base64");
    }
    expected
}

/// The run of an envelope. What a command has printed names none, so that it is asked for at once.
fn run_of(envelope: &Value) -> String {
    let id = envelope["meta"]["invocationId"].as_str().expect("a name");
    let run = id.split(':').next().unwrap_or_default();
    if run == "[RUN]" { "last" } else { run }.to_owned()
}

/// What stands on record of a run: words, subjects and verdicts, and not by whom it was confirmed.
fn recorded(serving: &Serving<'_>, run: &str) -> Vec<String> {
    let seen = serving.get(&format!("/v1/runs/{run}")).is(200);
    let records = seen["records"].as_array().expect("records").iter();
    let word = |record: &Value, key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let line = |record: &Value| {
        let verdict = word(&record["verdict"], "verdict");
        let (event, subject) = (word(record, "event"), word(record, "subject"));
        let (end, code) = (word(record, "end"), word(record, "code"));
        format!("{event} {subject} {verdict} {end} {code}")
    };
    records.map(line).collect()
}

fn merged(one: &Value, other: &Value) -> Value {
    let mut one = one.clone();
    for (key, value) in other.as_object().expect("an object") {
        one[key] = value.clone();
    }
    one
}

/// A call on the command line.
fn over_cli(station: &Station, case: &Case) -> Value {
    let (input, options) = (case.input.to_string(), &case.options);
    let mut words = vec!["call", case.tool, &input, "--json"];
    let ms = options["timeoutMs"].to_string();
    if options["confirm"] == true {
        words.push("--confirm");
    }
    if options["timeoutMs"].is_u64() {
        words.extend(["--timeout-ms", &ms]);
    }
    if options["retries"].is_u64() {
        words.extend(["--retries", "1"]);
    }
    if options["retryDelayMs"].is_u64() {
        words.extend(["--retry-delay-ms", "7"]);
    }
    if let Some(key) = options["idempotencyKey"].as_str() {
        words.extend(["--idempotency-key", key]);
    }
    station.run(&words).json()
}

fn over_json(station: &Station, case: &Case, surface: &str) -> Value {
    let line = json!({"action": case.tool, "input": case.input, "surface": surface});
    let line = merged(&line, &case.options).to_string();
    station.run(&["json", &line]).json()
}

fn over_http(serving: &Serving<'_>, case: &Case, surface: &str) -> Value {
    let body = json!({"input": case.input, "surface": surface});
    let path = format!("/v1/tools/{}/call", case.tool);
    serving.post(&path, &merged(&body, &case.options)).json()
}

/// The envelope, and the whole outcome.
fn over_mcp(client: &mut Client<'_>, case: &Case) -> Value {
    let name = case.tool.replace('.', "__");
    let meta = json!({"lazaret/options": case.options});
    let call = json!({"name": name, "arguments": case.input, "_meta": meta});
    client.ask("tools/call", call)["result"].clone()
}

/// The same by HTTP, as the newest version of the protocol has it: without a session.
fn over_mcp_http(serving: &Serving<'_>, case: &Case) -> Value {
    let name = case.tool.replace('.', "__");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "lazaret/options": case.options,
    });
    let params = json!({"name": name, "arguments": case.input, "_meta": meta});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    // What speaks MCP is none of the document's.
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {name}\r\ncontent-length: {}\r\n\r\n{body}",
        serving.address,
        serving.token,
        body.len()
    );
    let told = serving.raw(request.as_bytes());
    let mut data = told
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let last = data.rfind(|data| !data.is_empty()).unwrap_or(&told.body);
    let message: Value =
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    message["result"].clone()
}

/// Surfaces that a client says: by lines of JSON, and over HTTP.
const BY_NAME: [&str; 7] = [
    "json",
    "ai-sdk",
    "dev",
    "http",
    "react",
    "http as ai-sdk",
    "http as dev",
];

/// A call of one of these, and what it calls itself.
fn over<'a>(
    surface: &'a str,
    (station, serving): (&Station, &Serving<'_>),
    case: &Case,
) -> (&'a str, Value) {
    let said = surface.trim_start_matches("http as ");
    let envelope = match ["json", "ai-sdk", "dev"].contains(&surface) {
        true => over_json(station, case, said),
        false => over_http(serving, case, said),
    };
    (said, envelope)
}

#[test]
fn the_same_wish_has_the_same_envelope_and_the_same_record_on_every_surface() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    for case in cases() {
        let about = format!("{} {} {}", case.tool, case.input, case.options);
        let cli = over_cli(&station, &case);
        // The command line alone has a tool that is for it alone, and a page asks its user by itself.
        let is_here = case.tool == "here.run";
        let asks = case.code == Some("CONFIRMATION_REQUIRED");
        if !is_here {
            assert_eq!(cli["error"]["code"].as_str(), case.code, "{about}: {cli}");
        }
        let (expected, records) = match is_here {
            true => {
                let line = over_json(&station, &case, "json");
                assert_eq!(
                    (&cli["ok"], &line["error"]["code"]),
                    (&json!(true), &json!("UNSUPPORTED_SURFACE"))
                );
                (None, recorded(&serving, &run_of(&line)))
            }
            false => (
                Some(told(&station, &cli)),
                recorded(&serving, &run_of(&cli)),
            ),
        };
        for surface in BY_NAME {
            let (said, envelope) = over(surface, (&station, &serving), &case);
            assert_eq!(envelope["meta"]["surface"], said, "{about}: {envelope}");
            if asks && ["react", "dev"].contains(&said) {
                assert_eq!(envelope["ok"], true, "{surface}: {envelope}");
                continue;
            }
            match &expected {
                Some(expected) => {
                    assert_eq!(told(&station, &envelope), *expected, "{surface}: {about}")
                }
                None => assert_eq!(envelope["error"]["code"].as_str(), case.code, "{surface}"),
            }
            assert_eq!(
                recorded(&serving, &run_of(&envelope)),
                records,
                "{surface}: {about}"
            );
        }
        // A tool that nobody may call there is not offered to a client of MCP in the first place.
        if case.tool == "clock.now" || is_here {
            continue;
        }
        let expected = told_to_mcp(&expected.expect("it is told"));
        for mcp in [over_mcp(&mut client, &case), over_mcp_http(&serving, &case)] {
            let envelope = &mcp["structuredContent"];
            assert_eq!(told(&station, envelope), expected, "mcp: {about}");
            assert_eq!(mcp["isError"], case.code.is_some());
            assert_eq!(
                recorded(&serving, &run_of(envelope)),
                records,
                "mcp: {about}"
            );
        }
    }
    client.end().ends(0);
    serving.end().ends(0);
}

/// A call that is sent again under its key happens no second time, whichever way it comes.
#[test]
fn a_repetition_is_told_as_one_on_every_surface() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    let keyed = |surface: &str| Case {
        options: json!({"confirm": true, "idempotencyKey": format!("the key of {surface}")}),
        ..case("sure.run", json!({}), None)
    };
    let mut twice = Vec::new();
    for surface in BY_NAME {
        let made = || over(surface, (&station, &serving), &keyed(surface)).1;
        twice.push((surface, made(), made()));
    }
    let made = || over_cli(&station, &keyed("cli"));
    twice.push(("cli", made(), made()));
    let mut made = || over_mcp(&mut client, &keyed("mcp"))["structuredContent"].clone();
    twice.push(("mcp", made(), made()));
    let made = || over_mcp_http(&serving, &keyed("mcp http"))["structuredContent"].clone();
    twice.push(("mcp over http", made(), made()));
    for (surface, first, second) in twice {
        let repeated = |envelope: &Value| envelope["meta"]["usage"]["repeated"] == true;
        assert_eq!(
            (repeated(&first), repeated(&second)),
            (false, true),
            "{surface}: {first} {second}"
        );
        assert_eq!(told(&station, &second), told(&station, &first), "{surface}");
    }
    client.end().ends(0);
    serving.end().ends(0);
}

/// A call of an agent is one of the surface that its goal came by: what is for the command line alone is not for it
/// elsewhere, and no page or program confirms what a model calls.
#[test]
fn an_agents_call_is_one_of_its_surface() {
    let station = station();
    let serving = Serving::start(&station);
    let judged = |records: &[Value], tool: &str| {
        let mut found = records
            .iter()
            .filter(|record| record["event"] == "judged" && record["subject"] == tool);
        let verdict = found
            .next_back()
            .map(|record| record["verdict"]["verdict"].clone());
        verdict.unwrap_or_default()
    };
    station.run(&["run", "Go."]).ends(75);
    let records = station.records();
    assert_eq!(judged(&records, "here.run"), "allow", "{records:?}");
    assert_eq!(judged(&records, "sure.run"), "ask", "{records:?}");
    for surface in ["http", "react", "dev"] {
        let begun = serving
            .post("/v1/runs", &json!({"prompt": "Go.", "surface": surface}))
            .is(201);
        let run = begun["run"].as_str().expect("a name");
        let end = serving.events(run, None).last().expect("an end");
        assert_eq!(end.value, json!({"state": "waiting"}), "{surface}");
        let shown = serving.get(&format!("/v1/runs/{run}")).is(200);
        let records = shown["records"].as_array().expect("records");
        assert_ne!(judged(records, "here.run"), "allow", "{surface}: {shown}");
        assert_eq!(judged(records, "sure.run"), "ask", "{surface}: {shown}");
    }
    serving.end().ends(0);
}

/// A call within a script is one of the surface that the script came by, and its tool says the same.
#[test]
fn a_scripts_call_is_one_of_its_surface() {
    let station = station();
    let serving = Serving::start(&station);
    for case in cases().iter().filter(|case| case.options == json!({})) {
        // A script confirms nothing by itself; a page does.
        if case.code == Some("CONFIRMATION_REQUIRED") {
            continue;
        }
        let source = format!(
            "try {{ return {{data: await tools.{}({})}} }} catch (error) {{ return {{kind: error.code}} }}",
            case.tool, case.input
        );
        let cli = over_json(&station, case, "json");
        for surface in ["http", "react", "ai-sdk"] {
            let body = json!({"source": source, "surface": surface});
            let made = serving.post("/v1/scripts", &body).is(200);
            assert_eq!(made["meta"]["surface"], surface);
            let expected = match case.code {
                None => json!({"data": cli["data"]}),
                Some(_) => json!({"kind": cli["error"]["kind"]}),
            };
            assert_eq!(made["data"], expected, "{surface}: {}", case.tool);
        }
    }
    serving.end().ends(0);
}

/// A page confirms by itself, and the record says that it did; a tool for this machine alone is not for it.
#[test]
fn whoever_confirms_stands_on_record() {
    let station = station();
    let serving = Serving::start(&station);
    let rule = |envelope: &Value| {
        let seen = serving.get(&format!("/v1/runs/{}", run_of(envelope)));
        let seen = seen.is(200);
        let rule = seen["records"][1]["verdict"]["rule"].as_str();
        rule.unwrap_or_default().to_owned()
    };
    let sure = |options: Value| Case {
        options,
        ..case("sure.run", json!({}), None)
    };
    for surface in ["react", "dev"] {
        let envelope = over_http(&serving, &sure(json!({})), surface);
        let says = format!("confirmed by the surface `{surface}`");
        assert!(rule(&envelope).ends_with(&says), "{}", rule(&envelope));
    }
    for surface in ["http", "ai-sdk"] {
        let envelope = over_http(&serving, &sure(json!({"confirm": true})), surface);
        assert!(
            rule(&envelope).ends_with("confirmed by the client"),
            "{envelope}"
        );
    }
    for surface in ["cli", "mcp", "json"] {
        let body = json!({"input": {}, "surface": surface});
        let path = "/v1/tools/text.count/call";
        serving.post(path, &body).fails(400, "VALIDATION_ERROR");
    }
    let listed = |surface: &str| {
        let path = format!("/v1/tools?q=&surface={surface}");
        serving.get(&path).is(200).to_string()
    };
    assert!(listed("react").contains("text.count") && !listed("react").contains("here.run"));
    serving.end().ends(0);
}

/// What a catalogue calls a tool leads to it.
#[test]
fn a_tool_is_called_by_the_name_of_a_catalogue() {
    let station = station();
    let serving = Serving::start(&station);
    let told = station.run(&["tools", "text", "--format", "openai", "--json"]);
    let told = told.ends(0).json();
    let names = told.as_array().expect("a list").iter();
    for name in names.map(|tool| tool["function"]["name"].as_str().expect("a name")) {
        let full = name.replacen("__", ".", 1);
        let line = json!({"action": name, "surface": "ai-sdk"}).to_string();
        let lines = station.run(&["json", &line]).json();
        let http = serving.call(name, json!({})).json();
        for envelope in [&lines, &http] {
            assert_eq!(envelope["meta"]["action"], full, "{envelope}");
            assert_ne!(envelope["error"]["code"], "ACTION_NOT_FOUND", "{envelope}");
        }
        assert_eq!(
            serving.get(&format!("/v1/tools/{name}")).is(200)["name"],
            full
        );
    }
    serving
        .call("text__cuont", json!({}))
        .fails(404, "ACTION_NOT_FOUND");
    station
        .run(&["tools", "--format", "ts", "--json"])
        .ends(2)
        .prints(&["leave one of the two out"]);
    serving.end().ends(0);
}

#[test]
fn what_is_not_there_is_said_on_every_surface() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    let cli = station.run(&["call", "text.cuont", "--json"]).json();
    let lines = station
        .run(&["json", r#"{"action":"text.cuont","input":{}}"#])
        .json();
    let http = serving
        .call("text.cuont", json!({}))
        .fails(404, "ACTION_NOT_FOUND");
    for error in [&cli["error"], &lines["error"], &http] {
        assert_eq!(error["code"], "ACTION_NOT_FOUND");
        let hint = error["hints"][0].as_str().unwrap_or_default();
        assert!(hint.starts_with("did you mean `text.count`"), "{hint}");
    }
    // A client of MCP is answered by its protocol: a name that it was not told of is a wrong parameter.
    let answer = client.ask(
        "tools/call",
        json!({"name": "text__cuont", "arguments": {}}),
    );
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_question_waits_on_every_surface_and_is_answered_on_any_other() {
    let station = station();
    let serving = Serving::start(&station);
    let mut client = Client::start(&station);
    let input = json!({});
    let cli = station
        .run(&["call", "hostile.destroy", "{}", "--confirm", "--json"])
        .ends(75)
        .json();
    let line = json!({"action": "hostile.destroy", "input": input, "confirm": true}).to_string();
    let lines = station.run(&["json", &line]).json();
    let path = "/v1/tools/hostile.destroy/call";
    let http = serving
        .post(path, &json!({"input": input, "confirm": true}))
        .is(202);
    for envelope in [&cli, &lines, &http] {
        assert_eq!(envelope["error"]["code"], "CONFIRMATION_REQUIRED");
        assert_eq!(envelope["error"]["kind"], "asked");
    }
    let waiting = serving.get("/v1/questions").is(200);
    assert_eq!(waiting["questions"].as_array().map(Vec::len), Some(3));
    // What HTTP asks, the command line answers; and the other way round.
    let asked = http["questions"][0]["question"]
        .as_str()
        .expect("a question");
    station.run(&["ask", "deny", asked]).ends(0);
    serving
        .post(
            &format!("/v1/questions/{asked}"),
            &json!({"answer": "allow"}),
        )
        .fails(409, "CONFLICT");
    let mut others = waiting["questions"].as_array().expect("a list").iter();
    let other = others.find(|waiting| waiting["question"] != asked);
    let question = other.expect("another one")["question"]
        .as_str()
        .expect("a name");
    let path = format!("/v1/questions/{question}");
    let answered = serving.post(&path, &json!({"answer": "deny"})).is(200);
    let events = serving.events(answered["run"].as_str().expect("a run"), None);
    assert_eq!(events.last().expect("an end").name, "end");
    // The third is allowed; what comes of it is the same as of a call over MCP that waits and is gone on with.
    let left = others_left(&serving);
    let [question] = &left[..] else {
        panic!("one waits: {left:?}");
    };
    let run = question["run"].as_str().expect("a run");
    let id = question["question"].as_str().expect("a name");
    station.run(&["ask", "allow", id]).ends(0);
    let ended = station
        .run(&["runs", "resume", run, "--json"])
        .ends(0)
        .json();
    let asked = json!({"name": "hostile__destroy", "arguments": {}, "_meta": {"lazaret/options": {"confirm": true}}});
    let asked = client.ask("tools/call", asked)["result"]["structuredContent"].clone();
    assert_eq!(asked["error"]["code"], "CONFIRMATION_REQUIRED", "{asked}");
    let left = others_left(&serving);
    let id = left[0]["question"].as_str().expect("a name");
    station.run(&["ask", "allow", id]).ends(0);
    let ticket = json!({"run": asked["resume"]["run"]});
    let gone_on = client.call("resume_run", ticket)["structuredContent"].clone();
    assert_eq!(told(&station, &gone_on), told(&station, &ended));
    assert_eq!(
        recorded(&serving, &run_of(&gone_on)),
        recorded(&serving, run)
    );
    client.end().ends(0);
}

fn others_left(serving: &Serving<'_>) -> Vec<Value> {
    let waiting = serving.get("/v1/questions").is(200);
    waiting["questions"].as_array().expect("a list").clone()
}
