//! What the list of all that is wrong with a value would take.
//!
//! The library makes the whole list before anybody reads its first entry, and each entry has memory of its own: its place
//! in the value in full, words of the schema, and below `anyOf` and `oneOf` a copy of all that stands at its place. A schema
//! and a value of some KiB each can have tens of gigabytes of that (row 108 of the attacks).

use serde_json::Value;

/// What one list may take.
const LIST_BYTES: usize = 32 << 20;
/// What an entry takes beside texts, or an object of a schema that is copied into one.
const ENTRY_BYTES: usize = 640;
/// What one of many in a list adds to a place.
const INDEX_BYTES: usize = 10;
/// What a copy of a value takes beside texts,
const VALUE_BYTES: usize = 64;
/// and what one of an object takes beside what is in it.
const OBJECT_BYTES: usize = 640;
/// What is not evaluated is written out as JSON, in which a character has up to six bytes, beside the copy.
const WRITTEN_TIMES: usize = 7;

/// Keywords that say nothing of what fits.
const REMARKS: [&str; 5] = ["title", "description", "$comment", "default", "examples"];

/// What a part of a schema, with every reference written out, may have against one value: an entry for each of its own
/// values at most.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    /// How many.
    count: usize,
    /// What they take, but for what they hold of the value.
    bytes: usize,
    /// How often what stands at the place of one is in it.
    copies: usize,
}

impl Entries {
    /// That of one value of a schema, without those of what is in it.
    pub(super) fn of(value: &Value) -> Self {
        let words = value.as_str().map_or(0, str::len);
        Self {
            count: 1,
            bytes: ENTRY_BYTES.saturating_add(words),
            copies: 0,
        }
    }

    /// With those of an item.
    pub(super) fn add_item(&mut self, item: Self) {
        self.add(item, INDEX_BYTES);
    }

    /// With those of what stands under a key.
    pub(super) fn add_under(&mut self, key: &str, (part, entries): (&Value, Self)) {
        let entries = match (key, part) {
            // What only people read is never wrong; a field of that name has a schema.
            (_, Value::String(_) | Value::Array(_)) if REMARKS.contains(&key) => return,
            // What is listed there is no schema, and the list is in no entry of its own.
            ("enum" | "type", Value::Array(_)) => Self::of(part),
            ("anyOf" | "oneOf", _) => Self {
                copies: entries.copies.max(entries.count),
                ..entries
            },
            ("unevaluatedItems", _) => Self {
                copies: entries.copies.saturating_add(WRITTEN_TIMES),
                ..entries
            },
            _ => entries,
        };
        self.add(entries, key_bytes(key));
    }

    fn add(&mut self, part: Self, step: usize) {
        let places = part.count.saturating_mul(step);
        self.count = self.count.saturating_add(part.count);
        self.bytes = self.bytes.saturating_add(part.bytes.saturating_add(places));
        self.copies = self.copies.saturating_add(part.copies);
    }

    /// Whether all that may be wrong with this value can be listed.
    pub(super) fn can_be_listed(&self, value: &Value) -> bool {
        let parts = Parts::of(value);
        let entries = self.bytes.saturating_mul(parts.count);
        let places = self.count.saturating_mul(parts.places);
        let copies = self.copies.saturating_mul(parts.copies);
        entries.saturating_add(places).saturating_add(copies) <= LIST_BYTES
    }

    /// Whether the first of them is made without any other: no entry holds those of several branches.
    pub(super) fn is_each_alone(&self) -> bool {
        self.copies == 0
    }
}

/// What a value brings into such a list.
#[derive(Clone, Copy)]
struct Parts {
    /// Values in it, with itself.
    count: usize,
    /// The places of all of them.
    places: usize,
    /// A copy of it.
    copy: usize,
    /// A copy of each of them, with all that is in it.
    copies: usize,
}

impl Parts {
    fn of(value: &Value) -> Self {
        let mut whole = Self {
            count: 1,
            places: 0,
            copy: VALUE_BYTES,
            copies: 0,
        };
        match value {
            Value::String(text) => whole.copy = whole.copy.saturating_add(text.len()),
            Value::Array(items) => {
                for item in items {
                    whole.add(Self::of(item), INDEX_BYTES);
                }
            }
            Value::Object(map) => {
                whole.copy = OBJECT_BYTES;
                for (key, item) in map {
                    let name = VALUE_BYTES.saturating_add(key.len());
                    whole.copy = whole.copy.saturating_add(name);
                    whole.add(Self::of(item), key_bytes(key));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        whole.copies = whole.copies.saturating_add(whole.copy);
        whole
    }

    fn add(&mut self, part: Self, step: usize) {
        let places = part.count.saturating_mul(step);
        self.count = self.count.saturating_add(part.count);
        self.places = self
            .places
            .saturating_add(part.places.saturating_add(places));
        self.copy = self.copy.saturating_add(part.copy);
        self.copies = self.copies.saturating_add(part.copies);
    }
}

/// What a key adds to a place, in which `~` and `/` have two bytes.
fn key_bytes(key: &str) -> usize {
    key.len().saturating_mul(2).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Schema, UNLISTED};
    use super::*;

    /// What is wrong with a value, each as `path: message`.
    fn issues(schema: &Value, value: &Value) -> Vec<String> {
        let schema = Schema::compile(schema.clone()).expect("a schema");
        let issues = schema.issues(value).into_iter();
        issues
            .map(|issue| format!("{}: {}", issue.path, issue.message))
            .collect()
    }

    #[test]
    fn what_would_take_much_to_list_is_not_listed() {
        let key = "k".repeat(4_000);
        let branches = json!({"anyOf": vec![json!({"items": false}); 20]});
        let far = json!({key: vec![0; 500]});
        let text = Value::from("x".repeat(40_000));
        let items = Value::from(vec!["x".repeat(2_000); 100]);
        for (schema, value) in [
            // Places of the value,
            (json!({"additionalProperties": branches}), far.clone()),
            (
                json!({"additionalProperties": {"$ref": "#/$defs/a"}, "$defs": {"a": branches}}),
                far,
            ),
            // copies of it,
            (
                json!({"anyOf": vec![json!({"maxLength": 1}); 500]}),
                text.clone(),
            ),
            (json!({"oneOf": vec![json!({"maxLength": 1}); 500]}), text),
            // and what is in it as JSON.
            (
                json!({"allOf": vec![json!({"unevaluatedItems": false}); 50]}),
                items,
            ),
        ] {
            assert_eq!(issues(&schema, &value), [format!(": {UNLISTED}")]);
        }
    }

    #[test]
    fn one_thing_that_is_wrong_is_named_where_it_takes_no_other() {
        let many = json!({"items": {"type": "string"}});
        let one = ["/0: expected a string, and this is a number"];
        assert_eq!(issues(&many, &Value::from(vec![0; 20_000])), one);
        let name = "n".repeat(8_000);
        let missing = json!({"items": {"required": [name]}});
        let found = issues(&missing, &Value::from(vec![json!({}); 4_000]));
        let [found] = found.as_slice() else {
            panic!("{} issues", found.len());
        };
        assert!(found.starts_with("/0: `nnn"), "{found}");
    }

    #[test]
    fn what_is_ordinary_is_listed() {
        let row = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "count": {"type": "integer"},
        }});
        let schema =
            json!({"type": "object", "properties": {"rows": {"type": "array", "items": row}}});
        let mut rows = vec![json!({"name": "a", "note": "as it is said there", "count": 1}); 100];
        rows.push(json!({"name": 1}));
        rows.push(json!({"note": null}));
        let found = issues(&schema, &json!({"rows": rows}));
        let expected = [
            "/rows/100/name: expected a string, and this is a number",
            "/rows/101: `name` is missing, a string",
        ];
        assert_eq!(found, expected);
        // A file of a megabyte, out of a handle.
        let write = json!({"type": "object", "additionalProperties": false, "properties": {
            "content": {"type": "string"}, "mode": {"oneOf": [{"const": "create"}, {"const": "append"}]},
        }});
        let found = issues(
            &write,
            &json!({"content": "x".repeat(1 << 20), "mod": "create"}),
        );
        let expected = [": there is no `mod` here; did you mean `mode`?"];
        assert_eq!(found, expected);
        // What may be chosen from is one thing, however long it is.
        let zones: Vec<String> = (0..600).map(|zone| format!("Zone/{zone}")).collect();
        let schema = json!({"properties": {
            "zone": {"enum": zones}, "of": {"type": "array", "items": {"type": "integer"}},
        }});
        let mut of = vec![json!(1); 200];
        of.extend([json!("x"), json!("x")]);
        assert_eq!(issues(&schema, &json!({"of": of})).len(), 2);
    }
}
