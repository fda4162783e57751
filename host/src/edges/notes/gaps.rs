//! Gaps: keys of a shelf under which a note stood that was deleted under somebody's influence, and the label of whoever had
//! it deleted, for whoever looks for it and finds nothing.
//!
//! Each is authenticated as notes are. Where there are too many on a shelf, they become one of the whole shelf.

use rusqlite::{Connection, Row, params};

use super::Shelf;
use crate::words::id::Digest;
use crate::words::label::{Label, Source};
use crate::words::limits::records::GAPS as MOST;

pub(super) const GAPS: &str = "CREATE TABLE IF NOT EXISTS gaps (
    shelf TEXT NOT NULL, key TEXT NOT NULL, label TEXT NOT NULL, mac BLOB,
    PRIMARY KEY (shelf, key)) STRICT, WITHOUT ROWID";
/// What the key is used for.
const PURPOSE: &str = "gap";
/// The whole shelf, as a key that no note has: a key has no control characters.
const WHOLE: &str = "\n";

impl Shelf<'_> {
    /// Who had a hand in that there is no note of this key.
    pub(super) fn gap(&self, key: &str) -> rusqlite::Result<Label> {
        const OF: &str =
            "SELECT key, label, mac FROM gaps WHERE shelf = ?1 AND (key = ?2 OR key = ?3)";
        self.joined(OF, params![self.name, key, WHOLE])
    }

    /// Who had a hand in that there are no more notes whose keys begin so.
    pub(super) fn gaps_in(&self, start: &str) -> rusqlite::Result<Label> {
        const IN: &str = "SELECT key, label, mac FROM gaps
            WHERE shelf = ?1 AND (substr(key, 1, length(?2)) = ?2 OR key = ?3)";
        self.joined(IN, params![self.name, start, WHOLE])
    }

    fn gap_at(&self, key: &str) -> rusqlite::Result<Label> {
        const AT: &str = "SELECT key, label, mac FROM gaps WHERE shelf = ?1 AND key = ?2";
        self.joined(AT, params![self.name, key])
    }

    /// A note was deleted by whoever has this label.
    pub(super) fn leave_gap(&self, key: &str, label: &Label) -> rusqlite::Result<()> {
        // What nobody else had influence on a person might have done by themselves.
        if label.is_ones_own() || self.gap_at(WHOLE)?.covers(label) {
            return Ok(());
        }
        let here = self.gap_at(key)?;
        if !here.is_empty() || self.count_gaps()? < MOST {
            return self.put_gap(key, &here.join(label));
        }
        let all = self.gaps_in("")?.join(label);
        let every = "DELETE FROM gaps WHERE shelf = ?1";
        self.database.execute(every, params![self.name])?;
        self.put_gap(WHOLE, &all)
    }

    /// There is a note of this key again.
    pub(super) fn fill_gap(&self, key: &str) -> rusqlite::Result<()> {
        let gone = "DELETE FROM gaps WHERE shelf = ?1 AND key = ?2";
        let filled = self.database.execute(gone, params![self.name, key]);
        filled.map(drop)
    }

    fn put_gap(&self, key: &str, label: &Label) -> rusqlite::Result<()> {
        const PUT: &str =
            "INSERT OR ABORT INTO gaps (shelf, key, label, mac) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET label = ?3, mac = ?4";
        let text = serde_json::to_string(label)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let mac = self.key.mac(PURPOSE, &parts(self.name, key, &text));
        let row = params![self.name, key, text, mac.bytes().as_slice()];
        self.database.execute(PUT, row).map(drop)
    }

    fn count_gaps(&self) -> rusqlite::Result<usize> {
        let query = "SELECT count(*) FROM gaps WHERE shelf = ?1";
        let count: i64 = self
            .database
            .query_row(query, params![self.name], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn joined(&self, query: &str, params: impl rusqlite::Params) -> rusqlite::Result<Label> {
        let mut query = self.database.prepare_cached(query)?;
        let mut all = Label::default();
        for label in query.query_map(params, |row| self.read_gap(row))? {
            all = all.join(&label?);
        }
        Ok(all)
    }

    /// The label of one that this host has not written on this shelf says too little.
    fn read_gap(&self, row: &Row<'_>) -> rusqlite::Result<Label> {
        let (key, said): (String, String) = (row.get(0)?, row.get(1)?);
        let label: Label = serde_json::from_str(&said).map_err(|error| {
            let kind = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(1, kind, Box::new(error))
        })?;
        // Whatever else stands there is none.
        let mac = row.get::<_, [u8; 32]>(2).ok().map(Digest::from);
        let parts = parts(self.name, &key, &said);
        let is_ours = mac.is_some_and(|mac| self.key.made(&mac, PURPOSE, &parts));
        Ok(match is_ours {
            true => label,
            false => label.with(Source::imported()),
        })
    }
}

/// Whether it is there: notes from before there were any have none.
pub(super) fn has_table(database: &Connection) -> rusqlite::Result<bool> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'gaps'";
    let count: i64 = database.query_row(query, [], |row| row.get(0))?;
    Ok(count > 0)
}

/// What a gap's authentication is of.
fn parts<'a>(shelf: &'a str, key: &'a str, label: &'a str) -> [&'a [u8]; 3] {
    [shelf.as_bytes(), key.as_bytes(), label.as_bytes()]
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests are whoever writes a workspace's files"
)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::edges::aside::Asker;
    use crate::edges::notes::{Found, Notes};
    use crate::rules::keep::{Keep, KeepWish};
    use crate::words::clock::Clock;
    use crate::words::error::Code;
    use crate::words::key::HostKey;
    use crate::words::label::Sort;

    fn open(path: &Path) -> Notes {
        Notes::open(path, Clock::set(7), HostKey::new(&[7; 32])).unwrap()
    }

    fn in_memory() -> Notes {
        Notes::in_memory(Clock::set(7), HostKey::new(&[7; 32])).unwrap()
    }

    fn user() -> Label {
        Label::of(Source::user())
    }

    fn web(host: &str) -> Label {
        Label::of(Source::new(Sort::Web, host))
    }

    fn perform(notes: &Notes, (shelf, key): (&str, &str), wish: KeepWish) -> Found {
        let keep = Keep {
            shelf: shelf.to_owned(),
            key: key.to_owned(),
            wish,
        };
        notes.perform_now(&keep, &Asker::default()).unwrap()
    }

    fn put(notes: &Notes, key: &str) {
        let wish = KeepWish::Put {
            text: "one".to_owned(),
            label: user(),
        };
        perform(notes, ("notes", key), wish).notes.unwrap();
    }

    /// A note is put, and deleted by whoever has this label.
    fn deleted(notes: &Notes, key: &str, label: Label) {
        put(notes, key);
        let wish = KeepWish::Delete { label };
        perform(notes, ("notes", key), wish).notes.unwrap();
    }

    /// What influenced that there is no such note.
    fn missing(notes: &Notes, key: &str) -> Label {
        let found = perform(notes, ("notes", key), KeepWish::Get);
        assert_eq!(found.notes.unwrap_err().code(), Code::NotFound);
        found.beside
    }

    #[test]
    fn what_was_deleted_leaves_the_label_of_whoever_had_it_deleted() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        let notes = open(&path);
        deleted(&notes, "a/x", web("one"));
        deleted(&notes, "b", user());
        drop(notes);
        let notes = open(&path);
        assert_eq!(missing(&notes, "a/x"), web("one"));
        for key in ["b", "a", "a/y", "never"] {
            assert_eq!(missing(&notes, key), Label::default(), "{key}");
        }
        for (start, wish, expected) in [
            ("", KeepWish::List { limit: 9 }, true),
            ("a/", KeepWish::List { limit: 9 }, true),
            ("b", KeepWish::List { limit: 9 }, false),
            ("whatever", KeepWish::Search { limit: 9 }, true),
            ("a/x", KeepWish::Delete { label: user() }, true),
        ] {
            let found = perform(&notes, ("notes", start), wish);
            assert_eq!(found.beside.covers(&web("one")), expected, "{start}");
        }
        let elsewhere = perform(&notes, ("others", "a/x"), KeepWish::Get);
        assert_eq!(elsewhere.beside, Label::default());
        // As where a note is written over, it is there whatever was before.
        put(&notes, "a/x");
        let found = perform(&notes, ("notes", "a/x"), KeepWish::Get);
        assert_eq!(found.notes.unwrap()[0].label, user());
        let listed = perform(&notes, ("notes", ""), KeepWish::List { limit: 9 });
        assert_eq!(listed.beside, Label::default());
    }

    #[test]
    fn too_many_of_them_become_one_of_the_shelf() {
        let notes = in_memory();
        let leave = |key: &str, label: &Label| {
            let database = crate::words::lock::lock(&notes.database);
            let shelf = Shelf {
                database: &database,
                path: &notes.path,
                key: &notes.key,
                name: "notes",
            };
            shelf.leave_gap(key, label).unwrap();
            shelf.count_gaps().unwrap()
        };
        for number in 0..MOST {
            assert_eq!(leave(&number.to_string(), &web("many")), number + 1);
        }
        assert_eq!(leave("7", &web("other")), MOST);
        assert_eq!(leave("one more", &web("last")), 1);
        assert_eq!(leave("another", &web("last")), 1);
        assert_eq!(leave("another", &web("new")), 2);
        for label in ["many", "other", "last"] {
            assert!(missing(&notes, "never").covers(&web(label)), "{label}");
        }
        // A note of any key leaves that in place.
        put(&notes, "");
        assert!(missing(&notes, "never").covers(&web("last")));
    }

    #[test]
    fn a_gap_that_this_host_has_not_left_is_anybodys() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        let notes = open(&path);
        for key in ["mine", "label", "key"] {
            deleted(&notes, key, web("one"));
        }
        let theirs = Connection::open(&path).unwrap();
        for change in [
            "INSERT INTO gaps VALUES ('notes', 'new', '[]', NULL)",
            "UPDATE gaps SET label = '[]' WHERE key = 'label'",
            "UPDATE gaps SET key = 'other' WHERE key = 'key'",
        ] {
            theirs.execute_batch(change).unwrap();
        }
        let anybodys = Label::of(Source::imported());
        for key in ["new", "label", "other"] {
            assert!(missing(&notes, key).covers(&anybodys), "{key}");
        }
        assert_eq!(missing(&notes, "mine"), web("one"));
    }

    #[test]
    fn notes_from_before_there_were_any_are_opened() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        let notes = open(&path);
        put(&notes, "kept");
        drop(notes);
        let old = Connection::open(&path).unwrap();
        old.execute_batch("DROP TABLE gaps").unwrap();
        drop(old);
        let notes = open(&path);
        let found = perform(&notes, ("notes", "kept"), KeepWish::Get);
        assert_eq!(found.notes.unwrap()[0].label, user());
        deleted(&notes, "kept", web("one"));
        assert_eq!(missing(&notes, "kept"), web("one"));
    }
}
