//! Files below the mounts that were granted.
//!
//! A path is relative to the mounts' common root and uses `/`; it has no `..` and no empty segment.
//! The empty path is the root.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bindings::lazaret::plugin::files as raw;
use crate::{Failure, Refusal};

/// How much is asked for at once when a whole file is read.
const CHUNK_BYTES: u32 = 1024 * 1024;

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Something else, such as a socket.
    Other,
}

/// Facts about a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Bytes in it.
    pub size: u64,
    /// Milliseconds since 1970, 0 where unknown.
    pub modified_ms: u64,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its name, without the folder.
    pub name: String,
    /// Facts about it, beside its name in JSON.
    #[serde(flatten)]
    pub stat: Stat,
}

/// What to do if there is a file already, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Fails if there is a file of that name.
    Create,
    /// Replaces the file of that name, or creates it.
    Replace,
    /// Adds to the end of the file, or creates it.
    Append,
}

impl From<raw::Facts> for Stat {
    fn from(facts: raw::Facts) -> Self {
        let kind = match facts.kind {
            raw::Kind::File => Kind::File,
            raw::Kind::Folder => Kind::Folder,
            raw::Kind::Link => Kind::Link,
            raw::Kind::Other => Kind::Other,
        };
        Self {
            kind,
            size: facts.size,
            modified_ms: facts.modified_ms,
        }
    }
}

/// The entries of a folder, in order of name.
pub fn list(path: &str) -> Result<Vec<Entry>, Refusal> {
    let entries = raw::list(path)?;
    let read = |entry: raw::Entry| Entry {
        name: entry.name,
        stat: entry.facts.into(),
    };
    Ok(entries.into_iter().map(read).collect())
}

/// Facts about a file or folder.
pub fn stat(path: &str) -> Result<Stat, Refusal> {
    Ok(raw::stat(path)?.into())
}

/// At most `length` bytes from `offset` on; fewer only at the end of the file.
pub fn read_at(path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Refusal> {
    Ok(raw::read(path, offset, length)?)
}

/// A whole file, which fails if it has more than `bytes_max` bytes.
pub fn read(path: &str, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        let chunk = read_at(path, bytes.len() as u64, CHUNK_BYTES)?;
        let last = chunk.len() < CHUNK_BYTES as usize;
        bytes.extend(chunk);
        if bytes.len() as u64 > bytes_max {
            return Err(Failure::new(format!(
                "`{path}` has more than {bytes_max} bytes"
            )));
        }
        if last {
            return Ok(bytes);
        }
    }
}

/// A whole file as text, which fails if it has more than `bytes_max` bytes or is not UTF-8.
pub fn read_text(path: &str, bytes_max: u64) -> Result<String, Failure> {
    String::from_utf8(read(path, bytes_max)?)
        .map_err(|_| Failure::new(format!("`{path}` is not a text in UTF-8")))
}

/// Writes a file, and the folders above it.
pub fn write(path: &str, bytes: &[u8], mode: Mode) -> Result<(), Refusal> {
    let mode = match mode {
        Mode::Create => raw::WriteMode::Create,
        Mode::Replace => raw::WriteMode::Replace,
        Mode::Append => raw::WriteMode::Append,
    };
    Ok(raw::write(path, bytes, mode)?)
}

/// Renames a file or folder; fails if there is something at the target, and across mounts.
pub fn rename(source: &str, target: &str) -> Result<(), Refusal> {
    Ok(raw::move_(source, target)?)
}

/// Removes a file, or an empty folder.
pub fn remove(path: &str) -> Result<(), Refusal> {
    Ok(raw::remove(path)?)
}
