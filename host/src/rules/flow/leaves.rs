//! Leaves: the single values of arguments and outcomes, each with its path.

use serde_json::Value;

use super::kind::{Kind, text_of};
use super::suggest::place_of;
use crate::words::id::ToolName;

/// A leaf: its path without a leading `/`, and the value; a key that is free to choose is a leaf as well.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    pub(super) path: String,
    pub(super) text: String,
}

impl Leaf {
    /// What an answer for it, as a value of this kind, covers of all that takes such values. What a mail address, a file or a
    /// URL leads to is the same in every call; an id, a user's name or an account (other
    /// than by its IBAN) is one at its own service. A value of no kind is whatever its
    /// argument makes of it: whoever lets 500 rows be shown has not said that 500 may be paid.
    pub(super) fn answered_for(&self, kind: Kind, tool: &ToolName) -> String {
        if kind == Kind::Value {
            return format!("value at {} of {tool}", place_of(&self.path));
        }
        match kind.is_of_one_service(&self.text) {
            true => format!("value at {}", tool.plugin()),
            false => "value".to_owned(),
        }
    }
}

/// The leaves of arguments that fit `schema`. Names of properties are the tool's own words and none of them;
/// every other key is.
pub(super) fn leaves(args: &Value, schema: &Value) -> Vec<Leaf> {
    let mut found = Vec::new();
    let shapes = Shapes::of(schema);
    shapes.walk(args, vec![schema], String::new(), &mut found);
    found
}

/// A schema, and the schemas that hold at one place of a value: references and alternatives are followed, or
/// the names of a nested value's properties would be taken for words of whoever called.
struct Shapes<'a> {
    root: &'a Value,
}

/// Schemas that are followed at one place; past it, names are taken for words.
const SHAPES: usize = 64;

impl<'a> Shapes<'a> {
    fn of(root: &'a Value) -> Self {
        Self { root }
    }

    fn walk(&self, value: &Value, here: Vec<&'a Value>, path: String, found: &mut Vec<Leaf>) {
        match value {
            Value::Array(items) => {
                let here = self.all(here);
                for (place, item) in items.iter().enumerate() {
                    let below = here.iter().filter_map(|schema| schema.get("items"));
                    let path = inside(&path, &place.to_string());
                    self.walk(item, below.collect(), path, found);
                }
            }
            Value::Object(map) => {
                let here = self.all(here);
                for (key, item) in map {
                    let known = here.iter().filter_map(|schema| schema.get("properties"));
                    let below: Vec<&Value> = known.filter_map(|known| known.get(key)).collect();
                    let path = inside(&path, key);
                    if below.is_empty() {
                        found.push(Leaf {
                            path: path.clone(),
                            text: key.clone(),
                        });
                    }
                    self.walk(item, below, path, found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if let Some(text) = text_of(value) {
                    found.push(Leaf { path, text });
                }
            }
        }
    }

    /// These schemas, and all that they refer to or choose from.
    fn all(&self, mut here: Vec<&'a Value>) -> Vec<&'a Value> {
        let mut place = 0;
        while let Some(schema) = here.get(place).filter(|_| place < SHAPES) {
            let refers = schema.get("$ref").and_then(Value::as_str);
            let target = refers.and_then(|to| self.root.pointer(to.strip_prefix('#')?));
            let lists = ["allOf", "anyOf", "oneOf"].map(|list| schema.get(list));
            let lists = lists.into_iter().flatten().filter_map(Value::as_array);
            let more: Vec<&Value> = target.into_iter().chain(lists.flatten()).collect();
            here.extend(more);
            place += 1;
        }
        here
    }
}

/// Values that are there and empty, wherever they stand: `where: {}` of something that removes says a lot.
pub(super) fn empties(args: &Value) -> Vec<Leaf> {
    let mut found = Vec::new();
    add_empties(args, "", &mut found);
    // Of no arguments at all there is no path.
    found.retain(|leaf| !leaf.path.is_empty());
    found
}

fn add_empties(value: &Value, path: &str, found: &mut Vec<Leaf>) {
    let is_empty = match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                add_empties(item, &inside(path, &place.to_string()), found);
            }
            items.is_empty()
        }
        Value::Object(map) => {
            for (name, item) in map {
                add_empties(item, &inside(path, name), found);
            }
            map.is_empty()
        }
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
    };
    if is_empty {
        found.push(Leaf {
            path: path.to_owned(),
            text: String::new(),
        });
    }
}

/// The path of what stands under a name below a path.
pub(super) fn inside(path: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    if path.is_empty() {
        name
    } else {
        format!("{path}/{name}")
    }
}

/// Whether a path is the place that `pattern` names, or below it.
pub(super) fn lies_at(path: &str, pattern: &str) -> bool {
    let mut names = path.split('/');
    let pattern = pattern.trim_start_matches('/');
    pattern.split('/').all(|wanted| {
        names
            .next()
            .is_some_and(|name| wanted == "*" || wanted == name)
    })
}

/// All values at a place in a value; `*` stands for every element.
pub(super) fn at<'a>(value: &'a Value, pattern: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    let pattern = pattern.trim_start_matches('/');
    if pattern.is_empty() {
        return found;
    }
    for name in pattern.split('/') {
        let below = |value: &'a Value| -> Vec<&'a Value> {
            match value {
                Value::Array(items) if name == "*" => items.iter().collect(),
                Value::Object(map) if name == "*" => map.values().collect(),
                Value::Array(items) => {
                    let place = name.parse().ok();
                    place
                        .and_then(|place: usize| items.get(place))
                        .into_iter()
                        .collect()
                }
                Value::Object(map) => {
                    let name = name.replace("~1", "/").replace("~0", "~");
                    map.get(&name).into_iter().collect()
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
            }
        };
        found = found.into_iter().flat_map(below).collect();
    }
    found
}

/// The whole leaves at a place: of a list there, each element.
pub(super) fn texts_at(value: &Value, pattern: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for found in at(value, pattern) {
        match found {
            Value::Array(items) => texts.extend(items.iter().filter_map(text_of)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => texts.extend(text_of(found)),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_leaf_and_every_free_key() {
        let schema = json!({"properties": {"to": {"items": {}}, "meta": {"type": "object"}, "deep": {"properties": {"a": {}}}}});
        let args = json!({"to": ["x", "y"], "meta": {"k": 1}, "deep": {"a": true}, "extra": null});
        let found = leaves(&args, &schema);
        let mut found: Vec<String> = found
            .into_iter()
            .map(|leaf| format!("{}={}", leaf.path, leaf.text))
            .collect();
        found.sort();
        assert_eq!(
            found,
            [
                "deep/a=true",
                "extra=extra",
                "meta/k=1",
                "meta/k=k",
                "to/0=x",
                "to/1=y"
            ]
        );
    }

    #[test]
    fn names_behind_references_and_alternatives_are_the_tools_own() {
        let schema = json!({
            "properties": {"wishes": {"items": {"$ref": "#/$defs/wish"}},
                "one": {"anyOf": [{"$ref": "#/$defs/wish"}, {"type": "null"}]}},
            "$defs": {"wish": {"properties": {"op": {}, "free": {"type": "object"}}}},
        });
        let args =
            json!({"wishes": [{"op": "a", "free": {"k": "v"}}], "one": {"op": "b", "other": "c"}});
        let mut found: Vec<String> = leaves(&args, &schema)
            .into_iter()
            .map(|leaf| format!("{}={}", leaf.path, leaf.text))
            .collect();
        found.sort();
        assert_eq!(
            found,
            [
                "one/op=b",
                "one/other=c",
                "one/other=other",
                "wishes/0/free/k=k",
                "wishes/0/free/k=v",
                "wishes/0/op=a"
            ]
        );
    }

    #[test]
    fn places() {
        for (path, pattern, expected) in [
            ("to", "to", true),
            ("to/0", "to", true),
            ("to/0", "to/*", true),
            ("to", "to/*", false),
            ("total", "to", false),
            ("items/3/id", "items/*/id", true),
            ("items/3/idea", "items/*/id", false),
        ] {
            assert_eq!(lies_at(path, pattern), expected, "{path} {pattern}");
        }
        let value = json!({"items": [{"id": 1, "to": ["a", "b"]}, {"id": 2}]});
        assert_eq!(texts_at(&value, "/items/*/id"), ["1", "2"]);
        assert_eq!(texts_at(&value, "/items/*/to"), ["a", "b"]);
        assert_eq!(texts_at(&value, "/items/0/to/1"), ["b"]);
    }
}
