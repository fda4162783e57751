//! Tokens: what a model was told and what it said, read off the records of a run, by one tokenizer for both modes.

use anyhow::Result;
use lazaret::rules::agent::Agent;
use lazaret::rules::code_mode::{run_script_card, search_tools_card};
use lazaret::rules::context;
use lazaret::rules::inbound::Marks;
use lazaret::runs::host::Host;
use lazaret::words::event::{EffectKind, Event, Record, Surface};
use lazaret::words::message::{Card, Message, Prompt, Reply, WishedArgs};
use tiktoken_rs::CoreBPE;

/// What a run has cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// How often the model was asked.
    pub turns: usize,
    /// Calls of tools, from the model or from its script.
    pub calls: usize,
    /// Tokens of all prompts together: what is paid for as input.
    pub read: usize,
    /// Tokens of the last prompt: what the context has grown to.
    pub context: usize,
    /// Tokens that the model wrote.
    pub wrote: usize,
}

/// Reads a run's cost off its records.
///
/// # Errors
/// Where the tokenizer cannot be made.
pub fn cost(host: &Host, agent: &Agent, goal: &str, records: &[Record]) -> Result<Cost> {
    // Its tables are part of this program.
    let tokenizer = tiktoken_rs::o200k_base()?;
    let cards = cards(host, agent);
    let mut messages = vec![Message::user(goal)];
    let mut cost = Cost::default();
    for record in records {
        match &record.event {
            Event::Prompted { tools, .. } => {
                let told: Vec<Card> = tools
                    .iter()
                    .filter_map(|name| cards.iter().find(|card| card.name == *name))
                    .cloned()
                    .collect();
                anyhow::ensure!(told.len() == tools.len(), "a tool has no card");
                cost.turns += 1;
                let policy = host.policy();
                let inbound = (policy.inbound, &policy.flows.classes);
                let marks = Marks::of_run(inbound, host.journal().key(), &record.run);
                // All of them come with the host, and are offered from the beginning.
                let offered = (told.as_slice(), tools.as_slice());
                let prompt = context::prompt(agent, offered, &messages, &marks);
                cost.context = of_prompt(&tokenizer, &prompt);
                cost.read += cost.context;
            }
            Event::Replied { reply, .. } => {
                cost.calls += reply.calls.len();
                cost.wrote += of_reply(&tokenizer, reply);
                messages.push(Message::Assistant(reply.clone()));
            }
            Event::Observed {
                call, observation, ..
            } => messages.push(Message::Tool {
                id: call.clone(),
                observation: observation.clone(),
            }),
            Event::Judged(judged)
                if judged.effect == EffectKind::Call && judged.origin == "script" =>
            {
                cost.calls += 1;
            }
            _ => {}
        }
    }
    Ok(cost)
}

/// The cards of all tools that the agent may be told of.
fn cards(host: &Host, agent: &Agent) -> Vec<Card> {
    let tools = host
        .catalog()
        .told(&agent.tools, host.policy(), Surface::Cli);
    let listed: Vec<_> = tools.iter().map(|tool| tool.listed()).collect();
    let mut cards = vec![
        run_script_card(&listed),
        search_tools_card(host.policy().scripts.search),
    ];
    cards.extend(tools.iter().map(|tool| tool.card()));
    cards
}

/// What every provider sends: instructions, cards and messages. The few tokens with which each frames them are its own.
fn of_prompt(tokenizer: &CoreBPE, prompt: &Prompt) -> usize {
    let count = |text: &str| tokenizer.encode_ordinary(text).len();
    let cards = prompt
        .cards
        .iter()
        .map(|card| count(&card.name) + count(&card.description) + count(&card.input.to_string()));
    let messages = prompt.messages.iter().map(|message| match message {
        Message::User { text, .. } => count(text),
        Message::Assistant(reply) => of_reply(tokenizer, reply),
        Message::Tool { observation, .. } => count(&observation.text),
    });
    count(&prompt.instructions) + cards.sum::<usize>() + messages.sum::<usize>()
}

fn of_reply(tokenizer: &CoreBPE, reply: &Reply) -> usize {
    let count = |text: &str| tokenizer.encode_ordinary(text).len();
    let calls = reply.calls.iter().map(|call| {
        let args = match &call.args {
            WishedArgs::Json(args) => args.to_string(),
            WishedArgs::Broken(text) => text.clone(),
        };
        count(&call.tool) + count(&args)
    });
    count(&reply.text) + calls.sum::<usize>()
}
