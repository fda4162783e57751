//! Refuses source that is nested so deeply that the parser, which recurses, would run out of stack.
//!
//! Only brackets are counted, in one cheap pass. What nests without brackets (a chain of `!`, `=>` or
//! `else if`) is not; a stack that overflows in spite of this is a trap, which harms nobody but the
//! script.

use crate::problem::Obstacle;

/// Brackets that may be open at once.
const DEPTH_MAX: usize = 200;

pub fn check(source: &str) -> Result<(), Obstacle> {
    let mut scan = Scan {
        bytes: source.as_bytes(),
        at: 0,
        depth: 0,
        holes: Vec::new(),
        operand_before: false,
    };
    while scan.at < scan.bytes.len() {
        scan.step();
        if scan.depth > DEPTH_MAX {
            let message = format!(
                "the source is nested too deeply: at most {DEPTH_MAX} brackets may be open at once; \
                 name the inner parts with `const`"
            );
            return Err(Obstacle::new(scan.at as u32 - 1, message));
        }
    }
    Ok(())
}

/// A reading of the source that knows just enough to skip brackets which are none: those in strings,
/// comments, templates and regular expressions.
struct Scan<'s> {
    bytes: &'s [u8],
    at: usize,
    depth: usize,
    /// The depths at which `${` were opened: the matching `}` leads back into the template.
    holes: Vec<usize>,
    /// Whether what was read last is the end of an operand, so that `/` divides.
    operand_before: bool,
}

impl Scan<'_> {
    fn step(&mut self) {
        let byte = self.bytes[self.at];
        let next = self.bytes.get(self.at + 1).copied();
        self.at += 1;
        match byte {
            b'(' | b'[' | b'{' => {
                self.depth += 1;
                self.operand_before = false;
            }
            b'}' if self.holes.last() == Some(&self.depth) => {
                self.holes.pop();
                self.depth = self.depth.saturating_sub(1);
                self.skip_template();
            }
            b')' | b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.operand_before = byte != b'}';
            }
            b'"' | b'\'' => self.skip_quoted(byte),
            b'`' => self.skip_template(),
            b'/' if next == Some(b'/') => self.skip_line(),
            b'/' if next == Some(b'*') => self.skip_comment(),
            b'/' if !self.operand_before => self.skip_regex(),
            _ if byte.is_ascii_whitespace() => {}
            _ if is_word(byte) => self.skip_word(),
            _ => self.operand_before = false,
        }
    }

    fn skip_word(&mut self) {
        let start = self.at - 1;
        while self.bytes.get(self.at).is_some_and(|byte| is_word(*byte)) {
            self.at += 1;
        }
        self.operand_before = !matches!(
            &self.bytes[start..self.at],
            b"return"
                | b"typeof"
                | b"case"
                | b"in"
                | b"of"
                | b"void"
                | b"delete"
                | b"await"
                | b"throw"
                | b"yield"
                | b"new"
                | b"else"
                | b"do"
                | b"instanceof"
        );
    }

    /// A string ends at its quote; one that is not closed ends with its line.
    fn skip_quoted(&mut self, quote: u8) {
        while let Some(byte) = self.take() {
            match byte {
                b'\\' => self.at += 1,
                b'\n' => break,
                _ if byte == quote => break,
                _ => {}
            }
        }
        self.operand_before = true;
    }

    /// To the end of the template, or into its next hole.
    fn skip_template(&mut self) {
        while let Some(byte) = self.take() {
            match byte {
                b'\\' => self.at += 1,
                b'`' => break,
                b'$' if self.bytes.get(self.at) == Some(&b'{') => {
                    self.at += 1;
                    self.depth += 1;
                    self.holes.push(self.depth);
                    self.operand_before = false;
                    return;
                }
                _ => {}
            }
        }
        self.operand_before = true;
    }

    fn skip_line(&mut self) {
        while self.take().is_some_and(|byte| byte != b'\n') {}
    }

    fn skip_comment(&mut self) {
        self.at += 1;
        while let Some(byte) = self.take() {
            if byte == b'*' && self.bytes.get(self.at) == Some(&b'/') {
                self.at += 1;
                break;
            }
        }
    }

    fn skip_regex(&mut self) {
        let mut in_class = false;
        while let Some(byte) = self.take() {
            match byte {
                b'\\' => self.at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => break,
                b'\n' => break,
                _ => {}
            }
        }
        self.operand_before = true;
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#') || !byte.is_ascii()
}
