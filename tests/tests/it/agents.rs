//! Agents: what a model is told, what it may do, and how its runs end.

use lazaret::words::event::{Event, Record};
use lazaret_tests::prelude::*;

fn calls(calls: Value) -> Value {
    json!({ "calls": calls })
}

fn told(records: &[Record]) -> Vec<String> {
    let told = records.iter().find_map(|record| match &record.event {
        Event::Prompted { tools, .. } => Some(tools.clone()),
        _ => None,
    });
    told.expect("a prompt")
}

/// The words of a run, such as `judged text.count`, in order.
fn steps(records: &[Record]) -> Vec<String> {
    let subject = |seq: u64| {
        let of = records.iter().find(|record| record.seq == seq);
        of.map_or_else(String::new, |record| match &record.event {
            Event::Judged(judged) => judged.subject.clone(),
            _ => String::new(),
        })
    };
    let step = |record: &Record| match &record.event {
        Event::Judged(judged) => Some(format!("judged {}", judged.subject)),
        Event::Finished(finished) => Some(format!("finished {}", subject(finished.of))),
        _ => None,
    };
    records.iter().filter_map(step).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_told_only_of_tools_that_it_could_call() {
    let policy = r#"
        block = ["text.diff"]
        allow_risk = ["read_only"]
        flow.hold = "never"
        [agents.agent]
        tools = ["text.*", "web.get_page", "hostile.only_people", "hostile.only_tools", "hostile.destroy",
            "hostile.unclassified", "hostile.send_out", "hostile.echo", "hostile.only_http"]
        [grants."hostile.send_out"]
    "#;
    let rig = Rig::of(policy)
        .guest("hostile")
        .replies(&[json!({"text": "Nothing."})])
        .open()
        .await;
    let (run, _) = rig.pursue("Do nothing.").await;
    let told = told(&rig.records(&run).await);
    assert_eq!(
        told,
        [
            "hostile.echo",
            "hostile.send_out",
            "text.aggregate",
            "text.count",
            "text.csv_to_json",
            "text.query",
            "text.replace",
            "text.search"
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_has_fewer_tools_than_its_agent_and_never_more() {
    let policy = "[agents.agent]\ntools = [\"text.*\"]";
    let reply = calls(json!([{"tool": "text.diff", "args": {"old": "a", "new": "b"}}]));
    let seen = json!({"when": "not among the tools", "text": "Refused."});
    let rig = Rig::of(policy).replies(&[reply, seen]).open().await;
    let (run, answer) = rig.pursue_with("Compare.", &["text.count"]).await;
    assert_eq!(answer.expect("an answer"), "Refused.");
    assert_eq!(told(&rig.records(&run).await), ["text.count"]);
    let (_, wider) = rig.pursue_with("Read.", &["files.read"]).await;
    let error = wider.expect_err("a wider run");
    assert_eq!(error.code(), Code::BadInput);
    assert!(
        error.message().contains("does not have `files.read`"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_names_a_tool_lifts_neither_block_nor_visibility() {
    let policy = r#"
        block = ["hostile.echo"]
        [grants."hostile.echo"]
        [grants."hostile.only_people"]
    "#;
    let reply = calls(json!([
        {"tool": "hostile.echo", "args": {"text": "a"}}, {"tool": "hostile.only_people", "args": {}}
    ]));
    let rig = Rig::of(policy)
        .guest("hostile")
        .replies(&[reply, json!({"text": "Done."})])
        .open()
        .await;
    let (run, _) = rig.pursue("Try.").await;
    let steps = steps(&rig.records(&run).await);
    assert_eq!(
        steps,
        [
            "judged hostile.echo",
            "judged hostile.only_people",
            "judged answer",
            "finished answer"
        ]
    );
    let person = rig.call("hostile.only_people", json!({})).await;
    assert!(person.outcome.result.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_calls_are_told_to_the_model_three_times_and_then_end_the_run() {
    let wrong = [
        calls(json!([{"tool": "text.coumt", "args": {}}])),
        calls(json!([{"tool": "text.count", "args": {"txt": "a"}}])),
        json!({"when": "`text` is missing, a string", "calls": [{"tool": "text.count", "args": 7}]}),
    ];
    let well = json!({"when": "Tool execution failed", "text": "Sorry."});
    let rig = Rig::of("")
        .replies(&[&wrong[..], &[well]].concat())
        .open()
        .await;
    assert_eq!(rig.pursue("Try.").await.1.expect("an answer"), "Sorry.");
    let fourth = calls(json!([{"tool": "text.cuont", "args": {}}]));
    let rig = Rig::of("")
        .replies(&[&wrong[..], &[fourth]].concat())
        .open()
        .await;
    let error = rig.pursue("Try.").await.1.expect_err("one too many");
    assert_eq!(error.code(), Code::OverBudget);
    assert!(error.message().contains("malformed"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_only_look_are_under_way_together() {
    let server = Server::start().await;
    let stall = |path: &str| Answer {
        path: path.into(),
        stall: true,
        ..Answer::default()
    };
    server.say(vec![stall("/a"), stall("/b")]);
    let base = format!("http://127.0.0.1:{}", server.port());
    let policy = format!(
        "[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"{base}/\", private = true }}]"
    );
    let fetch = |path: &str| json!({"tool": "hostile.fetch_each", "args": {"urls": [format!("{base}{path}")]}});
    let rig = Rig::of(&policy)
        .guest("hostile")
        .replies(&[calls(json!([fetch("/a"), fetch("/b")]))]);
    let rig = rig.open().await;
    let tasks = Tasks::new();
    let waiting = async {
        // Neither is ever answered: the second arrives only if it does not wait for the first.
        server.arrived(2).await;
        tasks.cancel();
    };
    let ((_, answer), ()) = tokio::join!(rig.pursue_in(&tasks, "Look.", &[]), waiting);
    assert_eq!(answer.expect_err("cancelled").code(), Code::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_changes_something_is_alone_and_in_its_place() {
    let policy = "confirmed = [\"hostile.destroy\"]\nflow.mode = \"off\"\n[grants.\"hostile.write_here\"]\n[grants.\"hostile.destroy\"]";
    let reply = calls(json!([
        {"tool": "hostile.destroy"}, {"tool": "hostile.echo", "args": {"text": "a"}},
        {"tool": "hostile.write_here"}, {"tool": "text.count", "args": {"text": "a"}},
    ]));
    let rig = Rig::of(policy)
        .guest("hostile")
        .replies(&[reply, json!({"text": "Done."})])
        .open()
        .await;
    let (run, _) = rig.pursue("Change.").await;
    let steps = steps(&rig.records(&run).await);
    let one_by_one = [
        "hostile.destroy",
        "hostile.echo",
        "hostile.write_here",
        "text.count",
        "answer",
    ];
    let expected: Vec<_> = one_by_one
        .iter()
        .flat_map(|tool| [format!("judged {tool}"), format!("finished {tool}")])
        .collect();
    assert_eq!(steps, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plugins_of_one_name_are_called_by_their_names_in_the_configuration() {
    let echo = target().join("guests/echo.wasm");
    let rig = Rig::of("")
        .plugin("one", &echo)
        .plugin("two", &echo)
        .open()
        .await;
    for tool in ["one.echo", "two.echo"] {
        assert!(
            rig.call(tool, json!({"text": "a"}))
                .await
                .outcome
                .result
                .is_ok(),
            "{tool}"
        );
    }
    let gone = rig.call("echo.echo", json!({"text": "a"})).await;
    assert_eq!(
        lazaret_tests::rig::error(&gone.outcome).code(),
        Code::UnknownTool
    );
    let strict = Rig::of("collisions = \"error\"")
        .plugin("one", &echo)
        .plugin("two", &echo);
    let error = strict
        .try_open()
        .await
        .map(|_| ())
        .expect_err("a collision");
    assert!(
        error.message().contains("two plugins are named `echo`"),
        "{error:?}"
    );
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const PIECE: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"Half of "}}]}"#;

/// A run whose model is a server that answers with these bytes.
async fn streamed(stream: &str) -> (Vec<Record>, lazaret::words::error::Result<String>) {
    let server = Server::start().await;
    let raw = format!("{HEAD}{stream}");
    server.say(vec![Answer {
        path: "/v1/chat/completions".into(),
        raw,
        ..Answer::default()
    }]);
    let policy = format!(
        r#"
        [models.served]
        provider = "openai"
        url = "http://127.0.0.1:{}/v1"
        model = "m"
        private = true
        [agents.agent]
        models = ["served"]
        tools = ["text.count"]
        "#,
        server.port()
    );
    let rig = Rig::of(&policy).open().await;
    let (run, answer) = rig.pursue("Say it.").await;
    (rig.records(&run).await, answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_comes_whole_is_an_answer() {
    let end = r#"data: {"choices":[{"index":0,"delta":{"content":"it."},"finish_reason":"stop"}]}"#;
    let (records, answer) = streamed(&format!("{PIECE}\n\n{end}\n\ndata: [DONE]\n\n")).await;
    assert_eq!(answer.expect("an answer"), "Half of it.");
    assert_eq!(
        lazaret_tests::verdict::check_records(&records),
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_stops_half_way_is_a_failure_and_no_answer() {
    let call = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"text.count","arguments":"{\"te"}}]}}]}"#;
    for stream in [
        format!("{PIECE}\n\n"),
        format!("{PIECE}\n\n{call}\n\n"),
        String::new(),
        "data: {\"choices\":[{\"ind".to_owned(),
        "<html>not a stream</html>".to_owned(),
        format!("{PIECE}\n\ndata: {{\"error\":{{\"message\":\"overloaded\"}}}}\n\n"),
    ] {
        let (records, answer) = streamed(&stream).await;
        let error = answer.expect_err("half an answer");
        assert_eq!(error.code(), Code::ProviderFailed, "{stream:?}: {error:?}");
        let replied = records
            .iter()
            .any(|record| matches!(record.event, Event::Replied { .. }));
        let called = steps(&records)
            .iter()
            .any(|step| step.contains("text.count"));
        assert!(
            !replied && !called,
            "{stream:?}: {}",
            lazaret_tests::golden::render(&records)
        );
        assert_eq!(
            lazaret_tests::verdict::check_records(&records),
            Vec::<String>::new()
        );
    }
}
