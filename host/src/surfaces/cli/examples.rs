//! Examples of commands that stand in no file of their own. Each command shows some; each of them is one that parses.

use clap::Command;

/// The command by its words, and its examples.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "plugin list",
        "lazaret plugin list\nlazaret plugin list --json          with digests",
    ),
    (
        "plugin inspect",
        "lazaret plugin inspect web\nlazaret plugin inspect my-plugin.wasm",
    ),
    ("plugin check", "lazaret plugin check my-plugin.wasm"),
    (
        "plugin manifest",
        "lazaret plugin manifest web > web.json\nlazaret plugin manifest             of all that are installed",
    ),
    (
        "plugin diff",
        "lazaret plugin diff old.json new.wasm\nlazaret plugin diff web new.wasm --fail-on breaking",
    ),
    (
        "runs list",
        "lazaret runs list\nlazaret runs list --limit 5 --json",
    ),
    (
        "runs show",
        "lazaret runs show                   the newest run\nlazaret runs show 20260314 --json\nlazaret runs show last --audit",
    ),
    (
        "runs watch",
        "lazaret runs watch last\nlazaret runs watch last --from 12",
    ),
    (
        "runs verify",
        "lazaret runs verify last\nlazaret runs verify --all",
    ),
    (
        "runs export",
        "lazaret runs export last --output run.jsonl\nlazaret runs export last --format otlp",
    ),
    ("runs import", "lazaret runs import run.jsonl"),
    (
        "runs replay",
        "lazaret runs replay last\nlazaret runs replay last --until 2 --fork",
    ),
    (
        "runs resume",
        "lazaret runs resume\nlazaret runs resume 20260314",
    ),
    ("runs cancel", "lazaret runs cancel 20260314"),
    ("sessions list", "lazaret sessions list"),
    ("sessions show", "lazaret sessions show work"),
    ("ask list", "lazaret ask list\nlazaret ask list --json"),
    ("ask show", "lazaret ask show 3f9a01"),
    ("ask allow", "lazaret ask allow 3f9a01"),
    ("ask always", "lazaret ask always 3f9a01"),
    ("ask deny", "lazaret ask deny 3f9a01"),
    (
        "secret set",
        "lazaret secret set github\nlazaret secret set github < token.txt",
    ),
    ("secret list", "lazaret secret list"),
    ("secret remove", "lazaret secret remove github"),
    (
        "policy check",
        "lazaret policy check\nlazaret policy check --json",
    ),
    (
        "policy explain",
        "lazaret policy explain files.write\nlazaret policy explain --run last",
    ),
    (
        "policy trust",
        "lazaret policy trust\nlazaret policy trust --revoke",
    ),
    (
        "config show",
        "lazaret config show\nlazaret config show limits --origin",
    ),
    (
        "config schema",
        "lazaret config schema > lazaret.schema.json",
    ),
    (
        "man",
        "lazaret man                         the page of the program\nlazaret man man1                    those of all commands, into a folder",
    ),
];

/// The program with examples at each command that brings none.
#[must_use]
pub(super) fn taught(program: Command) -> Command {
    teach(program, "")
}

fn teach(command: Command, words: &str) -> Command {
    let found = EXAMPLES.iter().find(|(known, _)| *known == words);
    let command = match found {
        Some((_, examples)) if command.get_after_help().is_none() => {
            command.after_help(format!("Examples:\n  {}", examples.replace('\n', "\n  ")))
        }
        Some(_) | None => command,
    };
    let below: Vec<String> = command
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    below.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}").trim_start().to_owned();
        command.mut_subcommand(name, |one| teach(one, &words))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Arguments;
    use super::*;

    /// Every command that is shown, by its words.
    fn all() -> Vec<(String, Command)> {
        fn walk(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
            found.push((words.to_owned(), command.clone()));
            let below = command.get_subcommands();
            for one in below.filter(|one| !one.is_hide_set()) {
                walk(
                    one,
                    format!("{words} {}", one.get_name()).trim_start(),
                    found,
                );
            }
        }
        let mut found = Vec::new();
        walk(&taught(Arguments::command()), "", &mut found);
        found
    }

    /// The examples of a help text: its lines up to the next empty one, each from `lazaret` on.
    fn examples(command: &Command) -> Vec<String> {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let shown = help.split("Examples:\n").nth(1).unwrap_or_default();
        let lines = shown.lines().take_while(|line| line.starts_with("  "));
        lines
            .filter_map(|line| {
                line.find("lazaret ")
                    .and_then(|at| line.get(at..))
                    .map(str::to_owned)
            })
            .collect()
    }

    /// A line as a shell would take it apart, up to a redirection or two blanks, after which a remark stands.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        let mut letters = line.chars().peekable();
        while let Some(c) = letters.next() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
                (Some(_), c) => word.get_or_insert_default().push(c),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '<' | '>' | '|') => break,
                (None, ' ') => {
                    words.extend(word.take());
                    if letters.peek() == Some(&' ') {
                        break;
                    }
                }
                (None, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn every_command_shows_examples_and_each_of_them_parses() {
        let program = taught(Arguments::command());
        for (name, command) in all() {
            let shown = examples(&command);
            assert!(!shown.is_empty(), "`lazaret {name}` shows no examples");
            let own = format!("lazaret {name}");
            assert!(
                shown.iter().any(|line| line.starts_with(own.trim())),
                "{name}: {shown:?}"
            );
            for line in shown {
                let parsed = program.clone().try_get_matches_from(words(&line));
                let wrong = parsed.err().map(|error| error.to_string());
                assert_eq!(wrong, None, "{name}: {line}");
            }
        }
    }

    #[test]
    fn no_example_is_for_a_command_that_is_not_there() {
        let all: Vec<String> = all().into_iter().map(|(name, _)| name).collect();
        for (name, _) in EXAMPLES {
            assert!(all.iter().any(|known| known == name), "{name}");
        }
    }
}
