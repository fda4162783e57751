//! A book of labels: a database in the user's own state folder, of what influenced something that outlives its run.
//!
//! Without it nobody knows who wrote what. So whatever cannot be read from it or written to it stops whoever asks.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::Connection;

use crate::gate::journal::{failing, planted, wal};
use crate::words::error::{Code, Error, Result};
use crate::words::limits::JOURNAL_WAIT_MS;
use crate::words::lock::lock;

/// One book, open.
#[derive(Clone)]
pub(super) struct Book {
    database: Arc<Mutex<Connection>>,
    path: Arc<Path>,
    /// Whose labels it holds, in words.
    of: &'static str,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the labels of what is kept are databases of their own"
)]
impl Book {
    /// Opens the book at `path`, or begins it with these tables.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub(super) fn open(path: &Path, of: &'static str, tables: &str) -> Result<Self> {
        Self::begin(Connection::open(path), (path, of), tables)
    }

    /// A book that is forgotten with the process.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(super) fn in_memory(of: &'static str, tables: &str) -> Result<Self> {
        Self::begin(
            Connection::open_in_memory(),
            (Path::new("labels"), of),
            tables,
        )
    }

    fn begin(
        database: rusqlite::Result<Connection>,
        (path, of): (&Path, &'static str),
        tables: &str,
    ) -> Result<Self> {
        let started = database.and_then(|database| {
            database.busy_timeout(Duration::from_millis(JOURNAL_WAIT_MS))?;
            planted::disarm(&database)?;
            wal::begin(&database)?;
            database.pragma_update(None, "synchronous", "FULL")?;
            database.execute_batch(tables)?;
            Ok(database)
        });
        let database = started.map_err(|error| explain(&error, path, of))?;
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
            path: path.into(),
            of,
        })
    }

    /// The database, for one look or change.
    pub(super) fn lock(&self) -> MutexGuard<'_, Connection> {
        lock(&self.database)
    }

    /// A failure of it, in our words.
    pub(super) fn failed(&self, error: &rusqlite::Error) -> Error {
        explain(error, &self.path, self.of)
    }
}

fn explain(error: &rusqlite::Error, path: &Path, of: &str) -> Error {
    failing::explain(error, path, |shown| {
        let what = format!("`{shown}` is damaged, or holds no labels of {of}");
        Error::new(Code::Corrupt, what)
            .hint("without them nobody knows who wrote what: bring it back from a copy")
            .hint("or move it away, once you have looked through what tools have written there")
    })
}
