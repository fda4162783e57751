//! Asking a server that speaks OpenAI's chat completions: one request through the gate, one stream.

use std::time::Duration;

use super::{Asking, Provider};
use crate::edges::egress::Stream;
use crate::gate::Performed;
use crate::guests::station::Station;
use crate::rules::codec::openai::{Decoder, encode};
use crate::rules::codec::refused;
use crate::rules::fetch::Fetch;
use crate::rules::secret::marker;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Spent;
use crate::words::label::Label;
use crate::words::limits::{FETCH_REQUEST_BYTES, STREAM_IDLE_MS, TURN_TIMEOUT_MS};
use crate::words::message::{Delta, Reply};

pub(super) async fn ask(
    provider: &Provider,
    station: &Station,
    asking: Asking<'_>,
    mut see: impl FnMut(Delta),
) -> Result<Reply> {
    let Provider::OpenAi {
        url, model, secret, ..
    } = provider
    else {
        return Err(Error::bug("another provider's question"));
    };
    let encoded = encode(model, asking.prompt);
    if encoded.body.len() > FETCH_REQUEST_BYTES {
        return Err(Error::too_big(
            "the prompt",
            FETCH_REQUEST_BYTES,
            encoded.body.len(),
        ));
    }
    let mut headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("accept".to_owned(), "text/event-stream".to_owned()),
    ];
    if !secret.is_empty() {
        headers.push(("authorization".to_owned(), marker(secret)));
    }
    let fetch = Fetch::new("POST", url, headers, encoded.body)?;
    let source = fetch.source();
    let decoder = Decoder::new(encoded.names);
    // The deadline stands inside, so that the request's end is recorded whatever ends it.
    let talk = async |permit| {
        let began = Clock::instant();
        let label = Label::of(source);
        let answer = async {
            let opened = station.egress.open(permit).await;
            read(opened.result.map_err(provider_failed)?, decoder, &mut see).await
        };
        let limit = Duration::from_millis(TURN_TIMEOUT_MS);
        let bounded = async {
            let answer = tokio::time::timeout(limit, answer).await;
            answer.unwrap_or_else(|_| Err(Error::too_slow("the model's answer", TURN_TIMEOUT_MS)))
        };
        let result = asking.tasks.unless_cancelled(bounded).await;
        let spent = Spent::since(began);
        Performed::of(result, label, spent)
    };
    let performed = station
        .gate
        .pass(asking.caller, fetch, talk)
        .await?
        .performed;
    performed.result
}

async fn read(
    mut stream: Stream,
    mut decoder: Decoder,
    see: &mut impl FnMut(Delta),
) -> Result<Reply> {
    if stream.status() != 200 {
        return Err(refused(stream.status()));
    }
    let idle = Duration::from_millis(STREAM_IDLE_MS);
    loop {
        let piece = tokio::time::timeout(idle, stream.next()).await;
        let piece = piece
            .unwrap_or_else(|_| Err(Error::too_slow("a silence of the model", STREAM_IDLE_MS)))?;
        let Some(bytes) = piece else { break };
        decoder.push(&bytes)?.into_iter().for_each(&mut *see);
    }
    decoder.finish()
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
    .retry(true)
    .hint("is it running, and is `url` of the model right?")
}
