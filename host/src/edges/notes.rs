//! Notes: short texts that outlive a run, one shelf for each plugin, each with its label.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::gate::{Performed, Permit};
use crate::rules::keep::{Keep, KeepWish};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Spent};
use crate::words::id::shown;
use crate::words::label::Label;
use crate::words::limits::{JOURNAL_WAIT_MS, NOTES_LISTED, NOTES_PER_SHELF};
use crate::words::lock::lock;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS notes (
    shelf TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, label TEXT NOT NULL, written INTEGER NOT NULL,
    PRIMARY KEY (shelf, key)) STRICT, WITHOUT ROWID";

/// All shelves.
#[derive(Clone)]
pub struct Notes {
    database: Arc<Mutex<Connection>>,
    clock: Clock,
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
    /// Opens the notes at `path`, or begins them.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn open(path: &Path, clock: Clock) -> Result<Self> {
        Connection::open(path)
            .and_then(|database| Self::start(database, clock))
            .map_err(|error| explain(&error))
    }

    /// Notes that are forgotten with the process.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn in_memory(clock: Clock) -> Result<Self> {
        Connection::open_in_memory()
            .and_then(|database| Self::start(database, clock))
            .map_err(|error| explain(&error))
    }

    fn start(database: Connection, clock: Clock) -> rusqlite::Result<Self> {
        database.busy_timeout(Duration::from_millis(JOURNAL_WAIT_MS))?;
        database.pragma_update(None, "journal_mode", "WAL")?;
        database.execute_batch(TABLES)?;
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
            clock,
        })
    }

    /// Does what the permit says. Notes that were read bring their labels along.
    pub(crate) async fn perform(&self, permit: Permit<Keep>) -> Performed<Vec<Note>> {
        let began = Clock::instant();
        let (keep, ()) = permit.redeem();
        let notes = self.clone();
        let work = tokio::task::spawn_blocking(move || notes.perform_now(&keep)).await;
        let result = work.unwrap_or_else(|_| Err(Error::bug("the notes edge panicked")));
        let found = result
            .as_ref()
            .map_or(&[][..], |(_, notes)| notes.as_slice());
        let label = found
            .iter()
            .fold(Label::default(), |label, note| label.join(&note.label));
        let label = match &result {
            Ok((shelf, found)) => found.iter().fold(label, |label, note| {
                label.with(Keep::source(shelf, &note.key))
            }),
            Err(_) => label,
        };
        let bytes = found.iter().map(|note| note.text.len()).sum();
        let spent = Spent::since(began);
        Performed {
            result: result.map(|(_, notes)| notes),
            content: Content::Size { bytes },
            label,
            told: None,
            remade: None,
            spent,
        }
    }

    fn perform_now(&self, keep: &Keep) -> Result<(String, Vec<Note>)> {
        let database = lock(&self.database);
        let now = i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX);
        let missing = || Error::not_found(format!("note `{}`", shown(&keep.key)));
        let notes = match &keep.wish {
            KeepWish::Put { text, label } => {
                put(&database, keep, text, label, now).map(|()| Vec::new())
            }
            KeepWish::Get => get(&database, keep)
                .map_err(|error| explain(&error))?
                .map(|note| vec![note])
                .ok_or_else(missing),
            KeepWish::List { limit } => {
                list(&database, keep, *limit).map_err(|error| explain(&error))
            }
            KeepWish::Search { limit } => {
                search(&database, keep, *limit).map_err(|error| explain(&error))
            }
            KeepWish::Delete => {
                let gone = database
                    .execute(
                        "DELETE FROM notes WHERE shelf = ?1 AND key = ?2",
                        params![keep.shelf, keep.key],
                    )
                    .map_err(|error| explain(&error))?;
                if gone == 0 {
                    Err(missing())
                } else {
                    Ok(Vec::new())
                }
            }
        };
        notes.map(|notes| (keep.shelf.clone(), notes))
    }
}

fn put(database: &Connection, keep: &Keep, text: &str, label: &Label, now: i64) -> Result<()> {
    const PUT: &str =
        "INSERT INTO notes (shelf, key, text, label, written) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT DO UPDATE SET text = ?3, label = ?4, written = ?5";
    let others = "SELECT count(*) FROM notes WHERE shelf = ?1 AND key <> ?2";
    let count: i64 = database
        .query_row(others, params![keep.shelf, keep.key], |row| row.get(0))
        .map_err(|error| explain(&error))?;
    if u64::try_from(count).unwrap_or(0) >= NOTES_PER_SHELF {
        return Err(Error::new(
            Code::TooBig,
            format!("the shelf is full: {NOTES_PER_SHELF} notes"),
        ));
    }
    let label = serde_json::to_string(label)
        .map_err(|error| Error::bug("a label is no JSON").because(error))?;
    database
        .execute(PUT, params![keep.shelf, keep.key, text, label, now])
        .map_err(|error| explain(&error))?;
    Ok(())
}

fn get(database: &Connection, keep: &Keep) -> rusqlite::Result<Option<Note>> {
    let query = "SELECT key, text, label, written FROM notes WHERE shelf = ?1 AND key = ?2";
    database
        .query_row(query, params![keep.shelf, keep.key], read_note)
        .optional()
}

fn list(database: &Connection, keep: &Keep, limit: usize) -> rusqlite::Result<Vec<Note>> {
    let query = "SELECT key, text, label, written FROM notes WHERE shelf = ?1 AND substr(key, 1, length(?2)) = ?2
        ORDER BY key LIMIT ?3";
    let limit = i64::try_from(limit.min(NOTES_LISTED)).unwrap_or(0);
    database
        .prepare_cached(query)?
        .query_map(params![keep.shelf, keep.key, limit], read_note)?
        .collect()
}

fn search(database: &Connection, keep: &Keep, limit: usize) -> rusqlite::Result<Vec<Note>> {
    let query =
        "SELECT key, text, label, written FROM notes WHERE shelf = ?1 ORDER BY written DESC, key";
    let words: Vec<String> = keep.key.split_whitespace().map(str::to_lowercase).collect();
    let mut found = Vec::new();
    let mut query = database.prepare_cached(query)?;
    for note in query.query_map(params![keep.shelf], read_note)? {
        let note = note?;
        let text = format!("{}\n{}", note.key, note.text).to_lowercase();
        if words.iter().all(|word| text.contains(word.as_str())) {
            found.push(note);
            if found.len() >= limit.min(NOTES_LISTED) {
                break;
            }
        }
    }
    Ok(found)
}

/// A note whose label cannot be read is not read: no label, no note.
fn read_note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let label: String = row.get(2)?;
    let label = serde_json::from_str(&label).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(error))
    })?;
    let written = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
    Ok(Note {
        key: row.get(0)?,
        text: row.get(1)?,
        written_ms: written,
        label,
    })
}

fn explain(error: &rusqlite::Error) -> Error {
    Error::new(Code::DiskFailed, "the notes cannot be read or written")
        .because(anyhow::anyhow!("{error}"))
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Notes")
    }
}
