//! The site: what all requests share.

use std::sync::Arc;

use tokio::sync::watch;

use super::door::{Door, Rates};
use super::feed::Feeds;
use super::names::Names;
use super::token::Token;
use super::underway::Underway;
use crate::runs::host::Host;
use crate::surfaces::config::serve::ServeRules;
use crate::words::limits::SERVE_OPEN_PER_MINUTE;

/// What all requests share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Site(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Whom new runs belong to; those under way keep theirs.
    host: watch::Sender<Arc<Host>>,
    rules: ServeRules,
    door: Door,
    underway: Underway,
    feeds: Feeds,
    ending: watch::Sender<bool>,
}

impl Site {
    /// A site that nobody has come to yet.
    #[must_use]
    pub fn new(host: Arc<Host>, rules: ServeRules, (names, token): (Names, &Token)) -> Self {
        let rates = Rates {
            requests: rules.requests_per_minute,
            failures: rules.failures_per_minute,
            open: SERVE_OPEN_PER_MINUTE,
        };
        Self(Arc::new(Inner {
            host: watch::Sender::new(host),
            door: Door::new(names, token.digest(), rates),
            underway: Underway::new(rules.runs, rules.runs_per_user),
            feeds: Feeds::new(rules.watchers),
            ending: watch::Sender::new(false),
            rules,
        }))
    }

    /// Whom runs that begin now belong to.
    #[must_use]
    pub fn host(&self) -> Arc<Host> {
        self.0.host.borrow().clone()
    }

    /// The same, as it changes.
    #[must_use]
    pub fn hosts(&self) -> watch::Receiver<Arc<Host>> {
        self.0.host.subscribe()
    }

    /// From now on runs that begin belong to this host.
    pub fn renew_host(&self, host: Arc<Host>) {
        // The last of its runs may have ended: then the one before closes its journal here.
        drop(self.0.host.send_replace(host));
    }

    /// Who calls: whoever has the token.
    pub(super) fn client(&self) -> String {
        self.0.door.client()
    }

    /// From now on this is the token.
    pub fn renew_token(&self, token: &Token) {
        self.0.door.renew(token.digest());
    }

    /// What the server allows.
    #[must_use]
    pub fn rules(&self) -> &ServeRules {
        &self.0.rules
    }

    pub(super) fn door(&self) -> &Door {
        &self.0.door
    }

    pub(super) fn underway(&self) -> &Underway {
        &self.0.underway
    }

    pub(super) fn feeds(&self) -> &Feeds {
        &self.0.feeds
    }

    /// Nothing new begins, and whoever watches is told that it ends.
    pub(super) fn end(&self) {
        self.0.underway.close();
        self.0.ending.send_replace(true);
    }

    /// Whether the server ends.
    pub(super) fn is_ending(&self) -> bool {
        *self.0.ending.borrow()
    }

    /// Says when the server ends.
    pub(super) fn ending(&self) -> watch::Receiver<bool> {
        self.0.ending.subscribe()
    }

    /// Returns when the server ends.
    pub(super) async fn ended(&self) {
        let mut ending = self.0.ending.subscribe();
        // The sender lives as long as this does.
        let _ = ending.wait_for(|ending| *ending).await;
    }
}
