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
    AND coalesce(json_extract(event, '$.narrowed.call.client'), '') = ?3
    AND run NOT IN (SELECT run FROM imports) ORDER BY at, run LIMIT ?4";

impl Journal {
    /// The runs that this client began here under this key since then, oldest first, up to [`KEYED_LOOKED_AT`] of them. Those
    /// of other clients are not among them: a key can be guessed, and nobody's is crowded out.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn keyed(&self, (client, key): (&str, &str), since: u64) -> Result<Vec<RunId>> {
        let of = (client.to_owned(), key.to_owned());
        self.ask(move |database, _| runs(database, (&of.0, &of.1), since))
            .await
    }
}

fn runs(database: &Connection, (client, key): (&str, &str), since: u64) -> Result<Vec<RunId>> {
    let mut query = database.prepare_cached(RUNS).map_err(explain_read)?;
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let run = |row: &Row<'_>| row.get::<_, String>(0).map(|run| RunId::known(&run));
    let found = query.query_map(params![key, since, client, KEYED_LOOKED_AT], run);
    let found = found.map_err(explain_read)?;
    found.collect::<rusqlite::Result<_>>().map_err(explain_read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::clock::Clock;
    use crate::words::event::{CallAsked, Event, Narrowed, Started, Surface};
    use crate::words::key::HostKey;
    use crate::words::label::Label;

    fn begun(client: &str) -> Event {
        let call = CallAsked {
            key: Some("invoice-42".to_owned()),
            client: client.to_owned(),
            ..CallAsked::default()
        };
        Event::Started(Started {
            surface: Surface::Mcp,
            subject: "mail.send".to_owned(),
            goal: String::new(),
            label: Label::default(),
            narrowed: Narrowed {
                call,
                ..Narrowed::default()
            },
            ask_expires_ms: None,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: Vec::new(),
        })
    }

    #[tokio::test]
    async fn no_other_client_crowds_a_key_out() {
        let journal = Journal::in_memory(Clock::set(7), HostKey::new(&[7; 32])).unwrap();
        for n in 0..=KEYED_LOOKED_AT {
            let run = RunId::known(&format!("a{n:08}"));
            journal.append(&run, 0, begun("other")).unwrap();
        }
        let mine = RunId::known("mine");
        journal.append(&mine, 0, begun("me")).unwrap();
        journal.commit().await.unwrap();
        let found = journal.keyed(("me", "invoice-42"), 0).await.unwrap();
        assert_eq!(found, [mine]);
        let found = journal.keyed(("", "invoice-42"), 0).await.unwrap();
        assert_eq!(found, []);
    }
}
