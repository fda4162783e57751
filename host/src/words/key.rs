//! The host's key as a value: what this host has written, nobody else can write in its name.
//!
//! Each use of the key names its purpose, so that an authentication made for one thing never serves
//! for another.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::id::Digest;
use super::limits::NONCE_CHARS;

/// The key of this user's host. Never shown, and never equal to another by `==`.
#[derive(Clone)]
pub struct HostKey(Hmac<Sha256>);

impl HostKey {
    /// Of 32 random bytes.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self(keyed(bytes))
    }

    /// Authenticates `parts` for a purpose. No part can reach into the next.
    #[must_use]
    pub fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Digest {
        Digest::from(self.over(purpose, parts).finalize().into_bytes().0)
    }

    /// Whether `mac` is what [`HostKey::mac`] makes, compared in constant time.
    #[must_use]
    pub fn made(&self, mac: &Digest, purpose: &str, parts: &[&[u8]]) -> bool {
        self.over(purpose, parts).verify_slice(mac.bytes()).is_ok()
    }

    /// Names the key without telling anything of it.
    #[must_use]
    pub fn name(&self) -> String {
        self.nonce("name", &[])
    }

    /// A word that nobody without the key can foresee: 64 bits, in hexadecimal digits.
    #[must_use]
    pub fn nonce(&self, purpose: &str, parts: &[&[u8]]) -> String {
        let mac = self.mac(purpose, parts).to_string();
        mac.chars().take(NONCE_CHARS).collect()
    }

    fn over(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in [purpose.as_bytes()].iter().chain(parts) {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            mac.update(&length.to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

/// Two blocks of the hash are done here once, and not for each message.
fn keyed(bytes: &[u8; 32]) -> Hmac<Sha256> {
    // A key of any length is taken; longer than a block it would be hashed first.
    let mut block = [0; 64];
    for (to, from) in block.iter_mut().zip(bytes) {
        *to = *from;
    }
    Hmac::<Sha256>::new(&block.into())
}

impl fmt::Debug for HostKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("HostKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purpose_parts_and_key_all_count() {
        let key = HostKey::new(&[7; 32]);
        let mac = key.mac("a", &[b"b", b"cd"]);
        assert!(key.made(&mac, "a", &[b"b", b"cd"]));
        for other in [
            key.mac("x", &[b"b", b"cd"]),
            key.mac("a", &[b"bc", b"d"]),
            key.mac("a", &[b"b", b"cd", b""]),
            HostKey::new(&[8; 32]).mac("a", &[b"b", b"cd"]),
        ] {
            assert!(!key.made(&other, "a", &[b"b", b"cd"]));
        }
        assert_eq!(format!("{key:?}"), "HostKey");
        assert_eq!(key.name().len(), 16);
    }

    /// RFC 4231, test case 1.
    #[test]
    fn it_is_the_hmac_of_the_standard() {
        let mut bytes = [0; 32];
        bytes[..20].fill(0x0b);
        let mut mac = keyed(&bytes);
        mac.update(b"Hi There");
        let made = Digest::from(mac.finalize().into_bytes().0);
        assert!(
            made.to_string()
                .starts_with("b0344c61d8db38535ca8afceaf0bf12b")
        );
    }
}
