//! Records whose title was typed. Whoever is on a thread knows its title, and can write a record of the same one: a title
//! that two have used says no longer whom its user meant.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::flow::kind::Kind;
use crate::rules::flow::typed::words;

/// An address, or what a service calls a record.
type Address = (Kind, String);

/// Who started a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Author {
    /// The user.
    Me,
    /// Somebody else.
    Other(String),
    /// Nobody knows, so two of these are two.
    #[default]
    Unknown,
}

impl Author {
    /// Whether it is known of both that they are not the same.
    pub(super) fn is_another(&self, other: &Self) -> bool {
        self != other && *self != Self::Unknown && *other != Self::Unknown
    }
}

/// Typed titles.
#[derive(Clone, Debug, Default)]
pub(super) struct Titles {
    all: BTreeMap<Vec<String>, Title>,
    /// Under which titles an address was seen.
    under: BTreeMap<Address, BTreeSet<Vec<String>>>,
}

#[derive(Clone, Debug, Default)]
struct Title {
    /// As the first record has it.
    said: String,
    /// Its records, by plugin and name there.
    records: BTreeMap<(String, String), Author>,
    /// There was no room for a record of this title.
    missed: bool,
}

impl Titles {
    /// A record of this title was read, with these addresses. The same record may be read twice, by another tool that says less
    /// of it.
    pub(super) fn saw(
        &mut self,
        title: &str,
        (record, author): ((String, String), Author),
        addresses: Vec<Address>,
    ) {
        let key = words(title);
        let known = self.all.entry(key.clone()).or_insert_with(|| Title {
            said: title.to_owned(),
            ..Title::default()
        });
        let by = known.records.entry(record).or_insert(Author::Unknown);
        // Whoever writes a record may choose what it is called: two of one name are not one.
        known.missed |= by.is_another(&author);
        if *by == Author::Unknown {
            *by = author;
        }
        for address in addresses {
            self.under.entry(address).or_default().insert(key.clone());
        }
    }

    /// A record of this title was read for which there is no room: nobody knows any more who has used it.
    pub(super) fn missed(&mut self, title: &str) {
        if let Some(known) = self.all.get_mut(&words(title)) {
            known.missed = true;
        }
    }

    /// Who has used which, and whom nobody is named by.
    pub(super) fn without_addresses(self) -> Self {
        Self {
            under: BTreeMap::new(),
            ..self
        }
    }

    /// How many records there are of all.
    pub(super) fn len(&self) -> usize {
        self.all.values().map(|title| title.records.len()).sum()
    }

    /// The title of a record that has this address, if all records of that title are by one author.
    pub(super) fn of(&self, address: &Address) -> Option<&str> {
        let keys = self.under.get(address)?.iter();
        let mut titles = keys.filter_map(|key| self.all.get(key));
        let title = titles.find(|title| title.is_by_one())?;
        Some(&title.said)
    }
}

impl Title {
    fn is_by_one(&self) -> bool {
        let mut authors = self.records.values();
        let first = authors.next();
        !self.missed && authors.all(|author| Some(author) == first && *author != Author::Unknown)
    }
}
