//! Embeds the bundled plugins, which `make plugins` leaves in `plugins/dist`, with their digests; and, apart from them,
//! the two components there that are no plugins: the engine of scripts and the reader of TypeScript.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a build script fails loudly, and only reads what was built before it"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

/// Components that are of other worlds than plugins, and the constants that they become.
const APART: [(&str, &str); 2] = [("script", "SCRIPT_ENGINE"), ("types", "TYPES_READER")];

fn main() {
    let host = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = host.join("../plugins/dist");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut components: Vec<PathBuf> = fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    components.retain(|path| path.extension().is_some_and(|ending| ending == "wasm"));
    components.sort();
    assert!(
        !components.is_empty(),
        "no bundled plugins in plugins/dist: run `make plugins` first, which builds them"
    );
    let mut list = String::from("const BUNDLED: &[PluginBytes] = &[\n");
    let mut apart = String::new();
    for path in &components {
        let name = name_of(path);
        let entry = entry(name, path);
        match APART.iter().find(|(known, _)| *known == name) {
            Some((_, constant)) => {
                let _ = writeln!(apart, "const {constant}: PluginBytes = {entry};");
            }
            None => {
                let _ = writeln!(list, "    {entry},");
            }
        }
    }
    list.push_str("];\n");
    list.push_str(&apart);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("bundled.rs"), list).expect("the build folder can be written");
}

fn name_of(path: &Path) -> &str {
    path.file_stem()
        .and_then(|name| name.to_str())
        .expect("a plugin's file has a plain name")
}

/// The expression of one component.
fn entry(name: &str, path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    let bytes = fs::read(path).expect("a component that was listed can be read");
    let digest = Sha256::digest(&bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    let path = fs::canonicalize(path).expect("a component that was read has a path");
    format!(
        "PluginBytes::Bundled {{ name: {name:?}, bytes: include_bytes!({path:?}), digest: {digest:?} }}"
    )
}
