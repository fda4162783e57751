//! Tools as other frameworks are told of them: one function for each shape, from a tool to its JSON.
//!
//! Names are those of [`ToolNames`]: what every provider takes, and a table leads back from them. What a shape has no
//! field for is left out; arguments are checked against the whole schema when a call comes, whatever was made of it.

use serde_json::{Map, Value, json};

use crate::guests::catalog::Tool;
use crate::rules::codec::names::ToolNames;
use crate::rules::codec::schemas::of_object;
use crate::rules::grant::Pattern;
use crate::rules::manifest::{Declared, EffectClass, Risk, Visibility};
use crate::runs::host::Host;
use crate::words::event::Surface;

/// A shape that tools are told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `tools` of OpenAI's chat completions.
    OpenAi,
    /// `tools` of Anthropic's messages.
    Anthropic,
    /// The answer to MCP's `tools/list`.
    Mcp,
    /// The `tools` of the AI SDK, by name.
    AiSdk,
}

impl Shape {
    /// The surface that calls of such a list come by.
    #[must_use]
    pub fn surface(self) -> Surface {
        match self {
            Self::OpenAi | Self::Anthropic | Self::AiSdk => Surface::AiSdk,
            Self::Mcp => Surface::Mcp,
        }
    }
}

/// Tools that a model behind this surface may be told of, in order of name: no more than it may call.
#[must_use]
pub fn exposed(host: &Host, surface: Surface) -> Vec<&Tool> {
    let told = host
        .catalog()
        .told(&[Pattern::all()], host.policy(), surface);
    let remote = |tool: &&Tool| match tool.declared.offer.visibility {
        Visibility::Public => true,
        Visibility::Local | Visibility::Private | Visibility::User => false,
    };
    told.into_iter().map(AsRef::as_ref).filter(remote).collect()
}

/// The names of these tools where dots may not stand.
#[must_use]
pub fn names(tools: &[&Tool]) -> ToolNames {
    ToolNames::new(tools.iter().map(|tool| tool.name.as_str()))
}

/// The tool's own name for one that a catalogue has given it; any other name stays as it is. Whoever has a list calls by
/// it, and no list has a name with a dot.
#[must_use]
pub fn full(host: &Host, name: &str) -> String {
    if name.contains('.') {
        return name.to_owned();
    }
    // A name may stand for another tool only where another list is shorter.
    let lists = [Surface::AiSdk, Surface::Mcp].map(|surface| names(&exposed(host, surface)));
    let found = lists.iter().find(|names| names.knows(name));
    found.map_or(name, |names| names.full(name)).to_owned()
}

/// These tools in this shape, under their names in the whole list of what is exposed.
#[must_use]
pub fn list(tools: &[&Tool], names: &ToolNames, shape: Shape) -> Value {
    let name = |tool: &Tool| names.wire(tool.name.as_str());
    let each = |told: fn(&Tool, &str) -> Value| -> Value {
        tools.iter().map(|tool| told(tool, &name(tool))).collect()
    };
    match shape {
        Shape::OpenAi => each(open_ai),
        Shape::Anthropic => each(anthropic),
        Shape::Mcp => json!({"tools": each(mcp)}),
        Shape::AiSdk => {
            let by_name = tools.iter().map(|tool| (name(tool), ai_sdk(tool)));
            Value::Object(by_name.collect::<Map<_, _>>())
        }
    }
}

/// As one of OpenAI's `tools`, under this name.
#[must_use]
pub fn open_ai(tool: &Tool, name: &str) -> Value {
    let card = tool.card();
    let parameters = of_object(&card.input);
    json!({"type": "function", "function": {
        "name": name, "description": card.description, "parameters": parameters,
    }})
}

/// As one of Anthropic's `tools`, under this name.
#[must_use]
pub fn anthropic(tool: &Tool, name: &str) -> Value {
    let card = tool.card();
    let schema = of_object(&card.input);
    json!({"name": name, "description": card.description, "input_schema": schema})
}

/// As one of MCP's tools, under this name. What it returns is the content of an envelope, so its schema stands where
/// clients hold nothing against it.
#[must_use]
pub fn mcp(tool: &Tool, name: &str) -> Value {
    let card = tool.card();
    json!({
        "name": name,
        "title": tool.name,
        "description": card.description,
        "inputSchema": of_object(&card.input),
        "annotations": annotations(&tool.declared),
        "_meta": {
            "lazaret/tool": tool.name,
            "lazaret/digest": tool.digest(),
            "lazaret/output": card.output,
            "lazaret/requiresConfirmation": tool.declared.requires_confirmation(),
            "lazaret/needsApproval": tool.declared.conduct.needs_approval,
        },
    })
}

/// What MCP's hints say of a tool: they follow from what it declares, and the most careful holds where it is silent.
#[must_use]
pub fn annotations(declared: &Declared) -> Value {
    let looks = declared.effect.leaves_no_trace();
    json!({
        "readOnlyHint": looks,
        "destructiveHint": declared.effect == EffectClass::Destructive,
        "idempotentHint": looks || declared.conduct.idempotent,
        "openWorldHint": reaches_out(declared),
    })
}

/// Whether it deals with what lies outside of this machine.
fn reaches_out(declared: &Declared) -> bool {
    let stateful = declared.effect == EffectClass::ExternalStateful;
    let risky = match declared.risk {
        Risk::NetworkRead | Risk::DataExfiltrationRisk | Risk::ExternalWrite => true,
        Risk::ReadOnly | Risk::HighRisk | Risk::Unclassified => false,
    };
    stateful || risky || !declared.wants.hosts.is_empty()
}

/// As one of the AI SDK's tools, but for its `execute`.
#[must_use]
pub fn ai_sdk(tool: &Tool) -> Value {
    let card = tool.card();
    let conduct = &tool.declared.conduct;
    json!({
        "description": card.description,
        "inputSchema": of_object(&card.input),
        "outputSchema": card.output,
        "needsApproval": conduct.needs_approval || tool.declared.requires_confirmation(),
    })
}
