//! Tickets: by what a client goes on with a call of its own that had to wait.
//!
//! Whose a run is a session cannot say: the newest revision has none, and a client that was closed over night comes back
//! in another. The token cannot either, since all clients have the same one, and those at standard input have none. And a
//! run's name is no secret: it is a time and a few bits more, and stands in lists. So a client is told a ticket, which only this
//! host can make, and whoever brings it is whom it was told to. The person at this machine needs none: `lazaret runs`.

use crate::runs::host::Host;
use crate::words::id::{Digest, RunId};

const PURPOSE: &str = "ticket of a run over MCP";

/// The ticket of a run.
pub(super) fn of(host: &Host, run: &RunId) -> String {
    let word = host
        .journal()
        .key()
        .nonce(PURPOSE, &[run.as_str().as_bytes()]);
    format!("{run}.{word}")
}

/// The run that a ticket is of, if this host made it.
pub(super) fn run_of(host: &Host, ticket: &str) -> Option<RunId> {
    let (run, _) = ticket.rsplit_once('.')?;
    let run = RunId::known(run);
    // How long it takes to compare two digests says nothing of what they are of.
    let is_made = Digest::of(of(host, &run).as_bytes()) == Digest::of(ticket.as_bytes());
    is_made.then_some(run)
}
