//! The window: what of a run a model is told, where not all of it fits (U-41).
//!
//! Parts have a fixed order: instructions and cards, the summary, the messages. Messages are taken newest first, and
//! as long as they fit; a reply and the outcomes of its calls are one *turn* and stay together. The latest words of
//! the user are always told, or the run fails.

use std::borrow::Cow;

use super::counting::Counting;
use super::tokens::Tokenizer;
use crate::words::attachment::Attachment;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::{CONTEXT_RESERVE_TOKENS, CONTEXT_WINDOW_TOKENS};
use crate::words::message::{Card, Message, Prompt, Reply, WishedArgs};

/// What a model can be told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The model's name in the configuration.
    pub model: String,
    /// All that it takes, its answer apart.
    pub tokens: u64,
    /// What of that stays empty: nobody counts exactly as the provider does.
    pub reserve_tokens: u64,
    /// What counts, and how.
    pub counting: Counting,
    /// Whether the latest words of the user are cut where they do not fit; otherwise the run fails (C-22).
    pub cut_latest: bool,
}

impl Window {
    /// Of a model of which nothing is known.
    #[must_use]
    pub fn of(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            tokens: CONTEXT_WINDOW_TOKENS,
            reserve_tokens: CONTEXT_RESERVE_TOKENS,
            counting: Counting::by(Tokenizer::of_model(model)),
            cut_latest: false,
        }
    }

    /// What may be filled.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.tokens.saturating_sub(self.reserve_tokens)
    }

    /// The tokens of a prompt, as they are counted for this model.
    #[must_use]
    pub fn weigh(&self, prompt: &Prompt) -> u64 {
        let messages = prompt.messages.iter();
        let mut tokens = messages
            .map(|message| tokens_of(self.counting, message))
            .fold(0, u64::saturating_add);
        each_fixed(&prompt.instructions, &prompt.cards, |text| {
            tokens = tokens.saturating_add(self.counting.count(text));
        });
        tokens
    }
}

/// What every provider sends of a message, in bytes: never less than its tokens. Of what is attached nobody knows (O-28).
pub(super) fn bytes_of(counting: Counting, message: &Message) -> u64 {
    if attached(message) > 0 {
        return u64::MAX;
    }
    let mut bytes = counting.message_tokens;
    each_text(message, |text| bytes = bytes.saturating_add(length(text)));
    bytes
}

/// The tokens of a message, and of what frames it.
pub(super) fn tokens_of(counting: Counting, message: &Message) -> u64 {
    let mut tokens = counting.message_tokens.saturating_add(attached(message));
    each_text(message, |text| {
        tokens = tokens.saturating_add(counting.count(text));
    });
    tokens
}

/// What is attached to a message, in tokens.
fn attached(message: &Message) -> u64 {
    match message {
        Message::User { attached, .. } => attached.iter().map(Attachment::tokens).sum(),
        Message::Assistant(_) | Message::Tool { .. } => 0,
    }
}

/// What is told beside the messages, text by text.
pub(super) fn each_fixed(instructions: &str, cards: &[Card], mut see: impl FnMut(&str)) {
    see(instructions);
    for card in cards {
        see(&card.name);
        see(&card.description);
        see(&card.input.to_string());
    }
}

pub(super) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn each_text(message: &Message, mut see: impl FnMut(&str)) {
    match message {
        Message::User { text, .. } => see(text),
        Message::Assistant(reply) => each_text_of_reply(reply, see),
        Message::Tool { id, observation } => {
            see(id);
            see(&observation.text);
        }
    }
}

fn each_text_of_reply(reply: &Reply, mut see: impl FnMut(&str)) {
    see(&reply.text);
    for call in &reply.calls {
        see(&call.id);
        see(&call.tool);
        see(&args_text(&call.args));
    }
    for thought in &reply.thoughts {
        see(&thought.text);
        if !thought.opaque.is_null() {
            see(&thought.opaque.to_string());
        }
    }
}

fn args_text(args: &WishedArgs) -> Cow<'_, str> {
    match args {
        WishedArgs::Json(args) => args.to_string().into(),
        WishedArgs::Broken(text) => text.into(),
    }
}

/// What is told or left out as a whole: a message of the user, or a reply with the outcomes of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Its first message.
    pub from: usize,
    /// The first one after it.
    pub to: usize,
}

/// The messages from `start` on, turn by turn.
pub(super) fn turns(messages: &[&Message], start: usize) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (at, message) in messages.iter().enumerate().skip(start) {
        match turns.last_mut() {
            Some(last) if matches!(message, Message::Tool { .. }) => last.to = at + 1,
            _ => turns.push(Turn {
                from: at,
                to: at + 1,
            }),
        }
    }
    turns
}

/// The latest words of the user.
pub(super) fn latest(messages: &[&Message]) -> Option<usize> {
    let of_user = |message: &&Message| matches!(message, Message::User { .. });
    messages.iter().rposition(of_user)
}

/// Which messages are told: those from `from` on, and `latest` before them, if it is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub from: usize,
    pub latest: Option<usize>,
    /// What `latest` is cut to, where it does not fit as a whole.
    pub cut: Option<Cut>,
}

/// So many tokens are left of a message, counted so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub tokens: u64,
    pub counting: Counting,
}

impl Kept {
    /// Whether a message is told.
    pub(super) fn has(self, at: usize) -> bool {
        at >= self.from || self.latest == Some(at)
    }
}

/// What of the messages from `start` on fits into `room`.
///
/// # Errors
/// `OverBudget` where the latest words of the user, or what the last calls came to, do not.
pub(super) fn keep(
    (messages, start): (&[&Message], usize),
    (room, window): (u64, &Window),
    cost: &dyn Fn(usize) -> u64,
) -> Result<Kept> {
    let latest = latest(messages);
    let mut own = latest.map_or(0, cost);
    let can_be = latest.is_some_and(|at| {
        messages
            .get(at)
            .is_some_and(|message| attached(message) == 0)
    });
    let cut = (window.cut_latest && can_be && own > room).then_some(Cut {
        // As much again is left for what the run does about it.
        tokens: room / 2,
        counting: window.counting,
    });
    if let Some(cut) = cut {
        own = cut.tokens;
    }
    let Some(mut left) = room.checked_sub(own) else {
        return Err(over("the latest message of the user", own, room, window));
    };
    let mut from = messages.len();
    for turn in turns(messages, start).iter().rev() {
        let costs = (turn.from..turn.to).filter(|at| latest != Some(*at));
        let needed: u64 = costs.map(cost).fold(0, u64::saturating_add);
        let Some(rest) = left.checked_sub(needed) else {
            // A model that is not told what its last calls came to makes them again.
            if from == messages.len() {
                return Err(over(
                    "the last reply and its outcomes",
                    needed,
                    left,
                    window,
                ));
            }
            break;
        };
        (left, from) = (rest, turn.from);
    }
    Ok(Kept { from, latest, cut })
}

/// Leaves the beginning of what a user said, and says that the rest is gone.
pub(super) fn cut_message(message: &mut Message, cut: Cut) {
    let Message::User { text, .. } = message else {
        return;
    };
    let all = text.chars().count();
    let most = usize::try_from(cut.tokens).unwrap_or(usize::MAX);
    let mut chars = most.saturating_mul(cut.counting.chars_per_token).min(all);
    loop {
        let head: String = text.chars().take(chars).collect();
        let left = all.saturating_sub(chars);
        let shown = format!("{head}\n[{left} of {all} characters left out]");
        let tokens = cut.counting.count(&shown);
        let tokens = tokens.saturating_add(cut.counting.message_tokens);
        if chars == 0 || tokens <= cut.tokens {
            *text = shown;
            return;
        }
        chars = chars.saturating_mul(3) / 4;
    }
}

/// What does not fit, and what would change it.
pub(super) fn over(what: &str, needed: u64, room: u64, window: &Window) -> Error {
    let (model, tokens) = (&window.model, window.tokens);
    let about = if window.counting.is_estimate() {
        "about "
    } else {
        ""
    };
    let message = format!(
        "context_window: {what} would take {about}{needed} tokens, and {room} are left of the {tokens} that the model \
         `{model}` takes"
    );
    Error::new(Code::OverBudget, message)
        .hint(format!(
            "if it takes more: [models.{model}]\nwindow_tokens = …"
        ))
        .hint("otherwise say it in fewer words, grant fewer tools, or let tools return less")
}
