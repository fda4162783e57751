//! A text that comes in pieces: what could be the beginning of something to clean is held back until
//! it is decided.

use super::Scrub;

/// Cleans a text that comes in pieces. What is open at the end stays held back; whoever has the whole
/// text shows it.
#[derive(Debug)]
pub struct Trickle<'a> {
    scrub: &'a Scrub,
    held: String,
}

impl<'a> Trickle<'a> {
    /// Of nothing yet.
    #[must_use]
    pub fn new(scrub: &'a Scrub) -> Self {
        Self {
            scrub,
            held: String::new(),
        }
    }

    /// Adds a piece, and returns what may be shown.
    pub fn add(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut end = self.scrub.open_end(&self.held);
        // What is found already may be the beginning of something longer, and is not cut in two.
        let mut found = self.scrub.known.spans(self.held.as_bytes());
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
