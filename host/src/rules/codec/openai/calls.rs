//! Tool calls as they grow: a stream sends them in pieces, and servers differ in how.
//!
//! A piece names its call by index, by id, by both or by neither. Calls are kept in the order in
//! which they began, and their arguments are looked at only once all of them is there: a call that
//! might be cut short is not passed on.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::super::args;
use super::super::names::ToolNames;
use crate::words::error::Error;
use crate::words::limits::{ARGS_BYTES, CALLS_PER_TURN, SUMMARY_CHARS, TOOL_NAME_CHARS};
use crate::words::message::{Delta, ToolCall, WishedArgs};

/// Arguments of one call before they are read; dispatch takes fewer and answers what is between.
const WISHED_ARGS_BYTES: usize = ARGS_BYTES * 4;
/// A name while it grows.
const NAME_BYTES: usize = TOOL_NAME_CHARS * 4;
/// A provider's id of a call; it goes into every later prompt.
const ID_BYTES: usize = 128;

/// A piece of a call on the wire.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Piece {
    #[serde(default)]
    index: Option<i64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionPiece>,
}

/// What is called, or a piece of that.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionPiece {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

impl From<FunctionPiece> for Piece {
    /// The older form of a call, of which a reply has one.
    fn from(function: FunctionPiece) -> Self {
        Self {
            index: Some(0),
            id: None,
            function: Some(function),
        }
    }
}

/// The calls of one reply so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Growing>,
    /// The call that the last piece went to.
    current: usize,
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

/// A piece without its optional parts.
struct Plain {
    index: Option<i64>,
    id: String,
    name: String,
    args: String,
}

impl From<Piece> for Plain {
    fn from(piece: Piece) -> Self {
        let function = piece.function.unwrap_or_default();
        let args = match function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            // Some servers send the arguments themselves and not their text.
            Some(
                tree @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)),
            ) => tree.to_string(),
        };
        Self {
            index: piece.index,
            id: piece.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            args,
        }
    }
}

impl Plain {
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
            let piece = Plain::from(piece);
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
    fn place(&self, piece: &Plain, later: bool) -> Option<usize> {
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

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether each call is whole by itself, without anybody saying that the reply had ended.
    pub(super) fn are_whole(&self) -> bool {
        self.all.iter().all(|call| call.is_whole(&call.read()))
    }

    /// The calls of a reply that has ended, with ids that differ from each other. Of a reply that
    /// was `cut_short`, only those that are whole beyond doubt.
    ///
    /// # Errors
    /// `TooBig` past `CALLS_PER_TURN`, since one call's arguments may be those of several (O-07b).
    pub(super) fn finish(self, names: &ToolNames, cut_short: bool) -> Result<Vec<ToolCall>, Error> {
        let mut calls = Vec::new();
        let mut ids = HashSet::new();
        for (place, call) in self.all.into_iter().enumerate() {
            let args = call.read();
            if cut_short && !call.is_whole(&args) {
                continue;
            }
            check_count(calls.len().saturating_add(args.len()))?;
            let tool = full_name(names.full(&call.name));
            let id = if is_id(&call.id) {
                call.id
            } else {
                format!("call_{place}")
            };
            let several = args.len() > 1;
            for (part, args) in args.into_iter().enumerate() {
                let id = if several {
                    format!("{id}_{part}")
                } else {
                    id.clone()
                };
                calls.push(ToolCall {
                    id: unique(id, &mut ids),
                    tool: tool.clone(),
                    args,
                });
            }
        }
        Ok(calls)
    }
}

impl Growing {
    fn grow(&mut self, piece: &Plain, names: &ToolNames) {
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

    fn read(&self) -> Vec<WishedArgs> {
        if self.cut {
            // Nobody can use the rest, and every later prompt would have to carry it.
            let mut text: String = self.args.chars().take(SUMMARY_CHARS).collect();
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
        return Err(Error::too_big(
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
    let mut kept: String = name.chars().take(TOOL_NAME_CHARS).collect();
    if kept.len() < name.len() {
        kept.push('…');
    }
    kept
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
