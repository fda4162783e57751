//! Labels that outlive their runs: of files, and of records of services (design §5: labels are stored with everything that is
//! stored). A person looks at them here, and takes for their own what they have looked through.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::host::{Places, Records, home, open_record_labels};
use super::left::{Kept as Held, mark_of};
use crate::edges::files::labelled;
use crate::edges::labels::FileLabels;
pub use crate::edges::labels::Labelled;
pub use crate::edges::records::Kept;
use crate::edges::records::RecordLabels;
use crate::edges::state::StateFolder;
use crate::gate::journal::Journal;
use crate::gate::{Gate, Performed, Permit, end_of};
use crate::rules::caller::{Caller, Origin};
pub use crate::rules::clear::Clear;
use crate::rules::flow::class::Classes;
use crate::rules::policy::Policy;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::Result;
use crate::words::event::{Content, Event, Narrowed, Spent, Started, Stopped, Surface};
use crate::words::id::{Digest, RunId};
use crate::words::key::HostKey;
use crate::words::label::{Label, Source};
use crate::words::limits::CALL_TIMEOUT_MS;
use crate::words::limits::records::FILES_LISTED;
use crate::words::message::Usage;

/// What a run is called that clears labels.
const SUBJECT: &str = "labels clear";

/// All labels of a user.
pub struct Labels {
    files: FileLabels,
    records: RecordLabels,
    /// Where it stands that they were cleared.
    journal: Journal,
    kept: Held,
}

impl Labels {
    /// Opens them, as they count under these classes; that needs no engine and no plugins.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn open(places: &Places, journal: &Journal, classes: &Classes) -> Result<Self> {
        let home = home(places, classes);
        let key = HostKey::new(&StateFolder::open(&places.state)?.key()?);
        let files = match &places.records {
            Records::InMemory => FileLabels::in_memory()?,
            Records::Folder(_) => {
                let labels = StateFolder::open(&places.state)?.plain_file("files.db")?;
                FileLabels::open(&labels, home.clone())?
            }
        };
        let records = open_record_labels((places, &home), &key)?;
        Ok(Self {
            files,
            records,
            journal: journal.clone(),
            kept: Held::open(places)?,
        })
    }

    /// The first files that somebody else had influence on, or took away, in order of path, and those that were there and
    /// have another name since, or are gone: at most [`FILES_LISTED`].
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn files(&self) -> Result<Vec<Labelled>> {
        self.files.list(FILES_LISTED)
    }

    /// What influenced a file, or that there is none, by its path on the host.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub fn file(&self, path: &Path) -> Result<Label> {
        self.files.told(&labelled::named(path))
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

    /// Takes for one's own what is named, which a person has looked through. That they said so is a run of its own. Says how many
    /// labels are gone.
    ///
    /// # Errors
    /// `DiskFailed`, `Busy`.
    pub async fn clear(&self, what: Clear) -> Result<usize> {
        let run = RunId::new(self.journal.clock());
        let hold = self.kept.hold(&run)?;
        let mark = mark_of(SUBJECT, &Value::Null);
        hold.begin(mark, Digest::of(&[]))?;
        let started = Event::Started(Started {
            surface: Surface::Cli,
            subject: SUBJECT.to_owned(),
            goal: String::new(),
            label: Label::of(Source::user()),
            narrowed: Narrowed::default(),
            ask_expires_ms: None,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: Vec::new(),
        });
        self.journal.append_first(&run, started, hold.ahead())?;
        let gate = Gate::new(Arc::new(Policy::nothing(SUBJECT)), self.journal.clone());
        let within = (Arc::default(), Deadline::after_ms(CALL_TIMEOUT_MS));
        let caller = Caller::apart(run.clone(), Origin::Client, within);
        let passed = gate.pass(&caller, what, async |permit| self.cleared(permit));
        let cleared = match passed.await {
            Ok(passed) => passed.performed.result,
            Err(not) => Err(not.error),
        };
        let stopped = Event::Stopped(Stopped {
            end: end_of(&cleared),
            turns: 0,
            usage: Usage::default(),
            limit: None,
        });
        self.journal.append(&run, 0, stopped)?;
        self.journal.sync().await?;
        hold.end();
        cleared
    }

    fn cleared(&self, permit: Permit<Clear>) -> Performed<usize> {
        let began = Clock::instant();
        let (what, ()) = permit.redeem();
        let cleared = match &what {
            Clear::File(path) => self.files.clear(&labelled::named(Path::new(path))),
            Clear::Records { service, id } => self.records.clear(service, id.as_deref()),
        };
        let content = cleared.as_ref().map_or(Content::Empty, |count| {
            Content::Inline(json!({"labels": count}))
        });
        Performed {
            content,
            ..Performed::of(cleared, Label::of(Source::user()), Spent::since(began))
        }
    }
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Labels")
    }
}
