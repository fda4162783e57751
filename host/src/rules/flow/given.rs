//! Given: what calls on record were given in handles, by what had influence on it. Whoever wished knows less of it: what the
//! card of a handle names.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::handles::handle_in;
use crate::words::event::{Content, EffectKind, Event, Record};
use crate::words::id::Seq;
use crate::words::label::Label;

/// What is said of a handle whose label stands in no record of its run, nor of those before it in its session.
pub const UNTOLD: &str = "its label is not on record here";

/// The handles that a run on record has been told of, up to one of its records: those of the runs before it in its session
/// first, where it has them from there.
#[derive(Debug, Default)]
pub struct Cards {
    held: BTreeMap<String, Label>,
    /// Files of the run itself: no later run of its session is given them.
    attached: BTreeMap<String, Label>,
    ends: BTreeMap<Seq, Label>,
}

/// A handle among the arguments of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Taken {
    /// The argument, by its path.
    pub argument: String,
    /// The handle.
    pub handle: String,
    /// What had influence on what it holds; nothing where that is not on record ([`UNTOLD`]).
    pub label: Option<Label>,
}

impl Cards {
    /// The next record of the run, or of the next run of its session.
    pub fn see(&mut self, record: &Record) {
        match &record.event {
            Event::Started(started) => {
                self.ends.clear();
                // What has its name already keeps it.
                let new = started.attached.iter();
                let new = new.filter(|one| !self.held.contains_key(&one.name));
                let new = new.map(|one| (one.name.clone(), one.label.clone()));
                self.attached = new.collect();
            }
            Event::Brought(brought) => self.hold(&brought.name, &brought.label),
            Event::Finished(finished) => {
                self.ends.insert(finished.of, finished.label.clone());
                if let Some(name) = finished.told.as_ref().and_then(handle_in) {
                    self.hold(name, &finished.label);
                }
            }
            Event::Observed {
                kept: Some(handle),
                observation,
                ..
            } => {
                // Its parent is the judgement of the call whose outcome was kept.
                let end = self.ends.get(&record.parent).cloned();
                self.hold(handle, &end.unwrap_or_default().join(&observation.label));
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
    fn hold(&mut self, name: &str, label: &Label) {
        let held = self.held.entry(name.to_owned());
        held.or_insert_with(|| label.clone());
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
            let known = self.attached.get(handle).or_else(|| self.held.get(handle));
            taken.push(Taken {
                argument: path.trim_start_matches('/').to_owned(),
                handle: handle.to_owned(),
                label: known.cloned(),
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

    /// The beginning of a run to which a file was attached that is under this influence.
    fn begin(file: &str) -> Record {
        let file = json!({
            "name": "a.txt", "media": "image/png", "bytes": 1, "digest": "0".repeat(64),
            "label": [file],
        });
        let start = json!({
            "event": "started", "surface": "cli", "subject": "a", "goal": "go", "label": ["user"],
            "attached": [file],
        });
        record((0, 0), &start)
    }

    #[test]
    fn a_run_of_a_session_has_what_was_held_before_it_and_no_file_of_another() {
        let held = json!({"$handle": "h1"});
        let mut cards = Cards::default();
        let labels = |cards: &Cards| {
            let args = json!([{"$handle": "a.txt"}, held]);
            let wish = record((9, 0), &wish("model", &args)).event;
            let taken = cards.given(&wish).into_iter();
            taken
                .map(|one| one.label.map_or("?".to_owned(), |label| label.to_string()))
                .collect::<Vec<_>>()
        };
        cards.see(&begin("file:inbox"));
        cards.see(&record((2, 1), &end(1, "web:https://a.test", &held)));
        assert_eq!(labels(&cards), ["file:inbox", "web:https://a.test"]);
        cards.see(&begin("file:desk"));
        assert_eq!(labels(&cards), ["file:desk", "web:https://a.test"]);
        // A name is given once in a session.
        cards.see(&record((2, 1), &end(1, "file:inbox", &held)));
        assert_eq!(labels(&cards), ["file:desk", "web:https://a.test"]);
        let mut plain = begin("file:desk");
        if let Event::Started(started) = &mut plain.event {
            started.attached.clear();
        }
        cards.see(&plain);
        assert_eq!(labels(&cards), ["?", "web:https://a.test"]);
    }
}
