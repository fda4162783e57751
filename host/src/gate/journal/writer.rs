//! The writer, who owns the database. What waits is written together, in one transaction and with one wait for the
//! disk, whichever runs it is of: a thread sees to that. What is of one run and has nobody to wait for is written on
//! the spot, which spares two changes of thread.

use std::collections::HashMap;
use std::sync::{Arc, LockResult, Mutex, MutexGuard, TryLockError};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::batch::{Batch, Broken, Taken};
use super::chain::Chains;
use super::checkpoint::Checkpoints;
use super::{Order, store};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Record;
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
    pub(super) fn write_until_closed(writer: &Mutex<Self>, mut inbox: mpsc::Receiver<Order>) {
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
            let mut writer = Self::sound(writer.lock());
            let outcome = writer.write(sync);
            for done in waiting {
                let _ = done.send(outcome.clone().map_err(broken_by));
            }
            let Writer {
                database, chains, ..
            } = &mut *writer;
            for ask in asks {
                ask(database, chains);
            }
        }
        let _ = Self::sound(writer.lock()).write(false);
    }

    /// The writer, where nobody has it.
    pub(super) fn free(writer: &Mutex<Self>) -> Option<MutexGuard<'_, Self>> {
        match writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(writer)) => Some(Self::sound(Err(writer))),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The writer; one that somebody panicked with may have lost what it had taken, and writes nothing more.
    fn sound(writer: LockResult<MutexGuard<'_, Self>>) -> MutexGuard<'_, Self> {
        writer.unwrap_or_else(|poisoned| {
            let writer = poisoned.into_inner();
            let why = "the journal's writer panicked, so nothing more is done; this is a mistake of the host's";
            let broken = (Code::Bug, why.to_owned());
            lock(&writer.batch).broken.get_or_insert(broken);
            writer
        })
    }

    /// Commits the open batch on the spot, where that waits for nobody: no other process writes, and no other run has
    /// anything in it that would be gathered. For the disk it waits where the log begins anew, and nowhere else. Nothing
    /// where it does not commit.
    pub(super) fn commit_now(&mut self) -> Option<Result<()>> {
        {
            let open = lock(&self.batch);
            if let Some(broken) = &open.broken {
                return Some(Err(broken_by(broken.clone())));
            }
            if open.records.is_empty() {
                return Some(Ok(()));
            }
            if !open.is_of_one_run() {
                return None;
            }
        }
        if let Err(undone) = self.go_ahead() {
            return Some(Err(broken_by(undone)));
        }
        let writing = store::begin_now(&self.database)?;
        let (records, contents) = match taken(&self.batch)? {
            Ok(taken) => taken,
            Err(broken) => return Some(Err(broken_by(broken))),
        };
        let written = store::write_in(
            writing,
            &mut self.chains,
            (records.as_slice(), contents.as_slice()),
        );
        Some(self.wrote(written, records, false).map_err(broken_by))
    }

    /// Writes the open batch. After a failure nothing is ever written again: what may or may not be on the disk
    /// must not be followed by more, and nobody acts on what was not written.
    fn write(&mut self, sync: bool) -> Result<(), Broken> {
        let (records, contents) = loop {
            self.go_ahead()?;
            // Others may have begun meanwhile.
            if let Some(taken) = taken(&self.batch) {
                break taken?;
            }
        };
        let sync = sync && (self.unsynced || !records.is_empty());
        let what = (records.as_slice(), contents.as_slice());
        let written = store::write(&self.database, &mut self.chains, what, sync);
        self.wrote(written, records, sync)
    }

    /// Does what is to be done before the batch is written. What fails is tried again before the next write, and
    /// nothing is written before it has been done.
    fn go_ahead(&self) -> Result<(), Broken> {
        let mut due = lock(&self.batch).due().into_iter();
        let mut done = Ok(());
        for (run, ahead) in due.by_ref() {
            if let Err(error) = ahead() {
                done = Err((error.code(), error.message().to_owned()));
                lock(&self.batch).goes_ahead(&run, ahead);
                break;
            }
        }
        let mut open = lock(&self.batch);
        due.for_each(|(run, ahead)| open.goes_ahead(&run, ahead));
        done
    }

    fn wrote(
        &mut self,
        written: Result<usize>,
        records: Vec<Record>,
        sync: bool,
    ) -> Result<(), Broken> {
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(error) => {
                let place = self.database.path().unwrap_or_default();
                let said = error.message();
                let why = format!(
                    "the journal `{place}` could not be written, so nothing more is done: {}",
                    said.strip_prefix("`journal`: ").unwrap_or(said)
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

/// What there is to write, unless nothing may be written any more; nothing where something is to be done before.
fn taken(batch: &Mutex<Batch>) -> Option<Result<Taken, Broken>> {
    let mut open = lock(batch);
    match &open.broken {
        Some(broken) => Some(Err(broken.clone())),
        None if open.is_due() => None,
        None => Some(Ok(open.take())),
    }
}

/// Why nothing is written any more.
fn broken_by((code, why): Broken) -> Error {
    let is_of_disk = code == Code::DiskFailed;
    let error = Error::new(code, why);
    match is_of_disk {
        true => error.hint("make room on its disk, or let it be written, and begin anew"),
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::batch::Ahead;
    use super::*;
    use crate::words::event::Event;
    use crate::words::key::HostKey;

    fn run() -> RunId {
        RunId::known("r")
    }

    /// A writer to a database in this folder, what is open before it, and where that is.
    fn writer(folder: &Path) -> (Writer, Arc<Mutex<Batch>>, PathBuf) {
        let path = folder.join("journal.db");
        let batch = Arc::new(Mutex::new(Batch::default()));
        let chains = Chains::new(HostKey::new(&[7; 32]));
        let database = store::open(&path).unwrap();
        (
            Writer::new((database, chains), batch.clone(), None),
            batch,
            path,
        )
    }

    fn open(batch: &Mutex<Batch>, seq: Seq) {
        lock(batch).records.push(Record {
            run: run(),
            seq,
            at: 0,
            parent: seq,
            event: Event::Resumed { traced: Vec::new() },
        });
    }

    fn why(committed: Option<Result<()>>) -> String {
        let error = committed.expect("it is said").expect_err("it fails");
        error.message().to_owned()
    }

    #[test]
    fn while_another_connection_writes_nothing_is_committed_on_the_spot_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, batch, path) = writer(folder.path());
        let other = store::open_again(&path).unwrap();
        open(&batch, 0);
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(writer.commit_now().is_none(), "it would have to wait");
        assert_eq!(lock(&batch).records.len(), 1, "it is still to be written");
        assert!(store::records(&other, &run()).is_err());
        other.execute_batch("COMMIT").unwrap();
        assert!(matches!(writer.commit_now(), Some(Ok(()))));
        assert_eq!(store::records(&other, &run()).unwrap().len(), 1);
        assert!(lock(&batch).records.is_empty());
    }

    #[test]
    fn after_a_failure_nothing_is_committed_on_the_spot_though_it_could_be() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, batch, path) = writer(folder.path());
        let other = store::open_again(&path).unwrap();
        let rename = |from, to| format!("ALTER TABLE {from} RENAME TO {to}");
        other
            .execute_batch(&rename("records", "elsewhere"))
            .unwrap();
        open(&batch, 0);
        let said = why(writer.commit_now());
        assert!(said.contains("so nothing more is done"), "{said}");
        other
            .execute_batch(&rename("elsewhere", "records"))
            .unwrap();
        open(&batch, 1);
        assert_eq!(why(writer.commit_now()), said);
        assert!(writer.write(true).is_err());
        assert!(store::records(&other, &run()).is_err(), "there is nothing");
    }

    #[test]
    fn a_writer_with_which_somebody_panicked_commits_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, batch, path) = writer(folder.path());
        let writer = Arc::new(Mutex::new(writer));
        let held = writer.clone();
        let panicked = std::thread::spawn(move || {
            let _held = held.lock();
            panic!("in the middle of it");
        });
        assert!(panicked.join().is_err());
        open(&batch, 0);
        let said = why(Writer::free(&writer).unwrap().commit_now());
        assert!(said.contains("the journal's writer panicked"), "{said}");
        let other = store::open_again(&path).unwrap();
        assert!(store::records(&other, &run()).is_err());
    }

    /// What is done ahead, which fails so often first, and how often it was done.
    fn ahead(failures: usize) -> (Ahead, Arc<Mutex<usize>>) {
        let count: Arc<Mutex<usize>> = Arc::default();
        let counted = count.clone();
        let ahead = move || {
            let mut count = lock(&counted);
            *count += 1;
            match *count > failures {
                true => Ok(()),
                false => Err(Error::new(Code::DiskFailed, "not now")),
            }
        };
        (Box::new(ahead), count)
    }

    #[test]
    fn nothing_of_a_run_is_written_before_what_goes_ahead_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, batch, path) = writer(folder.path());
        let other = store::open_again(&path).unwrap();
        let (ahead, count) = ahead(2);
        lock(&batch).goes_ahead(&run(), ahead);
        assert!(matches!(writer.commit_now(), Some(Ok(()))));
        assert_eq!(*lock(&count), 0, "there is nothing to write");
        open(&batch, 0);
        assert_eq!(why(writer.commit_now()), "not now");
        assert!(writer.write(true).is_err());
        assert!(store::records(&other, &run()).is_err(), "nothing is there");
        assert!(matches!(writer.commit_now(), Some(Ok(()))));
        assert_eq!(store::records(&other, &run()).unwrap().len(), 1);
        open(&batch, 1);
        writer.write(false).unwrap();
        assert_eq!(*lock(&count), 3, "once it is done, it is done");
    }

    #[test]
    fn a_run_that_is_written_at_once_needs_nothing_ahead() {
        use crate::words::event::{Content, End, Stopped};
        use crate::words::message::Usage;
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, batch, _) = writer(folder.path());
        let (ahead, count) = ahead(0);
        lock(&batch).goes_ahead(&run(), ahead);
        open(&batch, 0);
        let stopped = Event::Stopped(Stopped {
            end: End::Done {
                content: Content::Empty,
            },
            turns: 0,
            usage: Usage::default(),
            limit: None,
        });
        lock(&batch).take_seq(&run(), &stopped).unwrap();
        assert!(matches!(writer.commit_now(), Some(Ok(()))));
        assert_eq!(*lock(&count), 0);
    }
}
