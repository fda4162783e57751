//! Trust: a workspace's file counts only once its owner has said so, for exactly these bytes.
//!
//! What arrives with a cloned repository grants nothing (invariant 14). `lazaret policy trust` pins the
//! digest of the file and of the components that it names; any change ends the trust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{ConfigFile, Part};
use crate::edges::state::StateFolder;
use crate::words::error::{Code, Error, Result, why};
use crate::words::id::Digest;

pub(super) const NAME: &str = "trust.json";

/// How a workspace's file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its owner pinned exactly these bytes.
    Trusted,
    /// Its owner pinned others; a sentence says of what.
    Changed(String),
    /// Nobody ever did.
    New,
}

/// The pins of this user, by the paths of files.
#[derive(Clone, Debug, Default)]
pub struct Pins(BTreeMap<String, Pin>);

/// What a file was when it was trusted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Pin {
    /// As it was written once: of everything together.
    Whole(String),
    /// With a digest of each part, so that what has changed can be named.
    Parted {
        digest: String,
        parts: BTreeMap<String, String>,
        /// All that it said, a line each.
        #[serde(default)]
        said: BTreeSet<String>,
    },
}

impl Pin {
    fn of(file: &ConfigFile, path: &Path, said: BTreeSet<String>) -> Self {
        let parts = file.parts(path);
        Self::Parted {
            digest: ConfigFile::digest_of(&parts).to_string(),
            parts: parts
                .into_iter()
                .map(|part| (part.what, part.digest))
                .collect(),
            said,
        }
    }

    fn digest(&self) -> &str {
        match self {
            Self::Whole(digest) | Self::Parted { digest, .. } => digest,
        }
    }

    /// What is not as it was, as a sentence.
    fn changed(&self, parts: &[Part], path: &Path) -> String {
        let shown = path.display();
        let Self::Parted { parts: known, .. } = self else {
            return format!("`{shown}` or a component in it has changed since it was trusted");
        };
        let name = |part: &Part| match part.what.as_str() {
            "" => format!("`{shown}`"),
            what => format!("{what} of `{shown}`"),
        };
        let (mut changed, mut new) = (Vec::new(), Vec::new());
        for part in parts {
            match known.get(&part.what) {
                Some(digest) if *digest == part.digest => {}
                Some(_) => changed.push(name(part)),
                None => new.push(name(part)),
            }
        }
        let was_there = new.is_empty();
        let said = [
            said_of(&changed, ("has changed", "have changed"), was_there),
            said_of(&new, ("is new", "are new"), true),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        said.join(", and ")
    }
}

/// What is said of several parts of a file; the last of it says since when.
fn said_of(names: &[String], (one, several): (&str, &str), is_last: bool) -> Option<String> {
    let (verb, since) = match names {
        [] => return None,
        [_] => (one, " since it was trusted"),
        [_, _, ..] => (several, " since they were trusted"),
    };
    let since = if is_last { since } else { "" };
    Some(format!("{} {verb}{since}", names.join(" and ")))
}

impl Pins {
    /// Reads the pins.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn read(state: &StateFolder) -> Result<Self> {
        let Some(bytes) = state.read(NAME)? else {
            return Ok(Self::default());
        };
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            let what = format!("`{}` cannot be read", state.path().join(NAME).display());
            Error::new(Code::Corrupt, what)
                .hint("remove it, and trust your policies again")
                .because(error)
        })
    }

    /// How a file stands. What it names is read where its owner has ever trusted it, and not before.
    ///
    /// # Errors
    /// `BadInput` where the path cannot be resolved.
    pub fn standing(&self, path: &Path, file: &ConfigFile) -> Result<Standing> {
        let Some(pin) = self.0.get(&name_of(path)?) else {
            return Ok(Standing::New);
        };
        let parts = file.parts(path);
        let digest = ConfigFile::digest_of(&parts).to_string();
        Ok(match pin.digest() == digest {
            true => Standing::Trusted,
            false => Standing::Changed(pin.changed(&parts, path)),
        })
    }

    /// The nearest file that is pinned in this folder or above, whether it is still there or not.
    #[must_use]
    pub fn above(&self, folder: &Path) -> Option<PathBuf> {
        let folder = real(folder).ok()?;
        let mut files = folder.ancestors().map(|folder| folder.join(super::NAME));
        files.find(|file| self.0.contains_key(&file.display().to_string()))
    }

    /// What is pinned of the files that decide in this folder: those in it or above it, and the one that is read.
    #[must_use]
    pub fn about(&self, folder: &Path, file: Option<&Path>) -> Digest {
        let folder = real(folder).unwrap_or_else(|_| folder.to_owned());
        let above = folder.ancestors().map(|folder| folder.join(super::NAME));
        let above = above.map(|file| file.display().to_string());
        let read = file.and_then(|file| name_of(file).ok());
        let pins = above.chain(read);
        let pins: String = pins
            .filter_map(|name| Some(format!("{name} {}\n", self.0.get(&name)?.digest())))
            .collect();
        Digest::of(pins.as_bytes())
    }

    /// Whether a file was ever pinned, as it is now or otherwise.
    #[must_use]
    pub fn is_pinned(&self, path: &Path) -> bool {
        name_of(path).is_ok_and(|name| self.0.contains_key(&name))
    }

    /// What a file said when it was trusted, a line each; nothing of one that never was.
    #[must_use]
    pub fn said(&self, path: &Path) -> Option<&BTreeSet<String>> {
        match self.0.get(&name_of(path).ok()?)? {
            Pin::Whole(_) => None,
            Pin::Parted { said, .. } => Some(said),
        }
    }

    /// Pins a file as it is now, with all that it says, a line each.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn pin(
        mut self,
        state: &StateFolder,
        (path, file): (&Path, &ConfigFile),
        said: BTreeSet<String>,
    ) -> Result<()> {
        self.0.insert(name_of(path)?, Pin::of(file, path, said));
        self.write(state)
    }

    /// Ends the trust in a file; whether there was any.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn unpin(mut self, state: &StateFolder, path: &Path) -> Result<bool> {
        let was = self.0.remove(&name_of(path)?).is_some();
        self.write(state)?;
        Ok(was)
    }

    fn write(&self, state: &StateFolder) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.0)
            .map_err(|error| Error::bug("pins are no JSON").because(error))?;
        state.write(NAME, text.as_bytes())
    }
}

/// The name of a file among the pins: where it lies, and not where a link leads. A link that came with a repository
/// would be trusted for what it leads to, and mean something else here.
fn name_of(path: &Path) -> Result<String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::bad_input(format!("`{}` is no file", path.display())));
    };
    Ok(real(folder)?.join(name).display().to_string())
}

#[expect(
    clippy::disallowed_methods,
    reason = "one file has one name among the pins"
)]
fn real(folder: &Path) -> Result<PathBuf> {
    let real = folder.canonicalize();
    real.map_err(|error| Error::bad_input(format!("`{}`: {}", folder.display(), why(error.kind()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_in_a_file_has_not_changed() {
        let part = |what: &str, digest: &str| Part {
            what: what.to_owned(),
            digest: digest.to_owned(),
        };
        let pin = Pin::Parted {
            digest: "d".to_owned(),
            parts: [
                ("".to_owned(), "1".to_owned()),
                ("a".to_owned(), "2".to_owned()),
            ]
            .into(),
            said: BTreeSet::new(),
        };
        let said = |parts: &[Part]| pin.changed(parts, Path::new("/l.toml"));
        let since = "since they were trusted";
        assert_eq!(
            said(&[part("", "9"), part("a", "9")]),
            format!("`/l.toml` and a of `/l.toml` have changed {since}")
        );
        assert_eq!(
            said(&[part("", "9"), part("a", "2"), part("b", "3")]),
            "`/l.toml` has changed, and b of `/l.toml` is new since it was trusted"
        );
        assert_eq!(
            said(&[part("", "1"), part("b", "3"), part("c", "4")]),
            format!("b of `/l.toml` and c of `/l.toml` are new {since}")
        );
    }

    #[test]
    fn whom_else_the_user_trusts_changes_nothing_here() {
        let pins = |names: &[&str]| {
            let pins = names
                .iter()
                .map(|name| ((*name).to_owned(), Pin::Whole("a".to_owned())));
            Pins(pins.collect())
        };
        let folder = Path::new("/");
        let none = pins(&[]).about(folder, None);
        assert_eq!(pins(&["/elsewhere/lazaret.toml"]).about(folder, None), none);
        assert_ne!(pins(&["/lazaret.toml"]).about(folder, None), none);
        let named = Some(Path::new("/other.toml"));
        assert_ne!(pins(&["/other.toml"]).about(folder, named), none);
        assert_eq!(pins(&["/other.toml"]).about(folder, None), none);
    }
}
