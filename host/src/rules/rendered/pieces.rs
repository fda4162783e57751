//! An answer that is told piece by piece, and leads nowhere as a whole: a picture may begin in one piece and say in the
//! last one where it leads.
//!
//! What nothing that follows can change is told at once: prose, and blocks of code that are plainly fenced. From the first
//! character on that may begin a link, an element or code of another kind, the rest waits until all is said.

use super::doubtful::begins_with_facts;
use super::{bare, is_drawn, told, without_controls};

/// How many characters that may turn out to begin something wait for the next one.
const WAITING: usize = 64;

/// What was said, and how much of it was told.
#[derive(Debug, Default)]
pub struct Pieces {
    whole: String,
    /// How much of it was told, as it is.
    shown: usize,
    /// Where its last line begins.
    line: usize,
    /// How much of its beginning is blank.
    blank: usize,
    /// What ends the block of code that is open.
    fence: Option<String>,
    /// Whether the rest waits for the end.
    waits: bool,
    /// Whether a carriage return was said last: what it is, the next character says.
    returns: bool,
}

impl Pieces {
    /// Takes in what is said; what can be told by now.
    pub fn push(&mut self, text: &str) -> String {
        let from = self.shown;
        let said = match std::mem::take(&mut self.returns) {
            true => format!("\r{text}"),
            false => text.to_owned(),
        };
        let text = said.strip_suffix('\r').unwrap_or(&said);
        self.returns = text.len() < said.len();
        // Each character by itself: where pieces begin and end makes no difference.
        for part in without_controls(text).split_inclusive('\n') {
            self.whole.push_str(part);
            match part.ends_with('\n') {
                true => self.end_line(),
                false => self.within_line(),
            }
        }
        self.whole.get(from..self.shown).unwrap_or_default().into()
    }

    /// All is said: what was not told yet. Of the next text nothing is known.
    pub fn end(&mut self) -> String {
        if self.returns {
            self.whole.push('\n');
        }
        let Self { whole, shown, .. } = std::mem::take(self);
        let (before, rest) = whole.split_at_checked(shown).unwrap_or_default();
        match told(&whole).strip_prefix(before) {
            Some(rest) => rest.to_owned(),
            // It was changed before that, which is told already: the rest has nothing left that begins anything.
            None => bare(rest),
        }
    }

    /// What was said is over, and somebody else goes on: what was not told yet, so that nothing in it is a part of what
    /// follows.
    pub fn close(&mut self) -> String {
        let Self {
            whole,
            shown,
            fence,
            ..
        } = std::mem::take(self);
        let mut rest = bare(whole.get(shown..).unwrap_or_default());
        if let Some(fence) = fence {
            rest.push_str(&format!("\n{fence}"));
        }
        match whole.is_empty() {
            true => rest,
            false => format!("{rest}\n\n"),
        }
    }

    /// The last line has ended.
    fn end_line(&mut self) {
        let line = self.whole.get(self.line..).unwrap_or_default();
        let line = line.trim_end_matches('\n').trim_end_matches('\r');
        if !self.waits {
            match &self.fence {
                Some(fence) if ends(line, fence) => self.fence = None,
                Some(_) => {}
                None => match fence_of(line) {
                    Some(fence) => self.fence = Some(fence),
                    None => return self.tell_prose(true),
                },
            }
            self.shown = self.whole.len();
        }
        self.line = self.whole.len();
    }

    /// More of the last line has come: code is told line by line.
    fn within_line(&mut self) {
        let line = self.whole.get(self.line..).unwrap_or_default();
        if !self.waits && self.fence.is_none() && !line.starts_with(['`', '~']) {
            self.tell_prose(false);
        }
    }

    /// The same of all that was said: no blank is looked at twice.
    fn begins_with_facts(&mut self) -> bool {
        let rest = self.whole.get(self.blank..).unwrap_or_default();
        let text = rest.trim_start();
        let begins = begins_with_facts(text);
        self.blank += rest.len().saturating_sub(text.len());
        begins
    }

    /// Tells what is plain of the last line.
    fn tell_prose(&mut self, is_over: bool) {
        let from = self.shown.max(self.line);
        let rest = self.whole.get(from..).unwrap_or_default();
        let begins = begins(rest);
        let plain = rest.get(..begins.unwrap_or(rest.len())).unwrap_or_default();
        let settled = match is_over && begins.is_none() {
            true => plain.len(),
            false => plain.trim_end_matches(may_begin).len(),
        };
        self.shown = from.saturating_add(settled);
        let left = rest.len().saturating_sub(settled);
        self.waits = begins.is_some() || left > WAITING;
        self.waits |= self.begins_with_facts();
        if is_over {
            self.line = self.whole.len();
        }
    }
}

/// Where something begins that is not plain.
fn begins(text: &str) -> Option<usize> {
    let marks = ["[", "<", "```", "~~~", "$$", ":::", "\\b"].iter();
    marks.filter_map(|mark| text.find(mark)).min()
}

/// What may be a part of what begins with the next character.
fn may_begin(c: char) -> bool {
    matches!(c, '!' | '`' | '~' | '$' | ':' | '\\' | ' ' | '\t' | '\r')
}

/// What ends the block of code that a line begins, where it begins one for everybody.
pub(super) fn fence_of(line: &str) -> Option<String> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let fence = line.strip_suffix(info)?;
    // Of more than a word, some see no fence; and what is written as something else may name any language.
    let word = |c: char| c.is_ascii_alphanumeric() || "_#.+-".contains(c);
    let is_word = info.trim_matches([' ', '\t']).chars().all(word);
    (fence.len() >= 3 && is_word && !is_drawn(info)).then(|| fence.to_owned())
}

/// Whether a line ends a block of code.
fn ends(line: &str, fence: &str) -> bool {
    let mark = fence.chars().next().unwrap_or_default();
    let text = line.trim_start_matches(' ');
    let is_near = line.len().saturating_sub(text.len()) <= 3;
    let rest = text.trim_start_matches(mark);
    let length = text.len().saturating_sub(rest.len());
    is_near && length >= fence.len() && rest.trim_matches([' ', '\t']).is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{rendered, round};
    use super::*;

    /// What is told at once of each piece, and at the end.
    fn check(pieces: &[&str], expected: &[&str]) {
        let mut all = Pieces::default();
        let mut told: Vec<String> = pieces.iter().map(|piece| all.push(piece)).collect();
        told.push(all.end());
        assert_eq!(told, expected, "{pieces:?}");
    }

    #[test]
    fn what_is_plain_is_told_at_once() {
        check(
            &["It is ", "*so*.", "\n\nYes! "],
            &["It is", " *so*.", "\n\nYes", "! "],
        );
        check(
            &["a `b` c\n", "~5 ", "km\n"],
            &["a `b` c\n", "", "~5 km\n", ""],
        );
        check(
            &["so:\n```rust\nlet a = b[", "0];\n", "```\nand"],
            &["so:\n```rust\n", "let a = b[0];\n", "```\nand", ""],
        );
    }

    /// Whoever looked at all of it again for each would not come to the end.
    #[test]
    fn an_answer_that_begins_with_a_million_blank_lines_is_told() {
        let mut all = Pieces::default();
        let told: usize = (0..1_000_000).map(|_| all.push("\n").len()).sum();
        assert_eq!(told, 1_000_000);
        // What may be facts then waits.
        assert_eq!(all.push("---\n"), "---\n");
        assert_eq!(all.push("a: b\n"), "");
    }

    #[test]
    fn what_a_client_draws_waits_for_the_end() {
        check(
            &["so:\n```mer", "maid\nA@{ img: ", "\"u\" }\n", "```\nand"],
            &["so:\n", "", "", "", "```\nA@{ img: \"u\" }\n```\nand"],
        );
        check(&["```merm&#97;id\n", "a\n```"], &["", "", "```\na\n```"]);
    }

    #[test]
    fn what_may_lead_somewhere_waits_for_the_end() {
        check(
            &["see !", "[x](http://e.test/", "?q=1) and\n\n", "more"],
            &["see", "", "", "", " (image: x — e.test) and\n\nmore"],
        );
        check(
            &["a ![x][r]\n\n", "b\n\n", "[r]: http://e.test/"],
            &["a", "", "", " (image: x — e.test)\n\nb\n\n"],
        );
        check(
            &["a <im", "g src=http://e.test/>"],
            &["a", "", " (img: e.test)"],
        );
        // Code that is not code for everybody.
        for text in [
            "- ```\n\n",
            " ```\n",
            "```a`b\n",
            "$$\n```\n$$\n",
            ":::note\n```\n:::\n",
            "\\begin{align}\n```\n\\end{align}\n",
            "---\n```\n---\n",
        ] {
            let mut pieces = Pieces::default();
            let told = pieces.push(text) + &pieces.push("![x](http://e.test/)\n");
            assert!(!told.contains('!'), "{text:?}: {told}");
        }
    }

    #[test]
    fn a_control_hides_no_picture_wherever_pieces_end() {
        for pieces in [
            ["a ![x](http://e.test/", "\u{1}", ") b"],
            ["a ![x](http://e.test/\0", ") ", "b"],
        ] {
            check(&pieces, &["a", "", "", " (image: x — e.test) b"]);
        }
        check(&["a\u{1b}", "[2J\0"], &["a\\u001b", "", "[2J\u{fffd}"]);
    }

    /// A program reads in the end what the model has said.
    #[test]
    fn what_is_json_says_the_same() {
        let mut pieces = Pieces::default();
        let told = ["{\"a\": \"b\u{7f}", "c\"}"]
            .map(|piece| pieces.push(piece))
            .concat()
            + &pieces.end();
        let read: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(read, serde_json::json!({"a": "b\u{7f}c"}));
    }

    #[test]
    fn what_may_begin_something_does_not_wait_for_ever() {
        let mut pieces = Pieces::default();
        for _ in 0..=WAITING {
            pieces.push("!");
        }
        assert_eq!(pieces.push("x"), "");
        assert_eq!(pieces.end().len(), WAITING + 2);
    }

    #[test]
    fn whoever_goes_on_after_it_stands_for_themselves() {
        for text in [
            "",
            "a",
            "```\na",
            "~~~~\na\n",
            "<!-- ",
            "a [x",
            "- a\n  ```\n",
            "```\n<script>\n````\n<!--",
        ] {
            let mut pieces = Pieces::default();
            let mut told = pieces.push(text);
            told.push_str(&pieces.close());
            told.push_str("b ![x](http://e.test/)");
            let shown = rendered(&told);
            assert!(
                shown.ends_with("b (image: x — e.test)"),
                "{text:?}: {shown}"
            );
        }
    }

    proptest! {
        #[test]
        fn pieces_come_to_what_the_whole_is(
            parts in proptest::collection::vec(
                r#"([\[\]()!<>\n"' a:#*`~\\-]|http://e\.test/|<img src=|\[a\]: |\]\(|!\[|\n```\n|\n~~~~ x\n|```|\r|  |\n    |\x00|\x01|\x7f){0,12}"#,
                0..6,
            )
        ) {
            let mut pieces = Pieces::default();
            let mut told: String = parts.iter().map(|part| pieces.push(part)).collect();
            told.push_str(&pieces.end());
            prop_assert!(round(&told).is_none(), "{parts:?} → {told:?}");
            prop_assert_eq!(told, rendered(&parts.concat()));
        }
    }
}
