//! Foreign text inside TypeScript: it stays text, whatever it holds.

use crate::rules::sanitise::visible;
use crate::words::id::is_hidden;

/// A string literal that means `text`. What hides or steers is escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    let mut units = [0; 2];
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The name of a field: as it is where it is an identifier, quoted otherwise.
pub(super) fn key(name: &str) -> String {
    if is_identifier(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// The name of a method: `new(…)` would declare a constructor.
pub(super) fn method(name: &str) -> String {
    if name == "new" {
        quoted(name)
    } else {
        key(name)
    }
}

/// Whether a name can stand behind a dot. Fewer than the language allows: letters that look like
/// others are shown in quotes.
pub(super) fn is_identifier(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    name.chars().all(inner) && name.starts_with(|first: char| !first.is_ascii_digit())
}

/// Text as it may stand in a comment: what hides is visible, and nothing closes the comment.
pub(super) fn commented(text: &str) -> String {
    visible(text).replace("*/", "*\\/")
}

/// All words on one line, at most `chars_max` characters, with `…` where something is missing.
pub(super) fn one_line(text: &str, chars_max: usize) -> String {
    // No more is looked at than could be seen, however much white space is before it.
    let near: String = text.chars().take(chars_max.saturating_mul(4)).collect();
    let words: Vec<&str> = near.split_whitespace().collect();
    let mut line = visible(&words.join(" "));
    if near.len() < text.len() {
        line.push_str(" …");
    }
    cut(&line, chars_max)
}

/// At most `chars_max` characters of a text, the last one `…` where something is missing.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, wanted) in [
            ("read", "read"),
            ("$a_1", "$a_1"),
            ("", "\"\""),
            ("1a", "\"1a\""),
            ("a-b", "\"a-b\""),
            ("é", "\"é\""),
            (
                "a\"\\\u{200b}\u{e0001}",
                "\"a\\\"\\\\\\u200b\\udb40\\udc01\"",
            ),
        ] {
            assert_eq!(key(name), wanted);
        }
        assert_eq!(
            (method("new"), key("new")),
            ("\"new\"".into(), "new".into())
        );
    }

    #[test]
    fn comments_stay_comments() {
        assert_eq!(commented("a */ b **/ \u{202e}"), "a *\\/ b **\\/ \\u{202e}");
        assert_eq!(commented("*\u{200b}/"), "*\\u{200b}/");
    }

    #[test]
    fn lines_are_cut_at_characters() {
        assert_eq!(one_line(" a\n\tb \u{2028} c", 9), "a b c");
        assert_eq!(one_line("ééééé", 4), "ééé…");
        assert_eq!(one_line("ab cdef", 4), "ab…");
        assert_eq!(one_line(&"x ".repeat(100_000), 6), "x x x…");
        assert_eq!(one_line(&" ".repeat(100_000), 6), " …");
    }
}
