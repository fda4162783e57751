//! Words that are no command: told like every other failure, in our own form and as JSON, whatever the library would say.

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::error::ErrorKind;
use regex::Regex;

use super::print;
use crate::words::error::Error;

/// How a failure begins in the library's words.
const ERROR: &str = "error: ";
const TIP: &str = "tip: ";
const USAGE: &str = "Usage: ";

/// What the library names stands between these.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("'([^'\n]*)'").ok());

/// Help and versions are what was asked for; all else is a failure.
pub(super) fn told(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A closed pipe is no reason to fail differently.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // What was asked for is not known yet, so that the word alone says it.
    let json = std::env::args_os().skip(1).any(|word| word == "--json");
    let is_empty = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_empty && !json {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let failure = match is_empty {
        true => Error::bad_input("a command is missing").hint("lazaret --help"),
        false => failure(&error.render().to_string()),
    };
    print::failure(&failure, json);
    ExitCode::from(failure.code().exit_status())
}

/// The library's words as an error of ours: its first paragraph, and what it proposes.
fn failure(text: &str) -> Error {
    let text = match &*NAMED {
        Some(named) => named.replace_all(text, "`$1`").into_owned(),
        None => text.to_owned(),
    };
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix(ERROR).unwrap_or(first);
    // What follows lists commands that are not for people too.
    let first = first.split("[subcommands:").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let what = words.join(" ");
    let tool = tool_in(&what).map(|tool| format!("to call a tool: lazaret call {tool}"));
    let mut error = Error::bad_input(what);
    if let Some(call) = tool {
        error = error.hint(call);
    }
    for line in text.lines().map(str::trim) {
        if let Some(tip) = line.strip_prefix(TIP) {
            error = error.hint(tip);
        }
        if let Some(usage) = line.strip_prefix(USAGE) {
            error = error.hint(format!("usage: {usage}; `--help` says more"));
        }
    }
    match error.hints() {
        [] => error.hint("`--help` says more"),
        _ => error,
    }
}

/// The tool that stands where a command belongs: no command has a dot in it.
fn tool_in(what: &str) -> Option<&str> {
    let word = what.strip_prefix("unrecognized subcommand `")?;
    word.strip_suffix('`').filter(|word| word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_where_a_command_belongs_is_called_by_another_word() {
        let hints = |word: &str| {
            let text = format!("error: unrecognized subcommand '{word}'\n\nUsage: lazaret\n");
            failure(&text).hints().to_vec()
        };
        assert_eq!(
            hints("files.list")[0],
            "to call a tool: lazaret call files.list"
        );
        assert_eq!(hints("files").len(), 1);
    }

    #[test]
    fn its_words_become_ours() {
        let text = "error: unrecognized subcommand 'cal'\n\n  tip: a similar subcommand exists: 'call'\n\n\
                    Usage: lazaret [OPTIONS] <COMMAND>\n\nFor more information, try '--help'.\n";
        let error = failure(text);
        assert_eq!(error.message(), "unrecognized subcommand `cal`");
        let hints = [
            "a similar subcommand exists: `call`",
            "usage: lazaret [OPTIONS] <COMMAND>; `--help` says more",
        ];
        assert_eq!(error.hints(), hints);
        let text = "error: 'lazaret' requires a subcommand but one was not provided\n  [subcommands: demo, init]\n\nUsage: lazaret\n";
        let message = "`lazaret` requires a subcommand but one was not provided";
        assert_eq!(failure(text).message(), message);
        let text = "error: the following required arguments were not provided:\n  <TOOL>\n\nUsage: lazaret call <TOOL>\n";
        let error = failure(text);
        let message = "the following required arguments were not provided: <TOOL>";
        assert_eq!(error.message(), message);
        assert_eq!(failure("").message(), "");
    }
}
