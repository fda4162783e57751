//! Records that a service keeps: who had a hand in those that were written through Lazaret (design §5: the label of
//! "records written (by path or returned id)" is stored).
//!
//! A service says the id of a record when it is written, and again whenever it is shown. So a label is kept by that id, and
//! whatever shows the record is under it, too.

mod ids;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::ids::{Ids, named, plain, returned, tells_which};
use super::class::Classes;
use super::lines::{Flows, Records};
use crate::words::event::Read;
use crate::words::id::ToolName;
use crate::words::label::Label;

/// What stands for each record of a service: of one that somebody has written, nobody knows which it is.
pub const EACH: &str = "";

/// Records in an outcome that somebody had a hand in, by their ids.
pub type Touched = BTreeMap<String, Label>;

/// Who had a hand in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hands {
    /// Whoever wished for what was written.
    pub wished: Label,
    /// What was read in the middle of that call: of the service itself, and whatever else.
    pub read: Label,
}

impl Hands {
    /// Of both: a label never shrinks.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            wished: self.wished.join(&other.wished),
            read: self.read.join(&other.read),
        }
    }

    /// Everything that has come into the record.
    #[must_use]
    pub fn all(&self) -> Label {
        self.wished.join(&self.read)
    }

    /// Whether the user and the operator alone had one, as if they had written it by themselves.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        self.all().is_ones_own()
    }

    /// The same without what the call that shows the record has read itself. Its service is there whenever it is shown,
    /// and whose the records of that tool are, policy says in full knowledge of it. What whoever wished had read stays,
    /// the same service included: a letter of it is as much a stranger's as a page is.
    fn beside(&self, read: &Label) -> Label {
        self.wished.join(&self.read.without(read))
    }
}

/// What is known of the records that a call has shown or written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Everything that has come into them.
    pub label: Label,
    /// Who had a hand in which, beside what the call has read itself.
    pub touched: Touched,
}

impl Seen {
    /// Of what is kept of them, seen by a call that has read this.
    #[must_use]
    pub fn of(found: &BTreeMap<String, Hands>, read: &Label) -> Self {
        let mut seen = Self::default();
        for (id, hands) in found {
            seen.label = seen.label.join(&hands.all());
            let beside = hands.beside(read);
            if !beside.is_ones_own() {
                seen.touched.insert(id.clone(), beside);
            }
        }
        seen
    }

    /// Whoever nobody trusts and who had a hand in what the call has read (a file that somebody else has written, what another
    /// tool said) may have had one in each record of it.
    pub fn handled(&mut self, classes: &Classes, read: &Read) {
        let hands = read.hands();
        if classes.is_tainted(&hands) {
            let each = self.touched.entry(EACH.to_owned()).or_default();
            *each = each.join(&hands);
        }
    }
}

/// Whether policy knows of records of a tool's service.
#[must_use]
pub fn are_known(flows: &Flows, tool: &ToolName) -> bool {
    let mut said = flows.tools.iter();
    let nothing = Records::default();
    said.any(|(name, said)| name.plugin() == tool.plugin() && said.records != nothing)
}

/// Records of an outcome that somebody untrusted had a hand in.
pub(super) struct Tainted {
    ids: BTreeSet<String>,
    each: bool,
}

impl Tainted {
    pub(super) fn of(flows: &Flows, touched: &Touched) -> Self {
        let theirs = touched
            .iter()
            .filter(|(_, label)| flows.classes.is_tainted(label));
        let ids: BTreeSet<String> = theirs.map(|(id, _)| plain(id)).collect();
        let each = ids.contains(EACH);
        Self { ids, each }
    }

    /// Whether a record is one of them. Of one whose id nobody knows, any may be.
    pub(super) fn has(&self, records: &Records, record: &Value) -> bool {
        if self.each || self.ids.is_empty() {
            return self.each;
        }
        let known = ids::of_record(records, record);
        known.is_empty() || known.iter().any(|id| self.ids.contains(&plain(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Source;

    fn label(text: &str) -> Label {
        text.split_whitespace()
            .map(|word| Source::try_from(word.to_owned()).unwrap())
            .fold(Label::default(), |label, source| label.with(source))
    }

    fn hands(wished: &str, read: &str) -> Hands {
        Hands {
            wished: label(wished),
            read: label(read),
        }
    }

    fn flows(records: &str) -> Flows {
        let said = format!("[records]\n{records}");
        Flows {
            tools: BTreeMap::from([(tool("cal.list"), toml::from_str(&said).unwrap())]),
            ..Flows::default()
        }
    }

    fn tool(name: &str) -> ToolName {
        ToolName::parse(name).unwrap()
    }

    const CAL: &str = "web:https://cal.test";
    const EVIL: &str = "web:https://evil.test";

    #[test]
    fn what_the_service_itself_brought_counts_for_nobody_and_what_its_reader_knew_does() {
        for (wished, read, beside) in [
            // A clean run wrote it, and the service answered.
            ("user", CAL, "user"),
            // The call itself has read a page for it.
            (
                "user",
                "web:https://cal.test web:https://evil.test",
                "user web:https://evil.test",
            ),
            // Somebody had read a stranger's record at the same service, and wrote under its influence.
            (
                "user web:https://cal.test",
                CAL,
                "user web:https://cal.test",
            ),
            (
                "user web:https://evil.test",
                "",
                "user web:https://evil.test",
            ),
        ] {
            let found = BTreeMap::from([("e7".to_owned(), hands(wished, read))]);
            let seen = Seen::of(&found, &label(CAL));
            assert_eq!(seen.label, label(wished).join(&label(read)));
            let touched = seen.touched.get("e7").cloned();
            let expected = (beside != "user").then(|| label(beside));
            assert_eq!(touched, expected, "{wished} / {read}");
        }
    }

    #[test]
    fn hands_are_joined_and_never_fewer() {
        let both = hands("user", CAL).join(&hands(EVIL, "file:docs"));
        let expected = hands(
            "user web:https://evil.test",
            "web:https://cal.test file:docs",
        );
        assert_eq!(both, expected);
        assert!(hands("user operator", "user").says_nothing());
        assert!(!hands("user", CAL).says_nothing() && !hands(EVIL, "").says_nothing());
    }

    #[test]
    fn a_service_is_known_as_soon_as_policy_knows_records_of_one_of_its_tools() {
        let known = flows("own = true");
        assert!(are_known(&known, &tool("cal.list")) && are_known(&known, &tool("cal.add")));
        assert!(!are_known(&known, &tool("calendar.add")));
        assert!(!are_known(&flows(""), &tool("cal.add")));
    }
}
