//! What stands in ordinary text, requests and answers, and is nobody's secret: redacted, it would be missing there.

use url::Url;

/// Names of headers that are as long as a secret. Most requests and answers have some of them.
const HEADERS: [&str; 28] = [
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "access-control-allow-origin",
    "authorization",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-security-policy",
    "content-type",
    "if-modified-since",
    "if-none-match",
    "last-modified",
    "proxy-authorization",
    "retry-after",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "user-agent",
    "www-authenticate",
    "x-api-key",
    "x-requested-with",
];
/// What the name of a MIME type begins with.
const MIME: [&str; 9] = [
    "application",
    "audio",
    "font",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];
/// How names of files end.
const FILES: [&str; 20] = [
    "css", "csv", "env", "html", "ini", "js", "json", "lock", "log", "md", "pdf", "png", "py",
    "rs", "sh", "toml", "ts", "txt", "xml", "yaml",
];

/// What a value is, in words, where it is something ordinary; in lower case.
pub(super) fn ordinary(value: &str) -> Option<&'static str> {
    if HEADERS.contains(&value) {
        Some("the name of a header")
    } else if is_mime(value) {
        Some("a MIME type")
    } else if is_file(value) {
        Some("the name of a file")
    } else if is_date(value) {
        Some("a date")
    } else if is_site(value) {
        Some("the address of a site")
    } else {
        None
    }
}

fn is_mime(value: &str) -> bool {
    let (sort, name) = value.split_once('/').unwrap_or_default();
    let named = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    MIME.contains(&sort)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(named)
}

/// Of letters alone before its end, as no key is.
fn is_file(value: &str) -> bool {
    let (name, end) = value.rsplit_once('.').unwrap_or_default();
    let named = |c: char| c.is_ascii_alphabetic() || "-_.".contains(c);
    FILES.contains(&end) && name.chars().all(named)
}

/// As `2026-11-23`, alone or with a time.
fn is_date(value: &str) -> bool {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let shape: String = value.chars().map(shape).collect();
    let rest = shape.strip_prefix("0000-00-00");
    rest.is_some_and(|rest| rest.chars().all(|c| "0:.+-tz ".contains(c)))
}

/// A URL of a host and nothing more: what is secret of one stands in its path, its query, or before its host.
fn is_site(value: &str) -> bool {
    Url::parse(value).is_ok_and(|url| {
        let alone = url.query().is_none() && url.fragment().is_none() && url.path() == "/";
        url.has_host() && alone && url.username().is_empty() && url.password().is_none()
    })
}
