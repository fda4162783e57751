//! Rule for secrets: which of them may stand where in a request.
//!
//! A wisher writes a *marker*, `{{secret:NAME}}`, where the value belongs. A policy line says of a tool
//! which secret it may place, in requests to which destination, and in which one place. What fits such
//! a line becomes a [`Fill`]; a marker that fits none denies the whole request, in one sentence for
//! all: no such secret, not this tool's, another destination. So nobody learns which secrets there are.
//! Where a line gives the tool this secret for this destination, and another place, both places are said:
//! that policy has such a line the tool would find out by its next request.
//!
//! Markers count in the URL and in headers. In a body, text is text: only where a line grants a place
//! in a JSON body, a string that is a marker counts.

mod ordinary;
mod part;
mod popular;
mod stray;

use std::fmt;
use std::ops::Range;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use self::ordinary::ordinary;
pub(super) use self::part::{CODING, PART, check_whole};
pub use self::part::{is_coded, is_part};
use self::popular::{is_soon_guessed, popular};
use self::stray::Stray;
use super::fetch::Fetch;
use super::grant::Destination;
use super::json;
use crate::words::error::{Error, Result};
use crate::words::event::Denial;
use crate::words::id::{is_name, shown};
use crate::words::limits::scrubbing::SECRET_GUESS_BITS;
use crate::words::limits::{MARKER_CHARS, SECRET_BYTES, SECRET_CHARS_MIN};

/// A policy line: one secret, one destination, one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretGrant {
    /// The secret's name in the vault.
    pub name: String,
    /// Where requests that hold it may go.
    pub to: Destination,
    /// Where in such a request it stands.
    pub place: Placement,
}

/// Where in a request a secret stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In this header, after this text.
    Header {
        /// The header's name, in lower case.
        name: String,
        /// Such as `Bearer `.
        before: String,
    },
    /// The value of this parameter of the URL's query.
    Query(String),
    /// This string of a JSON body, by its pointer.
    Json(String),
    /// The password of this user, in the header `authorization`.
    Basic(String),
}

/// A place in a request that is filled with a secret, as a judgement found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The secret's name.
    pub secret: String,
    /// Where.
    pub spot: Spot,
}

/// Where in one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The value of the header of this number, after this text.
    Header {
        /// From 0.
        at: usize,
        /// Such as `Bearer `.
        before: String,
    },
    /// The value of the header of this number, as basic authentication of this user.
    Basic {
        /// From 0.
        at: usize,
        /// The user.
        user: String,
    },
    /// These bytes of the URL's query.
    Query(Range<usize>),
    /// These bytes of the body: a JSON string with its quotation marks.
    Json(Range<usize>),
}

const OPEN: &str = "{{secret:";
const CLOSE: &str = "}}";

/// The marker of a secret.
#[must_use]
pub fn marker(name: &str) -> String {
    format!("{OPEN}{name}{CLOSE}")
}

/// Whether a secret can have this name.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    is_name(name)
}

/// What stands in the first marker of a text, whether that is a name or not.
fn marked(text: &str) -> Option<&str> {
    text.match_indices(OPEN).find_map(|(at, open)| {
        let rest = text.get(at + open.len()..)?;
        let near = rest.char_indices().take(MARKER_CHARS + 1);
        let mut ends =
            near.filter(|(at, _)| rest.get(*at..).is_some_and(|rest| rest.starts_with(CLOSE)));
        let name = rest.get(..ends.next()?.0)?;
        (!name.contains('{')).then_some(name)
    })
}

/// Whether a marker stands in a text.
pub(super) fn names_secret(text: &str) -> bool {
    marked(text).is_some()
}

/// What a request is filled with, and the lines that say so, in words.
pub(super) struct Filled {
    pub(super) fills: Vec<Fill>,
    pub(super) lines: Vec<String>,
}

/// Whose request it is, and the secrets that their manifest declares, where that is known.
pub(super) type Wisher<'a> = (&'a str, Option<&'a [String]>);

/// By which rule a secret is refused that the tool's own manifest does not declare: no line gives it one.
pub const UNDECLARED: &str = "secret_not_declared";

/// By which rule one is refused that no line gives it.
const UNGRANTED: &str = "secret_not_granted";

/// Whether a rule is about the secrets that a request has named, and its headers, which stand in no record.
#[must_use]
pub fn is_rule(rule: &str) -> bool {
    [UNDECLARED, UNGRANTED, PART, CODING].contains(&rule)
}

/// Finds the places of a request that `lines` let be filled. Denies a request with any other marker.
///
/// # Errors
/// The denial.
pub(super) fn fills(
    fetch: &Fetch,
    lines: &[SecretGrant],
    who: Wisher<'_>,
) -> Result<Filled, Denial> {
    let mut filled = Filled {
        fills: Vec::new(),
        lines: Vec::new(),
    };
    let mut fits = Vec::new();
    for line in lines {
        if line.to.matches(fetch.method(), fetch.url()) {
            fits.push(line);
        }
    }
    headers(fetch, &fits, &mut filled)
        .and_then(|()| url(fetch, &fits, &mut filled))
        .and_then(|()| body(fetch, &fits, &mut filled))
        .map_err(|stray| stray.denial(fetch, &fits, who))?;
    Ok(filled)
}

/// What is said of a secret that a request cannot have, whatever the reason.
#[must_use]
pub fn no_such_secret(name: &str) -> String {
    format!("there is no secret `{}` for this request", shown(name))
}

impl Filled {
    fn add(&mut self, line: &SecretGrant, spot: Spot) {
        self.fills.push(Fill {
            secret: line.name.clone(),
            spot,
        });
        self.lines.push(line.to_string());
    }
}

fn headers(fetch: &Fetch, lines: &[&SecretGrant], filled: &mut Filled) -> Result<(), Stray> {
    for (at, (header, value)) in fetch.headers().iter().enumerate() {
        if let Some(name) = marked(header) {
            return Err(Stray::out_of_place(name, "the name of a header"));
        }
        let Some(name) = marked(value) else { continue };
        let found = lines
            .iter()
            .find_map(|line| Some((line, in_header(line, header, value, at)?)));
        let (line, spot) = found.ok_or_else(|| Stray::in_header(name, header, value))?;
        filled.add(line, spot);
    }
    Ok(())
}

/// The marker may stand alone, or after the text that comes before the value anyway.
fn in_header(line: &SecretGrant, header: &str, value: &str, at: usize) -> Option<Spot> {
    let marker = marker(&line.name);
    let is = |name: &str, before: &str| {
        let alone = value.strip_prefix(before).unwrap_or(value);
        header.eq_ignore_ascii_case(name) && alone == marker
    };
    match &line.place {
        Placement::Header { name, before } if is(name, before) => Some(Spot::Header {
            at,
            before: before.clone(),
        }),
        Placement::Basic(user) if is("authorization", "Basic ") => Some(Spot::Basic {
            at,
            user: user.clone(),
        }),
        Placement::Header { .. }
        | Placement::Basic(_)
        | Placement::Query(_)
        | Placement::Json(_) => None,
    }
}

fn url(fetch: &Fetch, lines: &[&SecretGrant], filled: &mut Filled) -> Result<(), Stray> {
    let url = fetch.url();
    let beside = [
        ("the host", url.host_str()),
        ("the path", Some(url.path())),
        ("the fragment", url.fragment()),
    ];
    for (at, part) in beside {
        if let Some(name) = marked(&unescaped(part.unwrap_or_default())) {
            return Err(Stray::out_of_place(name, at));
        }
    }
    let query = url.query().unwrap_or_default();
    let mut at = 0;
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let begin = at + key.len() + 1;
        at += pair.len() + 1;
        let (key, text) = (unescaped(key), unescaped(value));
        if let Some(name) = marked(&key) {
            return Err(Stray::out_of_place(name, "the name of a query parameter"));
        }
        let Some(name) = marked(&text) else { continue };
        let fits = |line: &&&SecretGrant| match &line.place {
            Placement::Query(parameter) => *parameter == key && text == marker(&line.name),
            Placement::Header { .. } | Placement::Basic(_) | Placement::Json(_) => false,
        };
        let stray = || Stray::in_query(name, &key, &text);
        let line = lines.iter().find(fits).ok_or_else(stray)?;
        filled.add(line, Spot::Query(begin..begin + value.len()));
    }
    Ok(())
}

fn unescaped(part: &str) -> String {
    let text = part.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

fn body(fetch: &Fetch, lines: &[&SecretGrant], filled: &mut Filled) -> Result<(), Stray> {
    let pointer = |line: &&SecretGrant| match &line.place {
        Placement::Json(pointer) => Some(pointer.clone()),
        Placement::Header { .. } | Placement::Basic(_) | Placement::Query(_) => None,
    };
    if !lines.iter().any(|line| pointer(line).is_some()) {
        return Ok(());
    }
    let Ok(text) = std::str::from_utf8(fetch.body()) else {
        return Ok(());
    };
    let Some(first) = marked(text) else {
        return Ok(());
    };
    let Ok(value) = json::parse(text) else {
        return Ok(());
    };
    let mut strings = Vec::new();
    markers_in(&value, &mut strings);
    for line in lines {
        let Some(pointer) = pointer(line) else {
            continue;
        };
        let marker = marker(&line.name);
        let here = value.pointer(&pointer).and_then(Value::as_str);
        if here == Some(marker.as_str()) {
            let twice = || Stray::out_of_place(&line.name, "a JSON body twice, or escaped");
            let place = place_of(text, &marker, &pointer).ok_or_else(twice)?;
            filled.add(line, Spot::Json(place));
            strings.retain(|string| *string != marker);
        }
    }
    match strings.first() {
        Some(string) => {
            let name = marked(string).unwrap_or(first);
            Err(Stray::in_body(name, &value, string))
        }
        None => Ok(()),
    }
}

/// Strings and keys that are markers, wholly.
fn markers_in(value: &Value, found: &mut Vec<String>) {
    let is_marker =
        |text: &str| text.starts_with(OPEN) && text.ends_with(CLOSE) && marked(text).is_some();
    match value {
        Value::String(text) if is_marker(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| markers_in(item, found)),
        Value::Object(map) => {
            found.extend(map.keys().filter(|key| is_marker(key)).cloned());
            map.values().for_each(|item| markers_in(item, found));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where the marker stands in the body's own text. It stands there once, written plainly, and what the
/// pointer leads to is what changes when it is taken out: two readers cannot disagree on the place.
fn place_of(text: &str, marker: &str, pointer: &str) -> Option<Range<usize>> {
    let quoted = format!("\"{marker}\"");
    let mut found = text.match_indices(&quoted);
    let (at, _) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let probe = text.replacen(&quoted, "null", 1);
    let probe = json::parse(&probe).ok()?;
    (probe.pointer(pointer) == Some(&Value::Null)).then(|| at..at + quoted.len())
}

impl fmt::Display for SecretGrant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "secret {} in {} to {}",
            self.name,
            self.place,
            self.to.place()
        )
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { name, .. } => write!(out, "header `{name}`"),
            Self::Query(name) => write!(out, "query parameter `{name}`"),
            Self::Json(pointer) => write!(out, "JSON field `{pointer}`"),
            Self::Basic(user) => write!(out, "basic authentication as `{user}`"),
        }
    }
}

impl Placement {
    /// Checks what a policy line says.
    ///
    /// # Errors
    /// `BadInput` for what can be no place of a secret.
    pub fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::bad_input(why));
        match self {
            Self::Header { name, before } => {
                let name = [(name.clone(), before.clone())];
                super::fetch::check_headers(&name)
            }
            Self::Query(name) if name.is_empty() || name.chars().any(char::is_control) => {
                wrong(format!("`{}` is no name of a query parameter", shown(name)))
            }
            Self::Json(pointer) if !pointer.starts_with('/') => wrong(format!(
                "`{}` is no JSON pointer: it begins with `/`, as in `/auth/token`",
                shown(pointer)
            )),
            Self::Basic(user) if user.contains(':') || user.chars().any(char::is_control) => wrong(
                format!("`{}` is no user of basic authentication", shown(user)),
            ),
            Self::Query(_) | Self::Json(_) | Self::Basic(_) => Ok(()),
        }
    }
}

/// Different characters that a value has at least.
const DIFFERENT_MIN: usize = 4;

/// Refuses what cannot be kept secret, or whose redaction would blank ordinary text (row 67).
///
/// # Errors
/// `BadInput`, `TooBig`, with the reason and never the value.
pub fn check_value(value: &str) -> Result<()> {
    check_text(value)?;
    if is_soon_guessed(value) {
        return Err(refused(
            "it is made of common words, rows of a keyboard, dates or repetitions, which whoever guesses tries first: take one \
             that is random",
        ));
    }
    check_tries(value)
}

fn refused(why: &str) -> Error {
    Error::bad_input(format!("the secret is refused: {why}"))
}

/// The same of a value that is used already: one that is made of a common word is taken out as well as another, wherever it
/// turns up.
///
/// # Errors
/// As [`check_value`].
pub fn check_known(value: &str) -> Result<()> {
    check_text(value)?;
    check_tries(value)
}

/// Refuses what would be missing in ordinary text.
fn check_text(value: &str) -> Result<()> {
    let wrong = |why: &str| Err(refused(why));
    if value.len() > SECRET_BYTES {
        return Err(Error::too_big("the secret", SECRET_BYTES, value.len()));
    }
    let length = value.chars().count();
    if length < SECRET_CHARS_MIN {
        return wrong(&format!(
            "it has {length} characters and needs {SECRET_CHARS_MIN}"
        ));
    }
    if value.chars().any(char::is_control) {
        return wrong("it has control characters, such as a line end");
    }
    if value.trim().len() != value.len() {
        return wrong("it begins or ends with a blank");
    }
    let lower = value.to_ascii_lowercase();
    let different: std::collections::BTreeSet<char> = lower.chars().collect();
    if different.len() < DIFFERENT_MIN {
        return wrong("it has fewer than 4 different characters");
    }
    let piece = piece(&lower);
    if let Some(what) = popular(piece) {
        let repeated = if piece.len() < lower.len() {
            ", repeated"
        } else {
            ""
        };
        return wrong(&format!("it is {what}{repeated}"));
    }
    if lower.chars().all(|c| c.is_ascii_lowercase()) && length < 2 * SECRET_CHARS_MIN {
        return wrong("it is one word; redacting it would blank ordinary text");
    }
    if let Some(what) = ordinary(&lower) {
        return wrong(&format!(
            "it is {what}; redacting it would blank ordinary text: take one that is random"
        ));
    }
    Ok(())
}

/// Refuses what is found by trying all values like it. In small letters a value is taken out as well, so that large ones are
/// found out afterwards, one by one. Whoever has guessed a piece has guessed what repeats it.
fn check_tries(value: &str) -> Result<()> {
    let lower = value.to_ascii_lowercase();
    let piece = piece(&lower);
    let (alphabet, length) = guessed_from(piece);
    if is_beyond_guessing(alphabet, length) {
        return Ok(());
    }
    let needed = (1..).find(|length| is_beyond_guessing(alphabet, *length));
    let once = if piece.len() < lower.len() {
        "; what is repeated counts once"
    } else {
        ""
    };
    Err(refused(&format!(
        "it could be guessed, by trying all values like it: take one of at least {} such characters{once}",
        needed.unwrap_or(length)
    )))
}

/// The shortest piece that a value repeats from its beginning to its end: all of it where it repeats none. Put twice, a
/// value is found again where its second piece begins.
fn piece(value: &str) -> &str {
    let first = value.chars().next().map_or(0, char::len_utf8);
    let twice = value.repeat(2);
    let again = twice.get(first..).and_then(|rest| rest.find(value));
    let length = again.map_or(value.len(), |at| at + first);
    value.get(..length).unwrap_or(value)
}

/// From how many characters whoever guesses has to choose, and how often, by the sorts that the value has. What stands
/// between digits is none: people group them.
fn guessed_from(value: &str) -> (u64, u32) {
    let digits = value.chars().filter(|c| !"+-_.:/() ".contains(*c));
    let length = |chars: usize| u32::try_from(chars).unwrap_or(u32::MAX);
    for (radix, alphabet) in [(10, 10), (16, 16)] {
        if digits.clone().all(|c| c.is_digit(radix)) {
            return (alphabet, length(digits.count()));
        }
    }
    let of = |is_one: fn(char) -> bool, count: u64| match value.contains(is_one) {
        true => count,
        false => 0,
    };
    let sorts = [
        of(|c| c.is_ascii_digit(), 10),
        of(|c| c.is_ascii_alphabetic(), 26),
        of(|c| c.is_ascii() && !c.is_ascii_alphanumeric(), 33),
        // As many as a keyboard has.
        of(|c| !c.is_ascii(), 100),
    ];
    (sorts.iter().sum(), length(value.chars().count()))
}

/// Whether nobody can try all texts of so many characters of such an alphabet.
fn is_beyond_guessing(alphabet: u64, length: u32) -> bool {
    alphabet.saturating_pow(length) >= 1 << SECRET_GUESS_BITS
}

/// Which part of `lines` a tool gets that declares these secrets: a manifest only narrows.
#[must_use]
pub fn narrowed(lines: &[SecretGrant], wanted: &[String]) -> Vec<SecretGrant> {
    let wants = |line: &&SecretGrant| wanted.contains(&line.name);
    lines.iter().filter(wants).cloned().collect()
}

/// The URL with a part of its query replaced.
#[must_use]
pub fn with_query(url: &Url, place: &Range<usize>, value: &str) -> Option<Url> {
    let query = url.query()?;
    let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let filled = [query.get(..place.start)?, &value, query.get(place.end..)?].concat();
    let mut url = url.clone();
    url.set_query(Some(&filled));
    Some(url)
}

#[cfg(test)]
mod tests;
