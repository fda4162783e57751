//! Journals of scripts, whole.

use lazaret::words::event::Answer as Say;
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

use super::kept::patient;

/// A journal whose questions have a name that is the same each time.
async fn journal(rig: &Rigged, run: &RunId, questions: &[String]) -> String {
    let text = rig.journal(run).await;
    questions.iter().fold(text, |text, question| {
        text.replace(question.as_str(), "QUESTION")
            .replace(&question[..12], "QUESTION")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_script() {
    let rig = Rig::of("block = [\"text.diff\"]").open().await;
    let source = "const one = await tools.text.count({text: 'a b'});
try { await tools.text.diff({old: 'a', new: 'b'}) } catch (error) { return [one.words, error.code] }";
    let called = rig.script(source).await;
    assert_golden("script", &journal(&rig, &called.run, &[]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_with_a_race_and_a_timer() {
    let rig = Rig::of("").kept().await.open().await;
    let source =
        "const rest = (ms, value) => new Promise(resolve => setTimeout(resolve, ms, value));
console.log('rests');
const first = await Promise.race([rest(3000, 'short'), rest(9000000000, 'long')]);
return [first, (await tools.text.count({text: 'a'})).words]";
    let (run, tasks) = (rig.host.new_run(), Tasks::new());
    tasks.cancel();
    rig.script_in(run.clone(), &tasks, source).await;
    let called = patient(&rig, &run).await.expect("it goes on");
    assert_eq!(*rig::value(&called.outcome), json!(["short", 1]));
    assert_golden("script-rests", &journal(&rig, &run, &[]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_asked_and_went_on() {
    let rig = Rig::of("ask = [\"text.count\"]").kept().await.open().await;
    let called = rig
        .script("return (await tools.text.count({text: 'a b'})).words")
        .await;
    let waiting = rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    let resumed = rig.resume(&called.run).await.expect("it goes on");
    assert_eq!(*rig::value(&resumed.outcome), 2);
    let question = waiting.question.id.as_str().to_owned();
    let text = journal(&rig, &called.run, &[question]).await;
    let text = text.replace(waiting.question.wish.as_str(), "WISH");
    assert_golden("script-asks", &text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_in_code_mode() {
    let policy = "[agents.agent]\ntools = [\"text.count\"]\ncalling = \"code\"";
    let source = "return (await tools.text.count({text: 'a b c'})).words";
    let replies = [
        json!({"calls": [{"tool": "search_tools", "args": {"query": "count"}}]}),
        json!({"calls": [{"tool": "run_script", "args": {"source": source}}]}),
        json!({"text": "Three words."}),
    ];
    let rig = Rig::of(policy).replies(&replies).open().await;
    let (run, answer) = rig.pursue("How many words?").await;
    assert_golden("agent-scripts", &journal(&rig, &run, &[]).await);
    assert_eq!(answer.expect("an answer"), "Three words.");
}
