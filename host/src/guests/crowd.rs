//! How many calls of one tool are under way (row A-18c).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::words::error::{Code, Error, Result};
use crate::words::id::ToolName;

/// The calls of one tool that are under way, and how many may be.
#[derive(Debug)]
pub struct Crowd {
    most: u32,
    now: AtomicU32,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Among<'a>(&'a Crowd);

impl Crowd {
    /// At most so many; any number where nothing is said.
    #[must_use]
    pub fn of(most: Option<u32>) -> Self {
        Self {
            most: most.unwrap_or(u32::MAX),
            now: AtomicU32::new(0),
        }
    }

    /// Joins them.
    ///
    /// # Errors
    /// `Busy` where there are enough; later there may be room.
    pub fn join(&self, tool: &ToolName) -> Result<Among<'_>> {
        let more = |now: u32| now.checked_add(1).filter(|now| *now <= self.most);
        let joined = self
            .now
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        joined.map(|_| Among(self)).map_err(|_| {
            let what = format!(
                "`{tool}` is called {} times at once, and no more may be",
                self.most
            );
            Error::new(Code::Busy, what)
        })
    }
}

impl Drop for Among<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_and_no_more_until_one_is_over() {
        let tool = ToolName::parse("a.b").unwrap();
        let crowd = Crowd::of(Some(2));
        let one = crowd.join(&tool).unwrap();
        let _two = crowd.join(&tool).unwrap();
        let error = crowd.join(&tool).unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), (Code::Busy, true));
        drop(one);
        let _three = crowd.join(&tool).unwrap();
        assert!(crowd.join(&tool).is_err());
        let any = Crowd::of(None);
        let all: Vec<_> = (0..100).map(|_| any.join(&tool)).collect();
        assert!(all.iter().all(Result::is_ok));
    }
}
