//! Written: how the words of whoever wishes came to the host. Only what they typed with their own hands is a
//! witness; what was piped in or read from a file somebody else may have written (design §5, witness 1).

use std::path::Path;

use super::host::Host;
use crate::rules::policy::Policy;
use crate::words::error::Result;
use crate::words::label::{Label, Source};

/// How the arguments of a call, or a script, came to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written {
    /// They were typed.
    #[default]
    Typed,
    /// They came through a pipe: nobody knows who wrote them.
    Piped,
    /// A client sent them, and says of nobody that they typed them: likewise.
    Sent,
    /// They were read from a file that these have had influence on.
    Read(Label),
}

impl Written {
    /// What influenced a wish that came so.
    #[must_use]
    pub fn label(&self) -> Label {
        let user = Label::of(Source::user());
        match self {
            Self::Typed => user,
            Self::Piped => user.with(Source::piped()),
            Self::Sent => user.with(Source::client()),
            Self::Read(label) => user.join(label),
        }
    }

    /// As the label of a run's beginning tells.
    #[must_use]
    pub fn is_typed(label: &Label) -> bool {
        *label == Self::Typed.label()
    }
}

impl Host {
    /// Arguments that were read from a file which the user named: they are under the influence of its mount, and of
    /// whoever wrote it through Lazaret, or moved a folder so that it stands there.
    ///
    /// # Errors
    /// `DiskFailed`; `Corrupt` for a label that cannot be read.
    pub fn written_in(&self, file: &Path) -> Result<Written> {
        let (mounts, stored) = self.station.files.about(file)?;
        let sources = mounts.iter().map(|mount| Policy::mount_source(mount));
        let label = sources.fold(stored, |label, source| label.with(source));
        Ok(Written::Read(if mounts.is_empty() {
            label.with(Source::attached())
        } else {
            label
        }))
    }

    /// A script that the user has started by the name of its file is their own program, as if they had typed it;
    /// unless it was written through Lazaret, or moved there with a folder, under whatever influence that was.
    ///
    /// # Errors
    /// As [`Host::written_in`].
    pub fn program_in(&self, file: &Path) -> Result<Written> {
        let (_, stored) = self.station.files.about(file)?;
        Ok(if stored == Label::default() {
            Written::Typed
        } else {
            Written::Read(stored)
        })
    }
}
