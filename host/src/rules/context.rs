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
/// manifest: of tools that policy allows the `named` ones, and nothing that a tool, file or page said, its own name
/// included (R-20, R-22, S-20). What comes from outside stands where tools answer, between marks;
/// what the marks mean is told last, so that all before it stays the same from turn to turn (G-91).
#[must_use]
pub fn prompt(
    agent: &Agent,
    (cards, named): (&[Card], &[String]),
    messages: &[Message],
    marks: &Marks<'_>,
) -> Prompt {
    Context::default().whole(Telling {
        agent,
        cards,
        named,
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

/// What is told first, the same in every turn of a run. Names that strangers gave, and those of tools that were found,
/// stand in the list of tools alone.
fn instructions(telling: Telling<'_>) -> String {
    let (agent, named) = (telling.agent, telling.named);
    let mut tools = if telling.cards.is_empty() {
        "You have no tools.".to_owned()
    } else if named.is_empty() {
        "Your list of tools shows what policy lets you call. Others do not exist for you."
            .to_owned()
    } else {
        format!(
            "Tools that policy lets you call: {}, and what else your list of tools shows. Others do not exist for you.",
            named.join(", ")
        )
    };
    let has = |name: &String| name.starts_with("handle.") || *name == agent.names.read_result;
    if named.iter().any(has) {
        tools.push_str(&format!(" {}", agent.names.told(HELD)));
    }
    let holds = agent
        .tools
        .iter()
        .any(|line| line.to_string() == "handle.*");
    if holds && named.contains(&agent.names.run_script) {
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
