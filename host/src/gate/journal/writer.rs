//! The writer: the one thread that owns the database. What waits is written together, in one transaction
//! and with one wait for the disk, whichever runs it is of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::batch::Batch;
use super::chain::Chains;
use super::checkpoint::Checkpoints;
use super::{Order, store};
use crate::words::error::{Code, Error, Result};
use crate::words::id::{RunId, Seq};
use crate::words::limits::CHAINS_REMEMBERED;
use crate::words::lock::lock;

/// Owns the database.
pub(super) struct Writer {
    database: Connection,
    chains: Chains,
    batch: Arc<Mutex<Batch>>,
    checkpoints: Option<Checkpoints>,
    /// Whether there may be commits that are not on the disk: others may have left some before.
    unsynced: bool,
    /// Of each run, the last record that was written since the last wait for the disk.
    written: HashMap<RunId, Seq>,
}

impl Writer {
    pub(super) fn new(
        (database, chains): (Connection, Chains),
        batch: Arc<Mutex<Batch>>,
        checkpoints: Option<Checkpoints>,
    ) -> Self {
        Self {
            database,
            chains,
            batch,
            checkpoints,
            unsynced: true,
            written: HashMap::new(),
        }
    }

    /// Does what is ordered until nobody can order anything more.
    pub(super) fn write_until_closed(mut self, mut inbox: mpsc::Receiver<Order>) {
        while let Some(first) = inbox.blocking_recv() {
            let mut waiting = Vec::new();
            let mut asks = Vec::new();
            let mut sync = false;
            let mut order = Some(first);
            while let Some(next) = order {
                match next {
                    Order::Write { sync: synced, done } => {
                        sync |= synced;
                        waiting.push(done);
                    }
                    Order::Ask(ask) => asks.push(ask),
                    Order::Nudge => {}
                }
                order = inbox.try_recv().ok();
            }
            let outcome = self.write(sync);
            for done in waiting {
                let _ = done.send(outcome.clone().map_err(|(code, why)| Error::new(code, why)));
            }
            for ask in asks {
                ask(&mut self.database, &mut self.chains);
            }
        }
        let _ = self.write(false);
    }

    /// Writes the open batch. After a failure nothing is ever written again: what may or may not be on the disk
    /// must not be followed by more, and nobody acts on what was not written.
    fn write(&mut self, sync: bool) -> Result<(), (Code, String)> {
        let (records, contents) = {
            let mut open = lock(&self.batch);
            if let Some(broken) = &open.broken {
                return Err(broken.clone());
            }
            open.take()
        };
        let sync = sync && (self.unsynced || !records.is_empty());
        let what = (records.as_slice(), contents.as_slice());
        let written = store::write(&mut self.database, &mut self.chains, what, sync);
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(error) => {
                let why = format!(
                    "the journal could not be written, so nothing more is done: {}",
                    error.message()
                );
                tracing::error!(error = %why, "journal");
                let broken = (error.code(), why);
                lock(&self.batch).broken = Some(broken.clone());
                return Err(broken);
            }
        };
        for record in records {
            self.written.insert(record.run, record.seq);
            self.unsynced = true;
        }
        if sync {
            self.unsynced = false;
            let mut open = lock(&self.batch);
            open.syncs += 1;
            open.now_safe(std::mem::take(&mut self.written));
        } else if self.written.len() > CHAINS_REMEMBERED {
            // What is forgotten is waited for once more.
            self.written.clear();
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.after(bytes);
        }
        Ok(())
    }
}
