//! Secrets in an encrypted file of the user's own state folder.
//!
//! Each value is sealed by itself with AES-256-GCM, under a random nonce, together with its name, so that
//! what is sealed for one name opens for no other. The key is a file of its own (`vault.key`, 0600), or
//! comes from the passphrase in `LAZARET_VAULT_PASSPHRASE` by Argon2id; which of the two is decided when the
//! first secret is kept. A key beside the file protects against whoever gets the one without the other, such
//! as a backup; a passphrase also against whoever reads the folder.
//!
//! What it does not do: it does not notice an older file put in place of the newer, and names stand in the
//! clear.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Secret, check_room, environment};
use crate::edges::state::{Mark, StateFolder, random};
use crate::words::error::{Code, Error, Result};
use crate::words::lock::lock;

const FILE: &str = "vault.json";
const KEY: &str = "vault.key";
const LOCK: &str = "vault.lock";
const VERSION: u32 = 1;

type Key = Zeroizing<[u8; 32]>;

/// An encrypted file.
pub(super) struct SealedFile {
    folder: PathBuf,
    /// The key of a passphrase takes a while to make.
    made: Mutex<Option<(String, Key)>>,
}

/// The file as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    key: KeyFrom,
    secrets: BTreeMap<String, Sealed>,
}

/// Where the key comes from.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeyFrom {
    /// A file.
    File,
    /// Argon2id of a passphrase, with this salt.
    Passphrase(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    nonce: String,
    sealed: String,
}

impl std::fmt::Debug for SealedFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SealedFile")
    }
}

impl SealedFile {
    pub(super) fn new(state: &Path) -> Self {
        Self {
            folder: state.to_owned(),
            made: Mutex::default(),
        }
    }

    pub(super) fn store(&self, name: &str, value: &Secret) -> Result<()> {
        self.change(|stored, folder| {
            check_room(stored.secrets.len(), !stored.secrets.contains_key(name))?;
            let key = self.key(folder, &stored.key)?;
            check_key(&key, name, stored)?;
            stored
                .secrets
                .insert(name.to_owned(), seal(&key, name, value)?);
            Ok(())
        })
    }

    pub(super) fn remove(&self, name: &str) -> Result<bool> {
        if !self.names()?.contains(name) {
            return Ok(false);
        }
        let mut found = false;
        self.change(|stored, _| {
            found = stored.secrets.remove(name).is_some();
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn names(&self) -> Result<BTreeSet<String>> {
        let Some(stored) = self.read(&StateFolder::open(&self.folder)?)? else {
            return Ok(BTreeSet::new());
        };
        Ok(stored.secrets.into_keys().collect())
    }

    pub(super) fn reveal(&self, name: &str) -> Result<Option<Secret>> {
        let folder = StateFolder::open(&self.folder)?;
        let Some(stored) = self.read(&folder)? else {
            return Ok(None);
        };
        let Some(sealed) = stored.secrets.get(name) else {
            return Ok(None);
        };
        let key = self.key(&folder, &stored.key)?;
        unseal(&key, name, sealed).map(Some)
    }

    pub(super) fn mark(&self) -> Option<Mark> {
        Mark::of(&self.folder.join(FILE))
    }

    /// All of them, each with its value, or why it does not open. The file is read once, and so is its key.
    pub(super) fn all(&self) -> Result<BTreeMap<String, Result<Secret>>> {
        let folder = StateFolder::open(&self.folder)?;
        // One that holds nothing may have no key, and needs none.
        let stored = self.read(&folder)?;
        let Some(stored) = stored.filter(|stored| !stored.secrets.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        let key = self.key(&folder, &stored.key);
        let open = |(name, sealed): (String, Sealed)| {
            let secret = match &key {
                Ok(key) => unseal(key, &name, &sealed),
                Err(error) => Err(error.with_words(str::to_owned, str::to_owned)),
            };
            (name, secret)
        };
        Ok(stored.secrets.into_iter().map(open).collect())
    }

    fn read(&self, folder: &StateFolder) -> Result<Option<Stored>> {
        let Some(bytes) = folder.read(FILE)? else {
            return Ok(None);
        };
        let wrong = || {
            let path = self.folder.join(FILE);
            Error::new(
                Code::Corrupt,
                format!("`{}` is no vault of ours", path.display()),
            )
            .hint("move it away, and set the secrets again")
        };
        let stored: Stored =
            serde_json::from_slice(&bytes).map_err(|error| wrong().because(error))?;
        if stored.version == VERSION {
            Ok(Some(stored))
        } else {
            Err(wrong())
        }
    }

    fn change(&self, change: impl FnOnce(&mut Stored, &StateFolder) -> Result<()>) -> Result<()> {
        let folder = StateFolder::open(&self.folder)?;
        let held = folder.hold(LOCK)?.ok_or_else(|| {
            Error::new(Code::Busy, "another process is writing to the vault").retry(true)
        })?;
        let mut stored = match self.read(&folder)? {
            Some(stored) => stored,
            None => Stored {
                version: VERSION,
                key: fresh()?,
                secrets: BTreeMap::new(),
            },
        };
        if stored.secrets.is_empty() {
            stored.key = fresh()?;
        }
        if matches!(stored.key, KeyFrom::File) && environment::passphrase().is_some() {
            let what = "the vault was made without a passphrase, and one is set";
            return Err(Error::bad_input(what).hint(format!(
                "remove its secrets and set them again, or unset `{}`",
                environment::PASSPHRASE
            )));
        }
        change(&mut stored, &folder)?;
        let text = serde_json::to_vec_pretty(&stored)
            .map_err(|error| Error::bug("the vault cannot be written").because(error))?;
        let written = folder.write(FILE, &text);
        held.remove();
        written
    }

    fn key(&self, folder: &StateFolder, from: &KeyFrom) -> Result<Key> {
        let salt = match from {
            KeyFrom::File => return Ok(Zeroizing::new(folder.key_of(KEY)?)),
            KeyFrom::Passphrase(salt) => salt,
        };
        let mut made = lock(&self.made);
        if let Some((known, key)) = &*made
            && known == salt
        {
            return Ok(key.clone());
        }
        let passphrase = environment::passphrase().ok_or_else(|| {
            Error::new(Code::Denied, "the vault is locked with a passphrase").hint(format!(
                "set the environment variable `{}`",
                environment::PASSPHRASE
            ))
        })?;
        let key = derived(&passphrase, salt)?;
        *made = Some((salt.clone(), key.clone()));
        Ok(key)
    }
}

/// Refuses a key that opens none of the others: under two keys, half of the secrets could not be read by either.
fn check_key(key: &Key, name: &str, stored: &Stored) -> Result<()> {
    let mut others = stored.secrets.iter().filter(|(other, _)| *other != name);
    let opens = |(other, sealed): (&String, &Sealed)| unseal(key, other, sealed).is_ok();
    if others.clone().next().is_none() || others.any(opens) {
        return Ok(());
    }
    let (what, hint) = match stored.key {
        KeyFrom::Passphrase(_) => (
            "the passphrase is not the one that the vault was made with",
            "set `LAZARET_VAULT_PASSPHRASE` to that one",
        ),
        KeyFrom::File => (
            "the vault's key is not the one that its secrets were kept with",
            "put the `vault.key` back that lay beside it",
        ),
    };
    Err(Error::new(Code::Denied, what)
        .hint(hint)
        .hint("or remove what is kept: `lazaret secret list` shows it"))
}

/// How the key of a vault that holds nothing yet is made.
fn fresh() -> Result<KeyFrom> {
    if environment::passphrase().is_none() {
        return Ok(KeyFrom::File);
    }
    Ok(KeyFrom::Passphrase(STANDARD.encode(random::<16>()?)))
}

/// Argon2id with 19 MiB and two passes: what OWASP names as the least.
fn derived(passphrase: &str, salt: &str) -> Result<Key> {
    let wrong = || Error::new(Code::Corrupt, "the vault's key cannot be made");
    let salt = STANDARD.decode(salt).map_err(|_| wrong())?;
    let params = Params::new(19 << 10, 2, 1, Some(32)).map_err(|_| wrong())?;
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), &salt, key.as_mut_slice())
        .map_err(|_| wrong())?;
    Ok(key)
}

/// What is sealed with a value: what it is, and for which name.
fn beside(name: &str) -> String {
    format!("lazaret vault {VERSION}\n{name}")
}

fn seal(key: &Key, name: &str, value: &Secret) -> Result<Sealed> {
    let (nonce, beside) = (random::<12>()?, beside(name));
    let message = Payload {
        msg: value.expose().as_bytes(),
        aad: beside.as_bytes(),
    };
    let sealed = Aes256Gcm::new((&**key).into())
        .encrypt(&Nonce::from(nonce), message)
        .map_err(|_| Error::bug("a secret cannot be sealed"))?;
    Ok(Sealed {
        nonce: STANDARD.encode(nonce),
        sealed: STANDARD.encode(sealed),
    })
}

fn unseal(key: &Key, name: &str, sealed: &Sealed) -> Result<Secret> {
    let wrong = || {
        let what = format!(
            "the secret `{name}` does not open: another key or passphrase, or a damaged file"
        );
        Error::new(Code::Corrupt, what).hint(format!("lazaret secret set {name}"))
    };
    let nonce = STANDARD.decode(&sealed.nonce).map_err(|_| wrong())?;
    let nonce: [u8; 12] = nonce.try_into().map_err(|_| wrong())?;
    let bytes = STANDARD.decode(&sealed.sealed).map_err(|_| wrong())?;
    let beside = beside(name);
    let message = Payload {
        msg: &bytes,
        aad: beside.as_bytes(),
    };
    let value = Aes256Gcm::new((&**key).into())
        .decrypt(&Nonce::from(nonce), message)
        .map_err(|_| wrong())?;
    let value = String::from_utf8(value).map_err(|_| wrong())?;
    // It may have been kept before its like was refused; nobody would take it out of anything.
    Secret::new(value).map_err(|error| error.hint(format!("lazaret secret set {name}")))
}

#[cfg(test)]
mod tests {
    use super::super::{Backend, Vault};
    use super::*;
    use crate::rules::scrub::KnownSecrets;

    fn secret(value: &str) -> Secret {
        Secret::new(value.to_owned()).unwrap()
    }

    #[test]
    fn what_is_kept_is_sealed_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let file = SealedFile::new(&state);
        assert!(file.reveal("a").unwrap().is_none());
        file.store("a", &secret("canary-7f3a9c")).unwrap();
        file.store("b", &secret("canary-7f3a9c")).unwrap();
        file.store("a", &secret("canary-8e4b0d")).unwrap();
        // Another process opens it anew.
        let file = SealedFile::new(&state);
        assert_eq!(file.reveal("a").unwrap().unwrap().expose(), "canary-8e4b0d");
        assert_eq!(file.reveal("b").unwrap().unwrap().expose(), "canary-7f3a9c");
        let kept = StateFolder::open(&state).unwrap();
        let text = String::from_utf8(kept.read(FILE).unwrap().unwrap()).unwrap();
        assert!(!text.contains("canary"), "{text}");
        assert!(file.remove("a").unwrap() && !file.remove("a").unwrap());
        assert!(file.reveal("a").unwrap().is_none());
        assert!(!kept.has(LOCK));
    }

    #[test]
    fn a_vault_has_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = SealedFile::new(&folder.path().join("state"));
        file.store("a", &secret("canary-7f3a9c")).unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let key = state.key_of(KEY).unwrap();
        state.remove(KEY).unwrap();
        // The only one may be set anew, and that is its key from then on.
        file.store("a", &secret("canary-8e4b0d")).unwrap();
        let error = |name| file.store(name, &secret("canary-9d5c1e")).unwrap_err();
        state.write(KEY, &key).unwrap();
        assert_eq!(error("b").code(), Code::Denied);
        assert!(!file.names().unwrap().contains("b"));
    }

    #[test]
    fn one_that_does_not_open_keeps_no_other_from_being_known() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let vault = Vault::new(Backend::File, &state);
        let values = ["canary-7f3a9c", "canary-8e4b0d", "canary-9d5c1e"];
        for (name, value) in ["a", "b", "c"].into_iter().zip(values) {
            vault.store(name, &secret(value)).unwrap();
        }
        let kept = StateFolder::open(&state).unwrap();
        let text = kept.read(FILE).unwrap().unwrap();
        let mut stored: Stored = serde_json::from_slice(&text).unwrap();
        stored.secrets.get_mut("b").unwrap().sealed = STANDARD.encode([0; 29]);
        let text = serde_json::to_vec(&stored).unwrap();
        kept.write(FILE, &text).unwrap();
        let taught = || {
            let known = KnownSecrets::default();
            let error = vault.teach(&known).unwrap_err();
            assert_eq!(error.code(), Code::Denied);
            let found = values.map(|value| known.finds_in(value.as_bytes()));
            (error.message().to_owned(), found)
        };
        let (message, found) = taught();
        assert!(
            message.contains("the secret `b` cannot be read"),
            "{message}"
        );
        assert_eq!(found, [true, false, true]);
        // Without a key that is one, each says so, and the first is told of.
        kept.write(KEY, b"none").unwrap();
        let (message, found) = taught();
        assert!(
            message.contains("the secret `a` cannot be read"),
            "{message}"
        );
        assert!(message.contains("is no key"), "{message}");
        assert_eq!(found, [false; 3]);
    }

    #[test]
    fn what_is_sealed_for_one_name_or_key_opens_for_no_other() {
        let key = Zeroizing::new([7; 32]);
        let mut sealed = seal(&key, "a", &secret("canary-7f3a9c")).unwrap();
        assert!(unseal(&key, "a", &sealed).is_ok());
        assert!(unseal(&key, "b", &sealed).is_err());
        assert!(unseal(&Zeroizing::new([8; 32]), "a", &sealed).is_err());
        let weak = Secret::unchecked(Zeroizing::new("20261123".to_owned()));
        let weak = unseal(&key, "a", &seal(&key, "a", &weak).unwrap());
        assert_eq!(weak.err().unwrap().code(), Code::BadInput);
        let again = seal(&key, "a", &secret("canary-7f3a9c")).unwrap();
        assert!(again.nonce != sealed.nonce && again.sealed != sealed.sealed);
        sealed.sealed = STANDARD.encode([0; 29]);
        assert!(unseal(&key, "a", &sealed).is_err());
    }

    #[test]
    fn a_passphrase_makes_one_key_with_one_salt() {
        let one = derived("correct horse", &STANDARD.encode([1; 16])).unwrap();
        assert!(*one == *derived("correct horse", &STANDARD.encode([1; 16])).unwrap());
        assert!(*one != *derived("correct horse", &STANDARD.encode([2; 16])).unwrap());
        assert!(*one != *derived("correct house", &STANDARD.encode([1; 16])).unwrap());
    }
}
