//! Questions of an agent's turn: asked together, answered one by one, in order, in time, and by whoever is there.

use std::time::Duration;

use lazaret::words::error::Error;
use lazaret::words::event::{Answer as Say, End, Event, Record, Verdict};
use lazaret::words::id::RunId;
use lazaret_tests::golden::named;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

use crate::page::observed;

const POLICY: &str = r#"
    ask = ["files.write", "echo.echo"]
    [mounts.out]
    path = "out"
    access = "write"
    [grants."files.write"]
    mounts = { out = "write" }
    [grants."notes.put"]
    notes = "write"
"#;

fn write(text: &str) -> Value {
    json!({"tool": "files.write", "args": {"path": "out/log.txt", "content": format!("{text}\n"), "mode": "append"}})
}

fn count() -> Value {
    json!({"tool": "text.count", "args": {"text": "a b"}})
}

/// An agent that makes these calls in one turn, and is done once it has read `when`.
async fn agent(policy: &str, calls: &[Value], when: &str) -> Rigged {
    let replies = [
        json!({ "calls": calls }),
        json!({"when": when, "text": "Done."}),
    ];
    Rig::of(policy).replies(&replies).kept().await.open().await
}

fn written(rig: &Rigged) -> String {
    std::fs::read_to_string(rig.path("out/log.txt")).unwrap_or_default()
}

/// Pursues a goal that has to be left.
async fn left(rig: &Rigged) -> (RunId, Error) {
    let (run, answer) = rig.pursue("Write.").await;
    let error = answer.expect_err("somebody has to say");
    assert_eq!(error.code(), Code::Asked, "{error:?}");
    (run, error)
}

/// Goes on with a run that has to be left again.
async fn left_again(rig: &Rigged, run: &RunId) {
    let error = rig
        .resume_agent(run)
        .await
        .expect_err("somebody has to say");
    assert_eq!(error.code(), Code::Asked, "{error:?}");
}

/// The questions that wait, by a word of what would be written.
async fn waiting(rig: &Rigged) -> Vec<String> {
    let waiting = rig.host.questions().await.expect("the journal is well");
    let word = |text: &str| {
        ["one", "two", "three"]
            .into_iter()
            .find(|word| text.contains(word))
    };
    let words = waiting
        .iter()
        .map(|waiting| word(&waiting.question.text).unwrap_or("?").to_owned());
    words.collect()
}

/// Answers the question in which this word stands.
async fn answer(rig: &Rigged, word: &str, say: Say) -> Result<(), Error> {
    let waiting = rig.host.questions().await.expect("the journal is well");
    let one = waiting
        .iter()
        .find(|waiting| waiting.question.text.contains(word));
    let one = one.expect("a question");
    rig.host
        .answer(one.question.id.as_str(), say)
        .await
        .map(|_| ())
}

/// How calls of this tool were judged.
fn verdicts(records: &[Record], tool: &str) -> Vec<&'static str> {
    let judged = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == tool => Some(judged.verdict.word()),
        _ => None,
    });
    judged.collect()
}

/// The rules by which calls of this tool were denied.
fn denials(records: &[Record], tool: &str) -> Vec<String> {
    let denied = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == tool => match &judged.verdict {
            Verdict::Deny(denial) => Some(denial.rule.clone()),
            Verdict::Allow { .. } | Verdict::Ask(_) => None,
        },
        _ => None,
    });
    denied.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_one_turn_are_asked_together_and_nothing_between_them_is_done() {
    let rig = agent(POLICY, &[write("one"), count(), write("two")], "said no").await;
    let (run, error) = left(&rig).await;
    assert!(
        error
            .message()
            .contains("the run waits for 2 answers; the first: May this model"),
        "{error:?}"
    );
    let hints = error.hints().join("\n");
    assert_eq!(hints.matches("lazaret ask allow ").count(), 2, "{hints}");
    let rig = rig.restart().await;
    assert_eq!(waiting(&rig).await, ["one", "two"]);
    let records = rig.records(&run).await;
    assert_eq!(verdicts(&records, "files.write"), ["ask", "ask"]);
    assert_eq!(
        verdicts(&records, "text.count"),
        [""; 0],
        "it stands behind a call that waits"
    );
    assert!(
        matches!(records.last().map(|last| &last.event), Some(Event::Paused { questions }) if questions.len() == 2)
    );
    // One answer leaves the other waiting.
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    assert_eq!(waiting(&rig).await, ["two"]);
    assert_eq!(written(&rig), "");
    let rig = rig.restart().await;
    left_again(&rig, &run).await;
    assert_eq!(written(&rig), "one\n", "what was answered is done");
    assert_eq!(verdicts(&rig.records(&run).await, "text.count"), ["allow"]);
    answer(&rig, "two", Say::Deny).await.expect("it is open");
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "one\n");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    assert_eq!(
        verdicts(&records, "files.write"),
        ["ask", "ask", "allow", "ask", "deny"]
    );
    let journal = rig.journal(&run).await;
    assert_golden("agent-asks", &named(&journal, &records));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_not_done_before_what_comes_before_it() {
    let rig = agent(POLICY, &[write("one"), write("two")], "ok").await;
    let (run, _) = left(&rig).await;
    answer(&rig, "two", Say::Allow).await.expect("it is open");
    left_again(&rig, &run).await;
    assert_eq!(written(&rig), "");
    assert_eq!(waiting(&rig).await, ["one"], "the other is answered");
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    let _ = rig.resume_agent(&run).await;
    assert_eq!(written(&rig), "one\ntwo\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_of_a_question_that_only_look_are_made_once() {
    let asked = json!({"tool": "echo.echo", "args": {"text": "one"}});
    let replies = [
        json!({"calls": [count(), asked, count(), write("two")]}),
        json!({"when": "said no", "text": "Done."}),
    ];
    let rig = Rig::of(POLICY)
        .guest("echo")
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, _) = left(&rig).await;
    assert_eq!(waiting(&rig).await, ["one", "two"]);
    assert_eq!(
        verdicts(&rig.records(&run).await, "text.count"),
        ["allow", "allow"]
    );
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    answer(&rig, "two", Say::Deny).await.expect("it is open");
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    assert_eq!(
        verdicts(&records, "text.count"),
        ["allow", "allow"],
        "nothing is repeated"
    );
    let seen: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Observed { tool, .. } => Some(tool.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        seen,
        ["text.count", "echo.echo", "text.count", "files.write"],
        "each once, in order"
    );
}

/// It was read beside a call that waited, and is told once that was answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_in_an_earlier_life_has_its_label_in_this_one() {
    let policy = format!(
        "{POLICY}\n[mounts.inbox]\npath = \"inbox\"\n[grants.\"files.read\"]\nmounts = {{ inbox = \"read\" }}\n[flow]\nhold = \"never\""
    );
    let asked = json!({"tool": "echo.echo", "args": {"text": "one"}});
    let read = json!({"tool": "files.read", "args": {"path": "inbox/letter.txt"}});
    let replies = [json!({"calls": [asked, read]}), json!({"text": "Done."})];
    let rig = Rig::of(&policy)
        .guest("echo")
        .file("inbox/letter.txt", "Dear reader")
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let (run, _) = left(&rig).await;
    answer(&rig, "one", Say::Deny).await.expect("it is open");
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    assert_eq!(
        verdicts(&records, "files.read"),
        ["allow"],
        "it is read once"
    );
    let (text, label) = observed(&records).pop().expect("it was told");
    assert!(text.contains("Dear reader"), "{text}");
    assert!(label.to_string().contains("file:inbox"), "{label}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_behind_a_question_does_not_begin() {
    let policy = format!("{POLICY}\n[agents.agent]\ncalling = \"both\"");
    let script = json!({"tool": "run_script", "args": {"source": "return (await tools.text.count({text: 'a'})).words"}});
    let rig = agent(&policy, &[write("one"), script], "1").await;
    let (run, _) = left(&rig).await;
    assert_eq!(rig.lives(&run).await, 0);
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(rig.lives(&run).await, 1);
    assert_eq!(written(&rig), "one\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_is_there_a_question_is_a_no_and_the_run_goes_on() {
    let policy = format!("unattended = \"deny\"\n{POLICY}");
    let rig = agent(
        &policy,
        &[write("one"), count(), write("two")],
        "nobody is there to give one",
    )
    .await;
    let (run, answer) = rig.pursue("Write.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "");
    let records = rig.records(&run).await;
    assert_eq!(
        denials(&records, "files.write"),
        ["unattended", "unattended"]
    );
    assert_eq!(verdicts(&records, "text.count"), ["allow"]);
    assert_eq!(check_records(&records), Vec::<String>::new());
    assert!(waiting(&rig).await.is_empty());
    let source = "return await tools.files.write({path: 'out/log.txt', content: 'x'}).catch(error => [error.code, error.message])";
    let told = rig.script(source).await;
    let told = rig::value(&told.outcome);
    assert_eq!(told[0], "denied");
    assert!(
        told.to_string().contains("nobody is there to give one"),
        "{told}"
    );
    let args = json!({"path": "out/log.txt", "content": "x"});
    let called = rig.call("files.write", args).await;
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::Denied, "{error:?}");
    assert!(
        error
            .hints()
            .concat()
            .contains("# leave out: ask = [\"files.write\"]"),
        "{error:?}"
    );
    assert_eq!(written(&rig), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_while_somebody_was_there_counts_when_nobody_is() {
    let rig = agent(POLICY, &[write("one"), write("two")], "nobody is there").await;
    let (run, _) = left(&rig).await;
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    let policy = format!("unattended = \"deny\"\n{POLICY}");
    let rig = reopened(
        rig.close().policy(&policy),
        &[write("one"), write("two")],
        "nobody is there",
    )
    .await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "one\n");
    assert_eq!(
        denials(&rig.records(&run).await, "files.write"),
        ["unattended"]
    );
}

/// The same agent under what is another policy, in the same place.
async fn reopened(rig: Rig, calls: &[Value], when: &str) -> Rigged {
    let replies = [
        json!({ "calls": calls }),
        json!({"when": when, "text": "Done."}),
    ];
    rig.replies(&replies).open().await
}

const EXPIRES: &str = "ask_expires_s = 60\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_too_late_is_refused_and_counts_as_no() {
    let policy = format!("{EXPIRES}{POLICY}");
    let rig = agent(
        &policy,
        &[write("one"), write("two")],
        "did not answer in time",
    )
    .await;
    let (run, _) = left(&rig).await;
    rig.clock.advance(Duration::from_secs(59));
    answer(&rig, "two", Say::Allow)
        .await
        .expect("there was a second");
    rig.clock.advance(Duration::from_secs(1));
    let question = rig.host.questions().await.expect("questions")[0]
        .question
        .clone();
    assert_eq!(question.until, Some(NOW_MS + 60_000));
    let late = answer(&rig, "one", Say::Allow)
        .await
        .expect_err("a minute is over");
    assert_eq!(
        (late.code(), late.is_retryable()),
        (Code::Conflict, false),
        "{late:?}"
    );
    assert!(
        late.message().contains("was not answered in time"),
        "{late:?}"
    );
    // A clock that is set back gives no second chance to what is on record.
    let rig = rig.close().at(NOW_MS).open().await;
    let again = rig.host.answer(question.id.as_str(), Say::Allow).await;
    let again = again.expect_err("it has expired");
    assert_eq!(again.code(), Code::Conflict, "{again:?}");
    assert!(
        again.message().contains("was not answered in time"),
        "{again:?}"
    );
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(
        written(&rig),
        "two\n",
        "what was answered in time counts, however late the run goes on"
    );
    let records = rig.records(&run).await;
    assert_eq!(denials(&records, "files.write"), ["expired"]);
    assert_eq!(check_records(&records), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_go_on_is_no_way_to_more_time() {
    let policy = format!("{EXPIRES}{POLICY}");
    let rig = agent(&policy, &[write("one")], "did not answer in time").await;
    let (run, _) = left(&rig).await;
    rig.clock.advance(Duration::from_secs(40));
    left_again(&rig, &run).await;
    // The time that holds is that of the run's beginning, whatever the policy says by now.
    let rig = reopened(
        rig.close().policy(POLICY),
        &[write("one")],
        "did not answer in time",
    )
    .await;
    rig.clock.advance(Duration::from_secs(20));
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    let words = rig.words(&run).await;
    assert_eq!(
        words.iter().filter(|word| **word == "expired").count(),
        1,
        "{words:?}"
    );
    assert_eq!(written(&rig), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_gives_as_much_time_as_when_it_began() {
    let replies = [
        json!({"calls": [write("one")]}),
        json!({"calls": [write("two")]}),
    ];
    let rig = Rig::of(&format!("{EXPIRES}{POLICY}")).replies(&replies);
    let rig = rig.kept().await.open().await;
    let (run, _) = left(&rig).await;
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    let later = format!("ask_expires_s = 7_000\n{POLICY}");
    let rig = rig.close().policy(&later).replies(&replies).open().await;
    left_again(&rig, &run).await;
    let question = &rig.host.questions().await.expect("questions")[0].question;
    assert!(question.text.contains("two"), "{question:?}");
    assert_eq!(question.until, Some(NOW_MS + 60_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_learns_that_nobody_has_answered_in_time() {
    let rig = Rig::of(&format!("{EXPIRES}{POLICY}"))
        .kept()
        .await
        .open()
        .await;
    let source = "return await tools.files.write({path: 'out/log.txt', content: 'x'}).catch(error => [error.code, error.message])";
    let called = rig.script(source).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    rig.clock.advance(Duration::from_secs(61));
    let rig = rig.close().at(NOW_MS + 61_000).open().await;
    let called = rig.resume(&called.run).await.expect("it goes on");
    let told = rig::value(&called.outcome);
    assert_eq!(told[0], "denied");
    assert!(
        told.to_string().contains("did not answer in time"),
        "{told}"
    );
    assert_eq!(written(&rig), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_is_judged_again_when_the_run_goes_on() {
    let rig = agent(POLICY, &[write("one")], "is blocked by").await;
    let (run, _) = left(&rig).await;
    answer(&rig, "one", Say::Allow).await.expect("it is open");
    let policy = format!("block = [\"files.write\"]\n{POLICY}");
    let rig = reopened(
        rig.close().policy(&policy),
        &[write("one")],
        "is blocked by",
    )
    .await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "");
    assert_eq!(
        denials(&rig.records(&run).await, "files.write"),
        ["blocked_tool"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_to_one_component_is_none_to_another() {
    let bytes = std::fs::read(target().join("guests/echo.wasm")).expect("a guest");
    let rig = Rig::of(POLICY)
        .component("echo", &bytes)
        .kept()
        .await
        .open()
        .await;
    let called = rig.call("echo.echo", json!({"text": "one"})).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    let first = rig.answer(Say::Allow).await;
    // The same in every respect but one: a section of its own that nobody reads.
    let other = [bytes.as_slice(), &[0, 2, 1, b'x']].concat();
    let rig = rig.close().component("echo", &other).open().await;
    let again = rig.resume(&called.run).await.expect("the run is known");
    assert_eq!(rig::error(&again.outcome).code(), Code::Asked);
    let second = rig.answer(Say::Allow).await;
    assert_ne!(first.question.id, second.question.id);
    let done = rig.resume(&called.run).await.expect("it goes on");
    assert!(done.outcome.result.is_ok(), "{:?}", done.outcome);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_to_one_component_is_one_to_the_next_also_where_nobody_asks_any_more() {
    let bytes = std::fs::read(target().join("guests/echo.wasm")).expect("a guest");
    let rig = Rig::of(POLICY).component("echo", &bytes).kept().await;
    let rig = rig.open().await;
    let called = rig.call("echo.echo", json!({"text": "one"})).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    rig.answer(Say::Deny).await;
    let other = [bytes.as_slice(), &[0, 2, 1, b'x']].concat();
    let policy = POLICY.replace(", \"echo.echo\"", "");
    let rig = rig.close().policy(&policy).component("echo", &other);
    let rig = rig.open().await;
    let done = rig.resume(&called.run).await.expect("the run is known");
    assert_eq!(rig::error(&done.outcome).code(), Code::Denied);
    let records = rig.records(&called.run).await;
    assert_eq!(denials(&records, "echo.echo"), ["answered"]);
}

/// Asks about values that nobody has named.
const FLOWS: &str = r#"
    [flow]
    mode = "enforce"
    [mounts.out]
    path = "out"
    access = "write"
    [grants."files.write"]
    mounts = { out = "write" }
"#;

/// Two calls of one turn have the same values: whoever answers for these for the whole run, and has said no to one of the calls,
/// has said no to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_stands_whatever_else_is_answered() {
    for (first, second, done, all) in [
        (
            ("one", Say::Always),
            ("two", Say::Deny),
            "one\n",
            ["ask", "ask", "allow", "deny"],
        ),
        (
            ("two", Say::Deny),
            ("one", Say::Always),
            "one\n",
            ["ask", "ask", "allow", "deny"],
        ),
        (
            ("one", Say::Deny),
            ("two", Say::Always),
            "two\n",
            ["ask", "ask", "deny", "allow"],
        ),
        (
            ("two", Say::Always),
            ("one", Say::Deny),
            "two\n",
            ["ask", "ask", "deny", "allow"],
        ),
    ] {
        let rig = agent(FLOWS, &[write("one"), write("two")], "said no").await;
        let (run, _) = left(&rig).await;
        assert_eq!(waiting(&rig).await, ["one", "two"]);
        for (word, say) in [first, second] {
            answer(&rig, word, say).await.expect("it is open");
        }
        let rig = rig.restart().await;
        assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
        assert_eq!(written(&rig), done);
        let records = rig.records(&run).await;
        assert_eq!(verdicts(&records, "files.write"), all);
        assert_eq!(denials(&records, "files.write"), ["answered"]);
        assert_eq!(check_records(&records), Vec::<String>::new());
    }
}

/// Nor does a policy that asks nothing any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_stands_under_a_policy_that_asks_nothing() {
    let rig = agent(POLICY, &[write("one")], "said no").await;
    let (run, _) = left(&rig).await;
    answer(&rig, "one", Say::Deny).await.expect("it is open");
    let policy = POLICY.replace("ask = [\"files.write\", \"echo.echo\"]", "");
    let policy = format!("flow.mode = \"off\"\n{policy}");
    let rig = reopened(rig.close().policy(&policy), &[write("one")], "said no").await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "");
    let records = rig.records(&run).await;
    assert_eq!(denials(&records, "files.write"), ["answered"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_answered_in_time_is_not_done_because_of_another_answer() {
    let policy = format!("{EXPIRES}{FLOWS}");
    let calls = [write("one"), write("two")];
    let rig = agent(&policy, &calls, "did not answer in time").await;
    let (run, _) = left(&rig).await;
    answer(&rig, "one", Say::Always).await.expect("it is open");
    rig.clock.advance(Duration::from_secs(61));
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "one\n");
    let records = rig.records(&run).await;
    assert_eq!(denials(&records, "files.write"), ["expired"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_counts_once_and_unknown_names_are_told_from_used_ones() {
    let rig = agent(POLICY, &[write("one"), write("two")], "said no").await;
    let (run, _) = left(&rig).await;
    let id = rig.host.questions().await.expect("questions")[0]
        .question
        .id
        .clone();
    answer(&rig, "one", Say::Deny).await.expect("it is open");
    for start in [id.as_str(), &id.as_str()[..12]] {
        let again = rig.host.answer(start, Say::Allow).await;
        let again = again.expect_err("it was answered");
        assert_eq!(again.code(), Code::Conflict, "{again:?}");
        assert!(
            again.message().contains("was answered already, with no"),
            "{again:?}"
        );
        assert!(
            again.hints().concat().contains(&run.to_string()),
            "{again:?}"
        );
    }
    // Too short a name may be that of any question.
    for (unknown, code) in [
        ("0000000000", Code::NotFound),
        ("%%%%%%", Code::NotFound),
        ("______", Code::NotFound),
        (
            "\u{202e}\u{202e}\u{202e}\u{202e}\u{202e}\u{202e}",
            Code::NotFound,
        ),
        ("x' OR 1", Code::NotFound),
        ("", Code::BadInput),
        ("%", Code::BadInput),
        ("\u{202e}", Code::BadInput),
        (&id.as_str()[..5], Code::BadInput),
    ] {
        let error = rig.host.answer(unknown, Say::Allow).await;
        let error = error.expect_err("there is none");
        assert_eq!(error.code(), code, "{unknown}: {error:?}");
        assert!(!error.message().contains('\u{202e}'), "{error:?}");
    }
    assert_eq!(waiting(&rig).await, ["two"]);
    assert_eq!(written(&rig), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_is_written_meanwhile_makes_a_question_the_last_of_its_kind() {
    let policy = format!("flow.mode = \"off\"\n{POLICY}");
    let rig = agent(&policy, &[write("one"), write("two")], "ok").await;
    let (run, _) = left(&rig).await;
    let line = rig.host.questions().await.expect("questions")[0]
        .question
        .lines
        .clone();
    assert_eq!(line, ["# leave out: ask = [\"files.write\"]"]);
    let policy = policy.replace("ask = [\"files.write\", \"echo.echo\"]", "");
    let rig = reopened(
        rig.close().policy(&policy),
        &[write("one"), write("two")],
        "\"ok\":true",
    )
    .await;
    let _ = rig.resume_agent(&run).await;
    assert_eq!(written(&rig), "one\ntwo\n");
    assert!(waiting(&rig).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_and_could_not_be_held_is_told_as_done_in_every_life() {
    let server = Server::start().await;
    server.say(vec![Answer {
        path: "/report".into(),
        // More than what is left of the room.
        body: "b".repeat(200_000),
        ..Answer::default()
    }]);
    let url = format!("http://127.0.0.1:{}/report", server.port());
    let policy = format!(
        r#"
        ask = ["text.count"]
        [limits]
        script_calls = 200
        [flow]
        mode = "enforce"
        hold = "untrusted"
        [mounts.inbox]
        path = "inbox"
        [grants."files.read"]
        mounts = {{ inbox = "read" }}
        [grants."web.post"]
        fetch = [{{ url = "{url}", private = true, methods = ["POST"] }}]
        "#
    );
    // So much is held that nothing more can be.
    let source = format!(
        "for (let at = 0; at < 70; at++) await tools.files.read({{path: 'inbox/big.txt'}}).catch(() => null);
        const told = await tools.web.post({{url: '{url}', text: 'x'}});
        const words = (await tools.text.count({{text: 'a b'}})).words;
        return [told.done, typeof told.withheld, words]"
    );
    let rig = Rig::of(&policy).file("inbox/big.txt", &"a".repeat(500_000));
    let rig = rig.kept().await.open().await;
    let called = rig.script(&source).await;
    let run = called.run;
    assert_eq!(
        rig::error(&called.outcome).code(),
        Code::Asked,
        "{:?}",
        called.outcome
    );
    assert_eq!(server.seen().len(), 1);
    let records = rig.records(&run).await;
    let posted = records.iter().find_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == "web.post" => Some(record.seq),
        _ => None,
    });
    let told = records.iter().find_map(|record| match &record.event {
        Event::Finished(finished) if Some(finished.of) == posted => Some(finished),
        _ => None,
    });
    let told = told.expect("it has an end");
    assert!(matches!(told.end, End::Done { .. }), "{told:?}");
    assert_eq!(told.told.as_ref().expect("what was told")["done"], true);
    rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!([true, "string", 2]));
    assert_eq!(server.seen().len(), 1, "it is not done twice");
}

/// What is a secret by now was none when it was asked about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_shows_nothing_that_has_become_a_secret_since() {
    let value = "canary-7f3a9c-asked";
    let rig = agent(POLICY, &[write(value)], "never").await;
    left(&rig).await;
    let texts = async |rig: &Rigged| {
        let waiting = rig.host.questions().await.expect("the journal is well");
        waiting
            .iter()
            .map(|waiting| format!("{waiting:?}"))
            .collect::<Vec<_>>()
    };
    assert!(texts(&rig).await[0].contains(value));
    let rig = rig.close().secret("since", value).open().await;
    let found = texts(&rig).await;
    assert_eq!(found.len(), 1);
    assert!(!found[0].contains(value), "{}", found[0]);
}
