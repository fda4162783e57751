//! A text that comes in pieces: what could be the beginning of something to clean is held back until
//! it is decided.

use super::Scrub;
use super::packed::Room;

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
        let mut end = self.scrub.open_end(&self.held);
        // What is found already may be the beginning of something longer, and is not cut in two.
        let held = self.held.as_bytes();
        let mut found = self.scrub.known.spans_within(held, &self.room);
        found.extend(self.scrub.path_spans(&self.held));
        found.sort_by_key(|span| std::cmp::Reverse(span.end));
        for span in found {
            if span.end > end {
                end = end.min(span.start);
            }
        }
        while !self.held.is_char_boundary(end) {
            end -= 1;
        }
        let rest = self.held.split_off(end);
        self.scrub.clean(&std::mem::replace(&mut self.held, rest))
    }
}
