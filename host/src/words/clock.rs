//! The clock: the only place that reads the time.
//!
//! Wall time is for records, people and whatever outlives a process; [`Clock::steady_ms`] and [`Deadline`] are for
//! what waits inside of one, so a wall clock that is set back or forward moves no wait and no deadline. Tests use
//! [`Clock::set`], which stands still until it is moved; a replay uses [`Clock::recorded`], which shows the times
//! of a run's records, one after the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::lock::lock;

/// Where the time comes from.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Set(Arc<SetClock>),
}

#[derive(Debug)]
struct SetClock {
    ms: AtomicU64,
    /// What it would show if nobody had set it anew.
    steady: AtomicU64,
    /// What it shows after the next stamps.
    ahead: Mutex<VecDeque<u64>>,
    moved: Notify,
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `ms` milliseconds since 1970 until [`Clock::advance`] moves it.
    #[must_use]
    pub fn set(ms: u64) -> Self {
        Self::recorded(vec![ms])
    }

    /// A clock that shows the first of these times until it has stamped a record, then the next, and at last stands
    /// still. They may go back, as they did when they were recorded.
    #[must_use]
    pub fn recorded(times: Vec<u64>) -> Self {
        let mut ahead = VecDeque::from(times);
        let first = ahead.pop_front().unwrap_or(0);
        Self(Source::Set(Arc::new(SetClock {
            ms: AtomicU64::new(first),
            steady: AtomicU64::new(first),
            ahead: Mutex::new(ahead),
            moved: Notify::new(),
        })))
    }

    /// The time of a record that is made now.
    #[must_use]
    pub fn stamp_ms(&self) -> u64 {
        let now = self.now_ms();
        if let Source::Set(clock) = &self.0
            && let Some(next) = lock(&clock.ahead).pop_front()
        {
            clock.ms.store(next, Ordering::Release);
            clock.steady.store(next, Ordering::Release);
            clock.moved.notify_waiters();
        }
        now
    }

    /// Moves a set clock; the machine's clock is left alone.
    pub fn advance(&self, by: Duration) {
        match &self.0 {
            Source::System => {}
            Source::Set(clock) => {
                let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
                clock.ms.fetch_add(by_ms, Ordering::Release);
                clock.steady.fetch_add(by_ms, Ordering::Release);
                clock.moved.notify_waiters();
            }
        }
    }

    /// Sets a set clock to another time, as somebody does with the one of a machine: no time passes by that. The
    /// machine's clock is left alone.
    pub fn show(&self, ms: u64) {
        match &self.0 {
            Source::System => {}
            Source::Set(clock) => {
                clock.ms.store(ms, Ordering::Release);
                clock.moved.notify_waiters();
            }
        }
    }

    /// Milliseconds since 1970.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this file owns the clock")]
    pub fn now_ms(&self) -> u64 {
        match &self.0 {
            Source::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| {
                    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
                }),
            Source::Set(clock) => clock.ms.load(Ordering::Acquire),
        }
    }

    /// Milliseconds that pass as they do, whatever becomes of the wall clock: what it would show if nobody had set it
    /// since this process first asked. For whatever is waited for inside of a process, and for nothing on record.
    #[must_use]
    pub fn steady_ms(&self) -> u64 {
        static ORIGIN: OnceLock<(u64, Instant)> = OnceLock::new();
        match &self.0 {
            Source::System => {
                let (shown, at) = ORIGIN.get_or_init(|| (self.now_ms(), Self::instant()));
                let passed = Self::instant().saturating_duration_since(*at).as_millis();
                shown.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
            }
            Source::Set(clock) => clock.steady.load(Ordering::Acquire),
        }
    }

    /// Becomes ready when a set clock is moved; nothing for the machine's clock, which moves by itself.
    #[must_use]
    pub fn moved(&self) -> Option<Notified<'_>> {
        match &self.0 {
            Source::System => None,
            Source::Set(clock) => Some(clock.moved.notified()),
        }
    }

    /// A point on the monotonic clock, for deadlines and durations.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this file owns the clock")]
    pub fn instant() -> Instant {
        Instant::now()
    }
}

/// The rest of the time until a point, and never less than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
    /// So long it was for whoever has it, when it was set.
    ms: u64,
}

impl Deadline {
    /// The point `ms` milliseconds from now.
    #[must_use]
    pub fn after_ms(ms: u64) -> Self {
        Self {
            at: Clock::instant() + Duration::from_millis(ms),
            ms,
        }
    }

    /// The earlier of this and one that begins now.
    #[must_use]
    pub fn earlier(self, own: Self) -> Self {
        if own.at <= self.at {
            return own;
        }
        let left = self.rest().as_micros().div_ceil(1_000);
        Self {
            ms: u64::try_from(left).unwrap_or(u64::MAX),
            ..self
        }
    }

    /// How long it was when it was set, which is what a person is told: what of it was left later is luck.
    #[must_use]
    pub fn ms(self) -> u64 {
        self.ms
    }

    /// What is left.
    #[must_use]
    pub fn rest(self) -> Duration {
        self.at.saturating_duration_since(Clock::instant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_told_as_it_was_set() {
        let outer = Deadline::after_ms(60_000);
        let own = outer.earlier(Deadline::after_ms(100));
        assert_eq!(own.ms(), 100);
        // Of another's deadline it is what was left when it was passed on.
        let inner = outer.earlier(Deadline::after_ms(600_000));
        assert!((1..=60_000).contains(&inner.ms()), "{inner:?}");
        assert_eq!(inner.at, outer.at);
    }

    #[test]
    fn a_clock_that_is_set_anew_goes_on_steadily() {
        let clock = Clock::set(1_000);
        clock.show(5);
        assert_eq!((clock.now_ms(), clock.steady_ms()), (5, 1_000));
        clock.advance(Duration::from_millis(7));
        assert_eq!((clock.now_ms(), clock.steady_ms()), (12, 1_007));
        let recorded = Clock::recorded(vec![10, 20]);
        assert_eq!(recorded.stamp_ms(), 10);
        assert_eq!((recorded.now_ms(), recorded.steady_ms()), (20, 20));
        let system = Clock::system();
        let before = system.steady_ms();
        assert!(before > 0 && system.steady_ms() >= before);
    }
}
