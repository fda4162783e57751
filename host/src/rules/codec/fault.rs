//! What went wrong, as providers say it: by status and by kind, never by text (R-35).

use serde_json::Value;

use super::draft::failed;
use super::envelope;
use crate::rules::scrub::credentials::without_credentials;
use crate::words::error::Error;
use crate::words::id::plain_word;
use crate::words::inert::one_line;
use crate::words::setback::Setback;

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
    let setback = setback(status, fault.as_ref());
    let message = format!("the model provider {what}: status {status}{kind}");
    let mut error = failed(&message).setback(setback);
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

/// What a status and the kind beside it mean for the run (R-12a). A kind that says more than the status
/// counts: a limit that is no matter of time, a prompt that is too long, a stream that is not to be had.
fn setback(status: u16, fault: Option<&Fault<'_>>) -> Setback {
    let said = fault.and_then(Fault::setback);
    match (status, said) {
        (400..=599, Some(Setback::Filtered)) => Setback::Filtered,
        (400 | 413 | 422, Some(said @ (Setback::TooLong | Setback::Unstreamed))) => said,
        (401 | 403, _) => Setback::Unauthorised,
        (408 | 429 | 500..=599, Some(Setback::Lasting | Setback::Unauthorised)) => Setback::Lasting,
        (408, _) => Setback::TooSlow,
        (429, _) => Setback::Limited,
        (500..=599, _) => Setback::Overloaded,
        _ => Setback::Lasting,
    }
}

/// What is said of a kind that is not told.
const UNTOLD: &str = " of a kind that is not told";

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
        let of_status = self.status().map(|status| setback(status, Some(self)));
        let setback = of_status.or_else(|| self.setback());
        failed(&format!(
            "the model provider reported the error{kind} in its answer"
        ))
        // What is not known may be anything, and most of that passes.
        .setback(setback.unwrap_or(Setback::Overloaded))
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

    /// The kind, as it is told: one that is no plain word may quote the key.
    fn kind(&self) -> Option<String> {
        let words = || self.parts().filter_map(Value::as_str);
        let plain = || words().filter_map(plain_word);
        // The word that decides is the one that is told.
        let told = self.setback();
        let decides = plain().find(|word| told.is_some() && setback_of_kind(word) == told);
        let word = decides.or_else(|| plain().next());
        let word = word.map(|word| format!(" `{}`", without_credentials(word)));
        let word = word.or_else(|| self.status().map(|status| format!(" {status}")));
        word.or_else(|| words().next().map(|_| UNTOLD.to_owned()))
    }

    /// What its kind says, where it is one that says something.
    fn setback(&self) -> Option<Setback> {
        if self.0.get("param").is_some_and(|param| param == "stream") {
            return Some(Setback::Unstreamed);
        }
        let kinds = self.parts().filter_map(Value::as_str);
        let said: Vec<Setback> = kinds.filter_map(setback_of_kind).collect();
        // Providers say `invalid_request_error` beside `context_length_exceeded`, and a limit beside what is no
        // matter of time: the narrower word counts, and then the worse.
        let order = [
            Setback::TooLong,
            Setback::Filtered,
            Setback::Unauthorised,
            Setback::Lasting,
            Setback::Limited,
        ];
        let first = order.into_iter().find(|one| said.contains(one));
        first.or(said.first().copied())
    }

    /// Its text, which is not cut before somebody has looked for secrets in it.
    fn text(&self) -> Option<String> {
        let text = self.0.as_str().or_else(|| self.0.get("message")?.as_str());
        text.map(|text| one_line(&without_credentials(text)))
    }
}

/// What a kind of error says. Of some the same request would meet the same again; one that is not in the list
/// says nothing.
fn setback_of_kind(kind: &str) -> Option<Setback> {
    let setback = match kind {
        "rate_limit_error" | "rate_limit_exceeded" | "too_many_requests" | "RESOURCE_EXHAUSTED" => {
            Setback::Limited
        }
        "overloaded_error" | "server_error" | "api_error" | "UNAVAILABLE" | "INTERNAL" => {
            Setback::Overloaded
        }
        "timeout_error" | "DEADLINE_EXCEEDED" => Setback::TooSlow,
        "context_length_exceeded" | "exceed_context_size_error" => Setback::TooLong,
        "content_filter" | "bio_policy" | "misalignment_policy_violation" => Setback::Filtered,
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED" => Setback::Unauthorised,
        "invalid_request_error"
        | "not_found_error"
        | "not_supported_error"
        | "request_too_large"
        | "billing_error"
        | "insufficient_quota"
        | "billing_hard_limit_reached"
        | "invalid_prompt"
        | "model_not_found"
        | "BadRequestError"
        | "NotFoundError"
        | "INVALID_ARGUMENT"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE"
        | "NOT_FOUND"
        | "UNIMPLEMENTED" => Setback::Lasting,
        _ => return None,
    };
    Some(setback)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    /// Wherever a secret stands in it: what is cut would be half of one.
    #[test]
    fn a_kind_that_is_no_plain_word_is_not_told() {
        let untold = "status 401 of a kind that is not told";
        for before in [0, 30, 100, 115, 200] {
            let kind = format!("{} canary-7f3a9c-wired", "x".repeat(before));
            let body = json!({"error": {"type": kind, "message": kind}});
            check(401, &body.to_string(), untold, false);
            let mixed = json!({"error": {"type": kind, "code": "invalid_api_key"}});
            check(
                401,
                &mixed.to_string(),
                "status 401 `invalid_api_key`",
                false,
            );
        }
        let long = json!({"error": {"type": "canary".repeat(10)}});
        check(401, &long.to_string(), untold, false);
        let numbered = json!({"error": {"type": "canary key", "code": 401}});
        check(401, &numbered.to_string(), "status 401 401", false);
    }

    #[test]
    fn the_kind_in_the_body_counts_and_its_text_does_not() {
        let openai =
            r#"{"error":{"message":"canary","type":"tokens","code":"insufficient_quota"}}"#;
        check(429, openai, "status 429 `insufficient_quota`", false);
        let long = r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded"}}"#;
        check(400, long, "status 400 `context_length_exceeded`", false);
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
