//! MCP over HTTP, for whoever has a door before it.
//!
//! The door (`http/door.rs`) knows who may come in: by which name, from no page but ours, with the token, and how often.
//! Nothing of that is looked at again here, so that it is said in one place.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rmcp::transport::streamable_http_server::session::local::SessionConfig;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::desk::Desk;
use super::frames::strict;
use super::session::Session;
use super::sessions::Sessions;
use crate::surfaces::envelope::refused;
use crate::words::error::Error;
use crate::words::event::Surface;
use crate::words::id::shown;
use crate::words::inert::inert_json;

/// Clients of MCP over HTTP.
#[derive(Clone)]
pub struct Clients {
    inner: StreamableHttpService<Session, Sessions>,
    /// How long a body may take to arrive.
    body: Duration,
    stop: StreamableHttpServerConfig,
    desk: Arc<Desk>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Clients")
    }
}

impl Clients {
    /// Clients that come to this desk, and how long the body of a request of theirs may take to arrive.
    #[must_use]
    pub fn new(desk: Arc<Desk>, body_ms: u64) -> Self {
        let mut session = SessionConfig::default();
        // A person who is asked may take longer than a client may be silent.
        let silent = desk.serving.idle_ms.max(desk.serving.answer_ms);
        session.keep_alive = Some(Duration::from_millis(silent));
        let sessions = Arc::new(Sessions::new(desk.serving.sessions, session));
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(desk.serving.frame_bytes);
        let before = desk.clone();
        let inner = StreamableHttpService::new(
            move || Ok(Session::new(before.clone())),
            sessions,
            config.clone(),
        );
        Self {
            inner,
            body: Duration::from_millis(body_ms),
            stop: config,
            desk,
        }
    }

    /// Ends all sessions; calls are given up.
    pub fn close(&self) {
        self.desk.close();
        self.stop.cancellation_token.cancel();
    }

    /// Returns when no call is under way.
    ///
    /// # Errors
    /// `Busy` where one does not end.
    pub async fn drained(&self) -> Result<(), Error> {
        self.desk.drained().await
    }

    /// Answers one request of a client that the door has let in.
    pub async fn answer(&self, request: Request<Body>) -> Response {
        if !METHODS.contains(request.method()) {
            return wrong_method(request.method());
        }
        let (head, body) = request.into_parts();
        let most = self.desk.serving.frame_bytes;
        let body = match tokio::time::timeout(self.body, whole(body, most)).await {
            Ok(Ok(body)) => body,
            Ok(Err(refused)) => return refused,
            Err(_) => {
                let what = "the body of the request did not arrive in time";
                return (StatusCode::REQUEST_TIMEOUT, what).into_response();
            }
        };
        // The library would take the last of a key that comes twice, and says of what is no text that its type is wrong.
        if head.method == Method::POST
            && let Err(bad) = strict(&body, "body")
        {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            return (StatusCode::BAD_REQUEST, kind, bad).into_response();
        }
        let request = Request::from_parts(head, Body::from(body));
        let (answer, full) = Sessions::telling(self.inner.handle(request)).await;
        if full {
            let what = "there are as many sessions as may be; end one, or come again";
            return (StatusCode::SERVICE_UNAVAILABLE, what).into_response();
        }
        answer.map(Body::new)
    }
}

/// How the protocol asks.
const METHODS: [Method; 3] = [Method::GET, Method::POST, Method::DELETE];

/// What asks in another way speaks no MCP, so it is answered as anywhere else.
fn wrong_method(method: &Method) -> Response {
    let what = format!(
        "this address is not asked with `{}`",
        shown(method.as_str())
    );
    let error = Error::bad_input(what).hint("MCP asks with GET, POST and DELETE");
    let envelope = inert_json(refused("http", Surface::Http, &error).to_string());
    let allowed = METHODS.map(|method| method.to_string()).join(",");
    let headers = [
        (header::ALLOW, allowed),
        (header::CONTENT_TYPE, "application/json".to_owned()),
    ];
    (StatusCode::METHOD_NOT_ALLOWED, headers, envelope).into_response()
}

/// A body, whole, if it is a message that may be.
async fn whole(body: Body, most: usize) -> Result<Bytes, Response> {
    match Limited::new(body, most).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let what = format!("a message has at most {most} bytes");
            Err((StatusCode::PAYLOAD_TOO_LARGE, what).into_response())
        }
        Err(_) => {
            let what = "the body ended before its end";
            Err((StatusCode::BAD_REQUEST, what).into_response())
        }
    }
}
