//! Numbers that the operator may change, and what follows from them: `[tools]`, `[search]`, `[limits]` and `[context]`.

use lazaret::rules::signature::{catalogue_line, signature};
use lazaret_tests::forge;
use lazaret_tests::prelude::*;
use lazaret_tests::rig;

use crate::page::observed;

/// A plugin with one tool of this name that declares this.
fn forged(name: &str, more: &str) -> Vec<u8> {
    let manifest =
        forge::MANIFEST.replace("\"name\":\"run\"", &format!("\"name\":\"{name}\",{more}"));
    assert!(manifest.contains(name));
    forge::plugin(&manifest, "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_with_a_longer_name_than_is_allowed_is_refused() {
    let long = "t".repeat(30);
    let component = forged(&long, "\"examples\":[]");
    let opened = async |policy: &str| {
        let rig = Rig::of(policy).component("forged", &component);
        rig.try_open().await.map(|_| ())
    };
    opened("").await.expect("37 characters are no long name");
    opened("tools.name_chars = 37")
        .await
        .expect("nor are they then");
    let error = opened("tools.name_chars = 36").await.unwrap_err();
    assert!(
        error.message().contains("37 characters, and at most 36"),
        "{error:?}"
    );
    assert!(
        error.hints().concat().contains("name_chars = 37"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_is_told_with_as_many_examples_as_the_operator_wants() {
    let component = forged(
        "run",
        "\"examples\":[{\"title\":\"One\",\"args\":{}},{\"title\":\"Two\",\"args\":{}}]",
    );
    for (policy, one, two) in [
        ("", true, true),
        ("tools.examples = 1", true, false),
        ("tools.examples = 0", false, false),
    ] {
        let rig = Rig::of(policy).component("forged", &component).open().await;
        let mut tools = rig.host.catalog().tools();
        let tool = tools.find(|tool| tool.name.as_str() == "forged.run");
        let card = tool.expect("it is there").card().description;
        assert_eq!(
            (card.contains("One: {}"), card.contains("Two: {}")),
            (one, two),
            "{card}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_are_listed_as_briefly_as_the_operator_says() {
    let told = async |policy: &str| {
        let rig = Rig::of(policy).open().await;
        let tools = rig.host.catalog().tools();
        let told = tools.map(|tool| (catalogue_line(&tool.listed()), signature(&tool.listed())));
        told.collect::<Vec<_>>()
    };
    let (usual, brief) = (told("").await, told("search.line_chars = 40").await);
    let longest =
        |told: &[(String, String)]| told.iter().map(|(line, _)| line.chars().count()).max();
    assert_eq!(longest(&brief), Some(40));
    assert!(longest(&usual) > Some(40), "{usual:?}");
    let deep = |told: &[(String, String)]| told.iter().map(|(_, text)| text.len()).sum::<usize>();
    let shallow = told("search.type_depth = 1").await;
    assert!(deep(&shallow) < deep(&usual), "{shallow:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_holds_as_many_outcomes_as_the_operator_says() {
    const READS: &str =
        "let n = 0; try { while (n < 20) { await tools.files.read({path: 'inbox/a.txt'}); n++ } }
        catch (e) { return [n, e.message] } return [n, ''];";
    let read = async |limits: &str| {
        let policy = format!(
            "flow.hold = \"untrusted\"\n{limits}\n[mounts.inbox]\npath = \"inbox\"\n[grants.\"files.*\"]\nmounts = {{ inbox = \"read\" }}"
        );
        let rig = Rig::of(&policy).file("inbox/a.txt", "a").open().await;
        rig::value(&rig.script(READS).await.outcome).clone()
    };
    assert_eq!(read("").await, json!([20, ""]));
    let few = read("limits.handles = 16").await;
    assert_eq!(few[0], json!(16));
    assert!(
        few[1].to_string().contains("a run holds 16 outcomes"),
        "{few}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_there_is_no_more_room_is_told_under_the_influence_of_all_that_is_held() {
    let policy = "limits.handles = 16
        flow.hold = \"untrusted\"
        [mounts.inbox]
        path = \"inbox\"
        [mounts.other]
        path = \"other\"
        [grants.\"files.*\"]
        mounts = { inbox = \"read\", other = \"read\" }";
    let rig = Rig::of(policy)
        .file("inbox/a.txt", "a")
        .file("other/b.txt", "b")
        .open()
        .await;
    let label = async |held: usize| {
        let source = format!(
            "for (let n = 0; n < {held}; n++) await tools.files.read({{path: 'inbox/a.txt'}});
            return tools.files.read({{path: 'other/b.txt'}}).then(() => 'room', () => 'none')"
        );
        let outcome = rig.script(&source).await.outcome;
        (rig::value(&outcome).clone(), outcome.label.to_string())
    };
    let (room, without) = label(15).await;
    assert_eq!(room, json!("room"));
    assert!(!without.contains("file:inbox"), "{without}");
    let (none, with) = label(16).await;
    assert_eq!(none, json!("none"));
    assert!(with.contains("file:inbox"), "{with}");
    // That no bits are left is told of the value that they were wanted for, and of no other.
    let source = "await tools.files.read({path: 'inbox/a.txt'});
        const b = await tools.files.read({path: 'other/b.txt'});
        let n = 0;
        try { for (; n < 200; n++) await tools.handle.count({value: b, unit: 'chars'}) } catch (error) {}
        return n < 200";
    let outcome = rig.script(source).await.outcome;
    assert_eq!(*rig::value(&outcome), json!(true));
    let label = outcome.label.to_string();
    assert!(!label.contains("file:inbox"), "{label}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_has_as_much_stack_as_the_operator_says() {
    // A hundred thousand frames: more than one MiB, and less than sixteen.
    let down = r#"
        (func $down (param i32) (result i32)
          (if (result i32) (local.get 0)
            (then (i32.add (call $down (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
            (else (i32.const 0))))
        (func (export "run") (param i32 i32 i32 i32) (result i32)
          (drop (call $down (i32.const 100000))) unreachable)"#;
    let component = forge::plugin(forge::MANIFEST, down);
    for (policy, says, hint) in [
        ("", "it gave up", false),
        ("limits.stack_mib = 1", "its stack overflowed", true),
    ] {
        let rig = Rig::of(policy).component("forged", &component).open().await;
        let called = rig.call("forged.run", json!({})).await;
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::Trapped);
        assert!(error.message().contains(says), "{policy}: {error:?}");
        let hints = error.hints().concat();
        assert_eq!(
            hints.contains("stack_mib = 16"),
            hint,
            "{policy}: {error:?}"
        );
        rig.assert_alive().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_has_as_many_characters_as_the_operator_says() {
    for (chars, left_out) in [(4, 460), (2, 480), (1, 490)] {
        let policy = format!(
            "flow.hold = \"never\"\nobservations.max_tokens = 10\ncontext.chars_per_token = {chars}"
        );
        let replies = [
            json!({"calls": [{"tool": "hostile.text", "args": {"bytes": 500}}]}),
            json!({"text": "Seen."}),
        ];
        let rig = Rig::of(&policy)
            .guest("hostile")
            .replies(&replies)
            .open()
            .await;
        let (run, answer) = rig.pursue("Look.").await;
        assert_eq!(answer.expect("an answer"), "Seen.");
        let text = observed(&rig.records(&run).await)[0].0.clone();
        assert!(
            text.contains(&format!("[{left_out} of 500 characters left out]")),
            "{text}"
        );
    }
}
