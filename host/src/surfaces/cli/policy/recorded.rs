//! Runs that are on record: in this journal, in a file as `runs show --json` prints one, or in an export.
//!
//! What is in this journal has to be as it was written. A file of records is whatever whoever wrote it says, unless this
//! host has exported it, and that is said.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::super::{Scene, print};
use crate::edges::named;
use crate::rules::exported;
use crate::runs::audit::{Audit, State};
use crate::words::error::{Code, Error, Result};
use crate::words::event::Record;
use crate::words::id::RunId;
use crate::words::limits::IMPORT_BYTES;

/// A run that is on record.
pub(super) struct Recorded {
    pub(super) records: Vec<Record>,
    /// Whether this host vouches for them.
    pub(super) is_vouched: bool,
}

/// Each run that is named.
pub(super) async fn read(scene: &Scene, audit: &Audit, runs: &[String]) -> Result<Vec<Recorded>> {
    let journal = audit.journal();
    let mut all = Vec::new();
    for named in runs {
        all.extend(
            match read_file(&scene.around.folder.join(named), named, audit)? {
                Some(records) => records,
                None => {
                    let run = journal.find(named).await;
                    let run = run.map_err(|error| no_file_either(error, named))?;
                    check(audit, &run).await?;
                    vec![Recorded {
                        records: journal.records(&run).await?,
                        is_vouched: true,
                    }]
                }
            },
        );
    }
    Ok(all)
}

/// Whoever named a file meant no run.
fn no_file_either(error: Error, named: &str) -> Error {
    if error.code() == Code::NotFound && named != "last" {
        return error.hint(format!("nor is there a file `{named}`"));
    }
    error
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
fn read_file(path: &Path, named: &str, audit: &Audit) -> Result<Option<Vec<Recorded>>> {
    let bytes = match named::read(path, "the exported journal", IMPORT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.code() == Code::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let head = bytes.split(|byte| *byte == b'\n').next();
    let head = head.and_then(|head| serde_json::from_slice::<Value>(head).ok());
    if head.is_some_and(|head| head.get("lazaret").is_some()) {
        let exported = audit.read(&bytes)?;
        if !exported.authentic {
            say_unproven(named);
        }
        return Ok(Some(vec![Recorded {
            records: exported.records,
            is_vouched: exported.authentic,
        }]));
    }
    let mut runs: Vec<Recorded> = Vec::new();
    // A file may have as many runs as records.
    let mut places: BTreeMap<RunId, usize> = BTreeMap::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let wrong = |why: &str| {
            let what = format!("`{named}`, line {}: this is no record: {why}", number + 1);
            Error::bad_input(what).hint("`lazaret runs show RUN --json` prints one record a line")
        };
        let record: Record =
            serde_json::from_slice(line).map_err(|error| wrong(&error.to_string()))?;
        let is_named = RunId::known(record.run.as_str()) == record.run;
        if !is_named || !exported::has_names(&record.event) {
            return Err(wrong("it names a run or a kind as no host would"));
        }
        let place = *places.entry(record.run.clone()).or_insert(runs.len());
        match runs.get_mut(place) {
            Some(run) => run.records.push(record),
            None => runs.push(Recorded {
                records: vec![record],
                is_vouched: false,
            }),
        }
    }
    say_unproven(named);
    Ok(Some(runs))
}

/// Says so of a file whose records may be anybody's.
fn say_unproven(named: &str) {
    let what = format!(
        "this host vouches for no record in `{named}`: whoever wrote it may have said anything, of labels too"
    );
    print::warning(
        &what,
        "name the run itself, or a file that `lazaret runs export RUN --output FILE` wrote here",
    );
}
