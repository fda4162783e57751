//! What a power cut may leave on a disk: all that was synced, and of the rest anything.
//!
//! Bytes that were written and not synced may be there, be missing, or be there in part, sector by sector; one write
//! may be there although an earlier one is missing. That a file was made, cut or removed is kept in order with the
//! other such changes to it, and is safe with its next sync, or with that of its folder: SQLite syncs a folder with the
//! first sync of a log in it.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Op, What};

/// A part of a file that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// What becomes of one operation that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is on the disk.
    Kept,
    /// It is not.
    Lost,
    /// Of its sectors, those are whose bit is set; from the 64th on as the first.
    Torn(u64),
}

/// Files by name; what is not there has no entry.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The operations among `ops` that a power cut behind the last of them may undo, by their place.
#[must_use]
pub fn open(ops: &[Op]) -> Vec<usize> {
    let is_folders = |op: &Op| matches!(op.what, What::Made | What::Removed(_));
    // The first sync of a log that was just made is one of its folder as well.
    let syncs_folder = |at: usize, op: &Op| {
        let before = ops[..at].iter().rev().filter(|other| other.file == op.file);
        let mut changes = before.take_while(|other| other.what != What::Synced);
        op.file.contains('-') && op.what == What::Synced && changes.any(|op| op.what == What::Made)
    };
    let is_safe = |op: &Op, at: usize| {
        let mut later = ops.iter().enumerate().skip(at + 1);
        if is_folders(op) && later.clone().any(|(at, later)| syncs_folder(at, later)) {
            return true;
        }
        let decided = later.find(|(_, later)| {
            let what = &later.what;
            later.file == op.file
                && matches!(what, What::Synced | What::NotSynced | What::Removed(true))
        });
        decided.is_some_and(|(_, decided)| decided.what != What::NotSynced)
    };
    let changes = ops.iter().enumerate();
    let changes = changes.filter(|(_, op)| match op.what {
        What::Made | What::Written(..) | What::Cut(_) | What::Removed(false) => true,
        What::Synced | What::NotSynced | What::Removed(true) => false,
    });
    let open = changes.filter(|(at, op)| !is_safe(op, *at));
    open.map(|(at, _)| at).collect()
}

/// The files that a power cut leaves, where this becomes of what was not synced.
#[must_use]
pub fn left(ops: &[Op], open: &[usize], fate: impl Fn(usize) -> Left) -> Files {
    let mut files = Files::new();
    // Files of which a change to the folder is lost: later ones are to another file of the same name.
    let mut gone: Vec<&str> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let fate = match open.binary_search(&at) {
            Ok(_) => fate(at),
            Err(_) => Left::Kept,
        };
        if gone.contains(&op.file.as_str()) {
            continue;
        }
        match (&op.what, fate) {
            (What::Synced | What::NotSynced, _) => {}
            (What::Made, Left::Kept) => {
                files.entry(op.file.clone()).or_default();
            }
            (What::Removed(_), Left::Kept) => {
                files.remove(&op.file);
            }
            (What::Made | What::Removed(_), Left::Lost | Left::Torn(_)) => gone.push(&op.file),
            (What::Written(..) | What::Cut(_), Left::Lost) => {}
            (What::Cut(length), Left::Kept | Left::Torn(_)) => {
                if let Some(file) = files.get_mut(&op.file) {
                    file.resize(*length, 0);
                }
            }
            (What::Written(place, bytes), Left::Kept) => {
                write(
                    files.entry(op.file.clone()).or_default(),
                    (*place, bytes),
                    u64::MAX,
                );
            }
            (What::Written(place, bytes), Left::Torn(sectors)) => {
                write(
                    files.entry(op.file.clone()).or_default(),
                    (*place, bytes),
                    sectors,
                );
            }
        }
    }
    files
}

fn write(file: &mut Vec<u8>, (place, bytes): (usize, &[u8]), sectors: u64) {
    for (offset, byte) in bytes.iter().enumerate() {
        let at = place + offset;
        let sector = at / SECTOR_BYTES - place / SECTOR_BYTES;
        if sectors >> (sector % 64) & 1 == 0 {
            continue;
        }
        if file.len() <= at {
            file.resize(at + 1, 0);
        }
        file[at] = *byte;
    }
}

/// Writes the files into a folder that has none of them.
///
/// # Panics
/// Where they cannot be written.
pub fn lay_out(files: &Files, folder: &Path) {
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("the folder of a test can be written");
    }
}
