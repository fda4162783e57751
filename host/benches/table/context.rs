//! Context: what it takes to make the prompt of a run that has said much.

use std::time::{Duration, Instant};

use lazaret::rules::agent::Agent;
use lazaret::rules::context::counting::Counting;
use lazaret::rules::context::rolling::Rolling;
use lazaret::rules::context::tokens::Tokenizer;
use lazaret::rules::context::told::{Context, Telling};
use lazaret::rules::context::window::Window;
use lazaret::rules::flow::class::Classes;
use lazaret::rules::inbound::{Inbound, Marks};
use lazaret::words::label::{Label, Sort, Source};
use lazaret::words::message::{Message, Observation, Reply};

use crate::rows::{goal, median, row};

const MESSAGES: usize = 200;
/// So that all of them are more than the window takes.
const CHARS: usize = 4_000;
const SAMPLES: usize = 200;

/// Two hundred messages in a window of 128 000 tokens.
pub(crate) fn all() {
    let (classes, agent) = (Classes::default(), Agent::new("a"));
    let marks = Marks::new((Inbound::default(), &classes), "n0nce".to_owned());
    let own = messages();
    let telling = Telling {
        agent: &agent,
        cards: &[],
        named: &[],
        own: &own,
        marks: &marks,
    };
    let window = Window {
        counting: Counting::by(Tokenizer::O200k),
        ..Window::of("m")
    };
    let (mut context, rolling) = (Context::default(), Rolling::default());
    let mut prompt = || {
        let began = Instant::now();
        let due = context.due(telling, (&rolling, &window));
        let prompt = context.prompt(telling, &window).unwrap();
        assert!(due.is_some() && prompt.messages.len() < MESSAGES);
        began.elapsed()
    };
    let first = vec![prompt()];
    let after: Vec<Duration> = (0..SAMPLES).map(|_| prompt()).collect();
    row(
        "context of 200 messages, 128k window: the first prompt",
        &first,
        "",
    );
    row(
        "context of 200 messages: each prompt after it",
        &after,
        &goal(median(&after), Duration::from_millis(5)),
    );
}

fn messages() -> Vec<Message> {
    let label = Label::of(Source::new(Sort::Web, "https://h.test"));
    let mut messages = vec![Message::user("the goal")];
    while messages.len() < MESSAGES {
        let number = messages.len();
        messages.push(Message::Assistant(Reply {
            text: format!("step {number}"),
            calls: vec![lazaret::words::message::ToolCall {
                id: format!("c{number}"),
                tool: "t.x".to_owned(),
                args: lazaret::words::message::WishedArgs::Json(serde_json::json!({"n": number})),
            }],
            ..Reply::default()
        }));
        let words = (0..CHARS / 8).map(|at| format!("w{:06} ", at * number));
        messages.push(Message::Tool {
            id: format!("c{number}"),
            observation: Observation {
                text: words.collect(),
                ok: true,
                label: label.clone(),
                flags: Vec::new(),
            },
        });
    }
    messages
}
