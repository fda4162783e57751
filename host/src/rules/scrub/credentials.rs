//! Credentials in the words of a server or of the network: what stands in an error's text before
//! anybody reads it (R-12f).
//!
//! A server that refuses a request may quote it, and nobody knows whose key stands in what it quotes. So this
//! goes by form alone and not by what is known: who a URL names before its host, the values of queries that
//! are called like keys, what follows `Bearer` and `Basic`, and tokens that begin as providers' keys do.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::REDACTED;

/// Each with what comes before the credential in its first group, and what follows in its second.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        r"([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@?#]+(@)",
        r"(?i)([?&;](?:[a-z_-]*(?:key|token|secret|password|signature)|sig|auth|code)=)[^&\s\x22'#;]+()",
        r"(?i)(\b(?:bearer|basic)[\s:]+)[A-Za-z0-9._~+/=-]+()",
        r"()\b(?:sk|pk|rk|gsk|xai|pplx|hf|r8|ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_][A-Za-z0-9_-]{8,}()",
        r"()\b(?:AIza[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{12,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+)()",
    ];
    forms
        .iter()
        .filter_map(|form| Regex::new(form).ok())
        .collect()
});

/// The text without what has the form of a credential.
#[must_use]
pub fn without_credentials(text: &str) -> String {
    let mut clean = Cow::Borrowed(text);
    for form in FORMS.iter() {
        let put = format!("${{1}}{REDACTED}${{2}}");
        if let Cow::Owned(other) = form.replace_all(&clean, put) {
            clean = Cow::Owned(other);
        }
    }
    clean.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, clean: &str) {
        assert_eq!(without_credentials(text), clean);
    }

    #[test]
    fn credentials_go_by_their_form() {
        assert_eq!(FORMS.len(), 5);
        check(
            "no route to https://ann:canary@api.test/v1?a=1",
            "no route to https://[REDACTED]@api.test/v1?a=1",
        );
        check(
            "GET /v1?api_key=canary&model=m&Access_Token=canary",
            "GET /v1?api_key=[REDACTED]&model=m&Access_Token=[REDACTED]",
        );
        check(
            "you sent Bearer canary.x-y, and authorization: basic Y2FuYXJ5Cg==",
            "you sent Bearer [REDACTED], and authorization: basic [REDACTED]",
        );
        check("wrong key sk-ant-api03-canary_1", "wrong key [REDACTED]");
        check("key AIzaSyCanaryCanaryCanary0", "key [REDACTED]");
    }

    #[test]
    fn other_words_stay() {
        for text in [
            "",
            "the model provider wants fewer requests: status 429 `rate_limit_error`",
            "task-list-of-today and risk_management_plan",
            "https://api.test/v1/models?page=2",
            "mail ann@api.test",
        ] {
            check(text, text);
        }
    }
}
