//! Files: the only file in which a path of a guest is opened.
//!
//! Every mount is a directory handle, and every path is resolved beneath it by handle, name by name,
//! so that a link that leads out, or is swapped between check and use, leads nowhere. Only regular
//! files are read or written: never a device, pipe or socket.

mod came;
mod kept;
pub(super) mod kernel;
pub(crate) mod labelled;
mod met;
pub(crate) mod nested;
mod own;
mod turn;
#[cfg(test)]
mod wished;
mod written;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File as OpenFile, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{OFlags, RenameFlags, renameat_with};

use self::kept::check_moved;
use self::kernel::is_kernels;
use self::own::{Own, names_left};
use self::turn::{Doing, Turn, Turns};
use self::written::{Written, above, no_room};
use super::aside::aside;
use super::labels::FileLabels;
use super::named;
use super::state::random;
use crate::gate::{Performed, Permit};
use crate::rules::file::{
    BESIDE, File, FileWish, Place, Places, WriteMode, is_kept, is_repository, kept, repository,
    too_deep,
};
use crate::rules::flow::home::Home;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result, why};
use crate::words::event::{Content, Spent};
use crate::words::id::shown;
use crate::words::label::Label;
use crate::words::limits::{FILE_ENTRIES, FILE_READ_BYTES, FILE_WRITE_BYTES, PATH_NAMES};

/// The mounted folders.
#[derive(Clone, Debug)]
pub struct Files {
    mounts: Arc<BTreeMap<Arc<str>, Dir>>,
    /// Where each mount lies, for the labels of its files; nothing is opened by these.
    roots: Arc<BTreeMap<Arc<str>, PathBuf>>,
    labels: FileLabels,
    turns: Turns,
    own: Own,
    written: Written,
}

/// What a folder is, whatever it is called: device and number.
type Identity = (u64, u64);

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What kind of thing.
    pub kind: FileKind,
    /// In bytes.
    pub size: u64,
    /// Milliseconds since 1970, 0 where unknown.
    pub modified_ms: u64,
}

/// A kind of thing in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket; never opened.
    Other,
}

/// What came of a wish.
#[derive(Clone, Debug)]
pub enum FileOutcome {
    /// A folder's entries in order of name.
    Entries(Vec<(String, Stat)>),
    /// One thing.
    Stat(Stat),
    /// Bytes of a file.
    Bytes(Vec<u8>),
    /// It was done.
    Done,
}

impl Files {
    /// Opens each mount's folder. From here on the folders' paths are not used again. The host's `own`
    /// folders are out of reach, by whatever mount or link a path leads to them. A mount whose folder is not there is
    /// refused to whoever uses it: it keeps nobody from the others.
    ///
    /// # Errors
    /// `NotFound` and others, with the mount's name; `Denied` for a mount that is one of `own` or lies in one, or the kernel's.
    pub fn open(
        mounts: &BTreeMap<Arc<str>, PathBuf>,
        own: &[PathBuf],
        labels: Option<(&Path, Home)>,
    ) -> Result<Self> {
        let own = Own::of(own);
        let mut open = BTreeMap::new();
        for (name, path) in mounts.iter().filter(|(_, path)| !is_missing(path)) {
            let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
                let what = format!(
                    "the mount `{name}` cannot be opened: `{}`: {}",
                    path.display(),
                    why(error.kind())
                );
                Error::new(Code::NotFound, what)
                    .hint("make the folder, or correct `path` of the mount")
            })?;
            if own.has(path) {
                let what = format!(
                    "the mount `{name}` is lazaret's own folder, or lies in one: `{}`",
                    path.display()
                );
                return Err(Error::new(Code::Denied, what).hint("mount another folder"));
            }
            if is_kernels(&dir) {
                let what = format!(
                    "the mount `{name}` lies in a file system of the kernel's own, where nothing is a file: `{}`",
                    path.display()
                );
                return Err(Error::new(Code::Denied, what));
            }
            open.insert(name.clone(), dir);
        }
        let turns = Turns::beside(labels.as_ref().map(|(path, _)| *path));
        let labels = match labels {
            Some((path, home)) => FileLabels::open(path, home)?,
            None => FileLabels::in_memory()?,
        };
        let root = |(name, path): (&Arc<str>, &PathBuf)| (name.clone(), canonical(path));
        Ok(Self {
            mounts: Arc::new(open),
            roots: Arc::new(mounts.iter().map(root).collect()),
            labels,
            turns,
            own,
            written: Written::default(),
        })
    }

    /// Does what the permit says.
    pub(crate) async fn perform(&self, permit: Permit<File>) -> Performed<FileOutcome> {
        let began = Clock::instant();
        let files = self.clone();
        let (file, places) = permit.redeem();
        // The file system may block for as long as it likes; a worker of the runtime may not.
        let work = aside(move |asker| files.perform_labelled(file, places, asker)).await;
        let came = work.unwrap_or_else(|| Err(Error::bug("the files edge panicked")).into());
        let bytes = match &came.result {
            Ok(FileOutcome::Bytes(bytes)) => bytes.len(),
            Ok(FileOutcome::Entries(entries)) => entries.len(),
            Ok(FileOutcome::Stat(_) | FileOutcome::Done) | Err(_) => 0,
        };
        let label = came.label.unwrap_or_default();
        Performed {
            content: Content::Size { bytes },
            wrote: came.wrote,
            ..Performed::of(came.result, label, Spent::since(began))
        }
    }

    /// Until what is returned is dropped, no tool changes a file: what is read has the label that is looked up for it.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(crate) fn still(&self) -> Result<Turn<'_>> {
        self.turns.take(Doing::Looks)
    }

    /// The mounts in which a file lies that the user has named, the innermost and any beside it; and what influenced
    /// that this is what stands there, whoever wrote it or moved a folder that it lies in.
    ///
    /// # Errors
    /// `DiskFailed`; `Corrupt` for a label that cannot be read; `Denied` for what lies too deep in a mount.
    pub(crate) fn about(&self, file: &Path) -> Result<(Vec<Arc<str>>, Label)> {
        let path = canonical(file);
        let depth = |root: &Path| root.components().count();
        let above = || self.roots.iter().filter(|(_, root)| path.starts_with(root));
        let innermost = above().map(|(_, root)| depth(root)).max();
        let names = innermost.map_or(0, |root| depth(&path).saturating_sub(root));
        if names > PATH_NAMES {
            return Err(Error::new(Code::Denied, too_deep(names)));
        }
        let mounts = above().filter(|(_, root)| Some(depth(root)) == innermost);
        let mounts = mounts.map(|(name, _)| name.clone()).collect();
        Ok((mounts, self.told_by_name(file)?))
    }

    /// Saves what somebody has made in a file that the user has named and that is not there yet: whoever reads it by a mount
    /// is under their influence.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(crate) fn save(&self, file: &Path, bytes: &[u8], label: &Label) -> Result<()> {
        // No tool changes anything meanwhile.
        let _turn = self.turns.take(Doing::Changes)?;
        named::write_settled(file, bytes, || {
            self.labels.put(&labelled::named(file), label)
        })
    }

    fn perform_now(&self, file: File, places: Places) -> Result<FileOutcome> {
        match places {
            Places::Root(names) => root(&file.wish, &names),
            Places::One(place) => self.perform_one(&file.path, file.wish, &place),
            Places::Two(from, to) => self.rename(&file.path, &from, &to),
        }
    }

    fn perform_one(&self, path: &str, wish: FileWish, place: &Place) -> Result<FileOutcome> {
        let dir = self.dir(place)?;
        self.check_own(dir, path, place)?;
        self.check_inside(path, place, wish.access())?;
        if changes(&wish) {
            self.check_kept(path, place)?;
        }
        let explain = |error: std::io::Error| explain(path, &error);
        match wish {
            FileWish::List => list(dir, &relative(place))
                .map_err(explain)
                .map(FileOutcome::Entries),
            FileWish::Stat => {
                let found = if place.names.is_empty() {
                    dir.dir_metadata()
                } else {
                    dir.symlink_metadata(relative(place))
                };
                found
                    .map(|found| FileOutcome::Stat(stat(&found)))
                    .map_err(explain)
            }
            FileWish::Read { offset, length } => {
                read(dir, path, place, offset, length).map(FileOutcome::Bytes)
            }
            FileWish::Write { bytes, mode } => {
                let write = || self.write(dir, path, place, &bytes, mode);
                let written = self.written.making((dir, place), &place.names, write);
                written.map(|()| FileOutcome::Done)
            }
            FileWish::Remove => {
                self.check_holds_none(path, place)?;
                remove(dir, path, place).map(|()| FileOutcome::Done)
            }
            FileWish::MakeFolder => {
                let make = || {
                    let (folder, name) = folder_of(dir, path, place, Missing::Refuse)?;
                    folder.create_dir(name).map_err(explain)
                };
                let made = self.written.making((dir, place), &place.names, make);
                made.map(|()| FileOutcome::Done)
            }
            FileWish::Move { .. } => Err(Error::bug("a move has two places")),
        }
    }

    fn write(
        &self,
        dir: &Dir,
        path: &str,
        place: &Place,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<()> {
        let taken = self.written.take(place, bytes.len())?;
        let written = write(dir, path, place, bytes, mode);
        match &written {
            // A disk that fails may have taken some of it.
            Err(error) if error.code() != Code::DiskFailed => drop(taken),
            Ok(()) | Err(_) => taken.keep(),
        }
        written
    }

    fn rename(&self, path: &str, from: &Place, to: &Place) -> Result<FileOutcome> {
        let explain = |error: std::io::Error| explain(path, &error);
        let dir = self.dir(from)?;
        self.check_own(dir, path, from)?;
        self.check_own(dir, path, to)?;
        self.check_stays(path, (from, to))?;
        self.check_kept(path, from)?;
        self.check_kept(path, to)?;
        check_moved((dir, &self.own), path, &relative(from), names_left(dir, to))?;
        let (from_folder, from_name) = folder_of(dir, path, from, Missing::Refuse)?;
        // Whoever moves nothing makes no folders.
        from_folder.symlink_metadata(from_name).map_err(explain)?;
        let rename = || {
            let (to_folder, to_name) = folder_of(dir, path, to, Missing::Create)?;
            renameat_with(
                &from_folder,
                from_name,
                &to_folder,
                to_name,
                RenameFlags::NOREPLACE,
            )
            .map_err(|error| explain(error.into()))
        };
        let renamed = self.written.making((dir, to), above(to), rename);
        renamed.map(|()| FileOutcome::Done)
    }

    /// Refuses to change what no tool changes, where links or the mount itself lead there under another name. No tool makes
    /// a link, so what is found here stays so.
    fn check_kept(&self, path: &str, place: &Place) -> Result<()> {
        let Some(root) = self.roots.get(&place.mount) else {
            return Err(Error::bug("a granted mount has no place"));
        };
        let way = place
            .names
            .iter()
            .fold(root.clone(), |way, name| way.join(name));
        // What is not there yet is made below what is.
        let led = way.ancestors().find_map(|above| {
            let there = resolved(above).ok()?;
            let made = way.strip_prefix(above).ok()?;
            Some(there.join(made))
        });
        let Some(led) = led else {
            return Ok(());
        };
        let mut names = led
            .components()
            .filter_map(|part| part.as_os_str().to_str());
        if names.any(is_kept) {
            return Err(Error::new(Code::Denied, kept(path)));
        }
        match is_in_repository(&led) {
            true => Err(Error::new(Code::Denied, repository(path))),
            false => Ok(()),
        }
    }

    fn dir(&self, place: &Place) -> Result<&Dir> {
        self.mounts
            .get(&place.mount)
            .ok_or_else(|| match self.roots.contains_key(&place.mount) {
                true => {
                    let mount = shown(&place.mount);
                    let what =
                        format!("the folder of the mount `{mount}` was not there at the start");
                    Error::new(Code::NotFound, what)
                        .hint("`lazaret policy check` says where it should be")
                }
                false => Error::bug("a granted mount is not open"),
            })
    }
}

/// Whether there is nothing at the path of a mount. Where a link on the way leads nowhere, nobody knows what it will lead to.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the path of a mount; nothing is opened"
)]
pub fn is_missing(path: &Path) -> bool {
    let is_nothing = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let there = path.ancestors().find(|above| !is_nothing(above));
    is_nothing(path) && there.is_some_and(|above| above.canonicalize().is_ok())
}

/// The one path of a folder, whatever links lead to it. One that is not there will lie in what is.
#[expect(
    clippy::disallowed_methods,
    reason = "the path of a mount, of which the labels of its files are made"
)]
fn canonical(path: &Path) -> PathBuf {
    let led = path.ancestors().find_map(|above| {
        let mut there = above.canonicalize().ok()?;
        // To join nothing would leave a slash at its end, and labels are kept by what is written.
        there.extend(path.strip_prefix(above).ok()?);
        Some(there)
    });
    led.unwrap_or_else(|| path.to_owned())
}

/// Where a path leads, links followed.
#[expect(clippy::disallowed_methods, reason = "where the links of a mount lead")]
fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize()
}

/// Whether a path lies in what Git takes for a repository, or what is made there would make it one.
fn is_in_repository(path: &Path) -> bool {
    let folders = path.ancestors().skip(1).zip(path.ancestors());
    folders
        .into_iter()
        .filter_map(|(folder, made)| Some((folder, made.file_name()?)))
        .any(|(folder, made)| {
            is_repository(|mark| {
                made.eq_ignore_ascii_case(mark) || folder.join(mark).symlink_metadata().is_ok()
            })
        })
}

fn changes(wish: &FileWish) -> bool {
    match wish {
        FileWish::List | FileWish::Stat | FileWish::Read { .. } => false,
        FileWish::Write { .. }
        | FileWish::Move { .. }
        | FileWish::Remove
        | FileWish::MakeFolder => true,
    }
}

/// What a file is that the user named, or a folder of the host's own, whatever it is called.
#[expect(
    clippy::disallowed_methods,
    reason = "what is looked up by what it is; nothing is opened"
)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

fn root(wish: &FileWish, names: &[Arc<str>]) -> Result<FileOutcome> {
    let folder = Stat {
        kind: FileKind::Folder,
        size: 0,
        modified_ms: 0,
    };
    match wish {
        FileWish::List => Ok(FileOutcome::Entries(
            names
                .iter()
                .map(|name| (name.to_string(), folder))
                .collect(),
        )),
        FileWish::Stat => Ok(FileOutcome::Stat(folder)),
        FileWish::Read { .. }
        | FileWish::Write { .. }
        | FileWish::Move { .. }
        | FileWish::Remove
        | FileWish::MakeFolder => Err(Error::bug("the root is only listed")),
    }
}

fn relative(place: &Place) -> PathBuf {
    if place.names.is_empty() {
        PathBuf::from(".")
    } else {
        place.names.iter().collect()
    }
}

fn list(dir: &Dir, path: &PathBuf) -> std::io::Result<Vec<(String, Stat)>> {
    let mut entries = Vec::new();
    for entry in dir.read_dir(path)?.take(FILE_ENTRIES) {
        let entry = entry?;
        // A name that is no text is shown as well as it can be: it cannot be asked for, but nothing is left out unsaid.
        let name = entry.file_name().to_string_lossy().into_owned();
        // Gone since the listing began.
        let Ok(found) = entry.metadata() else {
            continue;
        };
        entries.push((name, stat(&found)));
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

fn stat(found: &Metadata) -> Stat {
    let kind = if found.is_file() {
        FileKind::File
    } else if found.is_dir() {
        FileKind::Folder
    } else if found.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    };
    let seconds = u64::try_from(found.mtime()).unwrap_or(0);
    let nanos = u64::try_from(found.mtime_nsec()).unwrap_or(0);
    Stat {
        kind,
        size: found.len(),
        modified_ms: seconds
            .saturating_mul(1_000)
            .saturating_add(nanos / 1_000_000),
    }
}

/// Opens without waiting for the other end of a pipe, and looks at what was opened.
fn open_regular(
    dir: &Dir,
    path: &str,
    name: &PathBuf,
    options: &mut OpenOptions,
) -> Result<OpenFile> {
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    options.custom_flags(nonblock);
    // A device may act on being opened, so the name is looked at first; what is opened, again.
    if let Ok(found) = dir.metadata(name) {
        check_regular(path, &found)?;
    }
    let file = dir
        .open_with(name, options)
        .map_err(|error| explain(path, &error))?;
    let found = file.metadata().map_err(|error| explain(path, &error))?;
    check_regular(path, &found)?;
    Ok(file)
}

fn check_regular(path: &str, found: &Metadata) -> Result<()> {
    if found.is_dir() {
        return Err(Error::bad_input(format!("`{}` is a folder", shown(path)))
            .hint("`files.list` lists it"));
    }
    if !found.is_file() {
        return Err(Error::new(
            Code::Denied,
            format!("`{}` is no regular file", shown(path)),
        ));
    }
    Ok(())
}

fn read(dir: &Dir, path: &str, place: &Place, offset: u64, length: usize) -> Result<Vec<u8>> {
    if length > FILE_READ_BYTES {
        return Err(Error::too_big("one read", FILE_READ_BYTES, length));
    }
    let mut file = open_regular(dir, path, &relative(place), OpenOptions::new().read(true))?;
    let explain = |error: std::io::Error| explain(path, &error);
    file.seek(SeekFrom::Start(offset)).map_err(explain)?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(length).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)
        .map_err(explain)?;
    Ok(bytes)
}

fn write(dir: &Dir, path: &str, place: &Place, bytes: &[u8], mode: WriteMode) -> Result<()> {
    if bytes.len() > FILE_WRITE_BYTES {
        return Err(Error::too_big("one write", FILE_WRITE_BYTES, bytes.len()));
    }
    check_file_size(path, place, 0, bytes)?;
    let explain = |error: std::io::Error| explain(path, &error);
    let (folder, name) = folder_of(dir, path, place, Missing::Create)?;
    let found = folder.symlink_metadata(name).ok();
    if let Some(found) = &found {
        check_writable(path, found)?;
    }
    match mode {
        WriteMode::Create => {
            let mut file = folder
                .open_with(name, OpenOptions::new().write(true).create_new(true))
                .map_err(explain)?;
            file.write_all(bytes)
                .and_then(|()| file.sync_all())
                .map_err(explain)
        }
        WriteMode::Append => {
            let mut options = OpenOptions::new();
            options.append(true).create(true).follow(FollowSymlinks::No);
            let mut file = open_regular(&folder, path, &PathBuf::from(name), &mut options)?;
            // Looked at again by handle: the name may have been swapped since.
            let found = file.metadata().map_err(explain)?;
            check_writable(path, &found)?;
            check_file_size(path, place, found.len(), bytes)?;
            file.write_all(bytes)
                .and_then(|()| file.sync_all())
                .map_err(explain)
        }
        WriteMode::At(offset) => {
            check_file_size(path, place, offset, bytes)?;
            let mut options = OpenOptions::new();
            options.write(true).follow(FollowSymlinks::No);
            let mut file = open_regular(&folder, path, &PathBuf::from(name), &mut options)?;
            // As above.
            check_writable(path, &file.metadata().map_err(explain)?)?;
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.write_all(bytes))
                .and_then(|()| file.sync_all())
                .map_err(explain)
        }
        WriteMode::Replace => {
            // Whoever could guess the name would be in the way.
            let beside = format!("{BESIDE}{:016x}", u64::from_ne_bytes(random()?));
            replace(&folder, (name, &beside), bytes, found).map_err(explain)
        }
    }
}

/// No file grows past what its mount allows.
fn check_file_size(path: &str, place: &Place, before: u64, bytes: &[u8]) -> Result<()> {
    let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let sum = before.saturating_add(more);
    if sum <= place.room.file_bytes {
        return Ok(());
    }
    let what = format!("`{}` would have {sum} bytes, which is too big", shown(path));
    let line = format!("max_file_mib = {}", place.room.file_bytes >> 20);
    Err(no_room(&what, &place.mount, &line))
}

/// Writes beside and renames over, so that a reader sees the old bytes or the new ones.
/// Who may read the old file may read the new one, and nobody else; not even while it is written.
fn replace(
    folder: &Dir,
    (name, beside): (&str, &str),
    bytes: &[u8],
    old: Option<Metadata>,
) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if old.is_some() {
        options.mode(0o600);
    }
    let mut file = folder.open_with(beside, &options)?;
    let permitted = old.map_or(Ok(()), |old| file.set_permissions(old.permissions()));
    let written = permitted
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| folder.rename(beside, folder, name));
    if renamed.is_err() {
        // The first failure is the one to report.
        let _ = folder.remove_file(beside);
    }
    renamed
}

/// A file with a second name may belong to somebody outside the mount.
fn check_writable(path: &str, found: &Metadata) -> Result<()> {
    if found.is_symlink() || (found.is_file() && found.nlink() > 1) {
        let what = format!(
            "`{}` is a link, and what it leads to may lie elsewhere",
            shown(path)
        );
        return Err(Error::new(Code::Denied, what));
    }
    check_regular(path, found)
}

fn remove(dir: &Dir, path: &str, place: &Place) -> Result<()> {
    let explain = |error: std::io::Error| explain(path, &error);
    let (folder, name) = folder_of(dir, path, place, Missing::Refuse)?;
    let found = folder.symlink_metadata(name).map_err(explain)?;
    if found.is_dir() {
        folder.remove_dir(name)
    } else {
        folder.remove_file(name)
    }
    .map_err(explain)
}

/// What to do about folders on the way that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Refuse,
    Create,
}

/// The folder that holds a place, opened, and the place's name in it.
fn folder_of<'a>(
    dir: &Dir,
    path: &str,
    place: &'a Place,
    missing: Missing,
) -> Result<(Dir, &'a str)> {
    let Some((name, above)) = place.names.split_last() else {
        return Err(Error::bad_input(format!(
            "`{}` is the mount itself",
            shown(path)
        )));
    };
    let explain = |error: std::io::Error| explain(path, &error);
    let above: PathBuf = if above.is_empty() {
        PathBuf::from(".")
    } else {
        above.iter().collect()
    };
    if missing == Missing::Create {
        dir.create_dir_all(&above).map_err(explain)?;
    }
    dir.open_dir(&above)
        .map_err(explain)
        .map(|folder| (folder, name.as_str()))
}

/// What a failure of the file system means, without any path of the host.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the list of kinds is open, and not ours"
)]
fn explain(path: &str, error: &std::io::Error) -> Error {
    let shown = shown(path);
    if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP) {
        return Error::new(
            Code::Denied,
            format!("`{shown}` leads through a link that may not be followed"),
        );
    }
    match error.kind() {
        ErrorKind::NotFound => Error::not_found(format!("`{shown}`")),
        // What leads out of a mount is refused before the system is asked about it, and so has no number of its own.
        ErrorKind::PermissionDenied => {
            let why = match error.raw_os_error() {
                Some(_) => "may not be used by this user: its owner does not allow it",
                None => "leads out of its mount",
            };
            Error::new(Code::Denied, format!("`{shown}` {why}"))
        }
        ErrorKind::AlreadyExists => Error::bad_input(format!(
            "`{shown}`: there is something of that name already"
        )),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::new(Code::DiskFailed, format!("`{shown}`: the disk is full"))
        }
        ErrorKind::DirectoryNotEmpty => {
            Error::bad_input(format!("`{shown}` is a folder with something in it"))
        }
        ErrorKind::NotADirectory => {
            let what = "it, or a part of the path to it, is a file and no folder";
            Error::bad_input(format!("`{shown}`: {what}"))
        }
        ErrorKind::IsADirectory => Error::bad_input(format!("`{shown}` is a folder")),
        kind => Error::new(Code::DiskFailed, format!("`{shown}`: {kind}")),
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests are the user, who has files"
)]
mod tests {
    use std::io;

    use super::*;
    use crate::words::label::{Sort, Source};

    #[test]
    fn what_is_saved_for_the_user_keeps_its_label_and_takes_nobodys_place() {
        let temp = tempfile::tempdir().unwrap();
        let docs = temp.path().join("docs");
        std::fs::create_dir(&docs).unwrap();
        let mounts = BTreeMap::from([("docs".into(), docs.clone())]);
        let labels = temp.path().join("files.db");
        let files = Files::open(&mounts, &[], Some((&labels, Home::default()))).unwrap();
        let (made, mine) = (docs.join("made.txt"), docs.join("mine.txt"));
        let (web, user) = (
            Label::of(Source::new(Sort::Web, "https://a.test")),
            Label::of(Source::user()),
        );
        files.save(&made, b"made", &web).unwrap();
        files.save(&mine, b"mine", &user).unwrap();
        for (path, text, label) in [(&made, "made", &web), (&mine, "mine", &Label::default())] {
            for other in [&web, &user] {
                let refused = files.save(path, b"other", other).unwrap_err();
                assert_eq!(refused.code(), Code::DiskFailed);
            }
            assert_eq!(std::fs::read_to_string(path).unwrap(), text);
            assert_eq!(&files.about(path).unwrap().1, label, "{text}");
        }
        // Nor is there a file whose label cannot be kept.
        let gone = docs.join("gone.txt");
        let full = || Err(Error::new(Code::DiskFailed, "the disk is full"));
        let refused = named::write_settled(&gone, b"gone", full).unwrap_err();
        assert_eq!(refused.message(), "the disk is full");
        assert!(std::fs::symlink_metadata(&gone).is_err());
    }

    #[test]
    fn what_leads_out_and_what_the_system_forbids_are_told_apart() {
        for (error, says) in [
            (
                io::Error::new(ErrorKind::PermissionDenied, "a path led outside"),
                "`a` leads out of its mount",
            ),
            (
                rustix::io::Errno::ACCESS.into(),
                "`a` may not be used by this user: its owner does not allow it",
            ),
        ] {
            let told = explain("a", &error);
            assert_eq!((told.code(), told.message()), (Code::Denied, says));
        }
    }
}
