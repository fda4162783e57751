//! Patterns of schemas, and how much text is checked against them.
//!
//! An engine whose time is linear takes the states of a pattern for each byte all the same: a hostile schema has many of
//! the one, and what it is checked against many of the other (row 3 of the attacks).

use std::collections::HashMap;

use jsonschema_regex::to_rust_regex;
use regex_automata::nfa::thompson::{Compiler, Config};
use serde_json::{Map, Value};

use crate::words::error::{Error, Result};
use crate::words::id::shown;

/// Patterns of one schema.
const SCHEMA_PATTERNS: usize = 128;
/// Bytes of one pattern, compiled.
const PATTERN_BYTES: usize = 256 * 1_024;
/// Bytes that the engine keeps for the speed of one pattern.
const PATTERN_CACHE: usize = 128 * 1_024;
/// States of patterns times bytes that are checked against them, in one check.
const CHECK_STATES: usize = 20_000_000;

/// The engine that patterns run on.
pub(super) fn engine() -> jsonschema::PatternOptions<jsonschema::Regex> {
    jsonschema::PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_CACHE)
}

/// How many states each pattern of a schema has.
pub(super) struct Patterns(HashMap<String, usize>);

impl Patterns {
    /// Looks for all of them, wherever they stand.
    ///
    /// # Errors
    /// `BadPlugin` for too many, and for one that is too large.
    pub(super) fn of(source: &Value) -> Result<Self> {
        let mut found = HashMap::new();
        find(source, &mut found)?;
        Ok(Self(found))
    }

    /// Whether a value is checked in bounded time against the schema that these are of. The schema is a tree of bounded
    /// size, whose references are plain pointers.
    pub(super) fn can_check(&self, root: &Value, value: &Value) -> bool {
        let states = self.0.values().copied().fold(0, usize::saturating_add);
        // Nearly always: where stands what is not asked.
        states.saturating_mul(bytes_of(value)) <= CHECK_STATES
            || self.work(root, root, value) <= CHECK_STATES
    }

    /// What checking a value against this part of the schema takes.
    fn work(&self, root: &Value, schema: &Value, value: &Value) -> usize {
        let Value::Object(parts) = schema else {
            return 0;
        };
        let parts = parts
            .iter()
            .map(|part| self.work_of_part(root, part, value));
        parts.fold(0, usize::saturating_add)
    }

    fn work_of_part(&self, root: &Value, (key, part): (&String, &Value), value: &Value) -> usize {
        let below = |part: &Value, value: &Value| self.work(root, part, value);
        match (key.as_str(), part) {
            ("pattern", Value::String(pattern)) => self.matching(pattern, value.as_str()),
            ("$ref", Value::String(to)) => {
                let target = to.strip_prefix('#').and_then(|to| root.pointer(to));
                target.map_or(0, |target| below(target, value))
            }
            ("properties", Value::Object(parts)) => sum(parts.iter().filter_map(|(name, part)| {
                let value = value.get(name)?;
                Some(below(part, value))
            })),
            ("patternProperties", Value::Object(parts)) => sum(parts.iter().map(|(name, part)| {
                let names = sum(keys(value).map(|key| self.matching(name, Some(key))));
                // Once more for what is additional to them.
                let names = names.saturating_mul(2);
                names.saturating_add(sum(members(value).map(|value| below(part, value))))
            })),
            ("propertyNames", part) => {
                sum(keys(value).map(|key| below(part, &Value::String(key.clone()))))
            }
            ("prefixItems", Value::Array(parts)) => {
                let items = parts.iter().zip(items(value));
                sum(items.map(|(part, value)| below(part, value)))
            }
            ("items" | "contains" | "unevaluatedItems", part) => {
                sum(items(value).map(|value| below(part, value)))
            }
            ("additionalProperties" | "unevaluatedProperties", part) => {
                sum(members(value).map(|value| below(part, value)))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                sum(parts.iter().map(|part| below(part, value)))
            }
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                sum(parts.values().map(|part| below(part, value)))
            }
            ("not" | "if" | "then" | "else", part) => below(part, value),
            _ => 0,
        }
    }

    fn matching(&self, pattern: &str, text: Option<&str>) -> usize {
        let states = self.0.get(pattern).copied().unwrap_or(PATTERN_BYTES);
        text.map_or(0, |text| states.saturating_mul(text.len()))
    }
}

fn find(schema: &Value, found: &mut HashMap<String, usize>) -> Result<()> {
    match schema {
        Value::Array(parts) => parts.iter().try_for_each(|part| find(part, found)),
        Value::Object(parts) => {
            for (key, part) in parts {
                match (key.as_str(), part) {
                    ("pattern", Value::String(pattern)) => add(pattern, found)?,
                    ("patternProperties", Value::Object(parts)) => {
                        parts.keys().try_for_each(|pattern| add(pattern, found))?;
                        find(part, found)?;
                    }
                    _ => find(part, found)?,
                }
            }
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn add(pattern: &str, found: &mut HashMap<String, usize>) -> Result<()> {
    if found.contains_key(pattern) {
        return Ok(());
    }
    if found.len() >= SCHEMA_PATTERNS {
        let why = format!("a schema has more than {SCHEMA_PATTERNS} patterns");
        return Err(Error::bad_plugin(why));
    }
    found.insert(pattern.to_owned(), states_of(pattern)?);
    Ok(())
}

/// How many states a pattern has. One that is none here, such as text in an example, is refused by the validator where it
/// matters, and counts as the largest.
fn states_of(pattern: &str) -> Result<usize> {
    let Ok(translated) = to_rust_regex(pattern) else {
        return Ok(PATTERN_BYTES);
    };
    let config = Config::new().nfa_size_limit(Some(PATTERN_BYTES));
    match Compiler::new().configure(config).build(&translated) {
        Ok(compiled) => Ok(compiled.states().len()),
        Err(error) if error.size_limit().is_some() => Err(Error::bad_plugin(format!(
            "the pattern `{}` of a schema is larger than {PATTERN_BYTES} bytes once it is compiled",
            shown(pattern)
        ))),
        Err(_) => Ok(PATTERN_BYTES),
    }
}

/// How long all texts and names in a value are together.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => sum(items.iter().map(bytes_of)),
        Value::Object(map) => sum(map
            .iter()
            .map(|(key, value)| key.len().saturating_add(bytes_of(value)))),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn keys(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(Map::keys)
}

fn members(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(Map::values)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn sum(parts: impl Iterator<Item = usize>) -> usize {
    parts.fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Schema;
    use super::*;

    /// Nothing where it fits.
    fn issue(schema: Value, value: &Value) -> Option<String> {
        let issues = Schema::compile(schema).expect("a schema").issues(value);
        issues.into_iter().next().map(|issue| issue.message)
    }

    /// A thousand states, and a text that keeps all of them busy.
    fn dear() -> (String, String) {
        ("[01]*1[01]{1000}[23]".to_owned(), "01".repeat(200_000))
    }

    #[test]
    fn text_that_would_take_long_to_check_does_not_fit_wherever_its_pattern_stands() {
        let (pattern, text) = dear();
        let part = json!({"pattern": pattern});
        let named = json!({pattern.clone(): {}});
        for (schema, value) in [
            (part.clone(), json!(text)),
            (json!({"properties": {"a": part}}), json!({"a": text})),
            (json!({"additionalProperties": part}), json!({"a": text})),
            (json!({"items": part}), json!([text])),
            (json!({"prefixItems": [part]}), json!([text])),
            (json!({"contains": part}), json!([text])),
            (json!({"anyOf": [{}, part]}), json!(text)),
            (json!({"not": part}), json!(text)),
            (json!({"if": part}), json!(text)),
            (json!({"propertyNames": part}), json!({text.clone(): 1})),
            (
                json!({"patternProperties": named}),
                json!({text.clone(): 1}),
            ),
            (
                json!({"patternProperties": {"^a": part}}),
                json!({"a": text}),
            ),
            (
                json!({"dependentSchemas": {"a": {"properties": {"a": part}}}}),
                json!({"a": text}),
            ),
            (
                json!({"$defs": {"a": part}, "properties": {"b": {"$ref": "#/$defs/a"}}}),
                json!({"b": text}),
            ),
        ] {
            let said = issue(schema.clone(), &value);
            let said = said.unwrap_or_else(|| panic!("{schema}"));
            assert!(said.contains("too much text"), "{schema}: {said}");
        }
    }

    #[test]
    fn much_text_elsewhere_and_little_text_are_checked() {
        let (pattern, text) = dear();
        let schema =
            json!({"properties": {"id": {"pattern": pattern}, "content": {"type": "string"}}});
        let fitting = format!("1{}2", "0".repeat(1_000));
        let value = json!({"id": fitting, "content": text});
        assert_eq!(issue(schema.clone(), &value), None);
        let said = issue(schema, &json!({"id": "x", "content": text})).expect("it does not fit");
        assert!(!said.contains("too much text"), "{said}");
        // A pattern that is short may be met by all the text there is.
        let whole = json!({"pattern": "^[A-Za-z0-9+/=]*$"});
        assert_eq!(issue(whole, &json!("a".repeat(1 << 20))), None);
    }

    #[test]
    fn a_pattern_that_is_too_large_and_too_many_of_them_are_refused() {
        let large = Schema::compile(json!({"pattern": "[01]*1[01]{20000}[23]"})).unwrap_err();
        assert!(large.message().contains("larger than"), "{large:?}");
        let many: Map<String, Value> = (0..=SCHEMA_PATTERNS)
            .map(|n| (format!("^{n}$"), json!({})))
            .collect();
        let many = Schema::compile(json!({"patternProperties": many})).unwrap_err();
        assert!(many.message().contains("more than 128"), "{many:?}");
        // In an example it is no pattern.
        assert!(Schema::compile(json!({"examples": [{"pattern": "(("}]})).is_ok());
    }
}
