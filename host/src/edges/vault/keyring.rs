//! Secrets in a keyring of this system: the kernel's, in memory only, for this user, gone with the next start of the
//! machine; or that of the desktop.
//!
//! Neither lists what it holds in our words, so the names, and only they, are kept in the user's own state folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Secret, desktop};
use crate::edges::state::StateFolder;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::SECRETS;

/// Whose keyring it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kernel,
    Desktop,
}

impl Kind {
    /// As in `[vault]`, and in the names of our files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Kernel => "keyring",
            Self::Desktop => "desktop",
        }
    }
}

/// A keyring.
#[derive(Debug)]
pub(super) struct Keyring {
    pub(super) kind: Kind,
    folder: PathBuf,
}

impl Keyring {
    pub(super) fn new(kind: Kind, state: &Path) -> Self {
        Self {
            kind,
            folder: state.to_owned(),
        }
    }

    /// The file with the names.
    fn list(&self) -> String {
        format!("{}.json", self.kind.word())
    }

    pub(super) fn store(&self, name: &str, value: &Secret) -> Result<()> {
        if self.names()?.len() >= SECRETS {
            return Err(Error::too_many("the vault", SECRETS, SECRETS + 1));
        }
        // Named first: a value that is kept under no name would be one that nobody recognises.
        let new = self.change(|names| names.insert(name.to_owned()))?;
        let kept = match self.kind {
            Kind::Kernel => kernel::store(name, value),
            Kind::Desktop => desktop::store(name, value),
        };
        if kept.is_err() && new {
            self.change(|names| names.remove(name))?;
        }
        kept
    }

    pub(super) fn remove(&self, name: &str) -> Result<bool> {
        let removed = match self.kind {
            Kind::Kernel => kernel::remove(name)?,
            Kind::Desktop => desktop::clear(name)?,
        };
        Ok(self.change(|names| names.remove(name))? || removed)
    }

    pub(super) fn names(&self) -> Result<BTreeSet<String>> {
        let bytes = StateFolder::open(&self.folder)?.read(&self.list())?;
        let Some(bytes) = bytes else {
            return Ok(BTreeSet::new());
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            let path = self.folder.join(self.list());
            let what = format!("`{}` is no list of names", path.display());
            Error::new(Code::Corrupt, what)
                .because(error)
                .hint("remove it, and set the secrets again")
        })
    }

    pub(super) fn reveal(&self, name: &str) -> Result<Option<Secret>> {
        let found = match self.kind {
            Kind::Kernel => kernel::reveal(name)?,
            // What is not on our list is not asked for: nobody has to unlock anything for it.
            Kind::Desktop if !self.names()?.contains(name) => None,
            Kind::Desktop => desktop::lookup(name)?,
        };
        let Some(bytes) = found else {
            return Ok(None);
        };
        // Whoever else writes there may have put anything.
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Error::new(Code::Corrupt, format!("the secret `{name}` is no text")))?;
        Secret::new(text.to_owned()).map(Some)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> Result<bool> {
        let folder = StateFolder::open(&self.folder)?;
        let held = folder
            .hold(&format!("{}.lock", self.kind.word()))?
            .ok_or_else(|| {
                Error::new(Code::Busy, "another process is writing to the vault").retry(true)
            })?;
        let mut names = self.names()?;
        let changed = change(&mut names);
        let text = serde_json::to_vec(&names)
            .map_err(|error| Error::bug("names cannot be written").because(error))?;
        let written = folder.write(&self.list(), &text);
        held.remove();
        written.map(|()| changed)
    }
}

/// That a keyring cannot be used, and what can be used instead.
pub(super) fn unusable(whose: &str, why: &str) -> Error {
    let what = format!("the keyring of this {whose} cannot be used: {why}");
    Error::new(Code::Denied, what)
        .hint("keep secrets in a file: write `[vault]` with `backend = \"file\"`")
}

/// The kernel's.
mod kernel {
    use keyring_core::Entry;
    use keyring_core::Error as Wrong;
    use keyring_core::api::CredentialStoreApi;
    use linux_keyutils_keyring_store::Store;
    use zeroize::Zeroizing;

    use super::super::Secret;
    use crate::words::error::{Error, Result};

    /// What our entries are called by, before their own name.
    const PROGRAM: &str = "lazaret";

    pub(super) fn store(name: &str, value: &Secret) -> Result<()> {
        let kept = entry(name)?.set_secret(value.expose().as_bytes());
        kept.map_err(|error| failed(&error))
    }

    pub(super) fn remove(name: &str) -> Result<bool> {
        match entry(name)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Wrong::NoEntry) => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }

    pub(super) fn reveal(name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        match entry(name)?.get_secret() {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(Wrong::NoEntry) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    fn entry(name: &str) -> Result<Entry> {
        let store = Store::new().map_err(|error| failed(&error))?;
        let entry = store.build(PROGRAM, name, None);
        entry.map_err(|error| failed(&error))
    }

    /// The library's own words hold no value, but where they could, they are not said.
    fn failed(error: &Wrong) -> Error {
        let why = if let Wrong::PlatformFailure(why) | Wrong::NoStorageAccess(why) = error {
            why.to_string()
        } else {
            "it does not do what it is asked for".to_owned()
        };
        super::unusable("system", &crate::words::id::shown(&why))
    }
}
