//! An answer that is JSON: it says the same to a program, and leads nowhere where somebody reads it as Markdown.

use serde::de::IgnoredAny;

/// The same value, with what could begin a link or an element escaped in its strings; nothing where the text is
/// no object and no list. Outside of strings JSON has no character that a link needs beside its brackets.
pub(super) fn inert(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            '[' | ']' | '<' if quoted => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            other => out.push(other),
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::rendered::rendered;

    #[test]
    fn json_says_the_same_and_leads_nowhere() {
        for value in [
            json!({"a": "![x](http://evil.test/)", "b": ["<img src=http://evil.test>", 1, [2]]}),
            json!(["![x](", "http://evil.test)"]),
            json!({"\\\"[a]: http://evil.test": "\\"}),
        ] {
            for text in [value.to_string(), format!("{value:#}")] {
                let told = inert(&text).expect("JSON");
                let read: Value = serde_json::from_str(&told).expect("JSON");
                assert_eq!(read, value);
                assert_eq!(rendered(&told), told);
            }
        }
        for text in ["[a](http://evil.test)", "{a}", "\"[a](b)\"", ""] {
            assert_eq!(inert(text), None, "{text}");
        }
    }
}
