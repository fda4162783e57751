//! What is secret: a script that knows something of it, and whoever waits for calls that may read it.

use lazaret::words::event::{Answer as Say, Event};
use lazaret::words::label::{Label, Sort, Source};
use lazaret_tests::prelude::*;

use super::{calls, done, said};
use crate::page::observed;

/// What the script spells stands nowhere in its source.
const READS: &str = "const key = await tools.files.read({path: 'keys/k.txt'});
    const spelled = ['the pin is 73', '91'].join('');";

/// A mount that is secret and one that anybody may read; all is the user's own, so that nobody else has a hand in anything.
fn policy(more: &str) -> String {
    format!(
        "[flow]
        {more}
        mode = \"enforce\"
        classes = {{ \"file:keys\" = {{ integrity = \"trusted\", secrecy = \"secret\" }} }}
        [mounts.keys]
        path = \"keys\"
        [mounts.docs]
        path = \"docs\"
        own = true
        [grants.\"files.*\"]
        mounts = {{ keys = \"read\", docs = \"read\" }}
        [grants.\"web.get_page\"]
        fetch = [{{ url = \"https://shop.test/\" }}]
        [agents.agent]
        calling = \"both\""
    )
}

async fn open(policy: &str, replies: &[Value]) -> Rigged {
    let rig = Rig::of(policy)
        .file("keys/k.txt", "7391")
        .file("docs/a.txt", "a");
    rig.replies(replies).open().await
}

fn script(source: &str) -> Value {
    calls(json!([{"tool": "run_script", "args": {"source": source}}]))
}

fn call(tool: &str, args: Value) -> Value {
    calls(json!([{"tool": tool, "args": args}]))
}

/// What its model is told of it, and of nothing else that it makes: a handle, or that it failed; and that for bits, so that
/// without them nobody is told which of both it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_script_makes_of_a_secret_is_held() {
    const ENDED: &str = "too few bits are left";
    for (bits, ends, says) in [
        (6, "return spelled", "\"$handle\":\"h10000\""),
        (
            6,
            "throw new Error(spelled)",
            "it failed; it knew something",
        ),
        (6, "return undefinedName", "it failed; it knew something"),
        (5, "return spelled", ENDED),
        (5, "throw new Error(spelled)", ENDED),
    ] {
        let replies = [script(&format!("{READS} {ends}")), done()];
        let rig = open(&policy(&format!("bits = {bits}")), &replies).await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect("an answer"), "Done.", "{ends}");
        let seen = observed(&rig.records(&run).await);
        let (text, label) = &seen[0];
        assert!(text.contains(says), "{ends}: {text}");
        assert!(!text.contains("line 1"), "{text}");
        let label = label.to_string();
        // Its model reads clocks, and how long the script took tells of it.
        assert!(label.contains("scalar:file:keys"), "{ends}: {label}");
        let journal = rig.journal(&run).await;
        assert!(!journal.contains("the pin is 7391"), "{journal}");
    }
}

/// Each failure of such a script is paid for, and none is told that nobody could pay for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_a_script_failed_is_told_for_bits() {
    let replies = [
        script(&format!("{READS} throw new Error(spelled)")),
        script(&format!("{READS} return undefinedName")),
        done(),
    ];
    let rig = open(&policy("bits = 6"), &replies).await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let seen = observed(&rig.records(&run).await);
    assert!(seen[0].0.contains("it failed; it knew"), "{}", seen[0].0);
    assert!(seen[1].0.contains("too few bits are left"), "{}", seen[1].0);
}

/// A script that knows a secret returns what it has not read: who wrote that is behind it as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_script_has_returned_unread_is_behind_its_handle() {
    let field = json!({"value": {"$handle": "h10000"}, "pointer": "/content"});
    let replies = [
        script(&format!(
            "{READS} return await tools.files.read({{path: 'inbox/letter.txt'}})"
        )),
        call("handle.field", field),
        done(),
    ];
    let policy = policy("")
        .replace(
            "[mounts.docs]",
            "[mounts.inbox]\npath = \"inbox\"\n[mounts.docs]",
        )
        .replace("docs = \"read\" }", "docs = \"read\", inbox = \"read\" }");
    let rig = Rig::of(&policy)
        .file("keys/k.txt", "7391")
        .file("inbox/letter.txt", "Dear reader");
    let rig = rig.replies(&replies).open().await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    let is_field =
        |event: &Event| matches!(event, Event::Judged(one) if one.subject == "handle.field");
    let field = records.iter().find(|record| is_field(&record.event));
    let field = field.expect("it was called").seq;
    let label = records.iter().find_map(|record| match &record.event {
        Event::Finished(finished) if finished.of == field => Some(&finished.label),
        _ => None,
    });
    let label = label.expect("it ended");
    let inbox = Label::of(Source::new(Sort::File, "inbox"));
    assert!(label.covers(&inbox), "{label}");
}

/// What is returned is what its handle holds, also where that was a handle: no other tool sees a difference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_that_a_script_has_returned_is_handed_on() {
    let handle = json!({"$handle": "h10000"});
    let field = json!({"value": handle, "pointer": "/content"});
    let replies = [
        script(&format!("{READS} return key")),
        call("handle.field", field),
        done(),
    ];
    let rig = open(&policy(""), &replies).await;
    let (run, answer) = rig.pursue("Go on.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let seen = observed(&rig.records(&run).await);
    assert!(seen[0].0.contains("hand this handle on"), "{}", seen[0].0);
    assert!(
        seen[1].0.contains("\"of\":\"handle.field\""),
        "{}",
        seen[1].0
    );
    assert!(seen[1].0.contains("h10001"), "{}", seen[1].0);
}

/// A script makes as many handles as it likes, and so would spell what it knows to whoever counts them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_many_handles_a_script_has_made_of_a_secret_is_told_to_no_model() {
    let mut told = Vec::new();
    for many in [0, 1, 3] {
        let makes = "await tools.handle.field({value: key, pointer: '/content'})";
        let source = format!("{READS} for (let i = 0; i < {many}; i++) {makes}; return 1");
        let replies = [
            script(&source),
            call("text.count", json!({"text": {"$handle": "h2"}})),
            call("files.read", json!({"path": "keys/k.txt"})),
            done(),
        ];
        let rig = open(&policy(""), &replies).await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect("an answer"), "Done.");
        let seen = observed(&rig.records(&run).await).into_iter();
        told.push(seen.map(|(text, _)| text).collect::<Vec<_>>());
    }
    assert!(told[0][1].contains("which holds h1, h10000"), "{told:?}");
    assert!(told[0][2].contains("h10001"), "{told:?}");
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
}

/// The same in a later life, which has the words of its failures again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_many_handles_a_script_has_made_of_a_secret_is_told_to_no_later_life_either() {
    let mut told = Vec::new();
    for many in [0, 1] {
        let fails = "await tools.files.read({path: 'keys/none.txt'}).catch(() => 0)";
        let source = format!("{READS} for (let i = 0; i < {many}; i++) {fails}; return 1");
        let replies = [
            script(&source),
            call("text.count", json!({"text": "a"})),
            call("text.count", json!({"text": {"$handle": "h2"}})),
            done(),
        ];
        let policy = format!("ask = [\"text.count\"]\n{}", policy(""));
        let rig = Rig::of(&policy).file("keys/k.txt", "7391");
        let rig = rig.replies(&replies).kept().await.open().await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect_err("a question").code(), Code::Asked);
        rig.answer(Say::Allow).await;
        let rig = rig.restart().await;
        let answer = rig.resume_agent(&run).await;
        assert_eq!(answer.expect("an answer"), "Done.");
        let seen = observed(&rig.records(&run).await);
        told.push(seen[2].0.clone());
    }
    assert_eq!(told[0], told[1]);
}

/// Of what is secret that counts for a script that nobody else had a hand in; what is private stays free there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_is_behind_the_secrets_that_its_calls_have_read() {
    for (first, is_behind) in [
        ("await tools.files.read({path: 'keys/k.txt'})", true),
        // It has not ended.
        (
            "void tools.files.read({path: 'keys/k.txt'}); await new Promise((go) => setTimeout(go, 0))",
            true,
        ),
        (
            "await tools.files.read({path: 'keys/none.txt'}).catch(() => {})",
            true,
        ),
        ("await tools.files.read({path: 'docs/a.txt'})", false),
        (
            "void tools.files.read({path: 'docs/a.txt'}); await new Promise((go) => setTimeout(go, 0))",
            false,
        ),
        (
            "await tools.files.read({path: 'docs/none.txt'}).catch(() => {})",
            false,
        ),
    ] {
        let source = format!("{first}; await tools.text.count({{text: 'a'}}); return 1");
        let rig = open(&policy(""), &[script(&source), done()]).await;
        let (run, answer) = rig.pursue("Go on.").await;
        assert_eq!(answer.expect("an answer"), "Done.", "{first}");
        let counts = said(&rig, &run, "text.count").await;
        let found = counts[0].1.contains("scalar:file:keys");
        assert_eq!(found, is_behind, "{first}: {counts:?}");
        assert!(!counts[0].1.contains("scalar:file:docs"), "{counts:?}");
    }
}

/// When a request begins tells of the calls of its turn before it, and what a clock says tells it as well: of those that read
/// what is secret, and of no other one by the same tools. The later call is in another group, or in the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_or_a_clock_is_behind_the_secrets_that_calls_of_its_turn_have_read() {
    let read = |path: &str| json!({"tool": "files.read", "args": {"path": path}});
    let knows = json!({"tool": "run_script", "args": {"source": format!("{READS} return 1")}});
    for (first, is_behind) in [
        (read("keys/k.txt"), true),
        (read("keys/none.txt"), true),
        (knows, true),
        (read("docs/a.txt"), false),
        (read("docs/none.txt"), false),
    ] {
        for parallel in [1, 8] {
            let page = json!({"tool": "web.get_page", "args": {"url": "https://shop.test/"}});
            let clock = json!({"tool": "clock.now", "args": {}});
            let count = json!({"tool": "text.count", "args": {"text": "a"}});
            let replies = [calls(json!([first, page, clock, count])), done()];
            let policy = format!(
                "{}\nparallel = {parallel}\n[limits]\nretries = 0",
                policy("")
            );
            let rig = open(&policy, &replies).await;
            let (run, _) = rig.pursue("Go on.").await;
            for (tool, is_behind) in [
                ("web.get_page", is_behind),
                ("clock.now", is_behind),
                ("text.count", false),
            ] {
                let said = said(&rig, &run, tool).await;
                assert_eq!(said.len(), 1, "{first}: {said:?}");
                let found = said[0].1.contains("scalar:file:keys");
                assert_eq!(found, is_behind, "{parallel} {first}: {said:?}");
            }
        }
    }
}

/// Where a model may be told nothing private, what a clock says tells it of what is held that is: how long calls over it took.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_clock_tells_of_what_is_held_whom_nothing_private_is_told() {
    let isolate = json!({"code": "(letter) => letter.content.length", "of": [{"$handle": "h1"}]});
    for (accepts, is_told) in [("private", true), ("public", false)] {
        let policy = format!(
            "[flow]
            mode = \"enforce\"
            [mounts.inbox]
            path = \"inbox\"
            [grants.\"files.read\"]
            mounts = {{ inbox = \"read\" }}
            [agents.agent]
            calling = \"both\"
            [models.script]
            accepts = \"{accepts}\""
        );
        for last in [call("clock.now", json!({})), script("return Date.now()")] {
            let replies = [
                // Nothing is held yet.
                call("clock.now", json!({})),
                call("files.read", json!({"path": "inbox/letter.txt"})),
                call("handle.isolate", isolate.clone()),
                last.clone(),
                done(),
            ];
            let rig = Rig::of(&policy).file("inbox/letter.txt", "Dear reader");
            let rig = rig.replies(&replies).open().await;
            let (run, answer) = rig.pursue("Go on.").await;
            assert_eq!(answer.is_ok(), is_told, "{accepts} {last}: {answer:?}");
            let seen = observed(&rig.records(&run).await);
            assert_eq!(seen.len(), 4, "{accepts} {last}: {seen:?}");
            let found = seen
                .iter()
                .map(|(_, label)| label.to_string().contains("file:inbox"));
            let found: Vec<bool> = found.collect();
            assert_eq!(found, [false, false, false, !is_told], "{accepts} {last}");
        }
    }
}
