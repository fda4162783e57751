//! The plan of a run: its bounds, its states, and that it ends once.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::json;

use super::super::pace::OnDenied;
use super::*;
use crate::words::limits::{
    RUN_CORRECTIONS, RUN_DENIED_REPEATS, RUN_FAILED_TURNS, RUN_IDENTICAL_BATCHES,
};
use crate::words::message::WishedArgs;

fn call(tool: &str, number: u32) -> ToolCall {
    ToolCall {
        id: tool.to_owned(),
        tool: tool.to_owned(),
        args: WishedArgs::Json(json!({ "number": number })),
    }
}

fn seen(fared: Fared) -> Seen {
    let observation = Observation {
        text: format!("{fared:?}"),
        ok: fared == Fared::Well,
        label: Label::default(),
        flags: Vec::new(),
    };
    Seen {
        observation,
        fared,
        seq: 0,
    }
}

fn asks(calls: Vec<ToolCall>) -> Reply {
    Reply {
        calls,
        ..Reply::default()
    }
}

fn says(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        ..Reply::default()
    }
}

fn together(_: &str) -> Grouping {
    Grouping::Together
}

fn plan(pace: Pace) -> Plan {
    Plan::new("goal", Label::default(), 50, pace)
}

/// One turn after the other with one call each, which fares so, until the run is over: how many turns, and why.
/// Where the arguments differ, no batch is like the one before.
fn until_over(mut plan: Plan, differ: bool, fares: impl Fn(u32) -> Fared) -> (u32, Code, String) {
    let turns = Cell::new(0);
    loop {
        match plan.next(together) {
            Step::Prompt(turn) => {
                turns.set(turn);
                plan.replied(asks(vec![call("R", if differ { turn } else { 0 })]));
            }
            Step::Calls(groups) => {
                assert_eq!(groups.len(), 1);
                plan.observed(vec![seen(fares(turns.get()))]);
            }
            Step::Answer(_) => panic!("it never answers"),
            Step::Fail(code, why) => return (turns.get(), code, why),
        }
    }
}

#[track_caller]
fn check_limit(plan: Plan, differ: bool, fares: Fared, (turns, word): (u32, &str)) {
    let (got, code, why) = until_over(plan, differ, |_| fares);
    assert_eq!((got, code), (turns, Code::OverBudget), "{why}");
    assert!(why.starts_with(&format!("{word}: ")), "{why}");
}

#[test]
fn each_bound_ends_the_run_by_its_own_name() {
    let pace = Pace::default();
    let eight = Plan::new("goal", Label::default(), 8, pace);
    check_limit(eight, true, Fared::Well, (8, "turn_limit"));
    let times = RUN_IDENTICAL_BATCHES;
    check_limit(plan(pace), false, Fared::Well, (times, "loop_guard"));
    let wrong = RUN_CORRECTIONS + 1;
    check_limit(
        plan(pace),
        true,
        Fared::Malformed,
        (wrong, "correction_limit"),
    );
    let failed = Fared::Failed(Code::Trapped);
    check_limit(
        plan(pace),
        true,
        failed,
        (RUN_FAILED_TURNS + 1, "failure_limit"),
    );
    let three = Pace { calls: 3, ..pace };
    check_limit(plan(three), true, Fared::Well, (4, "call_limit"));
}

#[test]
fn what_does_not_happen_in_a_row_is_counted_anew() {
    let pace = Pace::default();
    let now_and_then = |turn: u32| match turn.is_multiple_of(3) {
        true => Fared::Well,
        false => Fared::Failed(Code::TooSlow),
    };
    let (turns, _, why) = until_over(plan(pace), true, now_and_then);
    assert_eq!(turns, 50, "{why}");
    let (turns, _, why) = until_over(plan(pace), true, |turn| match turn {
        1..=3 => Fared::Malformed,
        _ => Fared::Well,
    });
    assert_eq!(turns, 50, "{why}");
    let last_is_wrong = |turn: u32| match turn {
        1..=3 | 40 => Fared::Malformed,
        _ => Fared::Well,
    };
    let (turns, _, why) = until_over(plan(pace), true, last_is_wrong);
    assert_eq!(turns, 40, "corrections are for ever: {why}");
}

#[test]
fn a_model_may_be_asked_once_more_for_its_answer() {
    let pace = Pace {
        final_answer_turn: true,
        ..Pace::default()
    };
    let three = || Plan::new("goal", Label::default(), 3, pace);
    check_limit(three(), true, Fared::Well, (4, "turn_limit"));
    let at_its_last_turn = || {
        let mut plan = three();
        for turn in 1..=3 {
            assert!(!plan.is_final(), "{turn}");
            assert_eq!(plan.next(together), Step::Prompt(turn));
            plan.replied(asks(vec![call("R", turn)]));
            plan.observed(vec![seen(Fared::Well)]);
        }
        assert!(plan.is_final());
        assert_eq!(plan.next(together), Step::Prompt(4));
        plan
    };
    let mut plan = at_its_last_turn();
    plan.replied(asks(vec![call("R", 4)]));
    let over = plan.next(together);
    assert!(matches!(over, Step::Fail(..)), "{over:?}");
    let mut plan = at_its_last_turn();
    plan.replied(says("what I have"));
    assert_eq!(plan.next(together), Step::Answer("what I have".to_owned()));
}

#[test]
fn a_denied_call_may_be_repeated_once() {
    let pace = Pace::default();
    let (turns, code, why) = until_over(plan(pace), false, |_| Fared::Denied);
    assert_eq!((turns, code), (RUN_DENIED_REPEATS + 2, Code::Denied));
    assert!(why.contains("denied 3 times"), "{why}");
    let (turns, ..) = until_over(plan(pace), true, |_| Fared::Denied);
    assert_eq!(turns, 50, "other calls are others");
    let strict = Pace {
        on_denied: OnDenied::Fail,
        ..pace
    };
    let (turns, code, why) = until_over(plan(strict), true, |_| Fared::Denied);
    assert_eq!((turns, code), (1, Code::Denied), "{why}");
}

#[test]
fn a_failure_is_told_or_ends_the_run() {
    let strict = Pace {
        recover_tool_failures: false,
        ..Pace::default()
    };
    let (turns, code, why) = until_over(plan(strict), true, |_| Fared::Failed(Code::Trapped));
    assert_eq!((turns, code), (1, Code::Trapped));
    assert!(why.contains("`R` failed (trapped)"), "{why}");
}

#[test]
fn who_calls_only_what_is_not_there_answers_in_plain_text_or_fails() {
    let begun = || {
        let mut plan = plan(Pace::default());
        plan.replied(asks(vec![call("X", 1), call("Y", 1)]));
        plan.observed(vec![seen(Fared::Unavailable), seen(Fared::Unavailable)]);
        assert_eq!(plan.next(together), Step::Prompt(2));
        plan
    };
    let mut well = begun();
    well.replied(says("plain"));
    assert_eq!(well.next(together), Step::Answer("plain".into()));
    let mut again = begun();
    again.replied(asks(vec![call("R", 1)]));
    let Step::Fail(code, why) = again.next(together) else {
        panic!("nothing is called in that turn");
    };
    assert_eq!(code, Code::UnknownTool);
    assert!(why.starts_with("no_such_tools: "), "{why}");
    assert_eq!(
        again.stop(),
        Some((State::Limited, Some(Limit::NoSuchTools)))
    );
    let mut mixed = plan(Pace::default());
    mixed.replied(asks(vec![call("X", 1), call("R", 1)]));
    mixed.observed(vec![seen(Fared::Unavailable), seen(Fared::Well)]);
    mixed.replied(asks(vec![call("R", 1)]));
    assert!(matches!(mixed.next(together), Step::Calls(_)));
}

#[test]
fn a_call_that_was_written_as_text_is_a_call() {
    let text = "```json\n{\"name\": \"R\", \"arguments\": {\"number\": 1}}\n```";
    let mut plan = plan(Pace::default());
    plan.offer(&["R".to_owned()]);
    plan.replied(says(text));
    let Step::Calls(groups) = plan.next(together) else {
        panic!("no call");
    };
    assert_eq!(groups[0][0].args, call("R", 1).args);
    let mut other = Plan::new("goal", Label::default(), 50, Pace::default());
    other.offer(&["Q".to_owned()]);
    other.replied(says(text));
    assert_eq!(other.next(together), Step::Answer(text.to_owned()));
}

#[test]
fn an_answer_without_calls_ends_the_run() {
    let mut plan = plan(Pace::default());
    plan.replied(says("done"));
    assert_eq!(plan.next(together), Step::Answer("done".into()));
}

#[test]
fn an_answer_that_is_withheld_is_a_failure_and_none_of_its_calls_is_made() {
    let mut plan = plan(Pace::default());
    let mut reply = says("Half of");
    reply.calls.push(call("R", 1));
    reply.stop = StopReason::Filtered;
    plan.replied(reply);
    assert_eq!(
        plan.next(together),
        Step::Fail(Code::ProviderFailed, WITHHELD.to_owned())
    );
    assert_eq!(plan.setback(), Some(Setback::Filtered));
    assert_eq!((plan.waiting(), plan.answer()), (&[][..], None));
    assert!(
        matches!(plan.messages().last(), Some(Message::Assistant(reply)) if reply.text == "Half of")
    );
    assert_eq!(plan.stop(), Some((State::Failed, None)));
}

#[test]
fn that_it_was_cancelled_wins_over_every_other_end() {
    let cancelled = Error::new(Code::Cancelled, "c");
    let provider = Error::new(Code::ProviderFailed, "p");
    let ways: [fn(&mut Plan); 3] = [
        |plan| plan.replied(says("done")),
        |plan| plan.failed(&Error::new(Code::Bug, "b")),
        |_| {},
    ];
    for way in ways {
        let mut plan = plan(Pace::default());
        way(&mut plan);
        plan.failed(&cancelled);
        plan.failed(&provider);
        way(&mut plan);
        assert_eq!(
            plan.next(together),
            Step::Fail(Code::Cancelled, "c".to_owned())
        );
        assert_eq!(plan.stop(), Some((State::Cancelled, None)));
    }
}

/// How a run comes to an end, and its word.
type Ending = (String, Box<dyn Fn(&mut Plan)>);

/// Each way in which a run may end otherwise.
fn ends() -> Vec<Ending> {
    let words = "bad_input bad_args unknown_tool bad_surface bad_plugin denied asked unconfirmed unauthenticated rate_limited \
        bad_line conflict unsafe over_budget too_big too_slow out_of_fuel out_of_memory trapped guest_failed script_failed \
        stalled diverged not_json bad_outcome fetch_failed provider_failed disk_failed busy not_found in_doubt corrupt bug";
    let of_code = |word: &str| -> Ending {
        let code: Code = serde_json::from_str(&format!("{word:?}")).unwrap();
        let fails = move |plan: &mut Plan| plan.failed(&Error::new(code, "it failed"));
        (word.to_owned(), Box::new(fails))
    };
    let mut ends: Vec<_> = words.split_whitespace().map(of_code).collect();
    for setback in Setback::ALL {
        let error = Error::new(Code::ProviderFailed, "p").setback(setback);
        let fails = Box::new(move |plan: &mut Plan| plan.failed(&error));
        ends.push((format!("{setback:?}"), fails));
    }
    for fared in [
        Fared::Malformed,
        Fared::Unavailable,
        Fared::Denied,
        Fared::Failed(Code::Trapped),
    ] {
        let fails = move |plan: &mut Plan| {
            for number in 0..RUN_CORRECTIONS + 9 {
                plan.replied(asks(vec![call("R", number)]));
                plan.observed(vec![seen(fared)]);
            }
        };
        ends.push((format!("{fared:?}"), Box::new(fails)));
    }
    ends.push((
        "an answer".to_owned(),
        Box::new(|plan| plan.replied(says("done"))),
    ));
    let spent = |plan: &mut Plan| plan.spent_up(Budgeted::Cost, &Error::new(Code::OverBudget, "b"));
    ends.push(("a budget".to_owned(), Box::new(spent)));
    ends
}

/// R-29: that it was cancelled wins, whatever else happens at the same time, before it or after it.
#[test]
fn cancelled_beside_any_other_end_is_cancelled() {
    for (what, ends) in ends() {
        for first in [true, false] {
            let mut plan = plan(Pace::default());
            if first {
                ends(&mut plan);
            }
            plan.failed(&Error::new(Code::Cancelled, "c"));
            if !first {
                ends(&mut plan);
            }
            let step = plan.next(together);
            assert_eq!(
                step,
                Step::Fail(Code::Cancelled, "c".to_owned()),
                "{what} {first}"
            );
            assert_eq!(plan.setback(), None, "{what} {first}");
            assert_eq!(
                plan.stop(),
                Some((State::Cancelled, None)),
                "{what} {first}"
            );
        }
    }
}

/// R-28a: turns of a session are counted over its runs, and the one too many is not asked.
#[test]
fn a_session_has_so_many_turns() {
    let pace = Pace {
        session_turns: Some(50),
        ..Pace::default()
    };
    let new = |before| Plan::new("goal", Label::default(), 8, pace).after(before);
    assert_eq!(new(49).next(together), Step::Prompt(1));
    let mut plan = new(49);
    plan.replied(asks(vec![call("R", 1)]));
    plan.observed(vec![seen(Fared::Well)]);
    for mut plan in [plan, new(50), new(u32::MAX)] {
        let step = plan.next(together);
        assert!(
            matches!(&step, Step::Fail(Code::OverBudget, why) if why.contains("`session_turns`")),
            "{step:?}"
        );
        assert_eq!(plan.stop(), Some((State::Limited, Some(Limit::TurnLimit))));
    }
}

/// What may happen to a run, whatever it says that it wants next.
#[derive(Clone, Debug)]
enum Happens {
    Calls(u32),
    Text,
    Observed(Fared),
    Cancelled,
    Provider,
    Late,
    Left,
}

fn happens() -> impl Strategy<Value = Happens> {
    let fared = prop::sample::select(
        &[
            Fared::Well,
            Fared::Malformed,
            Fared::Unavailable,
            Fared::Denied,
            Fared::Cut,
            Fared::Failed(Code::TooSlow),
        ][..],
    );
    prop_oneof![
        8 => (0..3_u32).prop_map(Happens::Calls),
        1 => Just(Happens::Text),
        8 => fared.prop_map(Happens::Observed),
        1 => Just(Happens::Cancelled),
        1 => Just(Happens::Provider),
        1 => Just(Happens::Late),
        1 => Just(Happens::Left),
    ]
}

fn apply(plan: &mut Plan, what: &Happens) {
    match what {
        Happens::Calls(calls) => {
            plan.replied(asks((0..=*calls).map(|number| call("R", number)).collect()));
        }
        Happens::Text => plan.replied(says("done")),
        Happens::Observed(fared) => {
            let all = plan.waiting().iter().map(|_| seen(*fared)).collect();
            plan.observed(all);
        }
        Happens::Cancelled => plan.failed(&Error::new(Code::Cancelled, "c")),
        Happens::Provider => plan.failed(&Error::new(Code::ProviderFailed, "p")),
        Happens::Late => plan.late(1),
        Happens::Left => plan.left(),
    }
}

proptest! {
    /// Whatever happens in whatever order, states follow each other by the graph, and there is one end.
    #[test]
    fn every_run_ends_once(all in prop::collection::vec(happens(), 0..40)) {
        let mut plan = plan(Pace::default());
        for what in &all {
            let before = plan.state();
            apply(&mut plan, what);
            let after = plan.state();
            prop_assert!(before == after || before.may_become(after), "{before:?} {what:?} {after:?}");
            prop_assert!(!after.is_terminal());
        }
        // What was cut off since its time is over was cancelled for that.
        let last = all.iter().rev().find(|what| matches!(what, Happens::Cancelled | Happens::Late));
        let cancelled = matches!(last, Some(Happens::Cancelled));
        let (end, limit) = plan.stop().expect("the first end");
        prop_assert!(end.is_terminal() && plan.state() == end);
        prop_assert_eq!(end == State::Limited, limit.is_some());
        prop_assert_eq!(end == State::Cancelled, cancelled);
        for what in &all {
            apply(&mut plan, what);
            prop_assert_eq!(plan.state(), end);
        }
        prop_assert_eq!(plan.stop(), None);
    }

    /// A driver that does what it is told comes to an end, however the calls fare.
    #[test]
    fn every_driven_run_ends(fares in prop::collection::vec(happens().prop_filter("an end of a call", |what| matches!(what, Happens::Observed(_))), 64)) {
        let mut plan = Plan::new("goal", Label::default(), 16, Pace::default());
        let mut fares = fares.into_iter().cycle();
        for _ in 0..64 {
            match plan.next(together) {
                Step::Answer(_) | Step::Fail(..) => return Ok(()),
                Step::Prompt(turn) => plan.replied(asks(vec![call("R", turn)])),
                Step::Calls(_) => {
                    let fared = fares.find_map(|what| {
                        let Happens::Observed(fared) = what else {
                            return None;
                        };
                        Some(fared)
                    });
                    plan.observed(vec![seen(fared.unwrap_or(Fared::Well))]);
                }
            }
        }
        prop_assert!(false, "it goes on for ever");
    }
}
