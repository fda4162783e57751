//! What comes in pieces: its end is held back until it is seen whether a secret lies across it.
//!
//! How much is held back depends on nothing but the text, and on how long the longest value is and how many words one has:
//! whoever writes a text and sees where its pieces end would spell out a secret otherwise, character by character.
//!
//! Less is found than in the whole. Of bytes: a value that takes more, as it is written, than what is held back, which is 16 KiB, or
//! the longest value; one that is written in several lines, where no more of it came for a while; of something packed that has
//! more than 16 KiB, what its first part unpacks to. Of a text: a value that is written in more words than it has, but for lists of
//! bytes and lines of base64. Of a value that is cut in two, what was passed on before the other part came; nothing comes after that. And a
//! number that is cut out of JSON leaves a word that is none.

use std::ops::Range;

use bytes::Bytes;

use super::known::Together;
use super::packed;
use super::{KnownSecrets, REDACTED, Scrub};
use crate::words::limits::scrubbing::{SCRUB_HELD_BYTES, SCRUB_PROVED_BYTES};

/// Cleans a text that comes in pieces. Its last words are held back until it ends.
#[derive(Debug)]
pub struct Trickle<'a> {
    scrub: &'a Scrub,
    held: String,
    /// What is held is looked at with each piece, and does not bring its room each time.
    together: Together,
}

impl<'a> Trickle<'a> {
    /// Of nothing yet.
    #[must_use]
    pub fn new(scrub: &'a Scrub) -> Self {
        Self {
            scrub,
            held: String::new(),
            together: Together::default(),
        }
    }

    /// Adds a piece, and returns what may be shown.
    pub fn add(&mut self, piece: &str) -> String {
        if self.scrub.is_empty() && self.held.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        self.together.widen(piece.as_bytes());
        let held = self.held.as_bytes();
        let words = before_words(held, self.scrub.words());
        let end = words.max(long_ago(held, self.scrub.known.longest()));
        if end == 0 {
            return String::new();
        }
        let mut found = self.scrub.known.values_within(held, &self.together);
        found.extend(self.scrub.path_spans(&self.held));
        let mut end = decided(end, found);
        while !self.held.is_char_boundary(end) {
            end -= 1;
        }
        let rest = self.held.split_off(end);
        let shown = std::mem::replace(&mut self.held, rest);
        self.cleaned(&shown)
    }

    /// What was held back when there is no more for now; what comes later is another text.
    pub fn end(&mut self) -> String {
        let shown = std::mem::take(&mut self.held);
        let shown = self.cleaned(&shown);
        self.together = Together::default();
        shown
    }

    /// What may be shown of a piece. Once a secret is spread over what there was so far, nothing comes any more.
    fn cleaned(&self, piece: &str) -> String {
        if self.together.holds_a_cut_value() {
            return String::new();
        }
        let clean = self.scrub.clean_within(piece, &self.together);
        match self.together.holds_a_cut_value() {
            true => REDACTED.to_owned(),
            false => clean.unwrap_or_else(|| piece.to_owned()),
        }
    }
}

/// Cleans bytes that come in pieces of the secrets that are known.
#[derive(Debug)]
pub struct ByteTrickle {
    known: KnownSecrets,
    held: Vec<u8>,
    together: Together,
    /// Whether enough has come to know what it is.
    begun: bool,
    /// So much of what may be packed was there when it was tried to unpack it.
    proved: usize,
}

/// What something packed is known by.
const MAGIC_BYTES: usize = 4;

impl ByteTrickle {
    /// Of nothing yet.
    #[must_use]
    pub fn new(known: &KnownSecrets) -> Self {
        Self {
            known: known.clone(),
            held: Vec::new(),
            together: Together::default(),
            begun: false,
            proved: 0,
        }
    }

    /// Adds a piece, and returns what may be passed on: all but the last kilobytes, as soon as twice as much is there. Of what
    /// is packed as a whole that is nothing before its end: whoever adds bounds how much that is.
    pub fn add(&mut self, piece: Bytes) -> Bytes {
        if self.known.is_empty() && self.held.is_empty() {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        self.together.widen(&piece);
        self.pass_on(long_ago(&self.held, self.known.longest()))
    }

    /// What may be passed on when no more has come for a while: all but the last line. No value has an end of one in it.
    pub fn pause(&mut self) -> Bytes {
        let last = self.held.iter().rposition(|byte| *byte == b'\n');
        self.pass_on(last.map_or(0, |at| at + 1))
    }

    /// What was held back when there is no more.
    #[must_use]
    pub fn end(mut self) -> Bytes {
        let held = std::mem::take(&mut self.held);
        self.cleaned(held)
    }

    fn pass_on(&mut self, end: usize) -> Bytes {
        self.begun |= self.held.len() >= MAGIC_BYTES && !self.may_be_packed();
        if !self.begun || end == 0 {
            return Bytes::new();
        }
        let found = self.known.values_within(&self.held, &self.together);
        let rest = self.held.split_off(decided(end, found));
        let shown = std::mem::replace(&mut self.held, rest);
        self.cleaned(shown)
    }

    fn may_be_packed(&mut self) -> bool {
        if !packed::is_packed(&self.held) {
            return false;
        }
        let is_proved = self.proved >= SCRUB_PROVED_BYTES;
        // Nothing is looked at with each byte that comes.
        if !is_proved && self.held.len() >= self.proved.saturating_mul(2) {
            self.proved = self.held.len();
            return !packed::only_looks_packed(&self.held);
        }
        true
    }

    /// Likewise, of bytes.
    fn cleaned(&self, piece: Vec<u8>) -> Bytes {
        if self.together.holds_a_cut_value() {
            return Bytes::new();
        }
        let clean = self.known.clean_bytes_within(&piece, &self.together);
        match self.together.holds_a_cut_value() {
            true => REDACTED.into(),
            false => clean.unwrap_or(piece).into(),
        }
    }
}

/// Up to where a text came so long ago that a value with its end in what comes next would be longer than what is held back.
/// Nothing before twice as much is there: what is looked at again with each piece is in proportion to what has come.
fn long_ago(held: &[u8], longest: usize) -> usize {
    let back = SCRUB_HELD_BYTES.max(longest.next_power_of_two());
    if held.len() < back.saturating_mul(2) {
        return 0;
    }
    let end = held.len() - back;
    packed::open_end(held.get(..end).unwrap_or_default())
}

/// Where the last so many words of a text begin: those that a value of as many could end with the next piece. What looks
/// like the bytes of a list, or like a line of base64, is one word with what follows.
fn before_words(held: &[u8], most: usize) -> usize {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    let (mut rest, mut words) = (held, 0);
    while let Some(last) = rest.iter().rposition(is_blank) {
        let blanks = rest.get(..=last).unwrap_or_default();
        let end = blanks.iter().rposition(|byte| !is_blank(byte));
        let (before, between) = blanks.split_at(end.map_or(0, |end| end + 1));
        let word = before.rsplit(is_blank).next().unwrap_or_default();
        let is_end = between.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
        let goes_on = is_listed(word) || (is_end && is_encoded(word));
        words += usize::from(!goes_on);
        if words == most {
            return last + 1;
        }
        rest = before;
    }
    0
}

/// Whether a word may be one byte of many: `63`, `0x63`, `99,`.
fn is_listed(word: &[u8]) -> bool {
    let around = |byte: &u8| !byte.is_ascii_alphanumeric();
    let from = word
        .iter()
        .position(|byte| !around(byte))
        .unwrap_or(word.len());
    let digits = word.get(from..).unwrap_or_default();
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    let count = digits
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let after = digits.get(count..).unwrap_or_default();
    (1..=3).contains(&count) && after.iter().all(around)
}

/// Whether a word may be a line of base64, or of what mail escapes.
fn is_encoded(word: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte);
    !word.is_empty() && word.iter().all(is_part)
}

/// Up to where a text is decided of which more comes: before what was found and reaches beyond.
fn decided(end: usize, mut found: Vec<Range<usize>>) -> usize {
    found.sort_by_key(|span| std::cmp::Reverse(span.end));
    found.iter().fold(end, |end, span| match span.end > end {
        true => end.min(span.start),
        false => end,
    })
}
