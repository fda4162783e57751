//! Calls that clients are to make again, once their users have confirmed them: each number counts once.
//!
//! They are this process's alone: what another one, or this one before it was started anew, has given out is none of
//! them, and its user is asked again.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::words::limits::MCP_OPEN;
use crate::words::lock::lock;

/// Numbers that were given out and have not come back.
#[derive(Debug, Default)]
pub(super) struct Open(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Each with the time until which it counts.
    all: BTreeMap<u64, u64>,
    last: u64,
}

impl Open {
    /// Gives a number out that counts until then. Beyond so many the oldest counts no longer.
    pub(super) fn open(&self, (now, until): (u64, u64)) -> u64 {
        let mut open = lock(&self.0);
        open.all.retain(|_, until| now < *until);
        while open.all.len() >= MCP_OPEN {
            open.all.pop_first();
        }
        open.last = open.last.saturating_add(1);
        let number = open.last;
        open.all.insert(number, until);
        number
    }

    /// Takes a number back that was given out until then; whether it counts.
    pub(super) fn take(&self, (now, until): (u64, u64), number: u64) -> bool {
        let mut open = lock(&self.0);
        match open.all.get(&number) {
            Some(known) if *known == until => {
                open.all.remove(&number);
                now < until
            }
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once_and_until_its_time_is_over() {
        let open = Open::default();
        let (one, other) = (open.open((0, 10)), open.open((0, 10)));
        assert!(!open.take((5, 11), one), "it was given out until 10");
        assert!(open.take((5, 10), one) && !open.take((5, 10), one));
        assert!(!open.take((10, 10), other), "its time is over");
        assert!(!open.take((5, 10), 7), "nobody has given it out");
    }

    #[test]
    fn so_many_are_open_and_the_oldest_goes_first() {
        let open = Open::default();
        let numbers: Vec<u64> = (0..=MCP_OPEN).map(|_| open.open((0, 10))).collect();
        assert!(!open.take((1, 10), numbers[0]));
        assert!(open.take((1, 10), numbers[1]) && open.take((1, 10), numbers[MCP_OPEN]));
    }
}
