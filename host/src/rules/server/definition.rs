//! Definitions: what a server says of one of its tools, bounded, and what is made of it here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Line;
use super::naming;
use super::resources::Act;
use crate::rules::flow::lines::ToolFlow;
use crate::rules::json;
use crate::rules::manifest::SurfaceWord;
use crate::rules::manifest::{
    Conduct, Declared, EffectClass, Offer, Tier, Truncation, Visibility, Wants,
};
use crate::rules::sanitise::visible;
use crate::rules::scrub::REDACTED;
use crate::words::error::{Error, Result};
use crate::words::event::Surface;
use crate::words::id::{Digest, shown};
use crate::words::length::json_bytes;
use crate::words::limits::{
    CALL_TIMEOUT_MS_MAX, DESCRIPTION_BYTES, SERVER_DEFINITION_BYTES, SERVER_REMOTE_NAME_BYTES,
    SERVER_TOOLS,
};

/// What a server says of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name at the server, whatever that is.
    pub remote: String,
    /// What it is called here, after the server's name.
    pub short: String,
    /// For people and models.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input: Value,
    /// JSON Schema of its outcome, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What else it says, of which nothing is believed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub hints: Value,
    /// What the server is asked for when it is called.
    #[serde(default, skip_serializing_if = "Act::is_call")]
    pub act: Act,
}

/// What a server lists, read as far as it can be.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Its tools, in the order of their names.
    pub tools: Vec<Definition>,
    /// Those that cannot be offered, and why: for people.
    pub hidden: Vec<String>,
}

impl Listed {
    /// These tools, each called as it `was` where a person has read it before. Our own keep their names in any case, and
    /// whatever has come since takes none of them.
    #[must_use]
    pub fn keeping(mut self, was: &[Definition]) -> Self {
        let mut called: BTreeMap<String, String> = BTreeMap::new();
        let own = self.tools.iter().filter(|tool| !tool.act.is_call());
        for tool in own.chain(was) {
            if !called.values().any(|name| *name == tool.short) {
                called
                    .entry(tool.remote.clone())
                    .or_insert_with(|| tool.short.clone());
            }
        }
        let remotes = self.tools.iter().map(|tool| tool.remote.as_str());
        let shorts = naming::shorts(&called, remotes);
        let hidden = &mut self.hidden;
        self.tools
            .retain_mut(|tool| match shorts.get(&tool.remote) {
                Some(short) => {
                    tool.short.clone_from(short);
                    true
                }
                None => {
                    hidden.push(format!("`{}`: its name is taken", shown(&tool.remote)));
                    false
                }
            });
        self
    }
}

impl Definition {
    /// Everything that it says, as one name. What it is called here follows from that.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut all = json!({
            "name": self.remote, "description": self.description, "input": self.input,
            "output": self.output, "hints": self.hints,
        });
        if let (Value::Object(all), false) = (&mut all, self.act.is_call()) {
            all.insert("act".to_owned(), json!(self.act));
        }
        Digest::of(json::canonical(&all).as_bytes())
    }

    /// The tool as it is offered: what it is, the server says; what it does, the operator.
    ///
    /// # Errors
    /// `BadPlugin` where its schemas or its name cannot be used.
    pub fn declared(&self, line: &Line, call_ms: u64) -> Result<Declared> {
        let declared = Declared {
            name: self.short.clone(),
            description: self.description.clone(),
            input: without_dialect(&self.input),
            output: self
                .output
                .as_ref()
                .map_or_else(|| json!({}), without_dialect),
            effect: line.effect,
            risk: line.risk.or_of(line.effect),
            wants: Wants::default(),
            offer: Offer {
                surfaces: Surface::ALL.into_iter().map(SurfaceWord).collect(),
                visibility: Visibility::Public,
                deferred: false,
                sensitivity: line.sensitivity,
                tier: Tier::default(),
            },
            conduct: Conduct {
                timeout_ms: Some(line.timeout_ms.unwrap_or(call_ms).min(CALL_TIMEOUT_MS_MAX)),
                retry: None,
                idempotent: line.idempotent,
                sequential: false,
                needs_approval: line.needs_approval,
                requires_confirmation: None,
                at_once: None,
                deprecated: String::new(),
                truncation: Truncation::default(),
            },
            flow: crate::rules::manifest::Proposal::default(),
            examples: Vec::new(),
            outside: true,
        };
        declared.check().map(|()| declared)
    }
}

/// What is said of the arguments of a tool: by policy's own line about its flows, and by that of its server where the other
/// says nothing. Arguments of one that only looks, of which nobody says that they steer, are content: what matters of them
/// is who is told.
#[must_use]
pub fn flow(said: &ToolFlow, line: &Line, input: &Value) -> ToolFlow {
    let mut flow = said.or(&line.flow);
    let is_silent = flow.steering.is_empty() && flow.content.is_empty();
    let looks = match line.effect {
        EffectClass::Pure | EffectClass::ReadOnly => true,
        EffectClass::SideEffecting | EffectClass::ExternalStateful | EffectClass::Destructive => {
            false
        }
    };
    if is_silent && looks {
        let names = input.get("properties").and_then(Value::as_object);
        flow.content = names.into_iter().flat_map(Map::keys).cloned().collect();
    }
    flow
}

/// A schema says in which language it is written, and there is one here.
fn without_dialect(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        map.remove("$schema");
    }
    schema
}

/// Reads what a server lists, entry by entry: one that is wrong hides itself and nothing else.
#[must_use]
pub fn read(entries: &[Value]) -> Listed {
    read_beside(entries, Vec::new())
}

/// The same beside tools of ours, whose names are taken.
#[must_use]
pub fn read_beside(entries: &[Value], own: Vec<Definition>) -> Listed {
    let mut listed = Listed::default();
    let own = own.into_iter().map(|tool| (tool.remote.clone(), tool));
    let mut found: BTreeMap<String, Definition> = own.collect();
    for entry in entries.iter().take(SERVER_TOOLS) {
        let name = entry
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let definition = one(entry)
            .and_then(|definition| definition.declared(&Line::default(), 1).map(|_| definition));
        match definition {
            Ok(definition) if found.contains_key(&definition.remote) => {
                listed
                    .hidden
                    .push(format!("`{}`: its name is another's", shown(name)));
            }
            Ok(definition) => {
                found.insert(definition.remote.clone(), definition);
            }
            Err(error) => {
                let why = shown(error.message());
                listed.hidden.push(format!("`{}`: {why}", shown(name)));
            }
        }
    }
    if entries.len() > SERVER_TOOLS {
        let more = entries.len() - SERVER_TOOLS;
        listed
            .hidden
            .push(format!("{more} more: at most {SERVER_TOOLS} are looked at"));
    }
    listed.tools = found.into_values().collect();
    listed.keeping(&[])
}

fn one(entry: &Value) -> Result<Definition> {
    let bytes = json_bytes(entry);
    if bytes > SERVER_DEFINITION_BYTES {
        return Err(Error::too_big(
            "what it says of itself",
            SERVER_DEFINITION_BYTES,
            bytes,
        ));
    }
    let wrong = |why: &str| Error::bad_plugin(why);
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let remote = text("name")
        .filter(|name| !name.is_empty())
        .ok_or_else(|| wrong("it has no name"))?;
    if remote.len() > SERVER_REMOTE_NAME_BYTES {
        return Err(Error::too_big(
            "its name",
            SERVER_REMOTE_NAME_BYTES,
            remote.len(),
        ));
    }
    // It could not be called by the name that would be shown.
    if remote.contains(REDACTED) {
        return Err(wrong("its name holds a secret"));
    }
    let said = [text("title"), text("description")].into_iter().flatten();
    let said: Vec<&str> = said.filter(|text| !text.trim().is_empty()).collect();
    let mut description = said.join("\n");
    if description.is_empty() {
        description = format!(
            "The tool `{}`, of which its server says nothing.",
            visible(remote)
        );
    }
    if description.len() > DESCRIPTION_BYTES {
        return Err(Error::too_big(
            "its description",
            DESCRIPTION_BYTES,
            description.len(),
        ));
    }
    let input = entry.get("inputSchema").filter(|schema| schema.is_object());
    let output = entry.get("outputSchema").filter(|schema| !schema.is_null());
    Ok(Definition {
        remote: remote.to_owned(),
        short: naming::short(remote),
        description,
        input: input
            .cloned()
            .ok_or_else(|| wrong("its `inputSchema` is no schema"))?,
        output: output.cloned(),
        hints: entry.get("annotations").cloned().unwrap_or_default(),
        act: Act::Call,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Value {
        json!({"name": name, "description": "d", "inputSchema": {"type": "object", "properties": {"q": {}}}})
    }

    fn with(key: &str, value: Value) -> Value {
        let mut tool = tool("t");
        tool[key] = value;
        tool
    }

    #[test]
    fn one_that_is_wrong_hides_itself_alone() {
        let mut deep = json!({"type": "string"});
        for _ in 0..200 {
            deep = json!({"not": deep});
        }
        for (bad, says) in [
            (json!({}), "no name"),
            (json!(7), "no name"),
            (with("name", json!("")), "no name"),
            (with("name", json!("x".repeat(300))), "too big"),
            (with("inputSchema", json!(7)), "no schema"),
            (with("inputSchema", json!({"type": "string"})), "object"),
            (
                with(
                    "inputSchema",
                    json!({"type": "object", "$ref": "http://127.0.0.1/x"}),
                ),
                "refers",
            ),
            (
                with("inputSchema", json!({"type": "object", "$ref": "#"})),
                "refers",
            ),
            (
                with(
                    "inputSchema",
                    json!({"type": "object", "properties": {"a": deep}}),
                ),
                "deeper",
            ),
            (
                with(
                    "inputSchema",
                    json!({"type": "object", "properties": {"a": {"pattern": "(("}}}),
                ),
                "JSON Schema",
            ),
            (
                with("outputSchema", json!({"$ref": "file:///etc/passwd"})),
                "refers",
            ),
            (with("description", json!("x".repeat(5_000))), "too big"),
            (with("x", json!("x".repeat(70_000))), "too big"),
        ] {
            let listed = read(&[tool("good"), bad]);
            let names: Vec<&str> = listed
                .tools
                .iter()
                .map(|tool| tool.remote.as_str())
                .collect();
            assert_eq!(names, ["good"]);
            assert!(
                listed.hidden[0].contains(says),
                "{says}: {:?}",
                listed.hidden
            );
        }
        let own = super::super::resources::tools().to_vec();
        let taken = read_beside(&[tool("resources/read"), tool("a")], own);
        assert_eq!((taken.tools.len(), taken.hidden.len()), (3, 1));
        let reads = taken
            .tools
            .iter()
            .find(|tool| tool.act == Act::ReadResource);
        assert_eq!(reads.unwrap().short, "resources_read");
        let twice = read(&[tool("a"), tool("a")]);
        assert_eq!((twice.tools.len(), twice.hidden.len()), (1, 1));
    }

    #[test]
    fn no_newcomer_takes_the_name_of_a_tool_that_was_read_or_of_ours() {
        let name_of = |listed: &Listed, remote: &str| {
            let tool = listed.tools.iter().find(|tool| tool.remote == remote);
            tool.unwrap().short.clone()
        };
        let was = read(&[tool("sendMail"), tool("resources_list")]).tools;
        let own = super::super::resources::tools().to_vec();
        let now = [tool("send_mail"), tool("sendMail"), tool("resources_list")];
        let now = read_beside(&now, own);
        assert_eq!(name_of(&now, "send_mail"), "send_mail");
        let now = now.keeping(&was);
        assert_eq!(name_of(&now, "sendMail"), "send_mail");
        assert!(name_of(&now, "send_mail").starts_with("send_mail_"));
        assert_eq!(name_of(&now, "resources/list"), "resources_list");
        assert!(name_of(&now, "resources_list").starts_with("resources_list_"));
        assert_eq!((now.tools.len(), now.hidden.len()), (5, 0));
        // What was read while another had our name keeps it no longer.
        let mut stolen = now.tools.clone();
        for tool in &mut stolen {
            tool.short = match tool.remote.as_str() {
                "resources/list" => "resources_list_e72ae5a7".to_owned(),
                "resources_list" => "resources_list".to_owned(),
                _ => tool.short.clone(),
            };
        }
        let now = now.keeping(&stolen);
        assert_eq!(name_of(&now, "resources/list"), "resources_list");
    }

    #[test]
    fn a_word_that_changes_is_another_definition() {
        let digest = |tool: Value| read(&[tool]).tools[0].digest();
        let first = digest(tool("t"));
        assert_eq!(first, digest(tool("t")));
        for (key, value) in [
            ("description", json!("D")),
            ("title", json!("T")),
            ("annotations", json!({"readOnlyHint": true})),
            ("outputSchema", json!({"type": "object"})),
            ("inputSchema", json!({"type": "object"})),
        ] {
            assert_ne!(first, digest(with(key, value)), "{key}");
        }
    }

    #[test]
    fn what_a_server_says_it_does_counts_for_nothing() {
        let says = with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false}),
        );
        let listed = read(&[says]);
        let declared = listed.tools[0].declared(&Line::default(), 5).unwrap();
        assert!(declared.is_unclassified() && declared.is_sink());
        let looks = Line {
            effect: EffectClass::ReadOnly,
            ..Line::default()
        };
        let declared = listed.tools[0].declared(&looks, 5).unwrap();
        assert!(declared.is_sink(), "it is told its arguments");
        let nothing = ToolFlow::default();
        assert_eq!(flow(&nothing, &looks, &declared.input).content, ["q"]);
        assert!(flow(&nothing, &Line::default(), &declared.input).is_nothing());
        // What is said of its records says nothing of its arguments.
        let records: ToolFlow = toml::from_str("records = { id = \"id\" }").unwrap();
        let said = flow(&records, &looks, &declared.input);
        assert_eq!(
            (said.content, said.records),
            (vec!["q".to_owned()], records.records)
        );
    }
}
