//! A disk for SQLite that counts, remembers and fails: the real one, with a layer of our own before it.
//!
//! Every write, sync, truncation and deletion of a database is an [`Op`]. A test can stop the process at one of
//! them, let one fail, or compute from them what a power cut may leave behind ([`power`]). SQLite is told of it by
//! name, in the file's own URI, or takes it for the only one; the program under test knows nothing of it.
//!
//! A layer below SQLite speaks C, so this file and `disk/layer.rs` are `unsafe` where they cross that border. What
//! they rely on is said there.

mod layer;
pub mod power;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// One thing that happened on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The file's name, without its folder.
    pub file: String,
    /// What happened to it.
    pub what: What,
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It was made.
    Made,
    /// Bytes were written at this place.
    Written(usize, Vec<u8>),
    /// It was cut to this length.
    Cut(usize),
    /// All that was written is safe.
    Synced,
    /// It should have become safe and did not: as on Linux, no later sync makes up for that.
    NotSynced,
    /// It was removed; whether that is safe.
    Removed(bool),
}

/// What goes wrong, and when. Operations are counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// The process is killed before this operation.
    KilledBefore(usize),
    /// The process is killed after this sync; syncs are counted by themselves.
    KilledAfterSync(usize),
    /// The disk is full from this operation on.
    FullFrom(usize),
    /// This operation writes half of what it should, and says so.
    HalfOf(usize),
    /// From this operation on nothing can be written.
    BrokenFrom(usize),
    /// This operation, a sync, fails.
    SyncFails(usize),
}

#[derive(Debug, Default)]
struct State {
    ops: Vec<Op>,
    /// How many there were, where they are not kept.
    count: usize,
    syncs: usize,
    keep: bool,
    trouble: Trouble,
}

/// A disk of one test's own.
#[derive(Clone, Debug)]
pub struct Disk {
    name: String,
    state: Arc<Mutex<State>>,
}

impl Disk {
    /// A disk that remembers all that happens on it.
    #[must_use]
    pub fn new() -> Self {
        Self::named(false, true)
    }

    /// The disk of every database that this process opens from now on; it counts, and remembers nothing.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::named(true, false)
    }

    fn named(is_default: bool, keep: bool) -> Self {
        let state = Arc::new(Mutex::new(State {
            keep,
            ..State::default()
        }));
        let name = layer::register(state.clone(), is_default);
        Self { name, state }
    }

    /// The file at `path` on this disk, as SQLite is told of it.
    #[must_use]
    pub fn at(&self, path: &Path) -> PathBuf {
        format!("file:{}?vfs={}", path.display(), self.name).into()
    }

    /// What goes wrong from now on.
    pub fn trouble(&self, trouble: Trouble) {
        lock(&self.state).trouble = trouble;
    }

    /// How much has happened.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.state).count
    }

    /// All that has happened.
    #[must_use]
    pub fn ops(&self) -> Vec<Op> {
        lock(&self.state).ops.clone()
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// How an operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Well,
    WellAndLast,
    Full,
    Half,
    Broken,
    SyncFails,
}

impl State {
    /// One more operation: how it goes.
    fn happens(&mut self, file: &str, what: What) -> Fate {
        let at = self.count;
        self.count += 1;
        let writes = !matches!(what, What::Synced);
        let sync = self.syncs;
        self.syncs += usize::from(!writes);
        let fate = match self.trouble {
            Trouble::KilledBefore(place) if place == at => die(),
            Trouble::KilledAfterSync(place) if place == sync && !writes => Fate::WellAndLast,
            Trouble::FullFrom(place) if place <= at && writes => Fate::Full,
            Trouble::HalfOf(place) if place == at && writes => Fate::Half,
            Trouble::BrokenFrom(place) if place <= at => Fate::Broken,
            Trouble::SyncFails(place) if place == at && !writes => Fate::SyncFails,
            _ => Fate::Well,
        };
        let what = match fate {
            Fate::Well | Fate::WellAndLast => Some(what),
            Fate::SyncFails => Some(What::NotSynced),
            Fate::Full | Fate::Half | Fate::Broken => None,
        };
        if let Some(what) = what
            && self.keep
        {
            let file = file.to_owned();
            self.ops.push(Op { file, what });
        }
        fate
    }
}

/// As a power button does it: nothing is cleaned up.
fn die() -> ! {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    std::process::abort()
}
