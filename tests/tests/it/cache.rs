//! The compile cache: nothing is loaded that this host did not make, whoever can write to the disk.

use std::path::{Path, PathBuf};

use lazaret_tests::forge;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

/// A state folder of its own, with `forged` compiled in it once.
struct State {
    folder: tempfile::TempDir,
    component: PathBuf,
}

const ANSWERS: &str = r#"
(func (export "run") (param i32 i32 i32 i32) (result i32)
  (i32.store (i32.const 4100) (i32.const 4200)) (i32.store (i32.const 4104) (i32.const 1))
  (i32.const 4096))
(data (i32.const 4200) "NUMBER")"#;

fn answering(number: u8) -> Vec<u8> {
    forge::plugin(
        forge::MANIFEST,
        &ANSWERS.replace("NUMBER", &number.to_string()),
    )
}

impl State {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let component = folder.path().join("forged.wasm");
        std::fs::write(&component, answering(1)).expect("a file");
        let state = Self { folder, component };
        assert_eq!(state.answer().await, json!(1));
        state
    }

    async fn open(&self) -> Rigged {
        self.rig().open().await
    }

    fn rig(&self) -> Rig {
        Rig::of("")
            .state(&self.folder.path().join("state"))
            .plugin("forged", &self.component)
    }

    async fn answer(&self) -> Value {
        let rig = self.open().await;
        let called = rig.call("forged.run", json!({})).await;
        rig::value(&called.outcome).clone()
    }

    /// The entry of a component with this ending.
    fn entry(&self, component: &[u8], ending: &str) -> PathBuf {
        let digest = lazaret::words::id::Digest::of(component).to_string();
        let folder = std::fs::read_dir(self.folder.path().join("state/cache")).expect("a cache");
        let mut entries = folder.map(|entry| entry.expect("an entry").path());
        let found = entries.find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&digest) && name.ends_with(ending)
        });
        found.expect("the cache has the component")
    }
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).expect("an entry");
    bytes[at] ^= 1;
    std::fs::write(path, bytes).expect("an entry");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_with_a_flipped_byte_is_compiled_anew() {
    let state = State::new().await;
    let entry = state.entry(&answering(1), ".code");
    let good = std::fs::read(&entry).expect("an entry");
    for at in [0, 31, 32, 40, good.len() / 2, good.len() - 1] {
        flip(&entry, at);
        assert_eq!(state.answer().await, json!(1), "byte {at}");
        let now = std::fs::read(&entry).expect("an entry");
        assert!(now == good, "byte {at}: the entry was not made anew");
    }
    for length in [0, 10, 32, 100] {
        std::fs::write(&entry, &good[..length]).expect("an entry");
        assert_eq!(state.answer().await, json!(1), "{length} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_of_another_component_is_not_loaded_under_this_name() {
    let state = State::new().await;
    let other = answering(2);
    let rig = state.rig().component("other", &other.clone());
    let opened = rig.try_open().await.expect("both open, by two names");
    assert!(
        opened
            .call("other.run", json!({}))
            .await
            .outcome
            .result
            .is_ok()
    );
    // The other's entries are authentic; under this name they are forgeries.
    for ending in [".code", ".manifest"] {
        let from = state.entry(&other, ending);
        std::fs::copy(from, state.entry(&answering(1), ending)).expect("a copy");
    }
    assert_eq!(state.answer().await, json!(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_manifest_is_not_believed() {
    let state = State::new().await;
    let entry = state.entry(&answering(1), ".manifest");
    let stored = std::fs::read(&entry).expect("an entry");
    let text = String::from_utf8_lossy(&stored[32..]).replace("\"pure\"", "\"destructive\"");
    let forged: Vec<u8> = stored[..32].iter().copied().chain(text.bytes()).collect();
    std::fs::write(&entry, forged).expect("an entry");
    assert_eq!(
        state.answer().await,
        json!(1),
        "a destructive tool would be denied"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_made_with_another_key_is_not_loaded() {
    let (state, stranger) = (State::new().await, State::new().await);
    let entry = state.entry(&answering(1), ".code");
    let good = std::fs::read(&entry).expect("an entry");
    std::fs::copy(stranger.entry(&answering(1), ".code"), &entry).expect("a copy");
    assert_eq!(state.answer().await, json!(1));
    assert!(
        std::fs::read(&entry).expect("an entry") == good,
        "it was made anew with our key"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_is_replaced_under_way_is_not_run() {
    let state = State::new().await;
    let rig = state.open().await;
    // The manifest came from the cache; the code is asked for at the first call.
    std::fs::remove_file(state.entry(&answering(1), ".code")).expect("an entry");
    std::fs::write(&state.component, answering(2)).expect("a file");
    let called = rig.call("forged.run", json!({})).await;
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::BadPlugin);
    assert!(
        error
            .message()
            .contains("has changed since it was installed"),
        "{error:?}"
    );
    rig.assert_alive().await;
    assert_eq!(
        state.answer().await,
        json!(2),
        "a new host looks at the new one"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compiled_code_is_no_plugin() {
    let state = State::new().await;
    let entry = std::fs::read(state.entry(&answering(1), ".code")).expect("an entry");
    for bytes in [&entry[..], &entry[32..]] {
        std::fs::write(&state.component, bytes).expect("a file");
        let error = state
            .rig()
            .try_open()
            .await
            .map(|_| ())
            .expect_err("native code");
        assert_eq!(error.code(), Code::BadPlugin);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_folder_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let state = State::new().await;
    let folder = state.folder.path().join("state");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("permissions");
    let error = state
        .rig()
        .try_open()
        .await
        .map(|_| ())
        .expect_err("a folder of everybody");
    assert_eq!(error.code(), Code::Denied);
}
