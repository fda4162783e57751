//! A value that is typed, and not shown: the terminal says nothing of it meanwhile, and is as it was afterwards, also where
//! a signal ends the waiting.

use std::io::{ErrorKind, Read, stdin};

use rpassword::{ConfigBuilder, read_password_with_config};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::surfaces::cli::inline::prompt;
use crate::surfaces::cli::print;
use crate::words::error::{Code, Error, Result, why};

/// What somebody types at the terminal that standard input is, up to the end of the line.
pub(super) async fn typed(what: &str) -> Result<String> {
    // Listened for before anything is hidden: until then they end the process, and the terminal is as it was.
    let listen = |kind| {
        signal(kind).map_err(|error| Error::bug("signals cannot be listened for").because(error))
    };
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut quitted = listen(SignalKind::quit())?;
    let mut terminated = listen(SignalKind::terminate())?;
    let hidden = Hidden::begin().map_err(unreadable)?;
    prompt(what);
    let reading = line(stdin())?;
    let read = tokio::select! {
        biased;
        read = reading => Some(read),
        _ = interrupted.recv() => None,
        _ = quitted.recv() => None,
        _ = terminated.recv() => None,
    };
    drop(hidden);
    // The end of the line was not shown either.
    print::note("");
    let cancelled = || Error::new(Code::Cancelled, "cancelled: nothing was kept");
    match read.ok_or_else(cancelled)? {
        // Ctrl-C is a character here, of which the reader makes a signal.
        Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => Err(cancelled()),
        Ok(line) => line.map_err(unreadable),
        Err(error) => Err(Error::bug("nobody reads what is typed").because(error)),
    }
}

fn unreadable(error: impl Into<std::io::Error>) -> Error {
    let error: std::io::Error = error.into();
    Error::bad_input(format!("the value cannot be read: {}", why(error.kind())))
}

type Line = oneshot::Receiver<std::io::Result<String>>;

/// A line, read by a thread of its own: a terminal has no deadline, and the runtime would wait at the end for a thread of its
/// own that waits for one.
fn line(terminal: impl Read + Send + 'static) -> Result<Line> {
    let (sender, line) = oneshot::channel();
    let thread = std::thread::Builder::new().name("typed".to_owned());
    let reading = thread.spawn(move || {
        // It changes no terminal, since it knows of none: that is ours to do, and to undo.
        let config = ConfigBuilder::new().input_reader(terminal).output_discard();
        // Whoever asked may have given up.
        let _ = sender.send(read_password_with_config(config.build()));
    });
    reading.map_err(|error| Error::bug("no thread could be made").because(error))?;
    Ok(line)
}

/// As long as this is there, the terminal shows nothing of what is typed.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> rustix::io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut hidden = before.clone();
        // Character by character: a terminal that collects a line cuts what is longer than 4,095 bytes, and one that makes
        // signals of keys stops a process that has hidden what is typed.
        hidden.make_raw();
        hidden.input_modes = before.input_modes;
        hidden.output_modes = before.output_modes;
        hidden.control_modes = before.control_modes;
        tcsetattr(stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}
