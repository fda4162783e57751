//! Calls that are made again, and calls that need not be: retries, a turn's cache, a client's keys.

use std::path::Path;
use std::sync::Arc;

use lazaret::guests::dispatch::{Outcome, Request};
use lazaret::rules::caller::Invocation;
use lazaret::rules::manifest::Retry;
use lazaret::runs::written::Written;
use lazaret::surfaces::wish::{self, Options};
use lazaret::words::event::{Answer as Say, Event, Record, Sight, Surface, Verdict};
use lazaret::words::id::RunId;
use lazaret::words::message::WishedArgs;
use lazaret_tests::nobody::Nobody;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::spell::found;
use lazaret_tests::verdict::{check_records, files_with};

fn page(server: &Server, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", server.port())
}

fn says(path: &str, status: u16) -> Answer {
    Answer {
        path: path.to_owned(),
        status: Some(status),
        body: "page".to_owned(),
        ..Answer::default()
    }
}

/// A host whose tools may ask the server, and write into `out`.
async fn rig_of(server: &Server, replies: &[Value]) -> Rigged {
    let base = page(server, "/");
    let policy = format!(
        r#"
        [mounts.out]
        path = "out"
        access = "write"
        own = true
        workspace = true
        [grants."web.*"]
        fetch = [{{ url = "{base}", private = true }}]
        [grants."hostile.*"]
        fetch = [{{ url = "{base}", private = true }}]
        mounts = {{ out = "write" }}
        [flow]
        mode = "off"
        hold = "never"
        "#
    );
    let rig = Rig::of(&policy).guest("hostile").replies(replies);
    rig.open().await
}

fn judged(records: &[Record], tool: &str) -> usize {
    let judged = records.iter().filter(|record| {
        matches!(&record.event, Event::Judged(judged)
            if judged.subject == tool && matches!(judged.verdict, Verdict::Allow { .. }))
    });
    judged.count()
}

/// Calls a tool as a client that says more of it.
async fn asked(
    rig: &Rigged,
    (tool, args): (&str, Value),
    asked: Invocation,
) -> (Vec<Record>, Outcome) {
    let request = Request {
        tool: tool.to_owned(),
        args: WishedArgs::Json(args),
    };
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    let called = rig.host.call_asked(
        run.clone(),
        Surface::Cli,
        (request, &Written::Typed, asked),
        &tasks,
    );
    let called = called.await.expect("the journal takes the call");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    (records, called.outcome)
}

fn again(retries: u32, delay_ms: u64) -> Invocation {
    Invocation {
        retry: Some(Retry::linear(retries, delay_ms)),
        ..Invocation::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_may_succeed_later_is_made_again_and_each_attempt_is_judged() {
    let server = Server::start().await;
    server.say(vec![says("/busy", 503), says("/gone", 404)]);
    let rig = rig_of(&server, &[]).await;
    for (path, retries, attempts) in [("/busy", 2, 3), ("/busy", 0, 1), ("/gone", 2, 1)] {
        let before = server.seen().len();
        let call = ("web.get_page", json!({"url": page(&server, path)}));
        let (records, outcome) = asked(&rig, call, again(retries, 1)).await;
        assert!(outcome.result.is_err(), "{outcome:?}");
        assert_eq!(server.seen().len() - before, attempts, "{path} {retries}");
        assert_eq!(judged(&records, "web.get_page"), attempts);
        let said = outcome.trail.logs.iter();
        let said = said.filter(|line| line.message.contains("again in"));
        assert_eq!(said.count(), attempts - 1);
    }
}

/// A client says how often, and after how long a wait, by whichever way it comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_says_how_long_the_waits_are() {
    let server = Server::start().await;
    server.say(vec![says("/busy", 503)]);
    let rig = rig_of(&server, &[]).await;
    let args = json!({"url": page(&server, "/busy")});
    for (options, waits) in [
        (
            json!({"retries": 2, "retryDelayMs": 3}),
            &["3 ms", "6 ms"][..],
        ),
        (json!({"retries": 1, "retryDelayMs": 0}), &["0 ms"]),
        (json!({"retryDelayMs": 3}), &[]),
    ] {
        let options: Options = serde_json::from_value(options).expect("options");
        let options = Options {
            typed: true,
            ..options
        };
        let (wish, tasks) = (("web.get_page", args.clone()), Tasks::new());
        let begun = (rig.host.new_run(), Surface::Json);
        let answered = wish::call(&rig.host, begun, wish, &options, &tasks).await;
        let logs = answered.envelope["logs"].as_array().expect("logs").clone();
        let said = logs.iter().filter_map(|line| line["message"].as_str());
        let said: Vec<&str> = said
            .filter_map(|line| line.split("again in ").nth(1))
            .map(|rest| rest.split_inclusive("ms").next().unwrap_or_default())
            .collect();
        assert_eq!(said, waits, "{}", answered.envelope);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_attempt_is_what_came_of_a_call() {
    let server = Server::start().await;
    server.say(vec![says("/", 503)]);
    let rig = rig_of(&server, &[]).await;
    let run = rig.host.new_run();
    let mut watcher = rig.host.watch(&run);
    let request = Request {
        tool: "web.get_page".to_owned(),
        args: WishedArgs::Json(json!({"url": page(&server, "/")})),
    };
    let mends = async {
        let mut ends = 0;
        while ends < 2 {
            ends += usize::from(matches!(watcher.next().await, Sight::Record(record)
                if matches!(record.event, Event::Finished(_))));
        }
        server.say(vec![says("/", 200)]);
    };
    let tasks = Tasks::new();
    let call = (request, &Written::Typed, again(5, 50));
    let (called, ()) = tokio::join!(rig.host.call_asked(run, Surface::Cli, call, &tasks), mends);
    let outcome = called.expect("the journal takes the call").outcome;
    assert!(outcome.result.is_ok(), "{outcome:?}");
    assert!(server.seen().len() >= 2);
    assert!(!outcome.spent.repeated);
}

/// That there was a second attempt is the doing of whoever had influence on the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_of_the_last_attempt_is_under_the_influence_of_those_before() {
    let (server, other) = (Server::start().await, Server::start().await);
    let elsewhere = Answer {
        once: true,
        headers: [("location".to_owned(), page(&other, "/busy"))].into(),
        ..says("/", 302)
    };
    server.say(vec![elsewhere, says("/", 200)]);
    other.say(vec![says("/busy", 503)]);
    let policy = format!(
        "[grants.\"web.*\"]\n\
         fetch = [{{ url = \"{}\", private = true }}, {{ url = \"{}\", private = true }}]\n\
         [flow]\nmode = \"off\"\nhold = \"never\"",
        page(&server, "/"),
        page(&other, "/")
    );
    let rig = Rig::of(&policy).open().await;
    let call = ("web.get_page", json!({"url": page(&server, "/")}));
    let (records, outcome) = asked(&rig, call, again(1, 1)).await;
    assert!(outcome.result.is_ok(), "{outcome:?}");
    assert_eq!(judged(&records, "web.get_page"), 2);
    assert_eq!((server.seen().len(), other.seen().len()), (2, 1));
    let label = &outcome.label;
    for one in [&server, &other] {
        assert!(label.covers(&crate::page::web(one)), "{label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_something_is_never_made_again() {
    let nobody = Nobody::new();
    let url = format!("{}/", nobody.url());
    let policy = format!(
        "[grants.\"web.*\"]\nfetch = [{{ url = \"{url}\", methods = [\"GET\", \"POST\"], private = true }}]\n\
         [flow]\nmode = \"off\""
    );
    let rig = Rig::of(&policy).open().await;
    let post = ("web.post", json!({"url": url, "text": "a"}));
    let (records, outcome) = asked(&rig, post, again(5, 1)).await;
    assert!(rig::error(&outcome).is_retryable(), "{outcome:?}");
    assert_eq!(judged(&records, "web.post"), 1);
    let get = ("web.get_page", json!({"url": url}));
    let (records, _) = asked(&rig, get, again(5, 1)).await;
    assert_eq!(judged(&records, "web.get_page"), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_cancelled_waits_for_no_further_attempt() {
    let server = Server::start().await;
    server.say(vec![says("/busy", 503)]);
    let rig = rig_of(&server, &[]).await;
    let run = rig.host.new_run();
    let mut watcher = rig.host.watch(&run);
    let request = Request {
        tool: "web.get_page".to_owned(),
        args: WishedArgs::Json(json!({"url": page(&server, "/busy")})),
    };
    let tasks = Tasks::new();
    let cancels = async {
        loop {
            if matches!(watcher.next().await, Sight::Glimpse { .. }) {
                break;
            }
        }
        tasks.cancel();
    };
    // Whoever waits for it waits for an hour.
    let call = (request, &Written::Typed, again(5, 3_600_000));
    let (called, ()) = tokio::join!(
        rig.host.call_asked(run.clone(), Surface::Cli, call, &tasks),
        cancels
    );
    let outcome = called.expect("the journal takes the call").outcome;
    assert_eq!(rig::error(&outcome).code(), Code::Cancelled);
    assert_eq!(judged(&rig.records(&run).await, "web.get_page"), 1);
}

fn calls(calls: &[Value]) -> Value {
    json!({ "calls": calls })
}

fn fetch(server: &Server) -> Value {
    json!({"tool": "hostile.fetch_each", "args": {"urls": [page(server, "/")]}})
}

/// How often the server was asked by an agent that makes these calls, and how often a guest ran.
async fn asked_of(server: &Server, turns: &[Vec<Value>]) -> (usize, Vec<Record>) {
    let mut replies: Vec<Value> = turns.iter().map(|turn| calls(turn)).collect();
    replies.push(json!({"text": "Done."}));
    let rig = rig_of(server, &replies).await;
    let before = server.seen().len();
    let (run, answer) = rig.pursue("Look.").await;
    answer.expect("an answer");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    (server.seen().len() - before, records)
}

fn repeated(records: &[Record]) -> usize {
    let repeated = records.iter().filter(
        |record| matches!(&record.event, Event::Finished(finished) if finished.spent.repeated),
    );
    repeated.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_look_twice_in_a_turn_is_one_and_both_are_judged() {
    let server = Server::start().await;
    server.say(vec![says("/", 200)]);
    let one = || fetch(&server);
    let other = json!({"tool": "hostile.fetch_each", "args": {"method": "GET", "urls": [page(&server, "/")]}});
    let write = json!({"tool": "hostile.file_each", "args": {"wishes": []}});
    let script_turns = [
        (vec![vec![one(), one(), one()]], 1, 2),
        (vec![vec![one()], vec![one()]], 2, 0),
        (vec![vec![one(), write, one()]], 2, 0),
        (vec![vec![one(), other]], 2, 0),
    ];
    for (turns, requests, given) in script_turns {
        let (asked, records) = asked_of(&server, &turns).await;
        assert_eq!((asked, repeated(&records)), (requests, given), "{turns:?}");
        let looks = turns.iter().flatten();
        let looks = looks.filter(|call| call["tool"] == "hostile.fetch_each");
        assert_eq!(judged(&records, "hostile.fetch_each"), looks.count());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_given_again_has_the_label_of_what_was_read() {
    let server = Server::start().await;
    server.say(vec![says("/", 200)]);
    let (_, records) = asked_of(&server, &[vec![fetch(&server), fetch(&server)]]).await;
    let labels: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Observed { observation, .. } => Some(&observation.label),
            _ => None,
        })
        .collect();
    assert_eq!(labels.len(), 2);
    assert_eq!(labels[0], labels[1]);
    // Whoever goes on with the run knows by that what each of them vouches for.
    let ends = records.iter().filter_map(|record| match &record.event {
        Event::Finished(finished) => finished.read.as_ref(),
        _ => None,
    });
    let reads: Vec<_> = ends.collect();
    assert_eq!(reads.len(), 2);
    assert_eq!(reads[0], reads[1]);
    assert!(!reads[0].at.is_empty());
    assert!(
        serde_json::to_string(labels[1])
            .expect("a label is JSON")
            .contains("web:"),
        "{labels:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_not_given_again() {
    let server = Server::start().await;
    server.say(vec![says("/", 404)]);
    let look = json!({"tool": "web.get_page", "args": {"url": page(&server, "/")}});
    let (asked, records) = asked_of(&server, &[vec![look.clone(), look]]).await;
    assert_eq!((asked, repeated(&records)), (2, 0));
}

fn key(key: &str) -> Invocation {
    Invocation {
        key: Some(Arc::from(key)),
        ..Invocation::default()
    }
}

fn append(with: &str) -> (&'static str, Value) {
    let wish = json!({"op": "append", "path": "out/log.txt", "with": with, "times": 1});
    ("hostile.file_each", json!({ "wishes": [wish] }))
}

fn log(rig: &Rigged) -> String {
    std::fs::read_to_string(rig.path("out/log.txt")).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_sent_twice_under_one_key_happens_once() {
    let server = Server::start().await;
    let rig = rig_of(&server, &[]).await;
    let (first, second) = tokio::join!(
        asked(&rig, append("a"), key("k")),
        asked(&rig, append("a"), key("k")),
    );
    let (_, third) = asked(&rig, append("a"), key("k")).await;
    let all = [&first.1, &second.1, &third];
    assert_eq!(log(&rig), "a");
    for outcome in all {
        assert_eq!(rig::value(outcome), rig::value(&first.1));
    }
    let given = all.iter().filter(|outcome| outcome.spent.repeated).count();
    assert_eq!(given, 2);
    assert_eq!(judged(&second.0, "hostile.file_each"), 1);
    // Another key, other arguments and no key are other calls.
    asked(&rig, append("a"), key("l")).await;
    asked(&rig, append("b"), key("k")).await;
    asked(&rig, append("a"), Invocation::default()).await;
    asked(&rig, append("a"), Invocation::default()).await;
    assert_eq!(log(&rig), "aabaa");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_forgotten_in_time_and_a_bad_one_refused() {
    let server = Server::start().await;
    let rig = rig_of(&server, &[]).await;
    asked(&rig, append("a"), key("k")).await;
    rig.clock.advance(std::time::Duration::from_secs(299));
    asked(&rig, append("a"), key("k")).await;
    assert_eq!(log(&rig), "a");
    rig.clock.advance(std::time::Duration::from_secs(2));
    asked(&rig, append("a"), key("k")).await;
    assert_eq!(log(&rig), "aa");
    let request = Request {
        tool: "text.count".to_owned(),
        args: WishedArgs::Json(json!({"text": "a"})),
    };
    let call = (request, &Written::Typed, key(""));
    let run: RunId = rig.host.new_run();
    let tasks = Tasks::new();
    let refused = rig.host.call_asked(run, Surface::Cli, call, &tasks);
    assert_eq!(refused.await.expect_err("no key").code(), Code::BadInput);
}

const ASKS: &str = "ask = [\"hostile.file_each\", \"hostile.sleep\"]\n[flow]\nmode = \"off\"\n\
    [mounts.out]\npath = \"out\"\naccess = \"write\"\nown = true\nworkspace = true\n\
    [grants.\"hostile.*\"]\nmounts = { out = \"write\" }\n";

/// A person is asked once, whichever process the call is sent to again; whoever sends it is told which run waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_call_waits_for_an_answer_the_same_one_asks_nobody_again() {
    let mut rig = Rig::of(ASKS).guest("hostile").kept().await.open().await;
    let (records, outcome) = asked(&rig, append("a"), key("k")).await;
    assert_eq!(rig::error(&outcome).code(), Code::Asked);
    let run = records[0].run.clone();
    for _ in 0..2 {
        let (_, again) = asked(&rig, append("a"), key("k")).await;
        let error = rig::error(&again);
        assert_eq!(error.code(), Code::Busy, "{error}");
        assert!(
            error.message().contains(&format!("in run {run}")),
            "{error}"
        );
        assert_eq!(rig.host.questions().await.expect("they are read").len(), 1);
        rig = rig.restart().await;
    }
    // Another call and another client's are others.
    let theirs = Invocation {
        client: Arc::from("theirs"),
        ..key("k")
    };
    for (call, said) in [(append("b"), key("k")), (append("a"), theirs)] {
        let (_, other) = asked(&rig, call, said).await;
        assert_eq!(rig::error(&other).code(), Code::Asked);
    }
    answer_of(&rig, &run).await;
    let (_, again) = asked(&rig, append("a"), key("k")).await;
    assert_eq!(
        rig::error(&again).code(),
        Code::Busy,
        "it was answered, and not taken up"
    );
    rig.resume(&run).await.expect("it goes on");
    assert_eq!(log(&rig), "a");
}

/// A clock that was ahead, and was put right, has let two runs wait under one key: one of them is made, whichever goes on first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_wait_under_one_key_one_is_made() {
    for later_first in [false, true] {
        let rig = Rig::of(ASKS).guest("hostile").kept().await.open().await;
        let (first, _) = asked(&rig, append("a"), key("k")).await;
        rig.clock.advance(std::time::Duration::from_secs(301));
        let (second, outcome) = asked(&rig, append("a"), key("k")).await;
        assert_eq!(rig::error(&outcome).code(), Code::Asked);
        let mut rig = rig.close().at(first[0].at + 1_000).open().await;
        let mut runs = [&first[0].run, &second[0].run];
        for run in runs {
            answer_of(&rig, run).await;
        }
        if later_first {
            runs.reverse();
        }
        let mut repeated = Vec::new();
        for run in runs {
            let outcome = rig.resume(run).await.expect("it goes on").outcome;
            assert!(outcome.result.is_ok(), "{outcome:?}");
            repeated.push(outcome.spent.repeated);
            // The other goes on in another process, which knows of this one what is on record.
            rig = rig.close().at(first[0].at + 2_000).open().await;
        }
        assert_eq!((repeated, log(&rig)), (vec![false, true], "a".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_of_another_client_is_another_key() {
    let server = Server::start().await;
    let rig = rig_of(&server, &[]).await;
    let of = |client: &str| Invocation {
        client: Arc::from(client),
        ..key("k")
    };
    for (client, logged, repeated) in [
        ("", "a", false),
        ("one", "aa", false),
        ("two", "aaa", false),
        ("one", "aaa", true),
        ("", "aaa", true),
    ] {
        let (_, outcome) = asked(&rig, append("a"), of(client)).await;
        let got = (log(&rig), outcome.spent.repeated);
        assert_eq!(got, (logged.to_owned(), repeated), "{client}");
    }
}

/// Says yes to the question of this run.
async fn answer_of(rig: &Rigged, run: &RunId) {
    let waiting = rig.host.questions().await.expect("they are on record");
    let own = waiting.iter().find(|waiting| waiting.run == *run);
    let id = own.expect("it waits").question.id.as_str().to_owned();
    let said = rig.host.answer(&id, Say::Allow).await;
    said.expect("it is answered");
}

/// A call that waits for a yes, gets it, and goes on.
async fn approved(rig: &Rigged, call: (&str, Value), said: Invocation) -> Outcome {
    let (records, outcome) = asked(rig, call, said).await;
    assert_eq!(rig::error(&outcome).code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let run = records[0].run.clone();
    rig.resume(&run).await.expect("it goes on").outcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_goes_on_has_the_key_and_the_time_that_its_client_gave_it() {
    let rig = Rig::of(ASKS).guest("hostile").kept().await.open().await;
    let first = approved(&rig, append("a"), key("k")).await;
    let again = approved(&rig, append("a"), key("k")).await;
    assert_eq!(rig::value(&again), rig::value(&first));
    assert_eq!((again.spent.repeated, log(&rig).as_str()), (true, "a"));
    approved(&rig, append("a"), Invocation::default()).await;
    assert_eq!(log(&rig), "aa");
    let short = Invocation {
        timeout_ms: Some(50),
        ..Invocation::default()
    };
    let slow = approved(&rig, ("hostile.sleep", json!({})), short).await;
    let error = rig::error(&slow);
    assert_eq!(error.code(), Code::TooSlow);
    let left = error
        .message()
        .split(' ')
        .find_map(|word| word.parse().ok());
    assert!(left.is_some_and(|ms: u64| ms <= 50), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_goes_on_gets_the_answer_of_the_last_attempt() {
    let server = Server::start().await;
    server.say(vec![says("/busy", 503)]);
    let policy = format!(
        "ask = [\"text.diff\"]\n[limits]\nretries = 1\n[grants.\"web.*\"]\n\
         fetch = [{{ url = \"{}\", private = true }}]\n[flow]\nmode = \"off\"",
        page(&server, "/")
    );
    let rig = Rig::of(&policy).kept().await.open().await;
    let source = format!(
        "let said = 'nothing';
         try {{ await tools.web.get_page({{url: '{}'}}) }} catch (error) {{ said = error.code }}
         await tools.text.diff({{old: 'a', new: 'b'}});
         return said",
        page(&server, "/busy")
    );
    let left = rig.script(&source).await;
    assert_eq!(rig::error(&left.outcome).code(), Code::Asked);
    assert_eq!(server.seen().len(), 2);
    let rig = rig.restart().await;
    rig.answer(lazaret::words::event::Answer::Allow).await;
    let called = rig.resume(&left.run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!("fetch_failed"));
    assert_eq!(server.seen().len(), 2, "nothing is asked again");
    let records = rig.records(&left.run).await;
    assert_eq!(judged(&records, "web.get_page"), 2);
    assert_eq!(check_records(&records), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeats_and_bounds_as_they_stand_on_record() {
    let look = json!({"tool": "text.count", "args": {"text": "a b"}});
    let same = calls(&[look.clone(), look]);
    let rig =
        Rig::of("[flow]\nmode = \"off\"\nhold = \"never\"\n[agents.agent]\nidentical_batches = 2")
            .replies(&[same.clone(), same])
            .open()
            .await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect_err("the guard").code(), Code::OverBudget);
    assert_golden("agent-repeats", &rig.journal(&run).await);
}

/// What is on record is looked through by key, and no secret stands there: such a key would be found again by nobody, or
/// by whoever writes what stands in its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_or_a_clients_name_that_holds_a_secret_is_refused_and_stands_nowhere() {
    const SECRET: &str = "zq9K7mPw2XvR4tLb";
    let rig = Rig::of("").kept().await.secret("name", SECRET);
    let rig = rig.open().await;
    let of_client = Invocation {
        client: format!("client {SECRET}").into(),
        ..key("a")
    };
    for held in [key(SECRET), key(&format!("call {SECRET} 2")), of_client] {
        let request = Request {
            tool: "text.count".to_owned(),
            args: WishedArgs::Json(json!({"text": "a"})),
        };
        let (run, tasks) = (rig.host.new_run(), Tasks::new());
        let call = (request, &Written::Typed, held);
        let refused = rig.host.call_asked(run, Surface::Cli, call, &tasks).await;
        let error = refused.expect_err("a secret is no key");
        assert_eq!(error.code(), Code::BadInput);
        let told = format!("{error:?}");
        assert_eq!(found(SECRET, told.as_bytes()), None, "{told}");
    }
    let folder = Path::new(rig.folder());
    assert_eq!(files_with(SECRET, folder), Vec::<String>::new());
}
