//! Databases that came with somebody's files, perhaps: what is in a workspace's folder is not to be believed for
//! being there, and must not do anything by itself.

use std::collections::HashSet;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// What is in the database's schema is not run, whatever else looks at it.
pub(crate) fn disarm(database: &Connection) -> rusqlite::Result<()> {
    database.pragma_update(None, "trusted_schema", "OFF")?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    Ok(())
}

/// Whether it could act on being read or written to: it has anything but plain tables and indexes, whatever it says that
/// they are.
pub(crate) fn has_code(database: &Connection) -> rusqlite::Result<bool> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR NOT (sql IS NULL
        OR sql LIKE 'CREATE TABLE %' OR sql LIKE 'CREATE INDEX %' OR sql LIKE 'CREATE UNIQUE INDEX %')";
    database
        .query_row(query, [], |row| row.get::<_, i64>(0))
        .map(|count| count > 0)
}

/// Whether every table is one of ours, to the letter, and no index may say what is written. A constraint of a table can
/// drop a row that is written, or older ones for it, and nobody is told (`ON CONFLICT IGNORE`, and a column that is
/// generated from what the row says). `ours` is the statements that make them.
pub(crate) fn is_ours(database: &Connection, ours: &[&str]) -> rusqlite::Result<bool> {
    let statements = ours.iter().flat_map(|text| text.split(';'));
    let ours: HashSet<String> = statements.map(without_blanks).collect();
    let mut query = database.prepare("SELECT type, coalesce(sql, '') FROM sqlite_schema")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (sort, made): (String, String) = (row.get(0)?, row.get(1)?);
        // Newer ones may have more indexes, which hold nothing of their own.
        let is_index = sort == "index" && made.starts_with("CREATE INDEX ");
        if !is_index && !ours.contains(&without_blanks(&made)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A statement as it is compared: a column that was added later stands on a line of its own.
fn without_blanks(statement: &str) -> String {
    let statement = statement.replace("IF NOT EXISTS ", "");
    statement.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::super::store;
    use crate::words::error::Code;

    /// What opening a journal says that somebody has changed so.
    fn opened(change: &str) -> Option<Code> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let journal = store::open(&path).unwrap();
        journal.execute_batch(change).expect(change);
        drop(journal);
        store::open(&path).err().map(|error| error.code())
    }

    /// The table of records, made anew with one more column that drops rows, or older ones for them.
    fn records_with(column: &str) -> String {
        format!(
            "DROP TABLE records; CREATE TABLE records (
                run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, parent INTEGER NOT NULL,
                event TEXT NOT NULL, chain BLOB, {column}, PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;
            CREATE INDEX begun ON records (at, run) WHERE seq = 0"
        )
    }

    #[test]
    fn tables_that_say_what_becomes_of_rows_are_somebody_elses() {
        assert_eq!(opened(""), None);
        // A newer program may have one more.
        assert_eq!(opened("CREATE INDEX newer ON records (at)"), None);
        for change in [
            records_with("one INTEGER NOT NULL DEFAULT 1 UNIQUE ON CONFLICT IGNORE"),
            records_with(
                "h TEXT GENERATED ALWAYS AS (substr(event, 1, 20)) STORED UNIQUE ON CONFLICT REPLACE",
            ),
            "CREATE UNIQUE INDEX one ON contents (text)".to_owned(),
            "CREATE TABLE more (a)".to_owned(),
            "DROP TABLE imports; CREATE TABLE imports (run TEXT NOT NULL PRIMARY KEY ON CONFLICT IGNORE,
                authentic INTEGER NOT NULL) STRICT, WITHOUT ROWID".to_owned(),
        ] {
            assert_eq!(opened(&change), Some(Code::Corrupt), "{change}");
        }
    }
}
