//! What has changed from one schema to another: what it takes no more, and what it takes now.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::Changes;
use crate::words::limits::JSON_DEPTH;

/// Whose schema it is. Arguments break where less is taken; outcomes break where more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Input,
    Output,
}

impl Direction {
    /// Where places within it begin.
    pub(super) fn root(self) -> &'static str {
        match self {
            Self::Input => "#input",
            Self::Output => "#output",
        }
    }

    fn code(self, input: &'static str, output: &'static str) -> &'static str {
        match self {
            Self::Input => input,
            Self::Output => output,
        }
    }
}

/// Two schemas that are compared.
pub(super) struct Shapes<'a> {
    pub(super) changes: &'a mut Changes,
    pub(super) direction: Direction,
    /// What references are looked up in.
    pub(super) roots: (&'a Value, &'a Value),
}

/// Words about values that are no more than words.
const REMARKS: [&str; 9] = [
    "$ref",
    "title",
    "description",
    "examples",
    "default",
    "$comment",
    "$schema",
    "$defs",
    "deprecated",
];
/// Bounds from below: a higher one takes less.
const LOWER: [&str; 5] = [
    "minimum",
    "exclusiveMinimum",
    "minLength",
    "minItems",
    "minProperties",
];
/// Bounds from above.
const UPPER: [&str; 5] = [
    "maximum",
    "exclusiveMaximum",
    "maxLength",
    "maxItems",
    "maxProperties",
];
/// Words that are compared one by one below.
const COMPARED: [&str; 7] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
];
/// The types that there are; an integer is a number.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

impl Shapes<'_> {
    pub(super) fn compare(&mut self, place: &str, (old, new): (&Value, &Value), depth: usize) {
        if depth > JSON_DEPTH || beside(old) != beside(new) {
            return self.differs(place);
        }
        let old = resolved(old, self.roots.0);
        let new = resolved(new, self.roots.1);
        let (Some(was), Some(is)) = (as_map(old), as_map(new)) else {
            if old != new {
                self.differs(place);
            }
            return;
        };
        self.types(place, (was, is));
        self.choices(place, (was, is));
        self.bounds(place, (was, is));
        self.others(place, (was, is));
        self.properties(place, (was, is), depth);
        for (key, below) in [("items", "/*"), ("additionalProperties", "/(other)")] {
            let said = |map: &'_ Map<String, Value>| {
                // Whether others are allowed at all is seen with the fields.
                let said = map.get(key).filter(|said| **said != Value::Bool(false));
                said.cloned().unwrap_or(ANY.clone())
            };
            let (old, new) = (said(was), said(is));
            if old != ANY || new != ANY {
                self.compare(
                    &format!("{place}{below}"),
                    (&old, &new),
                    depth.saturating_add(1),
                );
            }
        }
    }

    /// Less is taken than before.
    fn narrows(&mut self, place: &str, code: &'static str, message: String) {
        let breaking = self.direction == Direction::Input;
        self.changes.add(breaking, (code, place), message);
    }

    /// More is taken than before.
    fn widens(&mut self, place: &str, code: &'static str, message: String) {
        let breaking = self.direction == Direction::Output;
        self.changes.add(breaking, (code, place), message);
    }

    /// Nobody knows what is taken: it breaks.
    fn differs(&mut self, place: &str) {
        let code = self.direction.code("input-changed", "output-changed");
        let what = "its schema is another, and cannot be compared";
        self.changes.breaking(code, place, what);
    }

    fn types(&mut self, place: &str, (was, is): (&Map<String, Value>, &Map<String, Value>)) {
        let (was, is) = (types(was), types(is));
        let words = |types: &BTreeSet<&str>| types.iter().copied().collect::<Vec<_>>().join(", ");
        let gone: BTreeSet<&str> = was.difference(&is).copied().collect();
        if !gone.is_empty() {
            let code = self
                .direction
                .code("input-type-narrowed", "output-type-narrowed");
            self.narrows(
                place,
                code,
                format!("it is no longer of type {}", words(&gone)),
            );
        }
        let come: BTreeSet<&str> = is.difference(&was).copied().collect();
        if !come.is_empty() {
            let code = self
                .direction
                .code("input-type-widened", "output-type-widened");
            self.widens(
                place,
                code,
                format!("it may be of type {} as well", words(&come)),
            );
        }
    }

    fn choices(&mut self, place: &str, (was, is): (&Map<String, Value>, &Map<String, Value>)) {
        let (was, is) = (choices(was), choices(is));
        let missing = |from: &Option<Vec<&Value>>, of: &Option<Vec<&Value>>| match (from, of) {
            (Some(from), Some(of)) => of.iter().any(|value| !from.contains(value)),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if missing(&is, &was) {
            let code = self
                .direction
                .code("input-enum-narrowed", "output-enum-narrowed");
            self.narrows(place, code, "fewer values are allowed".to_owned());
        }
        if missing(&was, &is) {
            let code = self
                .direction
                .code("input-enum-widened", "output-enum-widened");
            self.widens(place, code, "more values are allowed".to_owned());
        }
    }

    fn bounds(&mut self, place: &str, (was, is): (&Map<String, Value>, &Map<String, Value>)) {
        for (key, lower) in LOWER
            .map(|key| (key, true))
            .into_iter()
            .chain(UPPER.map(|key| (key, false)))
        {
            let (old, new) = (was.get(key), is.get(key));
            if old == new {
                continue;
            }
            let number = |value: Option<&Value>| value.and_then(Value::as_f64);
            let tighter = match (number(old), number(new)) {
                (Some(old), Some(new)) if lower => new > old,
                (Some(old), Some(new)) => new < old,
                (None, Some(_)) => true,
                (Some(_) | None, None) => false,
            };
            self.turned(place, (key, tighter));
        }
    }

    /// Words that only narrow, and of which nothing is known but whether they are there.
    fn others(&mut self, place: &str, (was, is): (&Map<String, Value>, &Map<String, Value>)) {
        let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        let known = |key: &str| {
            let lists = [&REMARKS[..], &LOWER, &UPPER, &COMPARED];
            lists.iter().any(|list| list.contains(&key))
        };
        for key in keys.into_iter().filter(|key| !known(key)) {
            match (was.get(key), is.get(key)) {
                (old, new) if old == new => {}
                (None, Some(_)) => self.turned(place, (key, true)),
                (Some(_), None) => self.turned(place, (key, false)),
                (Some(_) | None, _) => self.differs(&format!("{place} ({key})")),
            }
        }
        if was.get("default") != is.get("default") {
            self.changes
                .harmless("default-changed", place, "its default is another");
        }
    }

    fn turned(&mut self, place: &str, (key, tighter): (&str, bool)) {
        if tighter {
            let code = self
                .direction
                .code("input-bound-narrowed", "output-bound-narrowed");
            self.narrows(place, code, format!("`{key}` allows less"));
        } else {
            let code = self
                .direction
                .code("input-bound-widened", "output-bound-widened");
            self.widens(place, code, format!("`{key}` allows more"));
        }
    }

    fn properties(
        &mut self,
        place: &str,
        (was, is): (&Map<String, Value>, &Map<String, Value>),
        depth: usize,
    ) {
        let (old, new) = (Fields::of(was), Fields::of(is));
        let names: BTreeSet<&str> = old.names().chain(new.names()).collect();
        for name in names {
            let place = format!("{place}/{name}");
            match (old.get(name), new.get(name)) {
                (Some(_), None) => self.gone(&place, new.is_closed),
                (None, Some(_)) => self.come(&place, new.requires(name)),
                (Some(before), Some(after)) => {
                    self.required(&place, (old.requires(name), new.requires(name)));
                    self.compare(&place, (before, after), depth.saturating_add(1));
                }
                (None, None) => {}
            }
        }
        match (old.is_closed, new.is_closed) {
            (false, true) => {
                let code = self.direction.code("input-closed", "output-closed");
                self.narrows(
                    place,
                    code,
                    "fields that it does not name are refused".to_owned(),
                );
            }
            (true, false) => {
                let code = self.direction.code("input-opened", "output-opened");
                let what = "it may have fields that it does not name";
                self.changes.harmless(code, place, what);
            }
            (true, true) | (false, false) => {}
        }
    }

    /// A field is no longer named. An argument that is not named may still be taken.
    fn gone(&mut self, place: &str, is_closed: bool) {
        let code = self
            .direction
            .code("input-field-removed", "output-field-removed");
        let breaking = is_closed || self.direction == Direction::Output;
        self.changes
            .add(breaking, (code, place), "the field is gone".to_owned());
    }

    fn come(&mut self, place: &str, is_required: bool) {
        match (self.direction, is_required) {
            (Direction::Input, true) => {
                let what = "a new field has to be there";
                self.changes.breaking("input-field-required", place, what);
            }
            (Direction::Input, false) => {
                self.changes
                    .harmless("input-field-added", place, "a new field may be there");
            }
            (Direction::Output, _) => {
                self.changes
                    .harmless("output-field-added", place, "a new field comes");
            }
        }
    }

    fn required(&mut self, place: &str, was_and_is: (bool, bool)) {
        match was_and_is {
            (false, true) => {
                let code = self
                    .direction
                    .code("input-field-required", "output-field-required");
                self.narrows(place, code, "the field has to be there".to_owned());
            }
            (true, false) => {
                let code = self
                    .direction
                    .code("input-field-optional", "output-field-optional");
                self.widens(place, code, "the field may be missing".to_owned());
            }
            (true, true) | (false, false) => {}
        }
    }
}

/// The fields of an object.
struct Fields<'a> {
    named: Option<&'a Map<String, Value>>,
    required: BTreeSet<&'a str>,
    /// Whether fields that are not named are refused.
    is_closed: bool,
}

impl<'a> Fields<'a> {
    fn of(schema: &'a Map<String, Value>) -> Self {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        Self {
            named: schema.get("properties").and_then(Value::as_object),
            required: required.collect(),
            is_closed: schema.get("additionalProperties") == Some(&Value::Bool(false)),
        }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        let named = self
            .named
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str);
        named.chain(self.required.clone())
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        let named = self.named.and_then(|named| named.get(name));
        named.or_else(|| self.requires(name).then_some(&ANY))
    }

    fn requires(&self, name: &str) -> bool {
        self.required.contains(name)
    }
}

/// The schema that takes everything.
static ANY: Value = Value::Bool(true);
static NOTHING_SAID: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// A schema as what it says; nothing for one that takes no value at all.
fn as_map(schema: &Value) -> Option<&Map<String, Value>> {
    match schema {
        Value::Object(map) => Some(map),
        Value::Bool(true) => Some(&NOTHING_SAID),
        Value::Null
        | Value::Bool(false)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_) => None,
    }
}

/// What a reference within the schema stands for; anything else is itself.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut found = schema;
    for _ in 0..JSON_DEPTH {
        let reference = found.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(next) => found = next,
            None => return found,
        }
    }
    found
}

/// What stands beside a reference and says something.
fn beside(schema: &Value) -> Vec<(&String, &Value)> {
    let map = schema.as_object().filter(|map| map.contains_key("$ref"));
    let says = |key: &str| key != "$ref" && !REMARKS.contains(&key);
    let all = map.into_iter().flatten();
    all.filter(|(key, _)| says(key)).collect()
}

fn types(schema: &Map<String, Value>) -> BTreeSet<&'static str> {
    let said: Vec<&str> = match schema.get("type") {
        None => TYPES.to_vec(),
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Vec::new(),
    };
    let is = |kind: &&str| said.contains(kind) || (*kind == "integer" && said.contains(&"number"));
    TYPES.into_iter().filter(is).collect()
}

/// The only values that are allowed; nothing where all are.
fn choices(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Value::Array(all))) => Some(all.iter().collect()),
        (None, _) => None,
    }
}
