//! Spellings: the escapes in which a text can say a character, each read back to its bytes; and what is put between
//! characters that no reader sees.
//!
//! Reading never fails: what is no escape stands for itself. Each reading is linear, and each escape
//! has a bounded length, so that a text can be read in pieces.

use std::ops::Range;

use crate::words::id::is_hidden;

/// Which escapes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `%41`, as in URLs.
    Percent,
    /// `\u0041`, `\x41`, `\u{41}`, `\U00000041`, `\101`, `\"`, `\_`, as in JSON, programs and Markdown.
    Backslash,
    /// `&#65;`, `&#x41;`, `&amp;`, as in HTML.
    Entity,
    /// `=41`, and `=` at the end of a line, as in mail.
    Quoted,
    /// Ends of lines and characters without a form, which are left out: base64 comes in lines.
    Folded,
    /// Percent, backslash and entity.
    All,
    /// All of these and what is folded: how a text is read that came out of another reading.
    Deep,
}

/// Digits of an entity or of `\u{…}` that are read.
const DIGITS: usize = 12;
/// Blanks after the end of a line that are left out with it.
const BLANKS: usize = 256;

impl Spelling {
    /// Every spelling that a text is read in.
    pub(super) const ALL: [Self; 6] = [
        Self::Percent,
        Self::Backslash,
        Self::Entity,
        Self::Quoted,
        Self::Folded,
        Self::All,
    ];

    /// Whether an escape may begin with this byte.
    fn has_mark(self, byte: u8) -> bool {
        match self {
            Self::Percent => byte == b'%',
            Self::Backslash => byte == b'\\',
            Self::Entity => byte == b'&',
            Self::Quoted => byte == b'=',
            Self::Folded => {
                // First bytes of the characters that have no form.
                matches!(byte, b'\r' | b'\n' | 0xC2 | 0xCD | 0xD8 | 0xE1..=0xE3 | 0xEE..=0xF4)
            }
            Self::All => matches!(byte, b'%' | b'\\' | b'&'),
            Self::Deep => Self::All.has_mark(byte) || Self::Folded.has_mark(byte),
        }
    }

    /// Whether reading a text so could differ from reading it otherwise.
    pub(super) fn is_in(self, text: &[u8]) -> bool {
        match self {
            Self::All => {
                let has = |mark: &u8| text.contains(mark);
                b"%\\&".iter().filter(|mark| has(mark)).count() > 1
            }
            Self::Percent
            | Self::Backslash
            | Self::Entity
            | Self::Quoted
            | Self::Folded
            | Self::Deep => self.plain_from(text, 0) < text.len(),
        }
    }

    /// How many bytes from `at` on are no escape for certain.
    fn plain_from(self, text: &[u8], at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.iter().position(|byte| self.has_mark(*byte));
        end.unwrap_or(rest.len())
    }

    /// The escape that stands at `at`, and how long it is.
    fn escape(self, text: &[u8], at: usize) -> Option<(Spelt, usize)> {
        let rest = text.get(at..)?;
        let first = rest.first().filter(|first| self.has_mark(**first))?;
        match first {
            b'%' => Some((Spelt::Byte(u8::try_from(hex(rest.get(1..3)?)?).ok()?), 3)),
            b'\\' => read_backslash(rest),
            b'&' => read_entity(rest),
            b'=' => read_quoted(rest),
            b'\r' | b'\n' => Some((Spelt::Nothing, end_of_line(rest))),
            _ => read_hidden(rest),
        }
    }
}

/// A text with its escapes read, and where each of its bytes comes from.
pub(super) struct Reading {
    pub(super) bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// Bytes that come from one place: as they stood there, or all of them from one escape.
struct Part {
    at: usize,
    source: Range<usize>,
    is_plain: bool,
}

impl Reading {
    pub(super) fn of(text: &[u8], spelling: Spelling) -> Self {
        let (mut bytes, mut parts) = (Vec::with_capacity(text.len()), Vec::new());
        let mut at = 0;
        while at < text.len() {
            // What begins like an escape and is none stands for itself.
            let escape = spelling.escape(text, at);
            let (source, is_plain) = match &escape {
                Some((_, length)) => (at..at + length, false),
                None => (at..at + 1 + spelling.plain_from(text, at + 1), true),
            };
            parts.push(Part {
                at: bytes.len(),
                source: source.clone(),
                is_plain,
            });
            match escape {
                Some((spelt, _)) => spelt.add_to(&mut bytes),
                None => bytes.extend_from_slice(text.get(source.clone()).unwrap_or_default()),
            }
            at = source.end;
        }
        Self { bytes, parts }
    }

    /// Whether it reads otherwise than the text.
    pub(super) fn has_escapes(&self) -> bool {
        self.parts.iter().any(|part| !part.is_plain)
    }

    /// Where bytes of it come from.
    pub(super) fn source_of(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (self.source_at(span.start)?, span.end.checked_sub(1)?);
        Some(first.start..self.source_at(last)?.end)
    }

    /// Where one byte of it comes from.
    fn source_at(&self, at: usize) -> Option<Range<usize>> {
        if at >= self.bytes.len() {
            return None;
        }
        // What was left out has no bytes: of parts that begin at one place, the last has it.
        let after = self.parts.partition_point(|part| part.at <= at);
        let part = self.parts.get(after.checked_sub(1)?)?;
        if !part.is_plain {
            return Some(part.source.clone());
        }
        let from = part.source.start + (at - part.at);
        Some(from..from + 1)
    }
}

enum Spelt {
    Byte(u8),
    Char(char),
    /// It is left out.
    Nothing,
}

impl Spelt {
    fn add_to(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Byte(byte) => bytes.push(byte),
            Self::Char(c) => {
                let mut utf8 = [0; 4];
                bytes.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
            Self::Nothing => {}
        }
    }
}

fn read_backslash(rest: &[u8]) -> Option<(Spelt, usize)> {
    let short = |c: char| Some((Spelt::Char(c), 2));
    match rest.get(1)? {
        b'x' => Some((Spelt::Byte(u8::try_from(hex(rest.get(2..4)?)?).ok()?), 4)),
        b'u' if rest.get(2) == Some(&b'{') => {
            let digits = rest.get(3..)?.iter().take(DIGITS + 1);
            let end = digits.clone().position(|byte| *byte == b'}')?;
            let c = char::from_u32(hex(rest.get(3..3 + end)?)?)?;
            Some((Spelt::Char(c), end + 4))
        }
        b'U' if hex(rest.get(2..10).unwrap_or_default()).is_some() => {
            Some((Spelt::Char(char::from_u32(hex(rest.get(2..10)?)?)?), 10))
        }
        b'u' | b'U' => {
            let unit = hex(rest.get(2..6)?)?;
            if let Some(c) = char::from_u32(unit) {
                return Some((Spelt::Char(c), 6));
            }
            let low = rest
                .get(6..8)
                .filter(|mark| *mark == b"\\u")
                .and(rest.get(8..12));
            let units = [u16::try_from(unit).ok()?, u16::try_from(hex(low?)?).ok()?];
            let c = char::decode_utf16(units).next()?.ok()?;
            Some((Spelt::Char(c), 12))
        }
        b'n' => short('\n'),
        b'r' => short('\r'),
        b't' => short('\t'),
        b'0'..=b'3' => {
            let digits = std::str::from_utf8(rest.get(1..4)?).ok()?;
            Some((Spelt::Byte(u8::from_str_radix(digits, 8).ok()?), 4))
        }
        // Markdown, shells and patterns escape any of them.
        mark if mark.is_ascii_punctuation() => short(char::from(*mark)),
        _ => None,
    }
}

fn read_entity(rest: &[u8]) -> Option<(Spelt, usize)> {
    match rest.get(1..3)? {
        [b'#', b'x' | b'X'] => read_number(rest, 3, 16),
        [b'#', _] => read_number(rest, 2, 10),
        _ => read_name(rest),
    }
}

/// A character by its number; readers of HTML do without the semicolon.
fn read_number(rest: &[u8], begin: usize, radix: u32) -> Option<(Spelt, usize)> {
    let digits = rest.get(begin..)?.iter().take(DIGITS);
    let of_radix = |digit: &&u8| char::from(**digit).is_digit(radix);
    let end = begin + digits.take_while(of_radix).count();
    let text = std::str::from_utf8(rest.get(begin..end)?).ok()?;
    let c = char::from_u32(u32::from_str_radix(text, radix).ok()?)?;
    let closed = rest.get(end) == Some(&b';');
    Some((Spelt::Char(c), end + usize::from(closed)))
}

/// Those of ASCII.
fn read_name(rest: &[u8]) -> Option<(Spelt, usize)> {
    let end = rest.iter().take(DIGITS).position(|byte| *byte == b';')?;
    let c = match rest.get(1..end)? {
        b"Tab" => '\t',
        b"NewLine" => '\n',
        b"excl" => '!',
        b"quot" | b"QUOT" => '"',
        b"num" => '#',
        b"dollar" => '$',
        b"percnt" => '%',
        b"amp" | b"AMP" => '&',
        b"apos" => '\'',
        b"lpar" => '(',
        b"rpar" => ')',
        b"ast" | b"midast" => '*',
        b"plus" => '+',
        b"comma" => ',',
        b"period" => '.',
        b"sol" => '/',
        b"colon" => ':',
        b"semi" => ';',
        b"lt" | b"LT" => '<',
        b"equals" => '=',
        b"gt" | b"GT" => '>',
        b"quest" => '?',
        b"commat" => '@',
        b"lsqb" | b"lbrack" => '[',
        b"bsol" => '\\',
        b"rsqb" | b"rbrack" => ']',
        b"Hat" => '^',
        b"lowbar" | b"UnderBar" => '_',
        b"grave" => '`',
        b"lcub" | b"lbrace" => '{',
        b"verbar" | b"vert" => '|',
        b"rcub" | b"rbrace" => '}',
        _ => return None,
    };
    Some((Spelt::Char(c), end + 1))
}

fn read_quoted(rest: &[u8]) -> Option<(Spelt, usize)> {
    match rest.get(1)? {
        b'\r' | b'\n' => Some((Spelt::Nothing, 1 + end_of_line(rest.get(1..)?))),
        _ => Some((Spelt::Byte(u8::try_from(hex(rest.get(1..3)?)?).ok()?), 3)),
    }
}

/// How long the ends of lines are that a text begins with, and the blanks after them.
fn end_of_line(rest: &[u8]) -> usize {
    let is_blank = |byte: &&u8| matches!(byte, b'\r' | b'\n' | b' ' | b'\t');
    rest.iter().take(BLANKS).take_while(is_blank).count()
}

fn read_hidden(rest: &[u8]) -> Option<(Spelt, usize)> {
    let length = match rest.first()? {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    };
    let c = std::str::from_utf8(rest.get(..length)?)
        .ok()?
        .chars()
        .next()?;
    (is_hidden(c) && !c.is_control()).then_some((Spelt::Nothing, length))
}

fn hex(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > DIGITS {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        sum.checked_mul(16)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text says in a spelling.
    fn read(text: &str, spelling: Spelling) -> String {
        let reading = Reading::of(text.as_bytes(), spelling);
        String::from_utf8(reading.bytes.clone()).unwrap()
    }

    #[test]
    fn a_pair_of_halves_is_one_character_and_a_half_alone_is_none() {
        for (text, says) in [
            (r"\ud83d\ude00!", "😀!"),
            (r"\u0041\u0042", "AB"),
            (r"\ud83d\x41bcd", "\\ud83dAbcd"),
            (r"\ud83dude00", r"\ud83dude00"),
            (r"\ud83d\u0041", "\\ud83dA"),
        ] {
            assert_eq!(read(text, Spelling::Backslash), says, "{text}");
        }
    }
}
