//! Sessions in the journal: which runs began in which, found by an index over their first records. It holds nothing
//! that does not stand there.

use rusqlite::{Connection, Row, params};

use super::Journal;
use super::store::explain_read;
use crate::words::error::Result;
use crate::words::id::RunId;
use crate::words::session::Session;

/// A session, for people who choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Which.
    pub session: Session,
    /// Its runs.
    pub runs: u64,
    /// When the newest of them began, in milliseconds since 1970.
    pub at: u64,
}

/// The index; the questions below say the same conditions, or it is not used.
pub(super) const INDEX: &str = "CREATE INDEX IF NOT EXISTS sessions ON records (
    json_extract(event, '$.session.user'), json_extract(event, '$.session.name'), json_extract(event, '$.session.place')
) WHERE seq = 0 AND json_valid(event) AND instr(event, '\"session\":{') > 0";

const RUNS: &str = "SELECT run FROM records
    WHERE seq = 0 AND json_valid(event) AND instr(event, '\"session\":{') > 0
    AND json_extract(event, '$.session.user') = ?1 AND json_extract(event, '$.session.name') = ?2
    AND json_extract(event, '$.forked') IS NULL AND run NOT IN (SELECT run FROM imports)
    ORDER BY json_extract(event, '$.session.place'), run";

const ALL: &str =
    "SELECT json_extract(event, '$.session.user'), json_extract(event, '$.session.name'),
    count(*), max(at) FROM records
    WHERE seq = 0 AND json_valid(event) AND instr(event, '\"session\":{') > 0
    AND json_extract(event, '$.forked') IS NULL AND run NOT IN (SELECT run FROM imports)
    GROUP BY json_extract(event, '$.session.user'), json_extract(event, '$.session.name')
    ORDER BY max(at) DESC, max(run) DESC LIMIT ?1";

impl Journal {
    /// The runs of a session that began here, in its order; none where it has not begun. A copy of one of them is not
    /// among them.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn session(&self, session: &Session) -> Result<Vec<RunId>> {
        let session = session.clone();
        self.ask(move |database, _| runs(database, &session)).await
    }

    /// The sessions, the newest first.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn sessions(&self, limit: usize) -> Result<Vec<Begun>> {
        self.ask(move |database, _| all(database, limit)).await
    }
}

fn runs(database: &Connection, session: &Session) -> Result<Vec<RunId>> {
    let mut query = database.prepare_cached(RUNS).map_err(explain_read)?;
    let rows = query.query_map(params![session.user(), session.name()], |row| {
        row.get::<_, String>(0)
    });
    let rows = rows.map_err(explain_read)?;
    rows.map(|row| row.map(|run| RunId::known(&run)).map_err(explain_read))
        .collect()
}

fn all(database: &Connection, limit: usize) -> Result<Vec<Begun>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut query = database.prepare_cached(ALL).map_err(explain_read)?;
    let read = |row: &Row<'_>| {
        let number = |at| {
            row.get::<_, i64>(at)
                .map(|value| u64::try_from(value).unwrap_or(0))
        };
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            number(2)?,
            number(3)?,
        ))
    };
    let rows = query
        .query_map(params![limit], read)
        .map_err(explain_read)?;
    let mut sessions = Vec::new();
    for row in rows {
        let (user, name, runs, at) = row.map_err(explain_read)?;
        // What is no name was written by somebody else.
        if let Ok(session) = Session::of(&user, &name) {
            sessions.push(Begun { session, runs, at });
        }
    }
    Ok(sessions)
}
