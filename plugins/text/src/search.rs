//! `text.search`: the lines of a text that match a regular expression.

use lazaret_sdk::prelude::*;
use regex::Regex;

use crate::{check_size, pattern};

const MATCHES_MAX: usize = 1000;
const CONTEXT_LINES_MAX: usize = 20;
const LINE_CHARACTERS_MAX: usize = 500;

/// What was found.
#[value]
#[derive(PartialEq, Eq)]
pub struct Found {
    /// The first matching lines, in order.
    pub matches: Vec<Match>,
    /// How many lines match in all.
    pub total: usize,
    /// Whether there are more than are listed.
    pub truncated: bool,
}

/// A line that matches.
#[value]
#[derive(PartialEq, Eq)]
pub struct Match {
    /// Number of the line, from 1.
    pub line: usize,
    /// Column of the first match, in characters from 1.
    pub column: usize,
    /// The line, shortened if it is very long.
    pub text: String,
    /// Lines before it, if context was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Lines after it, if context was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// Finds the lines of a text that match a regular expression, with line numbers.
///
/// The syntax is that of RE2 and Rust: no look-around, no back-references.
#[tool(
    effect = "pure",
    tier = "fast",
    example(
        title = "errors in a log",
        args = r#"{"text": "ok\nerror: 3\nok", "pattern": "error: (\\d+)"}"#
    ),
    example(
        title = "with a line of context",
        args = r#"{"text": "a\nb\nc", "pattern": "B", "ignore_case": true, "context": 1}"#
    )
)]
pub fn search(
    /// The text to search.
    text: String,
    /// The regular expression; a match never spans lines.
    pattern: String,
    /// Whether `a` also matches `A`.
    #[default(false)]
    ignore_case: bool,
    /// How many lines before and after each match to return, at most 20.
    #[default(0)]
    context: usize,
    /// How many matching lines to return, at most 1000.
    #[default(100)]
    limit: usize,
) -> Result<Found, Failure> {
    check_size(&text)?;
    let pattern = pattern::compile(&pattern, ignore_case)?;
    Ok(find(
        &text,
        &pattern,
        context.min(CONTEXT_LINES_MAX),
        limit.min(MATCHES_MAX),
    ))
}

fn find(text: &str, pattern: &Regex, context: usize, limit: usize) -> Found {
    let lines: Vec<&str> = text.lines().collect();
    let mut matches = Vec::new();
    let mut total = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(first) = pattern.find(line) else {
            continue;
        };
        total += 1;
        if matches.len() < limit {
            matches.push(Match {
                line: at + 1,
                column: line[..first.start()].chars().count() + 1,
                text: shorten(line),
                before: lines[at.saturating_sub(context)..at]
                    .iter()
                    .map(|line| shorten(line))
                    .collect(),
                after: lines[at + 1..]
                    .iter()
                    .take(context)
                    .map(|line| shorten(line))
                    .collect(),
            });
        }
    }
    Found {
        truncated: total > matches.len(),
        matches,
        total,
    }
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pattern: &str, lines: &[(usize, usize)]) {
        let found = search(text.to_owned(), pattern.to_owned(), false, 0, 100).unwrap();
        let got: Vec<_> = found
            .matches
            .iter()
            .map(|found| (found.line, found.column))
            .collect();
        assert_eq!(got, lines, "{pattern} in {text:?}");
    }

    #[test]
    fn lines_and_columns() {
        check("a\nb a\nc", "a", &[(1, 1), (2, 3)]);
        check("äöü x", "x", &[(1, 5)]);
        check("", "x", &[]);
        check("one\r\ntwo", "o$", &[(2, 3)]);
        check("a\nb", "a\nb", &[]);
    }

    #[test]
    fn limits_are_told() {
        let found = search("a\na\na".to_owned(), "a".to_owned(), false, 0, 2).unwrap();
        assert_eq!(
            (found.matches.len(), found.total, found.truncated),
            (2, 3, true)
        );
        let long = "x".repeat(2000);
        let found = search(long, "x".to_owned(), false, 0, 2).unwrap();
        assert_eq!(
            found.matches[0].text.chars().count(),
            LINE_CHARACTERS_MAX + 1
        );
    }

    #[test]
    fn context_stops_at_the_ends() {
        let found = search("a\nb\nc".to_owned(), "b".to_owned(), false, 9, 9).unwrap();
        assert_eq!(
            (
                found.matches[0].before[0].as_str(),
                found.matches[0].after[0].as_str()
            ),
            ("a", "c")
        );
    }

    #[test]
    fn bad_patterns_are_failures() {
        for pattern in ["(", "(?=a)", r"(\w{100}){100}{100}", &"a".repeat(3000)] {
            assert!(
                search(String::new(), pattern.to_owned(), false, 0, 1).is_err(),
                "{pattern}"
            );
        }
    }
}
