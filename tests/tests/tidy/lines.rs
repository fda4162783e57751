//! The rules that need no syntax: lengths of files, first lines, leftovers, paths of machines.

use crate::rule::{Finding, Rule};
use crate::sources::Source;
use crate::tables;

pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.path.ends_with(".rs") {
        findings.extend(check_length(source));
        findings.extend(check_doc(source));
        findings.extend(check_page(source));
    }
    let works = [".rs", ".sh", ".toml", ".wit", "Makefile", ".ci/run"];
    let may_promise = !works.iter().any(|ending| source.path.ends_with(ending))
        || tables::is_exempt(tables::LEFTOVER_FILES, &source.path, "");
    for (index, line) in source.text.lines().enumerate() {
        let leftover = tables::LEFTOVERS
            .iter()
            .find(|leftover| has_word(line, leftover));
        if let Some(leftover) = leftover.filter(|_| !may_promise) {
            findings.push(source.finding(Rule::Leftover, index + 1, format!("`{leftover}`")));
        }
        if let Some(path) = tables::MACHINE_PATHS
            .iter()
            .find(|path| line.contains(**path))
        {
            findings.push(source.finding(Rule::MachinePath, index + 1, format!("`{path}…`")));
        }
    }
    findings
}

fn check_length(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let exempt = tables::is_exempt(tables::LONG_FILES, &source.path, "");
    (lines > tables::FILE_LINES_MAX && !exempt)
        .then(|| source.finding(Rule::FileLength, lines, format!("{lines} lines")))
}

fn check_doc(source: &Source) -> Option<Finding> {
    let first = source.text.lines().next().unwrap_or_default();
    // What must not compile has its words beside it, in the compiler's own.
    let is_doc = source.path.contains("/tests/ui/")
        || first.starts_with("//!")
        || (source.path.ends_with("/build.rs") && first.starts_with("//"));
    (!is_doc).then(|| source.finding(Rule::FileDoc, 1, "opens without documentation"))
}

/// Who builds with a crate reads its page first.
fn check_page(source: &Source) -> Option<Finding> {
    let is_page = ["host/src/lib.rs", "sdk/src/lib.rs"].contains(&source.path.as_str());
    let shows = source.text.lines().any(|line| line.starts_with("//! ```"));
    let is_page = is_page && source.text.starts_with("//!");
    (is_page && !shows).then(|| source.finding(Rule::CratePage, 1, "has no block of code"))
}

/// Whether the word stands alone: what is before and behind it does not continue it.
fn has_word(line: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + word.len()..].chars().next();
        let whole = word.ends_with(|c: char| c.is_alphanumeric());
        let is_part = before.is_some_and(continues) || whole && behind.is_some_and(continues);
        !is_part
    })
}
