//! A script and its tools: what it is answered, what it may be called, and what the record says.

use lazaret::words::event::{Event, Verdict};
use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

/// What a script returns.
async fn returns(rig: &Rigged, source: &str) -> Value {
    rig::value(&rig.script(source).await.outcome).clone()
}

/// Subjects of all calls that were judged inside of scripts.
async fn judged(rig: &Rigged, run: &lazaret::words::id::RunId) -> Vec<String> {
    let records = rig.records(run).await;
    let subjects = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) if judged.origin == "script" => Some(judged.subject.clone()),
        _ => None,
    });
    subjects.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_returns_its_value() {
    let rig = Rig::of("").open().await;
    for (source, value) in [
        ("return 1+1", json!(2)),
        ("", Value::Null),
        ("return {a: [1, 'b', null]}", json!({"a": [1, "b", null]})),
        (
            "const a = tools.text.count({text: 'a b'}); return (await a).words",
            json!(2),
        ),
        (
            "const all = await Promise.all(['a', 'a b', 'a b c'].map(text => tools.text.count({text})));
             return all.map(one => one.words)",
            json!([1, 2, 3]),
        ),
        ("return (await tools['text']['count']({text: 'x'})).words", json!(1)),
    ] {
        assert_eq!(returns(&rig, source).await, value, "{source}");
    }
    let called = rig
        .script("return (await tools.text.count({text: 'a'})).words")
        .await;
    assert_eq!(
        check_records(&rig.records(&called.run).await),
        Vec::<String>::new()
    );
    assert_eq!(called.outcome.spent.calls, 1);
    assert!(called.outcome.spent.fuel > 0 && called.outcome.spent.memory_bytes > 0);
}

/// A call, and what it says: its code, whether it may succeed later, and a part of its words.
const FAILED: &[(&str, &str, bool, &str)] = &[
    (
        "text.diff({old: 'a', new: 'b'})",
        "denied",
        false,
        "is blocked by",
    ),
    (
        "files.read({path: 'a/b.txt'})",
        "denied",
        false,
        "files.read",
    ),
    (
        "hostile.destroy({})",
        "denied",
        false,
        "is of class high_risk",
    ),
    (
        "hostile.only_people({})",
        "denied",
        false,
        "never for a model or a script",
    ),
    (
        "hostile.only_tools({})",
        "denied",
        false,
        "only for other tools to call",
    ),
    (
        "no.such({})",
        "unknown_tool",
        false,
        "there is no tool `no.such`",
    ),
    (
        "text.count({txt: 1})",
        "bad_args",
        false,
        "`text` is missing, a string",
    ),
    (
        "text.count({text: 'a', more: 1})",
        "bad_args",
        false,
        "more",
    ),
    ("hostile.traps({})", "trapped", false, ""),
    ("hostile.panics({message: 'mine'})", "trapped", false, ""),
    ("hostile.spin({})", "too_slow", true, ""),
    ("hostile.sleep({})", "too_slow", true, ""),
    ("hostile.hoard({})", "out_of_memory", false, ""),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_call_is_an_error_that_says_which() {
    let rig = async |limits: &str| {
        let policy = format!("block = [\"text.diff\"]\n{limits}\n[grants.\"hostile.sleep\"]");
        Rig::of(&policy).guest("hostile").open().await
    };
    let usual = rig("").await;
    // Only of what takes for ever is it sure that it takes too long.
    let hurried = rig("[limits]\ncpu_ms = 200\ntimeout_ms = 200").await;
    for (call, code, retryable, says) in FAILED {
        let rig = if *code == "too_slow" {
            &hurried
        } else {
            &usual
        };
        let source = format!(
            "try {{ return ['came back', await tools.{call}] }} catch (error) {{
                return [error.name, error instanceof ToolError, error.code, error.retryable, error.message] }}"
        );
        let told = returns(rig, &source).await;
        assert_eq!(told[0], "ToolError", "{call}: {told}");
        assert_eq!(told[1], true, "{call}: {told}");
        assert_eq!(told[2], *code, "{call}: {told}");
        assert_eq!(told[3], *retryable, "{call}: {told}");
        let message = told[4].as_str().expect("a message");
        assert!(message.contains(says), "{call}: {told}");
        assert!(!message.contains(rig.folder()), "{call}: {told}");
    }
    usual.assert_alive().await;
    hurried.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_reaches_no_further_than_whoever_runs_it() {
    let rig = Rig::of("").open().await;
    // The tool that runs scripts is none of theirs, and neither are the model's own two.
    for name in [
        "script.run",
        "run_script",
        "search_tools",
        "script.run_script",
    ] {
        let (plugin, tool) = name.split_once('.').unwrap_or(("", name));
        let source = format!(
            "try {{ return await (tools['{plugin}']['{tool}'] ?? tools['{name}'])({{source: 'return 1'}}) }}
             catch (error) {{ return error.code }}"
        );
        assert_eq!(returns(&rig, &source).await, "unknown_tool", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_mean_something_to_javascript_are_names_like_any_other() {
    let rig = Rig::of("").open().await;
    let source = "
        const said = [];
        for (const [plugin, tool] of [
            ['constructor', 'constructor'], ['__proto__', '__proto__'], ['prototype', 'x'], ['toString', 'call'],
            ['hasOwnProperty', 'apply'], ['text', 'constructor'], ['text', '__proto__'], ['text', 'valueOf'],
            ['mcp.server', 'odd name'], ['text', 'Count'], ['text', '\\u202ecount'], ['😀', '\\u0000'],
        ]) {
            try { await tools[plugin][tool]({text: 'a'}); said.push('came back') }
            catch (error) { said.push(error.code ?? String(error)) }
        }
        return said";
    let called = rig.script(source).await;
    assert_eq!(
        *rig::value(&called.outcome),
        json!(vec!["unknown_tool"; 12])
    );
    let records = rig.records(&called.run).await;
    let allowed = records.iter().filter(|record| {
        matches!(&record.event, Event::Judged(judged)
            if matches!(judged.verdict, Verdict::Allow { .. }) && judged.origin == "script")
    });
    assert_eq!(allowed.count(), 0);
    let hidden = judged(&rig, &called.run).await;
    assert!(
        hidden.contains(&"text.\\u{202e}count".to_owned()),
        "{hidden:?}"
    );
    assert_eq!(check_records(&records), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_script_does_to_its_own_world_the_record_says_what_was_called() {
    let rig = Rig::of("block = [\"text.diff\"]").open().await;
    let source = "
        const count = tools.text.count;
        const broken = () => { throw new Error('gone') };
        JSON.stringify = () => '{\"text\": \"forged\"}';
        JSON.parse = () => ({words: 99});
        Object.prototype.toJSON = () => ({text: 'forged too'});
        Array.prototype.push = broken; Array.prototype.map = broken; Array.prototype.join = broken;
        Promise.prototype.then = function (...all) { return broken };
        globalThis.Promise = function () {};
        Object.prototype.position = 7; Object.prototype.code = 'ok';
        Map.prototype.get = broken; Map.prototype.set = broken;
        Symbol.iterator = 1;
        try { tools.text = {count: broken} } catch {}
        try { Object.setPrototypeOf(tools, {}) } catch {}
        try { Object.defineProperty(tools, 'text', {value: 1}) } catch {}
        delete Object.prototype.toJSON;
        const one = await count({text: 'a b'});
        let denied; try { await tools.text.diff({old: 'a', new: 'b'}) } catch (error) { denied = error.message }
        return [one.words, denied]";
    let called = rig.script(source).await;
    let text = format!("{:?}", called.outcome.result);
    let subjects = judged(&rig, &called.run).await;
    assert_eq!(subjects, ["text.count", "text.diff"], "{text}");
    let records = rig.records(&called.run).await;
    let asked: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Judged(judged) if judged.origin == "script" => {
                Some(serde_json::to_value(judged).expect("a record"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(asked[0]["content"]["inline"], json!({"text": "a b"}));
    assert_eq!(asked[1]["verdict"]["verdict"], "deny", "{}", asked[1]);
    assert!(
        text.contains("Number(2)") && text.contains("is blocked by"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn types_are_taken_for_what_they_are() {
    let rig = Rig::of("").open().await;
    let typed = "
        interface Counted { words: number }
        type Many<T> = T[];
        const texts: Many<string> = ['a', 'a b'];
        const all = await Promise.all(texts.map(async (text: string): Promise<Counted> => await tools.text.count({text}) as Counted));
        return all.map((one: Counted) => one.words!) satisfies number[]";
    assert_eq!(returns(&rig, typed).await, json!([1, 2]));
    for (source, says) in [
        (
            "const one: number = 1;\nenum Colour { Red }\nreturn one",
            "(line 2, column 1)",
        ),
        (
            "const one: number = 1;\n  namespace A { export const b = 1 }\nreturn one",
            "(line 2, column 3)",
        ),
    ] {
        let called = rig.script(source).await;
        let error = rig::error(&called.outcome);
        assert_eq!(error.code(), Code::BadInput, "{error:?}");
        assert!(error.message().contains(says), "{error:?}");
    }
    let enums = rig.script("enum Colour { Red }\nreturn Colour.Red").await;
    let error = rig::error(&enums.outcome);
    assert!(error.message().contains("enum"), "{error:?}");
    // Positions stay what they were.
    let thrown = rig
        .script("const one: number = 1;\n\nthrow new Error('mine')")
        .await;
    let error = rig::error(&thrown.outcome);
    assert_eq!(error.code(), Code::ScriptFailed);
    assert!(
        error.message().contains("mine") && error.message().contains("line 3"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_of_a_script_is_everything_that_it_read() {
    let policy = r#"
        [mounts.docs]
        path = "docs"
        [mounts.other]
        path = "other"
        [grants."files.read"]
        mounts = { docs = "read", other = "read" }
    "#;
    let rig = Rig::of(policy)
        .file("docs/a.txt", "a")
        .file("other/b.txt", "b")
        .open()
        .await;
    let label = async |source: &str| {
        let called = rig.script(source).await;
        serde_json::to_string(&called.outcome.label).expect("a label")
    };
    let nothing = label("return 1").await;
    assert!(
        nothing.contains("user") && !nothing.contains("docs"),
        "{nothing}"
    );
    let one = label("await tools.files.read({path: 'docs/a.txt'}); return 1").await;
    assert!(
        one.contains("docs") && one.contains("files.read") && !one.contains("other"),
        "{one}"
    );
    let both = label(
        "await tools.files.read({path: 'docs/a.txt'}); await tools.files.read({path: 'other/b.txt'}); return 1",
    )
    .await;
    assert!(both.contains("docs") && both.contains("other"), "{both}");
    // A failure tells a script something as well.
    let failed =
        label("try { await tools.files.read({path: 'docs/none.txt'}) } catch {} return 1").await;
    assert!(failed.contains("docs"), "{failed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_first_labels_what_is_called_next() {
    let policy =
        "[mounts.docs]\npath = \"docs\"\n[grants.\"files.read\"]\nmounts = { docs = \"read\" }";
    let rig = Rig::of(policy).file("docs/a.txt", "a").open().await;
    let called = rig
        .script("await tools.text.count({text: 'x'}); await tools.files.read({path: 'docs/a.txt'}); await tools.text.count({text: 'y'})")
        .await;
    let records = rig.records(&called.run).await;
    let labels: Vec<String> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Judged(judged) if judged.subject == "text.count" => {
                Some(serde_json::to_string(&judged.label).expect("a label"))
            }
            _ => None,
        })
        .collect();
    assert!(
        !labels[0].contains("docs") && labels[1].contains("docs"),
        "{labels:?}"
    );
}
