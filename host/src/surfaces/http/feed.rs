//! Feeds: what happens in a run, encoded once for all who watch it.
//!
//! A run that nobody watches has no feed. What happens within a moment is told at once, so that a run with two hundred
//! watchers writes to each of them some times a second and not for every record. Whoever cannot keep up reads what it
//! has missed from the journal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use super::site::Site;
use super::underway::is_over;
use crate::gate::journal::{Journal, Watcher};
use crate::guests::tasks;
use crate::runs::host::Host;
use crate::runs::rest;
use crate::surfaces::listed;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Record, Sight};
use crate::words::id::{RunId, Seq};
use crate::words::inert::inert_json;
use crate::words::limits::{FEED_FRAME_BYTES, FEED_FRAMES, FEED_GATHER_MS, FEED_LOOK_MS};
use crate::words::lock::lock;

/// Some of what happened, as it goes over the wire.
#[derive(Debug, Default)]
pub(super) struct Frame {
    bytes: Bytes,
    /// The records in it, each with the place of its first byte.
    records: Vec<(Seq, usize)>,
    /// Whether nothing comes after it.
    pub(super) is_last: bool,
}

impl Frame {
    /// What of it a watcher that has seen all before `next` has not; an error where it has missed something.
    pub(super) fn after(&self, next: Seq) -> std::result::Result<Bytes, Missed> {
        let Some((first, _)) = self.records.first() else {
            return Ok(self.bytes.clone());
        };
        if *first > next {
            return Err(Missed);
        }
        let begin = self.records.iter().find(|(seq, _)| *seq >= next);
        Ok(match begin {
            Some((seq, _)) if seq == first => self.bytes.clone(),
            Some((_, at)) => self.bytes.slice(*at..),
            None => Bytes::new(),
        })
    }

    /// The place after its last record.
    pub(super) fn next(&self) -> Option<Seq> {
        self.records.last().map(|(seq, _)| seq.saturating_add(1))
    }
}

/// A watcher has not seen what was before.
#[derive(Debug, PartialEq)]
pub(super) struct Missed;

/// A frame that is being made.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
    records: Vec<(Seq, usize)>,
}

impl Draft {
    /// Adds a record.
    pub(super) fn record(&mut self, record: &Record) {
        self.records.push((record.seq, self.text.len()));
        self.text.push_str(&format!("id: {}\n", record.seq));
        self.event("record", record);
    }

    fn sight(&mut self, journal: &Journal, sight: Sight) {
        match sight {
            Sight::Record(record) => self.record(&journal.shown(record)),
            Sight::Glimpse { glimpse, .. } => self.event("glimpse", &glimpse),
        }
    }

    /// Adds the end.
    pub(super) fn end(&mut self, state: &str) {
        self.event("end", &serde_json::json!({"state": state}));
    }

    /// An event of a stream of them: JSON on one line has no line ends.
    fn event(&mut self, event: &str, value: &impl Serialize) {
        let value = inert_json(serde_json::to_string(value).unwrap_or_default());
        let line = format!("event: {event}\ndata: {value}\n\n");
        self.text.push_str(&line);
    }

    /// Its bytes.
    pub(super) fn bytes(self) -> Bytes {
        self.text.into()
    }

    fn frame(self, is_last: bool) -> Frame {
        Frame {
            bytes: self.text.into(),
            records: self.records,
            is_last,
        }
    }
}

/// Frames as they come.
pub(super) type Frames = broadcast::Receiver<Arc<Frame>>;
type Sender = broadcast::Sender<Arc<Frame>>;

/// All feeds, and seats for those who watch.
#[derive(Debug)]
pub(super) struct Feeds {
    all: Mutex<HashMap<RunId, Sender>>,
    seats: Arc<Semaphore>,
    most: usize,
}

impl Feeds {
    pub(super) fn new(most: usize) -> Self {
        Self {
            all: Mutex::default(),
            seats: Arc::new(Semaphore::new(most)),
            most,
        }
    }

    /// A seat for one more who watches.
    ///
    /// # Errors
    /// `Busy` where all are taken.
    pub(super) fn seat(&self) -> Result<OwnedSemaphorePermit> {
        self.seats.clone().try_acquire_owned().map_err(|_| {
            let what = format!("{} clients watch already, and no more may", self.most);
            Error::new(Code::Busy, what).hint("[serve]\nwatchers = …")
        })
    }

    /// Joins the feed of a run, which begins with its first watcher. What happened before stands in the journal.
    pub(super) fn join(&self, site: &Site, run: &RunId) -> Frames {
        let mut all = lock(&self.all);
        if let Some(sender) = all.get(run) {
            return sender.subscribe();
        }
        let (sender, frames) = broadcast::channel(FEED_FRAMES);
        let feed = Feed {
            site: site.clone(),
            run: run.clone(),
            sender: sender.clone(),
            host: site.host(),
        };
        // Now, and not in the task: what happens from here on is in the feed.
        let watched = site.underway().watched(run);
        let watched = watched.map(|(host, over)| (host.watch(run), host, over));
        all.insert(run.clone(), sender);
        drop(all);
        drop(tasks::begin(async move {
            match watched {
                Some((watcher, host, over)) => {
                    Feed { host, ..feed }.tell(watcher, is_over(over)).await;
                }
                None => feed.look().await,
            }
        }));
        frames
    }

    /// Takes a feed out that nobody watches any more; whether that is so.
    fn leave(&self, run: &RunId, sender: &Sender) -> bool {
        let mut all = lock(&self.all);
        let is_left = sender.receiver_count() == 0;
        if is_left {
            all.remove(run);
        }
        is_left
    }

    fn remove(&self, run: &RunId) {
        lock(&self.all).remove(run);
    }
}

/// One feed.
struct Feed {
    site: Site,
    host: Arc<Host>,
    run: RunId,
    sender: Sender,
}

impl Feed {
    /// Tells of a run that is under way here, until it is over.
    async fn tell(self, mut watcher: Watcher, over: impl Future<Output = ()>) {
        let mut over = std::pin::pin!(over);
        let journal = self.host.journal();
        loop {
            let sight = tokio::select! {
                biased;
                sight = watcher.next() => sight,
                () = &mut over => break,
                () = self.site.ended() => break,
                () = self.sender.closed() => match self.site.feeds().leave(&self.run, &self.sender) {
                    true => return,
                    false => continue,
                },
            };
            let mut draft = Draft::default();
            draft.sight(journal, sight);
            self.gather(&mut watcher, &mut draft).await;
            self.send(draft.frame(false));
            let due = journal.clock().now_ms().saturating_add(FEED_GATHER_MS);
            tokio::select! {
                () = rest::until(journal.clock(), due) => {}
                () = &mut over => break,
                () = self.site.ended() => break,
            }
        }
        let mut draft = Draft::default();
        self.gather(&mut watcher, &mut draft).await;
        while !draft.text.is_empty() {
            self.send(std::mem::take(&mut draft).frame(false));
            self.gather(&mut watcher, &mut draft).await;
        }
        self.end().await;
    }

    /// Adds what is there already.
    async fn gather(&self, watcher: &mut Watcher, draft: &mut Draft) {
        while draft.text.len() < FEED_FRAME_BYTES {
            let Some(sight) = watcher.seen().await else {
                return;
            };
            draft.sight(self.host.journal(), sight);
        }
    }

    /// Tells of a run of another process, or of one that is left: looks at its records from time to time.
    async fn look(self) {
        let journal = self.host.journal();
        let mut next = 0;
        loop {
            let Ok((records, last)) = journal.records_from(&self.run, next).await else {
                break;
            };
            for some in records.chunks(FEED_FRAMES) {
                let mut draft = Draft::default();
                some.iter().for_each(|record| draft.record(record));
                self.send(draft.frame(false));
            }
            next = last.seq.saturating_add(1);
            let provenance = journal.provenance(&self.run).await;
            if provenance.is_ok_and(|provenance| listed::is_all(&last, provenance)) {
                break;
            }
            let due = journal.clock().now_ms().saturating_add(FEED_LOOK_MS);
            tokio::select! {
                () = rest::until(journal.clock(), due) => {}
                () = self.site.ended() => break,
                () = self.sender.closed() => if self.site.feeds().leave(&self.run, &self.sender) {
                    return;
                },
            }
        }
        self.end().await;
    }

    fn send(&self, frame: Frame) {
        // Whoever has watched may have gone.
        let _ = self.sender.send(Arc::new(frame));
    }

    async fn end(self) {
        // First, so that whoever comes from here on begins another feed.
        self.site.feeds().remove(&self.run);
        let mut draft = Draft::default();
        draft.end(&state_of(&self.site, &self.host, &self.run).await);
        self.send(draft.frame(true));
    }
}

/// Where a run stands, as a word.
pub(super) async fn state_of(site: &Site, host: &Host, run: &RunId) -> String {
    if site.underway().has(run) {
        return under_way(site).to_owned();
    }
    let last = host.journal().records_from(run, Seq::MAX).await;
    last.map_or("unfinished".to_owned(), |(_, last)| listed::state(&last))
}

/// Where a run stands that is under way here, as a word.
pub(super) fn under_way(site: &Site) -> &'static str {
    // What a server that ends has not ended itself is left as it is.
    if site.is_ending() {
        return "unfinished";
    }
    "running"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(places: &[Seq]) -> Frame {
        let mut draft = Draft::default();
        for seq in places {
            draft.records.push((*seq, draft.text.len()));
            draft.text.push_str(&format!("{seq} "));
        }
        draft.text.push('.');
        draft.frame(false)
    }

    #[test]
    fn a_watcher_sees_each_record_once_and_knows_what_it_missed() {
        let after = |places: &[Seq], next| {
            let bytes = frame(places).after(next)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        assert_eq!(after(&[3, 4, 5], 3), Ok("3 4 5 .".to_owned()));
        assert_eq!(after(&[3, 4, 5], 5), Ok("5 .".to_owned()));
        assert_eq!(after(&[3, 4, 5], 6), Ok(String::new()));
        assert_eq!(after(&[3, 4, 5], 2), Err(Missed));
        assert_eq!(after(&[], 9), Ok(".".to_owned()));
        assert_eq!(frame(&[3, 4]).next(), Some(5));
    }
}
