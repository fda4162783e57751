//! Attached files: read when a run is wished for, and kept beside the journal, in the user's own state folder, for as
//! long as the run may go on. With its end they are dropped (U-43).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use super::host::Host;
use super::written::Written;
use crate::edges::named;
use crate::edges::state::StateFolder;
use crate::rules::running::Attaching;
use crate::words::attachment::{Attachment, Body, Media};
use crate::words::error::{Error, Result};
use crate::words::event::Brought;
use crate::words::id::{Digest, RunId};
use crate::words::limits::ATTACHMENTS;
use crate::words::lock::lock;

impl Host {
    /// Reads a file that the user gives a run to look at: it is under the influence of its mount, and of whoever wrote
    /// it through Lazaret; one that lies in no mount may be anybody's.
    ///
    /// # Errors
    /// `NotFound`; `BadInput` for what no model looks at; `TooBig`; `DiskFailed`.
    pub fn attach(&self, file: &Path) -> Result<Attachment> {
        let still = self.station.files.still()?;
        let bytes = named::read(file, "the attached file", self.rules.attaching.bytes)?;
        let label = match self.written_in(file)? {
            // Nobody types a file.
            Written::Typed | Written::Piped | Written::Sent => Written::Piped.label(),
            read @ Written::Read(_) => read.label(),
        };
        drop(still);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let clean = self.station.scrub.known().clean(&name);
        let name = clean.as_deref().unwrap_or(&name);
        Attachment::new(name, self.without_secrets(bytes), label)
    }

    /// What is attached to a run that goes on, as it was; of one that is replayed, nothing is needed but its length, and what of it steered calls.
    ///
    /// # Errors
    /// `DiskFailed`; `TooBig` for records of more than a run takes.
    pub(super) fn attached_to(
        &self,
        run: &RunId,
        mut files: Vec<Attachment>,
    ) -> Result<Vec<Attachment>> {
        let Some(recorded) = &self.station.recorded else {
            return self.kept.attached.find(run, files);
        };
        check_attached(&files, Attaching::default())?;
        for one in &mut files {
            one.stand_in(recorded.given(&one.name));
        }
        Ok(files)
    }

    /// No model is told what stands in a file by mistake.
    fn without_secrets(&self, bytes: Vec<u8>) -> Vec<u8> {
        let text = std::str::from_utf8(&bytes).ok();
        let text = text.filter(|_| Media::of(&bytes) == Some(Media::Text));
        match text.and_then(|text| self.station.scrub.known().clean(text)) {
            Some(clean) => clean.into_bytes(),
            None => bytes,
        }
    }
}

/// What says how much that is.
const KEYS: &str = "`[limits] attachments` and `attachment_bytes` of `lazaret.toml` say how much, up to 4 files of 10 MiB together";

/// Whether a run takes so many files, and as much.
///
/// # Errors
/// `TooBig`.
pub(super) fn check_attached(files: &[Attachment], most: Attaching) -> Result<()> {
    if files.len() > most.files {
        let what = "the list of attached files";
        return Err(Error::too_many(what, most.files, files.len()).hint(KEYS));
    }
    let bytes = files.iter().map(|one| one.bytes);
    let all = bytes.fold(0, u64::saturating_add);
    let all = usize::try_from(all).unwrap_or(usize::MAX);
    if all > most.bytes {
        let what = "all attached files together";
        return Err(Error::too_big(what, most.bytes, all).hint(KEYS));
    }
    Ok(())
}

/// Whether files and what is held from other runs have names of their own.
///
/// # Errors
/// `BadInput`.
pub(super) fn check_apart(files: &[Attachment], brought: &[Brought]) -> Result<()> {
    let is_taken = |one: &&Attachment| brought.iter().any(|other| other.name == one.name);
    let Some(one) = files.iter().find(is_taken) else {
        return Ok(());
    };
    let what = format!(
        "`{}` is the name of an attached file and of a handle",
        one.name
    );
    Err(Error::bad_input(what).hint("name the handle otherwise: --with RUN:HANDLE=NAME"))
}

/// What is attached to runs that have not ended.
#[derive(Debug)]
pub(super) enum Attached {
    /// Of runs that end with the process.
    Memory(Mutex<BTreeMap<String, Body>>),
    /// Of those that outlive it.
    Folder(StateFolder),
}

impl Attached {
    /// Keeps what is attached to a run that begins.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(super) fn keep(&self, run: &RunId, files: &[Attachment]) -> Result<()> {
        for (at, one) in files.iter().enumerate() {
            let name = name(run, at);
            match (self, one.content.bytes()) {
                (_, None) => {}
                (Self::Folder(folder), Some(bytes)) => folder.write(&name, bytes)?,
                (Self::Memory(kept), Some(_)) => {
                    lock(kept).insert(name, one.content.clone());
                }
            }
        }
        Ok(())
    }

    /// The files, with their bytes as far as they are there, and the same as when the run began.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(super) fn find(&self, run: &RunId, mut files: Vec<Attachment>) -> Result<Vec<Attachment>> {
        for (at, one) in files.iter_mut().enumerate() {
            let name = name(run, at);
            let found = match self {
                Self::Folder(folder) => Body(folder.read(&name)?.map(Into::into)),
                Self::Memory(kept) => lock(kept).get(&name).cloned().unwrap_or_default(),
            };
            let is_same = found.bytes().map(Digest::of) == Some(one.digest);
            one.content = if is_same { found } else { Body::default() };
        }
        Ok(files)
    }

    /// Drops what belongs to none of these runs, which are all that may go on, by the digests of their names.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub(super) fn drop_but(&self, runs: &[String]) -> Result<()> {
        let Self::Folder(folder) = self else {
            return Ok(());
        };
        for name in folder.names()? {
            let run = name.split('-').next().unwrap_or_default();
            if !runs.iter().any(|known| known == run) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// The run has ended: nothing goes on with them. What cannot be removed now is of no use to anybody.
    pub(super) fn drop_of(&self, run: &RunId) {
        for at in 0..ATTACHMENTS {
            let name = name(run, at);
            match self {
                Self::Folder(folder) => {
                    let _ = folder.remove(&name);
                }
                Self::Memory(kept) => {
                    lock(kept).remove(&name);
                }
            }
        }
    }
}

/// By digest: a name out of a foreign journal must not lead out of the folder.
fn name(run: &RunId, at: usize) -> String {
    format!("{}-{at}", Digest::of(run.as_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Label;

    /// What nobody holds is gone (O-29): the bytes of fifty runs, each kept and dropped, are held by nobody but this test.
    #[test]
    fn a_run_that_has_ended_leaves_nothing_in_memory() {
        let attached = Attached::Memory(Mutex::default());
        let picture = Attachment::new("a.txt", b"a".repeat(1_000), Label::default()).unwrap();
        for number in 0..50 {
            let run = RunId::known(&format!("run-{number}"));
            attached.keep(&run, std::slice::from_ref(&picture)).unwrap();
            let found = attached.find(&run, vec![picture.clone()]).unwrap();
            assert!(found[0].content.bytes().is_some());
            attached.drop_of(&run);
        }
        let Attached::Memory(kept) = &attached else {
            panic!("{attached:?}");
        };
        assert!(lock(kept).is_empty());
    }

    #[test]
    fn records_of_more_than_a_run_takes_are_refused_whatever_they_add_up_to() {
        let most = Attaching::default();
        let one = Attachment::new("a.txt", b"a".to_vec(), Label::default()).unwrap();
        let large = |bytes| Attachment {
            bytes,
            ..one.clone()
        };
        assert!(check_attached(&vec![one.clone(); ATTACHMENTS], most).is_ok());
        assert!(check_attached(&vec![one.clone(); ATTACHMENTS + 1], most).is_err());
        let none = Attaching { files: 0, ..most };
        assert!(check_attached(std::slice::from_ref(&one), none).is_err());
        assert!(check_attached(&[large(u64::MAX), large(u64::MAX)], most).is_err());
    }
}
