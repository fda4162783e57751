//! A server that is asked over HTTP: each request is the operator's, judged by the line of `[mcp.NAME]` and nothing
//! else, and leaves through egress with its checks of addresses, its bounds and its secrets.
//!
//! Redirects are answers, and answers like these end nothing but the request. A server that wants to know who asks is shown
//! a header with a secret of the operator's, or the token of whoever has logged in to it; where it wants more than that,
//! what it said is kept for the next login, and the person is told.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

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
use super::login::Logins;
use super::sender::{Sender, whole};
use crate::edges::egress::Stream;
use crate::rules::server::login::{Challenge, advice};
use crate::rules::server::{Bounds, Remote, Terms};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::REFUSAL_BYTES;
use crate::words::lock::lock;

/// Sends requests to one server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Desk(Arc<Parts>);

struct Parts {
    terms: Terms,
    /// With the header of whoever has logged in.
    remote: Remote,
    sender: Sender,
    logins: Logins,
    /// How often the token was had anew: once, whoever found that it had to be.
    renewals: tokio::sync::Mutex<u64>,
    /// What it said when it wanted to know who asks.
    challenged: Challenged,
    ending: Arc<Ending>,
}

/// What a server said last when it wanted to know who asks.
pub(super) type Challenged = Arc<Mutex<Option<Challenge>>>;

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
    /// # Errors
    /// `DiskFailed` where it cannot be read who has logged in.
    pub(super) fn new(
        (terms, remote): (&Terms, &Remote),
        around: &Around,
        (ending, challenged): (Arc<Ending>, Challenged),
    ) -> Result<Self> {
        let logins = Logins::of(around);
        let mut remote = remote.clone();
        remote.headers.extend(logins.header((terms, &remote))?);
        let line = format!("[mcp.{}]", terms.name);
        let sender = Sender::new(&line, remote.grant(), (&around.egress, &around.key));
        Ok(Self(Arc::new(Parts {
            terms: terms.clone(),
            remote,
            sender,
            logins,
            renewals: tokio::sync::Mutex::default(),
            challenged,
            ending,
        })))
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
        sent.map_err(|error| {
            let failed = self.failed(error.message());
            self.0.ending.fail(error);
            failed
        })
    }

    async fn sent(
        &self,
        method: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Stream> {
        self.0
            .sender
            .send(self.0.remote.request(method, headers, body)?)
            .await
    }

    /// Sends a request, and again where who asks was known and is not any more, and can be made known without them.
    async fn send_known(&self, headers: Vec<(String, String)>, body: Vec<u8>) -> Answered<Stream> {
        let before = *self.0.renewals.lock().await;
        let stream = self.send("POST", headers.clone(), body.clone()).await?;
        if stream.status() == 401 && self.renewed(before).await {
            return self.send("POST", headers, body).await;
        }
        Ok(stream)
    }

    /// Whether there is another token than there was when so many had been had.
    async fn renewed(&self, before: u64) -> bool {
        let mut renewals = self.0.renewals.lock().await;
        if *renewals != before {
            return true;
        }
        let server = (&self.0.terms, &self.0.remote);
        let is_renewed = matches!(self.0.logins.renew(server).await, Ok(true));
        *renewals = renewals.saturating_add(u64::from(is_renewed));
        is_renewed
    }

    /// A failure, which is why a server is not up if nothing else is.
    fn failed(&self, why: &str) -> StreamableHttpError<Failed> {
        StreamableHttpError::Client(Failed(why.to_owned()))
    }

    /// What no message can be made of ends the server: whoever waits learns why.
    fn refused(&self, status: u16, challenge: &str) -> StreamableHttpError<Failed> {
        let name = &self.0.terms.name;
        let challenge = Challenge::read(challenge);
        if matches!(status, 401 | 403) {
            *lock(&self.0.challenged) = Some(challenge.clone());
        }
        let why = match (status, &challenge.scope) {
            (403, Some(scope)) if challenge.too_little => {
                // Without it the person has to say by themselves what is asked for.
                let _ = self.0.logins.want((&self.0.terms, &self.0.remote), scope);
                format!(
                    "it answered with status 403: it wants more than it was let in with; log in anew: `{}`",
                    advice(name, scope)
                )
            }
            (401 | 403, _) => format!(
                "it answered with status {status}: it wants to know who asks; log in (`{}`), or give it a header with a \
                 secret (`headers` of `[mcp.{name}]`)",
                advice(name, "")
            ),
            (300..=399, _) => format!(
                "it answered with status {status}: it sends elsewhere, and redirects are not followed"
            ),
            _ => format!("it answered with status {status}"),
        };
        self.0.ending.end(why.clone());
        self.failed(&why)
    }

    /// A body that is read whole, bounded.
    async fn read(&self, stream: Stream, most: usize) -> Answered<Vec<u8>> {
        let read = whole(stream, most).await;
        read.map_err(|error| {
            if error.code() == Code::TooBig {
                StreamableHttpError::ResponseBodyTooLarge { max_size: most }
            } else {
                self.failed(error.message())
            }
        })
    }

    /// Events as they come, each of them bounded, and not more of them in a second than may be.
    fn events(&self, stream: Stream) -> Events {
        let count = Count::new(self.0.terms.bounds);
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
        let stream = self.send_known(headers, body).await?;
        let status = stream.status();
        let kind = stream
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let given = stream.header("mcp-session-id").map(str::to_owned);
        let challenge = stream
            .header("www-authenticate")
            .unwrap_or_default()
            .to_owned();
        let refused = |status| self.refused(status, &challenge);
        let expects = matches!(message, ClientJsonRpcMessage::Request(_));
        let discovering = discovering(&message);
        match status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if session.is_some() => Err(StreamableHttpError::SessionExpired),
            200..=299 if kind.starts_with("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(self.events(stream), given))
            }
            200..=299 => {
                let body = self.read(stream, self.0.terms.bounds.message_bytes).await?;
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
                        None => Err(refused(status)),
                    },
                }
            }
            // One of an older revision, which does not know what it was asked.
            400 | 404..=499 => match discovering {
                Some(id) => Ok(StreamableHttpPostResponse::Json(unknown(id), given)),
                None => Err(refused(status)),
            },
            _ => Err(refused(status)),
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
