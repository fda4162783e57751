//! What the models of a run are asked, as a table: what became of each attempt, and the steps that follow.

use super::*;
use crate::rules::candidate::{Accepts, Can};
use crate::words::message::{Reply, Thought};

/// A run in the middle of its turns.
struct Run {
    chain: Chain,
    candidates: Vec<Candidate>,
    now: u64,
    turn: u32,
}

fn candidate(model: &str, provider: &str) -> Candidate {
    Candidate {
        model: model.to_owned(),
        provider: provider.to_owned(),
        has_key: true,
        can: Can::default(),
        accepts: Accepts::default(),
    }
}

/// Models, each as `MODEL@PROVIDER`.
fn run(terms: Terms, models: &str) -> Run {
    let parse = |text: &str| {
        let (model, provider) = text.split_once('@').unwrap();
        candidate(model, provider)
    };
    Run {
        chain: Chain::on(terms),
        candidates: models.split(' ').map(parse).collect(),
        now: 1_000_000,
        turn: 1,
    }
}

/// `limited`, `limited:7000` with a `Retry-After`, `said broken` after the first words.
fn failure(text: &str) -> Failure {
    let (said, text) = match text.strip_prefix("said ") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (word, after_ms) = match text.split_once(':') {
        Some((word, after)) => (word, Some(after.parse().unwrap())),
        None => (text, None),
    };
    Failure {
        setback: serde_json::from_value(serde_json::json!(word)).unwrap(),
        after_ms,
        said,
    }
}

impl Run {
    /// One prompt: what becomes of each attempt in turn, and `ok` of any further. What was done is told.
    fn prompt(&mut self, attempts: &[&str]) -> String {
        let needs = Needs {
            turn: self.turn,
            ..Needs::default()
        };
        let mut attempts = attempts.iter();
        let (mut walk, mut steps) = (Walk::default(), Vec::new());
        loop {
            match self
                .chain
                .next(&mut walk, &self.candidates, (&needs, self.now))
            {
                Next::Nobody => {
                    steps.push("nobody".to_owned());
                    return steps.join(", ");
                }
                Next::Skip { at, miss } => {
                    let word = serde_json::to_value(miss).unwrap();
                    let word = word.as_str().unwrap();
                    steps.push(format!("{} {word}", self.candidates[at].model));
                    continue;
                }
                Next::Ask { at, streams } => {
                    let how = if streams { "" } else { " whole" };
                    steps.push(format!("ask {}{how}", self.candidates[at].model));
                }
            }
            let Some(attempt) = attempts.next().filter(|attempt| **attempt != "ok") else {
                return steps.join(", ");
            };
            let failure = (failure(attempt), self.now);
            match self.chain.failed(&mut walk, &self.candidates, failure) {
                Then::Again(wait) => {
                    self.now += wait;
                    steps.push(format!("wait {wait}"));
                }
                Then::Onward => {}
                Then::Over => {
                    steps.push("over".to_owned());
                    return steps.join(", ");
                }
            }
        }
    }
}

#[track_caller]
fn check(terms: Terms, models: &str, attempts: &[&str], steps: &str) {
    assert_eq!(run(terms, models).prompt(attempts), steps, "{attempts:?}");
}

fn times(attempts: u32) -> Terms {
    Terms {
        attempts,
        ..Terms::default()
    }
}

#[test]
fn what_may_pass_goes_on_and_what_lasts_is_final() {
    let two = "a@p b@q";
    for word in ["limited", "overloaded", "too_slow", "broken", "too_long"] {
        check(Terms::default(), two, &[word], "ask a, ask b");
        check(Terms::default(), two, &[word, word], "ask a, ask b, nobody");
    }
    check(Terms::default(), two, &["lasting"], "ask a, over");
    check(Terms::default(), two, &["ok"], "ask a");
}

#[test]
fn waits_grow_to_their_bound() {
    let all = ["overloaded"; 9];
    check(
        times(9),
        "a@p",
        &all,
        "ask a, wait 250, ask a, wait 500, ask a, wait 1000, ask a, wait 2000, ask a, wait 4000, ask a, wait 8000, \
         ask a, wait 8000, ask a, wait 8000, ask a, nobody",
    );
    let linear = Terms {
        backoff: Backoff::Linear,
        ..times(4)
    };
    check(
        linear,
        "a@p",
        &all,
        "ask a, wait 250, ask a, wait 500, ask a, wait 750, ask a, nobody",
    );
    assert_eq!(Terms::default().wait_ms(u32::MAX), CHAIN_BACKOFF_MAX_MS);
    assert_eq!(linear.wait_ms(u32::MAX), CHAIN_BACKOFF_MAX_MS);
}

#[test]
fn a_prompt_that_is_too_long_is_not_sent_again_to_the_same() {
    check(times(3), "a@p b@q", &["too_long"], "ask a, ask b");
}

#[test]
fn what_a_server_asks_for_is_waited_for_within_bounds() {
    for (after, steps) in [
        ("limited:0", "ask a, wait 250, ask a"),
        ("limited:100", "ask a, wait 250, ask a"),
        ("limited:7000", "ask a, wait 7000, ask a"),
        ("limited:60000", "ask a, wait 60000, ask a"),
        ("limited:60001", "ask a, ask b"),
        ("overloaded:18446744073709551615", "ask a, ask b"),
    ] {
        check(times(2), "a@p b@q", &[after], steps);
    }
}

#[test]
fn a_provider_that_wants_fewer_requests_is_left_alone_for_a_while() {
    let mut run = run(Terms::default(), "a@p b@q");
    assert_eq!(run.prompt(&["limited"]), "ask a, ask b");
    run.now += 29_999;
    assert_eq!(run.prompt(&[]), "a cooling, ask b");
    run.now += 1;
    assert_eq!(run.prompt(&[]), "ask a");
}

#[test]
fn it_is_left_alone_for_as_long_as_it_asks_and_no_longer_than_an_hour() {
    for (after, rest) in [
        ("limited:100000", 100_000),
        ("limited:7000", 30_000),
        ("limited:18446744073709551615", CHAIN_MS_MAX),
    ] {
        let mut run = run(Terms::default(), "a@p b@q");
        run.prompt(&[after]);
        run.now += rest - 1;
        assert_eq!(run.prompt(&[]), "a cooling, ask b");
        run.now += 1;
        assert_eq!(run.prompt(&[]), "ask a");
    }
}

#[test]
fn a_provider_and_not_a_model_cools_down() {
    check(
        Terms::default(),
        "a@p b@p c@q",
        &["limited"],
        "ask a, b cooling, ask c",
    );
    check(
        Terms::default(),
        "a@p b@p c@q",
        &["overloaded"],
        "ask a, ask b",
    );
    check(
        Terms::default(),
        "a@p b@p",
        &["limited"],
        "ask a, b cooling, nobody",
    );
}

#[test]
fn two_runs_share_no_cool_down() {
    let (mut one, mut other) = (
        run(Terms::default(), "a@p b@q"),
        run(Terms::default(), "a@p b@q"),
    );
    one.prompt(&["limited"]);
    assert_eq!(one.prompt(&[]), "a cooling, ask b");
    assert_eq!(other.prompt(&[]), "ask a");
}

/// A run that goes on after these records, each with the time it was written at.
fn after(models: &str, records: &[(u64, serde_json::Value)]) -> Run {
    let mut run = run(Terms::default(), models);
    let record = |(at, event): &(u64, serde_json::Value)| -> Record {
        let record = serde_json::json!({"run": "r", "seq": 1, "at": at, "parent": 0});
        let mut record = record.as_object().unwrap().clone();
        record.extend(event.as_object().unwrap().clone());
        serde_json::from_value(record.into()).unwrap()
    };
    let records: Vec<Record> = records.iter().map(record).collect();
    run.chain.recall(&run.candidates, &records);
    run
}

fn failed(model: &str, setback: &str, then: &str, cools_ms: u64) -> serde_json::Value {
    serde_json::json!({"event": "attempted", "turn": 3, "model": model, "outcome": "failed", "setback": setback,
        "code": "provider_failed", "message": "", "then": then, "cools_ms": cools_ms})
}

fn prompted(model: &str) -> serde_json::Value {
    serde_json::json!({"event": "prompted", "turn": 3, "turns_max": 8, "model": model, "tools": []})
}

#[test]
fn a_run_that_goes_on_leaves_alone_whom_it_left_alone() {
    let limited = (1_000_000, failed("a", "limited", "next", 30_000));
    for (now, steps) in [
        (1_029_999, "a cooling, ask b"),
        (1_030_000, "ask a"),
        (u64::MAX, "ask a"),
    ] {
        let mut run = after("a@p b@q", std::slice::from_ref(&limited));
        run.now = now;
        assert_eq!(run.prompt(&[]), steps, "{now}");
    }
    // What nobody is to be left alone for, and who is not of the run any more.
    for other in [
        failed("a", "overloaded", "next", 0),
        failed("c", "limited", "next", 30_000),
    ] {
        let mut run = after("a@p b@q", &[(1_000_000, other)]);
        assert_eq!(run.prompt(&[]), "ask a");
    }
    let for_ever = (1_000_000, failed("a", "limited", "next", u64::MAX));
    let mut run = after("a@p b@q", &[for_ever]);
    run.now += CHAIN_MS_MAX;
    assert_eq!(run.prompt(&[]), "ask a");
}

#[test]
fn a_clock_that_is_set_back_keeps_nobody_away_for_longer() {
    let limited = (1_000_000, failed("a", "limited", "next", 30_000));
    let mut live = run(Terms::default(), "a@p b@q");
    live.prompt(&["limited"]);
    for mut run in [live, after("a@p b@q", &[limited])] {
        run.now = 5;
        assert_eq!(run.prompt(&[]), "a cooling, ask b");
        run.now += 29_999;
        assert_eq!(run.prompt(&[]), "a cooling, ask b");
        run.now += 1;
        assert_eq!(run.prompt(&[]), "ask a");
    }
}

#[test]
fn a_run_that_goes_on_knows_what_it_has_learned_of_its_providers() {
    let refused = (1_000_000, failed("a", "unauthorised", "again", 0));
    let mut run = after("a@p b@q", &[refused]);
    assert_eq!(run.prompt(&["unauthorised"]), "ask a, over");
    let whole = (1_000_000, failed("a", "unstreamed", "again", 0));
    assert_eq!(after("a@p b@q", &[whole]).prompt(&[]), "ask a whole");
    for (models, apart) in [("a@p b@q", 3), ("a@p b@p", 0)] {
        let gave_up = failed("a", "broken", "next", 0);
        let records = [prompted("a"), gave_up, prompted("b")].map(|event| (1_000_000, event));
        assert_eq!(after(models, &records).chain.apart(), apart, "{models}");
        assert_eq!(after(models, &records[1..2]).chain.apart(), 0);
    }
}

#[test]
fn a_key_is_read_again_once_for_each_provider() {
    let refused = ["unauthorised"; 4];
    check(times(3), "a@p b@q", &refused, "ask a, wait 0, ask a, over");
    let mut run = run(times(3), "a@p b@p");
    assert_eq!(run.prompt(&["unauthorised"]), "ask a, wait 0, ask a");
    assert_eq!(run.prompt(&["unauthorised"]), "ask a, over");
    // It grants an attempt and takes none.
    check(
        times(2),
        "a@p",
        &["unauthorised", "overloaded", "overloaded"],
        "ask a, wait 0, ask a, wait 250, ask a, nobody",
    );
}

#[test]
fn where_there_is_no_key_there_is_none_to_read_again() {
    let mut run = run(Terms::default(), "a@p");
    run.candidates[0].has_key = false;
    assert_eq!(run.prompt(&["unauthorised"]), "ask a, over");
}

#[test]
fn after_its_first_words_nobody_else_is_asked() {
    check(times(3), "a@p b@q", &["said broken"], "ask a, over");
    let restart = Terms {
        restart_step: true,
        ..Terms::default()
    };
    check(restart, "a@p b@q", &["said broken"], "ask a, ask b");
    check(restart, "a@p b@q", &["said lasting"], "ask a, over");
}

#[test]
fn who_does_not_stream_is_asked_for_the_whole_from_then_on() {
    let mut run = run(Terms::default(), "a@p b@q");
    assert_eq!(run.prompt(&["unstreamed"]), "ask a, wait 0, ask a whole");
    assert_eq!(run.prompt(&[]), "ask a whole");
    assert_eq!(run.prompt(&["unstreamed"]), "ask a whole, over");
}

#[test]
fn what_was_thought_before_a_change_of_providers_is_told_to_nobody_any_more() {
    let mut same = run(Terms::default(), "a@p b@p");
    same.turn = 3;
    assert_eq!(same.prompt(&["broken"]), "ask a, ask b");
    assert_eq!(same.chain.apart(), 0);
    let mut run = run(Terms::default(), "a@p b@q");
    run.turn = 3;
    assert_eq!(run.prompt(&["limited"]), "ask a, ask b");
    assert_eq!(run.chain.apart(), 3);
    run.turn = 5;
    // To pass somebody over is no change, and it stays as it was when the first is asked again.
    assert_eq!(run.prompt(&[]), "a cooling, ask b");
    run.now += 30_000;
    assert_eq!(run.prompt(&[]), "ask a");
    assert_eq!(run.chain.apart(), 3);
}

#[test]
fn thoughts_are_those_of_their_turns_however_much_was_left_out() {
    let thinks = |text: &str| {
        Message::Assistant(Reply {
            text: text.to_owned(),
            thoughts: vec![Thought::default()],
            ..Reply::default()
        })
    };
    let user = || Message::user(String::new());
    // The reply of turn 1 was left out.
    let mut prompt = Prompt {
        messages: vec![user(), thinks("2"), user(), thinks("3"), thinks("4")],
        ..Prompt::default()
    };
    without_thoughts(&mut prompt, 5, 4);
    let left = prompt.messages.iter().filter_map(|message| match message {
        Message::Assistant(reply) => (!reply.thoughts.is_empty()).then_some(reply.text.as_str()),
        Message::User { .. } | Message::Tool { .. } => None,
    });
    assert_eq!(left.collect::<Vec<_>>(), ["4"]);
}

#[test]
fn whatever_becomes_of_attempts_it_ends() {
    let restart = Terms {
        restart_step: true,
        ..times(10)
    };
    for setback in Setback::ALL {
        for after_ms in [None, Some(0), Some(u64::MAX)] {
            let mut run = run(restart, "a@p b@q c@p");
            let failure = Failure {
                setback,
                after_ms,
                said: true,
            };
            let (mut walk, mut asked) = (Walk::default(), 0);
            let needs = Needs::default();
            loop {
                let now = (&needs, u64::MAX);
                match run.chain.next(&mut walk, &run.candidates, now) {
                    Next::Ask { .. } => asked += 1,
                    Next::Skip { .. } => continue,
                    Next::Nobody => break,
                }
                let now = (failure, u64::MAX);
                if run.chain.failed(&mut walk, &run.candidates, now) == Then::Over {
                    break;
                }
            }
            assert!(asked <= 30, "{setback:?}: {asked}");
        }
    }
}

#[test]
fn thoughts_that_are_not_kept_are_told_to_nobody() {
    let reply = Reply {
        thoughts: vec![Thought::default()],
        text: "said".to_owned(),
        ..Reply::default()
    };
    let mut prompt = Prompt {
        messages: vec![
            Message::user("a"),
            Message::Assistant(reply.clone()),
            Message::Assistant(reply),
        ],
        ..Prompt::default()
    };
    thoughtless(&mut prompt);
    let thoughts = prompt.messages.iter().filter_map(|message| match message {
        Message::Assistant(reply) => Some((reply.thoughts.len(), reply.text.as_str())),
        Message::User { .. } | Message::Tool { .. } => None,
    });
    assert_eq!(thoughts.collect::<Vec<_>>(), [(0, "said"), (0, "said")]);
}
