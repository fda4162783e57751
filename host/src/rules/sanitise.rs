//! Sanitising: what a guest, page or file said, made fit for a model or terminal.
//!
//! In this order, on the whole text (C-30): it is scrubbed ([`super::scrub`]), hidden characters become
//! visible; only then is it cut to size.

use serde::Deserialize;

pub use crate::words::inert::visible;
use crate::words::limits::{
    CHARS_PER_TOKEN, OBSERVATION_BYTES, OBSERVATION_LINE_CHARS_MIN, OBSERVATION_TOKENS, READ_BYTES,
    READ_BYTES_MAX, SPILL_PREVIEW_TOKENS,
};

use super::manifest::Truncation;

/// How much of an outcome a model reads: `[observations]` (U-29).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Estimated at four characters each.
    pub tokens: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Its lines; no cap where there is none.
    pub lines: Option<usize>,
    /// Its characters; likewise.
    pub chars: Option<usize>,
    /// What is shown of an outcome that is kept under a handle, in tokens.
    pub preview_tokens: usize,
    /// What a model reads at once of what is held, where it does not say how much.
    pub read_bytes: usize,
    /// What anybody reads at once of it.
    pub read_bytes_max: usize,
    /// What is done for tools that do not say what to keep; the middle is left out where nobody does.
    pub truncation: Truncation,
    /// What of it is of the beginning, where more of that than of the end is shown (C-10).
    pub head_percent: usize,
    /// What of it is of the end.
    pub tail_percent: usize,
    /// Characters that are taken for one token: `[context] chars_per_token`.
    pub chars_per_token: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            tokens: OBSERVATION_TOKENS,
            bytes: OBSERVATION_BYTES,
            lines: None,
            chars: None,
            preview_tokens: SPILL_PREVIEW_TOKENS,
            read_bytes: READ_BYTES,
            read_bytes_max: READ_BYTES_MAX,
            truncation: Truncation::Middle,
            head_percent: 70,
            tail_percent: 30,
            chars_per_token: CHARS_PER_TOKEN,
        }
    }
}

/// `[observations]` as it is written.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CapTable {
    /// As in [`Caps`]; absent: the host's own number.
    pub max_tokens: Option<usize>,
    /// Likewise.
    pub max_bytes: Option<usize>,
    /// Likewise; absent: no cap.
    pub max_lines: Option<usize>,
    /// Likewise.
    pub max_chars: Option<usize>,
    /// Likewise.
    pub preview_tokens: Option<usize>,
    /// Likewise.
    pub read_bytes: Option<usize>,
    /// Likewise; at most 1,048,576.
    pub read_bytes_max: Option<usize>,
    /// Likewise.
    pub truncation: Option<Truncation>,
    /// How much of what is shown is of the beginning, for `head-tail`, `spill` and previews; absent: 70.
    pub head_percent: Option<usize>,
    /// How much is of the end; absent: the rest.
    pub tail_percent: Option<usize>,
}

impl Caps {
    /// What is done with an outcome of a tool that says so.
    #[must_use]
    pub fn how(&self, said: Truncation) -> Truncation {
        if said == Truncation::default() {
            self.truncation
        } else {
            said
        }
    }

    /// Those of a preview.
    #[must_use]
    pub fn preview(self) -> Self {
        Self {
            tokens: self.preview_tokens.min(self.tokens),
            ..self
        }
    }

    /// Whether a text is shown whole.
    #[must_use]
    pub fn fit(&self, text: &str) -> bool {
        text.len() <= self.bytes
            && text.chars().count() <= self.chars()
            && self.lines.is_none_or(|most| text.lines().count() <= most)
    }

    fn shares(&self) -> (usize, usize) {
        (self.head_percent, self.tail_percent)
    }

    fn chars(&self) -> usize {
        let chars = self.tokens.saturating_mul(self.chars_per_token);
        self.chars.map_or(chars, |most| most.min(chars))
    }
}

/// Cuts a text to the size of an observation, with a notice that never changes.
#[must_use]
pub fn truncate(text: &str, how: Truncation, caps: &Caps) -> String {
    if caps.fit(text) {
        return text.to_owned();
    }
    match how {
        Truncation::Middle => cut(text, (50, 50), caps, ""),
        Truncation::Head => cut(text, (100, 0), caps, ""),
        Truncation::Tail => cut(text, (0, 100), caps, ""),
        Truncation::HeadTail | Truncation::Spill => cut(text, caps.shares(), caps, ""),
        Truncation::Summarise => beginnings(text, caps),
    }
}

/// What is shown of a text that is kept under a handle, and how to see more of it.
#[must_use]
pub fn preview(text: &str, (handle, reader): (&str, &str), caps: &Caps) -> String {
    let more = format!(
        "; all of it is kept as {{\"$handle\":\"{handle}\"}}: `{reader}` shows any part, by `lines` or `bytes`"
    );
    cut(text, caps.shares(), &caps.preview(), &more)
}

/// The beginning and the end of a text; of what may be shown, so many percent are of the one and of the other.
fn cut(text: &str, (head, tail): (usize, usize), caps: &Caps, more: &str) -> String {
    let part = |most: usize| most.saturating_mul(head) / 100;
    let end = |most: usize| match head.saturating_add(tail) {
        100 => most.saturating_sub(part(most)),
        _ => most.saturating_mul(tail) / 100,
    };
    let (chars, bytes) = (caps.chars(), caps.bytes);
    let (head_chars, head_bytes) = (part(chars), part(bytes));
    let head_lines = caps.lines.map(part);
    let head = reach(
        text.char_indices(),
        (head_chars, head_bytes, head_lines),
        |at, c| at + c.len_utf8(),
    );
    let rest = text.get(head..).unwrap_or_default();
    let tail = (end(chars), end(bytes), caps.lines.map(end));
    let begins = rest.len() - reach(rest.char_indices().rev(), tail, |at, _| rest.len() - at);
    let (left, tail) = rest.split_at_checked(begins).unwrap_or(("", rest));
    let (head, all) = (text.get(..head).unwrap_or_default(), text.chars().count());
    let left = left.chars().count();
    format!("{head}\n[{left} of {all} characters left out{more}]\n{tail}")
}

/// How many bytes are reached within so many characters, bytes and line ends.
fn reach(
    places: impl Iterator<Item = (usize, char)>,
    (chars, bytes, lines): (usize, usize, Option<usize>),
    reached: impl Fn(usize, char) -> usize,
) -> usize {
    let (mut so_far, mut ends) = (0, 0_usize);
    for (at, c) in places.take(chars) {
        let next = reached(at, c);
        if next > bytes || lines.is_some_and(|most| ends >= most) {
            break;
        }
        ends += usize::from(c == '\n');
        so_far = next;
    }
    so_far
}

/// The beginning of every line: what a list or table says, in short. Where even that is too much, its middle is left out.
fn beginnings(text: &str, caps: &Caps) -> String {
    let lines = text.lines().count().max(1);
    let room = caps
        .chars()
        .min(caps.bytes / 4)
        .saturating_sub(lines.saturating_mul(2));
    let most = (room / lines).max(OBSERVATION_LINE_CHARS_MIN);
    let mut short = format!("[each of {lines} lines is cut to {most} characters]");
    for line in text.lines() {
        short.push('\n');
        short.extend(line.chars().take(most));
        if line.chars().nth(most).is_some() {
            short.push('…');
        }
    }
    if caps.fit(&short) {
        short
    } else {
        cut(&short, (50, 50), caps, "")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chars(most: usize) -> Caps {
        Caps {
            chars: Some(most),
            ..Caps::default()
        }
    }

    #[test]
    fn a_tool_that_says_how_it_is_cut_is_cut_so() {
        let caps = Caps {
            truncation: Truncation::Tail,
            ..Caps::default()
        };
        assert_eq!(caps.how(Truncation::default()), Truncation::Tail);
        assert_eq!(caps.how(Truncation::Head), Truncation::Head);
        assert_eq!(caps.how(Truncation::Tail), Truncation::Tail);
    }

    #[test]
    fn lines_are_marked_where_they_are_cut_and_nowhere_else() {
        let text = format!("short\n{}\n", "x".repeat(2_000));
        let lines = beginnings(&text, &chars(400));
        let lines: Vec<&str> = lines.lines().skip(1).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "short");
        assert!(lines[1].ends_with("x…"), "{lines:?}");
    }

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
        for (most, how, expected) in [
            (10, Truncation::Middle, text.as_str()),
            (
                4,
                Truncation::Middle,
                "éé\n[6 of 10 characters left out]\néé",
            ),
            (4, Truncation::Tail, "\n[6 of 10 characters left out]\néééé"),
            (4, Truncation::Head, "éééé\n[6 of 10 characters left out]\n"),
            (
                8,
                Truncation::HeadTail,
                "ééééé\n[2 of 10 characters left out]\nééé",
            ),
            (
                8,
                Truncation::Spill,
                "ééééé\n[2 of 10 characters left out]\nééé",
            ),
        ] {
            assert_eq!(truncate(&text, how, &chars(most)), expected, "{how:?}");
        }
    }

    #[test]
    fn the_shares_of_beginning_and_end_are_what_policy_says() {
        let text = "0123456789".repeat(10);
        let caps = |head_percent, tail_percent| Caps {
            head_percent,
            tail_percent,
            ..chars(20)
        };
        for (how, caps, expected) in [
            (
                Truncation::HeadTail,
                caps(65, 25),
                "0123456789012\n[82 of 100 characters left out]\n56789",
            ),
            (
                Truncation::Spill,
                caps(50, 50),
                "0123456789\n[80 of 100 characters left out]\n0123456789",
            ),
            (
                Truncation::HeadTail,
                caps(100, 0),
                "01234567890123456789\n[80 of 100 characters left out]\n",
            ),
            // The middle is the middle.
            (
                Truncation::Middle,
                caps(65, 25),
                "0123456789\n[80 of 100 characters left out]\n0123456789",
            ),
        ] {
            assert_eq!(truncate(&text, how, &caps), expected, "{how:?}");
        }
    }

    #[test]
    fn each_cap_holds_at_its_number() {
        let whole = |text: &str, caps: &Caps| truncate(text, Truncation::Middle, caps) == text;
        let tokens = Caps::default();
        assert!(whole(&"a".repeat(16_384 * 4), &tokens));
        assert!(!whole(&"a".repeat(16_384 * 4 + 1), &tokens));
        let rare = Caps {
            tokens: 10,
            chars_per_token: 2,
            ..Caps::default()
        };
        assert!(rare.fit(&"a".repeat(20)) && !rare.fit(&"a".repeat(21)));
        let bytes = Caps {
            bytes: 10,
            ..Caps::default()
        };
        assert!(whole("ééééé", &bytes) && !whole("éééééa", &bytes));
        assert_eq!(
            truncate("éééééé", Truncation::Head, &bytes),
            "ééééé\n[1 of 6 characters left out]\n"
        );
        let lines = Caps {
            lines: Some(2),
            ..Caps::default()
        };
        assert!(whole("a\nb", &lines) && whole("a\nb\n", &lines));
        assert_eq!(
            truncate("a\nb\nc\nd", Truncation::Middle, &lines),
            "a\n\n[3 of 7 characters left out]\n\nd"
        );
    }

    #[test]
    fn every_line_begins_where_a_list_is_cut() {
        let text = format!("one {}\ntwo {}\n", "x".repeat(300), "y".repeat(300));
        let short = truncate(&text, Truncation::Summarise, &chars(200));
        assert!(
            short.starts_with("[each of 2 lines is cut to 98 characters]\none x"),
            "{short}"
        );
        assert!(short.contains("\ntwo y"), "{short}");
    }

    #[test]
    fn a_preview_tells_where_the_rest_is() {
        let shown = preview(
            &"a".repeat(100_000),
            ("h3", "handle.read"),
            &Caps::default(),
        );
        assert!(
            shown.contains("characters left out; all of it is kept as {\"$handle\":\"h3\"}"),
            "{shown}"
        );
        assert!(shown.chars().count() < SPILL_PREVIEW_TOKENS * CHARS_PER_TOKEN + 200);
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_it_may_be(
            text in "(\\PC|\n){0,400}",
            most in 1_usize..200,
            bytes in 1_usize..400,
            lines in proptest::option::of(1_usize..9),
        ) {
            let caps = Caps { bytes, lines, chars: Some(most), ..Caps::default() };
            for how in [
                Truncation::Middle,
                Truncation::Head,
                Truncation::Tail,
                Truncation::HeadTail,
                Truncation::Spill,
                Truncation::Summarise,
            ] {
                let shown = truncate(&text, how, &caps);
                prop_assert_eq!(&shown, &truncate(&text, how, &caps));
                prop_assert!(shown.chars().count() <= most + 100, "{}", shown);
                prop_assert!(shown.len() <= bytes + 200 || shown == text);
            }
        }
    }
}
