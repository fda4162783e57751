//! Counting: how many tokens a model's prompt takes, by its tokenizer or by an estimate that the operator may change.

use super::tokens::Tokenizer;
use crate::words::limits::{CHARS_PER_TOKEN, CONTEXT_MESSAGE_TOKENS};

/// How the tokens of a model are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Counting {
    /// What counts.
    pub tokenizer: Tokenizer,
    /// Characters that are taken for one token where nothing is known that counts.
    pub chars_per_token: usize,
    /// What frames one message.
    pub message_tokens: u64,
}

impl Counting {
    /// As it is done where nobody says otherwise.
    #[must_use]
    pub fn by(tokenizer: Tokenizer) -> Self {
        Self {
            tokenizer,
            chars_per_token: CHARS_PER_TOKEN,
            message_tokens: CONTEXT_MESSAGE_TOKENS,
        }
    }

    /// Whether what it says is no count.
    #[must_use]
    pub fn is_estimate(self) -> bool {
        self.tokenizer.is_estimate()
    }

    /// The tokens of a text.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        self.tokenizer.count_at(text, self.chars_per_token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_as_cautious_as_the_operator_says() {
        let count = |tokenizer, chars_per_token| {
            let counting = Counting {
                chars_per_token,
                ..Counting::by(tokenizer)
            };
            counting.count("hello world")
        };
        for (chars_per_token, tokens) in [(1, 11), (2, 6), (4, 3), (8, 2)] {
            assert_eq!(count(Tokenizer::Estimate, chars_per_token), tokens);
            // What counts is not told how.
            assert_eq!(count(Tokenizer::O200k, chars_per_token), 2);
        }
    }
}
