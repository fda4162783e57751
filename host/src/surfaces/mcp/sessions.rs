//! Sessions of clients over HTTP: so many at once, however a client asks for one.
//!
//! What begins a session only the library knows, once it has read a message: any revision may be named in a head, and
//! `initialize` begins a session all the same. So they are counted where they are made.

use std::cell::Cell;
use std::fmt;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::Mutex;

tokio::task_local! {
    /// Whether the request that is being answered wanted a session and got none.
    static TURNED_AWAY: Cell<bool>;
}

/// Sessions of clients, as the library keeps them, and not more of them than may be.
#[derive(Debug)]
pub(super) struct Sessions {
    kept: LocalSessionManager,
    most: usize,
    /// Held while one is counted and made, so that no two take the last place.
    place: Mutex<()>,
}

/// Why something of a session cannot be had.
#[derive(Debug)]
pub(super) enum Failed {
    /// There are as many as may be.
    Full,
    /// What the library says.
    Other(LocalSessionManagerError),
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => out.write_str("there are as many sessions as may be"),
            Self::Other(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for Failed {}

type Result<T> = std::result::Result<T, Failed>;

impl Sessions {
    /// So many, of which each may be silent for so long.
    pub(super) fn new(most: usize, session: SessionConfig) -> Self {
        let mut kept = LocalSessionManager::default();
        kept.session_config = session;
        Self {
            kept,
            most,
            place: Mutex::default(),
        }
    }

    /// Answers a request; whether it wanted a session where there was no place for one.
    pub(super) async fn telling<T>(answer: impl Future<Output = T>) -> (T, bool) {
        let told = async move {
            let answer = answer.await;
            (answer, TURNED_AWAY.with(Cell::get))
        };
        TURNED_AWAY.scope(Cell::new(false), told).await
    }
}

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport)> {
        let _place = self.place.lock().await;
        if self.kept.sessions.read().await.len() >= self.most {
            // Outside of a request nobody is told, and it is refused all the same.
            let _ = TURNED_AWAY.try_with(|away| away.set(true));
            return Err(Failed::Full);
        }
        self.kept.create_session().await.map_err(Failed::Other)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage> {
        let begun = self.kept.initialize_session(id, message).await;
        begun.map_err(Failed::Other)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool> {
        self.kept.has_session(id).await.map_err(Failed::Other)
    }

    async fn close_session(&self, id: &SessionId) -> Result<()> {
        self.kept.close_session(id).await.map_err(Failed::Other)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let stream = self.kept.create_stream(id, message).await;
        stream.map_err(Failed::Other)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<()> {
        let taken = self.kept.accept_message(id, message).await;
        taken.map_err(Failed::Other)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let stream = self.kept.create_standalone_stream(id).await;
        stream.map_err(Failed::Other)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let stream = self.kept.resume(id, last_event_id).await;
        stream.map_err(Failed::Other)
    }
}
