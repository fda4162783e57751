//! Server-sent events: bytes in pieces of any size, whole events out.
//!
//! Follows the WHATWG grammar, because providers end lines in every way that it allows: CR, LF and
//! CRLF, mixed; a byte order mark; comments; `data:` with and without a space; data of several
//! lines. Where the pieces were cut makes no difference. Bytes that are no UTF-8 are replaced.
//! An event that the stream did not end with a blank line is never seen. Fields other than `data`
//! are left out: no provider of ours says anything there that it does not say in the data.

use crate::words::error::Error;
use crate::words::limits::{STREAM_BYTES, STREAM_EVENTS, STREAM_LINE_BYTES};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A stream of events that is being read.
#[derive(Debug, Default)]
pub struct Sse {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    begun: bool,
    after_cr: bool,
    bytes: usize,
    events: usize,
}

impl Sse {
    /// Reads from the front of `rest` until one event is whole, and returns its data; `None` once
    /// `rest` is used up. What is left in `rest` was not looked at, so that a reader who stops
    /// early is not troubled by what follows.
    ///
    /// # Errors
    /// `TooBig` past `STREAM_BYTES` in all, `STREAM_LINE_BYTES` in a line or `STREAM_EVENTS`.
    pub fn next(&mut self, rest: &mut &[u8]) -> Result<Option<String>, Error> {
        while let Some((first, tail)) = rest.split_first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                *rest = tail;
                self.count(1)?;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
            self.keep(piece)?;
            let Some((ending, tail)) = tail.split_first() else {
                *rest = tail;
                break;
            };
            *rest = tail;
            self.count(1)?;
            self.after_cr = *ending == b'\r';
            if let Some(event) = self.end_line()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn count(&mut self, more: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > STREAM_BYTES {
            return Err(Error::too_big(
                "the provider's stream",
                STREAM_BYTES,
                self.bytes,
            ));
        }
        Ok(())
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.count(piece.len())?;
        let length = self.line.len().saturating_add(piece.len());
        if length > STREAM_LINE_BYTES {
            return Err(Error::too_big(
                "a line of the provider's stream",
                STREAM_LINE_BYTES,
                length,
            ));
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// Takes the line that has ended; a blank one ends the event.
    fn end_line(&mut self) -> Result<Option<String>, Error> {
        let whole = std::mem::take(&mut self.line);
        let mut line = whole.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        if parts.next() == Some(b"data") {
            let value = parts.next().unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Result<Option<String>, Error> {
        let Some(data) = self.data.take() else {
            return Ok(None);
        };
        self.events = self.events.saturating_add(1);
        if self.events > STREAM_EVENTS {
            return Err(Error::too_many(
                "the number of events in the provider's stream",
                STREAM_EVENTS,
                self.events,
            ));
        }
        Ok(Some(String::from_utf8_lossy(&data).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::check_cut;
    use super::*;
    use crate::words::error::Code;

    fn read(pieces: &[&[u8]]) -> Result<Vec<String>, Error> {
        let mut sse = Sse::default();
        let mut events = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            while let Some(event) = sse.next(&mut rest)? {
                events.push(event);
            }
        }
        Ok(events)
    }

    #[track_caller]
    fn check(stream: &[u8], wanted: &[&str]) {
        check_cut(read, stream, wanted);
    }

    #[test]
    fn lines_end_in_every_way() {
        check(b"data: a\n\ndata: b\n\n", &["a", "b"]);
        check(b"data: a\r\rdata: b\r\r", &["a", "b"]);
        check(b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check(b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", &["a", "b", "c"]);
        check(b"data: a\r\ndata: b\rdata: c\ndata: d\n\r", &["a\nb\nc\nd"]);
    }

    #[test]
    fn fields() {
        check(
            b"data:a\n\ndata:  b\n\ndata: c:d \n\n",
            &["a", " b", "c:d "],
        );
        check(
            b"data\n\ndata:\n\ndata: \n\ndata\ndata\n\n",
            &["", "", "", "\n"],
        );
        check(b": comment\ndata: a\n:\n: data: no\n\n", &["a"]);
        check(
            b"event: error\nid: 7\nretry: 1\nDATA: x\ndata : y\n data: z\ndata: a\n\n",
            &["a"],
        );
        check(b"event: ping\n\n: only\n\n\n\n\r\r", &[]);
    }

    #[test]
    fn marks_and_broken_text() {
        check(b"\xEF\xBB\xBFdata: a\n\n", &["a"]);
        check(b"\xEF\xBB\xBF\ndata: a\n\n", &["a"]);
        check(b"data: a\n\n\xEF\xBB\xBFdata: b\n\n", &["a"]);
        check(
            b"data: \xFF\xC3\n\ndata: \xC3\xA9\0\n\n",
            &["\u{FFFD}\u{FFFD}", "é\0"],
        );
    }

    #[test]
    fn an_event_without_its_end_is_not_seen() {
        check(b"data: a\n\ndata: b\n", &["a"]);
        check(b"data: b", &[]);
        check(b"", &[]);
    }

    #[test]
    fn limits() {
        let line = vec![b'x'; STREAM_LINE_BYTES];
        assert!(read(&[&line, b"\n"]).is_ok());
        let code = |pieces: &[&[u8]]| read(pieces).unwrap_err().code();
        assert_eq!(code(&[&line, b"x"]), Code::TooBig);
        let lines = [line, vec![b'\n']].concat();
        assert_eq!(code(&[lines.as_slice(); 4]), Code::TooBig);
        assert_eq!(
            read(&[&b"data\n\n".repeat(STREAM_EVENTS)]).unwrap().len(),
            STREAM_EVENTS
        );
        assert_eq!(
            code(&[&b"data\n\n".repeat(STREAM_EVENTS + 1)]),
            Code::TooBig
        );
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            parts in prop::collection::vec(
                prop::sample::select(&["data", ":", " ", "\r", "\n", "é", "\u{FEFF}", "x"][..]),
                0..40,
            ),
            size in 1usize..9,
        ) {
            let stream = parts.concat().into_bytes();
            let pieces: Vec<&[u8]> = stream.chunks(size).collect();
            prop_assert_eq!(read(&[&stream]).unwrap(), read(&pieces).unwrap());
        }
    }
}
