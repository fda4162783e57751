//! The mutants as they are written down, and the sources with all of them in.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{drops, flips};

/// The lists of those that nobody has written down.
const FLIPS: &str = "flips";
const DROPS: &str = "drops";
/// What wakes a mutant: its number.
pub const AWAKE: &str = "LAZARET_MUTANT";
/// Where a process writes down which it comes by: a file.
pub const REACHED: &str = "LAZARET_MUTANTS_REACHED";
/// The number of none.
pub const ASLEEP: usize = 0;
/// Stands for "this mutant is awake" in the text that is put in.
const MARK: &str = "MUTANT";
/// Where no mutant belongs: each would send a request, or let a guest do so.
const NEVER: [&str; 4] = [
    "edges/egress.rs",
    "edges/egress/names.rs",
    "rules/fetch",
    "gate.rs",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    mutant: Vec<Entry>,
}

/// One place, and what is put there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// What each one breaks: one for each mark in `to`, in order.
    about: Vec<String>,
    /// Below `host/src`.
    file: String,
    /// What stands there exactly once.
    from: String,
    to: String,
    /// What of `it` is asked first.
    #[serde(default)]
    tests: Vec<String>,
}

/// One way to break a rule.
pub struct Mutant {
    pub number: usize,
    pub about: String,
    /// Below `host/src`.
    pub file: String,
    /// The list it stands in.
    list: String,
    /// What of `it` is asked first.
    pub tests: Vec<String>,
}

impl Mutant {
    /// Whether it is a condition that nobody has written down.
    pub fn is_flip(&self) -> bool {
        self.list == FLIPS
    }

    /// Whether it is meant by this word.
    pub fn is(&self, only: &str) -> bool {
        [&self.about, &self.file, &self.list]
            .iter()
            .any(|text| text.contains(only))
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:3} {}: {}", self.number, self.file, self.about)
    }
}

/// All mutants, and every file that they change.
#[derive(Default)]
pub struct Planted {
    pub mutants: Vec<Mutant>,
    /// Below the root → as it is with them.
    pub files: BTreeMap<PathBuf, String>,
}

impl Planted {
    /// Reads `tests/mutants`, plants all of it, drops every join of labels, and flips every condition of the rules, that is
    /// not planted by then.
    ///
    /// # Errors
    /// A list of everything that does not match the sources.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut planted = Self::default();
        let mut wrong = Vec::new();
        for list in lists(root)? {
            let text = fs::read_to_string(&list).map_err(|why| why.to_string())?;
            let name = list.file_name().unwrap_or_default().to_string_lossy();
            let entries: Entries = toml::from_str(&text).map_err(|why| format!("{name}: {why}"))?;
            for entry in entries.mutant {
                if let Err(why) = planted.plant(root, &name, &entry) {
                    wrong.push(format!("{name}: {}: {why}", entry.about.join(", ")));
                }
            }
        }
        if !wrong.is_empty() {
            return Err(format!("these do not match:\n  {}", wrong.join("\n  ")));
        }
        for file in drops::files(root)? {
            planted.drop(root, &file)?;
        }
        for file in flips::files(root)? {
            planted.flip(root, &file)?;
        }
        let lib = planted.source(root, "lib.rs")?;
        // What the compiler thinks of them is of no interest.
        let lib = format!(
            "#![allow(warnings)]\n{lib}{}",
            switch(planted.mutants.len())
        );
        planted.files.insert(path_of("lib.rs"), lib);
        Ok(planted)
    }

    fn plant(&mut self, root: &Path, list: &str, entry: &Entry) -> Result<(), String> {
        if NEVER.iter().any(|never| entry.file.starts_with(never)) {
            return Err(format!("nothing is planted in {}", entry.file));
        }
        let source = self.source(root, &entry.file)?;
        let places = source.matches(&entry.from).count();
        if places != 1 {
            let (from, file) = (&entry.from, &entry.file);
            return Err(format!(
                "`{from}` stands {places} times in {file}, not once"
            ));
        }
        let source = source.replacen(&entry.from, &self.numbered(list, entry)?, 1);
        self.files.insert(path_of(&entry.file), source);
        Ok(())
    }

    fn flip(&mut self, root: &Path, file: &str) -> Result<(), String> {
        let source = self.source(root, file)?;
        let flips = flips::of(&source).map_err(|why| format!("{file}: {why}"))?;
        let abouts = flips.iter().map(|flip| flip.about.clone());
        let numbers = self.number(abouts, (file, FLIPS));
        let numbered: Vec<_> = numbers.zip(&flips).collect();
        self.files
            .insert(path_of(file), flips::planted(&source, &numbered));
        Ok(())
    }

    fn drop(&mut self, root: &Path, file: &str) -> Result<(), String> {
        let source = self.source(root, file)?;
        let drops = drops::of(&source).map_err(|why| format!("{file}: {why}"))?;
        if drops.is_empty() {
            return Ok(());
        }
        let abouts = drops.iter().map(|drop| drop.about.clone());
        let numbers = self.number(abouts, (file, DROPS));
        let numbered: Vec<_> = numbers.zip(&drops).collect();
        self.files
            .insert(path_of(file), drops::planted(&source, &numbered));
        Ok(())
    }

    /// Takes up what nobody has written down; gives the numbers.
    fn number(
        &mut self,
        abouts: impl Iterator<Item = String>,
        (file, list): (&str, &str),
    ) -> std::ops::RangeFrom<usize> {
        let first = self.mutants.len() + 1;
        for (number, about) in (first..).zip(abouts) {
            self.mutants.push(Mutant {
                number,
                about,
                file: file.to_owned(),
                list: list.to_owned(),
                tests: Vec::new(),
            });
        }
        first..
    }

    /// A file with what is planted in it so far.
    fn source(&self, root: &Path, file: &str) -> Result<String, String> {
        let path = path_of(file);
        match self.files.get(&path) {
            Some(source) => Ok(source.clone()),
            None => fs::read_to_string(root.join(path)).map_err(|why| format!("{file}: {why}")),
        }
    }

    /// The text of an entry, in which every mark asks for a number of its own.
    fn numbered(&mut self, list: &str, entry: &Entry) -> Result<String, String> {
        let mut parts = entry.to.split(MARK);
        let mut text = parts.next().unwrap_or_default().to_owned();
        let parts: Vec<&str> = parts.collect();
        let (marks, about) = (parts.len(), entry.about.len());
        if marks != about || marks == 0 {
            return Err(format!("{marks} marks and {about} descriptions"));
        }
        for (part, about) in parts.into_iter().zip(&entry.about) {
            let number = self.mutants.len() + 1;
            text.push_str(&format!("crate::mutant({number}){part}"));
            self.mutants.push(Mutant {
                number,
                about: about.clone(),
                file: entry.file.clone(),
                list: list.to_owned(),
                tests: entry.tests.clone(),
            });
        }
        Ok(text)
    }
}

fn path_of(file: &str) -> PathBuf {
    Path::new("host/src").join(file)
}

fn lists(root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join("tests/mutants");
    let listed = fs::read_dir(&folder).and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    });
    let mut lists: Vec<PathBuf> = listed.map_err(|why| format!("tests/mutants: {why}"))?;
    lists.sort();
    Ok(lists)
}

/// What each of so many mutants asks.
fn switch(mutants: usize) -> String {
    format!(
        r#"
/// Whether this mutant is awake.
pub(crate) fn mutant(number: usize) -> bool {{
    static AWAKE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let read = || std::env::var("{AWAKE}").ok()?.parse().ok();
    reached(number);
    *AWAKE.get_or_init(|| read().unwrap_or({ASLEEP})) == number
}}

/// Writes down, once for each process, that this mutant has been met.
fn reached(number: usize) {{
    use std::io::Write as _;
    use std::sync::atomic::{{AtomicBool, Ordering}};
    static MET: [AtomicBool; {mutants} + 1] = [const {{ AtomicBool::new(false) }}; {mutants} + 1];
    static FILE: std::sync::OnceLock<Option<std::fs::File>> = std::sync::OnceLock::new();
    let open = || {{
        let file = std::env::var_os("{REACHED}")?;
        std::fs::OpenOptions::new().create(true).append(true).open(file).ok()
    }};
    let Some(mut file) = FILE.get_or_init(open).as_ref() else {{ return }};
    if !MET[number].swap(true, Ordering::Relaxed) {{
        let _ = file.write_all(format!("{{number}}\n").as_bytes());
    }}
}}

/// What is joined, or nothing of it where this mutant is awake.
pub(crate) fn dropped<T: Default>(number: usize, value: &T) -> &T {{
    if mutant(number) {{ Box::leak(Box::default()) }} else {{ value }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: &str, from: &str, to: &str) -> Entry {
        Entry {
            about: vec!["one".to_owned()],
            file: file.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            tests: Vec::new(),
        }
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn why_not(file: &str, from: &str, to: &str) -> String {
        let mut planted = Planted::default();
        let done = planted.plant(&root(), "list.toml", &entry(file, from, to));
        done.expect_err("it is planted")
    }

    /// The lists are of these very sources: whoever changes a rule changes what breaks it.
    #[test]
    fn every_mutant_has_its_place() {
        let planted = Planted::read(&root()).unwrap_or_else(|why| panic!("{why}"));
        assert!(planted.mutants.len() > 50, "{}", planted.mutants.len());
        let numbers = planted.mutants.iter().map(|mutant| mutant.number);
        assert!(numbers.eq(1..=planted.mutants.len()));
    }

    #[test]
    fn what_stands_twice_or_never_is_no_place() {
        let why = why_not("lib.rs", "pub mod", "MUTANT");
        assert!(why.contains("`pub mod` stands 7 times in lib.rs"), "{why}");
        let why = why_not("lib.rs", "no such text", "MUTANT");
        assert!(why.contains("stands 0 times"), "{why}");
    }

    #[test]
    fn every_mark_is_described() {
        let why = why_not("lib.rs", "pub mod words;", "MUTANT MUTANT");
        assert_eq!(why, "2 marks and 1 descriptions");
        let why = why_not("lib.rs", "pub mod words;", "pub mod words;");
        assert_eq!(why, "0 marks and 1 descriptions");
    }

    #[test]
    fn where_requests_leave_nothing_is_planted() {
        for file in [
            "edges/egress.rs",
            "edges/egress/names.rs",
            "rules/fetch.rs",
            "gate.rs",
        ] {
            let why = why_not(file, "//!", "MUTANT");
            assert!(why.starts_with("nothing is planted"), "{why}");
        }
    }
}
