//! Shape: which arguments of a tool steer and which are content, for whoever explains or checks a policy.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kind::Kind;
use super::leaves::{inside, leaves, lies_at, texts_at};
use super::lines::{Flows, ToolFlow};
use crate::rules::call::Call;
use crate::rules::manifest::Declared;
use crate::words::event::Weighed;

/// What holds of a tool's arguments and outcomes: what policy says, or the manifest of a plugin that it trusts.
#[must_use]
pub fn about(call: &Call, flows: &Flows) -> ToolFlow {
    super::about(call, flows)
}

/// What somebody has said that an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It says where, whom or what to act on, and is of this kind.
    Steers(Kind),
    /// It is content.
    Content,
    /// Nobody has said anything of it.
    Nothing,
}

/// What policy says that the argument at a path is, or else the manifest, trusted or not: for whoever foresees what a
/// guest will ask for, and judges nothing by it.
#[must_use]
pub fn said_of(path: &str, by_policy: Option<&ToolFlow>, declared: &Declared) -> Said {
    let proposed = ToolFlow {
        steering: declared.flow.steering.clone(),
        content: declared.flow.content.clone(),
        naming: declared.flow.naming.clone(),
        ..ToolFlow::default()
    };
    let by_policy = by_policy.map_or(Said::Nothing, |said| said_in(path, said));
    match by_policy {
        Said::Nothing => said_in(path, &proposed),
        Said::Steers(_) | Said::Content => by_policy,
    }
}

/// The same of what is said in one place.
pub(super) fn said_in(path: &str, said: &ToolFlow) -> Said {
    let mut steering = said.steering.iter();
    if let Some((_, kind)) = steering.find(|(place, _)| lies_at(path, place)) {
        return Said::Steers(*kind);
    }
    let is_at = |place: &String| !place.is_empty() && lies_at(path, place);
    if said.content.iter().chain([&said.naming]).any(is_at) {
        return Said::Content;
    }
    if is_at(&said.reply) {
        return Said::Steers(Kind::Id);
    }
    Said::Nothing
}

/// Whether arguments say that nothing is changed that is there, by the words that their tool has for that: what is left out
/// says nothing else.
#[must_use]
pub fn says_new(args: &Value, new: &BTreeMap<String, String>) -> bool {
    let mut said = new.iter();
    said.all(|(place, new)| texts_at(args, place).iter().all(|text| text == new))
}

/// The path of what stands under a name, or at a place of a list, below a path.
#[must_use]
pub fn path_below(path: &str, name: &str) -> String {
    inside(path, name)
}

/// The arguments of a weighed call that are content, by path.
#[must_use]
pub fn content(call: &Call, weighed: &[Weighed]) -> Vec<String> {
    let steers = |path: &str| weighed.iter().any(|value| value.argument == path);
    let all = leaves(call.args.value(), &call.declared.input).into_iter();
    let mut content: Vec<String> = all
        .map(|leaf| leaf.path)
        .filter(|path| !steers(path))
        .collect();
    content.dedup();
    content
}

/// Whether arguments of this schema can have something at a place. What a schema leaves open may be there.
#[must_use]
pub fn has_place(schema: &Value, place: &str) -> bool {
    let place = place.trim_start_matches('/');
    match place.split_once('/') {
        None => below(schema, place).is_some(),
        Some((name, rest)) => below(schema, name).is_some_and(|schema| has_place(schema, rest)),
    }
}

/// The schema of what stands under a name, or of an element of a list; `true` where it is not said.
fn below<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    const OPEN: &Value = &Value::Bool(true);
    let Some(map) = schema.as_object() else {
        return Some(OPEN);
    };
    if ["$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|key| map.contains_key(*key))
    {
        return Some(OPEN);
    }
    let element = name == "*" || name.parse::<usize>().is_ok();
    if let Some(items) = map.get("items").filter(|_| element) {
        return Some(items);
    }
    let name = name.replace("~1", "/").replace("~0", "~");
    if let Some(property) = map.get("properties").and_then(|known| known.get(&name)) {
        return Some(property);
    }
    match map.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        // A list that does not say of what, or a table that says what else it may hold.
        Some(more) => Some(more),
        None if map.get("type").is_some_and(is_single) => None,
        None if !map.contains_key("properties") && !map.contains_key("items") => Some(OPEN),
        // Without a word about others the names that are known are all that a tool means.
        None => None,
    }
}

/// Whether a type has nothing inside.
fn is_single(of_type: &Value) -> bool {
    of_type.as_str().is_some_and(|of_type| {
        ["string", "number", "integer", "boolean", "null"].contains(&of_type)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn policy_says_what_an_argument_is_and_a_manifest_where_it_does_not() {
        let declared: Declared = serde_json::from_value(json!({
            "name": "send", "description": "d", "input": {}, "output": {}, "effect": "external-stateful",
            "flow": {"steering": {"to": "mail", "source": "file"}, "content": ["text"], "naming": "title"},
        }))
        .unwrap();
        let by_policy = ToolFlow {
            steering: [("source".to_owned(), Kind::Id)].into(),
            reply: "answers".to_owned(),
            ..ToolFlow::default()
        };
        for (path, said) in [
            ("to/0", Said::Steers(Kind::Mail)),
            ("source", Said::Steers(Kind::Id)),
            ("text", Said::Content),
            ("title", Said::Content),
            ("answers", Said::Steers(Kind::Id)),
            ("other", Said::Nothing),
        ] {
            assert_eq!(said_of(path, Some(&by_policy), &declared), said, "{path}");
        }
        let alone = said_of("source", None, &declared);
        assert_eq!(alone, Said::Steers(Kind::File));
    }

    #[test]
    fn places_of_a_schema() {
        let schema = json!({"properties": {
            "to": {"type": "array", "items": {"type": "string"}},
            "message": {"properties": {"subject": {}}, "additionalProperties": false},
            "meta": {"type": "object"},
            "any": {"anyOf": [{"type": "string"}]},
        }});
        for (place, expected) in [
            ("to", true),
            ("/to", true),
            ("to/*", true),
            ("to/0", true),
            ("to/0/x", false),
            ("too", false),
            ("message/subject", true),
            ("message/title", false),
            ("meta/anything", true),
            ("any/thing", true),
        ] {
            assert_eq!(has_place(&schema, place), expected, "{place}");
        }
    }
}
