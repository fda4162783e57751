//! `files.list` and `files.stat`: what there is.

use lazaret_sdk::files::{Entry, Stat};
use lazaret_sdk::prelude::*;

use crate::tree;

const LISTED_MAX: usize = 2000;

/// What is in a folder.
#[value]
pub struct Listing {
    /// The entries, in order of name.
    pub entries: Vec<Entry>,
    /// How many entries the folder has in all.
    pub total: usize,
    /// Whether there are more than are listed.
    pub truncated: bool,
}

/// Lists the files and folders in a folder, with kind, size and time of change.
#[tool(
    effect = "read-only",
    risk = "read_only",
    mounts = "read",
    tier = "fast",
    example(title = "the root", args = r#"{}"#),
    example(title = "a folder", args = r#"{"path": "reports/2026"}"#)
)]
pub fn list(
    /// The folder; the root if left out.
    #[default(String::new())]
    path: String,
    /// How many entries to return, at most 2000.
    #[default(500)]
    limit: usize,
) -> Result<Listing, Failure> {
    let entries = files::list(&path);
    let mut entries = entries
        .map_err(|refusal| tree::no_folder(&path).unwrap_or_else(|| Failure::from(refusal)))?;
    let total = entries.len();
    entries.truncate(limit.min(LISTED_MAX));
    Ok(Listing {
        truncated: entries.len() < total,
        entries,
        total,
    })
}

/// Tells kind, size and time of change of one file or folder.
#[tool(
    effect = "read-only",
    risk = "read_only",
    mounts = "read",
    tier = "fast",
    example(title = "a file", args = r#"{"path": "reports/2026/sales.csv"}"#)
)]
pub fn stat(
    /// The file or folder.
    path: String,
) -> Result<Stat, Failure> {
    Ok(files::stat(&path)?)
}
