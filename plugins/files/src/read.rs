//! `files.read`: a file, or a range of its bytes or lines.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazaret_sdk::prelude::*;

use crate::tree::{Mounts, Tree};

const READ_BYTES_MAX: u32 = 512 * 1024;
const CHUNK_BYTES: u32 = 256 * 1024;
/// How far a file is read to find a line.
const SCAN_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What was read.
#[value]
#[derive(PartialEq, Eq)]
pub struct Content {
    /// The text, or Base64 if it was asked for.
    pub content: String,
    /// Bytes in the whole file.
    pub size: u64,
    /// Where in the file the content starts, in bytes.
    pub offset: u64,
    /// Where the content ends, in bytes: the `offset` to go on from.
    pub next_offset: u64,
    /// Number of the content's first line, if lines were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// The `first_line` to go on from, if lines were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_line: Option<u64>,
    /// Whether the content reaches the end of the file.
    pub eof: bool,
}

/// Reads a text file, whole or in part: by bytes (`offset`, `length`) or by lines (`first_line`,
/// `lines`).
///
/// At most 512 KiB are returned; go on from `next_offset` or `next_line` until `eof`. A file that
/// is not UTF-8 is a failure unless `base64` is set.
#[tool(
    effect = "read-only",
    risk = "read_only",
    mounts = "read",
    tier = "fast",
    example(title = "a whole file", args = r#"{"path": "readme.md"}"#),
    example(
        title = "ten lines",
        args = r#"{"path": "server.log", "first_line": 101, "lines": 10}"#
    ),
    example(
        title = "bytes",
        args = r#"{"path": "logo.png", "length": 1024, "base64": true}"#
    )
)]
pub fn read(
    /// The file.
    path: String,
    /// The first byte to read, from 0.
    offset: Option<u64>,
    /// How many bytes to read, at most 524288.
    length: Option<u32>,
    /// The first line to read, from 1; not together with `offset` and `length`.
    first_line: Option<u64>,
    /// How many lines to read; not together with `offset` and `length`.
    lines: Option<u64>,
    /// Whether to return bytes in Base64 and not a text.
    #[default(false)]
    base64: bool,
) -> Result<Content, Failure> {
    let by_lines = first_line.is_some() || lines.is_some();
    if by_lines && (base64 || offset.is_some() || length.is_some()) {
        bad_input!("ask for lines or for bytes, not for both");
    }
    let size = files::stat(&path)?.size;
    if by_lines {
        return read_lines(
            &Mounts,
            &path,
            size,
            first_line.unwrap_or(1),
            lines.unwrap_or(u64::MAX),
        );
    }
    let offset = offset.unwrap_or(0);
    let length = length.unwrap_or(READ_BYTES_MAX).min(READ_BYTES_MAX);
    read_bytes(
        &Mounts,
        &path,
        size,
        offset..offset.saturating_add(length.into()),
        base64,
    )
}

fn read_bytes(
    tree: &impl Tree,
    path: &str,
    size: u64,
    range: std::ops::Range<u64>,
    base64: bool,
) -> Result<Content, Failure> {
    let length = u32::try_from(range.end - range.start).unwrap_or(READ_BYTES_MAX);
    let mut bytes = Vec::new();
    // In chunks, since the host may give less at once than we take.
    while (bytes.len() as u64) < u64::from(length) {
        let missing = (length - bytes.len() as u32).min(CHUNK_BYTES);
        let chunk = tree.read(path, range.start + bytes.len() as u64, missing)?;
        if chunk.is_empty() {
            break;
        }
        bytes.extend(chunk);
    }
    let (offset, content, taken) = if base64 {
        (range.start, STANDARD.encode(&bytes), bytes.len())
    } else {
        let start = if range.start == 0 {
            0
        } else {
            broken_start(&bytes)
        };
        let end = if range.start + (bytes.len() as u64) < size {
            whole_end(&bytes)
        } else {
            bytes.len()
        };
        let text = bytes.get(start..end).unwrap_or_default().to_vec();
        (range.start + start as u64, text_of(path, text)?, end)
    };
    let next_offset = (range.start + taken as u64).max(offset);
    Ok(Content {
        content,
        size,
        offset,
        next_offset,
        first_line: None,
        next_line: None,
        eof: next_offset >= size,
    })
}

/// How many bytes at the start are the rest of a character that was cut.
fn broken_start(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xC0 == 0x80)
        .count()
}

/// Where the last whole character ends.
fn whole_end(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // Only a cut at the very end is ours; anything else is for `text_of` to refuse.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

fn text_of(path: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!(
            "`{path}` is not a text in UTF-8: read it with `base64` set to true"
        ))
    })
}

fn read_lines(
    tree: &impl Tree,
    path: &str,
    size: u64,
    first: u64,
    count: u64,
) -> Result<Content, Failure> {
    let first = first.max(1);
    let last = first.saturating_add(count);
    let (mut line, mut at, mut offset) = (1, 0_u64, 0);
    let mut taken: Vec<u8> = Vec::new();
    let mut full = false;
    'file: while at < size {
        if at > SCAN_BYTES_MAX {
            fail!("line {first} of `{path}` is too far in: read it by `offset`");
        }
        let chunk = tree.read(path, at, CHUNK_BYTES)?;
        if chunk.is_empty() {
            break;
        }
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            full =
                line >= first && line < last && taken.len() + piece.len() > READ_BYTES_MAX as usize;
            if full || line >= last {
                break 'file;
            }
            if line >= first {
                if taken.is_empty() {
                    offset = at;
                }
                taken.extend_from_slice(piece);
            }
            at += piece.len() as u64;
            line += u64::from(piece.ends_with(b"\n"));
        }
    }
    if full {
        // Only whole lines are returned; so a line that was begun is given back.
        let Some(end) = taken.iter().rposition(|byte| *byte == b'\n') else {
            fail!(
                "line {line} of `{path}` has more than {READ_BYTES_MAX} bytes: read it by `offset`"
            );
        };
        at -= (taken.len() - end - 1) as u64;
        taken.truncate(end + 1);
    }
    if taken.is_empty() {
        offset = at;
    }
    Ok(Content {
        content: text_of(path, taken)?,
        size,
        offset,
        next_offset: at,
        first_line: Some(first),
        next_line: Some(line),
        eof: at >= size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake::Map;

    fn bytes(text: &[u8], offset: u64, length: u64) -> Result<Content, Failure> {
        let tree = Map::new(&[("f", text)]);
        read_bytes(
            &tree,
            "f",
            text.len() as u64,
            offset..offset + length,
            false,
        )
    }

    fn check_bytes(text: &str, offset: u64, length: u64, expected: (&str, u64, u64, bool)) {
        let got = bytes(text.as_bytes(), offset, length).unwrap();
        assert_eq!(
            (got.content.as_str(), got.offset, got.next_offset, got.eof),
            expected
        );
    }

    #[test]
    fn byte_ranges_keep_characters_whole() {
        check_bytes("hello", 0, 100, ("hello", 0, 5, true));
        check_bytes("hello", 1, 3, ("ell", 1, 4, false));
        check_bytes("hello", 9, 3, ("", 9, 9, true));
        check_bytes("aäb", 0, 2, ("a", 0, 1, false));
        check_bytes("aäb", 2, 2, ("b", 3, 4, true));
        check_bytes("", 0, 10, ("", 0, 0, true));
    }

    #[test]
    fn other_encodings_are_refused_or_base64() {
        let failure = bytes(b"a\xffb", 0, 10).unwrap_err();
        assert!(failure.message().contains("base64"));
        assert!(bytes(b"abc\xc3", 0, 10).is_err());
        let tree = Map::new(&[("f", b"a\xffb")]);
        assert_eq!(
            read_bytes(&tree, "f", 3, 0..3, true).unwrap().content,
            "Yf9i"
        );
    }

    fn check_lines(text: &str, first: u64, count: u64, expected: (&str, u64, u64, bool)) {
        let tree = Map::new(&[("f", text.as_bytes())]);
        let got = read_lines(&tree, "f", text.len() as u64, first, count).unwrap();
        let next_line = got.next_line.unwrap();
        assert_eq!(
            (got.content.as_str(), got.offset, next_line, got.eof),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn line_ranges() {
        check_lines("a\nb\nc\n", 2, 1, ("b\n", 2, 3, false));
        check_lines("a\nb\nc", 2, 9, ("b\nc", 2, 3, true));
        check_lines("a\nb\nc\n", 1, u64::MAX, ("a\nb\nc\n", 0, 4, true));
        check_lines("a\n", 5, 2, ("", 2, 2, true));
        check_lines("", 1, 2, ("", 0, 1, true));
    }

    #[test]
    fn long_files_stop_at_a_line() {
        let line = format!("{}\n", "x".repeat(99_999));
        let text = line.repeat(20);
        let tree = Map::new(&[("f", text.as_bytes())]);
        let got = read_lines(&tree, "f", text.len() as u64, 3, u64::MAX).unwrap();
        assert_eq!(
            (got.content.len(), got.offset, got.eof),
            (500_000, 200_000, false)
        );
        assert_eq!((got.next_line, got.next_offset), (Some(8), 700_000));
    }

    #[test]
    fn a_line_that_is_too_long_is_a_failure() {
        let text = "x".repeat(600_000);
        let tree = Map::new(&[("f", text.as_bytes())]);
        assert!(read_lines(&tree, "f", 600_000, 1, 1).is_err());
    }
}
