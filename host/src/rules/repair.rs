//! Repair: one attempt at what a model wrote nearly right (U-16).
//!
//! Only what can be read in one way is repaired: a fence or tag around JSON, a comma too many, JSON inside a
//! string, a call's envelope around its arguments or in place of a reply. What names a key twice or stops half-way
//! is never touched. Whatever comes of it is judged like any other call.

use serde_json::{Map, Value};

use super::json;
use crate::words::limits::ARGS_BYTES;
use crate::words::message::WishedArgs;

/// Keys under which an envelope names the tool.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];
/// Keys under which it has the arguments.
const ARGS: [&str; 4] = ["arguments", "args", "input", "parameters"];
/// Keys that stand beside them and say nothing.
const BESIDE: [&str; 3] = ["type", "id", "call_id"];
/// Tags that models put around a call.
const TAGS: [&str; 3] = ["tool_call", "function_call", "tool_calls"];

/// Arguments of a call of `tool` as they were meant; nothing where they are right as they are, or where nothing is
/// sure. `fits` says whether a value is what the tool takes.
#[must_use]
pub fn repaired(tool: &str, args: &WishedArgs, fits: impl Fn(&Value) -> bool) -> Option<Value> {
    let found = match args {
        WishedArgs::Json(value) if fits(value) => return None,
        WishedArgs::Json(Value::String(text)) => read(text)?,
        WishedArgs::Json(value) => value.clone(),
        WishedArgs::Broken(text) => read(text)?,
    };
    let inner = match &found {
        Value::Object(map) if !fits(&found) => enveloped(map)
            .filter(|(name, _)| is_called(tool, name))
            .and_then(|(_, inner)| object_of(inner))
            .filter(fits),
        Value::String(text) => read(text),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            None
        }
    };
    let meant = inner.unwrap_or(found);
    let changed = !matches!(args, WishedArgs::Json(value) if *value == meant);
    (changed && meant.is_object()).then_some(meant)
}

/// The call that a reply's text is, where that is nothing but the envelope of a call of one of the `offered` tools.
#[must_use]
pub fn leaked(text: &str, offered: &[String]) -> Option<(String, WishedArgs)> {
    let value = read(text)?;
    let map = match value.as_object()?.get("function") {
        // The form of chat completions, with the call one level deeper.
        Some(Value::Object(inner)) => inner.clone(),
        Some(_) | None => value.as_object()?.clone(),
    };
    let (name, args) = enveloped(&map)?;
    let tool = offered.iter().find(|tool| is_called(tool, name))?;
    let args = object_of(args)?;
    Some((tool.clone(), WishedArgs::Json(args)))
}

/// Whether `name` is a way to write the tool's own: providers take no dots.
fn is_called(tool: &str, name: &str) -> bool {
    name == tool || name == tool.replace('.', "_") || name == tool.replace('.', "__")
}

/// Name and arguments of an envelope: an object that holds nothing else.
fn enveloped(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    let one = |keys: &[&'static str]| {
        let mut found = keys.iter().filter_map(|key| map.get(*key).map(|_| *key));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    };
    let (name, args) = (one(&NAMES)?, one(&ARGS)?);
    let known = |key: &String| *key == name || *key == args || BESIDE.contains(&key.as_str());
    if !map.keys().all(known) {
        return None;
    }
    Some((map.get(name)?.as_str()?, map.get(args)?))
}

/// An object, or the text of one.
fn object_of(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) => Some(value.clone()),
        Value::String(text) => json::parse(text).ok().filter(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// Reads JSON with at most a fence or tag around it, or commas before a closing bracket.
fn read(text: &str) -> Option<Value> {
    if text.len() > ARGS_BYTES {
        return None;
    }
    let bare = unfenced(untagged(text.trim().trim_start_matches('\u{feff}')).trim()).trim();
    json::parse(bare)
        .ok()
        .or_else(|| json::parse(&without_last_commas(bare)).ok())
}

/// The inside of a code fence, where the text is one and nothing else.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let rest = text.strip_prefix("```")?.strip_suffix("```")?;
        let (language, body) = rest.split_once('\n').unwrap_or(("", rest));
        let is_word = language.trim().chars().all(char::is_alphanumeric);
        (is_word && !body.contains("```")).then_some(body)
    };
    inside().unwrap_or(text)
}

/// The inside of a tag that models put around calls, where the text is one and nothing else.
fn untagged(text: &str) -> &str {
    let inside = |tag: &&str| {
        let rest = text.strip_prefix(&format!("<{tag}>"))?;
        let body = rest.trim_end().strip_suffix(&format!("</{tag}>"))?;
        (!body.contains(&format!("<{tag}>"))).then_some(body)
    };
    TAGS.iter().find_map(inside).unwrap_or(text)
}

/// The text without commas that stand before a closing bracket, strings apart.
fn without_last_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for (at, character) in text.char_indices() {
        if in_string {
            (in_string, escaped) = match character {
                '"' if !escaped => (false, false),
                '\\' if !escaped => (true, true),
                _ => (true, false),
            };
        } else if character == '"' {
            in_string = true;
        } else if character == ',' {
            let rest = text.get(at + 1..).unwrap_or_default().trim_start();
            if rest.starts_with(['}', ']']) {
                continue;
            }
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A tool that takes an object with a text and nothing else.
    fn fits(value: &Value) -> bool {
        value
            .as_object()
            .is_some_and(|map| map.len() == 1 && map.get("text").is_some_and(Value::is_string))
    }

    #[track_caller]
    fn check(text: &str, meant: Option<Value>) {
        let args = json::wished(text);
        assert_eq!(repaired("text.count", &args, fits), meant, "{text}");
    }

    #[test]
    fn what_is_nearly_right_is_repaired() {
        let meant = || Some(json!({"text": "a"}));
        check("```json\n{\"text\":\"a\"}\n```", meant());
        check("```\n{\"text\":\"a\"}```", meant());
        check("```{\"text\":\"a\"}```", meant());
        check("\u{feff}{\"text\":\"a\"}", meant());
        check("<tool_call>{\"text\":\"a\"}</tool_call>", meant());
        check(r#"{"text":"a",}"#, meant());
        check(r#""{\"text\":\"a\"}""#, meant());
        check(r#"{"name":"text.count","arguments":{"text":"a"}}"#, meant());
        check(r#"{"tool":"text_count","args":{"text":"a"}}"#, meant());
        check(
            r#"{"id":"1","type":"function","name":"text__count","arguments":"{\"text\":\"a\"}"}"#,
            meant(),
        );
        check(
            "```json\n{\"name\":\"text.count\",\"input\":{\"text\":\"a\"}}\n```",
            meant(),
        );
        check(
            r#"{"text":"a,]","x":[1,],}"#,
            Some(json!({"text": "a,]", "x": [1]})),
        );
    }

    #[test]
    fn what_is_right_wrong_or_doubtful_is_left_alone() {
        for text in [
            r#"{"text":"a"}"#,
            r#"{"text":1}"#,
            r#"{"text":"a","text":"b"}"#,
            r#"{"text":"a","text":"b",}"#,
            r#"{"text":"a"#,
            r#"{"text":"a"}{"text":"b"}x"#,
            "Here it is:\n```json\n{\"text\":\"a\"}\n```",
            "```json\n{\"text\":\"a\"}\n```\n```json\n{\"text\":\"b\"}\n```",
            r#"{"name":"files.write","arguments":{"text":"a"}}"#,
            r#"{"name":"text.count","arguments":{"text":"a"},"more":1}"#,
            r#"{"name":"text.count","arguments":{"text":"a"},"input":{"text":"b"}}"#,
            r#"{"name":"text.count","arguments":{"other":"a"}}"#,
            "{'text': 'a'}",
            "[1]",
            "7",
            "",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_reply_that_is_a_call_and_nothing_else_is_one() {
        let offered = ["text.count".to_owned(), "files.read".to_owned()];
        for text in [
            r#"{"name":"text.count","arguments":{"text":"a"}}"#,
            "```json\n{\"tool\":\"text_count\",\"args\":{\"text\":\"a\"}}\n```",
            "<tool_call>\n{\"name\":\"text.count\",\"arguments\":\"{\\\"text\\\":\\\"a\\\"}\"}\n</tool_call>",
            r#"{"type":"function","function":{"name":"text.count","arguments":{"text":"a"}}}"#,
        ] {
            let call = leaked(text, &offered);
            let args = WishedArgs::Json(json!({"text": "a"}));
            assert_eq!(call, Some(("text.count".to_owned(), args)), "{text}");
        }
        for text in [
            "",
            "Done.",
            r#"Call {"name":"text.count","arguments":{"text":"a"}}"#,
            r#"{"name":"text.other","arguments":{}}"#,
            r#"{"name":"text.count","arguments":{},"note":"an example"}"#,
            r#"{"name":"text.count"}"#,
            r#"{"name":"text.count","arguments":[1]}"#,
        ] {
            assert_eq!(leaked(text, &offered), None, "{text}");
        }
        assert_eq!(leaked(r#"{"name":"text.count","arguments":{}}"#, &[]), None);
    }

    proptest! {
        #[test]
        fn a_repair_never_panics_and_is_stable(parts in prop::collection::vec(
            prop::sample::select(&["```", "json\n", "{", "}", "\"text\"", ":", "\"a\"", ",", "\\", "<tool_call>", "é"][..]),
            0..24,
        )) {
            let args = json::wished(&parts.concat());
            if let Some(meant) = repaired("text.count", &args, fits) {
                let again = repaired("text.count", &WishedArgs::Json(meant), fits);
                prop_assert_eq!(again, None);
            }
        }
    }
}
