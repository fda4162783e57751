//! Notes: short texts that outlive a run, one shelf for each plugin, each with its label.
//!
//! They lie in a workspace's folder, where anybody may have put them who writes the workspace's files. So each has an
//! authentication of itself and its label; one that this host has not written may be anybody's, whatever its label says.

mod gaps;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use self::gaps::GAPS;
use super::aside::{Asker, aside};
use crate::gate::journal::{failing, planted, wal};
use crate::gate::{Performed, Permit};
use crate::rules::keep::{Keep, KeepWish};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Spent};
use crate::words::id::{Digest, shown};
use crate::words::key::HostKey;
use crate::words::label::{Label, Source};
use crate::words::limits::{JOURNAL_WAIT_MS, NOTES_LISTED, NOTES_PER_SHELF, NOTES_SHELF_BYTES};
use crate::words::lock::lock;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS notes (
    shelf TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, label TEXT NOT NULL, written INTEGER NOT NULL,
    mac BLOB, PRIMARY KEY (shelf, key)) STRICT, WITHOUT ROWID";
/// Notes from before there was an authentication have none, and are as anybody's.
const WITH_MAC: &str = "ALTER TABLE notes ADD COLUMN mac BLOB";
/// All notes of a shelf, the newest first.
const NEWEST: &str = "SELECT key, text, label, written, mac FROM notes
    WHERE shelf = ?1 ORDER BY written DESC, key";
/// What the key is used for.
const PURPOSE: &str = "note";

/// All shelves.
#[derive(Clone)]
pub struct Notes {
    database: Arc<Mutex<Connection>>,
    path: Arc<Path>,
    clock: Clock,
    key: HostKey,
}

/// A shelf at work.
struct Shelf<'a> {
    database: &'a Connection,
    path: &'a Path,
    key: &'a HostKey,
    name: &'a str,
}

/// What was found.
#[derive(Debug)]
struct Found {
    notes: Result<Vec<Note>>,
    /// Who had a hand in that it is just this: in what was looked at and is not among it, and in that there is no more.
    beside: Label,
}

/// One note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its name on the shelf.
    pub key: String,
    /// What it says.
    pub text: String,
    /// Milliseconds since 1970.
    pub written_ms: u64,
    /// What influenced it when it was written.
    pub label: Label,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the notes edge owns its database"
)]
impl Notes {
    /// Opens the notes at `path`, or begins them. `key` authenticates what is written.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn open(path: &Path, clock: Clock, key: HostKey) -> Result<Self> {
        let failed = |error: rusqlite::Error| explain(&error, path);
        let database = Connection::open(path).map_err(failed)?;
        let foreign = |with: &str| {
            let what = format!("`{}` has {with}, which no notes have", path.display());
            Error::new(Code::Corrupt, what).hint("move it away; somebody else made it")
        };
        if planted::has_code(&database).map_err(failed)? {
            return Err(foreign("triggers or views"));
        }
        let notes = Self::start(database, path, clock, key).map_err(failed)?;
        let is_ours = planted::is_ours(&lock(&notes.database), &[TABLES, GAPS]);
        match is_ours.map_err(failed)? {
            true => Ok(notes),
            false => Err(foreign("tables of its own")),
        }
    }

    /// Notes that are forgotten with the process.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn in_memory(clock: Clock, key: HostKey) -> Result<Self> {
        let path = Path::new("notes");
        Connection::open_in_memory()
            .and_then(|database| Self::start(database, path, clock, key))
            .map_err(|error| explain(&error, path))
    }

    fn start(
        mut database: Connection,
        path: &Path,
        clock: Clock,
        key: HostKey,
    ) -> rusqlite::Result<Self> {
        database.busy_timeout(Duration::from_millis(JOURNAL_WAIT_MS))?;
        planted::disarm(&database)?;
        wal::begin(&database)?;
        if !is_begun(&database)? {
            // Two processes may come here at once; the second finds it done.
            let creation = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            creation.execute_batch(TABLES)?;
            if !has_mac(&creation)? {
                creation.execute_batch(WITH_MAC)?;
            }
            creation.execute_batch(GAPS)?;
            creation.commit()?;
        }
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
            path: path.into(),
            clock,
            key,
        })
    }

    /// Does what the permit says. Notes that were read bring their labels along, found or not, and so does what is missing.
    pub(crate) async fn perform(&self, permit: Permit<Keep>) -> Performed<Vec<Note>> {
        let began = Clock::instant();
        let (keep, ()) = permit.redeem();
        let (notes, shelf, sought) = (self.clone(), keep.shelf.clone(), keep.sought());
        let work = aside(move |asker| notes.perform_now(&keep, asker)).await;
        let work = work.unwrap_or_else(|| Err(Error::bug("the notes edge panicked")));
        let (result, beside) = match work {
            Ok(found) => (found.notes, found.beside),
            Err(error) => (Err(error), Label::default()),
        };
        let found = result.as_deref().unwrap_or_default();
        let label = found
            .iter()
            .fold(beside, |label, note| label.join(&note.label));
        let label = found.iter().fold(label, |label, note| {
            label.with(Keep::source(&shelf, &note.key))
        });
        // That there is none says something of the shelf as well.
        let label = match sought {
            Some(source) if found.is_empty() => label.with(source),
            Some(_) | None => label,
        };
        let bytes = found.iter().map(|note| note.text.len()).sum();
        Performed {
            content: Content::Size { bytes },
            ..Performed::of(result, label, Spent::since(began))
        }
    }

    fn perform_now(&self, keep: &Keep, asker: &Asker) -> Result<Found> {
        let mut database = lock(&self.database);
        let failed = |error: rusqlite::Error| explain(&error, &self.path);
        let changes = match keep.wish {
            KeepWish::Put { .. } | KeepWish::Delete { .. } => TransactionBehavior::Immediate,
            KeepWish::Get | KeepWish::List { .. } | KeepWish::Search { .. } => {
                TransactionBehavior::Deferred
            }
        };
        let work = database
            .transaction_with_behavior(changes)
            .map_err(failed)?;
        // Another process may have held the database for longer than the asker waits.
        asker.check()?;
        let shelf = Shelf {
            database: &work,
            path: &self.path,
            key: &self.key,
            name: &keep.shelf,
        };
        let found = shelf.perform(keep, &self.clock)?;
        work.commit().map_err(failed)?;
        Ok(found)
    }
}

impl Shelf<'_> {
    fn perform(&self, keep: &Keep, clock: &Clock) -> Result<Found> {
        let failed = |error: rusqlite::Error| explain(&error, self.path);
        let key = &keep.key;
        match &keep.wish {
            KeepWish::Put { text, label } => {
                let now = i64::try_from(clock.now_ms()).unwrap_or(i64::MAX);
                match self.put(key, (text, label), now) {
                    // All that stands there takes the room.
                    Err(full) if full.code() == Code::TooBig => {
                        let beside = self.label_of_all().map_err(failed)?;
                        return Ok(Found::none(full, beside));
                    }
                    put => put?,
                }
                // It is there whatever was taken away.
                self.fill_gap(key).map_err(failed)?;
                Ok(Found::of(Vec::new()))
            }
            KeepWish::Get => match self.get(key).map_err(failed)? {
                Some(note) => Ok(Found::of(vec![note])),
                None => self.missing(key).map_err(failed),
            },
            KeepWish::List { limit } => {
                let found = self.list(key, *limit).map_err(failed)?;
                let gaps = self.gaps_in(key).map_err(failed)?;
                Ok(Found::of(found).with(gaps))
            }
            KeepWish::Search { limit } => {
                let (found, others) = self.search(key, *limit).map_err(failed)?;
                let gaps = self.gaps_in("").map_err(failed)?;
                Ok(Found::of(found).with(others.join(&gaps)))
            }
            KeepWish::Delete { label } => match self.get(key).map_err(failed)? {
                None => self.missing(key).map_err(failed),
                Some(gone) => {
                    self.delete(key).map_err(failed)?;
                    self.leave_gap(key, label).map_err(failed)?;
                    // That there was one is told by this.
                    Ok(Found::of(Vec::new()).with(gone.label))
                }
            },
        }
    }

    fn missing(&self, key: &str) -> rusqlite::Result<Found> {
        let missing = Error::not_found(format!("note `{}`", shown(key)));
        Ok(Found::none(missing, self.gap(key)?))
    }

    fn put(&self, key: &str, (text, label): (&str, &Label), now: i64) -> Result<()> {
        const PUT: &str =
            "INSERT OR ABORT INTO notes (shelf, key, text, label, written, mac) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT DO UPDATE SET text = ?3, label = ?4, written = ?5, mac = ?6";
        let label = serde_json::to_string(label)
            .map_err(|error| Error::bug("a label is no JSON").because(error))?;
        self.check_room(key, &[key, text, &label])?;
        let written = now.to_le_bytes();
        let mac = self
            .key
            .mac(PURPOSE, &parts(self.name, (key, text), &label, &written));
        self.database
            .execute(
                PUT,
                params![self.name, key, text, label, now, mac.bytes().as_slice()],
            )
            .map_err(|error| explain(&error, self.path))?;
        Ok(())
    }

    /// Refuses what would not fit beside the other notes of the shelf.
    fn check_room(&self, key: &str, note: &[&str]) -> Result<()> {
        const OTHERS: &str = "SELECT count(*),
            coalesce(sum(octet_length(key) + octet_length(text) + octet_length(label)), 0)
            FROM notes WHERE shelf = ?1 AND key <> ?2";
        let (count, bytes): (i64, i64) = self
            .database
            .query_row(OTHERS, params![self.name, key], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map_err(|error| explain(&error, self.path))?;
        let full = |what: String| {
            let what = format!("the shelf of `{}` is full: {what}", self.name);
            Err(Error::new(Code::TooBig, what).hint("remove notes that nobody needs"))
        };
        if u64::try_from(count).unwrap_or(0) >= NOTES_PER_SHELF {
            return full(format!("{NOTES_PER_SHELF} notes"));
        }
        let more: usize = note.iter().map(|part| part.len()).sum();
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        let sum = u64::try_from(bytes).unwrap_or(0).saturating_add(more);
        if sum > NOTES_SHELF_BYTES {
            return full(format!(
                "it would hold {sum} bytes, with keys and labels, and at most {NOTES_SHELF_BYTES} may be"
            ));
        }
        Ok(())
    }

    fn get(&self, key: &str) -> rusqlite::Result<Option<Note>> {
        let query =
            "SELECT key, text, label, written, mac FROM notes WHERE shelf = ?1 AND key = ?2";
        self.database
            .query_row(query, params![self.name, key], |row| self.read(row))
            .optional()
    }

    fn list(&self, start: &str, limit: usize) -> rusqlite::Result<Vec<Note>> {
        let query = "SELECT key, text, label, written, mac FROM notes
            WHERE shelf = ?1 AND substr(key, 1, length(?2)) = ?2 ORDER BY key LIMIT ?3";
        let limit = i64::try_from(limit.min(NOTES_LISTED)).unwrap_or(0);
        self.database
            .prepare_cached(query)?
            .query_map(params![self.name, start, limit], |row| self.read(row))?
            .collect()
    }

    /// What has all these words, and who had a hand in what was read for that and has not.
    fn search(&self, words: &str, limit: usize) -> rusqlite::Result<(Vec<Note>, Label)> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let (mut found, mut others) = (Vec::new(), Label::default());
        let mut query = self.database.prepare_cached(NEWEST)?;
        for note in query.query_map(params![self.name], |row| self.read(row))? {
            let note = note?;
            let text = format!("{}\n{}", note.key, note.text).to_lowercase();
            if words.iter().all(|word| text.contains(word.as_str())) {
                found.push(note);
                if found.len() >= limit.min(NOTES_LISTED) {
                    break;
                }
            } else {
                others = others.join(&note.label);
            }
        }
        Ok((found, others))
    }

    /// Who had a hand in anything that stands on the shelf.
    fn label_of_all(&self) -> rusqlite::Result<Label> {
        let mut all = Label::default();
        let mut query = self.database.prepare_cached(NEWEST)?;
        for note in query.query_map(params![self.name], |row| self.read(row))? {
            all = all.join(&note?.label);
        }
        Ok(all)
    }

    fn delete(&self, key: &str) -> rusqlite::Result<()> {
        let query = "DELETE FROM notes WHERE shelf = ?1 AND key = ?2";
        let deleted = self.database.execute(query, params![self.name, key]);
        deleted.map(drop)
    }

    /// A note whose label cannot be read is not read: no label, no note. The label of one that this host has not written
    /// on this shelf says too little.
    fn read(&self, row: &Row<'_>) -> rusqlite::Result<Note> {
        let (key, text, said): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let label: Label = serde_json::from_str(&said).map_err(|error| {
            let kind = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(2, kind, Box::new(error))
        })?;
        let written: i64 = row.get(3)?;
        let at = written.to_le_bytes();
        let parts = parts(self.name, (&key, &text), &said, &at);
        // Whatever else stands there is none.
        let mac = row.get::<_, [u8; 32]>(4).ok().map(Digest::from);
        let label = match mac {
            Some(mac) if self.key.made(&mac, PURPOSE, &parts) => label,
            Some(_) | None => label.with(Source::imported()),
        };
        Ok(Note {
            key,
            text,
            written_ms: u64::try_from(written).unwrap_or(0),
            label,
        })
    }
}

impl Found {
    fn of(notes: Vec<Note>) -> Self {
        Self {
            notes: Ok(notes),
            beside: Label::default(),
        }
    }

    fn none(why: Error, beside: Label) -> Self {
        Self {
            notes: Err(why),
            beside,
        }
    }

    fn with(self, beside: Label) -> Self {
        Self { beside, ..self }
    }
}

/// Whether nothing is left to be made: whoever only looks then waits for nobody.
fn is_begun(database: &Connection) -> rusqlite::Result<bool> {
    Ok(has_mac(database)? && gaps::has_table(database)?)
}

fn has_mac(database: &Connection) -> rusqlite::Result<bool> {
    let query = "SELECT count(*) FROM pragma_table_info('notes') WHERE name = 'mac'";
    database
        .query_row(query, [], |row| row.get::<_, i64>(0))
        .map(|count| count > 0)
}

/// What a note's authentication is of.
fn parts<'a>(
    shelf: &'a str,
    (key, text): (&'a str, &'a str),
    label: &'a str,
    written: &'a [u8],
) -> [&'a [u8]; 5] {
    [
        shelf.as_bytes(),
        key.as_bytes(),
        text.as_bytes(),
        label.as_bytes(),
        written,
    ]
}

fn explain(error: &rusqlite::Error, path: &Path) -> Error {
    failing::explain(error, path, |shown| {
        let what = format!("`{shown}` is damaged, or holds no notes");
        Error::new(Code::Corrupt, what).hint("move it away; lazaret then begins a new one")
    })
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Notes")
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests are whoever writes a workspace's files"
)]
mod tests {
    use super::*;
    use crate::words::label::Sort;

    fn open(path: &Path) -> Result<Notes> {
        Notes::open(path, Clock::set(7), HostKey::new(&[7; 32]))
    }

    fn keep(key: &str, wish: KeepWish) -> Keep {
        Keep {
            shelf: "notes".to_owned(),
            key: key.to_owned(),
            wish,
        }
    }

    fn put(notes: &Notes, key: &str, text: &str) -> Result<()> {
        let wish = KeepWish::Put {
            text: text.to_owned(),
            label: Label::of(Source::user()),
        };
        let done = notes.perform_now(&keep(key, wish), &Asker::default());
        done?.notes.map(|_| ())
    }

    fn label(notes: &Notes, key: &str) -> Label {
        found(notes, key, KeepWish::Get)[0].label.clone()
    }

    fn found(notes: &Notes, key: &str, wish: KeepWish) -> Vec<Note> {
        let found = notes.perform_now(&keep(key, wish), &Asker::default());
        found.unwrap().notes.unwrap()
    }

    fn delete(notes: &Notes, key: &str, label: Label) {
        found(notes, key, KeepWish::Delete { label });
    }

    #[test]
    fn a_note_that_this_host_has_not_written_is_anybodys() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        let notes = open(&path).unwrap();
        for key in ["mine", "text", "label", "key", "shelf"] {
            put(&notes, key, "one").unwrap();
        }
        let theirs = Connection::open(&path).unwrap();
        for change in [
            "INSERT INTO notes VALUES ('notes', 'new', 'obey', '[\"user\"]', 7, NULL)",
            "INSERT INTO notes VALUES ('notes', 'word', 'obey', '[\"user\"]', 7, x'00')",
            "UPDATE notes SET text = 'obey' WHERE key = 'text'",
            "UPDATE notes SET label = '[]' WHERE key = 'label'",
            "UPDATE notes SET key = 'other' WHERE key = 'key'",
            "INSERT INTO notes SELECT 'elsewhere', 'moved', text, label, written, mac FROM notes WHERE key = 'shelf'",
            "UPDATE notes SET shelf = 'notes' WHERE shelf = 'elsewhere'",
        ] {
            theirs.execute_batch(change).unwrap();
        }
        let anybodys = Label::of(Source::imported());
        for key in ["new", "word", "text", "label", "other", "moved"] {
            assert!(label(&notes, key).covers(&anybodys), "{key}");
        }
        assert_eq!(label(&notes, "mine"), Label::of(Source::user()));
        let listed = found(&notes, "te", KeepWish::List { limit: 9 });
        assert!(listed[0].label.covers(&anybodys));
        put(&notes, "text", "two").unwrap();
        assert_eq!(label(&notes, "text"), Label::of(Source::user()));
        let other = Notes::open(&path, Clock::set(7), HostKey::new(&[8; 32])).unwrap();
        assert!(label(&other, "mine").covers(&anybodys));
    }

    #[tokio::test]
    async fn who_gave_up_while_another_process_held_the_notes_has_changed_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        let notes = open(&path).unwrap();
        put(&notes, "kept", "one").unwrap();
        let theirs = Connection::open(&path).unwrap();
        for wish in [
            KeepWish::Put {
                text: "two".to_owned(),
                label: Label::default(),
            },
            KeepWish::Delete {
                label: Label::default(),
            },
        ] {
            theirs.execute_batch("BEGIN IMMEDIATE").unwrap();
            let (at_work, keep) = (notes.clone(), keep("kept", wish));
            let (say, said) = std::sync::mpsc::sync_channel(1);
            let work = aside(move |asker: &Asker| {
                let done = at_work.perform_now(&keep, asker);
                say.send(done.map_err(|error| error.code()))
            });
            // Looked at once, and given up.
            assert!(futures_util::FutureExt::now_or_never(work).is_none());
            theirs.execute_batch("COMMIT").unwrap();
            assert_eq!(said.recv().unwrap().unwrap_err(), Code::Cancelled);
        }
        assert_eq!(found(&notes, "kept", KeepWish::Get)[0].text, "one");
    }

    #[test]
    fn what_fails_is_said_of_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        std::fs::write(&path, "no database at all, whichever way it is read").unwrap();
        let error = open(&path).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
        assert!(error.message().contains("notes.db` is damaged"), "{error}");
        let error = open(&temp.path().join("none/notes.db")).unwrap_err();
        assert_eq!(error.code(), Code::DiskFailed);
        assert!(
            error
                .message()
                .contains("none/notes.db` cannot be opened for writing"),
            "{error}"
        );
    }

    #[test]
    fn a_shelf_is_full_by_its_bytes_and_has_room_again() {
        let notes = Notes::in_memory(Clock::set(7), HostKey::new(&[7; 32])).unwrap();
        let text = "x".repeat(4 << 20);
        for key in ["a", "b", "c"] {
            put(&notes, key, &text).unwrap();
        }
        let error = put(&notes, "d", &text).unwrap_err();
        assert_eq!(error.code(), Code::TooBig);
        assert!(error.message().contains("16777216 may be"), "{error}");
        // What takes another one's place needs the difference alone.
        put(&notes, "a", &text[1..]).unwrap();
        delete(&notes, "b", Label::of(Source::user()));
        put(&notes, "d", &text).unwrap();
    }

    fn put_by(notes: &Notes, key: &str, text: &str, label: Label) {
        let text = text.to_owned();
        found(notes, key, KeepWish::Put { text, label });
    }

    /// What is told beside the notes that were found, and whether it failed.
    fn told(notes: &Notes, key: &str, wish: KeepWish) -> (bool, Label) {
        let done = notes.perform_now(&keep(key, wish), &Asker::default());
        let done = done.unwrap();
        (done.notes.is_err(), done.beside)
    }

    fn web() -> Label {
        Label::of(Source::new(Sort::Web, "https://a.test"))
    }

    #[test]
    fn a_search_tells_of_all_that_it_has_read_and_nothing_of_what_it_has_not() {
        let notes = Notes::in_memory(Clock::set(7), HostKey::new(&[7; 32])).unwrap();
        put(&notes, "a", "milk").unwrap();
        put_by(&notes, "b", "bread", web());
        for (words, limit, expected) in [
            ("wine", 9, true),
            ("milk", 9, true),
            // It ends with the first, and never comes to the other one.
            ("milk", 1, false),
        ] {
            let (_, beside) = told(&notes, words, KeepWish::Search { limit });
            assert_eq!(beside.covers(&web()), expected, "{words}");
        }
        // What is found brings its own label.
        let (_, beside) = told(&notes, "bread", KeepWish::Search { limit: 9 });
        assert_eq!(beside, Label::of(Source::user()));
    }

    #[test]
    fn a_note_that_is_deleted_tells_who_wrote_it() {
        let notes = Notes::in_memory(Clock::set(7), HostKey::new(&[7; 32])).unwrap();
        put_by(&notes, "theirs", "bread", web());
        put(&notes, "mine", "milk").unwrap();
        for (key, expected) in [("theirs", web()), ("mine", Label::of(Source::user()))] {
            let label = Label::of(Source::user());
            let (failed, beside) = told(&notes, key, KeepWish::Delete { label });
            assert_eq!((failed, beside), (false, expected), "{key}");
        }
        // Who wrote it has no hand in that it is gone.
        let (failed, beside) = told(&notes, "theirs", KeepWish::Get);
        assert_eq!((failed, beside), (true, Label::default()));
    }

    #[test]
    fn that_there_is_no_room_tells_who_has_taken_it() {
        let notes = Notes::in_memory(Clock::set(7), HostKey::new(&[7; 32])).unwrap();
        let wish = |text: &str| KeepWish::Put {
            text: text.to_owned(),
            label: Label::of(Source::user()),
        };
        put_by(&notes, "theirs", &"x".repeat(16_000_000), web());
        let (failed, beside) = told(&notes, "mine", wish("milk"));
        assert_eq!((failed, beside), (false, Label::default()));
        let (failed, beside) = told(&notes, "more", wish(&"x".repeat(1 << 20)));
        assert!(failed);
        assert!(beside.covers(&web()), "{beside}");
        assert_eq!(found(&notes, "mine", KeepWish::Get)[0].text, "milk");
    }

    #[test]
    fn notes_from_before_are_anybodys_until_they_are_written_again() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("notes.db");
        let before = "CREATE TABLE notes (
            shelf TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, label TEXT NOT NULL, written INTEGER NOT NULL,
            PRIMARY KEY (shelf, key)) STRICT, WITHOUT ROWID;
            INSERT INTO notes VALUES ('notes', 'old', 'one', '[\"user\"]', 7)";
        let old = Connection::open(&path).unwrap();
        old.execute_batch(before).unwrap();
        drop(old);
        drop(open(&path).unwrap());
        let notes = open(&path).unwrap();
        assert!(label(&notes, "old").covers(&Label::of(Source::imported())));
        put(&notes, "old", "one").unwrap();
        assert_eq!(label(&notes, "old"), Label::of(Source::user()));
    }

    #[test]
    fn notes_that_could_act_by_themselves_are_refused() {
        let wash =
            "CREATE TRIGGER wash AFTER INSERT ON notes BEGIN UPDATE notes SET label = '[]'; END";
        let hide = "PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET type = 'table' WHERE type = 'trigger'";
        for code in [
            wash.to_owned(),
            format!("{wash}; {hide}"),
            "CREATE VIEW seen AS SELECT * FROM notes".to_owned(),
            // Whatever is put on a shelf is dropped, and nobody is told.
            TABLES
                .replace("CREATE TABLE IF NOT EXISTS notes (", "DROP TABLE notes; CREATE TABLE notes (one INTEGER NOT NULL DEFAULT 1 UNIQUE ON CONFLICT IGNORE,"),
            "CREATE UNIQUE INDEX one ON notes (shelf)".to_owned(),
        ] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("notes.db");
            drop(open(&path).unwrap());
            Connection::open(&path)
                .unwrap()
                .execute_batch(&code)
                .unwrap();
            // What hides as a table SQLite itself takes for damage.
            let code_of = open(&path).unwrap_err().code();
            assert!(
                matches!(code_of, Code::Corrupt | Code::DiskFailed),
                "{code}"
            );
        }
    }
}
