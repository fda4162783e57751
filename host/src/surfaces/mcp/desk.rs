//! What all clients of one process share: the host, how it is served, and how many calls are under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use super::open::Open;
use super::tools::Offered;
use crate::runs::host::Host;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::{
    CANCEL_GRACE_MS_MAX, MCP_ANSWER_MS, MCP_CALLS, MCP_CALLS_MAX, MCP_FRAME_BYTES, MCP_IDLE_MS,
    MCP_PAGE_TOOLS, MCP_SESSIONS,
};
use crate::words::lock::lock;
use crate::words::message::Calling;

/// How clients of MCP are served: `[mcp_server]` of `lazaret.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// How a client calls tools: one by one, from scripts, or either way.
    pub calling: Calling,
    /// Whether a client that can ask its user is asked the questions of its own calls.
    pub elicitation: bool,
    /// How long its user has for one answer.
    pub answer_ms: u64,
    /// Calls at once, all clients together.
    pub calls: usize,
    /// Tools of one page of a list.
    pub page_tools: usize,
    /// Bytes of one message of a client, and of what it is told of one call.
    pub frame_bytes: usize,
    /// Sessions over HTTP at once.
    pub sessions: usize,
    /// How long such a session may be silent.
    pub idle_ms: u64,
    /// What clients know tools by, where that is not the usual name.
    pub names: BTreeMap<String, String>,
}

impl Default for Serving {
    fn default() -> Self {
        Self {
            calling: Calling::Both,
            elicitation: true,
            answer_ms: MCP_ANSWER_MS,
            calls: MCP_CALLS,
            page_tools: MCP_PAGE_TOOLS,
            frame_bytes: MCP_FRAME_BYTES,
            sessions: MCP_SESSIONS,
            idle_ms: MCP_IDLE_MS,
            names: BTreeMap::new(),
        }
    }
}

/// What all clients of one process share.
#[derive(Debug)]
pub struct Desk {
    hosts: watch::Receiver<Arc<Host>>,
    pub(super) serving: Serving,
    pub(super) calls: Arc<Semaphore>,
    /// Calls that are to be made again once they are confirmed.
    pub(super) open: Open,
    closing: Arc<watch::Sender<bool>>,
    offered: Mutex<Option<Arc<Offered>>>,
    /// Where calls are made, wherever their client is talked to.
    pub(super) threads: Handle,
}

impl Desk {
    /// Before whichever host is the newest: clients are told when another one comes. Calls are made in the runtime of
    /// whoever calls this.
    ///
    /// # Errors
    /// `BadInput` for names that no client could tell apart.
    ///
    /// # Panics
    /// Outside of a runtime of `tokio`.
    pub fn following(hosts: watch::Receiver<Arc<Host>>, serving: Serving) -> Result<Arc<Self>> {
        let calls = serving.calls.clamp(1, MCP_CALLS_MAX);
        let desk = Self {
            hosts,
            calls: Arc::new(Semaphore::new(calls)),
            open: Open::default(),
            closing: Arc::new(watch::Sender::new(false)),
            offered: Mutex::default(),
            threads: Handle::current(),
            serving: Serving { calls, ..serving },
        };
        desk.offered()?;
        Ok(Arc::new(desk))
    }

    /// The newest host, and what it offers.
    pub(super) fn offered(&self) -> Result<Arc<Offered>> {
        let host = self.hosts.borrow().clone();
        let mut kept = lock(&self.offered);
        if let Some(offered) = kept.as_ref()
            && Arc::ptr_eq(&offered.host, &host)
        {
            return Ok(offered.clone());
        }
        let offered = Arc::new(Offered::of(host, &self.serving)?);
        *kept = Some(offered.clone());
        Ok(offered)
    }

    /// Sees when another host comes: then clients are told that the list of tools has changed.
    pub(super) fn changes(&self) -> watch::Receiver<Arc<Host>> {
        self.hosts.clone()
    }

    /// Gives all calls up that are under way: no client is there any more to be told of them.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// For a client that is alone before this desk: it says so when that has gone.
    pub(super) fn gone(&self) -> Arc<watch::Sender<bool>> {
        self.closing.clone()
    }

    /// Returns when calls are to be given up.
    pub(super) async fn closed(&self) {
        let mut news = self.closing.subscribe();
        if news.wait_for(|closing| *closing).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until no call is under way, so that each has its end on record.
    ///
    /// # Errors
    /// `Busy` where one does not end.
    pub async fn drained(&self) -> Result<()> {
        let all = u32::try_from(self.serving.calls).unwrap_or(u32::MAX);
        let limit = Duration::from_millis(CANCEL_GRACE_MS_MAX);
        match tokio::time::timeout(limit, self.calls.acquire_many(all)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(
                Code::Busy,
                "a call did not end when it was given up",
            )),
        }
    }
}
