//! Headings: what a record is called and whose it is, for a person who is asked about its id. An id says nothing to them, and
//! what a stranger had the model take it from is what they should see through.
//!
//! They are the service's words, and often a stranger's: shown to persons, told to no model, and a witness for nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kind::Kind;
use super::leaves::{leaves, texts_at};
use super::lines::Records;
use super::records::plain;
use super::{Weigher, brief};
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::policy::Policy;
use crate::words::id::{ToolName, shown};
use crate::words::inert::narrow;
use crate::words::limits::{LEDGER_HEADINGS, POINTS};

/// Headings of the records that a run has seen, by service and id, and how many there are. Ids that people take for one
/// another stand together, each with what it is called: whoever writes a record may choose its id.
#[derive(Clone, Debug, Default)]
pub(super) struct Headings {
    all: BTreeMap<(String, String), Vec<(String, Heading)>>,
    count: usize,
}

/// What is seen of a record at first sight.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Heading {
    title: String,
    author: String,
    /// By which tool it was shown.
    tool: ToolName,
}

/// Headings of ids that look alike; others stay without.
const ALIKE: usize = 4;

impl Headings {
    /// A tool has shown a record. Past the bound, others stay without.
    pub(super) fn saw(&mut self, tool: &ToolName, records: &Records, record: &Value) {
        let first = |field: &str| {
            let texts = (!field.is_empty()).then(|| texts_at(record, field));
            texts.and_then(|texts| texts.into_iter().next())
        };
        let Some(id) = first(&records.id) else {
            return;
        };
        let heading = Heading {
            title: first(&records.title)
                .map(|title| shown(&title))
                .unwrap_or_default(),
            author: first(&records.author)
                .map(|author| shown(&author))
                .unwrap_or_default(),
            tool: tool.clone(),
        };
        let key = (tool.plugin().to_owned(), plain(&id));
        let says = !heading.title.is_empty() || !heading.author.is_empty();
        if !says || self.count >= LEDGER_HEADINGS {
            return;
        }
        let alike = self.all.entry(key).or_default();
        let one = (id, heading);
        if alike.len() < ALIKE && !alike.contains(&one) {
            alike.push(one);
            self.count += 1;
        }
    }

    /// What is known of the record of that id; where there is none, of those whose ids look like it.
    fn of(&self, service: &str, id: &str) -> Vec<&Heading> {
        let alike = self.all.get(&(service.to_owned(), plain(id)));
        let alike = || alike.into_iter().flatten();
        let exact: Vec<&Heading> = alike()
            .filter_map(|(one, heading)| (one == id).then_some(heading))
            .collect();
        match exact.is_empty() {
            true => alike().map(|(_, heading)| heading).collect(),
            false => exact,
        }
    }
}

/// What is known of the records whose ids stand in a call, a sentence for each, and not for more than anybody reads.
#[must_use]
pub fn headings(call: &Call, caller: &Caller, policy: &Policy) -> Vec<String> {
    let ledger = caller.known.ledger();
    let weigher = Weigher::of(call, (caller, policy), &ledger);
    let leaves = leaves(call.args.value(), &call.declared.input);
    let told = leaves.iter().flat_map(|leaf| {
        let may = matches!(weigher.kind_of(&leaf.path), Some(Kind::Id | Kind::Value));
        let known = match may && !weigher.veils(&leaf.path) {
            true => ledger.headings().of(call.tool.plugin(), &leaf.text),
            false => Vec::new(),
        };
        let told = known
            .into_iter()
            .map(|heading| heading.told(&leaf.path, &leaf.text));
        told.collect::<Vec<String>>()
    });
    told.take(POINTS).collect()
}

impl Heading {
    fn told(&self, path: &str, id: &str) -> String {
        // A title may say who wrote it, and that it is over.
        let quoted = |text: &str| narrow(&Value::from(text).to_string());
        let what = match self.title.as_str() {
            "" => "a record".to_owned(),
            title => quoted(title),
        };
        let by = match self.author.as_str() {
            "" => String::new(),
            author => format!(" by {}", quoted(author)),
        };
        let (path, id, tool) = (brief(path), brief(id), &self.tool);
        format!("`{path}` is `{id}`, which `{tool}` has shown as {what}{by}")
    }
}
