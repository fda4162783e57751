//! What may be said better in a manifest: nothing of it is wrong, and each has a code (row A-36).

use serde::Serialize;
use serde_json::Value;

use crate::rules::grant::Pattern;
use crate::rules::manifest::{Declared, EffectClass, Manifest};

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Remark {
    /// Its code, such as `effect-unsaid`.
    pub code: &'static str,
    /// What it is about.
    pub place: String,
    /// What is better, in words.
    pub message: String,
}

/// All remarks about a manifest, in its order.
#[must_use]
pub fn of(manifest: &Manifest) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for tool in &manifest.tools {
        let mut add = |code, place: &str, message: &str| {
            remarks.push(Remark {
                code,
                place: format!("{}{place}", tool.name),
                message: message.to_owned(),
            });
        };
        for (code, message, is_so) in about(tool) {
            if is_so {
                add(code, "", message);
            }
        }
        let fields = tool.input.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            if field.get("description").is_none() && field.get("$ref").is_none() {
                let place = format!("#input/{name}");
                add(
                    "field-undescribed",
                    &place,
                    "say what it is for: a model reads no code",
                );
            }
        }
    }
    remarks
}

fn about(tool: &Declared) -> [(&'static str, &'static str, bool); 8] {
    let sinks = tool.is_sink();
    let silent = tool.flow.steering.is_empty() && tool.flow.content.is_empty();
    let waived = tool.conduct.requires_confirmation == Some(false);
    [
        (
            "effect-unsaid",
            "say what it does to the world; without that it counts as side-effecting and high risk",
            tool.is_unclassified(),
        ),
        (
            "steering-unsaid",
            "say which arguments steer and which are content; without that each of them steers",
            sinks && silent && tool.flow.naming.is_empty(),
        ),
        (
            "confirmation-waived",
            "it is destructive, and nobody has to confirm it",
            waived && tool.effect == EffectClass::Destructive,
        ),
        (
            "calls-anything",
            "name the tools that it calls; policy grants no more than that anyway",
            tool.wants.calls.contains(&Pattern::all()),
        ),
        (
            "input-open",
            "refuse arguments that it does not name: `additionalProperties` false",
            tool.input.get("additionalProperties") != Some(&Value::Bool(false)),
        ),
        (
            "output-any",
            "describe what it returns; a script has no types for it otherwise",
            tool.output
                .as_object()
                .is_none_or(serde_json::Map::is_empty),
        ),
        (
            "example-missing",
            "show a worked example; models call better by one",
            tool.examples.is_empty(),
        ),
        (
            "deprecated",
            "it is on its way out",
            !tool.conduct.deprecated.is_empty(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::server::{Line, definition};
    use serde_json::json;

    /// Whoever performs elsewhere is told the arguments, so also of a tool that only looks it is said what they are.
    #[test]
    fn a_tool_that_somebody_else_performs_is_a_sink() {
        let entry = json!({"name": "look", "description": "d", "inputSchema": {"type": "object"}});
        let looks = Line {
            effect: EffectClass::ReadOnly,
            ..Line::default()
        };
        let listed = definition::read(&[entry]);
        let mut tool = listed.tools[0].declared(&looks, 5).unwrap();
        let said = |tool: &Declared| {
            let mut all = about(tool).into_iter();
            all.any(|(code, _, is_so)| code == "steering-unsaid" && is_so)
        };
        assert!(said(&tool));
        tool.outside = false;
        assert!(!said(&tool));
    }
}
