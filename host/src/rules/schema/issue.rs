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
/// Characters of a value that is repeated as the schema has it. Of a longer one is said how long it is: nobody reads it, and half of
/// it says nothing.
const VALUE_CHARS: usize = 120;

static NULL: Value = Value::Null;

/// What is wrong in one place. Where a choice is made by a tag, that is what is wrong with the one that was chosen.
pub(super) fn said(error: &ValidationError<'_>, schema: &Value) -> Issue {
    if let Some(inner) = of_chosen(error, schema) {
        return said(inner, schema);
    }
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
            Some(options) => {
                let options: Vec<&Value> = options.iter().collect();
                one_of(&options, error.instance())
            }
            None => error.masked_with("the value").to_string(),
        },
        ValidationErrorKind::Constant { expected_value } => {
            one_of(&[&**expected_value], error.instance())
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            let choice = choice(error.instance(), branches(schema, &place), schema);
            choice.unwrap_or_else(|| error.masked_with("the value").to_string())
        }
        _ => error.masked_with("the value").to_string(),
    }
}

/// The schemas of which one has to fit.
fn branches<'a>(schema: &'a Value, place: &str) -> &'a [Value] {
    let branches = schema.pointer(place).and_then(Value::as_array);
    branches.map_or(&[][..], Vec::as_slice)
}

/// What fits none of several schemas, where these are values, or objects that differ in a tag.
fn choice(found: &Value, branches: &[Value], root: &Value) -> Option<String> {
    let lists: Option<Vec<Vec<&Value>>> = branches.iter().map(|one| values(one, root)).collect();
    if let Some(lists) = lists {
        return Some(one_of(&lists.concat(), found));
    }
    let (tag, tags) = tagged(branches, root)?;
    let listed = |value: &Value| format!("`{}`: {}", shown(tag), one_of(&tags, value));
    Some(match found {
        Value::Object(fields) => fields.get(tag).map_or_else(
            || format!("`{}` is missing: {}", shown(tag), one_of(&tags, &NULL)),
            listed,
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let is = kind_of(found);
            format!(
                "expected an object with {}, and this is {is}",
                listed(&NULL)
            )
        }
    })
}

/// What is wrong with the one of several objects that a tag has chosen.
fn of_chosen<'a>(
    error: &'a ValidationError<'_>,
    schema: &Value,
) -> Option<&'a ValidationError<'static>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return None;
    };
    let place = error.schema_path().to_string();
    let (tag, tags) = tagged(branches(schema, &place), schema)?;
    let said = error.instance().get(tag)?;
    let chosen = tags.iter().position(|tag| *tag == said)?;
    context.get(chosen)?.first()
}

/// The values that fit a schema, where it lists them.
fn values<'a>(schema: &'a Value, root: &'a Value) -> Option<Vec<&'a Value>> {
    let schema = followed(schema, root)?;
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    if let Some(values) = schema.get("enum") {
        return Some(values.as_array()?.iter().collect());
    }
    if schema.get("type").is_some_and(|kind| kind == "null") {
        return Some(vec![&NULL]);
    }
    let branches = schema.get("oneOf").or_else(|| schema.get("anyOf"))?;
    let lists = branches.as_array()?.iter().map(|one| values(one, root));
    Some(lists.collect::<Option<Vec<_>>>()?.concat())
}

/// The field in which all of several objects have a value of their own, and those values.
fn tagged<'a>(branches: &'a [Value], root: &'a Value) -> Option<(&'a str, Vec<&'a Value>)> {
    let tag_of = |branch: &'a Value, name: &str| {
        let field = followed(branch, root)?.get("properties")?.get(name)?;
        let values = values(field, root)?;
        values.first().copied().filter(|_| values.len() == 1)
    };
    let first = followed(branches.first()?, root)?.get("properties")?;
    let mut names = first.as_object()?.keys();
    names.find_map(|name| {
        let tags = branches.iter().map(|branch| tag_of(branch, name));
        Some((name.as_str(), tags.collect::<Option<Vec<_>>>()?))
    })
}

/// A schema, or the one that it refers to: a schema that compiles has no circle.
fn followed<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(to) => followed(root.pointer(to.strip_prefix('#')?)?, root),
        None => Some(schema),
    }
}

/// What is expected, with the one that was meant where what was found is near it.
fn one_of(values: &[&Value], found: &Value) -> String {
    let listed = values.iter().take(LISTED);
    let listed: Vec<String> = listed.map(|value| repeated(value)).collect();
    let which = if values.len() == 1 { "" } else { "one of " };
    let more = if values.len() > LISTED { ", …" } else { "" };
    let expected = format!("expected {which}{}{more}", listed.join(", "));
    let words = values.iter().filter_map(|value| value.as_str());
    match found.as_str().and_then(|found| nearest(found, words)) {
        Some(near) => format!("{expected}; did you mean {}?", Value::from(near)),
        None => expected,
    }
}

fn repeated(value: &Value) -> String {
    let text = value.to_string();
    match text.chars().count() {
        0..=VALUE_CHARS => text,
        chars => format!("a value of {chars} characters"),
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
            json!({"enum": ["a", "b".repeat(1_000)]}),
            json!("c"),
            &[": expected one of \"a\", a value of 1002 characters"],
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
    fn a_choice_of_values_lists_them() {
        let mode = json!({"oneOf": [
            {"const": "create", "type": "string"}, {"const": "replace"}, {"enum": ["append"]},
        ]});
        let listed = r#"expected one of "create", "replace", "append""#;
        check(mode.clone(), json!("x"), &[&format!(": {listed}")]);
        let near = format!(r#": {listed}; did you mean "create"?"#);
        check(mode.clone(), json!("creat"), &[&near]);
        let maybe = json!({
            "properties": {"mode": {"anyOf": [{"$ref": "#/$defs/mode"}, {"type": "null"}]}},
            "$defs": {"mode": mode},
        });
        check(
            maybe,
            json!({"mode": 1}),
            &[&format!("/mode: {listed}, null")],
        );
        check(json!({"const": "a"}), json!(1), &[r#": expected "a""#]);
        let many: Vec<u8> = (0..20).collect();
        let listed: Vec<String> = (0..12).map(|one| one.to_string()).collect();
        let listed = format!(": expected one of {}, …", listed.join(", "));
        check(json!({"enum": many}), json!("x"), &[&listed]);
    }

    #[test]
    fn a_choice_of_objects_says_by_which_tag_it_is_made() {
        let shape = json!({"oneOf": [
            {"type": "object", "required": ["kind", "r"],
             "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}},
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "square"}}},
        ]});
        let listed = r#"expected one of "circle", "square""#;
        check(
            shape.clone(),
            json!({"kind": "canary"}),
            &[&format!(": `kind`: {listed}")],
        );
        check(
            shape.clone(),
            json!({}),
            &[&format!(": `kind` is missing: {listed}")],
        );
        check(
            shape.clone(),
            json!(1),
            &[&format!(
                ": expected an object with `kind`: {listed}, and this is a number"
            )],
        );
        check(
            shape,
            json!({"kind": "circle", "r": "canary"}),
            &["/r: expected a number, and this is a string"],
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
