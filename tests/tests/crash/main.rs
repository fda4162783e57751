//! Runs that are stopped: before and after every operation of the disk, and at random.
//!
//! `make crash N=10000` does the second for longer.

use std::path::Path;

use lazaret_tests::crash::{every_stop, random_kills};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_crash"))
}

/// Two of these run side by side, each with every other operation.
async fn every_other(first: usize) {
    let kills = Box::pin(every_stop(program(), (first, 2))).await;
    println!("stopped at every operation, {first} of 2: {kills}");
    assert!(kills.kills > 50, "{kills}");
    assert!(kills.tally.in_doubt > 0, "{kills}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_at_every_even_operation() {
    every_other(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_at_every_odd_operation() {
    every_other(1).await;
}

/// Other times on another machine, and the same for the same seed on a machine that does nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_processes_are_killed() {
    let kills = random_kills(program(), (200, 0x5EED), |_| {}).await;
    println!("killed at random: {kills}");
    assert!(kills.tally.resumed > 20, "{kills}");
}
