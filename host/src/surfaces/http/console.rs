//! The console: a page and its parts, from this program alone, that may speak to this server and to nobody else.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response as Answer;

use super::answer::Answered;
use super::body::Named;
use crate::words::error::Error;
use crate::words::id::{Digest, shown};

const PAGE: &[u8] = include_bytes!("console/index.html");
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What the page is made of, by name.
const PARTS: [(&str, &str, &[u8]); 10] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_bytes!("console/style.css"),
    ),
    ("app.js", SCRIPT, include_bytes!("console/app.js")),
    ("api.js", SCRIPT, include_bytes!("console/api.js")),
    ("dom.js", SCRIPT, include_bytes!("console/dom.js")),
    (
        "questions.js",
        SCRIPT,
        include_bytes!("console/questions.js"),
    ),
    ("run.js", SCRIPT, include_bytes!("console/run.js")),
    ("runs.js", SCRIPT, include_bytes!("console/runs.js")),
    ("scripts.js", SCRIPT, include_bytes!("console/scripts.js")),
    ("timeline.js", SCRIPT, include_bytes!("console/timeline.js")),
    ("tools.js", SCRIPT, include_bytes!("console/tools.js")),
];

/// What the page may do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /`.
pub(super) async fn page(headers: HeaderMap) -> Answer {
    file(&headers, "text/html; charset=utf-8", PAGE)
}

/// `GET /console/{part}`.
///
/// # Errors
/// `NotFound`.
pub(super) async fn part(headers: HeaderMap, Named(name): Named) -> Answered {
    let part = PARTS.iter().find(|(known, _, _)| *known == name);
    let Some((_, kind, bytes)) = part else {
        return Err(Error::not_found(format!("part of the console `{}`", shown(&name))).into());
    };
    Ok(file(&headers, kind, bytes))
}

fn file(asked: &HeaderMap, kind: &'static str, bytes: &'static [u8]) -> Answer {
    let tag = format!("\"{}\"", Digest::of(bytes).short());
    let known = asked.get(IF_NONE_MATCH).map(HeaderValue::as_bytes);
    let is_known = known == Some(tag.as_bytes());
    let mut answer = Answer::new(match is_known {
        true => Body::empty(),
        false => Body::from(bytes),
    });
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let said: [(HeaderName, &'static str); 7] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    let headers = answer.headers_mut();
    for (name, value) in said {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use crate::words::id::is_hidden;
    use crate::words::inert::is_combining;
    use crate::words::limits::COMBINING_MARKS;

    const DOM: &str = include_str!("console/dom.js");

    /// The characters of a class that stands in a line of its own.
    fn class(name: &str) -> Vec<RangeInclusive<u32>> {
        let head = format!("const {name} = /[");
        let line = DOM.lines().find_map(|line| line.strip_prefix(&head));
        let class = line.and_then(|line| line.strip_suffix("]/u;")).unwrap();
        let (mut ranges, mut first) = (Vec::new(), None);
        for part in class.split("\\u{").skip(1) {
            let (code, rest) = part.split_once('}').unwrap();
            let code = u32::from_str_radix(code, 16).unwrap();
            if rest == "-" {
                first = Some(code);
            } else {
                assert_eq!(rest, "", "{name}: {part}");
                ranges.push(first.take().unwrap_or(code)..=code);
            }
        }
        ranges
    }

    /// A question that is shown in a browser hides no more than one at the terminal.
    #[test]
    fn the_page_shows_every_character_that_the_host_shows() {
        let (hidden, combining) = (class("HIDDEN"), class("COMBINING"));
        let has = |ranges: &[RangeInclusive<u32>], c: char| {
            ranges.iter().any(|range| range.contains(&u32::from(c)))
        };
        for c in '\0'..=char::MAX {
            let hides = is_hidden(c) && !matches!(c, '\n' | '\t');
            assert_eq!(has(&hidden, c), hides, "{:x}", u32::from(c));
            assert_eq!(has(&combining, c), is_combining(c), "{:x}", u32::from(c));
        }
        assert!(DOM.contains(&format!("\nconst MARKS = {COMBINING_MARKS};\n")));
    }
}
