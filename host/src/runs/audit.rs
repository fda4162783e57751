//! The audit: whether a run's records are those that were written, and runs that leave and come in.
//!
//! What a chain cannot show is that its end is missing. A run that goes on, or is left, has a mark in
//! the user's own state folder from before its first record until after its last: one that has
//! neither an end nor a mark has lost it; and one that is left has lost some of it where its mark says
//! that there was more. Of a run that was interrupted, what came after its last pause may be missing
//! without a trace, and so may a run as a whole.

use super::host::{Places, Setup, home, open_journal};
use super::left::Kept;
use crate::edges::vault::Vault;
use crate::gate::journal::{Journal, Provenance, Verified};
use crate::rules::exported::{self, Exported};
use crate::rules::flow::class::Classes;
use crate::rules::flow::home::Home;
use crate::rules::scrub::KnownSecrets;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Record;
use crate::words::id::{RunId, Seq};

/// How often a run is looked at that seems to have lost its end: it may just be pausing, or ending, and its
/// mark follows its records.
const LOOKS: usize = 3;

/// The journal, and what is known of its runs apart from it.
#[derive(Debug)]
pub struct Audit {
    journal: Journal,
    kept: Kept,
    home: Home,
}

/// What was found of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The run.
    pub run: RunId,
    /// Records that were looked at.
    pub records: u64,
    /// Where they come from.
    pub provenance: Provenance,
    /// Whether they are those that were written.
    pub state: State,
}

/// Whether a run's records are those that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// They are.
    Intact,
    /// They are those that were imported, and nobody vouches for them.
    Unproven,
    /// So many at the beginning were written before there were chains: nothing is known of them.
    Unchained(u64),
    /// They fit, but the last ones are missing.
    EndMissing,
    /// This is the first that does not fit, and why.
    Broken(Seq, String),
}

impl Audit {
    /// Opens the journal of what a host is made of.
    ///
    /// # Errors
    /// As [`Audit::open`].
    pub fn of(setup: &Setup) -> Result<Self> {
        let classes = &setup.policy.flows.classes;
        Self::open((&setup.places, classes), &setup.vault)
    }

    /// Opens the journal alone, of a workspace whose sources have these classes: looking at it needs no engine and no plugins.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open((places, classes): (&Places, &Classes), vault: &Vault) -> Result<Self> {
        let known = KnownSecrets::default();
        // Records are free of what was known when they were kept.
        if let Err(error) = vault.teach(&known) {
            tracing::warn!(%error, "what is shown may hold a secret that was kept since");
        }
        Ok(Self {
            journal: open_journal(places)?.without(&known),
            kept: Kept::open(places)?,
            home: home(places, classes),
        })
    }

    /// The records.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Looks at every record of a run.
    ///
    /// # Errors
    /// `NotFound`, `DiskFailed`.
    pub async fn verify(&self, run: &RunId) -> Result<Finding> {
        let verified = self.journal.verify(run).await?;
        self.find(verified).await
    }

    /// Looks at every record of every run.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub async fn verify_all(&self) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        for verified in self.journal.verify_all().await? {
            found.push(self.find(verified).await?);
        }
        Ok(found)
    }

    async fn find(&self, verified: Verified) -> Result<Finding> {
        match may_have_lost_its_end(&verified) {
            true => self.look(&verified.run).await.map(|(_, found)| found),
            false => Ok(Finding::of(verified, false)),
        }
    }

    /// A run's records, and what is found of the very same: nothing is read apart from what was verified.
    async fn look(&self, run: &RunId) -> Result<(Vec<Record>, Finding)> {
        let mut looks = LOOKS;
        loop {
            let (records, verified) = self.journal.verified(run).await?;
            let lost = may_have_lost_its_end(&verified) && !self.kept.knows(run, &records)?;
            looks = looks.saturating_sub(1);
            if !lost || looks == 0 {
                return Ok((records, Finding::of(verified, lost)));
            }
        }
    }

    /// A run as JSON lines. This host vouches for what it has written itself, and for nothing else. What has become a secret since
    /// does not leave: `redacted` takes it out, and then these are not the records that were written, so nobody vouches for them.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt` where the records are not those that were written, `DiskFailed`; `Denied` where they hold a secret
    /// and are not to be `redacted`.
    pub async fn export(&self, run: &RunId, redacted: bool) -> Result<String> {
        let (records, found) = self.look(run).await?;
        let vouched = match found.state {
            State::Intact => true,
            State::Unproven | State::Unchained(_) => false,
            State::EndMissing | State::Broken(..) => {
                let what = format!("the run `{run}` is not exported: {}", found.state.reason());
                return Err(
                    Error::new(Code::Corrupt, what).hint(format!("lazaret runs verify {run}"))
                );
            }
        };
        // What another workspace made stays that, also where it leaves from here and comes back.
        let home = match found.provenance {
            Provenance::Moved => self.home.nowhere(),
            Provenance::Here | Provenance::Returned | Provenance::Foreign => self.home.clone(),
        };
        let here = (self.journal.key(), &home);
        let shown = records.iter().cloned();
        let shown: Vec<Record> = shown.map(|record| self.journal.shown(record)).collect();
        let changed = records
            .iter()
            .zip(&shown)
            .filter(|(one, other)| one != other);
        match changed.count() {
            0 => exported::write(&records, here, vouched),
            _ if redacted => exported::write(&shown, here, false),
            count => {
                let what = format!(
                    "the run `{run}` is not exported: {count} of its {} records hold what has become a secret since",
                    records.len()
                );
                Err(Error::new(Code::Denied, what).hint(format!(
                    "lazaret runs export {run} --redacted   # without it; such an export proves nothing"
                )))
            }
        }
    }

    /// Reads an exported run as it counts in this workspace, without taking it in.
    ///
    /// # Errors
    /// As [`exported::read`].
    pub fn read(&self, bytes: &[u8]) -> Result<Exported> {
        exported::read(bytes, (self.journal.key(), &self.home))
    }

    /// Takes in an exported run; what was found of it.
    ///
    /// # Errors
    /// As [`exported::read`]; `BadInput` where the run is known, `DiskFailed`.
    pub async fn import(&self, bytes: &[u8]) -> Result<Finding> {
        let Exported {
            records,
            authentic,
            moved,
        } = self.read(bytes)?;
        let provenance = match (authentic, moved) {
            (true, false) => Provenance::Returned,
            (true, true) => Provenance::Moved,
            (false, _) => Provenance::Foreign,
        };
        let Some(run) = records.first().map(|first| first.run.clone()) else {
            return Err(Error::bug("an exported run without records was read"));
        };
        self.journal.import(records, provenance).await?;
        self.verify(&run).await
    }
}

/// Whether a run's records are those that were written here, and none of them ends it: then it goes on, waits, or is cut.
fn may_have_lost_its_end(verified: &Verified) -> bool {
    let here = verified.provenance == Provenance::Here;
    here && verified.broken.is_none() && !verified.stopped
}

impl Finding {
    fn of(verified: Verified, has_lost_its_end: bool) -> Self {
        let state = match verified.broken {
            Some((seq, why)) => State::Broken(seq, why),
            None if has_lost_its_end => State::EndMissing,
            None if verified.unchained > 0 => State::Unchained(verified.unchained),
            None if verified.provenance == Provenance::Foreign => State::Unproven,
            None => State::Intact,
        };
        Self {
            run: verified.run,
            records: verified.records,
            provenance: verified.provenance,
            state,
        }
    }
}

impl State {
    /// In words.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Intact => "every record is as it was written".to_owned(),
            Self::Unproven => {
                "what another host wrote may say anything, and so may an export without \
                proof, such as a redacted one: whether it was written so cannot be known"
                    .to_owned()
            }
            Self::Unchained(records) => format!(
                "its first {records} records were written before there were chains; nothing is known of them"
            ),
            Self::EndMissing => {
                "its last records are missing: it has neither ended nor waits here".to_owned()
            }
            Self::Broken(seq, why) => format!("record {seq} does not fit: {why}"),
        }
    }

    /// In one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Unproven => "unproven",
            Self::Unchained(_) => "unchained",
            Self::EndMissing => "cut",
            Self::Broken(..) => "broken",
        }
    }
}
