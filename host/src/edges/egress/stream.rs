//! Answers that are read as they come: a model's, by the host itself; and those of `wasi:http`, by a guest.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::{
    Egress, Opened, check_size, explain, headers_of, must_not_happen_twice, source_of, unanswered,
    within,
};
use crate::gate::{Performed, Permit};
use crate::rules::fetch::Fetch;
use crate::rules::scrub::ByteTrickle;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Error, Result};
use crate::words::event::{Content, Spent};
use crate::words::label::Label;
use crate::words::limits::{FETCH_PAUSE_MS, FETCH_TIMEOUT_MS};

/// When so long no more has come, whoever waits for an event is shown the lines that are there.
const PAUSE: Duration = Duration::from_millis(FETCH_PAUSE_MS);

/// An answer whose body is read piece by piece.
pub(crate) struct Stream(reqwest::Response);

/// The beginning of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Its headers; values that are no text are left out.
    pub(crate) headers: Vec<(String, String)>,
}

/// A part of an answer's body. Without its end, an answer is none.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Bytes, decoded.
    Bytes(Bytes),
    /// All of it was there.
    End,
    /// It broke off.
    Broken(Error),
}

/// Where an answer goes while it comes. The body waits there until it is read.
#[derive(Debug)]
pub(crate) struct Outlet {
    /// For its beginning.
    pub(crate) head: oneshot::Sender<Head>,
    /// For the rest, bounded.
    pub(crate) body: mpsc::Sender<Piece>,
}

impl Stream {
    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// A header of the answer, where its value is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the decoded body; nothing at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.next_bytes().await?.map(|bytes| bytes.to_vec()))
    }

    async fn next_bytes(&mut self) -> Result<Option<Bytes>> {
        self.0.chunk().await.map_err(|error| explain(&error))
    }
}

impl Egress {
    /// Sends one request and leaves the body to be read as it comes.
    pub(crate) async fn open(&self, permit: Permit<Fetch>) -> Performed<Stream> {
        let began = Clock::instant();
        // Before there is a label: its host may be the secret.
        if let Err(error) = self.filling.check(permit.effect()) {
            return Performed::of(Err(error), Label::default(), Spent::since(began));
        }
        let label = Label::of(source_of(&permit));
        let opened = self.begin(permit, &mut false).await;
        let result = opened.map(|opened| Stream(opened.response));
        Performed::of(result, label, Spent::since(began))
    }

    /// Sends one request and passes the answer on as it comes and is read, to its end or until the deadline.
    /// Whoever reads may go away: then no more is read.
    pub(crate) async fn pass_on(
        &self,
        permit: Permit<Fetch>,
        deadline: Deadline,
        outlet: Outlet,
    ) -> Performed<()> {
        let began = Clock::instant();
        // Before there is a label: its host may be the secret.
        if let Err(error) = self.filling.check(permit.effect()) {
            return Performed::of(Err(error), Label::default(), Spent::since(began));
        }
        let label = Label::of(source_of(&permit));
        let limit = Duration::from_millis(FETCH_TIMEOUT_MS).min(deadline.rest());
        let Outlet { head, body } = outlet;
        let method = permit.effect().method().to_owned();
        let once = must_not_happen_twice(&permit);
        let (mut bytes, mut is_out) = (0, false);
        let exchange = async {
            let opened = self.begin(permit, &mut is_out).await?;
            let mut headers = headers_of(&opened.response);
            self.filling.redact_beginning(&method, &mut headers);
            let beginning = Head {
                status: opened.response.status().as_u16(),
                headers,
            };
            if head.send(beginning).is_err() {
                return Ok(());
            }
            pass_body(opened, self.filling.trickle(), (&body, &mut bytes)).await
        };
        let exchanged = within(limit, exchange).await;
        let result = match exchanged {
            Ok(()) => Ok(()),
            Err(error) => {
                let error = unanswered(error, once && is_out);
                // What a guest may know of it; with no room left, the missing end says as much.
                let told = error.for_guests();
                let _ = body.try_send(Piece::Broken(Error::new(told.code(), told.message())));
                Err(error)
            }
        };
        Performed {
            content: Content::Size { bytes },
            ..Performed::of(result, label, Spent::since(began))
        }
    }
}

/// A secret that a server sends back may lie across two pieces: the end of what has come waits for the next, or until none comes
/// for a while.
async fn pass_body(
    opened: Opened,
    mut trickle: ByteTrickle,
    (body, bytes): (&mpsc::Sender<Piece>, &mut usize),
) -> Result<()> {
    let mut stream = Stream(opened.response);
    loop {
        let shown = match timeout(PAUSE, stream.next_bytes()).await {
            Ok(Ok(Some(piece))) => {
                check_size(bytes.saturating_add(piece.len()), opened.answer_bytes)?;
                *bytes = bytes.saturating_add(piece.len());
                trickle.add(piece)
            }
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return Err(error),
            Err(_) => trickle.pause(),
        };
        if !pass(body, shown).await {
            return Ok(());
        }
    }
    if pass(body, trickle.end()).await {
        // Nobody may be reading any more.
        let _ = body.send(Piece::End).await;
    }
    Ok(())
}

/// Whether somebody still reads.
async fn pass(body: &mpsc::Sender<Piece>, piece: Bytes) -> bool {
    piece.is_empty() || body.send(Piece::Bytes(piece)).await.is_ok()
}
