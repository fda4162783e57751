//! A server that is asked over HTTP: each request is the operator's, judged by the line of `[mcp.NAME]` and nothing
//! else, and leaves through egress with its checks of addresses, its bounds and its secrets.
//!
//! A stream that breaks off is taken up again when it is time, and never at once, whatever the server or the library would
//! have; one that brings too much, or what is no strict JSON, ends its server.
//!
//! Redirects are answers, and answers like these end nothing but the request. A server that wants to know who asks is shown
//! a header with a secret of the operator's, or the token of whoever has logged in to it; where it wants more than that,
//! what it said is kept for the next login, and the person is told.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::Around;
use super::ending::Ending;
use super::incoming::{Pace, strict};
use super::login::Logins;
use super::sender::{Sender, whole};
use crate::edges::egress::Stream;
use crate::rules::server::login::{Challenge, advice};
use crate::rules::server::{Remote, Terms};
use crate::words::error::{Code, Error, Result};
use crate::words::limits::REFUSAL_BYTES;
use crate::words::limits::servers::{SERVER_RETRY_MS, SERVER_RETRY_MS_MAX};
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
    /// Of all its streams and bodies together: a new one is no new beginning.
    pace: Mutex<Pace>,
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
            pace: Mutex::new(Pace::new(terms.bounds)),
            ending,
        })))
    }

    /// The library's side of it: sessions, streams that are taken up again, and versions.
    pub(super) fn transport(self, terms: &Terms) -> StreamableHttpClientTransport<Self> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.0.remote.url.clone());
        config.max_sse_event_size = terms.bounds.message_bytes;
        config.max_concurrent_requests = terms.bounds.calls_at_once;
        let mut again = ExponentialBackoff::default();
        again.base_duration = Duration::from_millis(SERVER_RETRY_MS);
        again.max_delay = Some(Duration::from_millis(SERVER_RETRY_MS_MAX));
        config.retry_config = Arc::new(again);
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
        let challenge = self.0.logins.challenge(challenge);
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

    /// A body that is read whole, bounded, and counted as a piece of a stream is.
    async fn read(&self, stream: Stream, most: usize) -> Answered<Vec<u8>> {
        let read = whole(stream, most).await;
        let body = read.map_err(|error| {
            if error.code() == Code::TooBig {
                StreamableHttpError::ResponseBodyTooLarge { max_size: most }
            } else {
                self.failed(error.message())
            }
        })?;
        let counted = lock(&self.0.pace).count(1, body.len());
        counted.map_err(|why| {
            self.0.ending.end(why.clone());
            self.failed(&why)
        })?;
        Ok(body)
    }

    /// The message of a whole body. What is none ends the server, but for one that may not know what it was asked.
    fn message(&self, body: &[u8], discovering: bool) -> Answered<ServerJsonRpcMessage> {
        read_message(body).map_err(|why| {
            if !discovering {
                self.0.ending.end(why.clone());
            }
            self.failed(&why)
        })
    }

    /// Events as they come. What goes wrong is their end and no error: the library takes up a stream that failed at once.
    fn events(&self, stream: Stream) -> Events {
        let begun = (self.clone(), stream, Size::default());
        let pieces = stream::unfold(begun, |(desk, mut stream, mut size)| async move {
            let piece = desk.piece(&mut stream, &mut size).await?;
            let piece = bytes::Bytes::from(piece);
            Some((Ok::<_, Infallible>(piece), (desk, stream, size)))
        });
        SseStream::from_bytes_stream(pieces.fuse())
            .scan(self.clone(), |desk, read| {
                std::future::ready(desk.event(read).map(Ok::<_, SseError>))
            })
            .boxed()
    }

    /// The next piece of a stream; nothing once that is over, or its server is.
    async fn piece(&self, stream: &mut Stream, size: &mut Size) -> Option<Vec<u8>> {
        let Parts {
            terms,
            pace,
            ending,
            ..
        } = &*self.0;
        let next = tokio::select! {
            next = stream.next() => next,
            () = ending.over() => return None,
        };
        let piece = match next {
            Ok(piece) => piece?,
            Err(error) => {
                ending.fail(error);
                return None;
            }
        };
        let ended = size.take(&piece, terms.bounds.message_bytes);
        match ended.and_then(|events| lock(pace).count(events, piece.len())) {
            Ok(()) => Some(piece),
            Err(why) => {
                ending.end(why);
                None
            }
        }
    }

    /// An event as it is handed on; nothing where the stream is over by it.
    fn event(&self, read: std::result::Result<Sse, SseError>) -> Option<Sse> {
        let event = match read {
            Ok(event) => event,
            Err(error) => {
                let what = format!("it sent what is no stream of events: {error}");
                self.0.ending.fail(Error::new(Code::FetchFailed, what));
                return None;
            }
        };
        match tamed(event) {
            Ok(event) => Some(event),
            Err(why) => {
                self.0.ending.end(why);
                None
            }
        }
    }
}

/// An event that may be handed on: it says no other time to come again than may be, and holds strict JSON. What is no object
/// the library passes over: some send words to keep a connection open.
///
/// # Errors
/// Why its data are no message.
fn tamed(mut event: Sse) -> std::result::Result<Sse, String> {
    event.retry = event
        .retry
        .map(|ms| ms.clamp(SERVER_RETRY_MS, SERVER_RETRY_MS_MAX));
    if let Some(said) = &event.data
        && said.trim_start().starts_with('{')
    {
        strict(said.as_bytes()).map_err(|why| no_message(&why))?;
    }
    Ok(event)
}

/// The message in these bytes.
///
/// # Errors
/// Why there is none.
fn read_message(bytes: &[u8]) -> std::result::Result<ServerJsonRpcMessage, String> {
    let value = strict(bytes).map_err(|why| no_message(&why))?;
    serde_json::from_value(value).map_err(|_| no_message("it is none of MCP"))
}

fn no_message(why: &str) -> String {
    format!("it sent what is no message: {why}")
}

/// The size of the event of a stream that is under way.
#[derive(Default)]
struct Size {
    event: usize,
    line: usize,
    /// Whether the last byte was a `\r`: a `\n` is a part of the same end.
    was_return: bool,
}

impl Size {
    /// How many events have ended with a piece.
    ///
    /// # Errors
    /// That one has more bytes than may be.
    fn take(&mut self, piece: &[u8], most: usize) -> std::result::Result<u32, String> {
        let mut ended = 0_u32;
        for byte in piece {
            let is_rest = *byte == b'\n' && self.was_return;
            self.was_return = *byte == b'\r';
            if is_rest {
                continue;
            }
            match byte {
                b'\n' | b'\r' if self.line == 0 => {
                    self.event = 0;
                    ended = ended.saturating_add(1);
                }
                b'\n' | b'\r' => self.line = 0,
                _ => self.line = self.line.saturating_add(1),
            }
            self.event = self.event.saturating_add(1);
            if self.event > most {
                return Err(format!(
                    "it sent a message of more than {most} bytes (`message_bytes`)"
                ));
            }
        }
        Ok(ended)
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
                let message = self.message(&body, discovering.is_some())?;
                Ok(StreamableHttpPostResponse::Json(message, given))
            }
            400 | 404..=599 if kind.starts_with("application/json") => {
                let body = self.read(stream, REFUSAL_BYTES).await?;
                match read_message(&body) {
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
        if self.0.ending.is_over() {
            // The one answer after which the library does not come again.
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_taken_up_when_it_is_time() {
        let again = |ms: u64| tamed(Sse::default().retry(ms)).unwrap().retry;
        assert_eq!(again(0), Some(SERVER_RETRY_MS));
        assert_eq!(again(5_000), Some(5_000));
        assert_eq!(again(u64::MAX), Some(SERVER_RETRY_MS_MAX));
        assert_eq!(tamed(Sse::default()).unwrap().retry, None);
    }

    #[test]
    fn an_event_is_read_as_strictly_as_any_message() {
        let read = |said: &str| tamed(Sse::default().data(said)).map(|event| event.data);
        for good in ["", "ping", "{}", r#" {"a":1} "#] {
            assert_eq!(read(good), Ok(Some(good.to_owned())));
        }
        for bad in [r#"{"a":1,"a":2}"#, "\n{", "{} {}"] {
            assert!(read(bad).unwrap_err().contains("no message"), "{bad}");
        }
    }

    #[test]
    fn events_are_counted_and_measured_however_their_lines_end() {
        for end in ["\n", "\r", "\r\n"] {
            let text = format!("data: a{end}{end}:{end}{end}{end}data: b{end}");
            for length in 1..text.len() {
                let mut size = Size::default();
                let pieces = text.as_bytes().chunks(length);
                let ended: u32 = pieces.map(|piece| size.take(piece, 20).unwrap()).sum();
                assert_eq!(ended, 3, "{end:?} {length}");
            }
        }
        let mut size = Size::default();
        assert_eq!(size.take(&[b'a'; 20], 20), Ok(0));
        assert!(size.take(b"\n", 20).unwrap_err().contains("message_bytes"));
    }
}
