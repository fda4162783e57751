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
