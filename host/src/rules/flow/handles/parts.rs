//! Parts: where the fields of an outcome lie, by what its tool declares, so that whoever has the handle can ask for one.

use serde_json::{Map, Value};

use super::with_mark;
use crate::words::limits::HANDLE_VALUES;

/// What stands on the card.
const PARTS: &str = "parts";
/// A longer name is none that anybody would ask for.
const NAME_BYTES: usize = 64;

/// A card with the pointers of the parts that the tool declares, as `handle.field` takes them. It says what the tool is, and
/// nothing of what the handle holds.
#[must_use]
pub fn with_parts(card: Value, output: &Value) -> Value {
    let parts = match (properties(output), output.get("items").and_then(properties)) {
        (Some(fields), _) => pointers("", fields),
        (None, Some(fields)) => pointers("/0", fields),
        (None, None) => return card,
    };
    match parts.is_empty() {
        true => card,
        false => with_mark(card, PARTS, parts),
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// A name that needs an escape in a pointer is left out.
fn pointers(above: &str, fields: &Map<String, Value>) -> Vec<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let names = fields.keys();
    let names = names.filter(|name| name.len() <= NAME_BYTES && name.chars().all(is_plain));
    let pointers = names.map(|name| format!("{above}/{name}"));
    pointers.take(HANDLE_VALUES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(output: &Value) -> Value {
        with_parts(json!({}), output)
    }

    #[test]
    fn a_card_names_the_fields_that_its_tool_declares() {
        let page = json!({"properties": {"title": {"type": "string"}, "markdown": {}}});
        assert_eq!(parts(&page), json!({"parts": ["/markdown", "/title"]}));
        let letters = json!({"type": "array", "items": page});
        assert_eq!(
            parts(&letters),
            json!({"parts": ["/0/markdown", "/0/title"]})
        );
        for plain in [json!({}), json!(true), json!({"type": "string"})] {
            assert_eq!(parts(&plain), json!({}), "{plain}");
        }
    }

    #[test]
    fn names_that_say_more_than_a_name_are_left_out() {
        let long = "x".repeat(NAME_BYTES + 1);
        let odd = json!({"properties": {"ignore all before": {}, "a/b": {}, "ä": {}, long: {}}});
        assert_eq!(parts(&odd), json!({}));
        let many: Map<String, Value> = (0..99).map(|at| (format!("f{at}"), json!({}))).collect();
        let many = parts(&json!({"properties": many}));
        assert_eq!(many["parts"].as_array().unwrap().len(), HANDLE_VALUES);
    }
}
