//! Waiting for what another thread or process does, of which nobody tells: a look, a pause, and not for ever.
//!
//! The pause leaves the machine to whoever is waited for. What can be told is waited for where it is told instead.

use std::time::{Duration, Instant};

/// Longest that a test waits for one thing.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Returns once something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    found(what, || is_so().then_some(()));
}

/// What a look finds, once it finds something.
#[track_caller]
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        std::thread::sleep(PAUSE);
    }
}

/// Whether something comes to be so.
pub async fn comes(mut is_so: impl AsyncFnMut() -> bool) -> bool {
    let looking = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.is_ok()
}
