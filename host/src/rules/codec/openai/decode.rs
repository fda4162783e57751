//! Chat completions: the answer, streamed or whole, as a reply.
//!
//! A reply is returned only if the server said that it had ended. Text may be shown while it
//! streams, calls only by name. What kind of answer it is shows in its first byte, since servers
//! and proxies do not agree on content types: `{` is an answer in one piece from a server that
//! ignores `stream`, `<` is somebody's web page, anything else is a stream of events.

use super::super::names::ToolNames;
use super::super::sse::Sse;
use super::calls::{Calls, Piece};
use super::chunk::{
    Choice, Chunk, failed, no_completion, read_chunk, read_stop, read_text, read_usage,
};
use crate::words::error::Error;
use crate::words::limits::STREAM_BYTES;
use crate::words::message::{Delta, Reply, StopReason, Usage};

/// An answer that is being read.
#[derive(Debug)]
pub struct Decoder {
    names: ToolNames,
    form: Form,
    sse: Sse,
    answer: Answer,
}

#[derive(Debug)]
enum Form {
    /// Nothing but blanks so far.
    Unknown,
    Stream,
    Whole(Vec<u8>),
    /// The stream said that it had ended; what follows is ignored.
    Ended,
    /// An error was returned; there will be no reply.
    Failed,
}

impl Decoder {
    /// A decoder of the answer to the request that `names` came with.
    #[must_use]
    pub fn new(names: ToolNames) -> Self {
        Self {
            names,
            form: Form::Unknown,
            sse: Sse::default(),
            answer: Answer::default(),
        }
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
        taken
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, Error> {
        let mut rest = bytes;
        if matches!(self.form, Form::Unknown) {
            let start = bytes
                .iter()
                .position(|byte| !is_blank(*byte))
                .unwrap_or(bytes.len());
            let body = bytes.get(start..).unwrap_or_default();
            self.form = match body.first() {
                None => Form::Unknown,
                Some(b'{') => {
                    rest = body;
                    Form::Whole(Vec::new())
                }
                Some(b'<') => return Err(html()),
                Some(_) => Form::Stream,
            };
        }
        match &mut self.form {
            Form::Unknown | Form::Stream => self.take_events(rest),
            Form::Whole(body) => {
                let length = body.len().saturating_add(rest.len());
                check_length(length)?;
                body.extend_from_slice(rest);
                Ok(Vec::new())
            }
            Form::Ended | Form::Failed => Ok(Vec::new()),
        }
    }

    fn take_events(&mut self, mut rest: &[u8]) -> Result<Vec<Delta>, Error> {
        let mut deltas = Vec::new();
        while let Some(data) = self.sse.next(&mut rest)? {
            match data.trim() {
                "" => {}
                "[DONE]" => {
                    self.answer.ended = true;
                    self.form = Form::Ended;
                    break;
                }
                text => self
                    .answer
                    .take(read_chunk(text)?, &self.names, &mut deltas)?,
            }
        }
        Ok(deltas)
    }

    /// The reply, once there are no more bytes.
    ///
    /// # Errors
    /// `ProviderFailed`, worth a retry, where the stream did not end but stop, or it stopped for
    /// tools and names none (R-27b); otherwise as [`Decoder::push`].
    pub fn finish(self) -> Result<Reply, Error> {
        match self.form {
            Form::Whole(body) => decode_whole(&self.names, &body),
            Form::Unknown | Form::Stream | Form::Ended => self.answer.finish(&self.names),
            Form::Failed => Err(half_way()),
        }
    }
}

/// Reads an answer that did not stream.
///
/// # Errors
/// As [`Decoder::push`] and [`Decoder::finish`].
pub fn decode_whole(names: &ToolNames, body: &[u8]) -> Result<Reply, Error> {
    check_length(body.len())?;
    let start = body
        .iter()
        .position(|byte| !is_blank(*byte))
        .unwrap_or(body.len());
    let body = body.get(start..).unwrap_or_default();
    if body.first() == Some(&b'<') {
        return Err(html());
    }
    let chunk = read_chunk(&String::from_utf8_lossy(body))?;
    let mut answer = Answer {
        ended: true,
        ..Answer::default()
    };
    let empty = chunk.choices.as_ref().is_none_or(Vec::is_empty);
    answer.take(chunk, names, &mut Vec::new())?;
    // Checked after the error that the answer may report instead.
    if empty {
        Err(no_completion())
    } else {
        answer.finish(names)
    }
}

/// What there is of an answer.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Calls,
    stop: Option<StopReason>,
    usage: Usage,
    /// Whether the server said that nothing follows.
    ended: bool,
}

impl Answer {
    fn take(
        &mut self,
        chunk: Chunk,
        names: &ToolNames,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        if let Some(error) = chunk.reported() {
            return Err(error);
        }
        if let Some(usage) = &chunk.usage {
            self.usage = read_usage(usage);
        }
        for choice in chunk.choices.unwrap_or_default() {
            // One answer was asked for.
            if choice.index.unwrap_or(0) == 0 {
                self.take_choice(choice, names, deltas)?;
            }
        }
        Ok(())
    }

    fn take_choice(
        &mut self,
        choice: Choice,
        names: &ToolNames,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let said = choice.delta.or(choice.message).unwrap_or_default();
        for text in [said.content, said.refusal].iter().flatten().map(read_text) {
            if !text.is_empty() {
                self.text.push_str(&text);
                deltas.push(Delta::Text(text));
            }
        }
        let mut pieces = said.tool_calls.unwrap_or_default();
        pieces.extend(said.function_call.map(Piece::from));
        if self.calls.take(pieces, names, deltas)? {
            // Some servers end after every call; the last one may still be cut.
            self.stop = self.stop.filter(|stop| is_cut(*stop));
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            let cut = self.stop.filter(|stop| is_cut(*stop));
            self.stop = Some(cut.map_or_else(|| read_stop(&reason), Ok)?);
        }
        Ok(())
    }

    fn finish(self, names: &ToolNames) -> Result<Reply, Error> {
        let said = !self.text.is_empty() || !self.calls.is_empty();
        let stop = match self.stop {
            Some(stop) => stop,
            None if self.ended && said && self.calls.are_whole() => StopReason::End,
            None => return Err(half_way()),
        };
        let calls = match stop {
            // What the provider refused to show must not act either.
            StopReason::Filtered => Vec::new(),
            StopReason::Length => self.calls.finish(names, true)?,
            StopReason::End | StopReason::Calls => self.calls.finish(names, false)?,
        };
        let stop = match stop {
            StopReason::Calls if calls.is_empty() => {
                return Err(failed(
                    "the model provider stopped for tools and named none",
                ));
            }
            // Some servers say `stop` after calls, too.
            StopReason::End if !calls.is_empty() => StopReason::Calls,
            StopReason::End | StopReason::Calls | StopReason::Length | StopReason::Filtered => stop,
        };
        Ok(Reply {
            text: self.text,
            calls,
            stop,
            usage: self.usage,
        })
    }
}

/// Whether a reply that stopped so may have been cut short.
fn is_cut(stop: StopReason) -> bool {
    match stop {
        StopReason::Length | StopReason::Filtered => true,
        StopReason::End | StopReason::Calls => false,
    }
}

/// Blanks and the bytes of a byte order mark.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF)
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

fn half_way() -> Error {
    failed("the model provider's stream stopped half-way").retry(true)
}

fn html() -> Error {
    failed("the model provider answered with HTML")
        .retry(false)
        .hint("check the provider's URL, and whether a proxy answers in its place")
}

#[cfg(test)]
mod tests;
