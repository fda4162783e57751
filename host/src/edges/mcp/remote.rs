//! A server that is asked over HTTP: each request is the operator's, judged by the line of `[mcp.NAME]` and nothing
//! else, and leaves through egress with its checks of addresses, its bounds and its secrets.
//!
//! The record that a request's permit stands on is kept in a journal of its own and forgotten with it: what was called
//! stands in the run's. Redirects are answers, and answers like these end nothing but the request. Nobody is asked for
//! authorization: a server that wants some has a header with a secret, or is not used.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::Around;
use super::ending::Ending;
use crate::edges::egress::{Egress, Stream};
use crate::gate::Gate;
use crate::gate::journal::Journal;
use crate::rules::caller::{Budget, Caller, Known, Origin};
use crate::rules::grant::Grant;
use crate::rules::policy::Policy;
use crate::rules::server::{Bounds, Remote, Terms};
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Surface;
use crate::words::id::{Place, RunId};
use crate::words::key::HostKey;
use crate::words::label::{Label, Source};
use crate::words::limits::{REFUSAL_BYTES, SERVER_MS_MAX};

/// Sends requests to one server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Desk(Arc<Parts>);

struct Parts {
    remote: Remote,
    bounds: Bounds,
    grant: Arc<Grant>,
    policy: Arc<Policy>,
    egress: Egress,
    key: HostKey,
    ending: Arc<Ending>,
}

/// Why a request failed, as the library is told.
#[derive(Debug)]
pub(super) struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

type Answered<T> = std::result::Result<T, StreamableHttpError<Failed>>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, std::result::Result<Sse, SseError>>;

impl Desk {
    pub(super) fn new(
        (terms, remote): (&Terms, &Remote),
        around: &Around,
        ending: Arc<Ending>,
    ) -> Self {
        Self(Arc::new(Parts {
            remote: remote.clone(),
            bounds: terms.bounds,
            grant: Arc::new(remote.grant()),
            policy: Arc::new(Policy::nothing(&format!("[mcp.{}]", terms.name))),
            egress: around.egress.clone(),
            key: around.key.clone(),
            ending,
        }))
    }

    /// The library's side of it: sessions, streams that are taken up again, and versions.
    pub(super) fn transport(self, terms: &Terms) -> StreamableHttpClientTransport<Self> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.0.remote.url.clone());
        config.max_sse_event_size = terms.bounds.message_bytes;
        config.max_concurrent_requests = terms.bounds.calls_at_once;
        StreamableHttpClientTransport::with_client(self, config)
    }

    /// Sends a request, judged by the operator's own line.
    async fn send(
        &self,
        method: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Answered<Stream> {
        let sent = self.sent(method, headers, body).await;
        sent.map_err(|error| self.failed(error.message()))
    }

    async fn sent(
        &self,
        method: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Stream> {
        let clock = Clock::system();
        let journal = Journal::in_memory(clock.clone(), self.0.key.clone())?;
        let gate = Gate::new(self.0.policy.clone(), journal);
        let fetch = self.0.remote.request(method, headers, body)?;
        let caller = self.caller(RunId::new(&clock));
        let send = async |permit| self.0.egress.open(permit).await;
        gate.pass(&caller, fetch, send)
            .await
            .map_err(|not| not.error)?
            .performed
            .result
    }

    /// The host as a caller: it may reach this server, and nothing else.
    fn caller(&self, run: RunId) -> Caller {
        Caller {
            run,
            parent: 0,
            place: Place::default(),
            known: Known::default(),
            surface: Surface::Cli,
            origin: Origin::Host,
            reach: Arc::new([]),
            grant: self.0.grant.clone(),
            label: Label::of(Source::user()),
            depth: 0,
            deadline: Deadline::after_ms(SERVER_MS_MAX),
            budget: Budget::of_calls(0),
        }
    }

    /// A failure, which is why a server is not up if nothing else is.
    fn failed(&self, why: &str) -> StreamableHttpError<Failed> {
        StreamableHttpError::Client(Failed(why.to_owned()))
    }

    /// What no message can be made of ends the server: whoever waits learns why.
    fn refused(&self, status: u16) -> StreamableHttpError<Failed> {
        let why = match status {
            401 | 403 => format!(
                "it answered with status {status}: it wants to know who asks; give it a header with a secret (`headers` of \
                 `[mcp.NAME]`)"
            ),
            300..=399 => format!(
                "it answered with status {status}: it sends elsewhere, and redirects are not followed"
            ),
            _ => format!("it answered with status {status}"),
        };
        self.0.ending.end(why.clone());
        self.failed(&why)
    }

    /// A body that is read whole, bounded.
    async fn read(&self, mut stream: Stream, most: usize) -> Answered<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(piece) = stream
            .next()
            .await
            .map_err(|error| self.failed(error.message()))?
        {
            if body.len().saturating_add(piece.len()) > most {
                return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: most });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// Events as they come, each of them bounded, and not more of them in a second than may be.
    fn events(&self, stream: Stream) -> Events {
        let count = Count::new(self.0.bounds);
        let pieces = stream::unfold(Some((stream, count)), |state| async move {
            let (mut stream, mut count) = state?;
            match stream.next().await {
                Ok(Some(piece)) => match count.take(&piece) {
                    Ok(()) => Some((Ok(bytes::Bytes::from(piece)), Some((stream, count)))),
                    Err(error) => Some((Err(Failed(error.message().to_owned())), None)),
                },
                Ok(None) => None,
                Err(error) => Some((Err(Failed(error.message().to_owned())), None)),
            }
        });
        SseStream::from_bytes_stream(pieces).boxed()
    }
}

/// Counts what a stream of events brings.
struct Count {
    bounds: Bounds,
    /// Bytes of the event that is under way, and of its line.
    bytes: (usize, usize),
    second: (std::time::Instant, u32),
}

impl Count {
    fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            bytes: (0, 0),
            second: (Clock::instant(), 0),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<()> {
        for byte in piece {
            match byte {
                b'\n' if self.bytes.1 == 0 => {
                    self.bytes.0 = 0;
                    self.event()?;
                }
                b'\n' => self.bytes.1 = 0,
                b'\r' => {}
                _ => self.bytes.1 = self.bytes.1.saturating_add(1),
            }
            self.bytes.0 = self.bytes.0.saturating_add(1);
            if self.bytes.0 > self.bounds.message_bytes {
                return Err(Error::too_big(
                    "an event of the server",
                    self.bounds.message_bytes,
                    self.bytes.0,
                ));
            }
        }
        Ok(())
    }

    fn event(&mut self) -> Result<()> {
        let now = Clock::instant();
        if now.duration_since(self.second.0).as_secs() >= 1 {
            self.second = (now, 0);
        }
        self.second.1 = self.second.1.saturating_add(1);
        if self.second.1 > self.bounds.messages_per_s {
            let what = "the server sends more messages in a second than `messages_per_s` says";
            return Err(Error::new(Code::RateLimited, what));
        }
        Ok(())
    }
}

/// Headers as text; those that are none are ours to know of, and there are none.
fn with(custom: &Headers, session: Option<&str>, own: &[(&str, &str)]) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let own = own
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let session = session.map(|session| ("mcp-session-id".to_owned(), session.to_owned()));
    custom
        .iter()
        .filter_map(text)
        .chain(session)
        .chain(own)
        .collect()
}

/// What a server says that does not know what it was asked.
fn unknown(id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "it is not known there", None);
    ServerJsonRpcMessage::error(error, Some(id))
}

/// The name of a request that asks which revision a server is of.
fn discovering(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) =>
        {
            Some(request.id.clone())
        }
        ClientJsonRpcMessage::Request(_)
        | ClientJsonRpcMessage::Response(_)
        | ClientJsonRpcMessage::Notification(_)
        | ClientJsonRpcMessage::Error(_) => None,
    }
}

const BOTH: &str = "application/json, text/event-stream";

impl StreamableHttpClient for Desk {
    type Error = Failed;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        custom: Headers,
    ) -> Answered<StreamableHttpPostResponse> {
        let body = serde_json::to_vec(&message)?;
        let own = [("accept", BOTH), ("content-type", "application/json")];
        let headers = with(&custom, session.as_deref(), &own);
        let stream = self.send("POST", headers, body).await?;
        let status = stream.status();
        let kind = stream
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let given = stream.header("mcp-session-id").map(str::to_owned);
        let expects = matches!(message, ClientJsonRpcMessage::Request(_));
        let discovering = discovering(&message);
        match status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if session.is_some() => Err(StreamableHttpError::SessionExpired),
            200..=299 if kind.starts_with("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(self.events(stream), given))
            }
            200..=299 => {
                let body = self.read(stream, self.0.bounds.message_bytes).await?;
                if body.is_empty() && !expects {
                    return Ok(StreamableHttpPostResponse::Accepted);
                }
                let message: ServerJsonRpcMessage = serde_json::from_slice(&body)?;
                Ok(StreamableHttpPostResponse::Json(message, given))
            }
            400 | 404..=599 if kind.starts_with("application/json") => {
                let body = self.read(stream, REFUSAL_BYTES).await?;
                match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
                    Ok(message @ ServerJsonRpcMessage::Error(_)) => {
                        Ok(StreamableHttpPostResponse::Json(message, given))
                    }
                    Ok(_) | Err(_) => match discovering {
                        Some(id) => Ok(StreamableHttpPostResponse::Json(unknown(id), given)),
                        None => Err(self.refused(status)),
                    },
                }
            }
            // One of an older revision, which does not know what it was asked.
            400 | 404..=499 => match discovering {
                Some(id) => Ok(StreamableHttpPostResponse::Json(unknown(id), given)),
                None => Err(self.refused(status)),
            },
            _ => Err(self.refused(status)),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        custom: Headers,
    ) -> Answered<()> {
        let headers = with(&custom, Some(&session), &[("accept", BOTH)]);
        // Whatever it says: nobody asks it anything more.
        self.send("DELETE", headers, Vec::new()).await.map(|_| ())
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        custom: Headers,
    ) -> Answered<Events> {
        let mut own = vec![("accept", "text/event-stream")];
        own.extend(last.as_deref().map(|last| ("last-event-id", last)));
        let headers = with(&custom, session.as_deref(), &own);
        let stream = self.send("GET", headers, Vec::new()).await?;
        let kind = stream.header("content-type").unwrap_or_default();
        match stream.status() {
            200..=299 if kind.starts_with("text/event-stream") => Ok(self.events(stream)),
            // That there is none is no failure: then nothing is heard between calls.
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}
