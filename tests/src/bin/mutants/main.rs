//! Breaks the rules on purpose, one by one, and asks the tests whether they see it.
//!
//! `make mutants` runs all, `make mutants ONLY=WORD,WORD` those whose description, file or list holds one of the words
//! (`--list` shows which, `--from N` goes on at a number where a run was stopped). `--flips` runs those of `flips.rs`
//! instead, which nobody has written down; `--units` asks the unit tests alone, since there are many. Each entry of
//! `tests/mutants/*.toml` replaces one place of `host/src`, and `drops.rs` finds the joins of labels that have none; a copy of the tree is built once with all of them in it,
//! asleep, and each is then woken for one run of the tests. One that no test sees is a rule that nobody watches.
//! Nothing that is run by tests which send anything switches off where requests may be sent.

mod drops;
mod flips;
mod plant;
mod suite;
mod tree;

use std::collections::BTreeMap;
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

/// Beside those, about a join of labels: whatever values go through.
const OF_LABELS: [&str; 11] = [
    "again",
    "inside",
    "journeys",
    "mcp",
    "observations",
    "records",
    "repeats",
    "sessions",
    "turns",
    "unread",
    "wards",
];
/// Unit tests that take long, and that no rule here is about.
const UNRELATED: [&str; 4] = ["--skip", "rules::codec", "--skip", "rules::signature"];
/// One that runs all attacks again and again, for what they leave behind.
const AGAIN: [&str; 2] = ["--skip", "attacks::what_attacks_take_is_given_back"];

fn main() -> ExitCode {
    match Wish::read(std::env::args().skip(1)).and_then(|wish| run(&wish)) {
        Ok(score) if score.survivors.is_empty() => ExitCode::SUCCESS,
        Ok(score) => {
            eprintln!(
                "mutants: no test sees these:\n  {}",
                score.survivors.join("\n  ")
            );
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Which are meant, and what shall be done with them.
struct Wish {
    /// One of these has to be in it; all are meant where there is none.
    words: Vec<String>,
    /// The number to begin at.
    from: usize,
    /// Only say which they are.
    list: bool,
    /// Those that nobody has written down.
    flips: bool,
    /// Only the unit tests are asked.
    units: bool,
}

impl Wish {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut wish = Self {
            words: Vec::new(),
            from: 0,
            list: false,
            flips: false,
            units: false,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--list" => wish.list = true,
                // A flip may be about where requests go, so nobody is asked who sends any.
                "--flips" => (wish.flips, wish.units) = (true, true),
                "--units" => wish.units = true,
                "--from" => {
                    let number = args.next().and_then(|number| number.parse().ok());
                    wish.from = number.ok_or("`--from` needs the number of a mutant")?;
                }
                flag if flag.starts_with('-') => return Err(format!("`{flag}` is unknown")),
                // Descriptions have blanks, so that words are told apart by commas.
                words => {
                    let words = words.split(',').filter(|word| !word.is_empty());
                    wish.words.extend(words.map(str::to_owned));
                }
            }
        }
        Ok(wish)
    }

    fn means(&self, mutant: &Mutant) -> bool {
        let named = self.words.is_empty() || self.words.iter().any(|word| mutant.is(word));
        named && mutant.number >= self.from && mutant.is_flip() == self.flips
    }
}

/// What has come of those that ran.
#[derive(Default)]
struct Score {
    /// File → how many ran, and how many of them were killed.
    files: BTreeMap<String, (usize, usize)>,
    survivors: Vec<String>,
}

impl Score {
    fn count(&mut self, mutant: &Mutant, seen: &Seen) {
        let (ran, killed) = self.files.entry(mutant.file.clone()).or_default();
        *ran += 1;
        if seen.is_killed() {
            *killed += 1;
        } else {
            self.survivors.push(format!("{:8}  {mutant}", seen.word()));
        }
    }

    fn print(&self) {
        for (file, (ran, killed)) in &self.files {
            println!("{killed:4} of {ran:3}  {file}");
        }
        let ran: usize = self.files.values().map(|(ran, _)| ran).sum();
        let killed = ran - self.survivors.len();
        println!("{killed} of {ran} mutants killed");
    }
}

/// Runs those that are chosen.
fn run(wish: &Wish) -> Result<Score, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().map_err(|why| why.to_string())?;
    let planted = Planted::read(&root)?;
    let all = planted.mutants.iter();
    let chosen: Vec<&Mutant> = all.filter(|one| wish.means(one)).collect();
    if chosen.is_empty() {
        return Err(format!("none is about `{}`", wish.words.join("`, `")));
    }
    let mut score = Score::default();
    if wish.list {
        chosen.iter().for_each(|mutant| println!("{mutant}"));
        return Ok(score);
    }
    let tree = root.join("target/mutants");
    tree::mirror(&root, &tree, &planted.files)
        .map_err(|why| format!("the tree cannot be copied: {why}"))?;
    let mut watch = Watch::build(&root, &tree, wish.units)?;
    for mutant in &chosen {
        let seen = watch.sees(mutant)?;
        println!("{:8}  {mutant}  ({})", seen.word(), seen.by());
        score.count(mutant, &seen);
    }
    score.print();
    Ok(score)
}

/// All that watches.
struct Watch {
    /// The host's unit tests, which take seconds.
    units: Suite,
    /// The whole host at work, if that is asked.
    whole: Option<Suite>,
    /// Parts of `whole`, and the test in them that fails with all mutants asleep.
    asleep: BTreeMap<Vec<String>, Option<String>>,
}

impl Watch {
    fn build(root: &Path, tree: &Path, units_only: bool) -> Result<Self, String> {
        let units = Suite::build(root, tree, ("host", &["--lib"]))?;
        let whole = match units_only {
            true => None,
            false => Some(Suite::build(root, tree, ("tests", &["--test", "it"]))?),
        };
        if let Some(by) = fails_asleep(&units, &unrelated())? {
            return Err(format!("with all mutants asleep, there fails: {by}"));
        }
        Ok(Self {
            units,
            whole,
            asleep: BTreeMap::new(),
        })
    }

    /// Wakes one: for the tests that its entry names, and else for the unit tests, which take seconds, and the whole host
    /// where they see nothing.
    fn sees(&mut self, mutant: &Mutant) -> Result<Seen, String> {
        if self.whole.is_some() && !mutant.tests.is_empty() {
            let seen = self.sees_at_work(mutant)?;
            if seen.is_killed() {
                return Ok(seen);
            }
            let by_unit = self.units.run(mutant.number, &unrelated())?;
            return Ok(if by_unit.is_killed() { by_unit } else { seen });
        }
        let seen = self.units.run(mutant.number, &unrelated())?;
        match self.whole.is_some() && !seen.is_killed() {
            true => self.sees_at_work(mutant),
            false => Ok(seen),
        }
    }

    /// Wakes one for the whole host.
    fn sees_at_work(&mut self, mutant: &Mutant) -> Result<Seen, String> {
        let Some(whole) = &self.whole else {
            return Ok(Seen::Survived);
        };
        let mut filters = mutant.tests.clone();
        if filters.is_empty() {
            filters = FILTERS.map(str::to_owned).to_vec();
        }
        if mutant.is_drop() {
            filters.extend(OF_LABELS.map(str::to_owned));
        }
        filters.extend(AGAIN.map(str::to_owned));
        if !self.asleep.contains_key(&filters) {
            let fails = fails_asleep(whole, &filters)?;
            self.asleep.insert(filters.clone(), fails);
        }
        if let Some(Some(by)) = self.asleep.get(&filters) {
            return Ok(Seen::Unclear(by.clone()));
        }
        whole.run(mutant.number, &filters)
    }
}

fn unrelated() -> Vec<String> {
    UNRELATED.map(str::to_owned).to_vec()
}

/// The test that fails with all mutants asleep, and does so again: it sees nothing.
fn fails_asleep(suite: &Suite, which: &[String]) -> Result<Option<String>, String> {
    if !suite.run(plant::ASLEEP, which)?.is_killed() {
        return Ok(None);
    }
    let again = suite.run(plant::ASLEEP, which)?;
    Ok(again.is_killed().then(|| again.by().to_owned()))
}
