//! What each run has written into each mount, so that a quota holds for all tools of a run together.
//!
//! Counted in this process: a run that is taken up again by another one begins anew. What is removed counts still,
//! since the disk was written all the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::rules::file::Place;
use crate::words::error::{Code, Error, Result};
use crate::words::id::RunId;
use crate::words::limits::MOUNT_RUNS;
use crate::words::lock::lock;

/// Bytes by run and mount. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// Bytes, and when the last of them were taken.
    all: HashMap<(RunId, Arc<str>), (u64, u64)>,
    turn: u64,
}

/// Room that was taken, given back unless the bytes were written.
#[derive(Debug)]
pub(super) struct Taken {
    written: Written,
    key: (RunId, Arc<str>),
    bytes: u64,
}

impl Written {
    /// Takes room for `bytes` more, before they are written.
    pub(super) fn take(&self, place: &Place, bytes: usize) -> Result<Taken> {
        let key = (place.run.clone(), place.mount.clone());
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let mut counts = lock(&self.0);
        let before = counts.all.get(&key).map_or(0, |(bytes, _)| *bytes);
        let sum = before.saturating_add(bytes);
        if sum > place.room.run_bytes {
            let (mount, most) = (&place.mount, place.room.run_bytes >> 20);
            let what = format!(
                "this run has written {before} bytes into the mount `{mount}`, and {bytes} more would be past its quota"
            );
            return Err(no_room(&what, mount, &format!("quota_mib = {most}")));
        }
        counts.make_room(&key);
        counts.turn += 1;
        let turn = counts.turn;
        counts.all.insert(key.clone(), (sum, turn));
        Ok(Taken {
            written: self.clone(),
            key,
            bytes,
        })
    }
}

/// A bound of a mount is reached: what it is, and the line that would lift it.
pub(super) fn no_room(what: &str, mount: &str, line: &str) -> Error {
    let error = Error::new(
        Code::TooBig,
        format!("{what}: `{line}` of `[mounts.{mount}]`"),
    );
    error.hint(format!(
        "to allow more, raise `{line}` of `[mounts.{mount}]` in `lazaret.toml`"
    ))
}

impl Counts {
    /// Forgets the pair that has been still for longest, if there are too many.
    fn make_room(&mut self, key: &(RunId, Arc<str>)) {
        if self.all.len() < MOUNT_RUNS || self.all.contains_key(key) {
            return;
        }
        let oldest = self.all.iter().min_by_key(|(_, (_, turn))| *turn);
        if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
            self.all.remove(&oldest);
        }
    }
}

impl Taken {
    /// The bytes were written, or may have been: they count.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some((bytes, _)) = lock(&self.written.0).all.get_mut(&self.key) {
            *bytes = bytes.saturating_sub(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::policy::Room;

    fn place(run: &str, mount: &str) -> Place {
        Place {
            mount: mount.into(),
            names: Vec::new(),
            room: Room {
                run_bytes: 100,
                file_bytes: 100,
            },
            run: RunId::known(run),
            inside: Arc::default(),
        }
    }

    #[test]
    fn runs_and_mounts_have_quotas_of_their_own() {
        let written = Written::default();
        written.take(&place("a", "x"), 60).unwrap().keep();
        let error = written.take(&place("a", "x"), 41).unwrap_err();
        assert!(error.message().contains("[mounts.x]"), "{error}");
        written.take(&place("a", "x"), 40).unwrap().keep();
        written.take(&place("a", "x"), 1).unwrap_err();
        written.take(&place("a", "y"), 100).unwrap().keep();
        written.take(&place("b", "x"), 100).unwrap().keep();
    }

    #[test]
    fn what_was_not_written_does_not_count() {
        let written = Written::default();
        drop(written.take(&place("a", "x"), 100).unwrap());
        written.take(&place("a", "x"), 100).unwrap().keep();
    }

    #[test]
    fn no_more_runs_are_remembered_than_there_may_be() {
        let written = Written::default();
        for run in 0..=MOUNT_RUNS {
            written
                .take(&place(&run.to_string(), "x"), 100)
                .unwrap()
                .keep();
            // Still at work, so it is never the one that is forgotten.
            written.take(&place("0", "x"), 0).unwrap().keep();
        }
        assert_eq!(lock(&written.0).all.len(), MOUNT_RUNS);
        written.take(&place("0", "x"), 1).unwrap_err();
    }
}
