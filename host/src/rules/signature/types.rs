//! Types of TypeScript that say what a JSON Schema says, as far as a type can.
//!
//! Whatever fits the schema fits the type, so that no call is talked out of what would be accepted;
//! what a type cannot say (patterns, ranges, `not`) is left out of it. Two liberties are taken, since
//! authors mean them: `properties` without a `type` describe an object, `items` an array. References
//! lead into the schema itself and are written out; one that leads elsewhere, or back to itself
//! without end, is `unknown`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::text::{key, quoted};
use crate::words::limits::{SIGNATURE_LITERALS, SIGNATURE_TYPE_BYTES};

/// Combinations and references inside one another, at one level of nesting.
const HOPS: usize = 16;
/// A reference.
const REFERENCE_BYTES: usize = 256;
/// A literal; longer ones are told by their type.
const LITERAL_BYTES: usize = 128;
/// Up to here JavaScript tells integers apart.
const SAFE_INTEGER: u64 = 1 << 53;

/// The type of a schema, at most [`SIGNATURE_TYPE_BYTES`] long and `deepest` deep. What
/// would be longer is told less deeply.
pub(super) fn type_of(schema: &Value, deepest: usize) -> String {
    for depth in (1..=deepest).rev() {
        let mut reader = Reader {
            root: schema,
            left: SIGNATURE_TYPE_BYTES,
            spent: false,
        };
        let read = reader.read(schema, Place { depth, hops: HOPS });
        if reader.spent {
            continue;
        }
        let mut text = String::new();
        read.print(&mut text, false);
        if text.len() <= SIGNATURE_TYPE_BYTES {
            return text;
        }
    }
    "unknown".to_owned()
}

/// A schema within `root`, behind its references.
pub(super) fn behind<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut at = schema;
    for _ in 0..HOPS {
        match at.get("$ref").and_then(|to| target(root, to)) {
            Some(next) => at = next,
            None => return at,
        }
    }
    at
}

/// Names of an object's fields in the order in which they are told, each with its schema: what must
/// be there as the author ordered it, then the rest by name.
pub(super) fn fields(map: &Map<String, Value>) -> Vec<Field<'_>> {
    let declared = map.get("properties").and_then(Value::as_object);
    let required = list(map, "required").iter().filter_map(Value::as_str);
    let mut seen = BTreeSet::new();
    let mut fields = Vec::new();
    for name in required {
        if seen.insert(name) {
            let schema = declared.and_then(|declared| declared.get(name));
            fields.push(Field {
                name,
                schema,
                required: true,
            });
        }
    }
    for (name, schema) in declared.into_iter().flatten() {
        if !seen.contains(name.as_str()) {
            fields.push(Field {
                name,
                schema: Some(schema),
                required: false,
            });
        }
    }
    fields
}

/// A field of an object.
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    /// Nothing where it is required and not described.
    pub(super) schema: Option<&'a Value>,
    pub(super) required: bool,
}

fn target<'a>(root: &'a Value, to: &Value) -> Option<&'a Value> {
    let to = to.as_str().filter(|to| to.len() <= REFERENCE_BYTES)?;
    root.pointer(to.strip_prefix('#')?)
}

fn list<'a>(map: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    map.get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A type.
#[derive(Clone, PartialEq)]
enum Type {
    Unknown,
    Never,
    Scalar(Scalar),
    Object {
        fields: Vec<(String, bool, Type)>,
        others: Option<Box<Type>>,
    },
    Array(Box<Type>),
    Tuple {
        items: Vec<(Type, bool)>,
        others: Option<Box<Type>>,
    },
    OneOf(Vec<Type>),
    AllOf(Vec<Type>),
}

/// A type of values without parts, or one such value.
#[derive(Clone, PartialEq)]
struct Scalar {
    text: String,
    /// `text` itself for all values of a type.
    of: &'static str,
}

fn plain(of: &'static str) -> Type {
    let text = of.to_owned();
    Type::Scalar(Scalar { text, of })
}

/// How much further down it may go.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    hops: usize,
}

impl Place {
    fn hop(self) -> Option<Self> {
        let hops = self.hops.checked_sub(1)?;
        Some(Self { hops, ..self })
    }

    fn inside(self) -> Option<Self> {
        let depth = self.depth.checked_sub(1)?;
        Some(Self { depth, hops: HOPS })
    }
}

/// Reads a schema. Every list is paid for before it is walked, at less than what it takes when it
/// is printed, so that neither doubling references nor long lists make it run long.
struct Reader<'a> {
    root: &'a Value,
    left: usize,
    spent: bool,
}

impl<'a> Reader<'a> {
    fn pay(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                self.spent = true;
                self.left = 0;
            }
        }
        !self.spent
    }

    fn read(&mut self, schema: &'a Value, at: Place) -> Type {
        if !self.pay(1) {
            return Type::Unknown;
        }
        match schema {
            Value::Bool(false) => Type::Never,
            Value::Object(map) => self.combined(map, at),
            Value::Bool(true)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Type::Unknown,
        }
    }

    fn combined(&mut self, map: &'a Map<String, Value>, at: Place) -> Type {
        let Some(next) = at.hop() else {
            return Type::Unknown;
        };
        let mut parts = Vec::new();
        if let Some(to) = map.get("$ref") {
            let referred = target(self.root, to);
            parts.push(referred.map_or(Type::Unknown, |schema| self.read(schema, next)));
        }
        parts.extend(self.each(list(map, "allOf"), next));
        for keyword in ["anyOf", "oneOf"] {
            let cases = list(map, keyword);
            if !cases.is_empty() {
                parts.push(one_of(self.each(cases, next)));
            }
        }
        parts.push(self.own(map, at));
        all_of(parts)
    }

    fn each(&mut self, schemas: &'a [Value], at: Place) -> Vec<Type> {
        if !self.pay(schemas.len()) {
            return Vec::new();
        }
        let read = schemas.iter().map(|schema| self.read(schema, at));
        read.collect()
    }

    /// What a schema says without its combinations and references.
    fn own(&mut self, map: &'a Map<String, Value>, at: Place) -> Type {
        let types = types(map);
        // An implied type keeps nothing out.
        let named: &[&str] = if map.contains_key("type") {
            &types
        } else {
            &[]
        };
        if let Some(value) = map.get("const") {
            return self.literals(std::slice::from_ref(value), named);
        }
        let values = map.get("enum").and_then(Value::as_array);
        if let Some(values) = values.filter(|values| values.len() <= SIGNATURE_LITERALS) {
            return self.literals(values, named);
        }
        if !self.pay(types.len()) || types.is_empty() {
            return Type::Unknown;
        }
        let read = types.iter().map(|name| match *name {
            "string" => plain("string"),
            "number" | "integer" => plain("number"),
            "boolean" => plain("boolean"),
            "null" => plain("null"),
            "array" => self.array(map, at),
            "object" => self.object(map, at),
            _ => Type::Unknown,
        });
        one_of(read.collect())
    }

    fn literals(&mut self, values: &[Value], types: &[&str]) -> Type {
        let fits = |value: &&Value| types.is_empty() || types.iter().any(|name| is_of(value, name));
        let mut cases = Vec::new();
        for value in values.iter().filter(fits) {
            let literal = literal(value);
            if let Type::Scalar(scalar) = &literal
                && !self.pay(scalar.text.len())
            {
                break;
            }
            cases.push(literal);
        }
        one_of(cases)
    }

    fn array(&mut self, map: &'a Map<String, Value>, at: Place) -> Type {
        let Some(inside) = at.inside() else {
            return Type::Unknown;
        };
        let first = list(map, "prefixItems");
        let others = map.get("items");
        if first.is_empty() {
            let item = others.map_or(Type::Unknown, |items| self.read(items, inside));
            return Type::Array(Box::new(item));
        }
        let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let required = |index: usize| u64::try_from(index).is_ok_and(|index| index < least);
        let read = self.each(first, inside).into_iter().enumerate();
        let items = read.map(|(index, item)| (item, required(index))).collect();
        let others = match others {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(Box::new(self.read(schema, inside))),
            None => Some(Box::new(Type::Unknown)),
        };
        Type::Tuple { items, others }
    }

    fn object(&mut self, map: &'a Map<String, Value>, at: Place) -> Type {
        let Some(inside) = at.inside() else {
            return Type::Unknown;
        };
        let declared = map.get("properties").and_then(Value::as_object);
        let patterns = map.get("patternProperties").and_then(Value::as_object);
        let count = |map: Option<&Map<String, Value>>| map.map_or(0, Map::len);
        let sum = [
            count(declared),
            count(patterns),
            list(map, "required").len(),
        ];
        if !self.pay(sum.into_iter().fold(0, usize::saturating_add)) {
            return Type::Unknown;
        }
        let additional = map.get("additionalProperties");
        let mut others: Vec<Type> = patterns
            .into_iter()
            .flat_map(Map::values)
            .map(|schema| self.read(schema, inside))
            .collect();
        others.push(match additional {
            Some(schema) => self.read(schema, inside),
            None => Type::Unknown,
        });
        let others = one_of(others);
        let mut told = Vec::new();
        for field in fields(map) {
            if !self.pay(field.name.len()) {
                return Type::Unknown;
            }
            // Read anew for each field, and so paid for anew: copies inside copies would double.
            let undeclared = additional.filter(|_| count(patterns) == 0);
            let read = match field.schema.or(undeclared) {
                Some(schema) => self.read(schema, inside),
                None => Type::Unknown,
            };
            told.push((key(field.name), field.required, read));
        }
        let others = if told.is_empty() {
            Some(others)
        } else {
            // TypeScript wants every field to fit the index, so beside fields it is everything.
            let is_open = additional.is_some_and(|schema| *schema != Value::Bool(false))
                || count(patterns) > 0;
            is_open.then_some(Type::Unknown)
        };
        Type::Object {
            fields: told,
            others: others.map(Box::new),
        }
    }
}

/// The types that a schema names, or that its keywords imply.
fn types(map: &Map<String, Value>) -> Vec<&str> {
    match map.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        // Seven at most are different.
        Some(Value::Array(names)) => names.iter().take(7).filter_map(Value::as_str).collect(),
        Some(_) => Vec::new(),
        None if map.contains_key("properties") => vec!["object"],
        None if map.contains_key("items") || map.contains_key("prefixItems") => vec!["array"],
        None => Vec::new(),
    }
}

/// Whether all numbers of a schema are whole.
pub(super) fn is_whole(schema: &Map<String, Value>) -> bool {
    let types = types(schema);
    types.contains(&"integer") && !types.contains(&"number")
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            let is_whole = || number.as_f64().is_some_and(|number| number.fract() == 0.0);
            name == "number" || name == "integer" && (!number.is_f64() || is_whole())
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// The type of one value; wider where a literal would be long, inexact or structured.
fn literal(value: &Value) -> Type {
    let of = |text: String, of: &'static str| {
        if text.len() <= LITERAL_BYTES {
            Type::Scalar(Scalar { text, of })
        } else {
            plain(of)
        }
    };
    match value {
        Value::Null => plain("null"),
        Value::Bool(value) => of(value.to_string(), "boolean"),
        Value::Number(number) => {
            let exact = match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => whole.unsigned_abs() <= SAFE_INTEGER,
                (None, Some(_)) => false,
                (None, None) => true,
            };
            if exact {
                of(number.to_string(), "number")
            } else {
                plain("number")
            }
        }
        Value::String(text) if text.len() > LITERAL_BYTES => plain("string"),
        Value::String(text) => of(quoted(text), "string"),
        Value::Array(_) => Type::Array(Box::new(Type::Unknown)),
        Value::Object(_) => Type::Object {
            fields: Vec::new(),
            others: Some(Box::new(Type::Unknown)),
        },
    }
}

/// Any of these.
fn one_of(cases: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for case in cases {
        let members = match case {
            Type::Unknown => return Type::Unknown,
            Type::OneOf(members) => members,
            Type::Never => Vec::new(),
            Type::Scalar(_)
            | Type::Object { .. }
            | Type::Array(_)
            | Type::Tuple { .. }
            | Type::AllOf(_) => vec![case],
        };
        for member in members {
            if !flat.contains(&member) {
                flat.push(member);
            }
        }
    }
    if flat.len() > 1 {
        return Type::OneOf(flat);
    }
    flat.pop().unwrap_or(Type::Never)
}

/// All of these at once.
fn all_of(parts: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for part in parts {
        let members = match part {
            Type::Never => return Type::Never,
            Type::AllOf(members) => members,
            Type::Unknown => Vec::new(),
            Type::Scalar(_)
            | Type::Object { .. }
            | Type::Array(_)
            | Type::Tuple { .. }
            | Type::OneOf(_) => vec![part],
        };
        for member in members {
            if !flat.contains(&member) {
                flat.push(member);
            }
        }
    }
    // `("a" | "b") & string` says no more than its literals.
    let implied = |part: &Type| match part {
        Type::Scalar(scalar) if scalar.text == scalar.of => flat
            .iter()
            .any(|other| other != part && is_within(other, scalar.of)),
        Type::Scalar(_)
        | Type::Unknown
        | Type::Never
        | Type::Object { .. }
        | Type::Array(_)
        | Type::Tuple { .. }
        | Type::OneOf(_)
        | Type::AllOf(_) => false,
    };
    let mut kept: Vec<Type> = flat.iter().filter(|part| !implied(part)).cloned().collect();
    if kept.len() > 1 {
        return Type::AllOf(kept);
    }
    kept.pop().unwrap_or(Type::Unknown)
}

/// Whether a type has only values of a scalar one.
fn is_within(part: &Type, of: &str) -> bool {
    match part {
        Type::Scalar(scalar) => scalar.of == of,
        Type::OneOf(members) => members.iter().all(|member| is_within(member, of)),
        Type::Unknown
        | Type::Never
        | Type::Object { .. }
        | Type::Array(_)
        | Type::Tuple { .. }
        | Type::AllOf(_) => false,
    }
}

impl Type {
    /// Prints it; `tight` where something follows or surrounds it that binds closer than `|`.
    fn print(&self, out: &mut String, tight: bool) {
        match self {
            Self::Unknown => out.push_str("unknown"),
            Self::Never => out.push_str("never"),
            Self::Scalar(scalar) => out.push_str(&scalar.text),
            Self::Array(item) => {
                item.print(out, true);
                out.push_str("[]");
            }
            Self::Tuple { items, others } => print_tuple(out, items, others.as_deref()),
            Self::Object { fields, others } => print_object(out, fields, others.as_deref()),
            Self::OneOf(members) => print_joined(out, members, (" | ", tight)),
            Self::AllOf(members) => print_joined(out, members, (" & ", tight)),
        }
    }
}

fn print_joined(out: &mut String, members: &[Type], (sign, tight): (&str, bool)) {
    if tight {
        out.push('(');
    }
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            out.push_str(sign);
        }
        member.print(out, true);
    }
    if tight {
        out.push(')');
    }
}

fn print_tuple(out: &mut String, items: &[(Type, bool)], others: Option<&Type>) {
    out.push('[');
    for (index, (item, required)) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        item.print(out, true);
        if !required {
            out.push('?');
        }
    }
    if let Some(others) = others {
        out.push_str(", ...");
        others.print(out, true);
        out.push_str("[]");
    }
    out.push(']');
}

fn print_object(out: &mut String, fields: &[(String, bool, Type)], others: Option<&Type>) {
    let mut sign = "{ ";
    for (key, required, read) in fields {
        out.push_str(sign);
        sign = "; ";
        out.push_str(key);
        out.push_str(if *required { ": " } else { "?: " });
        read.print(out, false);
    }
    if let Some(others) = others {
        out.push_str(sign);
        out.push_str("[key: string]: ");
        others.print(out, false);
    }
    out.push_str(" }");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::limits::SIGNATURE_DEPTH;

    #[track_caller]
    fn check(schema: Value, wanted: &str) {
        let shown: String = schema.to_string().chars().take(500).collect();
        assert_eq!(type_of(&schema, SIGNATURE_DEPTH), wanted, "{shown}");
    }

    #[test]
    fn scalars_and_literals() {
        check(json!({"type": "string", "format": "date"}), "string");
        check(json!({"type": "integer"}), "number");
        check(json!({"type": ["string", "null"]}), "string | null");
        check(json!({"type": ["integer", "number"]}), "number");
        check(
            json!({"enum": ["a", 1, 1.5, true, null]}),
            r#""a" | 1 | 1.5 | true | null"#,
        );
        check(json!({"type": "string", "enum": ["a", null]}), r#""a""#);
        check(json!({"const": -2}), "-2");
        check(json!({"const": 9_007_199_254_740_993_u64}), "number");
        check(json!({"const": {"a": 1}}), "{ [key: string]: unknown }");
        check(json!({"const": "a\u{202e}\n\"*/"}), r#""a\u202e\n\"*/""#);
        check(json!({"const": "a".repeat(200)}), "string");
        check(
            json!({"enum": (0..65).collect::<Vec<_>>(), "type": "integer"}),
            "number",
        );
        check(json!({"enum": []}), "never");
    }

    #[test]
    fn what_says_nothing_is_unknown() {
        for schema in [
            json!(true),
            json!({}),
            json!(7),
            json!({"type": "file"}),
            json!({"type": []}),
            json!({"not": {"type": "string"}}),
            json!({"description": "x"}),
            json!({"$ref": "http://a.test/"}),
            json!({"$ref": "#/$defs/none"}),
        ] {
            check(schema, "unknown");
        }
        check(json!(false), "never");
    }

    #[test]
    fn objects() {
        check(json!({"type": "object"}), "{ [key: string]: unknown }");
        check(
            json!({"type": "object", "additionalProperties": false}),
            "{ [key: string]: never }",
        );
        check(
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "{ [key: string]: string }",
        );
        check(
            json!({"properties": {"b": {}, "a": {"type": "null"}, "z": false}, "required": ["b", "y", "b"]}),
            "{ b: unknown; y: unknown; a?: null; z?: never }",
        );
        check(
            json!({"properties": {"a b": true, "new": true}, "additionalProperties": {"type": "string"}}),
            r#"{ "a b"?: unknown; new?: unknown; [key: string]: unknown }"#,
        );
        check(
            json!({"type": "object", "patternProperties": {"^x": {"type": "null"}}, "additionalProperties": false}),
            "{ [key: string]: null }",
        );
    }

    #[test]
    fn arrays_and_tuples() {
        check(json!({"type": "array"}), "unknown[]");
        check(
            json!({"items": {"type": ["string", "null"]}}),
            "(string | null)[]",
        );
        check(json!({"items": false}), "never[]");
        check(
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": ["null", "number"]}], "minItems": 1}),
            "[string, (null | number)?, ...unknown[]]",
        );
        check(
            json!({"prefixItems": [true], "items": false, "minItems": 1}),
            "[unknown]",
        );
    }

    #[test]
    fn combinations() {
        check(
            json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}),
            "string | null",
        );
        check(
            json!({"type": "string", "oneOf": [{"const": "a"}, {"const": "b"}]}),
            r#""a" | "b""#,
        );
        check(
            json!({"allOf": [{"properties": {"a": true}}, {"anyOf": [{"type": "null"}, {"properties": {"b": true}}]}]}),
            "{ a?: unknown } & (null | { b?: unknown })",
        );
        check(
            json!({"type": "object", "properties": {"a": true}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            "{ a?: unknown }",
        );
        check(json!({"anyOf": [{"type": "string"}, {}]}), "unknown");
        check(json!({"allOf": [{"type": "string"}, false]}), "never");
    }

    #[test]
    fn references_are_written_out_and_end() {
        check(
            json!({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n", "description": "x"}}),
            "number[]",
        );
        check(json!({"$ref": "#"}), "unknown");
        check(
            json!({"properties": {"next": {"$ref": "#"}}}),
            "{ next?: { next?: { next?: { next?: unknown } } } }",
        );
    }

    #[test]
    fn what_is_deeper_than_four_is_unknown() {
        let mut schema = json!({"type": "string"});
        for _ in 0..4 {
            schema = json!({"items": schema});
        }
        check(schema.clone(), "string[][][][]");
        check(json!({ "items": schema }), "unknown[][][][]");
    }

    #[test]
    fn what_would_be_long_is_told_less_deeply() {
        let names = |count: usize, of: Value| -> Value {
            let named = (0..count).map(|index| (format!("field_{index}"), of.clone()));
            json!({ "properties": named.collect::<Map<_, _>>() })
        };
        let wide = names(20, names(20, json!({"type": "string"})));
        let text = type_of(&wide, SIGNATURE_DEPTH);
        assert!(text.starts_with("{ field_0?: unknown; "), "{text}");
        check(names(1_000, json!({"type": "string"})), "unknown");
        check(
            json!({"const": 1, "items": names(10_000, json!(true))}),
            "1",
        );
    }

    #[test]
    fn hostile_schemas_end_at_once() {
        let mut doubling = Map::new();
        for step in 0..50 {
            let next = json!({"$ref": format!("#/$defs/d{}", step + 1)});
            doubling.insert(
                format!("d{step}"),
                json!({"allOf": [next, next], "anyOf": [next, next]}),
            );
        }
        let many: Vec<String> = (0..50_000).map(|index| format!("r{index}")).collect();
        doubling.insert(
            "d50".into(),
            json!({"required": many.clone(), "type": "object"}),
        );
        let to = |target: &str| json!({"$ref": target});
        let long = "k".repeat(100_000);
        let refs = vec![to("#/$defs/d0"); 1_000];
        let cases = [
            json!({"$ref": "#/$defs/d0", "$defs": doubling}),
            json!({"items": {"anyOf": refs}, "$defs": doubling}),
            json!({"type": "object", "required": many}),
            json!({"properties": {long.as_str(): {"type": "string"}}}),
            json!({"$ref": format!("#/{long}")}),
            json!({"type": vec!["string"; 100_000]}),
            json!({"enum": vec!["string"; 100_000]}),
            json!({"prefixItems": vec![json!(true); 100_000]}),
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}]}),
        ];
        for schema in cases {
            let text = type_of(&schema, SIGNATURE_DEPTH);
            assert!(text.len() <= SIGNATURE_TYPE_BYTES, "{text}");
        }
    }
}
