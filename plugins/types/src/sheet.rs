//! The source as it will be written: what is blank, and which characters stand for others.

use std::collections::BTreeMap;

use oxc_span::Span;

use crate::problem::is_line_break;

/// Stretches to blank, and characters to put onto blanked ones.
#[derive(Debug, Default)]
pub struct Sheet {
    /// In the order of their start, without overlap, once `settle` was called.
    blanks: Vec<Span>,
    /// By the byte where the character starts that is overwritten.
    marks: BTreeMap<u32, char>,
}

impl Sheet {
    pub fn blank(&mut self, span: Span) {
        if span.start < span.end {
            self.blanks.push(span);
        }
    }

    /// Puts a character onto the one that starts at `at`. Who comes first stays.
    pub fn mark(&mut self, at: u32, char: char) {
        self.marks.entry(at).or_insert(char);
    }

    pub fn is_marked(&self, at: u32) -> bool {
        self.marks.contains_key(&at)
    }

    /// Sorts and joins the blanks: `is_blank` and `write` need it.
    pub fn settle(&mut self) {
        self.blanks.sort_unstable_by_key(|span| span.start);
        let mut joined: Vec<Span> = Vec::with_capacity(self.blanks.len());
        for span in self.blanks.drain(..) {
            match joined.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => joined.push(span),
            }
        }
        self.blanks = joined;
    }

    pub fn is_blank(&self, at: u32) -> bool {
        let next = self.blanks.partition_point(|span| span.start <= at);
        next.checked_sub(1)
            .is_some_and(|index| at < self.blanks[index].end)
    }

    pub fn write(&self, source: &str) -> String {
        let mut text = String::with_capacity(source.len());
        let mut copied = 0;
        for span in &self.blanks {
            let (start, end) = (span.start as usize, span.end as usize);
            text.push_str(&source[copied..start]);
            let mut at = span.start;
            for char in source[start..end].chars() {
                text.push(match self.marks.get(&at) {
                    Some(mark) => *mark,
                    None if is_line_break(char) => char,
                    None => ' ',
                });
                at += char.len_utf8() as u32;
            }
            copied = end;
        }
        text.push_str(&source[copied..]);
        text
    }
}
