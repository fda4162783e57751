//! `wasi:http`: requests of components that know nothing of this host.
//!
//! Each is a `Fetch` like any other: judged at the gate with the guest as caller, performed by the egress edge. The
//! body of the request is collected before it is judged; the answer's body comes as it is read, a few pieces ahead.
//! What the guest reads counts into its label before it sees the status.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest, Method, OutgoingRequest};
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error as HttpError, ForbiddenHeaderFilter, RequestOptions, WasiBody,
    WasiHttpHooks, WasiHttpView,
};

use super::Wisher;
use crate::edges::egress::{Head, Outlet, Piece};
use crate::guests::guest::{Errand, Inside, Visit};
use crate::rules::fetch::Fetch;
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::{
    EFFECT_TIMEOUT_MS, FETCH_PIECE_BYTES, FETCH_PIECES, FETCH_REQUEST_BYTES, URL_BYTES,
};

/// What `wasi:http` calls the end of an exchange; there is nothing left to say of it then.
type Ended = Box<dyn Future<Output = Result<(), HttpError>> + Send>;

/// The beginning of an answer, with a body that comes as it is read.
type Answer = (http::Response<WasiBody>, Ended);

/// Puts bounded ones in the place of WASI's own: these take a method and an authority of any length, and a guest may hold as many
/// requests as it may hold things.
pub(in crate::guests) fn bound(linker: &mut Linker<Inside>) -> wasmtime::Result<()> {
    let mut interface = linker.instance("wasi:http/types@0.2.12")?;
    interface.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store, (request, method): (Resource<OutgoingRequest>, Method)| {
            if matches!(&method, Method::Other(name) if name.len() > URL_BYTES) {
                return Ok((Err(()),));
            }
            let set = store.data_mut().http().set_method(request, method)?;
            Ok((set,))
        },
    )?;
    interface.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store, (request, authority): (Resource<OutgoingRequest>, Option<String>)| {
            if authority
                .as_ref()
                .is_some_and(|name| name.len() > URL_BYTES)
            {
                return Ok((Err(()),));
            }
            let set = store.data_mut().http().set_authority(request, authority)?;
            Ok((set,))
        },
    )
}

impl WasiHttpHooks for Errand {
    /// Beside what never crosses a connection's end: what egress sets by itself and nobody else may.
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        const MORE: [HeaderName; 3] = [header::TE, header::TRAILER, header::EXPECT];
        Arc::new(|name| DEFAULT_FORBIDDEN_HEADERS.contains(name) || MORE.contains(name))
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        1
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        FETCH_PIECE_BYTES
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Ended,
    ) -> Box<dyn Future<Output = Result<Answer, HttpError>> + Send> {
        let begun = match self {
            Self::Read(_) => Err(HttpError::HttpRequestDenied),
            Self::Call(visit) => Exchange::begin(visit, options),
        };
        Box::new(async move { begun?.run(request).await })
    }
}

/// One request of a guest, on its way.
struct Exchange {
    wisher: Wisher,
    patience: Deadline,
    /// Given back when the effect has ended, not when the guest has lost interest.
    turn: OwnedSemaphorePermit,
}

impl Exchange {
    fn begin(visit: &mut Visit, options: Option<RequestOptions>) -> Result<Self, HttpError> {
        let wisher = visit.wisher();
        let refuse = |error: Error| http_error(&wisher.refuse(&error));
        wisher.count_effect().map_err(refuse)?;
        let turn = visit.requests.clone().try_acquire_owned().map_err(|_| {
            let what = "this call has as many requests under way as it may";
            refuse(Error::new(Code::OverBudget, what).retry(true))
        })?;
        // A guest may wait for less than the host would.
        let first_byte = options.and_then(|options| options.first_byte_timeout);
        let first_byte = first_byte.map_or(EFFECT_TIMEOUT_MS, |time| {
            u64::try_from(time.as_millis()).unwrap_or(EFFECT_TIMEOUT_MS)
        });
        let patience = Deadline::after_ms(first_byte.min(EFFECT_TIMEOUT_MS));
        Ok(Self {
            wisher,
            patience,
            turn,
        })
    }

    async fn run(self, request: http::Request<WasiBody>) -> Result<Answer, HttpError> {
        let wisher = self.wisher.clone();
        let fetch = fetch_of(request).await;
        let unfit = fetch.is_err();
        self.exchange(fetch).await.map_err(|error| {
            let error = wisher.refuse(&error);
            match error.code() == Code::TooBig && unfit {
                true => HttpError::HttpRequestBodySize(None),
                false => http_error(&error),
            }
        })
    }

    async fn exchange(self, fetch: Result<Fetch>) -> Result<Answer> {
        let Self {
            wisher,
            patience,
            turn,
        } = self;
        let (head, beginning) = oneshot::channel();
        let (body, pieces) = mpsc::channel(FETCH_PIECES);
        let outlet = Outlet { head, body };
        let handed = wisher.hand_over(fetch, |station, permit, deadline| async move {
            let _turn = turn;
            station.egress.pass_on(permit, deadline, outlet).await
        });
        let began = async {
            tokio::select! {
                biased;
                Ok(head) = beginning => Ok(head),
                ended = handed => match ended {
                    Ok(()) => Err(Error::bug("an answer ended before it began")),
                    Err(error) => Err(error),
                },
            }
        };
        let head = tokio::time::timeout(patience.rest(), began).await;
        let head = head.unwrap_or_else(|_| {
            let what = "the answer did not begin within the guest's own time";
            Err(Error::new(Code::TooSlow, what))
        })?;
        // Nobody waits for the end of the effect any more, so that whoever answers has been heard: here, and where no answer
        // has begun in time.
        wisher.heard.granted();
        answer_of(head, pieces)
    }
}

/// A guest's request as an effect. Its body ends here, or is too big, or the call's own time is over.
async fn fetch_of(request: http::Request<WasiBody>) -> Result<Fetch> {
    let (parts, body) = request.into_parts();
    let mut headers = Vec::new();
    for (name, value) in &parts.headers {
        // Egress counts the body and unpacks the answer by itself.
        if name == header::CONTENT_LENGTH || name == header::ACCEPT_ENCODING {
            continue;
        }
        let value = value
            .to_str()
            .map_err(|_| Error::bad_input(format!("the header `{name}` is no text")))?;
        headers.push((name.to_string(), value.to_owned()));
    }
    let body = collect(body).await?;
    let url = parts.uri.to_string();
    Fetch::new(parts.method.as_str(), &url, headers, body)
}

async fn collect(mut body: WasiBody) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Error::bad_input("the body of the request broke off"))?;
        let piece = frame
            .into_data()
            .map_err(|_| Error::bad_input("trailers of a request are not sent"))?;
        let got = bytes.len().saturating_add(piece.len());
        if got > FETCH_REQUEST_BYTES {
            let what = "the body of the request";
            return Err(Error::too_big(what, FETCH_REQUEST_BYTES, got));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn answer_of(head: Head, pieces: mpsc::Receiver<Piece>) -> Result<Answer> {
    let bad = |_| Error::bug("an answer that was read is none");
    let mut headers = HeaderMap::new();
    for (name, value) in &head.headers {
        let name = HeaderName::try_from(name).map_err(|error| bad(error.into()))?;
        let value = HeaderValue::try_from(value).map_err(|error| bad(error.into()))?;
        headers.append(name, value);
    }
    let body = Arriving(Some(pieces)).boxed_unsync();
    let mut answer = http::Response::builder()
        .status(head.status)
        .body(body)
        .map_err(bad)?;
    *answer.headers_mut() = headers;
    Ok((answer, Box::new(async { Ok(()) })))
}

/// The body of an answer on its way; nothing once it has ended.
struct Arriving(Option<mpsc::Receiver<Piece>>);

impl Body for Arriving {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let Some(pieces) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let Poll::Ready(piece) = pieces.poll_recv(context) else {
            return Poll::Pending;
        };
        let end = match piece {
            Some(Piece::Bytes(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Some(Piece::End) => None,
            Some(Piece::Broken(error)) => Some(Err(http_error(&error))),
            None => Some(Err(HttpError::HttpResponseIncomplete)),
        };
        self.0 = None;
        Poll::Ready(end)
    }
}

/// A refusal in the words of `wasi:http`, which has a closed list of them; the sentence goes along where there is
/// room for one.
fn http_error(error: &Error) -> HttpError {
    match error.code() {
        Code::Denied
        | Code::Asked
        | Code::Unconfirmed
        | Code::Unauthenticated
        | Code::Unsafe
        | Code::BadSurface => HttpError::HttpRequestDenied,
        Code::TooBig => HttpError::HttpResponseBodySize(None),
        Code::TooSlow => HttpError::HttpResponseTimeout,
        Code::OverBudget | Code::Busy | Code::RateLimited => HttpError::ConnectionLimitReached,
        Code::BadInput
        | Code::BadArgs
        | Code::BadLine
        | Code::Conflict
        | Code::UnknownTool
        | Code::BadPlugin
        | Code::OutOfFuel
        | Code::OutOfMemory
        | Code::Trapped
        | Code::GuestFailed
        | Code::ScriptFailed
        | Code::Stalled
        | Code::Diverged
        | Code::NotJson
        | Code::BadOutcome
        | Code::FetchFailed
        | Code::ProviderFailed
        | Code::DiskFailed
        | Code::NotFound
        | Code::InDoubt
        | Code::Cancelled
        | Code::Corrupt
        | Code::Bug => HttpError::InternalError(Some(error.message().to_owned())),
    }
}
