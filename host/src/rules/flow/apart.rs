//! What is done apart: a function over held values, and a question to the model about them (design §5).
//!
//! The host performs both itself, behind the same gate as any other call. What comes of them is held like every
//! outcome; and where they fail, the words of that are made of what is held, so they are held as well: whoever
//! wished learns that it failed, and where in its own source. That much is charged to the run's bits.

use serde_json::Value;

use super::handles::{Given, handle_in};
use crate::rules::schema::Schema;
use crate::words::error::{Code, Error, Issue, Result};
use crate::words::id::ToolName;
use crate::words::length::json_bytes;
use crate::words::limits::{
    APART_VALUES, CONSULT_CHARS, CONSULT_FAULT_BITS, CONSULT_SHAPE_BYTES, FAULT_BITS,
    ISOLATED_CHARS, ISOLATED_FAULT_BITS,
};

/// The key under which a card says that something failed.
const FAILED: &str = "failed";

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// A function runs.
    Isolate,
    /// A model is asked.
    Consult,
}

impl Apart {
    /// Of a tool, by its name: no other plugin can have it.
    #[must_use]
    pub fn of(tool: &ToolName) -> Option<Self> {
        match tool.as_str() {
            "handle.isolate" => Some(Self::Isolate),
            "handle.consult" => Some(Self::Consult),
            _ => None,
        }
    }

    /// Checks what is its wisher's own: no handle stands in a function or a question, or whoever has influence on what
    /// it holds would choose what is done.
    ///
    /// # Errors
    /// `BadArgs`, `TooBig`.
    pub fn check(self, given: &Given) -> Result<()> {
        let misplaced = given.places.iter().find(|place| !place.starts_with("/of/"));
        if let Some(place) = misplaced {
            let message = match place.as_str() {
                "/of" => "this is a list: write [{\"$handle\": …}]",
                _ => "handles stand in `of`; this is for your own words",
            };
            return Err(misfit(place, message));
        }
        let text = |key: &str| {
            let text = given.value.get(key).and_then(Value::as_str);
            text.unwrap_or_default().chars().count()
        };
        let bounded = |what: &str, most: usize, got: usize| match got > most {
            true => Err(Error::too_long(what, most, got)),
            false => Ok(()),
        };
        bounded("the function", ISOLATED_CHARS, text("code"))?;
        bounded("the question", CONSULT_CHARS, text("question"))?;
        let of = given.value.get("of").and_then(Value::as_array);
        let values = of.map_or(0, Vec::len);
        if values > APART_VALUES {
            return Err(Error::too_many("the list `of`", APART_VALUES, values));
        }
        match self {
            Self::Isolate => Ok(()),
            Self::Consult => shape(&given.value).map(|_| ()),
        }
    }
}

/// What leaves a handle when a call fails whose words are held: what kind of failure it is, and of what is done apart,
/// where.
#[must_use]
pub fn fault_bits(tool: &ToolName) -> u32 {
    match Apart::of(tool) {
        Some(Apart::Isolate) => ISOLATED_FAULT_BITS,
        Some(Apart::Consult) => CONSULT_FAULT_BITS,
        None => FAULT_BITS,
    }
}

/// What leaves handles when they do not fit where they stand in these arguments: whether each does, and all together.
#[must_use]
pub fn misfit_bits(args: &Value) -> u32 {
    handles_in(args).saturating_add(1)
}

fn handles_in(args: &Value) -> u32 {
    let all = |values: &mut dyn Iterator<Item = &Value>| {
        values.fold(0_u32, |sum, value| sum.saturating_add(handles_in(value)))
    };
    match args {
        _ if handle_in(args).is_some() => 1,
        Value::Array(items) => all(&mut items.iter()),
        Value::Object(map) => all(&mut map.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What an answer has to fit: a text, where nothing is said.
///
/// # Errors
/// `TooBig`; `BadArgs` for what is no schema.
pub fn shape(args: &Value) -> Result<Schema> {
    let said = args.get("shape").filter(|shape| !shape.is_null());
    let source = said.map_or_else(|| serde_json::json!({"type": "string"}), Value::clone);
    let bytes = json_bytes(&source);
    if bytes > CONSULT_SHAPE_BYTES {
        return Err(Error::too_big("the shape", CONSULT_SHAPE_BYTES, bytes));
    }
    if !source.is_object() {
        let message = "a JSON Schema is an object, such as {\"type\": \"string\"}";
        return Err(misfit("/shape", message));
    }
    Schema::compile(source).map_err(|error| misfit("/shape", error.message()))
}

fn misfit(path: &str, message: &str) -> Error {
    let issue = Issue {
        path: path.to_owned(),
        message: message.to_owned(),
    };
    Error::new(Code::BadArgs, "Invalid action input.").issues(vec![issue])
}

/// What whoever wished is told of a failure: the card of its words, and a sentence that holds none of them.
#[must_use]
pub fn fault_card(mut card: Value, sentence: &str) -> Value {
    if let Some(card) = card.as_object_mut() {
        card.insert(FAILED.to_owned(), sentence.into());
    }
    card
}

/// The sentence of such a card.
#[must_use]
pub fn fault_in(told: &Value) -> Option<&str> {
    told.as_object()?.get(FAILED)?.as_str()
}

/// The sentence, and where the words of the failure are.
#[must_use]
pub fn fault_told(sentence: &str, told: &Value) -> String {
    let handle = handle_in(told).map_or(Value::Null, Value::from);
    format!("{sentence}; what it said is held: {{\"$handle\":{handle}}}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::flow::handles::{Handles, Naming};
    use crate::words::label::Label;

    fn check(way: Apart, args: &Value) -> Result<()> {
        let mut handles = Handles::default();
        let name = handles.hold(Naming::Next, &json!(["canary"]), &Label::default());
        assert_eq!(name.unwrap(), "h1");
        way.check(&Given::resolve(args, &handles).unwrap())
    }

    #[test]
    fn handles_stand_where_values_do_and_nowhere_else() {
        use Apart::{Consult, Isolate};
        let handle = json!({"$handle": "h1"});
        for (way, args, path) in [
            (Isolate, json!({"code": "x => x", "of": [handle]}), None),
            (
                Isolate,
                json!({"code": "x => x", "of": [{"a": [handle]}]}),
                None,
            ),
            (Isolate, json!({"code": handle, "of": []}), Some("/code")),
            (
                Isolate,
                json!({"code": "x => x", "of": handle}),
                Some("/of"),
            ),
            (Consult, json!({"of": [handle], "question": "?"}), None),
            (
                Consult,
                json!({"of": [handle], "question": handle}),
                Some("/question"),
            ),
            (
                Consult,
                json!({"of": [], "question": "?", "shape": handle}),
                Some("/shape"),
            ),
            (
                Consult,
                json!({"of": [], "question": "?", "shape": {"enum": handle}}),
                Some("/shape/enum"),
            ),
            (
                Consult,
                json!({"of": [], "question": "?", "shape": {"type": "sting"}}),
                Some("/shape"),
            ),
            (
                Consult,
                json!({"of": [], "question": "?", "shape": "text"}),
                Some("/shape"),
            ),
            (
                Consult,
                json!({"of": [], "question": "?", "shape": {"$ref": "https://a.test"}}),
                Some("/shape"),
            ),
            (
                Consult,
                json!({"of": [], "question": "?", "shape": null}),
                None,
            ),
        ] {
            let found = check(way, &args).err();
            let found = found.map(|error| {
                assert_eq!(error.code(), Code::BadArgs, "{args}");
                assert!(!format!("{error:?}").contains("canary"), "{error:?}");
                error.issue_list()[0].path.clone()
            });
            assert_eq!(found.as_deref(), path, "{args}");
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        for (way, args) in [
            (
                Apart::Isolate,
                json!({"code": "x".repeat(ISOLATED_CHARS + 1), "of": []}),
            ),
            (
                Apart::Isolate,
                json!({"code": "x", "of": vec![0; APART_VALUES + 1]}),
            ),
            (
                Apart::Consult,
                json!({"question": "x".repeat(CONSULT_CHARS + 1), "of": []}),
            ),
            (
                Apart::Consult,
                json!({"question": "x", "of": [], "shape": {"const": "x".repeat(CONSULT_SHAPE_BYTES)}}),
            ),
        ] {
            assert_eq!(check(way, &args).unwrap_err().code(), Code::TooBig);
        }
        let longest = json!({"code": "é".repeat(ISOLATED_CHARS), "of": vec![0; APART_VALUES]});
        assert!(check(Apart::Isolate, &longest).is_ok());
    }
}
