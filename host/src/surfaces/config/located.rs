//! Where in a file it stands that is wrong, of what is found only once all files are laid together.
//!
//! Such an error names its table and perhaps its key, as `[table]` and `` `key` ``; the layers know on which line these
//! stand. An error that names none, or a table of no file, stays as it is.

use std::path::Path;

use toml::{Table, Value};

use super::layer::Layer;
use super::resolve::renamed;
use crate::words::error::Error;

/// The error with the line that it is about, where that is known.
pub(super) fn located(files: &[(&Path, &Layer)], error: &Error) -> Option<Error> {
    let message = error.message();
    let named = |path: &Path| {
        let quoted = message.strip_prefix(&format!("`{}`: ", path.display()));
        quoted.or_else(|| message.strip_prefix(&format!("{}: ", path.display())))
    };
    let of_one = files.iter().find_map(|(path, layer)| {
        let rest = named(path)?;
        Some((*path, line_of(layer, rest)?, rest))
    });
    let found = of_one.or_else(|| {
        // Nothing says which file it is: then it is the only one that has the key.
        let mut lines = files
            .iter()
            .filter(|_| message.starts_with('['))
            .filter_map(|(path, layer)| Some((*path, line_of(layer, message)?, message)));
        let first = lines.next()?;
        lines.next().is_none().then_some(first)
    });
    let (path, line, rest) = found?;
    let what = format!("`{}`, line {line}: {rest}", path.display());
    Some(renamed(what, error))
}

/// The file that alone has these keys, and the line on which they stand.
pub(super) fn only_line<'f>(
    files: &[(&'f Path, &Layer)],
    keys: &[String],
) -> Option<(&'f Path, usize)> {
    let mut lines = files
        .iter()
        .filter_map(|(path, layer)| Some((*path, layer.line(keys)?)));
    let first = lines.next()?;
    lines.next().is_none().then_some(first)
}

/// The line of the key that a sentence names, or of its table.
fn line_of(layer: &Layer, sentence: &str) -> Option<usize> {
    let (table, rest) = sentence.strip_prefix('[')?.split_once(']')?;
    let keys = keys_of(table)?;
    let words = rest.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    let key = words.filter(|word| !word.is_empty()).find_map(|word| {
        let mut keys = keys.clone();
        keys.push(word.to_owned());
        layer.line(&keys)
    });
    key.or_else(|| layer.line(&keys))
}

/// The keys of a table as it is written.
fn keys_of(table: &str) -> Option<Vec<String>> {
    let parsed: Table = toml::from_str(&format!("[{table}]")).ok()?;
    let mut keys = Vec::new();
    let mut inner = Some(parsed);
    while let Some((key, value)) = inner.take().and_then(|table| table.into_iter().next()) {
        keys.push(key);
        inner = match value {
            Value::Table(table) => Some(table),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => None,
        };
    }
    (!keys.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::layer::Place;
    use super::*;

    fn check(message: &str, expected: &str) {
        let text = "block = []\n[mounts.docs]\npath = \"docs\"\nquota_mib = 0\n[grants.\"a.*\"]\nnotes = \"read\"\n";
        let path = PathBuf::from("/w/lazaret.toml");
        let layer = Layer::of_text(Place::File(path.clone()), text).unwrap();
        let error = Error::bad_input(message).hint("h");
        let told = located(&[(&path, &layer)], &error);
        let message = told.as_ref().map_or(message, |error| error.message());
        assert_eq!(message, expected);
        assert!(told.is_none_or(|error| error.hints() == ["h"]));
    }

    #[test]
    fn what_is_found_late_still_has_a_line() {
        check(
            "`/w/lazaret.toml`: [mounts.docs]: `quota_mib` is not between 1 and 9",
            "`/w/lazaret.toml`, line 4: [mounts.docs]: `quota_mib` is not between 1 and 9",
        );
        check(
            "`/w/lazaret.toml`: [mounts.docs]: it is odd",
            "`/w/lazaret.toml`, line 2: [mounts.docs]: it is odd",
        );
        check(
            "/w/lazaret.toml: [grants.\"a.*\"] is odd",
            "`/w/lazaret.toml`, line 5: [grants.\"a.*\"] is odd",
        );
        check(
            "[grants.\"a.*\"]: `notes` is odd",
            "`/w/lazaret.toml`, line 6: [grants.\"a.*\"]: `notes` is odd",
        );
        for elsewhere in [
            "`/w/lazaret.toml`: [limits]: `fuel` is odd",
            "`/other.toml`: [mounts.docs]: it is odd",
            "`--set mounts.docs.quota_mib`: it is odd",
            "it is odd",
        ] {
            check(elsewhere, elsewhere);
        }
    }
}
