//! Plugins: a component by digest, where its bytes are, and its code once it is needed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::guest::Linked;
use super::station::Sandbox;
use crate::rules::manifest::Manifest;
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;
use crate::words::limits::COMPONENT_BYTES;

/// A component and what it declares.
#[derive(Debug)]
pub struct Plugin {
    /// The name that its tools have here; its own, unless that was taken.
    pub name: String,
    /// Its bytes' digest, which everything is pinned to.
    pub digest: Digest,
    /// What it declares.
    pub manifest: Manifest,
    /// Where its bytes are.
    pub origin: PluginBytes,
    linked: OnceCell<Linked>,
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

#[expect(
    clippy::disallowed_methods,
    reason = "components are read here, whole and bounded, by name as configured"
)]
fn read_component(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound {
            Code::NotFound
        } else {
            Code::DiskFailed
        };
        Error::new(
            code,
            format!("the component `{shown}` cannot be read: {}", error.kind()),
        )
    };
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(Error::bad_plugin(format!("`{shown}` is no file")));
    }
    let size = usize::try_from(found.len()).unwrap_or(usize::MAX);
    if size > COMPONENT_BYTES {
        return Err(Error::too_big(
            &format!("the component `{shown}`"),
            COMPONENT_BYTES,
            size,
        ));
    }
    let mut bytes = Vec::with_capacity(size);
    let most = u64::try_from(COMPONENT_BYTES).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

impl Plugin {
    /// Looks at a component: digest, and manifest from the cache or from a guest that may do nothing.
    ///
    /// # Errors
    /// `BadPlugin` and what reading and compiling say.
    pub async fn look(sandbox: &Sandbox, origin: PluginBytes) -> Result<Self> {
        let digest = origin.digest()?;
        let linked = OnceCell::new();
        let manifest = match sandbox.cache().manifest(digest)? {
            // It was checked before it was stored, and only this host can store.
            Some(text) => Manifest::stored(&text)?,
            None => {
                let loaded = sandbox.load(&origin, digest).await?;
                let text = loaded.manifest(sandbox).await?;
                let manifest = Manifest::read(&text)?;
                sandbox.cache().store_manifest(digest, &text)?;
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
    pub(super) async fn linked(&self, sandbox: &Sandbox) -> Result<&Linked> {
        self.linked
            .get_or_try_init(|| sandbox.load(&self.origin, self.digest))
            .await
    }

    /// The interfaces that the component imports: all that it could ever ask for.
    ///
    /// # Errors
    /// What loading says.
    pub async fn imports(&self, sandbox: &Sandbox) -> Result<Vec<String>> {
        Ok(self.linked(sandbox).await?.imports(sandbox))
    }

    /// Whether its code is loaded already.
    pub(super) fn is_ready(&self) -> bool {
        self.linked.initialized()
    }
}

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The plugins that are part of this program.
#[must_use]
pub fn bundled() -> &'static [PluginBytes] {
    BUNDLED
}
