//! Inert text: whatever it holds, whoever shows it shows only text.

use unicode_width::UnicodeWidthChar;

use super::id::is_hidden;
use super::limits::COMBINING_MARKS;

/// Makes hidden characters visible, but for line ends and tabs; and combining marks beyond a few on
/// one character, which would cover what stands around them.
#[must_use]
pub fn visible(text: &str) -> String {
    if text.is_ascii() && !text.bytes().any(|byte| hides(char::from(byte))) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.replace("\r\n", "\n").chars() {
        marks = if is_combining(c) { marks + 1 } else { 0 };
        if hides(c) || marks > COMBINING_MARKS {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// As [`visible`], on one line: line ends and tabs are written out as well.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if matches!(c, '\n' | '\t') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Columns of blanks in a row that are shown as they are.
const GAP: usize = 8;
/// The same at the beginning of a line: four tabs, or code would be no longer readable.
const INDENT: usize = 4 * TAB;
/// Columns that a tab takes on a screen, at most.
pub const TAB: usize = 8;
/// Line ends that are shown as they are, with nothing but blanks between them.
const ENDS: usize = 2;

/// Columns that a character takes on a screen, at most. Of what takes none by its standard, only what is made to stand on
/// another one is known to take none wherever it is shown.
#[must_use]
pub fn columns_of(c: char) -> usize {
    match c {
        '\t' => TAB,
        c if is_combining(c) => 0,
        c => c.width().unwrap_or(1).max(1),
    }
}

/// A text in which no gap is so wide that what stands behind it begins another line on a screen, or pushes what stands before it
/// off: blanks and line ends past a few are written out, equal ones with how many they are.
#[must_use]
pub fn narrow(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut ends, mut blanks, mut most) = (0, 0, GAP);
    while let Some(c) = chars.next() {
        let fits = if c == '\n' {
            ends += 1;
            (blanks, most) = (0, INDENT);
            ends <= ENDS
        } else if c.is_whitespace() {
            blanks += columns_of(c);
            blanks <= most
        } else {
            (ends, blanks, most) = (0, 0, GAP);
            true
        };
        if fits {
            out.push(c);
            continue;
        }
        let mut count = 1_usize;
        while chars.next_if_eq(&c).is_some() {
            count += 1;
        }
        match count {
            1 => out.extend(c.escape_unicode()),
            count => out.push_str(&format!("\\u{{{:x}×{count}}}", u32::from(c))),
        }
    }
    out
}

/// JSON that says the same, with no wider gap in a text of it.
#[must_use]
pub fn narrow_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped, mut gap) = (false, false, 0);
    for c in json.chars() {
        gap = if inside && c.is_whitespace() {
            gap + columns_of(c)
        } else {
            0
        };
        if gap > GAP {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && c == '\\' && !escaped;
    }
    out
}

/// JSON that says the same, with hidden characters escaped: whoever shows it shows only text.
#[must_use]
pub fn inert_json(json: String) -> String {
    let hidden = |c: char| is_hidden(c) && c != '\n';
    if !json.chars().any(hidden) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if hidden(c) {
            out.extend(
                c.encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            out.push(c);
        }
    }
    out
}

fn hides(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\t')
}

/// Whether a character stands on the one before it, by the blocks that are made for that alone.
#[must_use]
pub fn is_combining(c: char) -> bool {
    matches!(u32::from(c),
        0x300..=0x36F | 0x483..=0x489 | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF
        | 0xFE20..=0xFE2F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(visible(text), shown, "{text:?}");
    }

    #[test]
    fn what_hides_is_shown() {
        check("plain\n\ttext", "plain\n\ttext");
        check("a\r\nb\rc", "a\nb\\u{d}c");
        check("\u{1b}[2J\u{7f}\u{9b}", "\\u{1b}[2J\\u{7f}\\u{9b}");
        check(
            "a\u{202e}b\u{2066}c\u{200e}",
            "a\\u{202e}b\\u{2066}c\\u{200e}",
        );
        check(
            "\u{e0041}\u{e0100}\u{fe0e}",
            "\\u{e0041}\\u{e0100}\\u{fe0e}",
        );
        check(
            "\u{e000}\u{f0000}\u{10fffd}",
            "\\u{e000}\\u{f0000}\\u{10fffd}",
        );
        check(
            "\u{3164}\u{115f}\u{2800}\u{fffe}",
            "\\u{3164}\\u{115f}\\u{2800}\\u{fffe}",
        );
        check("żółć 日本 नमस्ते 👍🏽", "żółć 日本 नमस्ते 👍🏽");
    }

    #[test]
    fn a_few_marks_are_writing_and_many_are_a_curtain() {
        check("e\u{301}\u{327}", "e\u{301}\u{327}");
        let zalgo = format!("a{}b", "\u{300}".repeat(6));
        let shown = format!("a{}\\u{{300}}\\u{{300}}b", "\u{300}".repeat(4));
        check(&zalgo, &shown);
    }

    #[test]
    fn json_for_terminals_says_the_same_and_hides_nothing() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}2J\u{e0041}é"});
        let text = inert_json(value.to_string());
        assert_eq!(text, r#"{"a\u202e":"\u009b2J\udb40\udc41é"}"#);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn no_gap_is_wide_and_none_looks_like_another() {
        for (text, shown) in [
            ("a  b", "a  b"),
            ("a        b", "a        b"),
            ("a         b", "a        \\u{20}b"),
            ("a\n\n\n\n? b", "a\n\n\\u{a×2}? b"),
            ("if a:\n    b\n\n    c", "if a:\n    b\n\n    c"),
            ("a\n \n \n b", "a\n \n \\u{a} b"),
            (
                "a      \u{2003}\u{2003} \u{2003}\u{2003}b",
                "a      \u{2003}\u{2003}\\u{20}\\u{2003×2}b",
            ),
        ] {
            assert_eq!(narrow(text), shown, "{text:?}");
        }
        for (text, shown) in [
            ("a\tb", "a\tb"),
            ("a\t b", "a\t\\u{20}b"),
            ("a \tb", "a \\u{9}b"),
            ("a\t\t\t\t\t\t\t\t? b", "a\t\\u{9×7}? b"),
            (
                "if a:\n\tb\n\t\t\t\tc\n\t\t\t\t\td",
                "if a:\n\tb\n\t\t\t\tc\n\t\t\t\t\\u{9}d",
            ),
            (
                "a\u{3000}\u{3000}\u{3000}\u{3000}\u{3000}\u{3000}b",
                "a\u{3000}\u{3000}\u{3000}\u{3000}\\u{3000×2}b",
            ),
            (
                "a\n                                 b",
                "a\n                                \\u{20}b",
            ),
        ] {
            assert_eq!(narrow(text), shown, "{text:?}");
        }
        let wide = |blanks: usize| narrow(&format!("a{}b", " ".repeat(blanks)));
        assert_eq!(wide(600), "a        \\u{20×592}b");
        assert_ne!(wide(600), wide(601));
    }

    #[test]
    fn nothing_takes_more_columns_than_is_said() {
        for (c, columns) in [
            ('a', 1),
            ('é', 1),
            ('\t', 8),
            ('\u{3000}', 2),
            ('\u{2003}', 1),
            ('日', 2),
            ('👍', 2),
            ('\u{301}', 0),
            // Not every screen knows that it takes none.
            ('\u{1160}', 1),
            ('\u{94d}', 1),
        ] {
            assert_eq!(columns_of(c), columns, "{c:?}");
        }
    }

    #[test]
    fn json_without_wide_gaps_says_the_same() {
        let value =
            serde_json::json!({"a          b": [" \"          \u{3000}x", "\\", {"c": "d  e"}]});
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let text = narrow_json(&pretty);
        assert!(
            text.contains(r#"" \"        \u0020\u0020\u3000x""#),
            "{text}"
        );
        assert!(text.contains(r#""a        \u0020\u0020b""#), "{text}");
        let wide = serde_json::json!("\u{3000}".repeat(6)).to_string();
        let narrowed = narrow_json(&wide);
        assert!(narrowed.ends_with(r#"\u3000\u3000""#), "{narrowed}");
        assert!(!narrowed.contains(&"\u{3000}".repeat(5)), "{narrowed}");
        // What is between its texts is ours.
        assert!(text.contains("\n      \"c\": \"d  e\""), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn one_line_is_one_line() {
        let all: String = (0..0x20)
            .filter_map(char::from_u32)
            .chain(['\u{7f}', 'é'])
            .collect();
        let line = one_line(&all);
        assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
        assert!(line.starts_with("\\u{0}") && line.contains("\\u{a}") && line.ends_with('é'));
    }
}
