//! What whoever holds a handle is told when a call over it is refused: nothing that it had not read, or it has
//! read it from then on.

use lazaret::words::error::Code;
use lazaret::words::label::Label;
use lazaret_tests::rig::{self, Rig, Rigged};
use lazaret_tests::saying;
use lazaret_tests::server::Server;
use serde_json::{Value, json};

use crate::page::{observed, page, url, web};

fn handle(name: &str) -> Value {
    json!({"$handle": name})
}

fn call(tool: &str, args: Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}]})
}

fn isolate(code: &str, of: &[Value]) -> Value {
    call("handle.isolate", json!({"code": code, "of": of}))
}

/// A model that gets the page, unread, and then does all this.
async fn holding(server: &Server, first: &str, then: Vec<Value>) -> Rigged {
    let policy = format!(
        "{first}
        [mounts.out]
        path = \"out\"
        access = \"write\"
        own = true
        workspace = true
        [grants.\"files.*\"]
        mounts = {{ out = \"write\" }}
        [grants.\"web.get_page\"]
        fetch = [{{ url = \"{}\", private = true }}]",
        url(server, "/")
    );
    let mut replies = vec![call("web.get_page", json!({"url": url(server, "/page")}))];
    replies.extend(then);
    replies.push(json!({"text": "Done."}));
    Rig::of(&policy).replies(&replies).open().await
}

/// What a model was told at last that did all this.
async fn told_last(server: &Server, first: &str, then: Vec<Value>) -> (String, Label) {
    let rig = holding(server, first, then).await;
    let (run, answer) = rig.pursue("Look at the page.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let mut all = observed(&rig.records(&run).await);
    all.pop().expect("something was told")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_is_there_to_adopt_a_text_it_is_not_read_out() {
    let server = page().await;
    let field = json!({"value": handle("h1"), "pointer": "/markdown"});
    let adopt = call("handle.adopt", json!({"value": handle("h2")}));
    let then = vec![call("handle.field", field), adopt];
    let (text, label) = told_last(&server, "unattended = \"deny\"", then).await;
    assert!(text.contains("nobody is there"), "{text}");
    assert!(label.covers(&web(&server)), "{label}: {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whether_a_value_may_steer_is_not_told_for_nothing() {
    let server = page().await;
    let long = isolate("() => 'a'.repeat(1001)", &[handle("h1")]);
    let write = call("files.write", json!({"path": handle("h2"), "content": "x"}));
    let (text, label) = told_last(&server, "", vec![long, write]).await;
    assert!(text.contains("longer than"), "{text}");
    assert!(label.covers(&web(&server)), "{label}: {text}");
}

/// A mistake of the model's, or a page that is not there, ends no quarantine: that something failed leaves in some bits,
/// and what it said is held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_opens_nothing_that_is_held() {
    let server = page().await;
    let get = |path: &str| call("web.get_page", json!({"url": url(&server, path)}));
    let write = json!({"path": "out/a", "content": handle("h1")});
    let field = json!({"value": handle("h1"), "pointer": "/nowhere"});
    for (failing, says) in [
        (get("/gone"), "it failed"),
        (call("files.write", write), "does not fit"),
        (call("handle.field", field), "it failed"),
    ] {
        let then = || vec![failing.clone(), get("/page")];
        let rig = holding(&server, "", then()).await;
        let (run, _) = rig.pursue("Look at the page.").await;
        let seen = observed(&rig.records(&run).await);
        assert!(seen[1].0.contains(says), "{}", seen[1].0);
        assert!(seen[2].0.contains("$handle"), "{}", seen[2].0);
        assert!(!seen[2].1.covers(&web(&server)), "{}", seen[2].1);
        let replayed = rig.replay(&run).await;
        assert!(replayed.diverged.is_none(), "{replayed:?}");
        // Where no bits are left, it is told, and known to have been.
        let (text, label) = told_last(&server, "[flow]\nbits = 0", then()).await;
        assert!(label.covers(&web(&server)), "{label}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_much_is_held_is_not_told() {
    let server = page().await;
    let big = isolate("() => 'a'.repeat(20123)", &[handle("h1")]);
    let all = vec![handle("h2"); 2_000];
    let (text, label) = told_last(&server, "", vec![big, isolate("(...all) => 1", &all)]).await;
    assert!(
        text.contains("what the handles hold is more than"),
        "{text}"
    );
    assert!(!text.contains("20123") && !text.contains("402"), "{text}");
    assert!(label.covers(&web(&server)), "{label}: {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whether_a_function_is_a_program_does_not_depend_on_what_it_is_given() {
    let server = page().await;
    let odd = "(x) => { super.a; return x }";
    let mut told = Vec::new();
    for value in ["() => ({})", "() => []"] {
        let then = vec![
            isolate(value, &[handle("h1")]),
            isolate(odd, &[handle("h2")]),
        ];
        told.push(told_last(&server, "", then).await);
    }
    let without_handle =
        |(text, label): &(String, Label)| (text.contains("$handle"), label.clone());
    assert_eq!(
        without_handle(&told[0]),
        without_handle(&told[1]),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_a_function_makes_up_is_none() {
    let server = page().await;
    let code = "() => { const e = new Error('x'); e.stack = 'at a (script:2:4711)'; throw e }";
    let (text, label) = told_last(&server, "", vec![isolate(code, &[handle("h1")])]).await;
    assert!(text.contains("the function failed"), "{text}");
    assert!(!text.contains("4711"), "{text}");
    assert!(!label.covers(&web(&server)), "{label}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_looks_like_a_handle_is_a_value() {
    let rig = Rig::of("").open().await;
    let called = rig.script("return {\"$handle\": \"nope\"}").await;
    assert_eq!(called.outcome.result.expect("a value"), handle("nope"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_asked_reads_what_a_handle_brings_in() {
    let server = page().await;
    let field = json!({"value": handle("h1"), "pointer": "/markdown"});
    let write = json!({"path": "out/a.txt", "content": handle("h2")});
    let then = vec![call("handle.field", field), call("files.write", write)];
    let rig = holding(&server, "ask = [\"files.write\"]", then).await;
    let (run, answer) = rig.pursue("Into out/a.txt.").await;
    assert_eq!(answer.expect_err("a person is asked").code(), Code::Asked);
    let question = rig.host.questions().await.expect("questions").remove(0);
    assert_eq!(question.run, run);
    let text = question.question.text;
    assert!(text.contains("`content` is what a handle holds"), "{text}");
    assert!(text.contains("canary-41c8"), "{text}");
    assert!(text.contains(", web:http://127.0.0.1"), "{text}");
}

/// The names are words of the tool's author.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_names_the_parts_that_a_tool_declares_to_those_who_know_its_words() {
    let output = json!({"output": {"type": "object", "properties": {"spoon": {}, "fork": {}}}});
    let says = saying::component("box", &output, r#"{"spoon":1}"#);
    let policy = "[flow]
        mode = \"enforce\"
        hold = \"untrusted\"
        [agents.agent]
        tools = [\"box.*\", \"handle.*\"]";
    let replies = [call("box.run", json!({})), json!({"text": "Done."})];
    let rig = Rig::of(policy).component("box", &says).replies(&replies);
    let rig = rig.open().await;
    let held = rig
        .script("const card = await tools.box.run({}); return ['$handle' in card, 'parts' in card]")
        .await;
    assert_eq!(rig::value(&held.outcome), &json!([true, false]));
    let (run, _) = rig.pursue("Look.").await;
    let (card, _) = &observed(&rig.records(&run).await)[0];
    assert!(card.contains(r#""parts":["/fork","/spoon"]"#), "{card}");
}
