//! Giving a run up: whatever it waits for, it ends at once, and nothing of it is left behind.

use lazaret::guests::tasks::Tasks as Run;
use lazaret::rules::running::{Abort, Pending, RunRules};
use lazaret::words::event::{End, Event, Record};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::verdict::check_records;
use lazaret_tests::wait::comes;
use tokio::runtime::Handle;

fn calls(calls: Value) -> Value {
    json!({ "calls": calls })
}

fn stall(path: &str) -> Answer {
    Answer {
        path: path.to_owned(),
        stall: true,
        ..Answer::default()
    }
}

fn policy(server: &Server) -> String {
    let base = format!("http://127.0.0.1:{}/", server.port());
    format!(
        r#"
        ask = ["text.diff"]
        [grants."hostile.fetch_each"]
        fetch = [{{ url = "{base}", private = true }}]
        [flow]
        mode = "off"
        hold = "never"
        [models.served]
        provider = "openai"
        url = "{base}v1"
        model = "m"
        private = true
        "#
    )
}

fn fetch(server: &Server, path: &str) -> Value {
    let url = format!("http://127.0.0.1:{}{path}", server.port());
    json!({"tool": "hostile.fetch_each", "args": {"urls": [url]}})
}

fn end(records: &[Record]) -> Option<Code> {
    match records.last().map(|record| &record.event) {
        Some(Event::Stopped(stopped)) => match &stopped.end {
            End::Done { .. } => None,
            End::Failed { code, .. } => Some(*code),
        },
        other => panic!("no end: {other:?}"),
    }
}

/// Waits until no more tasks are alive than before.
async fn quiet(before: usize) {
    let metrics = Handle::current().metrics();
    for _ in 0..10_000 {
        if metrics.num_alive_tasks() <= before {
            return;
        }
        tokio::task::yield_now().await;
        let soon = std::time::Duration::from_millis(1);
        let _ = tokio::time::timeout(soon, std::future::pending::<()>()).await;
    }
    panic!("{} tasks, and {before} before", metrics.num_alive_tasks());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_ends_whatever_it_waits_for_and_leaves_no_task() {
    let server = Server::start().await;
    let completions = "/v1/chat/completions";
    server.say(vec![stall("/slow"), stall(completions)]);
    let both = [fetch(&server, "/slow"), fetch(&server, "/slow")];
    let apart = calls(json!([both[0], {"tool": "hostile.sleep"}]));
    for (what, reply) in [
        ("a tool and its fetch", Some(calls(json!([both[0]])))),
        ("a guest that sleeps", Some(apart)),
        ("the same call under way", Some(calls(json!(both)))),
        ("the model's stream", None),
    ] {
        let mut text = policy(&server);
        let rig = match reply {
            Some(reply) => Rig::of(&text).guest("hostile").replies(&[reply]),
            None => {
                text.push_str("[agents.agent]\nmodels = [\"served\"]\n");
                Rig::of(&text).guest("hostile")
            }
        };
        let rig = rig.open().await;
        let (seen, before) = (
            server.seen().len(),
            Handle::current().metrics().num_alive_tasks(),
        );
        let tasks = Tasks::new();
        let cancel = async {
            server.arrived(seen + 1).await;
            tasks.cancel();
        };
        let ((run, answer), ()) = tokio::join!(rig.pursue_in(&tasks, "Go on.", &[]), cancel);
        assert_eq!(answer.expect_err(what).code(), Code::Cancelled, "{what}");
        let records = rig.records(&run).await;
        assert_eq!(check_records(&records), Vec::<String>::new(), "{what}");
        assert_eq!(end(&records), Some(Code::Cancelled), "{what}");
        quiet(before).await;
        rig.assert_alive().await;
    }
}

/// What a server says once nobody waits for it any more is on no record and reaches nobody; that it was given up is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_after_the_end_is_discarded_and_the_record_says_that_it_was_given_up() {
    let server = Server::start().await;
    let late = Answer {
        path: "/late".to_owned(),
        body: "canary-late".to_owned(),
        ..Answer::default()
    };
    server.say(vec![late]);
    server.answer(false);
    let replies = [calls(json!([fetch(&server, "/late")]))];
    let rig = Rig::of(&policy(&server)).guest("hostile").replies(&replies);
    let rig = rig.open().await;
    let tasks = Tasks::new();
    let cancel = async {
        server.arrived(1).await;
        tasks.cancel();
    };
    let ((run, answer), ()) = tokio::join!(rig.pursue_in(&tasks, "Go on.", &[]), cancel);
    assert_eq!(answer.expect_err("it is over").code(), Code::Cancelled);
    let before = rig.records(&run).await;
    // Now it comes.
    server.answer(true);
    rig.assert_alive().await;
    let records = rig.records(&run).await;
    assert_eq!(records, before, "nothing is added to what has ended");
    let ends = records.iter().filter_map(|record| match &record.event {
        Event::Finished(finished) => match &finished.end {
            End::Failed { code, .. } => Some(*code),
            End::Done { .. } => None,
        },
        _ => None,
    });
    // The request, and the call that it was for: given up, and nobody knows what came of it there.
    let ends: Vec<Code> = ends.collect();
    let given_up = |code: &Code| matches!(code, Code::Cancelled | Code::InDoubt);
    assert!(ends.len() == 2 && ends.iter().all(given_up), "{ends:?}");
    let journal = rig.journal(&run).await;
    assert!(!journal.contains("canary-late"), "{journal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_drained_ends_its_step_and_begins_no_other() {
    let server = Server::start().await;
    let answer = Answer {
        path: "/".to_owned(),
        body: "page".to_owned(),
        ..Answer::default()
    };
    server.say(vec![answer]);
    let replies = [
        calls(json!([fetch(&server, "/"), {"tool": "text.count", "args": {"text": "a"}}])),
        json!({"text": "Never said."}),
    ];
    let rig = Rig::of(&policy(&server)).guest("hostile").replies(&replies);
    let rig = rig.open().await;
    let abort = Abort {
        drain: true,
        ..Abort::default()
    };
    let tasks = Run::of(RunRules {
        abort,
        ..RunRules::default()
    });
    // The step cannot end before it is given up.
    server.answer(false);
    let give_up = async {
        server.arrived(1).await;
        tasks.give_up();
        server.answer(true);
    };
    let ((run, answer), ()) = tokio::join!(rig.pursue_in(&tasks, "Go on.", &[]), give_up);
    assert_eq!(answer.expect_err("given up").code(), Code::Cancelled);
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    let words: Vec<&str> = records.iter().map(|record| record.event.word()).collect();
    let observed = words.iter().filter(|word| **word == "observed").count();
    let prompted = words.iter().filter(|word| **word == "prompted").count();
    assert_eq!((observed, prompted), (2, 1), "{words:?}");
    assert_eq!(end(&records), Some(Code::Cancelled));
    // The second time is at once.
    assert!(!tasks.is_cancelled());
    tasks.give_up();
    assert!(tasks.is_cancelled());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_a_run_that_is_given_up_are_denied_held_or_its_failure() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/".to_owned(),
        body: "page".to_owned(),
        ..Answer::default()
    }]);
    let diff = json!({"tool": "text.diff", "args": {"old": "a", "new": "b"}});
    let reply = calls(json!([fetch(&server, "/"), diff]));
    for (pending, code, last) in [
        (Pending::Deny, Code::Cancelled, "stopped"),
        (Pending::Hold, Code::Asked, "paused"),
        (Pending::Fail, Code::Denied, "stopped"),
    ] {
        let rig = Rig::of(&policy(&server))
            .guest("hostile")
            .replies(std::slice::from_ref(&reply));
        let rig = rig.open().await;
        // The step ends, so that the question is there when the run is given up.
        let abort = Abort {
            drain: true,
            pending,
            ..Abort::default()
        };
        let tasks = Run::of(RunRules {
            abort,
            ..RunRules::default()
        });
        let seen = server.seen().len();
        server.answer(false);
        let give_up = async {
            server.arrived(seen + 1).await;
            tasks.give_up();
            server.answer(true);
        };
        let ((run, answer), ()) = tokio::join!(rig.pursue_in(&tasks, "Go on.", &[]), give_up);
        let error = answer.expect_err("given up");
        assert_eq!(error.code(), code, "{pending:?}: {error:?}");
        let records = rig.records(&run).await;
        assert_eq!(check_records(&records), Vec::<String>::new(), "{pending:?}");
        let words = rig.words(&run).await;
        assert_eq!(words.last(), Some(&last), "{pending:?}");
        let open = rig.host.questions().await.expect("the journal is well");
        assert_eq!(open.len(), usize::from(pending == Pending::Hold));
        assert_eq!(words.contains(&"expired"), pending != Pending::Hold);
    }
}

/// What waits for a lock cannot be stopped; once it has it, it finds that nobody wants it any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_while_it_waits_for_a_lock_does_nothing_later() {
    let policy = "[mounts.docs]\npath = \"docs\"\naccess = \"write\"\nown = true\n\
        [grants.\"files.*\"]\nmounts = { docs = \"write\" }\n";
    let rig = Rig::of(policy).file("docs/a.txt", "before").kept().await;
    let (lock, docs) = (rig.path("state/files.lock"), rig.path("docs"));
    let rig = rig.open().await;
    let held = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(lock);
    let held = held.expect("the lock of all files");
    held.lock().expect("nobody else has it");
    let (tasks, run) = (Tasks::new(), rig.host.new_run());
    let args = json!({"path": "docs/late.txt", "content": "late"}).to_string();
    let calling = rig.call_in(run.clone(), &tasks, ("files.write", &args));
    let cancel = async {
        let judged = comes(async || judgements(&rig, &run).await >= 2).await;
        assert!(judged, "it never comes to the file");
        tasks.cancel();
    };
    let (called, ()) = tokio::join!(calling, cancel);
    assert_eq!(
        lazaret_tests::rig::error(&called.outcome).code(),
        Code::Cancelled
    );
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    assert_eq!(end(&records), Some(Code::Cancelled));
    drop(held);
    // The lock is free, and this comes after whatever still waited for it.
    let args = json!({"path": "docs/next.txt", "content": "next"});
    let next = rig.call("files.write", args).await;
    assert!(next.outcome.result.is_ok(), "{:?}", next.outcome.result);
    assert!(docs.join("next.txt").exists());
    assert!(
        !docs.join("late.txt").exists(),
        "it was written after its end"
    );
    rig.assert_alive().await;
}

/// How many effects of a run were judged so far.
async fn judgements(rig: &Rigged, run: &RunId) -> usize {
    let records = rig.host.journal().records(run).await.unwrap_or_default();
    let judged = records
        .iter()
        .filter(|record| matches!(record.event, Event::Judged(_)));
    judged.count()
}

fn is_doubted(text: &str) -> bool {
    text.contains("may or may not have happened")
}

/// A tool that posts and one that looks, each with whether it is in doubt when it is cut off.
fn posts_and_looks(server: &Server) -> (String, [(&'static str, Value, bool); 2]) {
    let base = format!("http://127.0.0.1:{}/", server.port());
    let policy = format!(
        "{}[grants.\"web.*\"]\nfetch = [{{ url = \"{base}\", methods = [\"GET\", \"POST\"], private = true }}]\n",
        policy(server)
    );
    let url = format!("{base}slow");
    let both = [
        ("web.post", json!({"url": url, "text": "a"}), true),
        ("web.get_page", json!({"url": url}), false),
    ];
    (policy, both)
}

/// By the rule that holds after a crash: of what must not happen twice nobody knows whether it has, and whoever wished for
/// it and whoever watches are told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_must_not_happen_twice_is_in_doubt_when_its_run_is_given_up() {
    let server = Server::start().await;
    server.say(vec![stall("/slow")]);
    let (policy, both) = posts_and_looks(&server);
    for (tool, args, doubted) in both {
        let reply = calls(json!([{"tool": tool, "args": args}]));
        let rig = Rig::of(&policy).guest("hostile").replies(&[reply]);
        let rig = rig.open().await;
        let seen = server.seen().len();
        let tasks = Tasks::new();
        let cancel = async {
            server.arrived(seen + 1).await;
            tasks.cancel();
        };
        let ((run, answer), ()) = tokio::join!(rig.pursue_in(&tasks, "Go on.", &[]), cancel);
        let error = answer.expect_err(tool);
        assert_eq!(error.code(), Code::Cancelled, "{tool}");
        assert_eq!(is_doubted(error.message()), doubted, "{tool}: {error}");
        assert_eq!(
            error.hints().iter().any(|hint| hint.contains("look where")),
            doubted
        );
        let records = rig.records(&run).await;
        for record in &records {
            match &record.event {
                Event::Observed { observation, .. } => {
                    assert_eq!(is_doubted(&observation.text), doubted, "{observation:?}");
                    let again = "do not wish for it again before the user has looked";
                    assert_eq!(observation.text.contains(again), doubted);
                }
                Event::Finished(finished) => {
                    if let End::Failed { message, .. } = &finished.end {
                        assert_eq!(is_doubted(message), doubted, "{tool}: {message}");
                    }
                }
                _ => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_must_not_happen_twice_is_in_doubt_when_its_time_is_over() {
    let server = Server::start().await;
    server.say(vec![stall("/slow")]);
    let (policy, both) = posts_and_looks(&server);
    for (tool, args, doubted) in both {
        let policy = format!("{policy}[limits]\ntimeout_ms = 300\nretries = 0\n");
        let rig = Rig::of(&policy).guest("hostile").open().await;
        let called = rig.call(tool, args).await;
        let error = lazaret_tests::rig::error(&called.outcome);
        assert_eq!(error.code(), Code::TooSlow, "{tool}: {error:?}");
        assert_eq!(is_doubted(error.message()), doubted, "{tool}: {error}");
        assert_eq!(error.is_in_doubt(), doubted, "{tool}");
        assert_ne!(
            error.is_retryable(),
            doubted,
            "{tool}: it may be made again"
        );
    }
}
