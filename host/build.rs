//! Embeds the bundled plugins, which `make plugins` leaves in `plugins/dist`, with their digests.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a build script fails loudly, and only reads what was built before it"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

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
    let mut list = String::new();
    for (file, constant) in ENGINES {
        let place = components
            .iter()
            .position(|path| path.ends_with(file))
            .unwrap_or_else(|| panic!("no {file} in plugins/dist: run `make plugins`"));
        let _ = write!(list, "const {constant}: PluginBytes = ");
        write_entry(&mut list, &components.remove(place));
        list.push_str(";\n");
    }
    list.push_str("const BUNDLED: &[PluginBytes] = &[\n");
    for path in &components {
        write_entry(&mut list, path);
        list.push_str(",\n");
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("bundled.rs"), list).expect("the build folder can be written");
}

/// Components that are no plugins: they have worlds and constants of their own.
const ENGINES: [(&str, &str); 2] = [
    ("script.wasm", "SCRIPT_ENGINE"),
    ("types.wasm", "TYPES_READER"),
];

fn write_entry(list: &mut String, path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
    let bytes = fs::read(path).expect("a component that was listed can be read");
    let digest = Sha256::digest(&bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    let name = path
        .file_stem()
        .and_then(|name| name.to_str())
        .expect("a plugin's file has a plain name");
    let path = fs::canonicalize(path).expect("a component that was read has a path");
    let _ = write!(
        list,
        "PluginBytes::Bundled {{ name: {name:?}, bytes: include_bytes!({path:?}), digest: {digest:?} }}"
    );
}
