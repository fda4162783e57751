//! What went wrong, as providers say it: by status and by kind, never by text (R-35).

use serde_json::Value;

use super::draft::failed;
use super::envelope;
use crate::words::error::Error;
use crate::words::id::shown;

/// What a failed HTTP answer of a provider means, from its status and the kind of error in its body.
///
/// 408, 429 and 5xx may be retried (R-12a), unless the kind says that it will stay so; everything
/// else, redirects and empty successes included, stays as it is until somebody changes the
/// configuration.
#[must_use]
pub fn refused(status: u16, body: &[u8]) -> Error {
    let (what, hint) = meaning(status);
    let fault = envelope::read::<Value>(&String::from_utf8_lossy(body)).ok();
    let fault = fault.as_ref().and_then(Fault::find);
    let kind = fault.as_ref().and_then(Fault::kind).unwrap_or_default();
    let lasts = fault.as_ref().is_some_and(Fault::lasts);
    let message = format!("the model provider {what}: status {status}{kind}");
    let mut error = failed(&message).retry(may_pass(status) && !lasts);
    if let Some(text) = fault.and_then(|fault| fault.text()) {
        error = error.because(anyhow::Error::msg(text));
    }
    if hint.is_empty() {
        error
    } else {
        error.hint(hint)
    }
}

fn meaning(status: u16) -> (&'static str, &'static str) {
    match status {
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
    }
}

/// Whether a status says that the same request may succeed later.
fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// An error as a provider writes it: an object with words and numbers that say its kind, or a text.
#[derive(Debug)]
pub(super) struct Fault<'a>(&'a Value);

impl<'a> Fault<'a> {
    /// The error in an answer that is one: under `error`, or the answer itself where it calls
    /// itself one. A list has it in its first item.
    pub(super) fn find(answer: &'a Value) -> Option<Self> {
        let answer = answer.get(0).unwrap_or(answer);
        let calls_itself = |key| answer.get(key).is_some_and(|kind| kind == "error");
        match answer.get("error") {
            Some(Value::Null) | None => {
                (calls_itself("object") || calls_itself("type")).then_some(Self(answer))
            }
            Some(error) => Some(Self(error)),
        }
    }

    /// An object that is known to be one.
    pub(super) fn of(error: &'a Value) -> Self {
        Self(error)
    }

    /// The error within an answer. Its text is for the developer's log only.
    pub(super) fn error(&self) -> Error {
        let kind = self.kind().unwrap_or_default();
        let retryable = self.status().map_or_else(|| !self.lasts(), may_pass);
        failed(&format!(
            "the model provider reported the error{kind} in its answer"
        ))
        .retry(retryable)
        .because(anyhow::Error::msg(self.text().unwrap_or_default()))
    }

    fn parts(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let error = self.0;
        ["type", "status", "code"]
            .into_iter()
            .filter_map(move |key| error.get(key))
            .filter(|part| *part != "error")
    }

    fn status(&self) -> Option<u16> {
        let number = |part: &Value| part.as_u64().or_else(|| part.as_str()?.parse().ok());
        let status = self.parts().filter_map(number);
        let mut status = status.filter(|status| (100..600).contains(status));
        status.next().and_then(|status| u16::try_from(status).ok())
    }

    /// The kind, as it is told.
    fn kind(&self) -> Option<String> {
        let word = self.parts().find_map(Value::as_str);
        let word = word.map(|word| format!(" `{}`", shown(word)));
        word.or_else(|| self.status().map(|status| format!(" {status}")))
    }

    fn lasts(&self) -> bool {
        self.parts().filter_map(Value::as_str).any(is_lasting)
    }

    fn text(&self) -> Option<String> {
        let text = self.0.as_str().or_else(|| self.0.get("message")?.as_str());
        text.map(shown)
    }
}

/// Kinds of errors that the same request would meet again.
fn is_lasting(kind: &str) -> bool {
    matches!(
        kind,
        "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "not_supported_error"
            | "request_too_large"
            | "billing_error"
            | "insufficient_quota"
            | "billing_hard_limit_reached"
            | "invalid_api_key"
            | "invalid_prompt"
            | "model_not_found"
            | "context_length_exceeded"
            | "exceed_context_size_error"
            | "content_filter"
            | "bio_policy"
            | "misalignment_policy_violation"
            | "BadRequestError"
            | "NotFoundError"
            | "INVALID_ARGUMENT"
            | "FAILED_PRECONDITION"
            | "OUT_OF_RANGE"
            | "UNAUTHENTICATED"
            | "PERMISSION_DENIED"
            | "NOT_FOUND"
            | "UNIMPLEMENTED"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::error::Code;

    #[test]
    fn statuses_are_classified() {
        for status in [408, 429, 500, 502, 503, 504, 529, 599] {
            assert!(refused(status, b"").is_retryable(), "{status}");
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
            assert!(!refused(status, b"").is_retryable(), "{status}");
        }
    }

    #[test]
    fn every_status_is_named_and_is_the_providers_failure() {
        for status in 0..=1_000 {
            let error = refused(status, b"<html>");
            assert_eq!(error.code(), Code::ProviderFailed);
            assert!(
                error.message().ends_with(&format!(": status {status}")),
                "{error}"
            );
        }
        let hints = |status| refused(status, b"").hints().concat();
        assert!(hints(401).contains("key"));
        assert!(hints(429).is_empty());
    }

    #[track_caller]
    fn check(status: u16, body: &str, told: &str, retryable: bool) {
        let error = refused(status, body.as_bytes());
        assert!(error.message().ends_with(told), "{error}");
        assert_eq!(error.is_retryable(), retryable, "{error}");
        let shown = format!("{error} {error:?} {:?}", error.hints());
        assert!(!shown.contains("canary"), "{shown}");
    }

    #[test]
    fn the_kind_in_the_body_counts_and_its_text_does_not() {
        let openai =
            r#"{"error":{"message":"canary","type":"tokens","code":"insufficient_quota"}}"#;
        check(429, openai, "status 429 `tokens`", false);
        let busy = r#"{"type":"error","error":{"type":"overloaded_error","message":"canary"}}"#;
        check(529, busy, "status 529 `overloaded_error`", true);
        let google = r#"[{"error":{"code":429,"message":"canary","status":"RESOURCE_EXHAUSTED"}}]"#;
        check(429, google, "status 429 `RESOURCE_EXHAUSTED`", true);
        let key = r#"{"error":{"code":400,"message":"canary","status":"INVALID_ARGUMENT"}}"#;
        check(400, key, "status 400 `INVALID_ARGUMENT`", false);
        check(
            404,
            r#"{"error":"model canary not found"}"#,
            "status 404",
            false,
        );
        check(500, r#"{"error":"insufficient_quota"}"#, "status 500", true);
        check(
            500,
            r#"{"type":"error","message":"canary"}"#,
            "status 500",
            true,
        );
        for junk in ["7", "[]", "null", "{", "{\"error\":[[1]]}", "\u{0}"] {
            check(503, junk, "status 503", true);
        }
    }
}
