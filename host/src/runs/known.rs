//! What a run knows about values when it begins, or goes on: a fold of what was typed and of its records.

use std::collections::BTreeMap;

use serde_json::Value;

use super::left::answers_in;
use crate::guests::station::Station;
use crate::rules::caller::{Judging, Known};
use crate::rules::flow::handles::{ADOPT, Given, Handles};
use crate::rules::flow::kind::text_of;
use crate::rules::flow::ledger::Ledger;
use crate::rules::flow::lines::{Holding, Mode};
use crate::rules::grant::Pattern;
use crate::words::event::{Answer, Content, EffectKind, End, Event, Judged, Record, Verdict};
use crate::words::id::{Seq, ToolName};

/// Whose words a run acts upon.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Led {
    /// A model's: what it reads, it may obey.
    ByModel,
    /// A person's or program's own: a script of theirs does what it says, whatever it reads.
    ByClient,
}

/// What a run knows. `typed` is all that its user and its operator wrote with their own hands.
pub(super) fn known(
    station: &Station,
    (led, reach): (Led, &[Pattern]),
    typed: &[String],
    records: &[Record],
) -> Known {
    let (mut ledger, mut handles) = (Ledger::default(), Handles::default());
    for text in typed {
        ledger.typed(text);
    }
    recall(station, (&mut ledger, &mut handles), records);
    let known = (ledger, handles);
    let mode = judging(station, reach);
    let hold = match station.gate.policy().flows.hold {
        Holding::Auto if led == Led::ByModel && mode == Judging::Enforce => Holding::Untrusted,
        Holding::Auto => Holding::Never,
        said => said,
    };
    Known::new(answers_in(records), known, (mode, hold))
}

/// Whether the flows of a run with this reach are judged.
fn judging(station: &Station, reach: &[Pattern]) -> Judging {
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
fn recall(station: &Station, (ledger, handles): (&mut Ledger, &mut Handles), records: &[Record]) {
    let flows = &station.gate.policy().flows;
    let mut calls: BTreeMap<Seq, (&Judged, ToolName)> = BTreeMap::new();
    let answers = answers_in(records);
    for record in records {
        match &record.event {
            Event::Judged(judged) if judged.effect == EffectKind::Call => {
                if let Ok(tool) = ToolName::parse(&judged.subject) {
                    calls.insert(record.seq, (judged, tool));
                }
                if let Verdict::Ask(question) = &judged.verdict
                    && answers.get(&question.id) == Some(&Answer::Always)
                {
                    question
                        .values
                        .iter()
                        .for_each(|value| ledger.answered(value.clone()));
                }
            }
            Event::Finished(finished) => {
                let End::Done {
                    content: Content::Inline(outcome),
                } = &finished.end
                else {
                    continue;
                };
                if let Some((judged, tool)) = calls.get(&finished.of)
                    && let Content::Inline(args) = &judged.content
                {
                    // What was held before is held again, and what could not be is not.
                    let args = Given::resolve(args, handles).map(|given| given.value);
                    let args = args.unwrap_or_default();
                    ledger.saw(flows, tool, &args, outcome);
                    if tool.as_str() == ADOPT {
                        ledger.typed(outcome.as_str().unwrap_or_default());
                    } else if let Some(told) = &finished.told {
                        let _ = handles.again(tool, (outcome, &args), (told, &finished.label));
                    }
                }
            }
            Event::Judged(_)
            | Event::Started(_)
            | Event::Prompted { .. }
            | Event::Replied { .. }
            | Event::Scripted(_)
            | Event::Rested { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Resumed
            | Event::Observed { .. }
            | Event::Stopped(_) => {}
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
