//! Secrets in the environment of the process. Nothing hands it on: compile processes start with none.

use std::collections::BTreeSet;

use zeroize::Zeroizing;

use super::Secret;
use crate::rules::secret::is_secret_name;
use crate::words::error::{Error, Result};

/// What the names of variables begin with.
const PREFIX: &str = "LAZARET_SECRET_";
/// The variable with what the vault's file is locked with.
pub(super) const PASSPHRASE: &str = "LAZARET_VAULT_PASSPHRASE";

/// A variable, if it is set to something.
#[expect(
    clippy::disallowed_methods,
    reason = "the vault reads secrets, and nobody else does"
)]
pub(super) fn read(variable: &str) -> Option<String> {
    std::env::var(variable)
        .ok()
        .filter(|value| !value.is_empty())
}

/// The secret that a variable holds, if it is set to one. A blank at either end is of whoever set it: no service takes it,
/// and with it nobody would know the secret where it stands without.
pub(super) fn secret(variable: &str) -> Option<Zeroizing<String>> {
    read(variable).and_then(|value| bare(Zeroizing::new(value)))
}

fn bare(value: Zeroizing<String>) -> Option<Zeroizing<String>> {
    let bare = value.trim();
    (!bare.is_empty()).then(|| Zeroizing::new(bare.to_owned()))
}

/// The variable that holds a secret.
pub(super) fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// The secret of this name, if it is set.
pub(super) fn reveal(name: &str) -> Result<Option<Secret>> {
    let value = secret(&variable(name));
    value
        .map(|value| Secret::new(value.to_string()))
        .transpose()
}

/// Names of all that are set, in lower case.
#[expect(
    clippy::disallowed_methods,
    reason = "the vault reads secrets, and nobody else does"
)]
pub(super) fn names() -> BTreeSet<String> {
    let variables = std::env::vars_os();
    let names = variables.filter_map(|(variable, _)| {
        let name = variable
            .to_str()?
            .strip_prefix(PREFIX)?
            .to_ascii_lowercase();
        is_secret_name(&name).then_some(name)
    });
    names.collect()
}

/// What the vault's file is locked with, if it is said.
pub(super) fn passphrase() -> Option<Zeroizing<String>> {
    read(PASSPHRASE).map(Zeroizing::new)
}

/// Nobody but whoever starts the process sets its environment.
pub(super) fn only_read(name: &str) -> Error {
    Error::bad_input("the environment is only read: `[vault]` says `backend = \"env\"`").hint(
        format!(
            "set or unset the variable `{}` where lazaret is started",
            variable(name)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::scrub::KnownSecrets;

    #[test]
    fn a_blank_at_either_end_is_of_no_secret() {
        let bare = |value: &str| bare(Zeroizing::new(value.to_owned()));
        for value in ["canary-7f3a9c", " canary-7f3a9c", "\tcanary-7f3a9c \r\n"] {
            let secret = Secret::unchecked(bare(value).unwrap());
            assert_eq!(secret.expose(), "canary-7f3a9c");
            let known = KnownSecrets::default();
            secret.teach(&known, "a").unwrap();
            assert!(known.finds_in(b"canary-7f3a9c"), "{value:?}");
        }
        assert!(bare(" \n").is_none());
        assert!(bare("canary 7f3a9c").unwrap().contains(' '));
    }
}
