//! The journal's database: its tables, its version, and what each failure of SQLite means.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::chain::{Chains, Provenance};
use super::failing;
use super::planted::{disarm, has_code, is_ours};
use super::writing::Writing;
use super::{keyed, sessions, wal};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Event, Record};
use crate::words::id::{Digest, RunId, Seq};
use crate::words::limits::JOURNAL_WAIT_MS;

/// `LZRT`: marks the file as ours.
const APPLICATION: i32 = 0x4C5A_5254;
/// Version of the tables and of the events' encoding. Version 1 had no chain and no imports, version 2 one index less,
/// version 3 one more.
const VERSION: i32 = 4;
/// The first SQLite whose log may be written by several processes without losing any of it (3.51.3).
const SQLITE: i32 = 3_051_003;

const TABLES: &str = "
    CREATE TABLE records (
        run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, parent INTEGER NOT NULL, event TEXT NOT NULL,
        chain BLOB,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE imports (run TEXT NOT NULL PRIMARY KEY, authentic INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX begun ON records (at, run) WHERE seq = 0;
    CREATE TABLE contents (digest TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE synced (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL) STRICT;
";

/// What version 4 has less than version 3: runs are found by the beginnings of their names in the table itself, and every
/// call wrote a page for this.
const FROM_3: &str = "DROP INDEX IF EXISTS named";

/// What version 3 has beside version 2: no question about all runs looks at all records. One that is there already is
/// somebody else's.
const FROM_2: &str = "
    DROP INDEX IF EXISTS asking;
    CREATE INDEX asking ON records (run, seq) WHERE substr(event, 1, 32) = '{\"event\":\"paused\",\"questions\":[\"';
";

/// What version 2 has beside version 1. Records that are there stay without a chain, and say so.
const FROM_1: &str = "
    ALTER TABLE records ADD COLUMN chain BLOB;
    CREATE TABLE imports (run TEXT NOT NULL PRIMARY KEY, authentic INTEGER NOT NULL) STRICT, WITHOUT ROWID;
";

#[expect(clippy::disallowed_methods, reason = "the journal owns its database")]
pub(super) fn open(path: &Path) -> Result<Connection> {
    let database = Connection::open(path).map_err(|error| explain(&error, path))?;
    prepare(database, path)
}

/// One more connection to a journal that was just opened.
#[expect(clippy::disallowed_methods, reason = "the journal owns its database")]
pub(super) fn open_again(path: &Path) -> Result<Connection> {
    let failed = |error: rusqlite::Error| explain(&error, path);
    let database = Connection::open(path).map_err(failed)?;
    settle(&database).map_err(failed)?;
    Ok(database)
}

#[expect(clippy::disallowed_methods, reason = "the journal owns its database")]
pub(super) fn in_memory() -> Result<Connection> {
    let path = Path::new("in memory");
    let database = Connection::open_in_memory().map_err(|error| explain(&error, path))?;
    prepare(database, path)
}

fn prepare(mut database: Connection, path: &Path) -> Result<Connection> {
    let failed = |error: rusqlite::Error| explain(&error, path);
    if rusqlite::version_number() < SQLITE {
        let what = format!(
            "this program was built with SQLite {}, which may lose records: 3.51.3 or newer is needed",
            rusqlite::version()
        );
        return Err(Error::bug(what));
    }
    let wait = Duration::from_millis(JOURNAL_WAIT_MS);
    database.busy_timeout(wait).map_err(failed)?;
    let number = |name: &str| {
        database
            .pragma_query_value(None, name, |row| row.get::<_, i32>(0))
            .map_err(failed)
    };
    // In this order: another process may be making the tables, and their mark comes with them.
    let tables = count_tables(&database).map_err(failed)?;
    let (application, version) = (number("application_id")?, number("user_version")?);
    if tables > 0 && application != APPLICATION {
        let what = format!("`{}` is a database of something else", path.display());
        return Err(Error::new(Code::Corrupt, what).hint("move it away, or choose another journal"));
    }
    if version > VERSION {
        let what = format!(
            "`{}` was written by a newer lazaret: it has version {version}, and this one reads up to {VERSION}",
            path.display()
        );
        return Err(Error::bad_input(what).hint("use the newer lazaret, or move the file away"));
    }
    if has_code(&database).map_err(failed)? {
        return Err(planted(path, "triggers or views"));
    }
    settle(&database).map_err(failed)?;
    if tables == 0 {
        create(&mut database).map_err(failed)?;
    } else if version < VERSION {
        migrate(&mut database).map_err(failed)?;
    }
    // An older lazaret keeps them as they are: they hold nothing of their own.
    for index in [sessions::INDEX, keyed::INDEX] {
        database.execute_batch(index).map_err(failed)?;
    }
    if !is_ours(&database, &[TABLES]).map_err(failed)? {
        return Err(planted(path, "tables of its own"));
    }
    Ok(database)
}

fn planted(path: &Path, with: &str) -> Error {
    let what = format!("`{}` has {with}, which no journal has", path.display());
    Error::new(Code::Corrupt, what).hint("move it away; somebody else made it")
}

/// How every connection works. No memory map: a file that is cut short under it would kill the process. Checkpoints
/// have a thread of their own.
fn settle(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(Duration::from_millis(JOURNAL_WAIT_MS))?;
    disarm(database)?;
    database.pragma_update(None, "mmap_size", "0")?;
    // Of a file that is made: what undoes that must be gone before anything is written behind it.
    database.pragma_update(None, "synchronous", "EXTRA")?;
    wal::begin(database)?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    database.pragma_update(None, "wal_autocheckpoint", "0")
}

/// Carries over what the log holds; how many pages that has. Writers go on meanwhile, unless they are to be held up
/// until all of it is carried over.
pub(super) fn checkpoint(database: &Connection, hold_up: bool) -> Result<i64> {
    let query = match hold_up {
        true => "PRAGMA wal_checkpoint(TRUNCATE)",
        false => "PRAGMA wal_checkpoint(PASSIVE)",
    };
    database
        .query_row(query, [], |row| row.get(1))
        .map_err(explain_read)
}

fn count_tables(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// Two processes may come here at once; the second finds the tables made.
fn create(database: &mut Connection) -> rusqlite::Result<()> {
    let creation = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if count_tables(&creation)? == 0 {
        creation.execute_batch(TABLES)?;
        creation.execute_batch(FROM_2)?;
        creation.pragma_update(None, "application_id", APPLICATION)?;
        creation.pragma_update(None, "user_version", VERSION)?;
    }
    creation.commit()
}

/// All or nothing, and once: another process may have come before.
fn migrate(database: &mut Connection) -> rusqlite::Result<()> {
    let migration = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i32 = migration.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version < VERSION {
        if version < 2 {
            migration.execute_batch(FROM_1)?;
        }
        if version < 3 {
            migration.execute_batch(FROM_2)?;
        }
        migration.execute_batch(FROM_3)?;
        migration.pragma_update(None, "user_version", VERSION)?;
    }
    migration.commit()
}

/// Writes records; how many bytes they came to.
pub(super) fn write(
    database: &Connection,
    chains: &mut Chains,
    (records, contents): (&[Record], &[(Digest, String)]),
    sync: bool,
) -> Result<usize> {
    write_all(database, chains, (records, contents), sync).map_err(explain_read)
}

fn write_all(
    database: &Connection,
    chains: &mut Chains,
    (records, contents): (&[Record], &[(Digest, String)]),
    sync: bool,
) -> rusqlite::Result<usize> {
    if records.is_empty() && !sync {
        return Ok(0);
    }
    let mut write = || write_now(database, chains, (records, contents));
    if sync {
        on_disk(database, write)
    } else {
        write()
    }
}

/// Whatever is committed in `write` is on the disk when this returns.
fn on_disk<T>(
    database: &Connection,
    write: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    database.pragma_update(None, "synchronous", "FULL")?;
    let written = write();
    database.pragma_update(None, "synchronous", "NORMAL")?;
    written
}

fn write_now(
    database: &Connection,
    chains: &mut Chains,
    (records, contents): (&[Record], &[(Digest, String)]),
) -> rusqlite::Result<usize> {
    let writing = begin(database)?;
    if records.is_empty() {
        // Earlier commits must reach the disk, and a transaction that changes nothing syncs nothing.
        writing.execute(
            "INSERT OR ABORT INTO synced VALUES (1, 1) ON CONFLICT DO UPDATE SET at = at + 1",
            [],
        )?;
    }
    write_and_commit(writing, chains, (records, contents))
}

pub(super) fn begin(database: &Connection) -> rusqlite::Result<Writing<'_>> {
    Writing::begin(database)
}

/// Begins to write without a wait for the disk; nothing where another process writes, or anything else is amiss.
pub(super) fn begin_now(database: &Connection) -> Option<Writing<'_>> {
    database.busy_timeout(Duration::ZERO).ok()?;
    let begun = begin(database).ok();
    let wait = Duration::from_millis(JOURNAL_WAIT_MS);
    database.busy_timeout(wait).ok().and(begun)
}

/// As [`write`], in a transaction that has begun.
pub(super) fn write_in(
    writing: Writing<'_>,
    chains: &mut Chains,
    what: (&[Record], &[(Digest, String)]),
) -> Result<usize> {
    write_and_commit(writing, chains, what).map_err(explain_read)
}

fn write_and_commit(
    writing: Writing<'_>,
    chains: &mut Chains,
    (records, contents): (&[Record], &[(Digest, String)]),
) -> rusqlite::Result<usize> {
    write_contents(&writing, contents)?;
    let bytes = write_records(&writing, chains, records, Provenance::Here)?;
    writing.commit()?;
    let contents = contents.iter().map(|(_, text)| text.len());
    Ok(bytes + contents.sum::<usize>())
}

/// Writes the records of a run that was exported, all or none of them.
pub(super) fn import(
    database: &Connection,
    chains: &mut Chains,
    (records, contents): (&[Record], &[(Digest, String)]),
    provenance: Provenance,
) -> Result<()> {
    const KNOWN: &str = "SELECT count(*) FROM records WHERE run = ?1";
    let Some(run) = records.first().map(|first| first.run.clone()) else {
        return Err(Error::bad_input("an exported run has records"));
    };
    let write = || {
        let writing = begin(database)?;
        let known: i64 = writing.query_row(KNOWN, params![run.as_str()], |row| row.get(0))?;
        if known > 0 {
            return Ok(false);
        }
        let authentic: i64 = match provenance {
            Provenance::Returned => 1,
            Provenance::Moved => 2,
            Provenance::Here | Provenance::Foreign => 0,
        };
        let import = "INSERT OR ABORT INTO imports (run, authentic) VALUES (?1, ?2)";
        writing.execute(import, params![run.as_str(), authentic])?;
        write_contents(&writing, contents)?;
        write_records(&writing, chains, records, provenance)?;
        writing.commit().map(|()| true)
    };
    match on_disk(database, write).map_err(explain_read)? {
        true => Ok(()),
        false => Err(
            Error::bad_input(format!("the run `{run}` is in the journal already"))
                .hint(format!("lazaret runs show {run}")),
        ),
    }
}

fn write_contents(writing: &Connection, contents: &[(Digest, String)]) -> rusqlite::Result<()> {
    let mut insert =
        writing.prepare_cached("INSERT OR IGNORE INTO contents (digest, text) VALUES (?1, ?2)")?;
    for (digest, text) in contents {
        insert.execute(params![digest.to_string(), text])?;
    }
    Ok(())
}

fn write_records(
    writing: &Connection,
    chains: &mut Chains,
    records: &[Record],
    provenance: Provenance,
) -> rusqlite::Result<usize> {
    // Whatever the table says of conflicts.
    const INSERT: &str = "INSERT OR ABORT INTO records (run, seq, at, parent, event, chain) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = writing.prepare_cached(INSERT)?;
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let mut bytes = 0;
    for record in records {
        let event = serde_json::to_string(&record.event)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        bytes += event.len();
        let (run, seq, at) = (record.run.as_str(), number(record.seq), number(record.at));
        let chain = chains.next(writing, (record, &event), provenance)?;
        insert.execute(params![
            run,
            seq,
            at,
            number(record.parent),
            event,
            chain.bytes()
        ])?;
    }
    Ok(bytes)
}

/// Of the newest runs the first and the last record.
pub(super) fn runs(database: &Connection, limit: usize) -> Result<Vec<(Record, Record)>> {
    const FIRST: &str = "SELECT run, seq, at, parent, event FROM records
        WHERE seq = 0 ORDER BY at DESC, run DESC LIMIT ?1";
    const LAST: &str =
        "SELECT run, seq, at, parent, event FROM records WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let firsts = select(database, FIRST, params![limit])?;
    let mut runs = Vec::with_capacity(firsts.len());
    for first in firsts {
        let last = select(database, LAST, params![first.run.as_str()])?.pop();
        let last = last.unwrap_or_else(|| first.clone());
        runs.push((first, last));
    }
    Ok(runs)
}

/// Runs that began here and whose last record says that they wait for an answer, newest first.
pub(super) fn asking(database: &Connection) -> Result<Vec<RunId>> {
    const ASKING: &str = "SELECT paused.run FROM records AS paused INDEXED BY asking
        JOIN records AS first ON first.run = paused.run AND first.seq = 0
        WHERE substr(paused.event, 1, 32) = '{\"event\":\"paused\",\"questions\":[\"'
        AND NOT EXISTS (SELECT 1 FROM records AS later WHERE later.run = paused.run AND later.seq > paused.seq)
        AND paused.run NOT IN (SELECT run FROM imports) ORDER BY first.at DESC, first.run DESC";
    let mut query = database.prepare_cached(ASKING).map_err(explain_read)?;
    let found = query.query_map([], |row| row.get::<_, String>(0));
    let found = found
        .map_err(explain_read)?
        .map(|run| run.map(|run| RunId::known(&run)));
    found.collect::<rusqlite::Result<_>>().map_err(explain_read)
}

pub(super) fn records(database: &Connection, run: &RunId) -> Result<Vec<Record>> {
    const ALL: &str = "SELECT run, seq, at, parent, event FROM records WHERE run = ?1 ORDER BY seq";
    let mut records = select(database, ALL, params![run.as_str()])?;
    if records.is_empty() {
        return Err(Error::not_found(format!("run `{run}`")));
    }
    for record in &mut records {
        read_content(database, &mut record.event)?;
    }
    Ok(records)
}

/// The records of a run from `seq` on, and its last one.
pub(super) fn records_from(
    database: &Connection,
    run: &RunId,
    seq: Seq,
) -> Result<(Vec<Record>, Record)> {
    const FROM: &str = "SELECT run, seq, at, parent, event FROM records
        WHERE run = ?1 AND seq >= ?2 ORDER BY seq";
    const LAST: &str =
        "SELECT run, seq, at, parent, event FROM records WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let records = select(database, FROM, params![run.as_str(), seq])?;
    let last = match records.last() {
        Some(last) => Some(last.clone()),
        None => select(database, LAST, params![run.as_str()])?.pop(),
    };
    let last = last.ok_or_else(|| Error::not_found(format!("run `{run}`")))?;
    Ok((records, last))
}

/// One state of the database, for several questions.
pub(super) fn reading(database: &Connection) -> Result<Transaction<'_>> {
    database.unchecked_transaction().map_err(explain_read)
}

/// How a question whose name begins so was settled, and in which run. Looks at every record, which is done only to
/// say why an answer is refused.
pub(super) fn settled(database: &Connection, start: &str) -> Result<Option<(RunId, Event)>> {
    const LIKE: &str = "SELECT run, seq, at, parent, event FROM records
        WHERE event LIKE '{\"event\":\"answered\",\"question\":\"' || ?1 || '%'
        OR event LIKE '{\"event\":\"expired\",\"question\":\"' || ?1 || '%' LIMIT 1";
    // Nothing but a beginning of a name: no other character means itself in such a pattern.
    if start.is_empty() || !start.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let found = select(database, LIKE, params![start])?.pop();
    Ok(found.map(|record| (record.run, record.event)))
}

/// The one run whose name begins so, or the newest that began here for `last`.
pub(super) fn find(database: &Connection, start: &str) -> Result<RunId> {
    const NEWEST: &str = "SELECT run FROM records WHERE seq = 0 AND ?1 = ''
        AND run NOT IN (SELECT run FROM imports) ORDER BY at DESC, run DESC LIMIT 1";
    // The last one and the one before, each found without a look at the records between. No name has a character behind
    // this one.
    const NAMED: &str = "WITH last AS MATERIALIZED (
            SELECT max(run) AS run FROM records WHERE run >= ?1 AND run < ?1 || char(1114111)
        ) SELECT run FROM last WHERE run IS NOT NULL UNION ALL SELECT run FROM (
            SELECT max(run) AS run FROM records WHERE run >= ?1 AND run < (SELECT run FROM last)
        ) WHERE run IS NOT NULL";
    if start.is_empty() {
        return Err(Error::bad_input("no run is named")
            .hint("name it by its first characters, or write `last` for the newest one; `lazaret runs list` shows them"));
    }
    let start = if start == "last" { "" } else { start };
    let query = if start.is_empty() { NEWEST } else { NAMED };
    let failed = explain_read;
    let mut query = database.prepare_cached(query).map_err(failed)?;
    let found = query
        .query_map(params![start], |row| row.get::<_, String>(0))
        .map_err(failed)?;
    let found: Vec<String> = found.collect::<rusqlite::Result<_>>().map_err(failed)?;
    match found.as_slice() {
        [one] => Ok(RunId::known(one)),
        [] if start.is_empty() => Err(none_begun(database)?),
        [] => Err(Error::not_found(format!("run that begins with `{start}`"))
            .hint("`lazaret runs list` shows them")),
        _ => Err(
            Error::bad_input(format!("more than one run begins with `{start}`"))
                .hint("write more of its name; `lazaret runs list` shows them"),
        ),
    }
}

/// That no run has begun here, and which has come from elsewhere: that one is not what `last` means.
fn none_begun(database: &Connection) -> Result<Error> {
    const NEWEST: &str = "SELECT run FROM records WHERE seq = 0 ORDER BY at DESC, run DESC LIMIT 1";
    let imported: Option<String> = database
        .query_row(NEWEST, [], |row| row.get(0))
        .optional()
        .map_err(explain_read)?;
    Ok(match imported {
        None => Error::not_found("run yet"),
        Some(run) => Error::not_found("run that began here, only imported ones")
            .hint(format!("lazaret runs show {}", RunId::known(&run))),
    })
}

fn select(
    database: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<Record>> {
    let failed = explain_read;
    let mut query = database.prepare_cached(query).map_err(failed)?;
    let rows = query.query_map(parameters, read_row).map_err(failed)?;
    rows.map(|row| row.map_err(failed)?).collect()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<Result<Record>> {
    let number = |place: usize| {
        row.get::<_, i64>(place)
            .map(|value| u64::try_from(value).unwrap_or(0))
    };
    let (run, seq) = (RunId::known(&row.get::<_, String>(0)?), number(1)?);
    let (at, parent, event) = (number(2)?, number(3)?, row.get::<_, String>(4)?);
    Ok(match serde_json::from_str(&event) {
        Ok(event) => Ok(Record {
            run,
            seq,
            at,
            parent,
            event,
        }),
        Err(error) => {
            let what = format!("record {seq} of run `{run}` cannot be read");
            Err(Error::new(Code::Corrupt, what).because(error))
        }
    })
}

/// Puts a large content back in its place.
pub(super) fn read_content(database: &Connection, event: &mut Event) -> Result<()> {
    let Some(content) = event.content_mut() else {
        return Ok(());
    };
    let Content::Stored { digest, .. } = content else {
        return Ok(());
    };
    let text: Option<String> = database
        .query_row(
            "SELECT text FROM contents WHERE digest = ?1",
            params![digest.to_string()],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| explain(&error, Path::new("journal")))?;
    let text = text.filter(|text| Digest::of(text.as_bytes()) == *digest);
    match text.and_then(|text| serde_json::from_str(&text).ok()) {
        Some(value) => {
            *content = Content::Inline(value);
            Ok(())
        }
        None => Err(Error::new(
            Code::Corrupt,
            format!("content {} is missing or damaged", digest.short()),
        )),
    }
}

/// What a failure of SQLite means, once the journal is open.
pub(super) fn explain_read(error: rusqlite::Error) -> Error {
    explain(&error, Path::new("journal"))
}

/// Whether a database is a journal of this version, and nothing is wrong with its file. What its records say is another
/// question.
pub(super) fn is_sound(database: &Connection) -> rusqlite::Result<bool> {
    let number = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id")? != APPLICATION || number("user_version")? != VERSION {
        return Ok(false);
    }
    let found: String = database.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok(found == "ok" && !has_code(database)? && is_ours(database, &[TABLES])?)
}

/// What lies there is no journal, or no whole one.
pub(super) fn damaged(shown: &str) -> Error {
    Error::new(Code::Corrupt, format!("`{shown}` is damaged or no journal"))
        .hint("copy what can still be read and verified: lazaret runs repair")
        .hint("or move it away; lazaret then begins a new one, and the old one stays for repair")
}

/// What a failure of SQLite means for a journal.
fn explain(error: &rusqlite::Error, path: &Path) -> Error {
    failing::explain(error, path, damaged)
}
