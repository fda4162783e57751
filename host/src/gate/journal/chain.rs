//! The chain: each record of a run is stored with an authentication of itself and of all before it.
//!
//! It is keyed with this host's key, which lies apart from the journal, so that nobody who can write
//! the journal can make a value that fits: a record that was changed, removed, put in or moved does
//! not. What a chain cannot show is that its end is missing; whether a run may be without an end is
//! known outside (`runs/audit.rs`).

use std::collections::HashMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::store::{explain_read, read_content};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Record};
use crate::words::id::{Digest, RunId, Seq};
use crate::words::key::HostKey;
use crate::words::limits::CHAINS_REMEMBERED;

/// Where a run's records come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// They were written as it happened.
    Here,
    /// They were exported here and have come back as they left.
    Returned,
    /// They were exported by this host in another workspace, whose files, services and records may be others.
    Moved,
    /// They were imported from elsewhere, and may say anything.
    Foreign,
}

impl Provenance {
    /// Part of what is authenticated, so that none can be passed off as another.
    fn byte(self) -> [u8; 1] {
        match self {
            Self::Here => [0],
            Self::Returned => [1],
            Self::Foreign => [2],
            Self::Moved => [3],
        }
    }
}

/// What a run's chain says of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The run.
    pub run: RunId,
    /// Records that were looked at.
    pub records: u64,
    /// Records at the beginning that were written before there were chains: nothing is known of them.
    pub unchained: u64,
    /// Whether the last record ends the run.
    pub stopped: bool,
    /// Where the records come from.
    pub provenance: Provenance,
    /// The first record that does not fit, and what is wrong with it.
    pub broken: Option<(Seq, String)>,
}

impl Verified {
    /// Whether every record is as this host has written it: what goes on, goes on from all of them.
    ///
    /// # Errors
    /// `Corrupt`, which names the first that is not.
    pub fn check(&self) -> Result<()> {
        let run = &self.run;
        let why = match &self.broken {
            Some((seq, why)) => {
                format!("record {seq} of run `{run}` is not as it was written: {why}")
            }
            // Whoever can take away what authenticates all records can change them as well.
            None if self.unchained > 0 => format!(
                "record 0 of run `{run}` has nothing that authenticates it, so nobody knows who wrote it"
            ),
            None => return Ok(()),
        };
        let error = Error::new(Code::Corrupt, format!("{why}; nothing in it goes on"));
        Err(error
            .hint(format!("lazaret runs verify {run}"))
            .hint(format!("lazaret runs cancel {run}, then begin anew")))
    }
}

/// The chains of the runs that are written.
pub(super) struct Chains {
    key: HostKey,
    last: HashMap<RunId, (Seq, Digest)>,
}

impl Chains {
    pub(super) fn new(key: HostKey) -> Self {
        Self {
            key,
            last: HashMap::new(),
        }
    }

    /// The value of a record that is written now, after all before it in its run.
    pub(super) fn next(
        &mut self,
        database: &Connection,
        (record, text): (&Record, &str),
        provenance: Provenance,
    ) -> rusqlite::Result<Digest> {
        let before = match self.last.get(&record.run) {
            Some((seq, value)) if seq + 1 == record.seq => *value,
            Some(_) | None => before(database, record)?,
        };
        let link = Link {
            run: record.run.as_str(),
            numbers: [record.seq, record.at, record.parent],
            text,
            provenance,
        };
        let value = link.value(&self.key, &before);
        if matches!(record.event, Event::Stopped(_)) {
            self.last.remove(&record.run);
        } else {
            if self.last.len() >= CHAINS_REMEMBERED {
                self.last.clear();
            }
            self.last.insert(record.run.clone(), (record.seq, value));
        }
        Ok(value)
    }
}

/// The value of the record before this one; where that has none, the chain begins anew.
fn before(database: &Connection, record: &Record) -> rusqlite::Result<Digest> {
    const QUERY: &str = "SELECT chain FROM records WHERE run = ?1 AND seq = ?2";
    let Some(seq) = record.seq.checked_sub(1) else {
        return Ok(Digest::from([0; 32]));
    };
    let mut query = database.prepare_cached(QUERY)?;
    let at = params![record.run.as_str(), i64::try_from(seq).unwrap_or(i64::MAX)];
    let found = query.query_row(at, |row| read_value(row, 0)).optional()?;
    Ok(found.flatten().unwrap_or(Digest::from([0; 32])))
}

/// A value as it is stored; one of a wrong form is as good as none.
fn read_value(row: &Row<'_>, place: usize) -> rusqlite::Result<Option<Digest>> {
    Ok(match row.get_ref(place)? {
        ValueRef::Blob(bytes) => <[u8; 32]>::try_from(bytes).ok().map(Digest::from),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => None,
    })
}

/// Everything of a record that its value is about.
struct Link<'a> {
    run: &'a str,
    /// Its place, its time, and the place of what caused it.
    numbers: [u64; 3],
    text: &'a str,
    provenance: Provenance,
}

impl Link<'_> {
    fn value(&self, key: &HostKey, before: &Digest) -> Digest {
        self.with_parts(before, |parts| key.mac(PURPOSE, parts))
    }

    fn fits(&self, key: &HostKey, before: &Digest, value: &Digest) -> bool {
        self.with_parts(before, |parts| key.made(value, PURPOSE, parts))
    }

    fn with_parts<T>(&self, before: &Digest, then: impl FnOnce(&[&[u8]]) -> T) -> T {
        let [seq, at, parent] = self.numbers.map(u64::to_le_bytes);
        then(&[
            &self.provenance.byte(),
            before.bytes(),
            self.run.as_bytes(),
            &seq,
            &at,
            &parent,
            self.text.as_bytes(),
        ])
    }
}

/// What the key is used for here.
const PURPOSE: &str = "record";

/// Looks at every record of a run.
pub(super) fn verify(database: &Connection, key: &HostKey, run: &str) -> Result<Verified> {
    const ALL: &str =
        "SELECT seq, at, parent, event, chain FROM records WHERE run = ?1 ORDER BY seq";
    let mut verified = Verified {
        run: RunId::known(run),
        records: 0,
        unchained: 0,
        stopped: false,
        provenance: provenance(database, run)?,
        broken: None,
    };
    let mut query = database.prepare_cached(ALL).map_err(explain_read)?;
    let mut rows = query.query(params![run]).map_err(explain_read)?;
    let mut before = Digest::from([0; 32]);
    while let Some(row) = rows.next().map_err(explain_read)? {
        match look(database, key, row, (run, &mut verified, &mut before)) {
            Ok(()) => verified.records += 1,
            Err(why) => {
                verified.broken = Some((verified.records, why));
                break;
            }
        }
    }
    if verified.records == 0 && verified.broken.is_none() {
        return Err(Error::not_found(format!("run `{}`", verified.run)));
    }
    Ok(verified)
}

/// Looks at the next record, and says what is wrong with it.
fn look(
    database: &Connection,
    key: &HostKey,
    row: &Row<'_>,
    (run, verified, before): (&str, &mut Verified, &mut Digest),
) -> Result<(), String> {
    let unread = |_: rusqlite::Error| "it cannot be read".to_owned();
    let number = |place: usize| {
        let number = row.get::<_, i64>(place).map_err(unread)?;
        u64::try_from(number).map_err(|_| "one of its numbers is below 0".to_owned())
    };
    let numbers = [number(0)?, number(1)?, number(2)?];
    let [seq, _, _] = numbers;
    if seq != verified.records {
        return Err("it is missing".to_owned());
    }
    let text = row.get_ref(3).and_then(|text| Ok(text.as_str()?));
    let text = text.map_err(unread)?;
    let link = Link {
        run,
        numbers,
        text,
        provenance: verified.provenance,
    };
    match read_value(row, 4).map_err(unread)? {
        Some(value) if link.fits(key, before, &value) => *before = value,
        None if verified.unchained == seq => verified.unchained += 1,
        Some(_) => {
            return Err(
                "it was changed, put in or moved, or another host's key has written it".to_owned(),
            );
        }
        None => return Err("it was put in, or what authenticates it was removed".to_owned()),
    }
    let mut event: Event =
        serde_json::from_str(text).map_err(|_| "it cannot be read".to_owned())?;
    verified.stopped = matches!(event, Event::Stopped(_));
    read_content(database, &mut event).map_err(|error| error.message().to_owned())
}

/// Where a run comes from, by the table of imports; each record's value says the same.
pub(super) fn provenance(database: &Connection, run: &str) -> Result<Provenance> {
    const QUERY: &str = "SELECT authentic FROM imports WHERE run = ?1";
    let mut query = database.prepare_cached(QUERY).map_err(explain_read)?;
    let found = query.query_row(params![run], |row| row.get::<_, i64>(0));
    Ok(match found.optional().map_err(explain_read)? {
        None => Provenance::Here,
        Some(1) => Provenance::Returned,
        Some(2) => Provenance::Moved,
        Some(_) => Provenance::Foreign,
    })
}

/// Every run of which there is any record, oldest name first.
pub(super) fn all_runs(database: &Connection) -> Result<Vec<String>> {
    const QUERY: &str = "SELECT DISTINCT run FROM records ORDER BY run";
    let mut query = database.prepare_cached(QUERY).map_err(explain_read)?;
    let runs = query
        .query_map([], |row| row.get(0))
        .map_err(explain_read)?;
    runs.collect::<rusqlite::Result<_>>().map_err(explain_read)
}

#[cfg(test)]
mod tests {
    use super::super::store;
    use super::*;

    fn key() -> HostKey {
        HostKey::new(&[7; 32])
    }

    fn begun(run: &str, seq: Seq) -> Record {
        Record {
            run: RunId::known(run),
            seq,
            at: 1_000 + seq,
            parent: 0,
            event: Event::Resumed { traced: Vec::new() },
        }
    }

    fn put(database: &Connection, record: &Record, chain: Option<Digest>) {
        let text = serde_json::to_string(&record.event).unwrap();
        let number = |number: u64| i64::try_from(number).unwrap();
        let run = record.run.as_str();
        let numbers = [record.seq, record.at, record.parent].map(number);
        let [seq, at, parent] = numbers;
        let chain = chain.map(|chain| chain.bytes().to_vec());
        const PUT: &str = "INSERT INTO records (run, seq, at, parent, event, chain)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![run, seq, at, parent, text, chain];
        database.execute(PUT, values).unwrap();
    }

    /// Two runs of three records each, as they were written here.
    fn written() -> Connection {
        let database = store::in_memory().unwrap();
        let mut chains = Chains::new(key());
        for run in ["a", "b"] {
            for seq in 0..3 {
                let record = begun(run, seq);
                let text = serde_json::to_string(&record.event).unwrap();
                let of = (&record, &*text);
                let value = chains.next(&database, of, Provenance::Here).unwrap();
                put(&database, &record, Some(value));
            }
        }
        database
    }

    /// What is said of run `a` after somebody has written this into the journal.
    fn after(change: &str) -> Result<(), String> {
        let database = written();
        database.execute_batch(change).unwrap();
        let verified = verify(&database, &key(), "a").unwrap();
        let checked = verified.check();
        checked.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn what_was_written_here_goes_on() {
        assert_eq!(after(""), Ok(()));
        let other = HostKey::new(&[8; 32]);
        assert!(verify(&written(), &other, "a").unwrap().check().is_err());
        assert!(verify(&written(), &key(), "none").is_err());
    }

    #[test]
    fn what_was_changed_does_not_go_on() {
        for (change, why) in [
            (
                "UPDATE records SET at = 5 WHERE run = 'a' AND seq = 1",
                "record 1",
            ),
            (
                "UPDATE records SET parent = 1 WHERE run = 'a' AND seq = 2",
                "record 2",
            ),
            (
                "UPDATE records SET event = '{\"event\":\"paused\",\"questions\":[]}' WHERE run = 'a' AND seq = 0",
                "record 0",
            ),
            (
                "DELETE FROM records WHERE run = 'a' AND seq = 1",
                "it is missing",
            ),
            ("INSERT INTO imports VALUES ('a', 0)", "record 0"),
            (
                "UPDATE records SET chain = NULL WHERE run = 'a' AND seq = 1",
                "record 1",
            ),
            (
                "UPDATE records SET chain = NULL WHERE run = 'a'",
                "nothing that authenticates it",
            ),
        ] {
            let said = after(change).expect_err(change);
            assert!(said.contains(why), "{change}: {said}");
        }
    }

    #[test]
    fn what_was_moved_does_not_go_on() {
        // A record of another run, another record at its place, and one that was moved up.
        for change in [
            "DELETE FROM records WHERE run = 'a'; UPDATE records SET run = 'a' WHERE run = 'b'",
            "UPDATE records SET chain = (SELECT chain FROM records WHERE run = 'a' AND seq = 2)
                WHERE run = 'a' AND seq = 1",
            "DELETE FROM records WHERE run = 'a' AND seq = 0;
                UPDATE records SET seq = seq - 1 WHERE run = 'a'",
        ] {
            after(change).expect_err(change);
        }
    }

    /// Each part alone decides.
    #[test]
    fn a_value_is_about_every_part_of_a_record() {
        let link = |run, numbers, text, provenance| Link {
            run,
            numbers,
            text,
            provenance,
        };
        let (first, here) = (Digest::from([0; 32]), Provenance::Here);
        let value = link("a", [1, 2, 3], "x", here).value(&key(), &first);
        assert!(link("a", [1, 2, 3], "x", here).fits(&key(), &first, &value));
        for other in [
            link("b", [1, 2, 3], "x", here),
            link("a", [9, 2, 3], "x", here),
            link("a", [1, 9, 3], "x", here),
            link("a", [1, 2, 9], "x", here),
            link("a", [1, 2, 3], "y", here),
            link("a", [1, 2, 3], "x", Provenance::Returned),
            link("a", [1, 2, 3], "x", Provenance::Moved),
            link("a", [1, 2, 3], "x", Provenance::Foreign),
        ] {
            assert!(!other.fits(&key(), &first, &value));
        }
        let second = Digest::from([1; 32]);
        assert!(!link("a", [1, 2, 3], "x", here).fits(&key(), &second, &value));
    }
}
