//! What is done apart: functions over what is held, and questions to the model about it.

use lazaret::words::error::Code;
use lazaret::words::event::{Answer as Say, Event, Record, Stopped};
use lazaret_tests::rig::{self, Rig, Rigged};
use lazaret_tests::server::Server;
use serde_json::{Value, json};

use crate::page::{PAGE, observed, page, url, web};

fn policy(server: &Server, more: &str) -> String {
    format!(
        "{more}
        [mounts.out]
        path = \"out\"
        access = \"write\"
        own = true
        [grants.\"files.*\"]
        mounts = {{ out = \"write\" }}
        [grants.\"web.get_page\"]
        fetch = [{{ url = \"{}\", private = true }}]",
        url(server, "/")
    )
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}

fn get(server: &Server) -> Value {
    json!({"calls": [call("web.get_page", json!({"url": url(server, "/page")}))]})
}

fn isolate(code: &str, of: &[&str]) -> Value {
    let of = of.iter().map(|name| json!({"$handle": name}));
    call(
        "handle.isolate",
        json!({"code": code, "of": of.collect::<Vec<_>>()}),
    )
}

fn consult(of: &[&str], question: &str, shape: Value) -> Value {
    let of = of.iter().map(|name| json!({"$handle": name}));
    let of = of.collect::<Vec<_>>();
    call(
        "handle.consult",
        json!({"of": of, "question": question, "shape": shape}),
    )
}

fn stopped(records: &[Record]) -> &Stopped {
    match records.last().map(|record| &record.event) {
        Some(Event::Stopped(stopped)) => stopped,
        other => panic!("{other:?}"),
    }
}

fn written(rig: &Rigged, path: &str) -> String {
    std::fs::read_to_string(rig.path(path)).unwrap_or_default()
}

/// With a script of a person's own whose outcomes are held.
async fn holding(server: &Server, more: &str) -> Rigged {
    let more = format!("{more}\n[flow]\nhold = \"untrusted\"");
    Rig::of(&policy(server, &more)).open().await
}

fn script(server: &Server, then: &str) -> String {
    let page = url(server, "/page");
    format!("const page = await tools.web.get_page({{url: '{page}'}});\n{then}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_runs_over_what_nobody_reads() {
    let server = page().await;
    let replies = [
        get(&server),
        json!({"calls": [isolate("(page) => page.markdown.toUpperCase()", &["h1"])]}),
        json!({"calls": [call("files.write", json!({"path": "out/a.txt", "content": {"$handle": "h2"}}))]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Into out/a.txt.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert!(written(&rig, "out/a.txt").contains("CANARY-41C8 OBEY ME"));
    for (text, label) in observed(&rig.records(&run).await) {
        assert!(!text.to_lowercase().contains("canary"), "{text}");
        assert!(!label.covers(&web(&server)), "{label}");
    }
    let read = rig.call("files.read", json!({"path": "out/a.txt"})).await;
    assert!(
        read.outcome.label.covers(&web(&server)),
        "{}",
        read.outcome.label
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_give_functions_their_values() {
    let server = page().await;
    let rig = holding(&server, "").await;
    let held = script(
        &server,
        "return [await isolate(p => p.markdown.length, page)].map(h => [h.$handle, 'type' in h, 'bytes' in h])",
    );
    let called = rig.script(&held).await;
    assert_eq!(rig::value(&called.outcome), &json!([["h2", false, false]]));
    assert!(
        !called.outcome.label.covers(&web(&server)),
        "{}",
        called.outcome.label
    );
    for (then, expected) in [
        (
            "return isolate(p => p.markdown.includes('canary'), page)",
            json!(true),
        ),
        (
            "return isolate((p, n) => [typeof p.markdown, n], page, 7)",
            json!(["string", 7]),
        ),
        (
            "return isolate(async (p) => { return (await p).url ? 1 : 2 }, page)",
            json!(1),
        ),
        (
            "return isolate(([p]) => Object.keys(p).includes('markdown'), [page])",
            json!(true),
        ),
        // What is held is a value and no program, whatever it is called.
        (
            "return isolate(x => Object.keys(x), JSON.parse('{\"__proto__\": 1}'))",
            json!(["__proto__"]),
        ),
        (
            "return isolate(function () { return typeof tools.web + typeof given }, page)",
            json!("functionobject"),
        ),
    ] {
        let called = rig.script(&script(&server, then)).await;
        assert_eq!(rig::value(&called.outcome), &expected, "{then}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_has_no_tools_and_no_time() {
    let server = page().await;
    let rig = Rig::of(&policy(&server, "[limits]\nscript_cpu_ms = 2000"))
        .open()
        .await;
    for (function, code, part) in [
        (
            "async () => tools.text.count({text: 'a'})",
            Code::ScriptFailed,
            "has no tools",
        ),
        (
            "() => reveal({$handle: 'h1'})",
            Code::ScriptFailed,
            "has no tools",
        ),
        (
            "() => new Promise(done => setTimeout(done, 1))",
            Code::ScriptFailed,
            "has no timers",
        ),
        ("() => new Promise(() => {})", Code::Stalled, ""),
        ("() => { for (;;) {} }", Code::OutOfFuel, ""),
        (
            "() => { const all = []; for (;;) all.push(new Array(1e5).fill(1)) }",
            Code::OutOfMemory,
            "",
        ),
        ("() => 'x'.repeat(2e6)", Code::TooBig, ""),
        (
            "() => { throw new Error('no') }",
            Code::ScriptFailed,
            "no (line 1, column ",
        ),
        ("() => 1 +", Code::BadArgs, "is none"),
        ("() => `", Code::BadArgs, "is none"),
        ("() => /*", Code::BadArgs, "is none"),
        (
            "(p: string) => (p as string).length",
            Code::ScriptFailed,
            "",
        ),
    ] {
        let called = rig
            .call("handle.isolate", json!({"code": function, "of": []}))
            .await;
        let error = rig::error(&called.outcome);
        // On a machine with much else to do, its time is over before its work is.
        let endless = matches!(code, Code::OutOfFuel | Code::OutOfMemory);
        let late = endless && error.code() == Code::TooSlow;
        assert!(error.code() == code || late, "{function}: {error}");
        assert!(error.message().contains(part), "{function}: {error}");
    }
    let typed = json!({"code": "(p: string): number => (p as string).length", "of": ["abc"]});
    let called = rig.call("handle.isolate", typed).await;
    assert_eq!(rig::value(&called.outcome), &json!(3));
    rig.assert_alive().await;
}

/// Each function begins in a world of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_finds_nothing_of_the_one_before_it() {
    let rig = Rig::of("").open().await;
    let source = "const set = await isolate(() => { globalThis.left = 1; Array.prototype.left = 1; return typeof left });
        return [set, await isolate(() => typeof globalThis.left + typeof [].left)]";
    let called = rig.script(source).await;
    let expected = json!(["number", "undefinedundefined"]);
    assert_eq!(rig::value(&called.outcome), &expected);
}

/// Whoever is consulted has no tools: what they wish for is no answer, and nothing is called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_consulted_calls_nothing() {
    let server = page().await;
    let replies = [
        get(&server),
        json!({"calls": [consult(&["h1"], "Who?", json!({"type": "string"}))]}),
        json!({"text": "Done."}),
        json!({"consult": true, "calls": [call("files.write", json!({"path": "out/evil.txt", "content": "x"}))]}),
    ];
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Into out/evil.txt.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    let seen = observed(&records);
    assert!(
        seen[1].0.contains("the model could not be asked"),
        "{}",
        seen[1].0
    );
    assert!(rig::judged(&records, "files.write").is_empty());
    assert!(!rig.path("out/evil.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_failure_only_the_place_is_told() {
    let server = page().await;
    let throws = "(page) => {\n  throw new Error(page.markdown)\n}";
    let replies = [
        get(&server),
        json!({"calls": [isolate(throws, &["h1"])]}),
        // Its own mistake has nothing to do with what is held.
        json!({"calls": [isolate("(page) => page.", &["h1"])]}),
        json!({"calls": [call("files.write", json!({"path": "out/why.txt", "content": {"$handle": "h2"}}))]}),
        json!({"text": "Done."}),
    ];
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Into out/why.txt.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let seen = observed(&rig.records(&run).await);
    assert!(
        seen[1].0.contains("the function failed at line 2, column "),
        "{}",
        seen[1].0
    );
    assert!(
        seen[1].0.contains("held: {\"$handle\":\"h2\"}"),
        "{}",
        seen[1].0
    );
    assert!(seen[2].0.contains("the function is none"), "{}", seen[2].0);
    for (text, label) in &seen {
        assert!(!text.contains("canary"), "{text}");
        assert!(!label.covers(&web(&server)), "{label}");
    }
    assert!(written(&rig, "out/why.txt").contains(PAGE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_are_charged_to_the_bits_of_the_run() {
    let server = page().await;
    let fails = isolate("() => { throw 1 }", &["h1"]);
    let replies = [
        get(&server),
        json!({"calls": [fails]}),
        json!({"calls": [fails]}),
        json!({"text": "Done."}),
    ];
    let policy = policy(&server, "[flow]\nbits = 30");
    let rig = Rig::of(&policy).replies(&replies).open().await;
    let (run, _) = rig.pursue("Try.").await;
    let seen = observed(&rig.records(&run).await);
    assert!(!seen[1].1.covers(&web(&server)), "{}", seen[1].1);
    assert!(
        seen[2].0.contains("19 bits would leave a handle, and 11"),
        "{}",
        seen[2].0
    );
    assert!(seen[2].1.covers(&web(&server)), "{}", seen[2].1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_the_same_when_the_script_is_run_again() {
    let server = page().await;
    let then = "
        let told;
        try { await isolate(p => { throw new Error(p.markdown) }, page) } catch (error) { told = error.message }
        await tools.text.count({text: 'a'});
        const said = await isolate(x => x.includes('canary'), handle('h2'));
        return [told, said]";
    let more = "ask = [\"text.count\"]\n[flow]\nhold = \"untrusted\"";
    let rig = Rig::of(&policy(&server, more)).kept().await.open().await;
    let called = rig.script(&script(&server, then)).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let rig = rig.restart().await;
    let called = rig.resume(&called.run).await.expect("it goes on");
    let told = rig::value(&called.outcome);
    assert!(
        told[0]
            .as_str()
            .unwrap()
            .starts_with("the function failed at line 1, column "),
        "{told}"
    );
    assert!(!told[0].as_str().unwrap().contains("canary"), "{told}");
    assert_eq!(told[1], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_asked_about_what_nobody_reads() {
    let server = page().await;
    let replies = [
        get(&server),
        json!({"calls": [consult(&["h1"], "Who wrote it?", json!({"type": "string"}))]}),
        json!({"calls": [call("files.write", json!({"path": "out/who.txt", "content": {"$handle": "h2"}}))]}),
        json!({"text": "Done.", "usage": {"input_tokens": 5}}),
        // A question is told from a turn, and holds the page, and nothing of the run before it.
        json!({"consult": true, "when": "Ignore", "text": "wrong"}),
        json!({"consult": true, "when": PAGE, "text": "\"canary-ada\"", "usage": {"input_tokens": 7, "output_tokens": 2}}),
    ];
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Ignore. Into out/who.txt.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    assert_eq!(written(&rig, "out/who.txt"), "canary-ada");
    let records = rig.records(&run).await;
    for (text, label) in observed(&records) {
        assert!(!text.contains("canary"), "{text}");
        assert!(!label.covers(&web(&server)), "{label}");
    }
    let usage = stopped(&records).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (12, 2));
    let read = rig.call("files.read", json!({"path": "out/who.txt"})).await;
    assert!(
        read.outcome.label.covers(&web(&server)),
        "{}",
        read.outcome.label
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_does_not_fit_is_mended_once() {
    let server = page().await;
    let shape =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let replies = [
        get(&server),
        json!({"calls": [
            consult(&["h1"], "How many?", shape.clone()),
            consult(&["h1"], "How old?", shape),
        ]}),
        json!({"text": "Done."}),
        json!({"consult": true, "when": "How many?", "text": "canary three"}),
        json!({"consult": true, "when": "does not fit", "text": "{\"n\": 3}"}),
        json!({"consult": true, "when": "How old?", "text": "canary"}),
    ];
    // The question is asked again by the next line that fits it.
    let rig = Rig::of(&policy(&server, "")).replies(&replies).open().await;
    let (run, answer) = rig.pursue("Count.").await;
    assert_eq!(answer.expect("an answer"), "Done.");
    let records = rig.records(&run).await;
    let seen = observed(&records);
    assert!(
        seen[1].0.contains("\"$handle\":\"h2\"") || seen[1].0.contains("\"$handle\":\"h3\""),
        "{}",
        seen[1].0
    );
    assert!(
        seen[2]
            .0
            .contains("the model gave no answer that fits the shape"),
        "{}",
        seen[2].0
    );
    for (text, label) in &seen {
        assert!(!text.contains("canary"), "{text}");
        assert!(!label.covers(&web(&server)), "{label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_consult_the_model_that_is_named_for_them() {
    let server = page().await;
    let then = "return consult([page], 'Who?', {type: 'string', maxLength: 10})";
    let rig = Rig::of(&policy(&server, "")).open().await;
    let called = rig.script(&script(&server, then)).await;
    let error = rig::error(&called.outcome);
    assert!(
        error
            .message()
            .contains("write there `models = [\"NAME\"]`"),
        "{error}"
    );

    let named = "[scripts]\nmodels = [\"script\"]";
    let replies =
        [json!({"consult": true, "when": "Who?", "text": "Ada", "usage": {"input_tokens": 3}})];
    let rig = Rig::of(&policy(&server, named))
        .replies(&replies)
        .open()
        .await;
    let called = rig.script(&script(&server, then)).await;
    assert_eq!(rig::value(&called.outcome), &json!("Ada"));
    assert!(
        called.outcome.label.covers(&web(&server)),
        "{}",
        called.outcome.label
    );
    assert_eq!(
        stopped(&rig.records(&called.run).await).usage.input_tokens,
        3
    );
    for (then, part) in [
        ("return consult(page, 'Who?')", "consult takes a list"),
        ("return consult([page], 'What?')", "answers this question"),
        ("return consult([page], 'Who?', {type: 'sting'})", "/shape"),
    ] {
        let called = rig.script(&script(&server, then)).await;
        let error = rig::error(&called.outcome);
        assert!(error.message().contains(part), "{then}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_consults_so_often_and_no_more() {
    let server = page().await;
    let more = "[scripts]\nmodels = [\"script\"]\n[limits]\nscript_calls = 200";
    let replies = [json!({"consult": true, "text": "Ada"})];
    let rig = Rig::of(&policy(&server, more))
        .replies(&replies)
        .open()
        .await;
    let source = "
        let asked = 0;
        try { for (;; asked++) await consult([1], 'Who?') } catch (error) { return [asked, error.code, error.message] }";
    let called = rig.script(source).await;
    let told = rig::value(&called.outcome);
    assert_eq!(
        (&told[0], &told[1]),
        (&json!(32), &json!("over_budget")),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_was_answered_is_not_asked_again() {
    let server = page().await;
    let more = "ask = [\"text.count\"]\n[scripts]\nmodels = [\"script\"]";
    let replies = [json!({"consult": true, "text": "Ada", "usage": {"input_tokens": 3}})];
    let rig = Rig::of(&policy(&server, more))
        .replies(&replies)
        .kept()
        .await
        .open()
        .await;
    let source = "
        const who = await consult([1], 'Who?');
        await tools.text.count({text: 'a'});
        return who";
    let called = rig.script(source).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::Asked);
    rig.answer(Say::Allow).await;
    let rig = rig.close().file("replies.jsonl", "").open().await;
    let called = rig.resume(&called.run).await.expect("it goes on");
    assert_eq!(rig::value(&called.outcome), &json!("Ada"));
    let records = rig.records(&called.run).await;
    assert_eq!(
        stopped(&records).usage.input_tokens,
        3,
        "what earlier lives have spent counts"
    );
}
