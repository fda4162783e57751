//! A server's process: a session and group of its own, an environment of what was named, pipes, and an end.
//!
//! The host starts itself as the beginning of that process ([`become_server`]), leaves the terminal, and becomes the
//! server's program. It is native code: what it may do is what its user may. When it ends, or its server is ended, its
//! whole group is told to end, and then killed.

use std::collections::VecDeque;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, kill_process, kill_process_group,
    set_parent_process_death_signal, setrlimit, setsid, test_kill_process_group,
};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::Around;
use super::ear::Ear;
use super::ending::Ending;
use super::parts::own_folder;
use crate::edges::named;
use crate::rules::server::{Program, Terms, Variable};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result, why};
use crate::words::limits::{SERVER_LINE_BYTES, SERVER_WORDS_BYTES};
use crate::words::lock::lock;

/// The hidden command by which the host starts itself as the beginning of a server's process.
pub const COMMAND: &str = "become-server";
/// Exit status where the server's program could not be started.
const NOT_STARTED: u8 = 127;

/// A process that was started.
pub(super) struct Process {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

/// Starts a server's program. From here on [`Ending`] says whether it is up; ending that ends its whole group.
///
/// # Errors
/// `BadInput`, `Denied` for an environment that cannot be had; `FetchFailed` where it does not start.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns the processes of servers, and the task that ends each"
)]
pub(super) fn start(
    (terms, program): (&Terms, &Program),
    around: &Around,
    ear: &Ear,
    ending: &Arc<Ending>,
) -> Result<Process> {
    let failed = |error: std::io::Error| {
        let what = format!(
            "the server `{}` cannot be started: {}",
            terms.name,
            why(error.kind())
        );
        Error::new(Code::FetchFailed, what).because(error)
    };
    let own = around.folder.below(&own_folder(terms))?;
    let folder = program.folder.as_deref().unwrap_or(own.path());
    let mut command = Command::new(&around.program);
    command
        .arg(COMMAND)
        .arg("--")
        .args(&program.command)
        .env_clear()
        .env("PATH", &program.path)
        .env("HOME", own.path())
        .env("TMPDIR", own.path())
        .envs(
            environment(program, around)?
                .iter()
                .map(|(name, value)| (name, value.as_str())),
        )
        .current_dir(existing(folder, &terms.name)?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(failed)?;
    let (Some(input), Some(output), Some(words)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Error::bug("the process of a server has no pipes"));
    };
    let group = Group(
        child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
    );
    let last = Arc::new(Mutex::new(LastWords::default()));
    let listening = tokio::spawn(listen(words, ear.clone(), last.clone()));
    let stop = Duration::from_millis(terms.bounds.stop_ms);
    tokio::spawn(keep(
        (child, group),
        (ending.clone(), ear.clone()),
        (last, listening),
        stop,
    ));
    Ok(Process { input, output })
}

/// The variables that were named, with their values.
fn environment(
    program: &Program,
    around: &Around,
) -> Result<Vec<(String, zeroize::Zeroizing<String>)>> {
    let named = program.env.iter().map(|(name, said)| {
        let value = match said {
            Variable::Plain(value) => value.clone(),
            Variable::Secret(of) => {
                let secret = around.vault.reveal(of)?;
                secret.teach_again(&around.known, of);
                secret.expose().to_owned()
            }
        };
        Ok((name.clone(), zeroize::Zeroizing::new(value)))
    });
    named.collect()
}

fn existing<'a>(folder: &'a Path, server: &str) -> Result<&'a Path> {
    if named::is_folder(folder) {
        return Ok(folder);
    }
    let what = format!(
        "[mcp.{server}] `folder` is no folder: `{}`",
        folder.display()
    );
    Err(Error::bad_input(what))
}

/// A process and all that it has started, as long as they stay in its group.
struct Group(Option<Pid>);

impl Group {
    fn tell(&self, signal: Signal) {
        if let Some(id) = self.0
            && kill_process_group(id, signal).is_err()
        {
            // It has no group of its own yet, or is gone.
            let _ = kill_process(id, signal);
        }
    }

    fn is_there(&self) -> bool {
        self.0.is_some_and(|id| test_kill_process_group(id).is_ok())
    }
}

impl Drop for Group {
    /// However this ends: a runtime that goes away drops what waits in it.
    fn drop(&mut self) {
        if self.is_there() {
            self.tell(Signal::KILL);
        }
    }
}

/// Waits for the end of a process, or of its server, and ends all of its group.
async fn keep(
    (mut child, group): (Child, Group),
    (ending, ear): (Arc<Ending>, Ear),
    (last, listening): (Arc<Mutex<LastWords>>, JoinHandle<()>),
    stop: Duration,
) {
    tokio::select! {
        status = child.wait() => {
            let how = status.map_or_else(|_| "it ended".to_owned(), |status| format!("it ended ({status})"));
            // Its last words may still be under way; what it has started may have more.
            let _ = tokio::time::timeout(LAST_WORDS, listening).await;
            let said = lock(&last).whole_lines();
            let said = ear.clean(String::from_utf8_lossy(&said).trim());
            ending.end(if said.is_empty() { how } else { format!("{how}, and last wrote: {said}") });
        }
        () = ending.over() => {}
    }
    group.tell(Signal::TERM);
    let over = async {
        // Reaped at once, so that what is left of its group can be told.
        let _ = child.wait().await;
        while group.is_there() {
            // Nobody tells when the last of a group is gone.
            let _ = tokio::time::timeout(LOOK, std::future::pending::<()>()).await;
        }
    };
    if tokio::time::timeout(stop, over).await.is_err() {
        group.tell(Signal::KILL);
        let _ = child.wait().await;
    }
}

/// How long the last words of a process may take. They are there already; what it has started may hold their end open.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often it is looked whether anybody is left of a group.
const LOOK: Duration = Duration::from_millis(5);

/// The end of what a server wrote for people.
#[derive(Default)]
struct LastWords {
    bytes: VecDeque<u8>,
    /// Whether what was written before is gone.
    is_cut: bool,
}

impl LastWords {
    fn add(&mut self, byte: u8) {
        self.bytes.push_back(byte);
        if self.bytes.len() > SERVER_WORDS_BYTES {
            self.bytes.pop_front();
            self.is_cut = true;
        }
    }

    /// What is kept of it, from the beginning of a line on: half of a secret is none that anybody recognises.
    fn whole_lines(&self) -> Vec<u8> {
        let mut bytes = self.bytes.iter().copied();
        if self.is_cut {
            bytes.by_ref().find(|byte| *byte == b'\n');
        }
        bytes.collect()
    }
}

/// How much is read in a moment of what a server writes for people. The rest waits in its pipe, and the server for that.
const MOMENT: Duration = Duration::from_millis(100);
/// As much as a pipe holds, so that what is left of one that has ended is read soon.
const MOMENT_BYTES: usize = 64 << 10;
const MOMENT_LINES: usize = 1_000;

/// What was read in this moment.
struct Sip {
    began: Instant,
    bytes: usize,
    lines: usize,
}

impl Sip {
    fn new(now: Instant) -> Self {
        Self {
            began: now,
            bytes: 0,
            lines: 0,
        }
    }

    /// How long no more is read, after so many bytes and lines.
    fn take(&mut self, now: Instant, (bytes, lines): (usize, usize)) -> Option<Duration> {
        if now.saturating_duration_since(self.began) >= MOMENT {
            *self = Self::new(now);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.lines = self.lines.saturating_add(lines);
        let is_much = self.bytes > MOMENT_BYTES || self.lines > MOMENT_LINES;
        is_much.then(|| MOMENT.saturating_sub(now.saturating_duration_since(self.began)))
    }
}

/// Passes on what a server writes for people, line by line, and keeps the end of it.
async fn listen(words: ChildStderr, ear: Ear, last: Arc<Mutex<LastWords>>) {
    let mut words = BufReader::new(words);
    let mut line = Vec::new();
    let mut piece = [0; 1_024];
    let mut sip = Sip::new(Clock::instant());
    while let Ok(bytes @ 1..) = words.read(&mut piece).await {
        let mut lines = 0_usize;
        for byte in piece.iter().take(bytes) {
            lock(&last).add(*byte);
            if *byte != b'\n' {
                line.push(*byte);
                // One byte more says that it is too long.
                line.truncate(SERVER_LINE_BYTES + 1);
                continue;
            }
            match line.len() > SERVER_LINE_BYTES {
                // Half of a secret may stand where it was cut.
                true => ear.log("(a long line)"),
                false => ear.log(&String::from_utf8_lossy(&line)),
            }
            line.clear();
            lines = lines.saturating_add(1);
        }
        if let Some(rest) = sip.take(Clock::instant(), (bytes, lines)) {
            // Running out is what this is for.
            let _ = tokio::time::timeout(rest, std::future::pending::<()>()).await;
        }
    }
}

/// The beginning of a server's process: leaves the host's session, ends with the host, leaves no picture of its memory,
/// and becomes `command`. Returns its exit status where it cannot.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns the processes of servers"
)]
pub fn become_server(command: &[String], words: &mut dyn std::io::Write) -> u8 {
    let Some((program, args)) = command.split_first() else {
        return NOT_STARTED;
    };
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let apart = setsid()
        .map(|_| ())
        .and_then(|()| set_parent_process_death_signal(Some(Signal::KILL)))
        .and_then(|()| setrlimit(Resource::Core, none));
    let error = match apart {
        Ok(()) => std::process::Command::new(program).args(args).exec(),
        Err(error) => error.into(),
    };
    // There is nobody to tell but the pipe.
    let _ = write!(words, "`{program}` cannot be started: {error}");
    NOT_STARTED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(said: &str) -> String {
        let mut last = LastWords::default();
        said.bytes().for_each(|byte| last.add(byte));
        String::from_utf8(last.whole_lines()).unwrap()
    }

    /// A flood of words fills the server's own pipe, and keeps nobody here busy.
    #[test]
    fn so_much_is_read_in_a_moment_and_then_no_more_until_the_next() {
        let began = Clock::instant();
        for most in [(MOMENT_BYTES, 0), (MOMENT_LINES, MOMENT_LINES)] {
            let mut sip = Sip::new(began);
            assert_eq!(sip.take(began, most), None);
            let late = began + MOMENT / 2;
            assert_eq!(sip.take(late, (1, 1)), Some(MOMENT / 2), "{most:?}");
            assert_eq!(sip.take(began + MOMENT, most), None);
            assert_eq!(sip.take(began + MOMENT, (1, 1)), Some(MOMENT));
        }
    }

    /// Nobody recognises the rest of a secret whose beginning is gone.
    #[test]
    fn last_words_begin_with_a_whole_line() {
        let (long, short) = ("x".repeat(SERVER_WORDS_BYTES), "out of cheese");
        assert_eq!(last(short), short);
        assert_eq!(last(&long), long);
        assert_eq!(last(&format!("{long}y")), "");
        assert_eq!(last(&format!("{long}\n{short}\n")), "out of cheese\n");
        assert_eq!(last(&format!("{long}\n{short}")), short);
    }
}
