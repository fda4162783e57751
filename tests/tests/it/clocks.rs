//! Wall clocks that somebody sets while a run waits: no wait and no deadline inside of a process moves with them.

use std::time::Duration;

use futures_util::FutureExt;
use lazaret::words::event::{Event, Limit, Record, Sight};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::verdict::check_records;

const DAY_MS: u64 = 86_400_000;
const TEN_YEARS_MS: u64 = 3_652 * DAY_MS;
const BACK: u64 = NOW_MS - DAY_MS;
const FORWARD: u64 = NOW_MS + TEN_YEARS_MS;

/// Becomes ready when a record of the run is such a one, from now on.
fn seen(rig: &Rigged, run: &RunId, is_one: impl Fn(&Event) -> bool) -> impl Future<Output = ()> {
    let mut watcher = rig.host.watch(run);
    async move {
        loop {
            if let Sight::Record(record) = watcher.next().await
                && is_one(&record.event)
            {
                return;
            }
        }
    }
}

async fn same_again(rig: &Rigged, run: &RunId) {
    let replayed = rig.replay(run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
}

fn prompts(records: &[Record]) -> usize {
    let prompted = |record: &&Record| matches!(record.event, Event::Prompted { .. });
    records.iter().filter(prompted).count()
}

/// Whatever clock is shown meanwhile, a model is asked again when the wait is over, and not before.
#[tokio::test]
async fn a_wall_clock_that_is_set_moves_no_wait_of_a_chain() {
    for shown in [BACK, FORWARD] {
        let busy = json!({"fail": [{"status": 503}], "text": "Done."});
        let policy = "[agents.agent.chain]\nattempts = 2\nbackoff_ms = 1_000";
        let rig = Rig::of(policy).replies(&[busy]).open().await;
        let (goal, tasks) = (rig.goal("Go on."), Tasks::new());
        let run = goal.run.clone();
        let mut work = std::pin::pin!(rig.host.pursue(goal, &tasks));
        let waits = seen(&rig, &run, |event| matches!(event, Event::Attempted(_)));
        tokio::select! {
            answer = &mut work => panic!("it waits: {answer:?}"),
            () = waits => {}
        }
        rig.clock.show(shown);
        rig.clock.advance(Duration::from_millis(999));
        assert!(work.as_mut().now_or_never().is_none());
        assert_eq!(prompts(&rig.records(&run).await), 1, "{shown}");
        rig.clock.advance(Duration::from_millis(1));
        assert_eq!(work.await.expect("an answer"), "Done.", "{shown}");
        same_again(&rig, &run).await;
    }
}

/// The clock is set in the middle of a step; what decides is how much time has passed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wall_clock_that_is_set_moves_no_end_of_a_run() {
    for shown in [BACK, FORWARD] {
        let policy = "[agents.agent]\nrun_timeout_ms = 5_000";
        let reply = json!({"calls": [{"tool": "hostile.sleep"}]});
        let rig = Rig::of(policy).guest("hostile").replies(&[reply]);
        let rig = rig.open().await;
        let (goal, tasks) = (rig.goal("Go on."), Tasks::new());
        let run = goal.run.clone();
        let sleeps = seen(
            &rig,
            &run,
            |event| matches!(event, Event::Judged(judged) if judged.subject == "hostile.sleep"),
        );
        let time = async {
            sleeps.await;
            rig.clock.show(shown);
            rig.clock.advance(Duration::from_millis(5_000));
        };
        let (answer, ()) = tokio::join!(rig.host.pursue(goal, &tasks), time);
        assert_eq!(answer.expect_err("too late").code(), Code::TooSlow);
        let records = rig.records(&run).await;
        assert_eq!(check_records(&records), Vec::<String>::new());
        assert!(
            matches!(records.last().map(|last| &last.event),
                Some(Event::Stopped(stopped)) if stopped.limit == Some(Limit::RunTimeout)),
            "{shown}"
        );
        same_again(&rig, &run).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_has_time_goes_on_whatever_the_wall_clock_shows() {
    for shown in [BACK, FORWARD] {
        let policy = "[agents.agent]\nrun_timeout_ms = 5_000\n[agents.agent.chain]\nattempts = 2";
        let count = json!({"tool": "text.count", "args": {"text": "a b"}});
        let replies = [
            json!({"calls": [count]}),
            json!({"fail": [{"status": 503}], "text": "Done."}),
        ];
        let rig = Rig::of(policy).replies(&replies).open().await;
        let (goal, tasks) = (rig.goal("Go on."), Tasks::new());
        let run = goal.run.clone();
        let failed = seen(&rig, &run, |event| matches!(event, Event::Attempted(_)));
        let time = async {
            failed.await;
            rig.clock.show(shown);
            rig.clock.advance(Duration::from_millis(250));
        };
        let (answer, ()) = tokio::join!(rig.host.pursue(goal, &tasks), time);
        assert_eq!(answer.expect("there is time"), "Done.", "{shown}");
        same_again(&rig, &run).await;
    }
}

/// The clock is set back while the script waits for something else beside its timer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timer_of_a_script_is_over_when_its_time_has_passed() {
    for rest_ms in [50, 90_000] {
        let server = Server::start().await;
        server.answer(false);
        let page = format!("http://127.0.0.1:{}/", server.port());
        let policy = format!(
            "[grants.\"web.*\"]\nfetch = [{{ url = \"{page}\", private = true }}]\n[flow]\nmode = \"off\""
        );
        let rig = Rig::of(&policy).open().await;
        let source = format!(
            "const timer = new Promise(over => setTimeout(over, {rest_ms}));
             try {{ await tools.web.get_page({{url: '{page}'}}) }} catch {{}}
             await timer;
             return 'over'"
        );
        let (run, tasks) = (rig.host.new_run(), Tasks::new());
        let time = async {
            server.arrived(1).await;
            rig.clock.show(BACK);
            server.answer(true);
            rig.clock.advance(Duration::from_millis(rest_ms));
        };
        let (called, ()) = tokio::join!(rig.script_in(run.clone(), &tasks, &source), time);
        let value = called.outcome.result.expect("a value");
        assert_eq!(value, json!("over"), "{rest_ms}");
        same_again(&rig, &run).await;
    }
}
