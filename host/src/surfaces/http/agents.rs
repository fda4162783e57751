//! `/v1/agents`: who may be given a goal.

use axum::extract::State;
use serde_json::{Value, json};

use super::answer::{Answered, ok};
use super::site::Site;
use crate::rules::agent::Agent;
use crate::runs::host::Host;
use crate::surfaces::config::AGENT;
use crate::words::error::{Error, Result};
use crate::words::id::shown;

/// `GET /v1/agents`.
pub(super) async fn list(State(site): State<Site>) -> Answered {
    let host = site.host();
    let agents: Vec<Value> = host.agents().values().map(described).collect();
    ok(&json!({"agents": agents}))
}

fn described(agent: &Agent) -> Value {
    let first = agent.instructions.lines().next().unwrap_or_default();
    let tools: Vec<String> = agent.tools.iter().map(ToString::to_string).collect();
    json!({
        "name": agent.name,
        "description": first,
        "tools": tools,
        "models": agent.models,
    })
}

/// The agent of that name; the only one where none is named.
///
/// # Errors
/// `NotFound` for one that is not there, `BadInput` where it has to be named.
pub(super) fn chosen(host: &Host, named: Option<String>) -> Result<String> {
    if let Some(name) = named {
        return match host.agents().contains_key(&name) {
            true => Ok(name),
            false => Err(unknown(&name)),
        };
    }
    let mut names = host.agents().keys();
    match (names.next(), names.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => Err(Error::bad_input("no agent is configured").hint(AGENT)),
        (Some(_), Some(_)) => Err(Error::bad_input("there is more than one agent")
            .hint("{\"agent\": \"…\"}; `GET /v1/agents` lists them")),
    }
}

/// There is no such agent.
pub(super) fn unknown(name: &str) -> Error {
    Error::not_found(format!("agent `{}`", shown(name))).hint("`GET /v1/agents` lists them")
}
