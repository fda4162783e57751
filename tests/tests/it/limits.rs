//! Limits of `[limits]`, and what they say when they are reached.

use lazaret::words::event::Answer;
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fuel_is_the_same_each_time() {
    let rig = Rig::of("").guest("echo").open().await;
    let mut spent = Vec::new();
    for _ in 0..3 {
        let called = rig.call("echo.echo", json!({"text": "abc"})).await;
        spent.push((called.outcome.spent.fuel, called.outcome.spent.memory_bytes));
    }
    assert_eq!(spent[0], spent[1]);
    assert_eq!(spent[1], spent[2]);
    assert!(spent[0].0 > 1_000 && spent[0].1 >= 65_536, "{spent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_needs_all_its_fuel_gets_it_and_one_unit_less_is_too_little() {
    let open = async |fuel: u64| {
        let rig = Rig::of(&format!("limits.fuel = {fuel}"))
            .guest("echo")
            .open()
            .await;
        rig.call("echo.echo", json!({"text": "abc"})).await.outcome
    };
    let needed = open(1_000_000_000).await.spent.fuel;
    // The engine looks at its fuel between blocks of code, so the last unit is not the exact bound.
    assert!(open(needed + 10_000).await.result.is_ok());
    assert_eq!(rig::error(&open(needed / 2).await).code(), Code::OutOfFuel);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_counted_to_the_page() {
    let rig = Rig::of("limits.memory_mib = 16")
        .guest("hostile")
        .open()
        .await;
    let called = rig.call("hostile.grow", json!({})).await;
    let peak = called.outcome.spent.memory_bytes;
    assert!(peak <= 16 << 20 && peak > 14 << 20, "{peak}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_the_shorter_of_policy_and_manifest() {
    let manifest =
        lazaret_tests::forge::MANIFEST.replace("\"effect\"", "\"timeout_ms\":100,\"effect\"");
    let spin =
        r#"(func (export "run") (param i32 i32 i32 i32) (result i32) (loop (br 0)) unreachable)"#;
    let component = lazaret_tests::forge::plugin(&manifest, spin);
    let rig = Rig::of("").component("forged", &component).open().await;
    let called = rig.call("forged.run", json!({})).await;
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::TooSlow);
    assert!(
        error
            .message()
            .starts_with("the call did not end within its"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_a_guest_is_the_hosts() {
    let rig = Rig::of("").open().await;
    let called = rig.call("clock.now", json!({})).await;
    assert_eq!(rig::value(&called.outcome)["unix_ms"], json!(NOW_MS));
    rig.clock.advance(std::time::Duration::from_secs(86_400));
    let called = rig.call("clock.now", json!({})).await;
    assert_eq!(rig::value(&called.outcome)["date"], json!("2026-03-02"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_reads_of_a_failure_has_no_path_of_the_host() {
    let rig = Rig::of(
        "flow.hold = \"never\"\n[mounts.docs]\npath = \"docs\"\n[grants.\"files.*\"]\nmounts = { docs = \"read\" }",
    );
    let inside = rig.path("docs").display().to_string();
    let args = json!({"text": format!("it is in {inside}/a.txt")});
    let call = json!({"calls": [{"id": "a", "tool": "echo.echo", "args": args}]});
    let seen = json!({"when": "it is in docs:/a.txt", "text": "Seen."});
    let rig = rig.guest("echo").replies(&[call, seen]).open().await;
    assert_eq!(rig.pursue("Look.").await.1.expect("an answer"), "Seen.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_ends_at_the_tick_that_is_its_last() {
    for most in [1_u64, 50] {
        let policy = format!("limits.cpu_ms = {most}");
        let rig = Rig::of(&policy).guest("hostile").open().await;
        let outcome = rig.call("hostile.spin", json!({})).await.outcome;
        assert_eq!(rig::error(&outcome).code(), Code::TooSlow);
        assert_eq!(outcome.spent.cpu_ms, most);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_of_the_host_is_counted_whatever_it_asks_for() {
    let rig = Rig::of("").guest("hostile").open().await;
    let asks = async |times: u64| {
        let called = rig.call("hostile.ask_often", json!({ "times": times }));
        let outcome = called.await.outcome;
        outcome.result.expect("the time");
        outcome.spent.host_calls
    };
    let few = asks(1_000).await;
    assert!(few >= 1_000, "{few}");
    assert_eq!(asks(3_000).await, few + 2_000);
}

/// An agent that calls `first` of `hostile`, waits for a person, and calls the same again once it goes on, in another host.
async fn gone_on(
    limits: &str,
    first: (&str, Value),
) -> (Rigged, RunId, lazaret::words::error::Result<String>) {
    let policy = format!("ask = [\"echo.echo\"]\n[limits]\n{limits}\n[flow]\nhold = \"never\"");
    let call = |args: &Value| json!({"tool": format!("hostile.{}", first.0), "args": args});
    let replies = [
        json!({ "calls": [call(&first.1)] }),
        json!({"calls": [{"tool": "echo.echo", "args": {"text": "a"}}]}),
        json!({ "calls": [call(&first.1)] }),
        json!({"text": "It never ended."}),
    ];
    let rig = Rig::of(&policy).replies(&replies).kept().await;
    let rig = rig.guest("hostile").guest("echo").open().await;
    let (run, left) = rig.pursue("Go on.").await;
    assert_eq!(left.unwrap_err().code(), Code::Asked);
    rig.answer(Answer::Allow).await;
    let rig = rig.restart().await;
    let ended = rig.resume_agent(&run).await;
    (rig, run, ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_has_written_before_it_was_left_counts_and_a_replay_ends_there_too() {
    let text = json!({"bytes": 500_000});
    let (rig, run, ended) = gone_on("run_journal_mib = 1", ("text", text.clone())).await;
    let error = ended.unwrap_err();
    assert_eq!(error.code(), Code::OverBudget, "{error:?}");
    assert!(
        error.hints()[0].contains("`[limits] run_journal_mib`"),
        "{error:?}"
    );
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
    let (_, _, ended) = gone_on("run_journal_mib = 2", ("text", text)).await;
    assert_eq!(ended.unwrap(), "It never ended.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_time_that_a_run_has_used_before_it_was_left_is_used() {
    let limits = |run_ms: u32| format!("cpu_ms = 200\nrun_cpu_ms = {run_ms}");
    let all = "all its calls may use together";
    let (rig, run, _) = gone_on(&limits(300), ("spin", json!({}))).await;
    assert!(rig.journal(&run).await.contains(all));
    let (rig, run, _) = gone_on(&limits(60_000), ("spin", json!({}))).await;
    assert!(!rig.journal(&run).await.contains(all));
}
