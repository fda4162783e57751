//! Watchers: each record once and in its place, for whoever comes late, is slow, or comes back.

use std::time::Duration;

use lazaret::gate::journal::Watcher;
use lazaret::words::event::{Event, Glimpse, Sight};
use lazaret::words::id::RunId;
use lazaret::words::label::{Label, Sort, Source};
use lazaret::words::limits::{WATCH_EVENTS, WATCH_RECORDS};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

use crate::page::{PAGE, page, url, web};

fn place(sight: &Sight) -> Option<u64> {
    match sight {
        Sight::Record(record) => Some(record.seq),
        Sight::Glimpse { .. } => None,
    }
}

/// Places of the next records.
async fn places(watcher: &mut Watcher, many: usize) -> Vec<u64> {
    let mut places = Vec::new();
    while places.len() < many {
        let next = tokio::time::timeout(Duration::from_secs(60), watcher.next()).await;
        places.extend(place(&next.expect("there is more")));
    }
    places
}

fn upto(range: std::ops::Range<usize>) -> Vec<u64> {
    range.map(|seq| seq.try_into().expect("a place")).collect()
}

fn append(rig: &Rigged, run: &RunId) {
    let appended = rig
        .host
        .journal()
        .append(run, 0, Event::Resumed { traced: Vec::new() });
    appended.expect("the journal takes it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_late_sees_what_was_and_then_what_is() {
    let rig = Rig::of("").open().await;
    let run = rig.host.new_run();
    for _ in 0..5 {
        append(&rig, &run);
    }
    let mut late = rig.host.watch_from(&run, 0).await.expect("a run");
    let mut back = rig.host.watch_from(&run, 3).await.expect("a run");
    let mut ahead = rig.host.watch_from(&run, 7).await.expect("a run");
    for _ in 0..5 {
        append(&rig, &run);
    }
    assert_eq!(places(&mut late, 10).await, upto(0..10));
    assert_eq!(places(&mut back, 7).await, upto(3..10));
    assert_eq!(places(&mut ahead, 3).await, upto(7..10));
    assert!(late.seen().await.is_none());
}

/// Whoever joins while records come sees no gap and nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joins_in_the_middle_of_it_misses_nothing() {
    let rig = std::sync::Arc::new(Rig::of("").open().await);
    let run = rig.host.new_run();
    append(&rig, &run);
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (rig, run) = (rig.clone(), run.clone());
            std::thread::spawn(move || (0..500).for_each(|_| append(&rig, &run)))
        })
        .collect();
    for _ in 0..20 {
        let mut watcher = rig.host.watch_from(&run, 0).await.expect("a run");
        assert_eq!(places(&mut watcher, 1).await, [0]);
    }
    let mut watcher = rig.host.watch_from(&run, 0).await.expect("a run");
    assert_eq!(places(&mut watcher, 2_001).await, upto(0..2_001));
    writers
        .into_iter()
        .for_each(|writer| writer.join().expect("it wrote"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_events_wait_for_a_watcher_as_the_user_lets_wait() {
    let rig = Rig::of("limits.watch_events = 3").open().await;
    let run = rig.host.new_run();
    let mut slow = rig.host.watch(&run);
    for number in 0..10 {
        let text = number.to_string();
        rig.host.journal().glimpse(&run, Glimpse::Text { text });
    }
    let mut seen = Vec::new();
    while let Some(Sight::Glimpse { glimpse, .. }) = slow.seen().await {
        seen.push(glimpse);
    }
    let missed = Glimpse::Missed { glimpses: 7 };
    let mut expected = vec![missed];
    expected.extend(["0", "1", "2"].map(|text| Glimpse::Text {
        text: text.to_owned(),
    }));
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_watcher_loses_glimpses_and_no_record() {
    let rig = Rig::of("").open().await;
    let run = rig.host.new_run();
    let mut slow = rig.host.watch(&run);
    let mut other = rig.host.watch(&run);
    let many = 3 * WATCH_RECORDS;
    for _ in 0..many {
        append(&rig, &run);
        let text = "more".to_owned();
        rig.host.journal().glimpse(&run, Glimpse::Text { text });
    }
    let (mut seen, mut glimpses, mut missed) = (Vec::new(), 0, 0);
    while let Some(sight) = slow.seen().await {
        match (place(&sight), &sight) {
            (Some(seq), _) => seen.push(seq),
            (
                None,
                Sight::Glimpse {
                    glimpse: Glimpse::Missed { glimpses },
                    ..
                },
            ) => missed += *glimpses,
            (None, _) => glimpses += 1,
        }
    }
    assert_eq!(seen, upto(0..many));
    assert!((1..=WATCH_EVENTS).contains(&glimpses), "{glimpses}");
    // It is told how many it has not seen.
    let all = u64::try_from(glimpses).expect("few") + missed;
    assert_eq!(all, u64::try_from(many).expect("few"));
    // It goes on as one that was never slow, and the others see for themselves.
    append(&rig, &run);
    assert_eq!(places(&mut slow, 1).await, upto(many..many + 1));
    drop(slow);
    assert_eq!(places(&mut other, many + 1).await, upto(0..many + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_has_ended_is_seen_to_its_end_and_one_that_never_was_is_none() {
    let rig = Rig::of("").open().await;
    let called = rig.call("text.count", json!({"text": "a"})).await;
    let records = rig.records(&called.run).await;
    let mut watcher = rig.host.watch_from(&called.run, 1).await.expect("a run");
    let all = places(&mut watcher, records.len() - 1).await;
    assert_eq!(all, upto(1..records.len()));
    let beyond = records.len().try_into().expect("a place");
    let error = rig
        .host
        .watch_from(&called.run, beyond)
        .await
        .expect_err("it has ended");
    assert_eq!(error.code(), Code::BadInput);
    let error = rig
        .host
        .watch_from(&rig.host.new_run(), 0)
        .await
        .expect_err("no run");
    assert_eq!(error.code(), Code::NotFound);
}

/// Tools that say something on their way, and may do what they declare.
const SPEAKERS: &str = "flow.mode = \"off\"
    [mounts.out]\npath = \"out\"\naccess = \"write\"
    [grants.\"hostile.*\"]\nmounts = { out = \"write\" }\nnotes = \"write\"\ncalls = [\"*\"]";

/// What the host says of a call that begins.
const OWN: [&str; 2] = ["compiling (once, then cached)", "running"];

/// What a tool says on its way, with whoever had influence on it by then.
async fn said_on_the_way(rig: &Rigged, tool: &str, args: Value) -> Vec<(String, Label)> {
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let called = rig.call_in(run, &tasks, (tool, &args.to_string())).await;
    let _ = rig::value(&called.outcome);
    let mut said = Vec::new();
    while let Some(sight) = watcher.seen().await {
        let Sight::Glimpse { glimpse, .. } = sight else {
            continue;
        };
        match glimpse {
            // The host's own words are about the call, and no tool's.
            Glimpse::Progress { message, label, .. }
            | Glimpse::Said { message, label, .. }
            | Glimpse::Artifact {
                name: message,
                label,
                ..
            } if !OWN.contains(&message.as_str()) => {
                said.push((message, label));
            }
            _ => {}
        }
    }
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_tool_says_on_its_way_is_under_the_influence_of_what_it_has_read() {
    let server = page().await;
    let policy = format!(
        "{SPEAKERS}
        fetch = [{{ url = \"{}\", private = true }}]",
        url(&server, "/")
    );
    let rig = Rig::of(&policy).guest("hostile").open().await;
    let args = json!({"requests": [{"url": url(&server, "/page")}]});
    let said = said_on_the_way(&rig, "hostile.spill", args).await;
    let quoted = said.iter().filter(|(message, _)| message.contains(PAGE));
    // As a line, and as how far it is.
    assert!(quoted.count() >= 2, "{said:?}");
    for (message, label) in said {
        assert!(label.covers(&web(&server)), "{message}: {label}");
    }
}

/// What it says may be what it would return.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_secret_tool_says_on_its_way_is_shown_to_nobody() {
    let rig = Rig::of(SPEAKERS).guest("hostile").open().await;
    let args = json!({"wishes": [
        {"op": "say", "path": "x", "with": "canary"},
        {"op": "hand", "path": "x", "with": "canary"},
    ]});
    let said = said_on_the_way(&rig, "hostile.carry", args).await;
    assert_eq!(said.len(), 2, "{said:?}");
    let secret = Label::of(Source::new(Sort::Secret, "hostile.carry"));
    for (words, label) in said {
        assert_eq!(words, "secret");
        assert!(label.covers(&secret), "{label}");
    }
}
