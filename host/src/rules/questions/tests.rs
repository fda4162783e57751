//! Questions as their records tell them: a list of events, and what stands then.

use super::*;
use crate::words::event::Denial;
use crate::words::id::Seq;

fn question(name: &str, reasons: &[&str], until: Option<u64>) -> Question {
    Question {
        id: QuestionId::of(&[name]),
        wish: QuestionId::of(&["wish"]),
        salt: None,
        rule: String::new(),
        text: String::new(),
        reasons: reasons.iter().map(ToString::to_string).collect(),
        values: vec![QuestionId::of(&[name, "value"])],
        lines: Vec::new(),
        until,
        records: Vec::new(),
        classes: None,
    }
}

fn judged(place: u32, verdict: Verdict) -> Event {
    Event::Judged(Judged {
        effect: EffectKind::Call,
        subject: "mail.send".to_owned(),
        component: None,
        origin: "model".to_owned(),
        place: Place::default().inside(place),
        content: Content::Empty,
        label: Label::default(),
        weighed: Vec::new(),
        given: Default::default(),
        verdict,
    })
}

fn asked(place: u32, question: Question) -> Event {
    judged(place, Verdict::Ask(question))
}

fn answered(name: &str, answer: Answer) -> Event {
    let question = QuestionId::of(&[name]);
    Event::Answered {
        question,
        answer,
        reason: "not today".to_owned(),
    }
}

fn expired(name: &str) -> Event {
    let question = QuestionId::of(&[name]);
    Event::Expired { question }
}

fn paused() -> Event {
    let questions = Vec::new();
    Event::Paused { questions }
}

fn of(events: Vec<Event>) -> Questions {
    let records: Vec<Record> = (0..)
        .zip(events)
        .map(|(seq, event): (Seq, Event)| Record {
            run: RunId::known("r"),
            seq,
            at: 1_000 + seq,
            parent: 0,
            event,
        })
        .collect();
    Questions::of(&records)
}

fn open(questions: &Questions) -> usize {
    questions.open().count()
}

/// What was said to the wish, asked about under this name for these reasons.
fn said(questions: &Questions, name: &str, reasons: &[&str]) -> Option<Said> {
    let id = QuestionId::of(&[name]);
    questions.said((&id, &QuestionId::of(&["wish"])), reasons)
}

#[test]
fn an_answer_counts_once_and_the_first_one() {
    let questions = of(vec![
        asked(0, question("a", &[], None)),
        answered("a", Answer::Deny),
        paused(),
        answered("a", Answer::Allow),
        paused(),
    ]);
    assert_eq!(said(&questions, "a", &[]), Some(Said::No));
    assert_eq!(open(&questions), 0);
}

#[test]
fn an_answer_without_its_pause_is_none() {
    let questions = of(vec![
        asked(0, question("a", &[], None)),
        answered("a", Answer::Allow),
        Event::Resumed { traced: Vec::new() },
        paused(),
    ]);
    assert_eq!(said(&questions, "a", &[]), None);
    assert_eq!(open(&questions), 1);
}

#[test]
fn a_yes_is_one_to_what_was_told_and_to_less() {
    let questions = of(vec![
        asked(0, question("a", &["one", "two"], None)),
        answered("a", Answer::Allow),
        paused(),
    ]);
    assert_eq!(said(&questions, "b", &["two"]), Some(Said::Yes));
    assert_eq!(said(&questions, "b", &[]), Some(Said::Yes));
    assert_eq!(said(&questions, "b", &["one", "two", "three"]), None);
    assert_eq!(said(&questions, "b", &["three"]), None);
    // What a record was cleaned of is compared by the name of the question.
    assert_eq!(said(&questions, "a", &["three"]), Some(Said::Yes));
    let other = QuestionId::of(&["another wish"]);
    assert_eq!(questions.said((&other, &other), &[]), None);
}

#[test]
fn a_no_is_one_to_the_wish() {
    let questions = of(vec![
        asked(0, question("a", &["one"], None)),
        answered("a", Answer::Deny),
        paused(),
        asked(0, question("b", &["one", "two"], None)),
        answered("b", Answer::Allow),
        paused(),
    ]);
    assert_eq!(said(&questions, "c", &["three"]), Some(Said::No));
    assert_eq!(said(&questions, "b", &["one"]), Some(Said::No));
}

/// There is one call at a place, so whatever was asked about it there was about this one.
#[test]
fn a_no_stands_against_its_call_and_so_does_that_nobody_has_answered() {
    let ask = |name: &str| asked(0, question(name, &[], None));
    let say = |name: &str, answer| vec![ask(name), answered(name, answer), paused()];
    let late = |name: &str| vec![ask(name), expired(name)];
    let budget = |name: &str| {
        let Event::Judged(judged) = ask(name) else {
            panic!("a judgement is one")
        };
        Event::Judged(Judged {
            effect: EffectKind::Fetch,
            ..judged
        })
    };
    let no = Some(Against::No("not today"));
    for (about, events, expected) in [
        ("open", vec![ask("a")], None),
        ("yes", say("a", Answer::Allow), None),
        ("always", say("a", Answer::Always), None),
        ("no", say("a", Answer::Deny), no),
        ("late", late("a"), Some(Against::Late)),
        (
            "no, and then yes",
            [say("a", Answer::Deny), say("b", Answer::Allow)].concat(),
            no,
        ),
        (
            "yes, and then no",
            [say("a", Answer::Allow), say("b", Answer::Deny)].concat(),
            no,
        ),
        (
            "late, and then yes",
            [late("a"), say("b", Answer::Allow)].concat(),
            None,
        ),
        (
            "no to the run's budget",
            vec![budget("a"), answered("a", Answer::Deny), paused()],
            None,
        ),
    ] {
        let questions = of(events);
        let at = |place: u32| questions.against(&Place::default().inside(place));
        assert_eq!(at(0), expected, "{about}");
        assert_eq!(at(1), None, "{about}: at another place");
    }
}

#[test]
fn to_be_asked_again_is_no_way_to_more_time() {
    let questions = of(vec![
        asked(0, question("a", &[], Some(2_000))),
        asked(0, question("a", &[], Some(9_000))),
    ]);
    let id = QuestionId::of(&["a"]);
    assert_eq!(questions.until(&id), Some(Some(2_000)));
    assert_eq!(questions.late(1_999), []);
    assert_eq!(questions.late(2_000), [id]);
    assert_eq!(questions.until(&QuestionId::of(&["b"])), None);
}

#[test]
fn what_has_expired_stays_expired_and_what_was_answered_does_not_expire() {
    let late = of(vec![
        asked(0, question("a", &[], Some(2_000))),
        expired("a"),
        answered("a", Answer::Allow),
        paused(),
    ]);
    assert_eq!(said(&late, "a", &[]), Some(Said::Nothing));
    let early = of(vec![
        asked(0, question("a", &[], Some(2_000))),
        answered("a", Answer::Allow),
        paused(),
        expired("a"),
    ]);
    assert_eq!(said(&early, "a", &[]), Some(Said::Yes));
    assert_eq!(early.late(9_000), []);
}

#[test]
fn what_was_decided_since_or_is_asked_otherwise_waits_no_more() {
    let denial = Verdict::Deny(Denial {
        rule: String::new(),
        reason: String::new(),
        allow: Vec::new(),
    });
    let questions = of(vec![
        asked(0, question("a", &[], None)),
        asked(1, question("b", &[], None)),
        asked(2, question("c", &[], None)),
        judged(1, denial),
        asked(2, question("d", &["more"], None)),
    ]);
    let open: Vec<_> = questions
        .open()
        .map(|waiting| &waiting.question.id)
        .collect();
    assert_eq!(open, [&QuestionId::of(&["a"]), &QuestionId::of(&["d"])]);
}

/// Where nothing could steer again, there is nothing for the rest of the run.
#[test]
fn always_is_a_plain_yes_where_no_value_could_steer_again() {
    let plain = Question {
        values: Vec::new(),
        ..question("a", &[], None)
    };
    for (question, counts_as) in [
        (question("a", &[], None), Answer::Always),
        (plain, Answer::Allow),
    ] {
        let questions = of(vec![asked(0, question)]);
        let waiting = questions.open().next().unwrap();
        assert_eq!(waiting.counted(Answer::Always), counts_as);
        for other in [Answer::Allow, Answer::Deny] {
            assert_eq!(waiting.counted(other), other);
        }
    }
}

#[test]
fn values_are_answered_for_by_always_alone() {
    let questions = of(vec![
        asked(0, question("a", &[], None)),
        answered("a", Answer::Always),
        paused(),
        asked(1, question("b", &[], None)),
        answered("b", Answer::Allow),
        paused(),
    ]);
    let values: Vec<_> = questions.always().collect();
    assert_eq!(values, [&QuestionId::of(&["a", "value"])]);
}

#[test]
fn only_a_wish_for_a_call_by_whoever_can_wait_is_asked_about_or_decided() {
    let other = |effect, origin: &str, verdict| {
        let Event::Judged(judged) = judged(0, verdict) else {
            panic!("a judgement is one")
        };
        Event::Judged(Judged {
            effect,
            origin: origin.to_owned(),
            ..judged
        })
    };
    let allow = || Verdict::Allow {
        rule: String::new(),
    };
    for (effect, origin) in [
        (EffectKind::File, "model"),
        (EffectKind::Call, "files.write"),
    ] {
        let ask = Verdict::Ask(question("b", &[], None));
        let questions = of(vec![other(effect, origin, ask)]);
        assert_eq!(open(&questions), 0, "{origin}");
        let first = asked(0, question("a", &[], None));
        let questions = of(vec![first, other(effect, origin, allow())]);
        assert_eq!(open(&questions), 1, "{origin}: it says nothing of the wish");
    }
}

#[test]
fn why_is_told_of_a_no_to_this_very_wish() {
    let why = |answer, wish: &str| {
        let events = vec![
            asked(1, question("q", &[], None)),
            answered("q", answer),
            paused(),
        ];
        of(events).why_not(&QuestionId::of(&[wish])).to_owned()
    };
    assert_eq!(why(Answer::Deny, "wish"), "not today");
    assert_eq!(why(Answer::Deny, "another"), "");
    assert_eq!(why(Answer::Allow, "wish"), "");
}

/// A form that a server puts in the middle of the run's first call.
fn put(question: Question) -> Event {
    let form = serde_json::json!({"message": "how many?", "schema": {"type": "object"}});
    let Event::Judged(judged) = asked(2, question) else {
        panic!("a judgement");
    };
    Event::Judged(Judged {
        effect: EffectKind::Show,
        subject: "form of mcp:shop".to_owned(),
        content: Content::Inline(form),
        ..judged
    })
}

fn finished(of: Seq) -> Event {
    let event = serde_json::json!({"event": "finished", "of": of, "end": "done", "content": "empty", "label": [],
        "spent": {"us": 0}});
    serde_json::from_value(event).unwrap()
}

#[test]
fn a_form_waits_as_long_as_its_call_is_under_way() {
    let allowed = Verdict::Allow {
        rule: String::new(),
    };
    let form = || vec![judged(1, allowed.clone()), put(question("f", &[], None))];
    assert_eq!(open(&of(form())), 1);
    for (over, waits) in [(finished(0), 0), (finished(7), 1), (paused(), 0)] {
        let mut events = form();
        events.push(over);
        assert_eq!(open(&of(events)), waits);
    }
}
