//! Taking a lock that a thread may have panicked under.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock, poisoned or not. For what is consistent at every moment: each change under these
/// locks is one step, so a panic between two of them leaves nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
