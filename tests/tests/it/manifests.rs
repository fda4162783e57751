//! What has changed from one manifest to another: `tests/diffs/NAME.toml` says what was, what is, and what is said.

use std::path::Path;

use lazaret::rules::changes::{between, remarks};
use lazaret::rules::manifest::Manifest;
use lazaret_tests::prelude::*;
use lazaret_tests::saying;
use serde::Deserialize;

/// One file: several changes of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Diffs {
    about: String,
    diff: Vec<Diff>,
}

/// What is said of a tool before and after, as JSON; and what is told, as `breaks CODE PLACE` or `fine CODE PLACE`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Diff {
    old: String,
    new: String,
    expect: Vec<String>,
}

fn manifest(tool: &str) -> Manifest {
    let more: Value = serde_json::from_str(tool).unwrap_or_else(|error| panic!("{tool}: {error}"));
    let manifest = saying::manifest("p", &more).to_string();
    Manifest::read(&manifest).unwrap_or_else(|error| panic!("{tool}: {error}"))
}

fn told(old: &Manifest, new: &Manifest) -> Vec<String> {
    let changes = between(old, new).into_iter();
    let line = |change: lazaret::rules::changes::Change| {
        let weight = if change.breaking { "breaks" } else { "fine" };
        assert!(!change.message.is_empty());
        format!("{weight} {} {}", change.code, change.place)
    };
    changes.map(line).collect()
}

#[test]
fn every_change_is_told_for_what_it_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("diffs");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of diffs") {
        let path = entry.expect("a diff").path();
        let text = std::fs::read_to_string(&path).expect("a diff");
        let diffs: Diffs =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(!diffs.about.is_empty());
        for diff in diffs.diff {
            let (old, new) = (manifest(&diff.old), manifest(&diff.new));
            assert_eq!(
                told(&old, &new),
                diff.expect,
                "{path:?}: {} → {}",
                diff.old,
                diff.new
            );
            assert_eq!(told(&new, &new), Vec::<String>::new());
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn tools_come_and_go() {
    let one = manifest("{}");
    let two = manifest(r#"{"name": "other"}"#);
    assert_eq!(
        told(&one, &two),
        ["breaks tool-removed run", "fine tool-added other"]
    );
}

#[test]
fn what_may_be_said_better_has_a_code() {
    let codes = |tool: &str| {
        let remarks = remarks::of(&manifest(tool)).into_iter();
        remarks
            .map(|remark| format!("{} {}", remark.code, remark.place))
            .collect::<Vec<_>>()
    };
    let sound = r#"{"effect": "pure", "examples": [{"args": {}}], "output": {"type": "null"},
        "input": {"type": "object", "additionalProperties": false, "properties": {"a": {"description": "d"}}}}"#;
    assert_eq!(codes(sound), [""; 0]);
    let poor = r#"{"effect": "destructive", "requires_confirmation": false, "calls": ["*"], "deprecated": "use q",
        "input": {"type": "object", "properties": {"a": {}}}}"#;
    assert_eq!(
        codes(poor),
        [
            "steering-unsaid run",
            "confirmation-waived run",
            "calls-anything run",
            "input-open run",
            "output-any run",
            "example-missing run",
            "deprecated run",
            "field-undescribed run#input/a"
        ]
    );
    let silent = r#"{"effect": "side-effecting", "flow": {"content": ["a"]}}"#;
    assert!(codes(silent).contains(&"effect-unsaid run".to_owned()));
}
