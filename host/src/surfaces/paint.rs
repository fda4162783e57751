//! Paint: how text looks on a terminal. Without a terminal, and with `NO_COLOR`, the stream that
//! prints leaves it out.

use std::fmt::Display;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::words::inert::{narrow, one_line, visible};

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
    foreign(text).replace('\n', "\n  | ")
}

/// Words of somebody else alone: all of their lines have the mark, and no gap begins one without it.
pub(super) fn cited(text: &str) -> String {
    format!("  | {}", sentence(text))
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
    fn a_path_stays_within_its_line() {
        let path = Path::new("/a\u{1b}[2J\u{202e}b\nhint: c");
        assert_eq!(shown_path(path), "/a\\u{1b}[2J\\u{202e}b\\u{a}hint: c");
    }
}
