//! MCP over HTTP, for whoever has a door before it.
//!
//! The door knows who may come in: it checks the token. Which hosts and origins a request may name is checked here as
//! well, since a browser that was led astray comes from this machine.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, Request, StatusCode, header};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::desk::Desk;
use super::session::Session;
use crate::words::limits::MCP_FRAME_BYTES;

/// Clients of MCP over HTTP.
#[derive(Clone)]
pub struct Clients {
    inner: StreamableHttpService<Session, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    most: usize,
    stop: StreamableHttpServerConfig,
    desk: Arc<Desk>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Clients")
    }
}

/// Hosts that a request may name, whatever the port: a name that somebody else resolves is none of them.
const HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Origins of pages that may ask, if a page asks at all.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

impl Clients {
    /// Clients that come to this desk.
    #[must_use]
    pub fn new(desk: Arc<Desk>) -> Self {
        let mut session = SessionConfig::default();
        session.keep_alive = Some(Duration::from_millis(desk.serving.idle_ms));
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = session;
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(HOSTS)
            .with_allowed_origins(ORIGINS)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MCP_FRAME_BYTES);
        let most = desk.serving.sessions;
        let before = desk.clone();
        let inner = StreamableHttpService::new(
            move || Ok(Session::new(before.clone())),
            sessions.clone(),
            config.clone(),
        );
        Self {
            inner,
            sessions,
            most,
            stop: config,
            desk,
        }
    }

    /// Ends all sessions; calls are given up.
    pub fn close(&self) {
        self.desk.close();
        self.stop.cancellation_token.cancel();
    }

    /// Answers one request of a client that the door has let in.
    pub async fn answer(&self, request: Request<Body>) -> Response {
        if begins(&request) && self.sessions.sessions.read().await.len() >= self.most {
            let what = "there are as many sessions as may be; end one, or come again";
            return (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
        }
        self.inner.handle(request).await.map(Body::new)
    }
}

/// Whether a request may begin a session: those of the newest version have none.
fn begins(request: &Request<Body>) -> bool {
    let version = |headers: &HeaderMap| {
        let said = headers.get("mcp-protocol-version")?.to_str().ok()?;
        Some(said >= ProtocolVersion::NO_INITIALIZE.as_str())
    };
    let headers = request.headers();
    request.method() == Method::POST
        && !headers.contains_key("mcp-session-id")
        && version(headers) != Some(true)
}

/// The token of a request, as it was sent.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let said = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = said.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
