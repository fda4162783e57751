//! What tests wish of files, and what comes of it.

use super::{FileOutcome, Files};
use crate::edges::aside::Asker;
use crate::rules::file::{File, FileWish, Place, Places, WriteMode};
use crate::words::error::{Code, Result};
use crate::words::label::Label;

pub(super) const READ: FileWish = FileWish::Read {
    offset: 0,
    length: 9,
};

pub(super) fn write(mode: WriteMode) -> FileWish {
    FileWish::Write {
        bytes: b"x".to_vec(),
        mode,
    }
}

pub(super) fn to(target: &str) -> FileWish {
    FileWish::Move {
        target: target.to_owned(),
    }
}

/// Does what is wished at a path; `place` says where each path is.
pub(super) fn perform(
    (files, place): (&Files, impl Fn(&str) -> Place),
    path: &str,
    wish: FileWish,
) -> (Result<FileOutcome>, Label) {
    perform_as((files, place), path, wish, Label::default())
}

/// As whoever is under this influence.
pub(super) fn perform_as(
    (files, place): (&Files, impl Fn(&str) -> Place),
    path: &str,
    wish: FileWish,
    label: Label,
) -> (Result<FileOutcome>, Label) {
    let places = match &wish {
        FileWish::Move { target } => Places::Two(place(path), place(target)),
        FileWish::List
        | FileWish::Stat
        | FileWish::Read { .. }
        | FileWish::Write { .. }
        | FileWish::Remove
        | FileWish::MakeFolder => Places::One(place(path)),
    };
    let file = File {
        path: path.to_owned(),
        wish,
        label,
    };
    let came = files.perform_labelled(file, places, &Asker::default());
    (came.result, came.label.unwrap_or_default())
}

/// What is said of a wish that is refused; nothing where it was done.
pub(super) fn refused(path: &str, result: Result<FileOutcome>) -> String {
    match result {
        Ok(_) => String::new(),
        Err(error) => {
            assert_eq!(error.code(), Code::Denied, "{path}: {error}");
            error.message().to_owned()
        }
    }
}
