//! The context: what the model is told before anything else, and of which tools.

pub mod counting;
pub mod rolling;
pub mod tokens;
pub mod told;
pub mod window;

use self::told::{Context, Telling};
use super::agent::Agent;
use super::inbound::Marks;
use crate::words::message::{Card, Message, Prompt};

/// Builds the prompt of a turn, all of it, however large. The system position holds authored text and the capability
/// manifest: names of tools that policy allows, which the operator installed, and nothing that a tool, file or
/// page said (R-20, R-22, S-20). What comes from outside stands where tools answer, between marks;
/// what the marks mean is told last, so that all before it stays the same from turn to turn (G-91).
#[must_use]
pub fn prompt(agent: &Agent, cards: &[Card], messages: &[Message], marks: &Marks<'_>) -> Prompt {
    Context::default().whole(Telling {
        agent,
        cards,
        own: messages,
        marks,
    })
}

/// What a model has to know to work with outcomes that it does not see.
const HELD: &str = "An outcome with `$handle` is held back, since others had influence on it: pass it on as it is \
    wherever a tool takes a value, or work on it with the `handle` tools; `handle.read` shows it to you.";

/// Likewise, for the scripts that it writes.
const HELD_IN_SCRIPTS: &str = "In a script, an outcome with `$handle` is held back, since others had influence on it: pass \
    it on as it is wherever a tool takes a value. `await isolate(x => x.text.split(\"\\n\")[0], handle)` runs a pure function \
    over it and gives a handle; so does `await consult([handle], \"question\", { type: \"string\" })`, which asks a model; \
    `await reveal(handle)` shows it to the script.";

fn instructions(agent: &Agent, cards: &[Card]) -> String {
    let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
    let tools = if names.is_empty() {
        "You have no tools.".to_owned()
    } else {
        format!(
            "Tools that policy lets you call: {}. Others do not exist for you.",
            names.join(", ")
        )
    };
    let mut tools = tools;
    let has = |name: &&str| name.starts_with("handle.") || *name == agent.names.read_result;
    if names.iter().any(has) {
        tools.push_str(&format!(" {}", agent.names.told(HELD)));
    }
    let holds = agent
        .tools
        .iter()
        .any(|line| line.to_string() == "handle.*");
    if holds && names.contains(&agent.names.run_script.as_str()) {
        tools.push_str(&format!(" {HELD_IN_SCRIPTS}"));
    }
    let authored = agent.instructions.trim();
    if authored.is_empty() {
        tools
    } else {
        format!("{authored}\n\n{tools}")
    }
}

#[cfg(test)]
mod tests;
