//! What is recalled of a script that is run again, and which of its calls may run together.

use super::*;
use crate::words::event::{Denial, Finished, Question, Spent};
use crate::words::id::{QuestionId, RunId};
use crate::words::label::{Sort, Source};

fn order(script: &str) -> String {
    // Each letter a call.
    let mut queue = Queue::default();
    for (position, letter) in (0..).zip(script.chars()) {
        let grouping = if letter == 'R' {
            Grouping::Together
        } else {
            Grouping::Alone
        };
        queue.add(position, grouping);
    }
    run(&mut queue, |_| Timing::default())
}

/// Begins as many as may, then ends the oldest.
fn run(queue: &mut Queue, timing: impl Fn(u32) -> Timing) -> String {
    let (mut said, mut running) = (String::new(), VecDeque::new());
    loop {
        while let Some(position) = queue.begin(&timing) {
            said.push_str(&position.to_string());
            running.push_back(position);
        }
        let Some(oldest) = running.pop_front() else {
            return said;
        };
        queue.end(oldest);
        said.push('.');
    }
}

#[test]
fn calls_that_look_run_together_and_others_alone() {
    assert_eq!(order("RRR"), "012...");
    assert_eq!(order("RWR"), "0.1.2.");
    assert_eq!(order("RRWRR"), "01..2.34..");
    assert_eq!(order("RRRRRRRRRR"), "01234567.8.9........");
    assert_eq!(order("WW"), "0.1.");
}

/// Calls that only look, and what the time of each tells: it is seen outside, of a secret, both, or neither.
fn timed(letters: &str) -> (Queue, impl Fn(u32) -> Timing) {
    let mut queue = Queue::default();
    let mut timings = BTreeMap::new();
    for (position, letter) in (0..).zip(letters.chars()) {
        let timing = Timing {
            seen: "ob".contains(letter),
            secret: "sb".contains(letter),
        };
        queue.add(position, Grouping::Together);
        timings.insert(position, timing);
    }
    (queue, move |position| timings[&position])
}

#[test]
fn nobody_outside_sees_a_call_while_one_tells_of_a_secret_where_a_stranger_has_influence() {
    for (letters, guarded) in [
        ("oonss", "012..34..."),
        ("sno", "01.2.."),
        ("nsn", "012..."),
        ("bb", "0.1."),
        // Whatever stands between two begins with the first one that may.
        ("osno", "0.12.3.."),
    ] {
        let (mut queue, timing) = timed(letters);
        let free = run(&mut queue, timing);
        let together = free.trim_end_matches('.').len();
        assert_eq!(together, letters.len(), "{letters}: {free}");
        let (mut queue, timing) = timed(letters);
        queue.guard();
        assert_eq!(run(&mut queue, timing), guarded, "{letters}");
    }
}

#[test]
fn what_has_begun_bars_what_comes_once_a_stranger_has_influence() {
    let (mut queue, timing) = timed("os");
    assert_eq!(queue.begin(&timing), Some(0));
    queue.guard();
    assert_eq!(queue.begin(&timing), None);
    queue.end(0);
    assert_eq!(queue.begin(&timing), Some(1));
}

/// It sends nothing before somebody has answered.
#[test]
fn what_waits_for_a_person_is_seen_by_nobody() {
    let (mut queue, timing) = timed("oos");
    queue.guard();
    let both = (queue.begin(&timing), queue.begin(&timing));
    assert_eq!(both, (Some(0), Some(1)));
    queue.ask(0);
    let next = (queue.begin(&timing), queue.ahead());
    assert_eq!(next, (None, None), "the other is open");
    queue.end(1);
    assert_eq!(queue.begin(&timing), Some(2));
}

/// The next one, where no time tells anything.
fn begin(queue: &mut Queue) -> Option<u32> {
    queue.begin(|_| Timing::default())
}

fn queue(of: &[Grouping]) -> Queue {
    let mut queue = Queue::default();
    (0..)
        .zip(of)
        .for_each(|(position, grouping)| queue.add(position, *grouping));
    queue
}

#[test]
fn nothing_is_asked_ahead_while_nobody_is_asked_or_anything_runs() {
    use Grouping::{Alone, Together};
    assert_eq!(queue(&[Alone]).ahead(), None, "nobody is asked");
    let mut two = queue(&[Together, Together, Alone]);
    assert_eq!((begin(&mut two), begin(&mut two)), (Some(0), Some(1)));
    two.ask(0);
    assert_eq!(two.ahead(), None, "the other runs");
    two.end(1);
    assert_eq!(
        (begin(&mut two), two.ahead(), two.ahead()),
        (None, Some(2), None)
    );
}

#[test]
fn what_changes_something_and_waits_bars_everything_and_what_looks_bars_no_looking() {
    use Grouping::{Alone, Together};
    let mut look = queue(&[Together, Together]);
    assert_eq!(begin(&mut look), Some(0));
    look.ask(0);
    assert_eq!(begin(&mut look), Some(1));
    let mut change = queue(&[Alone, Together]);
    assert_eq!(begin(&mut change), Some(0));
    change.ask(0);
    assert_eq!((begin(&mut change), change.ahead()), (None, Some(1)));
    // What is asked about later bars no less than what was asked about before.
    change.add(2, Together);
    assert_eq!(begin(&mut change), None);
}

fn record(seq: Seq, parent: Seq, event: Event) -> Record {
    Record {
        run: RunId::known("r"),
        seq,
        at: 1_000 + seq,
        parent,
        event,
    }
}

fn judged(place: Place, subject: &str, verdict: Verdict) -> Event {
    Event::Judged(Judged {
        effect: EffectKind::Call,
        subject: subject.to_owned(),
        component: None,
        origin: "script".to_owned(),
        place,
        content: Content::Inline(json!({"a": 1})),
        label: Label::default(),
        weighed: Vec::new(),
        given: Default::default(),
        verdict,
    })
}

fn allow() -> Verdict {
    Verdict::Allow {
        rule: String::new(),
    }
}

fn finished(of: Seq, end: End) -> Event {
    Event::Finished(Finished {
        of,
        end,
        label: Label::default(),
        told: None,
        remade: None,
        touched: BTreeMap::new(),
        read: None,
        wrote: None,
        spent: Spent::default(),
    })
}

fn failed(code: Code) -> End {
    End::Failed {
        code,
        message: "m".to_owned(),
        issues: Vec::new(),
        retryable: false,
    }
}

fn at(position: u32) -> Place {
    Place::default().inside(position)
}

/// Positions and what they were answered, in order.
fn answers(recall: &Recall) -> Vec<(u32, String)> {
    let word = |answered: &Answered| match answered {
        Answered::Value(value) => value.to_string(),
        Answered::Failed { code, .. } => code.word(),
        Answered::Rested => "rested".to_owned(),
    };
    let settled = recall.settled.iter();
    settled
        .map(|settled| (settled.position, word(&settled.answered)))
        .collect()
}

#[test]
fn answers_are_recalled_in_the_order_of_their_ends() {
    let done = |value: Value| End::Done {
        content: Content::Inline(value),
    };
    let denial = Denial {
        rule: "r".to_owned(),
        reason: "no".to_owned(),
        allow: Vec::new(),
    };
    let records = [
        record(0, 0, judged(Place::default(), TOOL, allow())),
        record(1, 0, judged(at(0), "a.b", allow())),
        record(2, 0, judged(at(1), "a.c", allow())),
        record(3, 0, judged(at(2), "a.d", Verdict::Deny(denial))),
        record(4, 3, finished(3, failed(Code::Denied))),
        record(5, 2, finished(2, done(json!(2)))),
        record(6, 0, Event::Rested { place: at(3) }),
        record(7, 1, finished(1, done(json!(1)))),
    ];
    let recall = Recall::of(&records, &Place::default(), |_| true);
    let expected = [(2, "denied"), (1, "2"), (3, "rested"), (0, "1")];
    let expected = expected.map(|(position, word)| (position, word.to_owned()));
    assert_eq!(answers(&recall), expected);
    assert_eq!(recall.settled.front().map(|first| first.at), Some(1_004));
}

#[test]
fn what_was_cut_off_is_made_again_only_where_it_may_be() {
    let records = [
        record(0, 0, judged(at(0), "look.at", allow())),
        record(1, 0, finished(0, failed(Code::Cancelled))),
        record(2, 0, judged(at(1), "mail.send", allow())),
        record(3, 0, finished(2, failed(Code::InDoubt))),
        record(4, 0, judged(at(2), "mail.send", allow())),
    ];
    let recall = Recall::of(&records, &Place::default(), |tool| tool == "look.at");
    assert_eq!(answers(&recall), [(1, "in_doubt".to_owned())]);
    assert_eq!(recall.left(0), Left::Fresh);
    assert_eq!(recall.left(2), Left::Begun(4));
    assert_eq!(recall.left(9), Left::Fresh);
}

#[test]
fn behind_what_waits_for_a_person_nothing_begins_that_a_barrier_holds() {
    let mut queue = Queue::default();
    for (position, letter) in (0..).zip("RRWRR".chars()) {
        let grouping = match letter {
            'R' => Grouping::Together,
            _ => Grouping::Alone,
        };
        queue.add(position, grouping);
    }
    assert_eq!((begin(&mut queue), begin(&mut queue)), (Some(0), Some(1)));
    assert_eq!(begin(&mut queue), None);
    // A neighbour that only looks has begun already, and goes on.
    queue.ask(1);
    assert_eq!((begin(&mut queue), queue.ahead()), (None, None));
    queue.end(0);
    assert_eq!(begin(&mut queue), None, "the barrier holds");
    assert_eq!(queue.ahead(), Some(2));
    assert_eq!(
        begin(&mut queue),
        None,
        "so does the one that is asked about"
    );
    assert_eq!((queue.ahead(), queue.ahead()), (Some(3), Some(4)));
    assert_eq!((begin(&mut queue), queue.ahead()), (None, None));
}

#[test]
fn beside_what_only_looks_and_waits_others_look() {
    let mut queue = Queue::default();
    queue.add(0, Grouping::Together);
    assert_eq!(begin(&mut queue), Some(0));
    queue.ask(0);
    queue.add(1, Grouping::Together);
    assert_eq!(begin(&mut queue), Some(1));
    queue.end(1);
    queue.add(2, Grouping::Alone);
    assert_eq!((begin(&mut queue), queue.ahead()), (None, Some(2)));
    queue.add(3, Grouping::Together);
    assert_eq!((begin(&mut queue), queue.ahead()), (None, Some(3)));
}

#[test]
fn what_was_asked_about_is_judged_again() {
    let question = Question {
        id: QuestionId::of(&["q"]),
        wish: QuestionId::of(&["w"]),
        salt: None,
        rule: String::new(),
        text: String::new(),
        reasons: Vec::new(),
        values: Vec::new(),
        lines: Vec::new(),
        until: None,
        records: Vec::new(),
        classes: None,
    };
    let records = [record(0, 0, judged(at(0), "a.b", Verdict::Ask(question)))];
    let recall = Recall::of(&records, &Place::default(), |_| true);
    assert_eq!(recall.left(0), Left::Fresh);
    assert!(!recall.answers(0));
}

#[test]
fn a_call_is_wished_under_the_influence_of_no_less_than_in_any_earlier_life() {
    let mut first = judged(at(0), "a.b", allow());
    let page = Label::of(Source::new(Sort::Web, "https://a.test"));
    if let Event::Judged(judged) = &mut first {
        judged.label = page.clone();
    }
    let second = judged(at(0), "a.b", allow());
    let records = [record(0, 0, first), record(1, 0, second)];
    let recall = Recall::of(&records, &Place::default(), |_| true);
    assert_eq!(recall.under(0), page);
    assert_eq!(recall.under(1), Label::default());
}

#[test]
fn another_wish_at_the_same_place_has_diverged() {
    let records = [record(0, 0, judged(at(0), "a.b", allow()))];
    let recall = Recall::of(&records, &Place::default(), |_| true);
    let same = WishedArgs::Json(json!({"a": 1}));
    assert!(recall.compare(0, ("a.b", "a.b"), &same).is_ok());
    assert!(recall.compare(1, ("x.y", "x.y"), &same).is_ok());
    for (tool, args) in [("a.c", json!({"a": 1})), ("a.b", json!({"a": 2}))] {
        let error = recall
            .compare(0, (tool, tool), &WishedArgs::Json(args))
            .unwrap_err();
        assert_eq!(error.code(), Code::Diverged);
        assert!(error.message().contains("request 0"), "{error}");
    }
}

#[test]
fn what_was_turned_down_is_the_same_by_what_its_record_calls_it() {
    let records = [record(0, 0, judged(at(0), "a name of 600 bytes", allow()))];
    let recall = Recall::of(&records, &Place::default(), |_| true);
    let args = WishedArgs::Json(json!({"a": 1}));
    let long = "x".repeat(600);
    let compare = |named: &str| recall.compare(0, (&long, named), &args);
    assert!(compare("a name of 600 bytes").is_ok());
    let error = compare("a name of 601 bytes").unwrap_err();
    assert_eq!(error.code(), Code::Diverged);
    assert!(!error.message().contains("xxx"), "{error}");
}

/// Each time, and not only by the last one (U-17).
#[test]
fn a_call_that_was_made_again_is_under_the_influence_of_all_its_ends() {
    let under = |mut event: Event, label: &Label| {
        event.each_label(|own| *own = label.clone());
        event
    };
    let from = |name: &str| Label::of(Source::new(Sort::Web, name));
    let (first, second) = (from("https://a.test"), from("https://b.test"));
    let busy = || failed(Code::RateLimited);
    let done = End::Done {
        content: Content::Empty,
    };
    let records = [
        record(0, 0, judged(at(0), "a.b", allow())),
        record(1, 0, under(finished(0, busy()), &first)),
        record(2, 0, judged(at(0), "a.b", allow())),
        record(3, 2, under(finished(2, busy()), &second)),
        record(4, 0, judged(at(0), "a.b", allow())),
        record(5, 4, finished(4, done)),
    ];
    let recall = Recall::of(&records, &Place::default(), |_| true);
    let labels: Vec<&Label> = recall.settled.iter().map(|one| &one.label).collect();
    assert_eq!(labels, [&first.join(&second)]);
}
