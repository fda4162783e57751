//! The vault: values of secrets. Only the egress edge reads one, after a permit and before the wire.
//!
//! One of four back ends keeps them, as `[vault]` of the configuration says: an encrypted file in the user's own state
//! folder, the keyring of the kernel or of the desktop, or the environment. A value is never in the
//! configuration, and a [`Secret`] can be neither printed, written out nor copied.

mod desktop;
mod environment;
mod file;
mod keyring;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use self::file::SealedFile;
use self::keyring::{Keyring, Kind};
pub use self::secret::Secret;
use crate::edges::state::Mark;
use crate::rules::scrub::KnownSecrets;
use crate::rules::secret::{is_secret_name, no_such_secret};
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;
use crate::words::limits::SECRETS;
use crate::words::near::misspelt;

/// Where secrets are found. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Vault {
    store: Store,
    /// Secrets of the host's own, such as a model's key, each in a variable that the configuration names.
    variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default)]
enum Store {
    /// Nowhere.
    #[default]
    None,
    File(Arc<SealedFile>),
    Keyring(Arc<Keyring>),
    Environment,
}

/// Who keeps secrets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// An encrypted file in the user's own state folder.
    #[default]
    File,
    /// The keyring of the kernel: in memory, gone with the next start of the machine.
    Keyring,
    /// The keyring of the desktop, asked through `secret-tool`.
    Desktop,
    /// Variables of the environment, `LAZARET_SECRET_NAME`.
    Env,
}

impl Vault {
    /// A vault of this kind. `state` is the user's own state folder.
    #[must_use]
    pub fn new(backend: Backend, state: &Path) -> Self {
        let store = match backend {
            Backend::File => Store::File(Arc::new(SealedFile::new(state))),
            Backend::Keyring => Store::Keyring(Arc::new(Keyring::new(Kind::Kernel, state))),
            Backend::Desktop => Store::Keyring(Arc::new(Keyring::new(Kind::Desktop, state))),
            Backend::Env => Store::Environment,
        };
        Self {
            store,
            variables: BTreeMap::new(),
        }
    }

    /// The same, with what `other` keeps.
    #[must_use]
    pub fn kept_by(self, other: Self) -> Self {
        Self {
            store: other.store,
            ..self
        }
    }

    /// Says that the secret `name` is in the environment variable `variable`.
    #[must_use]
    pub fn with_variable(mut self, name: &str, variable: &str) -> Self {
        self.variables.insert(name.to_owned(), variable.to_owned());
        self
    }

    /// Who keeps the secrets, for people.
    #[must_use]
    pub fn place(&self) -> &'static str {
        match &self.store {
            Store::None => "nowhere",
            Store::File(_) => "file",
            Store::Keyring(keyring) => keyring.kind.word(),
            Store::Environment => "env",
        }
    }

    /// Keeps a secret, in place of one that has its name.
    ///
    /// # Errors
    /// `BadInput` for a name that is none, or a back end that is only read; `Busy` where another process
    /// writes; `Denied` where the back end is locked or not there; `DiskFailed`.
    pub fn store(&self, name: &str, value: &Secret) -> Result<()> {
        check_name(name)?;
        match &self.store {
            Store::None => Err(nowhere()),
            Store::File(file) => file.store(name, value),
            Store::Keyring(keyring) => keyring.store(name, value),
            Store::Environment => Err(environment::only_read(name)),
        }
    }

    /// Forgets a secret; whether there was one.
    ///
    /// # Errors
    /// As [`Vault::store`].
    pub fn remove(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        match &self.store {
            Store::None => Err(nowhere()),
            Store::File(file) => file.remove(name),
            Store::Keyring(keyring) => keyring.remove(name),
            Store::Environment => Err(environment::only_read(name)),
        }
    }

    /// Names of the secrets that are kept.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        match &self.store {
            Store::None => Ok(BTreeSet::new()),
            Store::File(file) => file.names(),
            Store::Keyring(keyring) => keyring.names(),
            Store::Environment => Ok(environment::names()),
        }
    }

    /// Secrets of the host's own, each with the variable that it is in.
    #[must_use]
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The secret's value, as it is now: one that was removed is gone at once.
    ///
    /// # Errors
    /// `Denied`, in the same words for a secret that is unknown and one that cannot be had; a hint says what is the matter.
    /// None names another secret, since a model may be the one that reads them. `BadInput` where one of the host's own is in
    /// no variable.
    pub(crate) fn reveal(&self, name: &str) -> Result<Secret> {
        let missing = || Error::new(Code::Denied, no_such_secret(name));
        if let Some(variable) = self.variables.get(name) {
            return environment::secret(variable)
                .map(Secret::unchecked)
                .ok_or_else(|| {
                    // It is the host's own: nobody learns from this which secrets there are.
                    let what = format!("the variable `{variable}`, which has the key, is not set");
                    Error::bad_input(what)
                        .hint(format!("set the environment variable `{variable}`"))
                });
        }
        match self.kept(name) {
            Ok(Some(secret)) => Ok(secret),
            Ok(None) => Err(missing()
                .hint(self.how_to_set(name))
                .hint("`lazaret policy check` says whether another name was meant")),
            Err(error) => {
                let missing = missing().hint(error.message().to_owned());
                Err(error.hints().iter().cloned().fold(missing, Error::hint))
            }
        }
    }

    /// The value that is kept under this name; nothing where there is none.
    fn kept(&self, name: &str) -> Result<Option<Secret>> {
        match &self.store {
            Store::None => Ok(None),
            Store::File(file) => file.reveal(name),
            Store::Keyring(keyring) => keyring.reveal(name),
            Store::Environment => environment::reveal(name),
        }
    }

    /// Why a secret that is kept cannot be read; nothing where it can be.
    #[must_use]
    pub fn trouble(&self, name: &str) -> Option<Error> {
        self.kept(name).err()
    }

    /// Whether a secret is kept under this name, be it one that cannot be read.
    #[must_use]
    pub fn keeps(&self, name: &str) -> bool {
        !matches!(self.kept(name), Ok(None))
    }

    /// What keeps one, for people.
    #[must_use]
    pub fn how_to_set(&self, name: &str) -> String {
        match &self.store {
            Store::Environment => {
                format!(
                    "set the environment variable `{}`",
                    environment::variable(name)
                )
            }
            Store::None | Store::File(_) | Store::Keyring(_) => {
                format!("lazaret secret set {}", shown(name))
            }
        }
    }

    /// Which of those that are kept may be meant by a name that is not, or how it is set.
    #[must_use]
    pub fn how_to_have(&self, name: &str) -> String {
        let kept = self.names().unwrap_or_default();
        let set = self.how_to_set(name);
        match misspelt(name, kept.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`, which is kept? Or: {set}"),
            None => set,
        }
    }

    /// Another one where something was set or changed since, by whomever; nothing where that cannot happen, or nothing is kept.
    pub(crate) fn mark(&self) -> Option<Mark> {
        match &self.store {
            Store::File(file) => file.mark(),
            Store::Keyring(keyring) => keyring.mark(),
            Store::None | Store::Environment => None,
        }
    }

    /// Tells `known` every value that there is, so that none is seen. What can be read is told also where something
    /// cannot be.
    ///
    /// # Errors
    /// `Denied` where a secret that is kept cannot be read: nobody could keep it out of requests and records.
    pub(crate) fn teach(&self, known: &KnownSecrets) -> Result<()> {
        let own = self.variables.iter().filter_map(|(name, variable)| {
            let value = environment::secret(variable)?;
            Some((name, variable, Secret::unchecked(value)))
        });
        let own: Vec<_> = own.collect();
        known.learn_all(own.iter().filter_map(|(name, variable, secret)| {
            let lesson = secret.lesson(name);
            lesson.inspect_err(|error| say(variable, error)).ok()
        }));
        let (mut kept, mut taught) = (Vec::new(), Ok(()));
        for (name, secret) in self.all()? {
            match secret {
                Ok(secret) => kept.push((name, secret)),
                Err(error) => taught = taught.and_then(|()| Err(self.unseen(&name, &error))),
            }
        }
        // What an issuer gave and anybody could guess was said when it was given.
        let lessons = kept.iter();
        known.learn_all(lessons.filter_map(|(name, secret)| secret.lesson_again(name)));
        taught
    }

    /// All that are kept, each with its value, or why it cannot be read.
    fn all(&self) -> Result<BTreeMap<String, Result<Secret>>> {
        let read = |name: String| {
            let secret = self.kept(&name).transpose()?;
            Some((name, secret))
        };
        match &self.store {
            Store::File(file) => file.all(),
            Store::None | Store::Keyring(_) | Store::Environment => {
                Ok(self.names()?.into_iter().filter_map(read).collect())
            }
        }
    }

    /// Nothing goes on beside a secret that nobody can recognise.
    fn unseen(&self, name: &str, error: &Error) -> Error {
        let what = format!(
            "the secret `{name}` cannot be read, so nobody could keep it out of requests and records: {}",
            error.message()
        );
        let unseen = Error::new(Code::Denied, what);
        let unseen = error.hints().iter().cloned().fold(unseen, Error::hint);
        let forget = match &self.store {
            Store::Environment => format!("unset {}", environment::variable(name)),
            Store::None | Store::File(_) | Store::Keyring(_) => {
                format!("lazaret secret remove {name}")
            }
        };
        unseen.hint(format!("or forget it: {forget}"))
    }
}

/// Whoever chose a value that is used and recognised nowhere is told so.
fn say(variable: &str, error: &Error) {
    let why = error.message();
    tracing::warn!(target: "lazaret::vault", "the value of `{variable}` is used, and not taken out of what is said: {why}");
}

/// Refuses what is no name of a secret.
///
/// # Errors
/// `BadInput`.
pub fn check_name(name: &str) -> Result<()> {
    if is_secret_name(name) {
        return Ok(());
    }
    Err(
        Error::bad_input(format!("`{}` is no name of a secret", shown(name)))
            .hint("names have lower-case letters, digits, `-` and `_`, and begin with a letter"),
    )
}

/// Refuses one more secret where there are as many as may be; another value of one that is there is none more.
fn check_room(count: usize, is_new: bool) -> Result<()> {
    if is_new && count >= SECRETS {
        return Err(Error::too_many("the vault", SECRETS, SECRETS + 1));
    }
    Ok(())
}

fn nowhere() -> Error {
    Error::bug("this host has no vault")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_whose_variable_is_not_set_is_missed_by_the_name_of_that() {
        let vault = Vault::default().with_variable("models.m", "LAZARET_TEST_NOBODY_SETS_THIS");
        let error = vault.reveal("models.m").err().expect("nobody sets it");
        assert_eq!(error.code(), Code::BadInput);
        let says = "the variable `LAZARET_TEST_NOBODY_SETS_THIS`, which has the key, is not set";
        assert_eq!(error.message(), says);
        let other = vault.reveal("other").err().expect("there is none");
        assert_eq!(other.code(), Code::Denied);
    }
}
