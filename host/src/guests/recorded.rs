//! What a run that is replayed is told: outcomes and replies that are on record, in place of guests and models.
//!
//! Everything else of a replay is the code of any run. Whoever has the records is known to the layer above.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::apart::Done;
use crate::words::error::{Error, Result};
use crate::words::event::{Noted, Scripted};
use crate::words::id::Place;
use crate::words::message::{Reply, Usage};

/// The outside of a run, as it was.
pub trait Recorded: fmt::Debug + Send + Sync {
    /// What came of the call at this place, when it is its turn: outcomes come in the order in which they came. One
    /// that nobody saw the end of never ends.
    fn done<'a>(&'a self, place: &'a Place) -> Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

    /// How the script at this place began.
    fn scripted(&self, place: &Place) -> Option<Scripted>;

    /// The text of an attached file that steered a call.
    fn given(&self, name: &str) -> Option<&str>;

    /// Whether the end of a rest comes next: then the script was not left meanwhile.
    fn rested(&self) -> bool;

    /// Whether a model is asked next, or passed over: then the wait before it was sat out.
    fn asks_on(&self) -> bool;

    /// Whether the time of the run is over where it is.
    fn is_late(&self) -> bool;

    /// What a script ends with in the step that comes next, since its time was over in it, or its run had used up what it
    /// may: how much that is on this machine is no part of what comes again.
    fn spent(&self) -> Option<Error>;

    /// What parts of calls, which do not come again, have used of models up to where the run is.
    fn used_inside(&self) -> Usage;

    /// What a model wrote of what is folded next, and what it took.
    ///
    /// # Errors
    /// What it failed with.
    fn summary(&self) -> Result<(String, Usage)>;

    /// What tools had to say of what was folded next.
    fn noted(&self) -> Vec<Noted>;

    /// What the model said that is asked next, or what it failed with; and of that whether it had said something before.
    fn reply(&self) -> (Result<Reply>, bool);
}
