//! A station: a home, a state folder and a workspace of one test's own, and `lazaret` run in them.
//!
//! Bundled plugins are compiled once for all stations; each gets its own name for the same bytes.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// What a command says once it takes longer than a moment.
const WAITING: [&str; 3] = [
    "preparing plugins (compiled once, then cached) …\n",
    "compiling the component …\n",
    "preparing the engine of scripts (compiled once, then cached) …\n",
];

/// Longest that a command may take: it may have plugins to compile, on a machine that is busy.
const LONGEST: Duration = Duration::from_secs(600);

/// Everything that one test touches; gone when it ends.
pub struct Station {
    root: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Station {
    /// A user without any configuration, in an empty folder.
    pub fn new() -> Self {
        let station = Self::uncompiled();
        let prepared = prepared();
        let own = station.state();
        folder(&own);
        folder(&own.join("cache"));
        fs::copy(prepared.join("key"), own.join("key")).unwrap();
        fs::set_permissions(own.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
        for entry in fs::read_dir(prepared.join("cache")).unwrap() {
            let entry = entry.unwrap();
            let to = own.join("cache").join(entry.file_name());
            if fs::hard_link(entry.path(), &to).is_err() {
                fs::copy(entry.path(), &to).unwrap();
            }
        }
        station
    }

    fn uncompiled() -> Self {
        let root = tempfile::Builder::new().prefix("cli-").tempdir().unwrap();
        fs::create_dir(root.path().join("ws")).unwrap();
        Self { root }
    }

    /// A user who has written this `lazaret.toml` and trusts it.
    pub fn with(config: &str) -> Self {
        let station = Self::new();
        station.write("lazaret.toml", config);
        station.trust();
        station
    }

    /// A trusted agent `a` with these tools, whose model answers with these lines; `more` is what else
    /// the configuration says.
    pub fn scripted(tools: &str, lines: &[&str], more: &str) -> Self {
        let station = Self::new();
        station.write("script.jsonl", lines.join("\n"));
        station.write(
            "lazaret.toml",
            format!(
                "[agents.a]\ninstructions = \"work\"\ntools = {tools}\nmodels = [\"m\"]\n\
                 [models.m]\nprovider = \"scripted\"\nscript = \"script.jsonl\"\n{more}"
            ),
        );
        station.trust();
        station
    }

    /// Whether the file can be used is for the test to see.
    pub fn trust(&self) {
        let trusted = self.run(&["policy", "trust"]);
        if !trusted.err.contains("it is trusted, and cannot be used") {
            trusted.ends(0);
        }
    }

    pub fn workspace(&self) -> PathBuf {
        self.root.path().join("ws")
    }

    pub fn state(&self) -> PathBuf {
        self.root.path().join("state/lazaret")
    }

    pub fn user_file(&self) -> PathBuf {
        self.root.path().join("config/lazaret/lazaret.toml")
    }

    pub fn system_file(&self) -> PathBuf {
        self.root.path().join("etc/lazaret.toml")
    }

    /// Writes below the workspace.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn write_user_file(&self, text: &str) {
        fs::create_dir_all(self.user_file().parent().unwrap()).unwrap();
        fs::write(self.user_file(), text).unwrap();
    }

    pub fn write_system_file(&self, text: &str) {
        fs::create_dir_all(self.system_file().parent().unwrap()).unwrap();
        fs::write(self.system_file(), text).unwrap();
    }

    /// Runs with these variables as well.
    pub fn run_told(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        self.finish(command.envs(variables.iter().copied()))
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.workspace().join(path)).unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.finish(self.command(arguments).stdin(Stdio::null()))
    }

    pub fn run_in(&self, folder: &str, arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        self.finish(command.current_dir(self.workspace().join(folder)))
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self.spawn(self.command(arguments).stdin(Stdio::piped()));
        // A program that does not read everything is none of the test's business.
        let _ = child.stdin.take().unwrap().write_all(input);
        self.wait(child)
    }

    /// The command, not yet started: no input, and both outputs caught.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        self.settle(&mut command).args(arguments);
        command
    }

    /// Lets a command be run by this station's user in this station's workspace.
    pub fn settle<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let root = self.root.path();
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", root)
            .env("XDG_STATE_HOME", root.join("state"))
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("LAZARET_SYSTEM_CONFIG", self.system_file())
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
    }

    pub fn spawn(&self, command: &mut Command) -> Child {
        command.spawn().unwrap()
    }

    pub fn finish(&self, command: &mut Command) -> Ended {
        self.wait(self.spawn(command))
    }

    #[track_caller]
    pub fn wait(&self, child: Child) -> Ended {
        let pid = Pid::from_child(&child);
        let (over, watched) = channel::<()>();
        let watching = thread::spawn(move || {
            let late = watched.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout);
            if late {
                let _ = kill_process(pid, Signal::KILL);
            }
            late
        });
        let output = child.wait_with_output().unwrap();
        drop(over);
        let ended = self.ended(output);
        assert!(!watching.join().unwrap(), "it did not end: {ended}");
        ended
    }

    fn ended(&self, output: Output) -> Ended {
        let status = output.status.code().unwrap_or(-1);
        let text = |bytes: Vec<u8>| self.plain(&String::from_utf8(bytes).unwrap());
        let (out, err) = (text(output.stdout), text(output.stderr));
        Ended { status, out, err }
    }

    /// What differs from run to run has a name instead.
    pub fn plain(&self, text: &str) -> String {
        static NAMES: OnceLock<[(Regex, &str); 2]> = OnceLock::new();
        let names = NAMES.get_or_init(|| {
            [
                (r"\d{8}-\d{6}-[0-9a-f]{12}", "[RUN]"),
                (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "[TIME]"),
            ]
            .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
        });
        let text = text.replace(&self.workspace().display().to_string(), "[HERE]");
        let text = text.replace(&self.root.path().display().to_string(), "[ROOT]");
        // Said on a machine that is busy, and then with every right.
        let text = WAITING
            .iter()
            .fold(text, |text, line| text.replace(line, ""));
        names.iter().fold(text, |text, (pattern, name)| {
            pattern.replace_all(&text, *name).into_owned()
        })
    }

    /// The records of the newest run.
    pub fn records(&self) -> Vec<Value> {
        self.run(&["runs", "show", "last", "--json", "--quiet"])
            .ends(0)
            .lines()
    }
}

/// No file below holds these bytes.
#[track_caller]
pub fn holds_nothing(folder: &Path, secret: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holds_nothing(&path, secret);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let mut parts = bytes.windows(secret.len());
        let found = parts.any(|part| part == secret.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

impl Ended {
    #[track_caller]
    pub fn ends(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// Each of these is somewhere in what it said to the person.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "it does not say `{part}`: {self}");
        }
        self
    }

    #[track_caller]
    pub fn prints(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.out.contains(part),
                "it does not print `{part}`: {self}"
            );
        }
        self
    }

    /// This is all that it said to the person.
    #[track_caller]
    pub fn says_only(self, text: &str) -> Self {
        assert_eq!(self.err.trim_end(), text, "{self}");
        self
    }

    /// Neither stream holds this.
    #[track_caller]
    pub fn never(self, text: &str) -> Self {
        assert!(
            !self.out.contains(text) && !self.err.contains(text),
            "{text}: {self}"
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// What a list has: one document.
    #[track_caller]
    pub fn listed(&self) -> Vec<Value> {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let line = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self}"))
        };
        self.out.lines().map(line).collect()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            status,
            out: a,
            err,
        } = self;
        write!(out, "\nstatus {status}\n-- stdout\n{a}-- stderr\n{err}")
    }
}

/// The `lazaret` that was built beside this test.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("lazaret");
    let shown = program.display();
    assert!(
        program.exists(),
        "there is no {shown}: cargo build -p lazaret"
    );
    program
}

/// A component as it is shipped.
pub fn bundled(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("plugins/dist").join(format!("{name}.wasm"))
}

/// The fixture that does what a guest should not do.
pub fn hostile() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let path = root.join("target/guests/hostile.wasm");
    let shown = path.display();
    assert!(
        path.exists(),
        "there is no {shown}: plugins/build.sh guests"
    );
    path
}

/// A state folder with every plugin compiled, kept for later runs of the tests.
fn prepared() -> &'static Path {
    static PREPARED: OnceLock<PathBuf> = OnceLock::new();
    PREPARED.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli");
        folder(&place);
        let station = Station::uncompiled();
        let mut doctor = station.command(&["doctor"]);
        station.finish(doctor.env("XDG_STATE_HOME", &place)).ends(0);
        // Neither the engine of scripts nor the reader of types is loaded before it is needed.
        let mut script = station.command(&["script", "-e", "const one: number = 1; return one"]);
        station.finish(script.env("XDG_STATE_HOME", &place)).ends(0);
        let mut check = station.command(&["plugin", "check"]);
        station
            .finish(check.arg(hostile()).env("XDG_STATE_HOME", &place))
            .ends(0);
        place.join("lazaret")
    })
}

fn folder(path: &Path) {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.unwrap();
}

/// Everything that a pipe still gives.
pub fn rest(pipe: &mut impl Read) -> String {
    let mut text = String::new();
    pipe.read_to_string(&mut text).unwrap();
    text
}
