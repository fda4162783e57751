//! What stands in ordinary text, requests and answers, and is nobody's secret: redacted, it would be missing there.

use url::Url;

use crate::words::limits::SECRET_CHARS_MIN;

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
/// Those of them with which somebody shows who they are: what stands behind one may be a secret.
const CREDENTIALS: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
];
/// Names of headers that are shorter than that.
const SHORT_HEADERS: [&str; 13] = [
    "accept", "age", "allow", "date", "etag", "expires", "host", "location", "origin", "pragma",
    "referer", "server", "vary",
];
/// How the first line of a request begins.
const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];
/// This machine, as programs call it.
const HERE: [&str; 5] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "::1"];
/// Folders that every system has.
const FOLDERS: [&str; 14] = [
    "/bin/", "/boot/", "/dev/", "/etc/", "/home/", "/lib/", "/opt/", "/proc/", "/root/", "/sbin/",
    "/sys/", "/tmp/", "/usr/", "/var/",
];
/// Parameters of a MIME type that say nothing of their own.
const PARAMETERS: [&str; 4] = ["charset", "format", "q", "version"];
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
    } else if is_header(value) {
        Some("a header")
    } else if is_first_line(value) {
        Some("the first line of a request or an answer")
    } else if is_here(value) {
        Some("the address of this machine")
    } else if is_system_path(value) {
        Some("a path of the system")
    } else if value.split(',').all(|one| is_mime(one.trim())) {
        Some("a MIME type")
    } else if is_file(value) {
        Some("the name of a file")
    } else if is_of_words(value) {
        Some("made of words")
    } else if is_program(value) {
        Some("the name of a program with its version")
    } else if MARKS.contains(&value) {
        Some("what stands in place of a secret")
    } else if is_date(value) {
        Some("a date")
    } else if is_site(value) {
        Some("the address of a site")
    } else {
        None
    }
}

/// A header and its value, which is nobody's secret.
fn is_header(value: &str) -> bool {
    let (name, _) = value.split_once(": ").unwrap_or_default();
    let known = HEADERS.contains(&name) || SHORT_HEADERS.contains(&name);
    known && !CREDENTIALS.contains(&name)
}

/// As `GET /docs/ HTTP/1.1` and `HTTP/1.1 200 OK`. A path may be a secret, but not of letters alone.
fn is_first_line(value: &str) -> bool {
    if value.starts_with("http/1.") {
        return value.contains(' ');
    }
    let (method, rest) = value.split_once(' ').unwrap_or_default();
    let path = rest.rsplit_once(" http/").map_or(rest, |(path, _)| path);
    let plain = |c: char| c.is_ascii_alphabetic() || "/-_.*".contains(c);
    METHODS.contains(&method) && path.starts_with(['/', '*']) && path.chars().all(plain)
}

/// What this host and others write where they have taken something out.
const MARKS: [&str; 2] = ["[redacted]", "<redacted>"];

/// As a date in words has them, whole or cut.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// With a port or without.
fn is_here(value: &str) -> bool {
    HERE.iter().any(|here| {
        let rest = value.strip_prefix(here);
        let port = rest.and_then(|rest| rest.strip_prefix(':'));
        rest == Some("") || port.is_some_and(|port| port.chars().all(|c| c.is_ascii_digit()))
    })
}

fn is_system_path(value: &str) -> bool {
    let named = |c: char| c.is_ascii_alphanumeric() || "/+-_.".contains(c);
    FOLDERS.iter().any(|folder| value.starts_with(folder)) && value.chars().all(named)
}

/// With parameters that say nothing of their own.
fn is_mime(value: &str) -> bool {
    let mut parts = value.split(';');
    let (sort, name) = parts
        .next()
        .and_then(|kind| kind.split_once('/'))
        .unwrap_or_default();
    let named = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_said = |part: &str| {
        let (key, _) = part.trim().split_once('=').unwrap_or_default();
        PARAMETERS.contains(&key)
    };
    MIME.contains(&sort)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(named)
        && parts.all(is_said)
}

/// Of letters alone before its end, as no key is.
fn is_file(value: &str) -> bool {
    let (name, end) = value.rsplit_once('.').unwrap_or_default();
    let named = |c: char| c.is_ascii_alphabetic() || "-_.".contains(c);
    FILES.contains(&end) && name.chars().all(named)
}

/// As `files.read` or `Hello, world!`: words with one sign between them, together as short as one word that is refused.
fn is_of_words(value: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let words = value.trim_end_matches(['.', '!', '?']).replace(", ", " ");
    value.len() < 2 * SECRET_CHARS_MIN && words.split(['.', '/', ':', ' ']).all(is_word)
}

/// As `Mozilla/5.0`.
fn is_program(value: &str) -> bool {
    let (name, version) = value.split_once('/').unwrap_or_default();
    let named = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || "-_.".contains(c));
    let is_number =
        |one: &str| (1..=3).contains(&one.len()) && one.chars().all(|c| c.is_ascii_digit());
    named && version.split('.').all(is_number)
}

/// As `2026-11-23`, alone or with a time, and as `Nov 23 2026`.
fn is_date(value: &str) -> bool {
    let is_part = |part: &str| match part.chars().all(|c| c.is_ascii_digit()) {
        true => part.len() <= 4,
        false => MONTHS
            .iter()
            .any(|month| month.starts_with(part) && part.len() >= 3),
    };
    let in_words = value.chars().any(|c| c.is_ascii_alphabetic());
    if in_words && value.split([' ', ',', '.', '-', '/']).all(is_part) {
        return true;
    }
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
