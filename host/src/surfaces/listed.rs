//! Runs and questions as JSON, the same on every surface.

use serde_json::{Value, json};

use crate::gate::journal::Provenance;
use crate::rules::flow::{Handed, Inside};
use crate::rules::server::asked::form_of;
use crate::runs::left::{Readable, Waiting};
use crate::surfaces::question::as_far_as_shown;
use crate::words::event::{End, Event, Record, Started};
use crate::words::inert::visible;

/// Where a run stands whose last record this is, as a word.
#[must_use]
pub fn state(last: &Record) -> String {
    match &last.event {
        Event::Stopped(stopped) => match &stopped.end {
            End::Done { .. } => "done".to_owned(),
            End::Failed { code, .. } => code.word(),
        },
        Event::Paused { questions } if !questions.is_empty() => "waiting".to_owned(),
        Event::Paused { .. } => "paused".to_owned(),
        Event::Started(_)
        | Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Attempted(_)
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Overspent(_)
        | Event::Compacted(_)
        | Event::Observed { .. } => "unfinished".to_owned(),
    }
}

/// Whether nothing happens after this record, unless somebody takes the run up.
#[must_use]
pub fn rests(last: &Record) -> bool {
    matches!(last.event, Event::Stopped(_) | Event::Paused { .. })
}

/// Whether nothing comes after this last record of a run for whoever watches it: what was imported goes on nowhere, wherever
/// it breaks off.
#[must_use]
pub fn is_all(last: &Record, provenance: Provenance) -> bool {
    rests(last) || provenance != Provenance::Here
}

/// How a run began, if this is its first record.
#[must_use]
pub fn began(first: &Record) -> Option<&Started> {
    match &first.event {
        Event::Started(started) => Some(started),
        Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Attempted(_)
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Observed { .. }
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Overspent(_)
        | Event::Compacted(_)
        | Event::Stopped(_) => None,
    }
}

/// A run in a list of them.
#[must_use]
pub fn run(first: &Record, last: &Record, state: &str, provenance: Provenance) -> Value {
    let started = began(first);
    let ended = matches!(last.event, Event::Stopped(_)).then_some(last.at);
    json!({
        "run": first.run,
        "state": state,
        "subject": started.map(|started| &started.subject),
        "goal": started.map(|started| &started.goal),
        "surface": started.map(|started| started.surface),
        "startedAt": first.at,
        "endedAt": ended,
        "imported": provenance != Provenance::Here,
    })
}

/// A question that waits.
#[must_use]
pub fn question(waiting: &Waiting) -> Value {
    json!({
        "question": waiting.question.id,
        "text": waiting.question.text,
        "rule": waiting.question.rule,
        "reasons": waiting.question.reasons,
        "records": waiting.question.records,
        "lines": waiting.question.lines,
        "run": waiting.run,
        "at": waiting.at,
        "until": waiting.question.until,
        "tool": waiting.subject,
        "classes": waiting.question.classes,
        "args": waiting.content,
        "label": waiting.label,
        "form": form(waiting),
    })
}

/// The same as somebody may read it who waits for its answer, and whether that is all of it.
#[must_use]
pub fn readable(one: &Readable) -> Value {
    let mut told = question(&one.waiting);
    if let Some(told) = told.as_object_mut() {
        told.insert("whole".to_owned(), one.whole.into());
    }
    told
}

/// The same for whoever is to answer it: with what the handles in it hold.
#[must_use]
pub fn question_in_full(waiting: &Waiting, handed: &[Handed]) -> Value {
    let mut told = question(waiting);
    if let Some(told) = told.as_object_mut().filter(|_| !handed.is_empty()) {
        told.insert("held".to_owned(), handed.iter().map(held).collect());
    }
    told
}

/// What a handle brings into a call, to its end.
fn held(handed: &Handed) -> Value {
    let (place, handle) = (&handed.place, &handed.handle);
    match &handed.inside {
        Inside::Secret => json!({"argument": place, "handle": handle, "secret": true}),
        Inside::File { name, bytes } => {
            json!({"argument": place, "handle": handle, "file": name, "bytes": bytes})
        }
        Inside::Gone => json!({"argument": place, "handle": handle, "gone": true}),
        Inside::Text(text) => {
            let (text, more) = as_far_as_shown(text);
            json!({"argument": place, "handle": handle, "text": text, "more": more})
        }
    }
}

/// What a server wants to know in the middle of a call: who asks, what it says, and the schema of the answer.
fn form(waiting: &Waiting) -> Option<Value> {
    let (source, form) = form_of(&waiting.subject, &waiting.content)?;
    Some(json!({
        "server": source.strip_prefix("mcp:").unwrap_or(source),
        "message": visible(&form.message),
        "schema": form.passed_on(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::id::RunId;

    #[test]
    fn nothing_comes_after_what_has_come_from_elsewhere() {
        let last = Record {
            run: RunId::known("one"),
            seq: 1,
            at: 1,
            parent: 0,
            event: Event::Resumed { traced: Vec::new() },
        };
        for (provenance, all) in [
            (Provenance::Here, false),
            (Provenance::Returned, true),
            (Provenance::Moved, true),
            (Provenance::Foreign, true),
        ] {
            assert_eq!(is_all(&last, provenance), all, "{provenance:?}");
        }
    }
}
