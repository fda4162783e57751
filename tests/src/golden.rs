//! Golden files: the whole journal of a run as text that is the same each time.

use std::path::PathBuf;

use lazaret::words::event::{Event, Record, Verdict};
use serde_json::Value;

/// Records as text: one line each, in order, without what differs from run to run.
#[must_use]
pub fn render(records: &[Record]) -> String {
    let line = |record: &Record| {
        let mut value = serde_json::to_value(record).expect("a record is JSON");
        let seq = record.seq;
        let parent = record.parent;
        if let Some(map) = value.as_object_mut() {
            for field in ["run", "seq", "at", "parent", "event", "component"] {
                map.remove(field);
            }
            // Of all that a model is sent, down to the words of each card.
            if matches!(record.event, Event::Prompted { .. }) {
                map.remove("digest").expect("what a prompt is known by");
            }
        }
        steady(&mut value);
        format!("{seq} <{parent} {} {value}\n", record.event.word())
    };
    records.iter().map(line).collect()
}

/// Replaces measured numbers and digests.
fn steady(value: &mut Value) {
    match value {
        Value::Object(map) => {
            // Whether a tick fell into a call is nothing that comes twice.
            map.remove("cpu_ms");
            for (key, value) in map {
                match key.as_str() {
                    "us" | "fuel" | "memory_bytes" | "host_calls" | "modified_ms" | "engine"
                    | "seed" | "salt" => *value = "_".into(),
                    _ => steady(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(steady),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Compares a text with `tests/golden/NAME.txt`. A missing file is written, and the test fails once;
/// `UPDATE=1` writes them anew.
///
/// # Panics
/// Where they differ, with the first line that does.
pub fn assert_golden(name: &str, text: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    let path = folder.join(format!("{name}.txt"));
    let update = std::env::var_os("UPDATE").is_some();
    match std::fs::read_to_string(&path) {
        Ok(golden) if golden == text => {}
        Ok(golden) if !update => {
            let mut lines = golden.lines().zip(text.lines()).enumerate();
            let place = lines.find(|(_, (golden, got))| golden != got);
            let (at, (golden, got)) = place.unwrap_or((0, ("(one is longer)", "(one is longer)")));
            panic!(
                "{name}: line {} differs; `UPDATE=1` accepts it\n golden: {golden}\n    got: {got}\n\nall:\n{text}",
                at + 1
            );
        }
        found => {
            std::fs::create_dir_all(&folder).expect("golden files can be written");
            std::fs::write(&path, text).expect("golden files can be written");
            let new = found.is_err() && !update;
            assert!(
                !new,
                "{name}: there was no golden file; now there is. Read it.\n{text}"
            );
        }
    }
}

/// A journal whose questions are called by their number, since a question's name is another in each run.
#[must_use]
pub fn named(journal: &str, records: &[Record]) -> String {
    let mut text = journal.to_owned();
    let mut number = 0;
    for record in records {
        if let Event::Judged(judged) = &record.event
            && let Verdict::Ask(question) = &judged.verdict
            && text.contains(question.id.as_str())
        {
            number += 1;
            let values = question.values.iter().map(|value| (value, "VALUE"));
            let names = [(&question.id, "QUESTION"), (&question.wish, "WISH")];
            for (id, word) in names.into_iter().chain(values) {
                text = text.replace(id.as_str(), &format!("{word}-{number}"));
                text = text.replace(&id.to_string(), &format!("{word}-{number}"));
            }
        }
    }
    text
}
