//! A secret's value, which can be neither seen nor copied, and is overwritten when it is dropped.
//!
//! What it cannot do: the libraries that put it on the wire keep copies until their buffers are freed,
//! and the scrub keeps one for as long as the process lives. Those are not overwritten.

use zeroize::Zeroizing;

use crate::rules::scrub::KnownSecrets;
use crate::rules::secret::{check_known, check_value};
use crate::rules::server::login::{is_random, names};
use crate::words::error::{Error, Result};

/// A secret's value. There is no `Debug`, `Display` or `Clone` (`tests/forge` tries), and no serde.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a value that can be kept secret.
    ///
    /// # Errors
    /// `BadInput`, `TooBig`, with the reason and never the value.
    pub fn new(value: String) -> Result<Self> {
        let value = Zeroizing::new(value);
        check_value(&value)?;
        Ok(Self(value))
    }

    /// Takes a value that somebody else keeps, whatever it is.
    pub(super) fn unchecked(value: Zeroizing<String>) -> Self {
        Self(value)
    }

    /// The value as text, for as long as it is needed.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Tells `known` the value, unless redacting it would blank ordinary text. One that an issuer gives anew again and again
    /// takes the place of the one before, by its name; one that anybody could guess is none, so that no issuer chooses what
    /// is no longer said.
    ///
    /// # Errors
    /// Why it is not taken out of anything.
    pub(crate) fn teach(&self, known: &KnownSecrets, name: &str) -> Result<()> {
        let (name, value) = self.lesson(name)?;
        known.learn_of(name, value);
        Ok(())
    }

    /// The same of one that is about to be used, which was told before; where it was not, that was said then.
    pub(crate) fn teach_again(&self, known: &KnownSecrets, name: &str) {
        if let Some((name, value)) = self.lesson_again(name) {
            known.learn_of(name, value);
        }
    }

    /// What there is to tell, for whoever tells many at once: a name, if but two of its values are to be known, and the value.
    pub(super) fn lesson<'a>(&'a self, name: &'a str) -> Result<(&'a str, &'a [u8])> {
        check_known(&self.0)?;
        match names::is_secret(name) {
            true if !is_random(&self.0) => Err(Error::bad_input(
                "the secret is refused: it does not look random",
            )),
            true => Ok((name, self.0.as_bytes())),
            false => Ok(("", self.0.as_bytes())),
        }
    }

    /// The same of one that was told before.
    pub(super) fn lesson_again<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a [u8])> {
        let lesson = self.lesson(name);
        let lesson = lesson.inspect_err(|error| {
            tracing::debug!(target: "lazaret::vault", "`{name}` is not taken out of anything: {error}");
        });
        lesson.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It compiles only as long as a secret can be neither written nor read by serde: otherwise both traits would fit.
    #[test]
    fn a_secret_is_written_and_read_by_no_serde() {
        trait Fits<As> {
            fn fits() {}
        }
        impl<T> Fits<()> for T {}
        impl<T: serde::Serialize> Fits<u8> for T {}
        impl<T: serde::de::DeserializeOwned> Fits<u16> for T {}
        <Secret as Fits<_>>::fits();
    }

    /// Likewise, only as long as what holds the value overwrites it in the end.
    #[test]
    fn what_a_secret_was_is_overwritten() {
        fn is_overwritten(_: &impl zeroize::ZeroizeOnDrop) {}
        is_overwritten(&Secret::new("a-canary-value-7".to_owned()).unwrap().0);
    }
}
