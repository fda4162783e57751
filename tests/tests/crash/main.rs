//! Runs that are stopped: before every operation of the disk, after every sync, and at random.
//!
//! `make crash N=10000` does the second for longer.

use std::path::Path;

use lazaret_tests::crash::{Stops, every_stop, random_kills};
use lazaret_tests::told;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_crash"))
}

async fn stopped(stops: Stops, at_least: usize) {
    let kills = Box::pin(every_stop(program(), stops)).await;
    told!("{stops:?}: {kills}");
    assert!(kills.kills >= at_least, "{kills}");
    assert!(kills.tally.in_doubt > 0, "{kills}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_before_every_even_operation() {
    stopped(Stops::BeforeEach { first: 0, step: 2 }, 50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_before_every_odd_operation() {
    stopped(Stops::BeforeEach { first: 1, step: 2 }, 50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_after_every_sync() {
    stopped(Stops::AfterSyncs, 8).await;
}

/// Other times on another machine, and the same for the same seed on a machine that does nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_processes_are_killed() {
    let kills = random_kills(program(), (200, 0x5EED), |_| {}).await;
    told!("killed at random: {kills}");
    assert!(kills.tally.resumed > 20, "{kills}");
}
