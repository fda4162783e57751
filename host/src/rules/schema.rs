//! Schemas: what a tool takes and gives, as compiled JSON Schema.
//!
//! References outside the schema are refused, and patterns run on a linear-time engine, so a hostile
//! manifest can neither reach the network nor stall the host.

use std::fmt;

use serde_json::Value;

use super::json;
use crate::words::error::{Code, Error, Issue, Result};
use crate::words::id::Digest;
use crate::words::limits::{ARGS_BYTES, JSON_DEPTH};

/// A compiled JSON Schema.
pub struct Schema {
    source: Value,
    validator: jsonschema::Validator,
}

/// Issues that one message lists.
const ISSUES_LISTED: usize = 16;
/// Values of a schema, counted over its whole tree: bounds the work of compiling it.
const SCHEMA_VALUES: usize = 20_000;

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// `BadPlugin` for one that is no schema, too large, too deep, or refers outside itself.
    pub fn compile(source: Value) -> Result<Self> {
        if count(&source, 0).is_none_or(|values| values > SCHEMA_VALUES) {
            return Err(Error::bad_plugin(format!(
                "a schema has more than {SCHEMA_VALUES} values or is nested deeper than {JSON_DEPTH}"
            )));
        }
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&source)
            .map_err(|error| Error::bad_plugin(format!("not a usable JSON Schema: {error}")))?;
        Ok(Self { source, validator })
    }

    /// The schema as it was given.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// What is wrong with a value, place by place; nothing where it fits.
    #[must_use]
    pub fn issues(&self, value: &Value) -> Vec<Issue> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let errors = self.validator.iter_errors(value).take(ISSUES_LISTED);
        errors
            .map(|error| Issue {
                path: error.instance_path().to_string(),
                message: error.masked_with("the value").to_string(),
            })
            .collect()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Schema")
    }
}

fn count(value: &Value, depth: usize) -> Option<usize> {
    if depth > JSON_DEPTH {
        return None;
    }
    match value {
        Value::Array(items) => items
            .iter()
            .try_fold(1, |sum, item| Some(sum + count(item, depth + 1)?)),
        Value::Object(map) => map
            .values()
            .try_fold(1, |sum, item| Some(sum + count(item, depth + 1)?)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(1),
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
            return Err(Error::too_big("the arguments", ARGS_BYTES, text.len()));
        }
        let issues = schema.issues(&value);
        if issues.is_empty() {
            return Ok(Self { value, text });
        }
        Err(Error::new(Code::BadArgs, "Invalid action input.").issues(issues))
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
