//! The ear: what a server says without being asked. Nearly all of it is refused.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::Service;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ErrorCode, ErrorData, Implementation,
    NumberOrString, ProgressToken, ServerNotification, ServerRequest,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use crate::rules::scrub::Known;
use crate::words::id::shown;
use crate::words::lock::lock;

/// Whom to tell how a call goes: a sentence, and per cent where they are known.
pub type Progress = Arc<dyn Fn(String, Option<u8>) + Send + Sync>;

/// What one server is heard to say. Cheap to clone.
#[derive(Clone)]
pub(super) struct Ear(Arc<Heard>);

struct Heard {
    server: String,
    known: Known,
    /// It says that it offers something else by now.
    is_stale: AtomicBool,
    calls: Mutex<HashMap<ProgressToken, Progress>>,
}

/// A call whose progress is told until this is dropped.
pub(super) struct Listening {
    ear: Ear,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        lock(&self.ear.0.calls).remove(&self.token);
    }
}

impl Ear {
    pub(super) fn new(server: &str, known: &Known) -> Self {
        Self(Arc::new(Heard {
            server: server.to_owned(),
            known: known.clone(),
            is_stale: AtomicBool::new(false),
            calls: Mutex::default(),
        }))
    }

    /// The server's name.
    pub(super) fn server(&self) -> &str {
        &self.0.server
    }

    /// It offers something else by now. However often it says so, it is looked at once.
    pub(super) fn changed(&self) {
        self.0.is_stale.store(true, Ordering::Release);
    }

    /// Whether it said so since this was asked last.
    pub(super) fn take_changed(&self) -> bool {
        self.0.is_stale.swap(false, Ordering::AcqRel)
    }

    /// Tells of the progress of the call with this token.
    pub(super) fn listen(&self, token: ProgressToken, progress: Progress) -> Listening {
        lock(&self.0.calls).insert(token.clone(), progress);
        let ear = self.clone();
        Listening { ear, token }
    }

    /// How a call goes.
    pub(super) fn progress(
        &self,
        token: &ProgressToken,
        (done, total): (f64, Option<f64>),
        message: &str,
    ) {
        let progress = lock(&self.0.calls).get(token).cloned();
        if let Some(tell) = progress {
            tell(self.clean(message), percent(done, total));
        }
    }

    /// A line for whoever reads the log.
    pub(super) fn log(&self, line: &str) {
        let server = &self.0.server;
        tracing::debug!(target: "lazaret::mcp", "{server}: {}", self.clean(line));
    }

    /// Words of the server on one short line, without what must not be read.
    pub(super) fn clean(&self, text: &str) -> String {
        shown(&self.scrubbed(text))
    }

    /// The same, whole.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        self.0.known.clean(text).unwrap_or_else(|| text.to_owned())
    }

    fn refuse(&self, what: &str) -> ErrorData {
        let (server, what) = (&self.0.server, shown(what));
        tracing::info!(target: "lazaret::mcp", "{server}: it asked for `{what}`, which is refused");
        ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("`{what}` is not offered"),
            None,
        )
    }
}

/// How much of it is done, where that can be said.
fn percent(done: f64, total: Option<f64>) -> Option<u8> {
    let total = total.filter(|total| *total > 0.0)?;
    let percent = (done / total * 100.0).clamp(0.0, 100.0);
    (0..=100u8).rev().find(|known| f64::from(*known) <= percent)
}

impl Service<RoleClient> for Ear {
    /// What a server asks for is refused, all but whether we are there: nobody's model, files or words are its.
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if let ServerRequest::PingRequest(_) = &request {
            return Ok(ClientResult::empty(()));
        }
        // Only its name is told, and never what it brought along.
        let written = serde_json::to_value(&request).unwrap_or_default();
        let method = written.get("method").and_then(serde_json::Value::as_str);
        Err(self.refuse(method.unwrap_or("that")))
    }

    async fn handle_notification(
        &self,
        said: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if let ServerNotification::ToolListChangedNotification(_) = &said {
            self.changed();
        }
        if let ServerNotification::ProgressNotification(said) = said {
            let said = said.params;
            let message = said.message.unwrap_or_default();
            self.progress(&said.progress_token, (said.progress, said.total), &message);
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("lazaret", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

impl fmt::Debug for Ear {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Ear({})", self.0.server)
    }
}

/// The token of a notice of progress, as it stands in JSON.
pub(super) fn token(value: &serde_json::Value) -> Option<ProgressToken> {
    serde_json::from_value::<NumberOrString>(value.clone())
        .ok()
        .map(ProgressToken)
}
