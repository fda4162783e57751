//! What a failure of SQLite means, whichever of our databases it is.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::words::error::{Code, Error};
use crate::words::limits::JOURNAL_WAIT_MS;

/// The failure in our words. `damaged` is said where what lies at `path` is no database, or no whole one.
pub(crate) fn explain(
    error: &rusqlite::Error,
    path: &Path,
    damaged: impl FnOnce(&str) -> Error,
) -> Error {
    let shown = path.display().to_string();
    let explained = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let what =
                format!("`{shown}` is locked by another process; waited {JOURNAL_WAIT_MS} ms");
            Error::new(Code::Busy, what).hint("end the other lazaret, or try again")
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => damaged(&shown),
        Some(ErrorCode::DiskFull) => {
            Error::new(Code::DiskFailed, format!("`{shown}`: the disk is full"))
                .hint("make room and try again")
        }
        Some(ErrorCode::SystemIoFailure) => {
            let what = format!("`{shown}`: the system could not read or write it");
            Error::new(Code::DiskFailed, what)
                .hint("is the disk full, or does it fail? Nothing was done that is not recorded")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            let what = format!("`{shown}` cannot be opened for writing");
            Error::new(Code::DiskFailed, what)
                .hint("check that its folder exists and belongs to you")
        }
        _ => Error::new(Code::DiskFailed, format!("`{shown}`: {error}")),
    };
    explained.because(anyhow::anyhow!("{error}"))
}
