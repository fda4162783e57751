//! Breaks the rules on purpose, one by one, and asks the tests whether they see it.
//!
//! `make mutants` runs all, `make mutants ONLY=WORD` those whose description or file holds the word. Each entry of
//! `tests/mutants/*.toml` replaces one place of `host/src`; a copy of the tree is built once with all of them in it,
//! asleep, and each is then woken for one run of the tests. One that no test sees is a rule that nobody watches.
//! Nothing here switches off where requests may be sent: a test of that would send them.

mod plant;
mod suite;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use plant::{Mutant, Planted};
use suite::{Seen, Suite};

/// What of `it` is asked about a mutant that no unit test sees, where its entry does not say.
const FILTERS: [&str; 9] = [
    "attacks",
    "flows",
    "handles",
    "labels",
    "apart",
    "brought",
    "guards",
    "questions",
    "secrets",
];

/// Unit tests that take long, and that no rule here is about.
const UNRELATED: [&str; 4] = ["--skip", "rules::codec", "--skip", "rules::signature"];

fn main() -> ExitCode {
    let only = std::env::args().nth(1).unwrap_or_default();
    match run(&only) {
        Ok(survivors) if survivors.is_empty() => ExitCode::SUCCESS,
        Ok(survivors) => {
            eprintln!("mutants: no test sees these:\n  {}", survivors.join("\n  "));
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs those that are chosen, and returns what survived.
fn run(only: &str) -> Result<Vec<String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().map_err(|why| why.to_string())?;
    let planted = Planted::read(&root)?;
    let chosen: Vec<&Mutant> = planted.mutants.iter().filter(|one| one.is(only)).collect();
    if chosen.is_empty() {
        return Err(format!("none is about `{only}`"));
    }
    let tree = root.join("target/mutants");
    tree::mirror(&root, &tree, &planted.files)
        .map_err(|why| format!("the tree cannot be copied: {why}"))?;
    let mut watch = Watch::build(&root, &tree)?;
    let mut survivors = Vec::new();
    for mutant in &chosen {
        let seen = watch.sees(mutant)?;
        println!("{:8}  {}  ({})", seen.word(), mutant.about, seen.by());
        if !seen.is_killed() {
            survivors.push(format!("{}: {}", mutant.file, mutant.about));
        }
    }
    let killed = chosen.len() - survivors.len();
    println!("{killed} of {} mutants were killed", chosen.len());
    Ok(survivors)
}

/// All that watches.
struct Watch {
    /// The host's unit tests, which take seconds.
    units: Suite,
    /// The whole host at work.
    whole: Suite,
    /// Parts of `whole` that are known to pass with all mutants asleep.
    sound: BTreeSet<Vec<String>>,
}

impl Watch {
    fn build(root: &Path, tree: &Path) -> Result<Self, String> {
        let units = Suite::build(root, tree, ("host", &["--lib"]))?;
        let whole = Suite::build(root, tree, ("tests", &["--test", "it"]))?;
        must_pass(&units, &unrelated())?;
        Ok(Self {
            units,
            whole,
            sound: BTreeSet::new(),
        })
    }

    /// Wakes one: for the unit tests first, and for the whole host where they see nothing.
    fn sees(&mut self, mutant: &Mutant) -> Result<Seen, String> {
        let seen = self.units.run(mutant.number, &unrelated())?;
        if seen.is_killed() {
            return Ok(seen);
        }
        let mut filters = mutant.tests.clone();
        if filters.is_empty() {
            filters = FILTERS.map(str::to_owned).to_vec();
        }
        if self.sound.insert(filters.clone()) {
            must_pass(&self.whole, &filters)?;
        }
        self.whole.run(mutant.number, &filters)
    }
}

fn unrelated() -> Vec<String> {
    UNRELATED.map(str::to_owned).to_vec()
}

/// With all mutants asleep: tests that fail anyway see nothing.
fn must_pass(suite: &Suite, which: &[String]) -> Result<(), String> {
    let seen = suite.run(plant::ASLEEP, which)?;
    if seen.is_killed() {
        return Err(format!(
            "with all mutants asleep, there fails: {}",
            seen.by()
        ));
    }
    Ok(())
}
