//! Resting: waiting for a time of the host's clock.

use std::time::Duration;

use crate::words::clock::Clock;
use crate::words::limits::SESSION_LOOK_MS;

/// Longest sleep before the clock is looked at again: somebody may set it meanwhile.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Returns after a moment: for whoever looks again and again whether somebody else is done.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns waiting for a time"
)]
pub async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(SESSION_LOOK_MS)).await;
}

/// Returns when the clock shows `due` or later, in milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns waiting for a time"
)]
pub async fn until(clock: &Clock, due: u64) {
    loop {
        // Before the look, so that no move between the two is missed.
        let moved = clock.moved();
        let rest = due.saturating_sub(clock.now_ms());
        if rest == 0 {
            return;
        }
        match moved {
            Some(moved) => moved.await,
            None => tokio::time::sleep(Duration::from_millis(rest).min(LOOK_AGAIN)).await,
        }
    }
}
