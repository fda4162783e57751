//! Signed components: who vouches for a file, as what, and whether this is that file and no older one.
//!
//! A signature lies beside the component, as `NAME.wasm.sig`, a text of six lines:
//!
//! ```text
//! lazaret-plugin 1
//! name mail
//! version 1.2.0
//! digest 5f1c…
//! key ed25519:…
//! signature …
//! ```
//!
//! What is signed is the text above its last line, behind a word of ours, so that nothing else that a key has signed
//! passes for it. There is one way to write each signature: what is read and would be written otherwise is none.

use std::fmt;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use semver::Version;
use zeroize::Zeroizing;

use super::manifest::Manifest;
use crate::words::error::{Code, Error, Result};
use crate::words::id::{Digest, shown};
use crate::words::limits::SIGNED_VERSION_CHARS;

/// What is put before the lines that are signed.
const DOMAIN: &str = "lazaret signature of a component\n";
/// The first line.
const FORM: &str = "lazaret-plugin 1";
/// The first line of a file with a key.
const KEY_FORM: &str = "lazaret-signing-key 1";
/// What a public key begins with.
const SIGNER: &str = "ed25519:";

/// Who signs: the public half of a key.
#[derive(
    Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Signer([u8; 32]);

impl Signer {
    /// Reads `ed25519:` and 32 bytes in base64.
    ///
    /// # Errors
    /// `BadInput`.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = text.strip_prefix(SIGNER).and_then(bytes);
        bytes.map(Self).ok_or_else(|| {
            Error::bad_input(format!("`{}` is no public key", shown(text))).hint(
                "it is written `ed25519:` and 44 characters; `lazaret plugin keygen` prints one",
            )
        })
    }
}

impl TryFrom<String> for Signer {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Signer> for String {
    fn from(signer: Signer) -> Self {
        signer.to_string()
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SIGNER}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Signer({self})")
    }
}

/// A key that signs. It is never shown: it has neither `Debug` nor `Display`.
pub struct SigningKey(Zeroizing<[u8; 32]>);

impl SigningKey {
    /// Of 32 random bytes.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self(Zeroizing::new(seed))
    }

    /// Reads what [`SigningKey::text`] has written.
    ///
    /// # Errors
    /// `BadInput`, which says nothing of what was read.
    pub fn read(text: &str) -> Result<Self> {
        let line = text
            .strip_prefix(KEY_FORM)
            .and_then(|rest| rest.strip_prefix('\n'));
        let line = line.and_then(|rest| rest.strip_suffix('\n'));
        line.and_then(bytes).map(Self::new).ok_or_else(|| {
            Error::bad_input("this is no file with a key that signs")
                .hint("`lazaret plugin keygen FILE` makes one")
        })
    }

    /// The file with the key.
    #[must_use]
    pub fn text(&self) -> Zeroizing<String> {
        let seed = Zeroizing::new(STANDARD.encode(*self.0));
        Zeroizing::new(format!("{KEY_FORM}\n{}\n", *seed))
    }

    /// Its public half.
    ///
    /// # Errors
    /// `Bug`.
    pub fn signer(&self) -> Result<Signer> {
        use aws_lc_rs::signature::KeyPair;
        let pair = self.pair()?;
        let public = pair.public_key().as_ref().try_into();
        let public = public.map_err(|_| Error::bug("a public key has not 32 bytes"))?;
        Ok(Signer(public))
    }

    /// Signs.
    ///
    /// # Errors
    /// `Bug`.
    pub fn sign(&self, claim: Claim) -> Result<Signed> {
        let by = self.signer()?;
        let made = self.pair()?.sign(claim.signed(by).as_bytes());
        let signature = made.as_ref().try_into();
        let signature = signature.map_err(|_| Error::bug("a signature has not 64 bytes"))?;
        Ok(Signed {
            claim,
            by,
            signature,
        })
    }

    fn pair(&self) -> Result<Ed25519KeyPair> {
        Ed25519KeyPair::from_seed_unchecked(&*self.0)
            .map_err(|_| Error::bug("a key that signs has not 32 bytes"))
    }
}

/// What is said of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The plugin's own name.
    pub name: String,
    /// Its version, which can be compared.
    pub version: Version,
    /// Of the component's bytes.
    pub digest: Digest,
}

impl Claim {
    /// Of a component that was looked at.
    ///
    /// # Errors
    /// `BadPlugin` for a version that cannot be compared.
    pub fn of(manifest: &Manifest, digest: Digest) -> Result<Self> {
        let version = version(&manifest.version).ok_or_else(|| {
            let what = format!(
                "the plugin's version is `{}`, and signed ones are compared",
                shown(&manifest.version)
            );
            Error::bad_plugin(what).hint("give it one of three numbers, such as `1.2.0`")
        })?;
        Ok(Self {
            name: manifest.plugin.clone(),
            version,
            digest,
        })
    }

    /// All lines but the last.
    fn lines(&self, by: Signer) -> String {
        let Self {
            name,
            version,
            digest,
        } = self;
        format!("{FORM}\nname {name}\nversion {version}\ndigest {digest}\nkey {by}\n")
    }

    fn signed(&self, by: Signer) -> String {
        format!("{DOMAIN}{}", self.lines(by))
    }
}

/// A version that can be compared, and that is not too long to be kept.
#[must_use]
pub fn version(text: &str) -> Option<Version> {
    let fits = text.len() <= SIGNED_VERSION_CHARS;
    fits.then(|| Version::parse(text).ok()).flatten()
}

/// A claim that somebody has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What they say.
    pub claim: Claim,
    /// Who they are.
    pub by: Signer,
    signature: [u8; 64],
}

impl Signed {
    /// Reads a signature, which is one: whoever it names has signed just this.
    ///
    /// # Errors
    /// `Denied`.
    pub fn read(text: &str) -> Result<Self> {
        let signed = Self::parse(text).filter(|signed| signed.text() == text);
        let signed = signed.filter(Self::is_genuine);
        signed.ok_or_else(|| denied("the signature is damaged, or somebody else made it"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut after = |word: &str| lines.next()?.strip_prefix(word)?.strip_prefix(' ');
        after("lazaret-plugin")?;
        Some(Self {
            claim: Claim {
                name: after("name")?.to_owned(),
                version: version(after("version")?)?,
                digest: Digest::parse(after("digest")?).ok()?,
            },
            by: Signer::parse(after("key")?).ok()?,
            signature: bytes(after("signature")?)?,
        })
    }

    fn is_genuine(&self) -> bool {
        let signed = self.claim.signed(self.by);
        let key = UnparsedPublicKey::new(&ED25519, &self.by.0);
        key.verify(signed.as_bytes(), &self.signature).is_ok()
    }

    /// The file beside the component.
    #[must_use]
    pub fn text(&self) -> String {
        let signature = STANDARD.encode(self.signature);
        format!("{}signature {signature}\n", self.claim.lines(self.by))
    }
}

/// What the operator says of a component: who has to have signed it, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// Its name in `[plugins]`, which has to be its own: else a file of the same signer could take another one's place.
    pub name: String,
    /// Who.
    pub by: Signer,
}

impl Vouched {
    /// Whether a signature is theirs, of this file and of this plugin; what it claims. Nothing of the component has been
    /// read by then but its digest.
    ///
    /// # Errors
    /// `Denied`.
    pub fn admit(&self, signed: &Signed, file: Digest) -> Result<()> {
        let Signed { claim, by, .. } = signed;
        if *by != self.by {
            let what = format!("it is signed by {by}, and `signed_by` names {}", self.by);
            return Err(denied(&what)
                .hint("if its maker has another key now, ask them, and write that key"));
        }
        if claim.digest != file {
            return Err(denied("the signature beside it is of another file")
                .hint("put the component and its signature there together"));
        }
        if claim.name != self.name {
            let (name, own) = (shown(&claim.name), &self.name);
            let what = format!("the signature is of plugin `{name}`, and not of `{own}`");
            return Err(denied(&what).hint(format!(
                "a signed plugin has its own name in `[plugins]`: `{name}`"
            )));
        }
        Ok(())
    }
}

impl Claim {
    /// Whether the manifest says the same as its maker has signed.
    ///
    /// # Errors
    /// `Denied`.
    pub fn admit_manifest(&self, manifest: &Manifest) -> Result<()> {
        let same = manifest.plugin == self.name
            && version(&manifest.version).as_ref() == Some(&self.version);
        if same {
            return Ok(());
        }
        let what = format!(
            "it says that it is `{}` {}, and is signed as `{}` {}",
            shown(&manifest.plugin),
            shown(&manifest.version),
            shown(&self.name),
            self.version
        );
        Err(denied(&what).hint("sign it again: `lazaret plugin sign`"))
    }

    /// Whether it is no older than the newest one of its name and signer that was here.
    ///
    /// # Errors
    /// `Denied`.
    pub fn admit_after(&self, newest: Option<&Version>) -> Result<()> {
        let Some(newest) = newest.filter(|newest| self.version.cmp_precedence(newest).is_lt())
        else {
            return Ok(());
        };
        let what = format!(
            "it is version {}, which is older than {newest}, which was here before",
            self.version
        );
        Err(denied(&what).hint("whoever puts an older one there brings back what was mended since"))
    }
}

fn denied(what: &str) -> Error {
    Error::new(Code::Denied, what)
}

/// Bytes of a fixed number in base64, written in the one way that there is.
fn bytes<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let bytes = Zeroizing::new(STANDARD.decode(text).ok()?);
    bytes.as_slice().try_into().ok()
}

#[cfg(test)]
mod tests;
