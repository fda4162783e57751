//! Schemas as providers take them: each reads less of JSON Schema than we do.
//!
//! What is taken away is only a hint that is not given: arguments are checked against the whole schema
//! when a call is dispatched, whatever the provider made of it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::words::limits::{SCHEMA_LOWERED_DEPTH, SCHEMA_LOWERED_NODES};

/// A schema of arguments: of an object that names its properties, even where it has none, and that
/// is not a choice between others.
pub(crate) fn of_object(schema: &Value) -> Cow<'_, Value> {
    let Some(known) = schema.as_object() else {
        return Cow::Owned(json!({"type": "object", "properties": {}}));
    };
    let choices = ["anyOf", "oneOf", "allOf", "enum", "not"];
    let is_plain = known.get("type").is_some_and(|kind| kind == "object")
        && known.contains_key("properties")
        && !choices.iter().any(|key| known.contains_key(*key));
    if is_plain {
        return Cow::Borrowed(schema);
    }
    let mut whole = known.clone();
    for key in choices {
        whole.remove(key);
    }
    whole.insert("type".to_owned(), json!("object"));
    whole.entry("properties").or_insert_with(|| json!({}));
    Cow::Owned(Value::Object(whole))
}

/// Whether a provider that enforces schemas takes this one as it is: every object is closed and
/// requires all that it names.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
            let required = map.get("required").and_then(Value::as_array);
            let requires = |name: &String| {
                required.is_some_and(|all| all.iter().any(|one| one == name.as_str()))
            };
            let properties = map.get("properties").and_then(Value::as_object);
            let all = properties.is_none_or(|named| named.keys().all(requires));
            let is_object = map.get("type").is_some_and(|kind| kind == "object");
            (!is_object || (closed && all)) && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// A schema with every object closed, and without bounds on numbers, texts and lists.
pub(super) fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut closed = Map::new();
            for (key, value) in map {
                let lowered = match key.as_str() {
                    "properties" | "$defs" | "definitions" => by_name(value, &mut self::closed),
                    "enum" | "const" | "required" | "default" => value.clone(),
                    key if BOUNDS.contains(&key) => continue,
                    _ => self::closed(value),
                };
                closed.insert(key.clone(), lowered);
            }
            if map.get("type").is_some_and(|kind| kind == "object") {
                closed.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            Value::Object(closed)
        }
        Value::Array(items) => items.iter().map(self::closed).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

const BOUNDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

fn by_name(map: &Value, lower: &mut impl FnMut(&Value) -> Value) -> Value {
    let Some(map) = map.as_object() else {
        return json!({});
    };
    let entries = map.iter();
    entries
        .map(|(name, value)| (name.clone(), lower(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// A schema in the subset of OpenAPI 3.0 that Gemini reads: one type each, `nullable`, `anyOf`, choices of
/// texts, no references. References into the schema are written out, within bounds; what refers to
/// itself ends as any text would.
pub(super) fn open_api(schema: &Value) -> Value {
    let mut lowering = Lowering {
        root: schema,
        nodes: 0,
    };
    lowering.lower(schema, 0)
}

struct Lowering<'a> {
    root: &'a Value,
    nodes: usize,
}

impl<'a> Lowering<'a> {
    fn lower(&mut self, schema: &Value, depth: usize) -> Value {
        self.nodes += 1;
        let too_much = depth > SCHEMA_LOWERED_DEPTH || self.nodes > SCHEMA_LOWERED_NODES;
        let Some(map) = schema.as_object().filter(|_| !too_much) else {
            return json!({"type": "string"});
        };
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            let root: &'a Value = self.root;
            let target = target.strip_prefix('#');
            let target = target.and_then(|pointer| root.pointer(pointer));
            return self.lower(target.unwrap_or(&Value::Null), depth + 1);
        }
        let mut out = Map::new();
        for key in KEPT {
            if let Some(value) = map.get(key) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        let nullable = choose_type(map, &mut out);
        self.choices(map, &mut out, depth);
        if nullable {
            out.insert("nullable".to_owned(), Value::Bool(true));
        }
        let kind = out.get("type").and_then(Value::as_str).map(str::to_owned);
        match kind.as_deref() {
            Some("object") => self.object(map, &mut out, depth),
            Some("array") => {
                let items = map.get("items").unwrap_or(&Value::Null);
                out.insert("items".to_owned(), self.lower(items, depth + 1));
            }
            Some("string") => {
                let format = map.get("format").and_then(Value::as_str);
                if let Some(format @ ("date-time" | "date" | "time")) = format {
                    out.insert("format".to_owned(), json!(format));
                }
            }
            Some(_) | None => {}
        }
        Value::Object(out)
    }

    fn object(&mut self, map: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
        let Some(properties) = map.get("properties").filter(|named| *named != &json!({})) else {
            return;
        };
        let lowered = by_name(properties, &mut |schema| self.lower(schema, depth + 1));
        let named = |name: &Value| {
            name.as_str()
                .is_some_and(|name| lowered.get(name).is_some())
        };
        let required = map.get("required").and_then(Value::as_array);
        let required: Vec<Value> = required
            .map(|all| all.iter().filter(|name| named(name)).cloned().collect())
            .unwrap_or_default();
        if !required.is_empty() {
            out.insert("required".to_owned(), Value::Array(required));
        }
        out.insert("properties".to_owned(), lowered);
    }

    fn choices(&mut self, map: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
        let one = map.get("const").map(|only| json!([only]));
        let texts = one.as_ref().or(map.get("enum")).and_then(Value::as_array);
        if let Some(texts) = texts
            && texts.iter().all(Value::is_string)
        {
            out.insert("type".to_owned(), json!("string"));
            out.insert("enum".to_owned(), Value::Array(texts.clone()));
        }
        let choices = map.get("anyOf").or(map.get("oneOf"));
        if let Some(choices) = choices.and_then(Value::as_array) {
            let is_null = |choice: &&Value| choice.get("type").is_some_and(|kind| kind == "null");
            if choices.iter().any(|choice| is_null(&choice)) {
                out.insert("nullable".to_owned(), Value::Bool(true));
            }
            let choices: Vec<Value> = choices
                .iter()
                .filter(|choice| !is_null(choice))
                .map(|choice| self.lower(choice, depth + 1))
                .collect();
            out.insert("anyOf".to_owned(), Value::Array(choices));
        }
    }
}

/// What is taken over as it is.
const KEPT: [&str; 8] = [
    "title",
    "description",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];

/// Writes the one type, and returns whether null is another. Of several, a choice is made.
fn choose_type(map: &Map<String, Value>, out: &mut Map<String, Value>) -> bool {
    let guess = || {
        let chooses = ["anyOf", "oneOf"].iter().any(|key| map.contains_key(*key));
        let kind = if map.contains_key("properties") {
            "object"
        } else if map.contains_key("items") {
            "array"
        } else {
            "string"
        };
        (!chooses).then_some(kind)
    };
    let (kinds, nullable): (Vec<&str>, bool) = match map.get("type") {
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            let nullable = kinds.contains(&"null");
            (
                kinds.into_iter().filter(|kind| *kind != "null").collect(),
                nullable,
            )
        }
        Some(Value::String(kind)) => (vec![kind.as_str()], false),
        Some(_) | None => (guess().into_iter().collect(), false),
    };
    match kinds.as_slice() {
        [] => {}
        ["null"] => {
            out.insert("type".to_owned(), json!("string"));
            return true;
        }
        [kind] => {
            out.insert("type".to_owned(), json!(kind));
        }
        several => {
            let choices = several.iter().map(|kind| match *kind {
                "array" => json!({"type": kind, "items": {"type": "string"}}),
                kind => json!({"type": kind}),
            });
            out.insert("anyOf".to_owned(), choices.collect());
        }
    }
    nullable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object() {
        let none = json!({"type": "object", "properties": {}});
        for odd in [
            json!(true),
            json!({}),
            json!({"type": "string"}),
            json!({"type": "object"}),
        ] {
            assert_eq!(*of_object(&odd), none, "{odd}");
        }
        let choice =
            json!({"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]});
        assert_eq!(
            *of_object(&choice),
            json!({"type": "object", "properties": {"a": {}}})
        );
        assert!(matches!(of_object(&none), Cow::Borrowed(_)));
    }

    #[test]
    fn strict_is_closed_and_requires_all() {
        let strict = json!({"type": "object", "properties": {"a": {"type": "string"}},
            "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&strict));
        for (key, value) in [
            ("required", json!([])),
            ("additionalProperties", json!(true)),
        ] {
            let mut other = strict.clone();
            other[key] = value;
            assert!(!is_strict(&other), "{key}");
            assert!(
                !is_strict(&json!({"type": "array", "items": other})),
                "{key}"
            );
        }
    }

    #[test]
    fn closed_objects_have_no_bounds() {
        let schema = json!({"type": "object", "required": ["minimum"], "properties": {
            "minimum": {"type": "integer", "minimum": 1, "enum": [1, 2]},
            "list": {"type": "array", "items": {"type": "object"}, "maxItems": 3},
        }});
        let wanted = json!({"type": "object", "required": ["minimum"], "properties": {
            "minimum": {"type": "integer", "enum": [1, 2]},
            "list": {"type": "array", "items": {"type": "object", "additionalProperties": false}},
        }, "additionalProperties": false});
        assert_eq!(closed(&schema), wanted);
    }

    #[track_caller]
    fn check(schema: Value, wanted: Value) {
        assert_eq!(open_api(&schema), wanted, "{schema}");
    }

    #[test]
    fn what_gemini_reads() {
        check(
            json!({"type": ["string", "null"], "pattern": "x"}),
            json!({"type": "string", "nullable": true}),
        );
        check(
            json!({"const": "a"}),
            json!({"type": "string", "enum": ["a"]}),
        );
        check(
            json!({"enum": [1, "a"], "type": "integer"}),
            json!({"type": "integer"}),
        );
        check(
            json!({"type": "array"}),
            json!({"type": "array", "items": {"type": "string"}}),
        );
        check(
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            json!({"type": "object"}),
        );
        check(
            json!({"oneOf": [{"type": "null"}, {"type": "integer", "exclusiveMinimum": 0}]}),
            json!({"anyOf": [{"type": "integer"}], "nullable": true}),
        );
        check(
            json!({"type": ["integer", "array"]}),
            json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}),
        );
        check(
            json!({"type": "object", "required": ["a", "gone"], "$defs": {"n": {"type": "number"}},
                "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "http://evil.test/"}}}),
            json!({"type": "object", "required": ["a"],
                "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}),
        );
        check(json!(true), json!({"type": "string"}));
    }

    #[test]
    fn schemas_that_grow_are_cut() {
        check(json!({"$ref": "#"}), json!({"type": "string"}));
        let twice =
            json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
        let lowered = open_api(&twice).to_string();
        assert!(
            lowered.len() < SCHEMA_LOWERED_NODES * 200,
            "{}",
            lowered.len()
        );
    }
}
