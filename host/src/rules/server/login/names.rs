//! Where a login is kept: under names that only this very server has, at this address and with this issuer.
//!
//! Files of several workspaces share one vault, and each may call any address by any name. So a server's name alone says
//! nothing: what is kept for one address is found by no other.

use serde_json::json;

use super::Terms;
use crate::rules::json;
use crate::words::id::Digest;

/// Characters of a server's name that stand in names of ours, which are short.
const NAME_CHARS: usize = 16;
/// Digits of what says which server it is.
const DIGITS: usize = 32;
/// What is secret in a login: the token, what it is had again with, and what goes with our name.
pub const SECRETS: [&str; 3] = ["token", "again", "client"];

/// What a login to this server is kept under.
#[must_use]
pub fn key(name: &str, url: &str, said: &Terms) -> String {
    let who = json!({
        "name": name, "url": url, "client": said.client, "issuer": said.issuer, "token": said.token,
    });
    let digest = Digest::of(json::canonical(&who).as_bytes()).to_string();
    let digits: String = digest.chars().take(DIGITS).collect();
    let short: String = name.chars().take(NAME_CHARS).collect();
    format!("{short}-{digits}")
}

/// The name of one of its secrets in the vault.
#[must_use]
pub fn secret(key: &str, what: &str) -> String {
    format!("login-{key}-{what}")
}

/// Whether a secret of this name is a login's: the host's own, that an issuer has given and gives anew.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let rest = name.strip_prefix("login-");
    let key = rest.and_then(|rest| {
        let mut whats = SECRETS.iter();
        whats.find_map(|what| rest.strip_suffix(what)?.strip_suffix('-'))
    });
    let digits = key.and_then(|key| key.rsplit_once('-'));
    digits.is_some_and(|(_, digits)| {
        digits.len() == DIGITS && digits.chars().all(|c| c.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::secret::is_secret_name;

    #[test]
    fn another_address_or_issuer_is_kept_apart() {
        let said = |issuer: &str| Terms {
            issuer: Some(issuer.to_owned()),
            ..Terms::default()
        };
        let corp = key("wiki", "https://wiki.corp/mcp", &Terms::default());
        assert!(corp.starts_with("wiki-"), "{corp}");
        for other in [
            key("wiki", "https://evil.test/mcp", &Terms::default()),
            key("wiki2", "https://wiki.corp/mcp", &Terms::default()),
            key("wiki", "https://wiki.corp/mcp", &said("https://id.test")),
        ] {
            assert_ne!(corp, other);
        }
    }

    #[test]
    fn a_name_of_ours_is_one_whatever_the_server_is_called() {
        let long = "a".repeat(64);
        for what in SECRETS {
            let name = secret(&key(&long, "https://a.test", &Terms::default()), what);
            assert!(is_secret_name(&name) && is_secret(&name), "{name}");
        }
        for other in ["login-wiki-token", "login-x", "wiki-token", "login--token"] {
            assert!(!is_secret(other), "{other}");
        }
    }
}
