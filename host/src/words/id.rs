//! Names of things: runs, tools, plugins, contents.
//!
//! Each has its own type, so that one cannot be passed for another, and each is checked where it
//! is made.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::clock::Clock;
use super::error::Error;
use super::inert::one_line;
use super::limits::TOOL_NAME_CHARS;
use super::limits::unread::TOOL_NAME_BYTES;

/// A run's name: the time it began and a random tail, so that names sort by age.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct RunId(Arc<str>);

impl From<String> for RunId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<RunId> for String {
    fn from(run: RunId) -> Self {
        run.0.to_string()
    }
}

/// Characters of a run's name that are looked at.
const NAME_CHARS: usize = 64;

impl RunId {
    /// A new name at the clock's time. Names are in the order of their milliseconds, so that what is kept by them
    /// grows at its end.
    #[must_use]
    pub fn new(clock: &Clock) -> Self {
        let now = clock.now_ms();
        let at = i64::try_from(now).unwrap_or(0);
        let stamp = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
        let tail = (now % 1_000) << RANDOM_BITS | random_tail();
        Self(format!("{}-{tail:012x}", stamp.strftime("%Y%m%d-%H%M%S")).into())
    }

    /// Takes a name that was written down, without asking whether there is such a run. What no name of ours
    /// holds, such as what steers a terminal, does not get in.
    #[must_use]
    pub fn known(text: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let plain: String = text
            .chars()
            .map(|c| if plain(c) { c } else { '?' })
            .take(NAME_CHARS)
            .collect();
        Self(plain.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Of the 48 bits at the end of a run's name; those before them are the milliseconds of its second.
const RANDOM_BITS: u32 = 38;

/// Bits that two runs of one millisecond do not share: a keyed hash of a counter, keyed by the process's own random
/// state. They are a name, not a secret.
fn random_tail() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hash = RandomState::new().hash_one((count, std::process::id()));
    hash >> (u64::BITS - RANDOM_BITS)
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Place of a record in its run, from 0 without gaps.
pub type Seq = u64;

/// The full name of a tool, `plugin.tool`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// `BadInput` where the name is not `plugin.tool` in lower-case letters, digits, `-` and `_`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let ok = text.len() <= TOOL_NAME_CHARS
            && text
                .split_once('.')
                .is_some_and(|(plugin, tool)| is_name(plugin) && is_name(tool));
        if ok {
            Ok(Self(text.into()))
        } else {
            Err(
                Error::bad_input(format!("`{}` is not a tool's name", shown(text)))
                    .hint("a full name is `plugin.tool`, such as `text.count`"),
            )
        }
    }

    /// What is said of a text that is longer than whatever was meant as a name, right or wrong; nothing of any other.
    #[must_use]
    pub fn none_of(text: &str) -> Option<String> {
        let bytes = text.len();
        (bytes > TOOL_NAME_BYTES).then(|| format!("a name of {bytes} bytes"))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The plugin's part.
    #[must_use]
    pub fn plugin(&self) -> &str {
        self.0.split_once('.').map_or(&self.0, |(plugin, _)| plugin)
    }

    /// The part after the plugin's name.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.split_once('.').map_or(&self.0, |(_, tool)| tool)
    }
}

impl TryFrom<String> for ToolName {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0.to_string()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Whether `text` may name a plugin, tool, mount or agent: it begins with a letter and has only
/// lower-case letters, digits, `-` and `_`, at most 64 characters.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
}

/// SHA-256 of some bytes: the name of a component or of stored content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// A digest of what comes piece by piece.
#[derive(Debug, Default)]
pub struct Digesting(Sha256);

impl Digesting {
    /// The next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// That of all pieces, one after the other.
    #[must_use]
    pub fn end(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl Digest {
    /// Of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// `BadInput` for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || Error::bad_input("a digest has 64 hexadecimal digits");
        let mut bytes = [0; 32];
        // A number may have a sign, and a digest may not.
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Where chance begins that has to be the same each time: the first 8 bytes as a number.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let first = self.0.iter().take(8);
        first.fold(0_u64, |seed, byte| (seed << 8) | u64::from(*byte))
    }

    /// The first 12 digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for Digest {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| {
            DIGITS
                .get(usize::from(nibble))
                .map_or('0', |d| char::from(*d))
        };
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            text.push(digit(byte >> 4));
            text.push(digit(byte & 15));
        }
        out.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({})", self.short())
    }
}

/// Where in a run something was wished: turn and number of a model's call, number of a script's request,
/// or the one after the other. The same wish has the same place when a run is taken up again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(Vec<u32>);

impl Place {
    /// The place of a turn, from 1; its calls are inside of it.
    #[must_use]
    pub fn of_turn(turn: u32) -> Self {
        Self(vec![turn])
    }

    /// The place of something that is wished from here.
    #[must_use]
    pub fn inside(&self, position: u32) -> Self {
        let mut place = Vec::with_capacity(self.0.len() + 1);
        place.extend_from_slice(&self.0);
        place.push(position);
        Self(place)
    }

    /// Whether it is the run itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The position of this place directly inside of `outer`, if it is.
    #[must_use]
    pub fn position_in(&self, outer: &Self) -> Option<u32> {
        match self.0.strip_prefix(outer.0.as_slice()) {
            Some([position]) => Some(*position),
            Some(_) | None => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, number) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(out, "{dot}{number}")?;
        }
        Ok(())
    }
}

/// Name of a question: digest of what it is bound to. People see, and write, its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Digest", into = "String")]
pub struct QuestionId(String);

impl QuestionId {
    /// Of everything that the question is bound to, part by part.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        // Each part by its own digest, so that no part can reach into the next.
        let all: String = parts
            .iter()
            .map(|part| Digest::of(part.as_bytes()).to_string())
            .collect();
        Self(Digest::of(all.as_bytes()).to_string())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Digest> for QuestionId {
    fn from(digest: Digest) -> Self {
        Self(digest.to_string())
    }
}

impl From<QuestionId> for String {
    fn from(id: QuestionId) -> Self {
        id.0
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.get(..12).unwrap_or(&self.0))
    }
}

/// Text from outside as it may stand in a message: short, and with control and invisible
/// characters made visible.
#[must_use]
pub fn shown(text: &str) -> String {
    const CHARS: usize = 120;
    let start: String = text.chars().take(CHARS).collect();
    let mut shown = one_line(&start);
    if text.chars().nth(CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// A word of somebody outside that says what went wrong, where it is a plain one. Any other may quote what they were sent, and
/// half of a secret is none that anybody recognises: it is told whole or not at all.
#[must_use]
pub fn plain_word(word: &str) -> Option<&str> {
    const BYTES: usize = 40;
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"_.-".contains(&c);
    let fits = (1..=BYTES).contains(&word.len()) && word.bytes().all(is_plain);
    fits.then_some(word)
}

/// Whether a character steers a terminal, shows as nothing, or reads as something else than it is:
/// controls, zero-width, fillers, bidirectional overrides, tag characters, variation selectors, and
/// what no standard gives a form to (private use, noncharacters).
#[must_use]
pub fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || code & 0xFFFE == 0xFFFE
        || matches!(code,
            0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164
            | 0xE000..=0xF8FF | 0xFDD0..=0xFDEF | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0
            | 0xFFF0..=0xFFFC | 0x1BCA0..=0x1BCA3 | 0x1D159 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF | 0xF0000..=0x10FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_is_told_whole() {
        for word in [
            "invalid_grant",
            "RESOURCE_EXHAUSTED",
            "a.b-c",
            "503",
            &"x".repeat(40),
        ] {
            assert_eq!(plain_word(word), Some(word));
        }
        for word in ["", "a b", "a\u{1b}[2J", "é", "a`b", &"x".repeat(41)] {
            assert_eq!(plain_word(word), None, "{word}");
        }
    }

    #[test]
    fn tool_names() {
        for good in ["text.count", "a.b", "my-plugin.do_it2"] {
            assert_eq!(ToolName::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "text",
            ".count",
            "text.",
            "Text.count",
            "a.b.c",
            "a b.c",
            "a.\u{0}",
            "é.b",
        ] {
            assert!(ToolName::parse(bad).is_err(), "{bad}");
        }
        let name = |bytes: usize| format!("p.{}", "t".repeat(bytes - 2));
        let halves = format!("{}.{}", "p".repeat(64), "t".repeat(63));
        assert!(
            ToolName::parse(&halves).is_ok() && ToolName::parse(&format!("{halves}t")).is_err()
        );
        assert_eq!(ToolName::none_of(&name(TOOL_NAME_BYTES)), None);
        let long = ToolName::none_of(&name(TOOL_NAME_BYTES + 1));
        assert_eq!(long.as_deref(), Some("a name of 513 bytes"));
    }

    #[test]
    fn digests_round_trip() {
        let digest = Digest::of(b"abc");
        assert!(digest.to_string().starts_with("ba7816bf"));
        assert_eq!(Digest::parse(&digest.to_string()).unwrap(), digest);
        assert!(Digest::parse("ba78").is_err());
        assert_eq!(digest.seed(), 0xba78_16bf_8f01_cfea);
        assert!(Digest::parse(&digest.to_string().to_uppercase()).is_ok());
        for pair in ["+f", "-0", " f", "0x", "é"] {
            assert!(Digest::parse(&pair.repeat(32)).is_err(), "{pair}");
        }
    }

    #[test]
    fn run_names_differ_within_one_second() {
        let clock = Clock::set(1_700_000_000_000);
        let names: std::collections::BTreeSet<_> = (0..200).map(|_| RunId::new(&clock)).collect();
        assert_eq!(names.len(), 200);
        let later = RunId::new(&Clock::set(1_700_000_000_001));
        assert!(
            names
                .iter()
                .all(|name| *name < later && name.as_str().len() == later.as_str().len())
        );
        assert!(
            names
                .iter()
                .all(|name| name.as_str().starts_with("20231114-221320-"))
        );
    }

    #[test]
    fn hidden_characters_are_made_visible() {
        assert_eq!(shown("a\u{202e}b\u{1b}[2J"), "a\\u{202e}b\\u{1b}[2J");
        for hidden in [
            '\u{1bca0}',
            '\u{1d159}',
            '\u{fff0}',
            '\u{fff8}',
            '\u{e0041}',
        ] {
            assert!(is_hidden(hidden), "{:x}", u32::from(hidden));
        }
    }
}
