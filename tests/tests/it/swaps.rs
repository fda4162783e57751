//! Links that are swapped while a guest looks: what was checked is what is opened, or nothing is.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use lazaret_tests::attack::CANARY;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

const POLICY: &str = "[mounts.docs]\npath = \"docs\"\naccess = \"write\"\n[grants.\"hostile.file_each\"]\nmounts = { docs = \"write\" }\n";

/// Calls of a hundred requests each, at most.
const ROUNDS: usize = 300;
/// So many swaps are an attack.
const SWAPS: u64 = 100;

/// Puts one thing after the other in the place of `name`, for as long as it lives.
struct Swapper {
    ending: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    work: Option<JoinHandle<()>>,
}

impl Swapper {
    /// `make` makes either thing at a path; they take turns at `place`.
    fn start(place: PathBuf, make: fn(&Path, bool)) -> Self {
        let (ending, swaps) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let work = std::thread::spawn({
            let (ending, swaps) = (ending.clone(), swaps.clone());
            move || {
                let beside = place.with_extension("next");
                while !ending.load(Ordering::Relaxed) {
                    let inside = swaps.fetch_add(1, Ordering::Relaxed) % 2 == 0;
                    make(&beside, inside);
                    fs::rename(&beside, &place).expect("the swap");
                }
            }
        });
        Self {
            ending,
            swaps,
            work: Some(work),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            // A test that fails has something else to say.
            let _ = work.join();
        }
    }
}

/// A host with `docs/inside/a` and `outside/a`, which holds what no guest may read.
async fn host() -> Rigged {
    let rig = Rig::of(POLICY)
        .guest("hostile")
        .file("docs/inside/a", "inside")
        .file("outside/a", CANARY);
    rig.open().await
}

/// Does one thing again and again, until it was swapped often and met either way; every answer there was.
async fn attack(host: &Rigged, swapper: &Swapper, wish: Value, met: &[&str]) -> BTreeSet<String> {
    let (wishes, mut answers) = (vec![wish; 100], BTreeSet::new());
    for _ in 0..ROUNDS {
        let called = host
            .call("hostile.file_each", json!({"wishes": wishes}))
            .await;
        let lines = rig::value(&called.outcome).as_array().expect("lines");
        answers.extend(
            lines
                .iter()
                .map(|line| line.as_str().expect("a line").to_owned()),
        );
        let all = met
            .iter()
            .all(|part| answers.iter().any(|line| line.contains(part)));
        if all && swapper.swaps.load(Ordering::Relaxed) > SWAPS {
            return answers;
        }
    }
    panic!("the swaps were not met either way: {answers:?}");
}

/// A link to a file, that leads inside or outside.
fn link_to_file(at: &Path, inside: bool) {
    let to = if inside { "inside/a" } else { "../outside/a" };
    symlink(to, at).expect("a link");
}

/// A link to a folder, likewise.
fn link_to_folder(at: &Path, inside: bool) {
    let to = if inside { "inside" } else { "../outside" };
    symlink(to, at).expect("a link");
}

/// A file of its own, or a link to one outside.
fn file_or_link(at: &Path, inside: bool) {
    match inside {
        true => fs::write(at, "inside").expect("a file"),
        false => symlink("../outside/a", at).expect("a link"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_swapped_between_check_and_open_is_never_read() {
    for (make, path) in [
        (link_to_file as fn(&Path, bool), "docs/turn"),
        (link_to_folder, "docs/turn/a"),
        (file_or_link, "docs/turn"),
    ] {
        let host = host().await;
        let swapper = Swapper::start(host.path("docs/turn"), make);
        let wish = json!({"op": "read", "path": path});
        let answers = attack(&host, &swapper, wish, &["-> ok: inside", "-> denied"]).await;
        assert!(!format!("{answers:?}").contains(CANARY), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_swapped_between_check_and_open_is_never_written() {
    for op in ["replace", "append", "write", "remove"] {
        let host = host().await;
        let swapper = Swapper::start(host.path("docs/turn"), link_to_folder);
        let wish = json!({"op": op, "path": "docs/turn/new", "with": "x"});
        attack(&host, &swapper, wish, &["-> denied"]).await;
        let outside: Vec<_> = fs::read_dir(host.path("outside"))
            .expect("a folder")
            .collect();
        assert_eq!(outside.len(), 1, "{op}: {outside:?}");
        let text = fs::read_to_string(host.path("outside/a")).expect("a file");
        assert_eq!(text, CANARY, "{op}");
    }
}
