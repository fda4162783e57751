//! The compile cache: native code that this host made itself, and nothing else.
//!
//! An entry is named by the component's digest and the engine's settings, and authenticated by a key
//! that only this user's host has. It is read once; the bytes that were verified are the bytes that
//! are loaded. Native code is never accepted from anywhere else.

use std::hash::{DefaultHasher, Hash, Hasher};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::edges::state::StateFolder;
use crate::words::error::{Error, Result};
use crate::words::id::{Digest, shown};

const MAC_BYTES: usize = 32;

/// Compiled components and their manifests, by digest.
#[derive(Clone)]
pub struct Cache {
    folder: StateFolder,
    key: [u8; 32],
    settings: u64,
}

/// The settings that compiled code depends on, as one number.
#[must_use]
pub fn settings_of(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

impl Cache {
    /// The cache in the user's own state folder.
    ///
    /// # Errors
    /// `DiskFailed`, `Corrupt`.
    pub fn open(state: &StateFolder, engine: &Engine) -> Result<Self> {
        Ok(Self {
            folder: state.below("cache")?,
            key: state.key()?,
            settings: settings_of(engine),
        })
    }

    /// The compiled component, if the cache has it.
    ///
    /// # Errors
    /// `DiskFailed`. A damaged or forged entry is no error: it counts as absent.
    pub fn component(&self, engine: &Engine, digest: Digest) -> Result<Option<Component>> {
        let Some(code) = self.read(&self.code_name(digest))? else {
            return Ok(None);
        };
        Ok(load(engine, &code).ok())
    }

    /// Whether the cache has an entry of the component; whether that can be used shows once it is loaded.
    #[must_use]
    pub fn has_component(&self, digest: Digest) -> bool {
        self.folder.has(&self.code_name(digest))
    }

    /// Stores what the compile process made, and loads it.
    ///
    /// # Errors
    /// `DiskFailed`; `BadPlugin` where the engine has no room for such a component.
    pub fn store(&self, engine: &Engine, digest: Digest, code: &[u8]) -> Result<Component> {
        let component = load(engine, code).map_err(|error| {
            let why = shown(&format!("{:#}", error.cause()));
            Error::bad_plugin(format!(
                "the component asks for more than a guest may have: {why}"
            ))
        })?;
        self.write(&self.code_name(digest), code)?;
        Ok(component)
    }

    /// A plugin's manifest as it was read at install, if the cache has it.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn manifest(&self, digest: Digest) -> Result<Option<String>> {
        let bytes = self.read(&format!("{digest}.manifest"))?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Stores a manifest that was read and checked.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn store_manifest(&self, digest: Digest, text: &str) -> Result<()> {
        self.write(&format!("{digest}.manifest"), text.as_bytes())
    }

    fn code_name(&self, digest: Digest) -> String {
        format!("{digest}-{:016x}.code", self.settings)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(mut entry) = self.folder.read(name)? else {
            return Ok(None);
        };
        if entry.len() < MAC_BYTES {
            return Ok(None);
        }
        let content = entry.split_off(MAC_BYTES);
        Ok(self
            .mac(name, &content)?
            .verify_slice(&entry)
            .is_ok()
            .then_some(content))
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let mut entry = self.mac(name, content)?.finalize().into_bytes().to_vec();
        entry.extend_from_slice(content);
        self.folder.write(name, &entry)
    }

    /// Over name and content: an entry under another name is a forgery too.
    fn mac(&self, name: &str, content: &[u8]) -> Result<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key)
            .map_err(|_| Error::bug("the key has a wrong length"))?;
        mac.update(name.as_bytes());
        mac.update(&[0]);
        mac.update(content);
        Ok(mac)
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Cache({})", self.folder.path().display())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where code is loaded"
)]
#[expect(
    unsafe_code,
    reason = "loads code that this host compiled, after its MAC was verified over these very bytes"
)]
fn load(engine: &Engine, code: &[u8]) -> Result<Component> {
    // SAFETY: both callers pass bytes that came out of our own compile process: `component` after
    // verifying a MAC that only this user's host can make, `store` straight from that process.
    let component = unsafe { Component::deserialize(engine, code) };
    component.map_err(|error| Error::bug("the engine refuses its own code").because(error))
}
