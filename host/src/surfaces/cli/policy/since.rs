//! What has changed in a file since it was trusted: every line of it that is another one, in the words of the file. A list of
//! what matters most would leave out what somebody else has counted on.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use toml::{Table, Value};

use super::super::print;
use crate::rules::advice::{key_of, written};
use crate::surfaces::config::file::ConfigFile;
use crate::surfaces::paint::phrase;
use crate::words::id::Digest;

/// Characters of a value that are shown; of a longer one, its digest says that it is another.
const SHOWN: usize = 200;

/// What has changed since a file was trusted, a line each.
#[derive(Debug, Serialize)]
pub(super) struct Since {
    new: BTreeSet<String>,
    gone: BTreeSet<String>,
}

impl Since {
    /// Between what it said and what it says.
    pub(super) fn between(said: &BTreeSet<String>, (file, path): (&ConfigFile, &Path)) -> Self {
        let now = lines(file, path);
        Self {
            new: now.difference(said).cloned().collect(),
            gone: said.difference(&now).cloned().collect(),
        }
    }

    /// Prints it, under what it is about.
    pub(super) fn say(&self) {
        if self.new.is_empty() && self.gone.is_empty() {
            print::line("since it was trusted last, no value in it has changed");
            return;
        }
        print::line("since it was trusted last:");
        for (sign, lines) in [("+", &self.new), ("-", &self.gone)] {
            for line in lines {
                print::marked_line(format!("  {sign} {}", phrase(line)));
            }
        }
    }
}

/// All that a file says, a line for each value, and of each file that it names what that is, to be compared with another time.
pub(in crate::surfaces::cli) fn lines(file: &ConfigFile, path: &Path) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(&file.bytes);
    let named = file
        .parts(path)
        .into_iter()
        .filter(|part| !part.what.is_empty());
    let mut all: BTreeSet<String> = named
        .map(|part| format!("{} ({})", part.what, part.digest))
        .collect();
    // It has been read: what is no TOML has no lines.
    if let Ok(table) = text.parse::<Table>() {
        of_table("", &table, &mut all);
    }
    all
}

/// The lines of a table that stands in these others.
pub(super) fn of_table(place: &str, table: &Table, all: &mut BTreeSet<String>) {
    if table.is_empty() && !place.is_empty() {
        all.insert(format!("[{place}]"));
    }
    for (key, value) in table {
        let key = key_of(key);
        let head = match place {
            "" => key.clone(),
            place => format!("[{place}] {key}"),
        };
        match (value, place) {
            (Value::Table(inner), "") => of_table(&key, inner, all),
            (Value::Table(inner), place) => of_table(&format!("{place}.{key}"), inner, all),
            (Value::Array(items), _) if written(value).chars().count() > SHOWN => {
                // What is added to a long list must not stand where nobody sees it.
                all.extend(items.iter().map(|item| format!("{head} has {}", cut(item))));
                let order = Digest::of(written(value).as_bytes());
                all.insert(format!("{head} in this order ({order})"));
            }
            (value, _) => {
                all.insert(format!("{head} = {}", cut(value)));
            }
        }
    }
}

/// A value on a line.
fn cut(value: &Value) -> String {
    let text = written(value);
    let start: String = text.chars().take(SHOWN).collect();
    match start.len() == text.len() {
        true => text,
        // Whole: of a short one, somebody could look for another text.
        false => format!("{start}… ({})", Digest::of(text.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(was: &str, now: &str) -> (Vec<String>, Vec<String>) {
        let file = |text: &str| ConfigFile {
            bytes: text.as_bytes().to_vec(),
            ..ConfigFile::default()
        };
        let path = Path::new("lazaret.toml");
        let since = Since::between(&lines(&file(was), path), (&file(now), path));
        let list = |lines: BTreeSet<String>| lines.into_iter().collect();
        (list(since.new), list(since.gone))
    }

    #[test]
    fn each_value_that_is_another_one_is_told() {
        for (was, now, new, gone) in [
            ("a = 1", "a = 1 # b", "", ""),
            ("a = 1\nb = 2", "b = 2\na = 1", "", ""),
            ("a = [1, 2]", "a = [2, 1]", "a = [2, 1]", "a = [1, 2]"),
            ("", "[grants.\"text.*\"]", "[grants.\"text.*\"]", ""),
            (
                "[mcp.m]\nenv = { A = \"b\" }",
                "[mcp.m.env]\nA = \"b\"\nLD_PRELOAD = \"x\\u202e.so\"",
                "[mcp.m.env] LD_PRELOAD = \"x\\u202E.so\"",
                "",
            ),
            (
                "[agents.a]\ninstructions = \"Be good.\"",
                "[agents.a]",
                "[agents.a]",
                "[agents.a] instructions = \"Be good.\"",
            ),
        ] {
            let list = |line: &str| match line {
                "" => Vec::new(),
                line => vec![line.to_owned()],
            };
            assert_eq!(since(was, now), (list(new), list(gone)), "{was} → {now}");
        }
    }

    #[test]
    fn nothing_hides_behind_what_is_long() {
        let long = "x".repeat(SHOWN);
        let (new, gone) = since(&format!("a = \"{long}y\""), &format!("a = \"{long}z\""));
        assert_eq!((new.len(), gone.len()), (1, 1));
        assert!(new[0].contains("… (") && new != gone, "{new:?}");
        let list = |more: &str| format!("a = [\"{long}\", \"b\"{more}]");
        let (new, gone) = since(&list(""), &list(", \"c\""));
        assert!(new.contains(&"a has \"c\"".to_owned()), "{new:?}");
        assert_eq!((new.len(), gone.len()), (2, 1), "{new:?} {gone:?}");
    }
}
