//! Leaves: the single values of arguments and outcomes, each with its path.

use serde_json::Value;

use super::kind::text_of;

/// A leaf: its path without a leading `/`, and the value; a key that is free to choose is a leaf as well.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    pub(super) path: String,
    pub(super) text: String,
}

/// The leaves of arguments that fit `schema`. Names of properties are the tool's own words and none of them;
/// every other key is.
pub(super) fn leaves(args: &Value, schema: &Value) -> Vec<Leaf> {
    let mut found = Vec::new();
    walk(args, Some(schema), String::new(), &mut found);
    found
}

fn walk(value: &Value, schema: Option<&Value>, path: String, found: &mut Vec<Leaf>) {
    match value {
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.get("items"));
            for (place, item) in items.iter().enumerate() {
                walk(item, below, inside(&path, &place.to_string()), found);
            }
        }
        Value::Object(map) => {
            let known = schema.and_then(|schema| schema.get("properties"));
            for (key, item) in map {
                let below = known.and_then(|known| known.get(key));
                let path = inside(&path, key);
                if below.is_none() {
                    found.push(Leaf {
                        path: path.clone(),
                        text: key.clone(),
                    });
                }
                walk(item, below, path, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            if let Some(text) = text_of(value) {
                found.push(Leaf { path, text });
            }
        }
    }
}

fn inside(path: &str, name: &str) -> String {
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
