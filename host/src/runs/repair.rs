//! Repair: a new journal with what of a damaged one can still be read and verified.

use std::path::{Path, PathBuf};

use super::host::{Places, Records};
use crate::edges::state::{Alone, StateFolder};
use crate::gate::journal::{Journal, Provenance, Salvaged, is_sound, salvage, settle};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{End, Event, Stopped};
use crate::words::key::HostKey;
use crate::words::message::Usage;

const JOURNAL: &str = "journal";
const REPAIRED: &str = "journal-repaired";
/// It is called so until it is whole.
const REPAIRING: &str = "journal-repairing";
const DAMAGED: &str = "journal-damaged";

/// What SQLite puts beside a database, before the database: a log that stayed behind would be taken for that of the next
/// one of its name.
const ENDINGS: [&str; 3] = [".db-shm", ".db-wal", ".db"];

/// What came of it.
#[derive(Debug)]
pub struct Repaired {
    /// The new journal; the one that is there, where nothing is wrong with it.
    pub path: PathBuf,
    /// The damaged one, as it is called by now; none where nothing is wrong with it.
    pub damaged: Option<PathBuf>,
    /// Every run that is known to have been there.
    pub runs: Vec<Salvaged>,
}

/// Copies what can be saved; puts the copy in the place of the damaged one, where that is wished. What had not ended has by
/// then: what is missing behind its last record may have happened, and does not happen again. A journal with which nothing is
/// wrong stays as it is.
///
/// # Errors
/// `Corrupt` where nothing can be read, `NotFound` without a journal, `Conflict` where the damaged one cannot be kept,
/// `Busy` where another process has it open and it is to be replaced, `DiskFailed`.
pub async fn repair(places: &Places, replace: bool) -> Result<Repaired> {
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
        drop(alone(&folder)?);
    }
    // One that an earlier repair did not finish. The last whole one stays until this one is: a disk may get worse.
    remove(&folder, REPAIRING)?;
    let path = folder.plain_file(&file(REPAIRING))?;
    let runs = salvage(&from, &path, &key)?;
    let ended = end(&path, (places, key), &runs).await?;
    if !ended && runs.iter().all(|run| run.lost.is_none()) && is_sound(&from) {
        remove(&folder, REPAIRING)?;
        return Ok(Repaired {
            path: from,
            damaged: None,
            runs,
        });
    }
    remove(&folder, REPAIRED)?;
    called(&folder, REPAIRING, REPAIRED)?;
    if !replace {
        return Ok(Repaired {
            path: folder.path().join(file(REPAIRED)),
            damaged: Some(from),
            runs,
        });
    }
    put_in_place(&folder)?;
    Ok(Repaired {
        damaged: Some(folder.path().join(file(DAMAGED))),
        path: from,
        runs,
    })
}

/// Ends what had not ended and waits for nobody. One that waits goes on as it was left, where nothing of it is known to be
/// lost. Says whether any was ended.
async fn end(path: &Path, (places, key): (&Places, HostKey), runs: &[Salvaged]) -> Result<bool> {
    let journal = Journal::open(path, places.clock.clone(), key)?;
    let mut ended = false;
    for run in runs.iter().filter(|run| run.records > 0) {
        let (records, verified) = journal.verified(&run.run).await?;
        let waits = matches!(
            records.last().map(|last| &last.event),
            Some(Event::Paused { .. })
        );
        let goes_on = waits && run.lost.is_none();
        if verified.stopped || verified.provenance == Provenance::Foreign || goes_on {
            continue;
        }
        journal.take_up(&run.run, &records)?;
        journal.append(&run.run, 0, cut())?;
        journal.let_go(&run.run);
        ended = true;
    }
    journal.sync().await?;
    drop(journal);
    settle(path)?;
    Ok(ended)
}

/// How a run ends of which nobody knows what came after.
fn cut() -> Event {
    Event::Stopped(Stopped {
        end: End::Failed {
            code: Code::InDoubt,
            message:
                "the journal was repaired: what came after the last record may have happened, \
                or not"
                    .to_owned(),
            issues: Vec::new(),
            retryable: false,
        },
        turns: 0,
        usage: Usage::default(),
        limit: None,
    })
}

/// Nobody may have it open: who does would go on writing into the damaged one.
fn alone(folder: &StateFolder) -> Result<Alone> {
    folder.alone(&file(JOURNAL))?.ok_or_else(|| {
        let path = folder.path().join(file(JOURNAL));
        let what = format!("`{}` is open in another process", path.display());
        Error::new(Code::Busy, what).hint(
            "end it first (`lazaret serve`, `lazaret mcp`, a run), or repair without `--replace`",
        )
    })
}

fn put_in_place(folder: &StateFolder) -> Result<()> {
    let _alone = alone(folder)?;
    called(folder, JOURNAL, DAMAGED)?;
    called(folder, REPAIRED, JOURNAL)
}

/// Removes a database, if it is there.
fn remove(folder: &StateFolder, name: &str) -> Result<()> {
    for ending in ENDINGS {
        folder.remove(&format!("{name}{ending}"))?;
    }
    Ok(())
}

/// Calls a database otherwise, with all that belongs to it.
fn called(folder: &StateFolder, from: &str, to: &str) -> Result<()> {
    for ending in ENDINGS {
        folder.rename(&format!("{from}{ending}"), &format!("{to}{ending}"))?;
    }
    Ok(())
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
