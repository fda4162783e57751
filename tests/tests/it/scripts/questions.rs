//! Calls that a person is asked about: the run is left, an answer counts once, and only for what was asked.

use lazaret::words::event::{Answer as Say, Event, Verdict};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

const POLICY: &str = r#"
    ask = ["files.write"]
    [mounts.out]
    path = "out"
    access = "write"
    [grants."files.write"]
    mounts = { out = "write" }
"#;

const ONE: &str = "
    const before = await tools.text.count({text: 'a b'});
    let written;
    try { written = (await tools.files.write({path: 'out/log.txt', content: 'one\\n', mode: 'append'})).bytes }
    catch (error) { written = [error.name, error.code, error.retryable] }
    return [before.words, written]";

fn written(rig: &Rigged) -> String {
    std::fs::read_to_string(rig.path("out/log.txt")).unwrap_or_default()
}

/// Subjects of all questions that wait.
async fn asked(rig: &Rigged) -> Vec<String> {
    let waiting = rig.host.questions().await.expect("the journal is well");
    waiting
        .into_iter()
        .map(|waiting| waiting.question.text)
        .collect()
}

/// Runs a script that has to be left.
async fn left(rig: &Rigged, source: &str) -> RunId {
    let called = rig.script(source).await;
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::Asked, "{error:?}");
    called.run
}

async fn opened() -> Rigged {
    Rig::of(POLICY).guest("hostile").kept().await.open().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_is_acted_on_once_even_after_a_restart() {
    let rig = opened().await;
    let run = left(&rig, ONE).await;
    assert_eq!(written(&rig), "");
    assert_eq!(rig.words(&run).await.last(), Some(&"paused"));
    let rig = rig.restart().await;
    let texts = asked(&rig).await;
    assert_eq!(texts.len(), 1);
    for part in ["script", "`files.write`", "out/log.txt", "one"] {
        assert!(texts[0].contains(part), "{texts:?}");
    }
    let waiting = rig.answer(Say::Allow).await;
    assert_eq!(waiting.run, run);
    assert!(
        waiting.question.rule.contains("ask = [\"files.write\"]"),
        "{waiting:?}"
    );
    assert_eq!(written(&rig), "", "an answer alone does nothing");
    assert!(asked(&rig).await.is_empty());
    let rig = rig.restart().await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!([2, 4]));
    assert_eq!(written(&rig), "one\n");
    let records = rig.records(&run).await;
    assert_eq!(check_records(&records), Vec::<String>::new());
    let allowed = records.iter().find_map(|record| match &record.event {
        Event::Judged(judged) if judged.subject == "files.write" => match &judged.verdict {
            Verdict::Allow { rule } => Some(rule.clone()),
            _ => None,
        },
        _ => None,
    });
    let rule = allowed.expect("it was allowed");
    assert!(
        rule.contains(&waiting.question.id.to_string()) && rule.contains("answered with yes"),
        "{rule}"
    );
    let again = rig.resume(&run).await.expect_err("it has ended");
    assert_eq!(again.code(), Code::Conflict);
    assert_eq!(written(&rig), "one\n");
}

/// Its record says how long it was, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_goes_on_that_has_named_a_tool_at_great_length() {
    let rig = opened().await;
    let named = "const long = await tools['x'.repeat(300)]['y'.repeat(299)]({}).catch(error => error.code);";
    let source = format!("{named}{}", ONE.replace("return [", "return [long, "));
    let run = left(&rig, &source).await;
    rig.answer(Say::Allow).await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!(["unknown_tool", 2, 4]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_is_an_error_that_the_script_can_catch() {
    let rig = opened().await;
    let run = left(&rig, ONE).await;
    rig.answer(Say::Deny).await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(
        *rig::value(&called.outcome),
        json!([2, ["ToolError", "denied", false]])
    );
    assert_eq!(written(&rig), "");
    assert!(asked(&rig).await.is_empty());
    // Its mark is gone with it.
    assert_eq!(
        std::fs::read_dir(rig.path("state/begun"))
            .expect("marks")
            .count(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_answer_the_same_is_asked_again_and_nothing_is_done() {
    let rig = opened().await;
    let run = left(&rig, ONE).await;
    let question = rig.host.questions().await.expect("questions")[0]
        .question
        .id
        .clone();
    let mut rig = rig;
    for _ in 0..2 {
        rig = rig.restart().await;
        let called = rig.resume(&run).await.expect("the run is known");
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::Asked, "{error:?}");
        let hints = error.hints().join("\n");
        assert!(
            hints.contains(&format!("lazaret ask allow {question}")),
            "{hints}"
        );
        let waiting = rig.host.questions().await.expect("questions");
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        assert_eq!(waiting[0].question.id, question);
        assert_eq!(written(&rig), "");
    }
    // What had ended in its first life is not called again.
    let counts = rig.records(&run).await;
    let counts = counts.iter().filter(
        |record| matches!(&record.event, Event::Judged(judged) if judged.subject == "text.count"),
    );
    assert_eq!(counts.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_questions_of_one_step_are_answered_one_by_one() {
    let rig = opened().await;
    let source = "
        const write = text => tools.files.write({path: 'out/log.txt', content: text + '\\n', mode: 'append'}).then(() => text, error => error.code);
        return await Promise.all([write('one'), tools.text.count({text: 'a'}).then(one => one.words), write('two')])";
    let run = left(&rig, source).await;
    let waiting = rig.host.questions().await.expect("questions");
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    let two = waiting
        .iter()
        .find(|waiting| waiting.question.text.contains("two"))
        .expect("the second");
    rig.host
        .answer(two.question.id.as_str(), Say::Deny)
        .await
        .expect("it is open");
    let rig = rig.restart().await;
    let called = rig.resume(&run).await.expect("the run is known");
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    assert_eq!(asked(&rig).await.len(), 1);
    assert_eq!(written(&rig), "");
    rig.answer(Say::Allow).await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!(["one", 1, "denied"]));
    assert_eq!(written(&rig), "one\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_for_one_call_and_not_for_another_just_like_it() {
    let rig = opened().await;
    let source = "
        for (const text of ['one', 'one', 'two']) {
            await tools.files.write({path: 'out/log.txt', content: text + '\\n', mode: 'append'});
        }
        return 'done'";
    let run = left(&rig, source).await;
    let mut seen = Vec::new();
    for so_far in ["", "one\n", "one\none\n"] {
        assert_eq!(written(&rig), so_far);
        let waiting = rig.answer(Say::Allow).await;
        assert!(
            !seen.contains(&waiting.question.id),
            "each is a question of its own"
        );
        seen.push(waiting.question.id);
        let called = rig.resume(&run).await.expect("it goes on");
        if seen.len() == 3 {
            assert_eq!(*rig::value(&called.outcome), "done");
        } else {
            assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
        }
    }
    assert_eq!(written(&rig), "one\none\ntwo\n");
    // Nor does it count in another run.
    left(&rig, source).await;
    assert_eq!(written(&rig), "one\none\ntwo\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_call_that_waits_for_a_person_time_passes_and_nothing_is_called() {
    let rig = opened().await;
    let source = "
        const asked = tools.files.write({path: 'out/log.txt', content: 'one\\n'});
        const rested = await new Promise(resolve => setTimeout(resolve, 0, 'rested'));
        const words = (await tools.text.count({text: 'a b'})).words;
        return [words, rested, (await asked).bytes]";
    let run = left(&rig, source).await;
    let words = rig.words(&run).await;
    assert_eq!(
        words.iter().filter(|word| **word == "rested").count(),
        1,
        "{words:?}"
    );
    assert_eq!(judged(&rig, &run, "text.count").await, 0);
    rig.answer(Say::Allow).await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!([2, "rested", 4]));
    assert_eq!(judged(&rig, &run, "text.count").await, 1);
}

/// How often calls of a tool were judged.
async fn judged(rig: &Rigged, run: &RunId, tool: &str) -> usize {
    rig::judged(&rig.records(run).await, tool).len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_something_does_not_overtake_what_waits_for_a_person() {
    let policy = format!(
        "{POLICY}\n[grants.\"notes.put\"]\nnotes = \"write\"\n[grants.\"notes.get\"]\nnotes = \"read\""
    );
    let rig = Rig::of(&policy).kept().await.open().await;
    let source = "
        const written = tools.files.write({path: 'out/log.txt', content: 'one\\n'});
        const kept = tools.notes.put({key: 'k', text: 't'});
        const more = tools.files.write({path: 'out/more.txt', content: 'two\\n'});
        return (await Promise.all([written, kept, more])).length";
    let run = left(&rig, source).await;
    assert_eq!(asked(&rig).await.len(), 2);
    assert_eq!(judged(&rig, &run, "notes.put").await, 0);
    let waiting = rig.host.questions().await.expect("questions");
    for one in &waiting {
        let id = one.question.id.as_str();
        rig.host.answer(id, Say::Allow).await.expect("it is open");
    }
    let rig = rig.restart().await;
    let called = rig.resume(&run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), 3);
    let records = rig.records(&run).await;
    let done: Vec<&str> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Judged(judged)
                if judged.origin == "script" && matches!(judged.verdict, Verdict::Allow { .. }) =>
            {
                Some(judged.subject.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(done, ["files.write", "notes.put", "files.write"]);
    assert_eq!(check_records(&records), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forbidden_is_not_asked_about() {
    let policy = POLICY.replace("ask =", "block = [\"files.write\"]\nask =");
    let rig = Rig::of(&policy).kept().await.open().await;
    let called = rig.script(ONE).await;
    assert_eq!(
        *rig::value(&called.outcome),
        json!([2, ["ToolError", "denied", false]])
    );
    assert!(asked(&rig).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_in_the_middle_of_its_call_cannot_wait() {
    let policy = format!("{POLICY}\n[grants.\"hostile.call_each\"]\ncalls = [\"files.write\"]");
    let rig = Rig::of(&policy).guest("hostile").kept().await.open().await;
    let source = "return await tools.hostile.call_each({tools: ['files.write'], args: {path: 'out/log.txt', content: 'x'}})";
    let called = rig.script(source).await;
    let text = rig::value(&called.outcome).to_string();
    assert!(text.contains("cannot wait for one"), "{text}");
    assert_eq!(written(&rig), "");
    assert!(asked(&rig).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_alone_waits_as_well() {
    let args = json!({"path": "out/log.txt", "content": "one\n", "mode": "append"});
    for (say, text, code) in [
        (Say::Allow, "one\n", None),
        (Say::Deny, "", Some(Code::Denied)),
    ] {
        let rig = opened().await;
        let called = rig.call("files.write", args.clone()).await;
        assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
        let rig = rig.restart().await;
        let same = rig.resume(&called.run).await.expect("the run is known");
        assert_eq!(rig::error(&same.outcome).code(), Code::Asked);
        rig.answer(say).await;
        let rig = rig.restart().await;
        let called = rig.resume(&called.run).await.expect("it goes on");
        assert_eq!(
            called
                .outcome
                .result
                .as_ref()
                .err()
                .map(lazaret::words::error::Error::code),
            code
        );
        assert_eq!(written(&rig), text);
        assert_eq!(
            check_records(&rig.records(&called.run).await),
            Vec::<String>::new()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_waits_in_its_script_and_goes_on_with_it() {
    for (say, text, tells) in [(Say::Allow, "one\n", "[2,4]"), (Say::Deny, "", "denied")] {
        let replies = [
            json!({"text": "I write.", "calls": [{"tool": "run_script", "args": {"source": ONE}}]}),
            json!({"when": tells, "text": "It is written."}),
        ];
        let rig =
            Rig::of(&format!("{POLICY}\n[agents.agent]\ncalling = \"code\"")).replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Write.").await;
        let error = answer.expect_err("somebody has to say");
        assert_eq!(error.code(), Code::Asked, "{error:?}");
        let rig = rig.restart().await;
        let still = rig.resume_agent(&run).await.expect_err("nobody has said");
        assert_eq!(still.code(), Code::Asked);
        assert_eq!(written(&rig), "");
        rig.answer(say).await;
        let rig = rig.restart().await;
        let answer = rig.resume_agent(&run).await;
        assert_eq!(answer.expect("an answer"), "It is written.", "{say:?}");
        assert_eq!(written(&rig), text);
        let records = rig.records(&run).await;
        let prompts = records
            .iter()
            .filter(|record| matches!(record.event, Event::Prompted { .. }));
        assert_eq!(prompts.count(), 2, "no turn is paid for twice");
        assert_eq!(
            std::fs::read_dir(rig.path("state/begun"))
                .expect("marks")
                .count(),
            0
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_calls_directly_waits_too_and_repeats_nothing() {
    let put = |text: &str| json!({"tool": "files.write", "args": {"path": "out/log.txt", "content": text, "mode": "append"}});
    let replies = [
        json!({"calls": [{"tool": "notes.put", "args": {"key": "k", "text": "t"}}, put("one\n"), {"tool": "text.count", "args": {"text": "a"}}]}),
        json!({"calls": [put("one\n")]}),
        json!({"text": "Done."}),
    ];
    let policy = format!("{POLICY}\n[grants.\"notes.put\"]\nnotes = \"write\"");
    let rig = Rig::of(&policy).replies(&replies).kept().await.open().await;
    let (run, answer) = rig.pursue("Write.").await;
    assert_eq!(answer.expect_err("somebody has to say").code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    let second = rig
        .resume_agent(&run)
        .await
        .expect_err("the second turn asks again");
    assert_eq!(second.code(), Code::Asked);
    assert_eq!(written(&rig), "one\n");
    rig.answer(Say::Deny).await;
    let rig = rig.restart().await;
    assert_eq!(rig.resume_agent(&run).await.expect("an answer"), "Done.");
    assert_eq!(written(&rig), "one\n");
    let records = rig.records(&run).await;
    let puts = records.iter().filter(
        |record| matches!(&record.event, Event::Judged(judged) if judged.subject == "notes.put"),
    );
    assert_eq!(puts.count(), 1, "what had ended is not called again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_have_names() {
    let rig = opened().await;
    let unknown = rig
        .host
        .answer("ffffffffffff0", Say::Allow)
        .await
        .expect_err("no such question");
    assert_eq!(unknown.code(), Code::NotFound);
    left(&rig, ONE).await;
    left(&rig, ONE).await;
    let both = rig
        .host
        .answer("", Say::Allow)
        .await
        .expect_err("which one?");
    assert_eq!(both.code(), Code::BadInput);
    assert_eq!(asked(&rig).await.len(), 2);
    assert_eq!(written(&rig), "");
}
