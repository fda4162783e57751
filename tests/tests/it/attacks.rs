//! Every file of `tests/attack`, each in a host of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use futures_util::stream::{self, StreamExt};
use lazaret_tests::{attack, rig};

/// Hosts at once: each reserves a pool of guest slots.
const AT_ONCE: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_ends_as_its_file_says() {
    let only = std::env::var("ATTACK").unwrap_or_default();
    let attacks = attack::all();
    assert!(
        attacks.len() > 100,
        "attacks are missing: {}",
        attacks.len()
    );
    // Past what the test harness keeps to itself.
    let said = format!("attacks: {} files\n", attacks.len());
    let _ = std::io::stderr().write_all(said.as_bytes());
    let chosen = attacks.into_iter().filter(|(name, _)| name.contains(&only));
    let struck = stream::iter(chosen).map(|(name, path)| async move {
        // A task of its own, so that a panic has a name.
        let outcome = tokio::spawn(async move { attack::run(&path).await }).await;
        let wrong = outcome.unwrap_or_else(|panic| vec![panic.to_string()]);
        wrong
            .into_iter()
            .map(|text| format!("\n{name}: {text}"))
            .collect::<String>()
    });
    let wrong: Vec<String> = struck.buffer_unordered(AT_ONCE).collect().await;
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{wrong}");
}

/// The list of attacks: numbers are missing where a row was given up.
const ROWS: [RangeInclusive<u32>; 25] = [
    1..=8,
    10..=10,
    12..=19,
    21..=22,
    24..=28,
    30..=32,
    34..=35,
    37..=42,
    44..=50,
    52..=52,
    54..=55,
    57..=59,
    61..=65,
    67..=70,
    72..=77,
    79..=81,
    84..=87,
    89..=93,
    95..=99,
    101..=102,
    104..=108,
    110..=114,
    116..=118,
    120..=120,
    122..=122,
];

/// Each row stands in a file, or is a test of its own.
#[test]
fn every_row_of_the_list_has_a_file_or_a_test() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut shown = BTreeSet::new();
    for folder in ["attack", "served"] {
        for text in texts(&here.join(folder), "toml") {
            let rows = text.lines().find_map(|line| line.strip_prefix("rows = "));
            let rows = rows.map(|rows| serde_json::from_str::<Vec<u32>>(rows).expect("numbers"));
            shown.extend(rows.unwrap_or_default());
        }
    }
    let sources = [
        texts(&here.join("tests"), "rs"),
        texts(&here.join("../host/src"), "rs"),
    ]
    .concat();
    let list = std::fs::read_to_string(here.join("attacks.toml")).expect("the list");
    let list: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        toml::from_str(&list).expect("a list");
    for (row, tests) in &list["tests"] {
        assert!(!tests.is_empty(), "{row}");
        for test in tests {
            let begins = format!("fn {test}(");
            let is_there = sources.iter().any(|source| source.contains(&begins));
            assert!(is_there, "row {row}: there is no test `{test}`");
        }
        shown.insert(row.parse().expect("a number"));
    }
    let missing: Vec<u32> = ROWS
        .into_iter()
        .flatten()
        .filter(|row| !shown.contains(row))
        .collect();
    assert_eq!(missing, Vec::<u32>::new());
}

/// All files below a folder that end so.
fn texts(folder: &Path, end: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(texts(&path, end));
        } else if path.extension().is_some_and(|extension| extension == end) {
            all.push(std::fs::read_to_string(&path).expect("a text"));
        }
    }
    all
}

/// Those that take memory, or try to, and end soon.
const HOARDERS: [&str; 14] = [
    "cpu-fill-in-a-loop",
    "cpu-poll-five-thousand",
    "files-many",
    "flood-artifacts-many",
    "flood-log",
    "flood-output",
    "flood-pollables",
    "lift-list-of-lists",
    "memory-grow",
    "memory-hoard",
    "memory-many",
    "net-answer-bomb",
    "net-answer-endless",
    "stack-recursion",
];

/// Memory is counted for a process, so this test starts itself once more, alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_attacks_take_is_given_back() {
    const ALONE: &str = "LAZARET_TEST_ALONE";
    const NAME: &str = "attacks::what_attacks_take_is_given_back";
    if std::env::var_os(ALONE).is_none() {
        return rig::alone(NAME, ALONE).await;
    }
    let chosen: Vec<_> = attack::all()
        .into_iter()
        .filter(|(name, _)| HOARDERS.contains(&name.as_str()))
        .collect();
    assert_eq!(chosen.len(), HOARDERS.len(), "{chosen:?}");
    let strike = async |times: usize| {
        for _ in 0..times {
            for (name, path) in &chosen {
                assert_eq!(attack::run(path).await, Vec::<String>::new(), "{name}");
            }
        }
        rig::resident_kib()
    };
    // What an allocator keeps goes up and down; what is never given back only goes up.
    strike(3).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(strike(1).await);
    }
    let (before, after) = seen.split_at(3);
    let (before, after) = (before.iter().max().unwrap(), after.iter().min().unwrap());
    assert!(*after <= before + before / 20, "{seen:?} KiB");
}
