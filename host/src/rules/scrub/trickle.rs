//! What comes in pieces: what could be the beginning of something to clean is held back until it is decided.
//!
//! Less is found than in the whole: of something packed that has more than 16 KiB, what its first part unpacks to; and a
//! number that is cut out of JSON leaves a word that is none.

use std::ops::Range;

use bytes::Bytes;

use super::packed::{self, Room};
use super::{Known, Scrub};

/// Cleans a text that comes in pieces. What is open at the end stays held back; whoever has the whole
/// text shows it.
#[derive(Debug)]
pub struct Trickle<'a> {
    scrub: &'a Scrub,
    held: String,
    /// What is held is looked at with each piece, and does not bring its room each time.
    room: Room,
}

impl<'a> Trickle<'a> {
    /// Of nothing yet.
    #[must_use]
    pub fn new(scrub: &'a Scrub) -> Self {
        Self {
            scrub,
            held: String::new(),
            room: Room::new(),
        }
    }

    /// Adds a piece, and returns what may be shown.
    pub fn add(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.room.widen(piece.as_bytes());
        let mut found = self
            .scrub
            .known
            .spans_within(self.held.as_bytes(), &self.room);
        found.extend(self.scrub.path_spans(&self.held));
        let mut end = decided(self.scrub.open_end(&self.held), found);
        while !self.held.is_char_boundary(end) {
            end -= 1;
        }
        let rest = self.held.split_off(end);
        self.scrub.clean(&std::mem::replace(&mut self.held, rest))
    }
}

/// Cleans bytes that come in pieces of the secrets that are known.
#[derive(Debug)]
pub struct ByteTrickle {
    known: Known,
    held: Vec<u8>,
    room: Room,
    /// Whether enough has come to know what it is.
    begun: bool,
}

/// What something packed is known by.
const MAGIC_BYTES: usize = 4;

impl ByteTrickle {
    /// Of nothing yet.
    #[must_use]
    pub fn new(known: &Known) -> Self {
        Self {
            known: known.clone(),
            held: Vec::new(),
            room: Room::new(),
            begun: false,
        }
    }

    /// Adds a piece, and returns what may be passed on. Of what is packed as a whole that is nothing before its end:
    /// whoever adds bounds how much that is.
    pub fn add(&mut self, piece: Bytes) -> Bytes {
        if self.known.is_empty() && self.held.is_empty() {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        self.room.widen(&piece);
        let is_begun = self.begun || self.held.len() >= MAGIC_BYTES;
        if !is_begun || (!self.begun && packed::is_packed(&self.held)) {
            return Bytes::new();
        }
        self.begun = true;
        let whole = self.held.get(..whole_until(&self.held)).unwrap_or_default();
        let found = self.known.spans_within(whole, &self.room);
        let end = decided(self.known.open_end(whole), found);
        let rest = self.held.split_off(end);
        let shown = std::mem::replace(&mut self.held, rest);
        self.cleaned(shown)
    }

    /// What was held back when there is no more.
    #[must_use]
    pub fn end(mut self) -> Bytes {
        let held = std::mem::take(&mut self.held);
        self.cleaned(held)
    }

    fn cleaned(&self, bytes: Vec<u8>) -> Bytes {
        self.known.clean_bytes(&bytes).unwrap_or(bytes).into()
    }
}

/// Up to where a text is decided of which more comes: before what is open, and before what was found and reaches into
/// that, since it may be the beginning of something longer.
fn decided(open: usize, mut found: Vec<Range<usize>>) -> usize {
    found.sort_by_key(|span| std::cmp::Reverse(span.end));
    found.iter().fold(open, |end, span| match span.end > end {
        true => end.min(span.start),
        false => end,
    })
}

/// Up to where the characters of a text are whole: one of those that nobody sees may stand within a secret.
fn whole_until(text: &[u8]) -> usize {
    let back = text.iter().rev().take(3);
    let back = back.take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let Some(first) = text.len().checked_sub(back + 1) else {
        return text.len();
    };
    let length = match text.get(first) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xff) => 4,
        Some(_) | None => 1,
    };
    match first + length > text.len() {
        true => first,
        false => text.len(),
    }
}
