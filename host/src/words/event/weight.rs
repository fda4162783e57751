//! About how many bytes a record takes in the journal: what the bound of a run counts by.

use std::io::{self, Write};

use serde_json::Value;

use super::{Content, End, Event, Weighed};
use crate::words::limits::run::RECORD_BYTES;

impl Event {
    /// About how many bytes it takes in the journal, large contents included, which are written beside it.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let more = match self {
            // Two for each effect: their large parts alone are counted, since writing them down would cost as much again.
            Self::Judged(judged) => {
                of_content(&judged.content).saturating_add(of_weighed(&judged.weighed))
            }
            Self::Finished(finished) => {
                let remade = finished.remade.as_deref();
                let remade = remade.map_or(0, |remade| {
                    of_content(&remade.content).saturating_add(of_weighed(&remade.weighed))
                });
                of_end(&finished.end).saturating_add(remade)
            }
            Self::Started(_)
            | Self::Brought(_)
            | Self::Prompted { .. }
            | Self::Attempted(_)
            | Self::Replied { .. }
            | Self::Scripted(_)
            | Self::Rested { .. }
            | Self::Paused { .. }
            | Self::Answered { .. }
            | Self::Expired { .. }
            | Self::Resumed
            | Self::Overspent(_)
            | Self::Observed { .. }
            | Self::Compacted(_)
            | Self::Stopped(_) => of_whole(self),
        };
        u64::try_from(RECORD_BYTES.saturating_add(more)).unwrap_or(u64::MAX)
    }
}

fn of_end(end: &End) -> usize {
    match end {
        End::Done { content } => of_content(content),
        End::Failed { message, .. } => message.len(),
    }
}

fn of_content(content: &Content) -> usize {
    match content {
        Content::Inline(value) => of_value(value),
        Content::Stored { bytes, .. } => *bytes,
        Content::Empty | Content::Size { .. } => 0,
    }
}

fn of_weighed(weighed: &[Weighed]) -> usize {
    let of = |one: &Weighed| one.argument.len() + one.value.len() + one.witness.len();
    weighed.iter().map(of).sum()
}

/// A value as JSON text, without escapes.
fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 2 + text.len(),
        Value::Array(items) => 2 + items.iter().map(|item| 1 + of_value(item)).sum::<usize>(),
        Value::Object(map) => {
            let of = |(key, item): (&String, &Value)| 4 + key.len() + of_value(item);
            2 + map.iter().map(of).sum::<usize>()
        }
    }
}

fn of_whole(event: &Event) -> usize {
    let mut counted = Counted(0);
    // Counting cannot fail, and what cannot be written down is refused by whoever writes it.
    let _ = serde_json::to_writer(&mut counted, event);
    counted.0
}

struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::{Answer, Finished, Spent};
    use super::*;
    use crate::words::id::{Digest, QuestionId};
    use crate::words::label::Label;

    /// The end of an effect that came to this.
    fn done(content: Content) -> Event {
        Event::Finished(Finished {
            of: 1,
            end: End::Done { content },
            label: Label::default(),
            told: None,
            remade: None,
            touched: BTreeMap::default(),
            spent: Spent::default(),
        })
    }

    #[test]
    fn what_is_large_counts_in_full_wherever_it_stands() {
        let text = "x".repeat(100_000);
        let digest = Digest::of(text.as_bytes());
        let aside = Content::Stored {
            digest,
            bytes: 100_000,
        };
        let answered = Event::Answered {
            question: QuestionId::of(&["q"]),
            answer: Answer::Deny,
            reason: text.clone(),
        };
        let nested = json!({text.as_str(): [{"a": text}]});
        for (event, least) in [
            (done(Content::Inline(json!(text))), 100_000),
            (done(Content::Inline(nested)), 200_000),
            (done(aside), 100_000),
            (answered, 100_000),
            (done(Content::Size { bytes: 100_000 }), 0),
            (done(Content::Empty), 0),
        ] {
            let weight = usize::try_from(event.weight()).unwrap();
            let most = least + 2 * RECORD_BYTES;
            assert!(
                (least + RECORD_BYTES..most).contains(&weight),
                "{weight} for {least}"
            );
        }
    }
}
