//! Adopted texts: a person has made one their own words, for one run. In any run after it they are what they were before, and
//! what came of them is under the influence of whoever had a hand in them.

use std::collections::BTreeSet;

use crate::rules::flow::handles::ADOPT;
use crate::words::event::{End, Event, Record};
use crate::words::id::Seq;
use crate::words::label::Label;

/// The records of a run as a later one takes them. Whoever had read an adopted text was from then on under the influence of who
/// may read it, and of nobody's words: whatever bears that has all of the text's own label from here on, and nothing else
/// changes.
pub(super) fn afterwards(records: &mut [Record]) {
    let (mut wished, mut texts): (BTreeSet<Seq>, Vec<Label>) = Default::default();
    for record in records {
        if let Event::Judged(judged) = &record.event
            && judged.subject == ADOPT
        {
            wished.insert(record.seq);
        }
        if let Event::Finished(finished) = &record.event
            && let (End::Done { .. }, Some(_)) = (&finished.end, &finished.told)
            && wished.contains(&finished.of)
        {
            texts.push(finished.label.clone());
        }
        if !texts.is_empty() {
            record
                .event
                .each_label(|label| *label = whole(label, &texts));
        }
    }
}

/// A label with all that is behind those of these texts that it comes from.
fn whole(label: &Label, texts: &[Label]) -> Label {
    let read = texts.iter().filter(|text| label.covers(&text.of_scalar()));
    read.fold(label.clone(), |all, text| all.join(text))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wish(subject: &str, label: &[&str]) -> Value {
        json!({
            "event": "judged", "effect": "call", "subject": subject, "origin": "model",
            "content": "empty", "label": label, "verdict": {"verdict": "allow", "rule": "r"},
        })
    }

    fn end(of: u64, label: &[&str], told: &str) -> Value {
        json!({
            "event": "finished", "of": of, "end": "done", "content": "empty", "label": label,
            "told": told, "spent": {"us": 1},
        })
    }

    fn seen(label: &[&str]) -> Value {
        json!({
            "event": "observed", "call": "c", "tool": "t",
            "observation": {"text": "said", "ok": true, "label": label},
        })
    }

    /// Of the records of a run, the last one's label in a later run.
    fn last(events: &[Value]) -> String {
        let records = (0_u64..).zip(events).map(|(seq, event)| {
            let mut record = json!({
                "run": "20260101-000000-00000000", "seq": seq, "at": 1, "parent": 0,
            });
            let event = event.as_object().unwrap().clone();
            record.as_object_mut().unwrap().extend(event);
            serde_json::from_value(record).unwrap()
        });
        let mut records: Vec<Record> = records.collect();
        afterwards(&mut records);
        let last = records.last_mut().unwrap();
        let mut labels = Vec::new();
        last.event
            .each_label(|label| labels.push(label.to_string()));
        labels.remove(0)
    }

    const LETTER: &[&str] = &["user", "file:inbox"];
    const READ: &[&str] = &["user", "scalar:file:inbox"];

    #[test]
    fn what_came_of_an_adopted_text_has_its_label_in_a_later_run() {
        let whole = "user, file:inbox, scalar:file:inbox";
        let adopted = |then: Value| last(&[wish(ADOPT, &["user"]), end(0, LETTER, "obey"), then]);
        assert_eq!(adopted(seen(READ)), whole);
        // And what was made under it, calls and all.
        assert_eq!(adopted(wish("notes.put", READ)), whole);
        assert_eq!(adopted(end(7, READ, "x")), whole);
        let more = &["user", "scalar:file:inbox", "web:https://a.test"];
        assert_eq!(
            adopted(seen(more)),
            "user, web:https://a.test, file:inbox, scalar:file:inbox"
        );
    }

    #[test]
    fn what_did_not_come_of_one_has_the_label_that_it_had() {
        let (text, read) = (end(0, LETTER, "obey"), seen(READ));
        let plain = "user, scalar:file:inbox";
        // A number of the letter is none of its words, and what was read before has not read it.
        let counted = [wish("handle.count", &["user"]), text.clone(), read.clone()];
        assert_eq!(last(&counted), plain);
        let before = [wish(ADOPT, &["user"]), read.clone()];
        assert_eq!(last(&before), plain);
        let adopted = |then: Value| last(&[wish(ADOPT, &["user"]), text.clone(), then]);
        assert_eq!(adopted(seen(&["user"])), "user");
        assert_eq!(
            adopted(seen(&["user", "scalar:file:docs"])),
            "user, scalar:file:docs"
        );
        // What a step of policy made of it was shown as what it is, and what failed was adopted by nobody.
        let mut shown = text.clone();
        shown["told"] = Value::Null;
        assert_eq!(last(&[wish(ADOPT, &["user"]), shown, read.clone()]), plain);
        let failed = json!({
            "event": "finished", "of": 0, "end": "failed", "code": "denied", "message": "no",
            "label": LETTER, "told": {"$handle": "h3"}, "spent": {"us": 1},
        });
        assert_eq!(last(&[wish(ADOPT, &["user"]), failed, read]), plain);
    }
}
