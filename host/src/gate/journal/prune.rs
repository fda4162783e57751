//! Runs that are taken out of the journal, with all their records and with every content that no other record names.
//!
//! A run is taken out as a whole: each has a chain of its own, so that all others are as they were. One that has not
//! ended stays, and so do one whose records do not fit, since they tell of whoever changed them, and one of a session of
//! which another run stays, since that was told what was said in it.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, params};

use super::Journal;
use super::chain::{self, Provenance};
use super::store::{begin, explain_read, reading};
use crate::words::error::Result;
use crate::words::id::RunId;
use crate::words::key::HostKey;
use crate::words::limits::RUNS_PRUNED;

/// What became of a run that was to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The run.
    pub run: RunId,
    /// Its records.
    pub records: u64,
    /// Why it stays; nothing where it is gone.
    pub stays: Option<Stays>,
}

/// Why a run stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It waits, goes on, or was interrupted.
    Open,
    /// A record is not as it was written.
    Broken,
    /// Another run of its session stays.
    InSession,
    /// Its client named it, and may send it again: without its records it would happen a second time.
    Keyed,
}

impl Stays {
    /// In words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Open => "it has not ended",
            Self::Broken => "its records are not as they were written: look at them first",
            Self::InSession => {
                "a later run of its session builds on it: name all runs of the session"
            }
            Self::Keyed => {
                "its client may still send it again under its key, until `cache.keyed_ttl_ms` are over"
            }
        }
    }
}

impl Journal {
    /// The runs whose last record is of this time or before and ends them, oldest first, up to [`RUNS_PRUNED`] of them behind
    /// so many that stay.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn ended_by(&self, at: u64, stay: usize) -> Result<Vec<RunId>> {
        self.ask(move |database, _| ended_by(database, at, stay))
            .await
    }

    /// Takes these runs out, those that may go; or only says which would. Those that a client named and that began after
    /// `keyed` stay.
    ///
    /// # Errors
    /// `NotFound` for a run of which there is no record, and then nothing is taken out; `DiskFailed`.
    pub async fn prune(
        &self,
        runs: Vec<RunId>,
        (only_say, keyed): (bool, u64),
    ) -> Result<Vec<Pruned>> {
        let key = self.key().clone();
        self.ask(move |database, _| prune(database, &key, (&runs, only_say, keyed)))
            .await
    }
}

fn ended_by(database: &Connection, at: u64, stay: usize) -> Result<Vec<RunId>> {
    const ENDED: &str = "SELECT first.run FROM records AS first
        JOIN records AS last ON last.run = first.run
            AND last.seq = (SELECT max(seq) FROM records WHERE run = first.run)
        WHERE first.seq = 0 AND first.at <= ?1 AND last.at <= ?1
            AND substr(last.event, 1, 18) = '{\"event\":\"stopped\"'
        ORDER BY first.at, first.run LIMIT ?2 OFFSET ?3";
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    let most = i64::try_from(RUNS_PRUNED).unwrap_or(i64::MAX);
    let stay = i64::try_from(stay).unwrap_or(i64::MAX);
    names(database, ENDED, params![at, most, stay])
}

fn names(
    database: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<RunId>> {
    let mut query = database.prepare_cached(query).map_err(explain_read)?;
    let name = |row: &Row<'_>| row.get::<_, String>(0).map(|run| RunId::known(&run));
    let found = query.query_map(parameters, name).map_err(explain_read)?;
    found.collect::<rusqlite::Result<_>>().map_err(explain_read)
}

/// What is taken out is overwritten, and not only given up.
fn prune(
    database: &Connection,
    key: &HostKey,
    (runs, only_say, keyed): (&[RunId], bool, u64),
) -> Result<Vec<Pruned>> {
    let overwritten = |row: &Row<'_>| row.get::<_, i64>(0);
    database
        .pragma_update_and_check(None, "secure_delete", "ON", overwritten)
        .map_err(explain_read)?;
    let look_at_all = |database: &Connection| {
        let all = runs.iter().map(|run| look(database, key, (run, keyed)));
        let mut all = all.collect::<Result<Vec<_>>>()?;
        keep_sessions(database, &mut all)?;
        Ok(all)
    };
    // Whoever only says holds nobody up; whoever writes is alone from here on.
    if only_say {
        return look_at_all(&*reading(database)?);
    }
    let writing = begin(database).map_err(explain_read)?;
    let all = look_at_all(&writing)?;
    for gone in all.iter().filter(|pruned| pruned.stays.is_none()) {
        for table in ["records", "imports"] {
            let delete = format!("DELETE FROM {table} WHERE run = ?1");
            writing
                .execute(&delete, params![gone.run.as_str()])
                .map_err(explain_read)?;
        }
    }
    drop_contents(&writing)?;
    writing.commit().map_err(explain_read)?;
    Ok(all)
}

/// Whether a run may go by itself. One that came from elsewhere never goes on here.
fn look(database: &Connection, key: &HostKey, (run, keyed): (&RunId, u64)) -> Result<Pruned> {
    let verified = chain::verify(database, key, run.as_str())?;
    let is_open = !verified.stopped && verified.provenance == Provenance::Here;
    let stays = match (verified.broken, is_open) {
        (Some(_), _) => Some(Stays::Broken),
        (None, true) => Some(Stays::Open),
        (None, false) if has_key(database, run, keyed)? => Some(Stays::Keyed),
        (None, false) => None,
    };
    Ok(Pruned {
        run: run.clone(),
        records: verified.records,
        stays,
    })
}

/// Whether a client has named it, and it began later than that.
fn has_key(database: &Connection, run: &RunId, since: u64) -> Result<bool> {
    const KEYED: &str = "SELECT count(*) FROM records WHERE run = ?1 AND seq = 0 AND at > ?2
        AND json_valid(event) AND json_extract(event, '$.narrowed.call.key') IS NOT NULL";
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let count = |row: &Row<'_>| row.get::<_, i64>(0);
    let found = database.query_row(KEYED, params![run.as_str(), since], count);
    found.map(|count| count > 0).map_err(explain_read)
}

/// A run of a session stays where any other run of that session does, a copy of one of them as well.
fn keep_sessions(database: &Connection, all: &mut [Pruned]) -> Result<()> {
    const SAME: &str = "SELECT other.run FROM records AS one JOIN records AS other
        ON json_extract(other.event, '$.session.user') = json_extract(one.event, '$.session.user')
        AND json_extract(other.event, '$.session.name') = json_extract(one.event, '$.session.name')
        WHERE one.run = ?1 AND one.seq = 0 AND json_valid(one.event) AND instr(one.event, '\"session\":{') > 0
        AND other.seq = 0 AND json_valid(other.event) AND instr(other.event, '\"session\":{') > 0
        AND one.run NOT IN (SELECT run FROM imports) AND other.run NOT IN (SELECT run FROM imports)";
    let going: BTreeSet<RunId> = all
        .iter()
        .filter(|pruned| pruned.stays.is_none())
        .map(|pruned| pruned.run.clone())
        .collect();
    for pruned in all.iter_mut().filter(|pruned| pruned.stays.is_none()) {
        let same = names(database, SAME, params![pruned.run.as_str()])?;
        if !same.iter().all(|run| going.contains(run)) {
            pruned.stays = Some(Stays::InSession);
        }
    }
    Ok(())
}

/// Drops every content that no record names any more, whoever has left it behind. It is looked for as text: a record
/// that cannot be read keeps what it names as well.
fn drop_contents(writing: &Connection) -> Result<()> {
    const NAMING: &str = "SELECT event FROM records WHERE instr(event, '\"stored\":{') > 0";
    const ALL: &str = "SELECT digest FROM contents";
    let texts = |query: &str, each: &mut dyn FnMut(&str)| -> rusqlite::Result<()> {
        let mut query = writing.prepare_cached(query)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?.as_str()?);
        }
        Ok(())
    };
    let mut left_over = BTreeSet::new();
    let mut remember = |digest: &str| {
        left_over.insert(digest.to_owned());
    };
    texts(ALL, &mut remember).map_err(explain_read)?;
    let mut forget = |event: &str| {
        let named = event.split("\"digest\":\"").skip(1);
        for digest in named.filter_map(|rest| rest.split('"').next()) {
            left_over.remove(digest);
        }
    };
    texts(NAMING, &mut forget).map_err(explain_read)?;
    for digest in left_over {
        let delete = "DELETE FROM contents WHERE digest = ?1";
        writing
            .execute(delete, params![digest])
            .map_err(explain_read)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::chain::Chains;
    use super::super::store;
    use super::*;
    use crate::words::event::{Event, Record};
    use crate::words::id::Digest;

    fn key() -> HostKey {
        HostKey::new(&[7; 32])
    }

    fn event(value: Value) -> Event {
        serde_json::from_value(value).unwrap()
    }

    fn record(run: &str, seq: u64, at: u64, event: Event) -> Record {
        Record {
            run: RunId::known(run),
            seq,
            at,
            parent: 0,
            event,
        }
    }

    /// A run with these two times that ends or not, of a session or of none, whose outcome is stored aside.
    fn put(
        database: &Connection,
        run: &str,
        (began, last): (u64, u64),
        (session, stored, ends): (&str, &str, bool),
    ) {
        let mut started = json!({"event": "started", "surface": "cli", "subject": "a", "goal": "g", "label": ["user"]});
        if !session.is_empty() {
            started["session"] = json!({"user": "", "name": session, "place": 0, "earlier": Digest::of(b"").to_string()});
        }
        let digest = Digest::of(stored.as_bytes());
        let content = json!({"stored": {"digest": digest.to_string(), "bytes": stored.len()}});
        let stopped = json!({"event": "stopped", "end": "done", "content": content, "turns": 1,
            "usage": {"input_tokens": 0, "output_tokens": 0}});
        let end = match ends {
            true => event(stopped),
            false => Event::Resumed { traced: Vec::new() },
        };
        let records = [
            record(run, 0, began, event(started)),
            record(run, 1, last, end),
        ];
        let contents = [(digest, stored.to_owned())];
        let what = (&records[..], &contents[..]);
        store::write(database, &mut Chains::new(key()), what, false).unwrap();
    }

    fn run(names: &[&str]) -> Vec<RunId> {
        names.iter().map(|name| RunId::known(name)).collect()
    }

    /// Why each of these stays, and the runs that are left.
    fn pruned(database: &Connection, names: &[&str]) -> (Vec<Option<Stays>>, Vec<String>) {
        let all = prune(database, &key(), (&run(names), false, 0)).unwrap();
        let stays = all.into_iter().map(|pruned| pruned.stays);
        (stays.collect(), chain::all_runs(database).unwrap())
    }

    fn contents(database: &Connection) -> i64 {
        let count = "SELECT count(*) FROM contents";
        database.query_row(count, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_ended_by_then_is_old_enough() {
        let database = store::in_memory().unwrap();
        for (run, times, ends) in [
            ("c", (1, 5), true),
            ("a", (2, 9), true),
            ("b", (3, 4), false),
            ("d", (0, 5), true),
        ] {
            put(&database, run, times, ("", "\"x\"", ends));
        }
        for (at, expected) in [
            (4, &[][..]),
            (5, &["d", "c"]),
            (8, &["d", "c"]),
            (9, &["d", "c", "a"]),
        ] {
            assert_eq!(ended_by(&database, at, 0).unwrap(), run(expected), "{at}");
            let behind = expected.get(1..).unwrap_or_default();
            assert_eq!(ended_by(&database, at, 1).unwrap(), run(behind), "{at}");
        }
    }

    #[test]
    fn a_run_goes_alone_and_takes_only_what_it_alone_names() {
        let database = store::in_memory().unwrap();
        for (run, stored) in [("a", "\"x\""), ("b", "\"x\""), ("c", "\"y\"")] {
            put(&database, run, (1, 2), ("", stored, true));
        }
        assert_eq!(
            prune(&database, &key(), (&run(&["a"]), true, 0)).unwrap()[0].stays,
            None
        );
        assert_eq!(
            chain::all_runs(&database).unwrap().len(),
            3,
            "it was only said"
        );
        assert_eq!(
            pruned(&database, &["a"]),
            (vec![None], vec!["b".into(), "c".into()])
        );
        assert_eq!(contents(&database), 2);
        assert_eq!(pruned(&database, &["b"]), (vec![None], vec!["c".into()]));
        assert_eq!(contents(&database), 1);
        let left = chain::verify(&database, &key(), "c").unwrap();
        assert_eq!((left.broken, left.stopped), (None, true));
        assert!(prune(&database, &key(), (&run(&["c", "a"]), false, 0)).is_err());
        assert_eq!(chain::all_runs(&database).unwrap(), ["c"], "all or nothing");
    }

    #[test]
    fn what_is_open_or_broken_stays() {
        let database = store::in_memory().unwrap();
        put(&database, "a", (1, 2), ("", "\"x\"", false));
        put(&database, "b", (1, 2), ("", "\"x\"", true));
        put(&database, "c", (1, 2), ("", "\"x\"", false));
        database
            .execute_batch("UPDATE records SET at = 7 WHERE run = 'b' AND seq = 1")
            .unwrap();
        let (stays, left) = pruned(&database, &["a", "b"]);
        assert_eq!(stays, [Some(Stays::Open), Some(Stays::Broken)]);
        assert_eq!(left.len(), 3);
    }

    #[test]
    fn a_session_goes_as_a_whole() {
        let database = store::in_memory().unwrap();
        put(&database, "a", (1, 2), ("work", "\"x\"", true));
        put(&database, "b", (3, 4), ("work", "\"x\"", true));
        put(&database, "c", (5, 6), ("home", "\"x\"", true));
        put(&database, "d", (7, 8), ("", "\"x\"", true));
        let stays = Some(Stays::InSession);
        assert_eq!(pruned(&database, &["a"]).0, [stays]);
        assert_eq!(pruned(&database, &["b"]).0, [stays]);
        assert_eq!(pruned(&database, &["c", "d"]).0, [None, None]);
        let (stays, left) = pruned(&database, &["b", "a"]);
        assert_eq!(stays, [None, None]);
        assert!(left.is_empty());
        assert_eq!(contents(&database), 0);
    }
}
