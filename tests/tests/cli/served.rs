//! Every file of `tests/served`: requests to `lazaret serve` as bytes, and what each must be answered with.

use std::path::Path;

use serde::Deserialize;

use crate::serving::Serving;
use crate::station::Station;

/// One attack; `{token}` is the server's own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    about: String,
    rows: Vec<u32>,
    sent: Vec<Sent>,
}

/// A request, its lines as they are written, and the status that answers it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    text: String,
    status: u16,
}

fn all() -> Vec<Attack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("served");
    let entries = std::fs::read_dir(folder).expect("the folder of attacks");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.expect("an attack").path());
        toml::from_str(&text.expect("an attack can be read")).expect("an attack")
    };
    entries.map(read).collect()
}

#[test]
fn every_request_is_answered_as_its_file_says() {
    let station = Station::new();
    let server = Serving::start(&station);
    let attacks = all();
    assert!(attacks.len() >= 3, "attacks are missing");
    for attack in attacks {
        assert_eq!(attack.rows, [113], "{}", attack.about);
        for Sent { text, status } in attack.sent {
            let bytes = text.replace("{token}", &server.token).replace('\n', "\r\n");
            let told = server.raw(bytes.as_bytes());
            assert_eq!(told.status, status, "{}\n{text}{told:?}", attack.about);
            assert!(!told.body.contains(&server.token), "{text}{told:?}");
        }
    }
}
