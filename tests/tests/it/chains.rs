//! Chains: what a run does about models that give no reply, on a clock that the test moves.

use std::time::Duration;

use lazaret::runs::host::Goal;
use lazaret::words::event::{Answer as Say, Attempted, Cause, Event, Onward, Record, Sight, Tried};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;

/// Two models, asked in order, with this beside it in the configuration.
fn policy(more: &str) -> String {
    format!(
        "[agents.agent]\ntools = [\"text.count\"]\nmodels = [\"first\", \"second\"]\n{more}\n\
         [models.first]\nprovider = \"scripted\"\nscript = \"first.jsonl\"\n\
         [models.second]\nprovider = \"scripted\"\nscript = \"second.jsonl\"\n"
    )
}

/// Those models, in files of their own.
fn rig(more: &str, first: &[Value], second: &[Value]) -> Rig {
    let lines = |replies: &[Value]| {
        let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
        lines.join("\n")
    };
    Rig::of(&policy(more))
        .file("first.jsonl", &lines(first))
        .file("second.jsonl", &lines(second))
}

fn count(id: &str) -> Value {
    json!({"calls": [{"tool": "text.count", "args": {"text": "a b"}, "id": id}]})
}

fn says(text: &str) -> Value {
    json!({ "text": text })
}

/// The line, after it has failed with these.
fn after(fails: Value, mut line: Value) -> Value {
    line["fail"] = fails;
    line
}

/// Who was asked, who was not and why, and how that went on: `first`, `first limited next`, `first skipped cooling`.
fn steps(records: &[Record]) -> Vec<String> {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let step = |record: &Record| match &record.event {
        Event::Prompted { model, .. } => Some(model.clone()),
        Event::Attempted(Attempted { model, tried, .. }) => Some(match tried {
            Tried::Failed {
                setback,
                then,
                wait_ms,
                restarts,
                ..
            } => {
                let anew = if *restarts { " anew" } else { "" };
                let wait = match then {
                    Onward::Again => format!(" {wait_ms}"),
                    Onward::Next | Onward::Anew | Onward::Over => String::new(),
                };
                let (setback, then) = (word(json!(setback)), word(json!(then)));
                format!("{model} {setback} {then}{wait}{anew}")
            }
            Tried::Skipped { miss } => format!("{model} skipped {}", word(json!(miss))),
        }),
        _ => None,
    };
    records.iter().filter_map(step).collect()
}

/// Pursues a goal; the clock is moved by each wait that the run begins, and the waits are told.
async fn pursue(rig: &Rigged) -> (RunId, lazaret::words::error::Result<String>, Vec<u64>) {
    let goal = rig.goal("Count.");
    let (run, tasks, mut waits) = (goal.run.clone(), Tasks::new(), Vec::new());
    let mut watcher = rig.host.watch(&run);
    let mut work = std::pin::pin!(rig.host.pursue(goal, &tasks));
    loop {
        tokio::select! {
            answer = &mut work => return (run, answer, waits),
            sight = watcher.next() => {
                let Sight::Record(Record { event: Event::Attempted(attempted), .. }) = sight else {
                    continue;
                };
                let Tried::Failed { wait_ms: wait_ms @ 1.., .. } = attempted.tried else {
                    continue;
                };
                waits.push(wait_ms);
                rig.clock.advance(Duration::from_millis(wait_ms));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_wants_fewer_requests_is_left_alone_until_it_has_cooled_down() {
    let chain = "[agents.agent.chain]\nattempts = 2";
    let limited = json!([{"status": 429}, {"status": 429}]);
    let first = [after(limited, count("a")), count("b"), says("of the first")];
    for (rest_ms, third, answer) in [
        (29_999, "first skipped cooling", "of the second"),
        (30_000, "first", "of the first"),
    ] {
        // Time passes in the second turn, while the second model is waited for.
        let rests = json!([{"status": 503, "after_ms": rest_ms}]);
        let second = [count("a"), after(rests, count("b")), says("of the second")];
        let rig = rig(chain, &first, &second).open().await;
        let (run, said, waits) = pursue(&rig).await;
        assert_eq!(said.expect("an answer"), answer);
        assert_eq!(waits, [250, rest_ms]);
        let steps = steps(&rig.records(&run).await);
        let rest = format!("second overloaded again {rest_ms}");
        let expected = [
            "first",
            "first limited again 250",
            "first",
            "first limited next",
            "second",
            "first skipped cooling",
            "second",
            rest.as_str(),
            "second",
        ];
        assert_eq!(steps[..9], expected, "{steps:?}");
        assert_eq!(steps[9], third, "{steps:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_share_no_cool_down() {
    let first = [after(json!([{"status": 429}]), says("first"))];
    let rig = rig("", &first, &[says("second")]).open().await;
    for _ in 0..2 {
        let (run, answer, _) = pursue(&rig).await;
        assert_eq!(answer.expect("an answer"), "second");
        let steps = steps(&rig.records(&run).await);
        assert_eq!(steps, ["first", "first limited next", "second"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_on_asks_nobody_before_its_time() {
    let limited = after(json!([{"status": 429, "after_ms": 40_000}]), count("a"));
    let first = [limited, says("of the first")];
    let second = [count("a"), says("of the second")];
    // The clock may have been set back meanwhile.
    for (later, step, answer) in [
        (39_999, "first skipped cooling", "of the second"),
        (40_000, "first", "of the first"),
        (-3_600_000, "first skipped cooling", "of the second"),
    ] {
        let terms = "[agents.agent.chain]\nretry_after_max_ms = 1000\n";
        let asks = format!("ask = [\"text.count\"]\n{}", policy(terms));
        let rig = rig(terms, &first, &second).policy(&asks);
        let rig = rig.kept().await.open().await;
        let (run, asked) = rig.pursue("Count.").await;
        assert_eq!(asked.expect_err("it asks").code(), Code::Asked);
        rig.answer(Say::Allow).await;
        let rig = rig
            .close()
            .at(NOW_MS.saturating_add_signed(later))
            .open()
            .await;
        let said = rig.resume_agent(&run).await.expect("an answer");
        assert_eq!(said, answer, "{later}");
        let steps = steps(&rig.records(&run).await);
        assert_eq!(steps[..3], ["first", "first limited next", "second"]);
        assert_eq!(steps[3], step, "{later}: {steps:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_says_nothing_has_its_time_and_the_next_one_is_asked() {
    let server = Server::start().await;
    let silent = Answer {
        path: "/v1/chat/completions".to_owned(),
        stall: true,
        ..Answer::default()
    };
    // It says something for ever, and never the end; slowly, so that its time ends before its room.
    let endless = Answer {
        body: ": still there\n\n".to_owned(),
        stall: false,
        endless: true,
        drips_ms: 5,
        ..silent.clone()
    };
    for answer in [silent, endless] {
        server.say(vec![answer]);
        let served = format!(
            "[agents.agent]\nmodels = [\"served\", \"second\"]\nturn_timeout_ms = 200\n\
             [models.served]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{}/v1\"\nmodel = \"m\"\nprivate = true\n\
             [models.second]\nprovider = \"scripted\"\nscript = \"second.jsonl\"\n",
            server.port()
        );
        let rig = Rig::of(&served).file("second.jsonl", &says("of the second").to_string());
        let rig = rig.open().await;
        let (run, said) = rig.pursue("Count.").await;
        assert_eq!(said.expect("an answer"), "of the second");
        let steps = steps(&rig.records(&run).await);
        assert_eq!(steps, ["served", "served too_slow next", "second"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_what_is_held_waits_no_longer_than_its_call_all_waits_together() {
    let policy =
        "[scripts]\nmodels = [\"script\"]\n[chain]\nattempts = 9\nretry_after_max_ms = 3_600_000\n";
    // Any two of these waits fit into the ten minutes of a call.
    let busy = json!({"status": 503, "after_ms": 250_000});
    let busy = json!([busy, busy, busy]);
    let line = after(busy, json!({"consult": true, "text": "Ada"}));
    let rig = Rig::of(policy).replies(&[line]).open().await;
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let source = "try { return await consult([1], 'Who?') } catch (error) { return error.message }";
    let mut work = std::pin::pin!(rig.script_in(run.clone(), &tasks, source));
    let called = loop {
        tokio::select! {
            called = &mut work => break called,
            sight = watcher.next() => {
                let Sight::Record(Record { event: Event::Attempted(attempted), .. }) = sight else {
                    continue;
                };
                if let Tried::Failed { wait_ms: wait_ms @ 1.., .. } = attempted.tried {
                    rig.clock.advance(Duration::from_millis(wait_ms));
                }
            }
        }
    };
    let steps = steps(&rig.records(&run).await);
    let again = "script overloaded again 250000";
    assert_eq!(steps, [again, again, "script overloaded over"], "{steps:?}");
    let told = lazaret_tests::rig::value(&called.outcome).to_string();
    assert!(told.contains("status 503"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_are_those_of_the_terms_and_of_the_server() {
    let busy = json!([
        {"status": 529}, {"status": 500}, {"status": 429, "after_ms": 7_000}, {"status": 503}
    ]);
    let chain = "[agents.agent.chain]\nattempts = 5\nbackoff_max_ms = 400";
    let rig = rig(chain, &[after(busy, says("at last"))], &[])
        .open()
        .await;
    let (run, answer, waits) = pursue(&rig).await;
    assert_eq!(answer.expect("an answer"), "at last");
    assert_eq!(waits, [250, 400, 7_000, 400]);
    let steps = steps(&rig.records(&run).await);
    assert_eq!(steps.len(), 9, "{steps:?}");
    assert_eq!(steps[1], "first overloaded again 250");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_says_of_its_chain_counts_and_the_rest_is_everybodys() {
    let busy = json!([{"status": 529}, {"status": 529}, {"status": 529}]);
    let chains = "[agents.agent.chain]\nattempts = 3\n\
                  [chain]\nattempts = 1\nbackoff = \"linear\"\nbackoff_ms = 10";
    let rig = rig(chains, &[after(busy, says("no"))], &[says("yes")])
        .open()
        .await;
    let (_, answer, waits) = pursue(&rig).await;
    assert_eq!(answer.expect("an answer"), "yes");
    assert_eq!(waits, [10, 20]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_lasts_is_final() {
    for (status, kind, word) in [
        (400, "", "lasting"),
        (401, "", "unauthorised"),
        (403, "", "unauthorised"),
        (404, "", "lasting"),
        (409, "", "lasting"),
        (413, "", "lasting"),
        (422, "", "lasting"),
        (302, "", "lasting"),
        (204, "", "lasting"),
        (429, "insufficient_quota", "lasting"),
    ] {
        let fail = json!([{"status": status, "kind": kind}]);
        let rig = rig("", &[after(fail, says("no"))], &[says("no")])
            .open()
            .await;
        let (run, answer, _) = pursue(&rig).await;
        let error = answer.expect_err("a failure");
        assert_eq!(error.code(), Code::ProviderFailed, "{status}");
        let steps = steps(&rig.records(&run).await);
        assert_eq!(steps, ["first".to_owned(), format!("first {word} over")]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_too_long_for_one_is_told_the_next() {
    let fail = json!([{"status": 400, "kind": "context_length_exceeded"}]);
    let rig = rig("", &[after(fail, says("no"))], &[says("yes")])
        .open()
        .await;
    let (run, answer, _) = pursue(&rig).await;
    assert_eq!(answer.expect("an answer"), "yes");
    let steps = steps(&rig.records(&run).await);
    assert_eq!(steps, ["first", "first too_long next", "second"]);
}

/// Older turns are folded once, then the next model is told, and then the failure says what it is (C-18).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_too_long_is_folded_once_before_anybody_else_is_told() {
    let long = json!({"status": 400, "kind": "context_length_exceeded"});
    let never = after(json!([long]), says("no"));
    let fold = "[compaction]\nmin_turns = 1\nkeep_turns = 1";
    let steps_of = |records: &[Record]| {
        let folded = |record: &&Record| matches!(&record.event, Event::Compacted(one) if one.cause == Cause::Refused);
        assert_eq!(records.iter().filter(folded).count(), 1);
        steps(records)
    };
    let first = [count("a"), count("b"), never.clone()];
    let two = rig(
        fold,
        &first,
        &[count("a"), count("b"), says("of the second")],
    );
    let two = two.open().await;
    let (run, answer, _) = pursue(&two).await;
    assert_eq!(answer.expect("an answer"), "of the second");
    let again = ["first", "first too_long anew", "first"];
    let steps_of_two = steps_of(&two.records(&run).await);
    assert_eq!(steps_of_two[2..5], again);
    assert_eq!(steps_of_two[5..], ["first too_long next", "second"]);
    let replayed = two.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);

    let one = rig(fold, &first, &[count("a"), count("b"), never])
        .open()
        .await;
    let (run, answer, _) = pursue(&one).await;
    let error = answer.expect_err("nobody takes it");
    assert_eq!(error.code(), Code::TooBig);
    let hints = error.hints().join(" ");
    assert!(hints.contains("[models.first]\nwindow_tokens"), "{hints}");
    assert!(
        error.message().contains("`context_length_exceeded`"),
        "{error}"
    );
    let _ = steps_of(&one.records(&run).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_first_words_nobody_else_is_asked_unless_the_step_may_begin_anew() {
    let fail = json!([{"status": 503, "said": "Well, "}]);
    let first = [after(fail, says("no"))];
    let plain = rig("", &first, &[says("yes")]).open().await;
    let (run, answer, _) = pursue(&plain).await;
    assert_eq!(answer.expect_err("a failure").code(), Code::ProviderFailed);
    let steps_of = steps(&plain.records(&run).await);
    assert_eq!(steps_of, ["first", "first overloaded over"]);
    let chain = "[agents.agent.chain]\nrestart_step = true";
    let anew = rig(chain, &first, &[says("yes")]).open().await;
    let (run, answer, _) = pursue(&anew).await;
    assert_eq!(answer.expect("an answer"), "yes");
    let steps_of = steps(&anew.records(&run).await);
    assert_eq!(steps_of, ["first", "first overloaded next anew", "second"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_cancels_a_run_does_not_wait_for_its_models() {
    let chain =
        "[agents.agent.chain]\nattempts = 2\nbackoff_ms = 3600000\nbackoff_max_ms = 3600000";
    let fail = json!([{"status": 503}]);
    let rig = rig(chain, &[after(fail, says("no"))], &[says("no")])
        .open()
        .await;
    let goal = rig.goal("Count.");
    let (run, tasks) = (goal.run.clone(), Tasks::new());
    let mut watcher = rig.host.watch(&run);
    let waits = async {
        while !matches!(
            watcher.next().await,
            Sight::Record(Record {
                event: Event::Attempted(_),
                ..
            })
        ) {}
        tasks.cancel();
    };
    let (answer, ()) = tokio::join!(rig.host.pursue(goal, &tasks), waits);
    assert_eq!(answer.expect_err("cancelled").code(), Code::Cancelled);
    let steps = steps(&rig.records(&run).await);
    assert_eq!(steps, ["first", "first overloaded again 3600000"]);
}

/// What becomes of a run whose prompt holds a file of the user's own.
async fn read_a_file(
    first: &str,
    second: &str,
) -> (Vec<String>, lazaret::words::error::Result<String>) {
    let read = json!({"calls": [{"tool": "files.read", "args": {"path": "docs/a.txt"}}]});
    let policy = format!(
        "[agents.agent]\ntools = [\"files.read\"]\nmodels = [\"first\", \"second\"]\n\
         [mounts.docs]\npath = \"docs\"\nown = true\n[grants.\"files.read\"]\nmounts = {{ docs = \"read\" }}\n\
         [models.first]\nprovider = \"scripted\"\nscript = \"first.jsonl\"\n{first}\n\
         [models.second]\nprovider = \"scripted\"\nscript = \"second.jsonl\"\n{second}\n"
    );
    let rig = Rig::of(&policy)
        .file("docs/a.txt", "canary-4b private")
        .file("first.jsonl", &format!("{read}\n{}", says("first")))
        .file("second.jsonl", &format!("{read}\n{}", says("second")))
        .open()
        .await;
    let (run, answer) = rig.pursue("Read.").await;
    (steps(&rig.records(&run).await), answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_private_is_not_told_to_whom_may_have_only_what_is_public() {
    let public = "accepts = \"public\"";
    let (steps, answer) = read_a_file(public, "").await;
    assert_eq!(answer.expect("an answer"), "second");
    assert_eq!(steps, ["first", "first skipped private", "second"]);
    let (steps, answer) = read_a_file(public, public).await;
    let error = answer.expect_err("nobody");
    assert_eq!(error.code(), Code::Denied);
    let said = format!("{} {}", error.message(), error.hints().concat());
    for part in [
        "no model of the run is asked",
        "[models.first]",
        "[models.second]",
        "file:docs",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(
        steps,
        ["first", "first skipped private", "second skipped private"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_not_asked_for_what_it_cannot_do() {
    for (can, miss) in [
        ("tools = false", "tools"),
        ("structured = false", "structured"),
        ("context_tokens = 10", "context"),
    ] {
        let more = format!(
            "answer = {{ type = \"integer\" }}\n[models.third]\nprovider = \"scripted\"\nscript = \"second.jsonl\"\ncan = {{ {can} }}\n"
        );
        let rig = rig(&more, &[says("1")], &[says("2")]);
        let rig = rig.open().await;
        let goal = Goal {
            models: vec!["third".to_owned(), "first".to_owned()],
            ..rig.goal("Count.")
        };
        let run = goal.run.clone();
        let answer = rig.host.pursue(goal, &Tasks::new()).await;
        assert_eq!(answer.expect("an answer"), "1");
        let steps = steps(&rig.records(&run).await);
        assert_eq!(steps, [format!("third skipped {miss}"), "first".to_owned()]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiers_stand_for_their_models() {
    let tiers = "[tiers]\nfast = [\"second\"]\nsmart = [\"first\", \"second\"]";
    let rig = rig(tiers, &[says("first")], &[says("second")]).open().await;
    for (named, expected) in [("fast", "second"), ("smart", "first"), ("first", "first")] {
        let goal = Goal {
            models: vec![named.to_owned()],
            ..rig.goal("Count.")
        };
        let answer = rig.host.pursue(goal, &Tasks::new()).await;
        assert_eq!(answer.expect("an answer"), expected, "{named}");
    }
    let goal = Goal {
        models: vec!["balanced".to_owned()],
        ..rig.goal("Count.")
    };
    let answer = rig.host.pursue(goal, &Tasks::new()).await;
    assert_eq!(answer.expect_err("nobody").code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_with_a_shape_is_json_or_told_once_or_none() {
    let shaped = "answer = { type = \"object\", properties = { n = { type = \"integer\" } }, required = [\"n\"] }";
    let well = says("{ \"n\": 2 }");
    let wrong = json!({"when": "does not fit the JSON Schema", "text": "{\"n\":\"two\"}"});
    let repaired =
        json!({"when": "does not fit the JSON Schema", "text": "```json\n{\"n\":2}\n```"});
    for (replies, expected) in [
        (vec![well], Ok("{\"n\":2}")),
        (vec![count("a"), says("Two."), repaired], Ok("{\"n\":2}")),
        (vec![says("Two."), wrong], Err(Code::BadOutcome)),
    ] {
        let rig = rig(shaped, &replies, &[]).open().await;
        let (run, answer, _) = pursue(&rig).await;
        match expected {
            Ok(text) => assert_eq!(answer.expect("an answer"), text),
            Err(code) => {
                let error = answer.expect_err("no answer");
                assert_eq!(error.code(), code);
                assert!(error.message().contains("/n: "), "{error}");
            }
        }
        let words = rig.words(&run).await;
        assert_eq!(words.last(), Some(&"stopped"));
    }
}

/// Who is asked in each turn, and the tier that said so.
async fn asked_by_tier(agent: &str, models: &[&str]) -> Vec<(String, String)> {
    let policy = format!(
        "[agents.agent]\ntools = [\"text.count\", \"handle.count\"]\n{agent}\n\
         [tiers]\nfast = [\"small\"]\nbalanced = [\"middle\"]\n\
         [models.small]\nprovider = \"scripted\"\nscript = \"all.jsonl\"\n\
         [models.middle]\nprovider = \"scripted\"\nscript = \"all.jsonl\"\n\
         [models.big]\nprovider = \"scripted\"\nscript = \"all.jsonl\"\n"
    );
    // One that says `fast`, one that says nothing, and both.
    let silent = json!({"tool": "handle.count", "args": {"value": "a"}});
    let fast = json!({"tool": "text.count", "args": {"text": "a b"}});
    let calls = |calls: &[&Value]| json!({ "calls": calls }).to_string();
    let lines = [
        calls(&[&fast]),
        calls(&[&silent]),
        calls(&[&fast, &silent]),
        says("Done.").to_string(),
    ];
    let rig = Rig::of(&policy).file("all.jsonl", &lines.join("\n"));
    let rig = rig.open().await;
    let goal = lazaret::runs::host::Goal {
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        ..rig.goal("Count.")
    };
    let run = goal.run.clone();
    let answer = rig.host.pursue(goal, &Tasks::new()).await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
    let records = rig.records(&run).await;
    let asked = records.iter().filter_map(|record| match &record.event {
        Event::Prompted { model, tier, .. } => Some((model.clone(), tier.clone())),
        _ => None,
    });
    asked.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_say_which_tier_is_asked_next_where_that_is_wanted() {
    let all = |model: &str| vec![(model.to_owned(), String::new()); 4];
    let own = "models = [\"big\"]";
    let wanted = "models = [\"big\"]\n[agents.agent.chain]\ntool_tiers = true";
    assert_eq!(asked_by_tier(own, &[]).await, all("big"));
    assert_eq!(asked_by_tier(wanted, &["middle"]).await, all("middle"));
    let mut by_tools = all("big");
    by_tools[1] = ("small".to_owned(), "fast".to_owned());
    assert_eq!(asked_by_tier(wanted, &[]).await, by_tools);
    let mut balanced = all("middle");
    balanced[1] = ("small".to_owned(), "fast".to_owned());
    let none = "[agents.agent.chain]\ntool_tiers = true";
    assert_eq!(asked_by_tier(none, &[]).await, balanced);
}
