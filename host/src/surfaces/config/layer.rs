//! Layers: what one place says, key by key, and how several of them become one.
//!
//! A place is a file, a variable, a flag, or a profile that comes with the program. Layers are laid one over
//! another as trees of values, before anything is made of them, so that each value keeps the place it was said at.
//! What is said later holds; lists of names and grants add up, so that no later layer takes a block back.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::file::ConfigFile;
use super::show::written;
use crate::words::error::{Error, Result};

/// A key with the tables that it stands in.
pub type Keys = Vec<String>;

/// Where something was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A profile of the program's own.
    Profile(&'static str),
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
    /// A flag, without its value.
    Flag(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "{name}"),
            Self::Flag(keys) => write!(f, "--set {keys}"),
        }
    }
}

/// Where a value was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The place.
    pub place: Place,
    /// The line, where the place has lines.
    pub line: Option<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.place),
            None => write!(f, "{}", self.place),
        }
    }
}

/// What one place says.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) place: Place,
    pub(super) table: Table,
    lines: BTreeMap<Keys, usize>,
}

/// Tables whose entries are things with names: a file that speaks of one defines it, whole.
const NAMED: [&[&str]; 6] = [
    &["agents"],
    &["mcp"],
    &["models"],
    &["mounts"],
    &["plugins"],
    &["flow", "tools"],
];

/// Lists that add up.
const ADDING: [&[&str]; 15] = [
    &["block"],
    &["ask"],
    &["confirmed"],
    &["permissions"],
    &["steps"],
    &["flow", "me"],
    &["flow", "vouch"],
    &["flow", "common"],
    &["flow", "release"],
    &["flow", "guards"],
    &["flow", "trust"],
    &["flow", "tools", "*", "vouch"],
    &["grants", "*", "fetch"],
    &["grants", "*", "calls"],
    &["grants", "*", "secrets"],
];

/// Values that are one thing, however deep.
const WHOLE: [&[&str]; 1] = [&["agents", "*", "answer"]];

/// Keys that hold a path.
const PATHS: [&[&str]; 6] = [
    &["mcp", "*", "folder"],
    &["plugins", "*"],
    &["plugins", "*", "path"],
    &["mounts", "*", "path"],
    &["models", "*", "script"],
    &["agents", "*", "answer_schema"],
];

/// Whether keys have this form, in which `*` is any name.
pub(super) fn is(keys: &[String], form: &[&str]) -> bool {
    keys.len() == form.len()
        && keys
            .iter()
            .zip(form)
            .all(|(key, form)| *form == "*" || key == form)
}

/// Whether what several places say at these keys adds up.
pub(super) fn adds_up(keys: &[String]) -> bool {
    ADDING.iter().any(|form| is(keys, form))
}

/// Whether a table defines the thing with these keys: what adds up is only added to what another place says of it.
fn is_definition(keys: &[String], table: &Table) -> bool {
    table.is_empty() || table.keys().any(|key| !adds_up(&below(keys, key)))
}

fn below(keys: &[String], key: &str) -> Keys {
    [keys, &[key.to_owned()]].concat()
}

/// The table and the name of the thing that these keys speak of, if it is one that has a name.
pub(super) fn named(keys: &[String]) -> Option<&[String]> {
    NAMED.iter().find_map(|table| {
        let above = keys.get(..table.len())?;
        is(above, table).then(|| keys.get(..=table.len()))?
    })
}

impl Layer {
    /// A text that has been read as a configuration.
    ///
    /// # Errors
    /// `BadInput` for a text that is none.
    pub(super) fn of_text(place: Place, text: &str) -> Result<Self> {
        let wrong =
            |error: toml::de::Error| Error::bad_input(format!("`{place}`: {}", error.message()));
        let table: Table = toml::from_str(text).map_err(wrong)?;
        let spans = DeTable::parse(text).map_err(wrong)?;
        let mut lines = BTreeMap::new();
        let ends = text.match_indices('\n').map(|(at, _)| at);
        let ends: Vec<usize> = ends.collect();
        find_lines(&ends, spans.get_ref(), &mut Vec::new(), &mut lines);
        Ok(Self {
            place,
            table,
            lines,
        })
    }

    /// The file of a configuration that was read.
    ///
    /// # Errors
    /// As [`Layer::of_text`].
    pub(super) fn of_file(path: &Path, file: &ConfigFile) -> Result<Self> {
        Self::of_text(
            Place::File(path.to_owned()),
            &String::from_utf8_lossy(&file.bytes),
        )
    }

    /// One value.
    pub(super) fn of_value(place: Place, keys: &[String], value: Value) -> Self {
        let mut names = keys.iter().rev();
        let last = names.next().cloned().unwrap_or_default();
        let leaf = Table::from_iter([(last, value)]);
        let table = names.fold(leaf, |table, name| {
            Table::from_iter([(name.clone(), Value::Table(table))])
        });
        Self {
            place,
            table,
            lines: BTreeMap::new(),
        }
    }

    /// Of this layer, what stands in these tables, or all else.
    pub(super) fn part(&self, keep: impl Fn(&[String]) -> bool) -> Self {
        let mut part = self.clone();
        retain(&mut part.table, &mut Vec::new(), &keep);
        part
    }

    /// Relative paths, which count from `folder`, are written out: the layer is going to be part of another.
    pub(super) fn at(mut self, folder: &Path) -> Self {
        write_out(&mut self.table, &mut Vec::new(), folder);
        self
    }

    /// Refuses a path that only a shell would understand: what it stands for is a folder of that name here.
    ///
    /// # Errors
    /// `BadInput` with the table and the key.
    pub(super) fn check_paths(&self) -> Result<()> {
        match of_home(&self.table, &mut Vec::new()).as_deref() {
            Some([tables @ .., key]) => {
                let what = format!(
                    "[{}]: `{key}` begins with `~`, which a shell writes out and this file does not",
                    written(tables)
                );
                Err(Error::bad_input(what)
                    .hint("write the whole path, or one from the folder of this file"))
            }
            Some([]) | None => Ok(()),
        }
    }

    /// A word at the top level.
    pub(super) fn word(&self, key: &str) -> Option<&str> {
        self.table.get(key).and_then(Value::as_str)
    }

    /// The keys of the first value.
    pub(super) fn keys(&self) -> Keys {
        let mut keys = Keys::new();
        let mut table = Some(&self.table);
        while let Some((key, value)) = table.and_then(|table| table.iter().next()) {
            keys.push(key.clone());
            table = value.as_table();
        }
        keys
    }

    fn origin(&self, keys: &[String]) -> Origin {
        Origin {
            place: self.place.clone(),
            line: self.line(keys),
        }
    }

    /// The line of a file on which these keys stand.
    pub(super) fn line(&self, keys: &[String]) -> Option<usize> {
        let is_file = matches!(self.place, Place::File(_));
        self.lines.get(keys).copied().filter(|_| is_file)
    }
}

/// On which line each key stands, by where lines end.
fn find_lines(
    ends: &[usize],
    table: &DeTable<'_>,
    keys: &mut Keys,
    lines: &mut BTreeMap<Keys, usize>,
) {
    for (key, value) in table {
        keys.push(key.get_ref().to_string());
        let before = ends.partition_point(|end| *end < key.span().start);
        lines.insert(keys.clone(), before + 1);
        if let DeValue::Table(table) = value.get_ref()
            && !WHOLE.iter().any(|form| is(keys, form))
        {
            find_lines(ends, table, keys, lines);
        }
        keys.pop();
    }
}

/// Keeps the leaves that are wanted.
fn retain(table: &mut Table, keys: &mut Keys, keep: &impl Fn(&[String]) -> bool) {
    table.retain(|key, value| {
        keys.push(key.to_owned());
        let kept = if let Value::Table(inner) = value
            && !inner.is_empty()
        {
            retain(inner, keys, keep);
            !inner.is_empty()
        } else {
            keep(keys)
        };
        keys.pop();
        kept
    });
}

/// The keys of the first path that begins in a home that nobody names.
fn of_home(table: &Table, keys: &mut Keys) -> Option<Keys> {
    table.iter().find_map(|(key, value)| {
        keys.push(key.to_owned());
        let found = match value {
            Value::Table(inner) => of_home(inner, keys),
            Value::String(path) => (PATHS.iter().any(|form| is(keys, form))
                && Path::new(path).starts_with("~"))
            .then(|| keys.clone()),
            Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => None,
        };
        keys.pop();
        found
    })
}

fn write_out(table: &mut Table, keys: &mut Keys, folder: &Path) {
    for (key, value) in table.iter_mut() {
        keys.push(key.to_owned());
        if let Value::Table(inner) = value {
            write_out(inner, keys, folder);
        } else if let Value::String(path) = value
            && PATHS.iter().any(|form| is(keys, form))
        {
            *path = folder.join(&path).display().to_string();
        }
        keys.pop();
    }
}

/// Layers laid one over another.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    table: Table,
    origins: BTreeMap<Keys, Vec<Origin>>,
}

impl Merged {
    /// Lays a file over what is there. What it says of a thing with a name is all that is said of it, beside what adds up.
    pub(super) fn lay_file(&mut self, layer: &Layer) {
        for form in NAMED {
            let mut table = Some(&layer.table);
            for name in form {
                table = table
                    .and_then(|table| table.get(*name))
                    .and_then(Value::as_table);
            }
            for (name, thing) in table.into_iter().flatten() {
                let keys: Keys = form.iter().map(|name| (*name).to_owned()).collect();
                self.define(&below(&keys, name), thing);
            }
        }
        self.lay(layer);
    }

    /// Lays a layer over what is there, key by key.
    pub(super) fn lay(&mut self, layer: &Layer) {
        // Whoever names a collector says all of how it is told: no header of another place goes there.
        let traces = layer.table.get("traces").and_then(Value::as_table);
        if traces.is_some_and(|traces| traces.contains_key("endpoint")) {
            for key in ["headers", "private"] {
                self.forget(&["traces".to_owned(), key.to_owned()]);
            }
        }
        let mut table = std::mem::take(&mut self.table);
        self.lay_table(&mut table, &layer.table, &mut Vec::new(), layer);
        self.table = table;
    }

    fn lay_table(&mut self, into: &mut Table, table: &Table, keys: &mut Keys, layer: &Layer) {
        for (key, value) in table {
            keys.push(key.clone());
            match (into.get_mut(key), value) {
                (Some(Value::Table(below)), Value::Table(above))
                    if !WHOLE.iter().any(|form| is(keys, form)) =>
                {
                    self.lay_table(below, above, keys, layer);
                }
                (Some(Value::Array(below)), Value::Array(above)) if adds_up(keys) => {
                    below.extend(above.iter().cloned());
                    let origins = self.origins.entry(keys.clone()).or_default();
                    origins.push(layer.origin(keys));
                }
                _ => {
                    self.forget_origins(keys);
                    self.told(keys, value, layer);
                    into.insert(key.clone(), value.clone());
                }
            }
            keys.pop();
        }
    }

    /// Notes where each leaf of a value was said.
    fn told(&mut self, keys: &mut Keys, value: &Value, layer: &Layer) {
        if let Value::Table(table) = value
            && !WHOLE.iter().any(|form| is(keys, form))
        {
            for (key, value) in table {
                keys.push(key.clone());
                self.told(keys, value, layer);
                keys.pop();
            }
            return;
        }
        self.origins.insert(keys.clone(), vec![layer.origin(keys)]);
    }

    /// Forgets what is said of a thing that is defined anew.
    fn define(&mut self, keys: &[String], thing: &Value) {
        let table = thing.as_table();
        if table.is_some_and(|table| !is_definition(keys, table)) {
            return;
        }
        let known = self.value(keys).and_then(Value::as_table);
        let known = known.into_iter().flat_map(Table::keys);
        let known: Vec<Keys> = known.map(|key| below(keys, key)).collect();
        for keys in known.iter().filter(|keys| !adds_up(keys)) {
            self.forget(keys);
        }
    }

    fn forget(&mut self, keys: &[String]) {
        self.forget_origins(keys);
        let Some((last, tables)) = keys.split_last() else {
            return;
        };
        let mut table = Some(&mut self.table);
        for name in tables {
            table = table
                .and_then(|table| table.get_mut(name))
                .and_then(Value::as_table_mut);
        }
        if let Some(table) = table {
            table.remove(last);
        }
    }

    fn forget_origins(&mut self, keys: &[String]) {
        let from = self.origins.range(keys.to_vec()..);
        let below = from.take_while(|(known, _)| known.starts_with(keys));
        let below: Vec<Keys> = below.map(|(known, _)| known.clone()).collect();
        for known in below {
            self.origins.remove(&known);
        }
    }

    /// Whether anything is said below these keys.
    pub(super) fn has(&self, keys: &[String]) -> bool {
        let mut value = None;
        let mut table = Some(&self.table);
        for key in keys {
            value = table.and_then(|table| table.get(key));
            table = value.and_then(Value::as_table);
        }
        value.is_some()
    }

    /// Whether the thing with these keys is defined here, and not only added to.
    pub(super) fn defines(&self, keys: &[String]) -> bool {
        match self.value(keys).and_then(Value::as_table) {
            Some(table) => is_definition(keys, table),
            None => self.has(keys),
        }
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// What is said, leaf by leaf, and where.
    pub fn leaves(&self) -> impl Iterator<Item = (&Keys, &[Origin])> {
        self.origins
            .iter()
            .map(|(keys, origins)| (keys, origins.as_slice()))
    }

    /// The value at these keys.
    #[must_use]
    pub fn value(&self, keys: &[String]) -> Option<&Value> {
        let (last, tables) = keys.split_last()?;
        let mut table = &self.table;
        for name in tables {
            table = table.get(name)?.as_table()?;
        }
        table.get(last)
    }

    /// Where the value at these keys was said.
    #[must_use]
    pub fn origins(&self, keys: &[String]) -> &[Origin] {
        self.origins.get(keys).map_or(&[], Vec::as_slice)
    }

    /// As a configuration.
    ///
    /// # Errors
    /// `BadInput` for a key or value that is none.
    pub(super) fn file(&self) -> Result<ConfigFile> {
        ConfigFile::deserialize(self.table.clone())
            .map_err(|error| super::faults::unplaced(error.message()))
    }
}
