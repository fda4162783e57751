//! A copy of the tree in which the mutants live.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use syn::Attribute;

/// What the copy needs, to be built and tested.
const PARTS: [&str; 9] = [
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "host",
    "wit",
    "plugins",
    "sdk",
    "tests",
    "examples",
];
/// What is built, and the program that does this.
const SKIPPED: [&str; 2] = ["target", "mutants"];

/// Makes `tree` a copy of `root`, with other texts in some `files`. What has not changed stays untouched, so that it is
/// not built again.
pub fn mirror(root: &Path, tree: &Path, files: &BTreeMap<PathBuf, String>) -> io::Result<()> {
    let mut wanted = BTreeSet::new();
    for part in PARTS {
        list(root, Path::new(part), &mut wanted)?;
    }
    for path in &wanted {
        let bytes = match files.get(path) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(root.join(path))?,
        };
        write(&tree.join(path), &bytes)?;
    }
    let mut there = BTreeSet::new();
    for part in PARTS {
        list(tree, Path::new(part), &mut there)?;
    }
    for path in there.difference(&wanted) {
        fs::remove_file(tree.join(path))?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

/// All files of one part, below `root`.
fn list(root: &Path, part: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    if !root.join(part).is_dir() {
        found.insert(part.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(root.join(part))? {
        let name = entry?.file_name();
        if !SKIPPED.iter().any(|skipped| name == *skipped) {
            list(root, &part.join(name), found)?;
        }
    }
    Ok(())
}

/// All sources below `root` whose names begin with `below`, without tests and without those that begin with one of `others`.
pub fn sources(root: &Path, below: &str, others: &[&str]) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = format!("{below}{name}");
        if others.iter().any(|other| file.starts_with(other)) || name.starts_with("tests") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            found.extend(sources(root, &format!("{file}/"), others)?);
        } else if name.ends_with(".rs") {
            found.push(file);
        }
    }
    Ok(found)
}

/// Whether what has these attributes is there for tests alone.
pub fn is_test(attributes: &[Attribute]) -> bool {
    let tests =
        |one: &Attribute| one.meta.path().is_ident("cfg") || one.meta.path().is_ident("test");
    attributes.iter().any(tests)
}
