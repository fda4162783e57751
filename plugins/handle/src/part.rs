//! `handle.read`, `field`, `slice`, `join` and `template`: parts, and what is put together of them.

use lazaret_sdk::prelude::*;
use serde_json::Map;

use crate::range;

/// What a range counts.
#[value]
#[derive(Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of the text; a character that the range would cut is left out.
    Bytes,
    /// Characters of the text.
    Chars,
    /// Lines of the text.
    Lines,
    /// Elements of a list.
    Items,
}

/// Shows what is held, or a part of it. From then on everything you write is under the influence of it.
///
/// The range counts lines, bytes or characters of a text, or elements of a list. A part comes as `{content, from, to,
/// total, eof}`: read on from `to` until `eof`. Without a range all is shown, or its beginning as such a part.
#[tool(
    effect = "pure",
    example(
        title = "the first lines",
        args = r#"{"value": {"$handle": "h12"}, "unit": "lines", "to": 20}"#
    )
)]
pub fn read(
    /// The handle.
    value: Value,
    /// What `from` and `to` count.
    #[default(Unit::Chars)]
    unit: Unit,
    /// Where to begin, from 0.
    #[default(0)]
    from: usize,
    /// Where to end; left out: at the end.
    to: Option<usize>,
    /// At most so many bytes; left out: as many as the operator says, who also says how many there may be.
    most: Option<usize>,
) -> Result<Value, Failure> {
    let most = most.unwrap_or(usize::MAX);
    let whole = from == 0 && to.is_none();
    if whole && matches!(unit, Unit::Chars) && text(&value).len() <= most {
        return Ok(value);
    }
    range::read(&value, unit, (from, to), most)
}

/// Asks the person to read what is held and to make it their own words, for this run: as if they had typed it.
///
/// Only a short text can be asked about: take the part that matters with `slice`.
#[tool(effect = "pure")]
pub fn adopt(
    /// The handle, of a text.
    value: Value,
) -> Value {
    value
}

/// One field of what is held, by JSON pointer.
#[tool(
    effect = "pure",
    example(
        title = "the text of a page",
        args = r#"{"value": {"$handle": "h12"}, "pointer": "/markdown"}"#
    )
)]
pub fn field(
    /// The handle.
    value: Value,
    /// Such as `/items/0/title`.
    pointer: String,
) -> Result<Value, Failure> {
    let found = value.pointer(&pointer).cloned();
    found.ok_or_else(|| Failure::new(format!("there is nothing at `{pointer}`")))
}

/// A range of a text or a list.
#[tool(
    effect = "pure",
    example(
        title = "lines 10 to 20",
        args = r#"{"value": {"$handle": "h12"}, "unit": "lines", "from": 9, "to": 20}"#
    )
)]
pub fn slice(
    /// The handle.
    value: Value,
    /// What `from` and `to` count.
    unit: Unit,
    /// Where to begin, from 0.
    #[default(0)]
    from: usize,
    /// Where to end; left out: at the end.
    to: Option<usize>,
) -> Result<Value, Failure> {
    cut(value, unit, from, to)
}

/// Texts, or lists, one after the other.
#[tool(
    effect = "pure",
    example(
        title = "two texts",
        args = r#"{"values": [{"$handle": "h3"}, {"$handle": "h7"}], "between": "\n"}"#
    )
)]
pub fn join(
    /// Handles and plain values.
    values: Vec<Value>,
    /// What stands between two texts.
    #[default(String::new())]
    between: String,
) -> Value {
    if !values.is_empty() && values.iter().all(Value::is_array) {
        let lists = values.into_iter().filter_map(|value| match value {
            Value::Array(items) => Some(items),
            _ => None,
        });
        return Value::Array(lists.flatten().collect());
    }
    let texts: Vec<String> = values.iter().map(text).collect();
    Value::String(texts.join(&between))
}

/// A text with values in it: `{name}` stands for the value of that name.
#[tool(
    effect = "pure",
    example(
        title = "a letter",
        args = r#"{"template": "Dear Ada,\n{summary}\n", "values": {"summary": {"$handle": "h7"}}}"#
    )
)]
pub fn template(
    /// The text; `{{` is a brace.
    template: String,
    /// Values by name: handles and plain ones.
    values: Map<String, Value>,
) -> Result<Value, Failure> {
    let mut out = String::new();
    let mut rest = template.as_str();
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(escaped) = after.strip_prefix('{') {
            out.push('{');
            rest = escaped;
            continue;
        }
        let (name, behind) = after
            .split_once('}')
            .or_fail("a `{` in `template` is not closed")?;
        let value = values
            .get(name)
            .ok_or_else(|| Failure::new(format!("`values` has no `{name}`")))?;
        out.push_str(&text(value));
        rest = behind;
    }
    out.push_str(rest);
    Ok(Value::String(out))
}

/// A text as it is, anything else as JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn cut(value: Value, unit: Unit, from: usize, to: Option<usize>) -> Result<Value, Failure> {
    let to = to.unwrap_or(usize::MAX);
    if from > to {
        return Err(Failure::new("`from` lies behind `to`"));
    }
    if unit == Unit::Items {
        let Value::Array(items) = value else {
            return Err(Failure::new("what is held is no list, so it has no items"));
        };
        let items = items.into_iter().skip(from).take(to - from);
        return Ok(Value::Array(items.collect()));
    }
    let text = text(&value);
    let cut = match unit {
        Unit::Lines => {
            let lines: Vec<&str> = text.lines().skip(from).take(to - from).collect();
            lines.join("\n")
        }
        Unit::Chars | Unit::Items => text.chars().skip(from).take(to - from).collect(),
        Unit::Bytes => {
            let inside = text
                .char_indices()
                .filter(|(at, c)| *at >= from && at + c.len_utf8() <= to);
            inside.map(|(_, c)| c).collect()
        }
    };
    Ok(Value::String(cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges() {
        for (value, unit, from, to, expected) in [
            (json!("äbc"), Unit::Bytes, 0, Some(1), json!("")),
            (json!("äbc"), Unit::Bytes, 2, Some(3), json!("b")),
            (json!("äbc"), Unit::Chars, 1, None, json!("bc")),
            (json!("a\nb\nc"), Unit::Lines, 1, Some(2), json!("b")),
            (json!([1, 2, 3]), Unit::Items, 1, Some(9), json!([2, 3])),
            (json!({"a": 1}), Unit::Chars, 0, Some(4), json!("{\"a\"")),
        ] {
            assert_eq!(cut(value, unit, from, to).unwrap(), expected);
        }
        assert!(cut(json!("a"), Unit::Items, 0, None).is_err());
        assert!(cut(json!("a"), Unit::Chars, 2, Some(1)).is_err());
    }

    #[test]
    fn putting_together() {
        assert_eq!(join(vec![json!("a"), json!(1)], ", ".into()), json!("a, 1"));
        assert_eq!(
            join(vec![json!([1]), json!([2])], ", ".into()),
            json!([1, 2])
        );
        assert_eq!(join(vec![], ", ".into()), json!(""));
        let values = json!({"x": "{y}", "n": 2});
        let values = values.as_object().unwrap().clone();
        let made = |text: &str| template(text.to_owned(), values.clone());
        assert_eq!(made("a {x} {{x}} {n}").unwrap(), json!("a {y} {x}} 2"));
        assert!(made("{z}").is_err() && made("{x").is_err());
    }

    #[test]
    fn fields() {
        let value = json!({"a": [{"b": 1}]});
        assert_eq!(field(value.clone(), "/a/0/b".into()).unwrap(), json!(1));
        assert!(field(value, "/a/1".into()).is_err());
    }
}
