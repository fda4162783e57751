//! Calls that are wished at once: what it tells of those before it when one begins.

use lazaret::words::event::{Answer as Say, Event};
use lazaret::words::id::RunId;
use lazaret_tests::prelude::*;
use lazaret_tests::saying;

use super::{beside_letters, calls, done, said};
use crate::page::url;

/// Whoever may read the letters, where somebody outside sees when a call of `hostile.fetch_each` begins.
fn seen_beside_letters(inbox: &str, parallel: usize) -> String {
    let tools = "tools = [\"hostile.fetch_each\", ";
    let policy = beside_letters(inbox).replace("tools = [", tools);
    format!(
        "{policy}
        parallel = {parallel}
        [grants.\"hostile.fetch_each\"]
        fetch = [{{ url = \"https://shop.test/\" }}]"
    )
}

async fn beside_letters_pursued(policy: &str, reply: Value) -> (Rigged, RunId) {
    let rig = Rig::of(policy)
        .guest("hostile")
        .file("docs/a.txt", "a")
        .file("docs/b.txt", "b")
        .file("inbox/letter.txt", "Dear reader")
        .replies(&[reply, done()]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    (rig, run)
}

/// Whether calls of a tool were under the influence of who may read the letters, in their order.
async fn behind_letters(rig: &Rigged, run: &RunId, tool: &str) -> Vec<bool> {
    let said = said(rig, run, tool).await.into_iter();
    said.map(|(_, label)| label.contains("scalar:file:inbox"))
        .collect()
}

/// They may wait for each other, so that when one begins tells of those before it; but of what nobody outside sees that is
/// told to nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_seen_outside_is_behind_the_calls_that_a_script_wished_before_it_at_once() {
    // Above the mounts it may look into each.
    let looks = "tools.files.stat({path: ''})";
    let sends = "tools.hostile.fetch_each({urls: []})";
    let counts = "tools.text.count({text: 'a'})";
    for (wishes, behind) in [
        ([looks, counts, sends, looks], true),
        ([sends, looks, counts, looks], false),
    ] {
        let source = format!(
            "await Promise.all([{}]); await {counts}; return 1",
            wishes.join(", ")
        );
        let reply = calls(json!([{"tool": "run_script", "args": {"source": source}}]));
        let (rig, run) = beside_letters_pursued(&seen_beside_letters("", 8), reply).await;
        let letters = |tool: &'static str| behind_letters(&rig, &run, tool);
        assert_eq!(letters("hostile.fetch_each").await, [behind], "{source}");
        assert_eq!(letters("files.stat").await, [false, false], "{source}");
        // All have ended well; but that the last one began stays.
        assert_eq!(letters("text.count").await, [false, behind], "{source}");
    }
}

/// Whatever a call under way could read, it may come to hold: how long a call over that took stays told when both have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_has_foreseen_a_handle_is_behind_all_that_it_could_have_come_to_hold() {
    for (name, behind) in [("handle('h1')", true), ("'a'", false)] {
        let source = format!(
            "await Promise.allSettled([
                tools.files.stat({{path: ''}}),
                tools.handle.count({{value: {name}, unit: 'chars'}}),
            ]);
            await tools.text.count({{text: 'a'}});
            return 1"
        );
        let reply = calls(json!([{"tool": "run_script", "args": {"source": source}}]));
        let policy = seen_beside_letters("", 8).replace("tools = [", "tools = [\"handle.count\", ");
        let (rig, run) = beside_letters_pursued(&policy, reply).await;
        let letters = behind_letters(&rig, &run, "text.count").await;
        assert_eq!(letters, [behind], "{name}");
    }
}

/// That it will be the first handle is foreseen: how long a call over it takes tells of a secret that is not there yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_that_is_not_there_yet_may_come_to_hold_what_is_under_way() {
    let source = "await Promise.allSettled([
            tools.safe.run({}),
            tools.handle.count({value: handle('h1'), unit: 'chars'}),
            tools.hostile.fetch_each({urls: []}),
        ]);
        return 1";
    let reply = calls(json!([{"tool": "run_script", "args": {"source": source}}]));
    let tools = "tools = [\"safe.run\", \"handle.count\", ";
    let policy = seen_beside_letters("", 8).replace("tools = [", tools);
    let secret = json!({"sensitivity": "secret"});
    let rig = Rig::of(&policy)
        .guest("hostile")
        .component("safe", &saying::component("safe", &secret, "\"7391\""))
        .replies(&[reply, done()])
        .open()
        .await;
    let (run, _) = rig.pursue("Go on.").await;
    let sent = said(&rig, &run, "hostile.fetch_each").await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].1.contains("secret:safe.run"), "{sent:?}");
}

fn reads() -> Value {
    json!({"tool": "files.read", "args": {"path": "docs/a.txt"}})
}

/// It may look into each mount.
fn looks() -> Value {
    json!({"tool": "files.stat", "args": {"path": ""}})
}

fn fails(args: Value) -> Value {
    json!({"tool": "files.read", "args": args})
}

/// What it was let read says that it is not there.
fn misses() -> Value {
    fails(json!({"path": "inbox/none.txt"}))
}

fn writes() -> Value {
    json!({"tool": "files.write", "args": {"path": "out/two.txt", "content": "x"}})
}

fn sends() -> Value {
    json!({"tool": "hostile.fetch_each", "args": {"urls": []}})
}

fn counts() -> Value {
    json!({"tool": "text.count", "args": {"text": "a"}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_seen_outside_is_behind_the_calls_of_its_turn_before_it() {
    let source = "await tools.files.read({path: 'inbox/letter.txt'}); throw new Error('no')";
    let throws = || json!({"tool": "run_script", "args": {"source": source}});
    for (parallel, wishes, behind) in [
        // Nobody knows yet what it reads.
        (8, [looks(), sends(), counts()], true),
        (8, [sends(), looks(), counts()], false),
        // It reads what it is asked for.
        (8, [reads(), sends(), counts()], false),
        // It has ended.
        (1, [looks(), sends(), counts()], false),
        (1, [misses(), sends(), counts()], true),
        (1, [fails(json!({})), sends(), counts()], false),
        (1, [throws(), sends(), counts()], true),
    ] {
        let policy = seen_beside_letters("", parallel);
        let (rig, run) = beside_letters_pursued(&policy, calls(json!(wishes))).await;
        let letters = behind_letters(&rig, &run, "hostile.fetch_each").await;
        assert_eq!(letters, [behind], "{parallel} {wishes:?}");
        let letters = behind_letters(&rig, &run, "text.count").await;
        assert_eq!(letters, [false], "{parallel} {wishes:?}");
    }
}

/// Nobody knows of a stranger's code that it reads what it is asked for, and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_seen_outside_is_behind_all_that_a_strangers_call_before_it_could_read() {
    let peeks = json!({"tool": "peek.run", "args": {"path": "docs/a.txt"}});
    let reads = json!({"effect": "read-only", "mounts": "read"});
    for (trust, behind) in [("", true), ("trust = [\"peek\"]", false)] {
        let policy = seen_beside_letters("", 8)
            .replace("[flow]\n", &format!("[flow]\n{trust}\n"))
            .replace("tools = [", "tools = [\"peek.run\", ");
        let policy = format!(
            "{policy}
            [grants.\"peek.run\"]
            mounts = {{ inbox = \"read\", docs = \"read\" }}"
        );
        let rig = Rig::of(&policy)
            .guest("hostile")
            .component("peek", &saying::component("peek", &reads, "1"))
            .replies(&[calls(json!([peeks, sends()])), done()])
            .open()
            .await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect("an answer"), "Done.");
        let letters = behind_letters(&rig, &run, "hostile.fetch_each").await;
        assert_eq!(letters, [behind], "{trust}");
    }
}

/// An attempt that failed is behind the one after it, also where that has read nothing of what it read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_seen_outside_is_behind_each_attempt_of_the_calls_of_its_turn_before_it() {
    let (server, other) = (Server::start().await, Server::start().await);
    let origin = |server: &Server| format!("http://127.0.0.1:{}", server.port());
    let says = |path: &str, status| Answer {
        path: path.to_owned(),
        status: Some(status),
        ..Answer::default()
    };
    let elsewhere = Answer {
        once: true,
        headers: [("location".to_owned(), url(&other, "/busy"))].into(),
        ..says("/", 302)
    };
    server.say(vec![elsewhere, says("/", 200)]);
    other.say(vec![says("/busy", 503)]);
    let (first, second) = (origin(&server), origin(&other));
    let policy = format!(
        "[flow]
        mode = \"off\"
        classes = {{ \"web:{second}\" = {{ integrity = \"trusted\", secrecy = \"private\" }} }}
        [grants.\"web.get_page\"]
        fetch = [{{ url = \"{first}/\", private = true }}, {{ url = \"{second}/\", private = true }}]
        [grants.\"hostile.fetch_each\"]
        fetch = [{{ url = \"https://shop.test/\" }}]
        [agents.agent]
        parallel = 1
        tools = [\"web.get_page\", \"hostile.fetch_each\"]"
    );
    let asks = json!({"tool": "web.get_page", "args": {"url": format!("{first}/")}});
    let rig = Rig::of(&policy)
        .guest("hostile")
        .replies(&[calls(json!([asks, sends()])), done()]);
    let rig = rig.open().await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert_eq!(said(&rig, &run, "web.get_page").await.len(), 2);
    let sent = said(&rig, &run, "hostile.fetch_each").await;
    let behind = format!("scalar:web:{second}");
    assert!(sent[0].1.contains(&behind), "{sent:?}");
}

/// What has ended by then is behind a call of another life too, and so is what was under way when an earlier one wished it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_seen_outside_is_behind_the_calls_of_its_turn_in_another_life_too() {
    let policy = seen_beside_letters("", 8);
    let asked = policy.replace("ask = [", "ask = [\"hostile.fetch_each\", ");
    // Nobody outside sees what is asked about here, so that it carries nothing from one life to the next.
    let unseen = seen_beside_letters("", 1).replace("ask = [", "ask = [\"text.count\", ");
    for (policy, wishes, behind) in [
        (&policy, vec![misses(), writes(), sends()], &[true][..]),
        (&unseen, vec![misses(), counts(), sends()], &[true]),
        (&asked, vec![looks(), sends()], &[true, true]),
    ] {
        let replies = [calls(json!(wishes)), done()];
        let rig = Rig::of(policy)
            .guest("hostile")
            .file("docs/a.txt", "a")
            .file("inbox/letter.txt", "Dear reader")
            .replies(&replies);
        let rig = rig.kept().await.open().await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect_err("a question").code(), Code::Asked);
        rig.answer(Say::Deny).await;
        let rig = rig.restart().await;
        rig.resume_agent(&run).await.expect("an answer");
        let letters = behind_letters(&rig, &run, "hostile.fetch_each").await;
        assert_eq!(letters, behind, "{wishes:?}");
    }
}

/// What waits for a person has not ended: what is asked about behind it is asked about as what it will be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_about_ahead_is_behind_what_waits_for_a_person() {
    let policy = seen_beside_letters("inbox = \"read\",", 8);
    let policy = policy.replace("ask = [", "ask = [\"hostile.fetch_each\", ");
    let into_inbox =
        json!({"tool": "files.write", "args": {"path": "inbox/two.txt", "content": "x"}});
    let rig = Rig::of(&policy)
        .guest("hostile")
        .file("inbox/letter.txt", "Dear reader")
        .replies(&[calls(json!([into_inbox, sends()])), done()]);
    let rig = rig.kept().await.open().await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect_err("two questions").code(), Code::Asked);
    let letters = behind_letters(&rig, &run, "hostile.fetch_each").await;
    assert_eq!(letters, [true]);
}

/// A tool whose outcomes are secret beside calls that somebody outside sees; a stranger wrote both, or nobody did.
async fn beside_secret(is_strangers: bool, reply: Value) -> (Rigged, RunId) {
    let tools = "tools = [\"safe.run\", ";
    let mut policy = seen_beside_letters("", 8).replace("tools = [", tools);
    if !is_strangers {
        let trusted = "[flow]\ntrust = [\"hostile\", \"safe\"]\n";
        policy = policy.replace("[flow]\n", trusted);
    }
    let secret = json!({"sensitivity": "secret"});
    let rig = Rig::of(&policy)
        .guest("hostile")
        .component("safe", &saying::component("safe", &secret, "\"7391\""))
        .file("inbox/letter.txt", "Dear reader")
        .replies(&[reply, done()])
        .open()
        .await;
    let (run, _) = rig.pursue("Go on.").await;
    (rig, run)
}

/// Whether the call of a tool had ended when that of another one began.
async fn ended_before(rig: &Rigged, run: &RunId, (first, then): (&str, &str)) -> bool {
    let records = rig.records(run).await;
    let began = |tool: &str| {
        let is_it = |event: &Event| matches!(event, Event::Judged(one) if one.subject == tool);
        let record = records.iter().find(|record| is_it(&record.event));
        record.expect("it began").seq
    };
    let of = began(first);
    let is_end = |event: &Event| matches!(event, Event::Finished(finished) if finished.of == of);
    let end = records.iter().find(|record| is_end(&record.event));
    end.expect("it ended").seq < began(then)
}

const SENDS_AND_KNOWS: [(&str, &str); 2] = [
    ("hostile.fetch_each", "safe.run"),
    ("safe.run", "hostile.fetch_each"),
];

/// Runs a script beside tools of which `late` and `slow` take their time and the others none: when calls of `late` and `seen`
/// begin can be seen outside, `know` and `safe` return what is secret, and `peek` takes whatever it is given.
async fn beside_slow(trust: &str, source: &str) -> (Rigged, RunId) {
    let policy = format!(
        "[flow]
        mode = \"off\"
        hold = \"untrusted\"
        trust = [{trust}]
        classes = {{ \"file:keys\" = {{ integrity = \"trusted\", secrecy = \"secret\" }} }}
        [mounts.inbox]
        path = \"inbox\"
        [mounts.keys]
        path = \"keys\"
        [grants.\"files.read\"]
        mounts = {{ inbox = \"read\", keys = \"read\" }}
        [grants.\"late.run\"]
        fetch = [{{ url = \"https://shop.test/\" }}]
        [grants.\"seen.run\"]
        fetch = [{{ url = \"https://shop.test/\" }}]
        [grants.\"safe.run\"]
        [agents.agent]
        calling = \"both\""
    );
    let stalling = |name| saying::stalling(name, &json!({"timeout_ms": 100}));
    let quick = |name, more: Value| saying::component(name, &more, "\"7391\"");
    let writes =
        json!({"sensitivity": "secret", "effect": "side-effecting", "risk": "external_write"});
    let rig = Rig::of(&policy)
        .component("late", &stalling("late"))
        .component("slow", &stalling("slow"))
        .component("seen", &quick("seen", json!({})))
        .component("peek", &quick("peek", json!({})))
        .component("know", &quick("know", json!({"sensitivity": "secret"})))
        .component("safe", &quick("safe", writes))
        .file("inbox/letter.txt", "Dear reader")
        .file("keys/k.txt", "7391");
    let reply = calls(json!([{"tool": "run_script", "args": {"source": source}}]));
    let rig = rig.replies(&[reply, done()]).open().await;
    let (run, _) = rig.pursue("Go on.").await;
    (rig, run)
}

/// Whoever sees when requests come, later attempts among them, sees how long another call takes that runs meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_a_script_is_seen_outside_while_one_tells_of_a_secret() {
    const ALL: &str = "\"late\", \"slow\", \"seen\", \"peek\", \"know\", \"safe\"";
    for (trust, before, wishes, order) in [
        // A stranger may have had it written.
        (
            "",
            "",
            "late.run({}), tools.know.run({})",
            ("late.run", "know.run"),
        ),
        // What is given is secret, and what is read is not.
        (
            "",
            "const given = await tools.files.read({path: 'keys/k.txt'});",
            "late.run({}), tools.peek.run({given})",
            ("late.run", "peek.run"),
        ),
        // The script is the user's, and a stranger wrote what the call is given.
        (
            ALL,
            "const given = await tools.files.read({path: 'inbox/letter.txt'});",
            "late.run({}), tools.know.run({given})",
            ("late.run", "know.run"),
        ),
        // What is given is not there yet when it is wished.
        (
            "",
            "",
            "safe.run({}), tools.slow.run({given: handle('h1')}), tools.seen.run({})",
            ("slow.run", "seen.run"),
        ),
    ] {
        let source = format!("{before} await Promise.allSettled([tools.{wishes}]); return 1");
        let (rig, run) = beside_slow(trust, &source).await;
        assert!(ended_before(&rig, &run, order).await, "{source}");
    }
}

/// Whoever runs the model is outside as well, so that is so whoever has a hand in the plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_a_turn_is_seen_outside_while_one_tells_of_a_secret() {
    for is_strangers in [true, false] {
        for order in SENDS_AND_KNOWS {
            let wish = |tool: &str| match tool {
                "safe.run" => json!({"tool": tool, "args": {}}),
                _ => sends(),
            };
            let reply = calls(json!([wish(order.0), wish(order.1)]));
            let (rig, run) = beside_secret(is_strangers, reply).await;
            let ended = ended_before(&rig, &run, order).await;
            assert!(ended, "{is_strangers}: {order:?}");
        }
    }
}

/// It sends nothing before somebody has answered, so others need not wait for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_person_keeps_no_secret_call_from_its_turn() {
    let source = "await Promise.allSettled([
            tools.hostile.fetch_each({urls: []}),
            tools.safe.run({}),
        ]);
        return 1";
    let reply = calls(json!([{"tool": "run_script", "args": {"source": source}}]));
    let policy = seen_beside_letters("", 8).replace("tools = [", "tools = [\"safe.run\", ");
    let policy = policy.replace("ask = [", "ask = [\"hostile.fetch_each\", ");
    let secret = json!({"sensitivity": "secret"});
    let rig = Rig::of(&policy)
        .guest("hostile")
        .component("safe", &saying::component("safe", &secret, "\"7391\""))
        .replies(&[reply, done()]);
    let rig = rig.kept().await.open().await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect_err("a question").code(), Code::Asked);
    assert_eq!(said(&rig, &run, "safe.run").await.len(), 1);
}
