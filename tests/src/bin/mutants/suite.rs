//! One program of tests, and what it says.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::plant::{ASLEEP, AWAKE, REACHED};

/// As long as one test may take with all mutants asleep.
const TIME: Duration = Duration::from_secs(300);

/// Says nothing that matters, and gives what is built of the copy other names than what is built of the tree: either
/// would be taken for the other.
const APART: &str = "profile.dev.package.lazaret.codegen-units=255";

/// The test that runs the files of `tests/attack`, each of which is a test for us.
const ATTACKS: &str = "attacks::every_attack_ends_as_its_file_says";
/// Chooses some of the files: words of their names, with commas between.
const ATTACK: &str = "ATTACK";
/// Runs all attacks again and again, for what they leave behind.
const AGAIN: &str = "attacks::what_attacks_take_is_given_back";

/// What came of a run of tests.
pub enum Seen {
    /// This test fails, or that is how the run ended.
    Killed(String),
    /// All pass; so many there were.
    Survived(usize),
}

impl Seen {
    pub fn is_killed(&self) -> bool {
        matches!(self, Self::Killed(_))
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::Killed(_) => "killed",
            Self::Survived(_) => "SURVIVED",
        }
    }
}

/// Who saw it.
impl fmt::Display for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed(by) => out.write_str(by),
            Self::Survived(0) => out.write_str("no test comes by it"),
            Self::Survived(tests) => write!(out, "none of the {tests} tests that come by it"),
        }
    }
}

/// One test, or one file of those that a test runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Test {
    name: String,
    /// The file of an attack.
    attack: Option<String>,
}

impl Test {
    /// Whether it belongs to what an entry of a list names.
    pub fn is(&self, filter: &str) -> bool {
        self.name.contains(filter)
    }
}

impl From<String> for Test {
    fn from(text: String) -> Self {
        let (name, attack) = match text.split_once(' ') {
            Some((name, attack)) => (name.to_owned(), Some(attack.to_owned())),
            None => (text, None),
        };
        Self { name, attack }
    }
}

impl From<Test> for String {
    fn from(test: Test) -> Self {
        test.to_string()
    }
}

impl fmt::Display for Test {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        self.attack
            .iter()
            .try_for_each(|attack| write!(out, " {attack}"))
    }
}

/// What one test does with all mutants asleep.
#[derive(Serialize, Deserialize)]
pub struct Visit {
    pub passes: bool,
    pub millis: u64,
    /// The mutants that it comes by.
    pub reached: BTreeSet<usize>,
}

/// A program of tests.
pub struct Suite {
    program: PathBuf,
    /// Where it runs.
    folder: PathBuf,
    /// Where it makes what it needs for a while: it may be ended in the middle.
    scratch: PathBuf,
}

impl Suite {
    /// Builds one of a package of the copy, by its folder, beside what the tree itself has built.
    ///
    /// # Errors
    /// Where the copy does not compile.
    pub fn build(
        root: &Path,
        tree: &Path,
        (folder, which): (&str, &[&str]),
    ) -> Result<Self, String> {
        let output = Command::new(env!("CARGO"))
            .args([
                "test",
                "--no-run",
                "--message-format=json-render-diagnostics",
            ])
            .args(["--config", APART])
            .args(which)
            .current_dir(tree.join(folder))
            .env("CARGO_TARGET_DIR", root.join("target"))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|why| format!("cargo cannot be run: {why}"))?;
        if !output.status.success() {
            return Err("the copy with the mutants does not compile".to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let program = text.lines().filter_map(program_in).next_back();
        Ok(Self {
            program: program.ok_or("cargo has built no test")?,
            folder: tree.join(folder),
            scratch: tree.join("scratch"),
        })
    }

    /// What tells this program from one that was built at another time.
    pub fn print(&self) -> Result<String, String> {
        let about = fs::metadata(&self.program).map_err(|why| self.unusable(&why))?;
        let built = about.modified().map_err(|why| self.unusable(&why))?;
        let built = built.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (program, bytes) = (self.program.display(), about.len());
        Ok(format!("{program} {bytes} {}", built.as_nanos()))
    }

    /// All tests of it, in order.
    pub fn tests(&self) -> Result<Vec<Test>, String> {
        let output = Command::new(&self.program)
            .args(["--list", "--format", "terse"])
            .output()
            .map_err(|why| self.unusable(&why))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        let mut tests = Vec::new();
        for name in names.filter(|name| *name != AGAIN) {
            let test = |attack| Test {
                name: name.to_owned(),
                attack,
            };
            match name {
                ATTACKS => tests.extend(self.attacks()?.into_iter().map(Some).map(test)),
                _ => tests.push(test(None)),
            }
        }
        Ok(tests)
    }

    /// The names of all files of attacks.
    fn attacks(&self) -> Result<Vec<String>, String> {
        let folder = self.folder.join("attack");
        let files = fs::read_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let names = names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned));
        Ok(names.collect())
    }

    /// Runs one test with all mutants asleep.
    ///
    /// # Errors
    /// Where the program cannot be run.
    pub fn visit(&self, test: &Test) -> Result<Visit, String> {
        let scratch = self.scratch()?;
        let reached = scratch.path().join("reached");
        let from = Instant::now();
        let mut command = self.command(&[test], scratch.path());
        let seen = self.watch(command.env(REACHED, &reached), TIME)?;
        let text = fs::read_to_string(&reached).unwrap_or_default();
        Ok(Visit {
            passes: !seen.is_killed(),
            millis: u64::try_from(from.elapsed().as_millis()).unwrap_or(u64::MAX),
            reached: text.lines().filter_map(|line| line.parse().ok()).collect(),
        })
    }

    /// Runs some tests with one mutant awake, until the first fails, or all together have taken too long.
    ///
    /// # Errors
    /// Where the program cannot be run.
    pub fn run(&self, number: usize, tests: &[&Test], most: Duration) -> Result<Seen, String> {
        if tests.is_empty() {
            return Ok(Seen::Survived(0));
        }
        let scratch = self.scratch()?;
        let mut command = self.command(tests, scratch.path());
        self.watch(command.env(AWAKE, number.to_string()), most)
            .map(|seen| match seen {
                Seen::Killed(by) => Seen::Killed(by),
                Seen::Survived(_) => Seen::Survived(tests.len()),
            })
    }

    fn command(&self, tests: &[&Test], scratch: &Path) -> Command {
        let names: BTreeSet<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let attacks = tests.iter().filter_map(|test| test.attack.as_deref());
        let attacks: Vec<&str> = attacks.collect();
        let mut command = Command::new(&self.program);
        command
            .arg("--exact")
            .args(names)
            .env(ATTACK, attacks.join(","))
            .env(AWAKE, ASLEEP.to_string())
            .env("TMPDIR", scratch)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    fn watch(&self, command: &mut Command, most: Duration) -> Result<Seen, String> {
        let mut child = command.spawn().map_err(|why| self.unusable(&why))?;
        let failed = first_failure(&lines_of(&mut child), most);
        // Ends it in the middle where that much is known; one that has ended cannot be killed.
        if failed.is_some() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|why| self.unusable(&why))?;
        Ok(match failed {
            Some(by) => Seen::Killed(by),
            None if status.success() => Seen::Survived(0),
            None => Seen::Killed(status.to_string()),
        })
    }

    fn scratch(&self) -> Result<tempfile::TempDir, String> {
        fs::create_dir_all(&self.scratch).map_err(|why| self.unusable(&why))?;
        tempfile::tempdir_in(&self.scratch).map_err(|why| self.unusable(&why))
    }

    fn unusable(&self, why: &std::io::Error) -> String {
        format!("{}: {why}", self.program.display())
    }
}

/// The program that a message of cargo is about, if that is one of tests.
fn program_in(message: &str) -> Option<PathBuf> {
    let said: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_test = said["profile"]["test"].as_bool()?;
    let program = said["executable"].as_str()?;
    is_test.then(|| PathBuf::from(program))
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (send, receive) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            // Nobody listens any more once a failure is known.
            lines.map(|line| send.send(line)).all(|sent| sent.is_ok());
        });
    }
    receive
}

/// The first test that fails; nothing where the program ends before.
fn first_failure(lines: &Receiver<String>, most: Duration) -> Option<String> {
    let until = Instant::now() + most;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                let name = line
                    .strip_prefix("test ")
                    .and_then(|test| test.strip_suffix(" ... FAILED"));
                if let Some(name) = name {
                    return Some(name.to_owned());
                }
            }
            Err(RecvTimeoutError::Timeout) => return Some("it does not end".to_owned()),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_read_as_it_is_told() {
        for text in ["labels::a", "attacks::every files-probe"] {
            let test = Test::from(text.to_owned());
            assert_eq!(test.to_string(), text);
            assert_eq!(test.attack.is_some(), text.contains(' '));
        }
    }
}
