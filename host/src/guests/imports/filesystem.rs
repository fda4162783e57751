//! `wasi:filesystem`: files of components that know nothing of this host.
//!
//! Off unless a grant says `wasi_files = true`; then each granted mount is a folder that is open from the start. Nothing
//! of the host's is ever open for a guest: a descriptor is a path, and whatever is done with it is a `File` effect like
//! any other, judged at the gate and performed by the files edge. Links are neither made nor read, and times not set.

mod streams;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::TrappableError;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use self::streams::{Reading, Writing};
use crate::edges::files::{FileKind, FileOutcome, Stat};
use crate::guests::bindings::filesystem::wasi::filesystem::preopens;
use crate::guests::bindings::filesystem::wasi::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use crate::guests::bindings::lazaret::plugin::types::{Code, Refusal};
use crate::guests::guest::{Errand, Inside};
use crate::rules::file::{FileWish, WriteMode};
use crate::words::limits::FILE_READ_BYTES;

/// An error of `wasi:filesystem`, or a trap.
pub(in crate::guests) type FsError = TrappableError<ErrorCode>;
type FsOutcome<T> = std::result::Result<T, FsError>;

/// What a guest has open: a name, and nothing behind it.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "generated code names it again, as public")]
pub struct Descriptor {
    path: Arc<str>,
    kind: FileKind,
    flags: DescriptorFlags,
}

/// The rest of a folder's list.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "generated code names it again, as public")]
pub struct Entries(std::vec::IntoIter<(String, Stat)>);

impl Inside {
    /// One effect on a path, in the words of `wasi:filesystem`.
    async fn act(&mut self, path: &str, wish: FileWish) -> FsOutcome<FileOutcome> {
        let outcome = self.file(path.to_owned(), wish).await;
        outcome.map_err(|refusal| error_of(&refusal).into())
    }

    async fn look(&mut self, path: &str) -> FsOutcome<Stat> {
        match self.act(path, FileWish::Stat).await? {
            FileOutcome::Stat(found) => Ok(found),
            FileOutcome::Entries(_) | FileOutcome::Bytes(_) | FileOutcome::Done => Err(mixed_up()),
        }
    }

    fn opened(&self, descriptor: &Resource<Descriptor>) -> FsOutcome<Descriptor> {
        self.table().get(descriptor).cloned().map_err(FsError::trap)
    }

    /// A path below an open folder. What climbs or is absolute is refused where every path is.
    fn below(&self, folder: &Resource<Descriptor>, path: &str) -> FsOutcome<String> {
        let folder = self.opened(folder)?;
        if folder.kind != FileKind::Folder {
            return Err(ErrorCode::NotDirectory.into());
        }
        if path.starts_with('/') {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(match (&*folder.path, path.trim_end_matches('/')) {
            (above, "" | ".") => above.to_owned(),
            (".", path) => path.to_owned(),
            (above, path) => format!("{above}/{path}"),
        })
    }

    fn open_file(&self, file: &Resource<Descriptor>, flag: DescriptorFlags) -> FsOutcome<Arc<str>> {
        let file = self.opened(file)?;
        match file.kind {
            FileKind::Folder => Err(ErrorCode::IsDirectory.into()),
            FileKind::File | FileKind::Link | FileKind::Other if file.flags.contains(flag) => {
                Ok(file.path)
            }
            FileKind::File | FileKind::Link | FileKind::Other => {
                Err(ErrorCode::BadDescriptor.into())
            }
        }
    }

    /// Looks, makes or empties, as the flags say; what is there in the end.
    async fn prepare(&mut self, path: &str, flags: OpenFlags) -> FsOutcome<Stat> {
        let found = self.act(path, FileWish::Stat).await;
        let missing = matches!(&found, Err(error) if is(error, ErrorCode::NoEntry));
        let write = |mode| FileWish::Write {
            bytes: Vec::new(),
            mode,
        };
        if missing && flags.contains(OpenFlags::CREATE) && !flags.contains(OpenFlags::DIRECTORY) {
            self.act(path, write(WriteMode::Create)).await?;
            return self.look(path).await;
        }
        let FileOutcome::Stat(found) = found? else {
            return Err(mixed_up());
        };
        if flags.contains(OpenFlags::EXCLUSIVE) {
            return Err(ErrorCode::Exist.into());
        }
        if flags.contains(OpenFlags::DIRECTORY) && found.kind != FileKind::Folder {
            return Err(ErrorCode::NotDirectory.into());
        }
        if flags.contains(OpenFlags::TRUNCATE) {
            self.act(path, write(WriteMode::Replace)).await?;
            return self.look(path).await;
        }
        Ok(found)
    }
}

impl preopens::Host for Inside {
    /// Each granted mount, if the grant lets WASI see it at all.
    async fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mounts = match &self.errand {
            Errand::Call(visit) if visit.caller.grant.wasi_files => {
                visit.caller.grant.mounts.clone()
            }
            Errand::Call(_) | Errand::Read(_) => Vec::new(),
        };
        let mut folders = Vec::new();
        for grant in mounts {
            let folder = Descriptor {
                path: grant.mount.clone(),
                kind: FileKind::Folder,
                flags: DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY,
            };
            folders.push((self.table_mut().push(folder)?, grant.mount.to_string()));
        }
        Ok(folders)
    }
}

impl types::Host for Inside {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    async fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(self
            .table()
            .get(&error)?
            .downcast_ref::<ErrorCode>()
            .copied())
    }
}

impl types::HostDirectoryEntryStream for Inside {
    async fn read_directory_entry(
        &mut self,
        entries: Resource<Entries>,
    ) -> FsOutcome<Option<DirectoryEntry>> {
        let entries = self.table_mut().get_mut(&entries).map_err(FsError::trap)?;
        Ok(entries.0.next().map(|(name, found)| DirectoryEntry {
            type_: type_of(found.kind),
            name,
        }))
    }

    async fn drop(&mut self, entries: Resource<Entries>) -> wasmtime::Result<()> {
        self.table_mut().delete(entries)?;
        Ok(())
    }
}

impl types::HostDescriptor for Inside {
    async fn read_via_stream(
        &mut self,
        file: Resource<Descriptor>,
        offset: u64,
    ) -> FsOutcome<Resource<DynInputStream>> {
        let path = self.open_file(&file, DescriptorFlags::READ)?;
        let wisher = self.visit().map_err(|refusal| error_of(&refusal))?.wisher();
        let stream: DynInputStream = Box::new(Reading::new(wisher, path, offset));
        self.table_mut().push(stream).map_err(FsError::trap)
    }

    async fn write_via_stream(
        &mut self,
        file: Resource<Descriptor>,
        offset: u64,
    ) -> FsOutcome<Resource<DynOutputStream>> {
        self.writing(&file, Some(offset))
    }

    async fn append_via_stream(
        &mut self,
        file: Resource<Descriptor>,
    ) -> FsOutcome<Resource<DynOutputStream>> {
        self.writing(&file, None)
    }

    async fn advise(
        &mut self,
        _: Resource<Descriptor>,
        _: u64,
        _: u64,
        _: Advice,
    ) -> FsOutcome<()> {
        Ok(())
    }

    /// What was written is on the disk already.
    async fn sync_data(&mut self, _: Resource<Descriptor>) -> FsOutcome<()> {
        Ok(())
    }

    async fn get_flags(&mut self, descriptor: Resource<Descriptor>) -> FsOutcome<DescriptorFlags> {
        Ok(self.opened(&descriptor)?.flags)
    }

    async fn get_type(&mut self, descriptor: Resource<Descriptor>) -> FsOutcome<DescriptorType> {
        Ok(type_of(self.opened(&descriptor)?.kind))
    }

    /// A file can be emptied; nothing else cuts or stretches it.
    async fn set_size(&mut self, file: Resource<Descriptor>, size: u64) -> FsOutcome<()> {
        let path = self.open_file(&file, DescriptorFlags::WRITE)?;
        if size == self.look(&path).await?.size {
            return Ok(());
        }
        if size > 0 {
            return Err(ErrorCode::Unsupported.into());
        }
        let wish = FileWish::Write {
            bytes: Vec::new(),
            mode: WriteMode::Replace,
        };
        self.act(&path, wish).await.map(|_| ())
    }

    async fn set_times(
        &mut self,
        _: Resource<Descriptor>,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsOutcome<()> {
        Err(ErrorCode::Unsupported.into())
    }

    async fn read(
        &mut self,
        file: Resource<Descriptor>,
        length: u64,
        offset: u64,
    ) -> FsOutcome<(Vec<u8>, bool)> {
        let path = self.open_file(&file, DescriptorFlags::READ)?;
        // Asking for more than there is at once is no mistake here: less comes back.
        let length = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(FILE_READ_BYTES);
        match self.act(&path, FileWish::Read { offset, length }).await? {
            FileOutcome::Bytes(bytes) => {
                let end = bytes.len() < length;
                Ok((bytes, end))
            }
            FileOutcome::Entries(_) | FileOutcome::Stat(_) | FileOutcome::Done => Err(mixed_up()),
        }
    }

    async fn write(
        &mut self,
        file: Resource<Descriptor>,
        bytes: Vec<u8>,
        offset: u64,
    ) -> FsOutcome<u64> {
        let path = self.open_file(&file, DescriptorFlags::WRITE)?;
        let written = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mode = WriteMode::At(offset);
        self.act(&path, FileWish::Write { bytes, mode }).await?;
        Ok(written)
    }

    async fn read_directory(
        &mut self,
        folder: Resource<Descriptor>,
    ) -> FsOutcome<Resource<Entries>> {
        let path = self.below(&folder, "")?;
        match self.act(&path, FileWish::List).await? {
            FileOutcome::Entries(entries) => {
                let entries = Entries(entries.into_iter());
                self.table_mut().push(entries).map_err(FsError::trap)
            }
            FileOutcome::Stat(_) | FileOutcome::Bytes(_) | FileOutcome::Done => Err(mixed_up()),
        }
    }

    async fn sync(&mut self, _: Resource<Descriptor>) -> FsOutcome<()> {
        Ok(())
    }

    async fn create_directory_at(
        &mut self,
        folder: Resource<Descriptor>,
        path: String,
    ) -> FsOutcome<()> {
        let path = self.below(&folder, &path)?;
        if self.act(&path, FileWish::Stat).await.is_ok() {
            return Err(ErrorCode::Exist.into());
        }
        self.act(&path, FileWish::MakeFolder).await.map(|_| ())
    }

    async fn stat(&mut self, descriptor: Resource<Descriptor>) -> FsOutcome<DescriptorStat> {
        let path = self.opened(&descriptor)?.path;
        Ok(stat_of(self.look(&path).await?))
    }

    async fn stat_at(
        &mut self,
        folder: Resource<Descriptor>,
        _: PathFlags,
        path: String,
    ) -> FsOutcome<DescriptorStat> {
        let path = self.below(&folder, &path)?;
        Ok(stat_of(self.look(&path).await?))
    }

    async fn set_times_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsOutcome<()> {
        Err(ErrorCode::Unsupported.into())
    }

    async fn link_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: Resource<Descriptor>,
        _: String,
    ) -> FsOutcome<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn open_at(
        &mut self,
        folder: Resource<Descriptor>,
        _: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsOutcome<Resource<Descriptor>> {
        let path = self.below(&folder, &path)?;
        let found = self.prepare(&path, open).await?;
        let opened = Descriptor {
            path: path.into(),
            kind: found.kind,
            flags,
        };
        self.table_mut().push(opened).map_err(FsError::trap)
    }

    async fn readlink_at(&mut self, _: Resource<Descriptor>, _: String) -> FsOutcome<String> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn remove_directory_at(
        &mut self,
        folder: Resource<Descriptor>,
        path: String,
    ) -> FsOutcome<()> {
        let path = self.below(&folder, &path)?;
        match self.look(&path).await?.kind {
            FileKind::Folder => self.act(&path, FileWish::Remove).await.map(|_| ()),
            FileKind::File | FileKind::Link | FileKind::Other => {
                Err(ErrorCode::NotDirectory.into())
            }
        }
    }

    /// Nothing is replaced: the files edge moves to where nothing is.
    async fn rename_at(
        &mut self,
        folder: Resource<Descriptor>,
        path: String,
        new_folder: Resource<Descriptor>,
        new_path: String,
    ) -> FsOutcome<()> {
        let path = self.below(&folder, &path)?;
        let target = self.below(&new_folder, &new_path)?;
        self.act(&path, FileWish::Move { target }).await.map(|_| ())
    }

    async fn symlink_at(&mut self, _: Resource<Descriptor>, _: String, _: String) -> FsOutcome<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn unlink_file_at(
        &mut self,
        folder: Resource<Descriptor>,
        path: String,
    ) -> FsOutcome<()> {
        let path = self.below(&folder, &path)?;
        match self.look(&path).await?.kind {
            FileKind::Folder => Err(ErrorCode::IsDirectory.into()),
            FileKind::File | FileKind::Link | FileKind::Other => {
                self.act(&path, FileWish::Remove).await.map(|_| ())
            }
        }
    }

    async fn is_same_object(
        &mut self,
        one: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        let path = |this: &Self, one| {
            this.table()
                .get(one)
                .map(|one: &Descriptor| one.path.clone())
        };
        Ok(path(self, &one)? == path(self, &other)?)
    }

    async fn metadata_hash(
        &mut self,
        descriptor: Resource<Descriptor>,
    ) -> FsOutcome<MetadataHashValue> {
        let path = self.opened(&descriptor)?.path;
        let found = self.look(&path).await?;
        Ok(hash_of(&path, found))
    }

    async fn metadata_hash_at(
        &mut self,
        folder: Resource<Descriptor>,
        _: PathFlags,
        path: String,
    ) -> FsOutcome<MetadataHashValue> {
        let path = self.below(&folder, &path)?;
        let found = self.look(&path).await?;
        Ok(hash_of(&path, found))
    }

    async fn drop(&mut self, descriptor: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.table_mut().delete(descriptor)?;
        Ok(())
    }
}

impl Inside {
    fn writing(
        &mut self,
        file: &Resource<Descriptor>,
        offset: Option<u64>,
    ) -> FsOutcome<Resource<DynOutputStream>> {
        let path = self.open_file(file, DescriptorFlags::WRITE)?;
        let wisher = self.visit().map_err(|refusal| error_of(&refusal))?.wisher();
        let stream: DynOutputStream = Box::new(Writing::new(wisher, path, offset));
        self.table_mut().push(stream).map_err(FsError::trap)
    }
}

fn is(error: &FsError, code: ErrorCode) -> bool {
    error.downcast_ref().is_some_and(|known| *known == code)
}

fn mixed_up() -> FsError {
    FsError::trap(wasmtime::Error::msg("the host mixed up two answers"))
}

/// A refusal in the words of `wasi:filesystem`.
fn error_of(refusal: &Refusal) -> ErrorCode {
    match refusal.code {
        Code::Denied => ErrorCode::NotPermitted,
        Code::NotFound => ErrorCode::NoEntry,
        Code::BadInput => ErrorCode::Invalid,
        Code::TooBig => ErrorCode::FileTooLarge,
        Code::OverBudget => ErrorCode::Quota,
        Code::Cancelled => ErrorCode::Interrupted,
        Code::TooSlow | Code::Failed => ErrorCode::Io,
    }
}

fn type_of(kind: FileKind) -> DescriptorType {
    match kind {
        FileKind::File => DescriptorType::RegularFile,
        FileKind::Folder => DescriptorType::Directory,
        FileKind::Link => DescriptorType::SymbolicLink,
        FileKind::Other => DescriptorType::Unknown,
    }
}

fn stat_of(found: Stat) -> DescriptorStat {
    let nanoseconds = u32::try_from(found.modified_ms % 1_000 * 1_000_000).unwrap_or(0);
    DescriptorStat {
        type_: type_of(found.kind),
        link_count: 1,
        size: found.size,
        data_access_timestamp: None,
        data_modification_timestamp: Some(Datetime {
            seconds: found.modified_ms / 1_000,
            nanoseconds,
        }),
        status_change_timestamp: None,
    }
}

/// Changes when what can be seen of a file changes.
fn hash_of(path: &str, found: Stat) -> MetadataHashValue {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, path, found.size, found.modified_ms).hash(&mut hasher);
        hasher.finish()
    };
    MetadataHashValue {
        lower: hash(0),
        upper: hash(1),
    }
}
