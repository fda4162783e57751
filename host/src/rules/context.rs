//! The context: what the model is told before anything else, and of which tools.

use super::agent::Agent;
use crate::words::message::{Card, Message, Prompt};

/// Builds the prompt of a turn. The system position holds authored text and the capability manifest:
/// names of tools that policy allows, which the operator installed, and nothing that a tool, file or
/// page said (R-20, R-22, S-20).
#[must_use]
pub fn prompt(agent: &Agent, cards: &[Card], messages: &[Message]) -> Prompt {
    Prompt {
        instructions: instructions(agent, cards),
        cards: cards.to_vec(),
        messages: messages.to_vec(),
    }
}

/// What a model has to know to work with outcomes that it does not see.
const HELD: &str = "An outcome with `$handle` is held back, since others had influence on it: pass it on as it is \
    wherever a tool takes a value, or work on it with the `handle` tools; `handle.read` shows it to you.";

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
    let tools = if names.iter().any(|name| name.starts_with("handle.")) {
        format!("{tools} {HELD}")
    } else {
        tools
    };
    let authored = agent.instructions.trim();
    if authored.is_empty() {
        tools
    } else {
        format!("{authored}\n\n{tools}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authored_text_stays_literal() {
        let agent = Agent {
            instructions: "Use {{ run.output }}.".into(),
            ..Agent::new("a")
        };
        let prompt = prompt(
            &agent,
            &[],
            &[Message::User {
                text: "canary".into(),
            }],
        );
        assert_eq!(
            prompt.instructions,
            "Use {{ run.output }}.\n\nYou have no tools."
        );
    }
}
