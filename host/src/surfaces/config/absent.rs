//! Folders of mounts that are not there: whoever needs one is refused, and nobody else.

use std::fmt;
use std::path::PathBuf;

/// A mount whose folder is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The file that says it, and the line; none for a variable or a flag, and where several files do.
    pub said: Option<(PathBuf, usize)>,
    /// Its table, as it is written.
    pub table: String,
    /// What is the matter with that.
    pub what: String,
    /// What to do.
    pub fix: String,
}

impl fmt::Display for Absent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.said {
            write!(out, "`{}`, line {line}: ", file.display())?;
        }
        out.write_str(&self.what)
    }
}
