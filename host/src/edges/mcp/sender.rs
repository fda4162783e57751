//! Requests of the host's own to somebody outside: judged by one grant and nothing else, through egress like any other.
//!
//! The record that a request's permit stands on is kept in a journal of its own and forgotten with it: what was called
//! stands in the run's.

use std::sync::Arc;

use crate::edges::egress::{Egress, Stream};
use crate::gate::Gate;
use crate::gate::journal::Journal;
use crate::rules::caller::{Caller, Origin};
use crate::rules::fetch::Fetch;
use crate::rules::grant::Grant;
use crate::rules::policy::Policy;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Error, Result};
use crate::words::id::RunId;
use crate::words::key::HostKey;
use crate::words::limits::SERVER_MS_MAX;

/// Sends requests within one grant.
pub(super) struct Sender {
    grant: Arc<Grant>,
    policy: Arc<Policy>,
    egress: Egress,
    key: HostKey,
}

impl Sender {
    /// Of whoever `line` of the operator's lets send.
    pub(super) fn new(line: &str, grant: Grant, (egress, key): (&Egress, &HostKey)) -> Self {
        Self {
            grant: Arc::new(grant),
            policy: Arc::new(Policy::nothing(line)),
            egress: egress.clone(),
            key: key.clone(),
        }
    }

    /// Sends one request.
    ///
    /// # Errors
    /// `Denied`, `FetchFailed`, `TooSlow`.
    pub(super) async fn send(&self, fetch: Fetch) -> Result<Stream> {
        let clock = Clock::system();
        let journal = Journal::in_memory(clock.clone(), self.key.clone())?;
        let gate = Gate::new(self.policy.clone(), journal);
        let within = (self.grant.clone(), Deadline::after_ms(SERVER_MS_MAX));
        let caller = Caller::apart(RunId::new(&clock), Origin::Host, within);
        let send = async |permit| self.egress.open(permit).await;
        gate.pass(&caller, fetch, send)
            .await
            .map_err(|not| not.error)?
            .performed
            .result
    }
}

/// A body that is read whole, bounded.
///
/// # Errors
/// `TooBig`; what reading says.
pub(super) async fn whole(mut stream: Stream, most: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = stream.next().await? {
        let bytes = body.len().saturating_add(piece.len());
        if bytes > most {
            return Err(Error::too_big("what was answered", most, bytes));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
