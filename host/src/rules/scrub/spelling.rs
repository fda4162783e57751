//! Spellings: the escapes in which a text can say a character, each read back to its bytes.
//!
//! Reading never fails: what is no escape stands for itself. Each reading is linear, and each escape
//! has a bounded length, so that a text can be read in pieces.

/// Which escapes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// None: the bytes as they are.
    Plain,
    /// `%41`, as in URLs.
    Percent,
    /// `\u0041`, `\x41`, `\u{41}`, `\"`, as in JSON and programs.
    Backslash,
    /// `&#65;`, `&#x41;`, `&amp;`, as in HTML.
    Entity,
    /// All of them.
    All,
}

/// Digits of an entity or of `\u{…}` that are read.
const DIGITS: usize = 8;

impl Spelling {
    /// Every spelling.
    pub(super) const ALL: [Self; 5] = [
        Self::Plain,
        Self::Percent,
        Self::Backslash,
        Self::Entity,
        Self::All,
    ];
    /// Those with escapes.
    pub(super) const ESCAPED: [Self; 4] = [Self::Percent, Self::Backslash, Self::Entity, Self::All];

    fn marks(self) -> &'static [u8] {
        match self {
            Self::Plain => b"",
            Self::Percent => b"%",
            Self::Backslash => b"\\",
            Self::Entity => b"&",
            Self::All => b"%\\&",
        }
    }

    /// Whether reading a text so could differ from reading it otherwise.
    pub(super) fn is_in(self, text: &[u8]) -> bool {
        let has = |mark: &u8| text.contains(mark);
        match self {
            Self::All => self.marks().iter().filter(|mark| has(mark)).count() > 1,
            Self::Plain | Self::Percent | Self::Backslash | Self::Entity => {
                self.marks().iter().any(has)
            }
        }
    }

    /// How many bytes from `at` on are no escape for certain.
    pub(super) fn plain_from(self, text: &[u8], at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let marks = self.marks();
        let end = match marks {
            [mark] => rest.iter().position(|byte| byte == mark),
            marks => rest.iter().position(|byte| marks.contains(byte)),
        };
        end.unwrap_or(rest.len())
    }

    /// Reads what stands at `at`, adds its bytes to `out`, and says how long it was.
    pub(super) fn read(self, text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let Some(first) = rest.first() else {
            return 0;
        };
        let escape = if self.marks().contains(first) {
            read_escape(rest)
        } else {
            None
        };
        match escape {
            Some((c, length)) => {
                match c {
                    Spelt::Byte(byte) => out.push(byte),
                    Spelt::Char(c) => {
                        let mut bytes = [0; 4];
                        out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
                    }
                }
                length
            }
            None => {
                out.push(*first);
                1
            }
        }
    }

    /// Where a text ends that is cut in the middle of an escape; its whole length otherwise.
    pub(super) fn whole_until(self, text: &[u8]) -> usize {
        let near = text.len().saturating_sub(DIGITS + 4);
        let tail = text.get(near..).unwrap_or_default();
        let open = |(at, byte): (usize, &u8)| {
            let rest = tail.get(at..).unwrap_or_default();
            (self.marks().contains(byte) && is_open(rest)).then_some(near + at)
        };
        tail.iter().enumerate().find_map(open).unwrap_or(text.len())
    }
}

enum Spelt {
    Byte(u8),
    Char(char),
}

/// The escape that a text begins with, and its length.
fn read_escape(rest: &[u8]) -> Option<(Spelt, usize)> {
    match rest.first()? {
        b'%' => Some((Spelt::Byte(u8::try_from(hex(rest.get(1..3)?)?).ok()?), 3)),
        b'\\' => read_backslash(rest),
        b'&' => read_entity(rest),
        _ => None,
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
        mark @ (b'"' | b'\'' | b'\\' | b'/' | b'`' | b'$') => short(char::from(*mark)),
        _ => None,
    }
}

fn read_entity(rest: &[u8]) -> Option<(Spelt, usize)> {
    let end = rest
        .iter()
        .take(DIGITS + 4)
        .position(|byte| *byte == b';')?;
    let name = rest.get(1..end)?;
    let c = match name {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
        [b'#', digits @ ..] => {
            let text = std::str::from_utf8(digits).ok()?;
            char::from_u32(text.parse().ok()?)?
        }
        _ => return None,
    };
    Some((Spelt::Char(c), end + 1))
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

/// Whether a text could be the beginning of an escape that is longer than it.
fn is_open(rest: &[u8]) -> bool {
    let hex_only = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match rest {
        [b'%', digits @ ..] => digits.len() < 2 && hex_only(digits),
        [b'\\'] | [b'&'] => true,
        [b'\\', b'x', digits @ ..] => digits.len() < 2 && hex_only(digits),
        [b'\\', b'u', b'{', digits @ ..] => digits.len() <= DIGITS && hex_only(digits),
        [b'\\', b'u' | b'U', digits @ ..] => {
            let (first, second) = digits.split_at(digits.len().min(4));
            // The first half of a pair is open until the second has come.
            let high = matches!(hex(first), Some(0xd800..=0xdbff)) && first.len() == 4;
            hex_only(first) && (first.len() < 4 || (high && second.len() < 6))
        }
        [b'&', name @ ..] => {
            let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
            name.len() < DIGITS + 3 && name.iter().all(part)
        }
        _ => false,
    }
}
