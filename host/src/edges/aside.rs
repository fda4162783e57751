//! Work that may block, on a thread of its own, for as long as somebody waits for it.
//!
//! A thread cannot be ended from outside. One that waits for a lock when its call is given up gets that lock some time
//! later, when the call has an end on record that says otherwise; so it asks, once it is its turn, whether it still is
//! wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::words::error::{Code, Error, Result};

/// Whoever waits for some work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asker(Arc<AtomicBool>);

/// Says, once it is dropped, that nobody waits any more.
struct Waiting(Asker);

impl Asker {
    /// Whether the work is still wanted. Asked before anything is changed, and with all that had to be waited for in hand.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(Error::new(
                Code::Cancelled,
                "it was given up before its turn",
            )),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// Does the work aside, and waits for it; nothing where it panicked.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce(&Asker) -> T + Send + 'static,
) -> Option<T> {
    let asker = Asker::default();
    let _waiting = Waiting(asker.clone());
    let done = tokio::task::spawn_blocking(move || work(&asker)).await;
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_still_waits_is_worked_for_and_who_does_not_is_not() {
        assert_eq!(aside(|asker| asker.check().is_ok()).await, Some(true));
        let (begin, may_begin) = std::sync::mpsc::sync_channel(1);
        let (say, said) = std::sync::mpsc::sync_channel(1);
        let work = aside(move |asker: &Asker| {
            may_begin.recv().unwrap();
            say.send(asker.check().map_err(|error| error.code()))
        });
        // Looked at once, and given up.
        assert!(futures_util::FutureExt::now_or_never(work).is_none());
        begin.send(()).unwrap();
        assert_eq!(said.recv().unwrap(), Err(Code::Cancelled));
    }
}
