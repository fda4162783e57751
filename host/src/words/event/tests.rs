//! What is read of records.

use super::texts::Cleaning;
use super::*;
use crate::words::label::Source;
use crate::words::message::Thought;

/// No label, no resume: what does not say who had a hand in it was nobody's clean word.
#[test]
fn what_has_a_label_is_not_read_without_it() {
    let events = began().into_iter().chain(went_on());
    let mut labels = Vec::new();
    for event in events {
        let written = serde_json::to_value(&event).unwrap();
        assert_eq!(
            serde_json::from_value::<Event>(written.clone()).unwrap(),
            event
        );
        for place in places_of_labels(&written, "") {
            let mut without = written.clone();
            let fields = without.pointer_mut(&place).unwrap();
            fields.as_object_mut().unwrap().remove("label").unwrap();
            let read = serde_json::from_value::<Event>(without);
            assert!(read.is_err(), "{} without {place}/label", event.word());
            labels.push(event.word());
        }
    }
    let expected = [
        "started",
        "brought",
        "replied",
        "judged",
        "finished",
        "finished",
        "finished",
        "observed",
        "compacted",
        "compacted",
    ];
    assert_eq!(labels, expected);
}

fn label() -> Label {
    Label::of(Source::user())
}

fn wish() -> Judged {
    Judged {
        effect: EffectKind::Keep,
        subject: "k".to_owned(),
        component: None,
        origin: "model".to_owned(),
        place: Place::default(),
        content: Content::Empty,
        label: label(),
        weighed: Vec::new(),
        given: BTreeMap::new(),
        verdict: Verdict::Allow {
            rule: "notes".to_owned(),
        },
    }
}

/// What a run has with a label until something of it happened.
fn began() -> Vec<Event> {
    vec![
        Event::Started(Started {
            surface: Surface::Cli,
            subject: "agent".to_owned(),
            goal: "Look.".to_owned(),
            label: label(),
            narrowed: Narrowed::default(),
            ask_expires_ms: None,
            session: None,
            forked: None,
            attached: Vec::new(),
            traced: Vec::new(),
        }),
        Event::Brought(Brought {
            name: "a".to_owned(),
            from: RunId::known("run"),
            handle: "h1".to_owned(),
            tool: ToolName::parse("web.get").unwrap(),
            content: Content::Empty,
            label: label(),
        }),
        Event::Replied {
            turn: 1,
            reply: Reply::default(),
            label: label(),
        },
        Event::Judged(wish()),
    ]
}

/// And from there on.
fn went_on() -> Vec<Event> {
    let remade = Remade {
        content: Content::Empty,
        label: label(),
        weighed: Vec::new(),
        verdict: wish().verdict,
    };
    vec![
        Event::Finished(Finished {
            of: 1,
            end: End::Done {
                content: Content::Empty,
            },
            label: label(),
            told: None,
            remade: Some(Box::new(remade)),
            touched: BTreeMap::new(),
            read: Some(Read::at(label())),
            wrote: None,
            spent: Spent::default(),
        }),
        Event::Observed {
            call: "c".to_owned(),
            tool: "notes.get".to_owned(),
            observation: Observation {
                text: "x".to_owned(),
                ok: true,
                label: label(),
                flags: Vec::new(),
            },
            failed: None,
            kept: None,
        },
        Event::Compacted(Box::new(Compacted {
            through: 1,
            turns: 1,
            summary: "x".to_owned(),
            label: label(),
            by: "host".to_owned(),
            cause: Cause::Asked,
            before_tokens: 2,
            after_tokens: 1,
            summary_tokens: 1,
            estimated: false,
            instead: String::new(),
            after: vec![Noted {
                tool: ToolName::parse("notes.get").unwrap(),
                text: "y".to_owned(),
                label: label(),
                failed: None,
            }],
            spent: Spent::default(),
        })),
    ]
}

/// A schema of a client's, texts that steered a call, and what is told back to a provider as it is.
#[test]
fn what_others_wrote_is_cleaned_wherever_it_stands() {
    const VALUE: &str = "canary-7f3a9c-kept";
    let text = |text: &mut String| *text = text.replace(VALUE, "[REDACTED]");
    let value = |value: &mut Value| {
        let clean = value.to_string().replace(VALUE, "[REDACTED]");
        *value = serde_json::from_str(&clean).unwrap();
    };
    let with = Cleaning {
        text: &text,
        value: &value,
    };
    let cleaned = |mut event: Event| {
        event.clean(&with);
        let kept = serde_json::to_string(&event).unwrap();
        assert!(!kept.contains(VALUE), "{kept}");
        kept
    };
    for event in began() {
        if let Event::Started(mut started) = event {
            let schema = serde_json::json!({"properties": {VALUE: {"const": VALUE}}});
            started.narrowed.answer = Some(schema);
            let kept = cleaned(Event::Started(started));
            assert!(
                kept.contains(r#"{"[REDACTED]":{"const":"[REDACTED]"}}"#),
                "{kept}"
            );
        }
    }
    let signed = |signature: &str| Thought {
        opaque: serde_json::json!({"signature": signature}),
        ..Thought::default()
    };
    let mut thoughts = vec![signed("one"), signed(VALUE), signed("two"), signed("three")];
    thoughts[2].text = VALUE.to_owned();
    thoughts[3].call = Some(VALUE.to_owned());
    let reply = Reply {
        thoughts,
        ..Reply::default()
    };
    let kept = cleaned(Event::Replied {
        turn: 1,
        reply,
        label: label(),
    });
    assert!(kept.contains("one") && !kept.contains("two") && !kept.contains("three"));
    let file = (format!("{VALUE}.txt"), format!("so {VALUE}"));
    let kept = cleaned(Event::Judged(Judged {
        given: BTreeMap::from([file]),
        ..wish()
    }));
    assert!(
        kept.contains(r#"{"[REDACTED].txt":"so [REDACTED]"}"#),
        "{kept}"
    );
}

/// Where objects stand that have a label.
fn places_of_labels(value: &Value, place: &str) -> Vec<String> {
    let below = |key: String, value: &Value| places_of_labels(value, &format!("{place}/{key}"));
    match value {
        Value::Object(fields) => {
            let own = fields.contains_key("label").then(|| place.to_owned());
            let fields = fields.iter();
            let inside = fields.flat_map(|(key, value)| below(key.clone(), value));
            own.into_iter().chain(inside).collect()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(at, value)| below(at.to_string(), value))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
