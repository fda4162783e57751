//! Secrets in the kernel's keyring: in memory only, for this user, gone with the next start of the machine.
//!
//! It cannot list what it holds, so the names, and only they, are kept in the user's own state folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use keyring_core::Entry;
use keyring_core::api::CredentialStoreApi;
use linux_keyutils_keyring_store::Store;

use super::Secret;
use crate::edges::state::StateFolder;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::SECRETS;

const NAMES: &str = "keyring.json";
const LOCK: &str = "keyring.lock";
/// What our entries are called by, before their own name.
const PROGRAM: &str = "lazaret";

/// The kernel's keyring.
#[derive(Debug)]
pub(super) struct Keyring {
    folder: PathBuf,
}

impl Keyring {
    pub(super) fn new(state: &Path) -> Self {
        Self {
            folder: state.to_owned(),
        }
    }

    pub(super) fn store(&self, name: &str, value: &Secret) -> Result<()> {
        if self.names()?.len() >= SECRETS {
            return Err(Error::too_many("the vault", SECRETS, SECRETS + 1));
        }
        let entry = entry(name)?;
        let kept = entry.set_secret(value.expose().as_bytes());
        kept.map_err(|error| failed(&error))?;
        self.change(|names| names.insert(name.to_owned()))
            .map(|_| ())
    }

    pub(super) fn remove(&self, name: &str) -> Result<bool> {
        let removed = match entry(name)?.delete_credential() {
            Ok(()) => true,
            Err(keyring_core::Error::NoEntry) => false,
            Err(error) => return Err(failed(&error)),
        };
        Ok(self.change(|names| names.remove(name))? || removed)
    }

    pub(super) fn names(&self) -> Result<BTreeSet<String>> {
        let bytes = StateFolder::open(&self.folder)?.read(NAMES)?;
        let Some(bytes) = bytes else {
            return Ok(BTreeSet::new());
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            let path = self.folder.join(NAMES);
            let what = format!("`{}` is no list of names", path.display());
            Error::new(Code::Corrupt, what)
                .because(error)
                .hint("remove it, and set the secrets again")
        })
    }

    pub(super) fn reveal(&self, name: &str) -> Result<Option<Secret>> {
        let bytes = match entry(name)?.get_secret() {
            Ok(bytes) => bytes,
            Err(keyring_core::Error::NoEntry) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        // Whoever else writes there may have put anything.
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::new(Code::Corrupt, format!("the secret `{name}` is no text")))?;
        Secret::new(text).map(Some)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> Result<bool> {
        let folder = StateFolder::open(&self.folder)?;
        let held = folder.hold(LOCK)?.ok_or_else(|| {
            Error::new(Code::Busy, "another process is writing to the vault").retry(true)
        })?;
        let mut names = self.names()?;
        let changed = change(&mut names);
        let text = serde_json::to_vec(&names)
            .map_err(|error| Error::bug("names cannot be written").because(error))?;
        let written = folder.write(NAMES, &text);
        held.remove();
        written.map(|()| changed)
    }
}

fn entry(name: &str) -> Result<Entry> {
    let store = Store::new().map_err(|error| failed(&error))?;
    let entry = store.build(PROGRAM, name, None);
    entry.map_err(|error| failed(&error))
}

/// The library's own words hold no value, but where they could, they are not said.
fn failed(error: &keyring_core::Error) -> Error {
    use keyring_core::Error as Wrong;
    let why = if let Wrong::PlatformFailure(why) | Wrong::NoStorageAccess(why) = error {
        why.to_string()
    } else {
        "it does not do what it is asked for".to_owned()
    };
    Error::new(
        Code::Denied,
        format!(
            "the keyring of this system cannot be used: {}",
            crate::words::id::shown(&why)
        ),
    )
    .hint("keep secrets in a file: write `[vault]` with `backend = \"file\"`")
}
