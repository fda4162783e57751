//! One program of tests, and what it says.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::plant::AWAKE;

/// As long as a suite may take. All of them take a fraction of it, so one that does not end hangs.
const TIME: Duration = Duration::from_secs(300);

/// Says nothing that matters, and gives what is built of the copy other names than what is built of the tree: either
/// would be taken for the other.
const APART: &str = "profile.dev.package.lazaret.codegen-units=255";

/// What came of a run of tests.
pub enum Seen {
    /// This test fails, or that is how the run ended.
    Killed(String),
    /// All pass.
    Survived,
    /// This test fails with all mutants asleep, so that nobody knows.
    Unclear(String),
}

impl Seen {
    pub fn is_killed(&self) -> bool {
        matches!(self, Self::Killed(_))
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::Killed(_) => "killed",
            Self::Survived => "SURVIVED",
            Self::Unclear(_) => "UNCLEAR",
        }
    }

    /// Who saw it.
    pub fn by(&self) -> &str {
        match self {
            Self::Killed(by) | Self::Unclear(by) => by,
            Self::Survived => "nobody",
        }
    }
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

    /// Runs some tests, as the arguments of their program choose, with one mutant awake, until the first fails.
    ///
    /// # Errors
    /// Where the program cannot be run.
    pub fn run(&self, number: usize, which: &[String]) -> Result<Seen, String> {
        let unusable = |why: std::io::Error| format!("{}: {why}", self.program.display());
        fs::create_dir_all(&self.scratch).map_err(unusable)?;
        let mut child = Command::new(&self.program)
            .args(which)
            .current_dir(&self.folder)
            .env(AWAKE, number.to_string())
            .env("TMPDIR", &self.scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(unusable)?;
        let failed = first_failure(&lines_of(&mut child));
        // Ends it in the middle where that much is known; one that has ended cannot be killed.
        if failed.is_some() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(unusable)?;
        fs::remove_dir_all(&self.scratch).map_err(unusable)?;
        Ok(match failed {
            Some(by) => Seen::Killed(by),
            None if status.success() => Seen::Survived,
            None => Seen::Killed(status.to_string()),
        })
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
fn first_failure(lines: &Receiver<String>) -> Option<String> {
    let until = Instant::now() + TIME;
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
