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

/// Returns when so many milliseconds have passed, whatever becomes of the wall clock meanwhile.
pub async fn for_ms(clock: &Clock, ms: u64) {
    until_steady(clock, clock.steady_ms().saturating_add(ms)).await;
}

/// Returns at that point of the clock's steady time.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns waiting for a time"
)]
pub async fn until_steady(clock: &Clock, due: u64) {
    loop {
        // Before the look, so that no move between the two is missed.
        let moved = clock.moved();
        let rest = due.saturating_sub(clock.steady_ms());
        if rest == 0 {
            return;
        }
        match moved {
            Some(moved) => moved.await,
            None => tokio::time::sleep(Duration::from_millis(rest)).await,
        }
    }
}

/// Returns when the clock shows `due` or later, in milliseconds since 1970: for a time that outlives a process. One
/// that is set back meanwhile makes nobody wait for longer than it was from the beginning.
pub async fn until(clock: &Clock, due: u64) {
    let all = due.saturating_sub(clock.now_ms());
    until_either(clock, due, clock.steady_ms().saturating_add(all)).await;
}

/// The same of a time whose beginning lies further back: by its steady time the clock has reached it then at the latest.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns waiting for a time"
)]
pub async fn until_either(clock: &Clock, due: u64, due_steady: u64) {
    loop {
        // Before the look, so that no move between the two is missed.
        let moved = clock.moved();
        let rest = due.saturating_sub(clock.now_ms());
        let rest = rest.min(due_steady.saturating_sub(clock.steady_ms()));
        if rest == 0 {
            return;
        }
        match moved {
            Some(moved) => moved.await,
            None => tokio::time::sleep(Duration::from_millis(rest).min(LOOK_AGAIN)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn pass(clock: &Clock, ms: u64) {
        clock.advance(Duration::from_millis(ms));
    }

    #[test]
    fn a_wait_is_as_long_as_it_was_from_the_beginning() {
        for shown in [5, 1_000_000] {
            let clock = Clock::set(10_000);
            let mut wait = std::pin::pin!(for_ms(&clock, 100));
            assert!(wait.as_mut().now_or_never().is_none());
            clock.show(shown);
            pass(&clock, 99);
            assert!(wait.as_mut().now_or_never().is_none(), "{shown}");
            pass(&clock, 1);
            assert!(wait.as_mut().now_or_never().is_some(), "{shown}");
        }
    }

    #[test]
    fn a_time_that_was_far_off_only_since_a_clock_was_set_back_has_come() {
        let clock = Clock::set(10_000);
        clock.show(5);
        let mut wait = std::pin::pin!(until_either(&clock, 10_100, 10_100));
        pass(&clock, 99);
        assert!(wait.as_mut().now_or_never().is_none());
        pass(&clock, 1);
        assert!(wait.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_time_of_a_wall_clock_comes_when_it_shows_it_or_would_have() {
        let clock = Clock::set(10_000);
        let mut wait = std::pin::pin!(until(&clock, 10_100));
        assert!(wait.as_mut().now_or_never().is_none());
        clock.show(5);
        pass(&clock, 99);
        assert!(wait.as_mut().now_or_never().is_none());
        pass(&clock, 1);
        assert!(wait.as_mut().now_or_never().is_some());

        let clock = Clock::set(10_000);
        let mut wait = std::pin::pin!(until(&clock, 10_100));
        assert!(wait.as_mut().now_or_never().is_none());
        clock.show(10_100);
        assert!(wait.as_mut().now_or_never().is_some());
    }
}
