//! Asking a server: one request through the gate, one stream, in whatever wire format the model has.

use std::sync::Mutex;
use std::time::Duration;

use super::{Asking, Remote, Sent};
use crate::edges::egress::Stream;
use crate::gate::Performed;
use crate::guests::station::Station;
use crate::rules::codec::again::{AGAIN, again_after_ms};
use crate::rules::codec::{Decoder, refused};
use crate::rules::fetch::Fetch;
use crate::rules::secret::marker;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Spent;
use crate::words::label::Label;
use crate::words::limits::{PROMPT_BYTES, REFUSAL_BYTES, STREAM_IDLE_MS, TURN_TIMEOUT_MS};
use crate::words::lock::lock;
use crate::words::message::{Delta, Reply, Usage};
use crate::words::setback::Setback;
use crate::words::whose::Whose;

pub(super) async fn ask(
    remote: &Remote,
    station: &Station,
    (asking, sent): (Asking<'_>, Sent),
    mut see: impl FnMut(Delta),
) -> Result<Reply> {
    let by = remote.place();
    let Sent::Wire(encoded) = sent else {
        return Err(Error::bug(
            "a server was to be sent what no wire format wrote",
        ));
    };
    let length = encoded.body.len();
    if length > PROMPT_BYTES {
        return Err(Error::too_big("the prompt", PROMPT_BYTES, length));
    }
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut headers: Vec<_> = remote.wire.headers().iter().map(owned).collect();
    if !remote.secret.is_empty() {
        let (name, _) = remote.wire.key();
        headers.push((name.to_owned(), marker(&remote.secret)));
    }
    let fetch = Fetch::of_prompt(&remote.url, headers, encoded.body)?;
    let source = fetch.source();
    let decoder = remote
        .wire
        .decoder(encoded.names)
        .keeping(remote.summary_chars);
    // The deadline stands inside, so that the request's end is recorded whatever ends it.
    let now_ms = station.gate.journal().clock().now_ms();
    let counted = Mutex::new(None);
    let talk = async |permit| {
        let began = Clock::instant();
        let label = Label::of(source);
        let answer = async {
            let opened = station.egress.open(permit).await;
            let stream = opened.result.map_err(provider_failed)?;
            read((stream, now_ms), (decoder, &counted), &mut see).await
        };
        let rest = asking.caller.deadline.rest();
        // A turn has its own; a question about what is held has the time of the call that it is.
        let limit = match asking.turn {
            0 => rest.min(Duration::from_millis(TURN_TIMEOUT_MS)),
            _ => rest,
        };
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let bounded = async {
            let answer = tokio::time::timeout(limit, answer).await;
            answer.unwrap_or_else(|_| {
                Err(Error::too_slow("the model's answer", limit_ms).by(Whose::Provider))
            })
        };
        let result = asking.tasks.unless_cancelled(bounded).await;
        // Whatever ends it, what was counted until then was paid.
        let result = result.map_err(|error| match (error.spent(), *lock(&counted)) {
            (None, Some(usage)) => error.spending(usage),
            (Some(_), _) | (None, None) => error,
        });
        let spent = Spent::since(began);
        Performed::of(result, label, spent)
    };
    let performed = station
        .gate
        .pass(asking.caller, fetch, talk)
        .await?
        .performed;
    performed.result.map(|reply| signed(reply, by))
}

/// Whose thoughts they are is said only where there are any.
fn signed(mut reply: Reply, by: String) -> Reply {
    if !reply.thoughts.is_empty() {
        reply.by = by;
    }
    reply
}

async fn read(
    (mut stream, now_ms): (Stream, u64),
    (mut decoder, counted): (Decoder, &Mutex<Option<Usage>>),
    see: &mut impl FnMut(Delta),
) -> Result<Reply> {
    if stream.status() != 200 {
        let after_ms = again(&stream, now_ms);
        let body = refusal(&mut stream).await;
        return Err(refused(stream.status(), &body).after_ms(after_ms));
    }
    *lock(counted) = Some(Usage::default());
    while let Some(bytes) = next(&mut stream).await.map_err(broken_off)? {
        let pieces = decoder.push(&bytes);
        *lock(counted) = Some(decoder.usage());
        pieces?.into_iter().for_each(&mut *see);
    }
    decoder.finish()
}

/// When the server wants to be asked again, if it says so.
fn again(stream: &Stream, now_ms: u64) -> Option<u64> {
    AGAIN
        .into_iter()
        .find_map(|name| again_after_ms(name, stream.header(name)?, now_ms))
}

/// What there is of a refusal's body: without it, the status says enough.
async fn refusal(stream: &mut Stream) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < REFUSAL_BYTES
        && let Ok(Some(bytes)) = next(stream).await
    {
        body.extend(bytes);
    }
    body.truncate(REFUSAL_BYTES);
    body
}

async fn next(stream: &mut Stream) -> Result<Option<Vec<u8>>> {
    let idle = Duration::from_millis(STREAM_IDLE_MS);
    let piece = tokio::time::timeout(idle, stream.next()).await;
    let late = || Error::too_slow("a silence of the model", STREAM_IDLE_MS).by(Whose::Provider);
    piece.unwrap_or_else(|_| Err(late()))
}

/// A connection that ends within an answer is the provider's failure as well.
fn broken_off(error: Error) -> Error {
    if error.code() != Code::FetchFailed {
        return error;
    }
    let what = format!("the model's answer broke off: {}", error.message());
    Error::new(Code::ProviderFailed, what).setback(Setback::Broken)
}

/// A server that cannot be reached is the provider's failure, not a fetch of the run's own.
fn provider_failed(error: Error) -> Error {
    if error.code() != Code::FetchFailed {
        return error;
    }
    Error::new(
        Code::ProviderFailed,
        format!("the model's server: {}", error.message()),
    )
    .setback(Setback::Broken)
    .hint("is it running, and is `url` of the model right?")
}
