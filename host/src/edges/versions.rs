//! Versions of signed components that were here, the newest of each signer and name: in the user's own state folder,
//! where whoever may write a workspace cannot change them.

use semver::Version;

use super::state::StateFolder;
use crate::rules::signed::{Claim, Signer, version};
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;

/// Where they are kept, one file each.
pub const FOLDER: &str = "signed";

/// The versions that this user's host has seen.
#[derive(Clone, Debug)]
pub struct Versions(StateFolder);

impl Versions {
    /// Opens them.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn open(state: &StateFolder) -> Result<Self> {
        state.below(FOLDER).map(Self)
    }

    /// Whether a component is no older than any of its name and signer before.
    ///
    /// # Errors
    /// `Denied`, `Corrupt`, `DiskFailed`.
    pub fn admit(&self, by: Signer, claim: &Claim) -> Result<()> {
        let bytes = self.0.read(&file(by, claim))?.unwrap_or_default();
        let newest = self.kept(&super::state::said(&bytes), by, claim)?;
        self.admit_after(newest.as_ref(), by, claim)
    }

    /// Keeps that a component was here, which is no older than any before, in one step with that.
    ///
    /// # Errors
    /// `Denied`, `Corrupt`, `DiskFailed`.
    pub fn saw(&self, by: Signer, claim: &Claim) -> Result<()> {
        let held = self.0.hold_in_turn(&file(by, claim))?;
        let newest = self.kept(&held.read()?, by, claim)?;
        self.admit_after(newest.as_ref(), by, claim)?;
        if newest.as_ref() == Some(&claim.version) {
            return Ok(());
        }
        held.write(&claim.version.to_string())
    }

    fn admit_after(&self, newest: Option<&Version>, by: Signer, claim: &Claim) -> Result<()> {
        claim.admit_after(newest).map_err(|error| {
            error.hint(format!(
                "to go back on purpose, remove `{}`",
                self.shown(by, claim)
            ))
        })
    }

    fn kept(&self, text: &str, by: Signer, claim: &Claim) -> Result<Option<Version>> {
        if text.is_empty() {
            return Ok(None);
        }
        version(text).map(Some).ok_or_else(|| {
            let what = format!("`{}` is no version", self.shown(by, claim));
            Error::new(Code::Corrupt, what).hint("remove it; it is then written anew")
        })
    }

    fn shown(&self, by: Signer, claim: &Claim) -> String {
        let path = self.0.path().join(file(by, claim));
        path.display().to_string()
    }
}

/// A name says nothing of a path, so it is no part of one.
fn file(by: Signer, claim: &Claim) -> String {
    Digest::of(format!("{by} {}", claim.name).as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::signed::SigningKey;

    fn claim(name: &str, said: &str) -> Claim {
        Claim {
            name: name.to_owned(),
            version: version(said).unwrap(),
            digest: Digest::of(said.as_bytes()),
        }
    }

    #[test]
    fn the_newest_of_a_name_and_signer_stays() {
        let place = tempfile::tempdir().unwrap();
        let versions = Versions::open(&StateFolder::open(place.path()).unwrap()).unwrap();
        let by = |seed| SigningKey::new([seed; 32]).signer().unwrap();
        let saw = |seed, name, said| versions.saw(by(seed), &claim(name, said)).is_ok();
        assert!(saw(1, "mail", "1.9.0"));
        assert!(saw(1, "mail", "1.10.0"));
        assert!(!saw(1, "mail", "1.9.0"));
        assert!(versions.admit(by(1), &claim("mail", "1.9.9")).is_err());
        assert!(saw(1, "mail", "1.10.0"));
        assert!(saw(1, "web", "0.1.0"), "another name has its own");
        assert!(saw(2, "mail", "0.1.0"), "so has another signer");
        let error = versions.admit(by(1), &claim("mail", "1.0.0")).unwrap_err();
        assert_eq!(error.code(), Code::Denied);
        assert!(error.message().contains("older than 1.10.0"), "{error:?}");
        assert!(error.hints().join(" ").contains("to go back on purpose"));
    }

    #[test]
    fn of_many_at_once_the_newest_stays() {
        let place = tempfile::tempdir().unwrap();
        let state = StateFolder::open(place.path()).unwrap();
        let by = SigningKey::new([1; 32]).signer().unwrap();
        std::thread::scope(|scope| {
            for minor in 0..32 {
                let versions = Versions::open(&state).unwrap();
                let claim = claim("mail", &format!("1.{minor}.0"));
                // An older one may come too late, which is what is wanted.
                scope.spawn(move || versions.saw(by, &claim).is_ok());
            }
        });
        let versions = Versions::open(&state).unwrap();
        assert!(versions.admit(by, &claim("mail", "1.30.9")).is_err());
        versions.admit(by, &claim("mail", "1.31.0")).unwrap();
    }

    #[test]
    fn what_is_no_version_is_said() {
        let place = tempfile::tempdir().unwrap();
        let state = StateFolder::open(place.path()).unwrap();
        let by = SigningKey::new([1; 32]).signer().unwrap();
        let claim = claim("mail", "1.0.0");
        let folder = state.below(FOLDER).unwrap();
        folder.write(&file(by, &claim), b"new").unwrap();
        let versions = Versions::open(&state).unwrap();
        let error = versions.saw(by, &claim).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt);
    }
}
