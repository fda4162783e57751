//! Arguments of a call as a model wrote them, read strictly: text that can be read in two ways must
//! not run.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::rules::json;
use crate::words::limits::CALLS_PER_TURN;
use crate::words::message::WishedArgs;

/// Reads the arguments of one call: one entry as a rule, and one for each object where several
/// stand in a row (O-07b), at most one more than `CALLS_PER_TURN`. Nothing at all is an empty
/// object.
///
/// Text is `Broken`, as a whole, if any part of it is no JSON, names one key twice or is nested
/// past the limit: of two values a tool might take another than whoever judged the call.
#[must_use]
pub fn read(text: &str) -> Vec<WishedArgs> {
    if text.trim().is_empty() {
        return vec![json::wished(text)];
    }
    let values = json::parse(text).map_or_else(|_| objects(text), |value| Some(vec![value]));
    match values {
        Some(values) => values.into_iter().map(WishedArgs::Json).collect(),
        None => vec![WishedArgs::Broken(text.to_owned())],
    }
}

/// Arguments that stand in `event` as a tree, as the text that [`read`] takes. Where the event is no strict
/// JSON, the tree is one reading of several: then the text is none that can be read.
pub(super) fn text_of(tree: Option<&Value>, event: &str) -> String {
    match tree {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(tree @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            match json::parse(event) {
                Ok(_) => tree.to_string(),
                Err(why) => format!("{why}: {tree}"),
            }
        }
    }
}

/// Arguments that are told back to a provider whose format has an object there.
pub(super) fn object(args: &WishedArgs) -> Value {
    match args {
        WishedArgs::Json(Value::Object(map)) => Value::Object(map.clone()),
        WishedArgs::Json(other) => serde_json::json!({"arguments": other}),
        WishedArgs::Broken(text) => broken(text),
    }
}

/// Arguments that were no JSON, as JSON.
pub(super) fn broken(text: &str) -> Value {
    serde_json::json!({"broken_arguments": text})
}

/// Objects in a row; `None` for anything else.
fn objects(text: &str) -> Option<Vec<Value>> {
    let mut all = Vec::new();
    let mut parts = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut start = 0;
    while all.len() <= CALLS_PER_TURN
        && let Some(part) = parts.next()
    {
        part.ok()?;
        let end = parts.byte_offset();
        all.push(
            json::parse(text.get(start..end)?)
                .ok()
                .filter(Value::is_object)?,
        );
        start = end;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &[Value]) {
        let wanted: Vec<_> = wanted.iter().cloned().map(WishedArgs::Json).collect();
        assert_eq!(read(text), wanted);
    }

    #[track_caller]
    fn check_broken(text: &str) {
        assert_eq!(read(text), [WishedArgs::Broken(text.to_owned())]);
    }

    #[test]
    fn arguments() {
        check("", &[json!({})]);
        check(" \n", &[json!({})]);
        check(
            r#" {"a": [1, -2, 3.5, null, true, "x"]} "#,
            &[json!({"a": [1, -2, 3.5, null, true, "x"]})],
        );
        check("[1]", &[json!([1])]);
        check("7", &[json!(7)]);
    }

    #[test]
    fn objects_in_a_row_are_several() {
        check(r#"{"a":1}{"a":2}"#, &[json!({"a": 1}), json!({"a": 2})]);
        check("{}\n {} {}", &[json!({}), json!({}), json!({})]);
        assert_eq!(read(&"{}".repeat(1_000)).len(), CALLS_PER_TURN + 1);
    }

    #[test]
    fn anything_doubtful_is_broken() {
        for text in [
            "{",
            "{}{",
            "{}x",
            "{} 7",
            "1 2",
            "[][]",
            "{},{}",
            "```json\n{}\n```",
            "\"\\ud800\"",
        ] {
            check_broken(text);
        }
        check_broken(r#"{"a":1,"a":1}"#);
        check_broken(r#"{"a":1,"\u0061":2}"#);
        check_broken(r#"{}{"x":[{"a":{"b":1,"b":2}}]}"#);
        check_broken(&"[".repeat(200_000));
        check_broken(&format!("{{}}{}{}", "[".repeat(100), "]".repeat(100)));
    }

    proptest! {
        #[test]
        fn several_are_always_objects(parts in prop::collection::vec(
            prop::sample::select(&["\"a\"", "{", "}", "{}", ":", "é", "1", ",", " "][..]),
            0..30,
        )) {
            let all = read(&parts.concat());
            prop_assert!(!all.is_empty());
            let object = |one: &WishedArgs| matches!(one, WishedArgs::Json(Value::Object(_)));
            prop_assert!(all.len() == 1 || all.iter().all(object));
        }
    }
}
