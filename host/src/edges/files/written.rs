//! What each run has written into each mount, so that a quota holds for all tools of a run together.
//!
//! What it has written by then stands in the record of each effect that may have filled a mount, so that a run which is taken up
//! again goes on from there, in another process as well. What is removed counts still, since the disk was written all the same. A folder or an empty file has no bytes of its own and takes room all the same.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;

use super::Files;
use crate::rules::file::{FileWish, Place, Places};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Event, Record, Wrote};
use crate::words::id::RunId;
use crate::words::limits::{MADE_BYTES, MOUNT_RUNS};
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
    /// Does what makes those of these folders, and of a file at their end, that are not there. What was made of them counts,
    /// whatever came of the rest.
    pub(super) fn making<T>(
        &self,
        (dir, place): (&Dir, &Place),
        names: &[String],
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let missing = count_missing(dir, names);
        if missing == 0 {
            return make();
        }
        let taken = self.take(place, missing.saturating_mul(MADE_BYTES))?;
        let made = make();
        taken.keep_but(count_missing(dir, names).saturating_mul(MADE_BYTES));
        made
    }

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
                "this run has written {before} bytes into the mount `{mount}` (each file or folder that it made counts as \
                 {MADE_BYTES} and its bytes), and {bytes} more would be past its quota"
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

    /// What the run of a place has written into its mount; nothing where it has written nothing.
    pub(super) fn so_far(&self, place: &Place) -> Option<Wrote> {
        let key = (place.run.clone(), place.mount.clone());
        let counts = lock(&self.0);
        let (bytes, _) = counts.all.get(&key).filter(|(bytes, _)| *bytes > 0)?;
        Some(Wrote {
            mount: place.mount.to_string(),
            bytes: *bytes,
        })
    }

    /// A run goes on that had written so much into a mount.
    pub(super) fn take_up(&self, run: &RunId, wrote: &Wrote) {
        let key = (run.clone(), Arc::from(wrote.mount.as_str()));
        let mut counts = lock(&self.0);
        counts.make_room(&key);
        let (bytes, _) = counts.all.entry(key).or_default();
        *bytes = wrote.bytes.max(*bytes);
    }
}

impl Files {
    /// A run goes on that had written so much by these records.
    pub(crate) fn take_up(&self, run: &RunId, records: &[Record]) {
        for record in records {
            if let Event::Finished(finished) = &record.event
                && let Some(wrote) = &finished.wrote
            {
                self.written.take_up(run, wrote);
            }
        }
    }
}

/// The place whose mount a wish may fill.
pub(super) fn filled<'a>(wish: &FileWish, places: &'a Places) -> Option<&'a Place> {
    match wish {
        FileWish::Write { .. } | FileWish::MakeFolder | FileWish::Move { .. } => match places {
            Places::One(place) | Places::Two(_, place) => Some(place),
            Places::Root(_) => None,
        },
        FileWish::List | FileWish::Stat | FileWish::Read { .. } | FileWish::Remove => None,
    }
}

/// The folders that a place lies in.
pub(super) fn above(place: &Place) -> &[String] {
    let split = place.names.split_last();
    split.map(|(_, above)| above).unwrap_or_default()
}

/// How many of these, each in the one before, are not there.
fn count_missing(dir: &Dir, names: &[String]) -> usize {
    let lengths = (1..=names.len()).rev();
    let missing = lengths.take_while(|length| {
        let way: PathBuf = names.iter().take(*length).collect();
        let found = dir.symlink_metadata(way);
        found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    });
    missing.count()
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
    pub(super) fn keep(self) {
        self.keep_but(0);
    }

    /// All of it counts but these, which were not written.
    fn keep_but(mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes = bytes.min(self.bytes);
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
    use std::collections::BTreeMap;

    use super::*;
    use crate::edges::files::Files;
    use crate::edges::files::wished::{self, to, write};
    use crate::rules::file::{FileWish, WriteMode};
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

    /// Another process goes on with it, or this one after it has forgotten it.
    #[test]
    fn a_run_that_goes_on_has_written_what_it_had() {
        let (written, later) = (Written::default(), Written::default());
        assert_eq!(written.so_far(&place("a", "x")), None);
        written.take(&place("a", "x"), 60).unwrap().keep();
        let so_far = written.so_far(&place("a", "x")).unwrap();
        assert_eq!((so_far.mount.as_str(), so_far.bytes), ("x", 60));
        for _ in 0..2 {
            later.take_up(&RunId::known("a"), &so_far);
        }
        later.take(&place("a", "x"), 41).unwrap_err();
        later.take(&place("a", "y"), 100).unwrap().keep();
        later.take(&place("a", "x"), 40).unwrap().keep();
        // What it has written since counts.
        later.take_up(&RunId::known("a"), &so_far);
        later.take(&place("a", "x"), 1).unwrap_err();
    }

    #[test]
    fn what_was_not_written_does_not_count() {
        let written = Written::default();
        drop(written.take(&place("a", "x"), 100).unwrap());
        written.take(&place("a", "x"), 100).unwrap().keep();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what lies in the test's folder")]
    fn each_folder_that_was_made_counts_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let mounts = BTreeMap::from([(Arc::from("x"), folder.path().to_owned())]);
        let files = Files::open(&mounts, &[], None).unwrap();
        let run_bytes = u64::try_from(6 * MADE_BYTES).unwrap();
        let place = |path: &str| Place {
            names: path.split('/').map(str::to_owned).collect(),
            room: Room {
                run_bytes,
                file_bytes: 100,
            },
            ..place("a", "x")
        };
        let code = |path: &str, wish: FileWish| {
            let (result, _) = wished::perform((&files, &place), path, wish);
            result.err().map(|error| error.code())
        };
        let create = || write(WriteMode::Create);
        // Nothing is made, so nothing counts.
        for (path, wish, expected) in [
            ("none/a", FileWish::MakeFolder, Code::NotFound),
            ("file", FileWish::MakeFolder, Code::BadInput),
            ("none", to("a/b/c"), Code::NotFound),
            ("1/2/3/4/5/6/7/8", create(), Code::TooBig),
            ("file", to("1/2/3/4/5/6/7/8"), Code::TooBig),
        ] {
            let said = code(path, wish.clone());
            assert_eq!(said, Some(expected), "{path} {wish:?}");
        }
        assert_eq!(code("a", FileWish::MakeFolder), None);
        // It makes two on the way, and finds no file to write into.
        let fails = code("a/b/c/d", write(WriteMode::At(0)));
        assert_eq!(fails, Some(Code::NotFound));
        assert_eq!(code("file", to("a/e/f/file")), None);
        let last = code("g", FileWish::MakeFolder);
        assert_eq!(last, None);
        for (path, wish) in [
            ("h", FileWish::MakeFolder),
            ("h/i", create()),
            ("a/e/f/file", to("h/i")),
        ] {
            assert_eq!(code(path, wish), Some(Code::TooBig), "{path}");
            assert_eq!(code("h", FileWish::Stat), Some(Code::NotFound), "{path}");
        }
        // What makes none needs no room.
        assert_eq!(code("a/e/f/file", to("a/b/c/file")), None);
        let error = files.written.take(&place("a"), 1).unwrap_err();
        let says = "24576 bytes into the mount `x` (each file or folder that it made counts as 4096 and its bytes)";
        assert!(error.message().contains(says), "{error}");
    }

    #[test]
    fn each_file_that_was_made_counts_and_none_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let mounts = BTreeMap::from([(Arc::from("x"), folder.path().to_owned())]);
        let files = Files::open(&mounts, &[], None).unwrap();
        let run_bytes = u64::try_from(2 * MADE_BYTES + 2).unwrap();
        let place = |path: &str| Place {
            names: vec![path.to_owned()],
            room: Room {
                run_bytes,
                file_bytes: 100,
            },
            ..place("a", "x")
        };
        let empty = |mode| FileWish::Write {
            bytes: Vec::new(),
            mode,
        };
        for (path, wish, expected) in [
            ("none", write(WriteMode::At(0)), Some(Code::NotFound)),
            ("a", write(WriteMode::Create), None),
            ("a", write(WriteMode::Replace), None),
            ("b", empty(WriteMode::Create), None),
            ("b", empty(WriteMode::Replace), None),
            ("c", empty(WriteMode::Create), Some(Code::TooBig)),
            ("c", empty(WriteMode::Append), Some(Code::TooBig)),
            ("c", empty(WriteMode::Replace), Some(Code::TooBig)),
            ("c", FileWish::Stat, Some(Code::NotFound)),
        ] {
            let (result, _) = wished::perform((&files, &place), path, wish.clone());
            let said = result.err().map(|error| error.code());
            assert_eq!(said, expected, "{path} {wish:?}");
        }
        files.written.take(&place("a"), 1).unwrap_err();
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
