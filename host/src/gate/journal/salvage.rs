//! Salvage: what of a damaged journal can still be read, and is as this host has written it, in a new one.
//!
//! The damaged one is only read. Each run is copied as far as it goes, record by record with what authenticates each, and
//! then looked at in the copy as any run is: what does not fit, and all behind it, is taken out again. So nothing comes
//! back that somebody else has put there, and no record stands behind one that is missing.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row, params};

use super::chain;
use super::planted::disarm;
use super::store::{self, explain_read};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Event};
use crate::words::id::{Digest, RunId};
use crate::words::key::HostKey;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// Its name.
    pub run: RunId,
    /// How many of its records are in the new journal.
    pub records: u64,
    /// Why there are no more, where some are known to be lost.
    pub lost: Option<String>,
}

/// A record as it stands in the table.
struct Raw {
    numbers: [i64; 3],
    event: String,
    chain: Option<Vec<u8>>,
}

/// Copies what can be saved from one journal into another, which must not be there yet. Of one without runs that is
/// nothing, if it is sound.
///
/// # Errors
/// `Corrupt` where nothing can be read, `DiskFailed`.
pub fn salvage(from: &Path, to: &Path, key: &HostKey) -> Result<Vec<Salvaged>> {
    let old = open(from).map_err(|_| unreadable(from))?;
    let names = names(&old);
    if names.is_empty() && !store::is_sound(&old).unwrap_or(false) {
        return Err(unreadable(from));
    }
    let mut new = store::open(to)?;
    let copying = new.transaction().map_err(explain_read)?;
    let mut saved = Vec::with_capacity(names.len());
    for run in &names {
        saved.push(save(&old, &copying, (run, key))?);
    }
    copying.commit().map_err(explain_read)?;
    // All of it lies in the one file then.
    store::checkpoint(&new, true)?;
    Ok(saved)
}

/// Whether nothing is wrong with a journal's file. Whether its runs are whole is seen where they are copied.
#[must_use]
pub fn is_sound(path: &Path) -> bool {
    open(path).is_ok_and(|journal| store::is_sound(&journal).unwrap_or(false))
}

/// That nothing of it can be saved: to repair it once more would not help.
fn unreadable(path: &Path) -> Error {
    let what = format!(
        "nothing of `{}` can be read: it is damaged or no journal",
        path.display()
    );
    Error::new(Code::Corrupt, what).hint("move it away; lazaret then begins a new one")
}

/// Carries over what the log of a new journal holds, once nobody has it open: all of it lies in the one file then.
///
/// # Errors
/// `DiskFailed`.
pub fn settle(to: &Path) -> Result<()> {
    store::checkpoint(&store::open(to)?, true).map(|_| ())
}

/// For reading alone: it stays as it is.
#[expect(clippy::disallowed_methods, reason = "the journal owns its database")]
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let database = Connection::open_with_flags(path, flags)?;
    disarm(&database)?;
    Ok(database)
}

/// Names of runs, from wherever one can be read: the table from both ends, and what else has them; the last but one only
/// in a journal of version 3.
fn names(old: &Connection) -> BTreeSet<String> {
    const WAYS: [&str; 4] = [
        "SELECT run FROM records ORDER BY run, seq",
        "SELECT run FROM records ORDER BY run DESC, seq DESC",
        "SELECT run FROM records INDEXED BY named WHERE seq = 0",
        "SELECT run FROM records INDEXED BY begun WHERE seq = 0 ORDER BY at",
    ];
    let name = |row: &Row<'_>| row.get::<_, String>(0);
    let ways = WAYS.iter().flat_map(|query| read(old, query, "", name));
    ways.collect()
}

/// The rows of a query about a run, up to the first that cannot be read.
fn read<T>(
    old: &Connection,
    query: &str,
    run: &str,
    row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    let Ok(mut query) = old.prepare(query) else {
        return found;
    };
    let rows = match query.parameter_count() {
        0 => query.query([]),
        _ => query.query(params![run]),
    };
    let Ok(mut rows) = rows else {
        return found;
    };
    while let Ok(Some(next)) = rows.next() {
        match row(next) {
            Ok(value) => found.push(value),
            Err(_) => break,
        }
    }
    found
}

/// Copies a run as far as it goes.
fn save(old: &Connection, new: &Connection, (run, key): (&str, &HostKey)) -> Result<Salvaged> {
    const ALL: &str =
        "SELECT seq, at, parent, event, chain FROM records WHERE run = ?1 ORDER BY seq";
    const IMPORTED: &str = "SELECT authentic FROM imports WHERE run = ?1";
    let raw = |row: &Row<'_>| {
        Ok(Raw {
            numbers: [row.get(0)?, row.get(1)?, row.get(2)?],
            event: row.get(3)?,
            chain: row.get(4)?,
        })
    };
    let records = read(old, ALL, run, raw);
    for authentic in read(old, IMPORTED, run, |row| row.get::<_, i64>(0)) {
        let put = "INSERT OR IGNORE INTO imports (run, authentic) VALUES (?1, ?2)";
        new.execute(put, params![run, authentic])
            .map_err(explain_read)?;
    }
    for record in &records {
        put(new, run, record).map_err(explain_read)?;
        copy_content(old, new, &record.event)?;
    }
    let lost = |records: u64, why: &str| Salvaged {
        run: RunId::known(run),
        records,
        lost: Some(why.to_owned()),
    };
    if records.is_empty() {
        return Ok(lost(0, "none of its records can be read"));
    }
    let verified = chain::verify(new, key, run)?;
    if let Some((seq, why)) = &verified.broken {
        let seq = i64::try_from(*seq).unwrap_or(i64::MAX);
        let take_out = "DELETE FROM records WHERE run = ?1 AND seq >= ?2";
        new.execute(take_out, params![run, seq])
            .map_err(explain_read)?;
        return Ok(lost(verified.records, &format!("record {seq}: {why}")));
    }
    if verified.stopped {
        return Ok(Salvaged {
            run: verified.run,
            records: verified.records,
            lost: None,
        });
    }
    // It may wait, or have lost its end: what is behind the last record nobody can tell from here.
    Ok(match is_whole(old, run) {
        true => Salvaged {
            run: verified.run,
            records: verified.records,
            lost: None,
        },
        false => lost(verified.records, "what comes after cannot be read"),
    })
}

/// Whether all rows of a run could be read to their end.
fn is_whole(old: &Connection, run: &str) -> bool {
    let count = "SELECT count(event) FROM records WHERE run = ?1";
    old.query_row(count, params![run], |row| row.get::<_, i64>(0))
        .is_ok()
}

fn put(new: &Connection, run: &str, record: &Raw) -> rusqlite::Result<()> {
    const PUT: &str = "INSERT OR ABORT INTO records (run, seq, at, parent, event, chain)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let Raw {
        numbers: [seq, at, parent],
        event,
        chain,
    } = record;
    let mut put = new.prepare_cached(PUT)?;
    put.execute(params![run, seq, at, parent, event, chain])?;
    Ok(())
}

/// What a record keeps apart from itself; of what is not there the record will be found not to fit.
fn copy_content(old: &Connection, new: &Connection, event: &str) -> Result<()> {
    let Ok(mut event) = serde_json::from_str::<Event>(event) else {
        return Ok(());
    };
    let Some(Content::Stored { digest, .. }) = event.content_mut() else {
        return Ok(());
    };
    let name = digest.to_string();
    let query = "SELECT text FROM contents WHERE digest = ?1";
    for text in read(old, query, &name, |row| row.get::<_, String>(0)) {
        if Digest::of(text.as_bytes()) == *digest {
            let put = "INSERT OR IGNORE INTO contents (digest, text) VALUES (?1, ?2)";
            new.execute(put, params![name, text])
                .map_err(explain_read)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Journal;
    use super::*;
    use crate::words::clock::Clock;

    fn key() -> HostKey {
        HostKey::new(&[7; 32])
    }

    /// A journal with the runs `a` and `b` of four records each, after this was done to it; what was saved of them.
    async fn after(change: &str) -> (Vec<(u64, bool)>, Vec<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("old.db"), folder.path().join("new.db"));
        let journal = Journal::open(&from, Clock::system(), key()).unwrap();
        for run in ["a", "b"] {
            for _ in 0..4 {
                journal
                    .append(&RunId::known(run), 0, Event::Resumed { traced: Vec::new() })
                    .unwrap();
            }
        }
        journal.commit().await.unwrap();
        drop(journal);
        store::open(&from).unwrap().execute_batch(change).unwrap();
        let saved = salvage(&from, &to, &key()).unwrap();
        let saved = saved.iter().map(|run| (run.records, run.lost.is_some()));
        let new = Journal::open(&to, Clock::system(), key()).unwrap();
        let found = new.verify_all().await.unwrap();
        assert!(found.iter().all(|run| run.broken.is_none()), "{found:?}");
        let records = found.iter().map(|run| run.records).collect();
        (saved.collect(), records)
    }

    #[tokio::test]
    async fn a_run_is_saved_as_far_as_it_is_what_was_written() {
        let whole = (4, false);
        assert_eq!(after("").await, (vec![whole, whole], vec![4, 4]));
        let forged = "UPDATE records SET at = at + 1 WHERE run = 'a' AND seq = 2";
        assert_eq!(after(forged).await, (vec![(2, true), whole], vec![2, 4]));
        let gap = "DELETE FROM records WHERE run = 'b' AND seq = 1";
        assert_eq!(after(gap).await, (vec![whole, (1, true)], vec![4, 1]));
        let none = "UPDATE records SET event = 'x' WHERE run = 'a' AND seq = 0";
        assert_eq!(after(none).await, (vec![(0, true), whole], vec![4]));
        let planted = "INSERT INTO imports VALUES ('a', 1)";
        assert_eq!(after(planted).await, (vec![(0, true), whole], vec![4]));
    }

    #[test]
    fn an_empty_journal_is_sound_and_a_changed_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let from = path("old.db");
        drop(store::open(&from).unwrap());
        assert!(is_sound(&from));
        let saved = salvage(&from, &path("new.db"), &key()).unwrap();
        assert!(saved.is_empty(), "{saved:?}");
        for (change, copy) in [
            ("PRAGMA application_id = 1", "one.db"),
            ("CREATE TABLE more (a)", "other.db"),
        ] {
            let changed = path(copy);
            store::open(&changed)
                .unwrap()
                .execute_batch(change)
                .unwrap();
            assert!(!is_sound(&changed), "{change}");
            let error = salvage(&changed, &path("no.db"), &key()).unwrap_err();
            assert_eq!(error.code(), Code::Corrupt, "{change}");
        }
        assert!(!is_sound(&path("none.db")));
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the journal owns its database, which is no database here"
    )]
    fn what_is_no_journal_at_all_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("old.db"), folder.path().join("new.db"));
        for what in [&b""[..], b"a text", &[0xA5; 8_192]] {
            std::fs::write(&from, what).unwrap();
            assert!(!is_sound(&from));
            let error = salvage(&from, &to, &key()).unwrap_err();
            assert_eq!(error.code(), Code::Corrupt);
            let hints = error.hints().concat();
            assert!(!hints.contains("repair"), "{hints}");
            assert_eq!(std::fs::read(&from).unwrap(), what);
            assert!(!to.exists());
        }
    }
}
