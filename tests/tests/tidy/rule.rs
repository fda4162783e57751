//! What can be found, and how it is told to a person.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Each rule; the order is the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Syntax,
    Layer,
    PureLayer,
    Door,
    FileLength,
    FunctionLength,
    Parameters,
    Fields,
    Name,
    FileDoc,
    Leftover,
    MachinePath,
    Document,
    CratePage,
    Exemption,
}

impl Rule {
    /// What must hold, and what to do if it does not.
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Rule::Syntax => ("every .rs file parses", "make it compile"),
            Rule::Layer => (
                "a file in host/src uses its own layer or a lower one: \
                 words ← rules ← gate ← edges ← guests ← runs ← surfaces",
                "move what is needed down, or let the higher layer pass it in",
            ),
            Rule::PureLayer => (
                "`words` and `rules` are pure: no async, no await",
                "compute here; wait in the layer that calls",
            ),
            Rule::Door => (
                "each door to the outside has one owner",
                "ask the owner (named below) to do it; only if a new owner is right, add it to DOORS in \
                 tests/tests/tidy/tables.rs, with the reason, and to host/clippy.toml",
            ),
            Rule::FileLength => (
                "a file has at most 800 lines",
                "split it by subject; a table that cannot be split goes to LONG_FILES, with a reason",
            ),
            Rule::FunctionLength => (
                "a function has at most 70 lines, comments and blank lines not counted",
                "name its steps: one function each",
            ),
            Rule::Parameters => (
                "a function has at most 6 parameters, `self` included",
                "pass a struct of what belongs together",
            ),
            Rule::Fields => (
                "a struct in host has at most 12 fields",
                "group them; a mirror of a file format or a command line goes to WIDE_STRUCTS, with a reason",
            ),
            Rule::Name => (
                "types, modules and files are called what they are, by the words of the glossary",
                "use the glossary's word; a name dictated by somebody else's format goes to FOREIGN_NAMES, with a reason",
            ),
            Rule::FileDoc => (
                "a .rs file opens with its documentation",
                "start it with `//!`: what it is, why it is here, what it promises",
            ),
            Rule::Leftover => (
                "nothing is left for later in the tree",
                "do it, or write it down where work is planned",
            ),
            Rule::MachinePath => (
                "no path of somebody's machine",
                "use a path relative to the workspace, a temporary folder, or the environment",
            ),
            Rule::Document => ("the documents exist", "write it"),
            Rule::CratePage => (
                "the page of a crate that others build with shows how: it has a block of code",
                "write an example that compiles, between ``` and ```",
            ),
            Rule::Exemption => (
                "an exemption names a file that exists",
                "remove the exemption",
            ),
        }
    }
}

/// One violation at one place.
#[derive(Debug)]
pub struct Finding {
    pub rule: Rule,
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    pub fn new(rule: Rule, path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            rule,
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

/// All findings as one page: grouped by rule, each rule explained once.
pub fn report(findings: Vec<Finding>) -> String {
    let mut page = format!("the tree is not tidy, {} time(s)\n", findings.len());
    let mut by_rule: BTreeMap<Rule, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        by_rule.entry(finding.rule).or_default().push(finding);
    }
    for (rule, mut findings) in by_rule {
        let (rule_text, fix) = rule.text();
        findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        let mut places: Vec<String> = findings
            .iter()
            .map(|f| format!("  {}:{}: {}", f.path, f.line, f.message))
            .collect();
        places.dedup();
        write!(
            page,
            "\nrule: {rule_text}\nfix:  {fix}\n{}\n",
            places.join("\n")
        )
        .expect("a String takes everything");
    }
    page
}
