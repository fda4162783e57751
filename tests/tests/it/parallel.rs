//! Many guests at once: what one does ends that one alone.

use futures_util::future::join_all;
use lazaret::words::event::{End, Event};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_calls_only_the_one_that_loops_ends() {
    let policy = "[limits]\ncpu_ms = 300\ntimeout_ms = 60_000";
    let rig = Rig::of(policy).guest("hostile").guest("echo").open().await;
    let calls = (0..50).map(|at| {
        let rig = &rig;
        async move {
            if at == 25 {
                rig.call("hostile.spin", json!({})).await
            } else {
                rig.call("echo.echo", json!({"text": at.to_string()})).await
            }
        }
    });
    let all = join_all(calls).await;
    for (at, called) in all.iter().enumerate() {
        if at == 25 {
            assert_eq!(rig::error(&called.outcome).code(), Code::TooSlow);
        } else {
            assert_eq!(*rig::value(&called.outcome), json!(at.to_string()));
        }
        let records = rig.records(&called.run).await;
        assert_eq!(
            lazaret_tests::verdict::check_records(&records),
            Vec::<String>::new()
        );
    }
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_share_nothing() {
    let rig = Rig::of("").guest("hostile").open().await;
    // Each call is a fresh guest: what one left in memory, another never sees.
    for _ in 0..3 {
        let trapped = rig.call("hostile.panics", json!({"message": "once"})).await;
        assert_eq!(rig::error(&trapped.outcome).code(), Code::Trapped);
        let echoed = rig
            .call("hostile.echo", json!({"text": "still here"}))
            .await;
        assert_eq!(*rig::value(&echoed.outcome), json!("still here"));
    }
}

/// Memory is counted for a process, so this test starts itself once more, alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_guests_in_a_row_leave_no_memory_behind() {
    const ALONE: &str = "LAZARET_TEST_ALONE";
    const NAME: &str = "parallel::thousands_of_guests_in_a_row_leave_no_memory_behind";
    if std::env::var_os(ALONE).is_some() {
        return a_row_of_guests().await;
    }
    rig::alone(NAME, ALONE).await;
}

async fn a_row_of_guests() {
    let rig = Rig::of("").guest("echo").open().await;
    let run = rig.host.new_run();
    let many = async |calls: usize| {
        for _ in 0..calls {
            let outcome = rig.batched(&run, "echo.echo", json!({"text": "a"})).await;
            assert!(outcome.result.is_ok());
        }
        rig.host.journal().commit().await.expect("a commit");
        rig::resident_kib()
    };
    many(2_000).await;
    let before = many(100).await;
    let after = many(10_000).await;
    // The journal in memory grows by some 600 bytes a call; a guest that stayed would be 1 MiB.
    assert!(
        after < before + 24 * 1_024,
        "{before} KiB before, {after} KiB after"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_ends_its_guests_and_starts_no_others() {
    let rig = Rig::of("").guest("hostile").open().await;
    let tasks = Tasks::new();
    let sleeping = rig.call_in(rig.host.new_run(), &tasks, ("hostile.sleep", "{}"));
    let cancelling = async {
        // The call is polled first, so its guest has begun.
        tokio::task::yield_now().await;
        tasks.cancel();
    };
    let (called, ()) = tokio::join!(sleeping, cancelling);
    assert_eq!(rig::error(&called.outcome).code(), Code::Cancelled);
    let records = rig.records(&called.run).await;
    let last = &records.last().expect("records").event;
    assert!(matches!(last, Event::Stopped(stopped)
        if matches!(stopped.end, End::Failed { code: Code::Cancelled, .. })));
    let run = rig.host.new_run();
    let later = rig
        .call_in(run, &tasks, ("hostile.echo", r#"{"text": "a"}"#))
        .await;
    assert_eq!(rig::error(&later.outcome).code(), Code::Cancelled);
}
