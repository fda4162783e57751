//! Labels that outlive their runs: of files, and of records of services (design §5: labels are stored with everything that is
//! stored). A person looks at them here, and takes for their own what they have looked through.

use std::path::{Path, PathBuf};

use super::host::{Places, Records, open_record_labels};
use crate::edges::files::labelled;
use crate::edges::labels::FileLabels;
pub use crate::edges::records::Kept;
use crate::edges::records::RecordLabels;
use crate::edges::state::StateFolder;
use crate::words::error::Result;
use crate::words::key::HostKey;
use crate::words::label::Label;
use crate::words::limits::records::FILES_LISTED;

/// All labels of a user.
pub struct Labels {
    files: FileLabels,
    records: RecordLabels,
}

impl Labels {
    /// Opens them; that needs no engine and no plugins.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn open(places: &Places) -> Result<Self> {
        let key = HostKey::new(&StateFolder::open(&places.state)?.key()?);
        let files = match &places.records {
            Records::InMemory => FileLabels::in_memory()?,
            Records::Folder(_) => {
                FileLabels::open(&StateFolder::open(&places.state)?.plain_file("files.db")?)?
            }
        };
        let records = open_record_labels(places, &key)?;
        Ok(Self { files, records })
    }

    /// The first files that somebody else had influence on, in order of path: at most [`FILES_LISTED`].
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn files(&self) -> Result<Vec<(PathBuf, Label)>> {
        self.files.list(FILES_LISTED)
    }

    /// What influenced a file, by its path on the host.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn file(&self, path: &Path) -> Result<Label> {
        self.files.of(&labelled::named(path))
    }

    /// Services whose records somebody else had influence on.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub fn services(&self) -> Result<Vec<Kept>> {
        self.records.list()
    }

    /// What influenced one record of a service, as far as it is known which that is. What counts for each is beside it.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub fn record(&self, service: &str, id: &str) -> Result<Option<Label>> {
        self.records.one(service, id)
    }

    /// Takes a file for one's own, or a folder with all that lies in it. Says how many labels are gone.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn clear_file(&self, path: &Path) -> Result<usize> {
        self.files.clear(&labelled::named(path))
    }

    /// Takes a record of a service for one's own, or all of them, those of which nobody knows which they are included. Says how
    /// many labels are gone.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub fn clear_records(&self, service: &str, id: Option<&str>) -> Result<usize> {
        self.records.clear(service, id)
    }
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Labels")
    }
}
