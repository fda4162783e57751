//! The state folders: what the host itself keeps on disk, and nobody else may read or plant.
//!
//! The user's own folder holds the compile cache, its key and the pins of trusted policies. It
//! belongs to this user alone (0700). A workspace's folder holds its journal and notes.

use std::fs;
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::words::error::{Code, Error, Result, why};
use crate::words::limits::ARTIFACT_CODE_BYTES;

/// A folder of the host's own.
#[derive(Clone, Debug)]
pub struct StateFolder(PathBuf);

/// A file that is held against everybody else, until this is dropped.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    file: fs::File,
    /// How long it was when it was opened.
    was: u64,
    removed: bool,
}

/// A database that no other process has open, until this is dropped.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "dropping it lets go")] fs::File);

/// The folder below the user's own in which the demo lies: a workspace like any other, and nothing of the host's.
pub const DEMO: &str = "demo";

/// What files are called while they are written.
const NEW: &str = ".new-";

/// Behind a text in a file that is held.
const END: char = '\0';

/// The text in a file that is, or was, held.
#[must_use]
pub fn said(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split(END).next().unwrap_or_default().to_owned()
}

impl Held {
    /// What stands in the file; nothing in one that is new.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn read(&self) -> Result<String> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        let read = file
            .rewind()
            .and_then(|()| file.take(HELD_BYTES).read_to_end(&mut bytes));
        read.map_err(|error| disk(&self.path, "cannot be read", error))?;
        Ok(said(&bytes))
    }

    /// Writes what stands in the file from now on. Whoever is killed meanwhile leaves the one or the other, and never
    /// nothing: the file is not emptied first, and what is left of a longer text stands behind its end.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn write(&self, text: &str) -> Result<()> {
        let write = || {
            let whole = format!("{text}{END}");
            self.file.write_all_at(whole.as_bytes(), 0)?;
            match self.was {
                // What is left of an older text stands behind the end of this one, and is never much.
                0 => Ok(()),
                _ => self
                    .file
                    .set_len(u64::try_from(whole.len()).unwrap_or(u64::MAX)),
            }
        };
        let written = write();
        written.map_err(|error| disk(&self.path, "cannot be written", error))
    }

    /// Removes the file, and lets go.
    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns what the host keeps on disk"
    )]
    pub fn remove(mut self) {
        // What would be left behind is a file that nobody holds.
        self.removed = fs::remove_file(&self.path).is_ok();
    }
}

impl Drop for Held {
    /// A file that was held and never written says nothing, and does not stay.
    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns what the host keeps on disk"
    )]
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        let there = fs::symlink_metadata(&self.path);
        if let (Ok(mine), Ok(there)) = (self.file.metadata(), there)
            && mine.len() == 0
            && there.ino() == mine.ino()
        {
            // What would be left behind is a file that nobody holds.
            let _ = fs::remove_file(&self.path);
        }
        // A process that is just being started may have this file open as well, and would hold it for a moment more.
        let _ = self.file.unlock();
    }
}

/// Most bytes of a file that is held.
const HELD_BYTES: u64 = 4_096;

#[expect(
    clippy::disallowed_methods,
    reason = "this file owns what the host keeps on disk"
)]
impl StateFolder {
    /// Opens or creates the folder, with its parents.
    ///
    /// # Errors
    /// `DiskFailed` where it cannot be made; `Denied` where it is a link, or others may write to it.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| disk(path, "cannot be created", error);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed)?;
        let found = fs::symlink_metadata(path).map_err(failed)?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_dir() || !own || found.permissions().mode() & 0o022 != 0 {
            let what = format!("`{}` is a link, or others may write to it", path.display());
            return Err(Error::new(Code::Denied, what).hint("remove it; lazaret makes a new one"));
        }
        Ok(Self(path.to_owned()))
    }

    /// Keeps what is in a workspace's folder out of its repository, unless somebody has said otherwise there.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn ignored(self) -> Result<Self> {
        let path = self.0.join(".gitignore");
        let made = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path);
        let written = match made {
            Ok(mut file) => file.write_all(b"*\n"),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        };
        written.map_err(|error| disk(&path, "cannot be written", error))?;
        Ok(self)
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A folder below.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn below(&self, name: &str) -> Result<Self> {
        Self::open(&self.0.join(name))
    }

    /// The path of a file that a library opens by name, such as a database. Neither the file nor what
    /// SQLite puts beside it may be a link or have a second name.
    ///
    /// # Errors
    /// `Denied` for one that is.
    pub fn plain_file(&self, name: &str) -> Result<PathBuf> {
        self.plain_file_of(name, rustix::process::geteuid().as_raw())
    }

    fn plain_file_of(&self, name: &str, user: u32) -> Result<PathBuf> {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let path = self.0.join(format!("{name}{ending}"));
            let Ok(found) = fs::symlink_metadata(&path) else {
                continue;
            };
            let own = found.uid() == user;
            if !found.is_file() || found.nlink() != 1 || !own {
                let what = format!("`{}` is a link or belongs to somebody else", path.display());
                return Err(Error::new(Code::Denied, what).hint("move it away"));
            }
        }
        Ok(self.0.join(name))
    }

    /// A file's bytes, if there is one of that name.
    ///
    /// # Errors
    /// `DiskFailed`, `TooBig`.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.0.join(name);
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
            .open(&path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(disk(&path, "cannot be read", error)),
        };
        let limit = ARTIFACT_CODE_BYTES;
        let mut bytes = Vec::with_capacity(file.metadata().map_or(0, |found| {
            usize::try_from(found.len()).unwrap_or(0).min(limit)
        }));
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| disk(&path, "cannot be read", error))?;
        if bytes.len() > limit {
            return Err(Error::too_big(
                &path.display().to_string(),
                limit,
                bytes.len(),
            ));
        }
        Ok(Some(bytes))
    }

    /// Writes a file in one step: whoever reads it sees the old bytes or the new ones.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let failed = |error: std::io::Error| disk(&self.0.join(name), "cannot be written", error);
        let file = self.written(bytes).map_err(failed)?;
        file.persist(self.0.join(name))
            .map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Writes a file that is not there yet, in one step; whether it was not. Of two who do so at once, one does.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let failed = |error: std::io::Error| disk(&self.0.join(name), "cannot be written", error);
        let file = self.written(bytes).map_err(failed)?;
        match file.persist_noclobber(self.0.join(name)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(error.error)),
        }
    }

    /// A file with these bytes, which has no name of its own yet.
    fn written(&self, bytes: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::Builder::new().prefix(NEW).tempfile_in(&self.0)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Whether there is a file of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.0.join(name)).is_ok_and(|found| found.is_file())
    }

    /// Names of the files in the folder, in no order; without those that are being written, which are nobody else's to remove.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn names(&self) -> Result<Vec<String>> {
        let failed = |error: std::io::Error| disk(&self.0, "cannot be listed", error);
        let entries = fs::read_dir(&self.0).map_err(failed)?;
        let names = entries.map(|entry| Ok(entry.map_err(failed)?.file_name()));
        let names: Result<Vec<_>> = names.collect();
        Ok(names?
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .filter(|name| !name.starts_with(NEW))
            .collect())
    }

    /// Gives a file another name, if it is there; nothing of that name may be there yet.
    ///
    /// # Errors
    /// `Conflict`, `DiskFailed`.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (old, new) = (self.0.join(from), self.0.join(to));
        if fs::symlink_metadata(&new).is_ok() {
            let what = format!("`{}` is there already", new.display());
            return Err(Error::new(Code::Conflict, what).hint("move it away"));
        }
        match fs::rename(&old, &new) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(disk(&old, "cannot be moved", error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes a file; that it is gone already is no failure.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn remove(&self, name: &str) -> Result<()> {
        let path = self.0.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(disk(&path, "cannot be removed", error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Holds `name` until the returned value is dropped, against everybody else on this machine; nothing
    /// where somebody else holds it. The system lets go when the process ends, however it ends.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn hold(&self, name: &str) -> Result<Option<Held>> {
        self.held(name, fs::File::try_lock)
    }

    /// The same, and waits for whoever else holds it: for what nobody holds for longer than a moment.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn hold_in_turn(&self, name: &str) -> Result<Held> {
        let in_turn = |file: &fs::File| loop {
            match file.lock() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                locked => return locked.map_err(fs::TryLockError::Error),
            }
        };
        let held = self.held(name, in_turn)?;
        held.ok_or_else(|| Error::bug("a lock was waited for, and not given"))
    }

    /// A database that no other process has open, until this is dropped; nothing where one has. Whoever works with one keeps a
    /// shared lock on a part of the file, and this is one on all of it. None of this process may have it open: closing it
    /// would let go.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn alone(&self, name: &str) -> Result<Option<Alone>> {
        let path = self.0.join(name);
        let opened = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
            .open(&path);
        let file = opened.map_err(|error| disk(&path, "cannot be opened", error))?;
        let all = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::fcntl_lock(&file, all) {
            Ok(()) => Ok(Some(Alone(file))),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(None),
            Err(error) => Err(disk(&path, "cannot be locked", error.into())),
        }
    }

    fn held(
        &self,
        name: &str,
        lock: impl Fn(&fs::File) -> std::result::Result<(), fs::TryLockError>,
    ) -> Result<Option<Held>> {
        let path = self.0.join(name);
        let failed = |error: std::io::Error| disk(&path, "cannot be locked", error);
        loop {
            let file = fs::OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .mode(0o600)
                .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
                .open(&path)
                .map_err(failed)?;
            match lock(&file) {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => return Ok(None),
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
            }
            // Whoever held it before may have removed the file that was opened here.
            let mine = file.metadata().map_err(failed)?;
            if fs::symlink_metadata(&path).is_ok_and(|found| found.ino() == mine.ino()) {
                let was = mine.len();
                return Ok(Some(Held {
                    path,
                    file,
                    was,
                    removed: false,
                }));
            }
        }
    }

    /// The key of this user's host, made at first use.
    ///
    /// # Errors
    /// `DiskFailed`, `Corrupt` where the file is not one of ours.
    pub fn key(&self) -> Result<[u8; 32]> {
        let lost = "remove it; the compile cache and trusted policies are then asked for anew";
        self.key_of("key").map_err(|error| {
            if error.code() == Code::Corrupt {
                error.hint(lost)
            } else {
                error
            }
        })
    }

    /// The key in the file `name`, made at first use.
    ///
    /// # Errors
    /// `DiskFailed`, `Corrupt` where the file is not one of ours.
    pub fn key_of(&self, name: &str) -> Result<[u8; 32]> {
        let path = self.0.join(name);
        let corrupt = || Error::new(Code::Corrupt, format!("`{}` is no key", path.display()));
        if let Some(bytes) = self.read(name)? {
            return bytes.try_into().map_err(|_| corrupt());
        }
        let key = random::<32>()?;
        // Of two processes that come here at once, one wins, and both use its key.
        match self.write_new(name, &key)? {
            true => Ok(key),
            false => self
                .read(name)?
                .and_then(|bytes| bytes.try_into().ok())
                .ok_or_else(corrupt),
        }
    }
}

/// Which bytes a file has, as far as the system says so without reading them: whoever writes one of ours makes it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    made: u64,
    changed: (i64, i64),
    bytes: u64,
}

impl Mark {
    /// Of the file there; nothing where there is none.
    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns what the host keeps on disk"
    )]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            made: found.ino(),
            changed: (found.mtime(), found.mtime_nsec()),
            bytes: found.size(),
        })
    }
}

/// Random bytes of the system.
///
/// # Errors
/// `DiskFailed`.
#[expect(
    clippy::disallowed_methods,
    reason = "this file owns what the host keeps on disk"
)]
pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let source = Path::new("/dev/urandom");
    fs::File::open(source)
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| disk(source, "gives no random bytes", error))?;
    Ok(bytes)
}

fn disk(path: &Path, what: &str, error: std::io::Error) -> Error {
    Error::new(
        Code::DiskFailed,
        format!("`{}` {what}: {}", path.display(), why(error.kind())),
    )
    .because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever sweeps a folder lists it first.
    #[test]
    fn a_file_that_is_being_written_is_not_listed_and_nobody_takes_it_away() {
        let place = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(place.path()).unwrap();
        folder.write("there", b"x").unwrap();
        let new = tempfile::Builder::new()
            .prefix(NEW)
            .tempfile_in(place.path());
        let new = new.unwrap();
        assert_eq!(folder.names().unwrap(), ["there"]);
        std::thread::scope(|scope| {
            let sweeps = || {
                for _ in 0..200 {
                    folder
                        .names()
                        .unwrap()
                        .iter()
                        .for_each(|name| folder.remove(name).unwrap());
                }
            };
            let writes = || (0..200).for_each(|_| folder.write("there", b"x").unwrap());
            scope.spawn(sweeps);
            scope.spawn(writes);
            writes();
        });
        assert!(new.close().is_ok(), "it was taken away");
    }

    /// Only the superuser can make a file that is somebody else's; so here it is the user who is somebody else.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns what the host keeps on disk"
    )]
    fn side_files_of_another_user_are_refused() {
        let user = rustix::process::geteuid().as_raw();
        for ending in ["", "-wal", "-shm", "-journal"] {
            let place = tempfile::tempdir().unwrap();
            let folder = StateFolder::open(place.path()).unwrap();
            let name = format!("journal.db{ending}");
            fs::write(place.path().join(&name), "").unwrap();
            folder.plain_file_of("journal.db", user).unwrap();
            let error = folder.plain_file_of("journal.db", user + 1).unwrap_err();
            assert_eq!(error.code(), Code::Denied);
            let says = format!("{name}` is a link or belongs to somebody else");
            assert!(error.message().contains(&says), "{error:?}");
            // Nor may it be a second name of a file of theirs.
            fs::hard_link(place.path().join(&name), place.path().join("other")).unwrap();
            assert!(folder.plain_file_of("journal.db", user).is_err());
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "this file owns what the host keeps on disk"
    )]
    fn whoever_is_killed_while_writing_leaves_the_old_or_the_new() {
        let place = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(place.path()).unwrap();
        let held = folder.hold("mark").unwrap().unwrap();
        held.write("the first and longer text\n").unwrap();
        held.write("short\n").unwrap();
        assert_eq!(held.read().unwrap(), "short\n");
        // Killed behind the write, and before the rest of the longer one is gone.
        let path = place.path().join("mark");
        fs::write(&path, b"short\n\0t and longer text\n\0").unwrap();
        assert_eq!(held.read().unwrap(), "short\n");
        assert_eq!(said(&fs::read(&path).unwrap()), "short\n");
    }
}
