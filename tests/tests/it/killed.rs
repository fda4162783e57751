//! Single calls and agents that are killed after any record of their journal: nothing is done twice, and what was said
//! is said again.

use lazaret::words::event::{Answer as Say, EffectKind, End, Event, Record, Verdict};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

use crate::page::observed;
use crate::scripts::kept::Copy;

/// What is asked about is what must not be done twice.
const POLICY: &str = r#"
    ask = ["files.write"]
    [mounts.out]
    path = "out"
    access = "write"
    own = true
    [grants."files.*"]
    mounts = { out = "write" }
"#;

fn args() -> Value {
    json!({"path": "out/log.txt", "content": "one\n", "mode": "append"})
}

fn written(rig: &Rigged) -> String {
    std::fs::read_to_string(rig.path("out/log.txt")).unwrap_or_default()
}

/// Where in the records the allowed call is judged, and where it has ended.
fn call_in(records: &[Record]) -> (usize, usize) {
    let judged = records.iter().position(|record| {
        matches!(&record.event, Event::Judged(judged) if judged.effect == EffectKind::Call
            && matches!(judged.verdict, Verdict::Allow { .. }))
    });
    let judged = judged.expect("the call was allowed");
    let ended = records.iter().position(|record| {
        matches!(&record.event, Event::Finished(finished) if finished.of == records[judged].seq)
    });
    (judged, ended.expect("the call has ended"))
}

/// A call that was asked about, allowed and made, with what its host has left.
async fn called() -> (RunId, Vec<Record>, Copy) {
    let rig = Rig::of(POLICY).kept().await.open().await;
    let called = rig.call("files.write", args()).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let copy = Copy::marks_of(&rig);
    let run = called.run;
    let done = rig.resume(&run).await.expect("it goes on");
    let _ = rig::value(&done.outcome);
    assert_eq!(written(&rig), "one\n");
    let records = rig.records(&run).await;
    (run, records, copy.with_records_of(rig))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_had_begun_is_not_made_again() {
    let (run, records, copy) = called().await;
    let (judged, ended) = call_in(&records);
    for count in judged + 1..=ended {
        let rig = copy.cut(Rig::of(POLICY), &run, count).await;
        let again = rig.resume(&run).await.expect("the run is known");
        let error = rig::error(&again.outcome);
        assert_eq!(error.code(), Code::InDoubt, "{count}: {error:?}");
        assert_eq!(written(&rig), "", "{count}");
        let records = rig.records(&run).await;
        let doubt = records.iter().any(|record| {
            matches!(&record.event, Event::Finished(finished) if finished.of == records[judged].seq
                && matches!(finished.end, End::Failed { code: Code::InDoubt, .. }))
        });
        assert!(doubt, "its end is on record: {}", rig.journal(&run).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_had_ended_is_answered_as_it_was() {
    let (run, records, copy) = called().await;
    let (_, ended) = call_in(&records);
    let rig = copy.cut(Rig::of(POLICY), &run, ended + 1).await;
    let again = rig.resume(&run).await.expect("the run is known");
    assert!(
        rig::value(&again.outcome).is_object(),
        "{:?}",
        again.outcome
    );
    assert_eq!(written(&rig), "", "it was written in the earlier life");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_had_not_begun_is_made() {
    let (run, records, copy) = called().await;
    let (judged, _) = call_in(&records);
    let rig = copy.cut(Rig::of(POLICY), &run, judged).await;
    let again = rig.resume(&run).await.expect("the run is known");
    let _ = rig::value(&again.outcome);
    assert_eq!(written(&rig), "one\n");
}

fn replies() -> [Value; 2] {
    [
        json!({"calls": [{"tool": "files.write", "args": args()}]}),
        json!({"when": "log.txt", "text": "Done."}),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_an_agent_that_had_begun_is_not_made_again() {
    let rig = || Rig::of(POLICY).replies(&replies());
    let first = rig().kept().await.open().await;
    let (run, answer) = first.pursue("Write.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    first.answer(Say::Allow).await;
    let copy = Copy::marks_of(&first);
    let _ = first.resume_agent(&run).await;
    assert_eq!(written(&first), "one\n");
    let records = first.records(&run).await;
    let copy = copy.with_records_of(first);
    let (judged, ended) = call_in(&records);
    for (count, doubtful) in [(judged + 1, true), (ended, true), (ended + 1, false)] {
        let rig = copy.cut(rig(), &run, count).await;
        let answer = rig.resume_agent(&run).await;
        let told = observed(&rig.records(&run).await);
        let (text, _) = told
            .last()
            .unwrap_or_else(|| panic!("{count}: nothing was told: {answer:?}"));
        assert_eq!(
            text.contains("was interrupted while"),
            doubtful,
            "{count}: {text}"
        );
        assert_eq!(written(&rig), "", "{count}");
    }
}
