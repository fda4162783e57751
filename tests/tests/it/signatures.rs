//! Signatures: what is printed parses, and describes the calls that the schema takes (G-39).

use lazaret::rules::schema::Schema;
use lazaret::rules::signature::{Brevity, HANDLES, Listed, declaration};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::typescript::{self, Method, Reading};
use proptest::prelude::*;

fn read_back(tools: &[Listed<'_>], reading: Reading) -> Vec<Method> {
    let text = declaration(tools);
    typescript::declaration(&text, reading).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn compile(schema: &Value) -> Schema {
    Schema::compile(schema.clone()).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// Numbers without a pattern that is worth knowing.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

const KEYS: [&str; 6] = ["a", "b", "a b", "new", "__proto__", "é\"\u{202e}"];

fn any(dice: &mut Dice, depth: usize) -> Value {
    let plain = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2.5),
        json!("a"),
        json!("x*/"),
    ];
    match dice.roll(if depth == 0 { 5 } else { 7 }) {
        5 => (0..dice.roll(4)).map(|_| any(dice, depth - 1)).collect(),
        6 => {
            let fields =
                (0..dice.roll(4)).map(|_| ((*dice.pick(&KEYS)).to_owned(), any(dice, depth - 1)));
            Value::Object(fields.collect())
        }
        _ => dice.pick(&plain).clone(),
    }
}

/// A value that fits a schema as a rule: one that cannot be had is answered by any.
fn sample(root: &Value, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    if depth == 0 || schema.is_boolean() {
        return any(dice, depth.min(1));
    }
    if let Some(to) = schema["$ref"].as_str() {
        return sample(root, root.pointer(&to[1..]).unwrap(), dice, depth - 1);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(cases) = schema[keyword].as_array() {
            return sample(root, dice.pick(cases), dice, depth - 1);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut all = sample(root, &parts[0], dice, depth - 1);
        for part in &parts[1..] {
            let more = sample(root, part, dice, depth - 1);
            if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
                all.extend(more);
            }
        }
        return all;
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema["enum"]
        .as_array()
        .filter(|values| !values.is_empty())
    {
        return dice.pick(values).clone();
    }
    let word = match &schema["type"] {
        Value::Array(words) => dice.pick(words).as_str(),
        word => word.as_str(),
    };
    match word {
        Some("string") => json!(dice.pick(&["", "a", "ab", "x*/"])),
        Some("number") => dice.pick(&[json!(0), json!(1), json!(2.5)]).clone(),
        Some("integer") => json!(dice.roll(3)),
        Some("boolean") => json!(dice.roll(2) == 0),
        Some("null") => json!(null),
        Some("array") => {
            let first = schema["prefixItems"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            let least = schema["minItems"].as_u64().unwrap_or(0);
            let length = usize::try_from(least).unwrap() + dice.roll(4);
            let of = |index: usize| first.get(index).or(schema.get("items"));
            (0..length)
                .map(|index| sample(root, of(index).unwrap_or(&json!(true)), dice, depth - 1))
                .collect()
        }
        Some("object") => fields(root, schema, dice, depth),
        _ => any(dice, depth - 1),
    }
}

fn fields(root: &Value, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut value = serde_json::Map::new();
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&json!(name)) || dice.roll(2) == 0 {
            value.insert(name.clone(), sample(root, of, dice, depth - 1));
        }
    }
    let others = schema
        .get("additionalProperties")
        .unwrap_or(&Value::Bool(true));
    for name in required.iter().filter_map(Value::as_str) {
        if !value.contains_key(name) {
            value.insert(name.to_owned(), sample(root, others, dice, depth - 1));
        }
    }
    let name = *dice.pick(&KEYS);
    if *others != json!(false) && dice.roll(2) == 0 && schema["properties"].get(name).is_none() {
        value.insert(name.to_owned(), sample(root, others, dice, depth - 1));
    }
    Value::Object(value)
}

fn plain() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(true),
        json!(false),
        json!({"type": "string", "description": "*/ evil"}),
        json!({"type": "number"}),
        json!({"type": "boolean"}),
        json!({"type": "null"}),
        json!({"type": ["string", "null"]}),
        json!({"enum": ["a", 1, 2.5, null, true]}),
        json!({"type": "string", "enum": ["a", "x*/", null]}),
        json!({"type": "number", "anyOf": [{"const": 0}, {"const": 2.5}]}),
        json!({"const": "a\n\"\u{202e}"}),
        json!({"const": -1.5}),
        json!({"$ref": "#/$defs/d"}),
    ])
}

/// What a type can say only in part.
fn lossy() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"type": "integer", "minimum": 1, "default": 7}),
        json!({"type": "string", "pattern": "^a", "minLength": 1, "format": "x"}),
        json!({"const": [1]}),
        json!({"enum": [{"a": 1}, "a", 9_007_199_254_740_993_u64]}),
        json!({"not": {"type": "string"}}),
        json!({"oneOf": [{"type": "number"}, {"const": 1}]}),
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true}),
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "patternProperties": {"^a": {"type": "null"}}, "additionalProperties": false}),
        json!({"type": "object", "patternProperties": {"^a": {"type": "null"}}, "required": ["a"]}),
        json!({"type": "object", "required": ["b"], "additionalProperties": {"type": "string"}}),
        json!({"$ref": "#/$defs/d", "type": "string"}),
    ])
}

/// Objects of some fields; with `closed`, all others are forbidden.
fn object(of: impl Strategy<Value = Value>, closed: bool) -> impl Strategy<Value = Value> {
    let fields = prop::collection::btree_map(prop::sample::select(KEYS.to_vec()), of, 1..4);
    let required = prop::sample::subsequence(KEYS.to_vec(), 0..3);
    (fields, required).prop_map(move |(properties, required)| {
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if closed {
            schema["additionalProperties"] = json!(false);
        }
        schema
    })
}

fn nested(leaf: BoxedStrategy<Value>, closed: bool) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(4, 16, 3, move |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        let array = inner.clone().prop_map(|items| json!({"type": "array", "items": items}));
        let tuple = (some(), 0..2_usize, prop::option::of(inner.clone())).prop_map(|(items, least, others)| {
            json!({"type": "array", "prefixItems": items, "minItems": least, "items": others.unwrap_or(json!(false))})
        });
        let map = inner.clone().prop_map(|of| json!({"type": "object", "additionalProperties": of}));
        // Closed objects are never both, in a schema; in a type they are.
        let joined = if closed { "anyOf" } else { "allOf" };
        prop_oneof![
            2 => object(inner.clone(), closed),
            1 => array,
            1 => tuple,
            1 => map,
            1 => some().prop_map(|cases| json!({"anyOf": cases})),
            1 => some().prop_map(move |parts| json!({joined: parts})),
        ]
    })
}

/// A schema with a definition that others refer to.
fn whole(leaf: BoxedStrategy<Value>, closed: bool) -> impl Strategy<Value = Value> {
    // Longer types would be told less deeply.
    let short =
        nested(leaf, closed).prop_filter("short", |schema| schema.to_string().len() < 1_200);
    short.prop_map(
        |schema| json!({"$defs": {"d": {"type": ["boolean", "null"]}}, "allOf": [schema]}),
    )
}

/// Says for many values whether they fit the schema, and whether they fit its type.
fn compare(schema: &Value, reading: Reading, seed: u64) -> Vec<(Value, bool, bool)> {
    let tool = Listed {
        name: "p.new",
        plugin: "p",
        description: "",
        input: schema,
        output: schema,
        brevity: Brevity::default(),
    };
    let [method] = read_back(&[tool], reading).try_into().unwrap();
    assert_eq!(
        (method.name.as_str(), &method.input),
        ("new", &method.output)
    );
    let (before, after) = (compile(schema), compile(&method.input));
    let mut dice = Dice(seed);
    let mut values: Vec<Value> = (0..10).map(|_| any(&mut dice, 3)).collect();
    for of in [schema, &method.input] {
        values.extend((0..20).map(|_| sample(of, of, &mut dice, 12)));
    }
    let fits = |value: Value| {
        let (one, other) = (
            before.issues(&value).is_empty(),
            after.issues(&value).is_empty(),
        );
        (value, one, other)
    };
    values.into_iter().map(fits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn a_type_says_the_same_as_its_schema(schema in whole(plain().boxed(), false), seed: u64) {
        for (value, before, after) in compare(&schema, Reading::Open, seed) {
            prop_assert_eq!(before, after, "{} of {}", value, schema);
        }
    }

    #[test]
    fn a_type_says_the_same_as_its_closed_schema(schema in whole(plain().boxed(), true), seed: u64) {
        for (value, before, after) in compare(&schema, Reading::Closed, seed) {
            prop_assert_eq!(before, after, "{} of {}", value, schema);
        }
    }

    #[test]
    fn a_type_keeps_nothing_out_that_its_schema_takes(
        open in whole(prop_oneof![plain(), lossy()].boxed(), false),
        closed in whole(prop_oneof![plain(), lossy()].boxed(), true),
        seed: u64,
    ) {
        for (schema, reading) in [(open, Reading::Open), (closed, Reading::Closed)] {
            for (value, before, after) in compare(&schema, reading, seed) {
                prop_assert!(!before || after, "{} of {}", value, schema);
            }
        }
    }
}

#[test]
fn the_comparison_sees_values_that_fit_and_others() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"const": 1}}}, "required": ["a"]});
    let all = compare(&schema, Reading::Open, 1);
    assert!(all.iter().filter(|(_, fits, _)| *fits).count() > 10);
    assert!(all.iter().filter(|(_, fits, _)| !fits).count() > 5);
}

#[tokio::test]
async fn every_bundled_tool_takes_the_calls_that_its_signature_describes() {
    let rig = Rig::of("").open().await;
    let tools: Vec<_> = rig.host.catalog().tools().collect();
    let listed: Vec<_> = tools.iter().map(|tool| tool.listed()).collect();
    let methods = read_back(&listed, Reading::Closed);
    assert_eq!(methods.len(), tools.len());
    for (tool, method) in tools.iter().zip(&methods) {
        assert_eq!(
            tool.name.as_str(),
            format!("{}.{}", method.plugin, method.name)
        );
        let (own, told) = (tool.input().unwrap(), compile(&method.input));
        for example in &tool.declared.examples {
            assert_eq!(
                told.issues(&example.args),
                [],
                "{}: {}",
                tool.name,
                example.args
            );
        }
        let mut dice = Dice(7);
        for _ in 0..50 {
            let mut args = sample(&method.input, &method.input, &mut dice, 12);
            whole_numbers(&mut args);
            assert_eq!(told.issues(&args), [], "{}: {args}", tool.name);
            assert_eq!(own.issues(&args), [], "{}: {args}", tool.name);
        }
    }
}

/// A type does not tell whole numbers from others; the comment does.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(_) => *value = json!(1),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn signatures_stay_as_they_are() {
    let rig = Rig::of("").open().await;
    let names = [
        "clock.now",
        "files.list",
        "files.read",
        "notes.delete",
        "text.aggregate",
        "web.get_page",
    ];
    let tools = rig.host.catalog().tools();
    let listed: Vec<_> = tools
        .filter(|tool| names.contains(&tool.name.as_str()))
        .map(|tool| tool.listed())
        .collect();
    assert_golden("signatures", &declaration(&listed));
}

#[test]
fn what_is_for_handles_is_declared() {
    let functions = typescript::functions(HANDLES).unwrap_or_else(|why| panic!("{why}\n{HANDLES}"));
    let told: Vec<_> = functions
        .iter()
        .map(|one| format!("{}({}): {}", one.name, one.takes.join(", "), one.returns))
        .collect();
    assert_eq!(
        told,
        [
            "handle(string): Handle",
            "reveal(Handle): Promise<unknown>",
            "isolate((...any[]) => unknown, ...unknown[]): Promise<Handle>",
            "consult(unknown[], string, ?unknown): Promise<Handle>",
        ]
    );
    let documented = HANDLES.matches("*/\ndeclare function").count();
    assert_eq!(documented, functions.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_may_hold_the_declarations_that_it_is_written_against() {
    let rig = Rig::of("").open().await;
    let source = format!(
        "{HANDLES}
        const held: Handle = handle(\"letter\");
        const kinds: string[] = [typeof reveal, typeof isolate, typeof consult];
        return [held.$handle, ...kinds]"
    );
    let called = rig.script(&source).await;
    assert_eq!(
        *rig::value(&called.outcome),
        json!(["letter", "function", "function", "function"])
    );
}
