//! The journal on a disk that fails: power cuts, a full disk, syncs that fail, and files that were damaged.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use lazaret::gate::journal::Journal;
use lazaret::words::clock::Clock;
use lazaret::words::error::{Code, Result};
use lazaret::words::event::{Content, End, Event, Finished, Record, Spent, Stopped};
use lazaret::words::id::{RunId, Seq};
use lazaret::words::key::HostKey;
use lazaret::words::label::Label;
use lazaret::words::message::Usage;
use lazaret_tests::disk::power::{Files, Left, lay_out, left, open};
use lazaret_tests::disk::{Disk, Op, Trouble, What};
use lazaret_tests::told;
use lazaret_tests::wait::comes;
use rusqlite::Connection;
use serde_json::Value;

const NAME: &str = "journal.db";

fn journal(path: &Path) -> Result<Journal> {
    Journal::open(path, Clock::set(1_000), HostKey::new(&[7; 32]))
}

fn run(name: &str) -> RunId {
    RunId::known(name)
}

/// An end of something, with so much content.
fn done(bytes: usize) -> Event {
    Event::Finished(Finished {
        of: 0,
        end: End::Done {
            content: Content::Inline(Value::from("x".repeat(bytes))),
        },
        label: Label::default(),
        told: None,
        remade: None,
        touched: BTreeMap::new(),
        read: None,
        wrote: None,
        spent: Spent::default(),
    })
}

fn stopped() -> Event {
    Event::Stopped(Stopped {
        end: End::Done {
            content: Content::Empty,
        },
        turns: 1,
        usage: Usage::default(),
        limit: None,
    })
}

/// What somebody acts upon: from so many operations on, these records are on the disk.
#[derive(Clone, Debug)]
struct Promise {
    from: usize,
    records: Vec<(RunId, Seq)>,
}

/// Some thirty records of three runs, small and large, committed, synced, and left in the open batch. Ends early, and
/// says so, where the journal refuses.
async fn writes(
    journal: &Journal,
    disk: &Disk,
    carried: Carried<'_>,
) -> (Vec<Promise>, Result<()>) {
    let mut promises = Vec::new();
    let written = write_all((journal, disk), carried, &mut promises).await;
    (promises, written)
}

/// How the log is carried over into the database meanwhile.
#[derive(Clone, Copy)]
enum Carried<'a> {
    /// By the journal's own thread, since one record is large.
    ByItself,
    /// By another connection to this file, now and then, so that every time is the same.
    By(&'a Connection),
}

async fn write_all(
    (journal, disk): (&Journal, &Disk),
    carried: Carried<'_>,
    promises: &mut Vec<Promise>,
) -> Result<()> {
    let mut written = Vec::new();
    for round in 0..10_usize {
        for name in ["a", "b", "c"] {
            let event = match (round, name) {
                (0, _) => Event::Resumed { traced: Vec::new() },
                (9, _) => stopped(),
                (4, "b") if matches!(carried, Carried::ByItself) => done(1_200_000),
                (7, "c") => done(20_000),
                _ => done(round * 100),
            };
            let stamp = journal.append(&run(name), 0, event)?;
            written.push((run(name), stamp.seq));
        }
        match round % 3 {
            0 => {
                journal.sync().await?;
                promises.push(Promise {
                    from: disk.count(),
                    records: written.clone(),
                });
            }
            1 => journal.commit().await?,
            _ => {}
        }
        if let Carried::By(other) = carried
            && round % 4 == 3
        {
            let carry = "PRAGMA wal_checkpoint(PASSIVE)";
            other
                .query_row(carry, [], |_| Ok(()))
                .expect("a checkpoint");
        }
    }
    Ok(())
}

/// What a host finds that opens the journal again: every record of every run, each run whole up to somewhere.
async fn found(journal: &Journal) -> Result<HashSet<(RunId, Seq)>> {
    let mut found = HashSet::new();
    for verified in journal.verify_all().await? {
        assert_eq!(verified.broken, None, "a record that does not fit");
        assert_eq!(verified.unchained, 0);
        let records: Vec<Record> = journal.records(&verified.run).await?;
        found.extend(records.into_iter().map(|record| (record.run, record.seq)));
    }
    Ok(found)
}

/// What may become of operations that are not synced: nothing and all of it, each one alone missing or alone there,
/// each alone torn, and as many mixtures again.
fn fates(open: &[usize], seed: u64) -> Vec<Vec<Left>> {
    let mut fates = vec![vec![Left::Lost; open.len()]];
    for (usual, odd) in [
        (Left::Kept, Left::Lost),
        (Left::Lost, Left::Kept),
        (Left::Kept, Left::Torn(0b01)),
        (Left::Kept, Left::Torn(0b1111_0000)),
    ] {
        // The newest alone: those before them were the newest a moment ago.
        for place in open.len().saturating_sub(2)..open.len() {
            let mut some = vec![usual; open.len()];
            some[place] = odd;
            fates.push(some);
        }
    }
    let mut random = Random(seed);
    for _ in 0..3 {
        let some = open.iter().map(|_| match random.next() % 4 {
            0 => Left::Lost,
            1 => Left::Torn(random.next()),
            _ => Left::Kept,
        });
        fates.push(some.collect());
    }
    fates
}

/// The same numbers every time (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Operations at which something may go wrong: all of them, except that of the many pages of a large record, which are
/// one like the other, there are some.
fn places(ops: &[Op]) -> Vec<usize> {
    let is_page = |op: &Op| matches!(&op.what, What::Written(place, bytes) if bytes.len() >= 24 && *place > 60_000);
    let some = |at: &usize| at.is_multiple_of(101) || !ops.get(*at).is_some_and(is_page);
    (0..ops.len() + 1).filter(some).collect()
}

/// States that a power cut may leave, at each of these places.
fn states(ops: &[Op], places: &[usize]) -> Vec<(usize, Files)> {
    let mut states: Vec<(usize, Files)> = Vec::new();
    for cut in places {
        let (before, seed) = (&ops[..*cut], 0x9E37_79B9 + *cut as u64);
        let open = open(before);
        let mut here: Vec<Files> = Vec::new();
        for fates in fates(&open, seed) {
            let fate = |at: usize| fates[open.binary_search(&at).expect("it is open")];
            let files = left(before, &open, fate);
            if !here.contains(&files) {
                here.push(files);
            }
        }
        states.extend(here.into_iter().map(|files| (*cut, files)));
    }
    states
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_power_cut_leaves_holds_all_that_was_synced() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::new();
    let journal_of_test = journal(&disk.at(&folder.path().join(NAME))).expect("a journal");
    let other = Connection::open(disk.at(&folder.path().join(NAME))).expect("a database");
    let (promises, written) = writes(&journal_of_test, &disk, Carried::By(&other)).await;
    written.expect("nothing fails");
    drop((journal_of_test, other));
    let ops = disk.ops();
    let carried = |op: &&Op| op.file == NAME && matches!(op.what, What::Synced);
    assert!(
        ops.iter().filter(carried).count() >= 2,
        "there were checkpoints"
    );
    let states = states(&ops, &(0..=ops.len()).collect::<Vec<_>>());
    let mut count = 0;
    for (cut, files) in &states {
        let folder = tempfile::tempdir().expect("a folder");
        lay_out(files, folder.path());
        let journal = journal(&folder.path().join(NAME));
        let journal = journal.unwrap_or_else(|error| panic!("cut at {cut}: {error:?}"));
        let found = found(&journal)
            .await
            .unwrap_or_else(|error| panic!("cut at {cut}: {error:?}"));
        for promise in promises.iter().filter(|promise| promise.from <= *cut) {
            for record in &promise.records {
                assert!(
                    found.contains(record),
                    "cut at {cut}: {record:?} was synced"
                );
            }
        }
        count += 1;
    }
    told!("power cuts: {count} states of {} operations", ops.len());
    assert!(count > 500, "{count}");
}

/// Writes to a disk with that trouble, and what a host finds afterwards; whether anything was refused.
/// Also whether a sync had failed before anybody was asked: which operation is one differs, since the log is carried over
/// on a thread of its own.
async fn troubled(trouble: Trouble) -> (bool, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(NAME);
    let disk = Disk::new();
    disk.trouble(trouble);
    let opened = journal(&disk.at(&path));
    let told = match &opened {
        Err(error) => {
            assert!(
                matches!(error.code(), Code::DiskFailed | Code::Corrupt),
                "{error:?}"
            );
            (true, has_failed(&disk))
        }
        Ok(journal) => {
            let (promises, written) = writes(journal, &disk, Carried::ByItself).await;
            if let Err(error) = &written {
                assert_eq!(error.code(), Code::DiskFailed, "{trouble:?}: {error:?}");
                assert!(
                    error.message().contains("nothing more is done"),
                    "{error:?}"
                );
                // It stays so, although the disk may be well again.
                disk.trouble(Trouble::None);
                let later = journal.append(&run("d"), 0, Event::Resumed { traced: Vec::new() });
                assert_eq!(later.expect_err("refused").code(), Code::DiskFailed);
                assert_eq!(
                    journal.sync().await.expect_err("refused").code(),
                    Code::DiskFailed
                );
            }
            keeps_promises(&path, &promises, trouble).await;
            // Looked at once: one that fails from here on may be told after this has asked.
            let failed = has_failed(&disk);
            let refused = written.is_err() || (failed && is_refused(journal).await);
            (refused, failed)
        }
    };
    drop(opened);
    disk.trouble(Trouble::None);
    told
}

fn has_failed(disk: &Disk) -> bool {
    disk.ops().iter().any(|op| op.what == What::NotSynced)
}

/// What failed behind everybody's back is told to whoever does something next, or soon: the disk knows it first, and the
/// thread of the checkpoints says so when it has the machine.
async fn is_refused(journal: &Journal) -> bool {
    comes(async || {
        let appended = journal.append(&run("d"), 0, Event::Resumed { traced: Vec::new() });
        appended.is_err() || journal.commit().await.is_err()
    })
    .await
}

/// Another host looks at what the first one, which still runs, has promised.
async fn keeps_promises(path: &Path, promises: &[Promise], trouble: Trouble) {
    let again = journal(path).unwrap_or_else(|error| panic!("{trouble:?}: {error:?}"));
    let found = found(&again)
        .await
        .unwrap_or_else(|error| panic!("{trouble:?}: {error:?}"));
    for record in promises.iter().flat_map(|promise| &promise.records) {
        assert!(found.contains(record), "{trouble:?}: {record:?} was synced");
    }
}

/// How many operations the writes take.
async fn operations() -> Vec<Op> {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::new();
    let journal = journal(&disk.at(&folder.path().join(NAME))).expect("a journal");
    writes(&journal, &disk, Carried::ByItself)
        .await
        .1
        .expect("nothing fails");
    disk.ops()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_or_broken_disk_is_never_success() {
    let places = places(&operations().await);
    let mut refused = 0;
    for at in &places {
        for trouble in [
            Trouble::FullFrom(*at),
            Trouble::HalfOf(*at),
            Trouble::BrokenFrom(*at),
        ] {
            refused += usize::from(troubled(trouble).await.0);
        }
    }
    told!(
        "disks that fail: {} ways, {refused} refused",
        places.len() * 3
    );
    assert!(refused > places.len(), "{refused} of {}", places.len() * 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_that_fails_is_never_success() {
    let ops = operations().await;
    // Before there is a log SQLite makes the database, of which nobody has been told anything yet.
    let log = ops.iter().position(|op| op.file.ends_with("-wal"));
    let log = log.expect("the journal has a log");
    let syncs: Vec<usize> = (log..ops.len())
        .filter(|at| ops[*at].what == What::Synced)
        .collect();
    assert!(syncs.len() > 4, "{}", syncs.len());
    let mut all = 0;
    for at in syncs {
        let (refused, failed) = troubled(Trouble::SyncFails(at)).await;
        // Whichever it is: of the log, of the database, of a checkpoint behind everybody's back.
        let op = &ops[at];
        assert!(
            refused || !failed,
            "a sync failed, and nobody was told: {at}, {op:?}"
        );
        all += usize::from(failed);
    }
    assert!(all > 2, "{all} syncs failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_disk_is_waited_for_once_for_all_who_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::new();
    let journal = journal(&disk.at(&folder.path().join(NAME))).expect("a journal");
    journal
        .append(&run("first"), 0, Event::Resumed { traced: Vec::new() })
        .expect("a record");
    journal.sync().await.expect("a sync");
    let syncs = || {
        let ops = disk.ops();
        let syncs = ops
            .iter()
            .filter(|op| op.what == What::Synced && op.file != NAME);
        syncs.count()
    };
    let (before, counted) = (syncs(), journal.syncs());
    let runs: Vec<RunId> = (0..50).map(|n| run(&format!("run {n}"))).collect();
    let waiting = runs.iter().map(|run| {
        journal
            .append(run, 0, Event::Resumed { traced: Vec::new() })
            .expect("a record");
        journal.sync()
    });
    let waited: Vec<Result<()>> = futures_util::future::join_all(waiting).await;
    assert!(waited.iter().all(Result::is_ok));
    let shared = syncs() - before;
    assert!(shared <= 3, "50 runs waited for the disk {shared} times");
    assert_eq!(
        journal.syncs() - counted,
        shared as u64,
        "the journal counts what happens"
    );
    // What is on the disk already is not waited for again, and what needs no disk does not wait.
    journal.sync().await.expect("a sync");
    journal
        .append(&runs[0], 0, Event::Resumed { traced: Vec::new() })
        .expect("a record");
    journal.commit().await.expect("a commit");
    assert_eq!(syncs() - before, shared);
    // A part of what is on the disk needs no wait of its own; what is a part of another does.
    journal.commit_after(&runs[0], 0).await.expect("a commit");
    assert_eq!(syncs() - before, shared);
    journal.commit_after(&runs[0], 1).await.expect("a sync");
    assert_eq!(syncs() - before, shared + 1);
}

/// Changes some bytes of a journal's files, and says what a host makes of it: never a panic, never other records.
async fn damaged(
    (path, before): (&Path, &[Vec<Record>]),
    change: impl Fn(&mut Vec<u8>),
    what: &str,
) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join(NAME);
    let mut bytes = std::fs::read(path).expect("a journal");
    change(&mut bytes);
    std::fs::write(&copy, &bytes).expect("a file");
    let error = match journal(&copy) {
        Err(error) => error,
        Ok(journal) => match journal.verify_all().await {
            Err(error) => error,
            Ok(all) => {
                let mut told = all.len() < 3;
                for verified in all {
                    let broken = verified.broken.is_some() || !verified.stopped;
                    told |= broken;
                    // Reading it is refused, or gives what was written.
                    if let Ok(records) = journal.records(&verified.run).await {
                        assert!(broken || before.contains(&records), "{what}: {records:?}");
                    }
                }
                return told;
            }
        },
    };
    assert!(
        matches!(
            error.code(),
            Code::Corrupt | Code::DiskFailed | Code::BadInput
        ),
        "{what}: {error:?}"
    );
    assert!(!error.message().is_empty());
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_files_are_told_and_never_a_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(NAME);
    let disk = Disk::new();
    let first = journal(&disk.at(&path)).expect("a journal");
    for name in ["a", "b", "c"] {
        for round in 0..5 {
            first
                .append(&run(name), 0, done(round * 300))
                .expect("a record");
        }
        first.append(&run(name), 0, stopped()).expect("a record");
    }
    first.sync().await.expect("a sync");
    let mut before = Vec::new();
    for name in ["a", "b", "c"] {
        before.push(first.records(&run(name)).await.expect("its records"));
    }
    drop(first);
    let before = (path.as_path(), before.as_slice());
    let size = std::fs::metadata(&path).expect("a file").len() as usize;
    let mut told = 0;
    let flips: Vec<usize> = (0..100).chain((100..size).step_by(size / 200)).collect();
    for at in &flips {
        let flip = |bytes: &mut Vec<u8>| bytes[*at] ^= 1 << (at % 8);
        told += usize::from(damaged(before, flip, &format!("bit at {at}")).await);
    }
    for length in (0..size).step_by(size / 60) {
        let cut = |bytes: &mut Vec<u8>| bytes.truncate(length);
        let said = damaged(before, cut, &format!("cut to {length}")).await;
        // What stands on the last pages is found again in others, and no record is there.
        assert!(said || length > size * 3 / 4, "cut to {length} of {size}");
    }
    told!(
        "damaged journals: {} flips, {told} of them told",
        flips.len()
    );
    assert!(told > flips.len() / 5, "{told} of {}", flips.len());
}

/// A journal as version 1, 2 or 3 wrote it.
fn old(path: &Path, version: i32) {
    let database = Connection::open(path).expect("a database");
    let mut tables = "
        PRAGMA journal_mode = WAL;
        CREATE TABLE records (
            run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, parent INTEGER NOT NULL, event TEXT NOT NULL,
            PRIMARY KEY (run, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX begun ON records (at, run) WHERE seq = 0;
        CREATE TABLE contents (digest TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE synced (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL) STRICT;
        PRAGMA application_id = 0x4C5A5254;
        PRAGMA user_version = 1;
    "
    .to_owned();
    if version >= 2 {
        tables += "ALTER TABLE records ADD COLUMN chain BLOB;
            CREATE TABLE imports (run TEXT NOT NULL PRIMARY KEY, authentic INTEGER NOT NULL) STRICT, WITHOUT ROWID;
            PRAGMA user_version = 2;";
    }
    if version == 3 {
        tables += "CREATE INDEX named ON records (run) WHERE seq = 0;
            CREATE INDEX asking ON records (run, seq) WHERE substr(event, 1, 32) = '{\"event\":\"paused\",\"questions\":[\"';
            PRAGMA user_version = 3;";
    }
    database.execute_batch(&tables).expect("tables");
    for seq in 0..40 {
        let put = "INSERT INTO records (run, seq, at, parent, event) VALUES ('old', ?1, 0, 0, '{\"event\":\"resumed\"}')";
        database.execute(put, [seq]).expect("a record");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_was_cut_off_is_done_or_not_begun() {
    for version in [1, 2, 3] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        old(&path, version);
        let before = std::fs::read(&path).expect("a file");
        let disk = Disk::new();
        drop(journal(&disk.at(&path)).expect("it is migrated"));
        // The file was there, and safe.
        let mut ops: Vec<Op> = [What::Made, What::Written(0, before), What::Synced]
            .map(|what| Op {
                file: NAME.to_owned(),
                what,
            })
            .to_vec();
        ops.extend(disk.ops());
        let places: Vec<usize> = (3..=ops.len()).collect();
        let states = states(&ops, &places);
        assert!(states.len() > 20, "{}", states.len());
        for (cut, files) in states {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(NAME);
            lay_out(&files, folder.path());
            let found: i32 = {
                let database = Connection::open(&path).expect("a database");
                database
                    .pragma_query_value(None, "user_version", |row| row.get(0))
                    .expect("a version")
            };
            assert!(
                [version, 4].contains(&found),
                "cut at {cut}: version {found}"
            );
            let journal = journal(&path).unwrap_or_else(|error| panic!("cut at {cut}: {error:?}"));
            let records = journal.records(&run("old")).await.expect("its records");
            assert_eq!(records.len(), 40, "cut at {cut}");
            assert_eq!(journal.find("ol").await.expect("by its name"), run("old"));
        }
    }
}
