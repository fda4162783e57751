//! The journal: all records of all runs, append-only, the only truth.
//!
//! Appending puts a record into the open batch and costs no input or output. The writer has the
//! database; a batch is written in one transaction when somebody needs it committed (or synced), or
//! when it has grown. After a write has failed the journal refuses everything: what was not
//! written must not be acted upon.
//!
//! Each record is stored with an authentication of itself and of all before it ([`Journal::verify`]).

mod batch;
mod chain;
mod checkpoint;
pub(crate) mod failing;
mod keyed;
pub(crate) mod planted;
mod prune;
mod said;
mod salvage;
mod sessions;
mod store;
pub(crate) mod wal;
mod watch;
mod writer;
mod writing;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

pub use self::batch::Ahead;
use self::batch::{Aside, Batch, set_aside};
use self::chain::Chains;
pub use self::chain::{Provenance, Verified};
use self::checkpoint::Checkpoints;
pub use self::prune::{Pruned, Stays};
pub use self::salvage::{Salvaged, is_sound, salvage, settle};
pub use self::sessions::Begun;
use self::watch::Watches;
pub use self::watch::{Watcher, check_ahead};
use self::writer::Writer;
use crate::rules::scrub::KnownSecrets;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::texts::Cleaning;
use crate::words::event::{Event, Glimpse, Record, Sight};
use crate::words::id::{Digest, RunId, Seq};
use crate::words::key::HostKey;
use crate::words::lock::lock;

/// Orders that may wait for the writer.
const ORDERS: usize = 1_024;

/// All records of all runs. Cheap to clone; the last clone writes what is left.
#[derive(Clone)]
pub struct Journal(Arc<Inner>);

struct Inner {
    batch: Arc<Mutex<Batch>>,
    orders: mpsc::Sender<Order>,
    writer: Arc<Mutex<Writer>>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    watches: Watches,
    /// Whether it is on a disk, which is what there is to wait for.
    is_on_disk: bool,
    clock: Clock,
    key: HostKey,
    /// What the names of questions were made with, where a run is recorded again; nothing in those of older versions.
    salt: OnceLock<Option<Digest>>,
    /// What stands in no record.
    known: OnceLock<KnownSecrets>,
    /// Who is shown all records.
    onlooker: OnceLock<Arc<dyn Onlooker>>,
}

/// Is shown every record of every run, each run's in the order of their places. It is called in the middle of an
/// append: it does no input or output, and asks the journal nothing.
pub trait Onlooker: Send + Sync {
    /// A record that was just appended.
    fn see(&self, record: &Record);
    /// A run goes on whose records so far are these.
    fn taken_up(&self, records: &[Record]);
    /// Nothing more of a run happens here.
    fn let_go(&self, run: &RunId);
}

enum Order {
    Write {
        sync: bool,
        done: oneshot::Sender<Result<()>>,
    },
    Ask(Box<Question>),
    Nudge,
}

/// Something that the writer's thread does between two batches.
type Question = dyn FnOnce(&mut Connection, &mut Chains) + Send;

/// The place and time of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its place in the run.
    pub seq: Seq,
    /// Milliseconds since 1970.
    pub at: u64,
}

impl Journal {
    /// Opens the journal at `path`, or creates it. Its folder must exist. `key` authenticates what is
    /// written.
    ///
    /// # Errors
    /// `Corrupt` for a damaged or foreign file, `BadInput` for one of a newer version, `Busy` where
    /// another process holds it, `DiskFailed` otherwise.
    pub fn open(path: &Path, clock: Clock, key: HostKey) -> Result<Self> {
        let database = store::open(path)?;
        let second = store::open_again(path)?;
        Ok(Self::start(database, Some(second), clock, key))
    }

    /// A journal that is forgotten with the process.
    ///
    /// # Errors
    /// `DiskFailed` where even that cannot be had.
    pub fn in_memory(clock: Clock, key: HostKey) -> Result<Self> {
        store::in_memory().map(|database| Self::start(database, None, clock, key))
    }

    fn start(database: Connection, second: Option<Connection>, clock: Clock, key: HostKey) -> Self {
        let batch = Arc::new(Mutex::new(Batch::default()));
        let (orders, inbox) = mpsc::channel(ORDERS);
        let is_on_disk = second.is_some();
        let checkpoints = second.map(|second| Checkpoints::start(second, batch.clone()));
        let writer = Writer::new(
            (database, Chains::new(key.clone())),
            batch.clone(),
            checkpoints,
        );
        let writer = Arc::new(Mutex::new(writer));
        let thread = thread::Builder::new().name("journal".to_owned());
        let thread = {
            let writer = writer.clone();
            thread.spawn(move || Writer::write_until_closed(&writer, inbox))
        };
        if let Err(error) = &thread {
            lock(&batch).broken = Some((
                Code::DiskFailed,
                format!("the journal's thread did not start: {error}"),
            ));
        }
        let thread = Mutex::new(thread.ok());
        Self(Arc::new(Inner {
            batch,
            orders,
            writer,
            thread,
            watches: Watches::default(),
            is_on_disk,
            clock,
            key,
            salt: OnceLock::new(),
            known: OnceLock::new(),
            onlooker: OnceLock::new(),
        }))
    }

    /// The same journal, whose records are free of what is `known` from now on. Said once.
    #[must_use]
    pub fn without(self, known: &KnownSecrets) -> Self {
        let _ = self.0.known.set(known.clone());
        self
    }

    /// Names questions as the host did that recorded a run first. Said once.
    pub fn name_with(&self, salt: Option<Digest>) {
        let _ = self.0.salt.set(salt);
    }

    /// What the names of a run's questions are made with: nobody without the host's key knows it who has not read its records.
    #[must_use]
    pub fn salt(&self, run: &RunId) -> Option<Digest> {
        let own = || Some(self.0.key.mac("questions", &[run.as_str().as_bytes()]));
        self.0.salt.get().copied().unwrap_or_else(own)
    }

    /// Lets so many events wait for whoever watches a run, before what is not kept is dropped. Said once.
    pub fn let_wait(&self, events: usize) {
        self.0.watches.bound(events);
    }

    /// Shows all records from now on to somebody. Said once.
    pub fn show_all(&self, onlooker: Arc<dyn Onlooker>) {
        let _ = self.0.onlooker.set(onlooker);
    }

    /// A record as it may be shown: what is known now may not have been when it was kept.
    #[must_use]
    pub fn shown(&self, mut record: Record) -> Record {
        self.clean(&mut record.event);
        record
    }

    fn clean(&self, event: &mut Event) {
        self.cleaning(|with| event.clean(with));
    }

    /// Cleans what was made of records as they were kept, as [`Journal::shown`] does a record.
    pub fn cleaning(&self, clean: impl FnOnce(&Cleaning<'_>)) {
        let Some(known) = self.0.known.get().filter(|known| !known.is_empty()) else {
            return;
        };
        clean(&Cleaning {
            text: &|text| {
                if let Some(clean) = known.clean(text) {
                    *text = clean;
                }
            },
            value: &|value| known.clean_value(value),
        });
    }

    /// Appends a record to the open batch and returns its place and time.
    ///
    /// # Errors
    /// `DiskFailed` after a failed write, `Busy` when the writer cannot keep up.
    pub fn append(&self, run: &RunId, parent: Seq, event: Event) -> Result<Stamp> {
        self.append_after(run, parent, event, None)
    }

    /// The same of the first record of a run. Before that is written, which is when others may see it, `ahead` is done; where
    /// it fails, nothing is written, and it is tried again with the next write. A run that is written at once, its end
    /// included, needs nothing ahead.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_first(&self, run: &RunId, event: Event, ahead: Option<Ahead>) -> Result<Stamp> {
        self.append_after(run, 0, event, ahead)
    }

    fn append_after(
        &self,
        run: &RunId,
        parent: Seq,
        mut event: Event,
        ahead: Option<Ahead>,
    ) -> Result<Stamp> {
        self.clean(&mut event);
        // As it was said, so that it counts the same when it is read again; and before anybody is kept waiting.
        let weight = event.weight();
        let aside = set_aside(&mut event);
        let (stamp, nudge, line) = {
            let mut batch = lock(&self.0.batch);
            batch.check()?;
            let seq = batch.take_seq(run, &event)?;
            if let Some(ahead) = ahead {
                batch.goes_ahead(run, ahead);
            }
            let record = Record {
                run: run.clone(),
                seq,
                at: self.0.clock.stamp_ms(),
                parent: parent.min(seq),
                event,
            };
            let at = record.at;
            batch.came(run, at, weight);
            batch.push(record, aside);
            let line = batch.records.last().and_then(|record| {
                // In here, so that whoever looks on sees a run's records in the order of their places.
                self.tell(record);
                // Written when nobody waits for it.
                said::line(record)
            });
            (Stamp { seq, at }, batch.is_full(), line)
        };
        if let Some(line) = line {
            line.write();
        }
        if nudge {
            // A full queue means that the writer is about to write anyway.
            let _ = self.0.orders.try_send(Order::Nudge);
        }
        Ok(stamp)
    }

    fn tell(&self, record: &Record) {
        if let Some(onlooker) = self.0.onlooker.get() {
            onlooker.see(record);
        }
        let sight = || Sight::Record(record.clone());
        self.0.watches.show(&record.run, sight);
    }

    /// Returns when everything that was appended before is committed: it survives this process.
    ///
    /// # Errors
    /// `DiskFailed`; then it is not safe to act on what was appended.
    pub async fn commit(&self) -> Result<()> {
        let now = Writer::free(&self.0.writer).and_then(|mut writer| writer.commit_now());
        match now {
            Some(committed) => committed,
            None => self.write(false).await,
        }
    }

    /// Returns when everything that was appended before is on the disk: it survives this machine.
    ///
    /// # Errors
    /// `DiskFailed`; then it is not safe to act on what was appended.
    pub async fn sync(&self) -> Result<()> {
        match self.0.is_on_disk {
            true => self.write(true).await,
            false => self.commit().await,
        }
    }

    /// Returns when everything that was appended before is committed, and the record at `seq` is on the disk.
    /// Where that says that something must not be done again, it says so of all that is a part of it.
    ///
    /// # Errors
    /// `DiskFailed`; then it is not safe to act on what was appended.
    pub async fn commit_after(&self, run: &RunId, seq: Seq) -> Result<()> {
        let safe = lock(&self.0.batch).is_safe(run, seq);
        match safe {
            true => self.commit().await,
            false => self.sync().await,
        }
    }

    /// How often the disk was waited for since the journal was opened; checkpoints apart.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        lock(&self.0.batch).syncs
    }

    async fn write(&self, sync: bool) -> Result<()> {
        let (done, outcome) = oneshot::channel();
        let gone = || Error::new(Code::DiskFailed, "the journal's writer is gone");
        self.0
            .orders
            .send(Order::Write { sync, done })
            .await
            .map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Runs that began here and wait for an answer, newest first.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn asking(&self) -> Result<Vec<RunId>> {
        self.ask(move |database, _| store::asking(database)).await
    }

    /// The newest runs, also those that were imported, with where they come from; for a person.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub async fn listed(&self, limit: usize) -> Result<Vec<(Record, Record, Provenance)>> {
        let listed = self.ask(move |database, _| {
            let runs = store::runs(database, limit)?.into_iter();
            let with = |(first, last): (Record, Record)| {
                let provenance = chain::provenance(database, first.run.as_str())?;
                Ok((first, last, provenance))
            };
            runs.map(with).collect::<Result<Vec<_>>>()
        });
        let listed = listed.await?.into_iter();
        let shown = listed
            .map(|(first, last, provenance)| (self.shown(first), self.shown(last), provenance));
        Ok(shown.collect())
    }

    /// Where a run comes from.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn provenance(&self, run: &RunId) -> Result<Provenance> {
        let run = run.clone();
        self.ask(move |database, _| chain::provenance(database, run.as_str()))
            .await
    }

    /// Compares every record of a run with what authenticates it.
    ///
    /// # Errors
    /// `NotFound`, `DiskFailed`. That a record does not fit is in what is returned.
    pub async fn verify(&self, run: &RunId) -> Result<Verified> {
        let (run, key) = (run.clone(), self.0.key.clone());
        self.ask(move |database, _| chain::verify(database, &key, run.as_str()))
            .await
    }

    /// All records of a run, and what their chain says of the very same; no records where one does not fit, since that
    /// may be of any form.
    ///
    /// # Errors
    /// As [`Journal::records`].
    pub async fn verified(&self, run: &RunId) -> Result<(Vec<Record>, Verified)> {
        let (asked, key) = (run.clone(), self.0.key.clone());
        let found = self.ask(move |database, _| {
            // One state of the database, whatever others write meanwhile.
            let reading = store::reading(database)?;
            let verified = chain::verify(&reading, &key, asked.as_str())?;
            let records = match &verified.broken {
                Some(_) => Vec::new(),
                None => store::records(&reading, &asked)?,
            };
            Ok((records, verified))
        });
        let (records, verified) = found.await?;
        if verified.provenance != Provenance::Here {
            lock(&self.0.batch).saw_imported(run);
        }
        Ok((records, verified))
    }

    /// How a question whose name begins so was settled, and in which run; nothing where it was not.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub async fn settled(&self, start: &str) -> Result<Option<(RunId, Event)>> {
        let start = start.to_owned();
        self.ask(move |database, _| store::settled(database, &start))
            .await
    }

    /// As [`Journal::verify`], of every run of which there is any record.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn verify_all(&self) -> Result<Vec<Verified>> {
        let key = self.0.key.clone();
        self.ask(move |database, _| {
            let runs = chain::all_runs(database)?;
            let verify = |run: &String| {
                let verified = chain::verify(database, &key, run);
                // Its name was just read.
                let gone = matches!(&verified, Err(error) if error.code() == Code::NotFound);
                match gone {
                    true => Err(store::damaged("journal")),
                    false => verified,
                }
            };
            runs.iter().map(verify).collect()
        })
        .await
    }

    /// Takes in the records of a run that was exported, all or none. Nothing is ever appended to them.
    ///
    /// # Errors
    /// `BadInput` where the run is known; `DiskFailed`.
    pub async fn import(&self, records: Vec<Record>, provenance: Provenance) -> Result<()> {
        let mut records = records;
        let events = records.iter_mut().map(|record| &mut record.event);
        let contents: Vec<Aside> = events.filter_map(set_aside).collect();
        self.ask(move |database, chains| {
            let what = (records.as_slice(), contents.as_slice());
            store::import(database, chains, what, provenance)
        })
        .await
    }

    /// This host's key, which authenticates what the journal holds.
    #[must_use]
    pub fn key(&self) -> &HostKey {
        &self.0.key
    }

    /// All records of a run in order; large contents stand in full.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `DiskFailed`.
    pub async fn records(&self, run: &RunId) -> Result<Vec<Record>> {
        let asked = run.clone();
        let found = self.ask(move |database, _| {
            let provenance = chain::provenance(database, asked.as_str())?;
            store::records(database, &asked).map(|records| (records, provenance))
        });
        let (records, provenance) = found.await?;
        if provenance != Provenance::Here {
            lock(&self.0.batch).saw_imported(run);
        }
        Ok(records)
    }

    /// Takes up a run that was left: it goes on after the last of these records. Whoever calls this holds
    /// the run: two that go on with one run would write the same places.
    ///
    /// # Errors
    /// `BadInput` where the run has ended, or was imported.
    pub fn take_up(&self, run: &RunId, records: &[Record]) -> Result<()> {
        check_open(run, records)?;
        let last = records.last().map_or(0, |record| record.seq);
        let kept = records.iter().map(|record| record.event.weight()).sum();
        let mut batch = lock(&self.0.batch);
        batch.take_up(run, last, kept)?;
        if let Some(onlooker) = self.0.onlooker.get() {
            onlooker.taken_up(records);
        }
        Ok(())
    }

    /// How many records a run has that goes on here.
    #[must_use]
    pub fn placed(&self, run: &RunId) -> Seq {
        lock(&self.0.batch).placed(run)
    }

    /// About how many bytes the records of a run take that goes on here, and what they hold.
    ///
    /// # Errors
    /// Of a replay: why the run began nothing more where it is.
    pub fn kept(&self, run: &RunId) -> Result<u64> {
        lock(&self.0.batch).kept(run)
    }

    /// The time of the last record of a run that goes on here; 0 where none came here.
    #[must_use]
    pub fn stamped(&self, run: &RunId) -> u64 {
        lock(&self.0.batch).stamped(run)
    }

    /// Refuses whatever comes in a run after so many records, for a replay: it ends where the run was cut off.
    pub fn cut(&self, run: &RunId, records: usize) {
        let records = Seq::try_from(records).unwrap_or(Seq::MAX);
        lock(&self.0.batch).cut = Some((run.clone(), records));
    }

    /// From so many records on a run has begun nothing more for this reason, for a replay: neither does that.
    pub fn spend(&self, run: &RunId, (from, why): (Seq, &Error)) {
        let why = (why.code(), why.message().to_owned());
        lock(&self.0.batch).spent = Some((run.clone(), from, why));
    }

    /// Lets go of a run that is left: it may be taken up elsewhere, and nothing is appended to it here.
    pub fn let_go(&self, run: &RunId) {
        lock(&self.0.batch).let_go(run);
        if let Some(onlooker) = self.0.onlooker.get() {
            onlooker.let_go(run);
        }
    }

    /// The one run whose name begins with `start`, or the newest for `last`.
    ///
    /// # Errors
    /// `NotFound` for none, `BadInput` for more than one, and for no name at all.
    pub async fn find(&self, start: &str) -> Result<RunId> {
        let start = start.to_owned();
        self.ask(move |database, _| store::find(database, &start))
            .await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection, &mut Chains) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let gone = || Error::new(Code::DiskFailed, "the journal's writer is gone");
        let (done, outcome) = oneshot::channel();
        let ask = Order::Ask(Box::new(move |database, chains| {
            // Whoever asked may have stopped waiting.
            let _ = done.send(question(database, chains));
        }));
        self.0.orders.send(ask).await.map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Watches a run from now on.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> Watcher {
        Watcher::new(self, run, None)
    }

    /// Watches a run from the record at `seq` on, whoever has seen it before (U-52): what is in the journal comes
    /// first, then what happens, each record once and in its place.
    ///
    /// # Errors
    /// `NotFound` for a run of which there is no record, `BadInput` where it has ended before; `Corrupt`,
    /// `DiskFailed`.
    pub async fn watch_from(&self, run: &RunId, seq: Seq) -> Result<Watcher> {
        Watcher::joining(self, run, seq).await
    }

    /// Records of a run from the one at `seq` on, large contents by their digest as whoever watches sees them; and
    /// its last one.
    ///
    /// # Errors
    /// As [`Journal::records`].
    pub async fn records_from(&self, run: &RunId, seq: Seq) -> Result<(Vec<Record>, Record)> {
        let asked = run.clone();
        let found = self.ask(move |database, _| store::records_from(database, &asked, seq));
        let (records, last) = found.await?;
        let records = records.into_iter().map(|record| self.shown(record));
        Ok((records.collect(), self.shown(last)))
    }

    /// Shows the run's watchers something that is not kept.
    pub fn glimpse(&self, run: &RunId, glimpse: Glimpse) {
        let sight = || Sight::Glimpse {
            run: run.clone(),
            glimpse,
        };
        self.0.watches.show(run, sight);
    }

    /// The clock that stamps the records.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Journal")
    }
}

impl Drop for Inner {
    /// Closing the queue ends the writer, which writes the open batch first.
    fn drop(&mut self) {
        let (closed, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.orders, closed));
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// Whether nothing says that the run has ended.
///
/// # Errors
/// `Conflict` where something does.
pub fn check_open(run: &RunId, records: &[Record]) -> Result<()> {
    let stopped = |record: &Record| matches!(record.event, Event::Stopped(_));
    if records.iter().any(stopped) {
        let what = format!("the run `{run}` has ended");
        return Err(Error::new(Code::Conflict, what).hint(format!("lazaret runs show {run}")));
    }
    Ok(())
}
