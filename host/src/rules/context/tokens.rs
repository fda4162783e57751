//! Tokens: how much of a model's window a text takes, counted by the tokenizer that the model has, or estimated.
//!
//! The tables of a tokenizer are read when it first counts. Most runs never come to that: a text has no more tokens
//! than bytes, and whatever fits by its bytes fits (`window.rs`).

use std::sync::LazyLock;

use serde::Deserialize;
use tiktoken_rs::CoreBPE;

use crate::words::limits::{CHARS_PER_TOKEN, TOKENIZED_BYTES};

/// What counts the tokens of a model.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// Of GPT-4 and GPT-3.5.
    Cl100k,
    /// Of GPT-4o and everything of OpenAI's since.
    O200k,
    /// Nothing that is known: four characters (`[context] chars_per_token`) are taken for a token, and one that is not
    /// ASCII for a whole one.
    Estimate,
}

/// Beginnings of the names of models whose tokenizer is known; the first that fits.
const KNOWN: &[(&str, Tokenizer)] = &[
    ("gpt-4o", Tokenizer::O200k),
    ("gpt-4.1", Tokenizer::O200k),
    ("gpt-4.5", Tokenizer::O200k),
    ("gpt-4", Tokenizer::Cl100k),
    ("gpt-3.5", Tokenizer::Cl100k),
    ("gpt-oss", Tokenizer::O200k),
    ("gpt-", Tokenizer::O200k),
    ("chatgpt-4o", Tokenizer::O200k),
    ("o1", Tokenizer::O200k),
    ("o3", Tokenizer::O200k),
    ("o4", Tokenizer::O200k),
    ("text-embedding-", Tokenizer::Cl100k),
];

static CL100K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::cl100k_base().ok());
static O200K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

impl Tokenizer {
    /// Of a model with this name at its provider: estimated where the name is not known. Routers write the maker's
    /// name before it, as in `openai/gpt-5`.
    #[must_use]
    pub fn of_model(name: &str) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let found = KNOWN.iter().find(|(start, _)| name.starts_with(start));
        found.map_or(Self::Estimate, |(_, tokenizer)| *tokenizer)
    }

    /// Whether what it says is no count.
    #[must_use]
    pub fn is_estimate(self) -> bool {
        self == Self::Estimate
    }

    /// The tokens of a text. A long text is counted in pieces, since a word of a megabyte would take the tokenizer
    /// hours: at each cut the count may be a token too high, and never too low.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        self.count_at(text, CHARS_PER_TOKEN)
    }

    /// Likewise, with so many characters taken for a token where it is estimated.
    #[must_use]
    pub fn count_at(self, text: &str, chars_per_token: usize) -> u64 {
        let tables = match self {
            Self::Cl100k => CL100K.as_ref(),
            Self::O200k => O200K.as_ref(),
            Self::Estimate => None,
        };
        let Some(tables) = tables else {
            return estimate(text, chars_per_token);
        };
        let pieces = Pieces { rest: text };
        let counts = pieces.map(|piece| tables.encode_ordinary(piece).len());
        u64::try_from(counts.sum::<usize>()).unwrap_or(u64::MAX)
    }
}

/// Four characters to a token is true of English. Of most other scripts one is a token by itself.
fn estimate(text: &str, chars_per_token: usize) -> u64 {
    let chars = text.chars().count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let tokens = ascii.div_ceil(chars_per_token.max(1)) + chars.saturating_sub(ascii);
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// Pieces of bounded size, cut before a space where there is one: no token begins before a space and ends behind it.
struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let most = self.rest.floor_char_boundary(TOKENIZED_BYTES);
        let (piece, rest) = if most == self.rest.len() {
            (self.rest, "")
        } else {
            let begun = self.rest.get(..most).unwrap_or_default();
            let space = begun.rfind(' ').filter(|at| *at > 0);
            self.rest.split_at_checked(space.unwrap_or(most))?
        };
        self.rest = rest;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn models_have_the_tokenizer_that_they_were_made_with() {
        use Tokenizer::{Cl100k, Estimate, O200k};
        for (name, expected) in [
            ("gpt-4", Cl100k),
            ("gpt-4-turbo", Cl100k),
            ("gpt-3.5-turbo", Cl100k),
            ("gpt-4o-mini", O200k),
            ("gpt-4.1", O200k),
            ("gpt-5.1", O200k),
            ("openai/gpt-5", O200k),
            ("GPT-5", O200k),
            ("o3-mini", O200k),
            ("gpt-oss:20b", O200k),
            ("claude-sonnet-4-5", Estimate),
            ("gemini-2.5-pro", Estimate),
            ("llama3.2", Estimate),
            ("", Estimate),
        ] {
            assert_eq!(Tokenizer::of_model(name), expected, "{name}");
        }
    }

    /// Counts that OpenAI's own library gives.
    #[test]
    fn counts_are_those_of_the_models_maker() {
        for (text, cl100k, o200k, estimate) in [
            ("", 0, 0, 0),
            ("hello world", 2, 2, 3),
            ("tiktoken is great!", 6, 6, 5),
            ("antidisestablishmentarianism", 6, 6, 7),
            ("2 + 2 = 4", 7, 7, 3),
            ("お誕生日おめでとう", 9, 8, 9),
        ] {
            assert_eq!(Tokenizer::Cl100k.count(text), cl100k, "{text}");
            assert_eq!(Tokenizer::O200k.count(text), o200k, "{text}");
            assert_eq!(Tokenizer::Estimate.count(text), estimate, "{text}");
        }
    }

    /// For the tables alone a word of that length is quadratic work.
    #[test]
    fn a_word_without_end_is_counted_at_once() {
        let _tables = Tokenizer::Cl100k.count("a");
        for text in [
            "a".repeat(1 << 20),
            " ".repeat(1 << 20),
            "a\u{301}".repeat(1 << 18),
        ] {
            assert!(Tokenizer::Cl100k.count(&text) > 0);
        }
    }

    proptest! {
        /// What the window relies on when it counts nothing.
        #[test]
        fn there_are_no_more_tokens_than_bytes(text in "\\PC{0,200}") {
            for tokenizer in [Tokenizer::Cl100k, Tokenizer::O200k, Tokenizer::Estimate] {
                prop_assert!(tokenizer.count(&text) <= u64::try_from(text.len()).unwrap());
            }
        }

        #[test]
        fn pieces_are_the_whole_text(text in "[a-z é]{0,3000}") {
            let pieces: Vec<&str> = Pieces { rest: &text }.collect();
            prop_assert_eq!(pieces.concat(), text.as_str());
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= TOKENIZED_BYTES));
        }
    }
}
