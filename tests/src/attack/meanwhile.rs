//! What happens while an attack is under way: others are served, clocks are set, somebody gives it up.

use std::time::Duration;

use lazaret::gate::journal::Watcher;
use lazaret::guests::tasks::Tasks;
use lazaret::words::error::Code;
use lazaret::words::event::Sight;
use lazaret::words::id::RunId;
use serde::Deserialize;
use tokio::sync::watch;

use crate::rig::{NOW_MS, Rigged};
use crate::server::Server;

/// Calls of others that are answered beside each attack,
pub(super) const BESIDE: usize = 2;
/// and beside one that is held until they are.
const BESIDE_HELD: usize = 8;
/// How often one of them is made that was told that it took too long: on a busy machine, within the attack's own limits.
const TRIES: usize = 50;

/// What happens while it is under way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meanwhile {
    /// It is, once so many requests have arrived, which are not answered yet,
    #[serde(default)]
    pub requests: usize,
    /// or once so many
    #[serde(default = "once")]
    pub times: usize,
    /// records of this kind are in its journal. Then calls of others are answered.
    #[serde(default)]
    pub seen: String,
    /// This file is locked from before until after; of a database, another process is about to write.
    #[serde(default)]
    pub locked: Option<String>,
    /// The wall clock is set by so many milliseconds, of which nobody waits for any;
    #[serde(default)]
    pub clock_by_ms: Option<String>,
    /// so many pass,
    #[serde(default)]
    pub pass_ms: u64,
    /// and it is given up.
    #[serde(default)]
    pub cancel: bool,
    /// The server answers only when it is over.
    #[serde(default)]
    pub late: bool,
}

fn once() -> usize {
    1
}

/// A host, and the run in it that is struck.
#[derive(Clone, Copy)]
pub(super) struct Under<'a> {
    pub(super) host: &'a Rigged,
    pub(super) server: &'a Server,
    pub(super) run: &'a RunId,
    pub(super) tasks: &'a Tasks,
}

/// Does the work, and beside it what is to happen meanwhile: what came of it, and what was not as it must be.
pub(super) async fn beside<T>(
    meanwhile: Option<&Meanwhile>,
    under: Under<'_>,
    work: impl Future<Output = T>,
) -> (T, Vec<String>) {
    let Some(meanwhile) = meanwhile else {
        return tokio::join!(work, Box::pin(others(under.host, BESIDE)));
    };
    under.server.answer(false);
    let lock = meanwhile.locked.as_ref().map(|path| hold(under, path));
    let (over, ended) = watch::channel(false);
    let work = async {
        let outcome = work.await;
        over.send_replace(true);
        outcome
    };
    // It watches before the work begins, so that it misses nothing of it.
    let watcher = under.host.host.watch(under.run);
    let (outcome, wrong) = tokio::join!(work, Box::pin(happen(meanwhile, under, (watcher, ended))));
    under.server.answer(true);
    drop(lock);
    (outcome, wrong)
}

/// What is locked until it is dropped.
#[expect(dead_code, reason = "held for their drop")]
enum Lock {
    File(std::fs::File),
    Database(rusqlite::Connection),
}

fn hold(under: Under<'_>, path: &str) -> Lock {
    let path = under.host.path(path);
    if path.extension().is_some_and(|ending| ending == "db") {
        let there = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        let database = rusqlite::Connection::open_with_flags(path, there).expect("a database");
        let begun = database.execute_batch("BEGIN IMMEDIATE");
        begun.expect("nobody else writes");
        return Lock::Database(database);
    }
    let mut options = std::fs::File::options();
    let options = options.create(true).truncate(false).write(true);
    let file = options.open(path).expect("a lock");
    file.lock().expect("nobody else has it");
    Lock::File(file)
}

async fn happen(
    meanwhile: &Meanwhile,
    under: Under<'_>,
    (watcher, mut ended): (Watcher, watch::Receiver<bool>),
) -> Vec<String> {
    let early = vec!["it ended before others were answered".to_owned()];
    let is_over = ended.clone();
    tokio::select! {
        () = is_under_way(meanwhile, under, watcher) => {}
        _ = ended.wait_for(|over| *over) => return early,
    }
    let mut wrong = others(under.host, BESIDE_HELD).await;
    // It was under way all the time: whoever waits for its end would be here too late.
    if *is_over.borrow() {
        wrong.extend(early);
    }
    if let Some(by) = &meanwhile.clock_by_ms {
        let by: i64 = by.parse().expect("a number");
        under.host.clock.show(NOW_MS.saturating_add_signed(by));
    }
    let passed = Duration::from_millis(meanwhile.pass_ms);
    under.host.clock.advance(passed);
    if meanwhile.cancel {
        under.tasks.cancel();
    }
    if !meanwhile.late {
        under.server.answer(true);
    }
    wrong
}

async fn is_under_way(meanwhile: &Meanwhile, under: Under<'_>, mut watcher: Watcher) {
    if meanwhile.seen.is_empty() {
        return under.server.arrived(meanwhile.requests).await;
    }
    let mut left = meanwhile.times;
    while left > 0 {
        if let Sight::Record(record) = watcher.next().await
            && record.event.word() == meanwhile.seen
        {
            left -= 1;
        }
    }
}

/// So many calls, each in a run of its own, are answered.
pub(super) async fn others(host: &Rigged, calls: usize) -> Vec<String> {
    let (mut answered, mut wrong) = (0, Vec::new());
    for _ in 0..TRIES {
        if answered == calls {
            return wrong;
        }
        let args = serde_json::json!({"text": "a b"});
        match host.call("text.count", args).await.outcome.result {
            Ok(_) => answered += 1,
            Err(error) if error.code() == Code::TooSlow => {}
            Err(error) => {
                wrong.push(format!("another run beside it fails: {error:?}"));
                return wrong;
            }
        }
    }
    wrong.push(format!("only {answered} calls of others were answered"));
    wrong
}
