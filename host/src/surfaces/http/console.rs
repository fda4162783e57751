//! The console: a page and its two files, from this program alone, that may speak to this server and to nobody else.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response as Answer;

use crate::words::id::Digest;

const PAGE: &[u8] = include_bytes!("console/index.html");
const PROGRAM: &[u8] = include_bytes!("console/app.js");
const STYLE: &[u8] = include_bytes!("console/style.css");

/// What the page may do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /`.
pub(super) async fn page(headers: HeaderMap) -> Answer {
    file(&headers, "text/html; charset=utf-8", PAGE)
}

/// `GET /console/app.js`.
pub(super) async fn program(headers: HeaderMap) -> Answer {
    file(&headers, "text/javascript; charset=utf-8", PROGRAM)
}

/// `GET /console/style.css`.
pub(super) async fn style(headers: HeaderMap) -> Answer {
    file(&headers, "text/css; charset=utf-8", STYLE)
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
