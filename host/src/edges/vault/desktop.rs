//! Secrets in the keyring of a desktop (GNOME, KDE, KeePassXC: whoever keeps the Secret Service on the session bus),
//! asked through `secret-tool`, the command line of libsecret.
//!
//! A value goes through pipes and is never an argument, which others could read. The program is looked for where the
//! system has its own, and not in `PATH`; of the environment it gets what leads to the bus. What it takes is bounded, in
//! time as well: a person may have to unlock the keyring first.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use zeroize::Zeroizing;

use super::{Secret, environment};
use crate::edges::named;
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::{DESKTOP_WAIT_MS, DESKTOP_WORDS_BYTES, SECRET_BYTES};

/// Where systems have the program.
const FOLDERS: [&str; 3] = ["/usr/bin", "/bin", "/run/current-system/sw/bin"];
const PROGRAM: &str = "secret-tool";
/// All that it is told of the environment: where the bus is.
const VARIABLES: [&str; 3] = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HOME"];

/// What the program said.
struct Said {
    good: bool,
    out: Zeroizing<Vec<u8>>,
    words: Zeroizing<Vec<u8>>,
}

/// Keeps a value.
pub(super) fn store(name: &str, value: &Secret) -> Result<()> {
    let label = format!("--label=lazaret: {name}");
    let value = Zeroizing::new(value.expose().as_bytes().to_vec());
    let said = ask(&["store", &label], name, value)?;
    if said.good {
        return Ok(());
    }
    Err(said.trouble())
}

/// The value; nothing where there is none.
pub(super) fn lookup(name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let said = ask(&["lookup"], name, Zeroizing::default())?;
    if said.good {
        return Ok(Some(said.out));
    }
    said.absent(name).map(|()| None)
}

/// Forgets the value; whether there was one.
pub(super) fn clear(name: &str) -> Result<bool> {
    let said = ask(&["clear"], name, Zeroizing::default())?;
    if said.good {
        return Ok(true);
    }
    said.absent(name).map(|()| false)
}

impl Said {
    /// Whether there is no such secret, as it seems: of one that is locked the program says as little. That one must not
    /// pass for none, since nobody would know its value where it turns up.
    fn absent(self, name: &str) -> Result<()> {
        if !self.words.is_empty() {
            return Err(self.trouble());
        }
        let found = ask(&["search"], name, Zeroizing::default())?;
        if !found.out.is_empty() {
            return Err(denied("it is locked").hint("unlock it, and do it again"));
        }
        match found.good || found.words.is_empty() {
            true => Ok(()),
            false => Err(found.trouble()),
        }
    }

    /// What is the matter, in words that hold no value.
    fn trouble(&self) -> Error {
        let words = String::from_utf8_lossy(&self.words);
        let has = |part: &str| words.contains(part);
        if has("locked collection") || has("Object does not exist") || has("prompt") {
            return denied("it is locked").hint("unlock it, and do it again");
        }
        if has("autolaunch") || has("Could not connect") {
            return denied("there is no session bus; is anybody logged in at a desktop?");
        }
        if has("org.freedesktop.secrets") {
            return denied("nobody keeps secrets on the session bus");
        }
        let first = words.lines().next().unwrap_or("it does not say why");
        denied(&shown(first))
    }
}

/// Asks the program about one of our secrets.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns the process that asks the keyring"
)]
fn ask(words: &[&str], name: &str, input: Zeroizing<Vec<u8>>) -> Result<Said> {
    let program = program(&FOLDERS)?;
    let mut command = Command::new(program);
    command
        .args(words)
        .args(["program", "lazaret", "secret", name]);
    run(command, input, DESKTOP_WAIT_MS)
}

/// The program's absolute path.
fn program(folders: &[&str]) -> Result<PathBuf> {
    let places = folders.iter().map(|folder| Path::new(folder).join(PROGRAM));
    places
        .into_iter()
        .find(|place| named::is_file(place))
        .ok_or_else(|| {
            denied("it is asked through `secret-tool`, which is not installed")
                .hint("install it: the package is `libsecret-tools`, or `libsecret`")
        })
}

/// Runs it on a thread of its own, so that whoever asks may be on one of a runtime; not for longer than `most_ms`.
fn run(command: Command, input: Zeroizing<Vec<u8>>, most_ms: u64) -> Result<Said> {
    let ran = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| denied("it cannot be asked").because(error))?;
        runtime.block_on(async {
            let limit = Duration::from_millis(most_ms);
            let said = tokio::time::timeout(limit, converse(command, input)).await;
            said.unwrap_or_else(|_| {
                let what = format!("it has not answered for {} s", most_ms / 1_000);
                Err(denied(&what).hint("unlock it, and do it again"))
            })
        })
    });
    let ended = ran.join();
    ended.unwrap_or_else(|_| Err(Error::bug("asking the keyring panicked")))
}

async fn converse(mut command: Command, given: Zeroizing<Vec<u8>>) -> Result<Said> {
    let failed = |error: std::io::Error| denied("`secret-tool` cannot be run").because(error);
    let bus = VARIABLES.iter().filter_map(|name| {
        let value = environment::read(name)?;
        Some((*name, value))
    });
    let mut process = command
        .env_clear()
        .envs(bus)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (Some(mut input), Some(output), Some(words)) = (
        process.stdin.take(),
        process.stdout.take(),
        process.stderr.take(),
    ) else {
        return Err(Error::bug("`secret-tool` has no pipes"));
    };
    let write = async {
        // One that has given up reads no further, and says why.
        let _ = input.write_all(&given).await;
        drop(input);
    };
    // With room for all that may come, so that no part of a value stays behind where a buffer grew.
    let most = SECRET_BYTES.saturating_add(DESKTOP_WORDS_BYTES);
    let mut out = Zeroizing::new(Vec::with_capacity(2 * most));
    let mut said = Zeroizing::new(Vec::with_capacity(2 * DESKTOP_WORDS_BYTES));
    // Each pipe is let go once enough of it is read: a program that goes on talking ends by that, and is not waited for.
    let mut output = output.take(bytes(most.saturating_add(1)));
    let mut words = words.take(bytes(DESKTOP_WORDS_BYTES));
    let read = async {
        let read = output.read_to_end(&mut out).await;
        drop(output);
        read
    };
    let hear = async {
        let heard = words.read_to_end(&mut said).await;
        drop(words);
        heard
    };
    let ((), read, heard) = tokio::join!(write, read, hear);
    read.map_err(failed)?;
    heard.map_err(failed)?;
    if out.len() > most {
        return Err(Error::too_big("what the keyring keeps", most, out.len()));
    }
    let status = process.wait().await.map_err(failed)?;
    Ok(Said {
        good: status.success(),
        out,
        words: said,
    })
}

fn bytes(most: usize) -> u64 {
    u64::try_from(most).unwrap_or(u64::MAX)
}

fn denied(why: &str) -> Error {
    super::keyring::unusable("desktop", why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::error::Code;

    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns the process that asks the keyring"
    )]
    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn said(words: &str) -> Said {
        Said {
            good: false,
            out: Zeroizing::default(),
            words: Zeroizing::new(words.as_bytes().to_vec()),
        }
    }

    #[test]
    fn where_the_program_is_missing_that_is_said() {
        let error = program(&["/nowhere"]).unwrap_err();
        assert_eq!(error.code(), Code::Denied);
        assert!(error.message().contains("not installed"), "{error:?}");
        let hints = error.hints().join(" ");
        assert!(hints.contains("libsecret-tools") && hints.contains("backend = \"file\""));
    }

    #[test]
    fn it_gets_the_value_by_a_pipe_and_no_environment_but_the_bus() {
        let value = Zeroizing::new(b"a value".to_vec());
        let said = run(shell("cat; env | sort | cut -d= -f1 >&2"), value, 60_000).unwrap();
        assert!(said.good);
        assert_eq!(said.out.as_slice(), b"a value");
        let words = String::from_utf8(said.words.to_vec()).unwrap();
        // A shell sets these by itself.
        let own = ["PWD", "OLDPWD", "SHLVL", "_"];
        let others = words.lines().filter(|name| !own.contains(name));
        for name in others {
            assert!(VARIABLES.contains(&name), "{words}");
        }
    }

    #[test]
    fn one_that_does_not_answer_is_given_up() {
        let error = run(shell("exec sleep 600"), Zeroizing::default(), 100)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), Code::Denied);
        assert!(error.message().contains("has not answered"), "{error:?}");
    }

    #[test]
    fn one_that_never_ends_its_answer_is_given_up() {
        let endless = "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done";
        let error = run(shell(endless), Zeroizing::default(), 60_000)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), Code::TooBig);
    }

    #[test]
    fn what_is_the_matter_is_said_with_a_way_out() {
        let table = [
            (
                "secret-tool: Cannot create an item in a locked collection",
                "it is locked",
            ),
            (
                "secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY",
                "no session bus",
            ),
            (
                "secret-tool: Could not connect: No such file or directory",
                "no session bus",
            ),
            (
                "secret-tool: The name org.freedesktop.secrets was not provided by any .service files",
                "nobody keeps secrets",
            ),
            ("secret-tool: something new\u{1b}[2J", "something new"),
            ("", "does not say why"),
        ];
        for (words, says) in table {
            let error = said(words).trouble();
            assert_eq!(error.code(), Code::Denied);
            assert!(error.message().contains(says), "{error:?}");
            assert!(!error.message().contains('\u{1b}'));
            assert!(error.hints().join(" ").contains("backend = \"file\""));
        }
    }
}
