//! Watchers: who sees what happens in a run, in order, and may come late, be slow, or come back.
//!
//! What is not kept is dropped for a watcher that is slow, which is told how much that was; a record never is. Beyond a bound it is not queued either:
//! it stands in the journal, and is read from there when the watcher has come so far.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::Notify;

use super::Journal;
use crate::words::error::{Error, Result};
use crate::words::event::{Event, Glimpse, Record, Sight};
use crate::words::id::{RunId, Seq};
use crate::words::limits::{WATCH_EVENTS, WATCH_RECORDS};
use crate::words::lock::lock;

/// Everybody who watches.
#[derive(Default)]
pub(super) struct Watches {
    of: Mutex<HashMap<RunId, Vec<Arc<Watch>>>>,
    /// How much may wait for one of them before what is not kept is dropped.
    most: OnceLock<usize>,
}

impl Watches {
    /// Lets so much wait for each. Said once.
    pub(super) fn bound(&self, events: usize) {
        let _ = self.most.set(events);
    }

    /// Shows something to whoever watches the run; where nobody does, it is not even made.
    pub(super) fn show(&self, run: &RunId, sight: impl FnOnce() -> Sight) {
        let most = self.most.get().copied().unwrap_or(WATCH_EVENTS);
        let watches = lock(&self.of);
        let Some((last, others)) = watches.get(run).and_then(|all| all.split_last()) else {
            return;
        };
        let sight = sight();
        for watch in others {
            watch.push(sight.clone(), most);
        }
        last.push(sight, most);
    }

    fn add(&self, run: &RunId) -> Arc<Watch> {
        let watch = Arc::new(Watch::default());
        let mut watches = lock(&self.of);
        watches.entry(run.clone()).or_default().push(watch.clone());
        watch
    }

    fn remove(&self, run: &RunId, watch: &Arc<Watch>) {
        let mut watches = lock(&self.of);
        if let Some(all) = watches.get_mut(run) {
            all.retain(|other| !Arc::ptr_eq(other, watch));
            if all.is_empty() {
                watches.remove(run);
            }
        }
    }
}

/// What one watcher has not seen yet.
#[derive(Default)]
struct Watch {
    queue: Mutex<Queue>,
    news: Notify,
}

#[derive(Default)]
struct Queue {
    sights: VecDeque<Sight>,
    records: usize,
    /// Records have come that are not queued.
    is_behind: bool,
    /// Glimpses that were dropped, and are not told of yet.
    missed: u64,
}

impl Watch {
    fn push(&self, sight: Sight, most: usize) {
        let mut queue = lock(&self.queue);
        match sight {
            Sight::Glimpse { .. } if queue.is_behind || queue.sights.len() >= most => {
                queue.missed = queue.missed.saturating_add(1);
            }
            Sight::Record(_) if queue.is_behind || queue.records >= WATCH_RECORDS => {
                queue.is_behind = true;
            }
            Sight::Record(_) => {
                queue.records += 1;
                queue.sights.push_back(sight);
            }
            Sight::Glimpse { .. } => queue.sights.push_back(sight),
        }
        drop(queue);
        self.news.notify_one();
    }
}

/// Sees what happens in a run, in order.
pub struct Watcher {
    watch: Arc<Watch>,
    journal: Journal,
    run: RunId,
    /// The place of the next record, once one was seen.
    next: Option<Seq>,
    /// Records that were read, and are not seen yet.
    read: VecDeque<Record>,
    /// Whether there are more to be read.
    is_behind: bool,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Watcher({})", self.run)
    }
}

impl Watcher {
    pub(super) fn new(journal: &Journal, run: &RunId, next: Option<Seq>) -> Self {
        Self {
            watch: journal.0.watches.add(run),
            journal: journal.clone(),
            run: run.clone(),
            next,
            read: VecDeque::new(),
            is_behind: false,
        }
    }

    pub(super) async fn joining(journal: &Journal, run: &RunId, seq: Seq) -> Result<Self> {
        // Before the journal is read, so that nothing is missed between the two.
        let mut watcher = Self::new(journal, run, Some(seq));
        let (records, last) = journal.records_from(run, seq).await?;
        check_ahead(&last, seq)?;
        watcher.read.extend(records);
        Ok(watcher)
    }

    /// The next thing that happens. Waits as long as it takes; a run's last record is `Stopped`. Nothing is lost where
    /// the waiting is given up.
    pub async fn next(&mut self) -> Sight {
        loop {
            let watch = self.watch.clone();
            let waiting = watch.news.notified();
            if let Some(sight) = self.seen().await {
                return sight;
            }
            waiting.await;
        }
    }

    /// What has happened and was not looked at yet, one thing at a time; nothing where there is none.
    pub async fn seen(&mut self) -> Option<Sight> {
        loop {
            if let Some(sight) = self.take() {
                return Some(sight);
            }
            if !self.is_behind {
                return None;
            }
            let next = self.next.unwrap_or(0);
            // A journal that cannot be read refuses its runs as well; whoever watches sees what there is.
            let records = self.journal.records_from(&self.run, next).await;
            let records = records.map(|(records, _)| records).unwrap_or_default();
            self.read.extend(records);
            self.is_behind = false;
        }
    }

    /// The next sight that is there: of what was read first, since it was there before.
    fn take(&mut self) -> Option<Sight> {
        loop {
            let sight = match self.read.pop_front() {
                Some(record) => Sight::Record(record),
                None if self.is_behind => return None,
                None => self.queued()?,
            };
            let Sight::Record(record) = &sight else {
                return Some(sight);
            };
            if self.next.is_none_or(|next| record.seq >= next) {
                self.next = Some(record.seq.saturating_add(1));
                return Some(sight);
            }
        }
    }

    fn queued(&mut self) -> Option<Sight> {
        let mut queue = lock(&self.watch.queue);
        let glimpses = std::mem::take(&mut queue.missed);
        if glimpses > 0 {
            return Some(Sight::Glimpse {
                run: self.run.clone(),
                glimpse: Glimpse::Missed { glimpses },
            });
        }
        let sight = queue.sights.pop_front();
        match &sight {
            Some(Sight::Record(_)) => queue.records = queue.records.saturating_sub(1),
            Some(Sight::Glimpse { .. }) => {}
            // From here on records are queued again; those between are read.
            None => self.is_behind |= std::mem::take(&mut queue.is_behind),
        }
        sight
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.journal.0.watches.remove(&self.run, &self.watch);
    }
}

/// Whether a record at `seq` may still come, after this last one of its run.
///
/// # Errors
/// `BadInput` where the run has ended before it.
pub fn check_ahead(last: &Record, seq: Seq) -> Result<()> {
    if !matches!(last.event, Event::Stopped(_)) || last.seq >= seq {
        return Ok(());
    }
    let (run, last) = (&last.run, last.seq);
    let what = format!("the run `{run}` has ended, and {last} is its last record");
    Err(Error::bad_input(what).hint(format!("lazaret runs show {run}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_not_made() {
        let watches = Watches::default();
        let run = RunId::known("run");
        let sight = || Sight::Glimpse {
            run: RunId::known("run"),
            glimpse: Glimpse::Missed { glimpses: 1 },
        };
        let seen = |watch: &Watch| lock(&watch.queue).sights.len();
        let watch = watches.add(&run);
        let other = RunId::known("other");
        watches.show(&other, || panic!("nobody watches it"));
        watches.show(&run, sight);
        assert_eq!(seen(&watch), 1);
        watches.remove(&run, &watch);
        watches.show(&run, || panic!("nobody watches it any more"));
    }
}
