//! Runs that are run again from their records.

use lazaret::runs::host::Host;
use lazaret::runs::replay::Replayed;
use lazaret::runs::session::Earlier;
use lazaret::words::error::Result;
use lazaret::words::event::Record;
use lazaret::words::id::RunId;

use super::{Rig, Rigged};

impl Rig {
    /// Runs these records again, with the policy of now.
    ///
    /// # Panics
    /// Where not all was kept that this takes.
    pub async fn replay(&self, records: &[Record]) -> Replayed {
        let setup = self.setup().expect("the policy of a test is sound");
        let replayed = Host::replay(setup, (records, Earlier::default()), None).await;
        replayed.expect("all is on record that a replay takes")
    }
}

impl Rigged {
    /// Runs a run again from its records.
    ///
    /// # Panics
    /// Where it cannot be.
    pub async fn replay(&self, run: &RunId) -> Replayed {
        let replayed = self.try_replay(run).await;
        replayed.expect("all that it takes was kept")
    }

    /// Runs a run again from its records.
    ///
    /// # Errors
    /// Where not all was kept that this takes.
    ///
    /// # Panics
    /// Where its session cannot be read.
    pub async fn try_replay(&self, run: &RunId) -> Result<Replayed> {
        let records = self.records(run).await;
        let earlier = self.host.before(&records).await.expect("a session");
        let setup = self.rig.setup().expect("the policy of a test is sound");
        Host::replay(setup, (&records, earlier), None).await
    }
}
