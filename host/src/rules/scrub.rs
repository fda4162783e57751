//! Scrubbing: what must not be read by a model, a client or whoever opens the journal.
//!
//! In this order: known secrets disappear in every common encoding ([`known`]), host paths become virtual ones, and, only in
//! what a model or client reads, so does what looks like a secret ([`guess`]). The first two hold for every exit; a guess may be
//! wrong, and never changes what a script or another tool computes with. The plan has paths first (O-37, U-25); but a secret may have a
//! path in it, and what stands for a path may make one, so secrets are looked for before and after.

pub mod credentials;
pub mod guess;
pub mod known;
mod packed;
mod pieces;
mod spelling;
pub mod told;
mod trickle;

use std::ops::Range;

use serde_json::{Map, Value};

pub use self::known::KnownSecrets;
use self::known::Together;
pub use self::trickle::{ByteTrickle, Trickle};

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// What must not be read by a model or client, whatever the text is. Clones share the known secrets.
#[derive(Clone, Default)]
pub struct Scrub {
    /// Host path → what stands for it.
    paths: Vec<(String, String)>,
    /// Values of secrets.
    known: KnownSecrets,
}

impl Scrub {
    /// Of host paths, each with its virtual name, and of known secrets. The longest path wins.
    #[must_use]
    pub fn new(mut paths: Vec<(String, String)>, known: KnownSecrets) -> Self {
        paths.retain(|(path, _)| path.len() > 1);
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { paths, known }
    }

    /// The secrets that are known.
    #[must_use]
    pub fn known(&self) -> &KnownSecrets {
        &self.known
    }

    /// Cleans a text.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let clean = self.clean_within(text, &Together::default());
        clean.unwrap_or_else(|| text.to_owned())
    }

    /// Cleans every string of a value, keys too.
    pub fn clean_value(&self, value: &mut Value) {
        if !self.is_empty() {
            clean_together(value, &|text, together| self.clean_within(text, together));
        }
    }

    /// The text without what is to be cleaned; nothing where there is none of it.
    fn clean_within(&self, text: &str, together: &Together) -> Option<String> {
        let clean = self.known.clean_within(text, together);
        let named = self.named(clean.as_deref().unwrap_or(text));
        let again = named.as_deref().and_then(|named| self.known.clean(named));
        again.or(named).or(clean)
    }

    /// The text with what stands for paths in place of them; nothing where there is none.
    fn named(&self, text: &str) -> Option<String> {
        let mut named = None;
        for (path, name) in &self.paths {
            let so_far = named.as_deref().unwrap_or(text);
            if so_far.contains(path.as_str()) {
                named = Some(so_far.replace(path.as_str(), name));
            }
        }
        named
    }

    /// Where the paths stand in a text.
    fn path_spans(&self, text: &str) -> Vec<Range<usize>> {
        let spans = self.paths.iter().flat_map(|(path, _)| {
            let found = text.match_indices(path.as_str());
            found.map(|(at, path)| at..at + path.len())
        });
        spans.collect()
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.known.is_empty()
    }

    /// Words of what has the most of all that is to be cleaned.
    fn words(&self) -> usize {
        let blanks = |(path, _): &(String, String)| path.matches(char::is_whitespace).count();
        let paths = self.paths.iter().map(|path| 1 + blanks(path));
        paths.fold(self.known.words(), usize::max)
    }
}

impl std::fmt::Debug for Scrub {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Scrub({} paths, {:?})", self.paths.len(), self.known)
    }
}

/// Cleans every string of a value, keys too, and takes the value away over which a secret is spread.
fn clean_together(value: &mut Value, clean: &impl Fn(&str, &Together) -> Option<String>) {
    let together = Together::default();
    clean_strings(value, &|text| clean(text, &together));
    if together.holds_a_cut_value() {
        *value = Value::String(REDACTED.to_owned());
    }
}

/// Changes every string of a value for which `clean` has another, keys too. A number that is a secret
/// becomes a string.
pub(crate) fn clean_strings(value: &mut Value, clean: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = clean(text) {
                *text = other;
            }
        }
        // Fewer digits than a secret has characters need no look.
        Value::Number(number)
            if number
                .as_i64()
                .is_none_or(|number| number.unsigned_abs() >= 10_000_000) =>
        {
            if let Some(other) = clean(&number.to_string()) {
                *value = Value::String(other);
            }
        }
        Value::Array(items) if is_told(items.iter(), clean) => {
            *value = Value::String(REDACTED.to_owned());
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean_strings(item, clean)),
        // As programs show a list that is no array.
        Value::Object(map) if is_told(numbered(map), clean) => {
            *value = Value::String(REDACTED.to_owned());
        }
        Value::Object(map) => {
            let dirty = map
                .keys()
                .filter_map(|key| Some((key.clone(), clean(key)?)));
            let mut numbers = 2_usize..;
            for (key, other) in dirty.collect::<Vec<_>>() {
                if let Some(item) = map.remove(&key) {
                    map.insert(free(map, other, &mut numbers), item);
                }
            }
            map.values_mut().for_each(|item| clean_strings(item, clean));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A name that none has: what stands under a key must not take the place of what stands under another. All of one object
/// are numbered on, so that many of them take time linear in their number.
pub(super) fn free(
    map: &Map<String, Value>,
    name: String,
    numbers: &mut impl Iterator<Item = usize>,
) -> String {
    if !map.contains_key(&name) {
        return name;
    }
    let mut names = numbers.map(|number| format!("{name} {number}"));
    let free = names.find(|other| !map.contains_key(other));
    free.unwrap_or(name)
}

/// So many bytes a list has at least that could be a secret.
const BYTES_LISTED: usize = 8;

/// Whether bytes that stand one after another in a list are something to clean, whatever stands around them.
fn is_told<'a>(
    items: impl Iterator<Item = &'a Value>,
    clean: &impl Fn(&str) -> Option<String>,
) -> bool {
    let is_byte = |item: &&Value| item.as_u64().is_some_and(|number| number <= 255);
    let items: Vec<&Value> = items.collect();
    let mut runs = items.split(|item| !is_byte(item));
    runs.any(|run| {
        let numbers = run.iter().map(ToString::to_string);
        run.len() >= BYTES_LISTED && clean(&numbers.collect::<Vec<_>>().join(",")).is_some()
    })
}

/// What stands under 0, 1, 2 and so on, of an object that has these keys and no other; nothing of one that has others.
fn numbered(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let items = (0..map.len()).map(|number| map.get(&number.to_string()));
    items.collect::<Option<Vec<_>>>().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub(paths: &[(&str, &str)], secrets: &[&str]) -> Scrub {
        let paths = paths
            .iter()
            .map(|(path, name)| ((*path).to_owned(), (*name).to_owned()));
        let known = KnownSecrets::default();
        secrets
            .iter()
            .for_each(|secret| known.learn(secret.as_bytes()));
        Scrub::new(paths.collect(), known)
    }

    #[test]
    fn paths_are_named_and_the_longest_wins() {
        let scrub = scrub(
            &[("/srv", "A"), ("/srv/docs", "docs")],
            &["canary-123456", "docs/secret"],
        );
        assert_eq!(
            scrub.clean("/srv/docs/x /srv/y canary-123456 /srv/docs/secret admin"),
            "docs/x A/y [REDACTED] A/[REDACTED] admin"
        );
        assert!(!format!("{scrub:?}").contains("canary"));
    }

    #[test]
    fn no_path_hides_a_secret_and_none_makes_one() {
        let scrub = scrub(
            &[("/data", "docs")],
            &["postgres://me:pw9@db/data", "docs/secret"],
        );
        let text = "u=postgres://me:pw9@db/data, /data/secret, /data/other";
        assert_eq!(scrub.clean(text), "u=[REDACTED], [REDACTED], docs/other");
    }

    #[test]
    fn values_are_cleaned_with_their_keys_and_numbers() {
        let scrub = scrub(&[("/srv/docs", "docs:")], &["8412345678", "canary-123456"]);
        let mut value = serde_json::json!({
            "canary-123456": ["/srv/docs/a", {"x": 8_412_345_678_u64}], "n": 84, "b": true,
        });
        scrub.clean_value(&mut value);
        let expected = serde_json::json!({
            "[REDACTED]": ["docs:/a", {"x": "[REDACTED]"}], "n": 84, "b": true,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn no_key_that_is_cleaned_takes_the_place_of_another() {
        let scrub = scrub(&[], &["canary-123456", "other-654321"]);
        let mut value = serde_json::json!({
            "[REDACTED] 3": "a", "canary-123456": "b", "my canary-123456": "c", "other-654321": "d",
            "%63anary-123456": "e", "my other-654321": "f",
        });
        scrub.clean_value(&mut value);
        let fields = value.as_object().unwrap();
        let mut items: Vec<_> = fields.values().filter_map(Value::as_str).collect();
        items.sort_unstable();
        assert_eq!(items.concat(), "abcdef", "{value}");
        assert_eq!(value["[REDACTED] 3"], "a");
        assert!(fields.contains_key("my [REDACTED]"), "{value}");
    }

    #[test]
    fn bytes_are_found_beside_what_is_none_and_in_an_object() {
        let scrub = scrub(&[], &["canary-123456"]);
        let bytes: Vec<Value> = b"canary-123456".iter().map(|byte| (*byte).into()).collect();
        let (few, rest) = bytes.split_at(6);
        let numbered = |items: &[Value]| {
            let named = items.iter().enumerate();
            let named = named.map(|(at, item)| (at.to_string(), item.clone()));
            named.collect::<Value>()
        };
        for other in [serde_json::json!(256), serde_json::json!("x"), Value::Null] {
            let other = std::slice::from_ref(&other);
            for around in [
                [other, &bytes].concat(),
                [&bytes, other].concat(),
                [other, &bytes, other].concat(),
                bytes.clone(),
            ] {
                for mut value in [numbered(&around), Value::Array(around)] {
                    scrub.clean_value(&mut value);
                    assert_eq!(value, REDACTED, "{other:?}");
                }
            }
            let apart = [few, other, rest].concat();
            for value in [numbered(&apart), Value::Array(apart)] {
                let mut clean = value.clone();
                scrub.clean_value(&mut clean);
                assert_eq!(clean, value, "it is not one after another");
            }
        }
    }

    #[test]
    fn bytes_in_hex_are_found_with_what_stands_between_them() {
        let scrub = scrub(&[], &["canary-123456"]);
        let hex: Vec<String> = "canary-123456"
            .bytes()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        for between in ["", " ", ":", "-", ", 0x", ",0x"] {
            let text = format!("x {} y", hex.join(between));
            assert_eq!(scrub.clean(&text), "x [REDACTED] y", "{text}");
        }
    }

    #[test]
    fn a_secret_whose_end_begins_another_is_not_cut_in_two() {
        let scrub = scrub(&[], &["canary-123456", "456-other-one"]);
        let mut trickle = Trickle::new(&scrub);
        let shown = trickle.add("so canary-123456") + &trickle.add(" and more, and more");
        assert!(shown.starts_with("so [REDACTED] and"), "{shown}");
    }
}
