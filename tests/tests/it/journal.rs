//! Journals, whole: what is written down, in which order, and that every beginning has its end.

use lazaret::words::event::{Event, Verdict};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pure_call() {
    let rig = Rig::of("").open().await;
    let called = rig.call("text.count", json!({"text": "a b"})).await;
    assert_golden("pure-call", &rig.journal(&called.run).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_read_and_written() {
    let policy = r#"
        [mounts.docs]
        path = "docs"
        [mounts.out]
        path = "out"
        access = "write"
        [grants."files.read"]
        mounts = { docs = "read" }
        [grants."files.write"]
        mounts = { out = "write" }
    "#;
    let rig = Rig::of(policy)
        .file("docs/a.txt", "one\ntwo\n")
        .open()
        .await;
    let read = rig.call("files.read", json!({"path": "docs/a.txt"})).await;
    let args = json!({"path": "out/b.txt", "content": "three", "mode": "create"});
    let written = rig.call("files.write", args).await;
    let (read, written) = (
        rig.journal(&read.run).await,
        rig.journal(&written.run).await,
    );
    assert_golden("file-read", &read);
    assert_golden("file-written", &written);
    assert_eq!(
        std::fs::read_to_string(rig.path("out/b.txt")).expect("a file"),
        "three"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_and_its_answer() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/?q=1".into(),
        body: "{\"n\":1}".into(),
        ..Answer::default()
    }]);
    let port = server.port();
    let policy = format!(
        "[grants.\"web.get_json\"]\nfetch = [{{ url = \"http://127.0.0.1:{port}/\", private = true }}]"
    );
    let rig = Rig::of(&policy).open().await;
    let args = json!({"url": format!("http://127.0.0.1:{port}/?q=1")});
    let called = rig.call("web.get_json", args).await;
    let journal = rig
        .journal(&called.run)
        .await
        .replace(&port.to_string(), "PORT");
    assert_golden("fetch", &journal);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_that_is_kept_and_its_label() {
    let policy =
        "[grants.\"notes.put\"]\nnotes = \"write\"\n[grants.\"notes.get\"]\nnotes = \"read\"";
    let rig = Rig::of(policy).open().await;
    let put = rig
        .call("notes.put", json!({"key": "k", "text": "t"}))
        .await;
    let got = rig.call("notes.get", json!({"key": "k"})).await;
    let all = rig.journal(&put.run).await + &rig.journal(&got.run).await;
    assert_golden("notes", &all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denials() {
    let rig = Rig::of("block = [\"text.diff\"]").open().await;
    let mut all = String::new();
    for (tool, args) in [
        ("text.diff", json!({"old": "a", "new": "b"})),
        ("files.remove", json!({"path": "a"})),
        ("files.read", json!({"path": "a"})),
        ("no.such", json!({})),
        ("text.count", json!({"txt": 1})),
    ] {
        let called = rig.call(tool, args).await;
        all += &rig.journal(&called.run).await;
    }
    assert_golden("denials", &all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_run() {
    let policy = r#"
        [mounts.docs]
        path = "docs"
        [grants."files.read"]
        mounts = { docs = "read" }
        [agents.agent]
        instructions = "Read {{ what }} you are told."
        tools = ["files.read", "text.count"]
    "#;
    let replies = [
        json!({"text": "I read.", "calls": [{"id": "a", "tool": "files.read", "args": {"path": "docs/a.txt"}}],
            "usage": {"input_tokens": 10, "output_tokens": 5}}),
        // One call a turn: two that run together are recorded in either order.
        json!({"calls": [{"id": "b", "tool": "text.count", "args": {"text": "{{a#/content}}"}}]}),
        json!({"calls": [{"id": "c", "tool": "clock.now", "args": {}}]}),
        json!({"when": "not among the tools", "text": "{{b#/words}} words."}),
    ];
    let rig = Rig::of(policy)
        .file("docs/a.txt", "one two three\n")
        .replies(&replies)
        .open()
        .await;
    let (run, answer) = rig.pursue("How many words?").await;
    assert_golden("agent-run", &rig.journal(&run).await);
    assert_eq!(answer.expect("an answer"), "3 words.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_allowed_is_on_record_before_it_happens() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".into(),
        stall: true,
        ..Answer::default()
    }]);
    let rig = fetching(&server).await;
    let run = rig.host.new_run();
    let (tasks, args) = (Tasks::new(), json!({"urls": [url(&server)]}).to_string());
    let calling = rig.call_in(run.clone(), &tasks, ("hostile.fetch_each", &args));
    let looking = async {
        server.arrived(1).await;
        // The request has left; its judgement must be committed, its end cannot be there yet.
        let records = rig.records(&run).await;
        tasks.cancel();
        records
    };
    let (_, records) = tokio::join!(calling, looking);
    let fetched = records.iter().find(|record| {
        matches!(&record.event,
        Event::Judged(judged) if judged.subject.starts_with("GET ")
            && matches!(judged.verdict, Verdict::Allow { .. }))
    });
    assert!(
        fetched.is_some(),
        "{}",
        lazaret_tests::golden::render(&records)
    );
    assert!(
        !records
            .iter()
            .any(|record| matches!(record.event, Event::Finished(_)))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_whose_guest_is_gone_still_has_its_end() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".into(),
        stall: true,
        ..Answer::default()
    }]);
    let rig = fetching(&server).await;
    let (tasks, args) = (Tasks::new(), json!({"urls": [url(&server)]}).to_string());
    let calling = rig.call_in(rig.host.new_run(), &tasks, ("hostile.fetch_each", &args));
    let cancelling = async {
        server.arrived(1).await;
        tasks.cancel();
    };
    let (called, ()) = tokio::join!(calling, cancelling);
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    let records = rig.records(&called.run).await;
    let wrong = check_records(&records);
    assert!(
        wrong.is_empty(),
        "{wrong:?}\n{}",
        lazaret_tests::golden::render(&records)
    );
}

async fn fetching(server: &Server) -> Rigged {
    let policy = format!(
        "[grants.\"hostile.fetch_each\"]\nfetch = [{{ url = \"{}\", private = true }}]",
        url(server)
    );
    Rig::of(&policy).guest("hostile").open().await
}

fn url(server: &Server) -> String {
    format!("http://127.0.0.1:{}/", server.port())
}
