//! A reply that is being put together, whatever wire format it comes in.

use std::collections::BTreeSet;

use serde_json::Value;

use super::calls::{Calls, Piece};
use super::names::ToolNames;
use crate::words::error::{Code, Error};
use crate::words::id::plain_word;
use crate::words::limits::{THOUGHTS, USAGE_TOKENS};
use crate::words::message::{Delta, Reply, StopReason, Thought, Usage};

/// What there is of an answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    names: ToolNames,
    text: String,
    calls: Calls,
    /// Calls whose end the format will tell, and has not told.
    open: BTreeSet<i64>,
    thoughts: Vec<Drafted>,
    /// Thoughts from here on led to nothing yet.
    pending: usize,
    /// Whether the last thought may still grow.
    thinking: bool,
    stop: Option<StopReason>,
    usage: Usage,
    /// Whether the server said that nothing follows.
    ended: bool,
    deltas: Vec<Delta>,
}

/// A thought, and which call it led to, by number.
#[derive(Debug, Default)]
struct Drafted {
    text: String,
    opaque: Value,
    call: Option<usize>,
}

impl Draft {
    pub(super) fn new(names: ToolNames) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// So many characters are kept of a call's arguments where they are too long for any tool.
    pub(super) fn keep(&mut self, chars: usize) {
        self.calls.kept_chars = chars;
    }

    /// What was added since this was last asked.
    pub(super) fn deltas(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    /// More text.
    pub(super) fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = readable(text);
        self.text.push_str(&text);
        self.deltas.push(Delta::Text(text));
        self.settle();
    }

    /// More of a thought.
    ///
    /// # Errors
    /// `TooBig` past `THOUGHTS`.
    pub(super) fn think(&mut self, text: &str) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        let text = readable(text);
        self.thought()?.text.push_str(&text);
        self.deltas.push(Delta::Thought(text));
        Ok(())
    }

    /// The thought is whole, with the provider's own part of it.
    ///
    /// # Errors
    /// As [`Draft::think`].
    pub(super) fn seal(&mut self, opaque: Value) -> Result<(), Error> {
        self.thought()?.opaque = opaque;
        self.thinking = false;
        Ok(())
    }

    /// The thought is whole, and has no such part.
    pub(super) fn pause(&mut self) {
        self.thinking = false;
    }

    /// Whether a thought is growing.
    pub(super) fn is_thinking(&self) -> bool {
        self.thinking
    }

    /// What was thought so far led to text.
    pub(super) fn settle(&mut self) {
        self.pending = self.thoughts.len();
        self.thinking = false;
    }

    fn thought(&mut self) -> Result<&mut Drafted, Error> {
        if !self.thinking {
            let count = self.thoughts.len().saturating_add(1);
            if count > THOUGHTS {
                let what = "the number of thoughts in one reply";
                return Err(Error::too_many(what, THOUGHTS, count));
            }
            self.thoughts.push(Drafted::default());
            self.thinking = true;
        }
        let thought = self.thoughts.last_mut();
        thought.ok_or_else(|| Error::bug("a thought that was begun is not there"))
    }

    /// Pieces of calls, of one event. Returns whether any piece said something.
    ///
    /// # Errors
    /// `TooBig` past `CALLS_PER_TURN`.
    pub(super) fn pieces(&mut self, pieces: Vec<Piece>) -> Result<bool, Error> {
        let before = self.calls.len();
        let said = self.calls.take(pieces, &self.names, &mut self.deltas)?;
        if self.calls.len() > before {
            for thought in self.thoughts.iter_mut().skip(self.pending) {
                thought.call = Some(before);
            }
            self.settle();
        }
        // Some servers end after every call; the last one may still be cut.
        if said {
            self.stop = self.stop.filter(|stop| is_cut(*stop));
        }
        Ok(said)
    }

    /// A call has begun that has an end of its own.
    pub(super) fn open(&mut self, index: i64) {
        self.open.insert(index);
    }

    /// Whether that call's end was not told.
    pub(super) fn is_open(&self, index: i64) -> bool {
        self.open.contains(&index)
    }

    /// How many have no end so far.
    pub(super) fn open_calls(&self) -> usize {
        self.open.len()
    }

    /// That end.
    pub(super) fn close(&mut self, index: i64) {
        self.open.remove(&index);
    }

    /// Why the model stopped. That it was cut is not undone by what is said later.
    pub(super) fn stop(&mut self, stop: StopReason) {
        if !self.stop.is_some_and(is_cut) {
            self.stop = Some(stop);
        }
    }

    /// What it cost, all together: the last word counts.
    pub(super) fn spend(&mut self, usage: Usage) {
        self.usage = usage;
    }

    /// So far.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Nothing follows.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether there is anything to answer with.
    fn has_content(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// The reply.
    ///
    /// # Errors
    /// `ProviderFailed` where it has no end, or stopped for tools and names none.
    pub(super) fn finish(self) -> Result<Reply, Error> {
        let stop = match self.stop {
            Some(stop) => stop,
            None if self.ended && self.has_content() && self.calls.are_whole() => StopReason::End,
            None => return Err(half_way()),
        };
        if !self.open.is_empty() && !is_cut(stop) {
            return Err(half_way());
        }
        let calls = match stop {
            // What the provider refused to show must not act either.
            StopReason::Filtered => Vec::new(),
            StopReason::Length => self.calls.finish(&self.names, true)?,
            StopReason::End | StopReason::Calls => self.calls.finish(&self.names, false)?,
        };
        let stop = match stop {
            StopReason::Calls if calls.is_empty() => {
                return Err(failed(
                    "the model provider stopped for tools and named none",
                ));
            }
            // Some servers say `stop` after calls, too.
            StopReason::End if !calls.is_empty() => StopReason::Calls,
            StopReason::End | StopReason::Calls | StopReason::Length | StopReason::Filtered => stop,
        };
        // A thought without what it led to is refused by some providers.
        let led_to = |thought: Drafted| {
            let call = match thought.call {
                None => None,
                Some(place) => {
                    let (_, call) = calls.iter().find(|(begun, _)| *begun == place)?;
                    Some(call.id.clone())
                }
            };
            Some(Thought {
                text: thought.text,
                opaque: thought.opaque,
                call,
            })
        };
        let thoughts = self.thoughts.into_iter().filter_map(led_to).collect();
        Ok(Reply {
            thoughts,
            by: String::new(),
            text: self.text,
            calls: calls.into_iter().map(|(_, call)| call).collect(),
            stop,
            usage: self.usage,
        })
    }
}

/// Whether a reply that stopped so may have been cut short.
fn is_cut(stop: StopReason) -> bool {
    match stop {
        StopReason::Length | StopReason::Filtered => true,
        StopReason::End | StopReason::Calls => false,
    }
}

/// Many things that text is handed to end at a NUL.
pub(crate) fn readable(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// A number of tokens as a provider gives it. What is missing or no count is nothing; what no model can have
/// read is cut, so that sums stay sums.
pub(super) fn tokens(usage: &Value, pointer: &str) -> u64 {
    let count = usage.pointer(pointer).and_then(Value::as_u64);
    count.unwrap_or(0).min(USAGE_TOKENS)
}

pub(super) fn failed(message: &str) -> Error {
    Error::new(Code::ProviderFailed, message)
}

pub(super) fn half_way() -> Error {
    failed("the model provider's stream stopped half-way").retry(true)
}

/// A reason to stop that is none of those known: whatever it is, it is no end. One that is no plain word is not told.
pub(super) fn stopped_for(reason: &str) -> Error {
    match plain_word(reason) {
        Some(reason) => failed(&format!("the model provider stopped for `{reason}`")),
        None => failed("the model provider stopped for a reason that is not told"),
    }
}
