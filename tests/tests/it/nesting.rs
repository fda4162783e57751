//! Tools that call tools: one depth, one budget, no deadlock.

use futures_util::future::join_all;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

const POLICY: &str = r#"
[limits]
timeout_ms = 60_000
[grants."hostile.call_each"]
calls = ["*"]
"#;

fn nest(depth: usize, innermost: Value) -> Value {
    (1..depth).fold(
        innermost,
        |args, _| json!({"tools": ["hostile.call_each"], "args": args}),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_nested_calls_at_once_do_not_wait_for_each_other_for_ever() {
    let rig = Rig::of(POLICY).guest("hostile").open().await;
    // Each holds a slot at depths 0, 1 and 2 at the same time, and there are 32 of the inner ones.
    let args = nest(3, json!({"tools": ["text.count"], "args": {"text": "a"}}));
    let all = join_all((0..100).map(|_| rig.call("hostile.call_each", args.clone()))).await;
    for called in &all {
        let text = rig::value(&called.outcome).to_string();
        assert!(text.contains("text.count -> ok"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_depth_is_one_more_than_its_callers() {
    let rig = Rig::of(POLICY).guest("hostile").open().await;
    for (depth, reached) in [(3, true), (4, false)] {
        let args = nest(
            depth,
            json!({"tools": ["text.count"], "args": {"text": "a"}}),
        );
        let called = rig.call("hostile.call_each", args).await;
        let text = rig::value(&called.outcome).to_string();
        assert_eq!(
            text.contains("text.count -> ok"),
            reached,
            "{depth}: {text}"
        );
        assert_eq!(text.contains("4 deep"), !reached, "{depth}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_and_all_below_it_share_one_budget() {
    let policy = format!("{POLICY}\n").replace("[limits]", "[limits]\ncalls = 7");
    let rig = Rig::of(&policy).guest("hostile").open().await;
    let inner = json!({"tools": ["text.count", "text.count", "text.count"], "args": {"text": "a"}});
    let args = json!({"tools": ["hostile.call_each", "hostile.call_each", "hostile.call_each"], "args": inner});
    let called = rig.call("hostile.call_each", args).await;
    let text = rig::value(&called.outcome).to_string();
    // Two branches and three leaves, then one branch and one leaf: seven.
    assert_eq!(text.matches("text.count -> ok").count(), 5, "{text}");
    assert!(text.contains("inner calls that it may make"), "{text}");
    let again = rig.call("text.count", json!({"text": "a"})).await;
    assert!(
        again.outcome.result.is_ok(),
        "another call has a budget of its own"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_below_another_keeps_to_its_own_grant() {
    let policy = r#"
        [mounts.docs]
        path = "docs"
        [grants."hostile.call_each"]
        calls = ["hostile.file_each"]
        mounts = { docs = "read" }
    "#;
    let rig = Rig::of(policy)
        .file("docs/a.txt", "a")
        .guest("hostile")
        .open()
        .await;
    let args = json!({"tools": ["hostile.file_each"],
        "args": {"wishes": [{"op": "read", "path": "docs/a.txt"}]}});
    let called = rig.call("hostile.call_each", args).await;
    let text = rig::value(&called.outcome).to_string();
    assert!(text.contains("docs/a.txt -> denied"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_below_one_that_is_out_of_time_end_with_it_and_leave_no_record_after_its_last() {
    let policy = POLICY.replace("60_000", "200");
    let rig = Rig::of(&policy).guest("hostile").open().await;
    let args = nest(
        3,
        json!({"tools": ["hostile.sleep", "hostile.sleep"], "args": {}}),
    );
    let all = join_all((0..10).map(|_| rig.call("hostile.call_each", args.clone()))).await;
    rig.host
        .journal()
        .commit()
        .await
        .expect("the journal is well");
    for called in &all {
        let records = rig.records(&called.run).await;
        let wrong = lazaret_tests::verdict::check_records(&records);
        assert!(wrong.is_empty(), "{wrong:?}");
    }
    rig.assert_alive().await;
}
