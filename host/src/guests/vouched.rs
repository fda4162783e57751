//! Components that somebody has to have signed: looked at only once the signature beside them says so.

use std::path::{Path, PathBuf};

use super::plugin::{Installed, Plugin, PluginBytes};
use super::station::Quarantine;
use crate::edges::named;
use crate::edges::versions::Versions;
use crate::rules::signed::{Signed, Vouched};
use crate::words::error::{Code, Error, Result};
use crate::words::id::{Digest, shown};
use crate::words::limits::SIGNED_BYTES;

/// The signature's file: beside the component, with its name and an ending more.
#[must_use]
pub fn beside(component: &Path) -> PathBuf {
    let mut path = component.as_os_str().to_owned();
    path.push(".sig");
    path.into()
}

/// The signature beside a component.
///
/// # Errors
/// `NotFound`, `TooBig`, `DiskFailed`; `Denied` for one that is damaged.
pub fn read(component: &Path) -> Result<Signed> {
    let bytes = named::read(&beside(component), "the signature", SIGNED_BYTES)?;
    Signed::read(&String::from_utf8_lossy(&bytes))
}

/// Looks at a component of the configuration. Where it has to be signed, nothing of it is compiled before it is known
/// to be, by whom, as what, and as no older one than was here.
///
/// # Errors
/// `Denied`, and what [`Plugin::look`] says.
pub async fn look(
    (quarantine, versions): (&Quarantine, &Versions),
    name: &str,
    installed: Installed,
) -> Result<Plugin> {
    let origin = PluginBytes::File(installed.path.clone());
    let looked = admit((quarantine, versions), name, installed).await;
    looked.map_err(|error| refused((name, origin.digest().ok()), error))
}

/// Nothing of a run is on record yet where a component is refused, so the log says it: which, and why in a word. What the
/// error quotes is the component's own, and stays out of it.
pub(super) fn refused((name, digest): (&str, Option<Digest>), error: Error) -> Error {
    let digest = digest.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
    let (plugin, code) = (shown(name), error.code().word());
    tracing::warn!(target: "lazaret::plugin", %plugin, %digest, code, "refused");
    error
}

async fn admit(
    (quarantine, versions): (&Quarantine, &Versions),
    name: &str,
    Installed {
        path, signed_by, ..
    }: Installed,
) -> Result<Plugin> {
    let Some(by) = signed_by else {
        return Plugin::look(quarantine, PluginBytes::File(path)).await;
    };
    let signed = read(&path).map_err(|error| unsigned(&path, error))?;
    let origin = PluginBytes::File(path);
    let digest = origin.digest()?;
    let name = name.to_owned();
    Vouched { name, by }.admit(&signed, digest)?;
    versions.admit(by, &signed.claim)?;
    // Of just this digest: a file that is changed meanwhile is not compiled either.
    let plugin = Plugin::look_at(quarantine, origin, digest).await?;
    signed.claim.admit_manifest(&plugin.manifest)?;
    versions.saw(by, &signed.claim)?;
    Ok(plugin)
}

/// To have no signature is no way around it.
fn unsigned(component: &Path, error: Error) -> Error {
    if error.code() != Code::NotFound {
        return error;
    }
    let name = beside(component);
    let name = name.file_name().unwrap_or_default().display();
    let what = format!("it is not signed: there is no `{name}` beside it");
    Error::new(Code::Denied, what)
        .hint("put the signature there that came with it, or make one: `lazaret plugin sign`")
}
