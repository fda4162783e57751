//! Messages: what a model is told and what it answers, free of any provider's wire format.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attachment::Attachment;
use super::label::Label;

/// One message of a conversation, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the person or client said.
    User {
        /// Their words.
        text: String,
        /// What they gave to look at, with these words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<Attachment>,
    },
    /// What the model answered.
    Assistant(Reply),
    /// What became of one call of the message before.
    Tool {
        /// The call's id, as the model gave it.
        id: String,
        /// What the model may read.
        observation: Observation,
    },
}

impl Message {
    /// Words of the user, with nothing attached.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            text: text.into(),
            attached: Vec::new(),
        }
    }
}

/// What the model answers to one prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What it thought before, as its provider wants it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<Thought>,
    /// Which provider it is of, so that no other one is told its thoughts; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Text, possibly empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Tools it wants to call, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    #[serde(default)]
    pub stop: StopReason,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
}

impl Reply {
    /// Its thoughts, where they are of the provider `by`: nobody else can use them, and some refuse them (U-38).
    #[must_use]
    pub fn thoughts_by(&self, by: &str) -> &[Thought] {
        if self.by == by { &self.thoughts } else { &[] }
    }

    /// Of those, what led to this call, or to the text where none is named.
    pub fn thoughts_to<'a>(
        &'a self,
        by: &str,
        call: Option<&'a str>,
    ) -> impl DoubleEndedIterator<Item = &'a Thought> {
        let thoughts = self.thoughts_by(by).iter();
        thoughts.filter(move |thought| thought.call.as_deref() == call)
    }
}

/// What a model thought before it spoke or called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    /// What may be read of it, possibly nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The provider's own part, such as a signature: kept and told back as it is, and never looked into.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub opaque: Value,
    /// The call that it led to; absent: it led to the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// A model's unchecked wish to call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's own id of the call.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// The arguments, or the text that was meant as such.
    pub args: WishedArgs,
}

/// Arguments as a model gave them: JSON, or text that is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WishedArgs {
    /// JSON of any shape; the schema is checked at dispatch.
    Json(Value),
    /// Text that is no JSON; it is answered, never executed.
    Broken(String),
}

impl WishedArgs {
    /// What they are, where they are JSON.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            Self::Broken(_) => None,
        }
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted to say.
    #[default]
    End,
    /// It waits for tools.
    Calls,
    /// It ran into its own length limit.
    Length,
    /// The provider refused to show it.
    Filtered,
}

/// Tokens of one or more provider calls, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens read from the provider's cache, part of `input_tokens`.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens that the provider has put into its cache, part of `input_tokens`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept_tokens: u64,
    /// Tokens of thoughts, part of `output_tokens`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// What they cost.
    #[serde(default, skip_serializing_if = "Cost::is_nothing")]
    pub cost: Cost,
}

fn is_none(number: &usize) -> bool {
    *number == 0
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Whether there is none, and it cost nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nobody has counted any tokens.
    #[must_use]
    pub fn has_no_tokens(&self) -> bool {
        self.input_tokens == 0 && self.output_tokens == 0
    }

    /// Adds another call's tokens.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.kept_tokens = self.kept_tokens.saturating_add(other.kept_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cost.add(other.cost);
    }
}

/// What provider calls cost, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Millionths of the currency in which the operator wrote the prices.
    #[serde(default)]
    pub micros: u64,
    /// Calls that are not in it, since their price is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

impl Cost {
    /// Of a call with a price.
    #[must_use]
    pub fn of(micros: u64) -> Self {
        Self { micros, unknown: 0 }
    }

    /// Of a call without.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            micros: 0,
            unknown: 1,
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, other: Self) {
        self.micros = self.micros.saturating_add(other.micros);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

impl fmt::Display for Cost {
    /// Such as `0.0123`, or `at least 0.0123` where some calls have no price.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unknown > 0 && self.micros == 0 {
            return out.write_str("unknown");
        }
        let at_least = if self.unknown > 0 { "at least " } else { "" };
        write!(out, "{at_least}{}", Amount(self.micros))
    }
}

/// Millionths of a currency, as a person reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub u64);

impl fmt::Display for Amount {
    /// Two places, and more where they say something: `0.50`, `0.0123`, `0.000001`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = format!("{part:06}");
        let (sure, rest) = digits.split_at_checked(2).unwrap_or((&digits, ""));
        write!(out, "{whole}.{sure}{}", rest.trim_end_matches('0'))
    }
}

/// An outcome made fit for a model: scrubbed, inert, bounded, labelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What the model reads.
    pub text: String,
    /// Whether the call succeeded.
    pub ok: bool,
    /// What influenced it.
    pub label: Label,
    /// Families of text that it looks like, where it was looked at (`rules/inbound.rs`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// A tool as it is shown to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The tool's full name.
    pub name: String,
    /// What it does, with its examples.
    pub description: String,
    /// Schema of its arguments.
    pub input: Value,
    /// Schema of what it returns.
    pub output: Value,
}

/// How a model calls tools (G-35, G-36).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Calling {
    /// One by one, each with its outcome in the context.
    #[default]
    Direct,
    /// From scripts alone.
    Code,
    /// Either way.
    Both,
}

/// Everything that one provider call is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// Authored text only: never anything that a tool, file or page said.
    pub instructions: String,
    /// So many bytes of them stand in every prompt of the run; all of them where it says 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub steady: usize,
    /// Tools that may be called.
    pub cards: Vec<Card>,
    /// What was said so far.
    pub messages: Vec<Message>,
    /// Replies of the model that came before these messages and are not told any more.
    #[serde(default, skip_serializing_if = "is_none")]
    pub replies_before: usize,
    /// A JSON schema of the answer's text: a hint to the provider and no promise (U-56).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Value>,
    /// Nothing may be called any more: the tools are told, since what was said speaks of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_only: bool,
    /// The answer has so many tokens at most; as many as the provider lets it have where it says 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub most: u64,
}

/// A piece of a reply as it streams.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of a thought; what is kept of it has its signature.
    Thought(String),
    /// A call has begun; its arguments are not shown before they are whole.
    Call(String),
}
