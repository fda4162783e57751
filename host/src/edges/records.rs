//! Labels of records that services keep: what influenced what a tool wrote there, by service and id, for whoever is shown
//! the record later (design §5: labels are stored with everything that is stored).
//!
//! They lie in the user's own state folder, each with an authentication of itself: of one that this host has not written, the
//! worst is believed. Ids are kept by digest. What a person does at the service itself is that person's doing.
//!
//! A write whose record has no id yet is kept as one that is under way: until it has ended, whatever its service shows may
//! be what it has written, and for ever if its host did not live to see the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::aside::{Asker, aside};
use super::book::Book;
use crate::rules::flow::home::{Home, Stamp};
use crate::rules::flow::records::{EACH, Hands, plain};
use crate::words::error::{Error, Result};
use crate::words::id::Digest;
use crate::words::key::HostKey;
use crate::words::label::{Label, Source};
use crate::words::limits::records::{RECORDS_PER_CALL, RECORDS_PER_SERVICE};

const TABLES: &str = "CREATE TABLE IF NOT EXISTS records (
    service TEXT NOT NULL, record TEXT NOT NULL, hands TEXT NOT NULL, mac BLOB,
    PRIMARY KEY (service, record)) STRICT, WITHOUT ROWID";
/// What the key is used for.
const PURPOSE: &str = "record";

/// All labels of records.
#[derive(Clone)]
pub struct RecordLabels {
    book: Book,
    key: HostKey,
    home: Arc<Home>,
}

/// What is stored of a record.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    /// With what it was worth then.
    Stamped {
        hands: Hands,
        wished: Stamp,
        read: Stamp,
    },
    /// As it was written once.
    Bare(Hands),
}

/// What is known of a write at a service, beside the records that it names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Write {
    /// It writes those and no others, or nobody need know.
    Named,
    /// It is about to write what has no name yet.
    Begins(Digest),
    /// What it wrote is known.
    Ends(Digest),
}

/// What is kept of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name, as its tools have it before the dot.
    pub service: String,
    /// Of how many records it is known which they are.
    pub records: usize,
    /// Writes of which nobody knows, or will know, what they have written.
    pub under_way: usize,
    /// What counts for each of its records, beside what is known of one.
    pub each: Option<Label>,
    /// What counts for any of them.
    pub any: Label,
}

/// The labels of one service, at work.
struct Shelf<'a> {
    database: &'a Connection,
    key: &'a HostKey,
    home: &'a Home,
    name: &'a str,
}

impl RecordLabels {
    /// Opens the labels at `path`, or begins them. `key` authenticates what is written, and they count as in `home`.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn open(path: &Path, (key, home): (HostKey, Home)) -> Result<Self> {
        let book = Book::open(path, "records", TABLES)?;
        let home = Arc::new(home);
        Ok(Self { book, key, home })
    }

    /// Labels that are forgotten with the process.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn in_memory((key, home): (HostKey, Home)) -> Result<Self> {
        let book = Book::in_memory("records", TABLES)?;
        let home = Arc::new(home);
        Ok(Self { book, key, home })
    }

    /// Somebody had a hand in these records of a service, or is about to.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`; `Cancelled` where nobody waits any more.
    pub(crate) async fn touch(
        &self,
        service: &str,
        (write, ids): (Write, BTreeSet<String>),
        hands: Hands,
    ) -> Result<()> {
        let is_named = matches!(write, Write::Named);
        if hands.says_nothing() || (is_named && ids.is_empty()) {
            return Ok(());
        }
        let (labels, name) = (self.clone(), service.to_owned());
        let work =
            aside(move |asker| labels.touch_now(&name, (write, &ids), (&hands, asker))).await;
        work.unwrap_or_else(|| Err(Error::bug("the labels of records panicked")))
    }

    fn touch_now(
        &self,
        service: &str,
        (write, ids): (Write, &BTreeSet<String>),
        (hands, asker): (&Hands, &Asker),
    ) -> Result<()> {
        let failed = |error: rusqlite::Error| self.book.failed(&error);
        let mut database = self.book.lock();
        let work = database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Another process may have held the database for longer than the asker waits.
        asker.check()?;
        let shelf = self.shelf(&work, service);
        shelf.touch((write, ids), hands).map_err(failed)?;
        work.commit().map_err(failed)
    }

    /// Who had a hand in these records of a service, by their ids; and in each of them.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`: no label, no record.
    pub(crate) async fn of(
        &self,
        service: &str,
        ids: BTreeSet<String>,
    ) -> Result<BTreeMap<String, Hands>> {
        let (labels, name) = (self.clone(), service.to_owned());
        let work = aside(move |_| {
            let database = labels.book.lock();
            let found = labels.shelf(&database, &name).of(ids);
            found.map_err(|error| labels.book.failed(&error))
        });
        let found = work.await;
        found.unwrap_or_else(|| Err(Error::bug("the labels of records panicked")))
    }

    /// What is kept, service by service.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub fn list(&self) -> Result<Vec<Kept>> {
        let database = self.book.lock();
        let services = || {
            let mut query =
                database.prepare("SELECT DISTINCT service FROM records ORDER BY service")?;
            let names = query.query_map([], |row| row.get::<_, String>(0))?;
            names.collect::<rusqlite::Result<Vec<_>>>()
        };
        let kept = |names: Vec<String>| {
            let kept = names
                .iter()
                .map(|name| self.shelf(&database, name).summary());
            kept.collect()
        };
        services()
            .and_then(kept)
            .map_err(|error| self.book.failed(&error))
    }

    /// What is known of one record of a service alone.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub fn one(&self, service: &str, id: &str) -> Result<Option<Label>> {
        let database = self.book.lock();
        let found = self.shelf(&database, service).get(&mark(id));
        let found = found.map_err(|error| self.book.failed(&error))?;
        Ok(found.map(|(hands, _)| hands.all()))
    }

    /// A person takes a record of a service for their own, or all of them. Says how many labels that were.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub fn clear(&self, service: &str, id: Option<&str>) -> Result<usize> {
        const ALL: &str = "DELETE FROM records WHERE service = ?1";
        const ONE: &str = "DELETE FROM records WHERE service = ?1 AND record = ?2";
        let database = self.book.lock();
        let cleared = match id {
            Some(id) => database.execute(ONE, [service, &mark(id)]),
            None => database.execute(ALL, [service]),
        };
        cleared.map_err(|error| self.book.failed(&error))
    }

    fn shelf<'a>(&'a self, database: &'a Connection, name: &'a str) -> Shelf<'a> {
        Shelf {
            database,
            key: &self.key,
            home: &self.home,
            name,
        }
    }
}

impl Shelf<'_> {
    fn touch(
        &self,
        (write, ids): (Write, &BTreeSet<String>),
        hands: &Hands,
    ) -> rusqlite::Result<()> {
        let mut marks: BTreeSet<String> = ids.iter().map(|id| mark(id)).collect();
        match write {
            Write::Named => {}
            Write::Begins(write) => drop(marks.insert(under_way(&write))),
            Write::Ends(write) => self.forget(&under_way(&write))?,
        }
        if marks.len() > RECORDS_PER_CALL || self.count()? + marks.len() > RECORDS_PER_SERVICE {
            return self.collapse(hands);
        }
        for mark in marks {
            let (known, here) = self.get(&mark)?.unwrap_or_default();
            let joined = known.join(hands);
            // What these names are worth where it was stored says nothing of what they are worth here.
            if joined != known || !here {
                self.put(&mark, &joined)?;
            }
        }
        Ok(())
    }

    fn forget(&self, mark: &str) -> rusqlite::Result<()> {
        let gone = "DELETE FROM records WHERE service = ?1 AND record = ?2";
        let mut query = self.database.prepare_cached(gone)?;
        query.execute([self.name, mark]).map(drop)
    }

    /// What is known of any is known of each from now on.
    fn collapse(&self, hands: &Hands) -> rusqlite::Result<()> {
        let all = self.any()?.join(hands);
        let every = "DELETE FROM records WHERE service = ?1";
        self.database.execute(every, [self.name])?;
        tracing::warn!(
            target: "lazaret::records",
            service = self.name,
            "there are too many records for a label each: what is known of any counts for each"
        );
        self.put(EACH, &all)
    }

    fn of(&self, ids: BTreeSet<String>) -> rusqlite::Result<BTreeMap<String, Hands>> {
        let mut found = BTreeMap::new();
        let each = match ids.len() > RECORDS_PER_CALL {
            true => Some(self.any()?),
            false => self.each()?,
        };
        if let Some(hands) = each {
            found.insert(EACH.to_owned(), hands);
        }
        for id in ids.into_iter().take(RECORDS_PER_CALL) {
            if let Some((hands, _)) = self.get(&mark(&id))? {
                found.insert(id, hands);
            }
        }
        Ok(found)
    }

    fn count(&self) -> rusqlite::Result<usize> {
        self.number("SELECT count(*) FROM records WHERE service = ?1")
    }

    fn number(&self, query: &str) -> rusqlite::Result<usize> {
        let count = self
            .database
            .query_row(query, [self.name], |row| row.get::<_, i64>(0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn summary(&self) -> rusqlite::Result<Kept> {
        const RECORDS: &str = "SELECT count(*) FROM records WHERE service = ?1 AND record >= '0'";
        const UNDER_WAY: &str =
            "SELECT count(*) FROM records WHERE service = ?1 AND record < '0' AND record <> ''";
        Ok(Kept {
            service: self.name.to_owned(),
            records: self.number(RECORDS)?,
            under_way: self.number(UNDER_WAY)?,
            each: self.each()?.map(|hands| hands.all()),
            any: self.any()?.all(),
        })
    }

    fn get(&self, mark: &str) -> rusqlite::Result<Option<(Hands, bool)>> {
        let query = "SELECT record, hands, mac FROM records WHERE service = ?1 AND record = ?2";
        self.database
            .prepare_cached(query)?
            .query_row(params![self.name, mark], |row| self.read_here(row))
            .optional()
    }

    /// Who had a hand in each of them, or may have one, as far as anybody knows.
    fn each(&self) -> rusqlite::Result<Option<Hands>> {
        self.joined("SELECT record, hands, mac FROM records WHERE service = ?1 AND record < '0'")
    }

    /// Who had a hand in any of them.
    fn any(&self) -> rusqlite::Result<Hands> {
        let all = self.joined("SELECT record, hands, mac FROM records WHERE service = ?1")?;
        Ok(all.unwrap_or_default())
    }

    fn joined(&self, query: &str) -> rusqlite::Result<Option<Hands>> {
        let mut query = self.database.prepare_cached(query)?;
        let mut all: Option<Hands> = None;
        for hands in query.query_map([self.name], |row| self.read(row))? {
            all = Some(all.unwrap_or_default().join(&hands?));
        }
        Ok(all)
    }

    fn put(&self, mark: &str, hands: &Hands) -> rusqlite::Result<()> {
        const PUT: &str =
            "INSERT OR ABORT INTO records (service, record, hands, mac) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET hands = ?3, mac = ?4";
        let stored = Stored::Stamped {
            hands: hands.clone(),
            wished: self.home.stamp(&hands.wished),
            read: self.home.stamp(&hands.read),
        };
        let text = serde_json::to_string(&stored)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let mac = self.key.mac(PURPOSE, &parts(self.name, mark, &text));
        let row = params![self.name, mark, text, mac.bytes().as_slice()];
        self.database.prepare_cached(PUT)?.execute(row)?;
        Ok(())
    }

    /// As they count here, and whether they were stored here.
    fn seen(&self, stored: Stored) -> (Hands, bool) {
        match stored {
            Stored::Stamped {
                hands,
                wished,
                read,
            } => {
                let seen = Hands {
                    wished: self.home.seen(&hands.wished, &wished),
                    read: self.home.seen_of(self.name, &hands.read, &read),
                };
                (seen, self.home.made(&wished))
            }
            Stored::Bare(hands) => (hands, false),
        }
    }

    /// One that this host has not written may say too little, and may be anybody's.
    fn read(&self, row: &Row<'_>) -> rusqlite::Result<Hands> {
        self.read_here(row).map(|(hands, _)| hands)
    }

    /// Likewise, and whether they were stored here.
    fn read_here(&self, row: &Row<'_>) -> rusqlite::Result<(Hands, bool)> {
        let mark: String = row.get(0)?;
        let text = row.get::<_, String>(1).unwrap_or_default();
        // Whatever else stands there is none.
        let mac = row.get::<_, [u8; 32]>(2).ok().map(Digest::from);
        let parts = parts(self.name, &mark, &text);
        let is_ours = mac.is_some_and(|mac| self.key.made(&mac, PURPOSE, &parts));
        let said = serde_json::from_str(&text).map(|stored| self.seen(stored));
        match (is_ours, said) {
            (true, Ok(seen)) => Ok(seen),
            (_, said) => {
                tracing::warn!(
                    target: "lazaret::records",
                    service = self.name,
                    "a label of `records.db` is not as it was written: its record counts as anybody's"
                );
                let (mut hands, here) = said.unwrap_or_default();
                hands.wished = hands.wished.with(Source::imported());
                Ok((hands, here))
            }
        }
    }
}

/// An id as the database knows it: of any length, and told to nobody.
fn mark(id: &str) -> String {
    match id {
        EACH => EACH.to_owned(),
        id => Digest::of(plain(id).as_bytes()).to_string(),
    }
}

/// A write that is under way, beside what is known of each: before all digits, of which the digests of ids are made.
fn under_way(write: &Digest) -> String {
    format!("!{write}")
}

/// What a label's authentication is of.
fn parts<'a>(service: &'a str, mark: &'a str, hands: &'a str) -> [&'a [u8]; 3] {
    [service.as_bytes(), mark.as_bytes(), hands.as_bytes()]
}

impl std::fmt::Debug for RecordLabels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("RecordLabels")
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests are whoever changes the labels"
)]
mod tests {
    use super::*;
    use crate::rules::flow::class::{Class, Classes, Integrity, Secrecy};
    use crate::words::label::Sort;

    fn open(path: &Path) -> RecordLabels {
        RecordLabels::open(path, (HostKey::new(&[7; 32]), Home::default())).unwrap()
    }

    fn by(host: &str) -> Hands {
        Hands {
            wished: Label::of(Source::new(Sort::Web, host)),
            read: Label::default(),
        }
    }

    fn touch(labels: &RecordLabels, service: &str, ids: &[&str], hands: &Hands) {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        let asker = Asker::default();
        labels
            .touch_now(service, (Write::Named, &ids), (hands, &asker))
            .unwrap();
    }

    fn step(labels: &RecordLabels, write: Write, hands: &Hands) {
        let (none, asker) = (BTreeSet::new(), Asker::default());
        labels
            .touch_now("cal", (write, &none), (hands, &asker))
            .unwrap();
    }

    fn of(labels: &RecordLabels, service: &str, ids: &[&str]) -> BTreeMap<String, Hands> {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        let database = labels.book.lock();
        labels.shelf(&database, service).of(ids).unwrap()
    }

    fn one(labels: &RecordLabels, id: &str) -> Option<Hands> {
        of(labels, "cal", &[id]).remove(id)
    }

    #[test]
    fn a_label_is_kept_by_service_and_id_and_never_shrinks() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("records.db");
        let labels = open(&path);
        touch(&labels, "cal", &["e7", "e8"], &by("one"));
        touch(&labels, "cal", &["e7"], &by("two"));
        drop(labels);
        let labels = open(&path);
        assert_eq!(one(&labels, "e7"), Some(by("one").join(&by("two"))));
        assert_eq!(one(&labels, " E8"), Some(by("one")));
        assert_eq!(one(&labels, "e9"), None);
        assert!(of(&labels, "mail", &["e7"]).is_empty());
    }

    #[test]
    fn what_is_known_of_each_is_said_beside_each() {
        let labels = RecordLabels::in_memory((HostKey::new(&[7; 32]), Home::default())).unwrap();
        touch(&labels, "cal", &["e7"], &by("one"));
        touch(&labels, "cal", &[EACH], &by("two"));
        let found = of(&labels, "cal", &["e7", "e9"]);
        let expected = [(EACH, by("two")), ("e7", by("one"))];
        assert_eq!(
            found,
            expected.map(|(id, hands)| (id.to_owned(), hands)).into()
        );
        assert!(of(&labels, "mail", &["e9"]).is_empty());
    }

    #[test]
    fn what_is_under_way_may_be_any_record_until_it_has_ended() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("records.db");
        let labels = open(&path);
        let [first, second] = [&b"first"[..], b"second"].map(Digest::of);
        let each = |labels: &RecordLabels| of(labels, "cal", &["e9"]).remove(EACH);
        step(&labels, Write::Begins(first), &by("one"));
        step(&labels, Write::Begins(second), &by("two"));
        assert_eq!(each(&labels), Some(by("one").join(&by("two"))));
        assert!(of(&labels, "mail", &["e9"]).is_empty());
        step(&labels, Write::Ends(first), &by("one"));
        drop(labels);
        // Its host is gone, and nobody will learn what it has written.
        let labels = open(&path);
        assert_eq!(each(&labels), Some(by("two")));
        step(&labels, Write::Ends(second), &by("two"));
        assert_eq!(each(&labels), None);
    }

    #[test]
    fn a_row_that_this_host_has_not_written_is_anybodys() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("records.db");
        let labels = open(&path);
        touch(
            &labels,
            "cal",
            &["text", "none", "broken", "moved"],
            &by("one"),
        );
        let theirs = Connection::open(&path).unwrap();
        for (change, id) in [
            (
                "UPDATE records SET hands = '{\"wished\":[],\"read\":[]}' WHERE record = ?1",
                "text",
            ),
            ("UPDATE records SET mac = NULL WHERE record = ?1", "none"),
            (
                "UPDATE records SET hands = 'x', mac = x'00' WHERE record = ?1",
                "broken",
            ),
            (
                "UPDATE records SET service = 'mail' WHERE record = ?1",
                "moved",
            ),
        ] {
            assert_eq!(theirs.execute(change, [mark(id)]).unwrap(), 1, "{change}");
        }
        let anybodys = Source::imported();
        let is_theirs = |hands: Option<&Hands>| {
            hands.is_some_and(|hands| hands.wished.covers(&Label::of(anybodys.clone())))
        };
        for id in ["text", "none", "broken"] {
            assert!(is_theirs(one(&labels, id).as_ref()), "{id}");
        }
        assert!(is_theirs(of(&labels, "mail", &["moved"]).get("moved")));
        // What is written to it later does not wash it.
        touch(&labels, "cal", &["none"], &by("two"));
        assert!(is_theirs(one(&labels, "none").as_ref()));
        let other = RecordLabels::open(&path, (HostKey::new(&[8; 32]), Home::default())).unwrap();
        assert!(is_theirs(one(&other, "none").as_ref()));
    }

    #[test]
    fn a_record_is_worth_no_more_in_another_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.db");
        let of_home = |name: &str, servers: &[&str]| {
            let said = servers.iter().map(|name| {
                let trusted = Class {
                    integrity: Integrity::Trusted,
                    secrecy: Secrecy::Private,
                };
                (format!("web:{name}"), trusted)
            });
            let classes = Classes {
                said: said.collect(),
                ..Classes::default()
            };
            let with = (HostKey::new(&[7; 32]), Home::new(name, classes));
            RecordLabels::open(&path, with).unwrap()
        };
        touch(&of_home("a", &[]), "cal", &["e7"], &by("one"));
        let trusting = |name: &str| one(&of_home(name, &["one"]), "e7").unwrap().all();
        assert_eq!(trusting("a"), by("one").all());
        let there = Label::of(Source::of_another_workspace());
        assert_eq!(trusting("b"), by("one").all().join(&there));
        // Whoever writes it under the same names, where they are worth less, has had a hand in it too.
        touch(&of_home("c", &["one"]), "cal", &["e8"], &by("one"));
        touch(&of_home("d", &[]), "cal", &["e8"], &by("one"));
        let read = one(&of_home("c", &["one"]), "e8").unwrap().all();
        assert_eq!(read, by("one").all().join(&there));
    }

    #[test]
    fn past_the_bound_what_is_known_of_one_is_said_of_each() {
        let labels = RecordLabels::in_memory((HostKey::new(&[7; 32]), Home::default())).unwrap();
        touch(&labels, "cal", &["e7"], &by("one"));
        let many: Vec<String> = (0..=RECORDS_PER_CALL).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        // Too many to look each one up.
        assert_eq!(of(&labels, "cal", &many).get(EACH), Some(&by("one")));
        touch(&labels, "cal", &many, &by("two"));
        let found = of(&labels, "cal", &["never seen"]);
        assert_eq!(found.get(EACH), Some(&by("one").join(&by("two"))));
        let database = labels.book.lock();
        assert_eq!(labels.shelf(&database, "cal").count().unwrap(), 1);
    }

    #[tokio::test]
    async fn what_the_user_alone_wrote_needs_no_label() {
        let labels = RecordLabels::in_memory((HostKey::new(&[7; 32]), Home::default())).unwrap();
        let mine = Hands {
            wished: Label::of(Source::user()),
            read: Label::of(Source::new(Sort::Operator, "")),
        };
        let ids = || BTreeSet::from(["e7".to_owned()]);
        let write = Write::Begins(Digest::of(b"a write"));
        labels.touch("cal", (write, ids()), mine).await.unwrap();
        assert!(labels.of("cal", ids()).await.unwrap().is_empty());
        let (named, by) = ((Write::Named, ids()), by("one"));
        labels.touch("cal", named, by).await.unwrap();
        assert_eq!(labels.of("cal", ids()).await.unwrap().len(), 1);
    }
}
