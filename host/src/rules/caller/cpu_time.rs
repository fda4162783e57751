//! Processor time that the guests of one run share: many that each take just less than one may are still one run (C-14).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::words::bound::Bound;
use crate::words::error::Result;
use crate::words::limits::run::RUN_CPU_MS;

/// What a run has left of it. Cheap to clone: all clones take from the same.
#[derive(Clone, Debug)]
pub struct CpuTime {
    most_ms: u64,
    left_ms: Arc<AtomicU64>,
    /// Whether whoever takes from it goes on when nothing is left.
    overdraws: bool,
}

impl Default for CpuTime {
    fn default() -> Self {
        Self::of(RUN_CPU_MS, 0)
    }
}

impl CpuTime {
    /// Of a run that may use `most_ms`, and whose earlier lives have used `used_ms` of it.
    #[must_use]
    pub fn of(most_ms: u64, used_ms: u64) -> Self {
        Self {
            most_ms,
            left_ms: Arc::new(AtomicU64::new(most_ms.saturating_sub(used_ms))),
            overdraws: false,
        }
    }

    /// The same for what is a part of a call that has begun: it takes from it, and is not ended by it, since what
    /// has come of that call would be lost.
    #[must_use]
    pub fn overdrawn(&self) -> Self {
        Self {
            overdraws: true,
            ..self.clone()
        }
    }

    /// Takes a millisecond, and says whether there is another one. Guests that run at once take from the same.
    #[must_use]
    pub fn tick(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        let before = self
            .left_ms
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        self.overdraws || before.is_ok_and(|left| left > 1)
    }

    /// Another guest may begin.
    ///
    /// # Errors
    /// `OverBudget` where nothing is left.
    pub fn check(&self) -> Result<()> {
        match self.left_ms.load(Ordering::Acquire) {
            0 if !self.overdraws => Err(Bound::RunCpu.passed("the run", self.most_ms)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::error::Code;

    #[test]
    fn what_one_guest_takes_the_others_do_not_have() {
        let shared = CpuTime::of(5, 2);
        let (one, other) = (shared.clone(), shared.clone());
        assert!(one.tick() && other.tick());
        assert!(shared.check().is_ok());
        assert!(!one.tick());
        assert!(!other.tick());
        let error = shared.check().unwrap_err();
        assert_eq!(error.code(), Code::OverBudget);
        assert!(error.message().contains("the 5 ms"), "{error}");
        assert!(CpuTime::of(5, 9).check().is_err());
    }

    #[test]
    fn what_is_a_part_of_a_call_takes_from_it_and_goes_on_without() {
        let shared = CpuTime::of(3, 0);
        let part = shared.overdrawn();
        assert!(part.tick() && part.tick());
        assert!(!shared.tick());
        assert!(part.tick() && part.check().is_ok());
        assert!(shared.check().is_err());
    }
}
