//! A provider's envelope: JSON around a reply, read kindly, so that one broken character does not
//! end a run.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::draft::failed;
use crate::words::error::Error;

/// Reads one event of a provider, or an answer in one piece, which should be a `what`.
///
/// # Errors
/// `ProviderFailed`: worth a retry where it is no JSON, and not where it is JSON of another shape.
pub(super) fn event<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Error> {
    read(text).map_err(|error| match error.classify() {
        Category::Data => no_such(what),
        Category::Io | Category::Syntax | Category::Eof => {
            failed("the model provider sent something that is no JSON")
        }
    })
}

/// JSON that is no `what`: somebody else answers.
pub(super) fn no_such(what: &str) -> Error {
    failed(&format!("the model provider sent JSON that is no {what}"))
        .retry(false)
        .hint("check `provider` and `url` of the model")
}

/// Reads a provider's envelope. An escape of half a character, which is no text, is read as U+FFFD.
///
/// # Errors
/// The parser's own, where the text is no JSON (`is_data` is false) or none of that shape.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match mended(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// `text` with each escape of a lone surrogate replaced; `None` where there is none.
fn mended(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let (taken, lone) = match (unit(escape), escape.get(5..).and_then(paired)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (11, false),
            (Some(0xD800..=0xDFFF), _) => (5, true),
            // Another escape: its letter goes along, since it may itself be a backslash.
            (Some(_) | None, _) => (escape.chars().next().map_or(0, char::len_utf8), false),
        };
        let (head, tail) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push('\\');
        out.push_str(if lone { "ufffd" } else { head });
        found |= lone;
        rest = tail;
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The number of an escape of four hexadecimal digits, whose text after the backslash begins with `u`.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if hexadecimal {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

fn paired(text: &str) -> Option<u32> {
    unit(text.strip_prefix('\\')?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::read;

    #[test]
    fn half_characters_are_replaced() {
        let text = |text: &str| read::<String>(text).unwrap();
        assert_eq!(text(r#""a\ud83dé""#), "a\u{FFFD}é");
        assert_eq!(text(r#""\ude00\ud83d\ud83d\ude00""#), "\u{FFFD}\u{FFFD}😀");
        assert_eq!(
            text(r#""\ud83d\n\\ud83d\"\uDE00""#),
            "\u{FFFD}\n\\ud83d\"\u{FFFD}"
        );
        assert_eq!(text(r#""\ud83d\u0041""#), "\u{FFFD}A");
        for bad in [
            r#""\ud83""#,
            r#""\ud83d"#,
            r#""\ud83d\"#,
            r#""\u+123""#,
            r#""\ué""#,
            "\\",
            "",
        ] {
            assert!(read::<String>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(parts in prop::collection::vec(
            prop::sample::select(&["\\", "u", "d83d", "de00", "\"", "é", "1"][..]),
            0..30,
        )) {
            let _ = read::<Value>(&format!("\"{}\"", parts.concat()));
        }
    }
}
