//! Trace: where a value of a recorded run came from. Whole leaves only; what was made of several is told by labels.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kind::{Kind, text_of};
use crate::words::event::{Content, EffectKind, End, Event, Record};
use crate::words::id::{Seq, ToolName};
use crate::words::label::Label;

/// A place in an outcome that held the very value.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The record of the outcome.
    pub seq: Seq,
    /// Whose outcome it was.
    pub tool: ToolName,
    /// Where in it, as a pointer.
    pub path: String,
    /// What had influence on it.
    pub label: Label,
}

/// The outcomes of a run up to here.
#[derive(Debug, Default)]
pub struct Trace<'a> {
    calls: BTreeMap<Seq, ToolName>,
    outcomes: Vec<(Origin, &'a Value)>,
}

/// Origins that are told of one value.
const ORIGINS: usize = 8;

impl<'a> Trace<'a> {
    /// The next record of the run.
    pub fn see(&mut self, record: &'a Record) {
        match &record.event {
            Event::Judged(judged) if judged.effect == EffectKind::Call => {
                if let Ok(tool) = ToolName::parse(&judged.subject) {
                    self.calls.insert(record.seq, tool);
                }
            }
            Event::Finished(finished) => {
                if let (
                    Some(tool),
                    End::Done {
                        content: Content::Inline(outcome),
                    },
                ) = (self.calls.get(&finished.of), &finished.end)
                {
                    let origin = Origin {
                        seq: record.seq,
                        tool: tool.clone(),
                        path: String::new(),
                        label: finished.label.clone(),
                    };
                    self.outcomes.push((origin, outcome));
                }
            }
            Event::Judged(_)
            | Event::Started(_)
            | Event::Brought(_)
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

    /// Where a value stood as a whole leaf, the earliest first. A call's own outcome is none of its origins,
    /// since it comes after.
    #[must_use]
    pub fn of(&self, kind: Kind, value: &str) -> Vec<Origin> {
        let wanted = kind.normal(value);
        let mut found = Vec::new();
        for (origin, outcome) in &self.outcomes {
            let mut paths = Vec::new();
            find(
                outcome,
                String::new(),
                &|text| kind.normal(text) == wanted,
                &mut paths,
            );
            found.extend(paths.into_iter().map(|path| Origin {
                path,
                ..origin.clone()
            }));
            if found.len() >= ORIGINS {
                break;
            }
        }
        found.truncate(ORIGINS);
        found
    }
}

fn find(value: &Value, path: String, is: &impl Fn(&str) -> bool, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                find(item, format!("{path}/{place}"), is, found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                find(item, format!("{path}/{key}"), is, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            if text_of(value).is_some_and(|text| is(&text)) {
                found.push(path);
            }
        }
    }
}

/// A pointer with `*` for each element of a list, taken apart: where the records are, and the field in one.
/// Numbers are taken for elements; where a name is a number, the line has to be written by hand.
#[must_use]
pub fn as_field(path: &str) -> (String, String) {
    let names = path.trim_start_matches('/').split('/');
    let mut names: Vec<&str> = names
        .map(|name| {
            if name.parse::<usize>().is_ok() {
                "*"
            } else {
                name
            }
        })
        .collect();
    // Of a list of leaves the field is the list.
    while names.last() == Some(&"*") && names.len() > 1 {
        names.pop();
    }
    let field = match names.iter().rposition(|name| *name == "*") {
        Some(last) => names.split_off(last + 1),
        None => std::mem::take(&mut names),
    };
    let at: String = names.iter().map(|name| format!("/{name}")).collect();
    (at, field.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_records() {
        for (path, at, field) in [
            ("/messages/3/from", "/messages/*", "from"),
            ("/messages/3/to/0", "/messages/*", "to"),
            ("/owner/mail", "", "owner/mail"),
            ("/0/id", "/*", "id"),
            ("", "", ""),
        ] {
            assert_eq!(as_field(path), (at.to_owned(), field.to_owned()), "{path}");
        }
    }
}
