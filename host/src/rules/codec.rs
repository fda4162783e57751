//! Codecs: what a model provider's wire format says, as plain values.
//!
//! They are rules and not edges, since nothing here opens a connection: bytes go in, words come
//! out, and a recorded stream tests all of it. A provider's answer is text from outside: it may be
//! cut, repeated, malformed or endless, and still nothing here panics, grows without bound or
//! passes on a call that did not arrive whole. Not done here: HTTP, deadlines, retries, and the
//! question whether a tool exists.

pub mod args;
pub mod envelope;
pub mod names;
pub mod openai;
pub mod sse;

use crate::words::error::{Code, Error};

/// What a failed HTTP answer of a provider means, from its status alone, never its text.
///
/// 408, 429 and 5xx may be retried (R-12a); everything else, redirects and empty successes
/// included, stays as it is until somebody changes the configuration.
#[must_use]
pub fn refused(status: u16) -> Error {
    let (what, hint) = match status {
        401 | 403 => (
            "did not accept the key",
            "check the provider's key and what it may use",
        ),
        402 => (
            "wants to be paid",
            "check the balance of the provider's account",
        ),
        404 | 405 => (
            "knows no such address or model",
            "check the provider's URL and the model",
        ),
        408 | 504 => ("took too long", ""),
        413 => (
            "found the request too big",
            "shorten the run or offer fewer tools",
        ),
        429 => ("wants fewer requests", ""),
        500..=599 => ("failed or is overloaded", ""),
        300..=399 => (
            "points elsewhere, and is not followed",
            "check the provider's URL",
        ),
        200..=299 => ("sent no reply", "check the provider's URL"),
        _ => (
            "refused the request",
            "check the model and the provider's settings",
        ),
    };
    let error = Error::new(
        Code::ProviderFailed,
        format!("the model provider {what}: status {status}"),
    )
    .retry(may_pass(status));
    if hint.is_empty() {
        error
    } else {
        error.hint(hint)
    }
}

/// Whether a status says that the same request may succeed later.
fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_classified() {
        for status in [408, 429, 500, 502, 503, 504, 529, 599] {
            assert!(refused(status).is_retryable(), "{status}");
        }
        for status in [
            0,
            101,
            204,
            302,
            400,
            401,
            402,
            403,
            404,
            409,
            413,
            422,
            600,
            u16::MAX,
        ] {
            assert!(!refused(status).is_retryable(), "{status}");
        }
    }

    #[test]
    fn every_status_is_named_and_is_the_providers_failure() {
        for status in 0..=1_000 {
            let error = refused(status);
            assert_eq!(error.code(), Code::ProviderFailed);
            assert!(
                error.message().ends_with(&format!(": status {status}")),
                "{error}"
            );
        }
        assert!(refused(401).hints().iter().any(|hint| hint.contains("key")));
        assert!(refused(429).hints().is_empty());
    }
}
