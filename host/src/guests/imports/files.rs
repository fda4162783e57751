//! `files`: files below the granted mounts.

use std::sync::Arc;

use super::Wisher;
use crate::edges::files::{self, FileKind, FileOutcome};
use crate::guests::bindings::lazaret::plugin::files::{Entry, Facts, Host, Kind, WriteMode};
use crate::guests::bindings::lazaret::plugin::types::{Code, Refusal};
use crate::guests::guest::Inside;
use crate::guests::station::Station;
use crate::rules::file::{self, File, FileWish};

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
        self.ask(Ok(File { path, wish, label }), perform).await
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
