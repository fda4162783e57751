//! Every file of `tests/attack`, each in a host of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use futures_util::stream::{self, StreamExt};
use lazaret_tests::authority::{self, TRUSTED};
use lazaret_tests::{attack, rig};

/// Hosts at once: each reserves a pool of guest slots.
const AT_ONCE: usize = 4;
/// Says which mutant is awake (`tests/src/bin/mutants`).
const AWAKE: &str = "LAZARET_MUTANT";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_ends_as_its_file_says() {
    // Words of names, with commas between.
    let only = std::env::var("ATTACK").unwrap_or_default();
    let is_meant = |name: &str| only.split(',').any(|word| name.contains(word));
    let attacks = attack::all();
    assert!(
        attacks.len() > 100,
        "attacks are missing: {}",
        attacks.len()
    );
    // Past what the test harness keeps to itself.
    let said = format!("attacks: {} files\n", attacks.len());
    let _ = std::io::stderr().write_all(said.as_bytes());
    let here = |(name, path): &(String, PathBuf)| is_meant(name) && !attack::is_encrypted(path);
    let wrong = strike(attacks.into_iter().filter(here)).await;
    assert!(wrong.is_empty(), "{wrong}");
}

async fn strike(chosen: impl Iterator<Item = (String, PathBuf)>) -> String {
    let struck = stream::iter(chosen).map(|(name, path)| async move {
        // A task of its own, so that a panic has a name.
        let outcome = tokio::spawn(async move { attack::run(&path).await }).await;
        let wrong = outcome.unwrap_or_else(|panic| vec![panic.to_string()]);
        wrong
            .into_iter()
            .map(|text| format!("\n{name}: {text}"))
            .collect::<String>()
    });
    let struck = struck.buffer_unordered(AT_ONCE);
    let wrong = struck.filter(|wrong| std::future::ready(!wrong.is_empty()));
    // Whoever has broken a rule on purpose wants to know that somebody has seen it, and no more.
    let most = match std::env::var_os(AWAKE) {
        Some(_) => 1,
        None => usize::MAX,
    };
    let wrong: Vec<String> = wrong.take(most).collect().await;
    wrong.concat()
}

/// Whom a process trusts is said to it when it starts, so this test starts itself once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_on_encryption_ends_as_its_file_says() {
    const NAME: &str = "attacks::every_attack_on_encryption_ends_as_its_file_says";
    if std::env::var_os(TRUSTED).is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = authority::lay(folder.path());
        let trusted = [(TRUSTED, folder.path()), ("SSL_CERT_FILE", file.as_path())];
        return rig::alone_with(NAME, &trusted).await;
    }
    let attacks = attack::all().into_iter();
    let encrypted: Vec<_> = attacks
        .filter(|(_, path)| attack::is_encrypted(path))
        .collect();
    assert!(encrypted.len() >= 2, "{encrypted:?}");
    let wrong = strike(encrypted.into_iter()).await;
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

/// Rows that no file can say: they are about this very process, processes that are killed, a disk that fails, two of
/// them at one journal. Each is a test of its own.
const NO_FILE: [u32; 5] = [64, 114, 116, 118, 122];

/// Each row stands in a file, but for those few; what tests show beside it is named as well.
#[test]
fn every_row_of_the_list_has_a_file_or_can_have_none() {
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
        toml::from_str(&list).expect("two lists");
    let mut listed = BTreeSet::new();
    for (row, tests) in &list["tests"] {
        assert!(!tests.is_empty(), "{row}");
        for test in tests {
            let begins = format!("fn {test}(");
            let is_there = sources.iter().any(|source| source.contains(&begins));
            assert!(is_there, "row {row}: there is no test `{test}`");
        }
        listed.insert(row.parse::<u32>().expect("a number"));
    }
    for row in NO_FILE {
        assert!(listed.contains(&row), "row {row} is shown by nothing");
        assert!(shown.insert(row), "row {row} has a file by now");
    }
    let unknown: Vec<&u32> = shown
        .iter()
        .filter(|row| !ROWS.iter().any(|rows| rows.contains(row)))
        .collect();
    assert_eq!(unknown, Vec::<&u32>::new(), "no such rows");
    let missing: Vec<u32> = ROWS
        .into_iter()
        .flatten()
        .filter(|row| !shown.contains(row))
        .collect();
    assert_eq!(missing, Vec::<u32>::new());
}

/// Each weakness that was found elsewhere is looked for here, by files of attacks or by tests.
#[test]
fn every_weakness_of_others_is_looked_for_here() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(here.join("attacks.toml")).expect("the list");
    let list: toml::Table = toml::from_str(&list).expect("a list");
    let weaknesses = list["weaknesses"].as_table().expect("a table");
    let sources = [
        texts(&here.join("tests"), "rs"),
        texts(&here.join("../host/src"), "rs"),
    ]
    .concat();
    for (number, (weakness, shown)) in (1..).zip(weaknesses) {
        assert!(weakness.starts_with(&format!("{number:02} ")), "{weakness}");
        for name in shown.as_array().expect("a list") {
            let name = name.as_str().expect("a name");
            let is_file = ["attack", "served"]
                .iter()
                .any(|folder| here.join(folder).join(format!("{name}.toml")).exists());
            let begins = format!("fn {name}(");
            let is_test = || sources.iter().any(|source| source.contains(&begins));
            assert!(is_file || is_test(), "{weakness}: there is no `{name}`");
        }
    }
    assert_eq!(weaknesses.len(), 24);
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
const HOARDERS: [&str; 41] = [
    "cpu-fill-in-a-loop",
    "cpu-many-guests",
    "cpu-poll-five-thousand",
    "cpu-poll-same",
    "files-many",
    "flood-args-big",
    "flood-artifacts-many",
    "flood-log",
    "flood-output",
    "flood-pollables",
    "handle-pick",
    "http-answer-bomb",
    "http-answer-endless",
    "http-flood-futures",
    "http-hoard",
    "install-manifest-megabytes",
    "lift-list-of-lists",
    "mcp-news-flood",
    "mcp-schema-bombs",
    "memory-grow",
    "memory-hoard",
    "memory-many",
    "memory-table-grow",
    "net-answer-bomb",
    "net-answer-bomb-br",
    "net-answer-bomb-mixed",
    "net-answer-bomb-nested",
    "net-answer-bomb-zstd",
    "net-answer-endless",
    "notes-big",
    "outcome-hundred-megabytes",
    "script-crowd",
    "script-fan-out",
    "script-memory",
    "stack-recursion",
    "stream-endless",
    "stream-line-big",
    "stream-million-pieces",
    "trap-under-way",
    "wasi-files-hoard",
    "wasi-streams-hoard",
];

/// Memory is counted for a process, so this test starts itself once more, alone: with those that take memory, or with all of
/// them (`make attacks`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_attacks_take_is_given_back() {
    const ALONE: &str = "LAZARET_TEST_ALONE";
    const NAME: &str = "attacks::what_attacks_take_is_given_back";
    // An allocator that keeps nothing for later: with as many heaps as threads, what it keeps grows by megabytes at a time
    // and stays.
    const GIVES_BACK: [(&str, &str); 4] = [
        (ALONE, "1"),
        ("MALLOC_ARENA_MAX", "1"),
        ("MALLOC_MMAP_THRESHOLD_", "65536"),
        ("MALLOC_TRIM_THRESHOLD_", "65536"),
    ];
    if std::env::var_os(ALONE).is_none() {
        let variables = GIVES_BACK.map(|(name, value)| (name, Path::new(value)));
        return rig::alone_with(NAME, &variables).await;
    }
    let (chosen, rounds) = hoarders();
    let strike = async |times: usize| {
        for _ in 0..times {
            for (name, path) in &chosen {
                assert_eq!(attack::run(path).await, Vec::<String>::new(), "{name}");
            }
        }
        rig::resident_kib()
    };
    // What is kept for a while goes up and down; what is never given back only goes up.
    strike(rounds).await;
    let mut seen = Vec::new();
    for _ in 0..rounds * 2 {
        seen.push(strike(1).await);
    }
    let said = format!(
        "attacks: {} files, {seen:?} KiB after each round\n",
        chosen.len()
    );
    let _ = std::io::stderr().write_all(said.as_bytes());
    let (before, after) = seen.split_at(rounds);
    let (before, after) = (before.iter().max().unwrap(), after.iter().min().unwrap());
    assert!(*after <= before + before / 50, "{seen:?} KiB");
}

/// The attacks whose memory is looked at, and how often they are made before and between the two looks.
fn hoarders() -> (Vec<(String, PathBuf)>, usize) {
    let mut chosen = attack::all();
    // Those come with a process that trusts another authority.
    chosen.retain(|(_, path)| !attack::is_encrypted(path));
    if std::env::var_os("EVERY").is_some() {
        return (chosen, 2);
    }
    chosen.retain(|(name, _)| HOARDERS.contains(&name.as_str()));
    assert_eq!(chosen.len(), HOARDERS.len(), "{chosen:?}");
    (chosen, 3)
}
