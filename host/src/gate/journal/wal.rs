//! The write-ahead log, which each of our databases has.

use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row};

use crate::words::clock::Deadline;
use crate::words::limits::JOURNAL_WAIT_MS;

/// How long whoever was turned down lets the other one go on.
const MOMENT: Duration = Duration::from_millis(2);

/// Switches a database to its log. Two connections that do so at once would wait for one another, so SQLite turns one of them
/// down, however long it may wait for locks: it tries again.
pub(crate) fn begin(database: &Connection) -> rusqlite::Result<()> {
    // Where it cannot be had, SQLite says so in its answer alone.
    let set = |row: &Row<'_>| row.get::<_, String>(0);
    let until = Deadline::after_ms(JOURNAL_WAIT_MS);
    loop {
        match database.pragma_update_and_check(None, "journal_mode", "WAL", set) {
            Ok(mode) if ["wal", "memory"].contains(&mode.as_str()) => return Ok(()),
            Ok(mode) => return Err(without(&mode)),
            Err(error) if is_busy(&error) && !until.rest().is_zero() => {
                thread::park_timeout(MOMENT);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn without(mode: &str) -> rusqlite::Error {
    let failed = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
    let what = format!("the database cannot have a log; its mode is `{mode}`");
    rusqlite::Error::SqliteFailure(failed, Some(what))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests are whoever opens a database"
)]
mod tests {
    use super::*;

    #[test]
    fn many_that_begin_at_once_all_begin() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.db");
        let begun = |_| {
            let path = path.clone();
            thread::spawn(move || {
                let database = Connection::open(path).unwrap();
                database.busy_timeout(Duration::from_secs(60)).unwrap();
                begin(&database)?;
                database.execute_batch("CREATE TABLE IF NOT EXISTS one (a)")
            })
        };
        let all: Vec<_> = (0..16).map(begun).collect();
        for one in all {
            one.join().unwrap().unwrap();
        }
    }
}
