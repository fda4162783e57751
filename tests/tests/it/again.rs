//! Replays of runs that somebody had a hand in: their answers and their files are on record, or stand in for themselves, and
//! nobody is asked again. What servers asked for is in `mcp/asked.rs`.

use lazaret::runs::host::Goal;
use lazaret::words::event::{Answer as Say, Event};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::Rigged;

/// The run goes the same way, though its model would say something else by now and its files are gone.
async fn goes_the_same_way(rig: &Rigged, run: &RunId, files: &[&str]) {
    for file in files {
        std::fs::remove_file(rig.path(file)).expect("the file was there");
    }
    let other = json!({"text": "I say something else."}).to_string();
    std::fs::write(rig.path("replies.jsonl"), other).expect("a file");
    let replayed = rig.replay(run).await;
    assert!(replayed.diverged.is_none(), "{replayed:?}");
    assert!(replayed.same > 5, "{replayed:?}");
}

fn call(tool: &str, args: &Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}]})
}

fn handle(name: &str) -> Value {
    json!({ "$handle": name })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_a_person_is_the_same_again() {
    for say in [Say::Allow, Say::Deny] {
        let replies = [
            call("text.count", &json!({"text": "a b"})),
            json!({"text": "Counted."}),
        ];
        let rig = Rig::of("ask = [\"text.count\"]").replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, asked) = rig.pursue("Count.").await;
        assert_eq!(asked.expect_err("it waits").code(), Code::Asked);
        rig.answer(say).await;
        let answer = rig.resume_agent(&run).await;
        assert_eq!(answer.expect("an answer"), "Counted.");
        goes_the_same_way(&rig, &run, &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_looked_at_stands_in_for_itself() {
    let policy = "[flow]\nmode = \"off\"\n[mounts.here]\npath = \"here\"\naccess = \"write\"\n\
        [grants.\"files.write\"]\nmounts = { here = \"write\" }";
    let replies = [
        // The one says where to, and is on record for that; the other is content, and on no record.
        call(
            "files.write",
            &json!({"path": handle("name.txt"), "content": handle("what.txt")}),
        ),
        json!({"text": "There."}),
    ];
    let rig = Rig::of(policy)
        .file("name.txt", "here/out.txt")
        .file("what.txt", "seen from above")
        .replies(&replies);
    let rig = rig.kept().await.open().await;
    let files = ["name.txt", "what.txt"];
    let names = files.map(str::to_owned);
    let goal: Goal = rig.goal_beginning("Write it.", (&[], &names));
    let run = goal.run.clone();
    let answer = rig.host.pursue(goal, &rig.host.tasks()).await;
    assert_eq!(answer.expect("an answer"), "There.");
    let written = std::fs::read_to_string(rig.path("here/out.txt")).expect("a file");
    assert!(written.contains("seen from above"), "{written}");
    let records = rig.records(&run).await;
    let given = records.iter().find_map(|record| match &record.event {
        Event::Judged(judged) => judged.given.get("name.txt").cloned(),
        _ => None,
    });
    assert_eq!(given.as_deref(), Some("here/out.txt"));
    goes_the_same_way(&rig, &run, &files).await;
}
