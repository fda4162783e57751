//! What a client is offered: each tool that it may call, under a name that clients take, and the host's own three.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Entry, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::desk::Serving;
use crate::guests::catalog::Tool;
use crate::rules::code_mode::{run_script_card, search_tools_card};
use crate::rules::codec::names::ToolNames;
use crate::rules::flow::handles::PLUGIN;
use crate::rules::flow::lines::Browse;
use crate::rules::grant::Pattern;
use crate::rules::manifest::{EffectClass, Risk};
use crate::runs::host::Host;
use crate::words::error::{Error, Result};
use crate::words::event::Surface;
use crate::words::id::{ToolName, shown};
use crate::words::message::{Calling, Card};

/// The tool that goes on with a call that had to wait for a person.
pub(super) const RESUME_RUN: &str = "resume_run";

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// A plugin's tool.
    Tool(ToolName),
    /// `run_script`.
    Script,
    /// `search_tools`.
    Search,
    /// `resume_run`.
    Resume,
}

/// What one host offers to clients of MCP.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) host: Arc<Host>,
    entries: Vec<Entry>,
    names: BTreeMap<String, Which>,
}

impl Offered {
    /// What this host offers.
    ///
    /// # Errors
    /// `BadInput` for a name of `[mcp_server.names]` that no client would take, or that another tool has.
    pub(super) fn of(host: Arc<Host>, serving: &Serving) -> Result<Self> {
        let mut offered = Self {
            entries: Vec::new(),
            names: BTreeMap::new(),
            host: host.clone(),
        };
        let tools = told(&host);
        if serving.calling != Calling::Code {
            let usual = ToolNames::new(tools.iter().map(|tool| tool.name.as_str()));
            // Each call by itself is a run of its own, and begins with no handle.
            for tool in tools.iter().filter(|tool| tool.name.plugin() != PLUGIN) {
                let own = serving.names.get(tool.name.as_str()).cloned();
                let name = own.unwrap_or_else(|| usual.wire(tool.name.as_str()));
                let entry = entry(tool, &name, host.policy().flows.browse);
                // Where there is a search, whatever asks to be found by it is.
                let shown = serving.calling == Calling::Direct || !tool.declared.offer.deferred;
                offered.add(Which::Tool(tool.name.clone()), entry, shown)?;
            }
        }
        if serving.calling != Calling::Direct {
            let listed: Vec<_> = tools.iter().map(|tool| tool.listed()).collect();
            let quiet = tools
                .iter()
                .all(|tool| tool.declared.effect.leaves_no_trace());
            let script = own(&run_script_card(&listed), any(quiet));
            offered.add(Which::Script, script, true)?;
            let search = search_tools_card(host.policy().scripts.search);
            let looks = annotations(EffectClass::Pure, false);
            offered.add(Which::Search, own(&search, looks), true)?;
        }
        offered.add(Which::Resume, own(&resume_run_card(), any(false)), true)?;
        Ok(offered)
    }

    fn add(&mut self, which: Which, entry: Entry, shown: bool) -> Result<()> {
        let name = entry.name.to_string();
        check_name(&name)?;
        if shown {
            self.entries.push(entry);
        }
        if self.names.insert(name.clone(), which).is_some() {
            let what = format!("[mcp_server.names]: `{name}` is the name of two tools");
            return Err(Error::bad_input(what).hint("leave one of the two out"));
        }
        Ok(())
    }

    /// What a client means by a name.
    pub(super) fn which(&self, name: &str) -> Option<&Which> {
        self.names.get(name)
    }

    /// Words about tools, with the names that a client knows them by.
    pub(super) fn worded(&self, text: &str) -> String {
        let tools = self.names.iter().filter_map(|(name, which)| match which {
            Which::Tool(tool) => Some((name, tool)),
            Which::Script | Which::Search | Which::Resume => None,
        });
        tools.fold(text.to_owned(), |text, (name, tool)| {
            text.replace(&format!("`{tool}`"), &format!("`{name}`"))
        })
    }

    /// What a client was told of the tool of that name.
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The page that begins at a cursor, and the cursor of the next one.
    ///
    /// # Errors
    /// `BadInput` for a cursor that no page has ended with.
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        tools: usize,
    ) -> Result<(Vec<Entry>, Option<String>)> {
        let start = match cursor {
            None => 0,
            Some(cursor) => cursor
                .parse::<usize>()
                .ok()
                .filter(|start| *start < self.entries.len() && start % tools.max(1) == 0)
                .ok_or_else(|| Error::bad_input("there is no page of this cursor"))?,
        };
        let end = start.saturating_add(tools.max(1)).min(self.entries.len());
        let page = self.entries.get(start..end).unwrap_or_default().to_vec();
        let next = (end < self.entries.len()).then(|| end.to_string());
        Ok((page, next))
    }
}

/// The tools that a client of MCP may call.
pub(super) fn told(host: &Host) -> Vec<&Arc<Tool>> {
    host.catalog()
        .told(&[Pattern::all()], host.policy(), Surface::Mcp)
}

/// The protocol takes more; clients hand names on to models, whose providers take these.
fn check_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    let what = format!(
        "[mcp_server.names]: `{}` is no name that clients take",
        shown(name)
    );
    Err(Error::bad_input(what).hint("1 to 64 letters, digits, `_` and `-`"))
}

fn entry(tool: &Tool, name: &str, browse: Browse) -> Entry {
    let card = tool.card();
    Entry::new(name.to_owned(), card.description, takes(card.input))
        .with_title(tool.name.to_string())
        .with_raw_output_schema(Arc::new(gives(&card.output)))
        .with_annotations(of_tool(tool, browse))
}

fn own(card: &Card, annotations: ToolAnnotations) -> Entry {
    Entry::new(
        card.name.clone(),
        card.description.clone(),
        takes(card.input.clone()),
    )
    .with_raw_output_schema(Arc::new(gives(&card.output)))
    .with_annotations(annotations)
}

fn resume_run_card() -> Card {
    Card {
        name: RESUME_RUN.to_owned(),
        description:
            "Goes on with a call that had to wait for a person's answer, once that was given with \
            `lazaret ask`, and returns its outcome, also where that has gone on elsewhere. While the answer is missing, it says so."
                .to_owned(),
        input: json!({
            "type": "object",
            "properties": {"run": {
                "type": "string",
                "maxLength": 64,
                "description": "The `resume.run` that the call which waits was answered with.",
            }},
            "required": ["run"],
            "additionalProperties": false,
        }),
        output: json!({}),
    }
}

/// What clients are told a tool does: hints, as the protocol calls them, so whatever is not certain is the worse. Whether it
/// reaches anything outside is certain: it reaches what it is granted.
#[must_use]
pub fn of_tool(tool: &Tool, browse: Browse) -> ToolAnnotations {
    let declared = &tool.declared;
    let outside = match declared.risk {
        Risk::NetworkRead | Risk::DataExfiltrationRisk | Risk::ExternalWrite => true,
        Risk::ReadOnly | Risk::HighRisk | Risk::Unclassified => false,
    };
    let free = browse == Browse::Free && declared.effect != EffectClass::Pure;
    let reaches = !tool.grant.fetch.is_empty() || !tool.grant.calls.is_empty();
    let others = declared.outside || declared.effect == EffectClass::ExternalStateful;
    let told = annotations(declared.effect, outside || free || reaches || others);
    match declared.conduct.idempotent {
        true => told.idempotent(true),
        false => told,
    }
}

/// Whatever changes something may write over something else, so only what leaves no trace is not destructive.
fn annotations(effect: EffectClass, open: bool) -> ToolAnnotations {
    let quiet = effect.leaves_no_trace();
    ToolAnnotations::new()
        .read_only(quiet)
        .destructive(!quiet)
        .idempotent(quiet)
        .open_world(open)
}

/// Of what may call any tool.
fn any(quiet: bool) -> ToolAnnotations {
    match quiet {
        true => annotations(EffectClass::ReadOnly, true).idempotent(false),
        false => annotations(EffectClass::Destructive, true),
    }
}

/// A schema of arguments: clients take objects alone.
fn takes(schema: Value) -> JsonObject {
    let mut object = match schema {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    object
        .entry("type")
        .or_insert_with(|| Value::String("object".to_owned()));
    object
}

/// The envelope around an outcome of this schema: what structured content is (row A-34). A client holds failures to it
/// as well, so that `data` and `error` are both left open.
fn gives(output: &Value) -> JsonObject {
    let mut output = output.clone();
    nest(&mut output);
    let schema = json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "data": output,
            "error": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "issues": {"type": "array"},
                    "retryable": {"type": "boolean"},
                },
                "required": ["code", "message"],
            },
            "artifacts": {"type": "array"},
            "logs": {"type": "array"},
            "meta": {"type": "object"},
        },
        "required": ["ok", "artifacts", "logs", "meta"],
    });
    takes(schema)
}

/// Lets a schema stand inside another: what it says of places in itself, it says of where it is now.
fn nest(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("$schema");
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef", Value::String(place)) => {
                        if let Some(rest) = place.strip_prefix('#')
                            && (rest.is_empty() || rest.starts_with('/'))
                        {
                            *place = format!("#/properties/data{rest}");
                        }
                    }
                    // Values, and no schemas.
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (_, value) => nest(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(nest),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_inside_another_speaks_of_itself() {
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
            "properties": {"self": {"$ref": "#"}, "b": {"const": {"$ref": "#/x"}}, "c": {"$ref": "#anchor"}},
        });
        nest(&mut schema);
        assert_eq!(
            schema,
            json!({
                "$defs": {"a": {"type": "array", "items": {"$ref": "#/properties/data/$defs/a"}}},
                "properties": {
                    "self": {"$ref": "#/properties/data"},
                    "b": {"const": {"$ref": "#/x"}},
                    "c": {"$ref": "#anchor"},
                },
            })
        );
    }

    #[test]
    fn what_is_not_certain_is_told_as_the_worse() {
        let of = |effect, open| {
            let told = annotations(effect, open);
            let hints = [
                told.read_only_hint,
                told.destructive_hint,
                told.idempotent_hint,
                told.open_world_hint,
            ];
            hints.map(Option::unwrap)
        };
        assert_eq!(of(EffectClass::Pure, false), [true, false, true, false]);
        assert_eq!(of(EffectClass::ReadOnly, true), [true, false, true, true]);
        for effect in [
            EffectClass::SideEffecting,
            EffectClass::ExternalStateful,
            EffectClass::Destructive,
        ] {
            assert_eq!(of(effect, true), [false, true, false, true]);
        }
    }

    #[test]
    fn names_are_those_that_providers_take() {
        for name in ["a", "text__count", "A-1_b", &"x".repeat(64)] {
            check_name(name).unwrap();
        }
        for name in ["", "a.b", "a b", "ü", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
