//! Guessing: what looks like a secret that nobody registered (O-39 to O-42a).
//!
//! Two guesses: a value beside a word such as `password`, and a token that looks random. Both may be
//! wrong, so they apply only to what a model or client reads of what a guest said; what scripts and
//! other tools compute with stays as it is. Policy switches them (`[scrub]`). By default words count
//! and randomness does not: ids, digests with their algorithm, and encoded bytes look random, and an
//! answer without them is often no answer.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::{REDACTED, free};
use crate::words::limits::{
    SCRUB_DISTINCT_CHARS, SCRUB_ENTROPY_CENTIBITS, SCRUB_TOKEN_CHARS, SCRUB_TOKEN_CHARS_MAX,
};

/// Which guesses are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// A value beside a word that says it is secret.
    pub keywords: bool,
    /// A token that looks random.
    pub entropy: bool,
    /// What looks random.
    pub random: Random,
}

/// What a token has to be like to look random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// It has at least so many characters,
    pub chars: usize,
    /// at most so many,
    pub chars_max: usize,
    /// so many different ones,
    pub distinct_chars: usize,
    /// and as many hundredths of a bit for each.
    pub centibits: u32,
}

impl Default for Random {
    fn default() -> Self {
        Self {
            chars: SCRUB_TOKEN_CHARS,
            chars_max: SCRUB_TOKEN_CHARS_MAX,
            distinct_chars: SCRUB_DISTINCT_CHARS,
            centibits: SCRUB_ENTROPY_CENTIBITS,
        }
    }
}

impl Default for Guess {
    fn default() -> Self {
        Self {
            keywords: true,
            entropy: false,
            random: Random::default(),
        }
    }
}

/// Keys whose value is secret, without `_`, `-` and case.
const KEYS: [&str; 7] = [
    "apikey",
    "accesstoken",
    "refreshtoken",
    "token",
    "password",
    "bearer",
    "secret",
];

/// `"password": "…"` within a text.
static JSON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?i)("(?:api[_-]?key|access[_-]?token|refresh[_-]?token|token|password|bearer|secret)"\s*:\s*")((?:[^"\\]|\\.)+)""#;
    Regex::new(pattern).ok()
});
/// `GITHUB_TOKEN=…`, `password='…'`, `?api_key=…`.
static ENVIRONMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"((?:\b|_)(?:(?i:api[_-]?key|access[_-]?token|refresh[_-]?token)|(?:TOKEN|PASSWORD|BEARER|SECRET|token|password|bearer|secret))=)(?:"[^"\n]+"|'[^'\n]+'|[^\s"'&;,]+)"#;
    Regex::new(pattern).ok()
});
/// `Authorization: Bearer …`, `X-Api-Key: …`, `password: …` with one word alone on its line.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?im)^([ \t]*(?:[<>*] )?(?:(?:proxy-)?authorization|(?:x-)?api[_-]?key|(?:x-)?access[_-]?token|(?:x-)?refresh[_-]?token|(?:x-)?token|password|bearer|secret)[ \t]*:[ \t]*(?:(?:bearer|basic|token)[ \t]+)?)[^\s\[]\S*[ \t]*$";
    Regex::new(pattern).ok()
});
/// `Bearer …` anywhere.
static BEARER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b((?i:bearer)[ \t]+)([A-Za-z0-9._~+/-]{8,}=*)").ok());
/// An id like a UUID, with a word before it.
static ID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        r"(?i)^(?:[a-z]+[-_:/])*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
    Regex::new(pattern).ok()
});

impl Guess {
    /// Cleans a text; nothing where there is nothing to clean in it.
    #[must_use]
    pub fn clean(self, text: &str) -> Option<String> {
        let mut clean = Cow::Borrowed(text);
        if self.keywords {
            clean = without_named(clean);
        }
        if self.entropy {
            clean = without_random(clean, self.random);
        }
        match clean {
            Cow::Owned(clean) if clean != text => Some(clean),
            Cow::Owned(_) | Cow::Borrowed(_) => None,
        }
    }

    /// Cleans every string of a value, and of a key what words within it say is secret. A key that says so of its value
    /// stays.
    pub fn clean_value(self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(clean) = self.clean(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item)),
            Value::Object(map) => {
                for (key, item) in &mut *map {
                    if let Value::String(text) = item
                        && self.keywords
                        && is_secret_key(key)
                    {
                        hide(text);
                    } else {
                        self.clean_value(item);
                    }
                }
                self.clean_keys(map);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Cleans keys in which a word says that something is secret, as in `password=…`. What only looks random stays: a long
    /// name of a schema does so too (`estimated_delivery_window_by_zip_code`), and without the keys that it asks for an outcome
    /// would be none of its shape.
    fn clean_keys(self, map: &mut Map<String, Value>) {
        let words = Self {
            entropy: false,
            ..self
        };
        let dirty = map.keys();
        let dirty = dirty.filter_map(|key| Some((key.clone(), words.clean(key)?)));
        let mut numbers = 2_usize..;
        for (key, other) in dirty.collect::<Vec<_>>() {
            if let Some(item) = map.remove(&key) {
                map.insert(free(map, other, &mut numbers), item);
            }
        }
    }
}

fn hide(text: &mut String) {
    if !text.is_empty() {
        REDACTED.clone_into(text);
    }
}

fn is_secret_key(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    KEYS.contains(&plain.as_str())
}

fn without_named(text: Cow<'_, str>) -> Cow<'_, str> {
    let kept = |found: &Captures<'_>, after: &str| {
        let key = found.get(1).map_or("", |key| key.as_str());
        format!("{key}{REDACTED}{after}")
    };
    let text = replaced(text, &JSON, |found| kept(found, "\""));
    let text = replaced(text, &ENVIRONMENT, |found| kept(found, ""));
    let text = replaced(text, &HEADER, |found| kept(found, ""));
    replaced(text, &BEARER, |found| {
        let token = found.get(2).map_or("", |token| token.as_str());
        // A word of prose that happens to follow is none.
        let marked = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        if !token.bytes().any(marked) {
            found.get(0).map_or("", |all| all.as_str()).to_owned()
        } else {
            kept(found, "")
        }
    })
}

fn replaced<'a>(
    text: Cow<'a, str>,
    pattern: &LazyLock<Option<Regex>>,
    with: impl Fn(&Captures<'_>) -> String,
) -> Cow<'a, str> {
    let Some(pattern) = pattern.as_ref() else {
        return text;
    };
    match pattern.replace_all(&text, |found: &Captures<'_>| with(found)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => Cow::Owned(clean),
    }
}

fn without_random(text: Cow<'_, str>, random: Random) -> Cow<'_, str> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-+/=.~".contains(c);
    if !text
        .split(|c| !part(c))
        .any(|token| is_random(token, random))
    {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = &*text;
    while !rest.is_empty() {
        let (token, after) = rest.split_at(rest.find(|c| !part(c)).unwrap_or(rest.len()));
        clean.push_str(if is_random(token, random) {
            REDACTED
        } else {
            token
        });
        let (between, after) = after.split_at(after.find(part).unwrap_or(after.len()));
        clean.push_str(between);
        rest = after;
    }
    Cow::Owned(clean)
}

/// Whether a token looks random: long enough, of mixed characters, and hard to guess one by one.
#[must_use]
pub fn looks_random(token: &str, random: Random) -> bool {
    is_random(token, random)
}

fn is_random(token: &str, random: Random) -> bool {
    let length = token.len();
    if !(random.chars..=random.chars_max).contains(&length) {
        return false;
    }
    let has = |sort: fn(&u8) -> bool| token.as_bytes().iter().any(sort);
    let mixed = has(u8::is_ascii_alphabetic) && has(|byte| !byte.is_ascii_alphabetic());
    let hex = token.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path = token.matches('/').count() >= 3;
    let id = ID.as_ref().is_some_and(|id| id.is_match(token));
    let mut counts = [0_u32; 128];
    for byte in token.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let distinct = counts.iter().filter(|count| **count > 0).count();
    mixed
        && !hex
        && !path
        && !id
        && distinct >= random.distinct_chars
        && entropy(&counts) * 100.0 >= f64::from(random.centibits) - 1e-9
}

/// Shannon entropy in bits for each character.
fn entropy(counts: &[u32]) -> f64 {
    let all = f64::from(counts.iter().sum::<u32>());
    let each = counts.iter().filter(|count| **count > 0).map(|count| {
        let share = f64::from(*count) / all;
        -share * share.log2()
    });
    each.sum()
}

#[cfg(test)]
mod tests;
