//! Paths that are read in more than one way: what a granted prefix begins may lead elsewhere on the far side.

use icu_normalizer::ComposingNormalizerBorrowed;
use percent_encoding::percent_decode;

/// How often a path is decoded that changes each time: no server does it more often.
const DECODINGS: usize = 8;

/// Whether somebody who decodes a path again, cuts parameters off its segments, or trims them may find a way up in it, or
/// a separator that is none here.
pub(super) fn climbs(path: &str) -> bool {
    let Some(read) = decoded(path) else {
        return true;
    };
    let slashes = |text: &[u8]| text.iter().filter(|byte| **byte == b'/').count();
    slashes(&read) != slashes(path.as_bytes())
        || read.contains(&b'\\')
        || is_spelt_oddly(&read)
        || read.split(|byte| *byte == b'/').any(leads_up)
}

/// What is left once nothing is escaped any more; nothing where there is no end to it.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut text = compatible(path.as_bytes());
    for _ in 0..DECODINGS {
        let next: Vec<u8> = percent_decode(&text).collect();
        if next == text {
            return Some(text);
        }
        text = compatible(&next);
    }
    None
}

/// As it is for whoever takes a character for the one that it is compatible with: a full-width `．` for `.`, `‥` for two.
fn compatible(text: &[u8]) -> Vec<u8> {
    const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
    let mut read = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        read.extend_from_slice(NFKC.normalize(chunk.valid()).as_bytes());
        read.extend_from_slice(chunk.invalid());
    }
    read
}

/// Whether it holds what some read as an ASCII character and others as nothing: longer forms than UTF-8 has, also of five or
/// six bytes, and `%u002e`.
fn is_spelt_oddly(text: &[u8]) -> bool {
    text.windows(2).any(|pair| {
        matches!(
            pair,
            [0xc0 | 0xc1, _]
                | [0xe0, 0x80..=0x9f]
                | [0xf0, 0x80..=0x8f]
                | [0xf8..=0xfd, 0x80..=0xbf]
                | [b'%', b'u' | b'U']
        )
    })
}

/// Whether a segment is nothing but dots, without its parameters and what some trim.
fn leads_up(segment: &[u8]) -> bool {
    let name = segment.split(|byte| matches!(byte, b';' | 0)).next();
    let name = name.unwrap_or_default().iter();
    let mut seen = name
        .filter(|byte| !matches!(byte, 0..=b' ' | 0x7f))
        .peekable();
    seen.peek().is_some() && seen.all(|byte| *byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_up_for_somebody_is_seen() {
        for path in [
            "/v1/..;/s",
            "/v1/..;a=b/s",
            "/v1/.;/s",
            "/v1/..;",
            "/v1/..%3b/s",
            "/v1/%2e%2e/s",
            "/v1/.%2E/s",
            "/v1/%252e%252e/s",
            "/v1/%25252e./s",
            "/v1/%25%32%65./s",
            "/v1/..%2fs",
            "/v1/a%2fs",
            "/v1/a%252Fs",
            "/v1/a%5cs",
            "/v1/a%255Cs",
            "/v1/a\\s",
            "/v1/..%00/s",
            "/v1/..%20/s",
            "/v1/%09../s",
            "/v1/.../s",
            "/v1/%c0%ae%c0%ae/s",
            "/v1/%e0%80%ae./s",
            "/v1/a%e0%81%9cs",
            "/v1/%f0%80%80%ae./s",
            "/v1/%f8%80%80%80%ae./s",
            "/v1/%fc%80%80%80%80%ae./s",
            "/v1/%fd%bf%80%80%80%ae./s",
            "/v1/%ef%bc%8e%ef%bc%8e/s",
            "/v1/%25ef%25bc%258e./s",
            "/v1/%e2%80%a4%e2%80%a4/s",
            "/v1/%e2%80%a5/s",
            "/v1/%e2%80%a6/s",
            "/v1/a%ef%bc%8fs",
            "/v1/a%ef%bc%bcs",
            "/v1/%ef%bc%852e./s",
            "/v1/．./s",
            "/v1/%u002e%u002e/s",
            "/v1/%252525252525252525252e",
        ] {
            assert!(climbs(path), "{path}");
        }
    }

    #[test]
    fn other_paths_are_as_they_are_written() {
        for path in [
            "/",
            "/v1/",
            "/v1//a",
            "/v1/a;b=c/d",
            "/v1/a.b/..c/d../.well-known/x",
            "/v1/100%25/50%",
            "/v1/caf%C3%A9/caf%e9",
            "/v1/%fcber/s%f8k",
            "/v1/wait%e2%80%a6/1%ef%bc%8e2",
            "/v1/a%20b%3Bc",
            "/v1/%zz%2",
            "/v1/;a",
            "/v1/%20/a",
        ] {
            assert!(!climbs(path), "{path}");
        }
    }
}
