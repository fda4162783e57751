//! Streams of files: a buffer of bounded size, and one effect after the other behind it.
//!
//! An effect that was begun is never begun again, whatever the guest waits for meanwhile. What a guest wrote and never
//! waited for, by a flush or otherwise, is not written.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::{ErrorCode, FileOutcome, error_of};
use crate::guests::imports::Wisher;
use crate::rules::file::{FileWish, WriteMode};
use crate::words::limits::FILE_PIECE_BYTES;

/// An effect that was begun.
type Begun = Pin<Box<dyn Future<Output = Result<FileOutcome, ErrorCode>> + Send>>;

fn begin(wisher: &Wisher, path: &Arc<str>, wish: FileWish) -> Begun {
    let (wisher, path) = (wisher.clone(), path.to_string());
    Box::pin(async move {
        let outcome = wisher.file(path, wish).await;
        outcome.map_err(|refusal| error_of(&refusal))
    })
}

fn failed(code: ErrorCode) -> StreamError {
    StreamError::LastOperationFailed(wasmtime::Error::from(code))
}

/// A file that is read from some place on.
pub(super) struct Reading {
    wisher: Wisher,
    path: Arc<str>,
    offset: u64,
    buffer: Bytes,
    begun: Option<Begun>,
    ended: Option<Result<(), ErrorCode>>,
}

impl Reading {
    pub(super) fn new(wisher: Wisher, path: Arc<str>, offset: u64) -> Self {
        Self {
            wisher,
            path,
            offset,
            buffer: Bytes::new(),
            begun: None,
            ended: None,
        }
    }

    fn take(&mut self, outcome: Result<FileOutcome, ErrorCode>) {
        match outcome {
            Ok(FileOutcome::Bytes(bytes)) if !bytes.is_empty() => {
                let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                self.offset = self.offset.saturating_add(read);
                self.buffer = bytes.into();
            }
            Ok(_) => self.ended = Some(Ok(())),
            Err(code) => self.ended = Some(Err(code)),
        }
    }
}

#[async_trait]
impl Pollable for Reading {
    async fn ready(&mut self) {
        if !self.buffer.is_empty() || self.ended.is_some() {
            return;
        }
        let wish = FileWish::Read {
            offset: self.offset,
            length: FILE_PIECE_BYTES,
        };
        let (wisher, path) = (&self.wisher, &self.path);
        let begun = self.begun.get_or_insert_with(|| begin(wisher, path, wish));
        let outcome = begun.await;
        self.begun = None;
        self.take(outcome);
    }
}

impl InputStream for Reading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if !self.buffer.is_empty() {
            return Ok(self.buffer.split_to(size.min(self.buffer.len())));
        }
        match self.ended {
            None => Ok(Bytes::new()),
            Some(Ok(())) => Err(StreamError::Closed),
            Some(Err(code)) => {
                self.ended = Some(Ok(()));
                Err(failed(code))
            }
        }
    }
}

/// A file that is written from some place on, or at its end.
pub(super) struct Writing {
    wisher: Wisher,
    path: Arc<str>,
    offset: Option<u64>,
    buffer: Vec<u8>,
    begun: Option<Begun>,
    ended: Option<Result<(), ErrorCode>>,
}

impl Writing {
    pub(super) fn new(wisher: Wisher, path: Arc<str>, offset: Option<u64>) -> Self {
        Self {
            wisher,
            path,
            offset,
            buffer: Vec::new(),
            begun: None,
            ended: None,
        }
    }

    /// The next effect: all that is in the buffer, which is empty then.
    fn next(&mut self) -> Begun {
        let bytes = std::mem::take(&mut self.buffer);
        let mode = self.offset.map_or(WriteMode::Append, WriteMode::At);
        let written = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.offset = self.offset.map(|offset| offset.saturating_add(written));
        begin(&self.wisher, &self.path, FileWish::Write { bytes, mode })
    }
}

#[async_trait]
impl Pollable for Writing {
    /// Everything that was written so far is in the file.
    async fn ready(&mut self) {
        while self.ended.is_none() {
            let begun = match self.begun.take() {
                Some(begun) => begun,
                None if self.buffer.is_empty() => return,
                None => self.next(),
            };
            let outcome = self.begun.insert(begun).await;
            self.begun = None;
            if let Err(code) = outcome {
                self.ended = Some(Err(code));
            }
        }
    }
}

#[async_trait]
impl OutputStream for Writing {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > self.check_write()? {
            let what = "the guest wrote more than it was told that it may";
            return Err(StreamError::Trap(wasmtime::Error::msg(what)));
        }
        self.buffer.extend_from_slice(&bytes);
        Ok(())
    }

    /// What is in the buffer goes on by itself once the guest waits.
    fn flush(&mut self) -> StreamResult<()> {
        self.check_write().map(|_| ())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        match self.ended {
            None if self.begun.is_some() => Ok(0),
            None => Ok(FILE_PIECE_BYTES.saturating_sub(self.buffer.len())),
            Some(Ok(())) => Err(StreamError::Closed),
            Some(Err(code)) => {
                self.ended = Some(Ok(()));
                Err(failed(code))
            }
        }
    }
}
