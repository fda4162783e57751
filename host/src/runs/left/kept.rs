//! What is kept for runs that are left, in the user's own state folder: the engines of their scripts, and
//! a mark of each run that this host has begun.
//!
//! A journal that came with somebody's files has no mark, and nothing in it goes on (invariant 14).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::edges::state::{Held, StateFolder};
use crate::guests::plugin::PluginBytes;
use crate::guests::script::ScriptEngine;
use crate::runs::host::{Places, Records};
use crate::runs::script::Engines;
use crate::words::error::{Code, Error, Result};
use crate::words::id::{Digest, RunId};
use crate::words::lock::lock;

/// Engines by digest, and marks of runs.
#[derive(Debug)]
pub(in crate::runs) struct Kept {
    place: Place,
    /// Whether the newest engine is known to be kept.
    newest: Mutex<bool>,
}

#[derive(Debug)]
enum Place {
    /// Runs end with the process: no engine outlives them, and no journal comes from elsewhere.
    Memory(Arc<Mutex<BTreeSet<RunId>>>),
    Folder {
        engines: StateFolder,
        runs: StateFolder,
    },
}

/// A run that is held: nobody else goes on with it. Its mark stays until the run has ended.
#[derive(Debug)]
pub(in crate::runs) enum Hold {
    /// Against the rest of this process.
    Memory(#[expect(dead_code, reason = "held for its drop")] Taken),
    /// Against the rest of this machine.
    File(Held),
}

#[derive(Debug)]
pub(in crate::runs) struct Taken(Arc<Mutex<BTreeSet<RunId>>>, RunId);

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.0).remove(&self.1);
    }
}

impl Hold {
    /// Marks a run that begins: this is what was asked for, and the engine that it may need.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn begin(&self, mark: Digest, engine: Digest) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(held) => held.write(&format!("{mark} {engine}")),
        }
    }

    /// Whether a run that is to go on was begun by this host, and asked for the same.
    ///
    /// # Errors
    /// `Denied` where it was not.
    pub(in crate::runs) fn check(&self, mark: Digest) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(held) if held.read()?.starts_with(&mark.to_string()) => Ok(()),
            Self::File(_) => Err(Error::new(
                Code::Denied,
                "this run was not begun here, or its record was changed, so nothing in it goes on",
            )
            .hint("a journal that came with somebody's files grants nothing; run the script anew")),
        }
    }

    /// The run has ended.
    pub(in crate::runs) fn end(self) {
        match self {
            Self::Memory(_) => {}
            Self::File(held) => held.remove(),
        }
    }
}

impl Kept {
    /// Opens what is kept.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub(in crate::runs) fn open(places: &Places) -> Result<Self> {
        let place = match &places.records {
            Records::InMemory => Place::Memory(Arc::default()),
            Records::Folder(_) => {
                let folder = StateFolder::open(&places.state)?;
                Place::Folder {
                    engines: folder.below("engines")?,
                    runs: folder.below("begun")?,
                }
            }
        };
        Ok(Self {
            place,
            newest: Mutex::new(false),
        })
    }

    /// Holds a run.
    ///
    /// # Errors
    /// `Busy` where somebody else does.
    pub(in crate::runs) fn hold(&self, run: &RunId) -> Result<Hold> {
        let held = match &self.place {
            Place::Memory(runs) => lock(runs)
                .insert(run.clone())
                .then(|| Hold::Memory(Taken(runs.clone(), run.clone()))),
            // By digest: a name out of a foreign journal must not lead out of the folder.
            Place::Folder { runs, .. } => {
                let name = Digest::of(run.as_str().as_bytes()).to_string();
                runs.hold(&name)?.map(Hold::File)
            }
        };
        held.ok_or_else(|| {
            Error::new(Code::Busy, format!("the run `{run}` goes on elsewhere"))
                .hint("wait until it ends or pauses")
        })
    }

    /// Keeps the newest engine. Where it is new, those that no script needs any more are dropped.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(in crate::runs) fn keep(&self, engine: &ScriptEngine) -> Result<()> {
        let Place::Folder { engines, runs } = &self.place else {
            return Ok(());
        };
        let mut newest = lock(&self.newest);
        if *newest {
            return Ok(());
        }
        let name = engine.digest.to_string();
        if !engines.names()?.contains(&name) {
            engines.write(&name, &engine.origin.read(engine.digest)?)?;
            drop_unneeded(engines, runs, name)?;
        }
        *newest = true;
        Ok(())
    }
}

/// Drops the engines that no mark names, except `newest`.
fn drop_unneeded(engines: &StateFolder, runs: &StateFolder, newest: String) -> Result<()> {
    let mut needed = BTreeSet::from([newest]);
    for name in runs.names()? {
        let mark = runs.read(&name)?.unwrap_or_default();
        let mark = String::from_utf8_lossy(&mark);
        needed.extend(mark.split_once(' ').map(|(_, engine)| engine.to_owned()));
    }
    for name in engines.names()? {
        if !needed.contains(&name) {
            engines.remove(&name)?;
        }
    }
    Ok(())
}

impl Engines for Kept {
    fn kept(&self, digest: Digest) -> Result<ScriptEngine> {
        let gone = || {
            let what = format!("engine {} of this script", digest.short());
            Error::not_found(what).hint("it was not kept, so the script cannot go on; run it anew")
        };
        let Place::Folder { engines, .. } = &self.place else {
            return Err(gone());
        };
        let origin = PluginBytes::File(engines.path().join(digest.to_string()));
        // Compared with the digest here, and again when it is loaded.
        origin.read(digest).map_err(|_| gone())?;
        ScriptEngine::new(origin)
    }
}
