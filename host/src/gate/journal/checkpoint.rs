//! Checkpoints: what the log holds is carried over into the database on a thread of its own, so that no run
//! waits for that.
//!
//! Writers go on meanwhile. Only where they have never paused long enough, and the log has become large, are they
//! held up for a moment.

use std::sync::{Arc, Mutex};
use std::thread;

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::batch::Batch;
use super::store;
use crate::words::error::Code;
use crate::words::limits::{CHECKPOINT_BYTES, CHECKPOINT_PAGES_MAX};
use crate::words::lock::lock;

/// The thread, and what was written since it last began.
pub(super) struct Checkpoints {
    begin: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    bytes: usize,
}

impl Checkpoints {
    /// Starts the thread, which has a connection of its own.
    pub(super) fn start(database: Connection, batch: Arc<Mutex<Batch>>) -> Self {
        let (begin, mut news) = mpsc::channel(1);
        let work = {
            let batch = batch.clone();
            move || {
                while news.blocking_recv().is_some() {
                    carry_over(&database, &batch);
                }
            }
        };
        let thread = thread::Builder::new()
            .name("checkpoints".to_owned())
            .spawn(work);
        if let Err(error) = &thread {
            lock(&batch).broken = Some((
                Code::DiskFailed,
                format!("the thread of the journal's checkpoints did not start: {error}"),
            ));
        }
        Self {
            begin: Some(begin),
            thread: thread.ok(),
            bytes: 0,
        }
    }

    /// So many bytes more were written.
    pub(super) fn after(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes < CHECKPOINT_BYTES {
            return;
        }
        let begun = self.begin.as_ref().map(|begin| begin.try_send(()));
        // One that is under way may miss what came last.
        if matches!(begun, Some(Ok(()))) {
            self.bytes = 0;
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.begin = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A checkpoint syncs what it carries over, so where it fails nobody knows what is on the disk.
fn carry_over(database: &Connection, batch: &Mutex<Batch>) {
    let carried = store::checkpoint(database, false).and_then(|pages| match pages {
        0..=CHECKPOINT_PAGES_MAX => Ok(pages),
        _ => store::checkpoint(database, true),
    });
    if let Err(error) = carried {
        let why = format!(
            "the journal could not be carried over into its database, so nothing more is done: {}",
            error.message()
        );
        tracing::error!(error = %why, "journal");
        let mut open = lock(batch);
        open.broken.get_or_insert((error.code(), why));
    }
}
