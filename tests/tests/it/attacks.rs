//! Every file of `tests/attack`, each in a host of its own.

use futures_util::stream::{self, StreamExt};
use lazaret_tests::attack;

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

/// What is said of strangers' servers and of our own (rows 105 to 113) stands in files, each row in one at least.
#[test]
fn every_row_of_servers_has_a_file() {
    let mut texts: Vec<String> = attack::all()
        .iter()
        .map(|(_, path)| std::fs::read_to_string(path).expect("an attack"))
        .collect();
    let served = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("served");
    for entry in std::fs::read_dir(served).expect("the folder of attacks") {
        texts.push(std::fs::read_to_string(entry.expect("an attack").path()).expect("an attack"));
    }
    let rows: std::collections::BTreeSet<i64> = texts
        .iter()
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix("rows = ")))
        .flat_map(|rows| serde_json::from_str::<Vec<i64>>(rows).expect("numbers"))
        .collect();
    for row in [105, 106, 107, 108, 110, 111, 112, 113] {
        assert!(rows.contains(&row), "no file stands for row {row}");
    }
}
