//! Plugins: a component by digest, where its bytes are, and its code once it is needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::guest::Linked;
use super::station::Quarantine;
use crate::edges::named;
use crate::rules::manifest::Manifest;
use crate::rules::signed::Signer;
use crate::words::error::{Error, Result};
use crate::words::id::Digest;
use crate::words::limits::COMPONENT_BYTES;

/// A component and what it declares.
#[derive(Debug)]
pub struct Plugin {
    /// The name that its tools have here: its own, unless that was taken, or a workspace's file names it.
    pub name: String,
    /// Its bytes' digest, which everything is pinned to.
    pub digest: Digest,
    /// What it declares.
    pub manifest: Manifest,
    /// Where its bytes are.
    pub origin: PluginBytes,
    linked: OnceCell<Linked>,
}

/// A component as the operator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its file.
    pub path: PathBuf,
    /// Who has to have signed it; nobody, where that is not said.
    pub signed_by: Option<Signer>,
    /// Whose file names it, which says what it is called.
    pub whose: Whose,
}

/// Whose file names a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The user's own, or the system's: it is called as it calls itself.
    User,
    /// A workspace's: it is called as that file calls it, which is what its owner has read. As it calls itself it could be
    /// what the user's own lines speak of.
    Workspace,
}

/// Where a component's bytes are.
#[derive(Clone, Debug)]
pub enum PluginBytes {
    /// In this program.
    Bundled {
        /// Its file name, for people.
        name: &'static str,
        /// The component.
        bytes: &'static [u8],
        /// Its digest, computed when the program was built.
        digest: &'static str,
    },
    /// In a file.
    File(PathBuf),
}

impl PluginBytes {
    /// Where the bytes are, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Bundled { .. } => "bundled".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The component's digest.
    ///
    /// # Errors
    /// `NotFound`, `TooBig`, `DiskFailed`.
    pub fn digest(&self) -> Result<Digest> {
        match self {
            Self::Bundled { digest, .. } => Digest::parse(digest),
            Self::File(path) => Ok(Digest::of(&read_component(path)?)),
        }
    }

    /// The component's bytes, which are those of the digest or an error.
    ///
    /// # Errors
    /// `BadPlugin` where the file has changed since it was looked at.
    pub fn read(&self, expected: Digest) -> Result<Arc<[u8]>> {
        let bytes: Arc<[u8]> = match self {
            Self::Bundled { bytes, .. } => (*bytes).into(),
            Self::File(path) => read_component(path)?.into(),
        };
        if Digest::of(&bytes) == expected {
            return Ok(bytes);
        }
        let what = format!(
            "the component `{}` has changed since it was installed",
            self.shown()
        );
        Err(Error::bad_plugin(what).hint("start again to look at the new one"))
    }
}

fn read_component(path: &Path) -> Result<Vec<u8>> {
    named::read(path, "the component", COMPONENT_BYTES)
}

impl Plugin {
    /// Looks at a component: digest, and manifest from the cache or from a guest that may do nothing.
    ///
    /// # Errors
    /// `BadPlugin` and what reading and compiling say.
    pub async fn look(quarantine: &Quarantine, origin: PluginBytes) -> Result<Self> {
        let digest = origin.digest()?;
        Self::look_at(quarantine, origin, digest).await
    }

    /// The same of a component that has to have this digest still.
    pub(super) async fn look_at(
        quarantine: &Quarantine,
        origin: PluginBytes,
        digest: Digest,
    ) -> Result<Self> {
        let linked = OnceCell::new();
        let manifest = match quarantine.cache().manifest(digest)? {
            // It was checked before it was stored, and only this host can store.
            Some(text) => Manifest::stored(&text)?,
            None => {
                let loaded = quarantine.load(&origin, digest).await?;
                let text = loaded.manifest(quarantine).await?;
                let manifest = Manifest::read(&text)?;
                quarantine.cache().store_manifest(digest, &text)?;
                linked
                    .set(loaded)
                    .map_err(|_| Error::bug("a new cell was full"))?;
                manifest
            }
        };
        Ok(Self {
            name: manifest.plugin.clone(),
            digest,
            manifest,
            origin,
            linked,
        })
    }

    /// The component, ready for guests. Compiled or loaded at the first call.
    pub(super) async fn linked(&self, quarantine: &Quarantine) -> Result<&Linked> {
        self.linked
            .get_or_try_init(|| quarantine.load(&self.origin, self.digest))
            .await
    }

    /// The interfaces that the component imports: all that it could ever ask for.
    ///
    /// # Errors
    /// What loading says.
    pub async fn imports(&self, quarantine: &Quarantine) -> Result<Vec<String>> {
        Ok(self.linked(quarantine).await?.imports(quarantine))
    }

    /// Whether its code is loaded already.
    pub(super) fn is_ready(&self) -> bool {
        self.linked.initialized()
    }

    /// Whether nothing of it has to be compiled any more.
    pub(super) fn is_compiled(&self, quarantine: &Quarantine) -> bool {
        self.is_ready() || quarantine.cache().has_component(self.digest)
    }
}

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The engine of scripts that is part of this program.
#[must_use]
pub fn script_engine() -> PluginBytes {
    SCRIPT_ENGINE
}

/// The reader of TypeScript that is part of this program.
#[must_use]
pub fn types_reader() -> PluginBytes {
    TYPES_READER
}

/// The plugins that are part of this program.
#[must_use]
pub fn bundled() -> &'static [PluginBytes] {
    BUNDLED
}

/// Their names.
pub fn bundled_names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().filter_map(|plugin| match plugin {
        PluginBytes::Bundled { name, .. } => Some(*name),
        PluginBytes::File(_) => None,
    })
}
