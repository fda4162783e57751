//! What a guest has said at its end: an outcome that fits its own schema, or why there is none.

use serde_json::Value;

use super::super::bindings::exports::lazaret::plugin::tool::Failure;
use super::super::catalog::Tool;
use super::super::heard::Refused;
use super::super::station::Station;
use crate::rules::json;
use crate::rules::sanitise::visible;
use crate::rules::scrub::Scrub;
use crate::words::error::{Code, Error, Issue, Result};
use crate::words::id::shown;
use crate::words::length::{cut, only_counted};
use crate::words::limits::failures::{
    FAILURE_BYTES, FAILURE_CHARS, FAILURE_DETAILS_BYTES, FAILURE_ISSUES,
};

/// Reads what a guest returned: JSON of bounded size that fits the tool's own schema.
pub(super) fn read_outcome(
    (station, tool): (&Station, &Tool),
    said: Result<String, Failure>,
    refused: Option<Refused>,
) -> Result<Value> {
    let text = said.map_err(|failure| gave_up(station, &failure, refused))?;
    station.gate.policy().bounds.check_outcome(text.len())?;
    let value = json::parse(&text).map_err(|why| {
        Error::new(
            Code::NotJson,
            format!("the tool returned no JSON: {}", shown(&why)),
        )
    })?;
    let issues = tool.output()?.issues(&value);
    if issues.is_empty() {
        return Ok(value);
    }
    Err(Error::new(
        Code::BadOutcome,
        "the tool's outcome does not fit its own output schema",
    )
    .issues(issues))
}

/// A guest that gives up after a refusal failed for the reason of that refusal; one that gives up by itself has failed,
/// for one of the reasons that a tool may name (row A-26a).
fn gave_up(station: &Station, failure: &Failure, refused: Option<Refused>) -> Error {
    let (named, issues) = details(&failure.details);
    let own = (named.unwrap_or(Code::GuestFailed), Vec::new());
    let (code, hints) = refused.map_or(own, |refused| (refused.code, refused.hints));
    let scrub = &station.scrub;
    let issues = issues.into_iter().map(|issue| Issue {
        path: shortened(scrub, &issue.path),
        message: shortened(scrub, &issue.message),
    });
    let message = shortened(scrub, &failure.message);
    let error = Error::new(code, message).issues(issues.collect());
    hints
        .into_iter()
        .fold(error.retry(failure.retryable), Error::hint)
}

/// Words of whoever failed, cleaned before they are cut: half a secret is not recognised. What is too long to be cleaned is not
/// cut either, and its length is told.
fn shortened(scrub: &Scrub, words: &str) -> String {
    let bytes = words.len();
    if bytes > FAILURE_BYTES {
        return only_counted(bytes);
    }
    cut(visible(&scrub.clean(words)), FAILURE_CHARS)
}

/// What the details of a failure say that a host understands: its code, and what is wrong place by place.
fn details(text: &str) -> (Option<Code>, Vec<Issue>) {
    if text.is_empty() || text.len() > FAILURE_DETAILS_BYTES {
        return (None, Vec::new());
    }
    let Ok(said) = json::parse(text) else {
        return (None, Vec::new());
    };
    let code = said.get("code").and_then(Value::as_str).and_then(code_of);
    let issues = said.get("issues").and_then(Value::as_array);
    let issues = issues.into_iter().flatten().take(FAILURE_ISSUES);
    let issue = |issue: &Value| serde_json::from_value(issue.clone()).ok();
    (code, issues.filter_map(issue).collect())
}

/// The codes that a tool may fail with by its own word. None of them is the host's verdict about it.
fn code_of(word: &str) -> Option<Code> {
    let codes = [
        Code::BadInput,
        Code::RateLimited,
        Code::Conflict,
        Code::Unsafe,
        Code::Busy,
        Code::Unauthenticated,
        Code::FetchFailed,
    ];
    codes.into_iter().find(|code| code.envelope() == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::scrub::KnownSecrets;

    #[test]
    fn words_of_a_failure_are_cleaned_and_cut_or_only_counted() {
        let known = KnownSecrets::default();
        known.learn(b"canary-7f3a9c-wire");
        let scrub = Scrub::new(Vec::new(), known);
        let said = |bytes: usize| format!("canary-7f3a9c-wire {}", "x".repeat(bytes - 19));
        let most = shortened(&scrub, &said(FAILURE_BYTES));
        assert!(
            most.starts_with("[REDACTED] xxx") && most.ends_with("x…"),
            "{most}"
        );
        assert_eq!(most.chars().count(), FAILURE_CHARS + 1);
        let longer = shortened(&scrub, &said(FAILURE_BYTES + 1));
        let says =
            "it failed, and said so in 262145 bytes, which nobody reads: at most 262144 may be";
        assert_eq!(longer, says);
    }

    #[test]
    fn a_tool_names_one_of_a_few_reasons() {
        let code = |word: &str| details(&format!(r#"{{"code":"{word}"}}"#)).0;
        for (word, named) in [
            ("VALIDATION_ERROR", Some(Code::BadInput)),
            ("RATE_LIMITED", Some(Code::RateLimited)),
            ("CONFLICT", Some(Code::Conflict)),
            ("UNSAFE_ACTION", Some(Code::Unsafe)),
            ("CONCURRENCY_LIMIT", Some(Code::Busy)),
            ("AUTHENTICATION_ERROR", Some(Code::Unauthenticated)),
            ("EXTERNAL_SERVICE_ERROR", Some(Code::FetchFailed)),
            // Verdicts and mishaps of the host are not a tool's to claim.
            ("AUTHORIZATION_ERROR", None),
            ("CONFIRMATION_REQUIRED", None),
            ("CANCELLED", None),
            ("INTERNAL_ERROR", None),
            ("too-slow", None),
        ] {
            assert_eq!(code(word), named, "{word}");
        }
    }

    #[test]
    fn what_is_wrong_comes_place_by_place_and_nothing_else_counts() {
        let one = r#"{"issues":[{"path":"/a","message":"m"},{"path":1},"x"],"more":true}"#;
        let issue = Issue {
            path: "/a".to_owned(),
            message: "m".to_owned(),
        };
        assert_eq!(details(one), (None, vec![issue]));
        for nothing in ["", "{", "[]", "3", r#"{"code":7,"issues":{}}"#] {
            assert_eq!(details(nothing), (None, Vec::new()), "{nothing}");
        }
        let many = vec![r#"{"path":"","message":"m"}"#; 100].join(",");
        let (_, issues) = details(&format!(r#"{{"issues":[{many}]}}"#));
        assert_eq!(issues.len(), FAILURE_ISSUES);
        let long = format!(
            r#"{{"code":"CONFLICT","x":"{}"}}"#,
            "x".repeat(FAILURE_DETAILS_BYTES)
        );
        assert_eq!(details(&long).0, None);
    }
}
