//! Rates: how often something happened in the last minute, counted by the second.
//!
//! A second that is partly in the window counts in full, so that in no minute there is more than allowed.

use std::collections::VecDeque;

/// Milliseconds in a window, and in one of its parts.
const WINDOW_MS: u64 = 60_000;
const PART_MS: u64 = 1_000;

/// What happened in the last minute. At most 61 counts, however often it happens.
#[derive(Debug, Default)]
pub struct Minute {
    /// A second, and how often it happened in it.
    counts: VecDeque<(u64, u32)>,
}

impl Minute {
    /// Whether it may happen now, at `now_ms` of a clock that never goes back.
    ///
    /// # Errors
    /// How many milliseconds from now it may happen again.
    pub fn admits(&mut self, now_ms: u64, most: u32) -> Result<(), u64> {
        self.forget(now_ms);
        let mut left: u32 = self.counts.iter().map(|(_, count)| *count).sum();
        if left < most {
            return Ok(());
        }
        // Seconds leave the window one after the other, until there is room.
        for (second, count) in &self.counts {
            left = left.saturating_sub(*count);
            if left < most {
                let free_ms = second * PART_MS + PART_MS + WINDOW_MS;
                return Err(free_ms.saturating_sub(now_ms).max(1));
            }
        }
        Err(WINDOW_MS)
    }

    /// It happens now.
    pub fn count(&mut self, now_ms: u64) {
        let now = now_ms / PART_MS;
        match self.counts.back_mut() {
            Some((second, count)) if *second == now => *count = count.saturating_add(1),
            Some(_) | None => self.counts.push_back((now, 1)),
        }
    }

    /// Whether nothing happened in the last minute.
    pub fn is_idle(&mut self, now_ms: u64) -> bool {
        self.forget(now_ms);
        self.counts.is_empty()
    }

    fn forget(&mut self, now_ms: u64) {
        while let Some((second, _)) = self.counts.front()
            && second * PART_MS + PART_MS + WINDOW_MS <= now_ms
        {
            self.counts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(minute: &mut Minute, now_ms: u64, most: u32) -> Result<(), u64> {
        minute.admits(now_ms, most)?;
        minute.count(now_ms);
        Ok(())
    }

    #[test]
    fn what_is_too_often_may_happen_again_when_it_says() {
        let mut minute = Minute::default();
        assert_eq!(take(&mut minute, 0, 2), Ok(()));
        assert_eq!(take(&mut minute, 30_500, 2), Ok(()));
        assert_eq!(take(&mut minute, 30_500, 2), Err(30_500));
        assert_eq!(take(&mut minute, 60_999, 2), Err(1));
        assert_eq!(take(&mut minute, 61_000, 2), Ok(()));
        assert_eq!(take(&mut minute, 61_000, 2), Err(30_000));
        assert!(!minute.is_idle(121_999) && minute.is_idle(122_000));
    }

    proptest! {
        #[test]
        fn no_minute_has_more_than_allowed(steps in prop::collection::vec(0_u64..20_000, 1..200), most in 1_u32..9) {
            let (mut minute, mut now, mut taken) = (Minute::default(), 0, Vec::new());
            for step in steps {
                now += step;
                match take(&mut minute, now, most) {
                    Ok(()) => taken.push(now),
                    Err(wait_ms) => {
                        prop_assert!(minute.admits(now + wait_ms - 1, most).is_err());
                        prop_assert!(minute.admits(now + wait_ms, most).is_ok());
                        now += wait_ms;
                    }
                }
            }
            for (at, first) in taken.iter().enumerate() {
                let within = taken[at..].iter().filter(|one| *one - first < 60_000).count();
                prop_assert!(within <= usize::try_from(most).unwrap(), "{within} from {first}");
            }
            prop_assert!(minute.counts.len() <= 62);
        }
    }
}
