//! Secrets in a keyring of this system: the kernel's, in memory only, for this user, gone with the next start of the
//! machine; or that of the desktop.
//!
//! Neither lists what it holds in our words, so the names, and only they, are kept in the user's own state folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyring_core::{CredentialStore, Entry};

use super::{Secret, check_room, desktop};
use crate::edges::state::{Mark, StateFolder};
use crate::words::error::{Code, Error, Result};

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
    /// What keeps the entries in place of this system's kernel, which not every machine lets a test ask.
    instead: Option<Arc<CredentialStore>>,
}

impl Keyring {
    pub(super) fn new(kind: Kind, state: &Path) -> Self {
        Self {
            kind,
            folder: state.to_owned(),
            instead: None,
        }
    }

    /// The kernel's entry of this name, be there a value in it or not.
    fn entry(&self, name: &str) -> Result<Entry> {
        match &self.instead {
            Some(store) => kernel::entry(store, name),
            None => kernel::entry(&kernel::store()?, name),
        }
    }

    /// The file with the names.
    fn list(&self) -> String {
        format!("{}.json", self.kind.word())
    }

    pub(super) fn store(&self, name: &str, value: &Secret) -> Result<()> {
        // Named first: a value that is kept under no name would be one that nobody recognises.
        let new = self.change(|names| {
            check_room(names.len(), !names.contains(name))?;
            Ok(names.insert(name.to_owned()))
        })?;
        let kept = match self.kind {
            Kind::Kernel => self
                .entry(name)
                .and_then(|entry| kernel::keep(&entry, value)),
            Kind::Desktop => desktop::store(name, value),
        };
        if kept.is_err() && new {
            self.change(|names| Ok(names.remove(name)))?;
        } else if kept.is_ok() {
            // The list is what hosts look at that are under way: it is written anew once there is something else to read.
            self.change(|names| Ok(names.insert(name.to_owned())))?;
        }
        kept
    }

    pub(super) fn mark(&self) -> Option<Mark> {
        Mark::of(&self.folder.join(self.list()))
    }

    pub(super) fn remove(&self, name: &str) -> Result<bool> {
        let removed = match self.kind {
            Kind::Kernel => kernel::remove(&self.entry(name)?)?,
            Kind::Desktop => desktop::clear(name)?,
        };
        Ok(self.change(|names| Ok(names.remove(name)))? || removed)
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
            Kind::Kernel => kernel::reveal(&self.entry(name)?)?,
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

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>) -> Result<bool>) -> Result<bool> {
        let folder = StateFolder::open(&self.folder)?;
        let held = folder
            .hold(&format!("{}.lock", self.kind.word()))?
            .ok_or_else(|| {
                Error::new(Code::Busy, "another process is writing to the vault").retry(true)
            })?;
        let mut names = self.names()?;
        let changed = change(&mut names)?;
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
    use std::sync::Arc;

    use keyring_core::Error as Wrong;
    use keyring_core::{CredentialStore, Entry};
    use linux_keyutils_keyring_store::Store;
    use zeroize::Zeroizing;

    use super::super::Secret;
    use crate::words::error::{Error, Result};

    /// What our entries are called by, before their own name.
    const PROGRAM: &str = "lazaret";

    /// The one of this system.
    pub(super) fn store() -> Result<Arc<CredentialStore>> {
        let store = Store::new().map_err(|error| failed(&error))?;
        Ok(store)
    }

    pub(super) fn entry(store: &Arc<CredentialStore>, name: &str) -> Result<Entry> {
        let entry = store.build(PROGRAM, name, None);
        entry.map_err(|error| failed(&error))
    }

    pub(super) fn keep(entry: &Entry, value: &Secret) -> Result<()> {
        let kept = entry.set_secret(value.expose().as_bytes());
        kept.map_err(|error| failed(&error))
    }

    pub(super) fn remove(entry: &Entry) -> Result<bool> {
        match entry.delete_credential() {
            Ok(()) => Ok(true),
            Err(Wrong::NoEntry) => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }

    pub(super) fn reveal(entry: &Entry) -> Result<Option<Zeroizing<Vec<u8>>>> {
        match entry.get_secret() {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(Wrong::NoEntry) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
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

#[cfg(test)]
mod tests {
    use keyring_core::mock;

    use super::*;
    use crate::words::limits::SECRETS;

    const CANARY: &str = "canary-7f3a9c-ring";

    /// A keyring of the kernel as it is, but for the kernel.
    fn keyring(state: &Path) -> Keyring {
        let instead: Arc<CredentialStore> = mock::Store::new().unwrap();
        Keyring {
            instead: Some(instead),
            ..Keyring::new(Kind::Kernel, state)
        }
    }

    fn secret(value: &str) -> Secret {
        Secret::new(value.to_owned()).unwrap()
    }

    /// What the kernel says next of this entry.
    fn fails_next(keyring: &Keyring, name: &str) {
        let entry = keyring.entry(name).unwrap();
        let entry: &mock::Cred = entry.as_any().downcast_ref().unwrap();
        let why = std::io::Error::other("no room for a key");
        entry.set_error(keyring_core::Error::PlatformFailure(why.into()));
    }

    #[test]
    fn what_a_keyring_keeps_comes_back_and_its_names_alone_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let keyring = keyring(&state);
        assert!(keyring.reveal("a").unwrap().is_none() && !keyring.remove("a").unwrap());
        keyring.store("a", &secret("canary-8e4b0d-ring")).unwrap();
        keyring.store("b", &secret("canary-9d5c1e-ring")).unwrap();
        keyring.store("a", &secret(CANARY)).unwrap();
        assert_eq!(keyring.reveal("a").unwrap().unwrap().expose(), CANARY);
        let kept = StateFolder::open(&state).unwrap();
        let names = kept.read("keyring.json").unwrap().unwrap();
        assert_eq!(names, br#"["a","b"]"#);
        assert!(!kept.has("keyring.lock"));
        assert!(keyring.remove("a").unwrap() && !keyring.remove("a").unwrap());
        assert!(keyring.reveal("a").unwrap().is_none());
        assert_eq!(keyring.names().unwrap(), BTreeSet::from(["b".to_owned()]));
    }

    #[test]
    fn a_keyring_that_fails_says_so_and_keeps_no_name_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = keyring(&folder.path().join("state"));
        let is_told = |error: Error| {
            let message = error.message();
            assert_eq!(error.code(), Code::Denied);
            assert!(message.contains("no room for a key"), "{message}");
            assert!(!message.contains(CANARY), "{message}");
            assert!(error.hints().join(" ").contains("backend = \"file\""));
        };
        fails_next(&keyring, "a");
        is_told(keyring.store("a", &secret(CANARY)).unwrap_err());
        assert_eq!(keyring.names().unwrap(), BTreeSet::new());
        keyring.store("a", &secret(CANARY)).unwrap();
        // What cannot be read, or removed, is there: nobody would know its value where it turns up.
        fails_next(&keyring, "a");
        is_told(keyring.reveal("a").err().unwrap());
        fails_next(&keyring, "a");
        is_told(keyring.remove("a").unwrap_err());
        assert!(keyring.names().unwrap().contains("a"));
        assert_eq!(keyring.reveal("a").unwrap().unwrap().expose(), CANARY);
    }

    /// As the tokens of a login are, again and again.
    #[test]
    fn a_secret_of_a_full_keyring_is_renewed_and_no_other_gets_in() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let keyring = keyring(&state);
        let names: BTreeSet<String> = (0..SECRETS).map(|at| format!("a{at}")).collect();
        let kept = StateFolder::open(&state).unwrap();
        let text = serde_json::to_vec(&names).unwrap();
        kept.write("keyring.json", &text).unwrap();
        keyring.store("a7", &secret(CANARY)).unwrap();
        assert_eq!(keyring.reveal("a7").unwrap().unwrap().expose(), CANARY);
        let error = keyring.store("b", &secret(CANARY)).unwrap_err();
        assert_eq!(error.code(), Code::TooBig);
        assert!(keyring.reveal("b").unwrap().is_none());
        assert_eq!(keyring.names().unwrap(), names);
        assert!(!kept.has("keyring.lock"));
    }

    #[test]
    fn what_others_have_put_there_is_a_secret_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = keyring(&folder.path().join("state"));
        let put = |bytes: &[u8]| keyring.entry("a").unwrap().set_secret(bytes).unwrap();
        for (bytes, code) in [
            (&b"20261123"[..], Code::BadInput),
            (&b"canary-\xff\xfe-ring"[..], Code::Corrupt),
        ] {
            put(bytes);
            assert_eq!(keyring.reveal("a").err().unwrap().code(), code);
        }
        put(CANARY.as_bytes());
        assert_eq!(keyring.reveal("a").unwrap().unwrap().expose(), CANARY);
    }
}
