//! Endings: why a server is no longer up. The first reason holds.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;

use crate::words::error::Error;
use crate::words::lock::lock;

/// Whether a server is up, and why not.
pub(super) struct Ending {
    why: Mutex<Option<String>>,
    is_over: watch::Sender<bool>,
    failed: Mutex<Option<Error>>,
}

impl Default for Ending {
    fn default() -> Self {
        Self {
            why: Mutex::new(None),
            is_over: watch::Sender::new(false),
            failed: Mutex::default(),
        }
    }
}

impl Ending {
    /// It is over, for this reason.
    pub(super) fn end(&self, why: impl Into<String>) {
        lock(&self.why).get_or_insert_with(|| why.into());
        self.is_over.send_replace(true);
    }

    /// What was to be sent did not leave, or came to nothing: why a server does not come up, if nobody knows better.
    pub(super) fn fail(&self, why: Error) {
        lock(&self.failed).replace(why);
    }

    /// What failed last; told once.
    pub(super) fn failed(&self) -> Option<Error> {
        lock(&self.failed).take()
    }

    /// It is over, for this reason unless somebody knows a better one within this time.
    pub(super) async fn end_after(&self, patience: Duration, why: &str) {
        // Running out is what this is for.
        let _ = tokio::time::timeout(patience, self.over()).await;
        self.end(why);
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        *self.is_over.borrow()
    }

    /// Returns when it is over.
    pub(super) async fn over(&self) {
        let mut news = self.is_over.subscribe();
        // Whoever says so is kept with it.
        let _ = news.wait_for(|over| *over).await;
    }

    /// Why it is over.
    pub(super) fn why(&self) -> String {
        lock(&self.why)
            .clone()
            .unwrap_or_else(|| "it ended".to_owned())
    }
}
