//! Versions below which a library is not to be: what each of them would bring back, by its number in the RustSec database.
//!
//! This needs no network, and knows only what was known when a line was written; `make advisories` asks what is known now.

use std::path::Path;

/// A library, the first version that is not affected, and by what.
type Floor = (&'static str, (u64, u64, u64), &'static str);

const FLOORS: [Floor; 7] = [
    (
        "wasmtime",
        (48, 0, 4),
        "RUSTSEC-2026-0327: a component's callback with too many results writes past the end of a native stack",
    ),
    (
        "rustls",
        (0, 23, 45),
        "RUSTSEC-2026-0285: parts of a greeting that are to be encrypted are taken in the clear",
    ),
    (
        "rustls-webpki",
        (0, 103, 13),
        "RUSTSEC-2026-0104: a list of revoked certificates makes whoever reads it panic",
    ),
    (
        "h2",
        (0, 4, 16),
        "RUSTSEC-2026-0258: empty frames of data are queued without end",
    ),
    (
        "rusqlite",
        (0, 26, 2),
        "RUSTSEC-2021-0128: functions that outlive what they borrow",
    ),
    (
        "libsqlite3-sys",
        (0, 25, 1),
        "RUSTSEC-2022-0090: a text of gigabytes goes past the end of an array of the SQLite inside",
    ),
    (
        "wasmtime-wasi",
        (48, 0, 4),
        "RUSTSEC-2026-0321: a guest of preview 0 works without fuel while it polls",
    ),
];

#[test]
fn no_library_is_older_than_what_is_known_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).expect("Cargo.lock can be read");
    assert_eq!(below(&lock), Vec::<String>::new());
}

#[test]
fn an_old_one_and_a_missing_one_are_told() {
    let lock = "[[package]]\nname = \"wasmtime\"\nversion = \"46.0.9\"\n\n[[package]]\nname = \"wasmtime\"\nversion = \"48.0.4\"\n";
    let said = below(lock);
    assert_eq!(said.len(), FLOORS.len(), "{said:?}");
    assert!(
        said[0].contains("wasmtime 46.0.9 is below 48.0.4"),
        "{said:?}"
    );
    assert!(said[1].contains("rustls is not in it"), "{said:?}");
}

/// What a lock file has that is too old, or has not at all: a line about nothing would hold of anything.
fn below(lock: &str) -> Vec<String> {
    let mut said = Vec::new();
    for (name, floor, reason) in FLOORS {
        let versions = versions(lock, name);
        if versions.is_empty() {
            said.push(format!(
                "{name} is not in it: take its line out of the table"
            ));
        }
        let (major, minor, patch) = floor;
        let old = versions.iter().filter(|version| numbers(version) < floor);
        said.extend(
            old.map(|version| {
                format!("{name} {version} is below {major}.{minor}.{patch}: {reason}")
            }),
        );
    }
    said
}

fn versions<'a>(lock: &'a str, name: &str) -> Vec<&'a str> {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let after = lock.split(&entry).skip(1);
    after.filter_map(|rest| rest.split('"').next()).collect()
}

fn numbers(version: &str) -> (u64, u64, u64) {
    // What follows a `-` or `+` is no number that counts here.
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = plain.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}
