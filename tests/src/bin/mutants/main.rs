//! Breaks the rules on purpose, one by one, and asks the tests whether they see it.
//!
//! `make mutants` runs all, `make mutants ONLY=WORD,WORD` those whose description, file or list holds one of the words
//! (`--list` shows which, `--from N` goes on at a number where a run was stopped). `--flips` runs those of `flips.rs`
//! instead, which nobody has written down; `--units` asks the unit tests alone, since there are many. Each entry of
//! `tests/mutants/*.toml` replaces one place of `host/src`, and `drops.rs` finds the joins of labels that have none; a copy of the tree is built once with all of them in it,
//! asleep. Each test then runs by itself and says which of them it comes by (`reach.rs`), and each mutant is woken for the tests that do.
//! One that no test sees is a rule that nobody watches.
//! Nothing that is run by tests which send anything switches off where requests may be sent.

mod drops;
mod flips;
mod plant;
mod reach;
mod suite;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use plant::{Mutant, Planted};
use reach::Reach;
use suite::{Seen, Suite, Test};

/// So many of the tests that come by a mutant are asked before all others: those that come by the least.
const FIRST: usize = 24;
/// Times what the tests take by themselves with all mutants asleep, and this beside: what takes longer does not end.
const PATIENCE: u32 = 3;
const START: Duration = Duration::from_secs(60);

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
    let watch = Watch::build(&root, &tree, wish.units)?;
    for mutant in &chosen {
        let seen = watch.sees(mutant)?;
        println!("{:8}  {mutant}  ({seen})", seen.word());
        score.count(mutant, &seen);
    }
    score.print();
    Ok(score)
}

/// All that watches: the host's unit tests, which take seconds, and the whole host at work, if that is asked.
struct Watch(Vec<Watched>);

/// A program of tests, and what each comes by.
struct Watched {
    suite: Suite,
    reach: Reach,
}

impl Watch {
    fn build(root: &Path, tree: &Path, units_only: bool) -> Result<Self, String> {
        let mut suites = vec![("units", Suite::build(root, tree, ("host", &["--lib"]))?)];
        if !units_only {
            let whole = Suite::build(root, tree, ("tests", &["--test", "it"]))?;
            suites.push(("it", whole));
        }
        let watched = suites.into_iter().map(|(name, suite)| {
            let reach = Reach::of(&suite, &tree.join(format!("reach-{name}.json")))?;
            for test in reach.failing() {
                println!("left out, since it fails with all mutants asleep: {test}");
            }
            Ok(Watched { suite, reach })
        });
        watched.collect::<Result<_, String>>().map(Self)
    }

    /// Wakes one, until a test sees it.
    fn sees(&self, mutant: &Mutant) -> Result<Seen, String> {
        let mut asked = 0;
        for watched in &self.0 {
            for tests in watched.rounds(mutant) {
                let most = START + watched.reach.took(&tests) * PATIENCE;
                let seen = watched.suite.run(mutant.number, &tests, most)?;
                if seen.is_killed() {
                    return Ok(seen);
                }
                asked += tests.len();
            }
        }
        Ok(Seen::Survived(asked))
    }
}

impl Watched {
    /// All tests that come by a mutant: what its entry names, then those that come by little else, then the others.
    fn rounds(&self, mutant: &Mutant) -> [Vec<&Test>; 3] {
        let named = |test: &&Test| mutant.tests.iter().any(|filter| test.is(filter));
        let watchers = self.reach.watchers(mutant.number);
        let (named, mut first): (Vec<_>, Vec<_>) = watchers.into_iter().partition(named);
        let others = first.split_off(FIRST.min(first.len()));
        [named, first, others]
    }
}
