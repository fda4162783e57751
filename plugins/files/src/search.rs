//! `files.search`: lines of files that match a regular expression.

use lazaret_sdk::files::Kind;
use lazaret_sdk::prelude::*;
use regex::{Regex, RegexBuilder};

use crate::glob;
use crate::tree::{self, Mounts, Tree};

const PATTERN_BYTES_MAX: usize = 2000;
const PROGRAM_BYTES_MAX: usize = 1024 * 1024;
const MATCHES_MAX: usize = 1000;
const FILES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 32;
/// The host takes no path of more names: what lies in a folder of so many cannot be asked for.
const NAMES_MAX: usize = 64;
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const READ_BYTES_MAX: u64 = 128 * 1024 * 1024;
const LINE_CHARACTERS_MAX: usize = 400;
const PASSED_OVER_MAX: usize = 5;
const CHUNK_BYTES: u32 = 1024 * 1024;

/// What was found.
#[value]
#[derive(PartialEq, Eq)]
pub struct Found {
    /// The matching lines, in order of path and line.
    pub matches: Vec<Match>,
    /// How many files were searched.
    pub files: usize,
    /// How many files were passed over because they are too large, or not text in UTF-8.
    pub skipped: usize,
    /// The first of these files, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<PassedOver>,
    /// Whether the search stopped at a limit: narrow the folder, the glob or the pattern.
    pub truncated: bool,
}

/// A file that was not searched.
#[value]
#[derive(PartialEq, Eq)]
pub struct PassedOver {
    /// The file.
    pub path: String,
    /// Why not.
    pub reason: String,
}

/// A line that matches.
#[value]
#[derive(PartialEq, Eq)]
pub struct Match {
    /// The file.
    pub path: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// The line, shortened if it is very long.
    pub text: String,
}

/// Finds the lines that match a regular expression in all files below a folder.
///
/// The syntax is that of RE2 and Rust: no look-around, no back-references. Files that are not UTF-8
/// or larger than 4 MiB are passed over.
#[tool(
    effect = "read-only",
    risk = "read_only",
    mounts = "read",
    timeout_ms = 120000,
    example(
        title = "calls that may panic",
        args = r#"{"pattern": "unwrap\\(", "path": "src", "glob": "*.rs"}"#
    ),
    example(
        title = "a name, in any case",
        args = r#"{"pattern": "\\bada\\b", "ignore_case": true}"#
    )
)]
pub fn search(
    /// The regular expression; a match never spans lines.
    pattern: String,
    /// The folder to search; the root if left out.
    #[default(String::new())]
    path: String,
    /// Which files to search: `*.md` by name, or `docs/**/*.md` by path below the folder.
    glob: Option<String>,
    /// Whether `a` also matches `A`.
    #[default(false)]
    ignore_case: bool,
    /// How many lines to return, at most 1000.
    #[default(100)]
    limit: usize,
) -> Result<Found, Failure> {
    if pattern.len() > PATTERN_BYTES_MAX {
        bad_input!(
            "the pattern has {} bytes, at most {PATTERN_BYTES_MAX} are taken",
            pattern.len()
        );
    }
    let pattern = RegexBuilder::new(&pattern)
        .case_insensitive(ignore_case)
        .size_limit(PROGRAM_BYTES_MAX)
        .build()
        .or_bad_input("the pattern is no regular expression that can be used")?;
    let limit = limit.clamp(1, MATCHES_MAX);
    let found = Search::new(&Mounts, &pattern, glob.as_deref(), limit).run(&path);
    found.map_err(|failure| tree::no_folder(&path).unwrap_or(failure))
}

struct Search<'a, T> {
    tree: &'a T,
    pattern: &'a Regex,
    glob: Option<&'a str>,
    limit: usize,
    bytes_read: u64,
    found: Found,
}

impl<'a, T: Tree> Search<'a, T> {
    fn new(tree: &'a T, pattern: &'a Regex, glob: Option<&'a str>, limit: usize) -> Self {
        let found = Found {
            matches: Vec::new(),
            files: 0,
            skipped: 0,
            passed_over: Vec::new(),
            truncated: false,
        };
        Self {
            tree,
            pattern,
            glob,
            limit,
            bytes_read: 0,
            found,
        }
    }

    fn run(mut self, folder: &str) -> Result<Found, Failure> {
        // A refusal of the folder that was asked for is a failure; one below it passes that folder
        // over.
        let entries = self.tree.list(folder)?;
        let mut waiting = vec![(String::new(), entries)];
        while let Some((below, entries)) = waiting.pop() {
            let mut folders = Vec::new();
            for entry in entries {
                let path = join(&below, &entry.name);
                match entry.stat.kind {
                    Kind::Folder if is_too_deep(folder, &path) => self.found.truncated = true,
                    Kind::Folder => folders.push(path),
                    Kind::File => self.visit(folder, &path, entry.stat.size),
                    Kind::Link | Kind::Other => {}
                }
                if self.found.truncated {
                    return Ok(self.found);
                }
            }
            for path in folders.into_iter().rev() {
                if let Ok(entries) = self.tree.list(&join(folder, &path)) {
                    waiting.push((path, entries));
                }
            }
        }
        Ok(self.found)
    }

    fn visit(&mut self, folder: &str, path: &str, size: u64) {
        if self.glob.is_some_and(|pattern| !glob::fits(pattern, path)) {
            return;
        }
        if self.found.files >= FILES_MAX
            || self.bytes_read + size.min(FILE_BYTES_MAX) > READ_BYTES_MAX
        {
            self.found.truncated = true;
            return;
        }
        let path = join(folder, path);
        match self.text_of(&path, size) {
            Ok(text) => self.scan(&path, &text),
            Err(reason) => self.pass_over(path, reason),
        }
    }

    fn pass_over(&mut self, path: String, reason: &str) {
        self.found.skipped += 1;
        if self.found.passed_over.len() < PASSED_OVER_MAX {
            let reason = reason.to_owned();
            self.found.passed_over.push(PassedOver { path, reason });
        }
    }

    /// The text of a file, or why it has none to search.
    fn text_of(&mut self, path: &str, size: u64) -> Result<String, &'static str> {
        if size > FILE_BYTES_MAX {
            return Err("it is larger than 4 MiB");
        }
        let mut bytes = Vec::new();
        loop {
            let chunk = self.tree.read(path, bytes.len() as u64, CHUNK_BYTES);
            let chunk = chunk.map_err(|_| "it cannot be read")?;
            if chunk.is_empty() {
                break;
            }
            bytes.extend(chunk);
            // The file may have grown since it was listed.
            if bytes.len() as u64 >= size || bytes.len() as u64 > FILE_BYTES_MAX {
                break;
            }
        }
        self.bytes_read += bytes.len() as u64;
        let text = String::from_utf8(bytes).ok();
        text.filter(|text| !text.contains('\0'))
            .ok_or("it is not text in UTF-8")
    }

    fn scan(&mut self, path: &str, text: &str) {
        self.found.files += 1;
        for (at, line) in text.lines().enumerate() {
            if !self.pattern.is_match(line) {
                continue;
            }
            if self.found.matches.len() == self.limit {
                self.found.truncated = true;
                return;
            }
            self.found.matches.push(Match {
                path: path.to_owned(),
                line: at + 1,
                text: shorten(line),
            });
        }
    }
}

fn is_too_deep(folder: &str, path: &str) -> bool {
    let names = |path: &str| path.split('/').count();
    names(path) >= DEPTH_MAX || names(&join(folder, path)) >= NAMES_MAX
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake::Map;

    fn find(folder: &str, glob: Option<&str>, limit: usize) -> Result<Found, Failure> {
        let tree = Map::new(&[
            ("a.md", b"tea\nmilk\ntea"),
            ("b/c.md", b"more tea"),
            ("b/d.rs", b"// tea"),
            ("b/e/f.rs", b"tea"),
            ("z.bin", b"tea\0"),
            ("z.txt", b"\xfftea"),
        ]);
        let pattern = Regex::new("tea").unwrap();
        Search::new(&tree, &pattern, glob, limit).run(folder)
    }

    fn check(folder: &str, glob: Option<&str>, expected: &[(&str, usize)]) {
        let found = find(folder, glob, 100).unwrap();
        let got: Vec<_> = found
            .matches
            .iter()
            .map(|found| (found.path.as_str(), found.line))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn files_below_a_folder_are_searched() {
        check(
            "",
            None,
            &[
                ("a.md", 1),
                ("a.md", 3),
                ("b/c.md", 1),
                ("b/d.rs", 1),
                ("b/e/f.rs", 1),
            ],
        );
        check("b", None, &[("b/c.md", 1), ("b/d.rs", 1), ("b/e/f.rs", 1)]);
        check("", Some("*.rs"), &[("b/d.rs", 1), ("b/e/f.rs", 1)]);
        check("b", Some("e/*.rs"), &[("b/e/f.rs", 1)]);
    }

    #[test]
    fn what_is_no_text_is_skipped_and_told() {
        let found = find("", None, 100).unwrap();
        assert_eq!((found.files, found.skipped, found.truncated), (4, 2, false));
        let told: Vec<_> = found
            .passed_over
            .iter()
            .map(|one| (one.path.as_str(), one.reason.as_str()))
            .collect();
        let why = "it is not text in UTF-8";
        assert_eq!(told, [("z.bin", why), ("z.txt", why)]);
    }

    #[test]
    fn the_first_few_that_are_too_large_are_named() {
        let large = vec![b'a'; FILE_BYTES_MAX as usize + 1];
        let names: Vec<String> = (0..9).map(|name| format!("{name}.log")).collect();
        let files: Vec<(&str, &[u8])> = names
            .iter()
            .map(|name| (name.as_str(), large.as_slice()))
            .collect();
        let tree = Map::new(&files);
        let pattern = Regex::new("a").unwrap();
        let found = Search::new(&tree, &pattern, None, 1).run("").unwrap();
        assert_eq!(
            (found.skipped, found.passed_over.len()),
            (9, PASSED_OVER_MAX)
        );
        assert_eq!(found.passed_over[0].reason, "it is larger than 4 MiB");
        let whole = find("b", None, 100).unwrap();
        let told = json!(whole);
        assert!(told.get("passed_over").is_none(), "{told}");
    }

    #[test]
    fn limits_are_told() {
        let found = find("", None, 2).unwrap();
        assert_eq!((found.matches.len(), found.truncated), (2, true));
    }

    #[test]
    fn what_lies_too_deep_is_told() {
        let deep = |names: usize| vec!["d"; names].join("/");
        let pattern = Regex::new("tea").unwrap();
        for (folders, from, expected) in [
            (31, 0, false),
            (32, 0, true),
            (63, 40, false),
            (64, 40, true),
        ] {
            let file = format!("{}/a.md", deep(folders));
            let tree = Map::new(&[(file.as_str(), b"tea")]);
            let found = Search::new(&tree, &pattern, None, 9).run(&deep(from));
            let found = found.unwrap();
            let (truncated, matches) = (found.truncated, found.matches.len());
            assert_eq!((truncated, matches == 0), (expected, expected), "{file}");
        }
    }

    #[test]
    fn a_missing_folder_is_a_failure() {
        assert!(find("x", None, 1).is_err());
    }
}
