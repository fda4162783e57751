//! Issues in words: which argument it is, what is expected of it, and what may have been meant.
//!
//! A value is never repeated, only its kind is said; names of fields are, and so are the words of the schema.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::words::error::Issue;
use crate::words::id::shown;
use crate::words::near::nearest;

/// Names that one sentence lists.
const LISTED: usize = 12;

/// What is wrong in one place.
pub(super) fn said(error: &ValidationError<'_>, schema: &Value) -> Issue {
    Issue {
        path: error.instance_path().to_string(),
        message: words(error, schema),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the list of kinds is open, and not ours"
)]
fn words(error: &ValidationError<'_>, schema: &Value) -> String {
    let place = error.schema_path().to_string();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = fields_beside(schema, &place);
            let unknown = unexpected.iter().take(LISTED);
            let unknown: Vec<String> = unknown.map(|name| unknown_field(name, &known)).collect();
            unknown.join("; ")
        }
        ValidationErrorKind::FalseSchema => "nothing is taken here".to_owned(),
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => missing_field(name, beside(schema, &place)),
        ValidationErrorKind::Type { kind } => {
            let found = kind_of(error.instance());
            format!("expected {}, and this is {found}", types(kind))
        }
        ValidationErrorKind::Enum { options } => match options.as_array() {
            Some(options) if options.len() <= LISTED => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                format!("expected one of {}", options.join(", "))
            }
            Some(_) | None => error.masked_with("the value").to_string(),
        },
        _ => error.masked_with("the value").to_string(),
    }
}

fn unknown_field(name: &str, known: &[&str]) -> String {
    let there = format!("there is no `{}` here", shown(name));
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("{there}; did you mean `{}`?", shown(near));
    }
    match known.len() {
        0 => format!("{there}: nothing is taken"),
        count if count <= LISTED => {
            let known: Vec<String> = known
                .iter()
                .map(|name| format!("`{}`", shown(name)))
                .collect();
            format!("{there}; there is {}", known.join(", "))
        }
        _ => there,
    }
}

/// With what is expected there, if its schema says that in one word.
fn missing_field(name: &str, schema: Option<&Value>) -> String {
    let field = schema.and_then(|schema| schema.get("properties")?.get(name));
    let kind = field.and_then(|field| field.get("type")?.as_str());
    match kind {
        Some(kind) => format!("`{}` is missing, {}", shown(name), article(&shown(kind))),
        None => format!("`{}` is missing", shown(name)),
    }
}

/// The names that may stand where others do not.
fn fields_beside<'a>(schema: &'a Value, place: &str) -> Vec<&'a str> {
    let properties = beside(schema, place).and_then(|schema| schema.get("properties"));
    let fields = properties.and_then(Value::as_object);
    fields.map_or_else(Vec::new, |fields| {
        fields.keys().map(String::as_str).collect()
    })
}

/// The schema in which a keyword stands.
fn beside<'a>(schema: &'a Value, place: &str) -> Option<&'a Value> {
    let (inside, _) = place.rsplit_once('/')?;
    schema.pointer(inside)
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => article(one.as_str()),
        TypeKind::Multiple(many) => {
            let many: Vec<String> = many.into_iter().map(|one| article(one.as_str())).collect();
            many.join(" or ")
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "array" | "integer" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Schema;
    use super::*;

    /// The issues of a value, each as `path: message`.
    fn check(schema: Value, value: Value, expected: &[&str]) {
        let issues = Schema::compile(schema).unwrap().issues(&value);
        let told = issues
            .iter()
            .map(|issue| format!("{}: {}", issue.path, issue.message));
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    fn mail() -> Value {
        json!({
            "type": "object", "required": ["to"], "additionalProperties": false,
            "properties": {
                "to": {"type": "string"}, "copies": {"type": ["array", "null"], "items": {"$ref": "#/$defs/copy"}},
                "as": {"enum": ["text", "html"]},
            },
            "$defs": {"copy": {"type": "object", "properties": {"name": {}}, "additionalProperties": false}},
        })
    }

    #[test]
    fn an_argument_is_named_with_what_is_expected_of_it() {
        check(
            mail(),
            json!({"too": "canary"}),
            &[
                ": there is no `too` here; did you mean `to`?",
                ": `to` is missing, a string",
            ],
        );
        check(
            mail(),
            json!({"to": 3}),
            &["/to: expected a string, and this is a number"],
        );
        check(
            mail(),
            json!("x"),
            &[": expected an object, and this is a string"],
        );
        check(
            mail(),
            json!({"to": "a", "as": "canary"}),
            &[r#"/as: expected one of "text", "html""#],
        );
        check(
            mail(),
            json!({"to": "a", "copies": 1}),
            &["/copies: expected null or an array, and this is a number"],
        );
        check(
            mail(),
            json!({"to": "a", "colour": 1}),
            &[": there is no `colour` here; there is `as`, `copies`, `to`"],
        );
    }

    #[test]
    fn a_place_inside_is_named_with_what_may_be_there() {
        check(
            mail(),
            json!({"to": "a", "copies": [{"nmae": 1}]}),
            &["/copies/0: there is no `nmae` here; did you mean `name`?"],
        );
        let none = json!({"type": "object", "additionalProperties": false});
        check(none, json!({"a": 1}), &[": nothing is taken here"]);
    }
}
