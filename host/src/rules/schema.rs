//! Schemas: what a tool takes and gives, as compiled JSON Schema.
//!
//! References outside the schema are refused, patterns run on a linear-time engine, and what a check takes is bounded
//! before it is made, as is what the list of all that is wrong takes: a hostile manifest can neither reach the network nor
//! stall the host, nor fill its memory.

mod issue;
mod listing;
mod patterns;

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::flow::handles::Given;
use super::json;
use crate::words::error::{Code, Error, Issue, Result};
use crate::words::id::Digest;
use crate::words::limits::{ARGS_BYTES, JSON_DEPTH};
use listing::Entries;
use patterns::Patterns;

/// A compiled JSON Schema.
pub struct Schema {
    source: Value,
    validator: jsonschema::Validator,
    values: usize,
    entries: Entries,
    patterns: Patterns,
}

/// Issues that one message lists.
const ISSUES_LISTED: usize = 16;
/// Values of a schema, counted over its whole tree with every reference written out: bounds the work
/// of compiling it, and of checking one value.
const SCHEMA_VALUES: usize = 20_000;
/// Values of a schema times values of what is checked: bounds the work of one check.
const CHECK_WORK: usize = 50_000_000;

/// What to do where arguments are too long: no policy lets more through.
const PARTS: &str =
    "pass a part at a time: `files.read` takes one with `length`, or with `first_line` and `lines`";

/// What is said of a value in place of all that is wrong with it.
const UNLISTED: &str = "does not fit its schema, and is too large for a list of what is wrong: of fewer values, or shorter \
    names and texts, it would be said";

/// What every schema is read as.
const DRAFT: jsonschema::Draft = jsonschema::Draft::Draft202012;

/// What looks once more at all that stands beside it.
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// `BadPlugin` for one that is no schema, too large, too deep, or refers outside itself.
    pub fn compile(source: Value) -> Result<Self> {
        let extent = written_out(&source)?;
        let patterns = Patterns::of(&source)?;
        let validator = jsonschema::options()
            .with_draft(DRAFT)
            .with_pattern_options(patterns::engine())
            .build(&source)
            .map_err(|error| Error::bad_plugin(format!("not a usable JSON Schema: {error}")))?;
        Ok(Self {
            source,
            validator,
            values: extent.size,
            entries: extent.entries,
            patterns,
        })
    }

    /// Compiles the schema of a run's answer.
    ///
    /// # Errors
    /// `BadInput` for one that [`Schema::compile`] refuses.
    pub fn of_answer(source: Value) -> Result<Self> {
        let compiled = Self::compile(source);
        compiled.map_err(|error| {
            Error::bad_input(format!("the schema of the answer: {}", error.message()))
        })
    }

    /// The schema as it was given.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// What is wrong with a value, place by place; nothing where it fits. A value that would take too
    /// long to check does not fit, and of one that is too large for a list one thing is said.
    #[must_use]
    pub fn issues(&self, value: &Value) -> Vec<Issue> {
        if let Some(why) = self.too_dear(value) {
            return vec![of_whole(why)];
        }
        // This takes no memory for what is wrong, and ends at the first of it.
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if !self.entries.can_be_listed(value) {
            return vec![self.first_alone(value)];
        }
        let errors = self.validator.iter_errors(value).take(ISSUES_LISTED);
        errors
            .map(|error| issue::said(&error, &self.source))
            .collect()
    }

    /// One thing that is wrong with a value that does not fit, if it is found without listing others.
    fn first_alone(&self, value: &Value) -> Issue {
        let alone = self.entries.is_each_alone();
        let first = alone.then(|| self.validator.validate(value).err());
        match first.flatten() {
            Some(error) => issue::said(&error, &self.source),
            None => of_whole(UNLISTED),
        }
    }

    /// Why a value would take too long to check, where it would.
    fn too_dear(&self, value: &Value) -> Option<&'static str> {
        if self.values.saturating_mul(count(value)) > CHECK_WORK {
            return Some("too many values to be checked against so large a schema");
        }
        let fits = self.patterns.can_check(&self.source, value);
        (!fits).then_some("too much text to be checked against the patterns of its schema")
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Schema")
    }
}

/// What is said of a value as a whole.
fn of_whole(message: &str) -> Issue {
    Issue {
        path: String::new(),
        message: message.to_owned(),
    }
}

/// The size of a schema with every reference written out.
///
/// A hostile schema is small and refers to itself: `allOf` of two references to the next of fifty
/// definitions takes 2^50 steps, one that leads back to itself never ends, and a chain of five thousand is as deep as
/// nesting. What is beside `unevaluatedProperties` is looked at twice, so that thirty of those, one in the other, take 2^30.
fn written_out(source: &Value) -> Result<Extent> {
    let mut found = Found {
        root: source,
        known: HashMap::new(),
        open: Vec::new(),
    };
    match found.extent(source, 0) {
        Some(extent) if extent.size <= SCHEMA_VALUES => Ok(extent),
        Some(_) | None => Err(Error::bad_plugin(format!(
            "a schema has more than {SCHEMA_VALUES} values with its references written out, is nested \
             deeper than {JSON_DEPTH}, refers to itself, outside itself or with escapes, or has a part whose \
             `$schema` is not that of 2020-12"
        ))),
    }
}

/// How large a part of a schema is, with every reference written out.
#[derive(Clone, Copy)]
struct Extent {
    /// Values.
    size: usize,
    /// Levels below it.
    height: usize,
    /// What it may have against a value.
    entries: Entries,
}

/// What is known of a schema so far.
struct Found<'a> {
    root: &'a Value,
    /// By reference.
    known: HashMap<&'a str, Extent>,
    /// References that led here.
    open: Vec<&'a str>,
}

impl<'a> Found<'a> {
    /// Nothing for what is too deep, refers to itself, or has references that are not plain pointers.
    fn extent(&mut self, value: &'a Value, depth: usize) -> Option<Extent> {
        if depth > JSON_DEPTH {
            return None;
        }
        let mut whole = Extent {
            size: 1,
            height: 0,
            entries: Entries::of(value),
        };
        match value {
            Value::Array(items) => {
                for item in items {
                    let extent = self.extent(item, depth + 1)?;
                    whole.add(extent);
                    whole.entries.add_item(extent.entries);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    let extent = self.extent_of_part(key, item, depth + 1)?;
                    whole.add(extent);
                    whole.entries.add_under(key, (item, extent.entries));
                }
                if UNEVALUATED.iter().any(|key| map.contains_key(*key)) {
                    whole.size = whole.size.saturating_mul(2);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        (depth + whole.height <= JSON_DEPTH).then_some(whole)
    }

    fn extent_of_part(&mut self, key: &'a str, part: &'a Value, depth: usize) -> Option<Extent> {
        match (key, part) {
            ("$ref", Value::String(to)) => self.extent_of_target(to, depth),
            (
                "$dynamicRef" | "$recursiveRef" | "$id" | "$anchor" | "$dynamicAnchor",
                Value::String(_),
            ) => None,
            // What a part of an older draft calls itself is where its references begin. Whether it is data its key does not
            // tell: `default` may be a property's name, and a reference may lead to it.
            ("$schema", Value::String(draft)) if depth > 1 && !is_ours(draft) => None,
            _ => self.extent(part, depth),
        }
    }

    fn extent_of_target(&mut self, to: &'a str, depth: usize) -> Option<Extent> {
        if let Some(extent) = self.known.get(to) {
            return Some(*extent);
        }
        if self.open.contains(&to) {
            return None;
        }
        let target = self.root.pointer(plain(to)?)?;
        self.open.push(to);
        let extent = self.extent(target, depth)?;
        self.open.pop();
        self.known.insert(to, extent);
        Some(extent)
    }
}

impl Extent {
    /// With one more part a level below, but for its entries, to whose places its own is added.
    fn add(&mut self, part: Self) {
        self.size = self.size.saturating_add(part.size);
        self.height = self.height.max(part.height + 1);
    }
}

/// Whether a part that says so is read as all others are.
fn is_ours(draft: &str) -> bool {
    jsonschema::Draft::from_schema_uri(draft) == DRAFT
}

/// The pointer of a reference that everybody reads alike: the library decodes `%61`, and reads `~~1` as what it is.
fn plain(to: &str) -> Option<&str> {
    let pointer = to.strip_prefix('#')?;
    let mut escapes = pointer.split('~').skip(1);
    let known = escapes.all(|escape| escape.starts_with(['0', '1']));
    (known && !pointer.contains('%')).then_some(pointer)
}

/// How many values there are in a value.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count).fold(1, usize::saturating_add),
        Value::Object(map) => map.values().map(count).fold(1, usize::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Arguments that fit a tool's schema, in their one canonical text.
#[derive(Clone, Debug)]
pub struct Args {
    value: Value,
    text: String,
}

impl Args {
    /// Checks arguments against a schema.
    ///
    /// # Errors
    /// `BadArgs` with the place of each issue, `TooBig` past [`ARGS_BYTES`].
    pub fn check(value: Value, schema: &Schema) -> Result<Self> {
        let text = json::canonical(&value);
        if text.len() > ARGS_BYTES {
            let error = Error::too_big("the text of the arguments", ARGS_BYTES, text.len());
            return Err(error.hint(PARTS));
        }
        let issues = schema.issues(&value);
        if issues.is_empty() {
            return Ok(Self { value, text });
        }
        Err(Error::new(Code::BadArgs, "Invalid action input.").issues(issues))
    }

    /// Checks arguments in which handles were replaced. They may be as long as outcomes are, and issues tell
    /// nothing of what the handles hold.
    ///
    /// # Errors
    /// As [`Args::check`].
    pub fn given(given: &Given, schema: &Schema) -> Result<Self> {
        if given.places.is_empty() {
            return Self::check(given.value.clone(), schema);
        }
        let issues = given.veil(schema.issues(&given.value));
        if issues.is_empty() {
            return Ok(Self::own(given.value.clone()));
        }
        Err(Error::new(Code::BadArgs, "Invalid action input.").issues(issues))
    }

    /// Arguments that fit by their making: the host's own, bounded by whoever made them.
    #[must_use]
    pub fn own(value: Value) -> Self {
        let text = json::canonical(&value);
        Self { value, text }
    }

    /// The arguments as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Their canonical text, which is what the guest reads.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Digest of the canonical text.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::compile(json!({
            "type": "object", "required": ["text"], "additionalProperties": false,
            "properties": {"text": {"type": "string", "maxLength": 3}, "n": {"type": "integer"}}
        }))
        .unwrap()
    }

    #[test]
    fn issues_name_their_place_and_not_the_value() {
        let issues = schema().issues(&json!({"text": "canary", "n": "x"}));
        let paths: Vec<_> = issues.iter().map(|issue| issue.path.as_str()).collect();
        assert_eq!(paths, ["/n", "/text"]);
        assert!(
            issues.iter().all(|issue| !issue.message.contains("canary")),
            "{issues:?}"
        );
        assert_eq!(schema().issues(&json!({"text": "abc"})), []);
    }

    #[test]
    fn arguments_that_are_too_long_are_passed_in_parts() {
        let long = json!({"text": "a".repeat(ARGS_BYTES)});
        let error = Args::check(long, &schema()).unwrap_err();
        assert_eq!(
            (error.code(), error.hints()),
            (Code::TooBig, &[PARTS.to_owned()][..])
        );
    }

    #[test]
    fn hostile_schemas_are_refused() {
        let mut deep = json!(true);
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        for bad in [
            deep,
            json!({"$ref": "http://127.0.0.1/x"}),
            json!({"type": 7}),
            json!({"$ref": "file:///etc/passwd"}),
        ] {
            assert!(Schema::compile(bad).is_err());
        }
    }

    fn nested(levels: usize, around: &dyn Fn(Value) -> Value) -> Value {
        let inmost = json!({"properties": {"a": true}});
        (0..levels).fold(inmost, |inner, _| around(inner))
    }

    #[test]
    fn schemas_that_would_never_end_are_refused() {
        let mut doubling = serde_json::Map::new();
        for step in 0..50 {
            let next = json!({"$ref": format!("#/$defs/d{}", step + 1)});
            doubling.insert(format!("d{step}"), json!({"allOf": [next, next]}));
        }
        doubling.insert("d50".into(), json!({"type": "null"}));
        let below =
            |levels: usize, part: Value| (0..levels).fold(part, |part, _| json!({"not": part}));
        let to_a = json!({"$ref": "#/$defs/a"});
        // Each is known before the next one refers to it.
        let mut chain = serde_json::Map::from_iter([("d0000".to_owned(), json!(true))]);
        for step in 1..5_000 {
            let before = json!({"$ref": format!("#/$defs/d{:04}", step - 1)});
            chain.insert(format!("d{step:04}"), before);
        }
        for bad in [
            json!({"$ref": "#/$defs/d0", "$defs": doubling}),
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#/allOf/0"}]}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
            json!({"$defs": chain, "$ref": "#/$defs/d4999"}),
            // Known from where it is not so deep.
            json!({"$defs": {"a": below(50, json!(true))}, "allOf": [to_a, below(30, to_a.clone())]}),
            json!({"$dynamicRef": "#x"}),
            json!({"$id": "http://a.test/", "type": "null"}),
            nested(
                30,
                &|inner| json!({"allOf": [inner], "unevaluatedProperties": false}),
            ),
            nested(30, &|inner| json!({"if": inner, "unevaluatedItems": false})),
        ] {
            assert!(Schema::compile(bad.clone()).is_err(), "{bad}");
        }
        // What is seen here is a decoy: the library goes another way.
        let decoy = |to: &str, other: &str, read: &str| json!({"$ref": to, "$defs": {other: true, read: {"$ref": to}}});
        for bad in [
            decoy("#/$defs/%61", "%61", "a"),
            decoy("#/$defs/~~1", "~/", "~~1"),
            decoy("#/$defs/a~", "a~", "a"),
            json!({"$defs": {"a": true}, "not": {
                "$schema": "http://json-schema.org/draft-04/schema#", "id": "http://a.test/",
                "$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a",
            }}),
        ] {
            assert!(Schema::compile(bad.clone()).is_err(), "{bad}");
        }
        let escaped = json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "null"}}});
        assert_eq!(Schema::compile(escaped).unwrap().issues(&json!(1)).len(), 1);
        let twice = json!({"$defs": {"a": below(20, json!(true))}, "allOf": [to_a, below(30, to_a.clone())]});
        assert!(Schema::compile(twice).is_ok());
        let plain = json!({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}});
        assert_eq!(
            Schema::compile(plain)
                .unwrap()
                .issues(&json!([1, "x"]))
                .len(),
            1
        );
    }

    #[test]
    fn a_part_may_say_that_it_is_of_the_draft_that_all_are_of() {
        let with = |draft: &str| {
            let part = json!({"$schema": draft, "$ref": "#/$defs/b"});
            Schema::compile(json!({
                "$schema": draft, "default": {"$schema": draft}, "items": {"$ref": "#/$defs/a"},
                "$defs": {"a": part, "b": {"type": "null"}},
            }))
        };
        for draft in [
            "https://json-schema.org/draft/2020-12/schema",
            "https://json-schema.org/draft/2020-12/schema#",
            "http://json-schema.org/draft/2020-12/schema",
        ] {
            assert_eq!(with(draft).unwrap().issues(&json!([1])).len(), 1);
        }
        for draft in [
            "https://json-schema.org/draft/2019-09/schema",
            "http://json-schema.org/draft-07/schema#",
            "https://a.test/own",
            "",
        ] {
            let error = with(draft).unwrap_err();
            assert!(error.message().contains("`$schema`"), "{draft}: {error}");
        }
    }

    #[test]
    fn a_check_that_would_take_too_long_is_not_begun() {
        let many: Vec<Value> = (0..9_000).map(|least| json!({"minimum": -least})).collect();
        let schema = Schema::compile(json!({"items": {"allOf": many}})).unwrap();
        assert_eq!(schema.issues(&json!([1, 2])), []);
        let issues = schema.issues(&Value::from(vec![0; 500_000]));
        assert!(issues[0].message.contains("too many values"), "{issues:?}");
    }

    #[test]
    fn patterns_run_in_linear_time() {
        let schema = Schema::compile(json!({"type": "string", "pattern": "^(a+)+$"})).unwrap();
        assert_eq!(
            schema
                .issues(&json!(format!("{}b", "a".repeat(50_000))))
                .len(),
            1
        );
    }
}
