//! Ids: by what name a service knows a record, in the arguments of a call and in its outcome.
//!
//! Policy says where they stand (`records.id`), and whatever stands elsewhere in a field of that name is one, too: a
//! record may lie in another. Where policy does not say it, every value may be one, and of a text every word with a digit.

use std::borrow::Cow;
use std::collections::BTreeSet;

use icu_normalizer::ComposingNormalizerBorrowed;
use serde_json::Value;

use super::super::Weigher;
use super::super::kind::{Kind, text_of};
use super::super::leaves::{at, leaves, lies_at, texts_at};
use super::super::lines::{Flows, Records};
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::manifest::{Declared, EffectClass};
use crate::rules::policy::Policy;
use crate::words::id::ToolName;

/// Ids in a call or an outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// Whatever may be one.
    pub all: BTreeSet<String>,
    /// Whether policy says that they stand there. Otherwise a record may have another one, of which nobody was told.
    pub sure: bool,
}

/// The records that a call names: whatever says what to act on, or what it is called, and may be an id.
#[must_use]
pub fn named(call: &Call, caller: &Caller, policy: &Policy) -> Ids {
    let ledger = caller.known.ledger();
    let weigher = Weigher::of(call, (caller, policy), &ledger);
    let own = kinds(&policy.flows, &call.tool);
    let naming = &weigher.about.naming;
    let mut ids = Ids::default();
    // What tells a service nothing but which of its records has made none: there is nothing that it could be made of.
    let mut ids_alone = call.declared.effect == EffectClass::Destructive;
    for leaf in leaves(call.args.value(), &call.declared.input) {
        let kind = weigher.kind_of(&leaf.path);
        ids_alone &= kind == Some(Kind::Id) || is_truth(&leaf.text);
        let may = match kind {
            Some(Kind::Id | Kind::File | Kind::Url | Kind::Value) => true,
            Some(kind) => own.contains(&kind),
            None => !naming.is_empty() && lies_at(&leaf.path, naming),
        };
        if may && !is_truth(&leaf.text) {
            ids.all.insert(leaf.text);
        }
    }
    ids.sure = ids_alone && !ids.all.is_empty();
    if let Some(said) = policy.flows.about(&call.tool)
        && !said.records.changes.is_empty()
    {
        let changed = texts_at(call.args.value(), &said.records.changes);
        ids.sure |= !changed.is_empty();
        ids.all.extend(changed);
    }
    ids
}

/// Whether it is known of a tool which record it has written, before it is called: it writes none, policy says it, or it
/// deletes and is told nothing but ids.
#[must_use]
pub fn tells_which(flows: &Flows, tool: &ToolName, declared: &Declared) -> bool {
    if declared.effect.leaves_no_trace() {
        return true;
    }
    let Some(said) = flows.about(tool) else {
        return false;
    };
    let records = &said.records;
    if !records.id.is_empty() || !records.changes.is_empty() {
        return true;
    }
    let fields = declared.input.get("properties").and_then(Value::as_object);
    let steers = |name: &str| {
        let mut ids = said.steering.iter().filter(|(_, kind)| **kind == Kind::Id);
        ids.any(|(place, _)| lies_at(name, place))
    };
    let is_id = |(name, schema): (&String, &Value)| {
        let is_reply = !said.reply.is_empty() && lies_at(name, &said.reply);
        steers(name) || is_reply || schema.get("type").and_then(Value::as_str) == Some("boolean")
    };
    declared.effect == EffectClass::Destructive
        && fields.is_some_and(|fields| !fields.is_empty() && fields.iter().all(is_id))
}

/// The ids in an outcome. Only where policy says where that of a record stands is it known which it is: whatever else may be
/// one may be a time, a count, or what the service repeats of the arguments, which whoever wished has chosen.
#[must_use]
pub fn returned(flows: &Flows, tool: &ToolName, outcome: &Value) -> Ids {
    let outcome = &*read(outcome);
    let mut all = BTreeSet::new();
    if let Some(said) = flows.about(tool)
        && !said.records.id.is_empty()
    {
        let found = at(outcome, &said.records.at).into_iter();
        all.extend(found.flat_map(|record| texts_at(record, &said.records.id)));
    }
    let sure = !all.is_empty();
    let fields = fields(flows, tool);
    walk(outcome, "", &mut |field, value| {
        all.extend(text_of(value).filter(|_| fields.contains(field)));
    });
    if all.is_empty() {
        walk(outcome, "", &mut |_, value| all.extend(words(value)));
    }
    Ids { all, sure }
}

/// The ids of one record, and of those that lie in it.
pub(super) fn of_record(records: &Records, record: &Value) -> Vec<String> {
    if records.id.is_empty() {
        return Vec::new();
    }
    let mut ids = texts_at(record, &records.id);
    walk(record, "", &mut |name, value| {
        ids.extend(text_of(value).filter(|_| name == field(records)));
    });
    ids
}

/// An id as it is kept: what its service may take for the same has the same form.
#[must_use]
pub fn plain(id: &str) -> String {
    const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
    let id = NFKC.normalize(id.trim()).to_lowercase();
    let id = id.trim_start_matches('#');
    let (whole, rest) = id.split_once('.').unwrap_or((id, ""));
    let is_number = !whole.is_empty() && whole.bytes().all(|c| c.is_ascii_digit());
    if is_number && rest.bytes().all(|c| c == b'0') {
        let number = whole.trim_start_matches('0');
        return if number.is_empty() { "0" } else { number }.to_owned();
    }
    id.to_owned()
}

/// Kinds of values by which the service of a tool knows its records: an address book may know them by mail address.
fn kinds(flows: &Flows, tool: &ToolName) -> BTreeSet<Kind> {
    let of_ids = |records: &Records| -> Vec<Kind> {
        let fields = [&records.people, &records.trusted, &records.vouches];
        let kinds = fields
            .into_iter()
            .filter_map(|fields| fields.get(&records.id));
        kinds.copied().collect()
    };
    said(flows, tool).flat_map(of_ids).collect()
}

/// The fields in which the tools of a service say ids.
fn fields<'a>(flows: &'a Flows, tool: &'a ToolName) -> BTreeSet<&'a str> {
    said(flows, tool).map(field).collect()
}

fn field(records: &Records) -> &str {
    records.id.rsplit('/').next().unwrap_or_default()
}

/// What policy says of the records of a tool's service, where it says by what they are known.
fn said<'a>(flows: &'a Flows, tool: &'a ToolName) -> impl Iterator<Item = &'a Records> {
    let all = flows.tools.iter();
    let own = all.filter(|(name, _)| name.plugin() == tool.plugin());
    own.map(|(_, said)| &said.records)
        .filter(|records| !records.id.is_empty())
}

/// Each single value, with the name of its field. What a service writes as a text may be JSON.
fn walk(value: &Value, field: &str, see: &mut impl FnMut(&str, &Value)) {
    match &*read(value) {
        Value::Array(items) => items.iter().for_each(|item| walk(item, field, see)),
        Value::Object(map) => map.iter().for_each(|(name, item)| walk(item, name, see)),
        Value::Null | Value::Bool(_) => {}
        single @ (Value::String(_) | Value::Number(_)) => see(field, single),
    }
}

/// The value, or what its text says that it is.
fn read(value: &Value) -> Cow<'_, Value> {
    let text = value.as_str().map(str::trim_start).unwrap_or_default();
    let written = text.starts_with(['{', '[']);
    let said = written.then(|| serde_json::from_str(text));
    match said {
        Some(Ok(said)) => Cow::Owned(said),
        Some(Err(_)) | None => Cow::Borrowed(value),
    }
}

/// What of a value may be an id: all of it, or of several words those with a digit.
fn words(value: &Value) -> Vec<String> {
    let Some(text) = text_of(value) else {
        return Vec::new();
    };
    if !text.trim().contains(char::is_whitespace) {
        return vec![text];
    }
    let edge = |c: char| c.is_whitespace() || "\"'`“”()[]{}<>,;".contains(c);
    let words = text
        .split(edge)
        .map(|word| word.trim_matches(['.', ':', '!', '?']));
    words
        .filter(|word| has_digit(word))
        .map(str::to_owned)
        .collect()
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

fn is_truth(text: &str) -> bool {
    matches!(text, "true" | "false")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::rules::flow::lines::ToolFlow;

    fn tool(name: &str) -> ToolName {
        ToolName::parse(name).unwrap()
    }

    /// What policy says of records that `cal.list` returns.
    fn flows(records: &str) -> Flows {
        let said: ToolFlow = toml::from_str(&format!("[records]\n{records}")).unwrap();
        Flows {
            tools: BTreeMap::from([(tool("cal.list"), said)]),
            ..Flows::default()
        }
    }

    fn check(records: &str, (name, outcome): (&str, Value), ids: &[&str], sure: bool) {
        let found = returned(&flows(records), &tool(name), &outcome);
        let all: Vec<&str> = found.all.iter().map(String::as_str).collect();
        assert_eq!(
            (all.as_slice(), found.sure),
            (ids, sure),
            "{name} {outcome}"
        );
    }

    const KNOWN: &str = "at = \"/events/*\"\nid = \"id\"";

    #[test]
    fn ids_stand_where_policy_says_and_in_fields_of_that_name() {
        let listed = json!({"events": [{"id": "e7", "by": {"name": "Eve"}}, {"id": 8, "ok": true}], "next": "p2"});
        check(KNOWN, ("cal.list", listed.clone()), &["8", "e7"], true);
        let nested = json!({"events": [{"id": "t1", "of": [{"id": "e1"}]}]});
        check(KNOWN, ("cal.list", nested), &["e1", "t1"], true);
        let text = json!("{\"events\": [{\"id\": \"e7\"}]}");
        check(KNOWN, ("cal.list", text.clone()), &["e7"], true);
        // What another tool of the service says, and says as text: of what, policy does not say.
        let made = json!({"made": {"id": "e9"}, "n": 1});
        check(KNOWN, ("cal.add", made), &["e9"], false);
        check(KNOWN, ("cal.add", json!({ "said": text })), &["e7"], false);
        let other = json!({"id": "m1", "n": 1});
        check(KNOWN, ("mail.add", other), &["1", "m1"], false);
    }

    #[test]
    fn ids_may_be_listed_and_may_be_words_in_what_is_written_as_text() {
        let listed = json!({"events": [{"keys": ["one", "two"], "name": "x"}]});
        let many = "at = \"/events/*\"\nid = \"keys/*\"";
        check(many, ("cal.list", listed), &["one", "two"], true);
        let text = json!("{\"id\": \"plan\", \"n\": 1}");
        check(KNOWN, ("cal.add", text), &["plan"], false);
    }

    #[test]
    fn where_nobody_says_it_every_value_may_be_one_and_none_is_known_to_be() {
        let listed = json!({"events": [{"id": "e7", "by": {"name": "Eve"}}, {"id": 8, "ok": true}], "next": "p2"});
        let all = ["8", "Eve", "e7", "p2"];
        check("own = true", ("cal.list", listed), &all, false);
        let added = json!("Added it: see [e7], \"e8\" and (e9).");
        check("own = true", ("cal.add", added), &["e7", "e8", "e9"], false);
        check(KNOWN, ("cal.add", json!({"ok": true})), &[], false);
        check(KNOWN, ("cal.add", json!("Done.")), &["Done."], false);
        check(KNOWN, ("cal.add", json!("it was added")), &[], false);
        check(KNOWN, ("cal.add", json!({"created": 1})), &["1"], false);
        check(KNOWN, ("cal.add", Value::Null), &[], false);
    }

    #[test]
    fn what_a_service_may_take_for_the_same_id_is_the_same() {
        for (one, other) in [
            (" E7 ", "e7"),
            ("7.0", "7"),
            ("007", "7"),
            ("#7", "7"),
            ("ｅ７", "e7"),
            ("0", "00"),
        ] {
            assert_eq!(plain(one), plain(other), "{one} {other}");
        }
        for (one, other) in [
            ("e7", "e8"),
            ("7.5", "7"),
            ("7", "70"),
            ("v1.0", "v1"),
            (".0", ""),
        ] {
            assert_ne!(plain(one), plain(other), "{one} {other}");
        }
    }

    #[test]
    fn a_record_is_known_by_its_own_id_and_by_those_in_it() {
        let records = &flows(KNOWN).tools[&tool("cal.list")].records;
        let record = json!({"id": "t1", "parts": [{"id": 7, "name": "x"}]});
        assert_eq!(of_record(records, &record), ["t1", "t1", "7"]);
        assert!(of_record(&Records::default(), &record).is_empty());
    }

    #[test]
    fn which_record_a_call_writes_is_known_of_what_says_it_and_of_what_only_deletes() {
        let declared = |effect: &str, input: Value| -> Declared {
            let declared = json!({
                "name": "set", "description": "x", "input": input, "output": {}, "effect": effect,
            });
            serde_json::from_value(declared).unwrap()
        };
        let id = json!({"type": "object", "properties": {"id": {"type": "string"}}});
        let sure = json!({"properties": {"id": {}, "sure": {"type": "boolean"}}});
        let text = json!({"properties": {"id": {}, "text": {"type": "string"}}});
        let tells = |effect: &str, input: &Value, records: &str| {
            let mut flows = flows("");
            let said = format!("steering = {{ id = \"id\" }}\n[records]\n{records}");
            let said = toml::from_str(&said).unwrap();
            flows.tools.insert(tool("cal.set"), said);
            tells_which(&flows, &tool("cal.set"), &declared(effect, input.clone()))
        };
        let (said, changes) = ("id = \"id\"", "changes = \"id\"");
        for (effect, input, records, expected) in [
            ("read-only", &text, "", true),
            ("side-effecting", &id, "", false),
            ("side-effecting", &text, said, true),
            ("side-effecting", &text, changes, true),
            ("destructive", &id, "", true),
            ("destructive", &sure, "", true),
            ("destructive", &text, "", false),
            ("destructive", &json!({"properties": {}}), "", false),
            ("destructive", &json!({}), "", false),
        ] {
            assert_eq!(
                tells(effect, input, records),
                expected,
                "{effect} {input} {records}"
            );
        }
    }

    #[test]
    fn what_a_call_names_is_what_it_acts_on_and_what_it_is_called() {
        let book = "id = \"mail\"\npeople = { mail = \"mail\" }";
        for (records, expected) in [(KNOWN, false), (book, true)] {
            let own = kinds(&flows(records), &tool("cal.set"));
            assert_eq!(own.contains(&Kind::Mail), expected);
            assert!(kinds(&flows(records), &tool("mail.set")).is_empty());
        }
    }
}
