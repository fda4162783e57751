//! Turns: whoever changes a file is alone with it and its label; whoever looks sees both as they belong together.
//!
//! A label is stored, bytes are written, and the label is stored again as it is now. Nobody else takes a step in
//! between: not in this process, and not in another one that keeps labels in the same place. The system lets go of
//! what a process held, however it ends.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::words::error::{Code, Error, Result, why};

/// Whose turn it is, among all that share labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    here: Arc<RwLock<()>>,
    /// Held as well where other processes may have the same labels.
    file: Option<Arc<Path>>,
}

/// What is done with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing changes: many do so at once.
    Looks,
    /// Alone.
    Changes,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    file: Option<File>,
    _looks: Option<RwLockReadGuard<'a, ()>>,
    _changes: Option<RwLockWriteGuard<'a, ()>>,
}

impl Turns {
    /// Among all processes that have their labels in this database; in this one alone where there is none.
    pub(super) fn beside(labels: Option<&Path>) -> Self {
        let file = labels.map(|labels| labels.with_extension("lock"));
        Self {
            here: Arc::default(),
            file: file.map(|file: PathBuf| file.into()),
        }
    }

    /// Waits for a turn. Nobody takes a second one while they have one.
    ///
    /// # Errors
    /// `DiskFailed`: then nothing may be read or written.
    pub(super) fn take(&self, doing: Doing) -> Result<Turn<'_>> {
        let (looks, changes) = match doing {
            Doing::Looks => (Some(self.here.read()), None),
            Doing::Changes => (None, Some(self.here.write())),
        };
        // There is nothing in it that whoever panicked could have left half done.
        let looks = looks.map(|held| held.unwrap_or_else(PoisonError::into_inner));
        let changes = changes.map(|held| held.unwrap_or_else(PoisonError::into_inner));
        let file = self.file.as_deref().map(|path| {
            hold(path, doing).map_err(|error| {
                let what = format!(
                    "`{}` cannot be locked: {}",
                    path.display(),
                    why(error.kind())
                );
                Error::new(Code::DiskFailed, what).because(error)
            })
        });
        Ok(Turn {
            file: file.transpose()?,
            _looks: looks,
            _changes: changes,
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // A process that is just being started may have it open as well, and would hold it for a moment more.
            let _ = file.unlock();
        }
    }
}

/// Opened anew each time: what is held belongs to what was opened, and not to the process.
#[expect(
    clippy::disallowed_methods,
    reason = "a file of the host's own, in which nothing stands"
)]
fn hold(path: &Path, doing: Doing) -> std::io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(path)?;
    loop {
        let held = match doing {
            Doing::Looks => file.lock_shared(),
            Doing::Changes => file.lock(),
        };
        match held {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(file),
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the test is another process, as far as the system knows"
)]
mod tests {
    use super::*;

    #[test]
    fn whoever_changes_is_alone_and_others_look_together() {
        let temp = tempfile::tempdir().unwrap();
        let turns = Turns::beside(Some(&temp.path().join("files.db")));
        let other = || File::open(temp.path().join("files.lock")).unwrap();
        {
            let _one = turns.take(Doing::Looks).unwrap();
            let _two = turns.take(Doing::Looks).unwrap();
            assert!(other().try_lock_shared().is_ok());
            assert!(other().try_lock().is_err());
            assert!(turns.here.try_write().is_err());
        }
        let turn = turns.take(Doing::Changes).unwrap();
        assert!(other().try_lock_shared().is_err());
        assert!(turns.here.try_read().is_err());
        drop(turn);
        assert!(other().try_lock().is_ok());
        // Two hosts of one process without a place for labels have nothing in common.
        let alone = Turns::beside(None);
        let _turn = alone.take(Doing::Changes).unwrap();
        assert!(Turns::beside(None).here.try_write().is_ok());
    }
}
