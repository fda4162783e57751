//! What is wrong with a file that says what cannot be said: the line and column of it, and the nearest key that there
//! is. Keys that nobody knows are told together, since one of them rarely comes alone.

use std::path::Path;

use serde::Deserialize as _;
use toml::de::{DeTable, DeValue, Deserializer};

use super::file::ConfigFile;
use super::{model, said};
use crate::words::error::Error;
use crate::words::near;

/// Keys that one error names beside its own.
const BESIDE: usize = 8;

/// Line, column, what is wrong, and the nearest key that there is; with a key that nobody knows, the others.
pub(super) fn explain(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let of_model = error.span().and_then(|span| model::wrong(text, span.start));
    let error = of_model.as_ref().unwrap_or(error);
    let first = explain_one(path, text, error);
    let beside = unknown_beside(text, error.clone());
    beside.into_iter().fold(first, Error::hint)
}

fn explain_one(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let at = error.span().map_or(0, |span| span.start);
    let (line, column) = place(text, at);
    let message = error.message();
    let key = said::key_at(text, at, message);
    let whole = key.clone().unwrap_or_default();
    let key = key.filter(|key| !message.starts_with(&format!("`{key} ")));
    let key = key.map_or(String::new(), |key| format!("`{key}`: "));
    let shown = Error::bad_input(format!(
        "`{}`, line {line}, column {column}: {key}{}",
        path.display(),
        said::said(message)
    ));
    match said::form(
        text.lines().nth(line - 1).unwrap_or_default(),
        (&whole, message),
    ) {
        Some(form) => shown.hint(form),
        None => with_nearest(shown, message),
    }
}

/// Line and column of a place in a text, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Other keys that nobody knows: the file is read again without those before. What else is wrong may come of a key
/// that is missing then, so that nothing else is told.
fn unknown_beside(text: &str, first: toml::de::Error) -> Vec<String> {
    let mut told = Vec::new();
    let Ok(mut tables) = DeTable::parse(text) else {
        return told;
    };
    let mut error = first;
    while let Some(at) = unknown_at(&error)
        && told.len() < BESIDE
        && remove(tables.get_mut(), at)
    {
        let Err(next) = ConfigFile::deserialize(Deserializer::from(tables.clone())) else {
            break;
        };
        if let Some(at) = unknown_at(&next) {
            let (line, _) = place(text, at);
            let what = said::said(next.message());
            told.push(match nearest(next.message()) {
                Some(key) => format!("line {line} likewise: did you mean `{key}`?"),
                None => format!("line {line} likewise: {what}"),
            });
        }
        error = next;
    }
    told
}

/// Where a key stands that nobody knows, if that is what is wrong.
fn unknown_at(error: &toml::de::Error) -> Option<usize> {
    let is_unknown = error.message().starts_with("unknown field ");
    error.span().filter(|_| is_unknown).map(|span| span.start)
}

/// Removes the key that stands at this place of the text, and says whether there was one.
fn remove(table: &mut DeTable<'_>, at: usize) -> bool {
    let key = table.keys().find(|key| key.span().start == at);
    match key.map(|key| key.get_ref().to_string()) {
        Some(key) => table.remove(key.as_str()).is_some(),
        None => table
            .iter_mut()
            .any(|(_, value)| remove_in(value.get_mut(), at)),
    }
}

fn remove_in(value: &mut DeValue<'_>, at: usize) -> bool {
    match value {
        DeValue::Table(table) => remove(table, at),
        DeValue::Array(values) => values
            .iter_mut()
            .any(|value| remove_in(value.get_mut(), at)),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => false,
    }
}

/// What is wrong with values that stand in no text, and the nearest key that there is.
pub(super) fn unplaced(message: &str) -> Error {
    with_nearest(Error::bad_input(said::said(message)), message)
}

fn with_nearest(error: Error, message: &str) -> Error {
    match nearest(message) {
        Some(key) => error.hint(format!("did you mean `{key}`?")),
        None => said::advice(message).into_iter().fold(error, Error::hint),
    }
}

/// From ``unknown field `a`, expected one of `b`, `c` `` the nearest to `a`.
fn nearest(message: &str) -> Option<String> {
    let mut words = message.split('`').skip(1).step_by(2);
    if !message.starts_with("unknown ") {
        return None;
    }
    let unknown = words.next()?;
    near::alike(unknown, words).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, says: &[&str]) {
        let path = Path::new("lazaret.toml");
        let error = toml::from_str::<ConfigFile>(text).map(|_| ()).unwrap_err();
        let error = explain(path, text, &error);
        let all = format!("{} {}", error.message(), error.hints().join(" "));
        for part in says {
            assert!(all.contains(part), "{part}: {all}");
        }
    }

    #[test]
    fn wrong_files_say_where_and_what_was_meant() {
        check(
            "[mount.docs]\npath = \"x\"\n",
            &["line 1", "no key `mount` here", "did you mean `mounts`?"],
        );
        check(
            "[mounts.docs]\npath = \"x\"\nacess = \"read\"\n",
            &["line 3", "did you mean `access`?"],
        );
        check(
            "[mounts.docs]\npath = \"x\"\naccess = \"reed\"\n",
            &["line 3", "did you mean `read`?"],
        );
        check(
            "[inbound]\nuntrusted = \"wrapp\"\n",
            &["line 2", "did you mean `wrap`?"],
        );
        check(
            "[limits]\ncpu_ms = \"long\"\n",
            &[
                "line 2, column 10: `limits.cpu_ms`: a whole number",
                "the text \"long\"",
            ],
        );
        check(
            "[limits]\nfuel = 1\n[limits]\ncpu_ms = 1\n",
            &["line 3", "write what is new into the one that is there"],
        );
        check("block = [\"a b\"]\n", &["line 1", "names no tools"]);
        check("a = \n", &["line 1"]);
        check(
            "[grants.\"x.y\"]\nfetch = [3]\n",
            &["line 2", "a URL, or a table"],
        );
    }

    #[test]
    fn a_form_that_is_wrong_is_shown_as_it_should_be() {
        check(
            "[secrets]\ngithub = \"x\"\n",
            &[
                "line 1",
                "secrets are never in this file: `lazaret secret set NAME` keeps one",
            ],
        );
        check(
            "[grants.files.read]\nmounts = { docs = \"read\" }\n",
            &[
                "line 1",
                "no key `read`",
                "quote the tools: `[grants.\"files.read\"]`",
            ],
        );
        check(
            "[grants.\"files.*\"]\nmounts = [\"docs\"]\n",
            &[
                "line 2",
                "a table is expected",
                "write it as `mounts = { docs = \"read\" }`",
            ],
        );
        check(
            "[grants.\"web.*\"]\nfetch = \"https://docs.rs/\"\n",
            &[
                "line 2",
                "a list is expected",
                "write it as `fetch = [\"https://docs.rs/\"]`",
            ],
        );
        check(
            "[grants.\"web.*\"]\nsecrets = [\"github\"]\n",
            &[
                "line 2",
                "a table is expected",
                "write it as `secrets = [{ name = \"github\", to = ",
            ],
        );
        check(
            "[mcp.m]\ncommand = \"python3 srv.py\"\n",
            &[
                "line 2",
                "write it as `command = [\"python3\", \"srv.py\"]`",
            ],
        );
        check(
            "ask = \"files.write\"\n",
            &["line 1", "write it as `ask = [\"files.write\"]`"],
        );
    }

    #[test]
    fn keys_that_nobody_knows_are_told_together() {
        check(
            "[mounts.docs]\npath = \"x\"\nacess = \"read\"\n\n[limit]\nfuel = 1\n\n[limits]\ncpu_m = 3\n",
            &[
                "line 3 likewise: did you mean `access`?",
                "line 5, column 2: there is no key `limit` here",
                "did you mean `limits`?",
                "line 9 likewise: did you mean `cpu_ms`?",
            ],
        );
        // One that is missing because it is written wrong is not told twice.
        let text = "[mounts.docs]\npaht = \"x\"\n";
        let error = toml::from_str::<ConfigFile>(text).map(|_| ()).unwrap_err();
        let error = explain(Path::new("lazaret.toml"), text, &error);
        assert_eq!(error.hints(), ["did you mean `path`?"]);
    }

    #[test]
    fn so_many_are_told_and_no_more() {
        let keys = (0..40).map(|number| format!("zzzzzz{number} = 1\n"));
        let text: String = keys.collect();
        let error = toml::from_str::<ConfigFile>(&text).map(|_| ()).unwrap_err();
        let error = explain(Path::new("lazaret.toml"), &text, &error);
        let beside = error.hints().iter();
        let beside = beside.filter(|hint| hint.contains("likewise"));
        assert_eq!(beside.count(), BESIDE);
    }
}
