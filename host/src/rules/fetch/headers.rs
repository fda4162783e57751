//! Headers of a request: which of them a wisher may set, and which say nothing but what is asked for.

use crate::rules::secret::names_secret;
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::FETCH_HEADER_BYTES;

/// Headers that belong to the connection, not to the wisher.
const RESERVED: [&str; 13] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "trailer",
    "proxy-authorization",
    "proxy-connection",
    "proxy-authenticate",
    "expect",
    "accept-encoding",
];

/// Headers, and beginnings of such, that servers take for the method, the host or the path of a request in place of those
/// that it has, which are what was judged.
const STAND_INS: [&str; 13] = [
    "forwarded",
    "method-override",
    "x-envoy-original",
    "x-forwarded",
    "x-host",
    "x-http-host",
    "x-http-method",
    "x-http-methodoverride",
    "x-http-path",
    "x-method",
    "x-original",
    "x-override",
    "x-rewrite",
];

/// Forms of content that a request may ask for, or name its own by, without saying anything else.
const FORMS: [&str; 28] = [
    "*/*",
    "application/*",
    "application/atom+xml",
    "application/json",
    "application/ld+json",
    "application/octet-stream",
    "application/pdf",
    "application/rss+xml",
    "application/vnd.api+json",
    "application/vnd.github+json",
    "application/x-ndjson",
    "application/xhtml+xml",
    "application/xml",
    "image/*",
    "image/apng",
    "image/avif",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/svg+xml",
    "image/webp",
    "text/*",
    "text/csv",
    "text/event-stream",
    "text/html",
    "text/markdown",
    "text/plain",
    "text/xml",
];

/// Most bytes of a list of them: blanks and repetitions could say something too.
const FORMS_BYTES: usize = 128;

/// Most bytes of the programs that ask.
const PROGRAMS_BYTES: usize = 64;

/// Refuses headers that are none, too many, or not the wisher's to set.
///
/// # Errors
/// `BadInput`; `TooBig` past the limit.
pub(in crate::rules) fn check_headers(headers: &[(String, String)]) -> Result<()> {
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if bytes > FETCH_HEADER_BYTES {
        return Err(Error::too_big(
            "the headers of the request",
            FETCH_HEADER_BYTES,
            bytes,
        ));
    }
    for (name, value) in headers {
        check_header(name, value)?;
    }
    Ok(())
}

fn check_header(name: &str, value: &str) -> Result<()> {
    let token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(Error::bad_input(format!(
            "`{}` is no header's name",
            shown(name)
        )));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Error::bad_input(format!(
            "the header `{name}` has control characters"
        )));
    }
    let folded = folded(name);
    if RESERVED.contains(&folded.as_str()) {
        return Err(Error::bad_input(format!(
            "the header `{name}` is set by the host alone"
        )));
    }
    if stands_in(&folded) {
        return Err(Error::bad_input(format!(
            "the header `{name}` stands in for the method, host or path of the request, which are what is judged: send the \
             method and the URL that are meant, and leave it out"
        )));
    }
    Ok(())
}

/// A header's name as servers read it that make a variable of it: those know one sign between words, and no capitals.
pub(in crate::rules) fn folded(name: &str) -> String {
    let fold = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    name.chars().map(fold).collect()
}

fn stands_in(folded: &str) -> bool {
    STAND_INS.iter().any(|name| {
        let rest = folded.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

/// Whether one of them may say anything: all but those that say which form of content is wanted or which program asks, as
/// libraries do for every request, and those whose value a secret's marker has a part in, which the host fills in, or refuses where anything else stands beside it. What is said
/// twice may say something by its number.
pub(super) fn carry(headers: &[(String, String)]) -> bool {
    let says = |(at, (name, value)): (usize, &(String, String))| {
        let mut before = headers.iter().take(at);
        let says_plainly = match name.to_ascii_lowercase().as_str() {
            "accept" | "content-type" => names_forms(value),
            "user-agent" => names_programs(value),
            _ => false,
        };
        before.any(|(other, _)| other.eq_ignore_ascii_case(name))
            || !(says_plainly || names_secret(value))
    };
    headers.iter().enumerate().any(says)
}

/// Whether a value is a list of forms, each with its weight.
fn names_forms(value: &str) -> bool {
    let is_form = |part: &str| {
        let (form, weight) = part.split_once(';').unwrap_or((part, "q=1"));
        FORMS.contains(&form.trim()) && is_weight(weight.trim())
    };
    value.len() <= FORMS_BYTES && value.split(',').all(is_form)
}

/// Whether a value is a short list of programs, each with its version, such as `curl/8.5.0`. What else could be said so is no
/// more than the address may say, which nobody looks at either.
fn names_programs(value: &str) -> bool {
    let is_word = |word: &str| {
        let sign = |c: u8| c.is_ascii_alphanumeric() || b"._-+".contains(&c);
        !word.is_empty() && word.bytes().all(sign)
    };
    let is_program = |part: &str| {
        let parts = part.split_once('/');
        parts.is_some_and(|(name, version)| is_word(name) && is_word(version))
    };
    value.len() <= PROGRAMS_BYTES && value.split(' ').all(is_program)
}

/// Whether this is a weight of one digit, such as `q=0.8`.
fn is_weight(text: &str) -> bool {
    match text.strip_prefix("q=") {
        Some("0" | "1" | "1.0") => true,
        Some(weight) => weight.strip_prefix("0.").is_some_and(|digit| {
            digit.len() == 1 && digit.starts_with(|c: char| c.is_ascii_digit())
        }),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        all.iter().map(own).collect()
    }

    /// What a server would take for another method, host or path than those that were judged.
    #[test]
    fn nothing_stands_in_for_what_is_judged() {
        for name in [
            "X-HTTP-Method-Override",
            "x_http_method_override",
            "X.Http.Method",
            "x-http-methodoverride",
            "X-Method-Override",
            "x-original-url",
            "X_Original_URI",
            "X-Rewrite-URL",
            "X-Forwarded-Host",
            "x-forwarded-prefix",
            "X-Forwarded-Path",
            "x-envoy-original-path",
            "Forwarded",
            "X-Host",
        ] {
            let error = check_headers(&headers(&[(name, "DELETE")])).unwrap_err();
            let message = error.message();
            assert!(
                message.contains("stands in for the method"),
                "{name}: {message}"
            );
            assert!(message.contains("send the method and the URL"), "{message}");
        }
        for name in ["accept_encoding", "Content_Length", "transfer.encoding"] {
            let error = check_headers(&headers(&[(name, "1")])).unwrap_err();
            assert!(
                error.message().contains("is set by the host alone"),
                "{name}"
            );
        }
        for name in [
            "x-api-version",
            "x-hosting-key",
            "x-methods",
            "x-originality",
            "accept",
        ] {
            assert!(check_headers(&headers(&[(name, "3")])).is_ok(), "{name}");
        }
    }

    /// What the bundled tools send, what a browser asks for, and a secret, of which the wisher says nothing but its name.
    #[test]
    fn which_form_is_wanted_says_nothing() {
        let web = "text/html, application/xhtml+xml, text/*;q=0.8, application/json;q=0.5";
        assert!(!carry(&[]));
        for plain in [
            &[("accept", web)][..],
            &[
                ("Accept", "application/json"),
                ("content-type", "application/json"),
            ],
            &[("accept", "*/*; q=0.1,text/csv;q=1.0")],
            &[("User-Agent", "weather/1.0 python-requests/2.32.3")],
            &[
                ("authorization", "Bearer {{secret:github}}"),
                ("accept", "*/*"),
            ],
        ] {
            assert!(!carry(&headers(plain)), "{plain:?}");
        }
    }

    #[test]
    fn every_other_header_may_say_anything() {
        let long = vec!["*/*"; 64].join(",");
        let programs = format!("weather/{}", "5".repeat(PROGRAMS_BYTES));
        for said in [
            &[("x-note", "salaries of all")][..],
            &[("x-api-version", "3")],
            &[("user-agent", "ann earns 5")],
            &[("user-agent", "weather/1.0 (ann earns 5)")],
            &[("user-agent", &programs)],
            &[("if-none-match", "\"ann earns 5\"")],
            &[("accept", "text/ann-earns-5")],
            &[("accept", "text/plain;ann=5")],
            &[("accept", "text/plain;q=0.271")],
            &[("accept", "text/plain;q=0.5;ann=5")],
            &[("accept", &long)],
            &[("accept", "*/*"), ("Accept", "*/*")],
            &[("x-a", "{{secret:a}}"), ("x-a", "{{secret:a}}")],
            &[("x-key", "{{secret"), ("accept", "*/*")],
        ] {
            assert!(carry(&headers(said)), "{said:?}");
        }
    }
}
