//! `text.query`: parts of a JSON value, by JSON Pointer or JSONPath.

use lazaret_sdk::prelude::*;
use serde_json_path::JsonPath;

use crate::{OUTCOME_BYTES_MAX, check_size};

const FOUND_MAX: usize = 10_000;

/// What was found.
#[value]
#[derive(PartialEq)]
pub struct Answer {
    /// The values found, in order.
    pub found: Vec<Value>,
    /// How many were found in all.
    pub total: usize,
    /// Whether there are more than are listed.
    pub truncated: bool,
}

/// Picks values out of JSON by a JSON Pointer (RFC 6901) or a JSONPath (RFC 9535).
///
/// A path that starts with `$` is a JSONPath, such as `$.items[?@.price < 10].name`; any other is a
/// pointer, such as `/items/0/name`.
#[tool(
    effect = "pure",
    tier = "fast",
    example(
        title = "by pointer",
        args = r#"{"json": {"items": [{"name": "a"}]}, "path": "/items/0/name"}"#
    ),
    example(
        title = "by JSONPath, from a text",
        args = r#"{"json": "[{\"price\": 5}, {\"price\": 50}]", "path": "$[?@.price < 10]"}"#
    )
)]
pub fn query(
    /// A JSON value, or JSON as a text.
    json: Value,
    /// A JSON Pointer or a JSONPath.
    path: String,
    /// How many values to return, at most 10000.
    #[default(1000)]
    limit: usize,
) -> Result<Answer, Failure> {
    let json = match json {
        Value::String(text) => {
            check_size(&text)?;
            serde_json::from_str(&text).or_bad_input("`json` is a text, but not JSON")?
        }
        other => other,
    };
    let found = if path.starts_with('$') {
        let path = JsonPath::parse(&path).or_bad_input("`path` is no JSONPath")?;
        path.query(&json).all()
    } else if path.is_empty() || path.starts_with('/') {
        json.pointer(&path).into_iter().collect()
    } else {
        bad_input!("`{path}` is no path: a JSON Pointer starts with `/`, a JSONPath with `$`");
    };
    collect(&found, limit.min(FOUND_MAX))
}

fn collect(found: &[&Value], limit: usize) -> Result<Answer, Failure> {
    let mut bytes = 0;
    let mut listed = Vec::new();
    for value in found.iter().take(limit) {
        bytes += value.to_string().len();
        if bytes > OUTCOME_BYTES_MAX {
            fail!("what was found has more than {OUTCOME_BYTES_MAX} bytes: ask for less");
        }
        listed.push((*value).clone());
    }
    Ok(Answer {
        truncated: found.len() > listed.len(),
        found: listed,
        total: found.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: Value, path: &str, expected: Value) {
        let answer = query(json, path.to_owned(), 100).unwrap();
        assert_eq!(Value::Array(answer.found), expected, "{path}");
    }

    #[test]
    fn pointers() {
        check(json!({"a": [1, 2]}), "/a/1", json!([2]));
        check(json!({"a/b": 1}), "/a~1b", json!([1]));
        check(json!([1]), "", json!([[1]]));
        check(json!([1]), "/7", json!([]));
        check(json!("{\"a\": 1}"), "/a", json!([1]));
    }

    #[test]
    fn paths() {
        let shop = json!({"items": [{"n": "a", "p": 5}, {"n": "bb", "p": 50}]});
        check(shop.clone(), "$.items[*].n", json!(["a", "bb"]));
        check(shop.clone(), "$.items[?@.p > 10].n", json!(["bb"]));
        check(shop.clone(), "$..p", json!([5, 50]));
        check(shop.clone(), "$.items[?length(@.n) == 2].p", json!([50]));
        check(shop, "$.items[?match(@.n, 'b+')].p", json!([50]));
    }

    #[test]
    fn wrong_paths_are_failures() {
        for path in ["a", "$[", "$.a["] {
            assert!(query(json!({}), path.to_owned(), 1).is_err(), "{path}");
        }
        assert!(query(json!("no json"), "/a".to_owned(), 1).is_err());
    }

    #[test]
    fn limits_are_told() {
        let answer = query(json!([1, 2, 3]), "$[*]".to_owned(), 2).unwrap();
        assert_eq!(
            (answer.found.len(), answer.total, answer.truncated),
            (2, 3, true)
        );
    }
}
