//! Slots: how many guests may live at once, counted for each nesting depth on its own.
//!
//! With one count for all, a hundred calls that each wait for an inner call would hold every slot
//! and wait for ever.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::words::clock::Deadline;
use crate::words::error::{Error, Result};
use crate::words::limits::{
    CALL_DEPTH, GUEST_SLOTS_INNER, GUEST_SLOTS_OUTER, ISOLATED_SLOTS, SCRIPT_SLOTS,
};

/// The slots of every depth.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    depths: Arc<[Arc<Semaphore>]>,
    /// Scripts wait for tools, so they must not take tools' slots.
    scripts: Arc<Semaphore>,
    /// Scripts wait for functions that run apart as well.
    isolated: Arc<Semaphore>,
}

/// A slot that is taken, until it is dropped.
pub(super) struct Slot(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Slots {
    pub(super) fn new() -> Self {
        let size = |depth| {
            if depth == 0 {
                GUEST_SLOTS_OUTER
            } else {
                GUEST_SLOTS_INNER
            }
        };
        Self {
            depths: (0..CALL_DEPTH)
                .map(|depth| Arc::new(Semaphore::new(size(depth))))
                .collect(),
            scripts: Arc::new(Semaphore::new(SCRIPT_SLOTS)),
            isolated: Arc::new(Semaphore::new(ISOLATED_SLOTS)),
        }
    }

    /// Waits for a slot at `depth`, in turn, until the deadline.
    pub(super) async fn take(&self, depth: usize, deadline: Deadline) -> Result<Slot> {
        let slots = self
            .depths
            .get(depth)
            .ok_or_else(|| Error::bug("a depth that was checked has no slots"))?;
        Self::take_one(slots, deadline).await
    }

    /// Waits for the slot of a script, in turn, until the deadline.
    pub(super) async fn take_script(&self, deadline: Deadline) -> Result<Slot> {
        Self::take_one(&self.scripts, deadline).await
    }

    /// Waits for the slot of a function that runs apart, in turn, until the deadline.
    pub(super) async fn take_isolated(&self, deadline: Deadline) -> Result<Slot> {
        Self::take_one(&self.isolated, deadline).await
    }

    async fn take_one(slots: &Arc<Semaphore>, deadline: Deadline) -> Result<Slot> {
        let waiting = tokio::time::timeout(deadline.rest(), slots.clone().acquire_owned());
        match waiting.await {
            Ok(Ok(slot)) => Ok(Slot(slot)),
            Ok(Err(_)) => Err(Error::bug("the slots were closed")),
            Err(_) => Err(Error::new(
                crate::words::error::Code::Busy,
                "all guests are taken, and none became free in time",
            )),
        }
    }
}
