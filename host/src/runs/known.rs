//! What a run knows about values when it begins, or goes on: a fold of what was typed and of its records.

use std::collections::BTreeMap;

use serde_json::Value;

use super::brought::brought_in;
use super::left::{Wished, wished_in};
use super::provider::Model;
use super::session::cut_off;
use super::written::Written;
use crate::guests::station::Station;
use crate::rules::caller::{Consults, CpuTime, How, Judging, Known, Led};
use crate::rules::candidate::Candidate;
use crate::rules::chain::Terms;
use crate::rules::flow::apart::{Apart, fault_bits, misfit_bits};
use crate::rules::flow::attached;
use crate::rules::flow::handles::{ADOPT, Given, Handles, handle_in, has_handle};
use crate::rules::flow::kind::text_of;
use crate::rules::flow::ledger::{Behind, Ledger};
use crate::rules::flow::lines::{Flows, Holding, Mode};
use crate::rules::flow::pick;
use crate::rules::grant::Pattern;
use crate::rules::questions::Questions;
use crate::rules::script;
use crate::rules::server::asked::{sample_most, sampled_by, used_by};
use crate::words::attachment::Attachment;
use crate::words::error::{Code, Result};
use crate::words::event::{
    Brought, Content, EffectKind, End, Event, Finished, Judged, Record, Tried, Verdict,
};
use crate::words::id::{Seq, ToolName};
use crate::words::label::Label;
use crate::words::message::Usage;

/// What a run begins with, before any record of its own.
pub(super) struct Before<'a> {
    /// All that its user and its operator wrote with their own hands.
    pub(super) typed: &'a [String],
    /// Values that its user vouches for, each as a whole.
    pub(super) vouched: &'a [String],
    /// What it has heard in the runs before it.
    pub(super) heard: Ledger,
    /// What it holds from them.
    pub(super) handles: Handles,
    /// The files that it was given.
    pub(super) files: &'a [Attachment],
}

/// What a run knows. `typed` is all that its user and its operator wrote with their own hands.
pub(super) fn known(
    station: &Station,
    how: (Led, Judging),
    typed: &[String],
    records: &[Record],
) -> Known {
    let before = Before {
        typed,
        vouched: &[],
        heard: Ledger::default(),
        handles: Handles::default(),
        files: &[],
    };
    known_after(station, how, before, records)
}

/// Likewise, of a run that has heard and holds something from the runs before it, and was given files.
pub(super) fn known_after(
    station: &Station,
    (led, mode): (Led, Judging),
    before: Before<'_>,
    records: &[Record],
) -> Known {
    let policy = station.gate.policy();
    let flows = &policy.flows;
    let mut ledger = before.heard;
    let mut handles = before.handles.at_most(policy.bounds.run.handles);
    // What its model is shown anyway holds nothing back.
    let holds = !handles.is_empty();
    attached::hold(&mut handles, before.files);
    for text in before.typed {
        ledger.typed(text);
    }
    for value in before.vouched {
        ledger.named(value);
    }
    let questions = Questions::of(records);
    recall(flows, (&mut ledger, &mut handles), (records, &questions));
    let known = (ledger, handles);
    let hold = match flows.hold {
        Holding::Auto if led == Led::ByModel && mode == Judging::Enforce => Holding::Untrusted,
        Holding::Auto => Holding::Never,
        said @ (Holding::Untrusted | Holding::Large | Holding::Never) => said,
    };
    let mut known = Known::new(questions, known, How { led, mode, hold });
    known.cpu_time = CpuTime::of(policy.bounds.run.cpu_ms, cpu_ms_in(records));
    known.ask_expires_ms = match records.first().map(|first| &first.event) {
        // As it was when the run began.
        Some(Event::Started(started)) => started.ask_expires_ms,
        Some(_) | None => policy.asks.expires_ms,
    };
    adjust(flows, &mut known, holds || !brought_in(records).is_empty());
    known
}

/// Processor time that the guests of earlier lives have used.
fn cpu_ms_in(records: &[Record]) -> u64 {
    let mut used = 0_u64;
    for record in records {
        if let Event::Finished(finished) = &record.event {
            used = used.saturating_add(finished.spent.cpu_ms);
        }
    }
    used
}

/// With what a run that is new begins with.
///
/// # Errors
/// `OverBudget` where that is more than a run may hold.
pub(super) fn bringing(station: &Station, known: Known, brought: &[Brought]) -> Result<Known> {
    let mut known = known;
    let flows = &station.gate.policy().flows;
    for one in brought {
        let (mut ledger, mut handles) = (known.ledger(), known.handles());
        take(flows, (&mut ledger, &mut handles), one)?;
    }
    adjust(flows, &mut known, !brought.is_empty());
    Ok(known)
}

/// What a run begins with may be anybody's, or be for no other eyes: so its flows are judged, whatever it is granted,
/// and what comes of it is held, unless policy says otherwise.
pub(super) fn adjust(flows: &Flows, known: &mut Known, holds: bool) {
    if !holds {
        return;
    }
    if known.how.mode == Judging::Tainted {
        known.how.mode = Judging::Enforce;
    }
    if flows.hold == Holding::Auto {
        known.how.hold = Holding::Untrusted;
    }
}

/// Holds what a run begins with. It has entered the run, as if a tool had returned it.
fn take(
    flows: &Flows,
    (ledger, handles): (&mut Ledger, &mut Handles),
    brought: &Brought,
) -> Result<()> {
    ledger.heard(flows, &brought.label, value_of(&brought.content));
    match &brought.content {
        Content::Inline(value) => handles.hold_as(&brought.name, value, &brought.label),
        Content::Empty | Content::Stored { .. } | Content::Size { .. } => {
            handles.reserve(&brought.name, &brought.label);
            Ok(())
        }
    }
}

/// What is on record of a content: nothing of one that is secret.
fn value_of(content: &Content) -> &Value {
    match content {
        Content::Inline(value) => value,
        Content::Empty | Content::Stored { .. } | Content::Size { .. } => &Value::Null,
    }
}

/// What a run holds, as far as its records hold it.
pub(super) fn handles_in(flows: &Flows, records: &[Record]) -> Handles {
    let (mut ledger, mut handles) = (Ledger::default(), Handles::default());
    let wished = records.first().map(|first| wished_in(&first.run, records));
    match wished {
        Some(Ok(Wished::Goal(goal))) => {
            if let Some(text) = goal.said() {
                ledger.typed(text);
            }
            goal.vouch.iter().for_each(|value| ledger.named(value));
        }
        Some(Ok(wished @ Wished::Call { .. })) => {
            wished.typed().iter().for_each(|text| ledger.typed(text));
        }
        Some(Err(_)) | None => {}
    }
    let questions = Questions::of(records);
    recall(flows, (&mut ledger, &mut handles), (records, &questions));
    handles
}

/// Holds what a run of the same session held, and has heard what it heard, when all this had been typed.
pub(super) fn hold_again(
    station: &Station,
    typed: &[String],
    (heard, handles): (&mut Ledger, &mut Handles),
    records: &[Record],
) {
    let (mut ledger, questions) = (std::mem::take(heard), Questions::of(records));
    // Of a title that stands in it, it is known on who has used it.
    typed.iter().for_each(|text| ledger.typed(text));
    let flows = &station.gate.policy().flows;
    recall(flows, (&mut ledger, handles), (records, &questions));
    if cut_off(flows, records).is_some() {
        handles.skip();
    }
    // What its tools vouched for, they vouched for in that run.
    *heard = ledger.heard_before();
}

/// With these models to be asked on these terms, also about what is held, and with what earlier lives have asked, spent, and
/// learned of them.
pub(super) fn asking(
    known: Known,
    (models, terms): (&[&Model], Terms),
    records: &[Record],
) -> Known {
    let names = models.iter().map(|model| model.name.clone());
    let known = consulting(known, names.collect(), records).on(terms);
    let candidates: Vec<Candidate> = models.iter().map(|model| model.candidate()).collect();
    known.chain().recall(&candidates, records);
    known
}

fn consulting(mut known: Known, models: Vec<String>, records: &[Record]) -> Known {
    let (mut asked, mut usage) = (0_u32, Usage::default());
    let mut calls = BTreeMap::new();
    for record in records {
        if let Event::Judged(judged) = &record.event {
            asked = asked.saturating_add(u32::from(is_consult(judged)));
            if sampled_by(judged).is_some() {
                calls.insert(record.seq, judged);
            }
        }
        if let Event::Finished(finished) = &record.event {
            usage.add(match calls.get(&finished.of) {
                Some(judged) => used_by(judged, finished),
                None => finished.spent.usage,
            });
        }
        if let Event::Compacted(compacted) = &record.event {
            usage.add(compacted.spent.usage);
        }
        // Of no turn: it stands in the end of its call, or beside its summary.
        if let Event::Attempted(attempted) = &record.event
            && let Tried::Failed { usage: lost, .. } = &attempted.tried
            && attempted.turn > 0
        {
            usage.add(*lost);
        }
    }
    known.consults = Consults::of(models, (asked, usage));
    sampled(&known.consults, records);
    known
}

/// What a run has used of models beside the replies of its turns. In a replay what its calls have used inside comes from
/// its records.
pub(super) fn used_beside(station: &Station, known: &Known) -> Usage {
    let mut usage = known.consults.usage();
    if let Some(recorded) = &station.recorded {
        usage.add(recorded.used_inside());
    }
    usage
}

/// What servers have used of models in earlier lives.
fn sampled(consults: &Consults, records: &[Record]) {
    let mut underway = BTreeMap::new();
    for record in records {
        if let Event::Judged(judged) = &record.event
            && let Some(server) = sampled_by(judged)
        {
            consults.has_sampled(server);
            underway.insert(record.seq, (server, sample_most(judged)));
        }
        if let Event::Finished(finished) = &record.event
            && let Some((server, most)) = underway.remove(&finished.of)
        {
            let usage = finished.spent.usage;
            let used = usage.input_tokens.saturating_add(usage.output_tokens);
            // Nobody knows what it came to where nobody waited for it.
            consults.had_sampled(server, if used == 0 { most } else { used });
        }
    }
    for (server, most) in underway.into_values() {
        consults.had_sampled(server, most);
    }
}

fn is_consult(judged: &Judged) -> bool {
    let tool = ToolName::parse(&judged.subject).ok();
    judged.effect == EffectKind::Call
        && matches!(judged.verdict, Verdict::Allow { .. })
        && tool.and_then(|tool| Apart::of(&tool)) == Some(Apart::Consult)
}

/// Whether the flows of a run with this reach are judged.
pub(super) fn judging(station: &Station, reach: &[Pattern]) -> Judging {
    let policy = station.gate.policy();
    match policy.flows.mode {
        Mode::Off => Judging::Off,
        Mode::Shadow => Judging::Shadow,
        Mode::Enforce => Judging::Enforce,
        Mode::Auto if station.catalog.is_exposed(reach, policy) => Judging::Enforce,
        Mode::Auto => Judging::Tainted,
    }
}

/// What earlier lives have learned: outcomes of calls, and answers that hold for the rest of the run.
fn recall(
    flows: &Flows,
    (ledger, handles): (&mut Ledger, &mut Handles),
    (records, questions): (&[Record], &Questions),
) {
    let mut fold = Fold::default();
    for record in records {
        fold.see(flows, (ledger, handles), record);
    }
    always(ledger, questions);
}

/// The values that persons have answered for, for the rest of the run.
pub(super) fn always(ledger: &mut Ledger, questions: &Questions) {
    let values = questions.always().cloned();
    values.for_each(|value| ledger.answered(value));
}

/// Reads outcomes of calls into a ledger, record by record.
#[derive(Debug, Default)]
pub(super) struct Fold<'a> {
    calls: BTreeMap<Seq, (&'a Judged, ToolName)>,
    ends: BTreeMap<Seq, &'a Finished>,
}

impl<'a> Fold<'a> {
    /// The next record of the run.
    pub(super) fn see(
        &mut self,
        flows: &Flows,
        (ledger, handles): (&mut Ledger, &mut Handles),
        record: &'a Record,
    ) {
        match &record.event {
            Event::Judged(judged) if judged.effect == EffectKind::Call => {
                let bits = told_in(flows, handles, judged);
                if bits > 0 {
                    let _ = handles.charge(bits, u32::MAX);
                    handles.failed();
                }
                if let Ok(tool) = ToolName::parse(&judged.subject) {
                    self.calls.insert(record.seq, (judged, tool));
                }
            }
            Event::Finished(finished) => {
                self.ends.insert(finished.of, finished);
                if let Some((judged, tool)) = self.calls.get(&finished.of) {
                    learned(flows, (ledger, handles), (judged, tool), finished);
                }
            }
            Event::Brought(brought) => {
                let _ = take(flows, (ledger, handles), brought);
            }
            Event::Observed {
                kept: Some(handle),
                observation,
                ..
            } => {
                // A name stands for one value, also where that stands in no record.
                handles.reserve(handle, &observation.label);
                // Its parent is the judgement of the call whose outcome was kept.
                if let Some(finished) = self.ends.get(&record.parent) {
                    let label = finished.label.join(&observation.label);
                    handles.reserve(handle, &label);
                    if let End::Done {
                        content: Content::Inline(value),
                    } = &finished.end
                    {
                        let _ = handles.hold_as(handle, value, &label);
                    }
                }
            }
            Event::Judged(_)
            | Event::Started(_)
            | Event::Prompted { .. }
            | Event::Attempted(_)
            | Event::Replied { .. }
            | Event::Scripted(_)
            | Event::Rested { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Expired { .. }
            | Event::Resumed { .. }
            | Event::Overspent(_)
            | Event::Compacted(_)
            | Event::Observed { .. }
            | Event::Stopped(_) => {}
        }
    }
}

/// The bits that left handles which did not fit into a wish, or were turned down with it and hold what is secret.
fn told_in(flows: &Flows, handles: &Handles, judged: &Judged) -> u32 {
    let unfit = [Code::BadArgs, Code::TooBig].map(Code::envelope);
    if let (Verdict::Deny(denial), Content::Inline(args)) = (&judged.verdict, &judged.content)
        && has_handle(args)
    {
        let is_unfit = unfit.contains(&denial.rule.as_str());
        // Without a component it was turned down before what is held was weighed.
        let was_weighed = judged.component.is_some();
        if is_unfit || was_weighed && flows.classes.is_secret(&handles.label_in(args)) {
            return misfit_bits(args);
        }
    }
    0
}

/// Keeps the name of the handle that whoever wished was told of, with its label and with what that told, and holds the words
/// of a failure. What is secret stands in no record, and a call over it is under its influence all the same. What a script has
/// made that knew something of a secret, its model was not told of.
fn named_again(
    flows: &Flows,
    handles: &mut Handles,
    (judged, tool): (&Judged, &ToolName),
    finished: &Finished,
) {
    let Some(told) = &finished.told else {
        return;
    };
    let Some(name) = handle_in(told) else {
        // Of a script that has ended, and no more.
        if judged.subject == script::TOOL {
            handles.skip();
        }
        return;
    };
    handles.reserve(name, &finished.label);
    if judged.origin == "script" && flows.classes.is_secret(&judged.label) {
        handles.hide(name);
    }
    handles.pay_again(told);
    if let End::Failed { message, .. } = &finished.end {
        let said = Value::from(message.as_str());
        let _ = handles.hold_as(name, &said, &finished.label);
        handles.show(name, told);
        let _ = handles.charge(fault_bits(tool), u32::MAX);
        handles.failed();
    }
}

/// What the end of a call teaches.
fn learned(
    flows: &Flows,
    (ledger, handles): (&mut Ledger, &mut Handles),
    (judged, tool): (&Judged, &ToolName),
    finished: &Finished,
) {
    named_again(flows, handles, (judged, tool), finished);
    if let End::Done {
        content: Content::Inline(outcome),
    } = &finished.end
        && let Content::Inline(args) = &judged.content
    {
        // What was held before is held again, and what could not be is not.
        let given = match judged.origin.as_str() {
            "model" | "script" => Given::resolve(args, handles),
            _ => Ok(Given::plain(args.clone())),
        };
        let given = given.unwrap_or_else(|_| Given {
            label: handles.label_in(args),
            ..Given::plain(args.clone())
        });
        // Where nobody knows what was read for it, it vouches for nothing.
        if let Some(read) = &finished.read
            && !finished.spent.altered
        {
            let behind = Behind {
                read,
                held: &given.label,
                all: &finished.label,
                wished: &judged.label,
                touched: &finished.touched,
            };
            ledger.saw(flows, tool, &given.value, (outcome, behind));
        }
        match &finished.told {
            Some(_) if tool.as_str() == ADOPT && finished.spent.altered => {}
            Some(_) if tool.as_str() == ADOPT => {
                ledger.typed(outcome.as_str().unwrap_or_default());
            }
            Some(told) => {
                let given_at = (&given.value, given.places.as_slice());
                let bits = pick::bits(tool, given_at, ledger.words());
                let _ = handles.charge(bits, u32::MAX);
                let _ = handles.again(tool, (outcome, &given), (told, &finished.label));
            }
            None => {}
        }
    }
    // What was turned down is no outcome, and what a script makes of all it read is none of a tool's.
    let performed = matches!(judged.verdict, Verdict::Allow { .. });
    if !performed || judged.subject == script::TOOL {
        return;
    }
    match &finished.end {
        // What is secret has entered the run, and stands on no record.
        End::Done { content } => ledger.heard(flows, &finished.label, value_of(content)),
        End::Failed { message, .. } => {
            let said = Value::String(message.clone());
            ledger.heard(flows, &finished.label, &said);
        }
    }
}

/// Each leaf of what a client wrote as the arguments of its own call, as if it had typed it in quotes.
pub(super) fn typed_args(args: &Value) -> Vec<String> {
    match args {
        Value::Array(items) => items.iter().flat_map(typed_args).collect(),
        Value::Object(map) => {
            let keys = map.keys().map(|key| format!("\"{key}\""));
            keys.chain(map.values().flat_map(typed_args)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text_of(args)
            .map(|text| format!("\"{text}\""))
            .into_iter()
            .collect(),
    }
}

/// The same of a wish that came with this label: nothing where it was not typed.
pub(super) fn typed_in(label: &Label, args: &Value) -> Vec<String> {
    if Written::is_typed(label) {
        typed_args(args)
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::flow::handles::Naming;
    use crate::rules::flow::kind::Kind;
    use crate::words::label::{Sort, Source};

    fn record((seq, parent): (u64, u64), event: &Value) -> Record {
        let mut record = json!({
            "run": "20260301-090500-aaaaaaaa", "seq": seq, "at": 1, "parent": parent,
        });
        let event = event.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(event);
        serde_json::from_value(record).unwrap()
    }

    fn wish(origin: &str, tool: &str) -> Value {
        json!({
            "event": "judged", "effect": "call", "subject": tool, "origin": origin,
            "content": {"inline": {}}, "label": ["user"], "verdict": {"verdict": "allow", "rule": "r"},
        })
    }

    fn end(of: u64, label: &[&str]) -> Value {
        json!({
            "event": "finished", "of": of, "end": "done", "label": label, "spent": {"us": 1},
            "content": {"inline": {"mail": "bob@own.test"}},
        })
    }

    /// It would be called as something else is by then.
    #[test]
    fn a_name_under_which_something_was_kept_is_given_once_also_where_nothing_is_left_of_it() {
        let kept = |parent: u64| {
            record(
                (3, parent),
                &json!({
                    "event": "observed", "call": "c", "tool": "book.find", "kept": "h1",
                    "observation": {"text": "…", "ok": true, "label": ["user", "web:https://a.test"], "flags": []},
                }),
            )
        };
        let page = Label::of(Source::new(Sort::Web, "https://a.test"));
        for (parent, is_there) in [(1, true), (0, false)] {
            let records = [
                record((1, 0), &wish("model", "book.find")),
                record((2, 1), &end(1, &["user", "tool:book.find"])),
                kept(parent),
            ];
            let handles = handles_in(&Flows::default(), &records);
            assert_eq!(handles.get("h1").is_ok(), is_there);
            assert!(handles.label_in(&json!({"$handle": "h1"})).covers(&page));
            let mut handles = handles;
            let next = handles.hold(Naming::Next, &json!("other"), &page).unwrap();
            assert_eq!(next, "h2", "after a record below {parent}");
        }
    }

    /// A tool vouches for what it has found, and not for what another one told it, also in a later life; and for nothing where
    /// nobody knows what it has read. Whatever else its call knew is none of its reading.
    #[test]
    fn what_a_call_has_read_itself_is_known_again() {
        let mut flows = Flows::default();
        let records = json!({"records": {"own": true, "vouches": {"mail": "mail"}}});
        let tool = ToolName::parse("book.find").unwrap();
        flows
            .tools
            .insert(tool, serde_json::from_value(records).unwrap());
        let own = json!({"label": ["file:book"], "at": ["file:book"]});
        let told = json!({"label": ["tool:other.run"], "at": []});
        for (read, vouches) in [
            (Some(own), true),
            (Some(json!({"label": [], "at": []})), true),
            (Some(told), false),
            (None, false),
        ] {
            let mut found = end(1, &["user", "tool:book.find", "file:book"]);
            if let Some(read) = &read {
                found["read"] = read.clone();
            }
            let records = [
                record((1, 0), &wish("model", "book.find")),
                record((2, 1), &wish("book.find", "other.run")),
                record((3, 2), &end(2, &["user", "tool:other.run"])),
                record((4, 1), &found),
            ];
            let (mut ledger, mut handles) = (Ledger::default(), Handles::default());
            let known = (&mut ledger, &mut handles);
            recall(&flows, known, (&records, &Questions::of(&records)));
            let vouching = ledger.vouching((Kind::Mail, "bob@own.test"), "book");
            assert_eq!(vouching.is_some(), vouches, "{read:?}");
        }
    }
}
