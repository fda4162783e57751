//! The files that are looked at: what people write, nothing that is built or fetched.

use crate::rule::{Finding, Rule};
use std::fs;
use std::path::Path;

/// One text file of the tree.
pub struct Source {
    /// Relative to the workspace, with `/` between its parts.
    pub path: String,
    pub text: String,
}

impl Source {
    pub fn finding(&self, rule: Rule, line: usize, message: impl Into<String>) -> Finding {
        Finding::new(rule, &self.path, line, message)
    }

    /// The path below `host/src`, for files of the host's library and program.
    pub fn in_host(&self) -> Option<&str> {
        self.path.strip_prefix("host/src/")
    }

    /// A file that only exists for tests, by the name that `mod tests;` gives it.
    pub fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }
}

const SKIPPED_FOLDERS: [&str; 4] = ["target", "dist", "node_modules", "__pycache__"];
const TEXT_ENDINGS: [&str; 10] = [
    ".rs", ".md", ".toml", ".sh", ".wit", ".yml", ".json", ".js", ".ts", ".py",
];
const TEXT_NAMES: [&str; 5] = ["Makefile", "LICENSE", "run", ".gitignore", ".editorconfig"];

/// Reads all text files below `root`, in a stable order.
pub fn read_tree(root: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    read_folder(root, "", &mut sources);
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn read_folder(folder: &Path, prefix: &str, sources: &mut Vec<Source>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let entry = entry.expect("a folder of the tree can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().expect("a file of the tree has a type");
        let path = format!("{prefix}{name}");
        let hidden = name.starts_with('.') && name != ".ci";
        if kind.is_dir() && !hidden && !SKIPPED_FOLDERS.contains(&name.as_str()) {
            read_folder(&entry.path(), &format!("{path}/"), sources);
        } else if kind.is_file() && is_text(&name) {
            // A file may vanish between the listing and the reading; an editor's copy does.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                sources.push(Source { path, text });
            }
        }
    }
}

fn is_text(name: &str) -> bool {
    TEXT_NAMES.contains(&name) || TEXT_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
