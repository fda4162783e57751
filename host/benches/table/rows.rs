//! Rows of the table: samples, what is read off them, and whether a goal is met.

use std::time::Duration;

pub(crate) fn median(samples: &[Duration]) -> Duration {
    quantile(samples, 50)
}

pub(crate) fn quantile(samples: &[Duration], percent: usize) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort();
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

pub(crate) fn row(work: &str, samples: &[Duration], goal: &str) {
    println!(
        "{work:<58} {:>10} {:>10}  {goal}",
        shown(median(samples)),
        shown(quantile(samples, 99))
    );
}

pub(crate) fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1_000.0 {
        format!("{us:.1} µs")
    } else {
        format!("{:.1} ms", us / 1_000.0)
    }
}

pub(crate) fn goal(got: Duration, goal: Duration) -> String {
    format!(
        "≤ {}: {}",
        shown(goal),
        if got <= goal { "met" } else { "MISSED" }
    )
}

/// How much longer the second takes than the first, and how long at most.
pub(crate) fn ratio_goal(
    (bare, gated): (&[Duration], &[Duration]),
    times: f64,
    at_most: Option<Duration>,
) -> String {
    let ratio = median(gated).as_secs_f64() / median(bare).as_secs_f64();
    let met = if ratio <= times { "met" } else { "MISSED" };
    let absolute = at_most.map(|at_most| format!("; {}", goal(median(gated), at_most)));
    format!(
        "ratio {ratio:.2} ≤ {times}: {met}{}",
        absolute.unwrap_or_default()
    )
}

/// What this process holds in memory, in KiB.
pub(crate) fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
