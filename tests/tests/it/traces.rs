//! Spans of real runs as a collector gets them, and collectors that are not what they should be.

use std::collections::BTreeSet;
use std::time::Duration;

use lazaret::runs::host::Traced;
use lazaret::words::event::{Answer as Said, Event};
use lazaret_tests::nobody::Nobody;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::value;

/// Stands wherever a run says something.
const CANARY: &str = "canary-5b1e";

/// A collector that takes what it is told.
async fn collector() -> Server {
    let server = Server::start().await;
    server.say(vec![answer("{}")]);
    server
}

fn answer(body: &str) -> Answer {
    Answer {
        path: "/v1/traces".to_owned(),
        body: body.to_owned(),
        ..Answer::default()
    }
}

/// What names the collector, with this beside it.
fn traces(server: &Server, more: &str) -> String {
    let port = server.port();
    format!(
        "[traces]\nendpoint = \"http://127.0.0.1:{port}\"\nprivate = true\nbatch_ms = 60000\n{more}\n"
    )
}

/// With which secret it is told, as it stands where a run begins.
fn traced(server: &Server) -> String {
    let to = format!("http://127.0.0.1:{}/v1/traces", server.port());
    json!([{"header": "authorization", "secret": "otlp", "to": to}]).to_string()
}

/// All spans that arrived, in the order of their beginnings.
fn spans(server: &Server) -> Vec<Value> {
    let mut all = Vec::new();
    for request in server.sent() {
        assert!(request.starts_with("POST /v1/traces HTTP/1.1"), "{request}");
        let (_, body) = request.split_once("\r\n\r\n").expect("a head");
        let body: Value = serde_json::from_str(body).expect("JSON");
        for scope in body["resourceSpans"][0]["scopeSpans"]
            .as_array()
            .expect("scopes")
        {
            all.extend(scope["spans"].as_array().expect("spans").iter().cloned());
        }
    }
    all
}

/// A span's name below the names of those that it is a part of, and why it failed; sorted.
fn tree(spans: &[Value]) -> Vec<String> {
    let above = |span: &Value| {
        spans
            .iter()
            .find(|above| above["spanId"] == span["parentSpanId"])
    };
    let name = |span: &Value| span["name"].as_str().expect("a name").to_owned();
    let way = |span: &Value| {
        let mut names = vec![name(span)];
        let mut at = above(span);
        while let Some(span) = at {
            names.push(name(span));
            at = above(span);
        }
        names.reverse();
        let failed = said(span, "error.type");
        let failed = failed.as_str().map(|why| format!(" !{why}"));
        format!("{}{}", names.join(" > "), failed.unwrap_or_default())
    };
    let mut ways: Vec<String> = spans.iter().map(way).collect();
    ways.sort();
    ways
}

fn said(span: &Value, key: &str) -> Value {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = found.map_or(Value::Null, |found| found["value"].clone());
    let plain = value
        .as_object()
        .and_then(|value| value.values().next().cloned());
    plain.unwrap_or_default()
}

/// Every span is of one trace, has an id of its own, and lies within what it is a part of.
fn assert_sound(spans: &[Value]) {
    let ids: BTreeSet<&str> = spans
        .iter()
        .filter_map(|span| span["spanId"].as_str())
        .collect();
    assert_eq!(ids.len(), spans.len(), "an id is there twice");
    let time = |span: &Value, key: &str| -> u64 {
        span[key]
            .as_str()
            .expect("a time")
            .parse()
            .expect("a number")
    };
    let roots = spans.iter().filter(|span| span["parentSpanId"].is_null());
    let traces: BTreeSet<&str> = spans
        .iter()
        .filter_map(|span| span["traceId"].as_str())
        .collect();
    assert_eq!(roots.count(), traces.len(), "one run is one trace");
    for span in spans {
        let (start, end) = (
            time(span, "startTimeUnixNano"),
            time(span, "endTimeUnixNano"),
        );
        assert!(start <= end, "{span}");
        let above = spans
            .iter()
            .find(|above| above["spanId"] == span["parentSpanId"]);
        let Some(above) = above else {
            assert!(
                span["parentSpanId"].is_null(),
                "{span} is a part of nothing"
            );
            continue;
        };
        assert_eq!(above["traceId"], span["traceId"]);
        assert!(time(above, "startTimeUnixNano") <= start && end <= time(above, "endTimeUnixNano"));
    }
}

fn call(tool: &str, args: Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}], "usage": {"input_tokens": 1280, "output_tokens": 5}})
}

fn says(text: &str) -> Value {
    json!({ "text": text })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_arrives_as_a_tree_without_what_was_said_in_it() {
    let server = collector().await;
    let more = "service_name = \"mine\"\nheaders = { authorization = { secret = \"otlp\", before = \"Bearer \" } }\n\
                [mounts.docs]\npath = \"docs\"\n[grants.\"files.*\"]\nmounts = { docs = \"read\" }";
    let replies = [
        call("files.read", json!({"path": format!("docs/{CANARY}.txt")})),
        json!({"calls": [
            {"tool": "text.count", "args": {"text": CANARY}},
            {"tool": format!("x.\u{1b}{CANARY}"), "args": {}},
            {"tool": "web.get_page", "args": {"url": format!("https://{CANARY}.example/")}},
        ]}),
        says(CANARY),
    ];
    let rig = Rig::of(&traces(&server, more))
        .secret("otlp", "hunter-2-hunter-2")
        .replies(&replies)
        .file(&format!("docs/{CANARY}.txt"), CANARY);
    let rig = rig.open().await;
    let (run, said_last) = rig.pursue(&format!("Read {CANARY}.")).await;
    assert_eq!(said_last.expect("an answer"), CANARY);
    let journal = rig.journal(&run).await;
    // No request is a part of the run.
    assert_eq!(journal.matches("v1/traces").count(), 1, "{journal}");
    let first = journal.lines().next().expect("a beginning");
    assert!(first.contains(&traced(&server)), "{first}");
    drop(rig);
    let spans = spans(&server);
    assert_sound(&spans);
    let tree = tree(&spans);
    let within = "invoke_agent agent > turn";
    for expected in [
        "invoke_agent agent",
        within,
        &format!("{within} > chat script"),
        &format!("{within} > execute_tool files.read"),
        &format!("{within} > execute_tool files.read > file"),
        &format!("{within} > execute_tool text.count"),
        &format!("{within} > execute_tool unknown !unknown_tool"),
        &format!("{within} > execute_tool web.get_page > fetch !denied"),
    ] {
        assert!(
            tree.iter().any(|way| way == expected),
            "{expected}: {tree:#?}"
        );
    }
    let turns = tree.iter().filter(|way| *way == within);
    assert_eq!(turns.count(), 3);
    let chat = spans
        .iter()
        .find(|span| span["name"] == "chat script")
        .expect("a chat");
    assert_eq!(said(chat, "gen_ai.usage.input_tokens"), "1280");
    assert_eq!(said(chat, "lazaret.context.percent"), "1");
    assert_eq!(said(chat, "gen_ai.provider.name"), "scripted");
    for request in server.sent() {
        assert!(!request.contains(CANARY), "{request}");
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.to_lowercase()
                .contains("authorization: bearer hunter-2-hunter-2"),
            "{head}"
        );
        assert!(
            head.to_lowercase()
                .contains("content-type: application/json"),
            "{head}"
        );
        assert!(body.contains("\"stringValue\":\"mine\""));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_s_calls_are_parts_of_it_and_a_model_that_failed_has_a_span_of_its_own() {
    let server = collector().await;
    let policy = format!(
        "block = [\"text.diff\"]\n{}[agents.agent]\nmodels = [\"script\", \"other\"]\n",
        traces(&server, "")
    );
    let failing = json!({"text": "of the first", "fail": [{"status": 429}]});
    let rig = Rig::of(&policy).replies(&[failing]).open().await;
    let source = "await tools.text.count({text: 'a'}); try { await tools.text.diff({old: 'a', new: 'b'}) } catch (e) { return e.code }";
    let called = rig.script(source).await;
    assert_eq!(value(&called.outcome), "denied");
    let (_, failed) = rig.pursue("Count.").await;
    assert!(failed.is_err());
    drop(rig);
    let spans = spans(&server);
    assert_sound(&spans);
    let expected = [
        "invoke_agent agent !provider_failed",
        "invoke_agent agent > turn",
        "invoke_agent agent > turn > chat script !provider_failed",
        "run",
        "run > execute_tool script.run",
        "run > execute_tool script.run > execute_tool text.count",
        "run > execute_tool script.run > execute_tool text.diff !denied",
    ];
    let mut tree = tree(&spans);
    tree.sort();
    let mut expected = expected.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(tree, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_left_goes_on_with_its_trace_in_another_process() {
    let server = collector().await;
    let secret = "headers = { authorization = { secret = \"otlp\", before = \"Bearer \" } }";
    let policy = format!("ask = [\"text.count\"]\n{}", traces(&server, secret));
    let replies = [call("text.count", json!({"text": "a b"})), says("Two.")];
    let rig = Rig::of(&policy).secret("otlp", "hunter-2-hunter-2");
    let rig = rig.replies(&replies).kept().await;
    let rig = rig.open().await;
    let (run, left) = rig.pursue("Count.").await;
    assert!(left.is_err());
    rig.answer(Said::Allow).await;
    let rig = rig.restart().await;
    let before = spans(&server);
    assert!(
        !before.is_empty()
            && before
                .iter()
                .all(|span| span["name"] != "invoke_agent agent")
    );
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Two.");
    // Whoever goes on says with which secret it tells of the rest.
    let records = rig.records(&run).await;
    let goes_on = records.iter().filter_map(|record| match &record.event {
        Event::Resumed { traced } => Some(json!(traced).to_string()),
        _ => None,
    });
    assert_eq!(goes_on.collect::<Vec<_>>(), [traced(&server)]);
    drop(rig);
    let spans = spans(&server);
    assert!(spans.len() > before.len());
    assert_sound(&spans);
    let first = spans
        .iter()
        .find(|span| span["name"] == "turn")
        .expect("a turn");
    let moments = first["events"].as_array().expect("events").iter();
    let moments: Vec<&str> = moments
        .filter_map(|moment| moment["name"].as_str())
        .collect();
    assert!(
        moments.contains(&"lazaret.paused") && moments.contains(&"lazaret.resumed"),
        "{moments:?}"
    );
    let asked = tree(&spans)
        .into_iter()
        .filter(|way| way.ends_with("execute_tool text.count"));
    assert_eq!(
        asked.count(),
        2,
        "one that was asked about, and one that was made"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_a_session_say_which_without_its_name() {
    let server = collector().await;
    let policy = traces(&server, "");
    let rig = Rig::of(&policy)
        .replies(&[says("One."), says("Two.")])
        .open()
        .await;
    for goal in ["First.", "Second."] {
        let (_, said) = rig.pursue_in_session(CANARY, goal).await;
        said.expect("an answer");
    }
    drop(rig);
    let spans = spans(&server);
    assert_sound(&spans);
    let roots = spans
        .iter()
        .filter(|span| span["name"] == "invoke_agent agent");
    let sessions: Vec<Value> = roots
        .map(|root| said(root, "gen_ai.conversation.id"))
        .collect();
    assert_eq!(sessions.len(), 2);
    assert!(
        sessions[0].is_string() && sessions[0] == sessions[1],
        "{sessions:?}"
    );
    assert!(!server.sent().concat().contains(CANARY));
}

/// Whatever the collector does, the run has its answer, the host ends, and what was not taken is counted.
async fn lost_by(server: &Server, more: &str) -> Traced {
    let policy = traces(server, more).replace("batch_ms = 60000", "batch_ms = 1\nflush_ms = 500");
    let rig = Rig::of(&policy).replies(&[says("Fine.")]).open().await;
    let (_, said) = rig.pursue("Say so.").await;
    assert_eq!(said.expect("an answer"), "Fine.");
    let lost = async {
        loop {
            let traced = rig.host.traced().expect("a collector is named");
            if traced.lost > 0 {
                return traced;
            }
            tokio::task::yield_now().await;
        }
    };
    let traced = tokio::time::timeout(Duration::from_secs(60), lost).await;
    let traced = traced.expect("spans are lost");
    assert_eq!(traced.sent, 0);
    traced
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_redirects_refuses_or_floods_gets_nothing_twice() {
    for wrong in [
        Answer {
            status: Some(307),
            headers: [("location".to_owned(), "/elsewhere".to_owned())].into(),
            ..answer("")
        },
        Answer {
            status: Some(400),
            ..answer("no")
        },
        Answer {
            endless: true,
            ..answer("x")
        },
    ] {
        let server = Server::start().await;
        server.say(vec![wrong]);
        lost_by(&server, "").await;
        let seen = server.seen();
        assert!(
            seen.iter().all(|head| head.starts_with("POST /v1/traces")),
            "{seen:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_has_too_much_to_do_is_told_again_and_not_for_ever() {
    let server = Server::start().await;
    server.say(vec![Answer {
        status: Some(503),
        ..answer("")
    }]);
    lost_by(&server, "attempts = 2\nbatch_spans = 1000").await;
    let sent = server.sent();
    assert!(sent.len() >= 2, "{}", sent.len());
    let body = |request: &str| {
        request
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned())
    };
    assert_eq!(body(&sent[0]), body(&sent[1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_hangs_holds_nobody_up() {
    let server = Server::start().await;
    server.say(vec![Answer {
        stall: true,
        ..answer("")
    }]);
    lost_by(&server, "timeout_ms = 20\nattempts = 1").await;
    // One that hangs for longer than the end of a process waits.
    let policy = traces(&server, "timeout_ms = 600000\nflush_ms = 20");
    let rig = Rig::of(&policy).replies(&[says("Fine.")]).open().await;
    let (_, said) = rig.pursue("Say so.").await;
    assert_eq!(said.expect("an answer"), "Fine.");
    drop(rig);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inner_address_without_private_and_a_place_where_nobody_listens_are_no_collectors() {
    let server = collector().await;
    let policy = |port: u16, private: &str| {
        format!(
            "[traces]\nendpoint = \"http://127.0.0.1:{port}\"\n{private}batch_ms = 1\nattempts = 1\n"
        )
    };
    let nobody = Nobody::new();
    for policy in [
        policy(server.port(), ""),
        policy(nobody.port(), "private = true\n"),
    ] {
        let rig = Rig::of(&policy).replies(&[says("Fine.")]).open().await;
        let (_, said) = rig.pursue("Say so.").await;
        assert_eq!(said.expect("an answer"), "Fine.");
        let lost = async {
            while rig.host.traced().expect("a collector is named").lost == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), lost)
            .await
            .expect("spans are lost");
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_queue_does_not_hold_is_dropped_and_counted_and_what_is_rejected_too() {
    let server = Server::start().await;
    server.say(vec![answer(
        "{\"partialSuccess\":{\"rejectedSpans\":\"1\"}}",
    )]);
    let rig = Rig::of(&traces(&server, "queue_spans = 2"));
    let replies = [call("text.count", json!({"text": "a"})), says("Fine.")];
    let rig = rig.replies(&replies).open().await;
    let (_, said) = rig.pursue("Say so.").await;
    assert_eq!(said.expect("an answer"), "Fine.");
    // Two chats, a call, two turns and the run; the first two are there.
    let traced = rig.host.traced().expect("a collector is named");
    assert_eq!(traced, Traced { sent: 0, lost: 4 });
    drop(rig);
    assert_eq!(spans(&server).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_told_where_no_collector_is_named() {
    let rig = Rig::of("").open().await;
    rig.call("text.count", json!({"text": "a"})).await;
    assert_eq!(rig.host.traced(), None);
}
