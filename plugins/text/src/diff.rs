//! `text.diff`: what differs between two texts.
//!
//! Lines are numbered first and the numbers compared: the algorithm is then compiled for one type
//! only, which makes the component a third smaller than the crate's own text functions do.

use std::collections::HashMap;
use std::fmt::Write;

use lazaret_sdk::prelude::*;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag};

use crate::{OUTCOME_BYTES_MAX, check_size};

const LINES_MAX: usize = 50_000;
const CONTEXT_LINES_MAX: usize = 50;

/// How two texts differ.
#[value]
#[derive(PartialEq, Eq)]
pub struct Difference {
    /// A unified diff, empty if the texts are the same.
    pub diff: String,
    /// Number of lines only in the new text.
    pub added: usize,
    /// Number of lines only in the old text.
    pub removed: usize,
    /// Whether the texts are the same.
    pub equal: bool,
}

/// Compares two texts line by line and returns a unified diff.
#[tool(
    effect = "pure",
    example(
        title = "one line changed",
        args = r#"{"old": "a\nb\n", "new": "a\nc\n"}"#
    )
)]
pub fn diff(
    /// The text before.
    old: String,
    /// The text after.
    new: String,
    /// How many unchanged lines to show around a change.
    #[default(3)]
    context: usize,
) -> Result<Difference, Failure> {
    for text in [&old, &new] {
        check_size(text)?;
        if text.lines().count() > LINES_MAX {
            fail!("a text has more than {LINES_MAX} lines");
        }
    }
    compare(&old, &new, context.min(CONTEXT_LINES_MAX))
}

fn compare(old: &str, new: &str, context: usize) -> Result<Difference, Failure> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let groups = groups_of(&old, &new, context)?;
    let changes = || {
        groups
            .iter()
            .flatten()
            .filter(|op| op.tag() != DiffTag::Equal)
    };
    let added = changes().map(|op| op.new_range().len()).sum();
    let removed = changes().map(|op| op.old_range().len()).sum();
    let diff = if groups.is_empty() {
        String::new()
    } else {
        unified(&old, &new, &groups)?
    };
    if diff.len() > OUTCOME_BYTES_MAX {
        fail!(
            "the difference has {} bytes, at most {OUTCOME_BYTES_MAX} are returned",
            diff.len()
        );
    }
    Ok(Difference {
        diff,
        added,
        removed,
        equal: groups.is_empty(),
    })
}

fn groups_of(old: &[&str], new: &[&str], context: usize) -> Result<Vec<Vec<DiffOp>>, Failure> {
    let mut known = HashMap::new();
    let mut number = |lines: &[&'_ str]| -> Vec<u32> {
        let number_of = |line: &&str| {
            let next = known.len() as u32;
            *known.entry((*line).to_owned()).or_insert(next)
        };
        lines.iter().map(number_of).collect()
    };
    let (old, new) = (number(old), number(new));
    let mut ops = Compact::new(Replace::new(Capture::new()), &old[..], &new[..]);
    myers::diff(&mut ops, &old[..], 0..old.len(), &new[..], 0..new.len())?;
    let groups = ops.into_inner().into_inner().into_grouped_ops(context);
    let changed = |ops: &Vec<DiffOp>| ops.iter().any(|op| op.tag() != DiffTag::Equal);
    Ok(groups.into_iter().filter(changed).collect())
}

fn unified(old: &[&str], new: &[&str], groups: &[Vec<DiffOp>]) -> Result<String, Failure> {
    let mut out = "--- old\n+++ new\n".to_owned();
    for ops in groups {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
            continue;
        };
        let removed = span(first.old_range().start, last.old_range().end);
        let added = span(first.new_range().start, last.new_range().end);
        writeln!(out, "@@ -{removed} +{added} @@")?;
        for op in ops {
            if op.tag() == DiffTag::Equal {
                push_lines(&mut out, ' ', &old[op.old_range()]);
            } else {
                push_lines(&mut out, '-', &old[op.old_range()]);
                push_lines(&mut out, '+', &new[op.new_range()]);
            }
        }
    }
    Ok(out)
}

/// A range as unified diffs write it: from 1, the length left out if it is 1, 0 before an empty
/// one.
fn span(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => (start + 1).to_string(),
        length => format!("{},{length}", start + 1),
    }
}

fn push_lines(out: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_unified_diff() {
        let found = compare("a\nb\nc\n", "a\nx\nc\n", 1).unwrap();
        assert_eq!(
            found.diff,
            "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
        );
        assert_eq!((found.added, found.removed, found.equal), (1, 1, false));
    }

    #[test]
    fn equal_texts_have_no_diff() {
        let found = compare("a\n", "a\n", 3).unwrap();
        assert_eq!((found.diff.as_str(), found.equal), ("", true));
    }

    #[test]
    fn far_changes_are_hunks_of_their_own() {
        let old: String = (0..30).map(|number| format!("{number}\n")).collect();
        let new = old.replace("\n3\n", "\nthree\n").replace("\n25\n", "\n");
        let found = compare(&old, &new, 1).unwrap();
        assert!(
            found.diff.contains("@@ -3,3 +3,3 @@\n 2\n-3\n+three\n 4\n"),
            "{}",
            found.diff
        );
        assert!(
            found.diff.contains("@@ -25,3 +25,2 @@\n 24\n-25\n 26\n"),
            "{}",
            found.diff
        );
        assert_eq!(
            compare("", "a\n", 3).unwrap().diff,
            "--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n"
        );
    }

    #[test]
    fn a_missing_newline_is_a_difference() {
        let found = compare("a\n", "a", 3).unwrap();
        assert_eq!(
            found.diff,
            "--- old\n+++ new\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"
        );
    }
}
