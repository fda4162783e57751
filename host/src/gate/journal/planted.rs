//! Databases that came with somebody's files, perhaps: what is in a workspace's folder is not to be believed for
//! being there, and must not do anything by itself.

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
