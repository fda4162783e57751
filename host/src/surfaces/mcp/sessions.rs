//! Sessions of clients over HTTP: so many at once, however a client asks for one.
//!
//! What begins a session only the library knows, once it has read a message: any revision may be named in a head, and
//! `initialize` begins a session all the same. So they are counted where they are made.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::Stream;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::words::limits::MCP_SESSION_END_MS;
use crate::words::lock::lock;

tokio::task_local! {
    /// Whether the request that is being answered wanted a session and got none.
    static TURNED_AWAY: Cell<bool>;
}

/// Sessions of clients, as the library keeps them, and not more of them than may be.
#[derive(Debug)]
pub(super) struct Sessions {
    kept: LocalSessionManager,
    places: Arc<Semaphore>,
    /// Who sees each session's end.
    ends: Mutex<HashMap<SessionId, watch::Receiver<()>>>,
}

/// A session's own end of the line. Its place is free again when this is gone, and that is when its task has ended: not
/// when nobody may use it any more, since what is under way in it is still there.
pub(super) struct Placed {
    line: Line,
    _end: watch::Sender<()>,
    _place: OwnedSemaphorePermit,
}

type Line = <LocalSessionManager as SessionManager>::Transport;

impl Transport<RoleServer> for Placed {
    type Error = <Line as Transport<RoleServer>>::Error;

    fn name() -> Cow<'static, str> {
        Line::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = std::result::Result<(), Self::Error>> + Send + 'static {
        self.line.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.line.receive().await
    }

    async fn close(&mut self) -> std::result::Result<(), Self::Error> {
        self.line.close().await
    }
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
            places: Arc::new(Semaphore::new(most)),
            ends: Mutex::default(),
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
    type Transport = Placed;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport)> {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            // Outside of a request nobody is told, and it is refused all the same.
            let _ = TURNED_AWAY.try_with(|away| away.set(true));
            return Err(Failed::Full);
        };
        let (id, line) = self.kept.create_session().await.map_err(Failed::Other)?;
        let (end, seen) = watch::channel(());
        lock(&self.ends).insert(id.clone(), seen);
        let placed = Placed {
            line,
            _end: end,
            _place: place,
        };
        Ok((id, placed))
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
        let closed = self.kept.close_session(id).await.map_err(Failed::Other);
        let end = lock(&self.ends).remove(id);
        if let Some(mut end) = end {
            // Whoever is told that it is over finds its place free; what does not end is not waited for, and keeps it.
            let limit = Duration::from_millis(MCP_SESSION_END_MS);
            let _ = tokio::time::timeout(limit, end.changed()).await;
        }
        closed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_is_free_when_its_session_has_ended_and_not_when_it_is_closed() {
        let sessions = Sessions::new(1, SessionConfig::default());
        let (id, line) = sessions.create_session().await.unwrap();
        let begun = |sessions: &Sessions| sessions.places.available_permits();
        assert!(matches!(
            sessions.create_session().await.map(drop),
            Err(Failed::Full)
        ));
        // It is closed, and whoever closes it waits for its end.
        {
            let mut closing = std::pin::pin!(sessions.close_session(&id));
            for _ in 0..1_000 {
                tokio::select! {
                    biased;
                    _ = closing.as_mut() => panic!("its task is still there"),
                    () = tokio::task::yield_now() => {}
                }
            }
            assert_eq!(begun(&sessions), 0);
            drop(line);
            closing.await.unwrap();
        }
        assert!(!sessions.has_session(&id).await.unwrap());
        assert_eq!(begun(&sessions), 1);
        assert!(sessions.create_session().await.is_ok());
    }
}
