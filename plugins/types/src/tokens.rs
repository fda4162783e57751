//! The tokens of the source, found by their place.
//!
//! The tree says what a stretch of source is, but not where its marks and modifiers stand (`?`, `!`,
//! `readonly`, `implements`); those are found among the tokens, which no comment can disturb.

use oxc_parser::{Kind, Token};
use oxc_span::Span;

pub struct Tokens<'t> {
    list: &'t [Token],
}

impl<'t> Tokens<'t> {
    pub fn new(list: &'t [Token]) -> Self {
        // The end of the file is listed as a token; it is none for our purposes.
        let end = match list.last() {
            Some(token) if token.kind() == Kind::Eof => list.len() - 1,
            _ => list.len(),
        };
        Self { list: &list[..end] }
    }

    pub fn get(&self, index: usize) -> Option<&'t Token> {
        self.list.get(index)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Index of the first token that starts at `offset` or later; `len` if there is none.
    pub fn index_from(&self, offset: u32) -> usize {
        self.list.partition_point(|token| token.start() < offset)
    }

    /// The first token that starts at `offset` or later.
    pub fn first_from(&self, offset: u32) -> Option<&'t Token> {
        self.get(self.index_from(offset))
    }

    /// Index of the last token that starts before `offset`.
    pub fn index_before(&self, offset: u32) -> Option<usize> {
        self.index_from(offset).checked_sub(1)
    }

    pub fn last_before(&self, offset: u32) -> Option<&'t Token> {
        self.get(self.index_before(offset)?)
    }

    /// The tokens that start inside of the span.
    pub fn within(&self, span: Span) -> &'t [Token] {
        &self.list[self.index_from(span.start)..self.index_from(span.end)]
    }
}
