//! Again: how this program is called so that it looks where this process has looked.
//!
//! Hints name commands: what answers a question, goes on with a run, shows it. With `--config` they would look into
//! another journal than the one that the hint is about, so they carry it; and what was said by `--set` is lost on a run
//! that goes on in another process, unless it is said again.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use crate::rules::flow::shell_word;

/// Commands that look into the journal, or at the configuration.
const LOOKING: [&str; 9] = [
    "ask", "config", "plugin", "policy", "runs", "secret", "servers", "sessions", "tools",
];

/// What this process was told, once it was told something.
static SAID: OnceLock<Said> = OnceLock::new();

/// What has to be said again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    /// `--config FILE`, for a shell; empty where none was named.
    config: String,
    /// `--set KEY=VALUE`, likewise.
    set: String,
}

impl Said {
    fn new(config: Option<&Path>, set: &[String]) -> Self {
        let config = config.map(|path| shell_word(&path.display().to_string()));
        let set = set
            .iter()
            .map(|said| format!(" --set {}", shell_word(said)));
        Self {
            config: config.map_or_else(String::new, |path| format!(" --config {path}")),
            set: set.collect(),
        }
    }

    /// What goes before these words of a command.
    fn before(&self, rest: &str) -> Option<String> {
        let word = rest.split([' ', '`']).next().unwrap_or_default();
        let looks = LOOKING.contains(&word);
        let set = if rest.starts_with("runs resume") {
            self.set.as_str()
        } else {
            ""
        };
        let said = format!("{}{set}", self.config);
        (looks && !said.is_empty()).then_some(said)
    }

    fn completed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const NAME: &str = "lazaret";
        // Whoever wrote it has thought of it.
        if *self == Self::default() || text.contains("--config ") {
            return Cow::Borrowed(text);
        }
        let mut made = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(NAME) {
            made.push_str(before);
            made.push_str(NAME);
            let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || "./-_".contains(c));
            if let Some(command) = after.strip_prefix(' ').filter(|_| is_word)
                && let Some(said) = self.before(command)
            {
                made.push_str(&said);
            }
            rest = after;
        }
        made.push_str(rest);
        Cow::Owned(made)
    }
}

/// Keeps what this process was told, for [`hint`]. Where models may read its words (`mcp`, `serve`), where the file lies is
/// not told: who started the process knows.
pub(super) fn remember(folder: &Path, (config, set): (Option<&Path>, &[String]), models: bool) {
    let config = config.map(|path| match path.file_name() {
        Some(name) if models => Path::new("…").join(name),
        Some(_) | None => folder.join(path),
    });
    // Said once, before anything else is done.
    let _ = SAID.set(Said::new(config.as_deref(), set));
}

/// Words of ours with commands in them, completed so that each looks where this process has looked.
pub(super) fn hint(text: &str) -> Cow<'_, str> {
    match SAID.get() {
        Some(said) => said.completed(text),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Said {
        let set = ["flow.mode=shadow".to_owned(), "a.b=x y".to_owned()];
        Said::new(Some(Path::new("/my ws/other.toml")), &set)
    }

    #[test]
    fn a_command_carries_the_file_and_one_that_goes_on_what_was_set() {
        let at = "lazaret --config '/my ws/other.toml'";
        for (text, expected) in [
            ("lazaret ask allow 3f9a", format!("{at} ask allow 3f9a")),
            (
                "`lazaret ask list` shows them",
                format!("`{at} ask list` shows them"),
            ),
            (
                "lazaret ask show 1, lazaret ask allow 1",
                format!("{at} ask show 1, {at} ask allow 1"),
            ),
            (
                "go on with it: lazaret runs resume R",
                format!("go on with it: {at} --set flow.mode=shadow --set 'a.b=x y' runs resume R"),
            ),
        ] {
            assert_eq!(said().completed(text), expected);
        }
    }

    #[test]
    fn what_looks_nowhere_or_is_no_command_is_left_as_it_is() {
        for text in [
            "lazaret init",
            "write in `lazaret.toml`:",
            "/opt/lazaret runs on",
            "lazaret policy trust --config /x",
        ] {
            assert_eq!(said().completed(text), text);
        }
        let none = Said::new(None, &[]);
        assert_eq!(none.completed("lazaret ask list"), "lazaret ask list");
    }
}
