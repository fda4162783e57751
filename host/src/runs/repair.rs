//! Repair: a new journal with what of a damaged one can still be read and verified.

use std::path::PathBuf;

use super::host::{Places, Records};
use crate::edges::state::StateFolder;
use crate::gate::journal::{Salvaged, salvage};
use crate::words::error::{Code, Error, Result};
use crate::words::key::HostKey;

const JOURNAL: &str = "journal";
const REPAIRED: &str = "journal-repaired";
const DAMAGED: &str = "journal-damaged";

/// What SQLite puts beside a database, before the database: a log that stayed behind would be taken for that of the next
/// one of its name.
const ENDINGS: [&str; 3] = [".db-shm", ".db-wal", ".db"];

/// What came of it.
#[derive(Debug)]
pub struct Repaired {
    /// The new journal.
    pub path: PathBuf,
    /// The damaged one, as it is called by now.
    pub damaged: PathBuf,
    /// Every run that is known to have been there.
    pub runs: Vec<Salvaged>,
}

/// Copies what can be saved; puts the copy in the place of the damaged one, where that is wished.
///
/// # Errors
/// `Corrupt` where nothing can be read, `NotFound` without a journal, `Conflict` where the damaged one cannot be kept,
/// `DiskFailed`.
pub fn repair(places: &Places, replace: bool) -> Result<Repaired> {
    let Records::Folder(folder) = &places.records else {
        return Err(Error::not_found("journal on a disk"));
    };
    let key = HostKey::new(&StateFolder::open(&places.state)?.key()?);
    let folder = StateFolder::open(folder)?;
    let from = folder.plain_file(&file(JOURNAL))?;
    if !folder.has(&file(JOURNAL)) {
        return Err(Error::not_found(format!("journal `{}`", from.display())));
    }
    if replace {
        check_free(&folder)?;
    }
    // One of an earlier repair, which can be had again.
    for ending in ENDINGS {
        folder.remove(&format!("{REPAIRED}{ending}"))?;
    }
    let path = folder.plain_file(&file(REPAIRED))?;
    let runs = salvage(&from, &path, &key)?;
    if !replace {
        return Ok(Repaired {
            path,
            damaged: from,
            runs,
        });
    }
    let damaged = folder.path().join(file(DAMAGED));
    for ending in ENDINGS {
        folder.rename(&format!("{JOURNAL}{ending}"), &format!("{DAMAGED}{ending}"))?;
    }
    folder.rename(&file(REPAIRED), &file(JOURNAL))?;
    Ok(Repaired {
        path: from,
        damaged,
        runs,
    })
}

/// Nothing is moved before all of it can be: a database without its log is another one.
fn check_free(folder: &StateFolder) -> Result<()> {
    let mut names = ENDINGS
        .iter()
        .rev()
        .map(|ending| format!("{DAMAGED}{ending}"));
    let Some(taken) = names.find(|name| folder.has(name)) else {
        return Ok(());
    };
    let what = format!("`{}` is there already", folder.path().join(taken).display());
    Err(Error::new(Code::Conflict, what).hint("move it away"))
}

fn file(name: &str) -> String {
    format!("{name}.db")
}
