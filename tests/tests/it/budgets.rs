//! Budgets: what a run may use of its models, and what becomes of more.

use std::time::Duration;

use lazaret::runs::host::{Goal, Most};
use lazaret::words::event::{
    Answer as Say, End, Event, Limit, Record, Sight, Stopped, Surface, Tried,
};
use lazaret::words::id::RunId;
use lazaret::words::message::Cost;
use lazaret_tests::golden::named;
use lazaret_tests::prelude::*;

/// A million tokens read cost 1, written 10; a turn of [`turn`] 0.002 and 0.005.
const PRICED: &str = r#"
    [models.script]
    price = { input = 1.0, cached = 0.1, output = 10.0 }
    [agents.agent]
    tools = ["text.*"]
    [agents.agent.budget]
    reply_tokens = 100
"#;

fn usage() -> Value {
    json!({"input_tokens": 2_000, "output_tokens": 500})
}

fn turn() -> Value {
    let call = json!({"tool": "text.count", "args": {"text": "a b"}});
    json!({"calls": [call], "usage": usage()})
}

fn done() -> Value {
    json!({"text": "Done.", "usage": usage()})
}

/// An agent of two turns with calls, and then an answer: 0.021 in all, 7,500 tokens.
async fn agent(budget: &str) -> Rigged {
    let policy = format!("{PRICED}{budget}");
    Rig::of(&policy)
        .replies(&[turn(), turn(), done()])
        .kept()
        .await
        .open()
        .await
}

fn stopped(records: &[Record]) -> &Stopped {
    let stopped = records.iter().filter_map(|record| match &record.event {
        Event::Stopped(stopped) => Some(stopped),
        _ => None,
    });
    let stopped: Vec<_> = stopped.collect();
    assert_eq!(stopped.len(), 1, "a run ends once");
    stopped[0]
}

fn count(records: &[Record], word: &str) -> usize {
    records
        .iter()
        .filter(|record| record.event.word() == word)
        .count()
}

async fn fails(budget: &str, prompts: usize, calls: usize, says: &str) {
    let rig = agent(budget).await;
    let (run, answer) = rig.pursue("Count.").await;
    let error = answer.expect_err(budget);
    assert_eq!(error.code(), Code::OverBudget, "{budget}: {error:?}");
    let all = format!("{} {}", error.message(), error.hints().join(" "));
    assert!(all.contains(says), "{budget}: {all}");
    let records = rig.records(&run).await;
    assert_eq!(count(&records, "prompted"), prompts, "{budget}");
    assert_eq!(count(&records, "observed"), calls, "{budget}");
    assert_eq!(stopped(&records).turns as usize, prompts, "{budget}");
    let limit = if budget.contains("tokens =") {
        Limit::TokenBudget
    } else {
        Limit::CostBudget
    };
    assert_eq!(stopped(&records).limit, Some(limit), "{budget}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_within_its_budget_says_what_it_cost() {
    let rig = agent("cost = 0.03\ntokens = 10_000").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("it is enough"), "Done.");
    let records = rig.records(&run).await;
    let usage = stopped(&records).usage;
    assert_eq!(usage.cost, Cost::of(21_000));
    assert_eq!(usage.input_tokens + usage.output_tokens, 7_500);
    assert_eq!(count(&records, "overspent"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_is_used_up_ends_the_run_before_the_next_prompt_and_names_the_line() {
    fails("tokens = 2_600", 1, 1, "tokens = 5200").await;
    fails("cost = 0.0145", 2, 2, "[agents.agent.budget]\ncost = 0.029").await;
    fails(
        "cost = 0.0145",
        2,
        2,
        "0.014 of 0.0145 used; the next turn takes about",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_an_answer_that_passed_the_budget_are_not_made() {
    fails("tokens = 2_200", 1, 0, "2500 of 2200 tokens used").await;
    fails("cost = 0.006", 1, 0, "0.007 of 0.006 used").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_prompt_that_is_too_dear_never_leaves() {
    fails(
        "tokens = 90",
        0,
        0,
        "0 of 90 tokens used; the next turn takes about",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warning_is_said_once_of_each_budget_and_the_run_goes_on() {
    let rig = agent("tokens = 10\ncost = 0.001\non_exceed = \"warn\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("it goes on"), "Done.");
    let records = rig.records(&run).await;
    assert_eq!(count(&records, "overspent"), 2);
    assert_eq!(count(&records, "prompted"), 3);
}

/// Turns are a budget like any other: a run ends, is warned, or somebody grants as many again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_may_be_granted_like_money() {
    let rig = agent("turns = 2").await;
    let (run, answer) = rig.pursue("Count.").await;
    let error = answer.expect_err("there are three");
    let hints = error.hints().join(" ");
    assert!(error.message().contains("2 of 2 turns used"), "{error}");
    assert!(
        hints.ends_with("[agents.agent.budget]\nturns = 4"),
        "{hints}"
    );
    let records = rig.records(&run).await;
    assert_eq!(stopped(&records).limit, Some(Limit::TurnLimit));
    assert_eq!(count(&records, "prompted"), 2);

    let rig = agent("turns = 2\non_exceed = \"warn\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("it goes on"), "Done.");
    assert_eq!(count(&rig.records(&run).await, "overspent"), 1);

    let rig = agent("turns = 1\non_exceed = \"ask\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("one is not enough").code(), Code::Asked);
    let waiting = rig.answer(Say::Allow).await;
    assert_eq!(waiting.subject, "the budget of turns");
    let answer = rig.resume_agent(&run).await;
    assert_eq!(answer.expect_err("nor are two").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    assert_eq!(rig.resume_agent(&run).await.expect("three are"), "Done.");
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
}

/// So is the time that a run goes on; that it is left takes none of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_may_be_granted_like_money() {
    for on_exceed in ["fail", "warn", "ask"] {
        let policy = format!(
            "[agents.agent]\ntools = [\"text.*\"]\n[agents.agent.chain]\nattempts = 2\nbackoff_ms = 250\n\
             [agents.agent.budget]\nwall_ms = 100\non_exceed = \"{on_exceed}\""
        );
        let mut busy = turn();
        busy["fail"] = json!([{"status": 503}]);
        let rig = Rig::of(&policy)
            .replies(&[busy, done()])
            .kept()
            .await
            .open()
            .await;
        let (goal, tasks) = (rig.goal("Count."), Tasks::new());
        let run = goal.run.clone();
        let mut watcher = rig.host.watch(&run);
        let time = async {
            loop {
                if let Sight::Record(record) = watcher.next().await
                    && let Event::Attempted(_) = record.event
                {
                    return rig.clock.advance(Duration::from_millis(250));
                }
            }
        };
        let (mut answer, ()) = tokio::join!(rig.host.pursue(goal, &tasks), time);
        if on_exceed == "ask" {
            assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
            let waiting = rig.answer(Say::Allow).await;
            assert_eq!(waiting.subject, "the budget of wall_ms");
            rig.clock.advance(Duration::from_secs(3_600));
            answer = rig.resume_agent(&run).await;
        }
        let records = rig.records(&run).await;
        if on_exceed == "fail" {
            let error = answer.expect_err("it takes longer");
            assert!(error.message().contains("250 of 100 ms used"), "{error}");
            assert_eq!(stopped(&records).limit, Some(Limit::RunTimeout));
        } else {
            assert_eq!(answer.expect("it goes on"), "Done.");
        }
        assert_eq!(
            count(&records, "overspent"),
            usize::from(on_exceed == "warn")
        );
        let replayed = rig.replay(&run).await;
        assert!(
            replayed.diverged.is_none(),
            "{on_exceed}: {:?}",
            replayed.diverged
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_is_asked_grants_as_much_again() {
    let rig = agent("cost = 0.008\non_exceed = \"ask\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    let error = answer.expect_err("0.007 and about 0.001 are more");
    assert_eq!(error.code(), Code::Asked, "{error:?}");
    let waiting = rig.answer(Say::Allow).await;
    assert_eq!(waiting.subject, "the budget of cost");
    let text = &waiting.question.text;
    assert!(
        text.starts_with(
            "May this model go on beyond the budget of its run (0.007 of 0.008 used; the next"
        ),
        "{text}"
    );
    assert!(text.ends_with("? A yes grants 0.016 in all."), "{text}");
    assert!(
        waiting.question.lines[0].contains("cost = 0.016"),
        "{waiting:?}"
    );
    // Twice as much is enough for the second turn, and not for the third with what it is taken to use.
    assert_eq!(
        rig.resume_agent(&run).await.expect_err("again").code(),
        Code::Asked
    );
    let text = rig.answer(Say::Allow).await.question.text;
    assert!(
        text.contains("(0.014 of 0.016 used; the next"),
        "it says what was granted: {text}"
    );
    assert_eq!(rig.resume_agent(&run).await.expect("granted"), "Done.");
    let records = rig.records(&run).await;
    assert_eq!(stopped(&records).usage.cost, Cost::of(21_000));
    assert_eq!(count(&records, "prompted"), 3);
    assert_golden("budget-asked", &named(&rig.journal(&run).await, &records));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_says_no_ends_the_run() {
    let rig = agent("tokens = 3_000\non_exceed = \"ask\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
    rig.answer(Say::Deny).await;
    let error = rig.resume_agent(&run).await.expect_err("no is no");
    assert_eq!(error.code(), Code::OverBudget, "{error:?}");
    assert!(error.message().contains("said no"), "{error:?}");
    let records = rig.records(&run).await;
    assert_eq!(stopped(&records).limit, Some(Limit::TokenBudget));
    assert_eq!(count(&rig.records(&run).await, "prompted"), 1);
}

/// It is on record before anybody is asked, so another process knows it; it is answered once, in time, or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_a_budget_waits_like_any_other() {
    let policy = |first: &str| format!("{first}\n{PRICED}tokens = 3_000\non_exceed = \"ask\"");
    let replies = [turn(), turn(), done()];
    let rig = |first: &str| Rig::of(&policy(first)).replies(&replies);
    let begun = async |first: &str| {
        let rig = rig(first).kept().await.open().await;
        let (run, answer) = rig.pursue("Count.").await;
        (rig, run, answer)
    };

    let (rig, run, answer) = begun("").await;
    assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
    let rig = rig.restart().await;
    let waiting = rig.answer(Say::Allow).await;
    assert_eq!(
        (&waiting.run, waiting.subject.as_str()),
        (&run, "the budget of tokens")
    );
    let again = rig
        .host
        .answer(waiting.question.id.as_str(), Say::Deny)
        .await;
    assert_eq!(again.expect_err("it was answered").code(), Code::Conflict);
    let unknown = rig.host.answer("q-none", Say::Allow).await;
    assert_eq!(
        unknown.expect_err("nobody asked that").code(),
        Code::NotFound
    );
    let rig = rig.restart().await;
    assert_eq!(
        rig.resume_agent(&run)
            .await
            .expect_err("6,000 are not enough")
            .code(),
        Code::Asked
    );

    let (rig, run, answer) = begun("ask_expires_s = 60").await;
    assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
    rig.clock.advance(Duration::from_secs(61));
    let question = rig.host.questions().await.expect("questions")[0]
        .question
        .clone();
    let late = rig.host.answer(question.id.as_str(), Say::Allow).await;
    assert_eq!(late.expect_err("a minute is over").code(), Code::Conflict);
    let error = rig
        .resume_agent(&run)
        .await
        .expect_err("nobody granted more");
    assert_eq!(error.code(), Code::OverBudget, "{error:?}");

    let (rig, run, answer) = begun("unattended = \"deny\"").await;
    assert_eq!(
        answer.expect_err("nobody is there").code(),
        Code::OverBudget
    );
    let records = rig.records(&run).await;
    assert_eq!(stopped(&records).limit, Some(Limit::TokenBudget));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_run_asks_for_less_than_its_agent_may_and_a_resumed_one_remembers() {
    let rig = agent("cost = 0.03\non_exceed = \"ask\"").await;
    let goal = Goal {
        most: Most {
            cost_micros: 8_000,
            tokens: 0,
        },
        ..Goal::new(rig.host.new_run(), Surface::Cli, "agent", "Count.")
    };
    let run = goal.run.clone();
    let answer = rig.host.pursue(goal, &Tasks::new()).await;
    assert_eq!(answer.expect_err("less than it takes").code(), Code::Asked);
    let waiting = rig.answer(Say::Allow).await;
    assert!(waiting.question.text.contains("of 0.008"), "{waiting:?}");
    let error = rig
        .resume_agent(&run)
        .await
        .expect_err("its own cap still holds");
    assert!(error.message().contains("of 0.016"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_on_cost_without_a_count_of_tokens_ends_the_run_unless_it_may_go_on() {
    let uncounted = json!({"calls": [{"tool": "text.count", "args": {"text": "a b"}}]});
    for (line, expected) in [("", None), ("unpriced = \"allow\"", Some("Done."))] {
        let policy = format!("{PRICED}cost = 1.0\n{line}");
        let replies = [uncounted.clone(), json!({"text": "Done."})];
        let rig = Rig::of(&policy).replies(&replies).open().await;
        let (run, answer) = rig.pursue("Count.").await;
        let records = rig.records(&run).await;
        match expected {
            Some(text) => assert_eq!(answer.expect("not counted"), text),
            None => {
                let error = answer.expect_err("a cap that nobody can check");
                assert_eq!(error.code(), Code::OverBudget);
                assert!(
                    error
                        .hints()
                        .iter()
                        .any(|hint| hint.contains("unpriced = \"allow\"")),
                    "{error:?}"
                );
                assert!(matches!(stopped(&records).end, End::Failed { .. }));
            }
        }
        assert!(stopped(&records).usage.cost.unknown > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_of_cost_over_a_model_without_a_price_is_refused_at_once() {
    let policy = r#"
        [models.far]
        provider = "openai"
        url = "https://models.example/v1"
        model = "m"
        [agents.clerk]
        models = ["far"]
        [agents.clerk.budget]
        cost = 0.5
    "#;
    let error = Rig::of(policy)
        .try_open()
        .await
        .map(|_| ())
        .expect_err("no price");
    let all = format!("{} {}", error.message(), error.hints().join(" "));
    for part in [
        "agent `clerk` has a budget of cost",
        "[models.far]\nprice = {",
        "unpriced = \"allow\"",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    for (line, says) in [
        ("cost = -1.0", "`cost`: -1 is no amount"),
        ("cost = 1e-9", "no amount between"),
        ("costs = 1", "there is no key `costs` here"),
    ] {
        let policy = policy.replace("cost = 0.5", line);
        let error = Rig::of(&policy)
            .try_open()
            .await
            .map(|_| ())
            .expect_err(line);
        assert!(error.message().contains(says), "{line}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_granted_to_a_run_is_not_granted_to_its_copy() {
    let rig = agent("cost = 0.008\non_exceed = \"ask\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    assert_eq!(
        rig.resume_agent(&run).await.expect_err("again").code(),
        Code::Asked
    );
    let copy = rig.host.fork(&run, 1).await.expect("a copy");
    let error = rig
        .resume_agent(&copy)
        .await
        .expect_err("nobody has granted it anything");
    assert_eq!(error.code(), Code::Asked, "{error:?}");
    assert_eq!(count(&rig.records(&copy).await, "prompted"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_in_a_session_before_is_weighed_as_well() {
    let long = "word ".repeat(4_000);
    let replies = [json!({ "text": long }), json!({"text": "Done."})];
    let policy = format!("{PRICED}tokens = 3_000");
    let rig = Rig::of(&policy).replies(&replies).kept().await.open().await;
    let (_, answer) = rig.pursue_in_session("work", "Write much.").await;
    answer.expect("its prompt was short");
    let (run, answer) = rig.pursue_in_session("work", "And now?").await;
    let error = answer.expect_err("what it would be told is long");
    assert_eq!(error.code(), Code::OverBudget, "{error:?}");
    assert_eq!(count(&rig.records(&run).await, "prompted"), 0);
}

/// A first model that breaks off after it has counted, as often as it is asked, and a second one that answers.
async fn after_losses(chain: &str, budget: &str) -> Rigged {
    let price = "price = { input = 1.0, output = 10.0 }";
    let policy = format!(
        "[agents.agent]\nmodels = [\"first\", \"second\"]\n[agents.agent.budget]\nreply_tokens = 100\n{budget}\n\
         [agents.agent.chain]\nrestart_step = true\n{chain}\n\
         [models.first]\nprovider = \"scripted\"\nscript = \"first.jsonl\"\n{price}\n\
         [models.second]\nprovider = \"scripted\"\nscript = \"second.jsonl\"\n{price}\n"
    );
    let lost = json!({"status": 503, "said": "Well", "usage": {"input_tokens": 2_000, "output_tokens": 10}});
    let first = json!({"fail": [lost, lost, lost], "text": "no"});
    let rig = Rig::of(&policy).file("first.jsonl", &first.to_string());
    let rig = rig.file("second.jsonl", &done().to_string());
    rig.kept().await.open().await
}

fn lost(records: &[Record]) -> Vec<u64> {
    let lost = records.iter().filter_map(|record| match &record.event {
        Event::Attempted(attempted) => match &attempted.tried {
            Tried::Failed { usage, .. } => Some(usage.cost.micros),
            Tried::Skipped { .. } => None,
        },
        _ => None,
    });
    lost.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_attempt_has_used_that_failed_is_counted_and_on_record() {
    let rig = after_losses("", "").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("the second answers"), "Done.");
    let records = rig.records(&run).await;
    assert_eq!(lost(&records), [2_100]);
    let usage = stopped(&records).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (4_000, 510));
    assert_eq!(usage.cost, Cost::of(2_100 + 7_000));
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_model_is_asked_again_beyond_the_budget() {
    let rig = after_losses("", "tokens = 2_050").await;
    let (run, answer) = rig.pursue("Count.").await;
    let error = answer.expect_err("what was lost has used it up");
    assert_eq!(error.code(), Code::OverBudget, "{error:?}");
    assert!(error.message().contains("2010 of 2050"), "{error}");
    let records = rig.records(&run).await;
    assert_eq!(count(&records, "prompted"), 1);
    assert_eq!(stopped(&records).limit, Some(Limit::TokenBudget));
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);

    // It is said, and goes on.
    let rig = after_losses("", "tokens = 2_050\non_exceed = \"warn\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("it may go on"), "Done.");
    let records = rig.records(&run).await;
    assert_eq!(count(&records, "overspent"), 1);
    assert_eq!(lost(&records), [2_100, 2_100], "the step is begun anew");

    // Somebody says whether it does.
    let rig = after_losses("", "tokens = 2_050\non_exceed = \"ask\"").await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let (_, answer) = (&run, rig.resume_agent(&run).await);
    // What was lost before it was left is not forgotten.
    assert_eq!(answer.expect_err("and again").code(), Code::Asked);
    assert_eq!(lost(&rig.records(&run).await), [2_100, 2_100]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_broke_off_before_it_was_counted_has_no_known_price() {
    let rig = after_losses("", "").await;
    let uncounted = json!({"fail": [{"status": 503, "said": "Well", "usage": {}}], "text": "no"});
    std::fs::write(rig.path("first.jsonl"), uncounted.to_string()).expect("a file");
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("the second answers"), "Done.");
    let cost = stopped(&rig.records(&run).await).usage.cost;
    assert_eq!((cost.micros, cost.unknown), (7_000, 1));
}

/// A run whose first turn is long and whose second is short, so that the third prompt is folded.
async fn long_then_short(policy: &str, summaries: &[Value]) -> (Rigged, RunId) {
    let call = |text: &str| json!({"calls": [{"tool": "text.count", "args": {"text": text}}]});
    let long = call(&"word ".repeat(1_400));
    let mut short = call("a");
    short["usage"] = json!({"input_tokens": 1_900, "output_tokens": 0});
    let mut replies = vec![long, short, json!({"text": "Done."})];
    replies.extend_from_slice(summaries);
    let policy = format!(
        "[models.script]\nwindow_tokens = 4_000\n[context]\nreserve_tokens = 100\n[agents.agent]\ntools = [\"text.count\"]\n\
         [compaction]\ntrigger_percent = 45\ntarget_percent = 30\nmin_turns = 2\nkeep_turns = 1\n{policy}"
    );
    let rig = Rig::of(&policy).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("it was folded before"), "Done.");
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
    (rig, run)
}

/// One turn in the order of U-02: the fold, the budget, the prompt, what it costs, the reply, the calls and what came of them,
/// and then the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_goes_in_its_order() {
    let call = |text: &str| json!({"calls": [{"tool": "text.count", "args": {"text": text}}]});
    let mut short = call("a");
    short["usage"] = json!({"input_tokens": 2_395, "output_tokens": 0});
    let long = call(&"word ".repeat(1_400));
    let replies = [long, short, call("b"), json!({"text": "Done."})];
    let policy = "[models.script]\nwindow_tokens = 4_000\n[context]\nreserve_tokens = 100\n[agents.agent]\n\
         tools = [\"text.count\"]\n[compaction]\ntrigger_percent = 45\ntarget_percent = 30\nmin_turns = 2\n\
         keep_turns = 1\n[agents.agent.budget]\nreply_tokens = 10\ntokens = 2_400\non_exceed = \"warn\"";
    let rig = Rig::of(policy).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("it is said, and goes on"), "Done.");
    let words = rig.words(&run).await;
    let second = words
        .iter()
        .position(|word| *word == "compacted")
        .expect("a fold");
    assert_eq!(
        words[second - 1..second + 9],
        [
            "observed",
            "compacted",
            "overspent",
            "prompted",
            "replied",
            "judged",
            "finished",
            "observed",
            "prompted",
            "replied",
        ],
        "{words:?}"
    );
}

/// What is folded before it is sent is not weighed: the order is that of U-02.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_weighed_is_what_is_sent() {
    // The second prompt is long and is sent as it is: the newest turn is never folded.
    let caps = "[agents.agent.budget]\nreply_tokens = 10\ntokens = 2_600\n";
    let (rig, run) = long_then_short(caps, &[]).await;
    let words = rig.words(&run).await;
    let turns = words.iter().copied();
    let turns: Vec<&str> = turns
        .filter(|word| matches!(*word, "compacted" | "prompted"))
        .collect();
    assert_eq!(
        turns,
        ["prompted", "prompted", "compacted", "prompted"],
        "{words:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_the_budget_has_no_room_for_is_the_hosts() {
    let summary = json!({"consult": true, "text": "Short.", "usage": {"input_tokens": 9, "output_tokens": 1}});
    for (tokens, by) in [(2_600, "host"), (9_000, "script")] {
        let caps = format!(
            "model = \"script\"\n[agents.agent.budget]\nreply_tokens = 10\ntokens = {tokens}\n"
        );
        let (rig, run) = long_then_short(&caps, std::slice::from_ref(&summary)).await;
        let records = rig.records(&run).await;
        let wrote = records.iter().find_map(|record| match &record.event {
            Event::Compacted(compacted) => {
                Some((compacted.by.as_str(), compacted.instead.as_str()))
            }
            _ => None,
        });
        let instead = match by {
            "host" => "what the run may use of its models has no room for it",
            _ => "",
        };
        assert_eq!(wrote, Some((by, instead)));
    }
}

/// What a script asks a model in its middle is paid from the budget of its run, and weighed before it leaves: none is asked
/// that would pass it, and the run ends, goes on or waits at its next turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_about_what_is_held_are_weighed_like_turns() {
    let source = "let n = 0; try { for (; n < 6; n++) await consult([n], 'Who?') } catch (error) {} return n";
    let script = json!({"tool": "run_script", "args": {"source": source}});
    let replies = [
        json!({"calls": [script], "usage": {"input_tokens": 10}}),
        json!({"text": "Done.", "usage": {"input_tokens": 10}}),
        json!({"consult": true, "text": "Ada", "usage": {"input_tokens": 20_000}}),
    ];
    for (on_exceed, asked) in [("fail", 2), ("warn", 6), ("ask", 2)] {
        let policy = format!(
            "[agents.agent]\ntools = [\"text.*\", \"handle.*\"]\ncalling = \"both\"\n[agents.agent.budget]\n\
             tokens = 50_000\nreply_tokens = 12_000\non_exceed = \"{on_exceed}\""
        );
        let rig = Rig::of(&policy).replies(&replies).kept().await.open().await;
        let (run, mut answer) = rig.pursue("Ask.").await;
        if on_exceed == "ask" {
            assert_eq!(answer.expect_err("it is asked").code(), Code::Asked);
            rig.answer(Say::Allow).await;
            answer = rig.resume_agent(&run).await;
        }
        let records = rig.records(&run).await;
        match (on_exceed, answer) {
            ("fail", Err(error)) => assert_eq!(error.code(), Code::OverBudget, "{error:?}"),
            ("warn" | "ask", Ok(answer)) => assert_eq!(answer, "Done."),
            (_, answer) => panic!("{on_exceed}: {answer:?}"),
        }
        let turns = if on_exceed == "fail" { 1 } else { 2 };
        let used = stopped(&records).usage.input_tokens;
        assert_eq!(used, turns * 10 + asked * 20_000, "{on_exceed}");
        assert_eq!(
            count(&records, "overspent"),
            usize::from(on_exceed == "warn")
        );
        let refused = records.iter().filter(|record| match &record.event {
            Event::Finished(finished) => {
                matches!(&finished.end, End::Failed { code: Code::OverBudget, message, .. }
                if message.contains("40010 of 50000 tokens used; the next question takes about 12"))
            }
            _ => false,
        });
        assert_eq!(
            refused.count(),
            usize::from(on_exceed != "warn"),
            "{on_exceed}: {records:?}"
        );
        let replayed = rig.replay(&run).await;
        assert!(
            replayed.diverged.is_none(),
            "{on_exceed}: {:?}",
            replayed.diverged
        );
    }
}
