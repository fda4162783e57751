//! `GET /v1/runs/{id}/events`: what happens in a run, as a stream of events, from any of its records on.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response as Answer;
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::error::RecvError;

use super::answer::{Answered, Failed};
use super::body::{Named, Sought};
use super::feed::{Draft, Frames, state_of};
use super::site::Site;
use crate::words::error::{Error, Result};
use crate::words::id::{RunId, Seq};
use crate::words::limits::SERVE_PULSE_MS;

/// Where the stream begins.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct From {
    from: Seq,
}

/// What a client that is there hears while nothing happens.
const PULSE: &str = ": here\n\n";

/// One who watches.
struct Onlooker {
    site: Site,
    run: RunId,
    frames: Frames,
    /// The place of the next record that it has not seen.
    next: Seq,
    /// What it is told first.
    first: Option<Bytes>,
    is_over: bool,
    _seat: OwnedSemaphorePermit,
}

/// The stream.
pub(super) async fn events(
    State(site): State<Site>,
    Named(id): Named,
    Sought(from): Sought<From>,
    headers: HeaderMap,
) -> Answered {
    let named = RunId::known(&id);
    // Whoever joins a run under way keeps its journal from work as little as may be.
    let run = match site.underway().has(&named) {
        true => named,
        false => site.host().journal().find(&id).await?,
    };
    let next = match headers.get("last-event-id") {
        Some(seen) => place_after(seen)?,
        None => from.from,
    };
    let seat = site.feeds().seat()?;
    // Before the journal is read, so that nothing is missed between the two.
    let frames = site.feeds().join(&site, &run);
    let mut onlooker = Onlooker {
        site,
        run,
        frames,
        next,
        first: None,
        is_over: false,
        _seat: seat,
    };
    onlooker.first = Some(onlooker.read().await?);
    let pieces = stream::unfold(onlooker, async |mut onlooker| {
        let bytes = onlooker.piece().await?;
        Some((Ok::<_, Infallible>(bytes), onlooker))
    });
    let mut answer = Answer::new(Body::from_stream(pieces));
    let headers = answer.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    Ok(answer)
}

/// `Last-Event-ID` names the last record that was seen.
fn place_after(seen: &HeaderValue) -> std::result::Result<Seq, Failed> {
    let seen = seen.to_str().ok().and_then(|seen| seen.parse::<Seq>().ok());
    let wrong = || Error::bad_input("`Last-Event-ID` is the number of a record");
    Ok(seen.ok_or_else(wrong)?.saturating_add(1))
}

impl Onlooker {
    /// What it is told next; nothing once all is said.
    async fn piece(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take()
            && !first.is_empty()
        {
            return Some(first);
        }
        while !self.is_over {
            let pulse = Duration::from_millis(SERVE_PULSE_MS);
            let frame = match tokio::time::timeout(pulse, self.frames.recv()).await {
                Err(_) => return Some(Bytes::from_static(PULSE.as_bytes())),
                Ok(Ok(frame)) => frame,
                Ok(Err(RecvError::Lagged(_))) => {
                    let missed = self.read().await.ok()?;
                    match missed.is_empty() {
                        true => continue,
                        false => return Some(missed),
                    }
                }
                Ok(Err(RecvError::Closed)) => return Some(self.end().await),
            };
            self.is_over = frame.is_last;
            let bytes = match frame.after(self.next) {
                Ok(bytes) => bytes,
                Err(_) => self.read().await.ok()?,
            };
            self.next = self.next.max(frame.next().unwrap_or(0));
            if !bytes.is_empty() {
                return Some(bytes);
            }
        }
        None
    }

    /// What stands in the journal and was not seen.
    async fn read(&mut self) -> Result<Bytes> {
        let host = self.site.underway().watched(&self.run);
        let host = host.map_or_else(|| self.site.host(), |(host, _)| host);
        let (records, last) = host.journal().records_from(&self.run, self.next).await?;
        let mut draft = Draft::default();
        records.iter().for_each(|record| draft.record(record));
        self.next = self.next.max(last.seq.saturating_add(1));
        Ok(draft.bytes())
    }

    /// The end of a feed that is gone.
    async fn end(&mut self) -> Bytes {
        self.is_over = true;
        let mut draft = Draft::default();
        draft.end(&state_of(&self.site, &self.site.host(), &self.run).await);
        draft.bytes()
    }
}
