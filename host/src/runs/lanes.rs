//! Lanes: whose turn it is where runs of one session wait for each other in this process. Whoever came first is first, and is
//! woken by the end of the one before; nobody looks again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{Mutex as Lane, OwnedMutexGuard};

use super::left::Hold;
use crate::words::lock::lock;
use crate::words::session::Session;

/// The lanes of sessions that somebody is in.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<BTreeMap<Session, Weak<Lane<()>>>>);

/// A turn in a session's lane, until it is dropped.
pub(super) type Turn = OwnedMutexGuard<()>;

impl Lanes {
    /// Takes the session's lane, where nobody is in it.
    pub(super) fn try_take(&self, session: &Session) -> Option<Turn> {
        self.of(session).try_lock_owned().ok()
    }

    /// Takes it when everybody is through who came before.
    pub(super) async fn take(&self, session: &Session) -> Turn {
        self.of(session).lock_owned().await
    }

    fn of(&self, session: &Session) -> Arc<Lane<()>> {
        let mut lanes = lock(&self.0);
        lanes.retain(|_, lane| lane.strong_count() > 0);
        if let Some(lane) = lanes.get(session).and_then(Weak::upgrade) {
            return lane;
        }
        let lane = Arc::new(Lane::new(()));
        lanes.insert(session.clone(), Arc::downgrade(&lane));
        lane
    }
}

/// A session that is held: against this process, and against the rest of this machine.
#[derive(Debug)]
pub(super) struct Held {
    hold: Hold,
    /// Behind the other: whoever is next finds it free.
    turn: Turn,
}

impl Held {
    pub(super) fn new(hold: Hold, turn: Turn) -> Self {
        Self { hold, turn }
    }

    /// Lets go of it, and wakes whoever is next.
    pub(super) fn end(self) {
        self.hold.end();
        drop(self.turn);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn whoever_came_first_is_first_and_other_sessions_wait_for_nobody() {
        let lanes = Lanes::default();
        let session = |name: &str| Session::of("local", name).unwrap();
        let (one, other) = (session("one"), session("other"));
        let first = lanes.try_take(&one).unwrap();
        assert!(lanes.try_take(&one).is_none());
        assert!(lanes.try_take(&other).is_some());
        let (mut second, mut third) = (pin!(lanes.take(&one)), pin!(lanes.take(&one)));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(lanes.try_take(&one).is_none(), "others came before");
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.as_mut().now_or_never().unwrap();
        drop(second);
        drop(third.as_mut().now_or_never().unwrap());
        assert!(lanes.try_take(&one).is_some());
        assert_eq!(lock(&lanes.0).len(), 1, "nobody is in the other");
    }
}
