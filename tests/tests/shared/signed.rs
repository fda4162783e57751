//! Records as their host would have written them: what a test has changed is authenticated again, with the host's own
//! key. Without it nothing goes on, which is a test of its own.

use std::path::Path;

use lazaret::words::key::HostKey;
use rusqlite::{Connection, params};

/// Authenticates every record that was written here, with the key of this state folder.
pub fn sign(database: &Connection, state: &Path) {
    let key = std::fs::read(state.join("key")).expect("a key");
    let key = HostKey::new(&key.try_into().expect("a key has 32 bytes"));
    let mut query = database
        .prepare("SELECT run, seq, at, parent, event FROM records ORDER BY run, seq")
        .expect("a journal");
    let rows = query.query_map([], |row| {
        let numbers = [row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?];
        Ok((row.get::<_, String>(0)?, numbers, row.get::<_, String>(4)?))
    });
    let rows: Vec<_> = rows
        .expect("records")
        .map(|row| row.expect("a record"))
        .collect();
    let mut before = vec![0; 32];
    for (run, numbers, event) in rows {
        if numbers[0] == 0 {
            before = vec![0; 32];
        }
        let [seq, at, parent] = numbers.map(i64::to_le_bytes);
        let parts = [
            &[0][..],
            &before,
            run.as_bytes(),
            &seq,
            &at,
            &parent,
            event.as_bytes(),
        ];
        let value = key.mac("record", &parts);
        before = value.bytes().to_vec();
        let update = "UPDATE records SET chain = ?1 WHERE run = ?2 AND seq = ?3";
        let written = database.execute(update, params![before, run, numbers[0]]);
        assert_eq!(written.expect("a record"), 1);
    }
}
