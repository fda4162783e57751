//! Observations: what a model reads of an outcome that is too long for it.

use lazaret::words::event::{Answer as Say, Content, End, Event};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::Rigged;
use lazaret_tests::saying;

use crate::page::observed;

fn call(tool: &str, args: Value) -> Value {
    json!({"calls": [{"id": "a", "tool": tool, "args": args}]})
}

/// The first thing that the model read.
async fn first(rig: &Rigged, run: &RunId) -> String {
    observed(&rig.records(run).await)[0].0.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_cut_as_the_operator_says() {
    for (caps, begins, says) in [
        ("max_chars = 100", "xxx", "[400 of 500 characters left out]"),
        ("max_tokens = 10", "xxx", "[460 of 500 characters left out]"),
        (
            "max_bytes = 50\ntruncation = \"tail\"",
            "\n[450",
            "[450 of 500 characters left out]",
        ),
        (
            "max_chars = 100\ntruncation = \"summarise\"",
            "[each of 1 lines",
            "…",
        ),
        ("max_lines = 1", "xxx", "xxx"),
    ] {
        let policy = format!("[flow]\nhold = \"never\"\n[observations]\n{caps}");
        let replies = [
            call("hostile.text", json!({"bytes": 500})),
            json!({"text": "Seen."}),
        ];
        let rig = Rig::of(&policy)
            .guest("hostile")
            .replies(&replies)
            .open()
            .await;
        let (run, answer) = rig.pursue("Look.").await;
        assert_eq!(answer.expect("an answer"), "Seen.");
        let text = first(&rig, &run).await;
        assert!(
            text.starts_with(begins) && text.contains(says),
            "{caps}: {text}"
        );
    }
}

const SPILL: &str =
    "[flow]\nhold = \"never\"\n[observations]\nmax_chars = 600\ntruncation = \"spill\"\npreview_tokens = 20
    [mounts.inbox]
    path = \"inbox\"
    [grants.\"files.*\"]
    mounts = { inbox = \"read\" }
    [agents.agent]
    tools = [\"files.*\", \"text.*\"]";

/// Two hundred lines, each with its number.
fn lines() -> String {
    (0..200).map(|at| format!("line {at}\n")).collect()
}

fn read() -> Value {
    call("files.read", json!({"path": "inbox/list.txt"}))
}

fn part(from: usize) -> Value {
    let range =
        json!({"value": {"$handle": "h1"}, "unit": "bytes", "from": from, "to": from + 400});
    json!({"calls": [{"id": "b", "tool": "handle.read", "args": range}]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_long_is_kept_and_read_part_by_part() {
    let replies = [
        read(),
        part(1_200),
        json!({"when": "line 13", "text": "There."}),
    ];
    let rig = Rig::of(SPILL).file("inbox/list.txt", &lines());
    let rig = rig.replies(&replies).open().await;
    let (run, answer) = rig.pursue("Look it up.").await;
    assert_eq!(answer.expect("an answer"), "There.");
    let seen = observed(&rig.records(&run).await);
    assert!(
        seen[0]
            .0
            .contains("all of it is kept as {\"$handle\":\"h1\"}"),
        "{}",
        seen[0].0
    );
    assert!(seen[0].0.chars().count() < 400, "{}", seen[0].0);
    // What is read of it is read under the influence of whoever wrote it, and between marks.
    assert!(
        seen[1].1.to_string().contains("file:inbox"),
        "{}",
        seen[1].1
    );
    assert_golden("spilled", &rig.journal(&run).await);
}

/// What the second call of a run has read: its content, and the numbers beside it.
async fn read_of(policy: &str, args: Value) -> Value {
    let second = json!({"calls": [{"id": "b", "tool": "handle.read", "args": args}]});
    let policy = SPILL.replace("[observations]", &format!("[observations]\n{policy}"));
    let rig = Rig::of(&policy).file("inbox/list.txt", &lines());
    let rig = rig
        .replies(&[read(), second, json!({"text": "Seen."})])
        .open()
        .await;
    let (run, answer) = rig.pursue("Look it up.").await;
    assert_eq!(answer.expect("an answer"), "Seen.");
    let records = rig.records(&run).await;
    let ends = records.iter().filter_map(|record| match &record.event {
        Event::Finished(finished) => match &finished.end {
            End::Done {
                content: Content::Inline(value),
            } => Some(value.clone()),
            _ => None,
        },
        _ => None,
    });
    // What the run said stands behind it.
    ends.filter(|value| !value.is_null())
        .nth(1)
        .expect("a part")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_says_where_it_lies_and_how_much_there_is() {
    let handle = json!({"$handle": "h1"});
    let part = read_of(
        "",
        json!({"value": handle, "unit": "bytes", "from": 0, "to": 30}),
    )
    .await;
    assert_eq!(part["content"].as_str().map(str::len), Some(30));
    let numbers = |part: &Value| json!([part["from"], part["to"], part["eof"]]);
    assert_eq!(numbers(&part), json!([0, 30, false]));
    assert!(part["total"].as_u64() > Some(1_000), "{part}");
    // Whole, as it is, where it fits; else its beginning, which says so.
    let whole = read_of("", json!({"value": handle})).await;
    assert_eq!(whole["size"], json!(1_690), "{whole}");
    let small = "read_bytes = 100";
    let begins = read_of(small, json!({"value": handle})).await;
    assert_eq!(numbers(&begins), json!([0, 100, false]));
    let more = read_of(
        small,
        json!({"value": handle, "unit": "bytes", "most": 200}),
    )
    .await;
    assert_eq!(numbers(&more), json!([0, 200, false]));
    // No wish goes beyond what the operator says.
    let most = "read_bytes_max = 50";
    let most = read_of(most, json!({"value": handle, "unit": "bytes", "most": 200})).await;
    assert_eq!(numbers(&most), json!([0, 50, false]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_knows_the_tool_that_reads_by_the_name_that_policy_says() {
    let policy = format!("profile = \"graphorin\"\n{SPILL}");
    let mut second = part(1_200);
    second["calls"][0]["tool"] = json!("read_result");
    let replies = [read(), second, json!({"when": "line 13", "text": "There."})];
    let rig = Rig::of(&policy).file("inbox/list.txt", &lines());
    let rig = rig.replies(&replies).kept().await.open().await;
    let (run, answer) = rig.pursue("Look it up.").await;
    assert_eq!(answer.expect("an answer"), "There.");
    let seen = observed(&rig.records(&run).await);
    assert!(
        seen[0].0.contains("`read_result` shows any part"),
        "{}",
        seen[0].0
    );
    for record in rig.records(&run).await {
        if let Event::Prompted { tools, .. } = record.event {
            assert!(tools.contains(&"read_result".to_owned()), "{tools:?}");
            assert!(!tools.contains(&"handle.read".to_owned()), "{tools:?}");
        }
    }
}

/// G-32: what is kept is written down, so of what is secret nothing is, however long it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_secret_is_kept_under_no_handle() {
    let text = format!("{:?}", "canary-of-the-vault ".repeat(150));
    for (sensitivity, is_kept) in [("internal", true), ("secret", false)] {
        let more = json!({"sensitivity": sensitivity});
        let vault = saying::component("vault", &more, &text);
        let policy = format!("{SPILL}\n").replace("\"text.*\"", "\"text.*\", \"vault.*\"");
        let replies = [call("vault.run", json!({})), json!({"text": "Seen."})];
        let rig = Rig::of(&policy)
            .component("vault", &vault)
            .replies(&replies);
        let rig = rig.open().await;
        let (run, _) = rig.pursue("Look.").await;
        let kept = rig
            .records(&run)
            .await
            .into_iter()
            .find_map(|record| match record.event {
                Event::Observed { kept, .. } => Some(kept.is_some()),
                _ => None,
            });
        assert_eq!(kept, Some(is_kept), "{sensitivity}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_there_when_the_run_goes_on_and_for_no_other_run() {
    let policy = format!("ask = [\"text.count\"]\n{SPILL}");
    let replies = [
        read(),
        call("text.count", json!({"text": "a"})),
        part(1_200),
        json!({"when": "line 13", "text": "There."}),
    ];
    let rig = Rig::of(&policy).file("inbox/list.txt", &lines());
    let rig = rig.replies(&replies).kept().await.open().await;
    let (run, asked) = rig.pursue("Look it up.").await;
    assert_eq!(asked.expect_err("it asks").code(), Code::Asked);
    let rig = rig.restart().await;
    rig.answer(Say::Allow).await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "There.");
    let other = rig
        .close()
        .file("replies.jsonl", &part(0).to_string())
        .open()
        .await;
    let (run, _) = other.pursue("Take it.").await;
    let text = first(&other, &run).await;
    assert!(text.contains("which holds nothing"), "{text}");
}

/// One that had ended when its run was left, and that its model was told of once that went on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_of_an_earlier_life_is_there_in_each_later_one() {
    let policy = format!("ask = [\"text.count\"]\n{SPILL}");
    let count = |id: &str| json!({"id": id, "tool": "text.count", "args": {"text": "a"}});
    let read = json!({"id": "b", "tool": "files.read", "args": {"path": "inbox/list.txt"}});
    let replies = [
        json!({"calls": [count("a"), read]}),
        json!({"calls": [count("c")]}),
        part(1_200),
        json!({"when": "line 13", "text": "There."}),
    ];
    let rig = Rig::of(&policy).file("inbox/list.txt", &lines());
    let rig = rig.replies(&replies).kept().await.open().await;
    let (run, asked) = rig.pursue("Look it up.").await;
    assert_eq!(asked.expect_err("it asks").code(), Code::Asked);
    let rig = rig.restart().await;
    rig.answer(Say::Allow).await;
    let again = rig.resume_agent(&run).await;
    assert_eq!(again.expect_err("it asks again").code(), Code::Asked);
    let rig = rig.restart().await;
    rig.answer(Say::Allow).await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "There.");
}

/// What a search has found is the outcome of no call, and whoever goes on with the run would hold nothing under its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_no_record_is_kept_under_no_handle() {
    let policy = format!("{SPILL}\ncalling = \"both\"");
    let search = call("search_tools", json!({"query": "files text"}));
    let rig = Rig::of(&policy).replies(&[search, json!({"text": "Found."})]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Look.").await;
    assert_eq!(answer.expect("an answer"), "Found.");
    let mut records = rig.records(&run).await.into_iter();
    let kept = records.find_map(|record| match record.event {
        Event::Observed {
            kept, observation, ..
        } => Some((kept, observation.text)),
        _ => None,
    });
    let (kept, text) = kept.expect("it has searched");
    assert_eq!(kept, None);
    assert!(text.contains("characters left out"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_is_not_kept_and_nobody_is_offered_to_read_it() {
    let replies = [read(), json!({"text": "Short."})];
    let rig = Rig::of(&SPILL.replace("spill", "head")).file("inbox/list.txt", "short");
    let rig = rig.replies(&replies).open().await;
    let (run, answer) = rig.pursue("Look it up.").await;
    assert_eq!(answer.expect("an answer"), "Short.");
    for record in rig.records(&run).await {
        match record.event {
            Event::Observed { kept, .. } => assert_eq!(kept, None),
            Event::Prompted { tools, .. } => {
                assert!(!tools.contains(&"handle.read".to_owned()), "{tools:?}");
            }
            _ => {}
        }
    }
}
