//! What `TextDecoder` does with bytes.

/// How a decoder was made, and what it was told for this piece.
#[derive(Clone, Copy)]
pub struct Decoding {
    /// Bytes that are no UTF-8 are an error.
    pub fatal: bool,
    /// A byte order mark stays.
    pub keeps_mark: bool,
    /// More will follow, so that a character may be unfinished at the end.
    pub streams: bool,
}

/// The text, and how many bytes at the end begin a character that is not finished. `None` if it is no UTF-8 and had to be.
pub fn utf8(bytes: &[u8], how: Decoding) -> Option<(String, usize)> {
    let unfinished = if how.streams { unfinished(bytes) } else { 0 };
    let whole = &bytes[..bytes.len() - unfinished];
    let mut text = if how.fatal {
        std::str::from_utf8(whole).ok()?.to_owned()
    } else {
        String::from_utf8_lossy(whole).into_owned()
    };
    if !how.keeps_mark && text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Some((text, unfinished))
}

/// The length of a character at the end that lacks bytes.
fn unfinished(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|&back| {
            let tail = &bytes[bytes.len() - back..];
            matches!(std::str::from_utf8(tail), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}
