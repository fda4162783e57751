//! `text.replace`: the text with every match replaced.

use lazaret_sdk::prelude::*;
use regex::Regex;

use crate::{OUTCOME_BYTES_MAX, check_size, pattern};

/// The new text.
#[value]
#[derive(PartialEq, Eq)]
pub struct Replaced {
    /// The text after all replacements.
    pub text: String,
    /// How many matches were replaced.
    pub replacements: usize,
}

/// Replaces every match of a regular expression, or of a literal text, in a text.
#[tool(
    effect = "pure",
    tier = "fast",
    example(
        title = "swap two words",
        args = r#"{"text": "key=value", "pattern": "(\\w+)=(\\w+)", "replacement": "$2=$1"}"#
    ),
    example(
        title = "a literal text",
        args = r#"{"text": "1.0", "pattern": ".", "replacement": ",", "literal": true}"#
    )
)]
pub fn replace(
    /// The text to change.
    text: String,
    /// The regular expression, or the text itself if `literal` is set.
    pattern: String,
    /// What to put there; `$1` or `${name}` stands for a group, `$$` for a dollar sign, unless
    /// `literal` is set.
    replacement: String,
    /// Whether pattern and replacement mean just what they say.
    #[default(false)]
    literal: bool,
    /// Whether `a` also matches `A`.
    #[default(false)]
    ignore_case: bool,
) -> Result<Replaced, Failure> {
    check_size(&text)?;
    let pattern = if literal {
        regex::escape(&pattern)
    } else {
        pattern
    };
    let pattern = pattern::compile(&pattern, ignore_case)?;
    substitute(&text, &pattern, &replacement, literal)
}

fn substitute(
    text: &str,
    pattern: &Regex,
    replacement: &str,
    literal: bool,
) -> Result<Replaced, Failure> {
    let mut out = String::new();
    let mut replacements = 0;
    let mut end = 0;
    // By hand and not by `replace_all`, so that the bound holds while the text grows.
    for groups in pattern.captures_iter(text) {
        let whole = groups.get_match();
        out.push_str(&text[end..whole.start()]);
        if literal {
            out.push_str(replacement);
        } else {
            groups.expand(replacement, &mut out);
        }
        end = whole.end();
        replacements += 1;
        check_outcome(out.len())?;
    }
    out.push_str(&text[end..]);
    check_outcome(out.len())?;
    Ok(Replaced {
        text: out,
        replacements,
    })
}

fn check_outcome(bytes: usize) -> Result<(), Failure> {
    if bytes > OUTCOME_BYTES_MAX {
        fail!("the new text has more than {OUTCOME_BYTES_MAX} bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pattern: &str, replacement: &str, literal: bool, expected: &str) {
        let replaced = replace(
            text.to_owned(),
            pattern.to_owned(),
            replacement.to_owned(),
            literal,
            false,
        )
        .unwrap();
        assert_eq!(replaced.text, expected);
    }

    #[test]
    fn matches_are_replaced() {
        check("a=b, c=d", r"(\w)=(\w)", "$2=$1", false, "b=a, d=c");
        check("1.0.0", ".", ",", true, "1,0,0");
        check("$", "$", "$1", true, "$1");
        check("abc", "x", "y", false, "abc");
        check("ab", "", "-", false, "-a-b-");
    }

    #[test]
    fn an_explosion_is_refused() {
        let text = "a".repeat(10_000);
        let failure = replace(text, "a".to_owned(), "b".repeat(1000), false, false).unwrap_err();
        assert!(failure.message().starts_with("the new text has more than"));
    }
}
