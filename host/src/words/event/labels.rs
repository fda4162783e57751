//! Labels in a record, wherever they stand.

use super::Event;
use crate::words::label::Label;

impl Event {
    /// Every label in it: of what it is about, and of each part that has one of its own.
    pub fn each_label(&mut self, mut change: impl FnMut(&mut Label)) {
        match self {
            Self::Started(started) => {
                change(&mut started.label);
                let attached = started.attached.iter_mut();
                attached.for_each(|one| change(&mut one.label));
            }
            Self::Finished(finished) => {
                change(&mut finished.label);
                finished.touched.values_mut().for_each(&mut change);
                if let Some(read) = &mut finished.read {
                    change(&mut read.label);
                    change(&mut read.at);
                }
                let remade = finished.remade.as_mut();
                remade.into_iter().for_each(|one| change(&mut one.label));
            }
            Self::Compacted(compacted) => {
                change(&mut compacted.label);
                let after = compacted.after.iter_mut();
                after.for_each(|noted| change(&mut noted.label));
            }
            Self::Brought(brought) => change(&mut brought.label),
            Self::Replied { label, .. } => change(label),
            Self::Judged(judged) => change(&mut judged.label),
            Self::Observed { observation, .. } => change(&mut observation.label),
            Self::Prompted { .. }
            | Self::Attempted(_)
            | Self::Scripted(_)
            | Self::Rested { .. }
            | Self::Paused { .. }
            | Self::Answered { .. }
            | Self::Expired { .. }
            | Self::Resumed { .. }
            | Self::Overspent(_)
            | Self::Stopped(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_label_is_every_label_that_stands_in_a_record() {
        let label = || json!(["web:https://a.test"]);
        let spent = json!({"us": 1});
        let events = [
            json!({
                "event": "started", "surface": "cli", "subject": "a", "goal": "", "label": label(),
                "attached": [{
                    "name": "a.txt", "media": "text/plain", "bytes": 1, "digest": "0".repeat(64), "label": label(),
                }],
            }),
            json!({
                "event": "finished", "of": 1, "end": "done", "content": "empty", "label": label(), "spent": spent,
                "touched": {"7": label()},
                "read": {"label": label(), "at": label()},
                "remade": {"content": "empty", "label": label(), "verdict": {"verdict": "allow", "rule": "r"}},
            }),
            json!({
                "event": "compacted", "through": 1, "turns": 1, "summary": "", "label": label(), "by": "host",
                "cause": "window", "before_tokens": 1, "after_tokens": 1, "summary_tokens": 1, "spent": spent,
                "after": [{"tool": "a.b", "label": label()}],
            }),
        ];
        for (event, labels) in events.into_iter().zip([2, 5, 2]) {
            let mut event: Event = serde_json::from_value(event).unwrap();
            event.each_label(|label| *label = Label::default());
            let text = serde_json::to_string(&event).unwrap();
            assert!(!text.contains("web:"), "{text}");
            let mut found = 0;
            event.each_label(|_| found += 1);
            assert_eq!(found, labels, "{text}");
        }
        let mut none: Event = serde_json::from_value::<Event>(json!({"event": "resumed"})).unwrap();
        none.each_label(|label: &mut Label| unreachable!("{label}"));
    }
}
