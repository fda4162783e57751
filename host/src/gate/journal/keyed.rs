//! Calls that their clients have named (A-18b): which runs began under a key, found by an index over their first records.

use rusqlite::{Connection, Row, params};

use super::Journal;
use super::store::explain_read;
use crate::words::error::Result;
use crate::words::id::RunId;
use crate::words::limits::KEYED_LOOKED_AT;

/// The index; the question below says the same conditions, or it is not used.
pub(super) const INDEX: &str = "CREATE INDEX IF NOT EXISTS keyed ON records (
    json_extract(event, '$.narrowed.call.key'), at
) WHERE seq = 0 AND json_valid(event) AND instr(event, '\"call\":{\"key\":\"') > 0";

const RUNS: &str = "SELECT run FROM records
    WHERE seq = 0 AND json_valid(event) AND instr(event, '\"call\":{\"key\":\"') > 0
    AND json_extract(event, '$.narrowed.call.key') = ?1 AND at >= ?2
    AND run NOT IN (SELECT run FROM imports) ORDER BY at, run LIMIT ?3";

impl Journal {
    /// The runs that began here under this key since then, oldest first, up to [`KEYED_LOOKED_AT`] of them.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn keyed(&self, key: &str, since: u64) -> Result<Vec<RunId>> {
        let key = key.to_owned();
        self.ask(move |database, _| runs(database, &key, since))
            .await
    }
}

fn runs(database: &Connection, key: &str, since: u64) -> Result<Vec<RunId>> {
    let mut query = database.prepare_cached(RUNS).map_err(explain_read)?;
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let run = |row: &Row<'_>| row.get::<_, String>(0).map(|run| RunId::known(&run));
    let found = query.query_map(params![key, since, KEYED_LOOKED_AT], run);
    let found = found.map_err(explain_read)?;
    found.collect::<rusqlite::Result<_>>().map_err(explain_read)
}
