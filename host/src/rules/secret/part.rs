//! Parts of answers: what asks for one, and what is one.
//!
//! A server that says what it was told would cut a secret for whoever asks, and half of one is none that anybody
//! recognises. Where a secret may go, an answer is taken whole or not at all; and in letters, and a packing, in which a secret
//! is known (`rules/scrub`), since such a server would write it in others as well.

use super::SecretGrant;
use crate::rules::deny;
use crate::rules::fetch::{Fetch, folded};
use crate::words::event::Denial;

/// By which rule a request is refused that asks for a part of an answer, and an answer that is one.
pub(in crate::rules) const PART: &str = "secret_range";

/// By which rule a request is refused that asks for other letters or a packing, and an answer that has some.
pub(in crate::rules) const CODING: &str = "secret_coding";

/// Whether the answer to a request is taken whole or not at all: where any of these lines lets a secret go to that server,
/// whatever the path and the method, since it may say at one place what it was told at another.
///
/// # Errors
/// The denial of a request that asks for a part there, or for other letters.
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
    let asks = |(name, value): &(String, String)| asks_for_coding(name, value);
    if fetch.headers().iter().any(asks) {
        let reason = "a header such as `accept-charset`, or a `charset` in `accept`, asks for an answer in other letters, or \
                      packed, and where a secret may go it is not known in those: leave it out, and take what comes as UTF-8";
        return Err(deny(CODING, reason));
    }
    Ok(true)
}

/// Whether a header asks for letters, or for a packing that lies within the body and is not undone before it is read.
fn asks_for_coding(name: &str, value: &str) -> bool {
    let name = folded(name);
    let speaks_of_letters = name == "accept" && value.to_ascii_lowercase().contains("charset");
    let ends = ["accept-charset", "accept-encoding"];
    speaks_of_letters || ends.iter().any(|end| name.ends_with(end))
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

/// Letters in which a secret is known, as answers name them.
const LETTERS: [&str; 15] = [
    "utf-8",
    "utf8",
    "us-ascii",
    "ascii",
    "iso-8859-1",
    "iso8859-1",
    "latin1",
    // What is read for the one above, in browsers.
    "windows-1252",
    "utf-16",
    "utf-16le",
    "utf-16be",
    "utf-32",
    "utf-32le",
    "utf-32be",
    // None is named.
    "",
];

/// Whether an answer says that it is in letters, or in a packing within its body, in which no secret is known. What packs a
/// whole body, and is undone before anybody looks, is not meant.
#[must_use]
pub fn is_coded<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> bool {
    headers.into_iter().any(|(name, value)| {
        let value = String::from_utf8_lossy(value).trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "content-type" => has_other_letters(&value),
            "grpc-encoding" | "connect-content-encoding" => value != "identity",
            // What was undone is taken out of the head, so what stands there was not.
            "content-encoding" | "transfer-encoding" => value.split(',').any(is_packing),
            _ => false,
        }
    })
}

fn is_packing(name: &str) -> bool {
    !matches!(name.trim(), "" | "identity" | "chunked")
}

/// Whether a type names letters that are none of [`LETTERS`]. Two readers may end its parameters at different places, so that
/// the word counts wherever it stands.
fn has_other_letters(kind: &str) -> bool {
    kind.split("charset").skip(1).any(|rest| {
        let rest = rest.trim_start();
        let Some(rest) = rest.strip_prefix('=') else {
            return rest.starts_with('*');
        };
        let rest = rest.trim_start_matches(['"', '\'', ' ', '\t']);
        let mut ends = rest.split([';', ',', '"', '\'', ' ', '\t']);
        let letters = ends.next().unwrap_or_default();
        !LETTERS.contains(&letters)
    })
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

    /// A server that gives back what it was told would write it as nobody knows it.
    #[test]
    fn no_other_letters_are_asked_for_where_a_secret_may_go() {
        let asked = |url: &str, (name, value): (&str, &str)| {
            let headers = vec![(name.to_owned(), value.to_owned())];
            let fetch = Fetch::new("GET", url, headers, Vec::new()).unwrap();
            let whole = check_whole(&fetch, lines("https://a.test/v1/").iter());
            whole.map_err(|denial| denial.rule)
        };
        for header in [
            ("accept", "text/plain;charset=utf-32-be"),
            ("Accept", "text/html, text/plain; Charset = \"IBM037\""),
            ("accept-charset", "IBM037"),
            ("Accept_Charset", "utf-7"),
            ("grpc-accept-encoding", "gzip"),
            ("Connect-Accept-Encoding", "gzip"),
        ] {
            for url in ["https://a.test/v1/x", "https://a.test/me"] {
                assert_eq!(asked(url, header), Err(CODING.to_owned()), "{header:?}");
            }
            assert_eq!(asked("https://b.test/", header), Ok(false), "{header:?}");
        }
        for header in [
            ("accept", "text/plain;q=0.5, */*"),
            ("accept-language", "de"),
            ("content-type", "text/plain; charset=utf-8"),
            ("grpc-encoding", "identity"),
        ] {
            assert_eq!(asked("https://a.test/me", header), Ok(true), "{header:?}");
        }
    }

    #[test]
    fn an_answer_in_other_letters_is_one_however_it_says_so() {
        let is = |name: &str, value: &str| is_coded([(name, value.as_bytes())]);
        for (name, value) in [
            ("content-type", "text/plain; charset=IBM037"),
            ("Content-Type", "text/plain;Charset = \"utf-7\""),
            ("content-type", "text/plain; charset=utf-8; charset=ibm037"),
            (
                "content-type",
                "text/plain; charset=utf-8, text/plain; charset=cp500",
            ),
            ("content-type", "text/plain; charset*=utf-8''ibm037"),
            ("content-type", "text/plain; x=\"; charset=ibm037\""),
            ("content-type", "text/plain; charset=utf-80"),
            ("grpc-encoding", "gzip"),
            ("Connect-Content-Encoding", "br"),
            ("Content-Encoding", "Br"),
            ("content-encoding", "br,identity"),
            ("content-encoding", "identity, compress"),
            ("transfer-encoding", "br, chunked"),
        ] {
            assert!(is(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("content-type", "text/plain"),
            ("content-type", "application/json; charset=UTF-8"),
            ("content-type", "text/html;charset=\"utf-8\"; x=y"),
            ("content-type", "text/html; charset='iso-8859-1'"),
            ("content-type", "text/plain; charset=utf-16le"),
            ("content-type", "text/plain; charset=utf-32be"),
            ("content-type", "text/plain; charset="),
            ("content-type", "application/vnd.charset+json"),
            ("content-encoding", "Identity"),
            ("content-encoding", ""),
            ("transfer-encoding", "chunked"),
            ("grpc-encoding", "identity"),
            ("grpc-accept-encoding", "gzip"),
            ("x-note", "charset=ibm037"),
        ] {
            assert!(!is(name, value), "{name}: {value}");
        }
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
