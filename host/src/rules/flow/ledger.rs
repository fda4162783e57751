//! The ledger of a run: what its user typed, and which values its own tools have vouched for. It is a fold of
//! the run's records, and grows with them.

mod titles;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::titles::{Author, Titles};
use super::class::{Classes, Integrity, Secrecy};
use super::headings::Headings;
use super::kind::{Kind, text_of};
use super::leaves::{at, texts_at};
use super::lines::{Flows, Records, ToolFlow};
use super::records::{Tainted, Touched, plain};
use super::typed::{Typed, words};
use super::verbatim::Verbatim;
use crate::rules::server;
use crate::words::event::Read;
use crate::words::id::{QuestionId, ToolName};
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::{LEDGER_TYPED_BYTES, LEDGER_VALUES};

/// What a run knows about values.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    typed: Typed,
    typed_bytes: usize,
    named_bytes: usize,
    /// Kind and normal form → who vouches.
    vouched: BTreeMap<(Kind, String), Voucher>,
    /// Records whose title was typed.
    titles: Titles,
    /// Addresses of each record that was read, by the plugin that read it and its own name there.
    people: BTreeMap<(String, String), Met>,
    /// What records are called, for persons.
    headings: Headings,
    /// Names that a trusted field holds, in lower case and with one blank between their words.
    names: BTreeSet<String>,
    /// Values that somebody has answered for, for the rest of the run.
    answered: BTreeSet<QuestionId>,
    /// What the older guards remember.
    verbatim: Verbatim,
    values: usize,
}

/// The tool that vouches for a value.
#[derive(Clone, Debug)]
pub struct Voucher {
    /// Its name.
    pub tool: ToolName,
    /// Whether it does by a record of the user's own: of another one, anybody may have started it.
    pub own: bool,
}

/// Who is on a record, and what it was read from.
#[derive(Clone, Debug, Default)]
struct Met {
    people: BTreeSet<(Kind, String)>,
    read: Label,
    /// Whether it was seen where no stranger may have said what to look for.
    found: bool,
    by: Author,
    /// Two authors have used its id, of which one has chosen it for the sake of the other.
    twice: bool,
}

impl Met {
    /// The record was read once more, with these people on it. Who is on two records of one id nobody can say.
    fn meet(&mut self, author: Author, people: BTreeSet<(Kind, String)>) {
        self.twice |= self.by.is_another(&author);
        if self.by == Author::Unknown {
            self.by = author;
        }
        self.people.extend(people);
        if self.twice {
            self.people.clear();
        }
    }
}

/// What is behind an outcome.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a> {
    /// What its tool has read itself.
    pub read: &'a Read,
    /// What was in the handles that it was given.
    pub held: &'a Label,
    /// Everything, and so what its caller knew.
    pub all: &'a Label,
    /// What its caller was under the influence of.
    pub wished: &'a Label,
    /// Its records that somebody had a hand in when they were written.
    pub touched: &'a Touched,
}

impl Behind<'_> {
    /// Whether anybody could have put the outcome there, and everybody may read it: a public page. Who asked for it is
    /// another matter, unless the tool has read nothing, and made it of what it was told. Its own code, of which policy
    /// knows the records, is no such source.
    fn is_catalogue(self, classes: &Classes, tool: &ToolName) -> bool {
        let is_server = classes.servers.contains(tool.plugin());
        let told = self.read.label.is_empty() && !is_server;
        let label = match told {
            true => self.all.clone(),
            false => self.read.label.join(self.held),
        };
        // The words of tools that its caller was shown are behind each of its calls, and no page.
        let own = |source: &Source| {
            let name = source.name().split('.').next();
            source.sort() == Sort::Tool && (told || name == Some(tool.plugin()))
        };
        label.sources().any(|source| {
            let class = classes.of(source);
            class.integrity == Integrity::Untrusted
                && class.secrecy == Secrecy::Public
                && !own(source)
        })
    }

    /// Whether a stranger may have said what to look for, in the open or by way of a handle. The words of the service's own
    /// tools are behind each call of them.
    fn is_led(self, classes: &Classes, tool: &ToolName) -> bool {
        let words = server::words(tool.plugin());
        let own = |source: &&Source| {
            let plugin = source.name().split('.').next();
            let is_code = source.sort() == Sort::Tool && plugin == Some(tool.plugin());
            is_code || **source == words
        };
        let wished = self.wished.join(self.held);
        let others = wished.sources().filter(|source| !own(source));
        let others = others.fold(Label::default(), |label, one| label.with(one.clone()));
        classes.is_tainted(&others)
    }

    /// The places that the outcome was read from, for who is on its records. Whoever had a hand in what is there has left
    /// something in the post of those people, and is none of them: what came from elsewhere does not come from their letters
    /// since it was once behind a change of the same folder.
    fn read_from(self, classes: &Classes, tool: &ToolName) -> Label {
        match classes.servers.contains(tool.plugin()) {
            true => self.read.at.with(server::source(tool.plugin())),
            false => self.read.at.clone(),
        }
    }
}

impl Ledger {
    /// The user or the operator typed this. What is past the bound is no witness.
    pub fn typed(&mut self, text: &str) {
        self.typed_bytes = self.typed_bytes.saturating_add(text.len());
        if self.typed_bytes <= LEDGER_TYPED_BYTES {
            self.typed.add(text);
        }
    }

    /// The user vouches for this value, as a whole, for this run. What is past the bound is no witness; it is a bound of its own,
    /// so that no prompt is so long that what is vouched for beside it counts for nothing.
    pub fn named(&mut self, value: &str) {
        self.named_bytes = self.named_bytes.saturating_add(value.len());
        if self.named_bytes <= LEDGER_TYPED_BYTES {
            self.typed.vouch(value);
        }
    }

    /// A person vouches for a value, for this run.
    pub fn answered(&mut self, value: QuestionId) {
        self.answered.insert(value);
    }

    /// What was typed, and what its user vouches for.
    #[must_use]
    pub fn words(&self) -> &Typed {
        &self.typed
    }

    /// An outcome, or the words of a failure, has entered the run.
    pub fn heard(&mut self, flows: &Flows, label: &Label, said: &Value) {
        self.verbatim.heard(flows, label, said);
    }

    /// What is left of it for a later run of the same session: what has entered, and nothing that vouches. What was typed
    /// before is typed still, so who has used a title that stands in it, and which records two authors have used, is known on.
    #[must_use]
    pub fn heard_before(self) -> Self {
        let mut people = self.people;
        for met in people.values_mut() {
            *met = Met {
                by: std::mem::take(&mut met.by),
                twice: met.twice,
                ..Met::default()
            };
        }
        let titles = self.titles.without_addresses();
        Self {
            values: people.len().saturating_add(titles.len()),
            verbatim: self.verbatim,
            headings: self.headings,
            people,
            titles,
            ..Self::default()
        }
    }

    /// What records are called, for persons.
    pub(super) fn headings(&self) -> &Headings {
        &self.headings
    }

    /// What the older guards remember.
    #[must_use]
    pub fn verbatim(&self) -> &Verbatim {
        &self.verbatim
    }

    /// A tool of which policy knows the records has returned an outcome. One that anybody can write into and everybody
    /// reads is nobody's record: it vouches for nothing, whatever policy says of its fields.
    pub fn saw(
        &mut self,
        flows: &Flows,
        tool: &ToolName,
        args: &Value,
        (outcome, behind): (&Value, Behind<'_>),
    ) {
        let Some(ToolFlow { records, .. }) = flows.about(tool) else {
            return;
        };
        if behind.is_catalogue(&flows.classes, tool) {
            return;
        }
        let read = behind.read_from(&flows.classes, tool);
        let led = behind.is_led(&flows.classes, tool);
        let (given, tainted) = (Given::of(args), Tainted::of(flows, behind.touched));
        let is_secret = flows.classes.is_secret(behind.all);
        let (mut full, mut own) = (false, false);
        let questions = records.asks.keys();
        let asked: usize = questions.map(|place| texts_at(args, place).len()).sum();
        // What stands in the records that answer, and in those of them that are the user's.
        let (mut said, mut mine_say) = (BTreeSet::new(), BTreeSet::new());
        for record in at(outcome, &records.at) {
            if !is_secret {
                self.headings.saw(tool, records, record);
            }
            let mine = !is_foreign(flows, records, record);
            if mine && tainted.has(records, record) {
                self.saw_theirs(tool, records, record);
                continue;
            }
            // Of two records of one title, a stranger would have the one read that is theirs.
            let is_led = led && !self.has_met(tool, records, record);
            let says = is_record(records, record) && given.is_answered(record);
            full |= says;
            own |= says && mine;
            if says {
                texts(record, &mut said);
            }
            if says && mine {
                texts(record, &mut mine_say);
            }
            self.saw_record(flows, (tool, &read, is_led), records, record);
        }
        for (argument, kind) in &records.asks {
            // A stranger who pays a cent has made a record about their account.
            if !full || (kind.is_open() && !own) {
                continue;
            }
            let texts = texts_at(args, argument);
            let answer = if kind.is_open() { &mine_say } else { &said };
            // One answer to several questions, of one argument or more, is one to those that it names.
            let named = |text: &&String| asked == 1 || answer.contains(&plain(text));
            for text in texts.iter().filter(named) {
                self.vouch((*kind, own), text, tool);
            }
        }
    }

    /// Whether a record was found before by nobody's leading.
    fn has_met(&self, tool: &ToolName, records: &Records, record: &Value) -> bool {
        let met = first(record, &records.id).and_then(|id| {
            let known = (tool.plugin().to_owned(), id);
            self.people.get(&known)
        });
        met.is_some_and(|met| met.found)
    }

    /// A record of the user's that was written under a stranger's influence is no stranger's letter either: it vouches for
    /// nothing, and who is on it nobody knows. Its title is one that somebody else has used, too. So is that of a record
    /// which a stranger may have had somebody look for.
    fn saw_theirs(&mut self, tool: &ToolName, records: &Records, record: &Value) {
        let Some(title) = first(record, &records.title) else {
            return;
        };
        if !self.typed.has_title(&title) {
            return;
        }
        let mark = first(record, &records.id).unwrap_or_else(|| record.to_string());
        let which = (tool.plugin().to_owned(), mark);
        match self.has_room(1) {
            true => {
                let by = (which, Author::Unknown);
                self.titles.saw(&title, by, Vec::new());
            }
            false => self.titles.missed(&title),
        }
    }

    fn saw_record(
        &mut self,
        flows: &Flows,
        (tool, read, led): (&ToolName, &Label, bool),
        records: &Records,
        record: &Value,
    ) {
        let foreign = is_foreign(flows, records, record);
        for (field, kind) in &records.vouches {
            if kind.is_open() && foreign {
                continue;
            }
            for text in texts_at(record, field) {
                self.vouch((*kind, !foreign), &text, tool);
            }
        }
        for (field, kind) in &records.trusted {
            // A stranger may call themselves anything, and is not whom the user meant.
            if !foreign && is_named(*kind) {
                for name in texts_at(record, field) {
                    self.name(&name);
                }
            }
        }
        let people: BTreeSet<(Kind, String)> = records
            .people
            .iter()
            .flat_map(|(field, kind)| {
                let texts = texts_at(record, field).into_iter();
                texts.map(|text| (*kind, kind.normal(&text)))
            })
            .collect();
        let id = first(record, &records.id);
        let author = author_of(records, record, foreign);
        if led {
            self.saw_theirs(tool, records, record);
        } else if let Some(title) = first(record, &records.title)
            && self.typed.has_title(&title)
        {
            let author = author.clone();
            let mark = id.clone().unwrap_or_else(|| format!("{people:?}"));
            let which = (tool.plugin().to_owned(), mark);
            // Whoever names a record by its title names what the service calls it, too.
            let own = id.iter().map(|id| (Kind::Id, id.clone()));
            let named = people.iter().cloned().chain(own);
            let named = named.map(|(kind, value)| (kind, known_as(kind, &value, tool.plugin())));
            match self.has_room(people.len() + 1) {
                true => self.titles.saw(&title, (which, author), named.collect()),
                false => self.titles.missed(&title),
            }
        }
        if let Some(id) = id
            && self.has_room(people.len() + 1)
        {
            let met = self.people.entry((tool.plugin().to_owned(), id));
            let met = met.or_default();
            met.meet(author, people);
            met.read = met.read.join(read);
            met.found |= !led;
        }
    }

    fn vouch(&mut self, (kind, own): (Kind, bool), text: &str, tool: &ToolName) {
        if own && is_named(kind) {
            self.name(text);
        }
        if self.has_room(1) {
            // At another service, whoever has started a record that is not the user's may have chosen what is called so.
            let known = match own {
                true => known_as(kind, text, tool.plugin()),
                false => at_service(kind, text, tool.plugin()),
            };
            let voucher = self.vouched.entry((kind, known));
            let voucher = voucher.or_insert_with(|| Voucher {
                tool: tool.clone(),
                own,
            });
            voucher.own |= own;
        }
    }

    fn name(&mut self, text: &str) {
        if self.has_room(1) {
            self.names.insert(words(text).join(" "));
        }
    }

    /// Past the bound nothing more is vouched for.
    fn has_room(&mut self, values: usize) -> bool {
        self.values = self.values.saturating_add(values);
        self.values <= LEDGER_VALUES
    }

    /// Who vouches for a value of this kind at a service; a record of the user's own before others.
    #[must_use]
    pub fn vouching(&self, (kind, value): (Kind, &str), service: &str) -> Option<&Voucher> {
        let own = self.vouched.get(&(kind, known_as(kind, value, service)));
        own.or_else(|| self.vouched.get(&(kind, at_service(kind, value, service))))
    }

    /// The typed title of a record that has this address; of what is one at its own service alone, there.
    #[must_use]
    pub fn titled(&self, (kind, value): (Kind, &str), service: &str) -> Option<&str> {
        self.titles.of(&(kind, known_as(kind, value, service)))
    }

    /// Who is on the record that a plugin knows by that name, and what it was read from; nothing of one that nobody has read.
    pub(super) fn met(
        &self,
        plugin: &str,
        record: &str,
    ) -> Option<(&BTreeSet<(Kind, String)>, &Label)> {
        let met = self.people.get(&(plugin.to_owned(), record.to_owned()))?;
        Some((&met.people, &met.read))
    }

    /// Whether a trusted field holds this name, written in lower case and with one blank between its words.
    #[must_use]
    pub fn is_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether a person has vouched for a value, for this run.
    #[must_use]
    pub fn is_answered(&self, value: &QuestionId) -> bool {
        self.answered.contains(value)
    }
}

/// A value as witnesses know it: what is one at its own service alone together with that.
fn known_as(kind: Kind, value: &str, service: &str) -> String {
    match kind.is_of_one_service(value) {
        true => at_service(kind, value, service),
        false => kind.normal(value),
    }
}

/// The same of what counts at this service alone, whatever it is.
fn at_service(kind: Kind, value: &str, service: &str) -> String {
    format!("{service} {}", kind.normal(value))
}

/// Whether values of a kind are names, of which others are composed.
fn is_named(kind: Kind) -> bool {
    matches!(kind, Kind::Name | Kind::User)
}

fn first(record: &Value, field: &str) -> Option<String> {
    if field.is_empty() {
        return None;
    }
    texts_at(record, field).into_iter().next()
}

/// Whether somebody else than the user started a record, or nobody knows who did.
pub(super) fn is_foreign(flows: &Flows, records: &Records, record: &Value) -> bool {
    if records.own {
        return false;
    }
    let author = first(record, &records.author);
    !author.is_some_and(|author| {
        let same = |me: &String| Kind::Mail.normal(me) == Kind::Mail.normal(&author);
        flows.named.me.iter().any(same)
    })
}

/// Who started a record that is the user's own, or that of somebody else.
fn author_of(records: &Records, record: &Value, foreign: bool) -> Author {
    match foreign {
        false => Author::Me,
        true => first(record, &records.author).map_or(Author::Unknown, |author| {
            Author::Other(Kind::Mail.normal(&author))
        }),
    }
}

/// Whether there is a record: where policy says where its id stands, what has none is some other answer.
fn is_record(records: &Records, record: &Value) -> bool {
    records.id.is_empty() || first(record, &records.id).is_some()
}

/// What a service was told. That it says it again is no answer.
struct Given(BTreeSet<String>);

impl Given {
    fn of(args: &Value) -> Self {
        let mut given = BTreeSet::new();
        texts(args, &mut given);
        Self(given)
    }

    /// Whether an answer says that there is something: an empty list beside a count of none does not.
    fn is_answered(&self, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| self.is_answered(item)),
            Value::Object(map) => map.values().any(|item| self.is_answered(item)),
            Value::Number(number) if number.as_f64() == Some(0.0) => false,
            Value::Bool(said) => *said,
            Value::Null | Value::String(_) | Value::Number(_) => {
                text_of(value).is_some_and(|text| !self.0.contains(&plain(&text)))
            }
        }
    }
}

fn texts(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(map) => map.values().for_each(|item| texts(item, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            all.extend(text_of(value).map(|text| plain(&text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_vouched_for_counts_beside_more_text_than_counts() {
        let long = "x ".repeat(LEDGER_TYPED_BYTES);
        let mut ledger = Ledger::default();
        ledger.typed(&long);
        ledger.named("ada@x.test");
        assert!(ledger.words().vouches(Kind::Mail, "ada@x.test"));
        // Each has its end.
        ledger.typed("write to bob@x.test");
        ledger.named(&long);
        ledger.named("bob@x.test");
        assert!(!ledger.words().has(Kind::Mail, "bob@x.test"));
    }

    #[test]
    fn an_answer_that_says_there_is_nothing_is_empty() {
        for (value, full) in [
            (json!({"payments": [], "count": 0}), false),
            (
                json!({"payments": [], "count": 0.0, "more": false, "next": null}),
                false,
            ),
            (json!({"note": "", "of": [[], {}]}), false),
            (json!({"count": 1}), true),
            (json!({"balance": -0.5}), true),
            (json!({"more": true}), true),
            (json!({"of": [{}, {"name": "Ada"}]}), true),
        ] {
            let said = Given::of(&json!({})).is_answered(&value);
            assert_eq!(said, full, "{value}");
        }
        let given = Given::of(&json!({"mail": "Eve@evil.test", "most": 5, "deep": [{"at": "x"}]}));
        let echo = json!({"known": false, "mail": "eve@evil.test ", "of": [5, "x"]});
        assert!(!given.is_answered(&echo));
        assert!(given.is_answered(&json!({"mail": "eve@evil.test", "name": "Eve"})));
    }
}
