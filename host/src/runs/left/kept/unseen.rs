//! A hold of a run of which nobody else has seen anything: most calls are over before that, and then there was no file.
//!
//! Others see of a run what is written of it, so the journal makes the mark before it writes anything ([`Ahead`]). Until then
//! only this process knows its name, and nobody here takes it.

use std::sync::{Arc, Mutex};

use super::{Held, Mark, StateFolder, Taken, elsewhere, file_of};
use crate::gate::journal::Ahead;
use crate::words::error::Result;
use crate::words::id::RunId;
use crate::words::lock::lock;

/// A run that is held against this process, and once it may be seen, against the rest of this machine.
#[derive(Debug)]
pub(in crate::runs) struct Unseen {
    late: Arc<Late>,
    #[expect(dead_code, reason = "held for its drop")]
    taken: Taken,
}

/// A mark that may have to be made.
#[derive(Debug)]
struct Late {
    runs: StateFolder,
    run: RunId,
    mark: Mark,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Unmade,
    Made(Held),
    /// Nobody holds the run any more.
    Over,
}

impl Late {
    fn make(&self, state: &mut State) -> Result<()> {
        if !matches!(state, State::Unmade) {
            return Ok(());
        }
        let held = self.runs.hold(&file_of(&self.run))?;
        let held = held.ok_or_else(|| elsewhere(&self.run))?;
        held.write(&self.mark.text())?;
        *state = State::Made(held);
        Ok(())
    }
}

impl Unseen {
    pub(super) fn new(runs: StateFolder, taken: Taken, mark: Mark) -> Self {
        let late = Late {
            runs,
            run: taken.1.clone(),
            mark,
            state: Mutex::new(State::Unmade),
        };
        Self {
            late: Arc::new(late),
            taken,
        }
    }

    /// Makes the mark, unless there is one, or nobody holds the run any more.
    pub(super) fn ahead(&self) -> Ahead {
        let late = self.late.clone();
        Box::new(move || late.make(&mut lock(&late.state)))
    }

    /// Does something with the file, which is made for it where there is none.
    pub(super) fn held<T>(&self, what: impl FnOnce(&Held) -> Result<T>) -> Result<T> {
        let mut state = lock(&self.late.state);
        self.late.make(&mut state)?;
        match &*state {
            State::Made(held) => what(held),
            State::Unmade | State::Over => Err(elsewhere(&self.late.run)),
        }
    }

    /// The run has ended.
    pub(super) fn end(self) {
        let state = std::mem::replace(&mut *lock(&self.late.state), State::Over);
        if let State::Made(held) = state {
            held.remove();
        }
    }
}

impl Drop for Unseen {
    /// A run that has not ended may be taken up again, as soon as it is written.
    fn drop(&mut self) {
        let mut state = lock(&self.late.state);
        // Otherwise it is tried again before anything is written.
        if self.late.make(&mut state).is_ok() {
            *state = State::Over;
        }
    }
}
