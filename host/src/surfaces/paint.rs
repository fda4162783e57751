//! Paint: how text looks on a terminal. Without a terminal, and with `NO_COLOR`, the stream that
//! prints leaves it out.

use std::fmt::Display;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::words::inert::{TAB, columns_of, narrow, one_line, visible};

/// What a line or a row of somebody else's words begins with.
const MARK: &str = "  | ";

/// Something to look at first.
pub(super) fn strong(text: impl Display) -> String {
    paint(Style::new().bold(), text)
}

/// Something that went well.
pub(super) fn good(text: impl Display) -> String {
    paint(AnsiColor::Green.on_default(), text)
}

/// Something that was refused or failed.
pub(super) fn bad(text: impl Display) -> String {
    paint(AnsiColor::Red.on_default().bold(), text)
}

/// Something to be careful about.
pub(super) fn warn(text: impl Display) -> String {
    paint(AnsiColor::Yellow.on_default(), text)
}

/// Something on the side.
pub(super) fn faint(text: impl Display) -> String {
    paint(Style::new().dimmed(), text)
}

/// Text from outside: whatever it holds, a terminal only shows it.
pub(super) fn foreign(text: &str) -> String {
    visible(text)
}

/// The same after words of ours: each line that follows has a mark, so that none passes for one of ours.
pub(super) fn marked(text: &str) -> String {
    foreign(text).replace('\n', &format!("\n{MARK}"))
}

/// Words of somebody else alone: all of their lines have the mark, and no gap begins one without it.
pub(super) fn cited(text: &str) -> String {
    format!("{MARK}{}", sentence(text))
}

/// Words of somebody else within a line of ours: nothing in them ends it, and no gap begins another one.
pub(super) fn phrase(text: &str) -> String {
    narrow(&one_line(text))
}

/// A sentence of ours in which words of somebody else stand, after words of ours: none of its lines passes for another one
/// of ours, and no gap in it begins one.
pub(super) fn sentence(text: &str) -> String {
    marked(&narrow(text))
}

/// A path within a line. Whoever has named a folder may have been somebody else.
pub(super) fn shown_path(path: &Path) -> String {
    one_line(&path.display().to_string())
}

/// A painted text on rows of so many columns, each of which begins as its line does, or with the mark: a terminal would begin
/// the rest of a long line at its edge, where it passes for a line of ours.
pub(super) fn wrapped(text: &str, columns: usize) -> String {
    // The widest character fits beside the mark.
    let columns = columns.max(wide(MARK) + TAB);
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| on_rows(line, columns))
        .collect();
    lines.join("\n")
}

/// One line on rows: between two words where there is a blank, and within a word that fits into no row.
fn on_rows(line: &str, columns: usize) -> String {
    let mark = wide(MARK);
    let mut out = String::with_capacity(line.len());
    let (mut used, mut word, mut letters) = (0, String::new(), 0);
    let mut paints = false;
    for c in line.chars() {
        // What is not shown is written out by now, so what is left of it is paint of ours.
        paints |= c == '\u{1b}';
        let width = if paints { 0 } else { columns_of(c) };
        paints &= c != 'm';
        if used + letters + width > columns {
            if mark + letters + width > columns {
                out.push_str(&word);
                (word, letters) = (String::new(), 0);
            }
            out.push_str(&format!("\n{MARK}"));
            used = mark;
        }
        word.push(c);
        letters += width;
        if c.is_whitespace() {
            out.push_str(&word);
            used += letters;
            (word, letters) = (String::new(), 0);
        }
    }
    out + &word
}

fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// How wide a cell is to the eye: what paints it takes no room.
fn wide(cell: &str) -> usize {
    anstream::adapter::strip_str(cell)
        .map(|part| part.chars().count())
        .sum()
}

/// Rows as columns, each as wide as its widest cell; the last one runs on.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| wide(cell))
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let missing = width.saturating_sub(wide(cell));
            line.push_str(&format!("{cell}{:missing$}  ", ""));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_somebody_else_begins_as_one_of_ours() {
        assert_eq!(
            marked("boom\r\nhint: x\n\u{1b}[2J"),
            "boom\n  | hint: x\n  | \\u{1b}[2J"
        );
        assert_eq!(cited("could ask\nfor: x"), "  | could ask\n  | for: x");
        let wide = format!("so{}? may it\n  because", " ".repeat(600));
        assert_eq!(
            sentence(&wide),
            "so        \\u{20×592}? may it\n  |   because"
        );
        assert_eq!(cited(&wide), format!("  | {}", sentence(&wide)));
        assert_eq!(
            phrase(&wide),
            "so        \\u{20×592}? may it\\u{a}  because"
        );
    }

    #[test]
    fn each_row_begins_with_a_mark_and_none_is_longer_than_the_screen() {
        let folded = |text: &str| wrapped(text, 20);
        assert_eq!(
            folded("because one two three four"),
            "because one two \n  | three four"
        );
        assert_eq!(
            folded("  | one\n  | two three four five"),
            "  | one\n  | two three four \n  | five"
        );
        let filler = format!("{}? may it be?", "x".repeat(20));
        assert_eq!(
            folded(&filler),
            format!("{}\n  | ? may it be?", "x".repeat(20))
        );
        for text in [
            &filler,
            &"日本".repeat(40),
            &"a\tb".repeat(12),
            &"e\u{301} ".repeat(40),
            &format!("    to = {}", "\u{3000}x".repeat(40)),
            &format!("? {} b {}", strong("x".repeat(50)), faint("y ".repeat(30))),
        ] {
            let rows = folded(text);
            for (place, row) in rows.split('\n').enumerate() {
                let row = anstream::adapter::strip_str(row).to_string();
                let columns: usize = row.chars().map(columns_of).sum();
                assert!(columns <= 20, "{row:?} of {text:?}");
                assert_eq!(row.starts_with(MARK), place > 0, "{row:?} of {text:?}");
            }
            assert_eq!(rows.replace(&format!("\n{MARK}"), ""), *text, "{text:?}");
        }
        // What fits is as it was, in whatever colours.
        let fits = format!("{} b\n", strong("x".repeat(18)));
        assert_eq!(folded(&fits), fits);
    }

    #[test]
    fn a_path_stays_within_its_line() {
        let path = Path::new("/a\u{1b}[2J\u{202e}b\nhint: c");
        assert_eq!(shown_path(path), "/a\\u{1b}[2J\\u{202e}b\\u{a}hint: c");
    }
}
