//! Sanitising: what a guest, page or file said, made fit for a model or terminal.
//!
//! In this order, on the whole text (C-30): host paths become virtual ones, known secrets disappear,
//! hidden characters become visible; only then is it cut to size.

use serde_json::Value;

pub use crate::words::inert::visible;
use crate::words::limits::{CHARS_PER_TOKEN, OBSERVATION_TOKENS};

use super::manifest::Truncation;

/// What must not be read by a model or client, whatever the text is.
#[derive(Clone, Default)]
pub struct Scrub {
    /// Host path → what stands for it.
    paths: Vec<(String, String)>,
    /// Exact values of secrets.
    secrets: Vec<String>,
}

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";
/// Shorter values are no secrets: to blank them would blank half of every text.
const SECRET_CHARS_MIN: usize = 8;

impl Scrub {
    /// Of host paths, each with its virtual name. The longest path wins.
    #[must_use]
    pub fn of_paths(mut paths: Vec<(String, String)>) -> Self {
        paths.retain(|(path, _)| path.len() > 1);
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self {
            paths,
            secrets: Vec::new(),
        }
    }

    /// And of a secret's value.
    #[must_use]
    pub fn with_secret(mut self, value: String) -> Self {
        if value.chars().count() >= SECRET_CHARS_MIN {
            self.secrets.push(value);
        }
        self
    }

    /// Whether there is anything to clean in a text.
    #[must_use]
    pub fn finds_in(&self, text: &str) -> bool {
        self.paths
            .iter()
            .any(|(path, _)| text.contains(path.as_str()))
            || self
                .secrets
                .iter()
                .any(|secret| text.contains(secret.as_str()))
    }

    /// Cleans a text.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for (path, name) in &self.paths {
            if clean.contains(path.as_str()) {
                clean = clean.replace(path.as_str(), name);
            }
        }
        for secret in &self.secrets {
            if clean.contains(secret.as_str()) {
                clean = clean.replace(secret.as_str(), REDACTED);
            }
        }
        clean
    }
}

impl Scrub {
    /// Cleans every string of a value, keys too.
    pub fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if self.finds_in(text) {
                    *text = self.clean(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item)),
            Value::Object(map) => {
                let dirty = map.keys().filter(|key| self.finds_in(key));
                for key in dirty.cloned().collect::<Vec<_>>() {
                    if let Some(item) = map.remove(&key) {
                        map.insert(self.clean(&key), item);
                    }
                }
                map.values_mut().for_each(|item| self.clean_value(item));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Cleans a text that comes in pieces: what could be the beginning of something to clean is held back
/// until it is decided. The last piece stays held back; whoever has the whole text shows it.
#[derive(Debug)]
pub struct Trickle<'a> {
    scrub: &'a Scrub,
    held: String,
    held_bytes: usize,
}

impl<'a> Trickle<'a> {
    /// Of nothing yet.
    #[must_use]
    pub fn new(scrub: &'a Scrub) -> Self {
        let paths = scrub.paths.iter().map(|(path, _)| path.len());
        let longest = paths.chain(scrub.secrets.iter().map(String::len)).max();
        Self {
            scrub,
            held: String::new(),
            held_bytes: longest.map_or(0, |bytes| bytes - 1),
        }
    }

    /// Adds a piece, and returns what may be shown.
    pub fn add(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.held = self.scrub.clean(&self.held);
        let mut end = self.held.len().saturating_sub(self.held_bytes);
        while !self.held.is_char_boundary(end) {
            end -= 1;
        }
        let rest = self.held.split_off(end);
        std::mem::replace(&mut self.held, rest)
    }
}

impl std::fmt::Debug for Scrub {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "Scrub({} paths, {} secrets)",
            self.paths.len(),
            self.secrets.len()
        )
    }
}

/// Cuts a text to the size of an observation, with a notice that never changes.
#[must_use]
pub fn truncate(text: &str, how: Truncation) -> String {
    cut(text, OBSERVATION_TOKENS * CHARS_PER_TOKEN, how)
}

fn cut(text: &str, chars_max: usize, how: Truncation) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let notice = format!("\n[{} of {chars} characters left out]\n", chars - chars_max);
    let (head, tail) = match how {
        Truncation::Middle => (chars_max / 2, chars_max - chars_max / 2),
        Truncation::Head => (chars_max, 0),
        Truncation::Tail => (0, chars_max),
    };
    let beginning = text.chars().take(head);
    let end = text.chars().skip(chars - tail);
    beginning.chain(notice.chars()).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrubbing_comes_first_and_prefers_the_longest_path() {
        let scrub = Scrub::of_paths(vec![
            ("/srv".into(), "A".into()),
            ("/srv/docs".into(), "docs".into()),
        ])
        .with_secret("canary-123456".into())
        .with_secret("admin".into());
        assert_eq!(
            scrub.clean("/srv/docs/x /srv/y canary-123456 admin"),
            "docs/x A/y [REDACTED] admin"
        );
        assert!(!format!("{scrub:?}").contains("canary"));
    }

    #[test]
    fn a_secret_in_pieces_is_cleaned_before_it_is_shown() {
        let scrub = Scrub::default().with_secret("canary-é-secret".into());
        let text = "so: canary-é-secret, and canary-é-secrets and canary and so on to the end";
        for size in 1..20 {
            let mut trickle = Trickle::new(&scrub);
            let chars: Vec<char> = text.chars().collect();
            let pieces = chars
                .chunks(size)
                .map(|piece| piece.iter().collect::<String>());
            let shown: String = pieces.map(|piece| trickle.add(&piece)).collect();
            assert!(!shown.contains("é"), "{size}: {shown}");
            assert!(
                scrub.clean(text).starts_with(&shown) && shown.len() > 30,
                "{size}: {shown}"
            );
        }
    }

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(
            visible("a\u{1b}[31m\u{200b}b\nc\td\r\ne"),
            "a\\u{1b}[31m\\u{200b}b\nc\td\ne"
        );
    }

    #[test]
    fn cutting_respects_characters_and_says_so() {
        let text = "é".repeat(10);
        assert_eq!(cut(&text, 10, Truncation::Middle), text);
        assert_eq!(
            cut(&text, 4, Truncation::Middle),
            "éé\n[6 of 10 characters left out]\néé"
        );
        assert_eq!(
            cut(&text, 4, Truncation::Tail),
            "\n[6 of 10 characters left out]\néééé"
        );
        assert_eq!(
            cut(&text, 4, Truncation::Head),
            "éééé\n[6 of 10 characters left out]\n"
        );
    }
}
