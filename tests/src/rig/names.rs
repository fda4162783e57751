//! Where names lead in a test: to the addresses that it says, at once, or after as long as it says.

use std::sync::{Arc, Mutex};

use lazaret::edges::egress::{Names, Slow};

use super::Rig;

impl Rig {
    /// With these names and no others, each of which is looked up for as long as it says.
    #[must_use]
    pub fn slow(mut self, slow: &Arc<Slow>) -> Self {
        self.slow = Some(slow.clone());
        self
    }

    pub(super) fn looking_up(&self) -> Names {
        match &self.slow {
            Some(slow) => Names::Slow(slow.clone()),
            None => Names::Turns(Arc::new(Mutex::new(self.names.clone()))),
        }
    }
}
