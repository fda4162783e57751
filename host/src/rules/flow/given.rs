//! Given: what calls on record were given in handles, by what had influence on it. Whoever wished knows less of it: what the
//! card of a handle names.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::handles::handle_in;
use crate::words::event::{Content, EffectKind, Event, Record};
use crate::words::id::Seq;
use crate::words::label::Label;

/// The handles that a run on record has been told of, up to one of its records.
#[derive(Debug, Default)]
pub struct Cards<'a> {
    held: BTreeMap<&'a str, &'a Label>,
    ends: BTreeMap<Seq, &'a Label>,
}

/// A handle among the arguments of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Taken {
    /// The argument, by its path.
    pub argument: String,
    /// The handle.
    pub handle: String,
    /// What had influence on what it holds; nothing where that stands in no record of the run.
    pub label: Option<Label>,
}

impl<'a> Cards<'a> {
    /// The next record of the run.
    pub fn see(&mut self, record: &'a Record) {
        match &record.event {
            Event::Started(started) => {
                for one in &started.attached {
                    self.hold(&one.name, &one.label);
                }
            }
            Event::Brought(brought) => self.hold(&brought.name, &brought.label),
            Event::Finished(finished) => {
                self.ends.insert(finished.of, &finished.label);
                if let Some(name) = finished.told.as_ref().and_then(handle_in) {
                    self.hold(name, &finished.label);
                }
            }
            Event::Observed {
                kept: Some(handle), ..
            } => {
                // Its parent is the judgement of the call whose outcome was kept.
                if let Some(label) = self.ends.get(&record.parent).copied() {
                    self.hold(handle, label);
                }
            }
            Event::Judged(_)
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

    /// A name stands for one value, the first.
    fn hold(&mut self, name: &'a str, label: &'a Label) {
        self.held.entry(name).or_insert(label);
    }

    /// What a call is given in handles: nothing of one whose wisher has none, and of what is no call.
    #[must_use]
    pub fn given(&self, event: &Event) -> Vec<Taken> {
        let mut taken = Vec::new();
        if let Event::Judged(judged) = event
            && judged.effect == EffectKind::Call
            && matches!(judged.origin.as_str(), "model" | "script")
            && let Content::Inline(args) = &judged.content
        {
            self.find(args, "", &mut taken);
        }
        taken
    }

    fn find(&self, value: &Value, path: &str, taken: &mut Vec<Taken>) {
        if let Some(handle) = handle_in(value) {
            taken.push(Taken {
                argument: path.trim_start_matches('/').to_owned(),
                handle: handle.to_owned(),
                label: self.held.get(handle).copied().cloned(),
            });
            return;
        }
        match value {
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.find(item, &format!("{path}/{place}"), taken);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    self.find(item, &format!("{path}/{key}"), taken);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record((seq, parent): (u64, u64), event: &Value) -> Record {
        let mut record = json!({
            "run": "20260301-090500-aaaaaaaa", "seq": seq, "at": 1, "parent": parent,
        });
        let event = event.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(event);
        serde_json::from_value(record).unwrap()
    }

    fn wish(origin: &str, args: &Value) -> Value {
        json!({
            "event": "judged", "effect": "call", "subject": "files.write", "origin": origin,
            "content": {"inline": args}, "label": ["user"],
            "verdict": {"verdict": "allow", "rule": "r"},
        })
    }

    fn end(of: u64, source: &str, told: &Value) -> Value {
        json!({
            "event": "finished", "of": of, "end": "done", "content": "empty", "label": [source],
            "told": told, "spent": {"us": 1},
        })
    }

    #[test]
    fn what_handles_hold_is_found_wherever_a_run_was_told_of_them() {
        let plain = json!({"path": "a"});
        let records = [
            record((0, 0), &wish("model", &plain)),
            record(
                (1, 0),
                &end(0, "web:https://a.test", &json!({"$handle": "h1"})),
            ),
            record((2, 0), &wish("model", &plain)),
            record((3, 2), &end(2, "file:inbox", &Value::Null)),
            record(
                (4, 2),
                &json!({
                    "event": "observed", "call": "c", "tool": "files.read", "kept": "h2",
                    "observation": {"ok": true, "text": "x", "label": []},
                }),
            ),
        ];
        let mut cards = Cards::default();
        records.iter().for_each(|record| cards.see(record));
        let args = json!({
            "content": {"$handle": "h1"}, "a/b": [1, {"$handle": "h2"}], "to": {"$handle": "h9"},
        });
        let given = |origin: &str| {
            let wish = record((5, 0), &wish(origin, &args)).event;
            let taken = cards.given(&wish).into_iter();
            let told =
                |label: Option<Label>| label.map_or("?".to_owned(), |label| label.to_string());
            taken
                .map(|one| format!("{} {} {}", one.argument, one.handle, told(one.label)))
                .collect::<Vec<_>>()
        };
        let mut found = given("model");
        found.sort();
        assert_eq!(
            found,
            [
                "a~1b/1 h2 file:inbox",
                "content h1 web:https://a.test",
                "to h9 ?",
            ]
        );
        assert_eq!(given("script").len(), 3);
        // Of whoever has none, it is a value like any other.
        assert_eq!(given("client").len(), 0);
    }
}
