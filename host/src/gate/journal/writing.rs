//! A transaction that writes. Its beginning and end are compiled once, and not for each batch.

use std::ops::Deref;

use rusqlite::Connection;

/// A transaction that has begun to write. What is not committed is undone.
pub(super) struct Writing<'a>(&'a Connection);

impl<'a> Writing<'a> {
    /// Begins at once, so that no other process begins meanwhile.
    pub(super) fn begin(database: &'a Connection) -> rusqlite::Result<Self> {
        database.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(database))
    }

    pub(super) fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Deref for Writing<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        // A commit that failed may have left it open, and then nothing else could begin.
        if !self.0.is_autocommit() {
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(database: &Connection) -> i64 {
        let count = |row: &rusqlite::Row<'_>| row.get(0);
        database
            .query_row("SELECT count(*) FROM a", [], count)
            .unwrap()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a database of the test's own")]
    fn what_is_not_committed_is_undone() {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch("CREATE TABLE a (b)").unwrap();
        let write = |writing: &Connection| writing.execute("INSERT INTO a VALUES (1)", []).unwrap();
        let writing = Writing::begin(&database).unwrap();
        write(&writing);
        assert!(Writing::begin(&database).is_err(), "one at a time");
        drop(writing);
        assert_eq!(count(&database), 0);
        let writing = Writing::begin(&database).unwrap();
        write(&writing);
        writing.commit().unwrap();
        assert_eq!(count(&database), 1);
        assert!(database.is_autocommit());
    }
}
