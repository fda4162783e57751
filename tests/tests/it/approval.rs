//! Tools that declare to need approval: whoever calls them, a person is asked before.

use lazaret::words::event::{Answer as Say, Event};
use lazaret::words::id::RunId;
use lazaret_tests::forge;
use lazaret_tests::golden::named;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

/// Judges no flows, asks for nothing, and lets the tool do what it wants.
const POLICY: &str = r#"
    [flow]
    mode = "off"
    trust = ["forged"]
    release = ["*"]
    [grants."hostile.call_each"]
    calls = ["*"]
    [agents.agent]
    calling = "both"
"#;

/// A tool that only looks, and answers 7; nothing but its manifest asks.
fn component() -> Vec<u8> {
    const SEVEN: &str = r#"
    (func (export "run") (param i32 i32 i32 i32) (result i32)
      (i32.store (i32.const 4100) (i32.const 4200)) (i32.store (i32.const 4104) (i32.const 1))
      (i32.const 4096))
    (data (i32.const 4200) "7")"#;
    let manifest = forge::MANIFEST.replace(
        "\"effect\":\"pure\"",
        "\"effect\":\"pure\",\"needs_approval\":true",
    );
    forge::plugin(&manifest, SEVEN)
}

async fn open(replies: &[Value]) -> Rigged {
    let rig = Rig::of(POLICY).component("forged", &component());
    let rig = if replies.is_empty() {
        rig.guest("hostile")
    } else {
        rig.replies(replies)
    };
    rig.kept().await.open().await
}

/// How the tool's calls were judged.
async fn verdicts(rig: &Rigged, run: &RunId) -> Vec<&'static str> {
    let records = rig.records(run).await;
    let judged = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == "forged.run" => Some(judged.verdict.word()),
        _ => None,
    });
    judged.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_is_asked_about_and_an_answer_is_for_one() {
    let rig = open(&[]).await;
    for _ in 0..2 {
        let called = rig.call("forged.run", json!({})).await;
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::Asked, "{error:?}");
        let waiting = rig.answer(Say::Always).await;
        let question = waiting.question;
        assert_eq!(question.rule, "`needs_approval` of its manifest");
        assert!(question.lines.is_empty() && question.values.is_empty());
        let called = rig.resume(&called.run).await.expect("it goes on");
        assert_eq!(*rig::value(&called.outcome), 7);
        assert_eq!(verdicts(&rig, &called.run).await, ["ask", "allow"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_waits_at_each_call_and_goes_on_in_another_process() {
    let rig = open(&[]).await;
    let source = "const first = await tools.forged.run({});
        const second = await tools.forged.run({}).catch(error => error.code);
        return [first, second]";
    let run = rig.script(source).await.run;
    rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    let again = rig.resume(&run).await.expect("it goes on");
    assert_eq!(rig::error(&again.outcome).code(), Code::Asked);
    rig.answer(Say::Deny).await;
    let rig = rig.restart().await;
    let done = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&done.outcome), json!([7, "denied"]));
    assert_eq!(verdicts(&rig, &run).await, ["ask", "allow", "ask", "deny"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_waits_for_a_yes_to_each_call() {
    let replies = [
        json!({"calls": [{"tool": "forged.run", "args": {}}, {"tool": "forged.run", "args": {}}]}),
        json!({"when": "7", "text": "Seven."}),
    ];
    let rig = open(&replies).await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("it asks").code(), Code::Asked);
    let waiting = rig.host.questions().await.expect("the journal is well");
    assert_eq!(waiting.len(), 2);
    for (one, say) in waiting.iter().zip([Say::Allow, Say::Deny]) {
        let answered = rig.host.answer(one.question.id.as_str(), say).await;
        answered.expect("it is open");
    }
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Seven.");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    let journal = rig.journal(&run).await;
    assert_golden("agent-approved", &named(&journal, &records));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_another_tools_call_nobody_can_be_asked() {
    let rig = open(&[]).await;
    let args = json!({"tools": ["forged.run"], "args": {}});
    let called = rig.call("hostile.call_each", args).await;
    let text = rig::value(&called.outcome).to_string();
    assert!(text.contains("needs an answer by a person"), "{text}");
    assert_eq!(verdicts(&rig, &called.run).await, ["deny"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_to_a_call_is_none_to_the_same_call_by_a_tool() {
    let replies = [
        json!({"calls": [{"tool": "forged.run", "args": {}}]}),
        json!({"calls": [{"tool": "hostile.call_each", "args": {"tools": ["forged.run"], "args": {}}}]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(POLICY).component("forged", &component());
    let rig = rig.guest("hostile").replies(&replies).kept().await;
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("it asks").code(), Code::Asked);
    rig.answer(Say::Always).await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(verdicts(&rig, &run).await, ["ask", "allow", "deny"]);
}
