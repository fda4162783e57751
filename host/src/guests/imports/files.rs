//! `files`: files below the granted mounts.

use std::sync::Arc;

use super::Wisher;
use crate::edges::files::{self, FileKind, FileOutcome};
use crate::gate::denied;
use crate::guests::bindings::lazaret::plugin::files::{Entry, Facts, Host, Kind, WriteMode};
use crate::guests::bindings::lazaret::plugin::types::{Code, Refusal};
use crate::guests::guest::Inside;
use crate::guests::station::Station;
use crate::rules::Effect;
use crate::rules::file::{self, File, FileWish};
use crate::words::error::{self, Error};

impl Host for Inside {
    async fn list(&mut self, path: String) -> Result<Vec<Entry>, Refusal> {
        match self.file(path, FileWish::List).await? {
            FileOutcome::Entries(entries) => Ok(entries
                .into_iter()
                .map(|(name, found)| Entry {
                    name,
                    facts: facts(found),
                })
                .collect()),
            FileOutcome::Stat(_) | FileOutcome::Bytes(_) | FileOutcome::Done => Err(mixed_up()),
        }
    }

    async fn stat(&mut self, path: String) -> Result<Facts, Refusal> {
        match self.file(path, FileWish::Stat).await? {
            FileOutcome::Stat(found) => Ok(facts(found)),
            FileOutcome::Entries(_) | FileOutcome::Bytes(_) | FileOutcome::Done => Err(mixed_up()),
        }
    }

    async fn read(&mut self, path: String, offset: u64, length: u32) -> Result<Vec<u8>, Refusal> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match self.file(path, FileWish::Read { offset, length }).await? {
            FileOutcome::Bytes(bytes) => Ok(bytes),
            FileOutcome::Entries(_) | FileOutcome::Stat(_) | FileOutcome::Done => Err(mixed_up()),
        }
    }

    async fn write(
        &mut self,
        path: String,
        bytes: Vec<u8>,
        mode: WriteMode,
    ) -> Result<(), Refusal> {
        let mode = match mode {
            WriteMode::Create => file::WriteMode::Create,
            WriteMode::Replace => file::WriteMode::Replace,
            WriteMode::Append => file::WriteMode::Append,
        };
        self.file(path, FileWish::Write { bytes, mode })
            .await
            .map(|_| ())
    }

    async fn move_(&mut self, source: String, target: String) -> Result<(), Refusal> {
        self.file(source, FileWish::Move { target })
            .await
            .map(|_| ())
    }

    async fn remove(&mut self, path: String) -> Result<(), Refusal> {
        self.file(path, FileWish::Remove).await.map(|_| ())
    }
}

impl Inside {
    pub(super) async fn file(
        &mut self,
        path: String,
        wish: FileWish,
    ) -> Result<FileOutcome, Refusal> {
        self.visit()?.wisher().file(path, wish).await
    }
}

impl Wisher {
    pub(super) async fn file(&self, path: String, wish: FileWish) -> Result<FileOutcome, Refusal> {
        let perform =
            |station: Arc<Station>, permit, _| async move { station.files.perform(permit).await };
        let label = self.written();
        let file = File { path, wish, label };
        self.ask(move || self.check_names(&file).map(|()| file), perform)
            .await
    }

    /// No path is too long, which is looked at before any is looked through. A name is seen by whoever looks into its folder,
    /// and stands beside the label that is kept. So nothing is named by a secret, nor changed that is.
    fn check_names(&self, file: &File) -> Result<(), Error> {
        let policy = self.station.gate.policy();
        let sized = file.check_size();
        sized.map_err(|denial| denied(&denial, policy))?;
        let target = if let FileWish::Move { target } = &file.wish {
            target
        } else {
            &file.path
        };
        let known = self.station.scrub.known();
        let mut names = [&file.path, target].into_iter();
        if file.passes_on() && names.any(|name| known.finds_in(name.as_bytes())) {
            let what = "the path holds the value of a secret, and a name is seen by others: \
                        name the file by something that may be read";
            return Err(Error::new(error::Code::Denied, what));
        }
        Ok(())
    }
}

fn facts(found: files::Stat) -> Facts {
    let kind = match found.kind {
        FileKind::File => Kind::File,
        FileKind::Folder => Kind::Folder,
        FileKind::Link => Kind::Link,
        FileKind::Other => Kind::Other,
    };
    Facts {
        kind,
        size: found.size,
        modified_ms: found.modified_ms,
    }
}

fn mixed_up() -> Refusal {
    Refusal {
        code: Code::Failed,
        message: "the host mixed up two answers".to_owned(),
        retryable: false,
    }
}
