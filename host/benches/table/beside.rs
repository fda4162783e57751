//! A call while another run attacks: how much later the slowest of a hundred ends than where nobody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lazaret::guests::dispatch::Request;
use lazaret::guests::tasks::Tasks;
use lazaret::runs::host::Host;
use lazaret::words::message::WishedArgs;
use serde_json::{Value, json};

use crate::rows::{quantile, row, shown};
use crate::{Scene, on_worker, request, scripts};

const CALLS: usize = 1_000;
/// Rounds, each with and without the attack.
const ROUNDS: usize = 9;
/// How much later, at most, as the list of attacks says.
const TIMES: f64 = 2.0;

/// What the other run does, over and over: each call ends at a limit, and the next one begins.
fn attacks() -> [(&'static str, &'static str, Value); 3] {
    [
        ("an endless loop", "hostile.spin", json!({})),
        ("a memory that is filled", "hostile.fill", json!({})),
        (
            "a flood of log lines",
            "hostile.log_lines",
            json!({"lines": 1_000_000}),
        ),
    ]
}

pub(crate) fn all(scene: &'static Scene, runtime: &tokio::runtime::Runtime) {
    for (what, tool, args) in attacks() {
        let wish = move || Request {
            tool: tool.to_owned(),
            args: WishedArgs::Json(args.clone()),
        };
        let rounds = on_worker(runtime, measured(scene, (tool, wish)));
        let p99 = |samples: &Vec<Duration>| quantile(samples, 99).as_secs_f64();
        let ratios = rounds
            .iter()
            .map(|(alone, beside)| p99(beside) / p99(alone));
        let ratio = middle(ratios.collect());
        let before = middle(rounds.iter().map(|(alone, _)| p99(alone)).collect());
        let beside: Vec<Duration> = rounds.into_iter().flat_map(|(_, beside)| beside).collect();
        let met = if ratio <= TIMES { "met" } else { "MISSED" };
        row(
            &format!("echo: beside {what} in another run"),
            &beside,
            &format!(
                "p99 before {}, ratio {ratio:.2} ≤ {TIMES}: {met}",
                shown(Duration::from_secs_f64(before))
            ),
        );
    }
}

/// The middle one: a round in which the machine did something else is none of ours.
fn middle(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Calls alone, and calls beside the attack, round by round.
async fn measured(
    scene: &Scene,
    (name, wish): (&str, impl Fn() -> Request + Clone + Send + 'static),
) -> Vec<(Vec<Duration>, Vec<Duration>)> {
    let host = Arc::new(scripts::host(scene, name, "").await);
    // Each is compiled before it is measured.
    host.call_batched(&host.new_run(), wish(), &Tasks::new())
        .await;
    calls(&host).await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let alone = calls(&host).await;
        let (over, tasks) = (Arc::new(AtomicBool::new(false)), Tasks::new());
        let attack = tokio::spawn({
            let (host, over, tasks, wish) =
                (host.clone(), over.clone(), tasks.clone(), wish.clone());
            async move {
                while !over.load(Ordering::Relaxed) {
                    let run = host.new_run();
                    host.call_batched(&run, wish(), &tasks).await;
                }
            }
        });
        let beside = calls(&host).await;
        over.store(true, Ordering::Relaxed);
        tasks.cancel();
        attack.await.unwrap();
        rounds.push((alone, beside));
    }
    rounds
}

async fn calls(host: &Host) -> Vec<Duration> {
    let (run, tasks) = (host.new_run(), Tasks::new());
    let mut samples = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let began = Instant::now();
        let outcome = host.call_batched(&run, request(), &tasks).await;
        samples.push(began.elapsed());
        assert_eq!(outcome.result.unwrap(), "a b");
    }
    samples
}
