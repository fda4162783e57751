//! A provider's answer, streamed or whole, as a reply: what all wire formats have in common.
//!
//! A reply is returned only if the server said that it had ended. Text may be shown while it
//! streams, calls only by name. What kind of answer it is shows in its first byte, since servers
//! and proxies do not agree on content types: `<` is somebody's web page; where events are asked
//! for, `{` is an answer in one piece from a server that ignores that; anything else is a stream.

use std::fmt;

use super::draft::{Draft, failed, half_way};
use super::lines::Lines;
use super::names::ToolNames;
use super::sse::Sse;
use crate::words::error::Error;
use crate::words::limits::STREAM_BYTES;
use crate::words::message::{Delta, Reply, Usage};

/// What one wire format says, read into a draft.
pub(super) trait Dialect: fmt::Debug + Send {
    /// Reads one event of a stream.
    ///
    /// # Errors
    /// `ProviderFailed` where it reports an error or cannot be read, `TooBig` past a limit of calls.
    fn event(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error>;

    /// Reads an answer in one piece.
    ///
    /// # Errors
    /// As [`Dialect::event`].
    fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Error>;
}

/// How a stream is cut into events.
#[derive(Debug)]
pub(super) enum Framing {
    /// Server-sent events.
    Events(Sse),
    /// A line of JSON each.
    Lines(Lines),
}

/// An answer that is being read.
#[derive(Debug)]
pub struct Decoder {
    form: Form,
    framing: Framing,
    dialect: Box<dyn Dialect>,
    draft: Draft,
}

#[derive(Debug)]
enum Form {
    /// Nothing but blanks so far.
    Unknown,
    Stream,
    Whole(Vec<u8>),
    /// An error was returned; there will be no reply.
    Failed,
}

impl Decoder {
    pub(super) fn new(names: ToolNames, framing: Framing, dialect: Box<dyn Dialect>) -> Self {
        Self {
            form: Form::Unknown,
            framing,
            dialect,
            draft: Draft::new(names),
        }
    }

    /// The same with so many characters kept of a call's arguments where they are too long for any tool.
    #[must_use]
    pub fn keeping(mut self, chars: usize) -> Self {
        self.draft.keep(chars);
        self
    }

    /// Takes more bytes, cut anywhere, and returns what they show. An answer in one piece shows
    /// nothing before [`Decoder::finish`]; a call without arguments may never be shown.
    ///
    /// # Errors
    /// `ProviderFailed` where the server reports an error or sends what cannot be read, `TooBig`
    /// past a limit of the stream or of calls. After an error there is no reply.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, Error> {
        let taken = self.take(bytes);
        if taken.is_err() {
            self.form = Form::Failed;
        }
        taken.map(|()| self.draft.deltas())
    }

    /// What the server has counted so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.draft.usage()
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        if matches!(self.form, Form::Unknown) {
            let body = body_of(bytes);
            self.form = match (body.first(), &self.framing) {
                (None, _) => Form::Unknown,
                (Some(b'<'), _) => return Err(html()),
                (Some(b'{'), Framing::Events(_)) => {
                    rest = body;
                    Form::Whole(Vec::new())
                }
                (Some(_), _) => Form::Stream,
            };
        }
        match &mut self.form {
            Form::Unknown | Form::Stream => self.take_events(rest),
            Form::Whole(body) => {
                let length = body.len().saturating_add(rest.len());
                check_length(length)?;
                body.extend_from_slice(rest);
                Ok(())
            }
            Form::Failed => Ok(()),
        }
    }

    /// What follows the end is not looked at.
    fn take_events(&mut self, mut rest: &[u8]) -> Result<(), Error> {
        while !self.draft.has_ended()
            && let Some(event) = self.framing.next(&mut rest)?
        {
            if !event.trim().is_empty() {
                self.dialect.event(event.trim(), &mut self.draft)?;
            }
        }
        Ok(())
    }

    /// The reply, once there are no more bytes.
    ///
    /// # Errors
    /// `ProviderFailed`, worth a retry, where the stream did not end but stop, or it stopped for
    /// tools and names none (R-27b); otherwise as [`Decoder::push`]. It says what was counted until then.
    pub fn finish(mut self) -> Result<Reply, Error> {
        let ended = self.end();
        let usage = self.draft.usage();
        let reply = ended.and_then(|()| self.draft.finish());
        reply.map_err(|error| error.spending(usage))
    }

    fn end(&mut self) -> Result<(), Error> {
        match &self.form {
            Form::Whole(body) => {
                let text = String::from_utf8_lossy(body);
                self.dialect.whole(&text, &mut self.draft)?;
                self.draft.end();
                Ok(())
            }
            Form::Unknown | Form::Stream => self.take_last(),
            Form::Failed => Err(half_way()),
        }
    }

    /// A last line may lack its ending; where it is cut, so is the stream.
    fn take_last(&mut self) -> Result<(), Error> {
        let Framing::Lines(lines) = &mut self.framing else {
            return Ok(());
        };
        let last = lines.last();
        if self.draft.has_ended() || last.trim().is_empty() {
            return Ok(());
        }
        if serde_json::from_str::<serde::de::IgnoredAny>(last.trim()).is_err() {
            return Err(half_way());
        }
        self.dialect.event(last.trim(), &mut self.draft)
    }
}

impl Framing {
    fn next(&mut self, rest: &mut &[u8]) -> Result<Option<String>, Error> {
        match self {
            Self::Events(events) => events.next(rest),
            Self::Lines(lines) => lines.next(rest),
        }
    }
}

/// What comes after blanks and a byte order mark.
fn body_of(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
    let start = bytes.iter().position(|byte| !is_blank(byte));
    start
        .and_then(|start| bytes.get(start..))
        .unwrap_or_default()
}

fn check_length(length: usize) -> Result<(), Error> {
    if length > STREAM_BYTES {
        return Err(Error::too_big(
            "the provider's answer",
            STREAM_BYTES,
            length,
        ));
    }
    Ok(())
}

fn html() -> Error {
    failed("the model provider answered with HTML")
        .retry(false)
        .hint("check the provider's URL, and whether a proxy answers in its place")
}

#[cfg(test)]
pub(super) mod tests;
