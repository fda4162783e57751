//! The shape of the tree, checked: layers, sizes, names, doors to the outside, leftovers, documents.
//!
//! Some promises of this project are absences ("only the gate makes a permit", "the pure layers do
//! no I/O"), and an absence rots silently. This test reads the sources as text and as syntax, knows
//! nothing of the host, and lists every violation at once, with what the rule is and how to comply.
//! What is allowed where stands in `tables.rs`. `samples.rs` proves that each rule can fail.

mod doors;
mod floor;
mod lines;
mod rule;
mod samples;
mod shape;
mod sources;
mod tables;

use rule::{Finding, Rule};
use sources::Source;
use std::path::Path;
use tables::Exempt;

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("`tests` is in the workspace");
    let tree = sources::read_tree(root);
    assert!(
        tree.len() > 10,
        "the tree was not found below {}",
        root.display()
    );
    let mut findings: Vec<Finding> = tree.iter().flat_map(check).collect();
    let paths: Vec<&str> = tree.iter().map(|source| source.path.as_str()).collect();
    findings.extend(missing_documents(&paths));
    findings.extend(stale_exemptions(&tables::EXEMPTIONS, &paths));
    assert!(findings.is_empty(), "\n{}", rule::report(findings));
}

/// The README's number is a rough one, and may be a twentieth off.
#[test]
fn as_many_mutants_are_written_down_as_the_readme_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lists = std::fs::read_dir(root.join("mutants")).expect("a folder");
    let texts = lists.map(|list| std::fs::read_to_string(list.expect("a file").path()));
    let mut written = 0;
    for text in texts {
        let list: toml::Table = toml::from_str(&text.expect("a text")).expect("a list");
        for entry in list["mutant"].as_array().expect("entries") {
            written += entry["about"].as_array().expect("one or more").len();
        }
    }
    let readme = std::fs::read_to_string(root.join("../README.md")).expect("the README");
    let (_, said) = readme.split_once("breaks some ").expect("a number");
    let said: usize = said.split(' ').next().unwrap().parse().expect("a number");
    assert!(
        written.abs_diff(said) * 20 <= written,
        "{written} are written down, and not some {said}"
    );
}

/// Everything that can be said about one file alone.
fn check(source: &Source) -> Vec<Finding> {
    let mut findings = lines::check(source);
    if source.path.ends_with(".rs") {
        match syn::parse_file(&source.text) {
            Ok(syntax) => {
                findings.extend(shape::check(source, &syntax));
                findings.extend(doors::check(source, &syntax));
            }
            Err(error) => {
                let line = error.span().start().line;
                findings.push(source.finding(Rule::Syntax, line, error.to_string()));
            }
        }
    }
    findings
}

fn missing_documents(paths: &[&str]) -> Vec<Finding> {
    let missing = tables::DOCUMENTS
        .iter()
        .filter(|document| !paths.contains(document));
    missing
        .map(|document| Finding::new(Rule::Document, document, 1, "is missing"))
        .collect()
}

/// An exemption outlives its file only by mistake.
fn stale_exemptions(tables: &[&[Exempt]], paths: &[&str]) -> Vec<Finding> {
    let exemptions = tables.iter().copied().flatten();
    let stale = exemptions.filter(|exempt| !paths.iter().any(|path| exempt.covers(path)));
    let message = "is exempt in tests/tests/tidy/tables.rs but does not exist";
    stale
        .map(|exempt| Finding::new(Rule::Exemption, exempt.path, 1, message))
        .collect()
}
