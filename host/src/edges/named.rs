//! Named files: what the operator names on the command line or in the configuration.
//!
//! These are no guest's files and no mount's: a component, a script of replies, a configuration, arguments
//! after `@`, artifacts that are saved. Each is read whole, and only up to a limit.

#![expect(
    clippy::disallowed_methods,
    reason = "this file opens what the operator names, and nothing else does"
)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use super::files::kernel::is_kernels_at;
use crate::rules::flow::shell_word;
use crate::words::error::{Code, Error, Result, why};
use crate::words::id::{Digest, Digesting};

/// The bytes of the file at `path`, at most `limit`. `what` says what it is, for people.
///
/// # Errors
/// `NotFound`, `BadInput` for what is no regular file, `TooBig`, `DiskFailed`.
pub fn read(path: &Path, what: &str, limit: usize) -> Result<Vec<u8>> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        let code = match error.kind() == ErrorKind::NotFound {
            true => Code::NotFound,
            false => Code::DiskFailed,
        };
        let what = format!("{what} `{shown}` cannot be read: {}", why(error.kind()));
        Error::new(code, what).because(error)
    };
    // Looked at before it is opened: to open a pipe would wait for its other end. What the kernel makes up may be waited for
    // as well, whatever it looks like.
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() || is_kernels_at(path) {
        return Err(Error::bad_input(format!(
            "{what} `{shown}` is no regular file"
        )));
    }
    let size = usize::try_from(found.len()).unwrap_or(usize::MAX);
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::with_capacity(size.min(limit));
    if size <= limit {
        let file = File::open(path).map_err(failed)?;
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    }
    let got = size.max(bytes.len());
    if got > limit {
        return Err(Error::too_big(&format!("{what} `{shown}`"), limit, got));
    }
    Ok(bytes)
}

/// Whether there is a folder at `path`.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Whether there is a regular file at `path`.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// What the file at `path` holds, which is at most `limit` bytes. `what` says what it is, for people.
///
/// # Errors
/// `TooBig`, `DiskFailed`.
pub fn digest(path: &Path, what: &str, limit: u64) -> Result<Digest> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        let what = format!("{what} `{shown}` cannot be read: {}", why(error.kind()));
        Error::new(Code::DiskFailed, what).because(error)
    };
    let file = File::open(path).map_err(failed)?;
    let mut file = file.take(limit.saturating_add(1));
    let (mut digest, mut piece, mut read) = (Digesting::default(), vec![0; 64 << 10], 0_u64);
    loop {
        let count = file.read(&mut piece).map_err(failed)?;
        let Some(some) = piece.get(..count).filter(|some| !some.is_empty()) else {
            return Ok(digest.end());
        };
        read = read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if read > limit {
            let what = format!("{what} `{shown}` has more than {} MiB", limit >> 20);
            return Err(Error::new(Code::TooBig, what));
        }
        digest.add(some);
    }
}

/// The names of the folders in a folder; nothing where it cannot be read, or has more entries than are looked at.
#[must_use]
pub fn folders_in(path: &Path, entries_max: usize) -> Option<BTreeSet<String>> {
    let mut entries = fs::read_dir(path).ok()?;
    let mut folders = BTreeSet::new();
    for entry in entries.by_ref().take(entries_max) {
        let entry = entry.ok()?;
        if is_folder(&entry.path()) {
            folders.extend(entry.file_name().into_string().ok());
        }
    }
    entries.next().is_none().then_some(folders)
}

/// Makes a folder, and those above it.
///
/// # Errors
/// `DiskFailed`.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| unwritten(path, error))
}

/// Writes a file in place of what is there, and not where a link leads: whoever wrote the folder may not choose what is
/// overwritten.
///
/// # Errors
/// `Denied` for a link, `DiskFailed`.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true);
    let file = options.custom_flags(no_link).open(path);
    let written = file.and_then(|mut file| file.write_all(bytes));
    if written.is_err() && path.is_symlink() {
        let what = format!("`{}` is a link, and is not written through", path.display());
        return Err(Error::new(Code::Denied, what).hint("remove it, or name another file"));
    }
    written.map_err(|error| unwritten(path, error))
}

/// Writes a file that must not be there yet.
///
/// # Errors
/// `DiskFailed`.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    write_settled(path, bytes, || Ok(()))
}

/// The same. What has to be settled once the file is there, and before anything is in it, is done in between: where that
/// fails, there is no file.
///
/// # Errors
/// `DiskFailed`, and as `settle`.
pub(crate) fn write_settled(
    path: &Path,
    bytes: &[u8],
    settle: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut file = File::create_new(path).map_err(|error| unwritten(path, error))?;
    if let Err(error) = settle() {
        // The first failure is the one to report.
        let _ = fs::remove_file(path);
        return Err(error);
    }
    let written = file.write_all(bytes);
    written.map_err(|error| unwritten(path, error))
}

/// Writes a file that must not be there yet, and that only its owner may read.
///
/// # Errors
/// `DiskFailed`.
pub fn write_own(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| unwritten(path, error))
}

/// As [`read`], of a file that nobody but its owner may read.
///
/// # Errors
/// `Denied` where others may, and as [`read`].
pub fn read_own(path: &Path, what: &str, limit: usize) -> Result<Zeroizing<Vec<u8>>> {
    let bytes = Zeroizing::new(read(path, what, limit)?);
    let mode = fs::metadata(path).map_or(0, |found| found.permissions().mode());
    if mode & 0o077 == 0 {
        return Ok(bytes);
    }
    let shown = path.display().to_string();
    Err(Error::new(
        Code::Denied,
        format!("{what} `{shown}` may be read by others"),
    )
    .hint(format!(
        "let it be yours alone: chmod 600 {}; or make another one, if they have",
        shell_word(&shown)
    )))
}

/// Removes a file, if it is there.
///
/// # Errors
/// `DiskFailed`.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritten(path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn unwritten(path: &Path, error: std::io::Error) -> Error {
    let what = format!(
        "`{}` cannot be written: {}",
        path.display(),
        why(error.kind())
    );
    let is_there = error.kind() == ErrorKind::AlreadyExists;
    let error = Error::new(Code::DiskFailed, what).because(error);
    match is_there {
        true => error.hint("name another one: nothing is written over"),
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    /// `/proc/kmsg` is one that never ends, for whoever may read it.
    #[test]
    fn what_the_kernel_makes_up_is_no_regular_file() {
        for made_up in ["/proc/self/status", "/dev/zero"] {
            let error = read(Path::new(made_up), "the component", 1 << 20).unwrap_err();
            assert_eq!(error.code(), Code::BadInput, "{error}");
            let says = format!("the component `{made_up}` is no regular file");
            assert_eq!(error.message(), says);
        }
    }

    #[test]
    fn a_way_through_there_to_a_file_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        let through = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(read(Path::new(&through), "it", 9).unwrap(), b"x");
    }
}
