//! What a person has said to a call, and what is decided of it once it goes on: where a line asks for their word still,
//! and where nothing does.

use std::sync::Arc;

use serde_json::json;

use crate::gate::Gate;
use crate::gate::journal::Journal;
use crate::rules::call::Call;
use crate::rules::caller::{Budget, Caller, Known, Origin};
use crate::rules::grant::Pattern;
use crate::rules::manifest::Risk;
use crate::rules::policy::Policy;
use crate::rules::questions::Questions;
use crate::rules::schema::Args;
use crate::words::clock::{Clock, Deadline};
use crate::words::event::{Answer, Content, EffectKind, Event, Judged, Record, Surface, Verdict};
use crate::words::id::{Digest, Place, RunId, ToolName};
use crate::words::key::HostKey;
use crate::words::label::Label;

fn tool() -> ToolName {
    ToolName::parse("box.act").unwrap()
}

fn call(component: &str) -> Call {
    let manifest = json!({
        "name": "act", "description": "", "input": {}, "output": {},
        "effect": "side-effecting", "risk": "high_risk",
    });
    Call {
        tool: tool(),
        component: Digest::of(component.as_bytes()),
        declared: Arc::new(serde_json::from_value(manifest).unwrap()),
        grant: Arc::default(),
        args: Args::own(json!({"a": 1})),
        held: Label::default(),
        places: Vec::new(),
        attached: Vec::new(),
        wish: None,
    }
}

fn caller(place: u32, questions: Questions) -> Caller {
    let mut known = Known::default();
    known.questions = Arc::new(questions);
    Caller {
        run: RunId::known("run"),
        parent: 0,
        place: Place::default().inside(place),
        known,
        surface: Surface::Cli,
        origin: Origin::Model,
        reach: Arc::new([Pattern::all()]),
        grant: Arc::default(),
        label: Label::default(),
        depth: 0,
        deadline: Deadline::after_ms(1_000),
        budget: Budget::of_calls(1),
    }
}

/// A policy that allows the call, and asks about it or does not.
fn policy(asks: bool) -> Policy {
    let mut policy = Policy::nothing("test");
    policy.risks.insert(Risk::HighRisk);
    if asks {
        policy.asks.tools.push(Pattern::exactly(&tool()));
    }
    policy
}

/// The gate of a host that has this key.
fn gate(key: u8, asks: bool) -> Gate {
    let journal = Journal::in_memory(Clock::system(), HostKey::new(&[key; 32])).unwrap();
    Gate::new(Arc::new(policy(asks)), journal)
}

/// What is decided of the call at a place: the verdict, or the rule of a denial.
fn decided(caller: &Caller, call: &Call, asks: bool) -> String {
    match gate(7, asks).foresee(caller, call).verdict {
        Verdict::Deny(denial) => denial.rule,
        verdict @ (Verdict::Allow { .. } | Verdict::Ask(_)) => verdict.word().to_owned(),
    }
}

/// A run that was asked about the call at its first place, and of which this is known beside.
fn asked(said: impl FnOnce(&Verdict) -> Vec<Event>) -> Questions {
    let wished = caller(0, Questions::default());
    let verdict = gate(7, true).foresee(&wished, &call("one")).verdict;
    let said = said(&verdict);
    let judged = Event::Judged(Judged {
        effect: EffectKind::Call,
        subject: tool().to_string(),
        component: None,
        origin: "model".to_owned(),
        place: wished.place.clone(),
        content: Content::Empty,
        label: Label::default(),
        weighed: Vec::new(),
        given: Default::default(),
        verdict,
    });
    let events = std::iter::once(judged).chain(said);
    let records = (0..).zip(events).map(|(seq, event)| Record {
        run: wished.run.clone(),
        seq,
        at: 1_000,
        parent: 0,
        event,
    });
    Questions::of(&records.collect::<Vec<_>>())
}

fn answered(answer: Answer) -> Questions {
    asked(|verdict| {
        let Verdict::Ask(question) = verdict else {
            panic!("nobody is asked: {verdict:?}")
        };
        let question = question.id.clone();
        let reason = String::new();
        let questions = Vec::new();
        vec![
            Event::Answered {
                question,
                answer,
                reason,
            },
            Event::Paused { questions },
        ]
    })
}

fn expired() -> Questions {
    asked(|verdict| {
        let Verdict::Ask(question) = verdict else {
            panic!("nobody is asked: {verdict:?}")
        };
        let question = question.id.clone();
        vec![Event::Expired { question }]
    })
}

/// What is asked may quote what a handle holds, and whoever is told the name may know all else of it.
#[test]
fn whoever_guesses_what_is_asked_does_not_see_by_its_name_that_they_are_right() {
    let asked = |gate: &Gate| {
        let wished = caller(0, Questions::default());
        match gate.foresee(&wished, &call("one")).verdict {
            Verdict::Ask(question) => question,
            verdict @ (Verdict::Allow { .. } | Verdict::Deny(_)) => {
                panic!("nobody is asked: {verdict:?}")
            }
        }
    };
    let (host, other) = (asked(&gate(7, true)), asked(&gate(8, true)));
    assert_eq!(host.text, other.text);
    assert_eq!(host.wish, other.wish);
    assert_ne!(host.id, other.id);
    assert_eq!(host, asked(&gate(7, true)));
    // What was recorded by another host is named again as there, or as in an older version.
    let recorded = |salt| {
        let gate = gate(8, true);
        gate.journal().name_with(salt);
        asked(&gate)
    };
    assert_eq!(host, recorded(host.salt));
    assert!(![host.id, other.id].contains(&recorded(None).id));
}

#[test]
fn a_no_stands_whether_a_person_would_be_asked_by_then_or_not() {
    for (about, questions, asking, silent) in [
        ("nobody was asked", Questions::default(), "ask", "allow"),
        // The judgement that needs nobody's word takes the question back.
        ("nobody has said", asked(|_| Vec::new()), "ask", "allow"),
        ("yes", answered(Answer::Allow), "allow", "allow"),
        ("always", answered(Answer::Always), "allow", "allow"),
        ("no", answered(Answer::Deny), "answered", "answered"),
        ("too late", expired(), "expired", "expired"),
    ] {
        let here = caller(0, questions.clone());
        assert_eq!(decided(&here, &call("one"), true), asking, "{about}");
        assert_eq!(decided(&here, &call("one"), false), silent, "{about}");
        let elsewhere = caller(1, questions);
        assert_eq!(decided(&elsewhere, &call("one"), true), "ask", "{about}");
        assert_eq!(decided(&elsewhere, &call("one"), false), "allow", "{about}");
    }
}

/// A yes is one to the component that was asked about, and a no is one to the call.
#[test]
fn no_newer_component_takes_a_no_back() {
    for (questions, asking, silent) in [
        (answered(Answer::Allow), "ask", "allow"),
        (answered(Answer::Deny), "answered", "answered"),
        (expired(), "expired", "expired"),
    ] {
        let here = caller(0, questions);
        assert_eq!(decided(&here, &call("two"), true), asking);
        assert_eq!(decided(&here, &call("two"), false), silent);
    }
}

/// What a guest wishes in the middle of its own call nobody was asked about.
#[test]
fn a_no_to_a_call_is_none_to_what_others_wish() {
    let here = caller(0, answered(Answer::Deny));
    let inside = Caller {
        known: here.known.inside(here.known.bearing.clone()),
        origin: Origin::Tool(ToolName::parse("box.other").unwrap()),
        ..here
    };
    assert_eq!(decided(&inside, &call("one"), false), "allow");
}
