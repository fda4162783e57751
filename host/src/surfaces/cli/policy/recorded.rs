//! Runs that are on record: in this journal, in a file as `runs show --json` prints one, or in an export.
//!
//! What is in this journal has to be as it was written. A file of records is whatever whoever wrote it says.

use std::path::Path;

use serde_json::Value;

use super::super::Scene;
use crate::edges::named;
use crate::gate::journal::Journal;
use crate::rules::exported;
use crate::runs::audit::{Audit, State};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Record;
use crate::words::id::RunId;
use crate::words::limits::IMPORT_BYTES;

/// The records of each run that is named.
pub(super) async fn read(
    scene: &Scene,
    audit: &Audit,
    runs: &[String],
) -> Result<Vec<Vec<Record>>> {
    let journal = audit.journal();
    let mut all = Vec::new();
    for named in runs {
        all.extend(
            match read_file(&scene.around.folder.join(named), named, journal)? {
                Some(records) => records,
                None => {
                    let run = journal.find(named).await?;
                    check(audit, &run).await?;
                    vec![journal.records(&run).await?]
                }
            },
        );
    }
    Ok(all)
}

/// Refuses a run that somebody has changed: it would be judged by what it never was.
async fn check(audit: &Audit, run: &RunId) -> Result<()> {
    let state = audit.verify(run).await?.state;
    match state {
        State::Intact | State::Unproven | State::Unchained(_) => Ok(()),
        State::EndMissing | State::Broken(..) => {
            let what = format!(
                "the run `{run}` is not as it was written: {}",
                state.reason()
            );
            Err(Error::new(Code::Corrupt, what).hint(format!("lazaret runs verify {run}")))
        }
    }
}

/// The runs in a file of records, one a line; nothing where there is no such file.
fn read_file(path: &Path, named: &str, journal: &Journal) -> Result<Option<Vec<Vec<Record>>>> {
    let bytes = match named::read(path, "the exported journal", IMPORT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.code() == Code::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let head = bytes.split(|byte| *byte == b'\n').next();
    let head = head.and_then(|head| serde_json::from_slice::<Value>(head).ok());
    if head.is_some_and(|head| head.get("lazaret").is_some()) {
        return Ok(Some(vec![exported::read(&bytes, journal.key())?.records]));
    }
    let mut runs: Vec<Vec<Record>> = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record: Record = serde_json::from_slice(line).map_err(|error| {
            let what = format!("`{named}`, line {}: this is no record: {error}", number + 1);
            Error::bad_input(what).hint("`lazaret runs show RUN --json` prints one record a line")
        })?;
        match runs
            .iter_mut()
            .find(|run| run.first().is_some_and(|known| known.run == record.run))
        {
            Some(run) => run.push(record),
            None => runs.push(vec![record]),
        }
    }
    Ok(Some(runs))
}
