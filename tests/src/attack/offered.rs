//! What is offered as a component and is none, or not the one that somebody has signed.

use std::path::Path;

use lazaret::guests::compile::Compiler;
use lazaret::rules::exported;
use lazaret::rules::flow::home::Home;
use lazaret::rules::manifest::Manifest;
use lazaret::rules::signed::{Claim, SigningKey};
use lazaret::words::id::{Digest, RunId};
use lazaret::words::key::HostKey;
use serde::Deserialize;

use crate::attack::Attack;
use crate::attack::laid::spoiled;
use crate::forge;
use crate::rig::{Rig, Rigged, target};

/// What is made of a component before it is offered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// It is this one of `target/guests`, and not the forged one.
    #[serde(default)]
    pub guest: Option<String>,
    /// One bit of it is another, at this part of its length: a number, as all of these may be variants.
    #[serde(default)]
    pub flip: Option<String>,
    /// It ends at this part of its length.
    #[serde(default)]
    pub cut: Option<String>,
    /// It is what the engine makes of it.
    #[serde(default)]
    pub compiled: bool,
    /// It has a function whose table has so many branches.
    #[serde(default)]
    pub branches: usize,
    /// Its memory is laid out by so many segments of data, a byte each.
    #[serde(default)]
    pub segments: usize,
    /// Where it says that port 00000 is meant, it means this one: it is known only once the test runs.
    #[serde(default)]
    pub port: Option<String>,
    /// It defines a type of so many cases, and nothing with it.
    #[serde(default)]
    pub cases: usize,
}

/// In what a signed component is not what somebody has signed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Signing {
    /// In nothing.
    Right,
    /// The signature is of another file.
    AnotherFile,
    /// It is of a plugin of another name.
    AnotherPlugin,
    /// Another key has made it.
    AnotherKey,
    /// It names the right key, and another one has made it.
    Forged,
    /// It ends too early.
    Cut,
    /// There is none.
    Missing,
    /// It is older than one that was here before.
    Older,
}

/// With what is offered, in the place of the forged component.
pub(super) async fn offer(rig: Rig, attack: &Attack) -> Rig {
    let manifest = attack.manifest.as_deref().unwrap_or(forge::MANIFEST);
    if let Some(signing) = attack.signed {
        return sign(rig, manifest, signing).await;
    }
    let Some(offered) = &attack.offered else {
        return rig;
    };
    let mut fields = attack.forged.clone().unwrap_or_default();
    if offered.branches > 0 {
        let targets = " 0".repeat(offered.branches);
        let body = format!("(block (br_table{targets} (local.get 0)))");
        fields.push_str(&format!("(func (param i32) {body})"));
    }
    // Beside what the module says of itself.
    for at in (200_000..260_000).cycle().take(offered.segments) {
        fields.push_str(&format!("(data (i32.const {at}) \"x\")"));
    }
    let mut beside = attack.beside.clone();
    if offered.cases > 0 {
        let cases = (0..offered.cases).map(|number| format!(" (case \"c{number}\" u64)"));
        beside.push_str(&format!("(type (variant{}))", cases.collect::<String>()));
    }
    let bytes = match &offered.guest {
        Some(name) => std::fs::read(target().join(format!("guests/{name}.wasm"))),
        None => Ok(forge::plugin_with(manifest, &fields, &beside)),
    };
    let mut bytes = bytes.expect("`make plugins` builds it");
    if let Some(port) = &offered.port {
        bytes = meaning(bytes, port);
    }
    if offered.compiled {
        let compiler = Compiler::new(&target().join("debug/lazaret"));
        bytes = compiler.compile(&bytes).await.expect("it can be compiled");
    }
    let part = |text: &Option<String>| text.as_ref().map(|text| text.parse().expect("a part"));
    let bytes = spoiled(bytes, (part(&offered.flip), part(&offered.cut), false));
    rig.component("forged", &bytes)
}

/// A component with that port in it.
fn meaning(mut bytes: Vec<u8>, port: &str) -> Vec<u8> {
    const UNKNOWN: &[u8] = b":00000";
    let port = format!(":{port:0>5}");
    let windows = bytes.windows(UNKNOWN.len()).enumerate();
    let places = windows.filter(|(_, window)| *window == UNKNOWN);
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "it names no port");
    for at in places {
        bytes[at..at + port.len()].copy_from_slice(port.as_bytes());
    }
    bytes
}

/// A component of that version, whose maker's key is `mine`.
fn made(manifest: &str, version: &str) -> Vec<u8> {
    let versioned = manifest.replace("\"version\":\"1\"", &format!("\"version\":{version:?}"));
    assert_ne!(versioned, manifest, "its version is not 1");
    forge::plugin(&versioned, "")
}

/// What a key says of a component that declares this.
fn text(key: &SigningKey, (manifest, version): (&str, &str), bytes: &[u8]) -> String {
    let versioned = manifest.replace("\"version\":\"1\"", &format!("\"version\":{version:?}"));
    let manifest = Manifest::read(&versioned).expect("a manifest");
    let claim = Claim::of(&manifest, Digest::of(bytes)).expect("a claim");
    key.sign(claim).expect("it can be signed").text()
}

async fn sign(rig: Rig, manifest: &str, signing: Signing) -> Rig {
    let (mine, theirs) = (SigningKey::new([7; 32]), SigningKey::new([8; 32]));
    let by = mine.signer().expect("a key").to_string();
    let bytes = made(manifest, "1.2.0");
    let said = (manifest, "1.2.0");
    let lay = |rig: Rig, bytes: &[u8], signature: &str| {
        let rig = rig.component("forged", bytes);
        rig.file("forged.wasm.sig", signature)
            .signed_by("forged", &by)
    };
    let signature = match signing {
        Signing::Right | Signing::Older => text(&mine, said, &bytes),
        Signing::AnotherFile => text(&mine, said, &made(manifest, "1.3.0")),
        Signing::AnotherPlugin => {
            let other = manifest.replace("\"plugin\":\"forged\"", "\"plugin\":\"bank\"");
            text(&mine, (&other, "1.2.0"), &bytes)
        }
        Signing::AnotherKey => text(&theirs, said, &bytes),
        Signing::Forged => {
            let other = theirs.signer().expect("a key").to_string();
            text(&theirs, said, &bytes).replace(&other, &by)
        }
        Signing::Cut => {
            let text = text(&mine, said, &bytes);
            text[..text.len() - 10].to_owned()
        }
        Signing::Missing => String::new(),
    };
    let mut rig = rig;
    if signing == Signing::Older {
        let newer = made(manifest, "1.10.0");
        let signature = text(&mine, (manifest, "1.10.0"), &newer);
        rig = lay(rig.kept().await, &newer, &signature)
            .open()
            .await
            .close();
    }
    let rig = lay(rig, &bytes, &signature);
    if signing == Signing::Missing {
        remove(&rig.path("forged.wasm.sig"));
    }
    rig
}

fn remove(path: &Path) {
    std::fs::remove_file(path).expect("it was just written");
}

/// Takes in the records of a script that waits, from a host elsewhere with the same policy.
pub(super) async fn import(host: &Rigged, (policy, source): (&str, &str)) -> RunId {
    let elsewhere = Rig::of(policy).kept().await;
    let elsewhere = elsewhere.open().await;
    let called = elsewhere.script(source).await;
    // Another host's key: nothing here vouches for it.
    let key = HostKey::new(&[9; 32]);
    let records = elsewhere.records(&called.run).await;
    let exported =
        exported::write(&records, (&key, &Home::default()), true).expect("it has records");
    let taken = host.audit().import(exported.as_bytes()).await;
    taken.expect("it can be taken in");
    called.run
}
