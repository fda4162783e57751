//! Strict JSON: what enters the host from a guest, model or client is read here.
//!
//! Beyond the grammar it refuses keys that come twice (two readers would see two values) and nesting
//! past the limit. Numbers are JSON's, so there is no NaN and no infinity to refuse.

use std::fmt;

use serde::Serialize;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

use crate::words::limits::JSON_DEPTH;
use crate::words::message::WishedArgs;

/// Reads strict JSON.
///
/// # Errors
/// The place (line and column) and what is wrong there, without the value.
pub fn parse(text: &str) -> Result<Value, String> {
    parse_within(text, JSON_DEPTH)
}

/// The same with so many levels at most, where what lies deeper is judged by whoever uses it.
///
/// # Errors
/// As [`parse`].
pub fn parse_within(text: &str, most: usize) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0, most }
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

/// Whether a value is nested no deeper than that, as [`parse_within`] counts it.
#[must_use]
pub fn is_within(value: &Value, most: usize) -> bool {
    let inner = |item: &Value| {
        most.checked_sub(1)
            .is_some_and(|most| is_within(item, most))
    };
    match value {
        Value::Array(items) => items.iter().all(inner),
        Value::Object(map) => map.values().all(inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Reads arguments as a model, guest or client wrote them; nothing at all is an empty object. What is
/// no strict JSON stays text, which is answered and never executed.
#[must_use]
pub fn wished(text: &str) -> WishedArgs {
    if text.trim().is_empty() {
        return WishedArgs::Json(Value::Object(Map::new()));
    }
    parse(text).map_or_else(|_| WishedArgs::Broken(text.to_owned()), WishedArgs::Json)
}

struct Strict {
    depth: usize,
    most: usize,
}

impl Strict {
    fn inner(&self) -> Self {
        Self {
            depth: self.depth.saturating_add(1),
            most: self.most,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        if self.depth > self.most {
            let what = format!("nested deeper than {}", self.most);
            return Err(D::Error::custom(what));
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("not a finite number"))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner())? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(Key(key)) = entries.next_key()? {
            let value = entries.next_value_seed(self.inner())?;
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("a key comes twice in one object"));
            }
        }
        Ok(Value::Object(map))
    }
}

struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        String::deserialize(reader).map(Self)
    }
}

/// The one text of a value: keys in order, no blanks. Approvals and digests are bound to it.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = Vec::new();
    write_canonical(value, &mut text);
    // Nothing but UTF-8 was written.
    String::from_utf8(text).unwrap_or_default()
}

fn write_canonical(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            text.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                write_canonical(item, text);
            }
            text.push(b']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push(b'{');
            for (place, (key, item)) in entries.into_iter().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                write_plain(key, text);
                text.push(b':');
                write_canonical(item, text);
            }
            text.push(b'}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write_plain(value, text);
        }
    }
}

/// A text, or a value without parts. To write to memory does not fail.
fn write_plain(value: &impl Serialize, text: &mut Vec<u8>) {
    let _written = serde_json::to_writer(text, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_reading() {
        assert_eq!(
            parse(r#" {"a":[1,2.5,"x",null,true]} "#).unwrap()["a"][1],
            2.5
        );
        for (bad, says) in [
            ("", "EOF"),
            ("{} {}", "trailing"),
            (r#"{"a":1,"a":2}"#, "comes twice"),
            (r#"{"a":{"b":1,"b":1}}"#, "comes twice"),
            ("NaN", "expected"),
            ("1e999", "out of range"),
            ("\u{feff}{}", "expected"),
        ] {
            assert!(
                parse(bad).unwrap_err().contains(says),
                "{bad}: {:?}",
                parse(bad)
            );
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err());
        let nested = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        assert!(parse(&nested).unwrap_err().contains("deeper than 64"));
        // Whoever reads deeper counts as it does.
        for levels in 0..70 {
            let nested = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
            let read = parse_within(&nested, 70).unwrap();
            assert_eq!(is_within(&read, 64), parse(&nested).is_ok(), "{levels}");
        }
    }

    #[test]
    fn canonical_text_does_not_depend_on_order_or_blanks() {
        let one = parse(r#"{ "b": [1, {"y":2,"x":1}], "a": "\u0041\n" }"#).unwrap();
        assert_eq!(canonical(&one), r#"{"a":"A\n","b":[1,{"x":1,"y":2}]}"#);
    }
}
