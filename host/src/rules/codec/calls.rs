//! Tool calls as they grow: a stream sends them whole or in pieces, and servers differ in how.
//!
//! A piece names its call by index, by id, by both or by neither. Calls are kept in the order in
//! which they began, and their arguments are looked at only once all of them is there: a call that
//! might be cut short is not passed on.

use std::collections::HashSet;

use serde_json::Value;

use super::args;
use super::names::ToolNames;
use crate::words::error::Error;
use crate::words::length::cut;
use crate::words::limits::{ARGS_BYTES, CALLS_PER_TURN, SUMMARY_CHARS, TOOL_NAME_CHARS};
use crate::words::message::{Delta, ToolCall, WishedArgs};

/// Arguments of one call before they are read; dispatch takes fewer and answers what is between.
const WISHED_ARGS_BYTES: usize = ARGS_BYTES * 4;
/// A name while it grows.
const NAME_BYTES: usize = TOOL_NAME_CHARS * 4;
/// A provider's id of a call; it goes into every later prompt.
const ID_BYTES: usize = 128;

/// The beginning of an id of our own, for a call whose provider gave none that can be told back.
const MADE_UP: &str = "call_";

/// Whether an id is of our own. What looks like one loses nothing: calls and outcomes are also told in order.
pub(super) fn is_made_up(id: &str) -> bool {
    let rest = id.strip_prefix(MADE_UP);
    rest.is_some_and(|rest| {
        rest.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    })
}

/// A piece of a call; what is empty was not said.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) index: Option<i64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: String,
}

/// The calls of one reply so far.
#[derive(Debug)]
pub(super) struct Calls {
    all: Vec<Growing>,
    /// Characters that are kept of arguments that are too long for any tool.
    pub(super) kept_chars: usize,
    /// The call that the last piece went to.
    current: usize,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            kept_chars: SUMMARY_CHARS,
            current: 0,
        }
    }
}

#[derive(Debug, Default)]
struct Growing {
    index: Option<i64>,
    id: String,
    name: String,
    args: String,
    /// Whether there were more arguments than are kept.
    cut: bool,
    announced: bool,
}

impl Piece {
    fn says_nothing(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.args.is_empty()
    }
}

impl Calls {
    /// Takes the pieces of one event and adds the calls that began to `deltas`. Returns whether
    /// any piece said something.
    ///
    /// # Errors
    /// `TooBig` past `CALLS_PER_TURN`.
    pub(super) fn take(
        &mut self,
        pieces: Vec<Piece>,
        names: &ToolNames,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let mut said = false;
        for (position, piece) in pieces.into_iter().enumerate() {
            if piece.says_nothing() {
                continue;
            }
            said = true;
            let place = match self.place(&piece, position > 0) {
                Some(place) => place,
                None => self.begin(piece.index)?,
            };
            self.current = place;
            if let Some(call) = self.all.get_mut(place) {
                call.grow(&piece, names);
                deltas.extend(call.announce(names));
            }
        }
        Ok(said)
    }

    /// The call that a piece belongs to; `None` where it begins one. `later` says that it is not
    /// the first piece of its event.
    fn place(&self, piece: &Piece, later: bool) -> Option<usize> {
        let place = match piece.index {
            Some(index) => self
                .all
                .iter()
                .rposition(|call| call.index == Some(index))?,
            None if !piece.id.is_empty() => {
                return self.all.iter().rposition(|call| call.id == piece.id);
            }
            // Two nameless pieces of one event are of one call, two named ones are two calls.
            None if later && !piece.name.is_empty() => return None,
            None => self.current,
        };
        let call = self.all.get(place)?;
        // Some servers number every call 0.
        let other_id = !piece.id.is_empty() && !call.id.is_empty() && call.id != piece.id;
        let other_name = piece.id.is_empty()
            && !piece.name.is_empty()
            && !call.args.is_empty()
            && call.name != piece.name;
        (!other_id && !other_name).then_some(place)
    }

    fn begin(&mut self, index: Option<i64>) -> Result<usize, Error> {
        let place = self.all.len();
        check_count(place.saturating_add(1))?;
        self.all.push(Growing {
            index,
            ..Growing::default()
        });
        Ok(place)
    }

    /// How many have begun.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether each call is whole by itself, without anybody saying that the reply had ended.
    pub(super) fn are_whole(&self) -> bool {
        self.all
            .iter()
            .all(|call| call.is_whole(&call.read(self.kept_chars)))
    }

    /// The calls of a reply that has ended, with ids that differ from each other, each with the
    /// number of the call that began. Of a reply that was `cut_short`, only those that are whole
    /// beyond doubt.
    ///
    /// # Errors
    /// `TooBig` past `CALLS_PER_TURN`, since one call's arguments may be those of several (O-07b).
    pub(super) fn finish(
        self,
        names: &ToolNames,
        cut_short: bool,
    ) -> Result<Vec<(usize, ToolCall)>, Error> {
        let mut calls = Vec::new();
        let mut ids = HashSet::new();
        for (place, call) in self.all.into_iter().enumerate() {
            let args = call.read(self.kept_chars);
            if cut_short && !call.is_whole(&args) {
                continue;
            }
            check_count(calls.len().saturating_add(args.len()))?;
            let tool = full_name(names.full(&call.name));
            let id = if is_id(&call.id) {
                call.id
            } else {
                format!("{MADE_UP}{place}")
            };
            let several = args.len() > 1;
            for (part, args) in args.into_iter().enumerate() {
                let id = if several {
                    format!("{id}_{part}")
                } else {
                    id.clone()
                };
                let call = ToolCall {
                    id: unique(id, &mut ids),
                    tool: tool.clone(),
                    args,
                };
                calls.push((place, call));
            }
        }
        Ok(calls)
    }
}

impl Growing {
    fn grow(&mut self, piece: &Piece, names: &ToolNames) {
        if self.id.is_empty() {
            self.id.clone_from(&piece.id);
        }
        // A name comes whole, in pieces or again with every piece of the arguments.
        let again = self.name == piece.name && names.knows(&self.name);
        if self.args.is_empty() && !again && self.name.len() < NAME_BYTES {
            self.name.push_str(start(&piece.name, NAME_BYTES));
        }
        if !self.cut {
            let room = WISHED_ARGS_BYTES.saturating_sub(self.args.len());
            self.cut = piece.args.len() > room;
            self.args.push_str(start(&piece.args, room));
        }
    }

    /// The call's beginning, once, as soon as its name is known to be whole.
    fn announce(&mut self, names: &ToolNames) -> Option<Delta> {
        let named = names.knows(&self.name) || (!self.name.is_empty() && !self.args.is_empty());
        if self.announced || !named {
            return None;
        }
        self.announced = true;
        Some(Delta::Call(full_name(names.full(&self.name))))
    }

    fn read(&self, kept_chars: usize) -> Vec<WishedArgs> {
        if self.cut {
            // Nobody can use the rest, and every later prompt would have to carry it.
            let mut text: String = self.args.chars().take(kept_chars).collect();
            text.push('…');
            return vec![WishedArgs::Broken(text)];
        }
        args::read(&self.args)
    }

    /// Whether `args`, read from this call, cannot be the beginning of longer ones: an object ends
    /// visibly, while nothing at all, a number or broken text may go on.
    fn is_whole(&self, args: &[WishedArgs]) -> bool {
        let objects = args
            .iter()
            .all(|args| matches!(args, WishedArgs::Json(Value::Object(_))));
        objects && !self.name.is_empty() && !self.args.trim().is_empty()
    }
}

fn check_count(calls: usize) -> Result<(), Error> {
    if calls > CALLS_PER_TURN {
        return Err(Error::too_many(
            "the number of calls in one reply",
            CALLS_PER_TURN,
            calls,
        ));
    }
    Ok(())
}

/// A model's name for a tool. Past the longest name that a tool can have, the rest is left out in
/// such a way that what remains is no tool's name.
fn full_name(name: &str) -> String {
    cut(name.to_owned(), TOOL_NAME_CHARS)
}

/// Whether a provider's id can be told back to it and shown to people.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// `id`, or what it takes to differ from those in `ids`.
fn unique(id: String, ids: &mut HashSet<String>) -> String {
    let mut free = id;
    while !ids.insert(free.clone()) {
        free.push_str("_1");
    }
    free
}

/// At most `bytes` of the start of `text`, in whole characters.
fn start(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}
