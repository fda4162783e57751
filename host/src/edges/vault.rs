//! The vault: values of secrets. Only the egress edge reads one, after a permit and before the wire.
//!
//! A value has no `Debug`, `Display` or serde, and is overwritten when it is dropped.

use std::collections::BTreeMap;

use crate::words::error::{Code, Error, Result};

/// Where each secret's value is found.
#[derive(Clone, Debug, Default)]
pub struct Vault {
    variables: BTreeMap<String, String>,
}

/// A secret's value.
pub(crate) struct Secret(Vec<u8>);

impl Vault {
    /// Says that the secret `name` is in the environment variable `variable`.
    #[must_use]
    pub fn with_variable(mut self, name: &str, variable: &str) -> Self {
        self.variables.insert(name.to_owned(), variable.to_owned());
        self
    }

    /// The secret's value.
    ///
    /// # Errors
    /// `Denied`, in the same words for a secret that is unknown and one that is not set.
    #[expect(
        clippy::disallowed_methods,
        reason = "the vault reads secrets, and nobody else does"
    )]
    pub(crate) fn reveal(&self, name: &str) -> Result<Secret> {
        let missing = || {
            let error = Error::new(
                Code::Denied,
                format!("there is no secret `{name}` for this request"),
            );
            match self.variables.get(name) {
                Some(variable) => error.hint(format!("set the environment variable `{variable}`")),
                None => error,
            }
        };
        let variable = self.variables.get(name).ok_or_else(missing)?;
        let value = std::env::var(variable).map_err(|_| missing())?;
        if value.is_empty() {
            Err(missing())
        } else {
            Ok(Secret(value.into_bytes()))
        }
    }

    /// Values that must not be read by a model or client; those that are set.
    #[must_use]
    pub(crate) fn values(&self) -> Vec<Secret> {
        self.variables
            .keys()
            .filter_map(|name| self.reveal(name).ok())
            .collect()
    }
}

impl Secret {
    /// The value as text, for as long as it is needed.
    pub(crate) fn expose(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        for byte in &mut self.0 {
            *byte = 0;
        }
        // Keeps the overwriting from being optimised away.
        std::hint::black_box(&self.0);
    }
}
