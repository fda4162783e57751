//! About how many bytes a record takes in the journal: what the bound of a run counts by.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Content, Denial, End, Event, Finished, Judged, Read, Remade, Verdict, Weighed};
use crate::words::label::Label;
use crate::words::length::json_bytes;
use crate::words::limits::run::RECORD_BYTES;

impl Event {
    /// About how many bytes it takes in the journal, large contents included, which are written beside it.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let more = match self {
            // Two for each effect, so they are summed up: writing them down to count would cost as much as writing them.
            Self::Judged(judged) => of_judged(judged),
            Self::Finished(finished) => of_finished(finished),
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
            | Self::Resumed { .. }
            | Self::Overspent(_)
            | Self::Observed { .. }
            | Self::Compacted(_)
            | Self::Stopped(_) => json_bytes(self),
        };
        u64::try_from(RECORD_BYTES.saturating_add(more)).unwrap_or(u64::MAX)
    }
}

// Each names all that its record has, so that nothing is added there and forgotten here.

fn of_judged(judged: &Judged) -> usize {
    let Judged {
        effect: _,
        subject,
        component: _,
        origin,
        place: _,
        content,
        label,
        weighed,
        given,
        verdict,
    } = judged;
    let given = given
        .iter()
        .map(|(name, text)| of_text(name) + of_text(text));
    of_text(subject)
        + of_text(origin)
        + of_content(content)
        + of_label(label)
        + of_weighed(weighed)
        + given.sum::<usize>()
        + of_verdict(verdict)
}

fn of_finished(finished: &Finished) -> usize {
    let Finished {
        of: _,
        end,
        label,
        told,
        remade,
        touched,
        read,
        wrote,
        spent: _,
    } = finished;
    of_end(end)
        + of_label(label)
        + told.as_ref().map_or(0, of_value)
        + remade.as_deref().map_or(0, of_remade)
        + of_touched(touched)
        + read.as_ref().map_or(0, of_read)
        + wrote.as_ref().map_or(0, |wrote| of_text(&wrote.mount))
}

fn of_remade(remade: &Remade) -> usize {
    let Remade {
        content,
        label,
        weighed,
        verdict,
    } = remade;
    of_content(content) + of_label(label) + of_weighed(weighed) + of_verdict(verdict)
}

fn of_end(end: &End) -> usize {
    match end {
        End::Done { content } => of_content(content),
        End::Failed {
            message, issues, ..
        } => {
            let issues = issues.iter();
            let issues = issues.map(|issue| of_text(&issue.path) + of_text(&issue.message));
            of_text(message) + issues.sum::<usize>()
        }
    }
}

fn of_verdict(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Allow { rule } => of_text(rule),
        Verdict::Deny(Denial {
            rule,
            reason,
            allow,
        }) => {
            let allow = allow.iter().map(|line| of_text(line));
            of_text(rule) + of_text(reason) + allow.sum::<usize>()
        }
        // Rare, and a person reads it.
        Verdict::Ask(question) => json_bytes(question),
    }
}

fn of_read(read: &Read) -> usize {
    of_label(&read.label) + of_label(&read.at)
}

fn of_touched(touched: &BTreeMap<String, Label>) -> usize {
    let of = |(id, label): (&String, &Label)| of_text(id) + of_label(label);
    touched.iter().map(of).sum()
}

/// Its sources, each with what stands around its name.
fn of_label(label: &Label) -> usize {
    let sources = label.sources();
    sources.map(|source| 16 + of_text(source.name())).sum()
}

fn of_content(content: &Content) -> usize {
    match content {
        Content::Inline(value) => of_value(value),
        Content::Stored { bytes, .. } => *bytes,
        Content::Empty | Content::Size { .. } => 0,
    }
}

fn of_weighed(weighed: &[Weighed]) -> usize {
    let of = |one: &Weighed| {
        of_text(&one.argument) + of_text(&one.value) + of_text(&one.kind) + of_text(&one.witness)
    };
    weighed.iter().map(of).sum()
}

/// A value as JSON text.
fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => of_text(text),
        Value::Array(items) => 2 + items.iter().map(|item| 1 + of_value(item)).sum::<usize>(),
        Value::Object(map) => {
            let of = |(key, item): (&String, &Value)| 2 + of_text(key) + of_value(item);
            2 + map.iter().map(of).sum::<usize>()
        }
    }
}

/// A text in quotes, with what has to be escaped in it.
fn of_text(text: &str) -> usize {
    let of = |byte: u8| match byte {
        0..=0x1f => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    2 + text.bytes().map(of).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Answer, EffectKind, Question, Spent, Wrote};
    use super::*;
    use crate::words::error::{Code, Issue};
    use crate::words::id::{Digest, Place, QuestionId};
    use crate::words::label::{Sort, Source};

    /// The end of an effect.
    fn ended(end: End) -> Finished {
        Finished {
            of: 1,
            end,
            label: Label::default(),
            told: None,
            remade: None,
            touched: BTreeMap::default(),
            read: None,
            wrote: None,
            spent: Spent::default(),
        }
    }

    fn done(content: Content) -> Event {
        Event::Finished(ended(End::Done { content }))
    }

    /// A wish of which nothing is large.
    fn wished() -> Judged {
        Judged {
            effect: EffectKind::Call,
            subject: "a.b".to_owned(),
            component: None,
            origin: "model".to_owned(),
            place: Place::default(),
            content: Content::Empty,
            label: Label::default(),
            weighed: Vec::new(),
            given: BTreeMap::new(),
            verdict: Verdict::Allow {
                rule: "tools".to_owned(),
            },
        }
    }

    fn refused() -> Denial {
        Denial {
            rule: "grant".to_owned(),
            reason: "not granted".to_owned(),
            allow: Vec::new(),
        }
    }

    fn steps() -> Remade {
        Remade {
            content: Content::Empty,
            label: Label::default(),
            weighed: Vec::new(),
            verdict: wished().verdict,
        }
    }

    fn judged(change: impl FnOnce(&mut Judged)) -> Event {
        let mut judged = wished();
        change(&mut judged);
        Event::Judged(judged)
    }

    fn finished(change: impl FnOnce(&mut Finished)) -> Event {
        let mut finished = ended(End::Done {
            content: Content::Empty,
        });
        change(&mut finished);
        Event::Finished(finished)
    }

    fn failed(message: String, issues: Vec<Issue>) -> Event {
        Event::Finished(ended(End::Failed {
            code: Code::BadArgs,
            message,
            issues,
            retryable: false,
        }))
    }

    fn wrote(mount: String) -> Wrote {
        Wrote { mount, bytes: 1 }
    }

    /// Each place of a judgement, and of an end, that holds whatever somebody else has written.
    fn with_everywhere(text: &str) -> Vec<Event> {
        let own = || text.to_owned();
        let named = |name: &str| Label::of(Source::new(Sort::Web, name));
        let issue = || Issue {
            path: own(),
            message: own(),
        };
        let weighed = || Weighed {
            argument: own(),
            value: own(),
            kind: own(),
            witness: own(),
        };
        let inline = || Content::Inline(json!({text: [text]}));
        let asked = Question {
            id: QuestionId::of(&["q"]),
            wish: QuestionId::of(&["w"]),
            salt: None,
            rule: own(),
            text: own(),
            reasons: vec![own()],
            records: vec![own()],
            values: Vec::new(),
            lines: vec![own()],
            until: None,
            classes: None,
        };
        vec![
            judged(|judged| judged.subject = own()),
            judged(|judged| judged.origin = own()),
            judged(|judged| judged.content = inline()),
            judged(|judged| judged.label = named(text)),
            judged(|judged| judged.weighed = vec![weighed()]),
            judged(|judged| judged.given = BTreeMap::from([(own(), own())])),
            judged(|judged| judged.verdict = Verdict::Allow { rule: own() }),
            judged(|judged| {
                judged.verdict = Verdict::Deny(Denial {
                    reason: own(),
                    allow: vec![own()],
                    ..refused()
                });
            }),
            judged(|judged| judged.verdict = Verdict::Ask(asked)),
            done(inline()),
            failed(own(), vec![issue()]),
            finished(|finished| finished.label = named(text)),
            finished(|finished| finished.told = Some(json!(text))),
            finished(|finished| finished.touched = BTreeMap::from([(own(), named(text))])),
            finished(|finished| finished.read = Some(Read::at(named(text)))),
            finished(|finished| finished.wrote = Some(wrote(own()))),
            finished(|finished| {
                finished.remade = Some(Box::new(Remade {
                    content: inline(),
                    label: named(text),
                    weighed: vec![weighed()],
                    verdict: Verdict::Deny(Denial {
                        reason: own(),
                        ..refused()
                    }),
                }));
            }),
            finished(|finished| finished.remade = Some(Box::new(steps()))),
            Event::Answered {
                question: QuestionId::of(&["q"]),
                answer: Answer::Deny,
                reason: own(),
            },
        ]
    }

    #[test]
    fn what_is_large_counts_in_full_wherever_it_stands() {
        for text in ["x", "\"", "\\", "\u{1}", "é"] {
            for event in with_everywhere(&text.repeat(20_000)) {
                let least = serde_json::to_vec(&event).unwrap().len();
                let weight = usize::try_from(event.weight()).unwrap();
                let most = least + 2 * RECORD_BYTES;
                assert!(
                    (least..most).contains(&weight),
                    "{weight} for {least} of a `{}` with {text:?}",
                    event.word()
                );
            }
        }
    }

    #[test]
    fn what_stands_beside_the_records_counts_and_what_is_not_kept_does_not() {
        let digest = Digest::of(b"");
        let bytes = 100_000;
        for (content, least) in [
            (Content::Stored { digest, bytes }, bytes),
            (Content::Size { bytes }, 0),
            (Content::Empty, 0),
        ] {
            let weight = usize::try_from(done(content).weight()).unwrap();
            assert_eq!(weight, least + RECORD_BYTES);
        }
    }
}
