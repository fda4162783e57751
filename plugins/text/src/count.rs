//! `text.count`: how long a text is.

use lazaret_sdk::prelude::*;

use crate::check_size;

/// What was counted.
#[value]
#[derive(PartialEq, Eq)]
pub struct Count {
    /// Number of lines.
    pub lines: usize,
    /// Number of words, separated by white space.
    pub words: usize,
    /// Number of Unicode characters.
    pub characters: usize,
    /// Number of bytes in UTF-8.
    pub bytes: usize,
}

/// Counts the lines, words, characters and bytes of a text.
#[tool(
    effect = "pure",
    tier = "fast",
    example(title = "two words", args = r#"{"text": "two words"}"#)
)]
pub fn count(
    /// The text to count.
    text: String,
) -> Result<Count, Failure> {
    check_size(&text)?;
    Ok(Count {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
        bytes: text.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: (usize, usize, usize, usize)) {
        let count = count(text.to_owned()).unwrap();
        assert_eq!(
            (count.lines, count.words, count.characters, count.bytes),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn texts_are_counted() {
        check("", (0, 0, 0, 0));
        check("one two", (1, 2, 7, 7));
        check("one\ntwo\n", (2, 2, 8, 8));
        check("grüß dich", (1, 2, 9, 11));
    }
}
