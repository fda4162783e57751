//! Parts of answers: what asks for one, and what is one.
//!
//! A server that says what it was told would cut a secret for whoever asks, and half of one is none that anybody
//! recognises. Where a secret may go, an answer is taken whole or not at all.

use super::SecretGrant;
use crate::rules::deny;
use crate::rules::fetch::Fetch;
use crate::words::event::Denial;

/// By which rule a request is refused that asks for a part of an answer, and an answer that is one.
pub(in crate::rules) const PART: &str = "secret_range";

/// Whether the answer to a request is taken whole or not at all: where any of these lines lets a secret go to that server,
/// whatever the path and the method, since it may say at one place what it was told at another.
///
/// # Errors
/// The denial of a request that asks for a part there.
pub(in crate::rules) fn check_whole<'a>(
    fetch: &Fetch,
    mut lines: impl Iterator<Item = &'a SecretGrant>,
) -> Result<bool, Denial> {
    if !lines.any(|line| line.to.matches_origin(fetch.url())) {
        return Ok(false);
    }
    if fetch.headers().iter().any(|(name, _)| asks_for_part(name)) {
        let reason = "a header such as `range` asks for a part of an answer, and where a secret may go an answer is looked \
                      through whole: ask for all of it";
        return Err(deny(PART, reason));
    }
    Ok(true)
}

/// Whether a header asks for a part of an answer: `Range`, what some servers take in its place (`Request-Range`,
/// `x-ms-range`), and `A-IM`, which asks for what has changed. `Content-Range` says which part of something is sent.
fn asks_for_part(name: &str) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let speaks_of_range = words.any(|word| word.eq_ignore_ascii_case("range"));
    is("a-im") || speaks_of_range && !is("content-range")
}

/// Whether an answer is a part of one, whatever was asked: a URL may have its server cut as well. A server that numbers the
/// records of a whole answer says so in a `Content-Range` of another unit, or of none.
#[must_use]
pub fn is_part<'a>(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> bool {
    let says_so = |(name, value): (&str, &[u8])| {
        let value = String::from_utf8_lossy(value).trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "content-range" => value.starts_with("bytes"),
            "content-type" => {
                let kind = value.split(';').next().unwrap_or_default().trim_end();
                kind.starts_with("multipart/") && kind.ends_with("byteranges")
            }
            _ => false,
        }
    };
    // Partial Content, and IM Used: what has changed since.
    matches!(status, 206 | 226) || headers.into_iter().any(says_so)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::grant::{Destination, METHODS};
    use crate::rules::secret::Placement;

    fn lines(to: &str) -> Vec<SecretGrant> {
        vec![SecretGrant {
            name: "github".to_owned(),
            to: Destination::parse(to, &METHODS, true).unwrap(),
            place: Placement::Query("key".to_owned()),
        }]
    }

    fn checked(to: &str, url: &str, header: &str) -> Result<bool, String> {
        let headers = vec![
            ("accept".to_owned(), "text/plain".to_owned()),
            (header.to_owned(), "bytes=0-8".to_owned()),
        ];
        let fetch = Fetch::new("GET", url, headers, Vec::new()).unwrap();
        check_whole(&fetch, lines(to).iter()).map_err(|denial| {
            assert_eq!(denial.rule, PART);
            denial.reason
        })
    }

    /// A server that gives back what it was told would cut it.
    #[test]
    fn no_part_of_an_answer_is_asked_for_where_a_secret_may_go() {
        let to = "https://a.test/v1/";
        for header in [
            "Range",
            "if-range",
            "Request-Range",
            "request_range",
            "x-ms-range",
            "X-Amz-Copy-Source-Range",
            "a-im",
        ] {
            // Beside the path of the line as well as below it.
            for url in ["https://a.test/v1/x", "https://a.test/me"] {
                let reason = checked(to, url, header).unwrap_err();
                assert!(reason.contains("asks for a part of an answer"), "{reason}");
            }
            // Another server was told nothing.
            for url in ["https://b.test/v1/x", "https://a.test:8443/v1/x"] {
                assert_eq!(checked(to, url, header), Ok(false), "{url} {header}");
            }
        }
        for header in ["Content-Range", "x-arrange", "accept-language", "aim"] {
            assert_eq!(
                checked(to, "https://a.test/me", header),
                Ok(true),
                "{header}"
            );
        }
        let below = checked("https://*.a.test/", "https://b.a.test/me", "range");
        assert!(below.is_err(), "{below:?}");
    }

    #[test]
    fn a_part_is_one_however_it_says_so() {
        let is = |status, name: &str, value: &str| is_part(status, [(name, value.as_bytes())]);
        for status in [206, 226] {
            assert!(is_part(status, []), "{status}");
        }
        for (name, value) in [
            ("content-range", "bytes 0-18/41"),
            ("Content-Range", " Bytes=0-18/41"),
            ("content-range", "bytes */41"),
            ("content-type", "multipart/byteranges; boundary=x"),
            ("content-type", "Multipart/X-ByteRanges"),
        ] {
            assert!(is(200, name, value), "{name}: {value}");
        }
        // What is no text is read as far as it is.
        assert!(is_part(200, [("content-range", &b"bytes \xff"[..])]));
        for (name, value) in [
            ("content-range", "0-24/319"),
            ("content-range", "posts 0-24/319"),
            ("content-type", "multipart/mixed; boundary=byteranges"),
            ("content-type", "text/byteranges"),
            ("accept-ranges", "bytes"),
        ] {
            assert!(!is(200, name, value), "{name}: {value}");
        }
        assert!(!is_part(200, []));
    }
}
