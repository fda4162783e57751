//! What components and servers say of themselves, without secrets: descriptions, schemas, examples.
//!
//! It is cleaned before anybody reads, keeps or compares it. So a name of what was said (a digest) is one of the cleaned
//! text: it stays the same when a secret is renewed that a server repeats, and nobody can try values against it. Names of
//! tools stay: a server's tool whose name holds a secret is left out ([`definition`](crate::rules::server::definition)).

use super::KnownSecrets;
use crate::rules::manifest::{Declared, Manifest};
use crate::rules::server::definition::Definition;

/// Cleans what a component says of itself. It was checked before, and stays what it is: schemas keep their shape, but for one
/// over which a secret is spread, which goes.
pub fn clean_manifest(manifest: &mut Manifest, known: &KnownSecrets) {
    if known.is_empty() {
        return;
    }
    clean_text(&mut manifest.version, known);
    clean_text(&mut manifest.description, known);
    for tool in &mut manifest.tools {
        clean_declared(tool, known);
    }
}

fn clean_declared(tool: &mut Declared, known: &KnownSecrets) {
    clean_text(&mut tool.description, known);
    clean_text(&mut tool.conduct.deprecated, known);
    known.clean_value(&mut tool.input);
    known.clean_value(&mut tool.output);
    for example in &mut tool.examples {
        clean_text(&mut example.title, known);
        known.clean_value(&mut example.args);
    }
    for host in &mut tool.wants.hosts {
        clean_text(host, known);
    }
}

/// Cleans what a server said of a tool; whether there was anything to clean.
pub fn clean_definition(tool: &mut Definition, known: &KnownSecrets) -> bool {
    let was = tool.clone();
    clean_text(&mut tool.description, known);
    known.clean_value(&mut tool.input);
    if let Some(output) = &mut tool.output {
        known.clean_value(output);
    }
    known.clean_value(&mut tool.hints);
    *tool != was
}

fn clean_text(text: &mut String, known: &KnownSecrets) {
    if let Some(clean) = known.clean(text) {
        *text = clean;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::server::definition;

    const SECRET: &str = "canary-7f3a9c-told";

    fn known() -> KnownSecrets {
        let known = KnownSecrets::default();
        known.learn(SECRET.as_bytes());
        known
    }

    fn manifest() -> Value {
        let schema = json!({"type": "object", "properties": {
            SECRET: {"type": "string"}, "q": {"type": "string", "description": SECRET, "default": SECRET},
        }});
        json!({"plugin": "p", "version": format!("1 {SECRET}"), "description": SECRET, "tools": [{
            "name": "t", "description": format!("like {SECRET}"), "input": schema, "output": schema,
            "hosts": [format!("GET https://a.example/{SECRET}")], "deprecated": SECRET,
            "examples": [{"title": SECRET, "args": {"q": SECRET}}],
        }]})
    }

    #[test]
    fn nothing_that_a_component_says_of_itself_holds_a_secret() {
        let mut manifest = Manifest::read(&manifest().to_string()).unwrap();
        let was = serde_json::to_string(&manifest).unwrap();
        assert_eq!(was.matches(SECRET).count(), 13, "{was}");
        clean_manifest(&mut manifest, &known());
        let now = serde_json::to_string(&manifest).unwrap();
        assert_eq!(now.matches(SECRET).count(), 0, "{now}");
        assert_eq!(now.matches("[REDACTED]").count(), 13, "{now}");
    }

    #[test]
    fn a_tool_stays_what_it_was_when_a_secret_is_renewed() {
        let said = |secret: &str| {
            let known = KnownSecrets::default();
            known.learn(secret.as_bytes());
            let schema = json!({"type": "object", "properties": {"q": {"description": secret}}});
            let mut tools = json!([
                {"name": "t", "description": format!("like {secret}"), "inputSchema": schema},
                {"name": format!("t-{secret}"), "inputSchema": schema},
            ]);
            known.clean_value(&mut tools);
            definition::read(tools.as_array().unwrap())
        };
        let (first, second) = (said(SECRET), said("another-8e41-value"));
        assert_eq!(first.tools.len(), 1);
        assert_eq!(first.tools[0].digest(), second.tools[0].digest());
        let text = format!("{first:?}");
        assert!(!text.contains(SECRET), "{text}");
        assert!(
            first.hidden[0].contains("its name holds a secret"),
            "{text}"
        );
    }

    #[test]
    fn what_was_kept_of_a_server_is_cleaned_once() {
        let entry = json!({"name": "t", "description": SECRET, "inputSchema": {"type": "object"},
            "outputSchema": {"title": SECRET}, "annotations": {"title": SECRET}});
        let mut tool = definition::read(&[entry]).tools.remove(0);
        assert!(clean_definition(&mut tool, &known()));
        assert!(!format!("{tool:?}").contains(SECRET));
        assert!(!clean_definition(&mut tool, &known()));
    }
}
