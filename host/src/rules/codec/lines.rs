//! Lines of JSON: bytes in pieces of any size, whole lines out.
//!
//! Lines end with LF, CR or both: JSON has neither within a value. A byte order mark before the first
//! is passed over, blank lines are returned as such. Where the pieces were cut makes no difference.
//! Bytes that are no UTF-8 are replaced.

use crate::words::error::Error;
use crate::words::limits::{STREAM_BYTES, STREAM_EVENTS, STREAM_LINE_BYTES};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A stream of lines that is being read.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    begun: bool,
    bytes: usize,
    events: usize,
}

impl Lines {
    /// Reads from the front of `rest` until one line is whole, and returns it; `None` once `rest` is
    /// used up. What is left in `rest` was not looked at.
    ///
    /// # Errors
    /// `TooBig` past `STREAM_BYTES` in all, `STREAM_LINE_BYTES` in a line or `STREAM_EVENTS`, which
    /// counts blank lines as well.
    pub fn next(&mut self, rest: &mut &[u8]) -> Result<Option<String>, Error> {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
        self.keep(piece)?;
        let Some((_, tail)) = tail.split_first() else {
            *rest = tail;
            return Ok(None);
        };
        *rest = tail;
        self.bytes = self.bytes.saturating_add(1);
        self.events = self.events.saturating_add(1);
        if self.events > STREAM_EVENTS {
            let what = "the number of lines in the provider's stream";
            return Err(Error::too_many(what, STREAM_EVENTS, self.events));
        }
        Ok(Some(self.last()))
    }

    /// What there is of a line that was not ended.
    pub fn last(&mut self) -> String {
        let whole = std::mem::take(&mut self.line);
        let mut line = whole.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        String::from_utf8_lossy(line).into_owned()
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > STREAM_BYTES {
            let what = "the provider's stream";
            return Err(Error::too_big(what, STREAM_BYTES, self.bytes));
        }
        let length = self.line.len().saturating_add(piece.len());
        if length > STREAM_LINE_BYTES {
            let what = "a line of the provider's stream";
            return Err(Error::too_big(what, STREAM_LINE_BYTES, length));
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_cut;
    use super::*;
    use crate::words::error::Code;

    fn read(pieces: &[&[u8]]) -> Result<Vec<String>, Error> {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            while let Some(line) = lines.next(&mut rest)? {
                all.push(line);
            }
        }
        all.push(lines.last());
        all.retain(|line| !line.is_empty());
        Ok(all)
    }

    #[track_caller]
    fn check(stream: &[u8], wanted: &[&str]) {
        check_cut(read, stream, wanted);
    }

    #[test]
    fn lines_end_in_every_way() {
        check(b"{}\n{\"a\":1}\n", &["{}", "{\"a\":1}"]);
        check(b"a\rb\r\nc\n\rd", &["a", "b", "c", "d"]);
        check(b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n", &["a", "\u{FEFF}b"]);
        check(b"\xFF\n\xC3\xA9\n", &["\u{FFFD}", "\u{e9}"]);
        check(b"", &[]);
    }

    #[test]
    fn limits() {
        let code = |pieces: &[&[u8]]| read(pieces).unwrap_err().code();
        let line = vec![b'x'; STREAM_LINE_BYTES];
        assert!(read(&[&line, b"\n"]).is_ok());
        assert_eq!(code(&[&line, b"x"]), Code::TooBig);
        let lines = [line, vec![b'\n']].concat();
        assert_eq!(code(&[lines.as_slice(); 5]), Code::TooBig);
        assert_eq!(code(&[&b"\n".repeat(STREAM_EVENTS + 1)]), Code::TooBig);
    }
}
