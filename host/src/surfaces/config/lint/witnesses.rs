//! Who is said to be a witness, and never is: of kinds for which no record vouches, and of records on which nobody is known.

use std::collections::BTreeSet;

use super::Look;
use crate::rules::flow::kind::Kind;
use crate::words::id::shown;

impl Look<'_> {
    /// All of it.
    pub(super) fn witnesses(&mut self) {
        self.common();
        self.replies();
    }

    /// Kinds of which what is typed counts only where a record lists it, and none does.
    fn common(&mut self) {
        let file = self.file;
        let kinds: BTreeSet<Kind> = file.flow.common.iter().flatten().copied().collect();
        for kind in kinds {
            if self.lists(kind) {
                continue;
            }
            let word = kind.word();
            let what = format!(
                "[flow] `common` has `{word}`, and no records vouch for that kind: what you type of it never counts"
            );
            let fix = format!(
                "take it out of `common`, or say where such values are listed: `records = {{ vouches = {{ FIELD = \"{word}\" }} }}` \
                 in [flow.tools.\"TOOL\"]"
            );
            self.say("[flow]", what, &fix);
        }
    }

    /// Whether the records of any tool vouch for values of a kind.
    fn lists(&self, kind: Kind) -> bool {
        let mut tools = self.policy.flows.tools.values();
        tools.any(|said| {
            let records = &said.records;
            let mut kinds = records.vouches.values().chain(records.asks.values());
            kinds.any(|known| *known == kind)
        })
    }

    /// Tools that answer records of which nobody is known.
    fn replies(&mut self) {
        let file = self.file;
        for (tool, said) in &file.flow.tools {
            // What is said of no tool, or of one that is no sink, is said elsewhere.
            let Ok(known) = self.catalog.resolve(tool, &[]).cloned() else {
                continue;
            };
            let service = known.name.plugin();
            let mut tools = self.policy.flows.tools.iter();
            let met = tools.any(|(other, said)| {
                let records = &said.records;
                other.plugin() == service && !records.id.is_empty() && !records.people.is_empty()
            });
            if said.reply.is_empty() || met || !known.declared.is_sink() {
                continue;
            }
            let table = format!("[flow.tools.\"{}\"]", shown(tool));
            let what = format!(
                "{table} `reply` makes nobody a witness: no records of `{service}` have `id` and `people`"
            );
            let fix = "say it of a tool that reads them, such as `records = { id = \"id\", people = { from = \"mail\" } }`";
            self.say(&table, what, fix);
        }
    }
}
