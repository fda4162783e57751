//! `lazaret plugin keygen`, `sign` and `verify`: who vouches for a component.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{about, look, quarantine};
use crate::edges::state::{StateFolder, random};
use crate::edges::versions::Versions;
use crate::edges::{memory, named};
use crate::guests::plugin::{Plugin, PluginBytes};
use crate::guests::vouched;
use crate::rules::signed::{Claim, Signed, Signer, SigningKey, Vouched};
use crate::surfaces::cli::{Scene, print};
use crate::surfaces::paint::{faint, foreign, good, shown_path, strong};
use crate::words::error::Result;
use crate::words::limits::SIGNED_BYTES;

/// `lazaret plugin sign`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret plugin sign mail.wasm --key mine.key          writes mail.wasm.sig
  lazaret plugin sign mail.wasm --key mine.key --json")]
pub(in crate::surfaces::cli) struct Sign {
    /// A `.wasm` file.
    file: PathBuf,
    /// The file with the key.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// `lazaret plugin verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret plugin verify mail.wasm                       who has signed it
  lazaret plugin verify mail.wasm --by ed25519:...      whether they have, and it is no older than what was here")]
pub(in crate::surfaces::cli) struct Verify {
    /// A `.wasm` file.
    file: PathBuf,
    /// Who has to have signed it; nothing older than what was here before passes then.
    #[arg(long, value_name = "KEY")]
    by: Option<String>,
}

/// Makes a key. Its private half is in the file, and nowhere else.
pub(super) fn keygen(scene: &Scene, file: &Path) -> Result<u8> {
    memory::hide();
    let key = SigningKey::new(random()?);
    let by = key.signer()?;
    named::write_own(&scene.around.folder.join(file), key.text().as_bytes())?;
    if scene.json {
        print::compact(&json!({"ok": true, "key": file, "signer": by}));
        return Ok(0);
    }
    print::line(by);
    if !scene.quiet {
        print::note(format!(
            "{}: whoever has `{}` signs as you do; what is printed above is for everybody",
            faint("hint"),
            shown_path(file)
        ));
    }
    Ok(0)
}

impl Sign {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        memory::hide();
        let key = named::read_own(
            &scene.around.folder.join(&self.key),
            "the key",
            SIGNED_BYTES,
        )?;
        let key = std::str::from_utf8(&key).unwrap_or_default();
        let key = SigningKey::read(key).map_err(|error| about(&self.key, &error))?;
        let looked = look(scene, &quarantine(scene)?, &self.file).await?;
        let claim = Claim::of(&looked.manifest, looked.digest)?;
        let signed = key.sign(claim).map_err(|error| about(&self.file, &error))?;
        let place = vouched::beside(&self.file);
        named::write(&scene.around.folder.join(&place), signed.text().as_bytes())?;
        self.say(scene, &signed, &place);
        Ok(0)
    }

    fn say(&self, scene: &Scene, signed: &Signed, place: &Path) {
        if scene.json {
            print::compact(&described(signed, place));
            return;
        }
        let Claim { name, version, .. } = &signed.claim;
        print::line(format!(
            "{} `{}` signs {} {} as {}",
            good("ok"),
            shown_path(place),
            strong(name),
            foreign(&version.to_string()),
            signed.by
        ));
        if !scene.quiet {
            let line = format!(
                "{name} = {{ path = {:?}, signed_by = \"{}\" }}",
                self.file.display().to_string(),
                signed.by
            );
            print::note(format!(
                "{}: give both files away together; whoever uses them writes, in `[plugins]`: {}",
                faint("hint"),
                foreign(&line)
            ));
        }
    }
}

impl Verify {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let path = scene.around.folder.join(&self.file);
        let signed = self.verified(scene, &path).await;
        let signed = signed.map_err(|error| about(&self.file, &error))?;
        let place = vouched::beside(&self.file);
        if scene.json {
            print::compact(&described(&signed, &place));
            return Ok(0);
        }
        let Claim { name, version, .. } = &signed.claim;
        print::line(format!(
            "{} `{}` is {} {}, signed by {}",
            good("ok"),
            shown_path(&self.file),
            strong(name),
            foreign(&version.to_string()),
            signed.by
        ));
        if self.by.is_none() && !scene.quiet {
            print::note(format!(
                "{}: anybody can make a key; that this one is its maker's, only they can tell you",
                faint("hint")
            ));
        }
        Ok(0)
    }

    /// Asks what a host asks before it takes a component, and keeps nothing.
    async fn verified(&self, scene: &Scene, path: &Path) -> Result<Signed> {
        let by = self.by.as_deref().map(Signer::parse).transpose()?;
        let signed = vouched::read(path)?;
        let origin = PluginBytes::File(path.to_owned());
        let wanted = Vouched {
            name: signed.claim.name.clone(),
            by: by.unwrap_or(signed.by),
        };
        wanted.admit(&signed, origin.digest()?)?;
        if by.is_some() {
            let versions = Versions::open(&StateFolder::open(&scene.around.state)?)?;
            versions.admit(signed.by, &signed.claim)?;
        }
        let looked = Plugin::look(&quarantine(scene)?, origin).await?;
        signed.claim.admit_manifest(&looked.manifest)?;
        Ok(signed)
    }
}

fn described(signed: &Signed, place: &Path) -> serde_json::Value {
    let Claim {
        name,
        version,
        digest,
    } = &signed.claim;
    json!({
        "ok": true, "plugin": name, "version": version.to_string(), "digest": digest,
        "signer": signed.by, "signature": place,
    })
}
