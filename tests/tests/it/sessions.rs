//! Sessions: runs that are told what was said before them, and how much of it where not all fits.

use lazaret::guests::tasks::Tasks;
use lazaret::runs::session::{Joining, Session};
use lazaret::words::error::Code;
use lazaret::words::event::{Answer as Say, Cause, Compacted, Event, InSession};
use lazaret::words::id::RunId;
use lazaret::words::label::Source;
use lazaret::words::session::LOCAL;
use lazaret_tests::prelude::*;
use lazaret_tests::rig::Rigged;
use lazaret_tests::saying;

const FILES: &str = "
    [mounts.inbox]
    path = \"inbox\"
    [grants.\"files.*\"]
    mounts = { inbox = \"read\" }";

fn read() -> Value {
    json!({"calls": [{"tool": "files.read", "args": {"path": "inbox/letter.txt"}}]})
}

fn say(when: &str, text: &str) -> Value {
    json!({"when": when, "text": text})
}

fn session() -> Session {
    Session::of(LOCAL, "work").expect("a name")
}

async fn place(rig: &Rigged, run: &RunId) -> InSession {
    let records = rig.records(run).await;
    let Some(Event::Started(started)) = records.first().map(|first| &first.event) else {
        panic!("{records:?}");
    };
    *started.session.clone().expect("it is in a session")
}

async fn compacted(rig: &Rigged, run: &RunId) -> Vec<Compacted> {
    let records = rig.records(run).await;
    let found = records.into_iter().filter_map(|record| match record.event {
        Event::Compacted(compacted) => Some(*compacted),
        _ => None,
    });
    found.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_told_what_was_said_before() {
    let replies = [
        say("My colour is blue", "I see."),
        read(),
        say("My colour is blue", "Blue, and a letter."),
        say("dear friend", "It says dear friend."),
    ];
    let rig = Rig::of(FILES).file("inbox/letter.txt", "dear friend");
    let rig = rig.replies(&replies).kept().await.open().await;
    assert_eq!(
        rig.host
            .journal()
            .session(&session())
            .await
            .expect("the journal"),
        []
    );
    let (first, _) = rig.pursue_in_session("work", "My colour is blue.").await;
    let (second, answer) = rig.pursue_in_session("work", "Which one?").await;
    assert_eq!(answer.expect("an answer"), "Blue, and a letter.");
    assert_golden("session", &rig.journal(&second).await);
    // The same after the host was started anew.
    let rig = rig.restart().await;
    let (third, answer) = rig.pursue_in_session("work", "What does it say?").await;
    assert_eq!(answer.expect("an answer"), "It says dear friend.");
    let runs = rig
        .host
        .journal()
        .session(&session())
        .await
        .expect("the journal");
    assert_eq!(runs, [first, second, third.clone()]);
    assert_eq!(place(&rig, &third).await.place, 2);
    // Under the influence of what was read before, though it has read nothing itself.
    let records = rig.records(&third).await;
    let replied = records.iter().find_map(|record| match &record.event {
        Event::Replied { label, .. } => Some(label.clone()),
        _ => None,
    });
    let inbox = Source::try_from("file:inbox".to_owned()).expect("a source");
    assert!(
        replied
            .expect("a reply")
            .sources()
            .any(|source| *source == inbox)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_know_nothing_of_each_other() {
    let replies = [json!({"text": "one"}), json!({"text": "two"})];
    let rig = Rig::of("").replies(&replies).open().await;
    let (_, first) = rig.pursue_in_session("work", "a").await;
    let (_, other) = rig.pursue_in_session("home", "a").await;
    let joining = Joining {
        session: Session::of("ann", "work").expect("a name"),
        queue: false,
        compact: false,
    };
    let (run, anns) = rig.join(&joining, "a").await;
    for answer in [first, other, anns] {
        assert_eq!(answer.expect("an answer"), "one");
    }
    assert_eq!(place(&rig, &run).await.user, "ann");
    assert_eq!(
        rig.host
            .journal()
            .sessions(10)
            .await
            .expect("the journal")
            .len(),
        3
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_busy_until_its_run_has_ended() {
    let policy = format!("ask = [\"files.read\"]\n{FILES}");
    let replies = [read(), say("Read it", "I read it.")];
    let rig = Rig::of(&policy).file("inbox/letter.txt", "dear friend");
    let rig = rig.replies(&replies).kept().await.open().await;
    let (left, asked) = rig.pursue_in_session("work", "Read it.").await;
    assert_eq!(asked.expect_err("it asks").code(), Code::Asked);
    let (second, busy) = rig.pursue_in_session("work", "And now?").await;
    let busy = busy.expect_err("it is busy");
    assert_eq!(busy.code(), Code::Busy);
    let hint = format!("lazaret runs resume {left}");
    assert!(
        busy.hints().iter().any(|said| said.contains(&hint)),
        "{busy:?}"
    );
    assert!(
        rig.host.journal().records(&second).await.is_err(),
        "it never began"
    );
    let rig = rig.restart().await;
    rig.answer(Say::Allow).await;
    let answer = rig.resume_agent(&left).await;
    assert_eq!(answer.expect("an answer"), "I read it.");
    assert_eq!(place(&rig, &left).await.place, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_cancelled_is_not_told_again() {
    let policy = format!("ask = [\"files.read\"]\n{FILES}");
    let replies = [read(), json!({"text": "never"})];
    let rig = Rig::of(&policy).file("inbox/letter.txt", "dear friend");
    let rig = rig.replies(&replies).open().await;
    let (left, _) = rig.pursue_in_session("work", "Read it.").await;
    rig.host.abandon(&left).await.expect("it can be cancelled");
    // Its one reply is not counted, so the first line answers again.
    let (second, asked) = rig.pursue_in_session("work", "Anew.").await;
    assert_eq!(asked.expect_err("it asks").code(), Code::Asked);
    assert_eq!(place(&rig, &second).await.place, 1);
    assert!(rig.records(&left).await.len() > 3, "the journal keeps it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_queue_come_one_after_the_other() {
    let replies: Vec<Value> = (0..4).map(|at| json!({"text": format!("{at}")})).collect();
    let rig = Rig::of("").replies(&replies).kept().await.open().await;
    let joining = Joining {
        session: session(),
        queue: true,
        compact: false,
    };
    let all = futures_util::future::join_all((0..4).map(|_| rig.join(&joining, "go"))).await;
    let mut answers: Vec<String> = Vec::new();
    for (run, answer) in &all {
        let answer = answer.as_ref().expect("an answer").clone();
        assert_eq!(place(&rig, run).await.place.to_string(), answer);
        answers.push(answer);
    }
    answers.sort();
    assert_eq!(answers, ["0", "1", "2", "3"]);
    let waiting = rig
        .host
        .pursue_in(&joining, rig.goal("go"), &cancelled())
        .await;
    assert!(waiting.is_err());
}

fn cancelled() -> Tasks {
    let tasks = Tasks::new();
    tasks.cancel();
    tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_changed_in_a_session_ends_it() {
    let replies = [json!({"text": "one"}), json!({"text": "two"})];
    let rig = Rig::of("").replies(&replies).kept().await.open().await;
    let (first, _) = rig.pursue_in_session("work", "a").await;
    let path = rig.path("records/journal.db");
    let rig = rig.close();
    let database = rusqlite::Connection::open(path).expect("a journal");
    let sql = "UPDATE records SET event = replace(event, 'one', 'own') WHERE run = ?1";
    database
        .execute(sql, [first.as_str()])
        .expect("it is changed");
    drop(database);
    let rig = rig.open().await;
    let (_, answer) = rig.pursue_in_session("work", "b").await;
    let error = answer.expect_err("it is not as it was written");
    assert_eq!(error.code(), Code::Corrupt);
    assert!(error.message().contains(first.as_str()), "{error}");
}

/// A rig whose model has a small window, and a letter that fills it.
fn small(more: &str) -> Rig {
    let policy = format!(
        "{more}\n{FILES}\n[agents.agent]\nturns = 20\nidentical_batches = 20\ntools = [\"files.read\", \"text.count\"]\n[models.script]\nwindow_tokens = 3000"
    );
    Rig::of(&policy).file("inbox/letter.txt", &"dear friend, ".repeat(90))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_turns_are_folded_before_the_window_is_full() {
    let mut replies = vec![read(); 9];
    replies.push(say("Summary of what came before", "Read."));
    replies.push(say("Summary of what came before", "Still."));
    let rig = small("").replies(&replies).open().await;
    let (run, answer) = rig.pursue_in_session("work", "Read it nine times.").await;
    assert_eq!(answer.expect("an answer"), "Read.");
    let folds = compacted(&rig, &run).await;
    assert!(!folds.is_empty());
    for fold in &folds {
        assert!(
            fold.after_tokens < fold.before_tokens && fold.estimated,
            "{fold:?}"
        );
        assert_eq!((fold.by.as_str(), fold.cause), ("host", Cause::Window));
        assert!(fold.label.to_string().contains("file:inbox"), "{fold:?}");
    }
    assert_golden("compacted", &rig.journal(&run).await);
    // The next run of the session has it; where it is folded again, that takes it in.
    let (next, answer) = rig.pursue_in_session("work", "And now?").await;
    assert_eq!(answer.expect("an answer"), "Still.");
    for fold in compacted(&rig, &next).await {
        assert!(
            fold.summary.starts_with("user: Read it nine times."),
            "{fold:?}"
        );
    }
}

/// G-69: a summary is written down, so of what is secret there is none, however full the window is. That a call failed is
/// told, under the influence of what it looked at, and it is that which fills the window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_secret_is_never_folded() {
    let words = "dear friend, ".repeat(90);
    let calls =
        |tool: &str, args: Value| json!({"text": words, "calls": [{"tool": tool, "args": args}]});
    for (secrecy, folds) in [("private", true), ("secret", false)] {
        let class = format!(
            "[flow.classes]\n\"file:inbox\" = {{ integrity = \"trusted\", secrecy = \"{secrecy}\" }}"
        );
        // One more is more than the window likes.
        let mut replies = vec![calls("text.count", json!({"text": "a"})); 5];
        replies.push(calls("files.read", json!({"path": "inbox/none.txt"})));
        replies.push(json!({"text": "Counted."}));
        let rig = small(&class).replies(&replies).open().await;
        let (run, answer) = rig.pursue_in_session("work", "Count, then look.").await;
        assert_eq!(answer.expect("an answer"), "Counted.");
        assert_eq!(!compacted(&rig, &run).await.is_empty(), folds, "{secrecy}");
    }
}

/// What no model may read ended its run: a later one of the session is told that it was withheld, and goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_told_of_a_secret_for_nothing_is_withheld_from_later_runs() {
    let class = "[flow]\nbits = 5\n[flow.classes]\n\"file:inbox\" = { integrity = \"trusted\", secrecy = \"secret\" }";
    let fails = json!({"calls": [{"tool": "files.read", "args": {"path": "inbox/none.txt"}}]});
    let rig = Rig::of(&format!("{class}\n{FILES}"));
    let rig = rig.replies(&[fails, say("This was withheld", "Done.")]);
    let rig = rig.kept().await.open().await;
    let (_, answer) = rig.pursue_in_session("work", "Look.").await;
    assert_eq!(answer.expect_err("no model").code(), Code::Denied);
    let rig = rig.restart().await;
    let (run, answer) = rig.pursue_in_session("work", "And now?").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    let labels = records.iter().filter_map(|record| match &record.event {
        Event::Replied { label, .. } => Some(label.to_string()),
        _ => None,
    });
    let labels: Vec<String> = labels.collect();
    assert!(!labels[0].contains("inbox"), "{labels:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_on_has_the_summary_that_it_had() {
    let mut replies = vec![read(); 8];
    replies.push(json!({"calls": [{"tool": "text.count", "args": {"text": "a"}}]}));
    replies.push(say("Summary of what came before", "Counted."));
    let rig = small("ask = [\"text.count\"]").replies(&replies);
    let rig = rig.kept().await.open().await;
    let (run, asked) = rig.pursue_in_session("work", "Read, then count.").await;
    assert_eq!(asked.expect_err("it asks").code(), Code::Asked);
    let before = compacted(&rig, &run).await;
    assert!(!before.is_empty());
    let rig = rig.restart().await;
    rig.answer(Say::Allow).await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Counted.");
    assert_eq!(compacted(&rig, &run).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_may_write_the_summary_and_the_host_does_where_it_cannot() {
    for (written, by, instead) in [
        (Some("Nothing but a letter."), "script", ""),
        (None, "host", "no line"),
    ] {
        let mut replies = vec![read(); 9];
        replies.push(json!({"text": "Read."}));
        replies.extend(written.map(|text| json!({"consult": true, "text": text})));
        let rig = small("[compaction]\nmodel = \"script\"").replies(&replies);
        let rig = rig.open().await;
        let (run, answer) = rig.pursue("Read it nine times.").await;
        assert_eq!(answer.expect("an answer"), "Read.");
        let folds = compacted(&rig, &run).await;
        let fold = folds.first().expect("it is folded");
        assert_eq!(fold.by, by, "{fold:?}");
        assert_eq!(fold.instead.is_empty(), instead.is_empty(), "{fold:?}");
        if let Some(text) = written {
            assert_eq!(fold.summary, text);
        }
    }
}

/// A rig whose older turns are folded, and whose tools have something to say then. `keys` is what else is said of that.
fn noting(keys: &str, tools: &[(&str, Vec<u8>)]) -> Rig {
    let after: Vec<String> = tools
        .iter()
        .map(|(name, _)| format!("{name}.run"))
        .collect();
    let rig = small(&format!("[compaction]\nafter = {after:?}\n{keys}"));
    let tools = tools.iter();
    tools.fold(rig, |rig, (name, component)| rig.component(name, component))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_have_something_to_say_once_turns_are_folded_and_one_that_fails_stops_none() {
    let mut replies = vec![read(); 9];
    replies.push(say("[third.run]\nAnd the third.", "Read."));
    let more = json!({"sensitivity": "internal"});
    let tools = [
        (
            "first",
            saying::component("first", &json!({}), "\"Mind the first thing.\""),
        ),
        (
            "second",
            saying::failing("second", &json!({}), false, &json!({})),
        ),
        (
            "third",
            saying::component("third", &more, "\"And the third.\""),
        ),
    ];
    let rig = noting("", &tools).replies(&replies).open().await;
    let (run, answer) = rig.pursue_in_session("work", "Read it nine times.").await;
    assert_eq!(answer.expect("an answer"), "Read.");
    let folds = compacted(&rig, &run).await;
    assert!(!folds.is_empty());
    for fold in &folds {
        assert_eq!((fold.noted(), fold.after.len()), (2, 3), "{fold:?}");
        assert!(fold.after_tokens < fold.before_tokens, "{fold:?}");
        let [first, second, third] = &fold.after[..] else {
            panic!("{fold:?}");
        };
        assert_eq!(
            (first.text.as_str(), first.failed),
            ("Mind the first thing.", None)
        );
        assert_eq!(
            (second.text.as_str(), second.failed),
            ("", Some(Code::GuestFailed))
        );
        assert_eq!(
            (third.text.as_str(), third.failed),
            ("And the third.", None)
        );
        // The summary takes none of it in, and the model is under its influence.
        assert!(!fold.summary.contains("Mind"), "{fold:?}");
        assert!(
            fold.label.to_string().contains("tool:third.run"),
            "{fold:?}"
        );
    }
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
    assert_golden("noted", &rig.journal(&run).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_of_a_fold_is_what_a_tool_takes_and_no_more_than_fits_is_heard() {
    let mut replies = vec![read(); 9];
    replies.push(say("Summary of what came before", "Read."));
    let takes = json!({"input": {"type": "object", "properties": {"turns": {"type": "integer"}},
        "additionalProperties": false}});
    let secret = json!({"sensitivity": "secret"});
    let tools = [
        ("all", saying::echo("all", &json!({}))),
        ("some", saying::echo("some", &takes)),
        (
            "hush",
            saying::component("hush", &secret, "\"canary-of-the-secret\""),
        ),
    ];
    let rig = noting("after_chars = 60", &tools)
        .replies(&replies)
        .open()
        .await;
    let (run, answer) = rig.pursue("Read it nine times.").await;
    assert_eq!(answer.expect("an answer"), "Read.");
    let folds = compacted(&rig, &run).await;
    let [all, some, hush] = &folds[0].after[..] else {
        panic!("{folds:?}");
    };
    assert_eq!(all.text.chars().count(), 60, "{all:?}");
    assert!(all.text.contains("after_tokens"), "{all:?}");
    let turns = json!({"turns": folds[0].turns});
    assert_eq!(
        serde_json::from_str::<Value>(&some.text).expect("JSON"),
        turns
    );
    assert_eq!((hush.text.as_str(), hush.failed), ("", Some(Code::Denied)));
    let journal = rig.journal(&run).await;
    assert!(!journal.contains("canary-of-the-secret"), "{journal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_called_after_a_fold_is_there_and_only_looks() {
    for (tool, says) in [
        (
            "nobody.run",
            "`[compaction] after = \"nobody.run\"` names no tool",
        ),
        (
            "files.write",
            "`[compaction] after = \"files.write\"` may only look",
        ),
    ] {
        let policy = format!("[compaction]\nafter = [{tool:?}]");
        let error = Rig::of(&policy).try_open().await.map(|_| ()).unwrap_err();
        assert!(error.message().contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_says_fits_or_nothing_is_asked() {
    let rig = small("").replies(&[json!({"text": "never"})]).open().await;
    let (run, answer) = rig.pursue(&"word ".repeat(5_000)).await;
    let error = answer.expect_err("it does not fit");
    assert_eq!(error.code(), Code::OverBudget);
    assert!(
        error.message().contains("the latest message of the user"),
        "{error}"
    );
    assert!(
        error
            .hints()
            .iter()
            .any(|hint| hint.contains("[models.script]")),
        "{error:?}"
    );
    let words = rig.words(&run).await;
    assert_eq!(words, ["started", "stopped"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_one_of_its_runs_does_not_join_a_session() {
    let replies = ["One.", "Two.", "Three."].map(|text| json!({ "text": text }));
    let rig = Rig::of("").replies(&replies).kept().await.open().await;
    let (first, _) = rig.pursue_in_session("work", "a").await;
    rig.pursue_in_session("work", "b")
        .await
        .1
        .expect("an answer");
    rig.host.fork(&first, 1).await.expect("a copy");
    let (_, answer) = rig.pursue_in_session("work", "c").await;
    assert_eq!(answer.expect("the session is as it was"), "Three.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_written_as_text_is_told_with_what_came_of_it() {
    let leaked = json!({"tool": "text.count", "args": {"text": "a b"}}).to_string();
    let replies = [
        json!({ "text": leaked }),
        json!({"text": "Two."}),
        say("\"words\":2", "Still two."),
    ];
    let policy = "[agents.agent]\ntools = [\"text.count\"]";
    let rig = Rig::of(policy).replies(&replies).kept().await.open().await;
    let (first, answer) = rig
        .pursue_in_session("work", "How many words has a b?")
        .await;
    assert_eq!(answer.expect("an answer"), "Two.");
    assert!(
        rig.words(&first).await.contains(&"observed"),
        "it was a call"
    );
    let (_, answer) = rig.pursue_in_session("work", "And now?").await;
    assert_eq!(answer.expect("an answer"), "Still two.");
}

/// R-28a: the turns of a session are counted over its runs; the one too many reaches no model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_takes_so_many_turns_in_all() {
    let policy = "[pace]\nsession_turns = 2\n[agents.agent]\ntools = []";
    let rig = Rig::of(policy)
        .replies(&vec![json!({"text": "Yes."}); 3])
        .open()
        .await;
    for _ in 0..2 {
        let (_, answer) = rig.pursue_in_session("work", "Is it?").await;
        assert_eq!(answer.expect("an answer"), "Yes.");
    }
    let (run, answer) = rig.pursue_in_session("work", "Is it?").await;
    let error = answer.expect_err("there were two");
    assert_eq!(error.code(), Code::OverBudget);
    assert!(error.message().contains("`session_turns`"), "{error}");
    assert!(!rig.words(&run).await.contains(&"prompted"));
    let replayed = rig.replay(&run).await;
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
    // Another session has its own.
    let (_, answer) = rig.pursue_in_session("other", "Is it?").await;
    assert_eq!(answer.expect("an answer"), "Yes.");
}

/// A title that was typed in one run is typed in the next one, too, and is no less that of two letters for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_of_two_letters_names_nobody_in_a_later_run() {
    let letter =
        |from: &str| json!({"id": from, "from": from, "title": "Team offsite, June"}).to_string();
    let records =
        "{ id = \"id\", title = \"title\", author = \"from\", people = { from = \"mail\" } }";
    let policy = format!(
        "[flow]\nmode = \"enforce\"\nhold = \"never\"\ntrust = [\"one\", \"two\", \"mail\"]
        [flow.tools.\"one.run\"]\nrecords = {records}
        [flow.tools.\"two.run\"]\nrecords = {records}
        [flow.tools.\"mail.run\"]\nsteering = {{ to = \"mail\" }}
        [grants.\"mail.run\"]"
    );
    let sink = json!({"effect": "side-effecting", "risk": "external_write"});
    let call = |tool: &str, args: Value| json!({"calls": [{"tool": tool, "args": args}]});
    for (first, verdict) in [("two.run", "allow"), ("one.run", "ask")] {
        let replies = [
            call(first, json!({})),
            json!({"text": "There is one."}),
            call("two.run", json!({})),
            call("mail.run", json!({"to": "eve@evil.test"})),
            json!({"text": "Done."}),
        ];
        let rig = Rig::of(&policy)
            .component(
                "one",
                &saying::component("one", &json!({}), &letter("grace@x.test")),
            )
            .component(
                "two",
                &saying::component("two", &json!({}), &letter("eve@evil.test")),
            )
            .component("mail", &saying::component("mail", &sink, "1"));
        let rig = rig.replies(&replies).kept().await.open().await;
        let typed = "Who writes about \"Team offsite, June\"?";
        let (_, answer) = rig.pursue_in_session("work", typed).await;
        assert_eq!(answer.expect("an answer"), "There is one.");
        let (run, _) = rig
            .pursue_in_session("work", "And to whom do you write?")
            .await;
        let records = rig.records(&run).await;
        let judged = lazaret_tests::rig::judged(&records, "mail.run");
        let verdicts: Vec<_> = judged.iter().map(|judged| judged.verdict.word()).collect();
        assert_eq!(verdicts, [verdict], "after {first}: {judged:?}");
    }
}
