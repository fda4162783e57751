//! Where files come from: the host's mounts or, in tests, a map.

use lazaret_sdk::files::{self, Entry, Kind};
use lazaret_sdk::prelude::*;

/// What can be listed and read.
pub(crate) trait Tree {
    /// The entries of a folder, in order of name.
    fn list(&self, path: &str) -> Result<Vec<Entry>, Refusal>;
    /// At most `length` bytes from `offset` on; fewer only at the end of the file.
    fn read(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Refusal>;
}

/// The files that the host shows.
pub(crate) struct Mounts;

impl Tree for Mounts {
    fn list(&self, path: &str) -> Result<Vec<Entry>, Refusal> {
        files::list(path)
    }

    fn read(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Refusal> {
        files::read_at(path, offset, length)
    }
}

/// What to say of a path that names a file where a folder is listed.
pub(crate) fn no_folder(path: &str) -> Option<Failure> {
    let found = files::stat(path).ok()?;
    (found.kind == Kind::File).then(|| {
        Failure::new(format!(
            "`{path}` is a file, and `path` is a folder: `files.read` reads a file"
        ))
    })
}

#[cfg(test)]
pub(crate) mod fake {
    use std::collections::BTreeMap;

    use lazaret_sdk::files::Stat;

    use super::*;

    /// Files by path; folders are what the paths imply.
    pub(crate) struct Map(pub(crate) BTreeMap<String, Vec<u8>>);

    impl Map {
        pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
            let own = |(path, bytes): &(&str, &[u8])| ((*path).to_owned(), bytes.to_vec());
            Self(files.iter().map(own).collect())
        }
    }

    fn not_found() -> Refusal {
        Refusal {
            code: Code::NotFound,
            message: "there is no such file".to_owned(),
            retryable: false,
        }
    }

    impl Tree for Map {
        fn list(&self, path: &str) -> Result<Vec<Entry>, Refusal> {
            let prefix = if path.is_empty() {
                String::new()
            } else {
                format!("{path}/")
            };
            let mut entries: BTreeMap<String, Stat> = BTreeMap::new();
            for (path, bytes) in &self.0 {
                let Some(rest) = path.strip_prefix(&prefix) else {
                    continue;
                };
                let (name, kind, size) = match rest.split_once('/') {
                    Some((name, _)) => (name, Kind::Folder, 0),
                    None => (rest, Kind::File, bytes.len() as u64),
                };
                entries.insert(
                    name.to_owned(),
                    Stat {
                        kind,
                        size,
                        modified_ms: 0,
                    },
                );
            }
            if entries.is_empty() {
                return Err(not_found());
            }
            Ok(entries
                .into_iter()
                .map(|(name, stat)| Entry { name, stat })
                .collect())
        }

        fn read(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Refusal> {
            let bytes = self.0.get(path).ok_or_else(not_found)?;
            Ok(bytes
                .iter()
                .skip(offset as usize)
                .take(length as usize)
                .copied()
                .collect())
        }
    }
}
