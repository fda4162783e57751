//! Spelt: how what somebody else has chosen stands in a sentence of ours, so that whoever reads takes nothing of it for our
//! words, and no value for another one.

use unicode_normalization::char::decompose_canonical;

use crate::rules::inbound::looks_like;
use crate::words::id::is_hidden;
use crate::words::inert::{is_combining, narrow};
use crate::words::limits::COMBINING_MARKS;

/// A value on one line, and nothing of it cut. What hides, a blank of another kind than ours, and a wide gap are written out;
/// so is the mark that stands around it, which would end it for whoever reads, and what looks like something written out.
pub(super) fn whole(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut marks = 0;
    for (at, c) in text.char_indices() {
        marks = if is_combining(c) { marks + 1 } else { 0 };
        let blank = c != ' ' && c.is_whitespace();
        let rest = text.get(at..).unwrap_or_default();
        let written = c == '`' || rest.starts_with("\\u{");
        if is_hidden(c) || blank || written || marks > COMBINING_MARKS {
            whole.extend(c.escape_unicode());
        } else {
            whole.push(c);
        }
    }
    narrow(&whole)
}

/// Characters that are shown of a path or name.
const BRIEF_CHARS: usize = 120;

/// The same of a path or name, cut: whoever wishes may choose names of arguments, and as long ones as they like.
#[must_use]
pub fn brief(text: &str) -> String {
    let begins: String = text.chars().take(BRIEF_CHARS).collect();
    let mut brief = whole(&begins);
    if text.chars().nth(BRIEF_CHARS).is_some() {
        brief.push('…');
    }
    brief
}

/// What is said of what looks like ours in a value that has ours as well: nobody sees that it is another one. The first such
/// letter is named, or where there is none the first such digit or sign.
pub(super) fn alike(text: &str) -> String {
    let letter = letter_alike(text).or_else(|| sign_alike(text));
    letter.unwrap_or_default()
}

/// Of a letter of which nobody knows what it looks like it is said where it stands beside ours in a word.
fn letter_alike(text: &str) -> Option<String> {
    let has_ours = |text: &str| text.contains(|c: char| c.is_ascii_alphabetic());
    if !has_ours(text) {
        return None;
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.find_map(|word| {
        let mixed = has_ours(word);
        let mut letters = word.chars().filter(|c| c.is_alphabetic());
        letters.find_map(|c| said_of(c, mixed))
    })
}

/// A sign ends a word, so it is looked for between blanks: what stands there alone parts sentences.
fn sign_alike(text: &str) -> Option<String> {
    let ours = |part: &&str| part.contains(|c: char| c.is_ascii_alphanumeric());
    let parts = text.split_whitespace().filter(ours);
    let mut signs = parts.flat_map(str::chars).filter(|c| !c.is_alphabetic());
    signs.find_map(|c| said_of(c, false))
}

fn said_of(c: char, mixed: bool) -> Option<String> {
    let code = u32::from(c);
    match looks_like(c) {
        Some(ours) => Some(format!(
            " (its `{c}` is no `{ours}`, but U+{code:04X}, which looks like it)"
        )),
        None if mixed && is_strange(c) => {
            Some(format!(" (its `{c}` is no ASCII letter, but U+{code:04X})"))
        }
        None => None,
    }
}

/// Whether a letter is neither one of ours, with or without marks on it, nor of a Latin alphabet that has more of them, nor a
/// sign of East Asia, which is wider than any of ours. `ĳ` is one letter that is seen as two of ours.
fn is_strange(c: char) -> bool {
    let mut base = None;
    decompose_canonical(c, |part| {
        base.get_or_insert(part);
    });
    let latin =
        base.is_some_and(|base| base.is_ascii()) || matches!(c, 'À'..='ı' | 'Ĵ'..='ſ' | 'ẞ');
    let wide = matches!(u32::from(c),
        0x3041..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0x20000..=0x3FFFF);
    c.is_alphabetic() && !latin && !wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_on_its_line_and_within_its_marks() {
        let gap = " ".repeat(600);
        for (text, shown) in [
            ("to a  b", "to a  b"),
            ("a\n? may `x` be", "a\\u{a}? may \\u{60}x\\u{60} be"),
            ("a\t\u{a0}\u{2003}b", "a\\u{9}\\u{a0}\\u{2003}b"),
            ("C:\\users", "C:\\users"),
            (&*format!("a{gap}b"), "a        \\u{20×592}b"),
            (
                &*format!("a{}", "\u{301}".repeat(5)),
                "a\u{301}\u{301}\u{301}\u{301}\\u{301}",
            ),
        ] {
            assert_eq!(whole(text), shown, "{text:?}");
        }
    }

    #[test]
    fn no_two_values_look_the_same() {
        let same = [
            "a\n",
            "a\\u{a}",
            "a\\u{5c}u{a}",
            "a         ",
            "a        \\u{20}",
            "a          ",
            "a        \\u{20×2}",
            "a  \u{a0}",
            "a`",
            "a\\u{60}",
        ];
        let shown: std::collections::BTreeSet<String> =
            same.iter().map(|text| whole(text)).collect();
        assert_eq!(shown.len(), same.len(), "{shown:?}");
    }

    #[test]
    fn a_path_is_cut_and_says_so() {
        let long = "x".repeat(BRIEF_CHARS);
        assert_eq!(brief(&long), long);
        assert_eq!(brief(&format!("{long}y")), format!("{long}…"));
        let forged = format!("total{}? may", "\n ".repeat(60));
        assert!(!brief(&forged).contains('\n') && brief(&forged).ends_with('…'));
    }

    #[test]
    fn letters_that_could_pass_for_ours_are_named() {
        let looks = |c: char, ours: char| {
            let code = u32::from(c);
            format!(" (its `{c}` is no `{ours}`, but U+{code:04X}, which looks like it)")
        };
        for (value, c, ours) in [
            ("b\u{585}b@corp.test", '\u{585}', 'o'),
            ("\u{251}lice@corp.test", '\u{251}', 'a'),
            ("b\u{2c9f}b@corp.test", '\u{2c9f}', 'o'),
            ("b\u{a4f3}b@corp.test", '\u{a4f3}', 'o'),
            ("b\u{ff4f}b@corp.test", '\u{ff4f}', 'o'),
            ("b\u{1d428}b@corp.test", '\u{1d428}', 'o'),
            ("\u{212a}im@corp.test", '\u{212a}', 'K'),
            ("docs/\u{440}\u{430}y", '\u{440}', 'p'),
            ("eve@acme\u{2010}corp.test", '\u{2010}', '-'),
            ("eve@acme\u{2011}corp.test", '\u{2011}', '-'),
            ("eve@corp\u{2024}test", '\u{2024}', '.'),
            ("docs\u{2044}pay", '\u{2044}', '/'),
            ("https\u{2236}//corp.test", '\u{2236}', ':'),
            ("acc-\u{1d7cf}", '\u{1d7cf}', '1'),
            ("12-\u{1d7cf}3", '\u{1d7cf}', '1'),
            // A letter comes first.
            ("acme\u{2010}c\u{43e}rp", '\u{43e}', 'o'),
        ] {
            assert_eq!(alike(value), looks(c, ours), "{value}");
        }
        let strange = " (its `\u{48d}` is no ASCII letter, but U+048D)";
        assert_eq!(alike("b\u{48d}b@corp.test"), strange);
        let two = " (its `\u{133}` is no ASCII letter, but U+0133)";
        assert_eq!(alike("d\u{133}k@corp.test"), two);
        for plain in [
            "rené@müller.test",
            "łódź/Straße 5",
            "東京tower",
            "\u{43e}\u{43d}",
            "a \u{48d}\u{48d}",
            "5 m²",
            "①a H₂O m⁻¹",
            "Lunch – late—or not",
            "１２：３０",
            "",
        ] {
            assert_eq!(alike(plain), "", "{plain}");
        }
    }
}
