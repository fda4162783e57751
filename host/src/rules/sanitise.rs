//! Sanitising: what a guest, page or file said, made fit for a model or terminal.
//!
//! In this order, on the whole text (C-30): it is scrubbed ([`super::scrub`]), hidden characters become
//! visible; only then is it cut to size.

pub use crate::words::inert::visible;
use crate::words::limits::{CHARS_PER_TOKEN, OBSERVATION_TOKENS};

use super::manifest::Truncation;

/// Cuts a text to the size of an observation, with a notice that never changes.
#[must_use]
pub fn truncate(text: &str, how: Truncation) -> String {
    cut(text, OBSERVATION_TOKENS * CHARS_PER_TOKEN, how)
}

fn cut(text: &str, chars_max: usize, how: Truncation) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let notice = format!("\n[{} of {chars} characters left out]\n", chars - chars_max);
    let (head, tail) = match how {
        Truncation::Middle => (chars_max / 2, chars_max - chars_max / 2),
        Truncation::Head => (chars_max, 0),
        Truncation::Tail => (0, chars_max),
    };
    let beginning = text.chars().take(head);
    let end = text.chars().skip(chars - tail);
    beginning.chain(notice.chars()).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(
            visible("a\u{1b}[31m\u{200b}b\nc\td\r\ne"),
            "a\\u{1b}[31m\\u{200b}b\nc\td\ne"
        );
    }

    #[test]
    fn cutting_respects_characters_and_says_so() {
        let text = "é".repeat(10);
        assert_eq!(cut(&text, 10, Truncation::Middle), text);
        assert_eq!(
            cut(&text, 4, Truncation::Middle),
            "éé\n[6 of 10 characters left out]\néé"
        );
        assert_eq!(
            cut(&text, 4, Truncation::Tail),
            "\n[6 of 10 characters left out]\néééé"
        );
        assert_eq!(
            cut(&text, 4, Truncation::Head),
            "éééé\n[6 of 10 characters left out]\n"
        );
    }
}
