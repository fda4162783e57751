//! What stops a script: each has a code of its own, a place where there is one, and leaves the host well.

use lazaret_tests::prelude::*;
use lazaret_tests::rig;
use lazaret_tests::verdict::check_records;

/// A host that gives scripts little time.
async fn hasty() -> Rigged {
    Rig::of("limits.script_cpu_ms = 40").open().await
}

/// Runs a script that must be stopped; its code and message.
async fn stopped(rig: &Rigged, source: &str) -> (Code, String) {
    let called = rig.script(source).await;
    let error = match &called.outcome.result {
        Ok(value) => panic!("{source}\nreturned {value}"),
        Err(error) => error,
    };
    let records = rig.records(&called.run).await;
    assert_eq!(check_records(&records), Vec::<String>::new(), "{source}");
    assert!(!error.is_retryable(), "{source}: {error:?}");
    (error.code(), error.message().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_loops_in_every_disguise() {
    let rig = hasty().await;
    for source in [
        "for (;;) {}",
        "while (true) await null",
        "do { Math.random() } while (true)",
        "return {get a() { for (;;); }}.a",
        "return {toJSON() { for (;;); }}",
        "[3, 2, 1].sort(() => { for (;;); })",
        "[3, 2, 1].sort(() => { try { for (;;); } catch {} finally { for (;;); } })",
        "const again = () => Promise.resolve().then(again); await again()",
        "const tick = async () => { await null; return tick() }; await tick()",
        "return /^(a+)+$/.test('a'.repeat(64) + 'b')",
        "const all = function* () { for (;;) yield 1 }; for (const one of all()) {}",
        "return [...function* () { for (;;) yield* [] }()]",
        "return new Proxy({}, {get() { for (;;); }}).a",
        "return JSON.stringify(new Proxy({}, {ownKeys() { for (;;); }}))",
        "for (const one of {[Symbol.iterator]() { return {next() { return {done: false} }} }}) {}",
        "return `${{toString() { for (;;); }}}`",
        "return +{valueOf() { for (;;); }}",
        "await {then() { for (;;); }}",
        "class A { static { for (;;); } }",
        "try { for (;;); } catch { return 'caught' }",
        "try { for (;;); } finally { return 'last' }",
        "for (;;) { try { for (;;); } catch {} }",
        "queueMicrotask(function again() { queueMicrotask(again) }); await new Promise(() => {})",
        "await tools.text.count({get text() { for (;;); }})",
        "const {length} = {get length() { for (;;); }}; return length",
        "'a'.replace(/a/, () => { for (;;); })",
        "Array.from({length: 1}, () => { for (;;); })",
        "new Array(2 ** 32 - 1).indexOf(1)",
        "await tools.text.count({text: 'a'}); for (;;) {}",
        "setTimeout(() => { for (;;); }, 0); await new Promise(() => {})",
    ] {
        let (code, message) = stopped(&rig, source).await;
        // By work where the interpreter counts it fast enough, by time on a machine that is busy.
        assert!(
            [Code::OutOfFuel, Code::TooSlow].contains(&code),
            "{source}: {code:?} {message}"
        );
    }
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_says_where_it_is() {
    let rig = hasty().await;
    let (code, message) = stopped(
        &rig,
        "const a = 1;\nfunction spin() {\n  for (;;) {}\n}\nspin()",
    )
    .await;
    match code {
        Code::OutOfFuel => assert!(
            message.contains("at spin (2:") && message.contains("(line 2"),
            "{message}"
        ),
        _ => assert_eq!(code, Code::TooSlow, "{message}"),
    }
}

/// Recursion of every kind, in what is called and in what is built.
const DEEP: &[&str] = &[
    "function f() { return f() + 1 } return f()",
    "const f = () => [1].map(f); return f()",
    "class A { get a() { return this.a } } return new A().a",
    "const a = {toJSON() { return JSON.stringify(a) }}; return a",
    "const a = {toString() { return `${a}` }}; return `${a}`",
    "const p = new Proxy({}, {get: (target, name) => p[name]}); return p.a",
    "const f = () => [2, 1].sort(f); return f()",
    "const f = () => 'a'.replace(/a/, f); return f()",
    "let a = []; for (let i = 0; i < 100000; i++) a = [a]; return a",
    "let a = {}; for (let i = 0; i < 100000; i++) a = {a}; return JSON.stringify(a).length",
    "return JSON.parse('['.repeat(200000) + ']'.repeat(200000))",
    "return new RegExp('('.repeat(50000) + ')'.repeat(50000)).test('a')",
    "return /(?:a|b)*c/.test('ab'.repeat(1000000))",
    "let a = []; for (let i = 0; i < 200000; i++) a = [a]; return structuredClone(a)",
    "let a = []; for (let i = 0; i < 200000; i++) a = [a]; return a.flat(Infinity).length",
    "let f = x => x; for (let i = 0; i < 100000; i++) f = f.bind(null); return f(1)",
    "const f = async () => { await f() }; await f()",
    "const f = function* () { yield* f() }; return [...f()]",
    "let p = Promise.resolve(1); for (let i = 0; i < 100000; i++) { const q = p; p = {then: r => q.then(r)} } return await p",
    "const a = []; a.push(a); return String(a) + a.join()",
    "let a = 'a'; for (let i = 0; i < 20000; i++) a = `(${a})`; return a.length > 1 && Function('return ' + a)",
    "let a = []; for (let i = 0; i < 100000; i++) a = [a]; console.log(a); return 1",
    "let a = new Error('x'); for (let i = 0; i < 100000; i++) a = new Error('x', {cause: a}); throw a",
    "let a = []; for (let i = 0; i < 3000; i++) a = [a]; await tools.text.count({text: a})",
    "throw (() => { const e = new Error('x'); e.toString = () => e.toString(); Object.defineProperty(e, 'message', {get() { return e.message }}); return e })()",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_recursion_does_not_trap() {
    let rig = Rig::of("").open().await;
    let mut wrong = Vec::new();
    for source in DEEP {
        let called = rig.script(source).await;
        if let Err(error) = &called.outcome.result {
            let contained = [
                Code::ScriptFailed,
                Code::TooBig,
                Code::NotJson,
                Code::OutOfMemory,
                Code::OutOfFuel,
                Code::BadInput,
            ];
            if !contained.contains(&error.code()) {
                wrong.push(format!(
                    "{source}\n  {:?}: {}",
                    error.code(),
                    error.message()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let deep = format!("return {}1{}", "(".repeat(40_000), ")".repeat(40_000));
    let called = rig.script(&deep).await;
    let error = rig::error(&called.outcome);
    assert_ne!(error.code(), Code::Trapped, "{error:?}");
    let list = format!("return {}{}", "[".repeat(40_000), "]".repeat(40_000));
    let called = rig.script(&list).await;
    let error = rig::error(&called.outcome);
    assert_ne!(error.code(), Code::Trapped, "{error:?}");
    let typed = format!(
        "const a: number = 1; return {}1{}",
        "(".repeat(40_000),
        ")".repeat(40_000)
    );
    let called = rig.script(&typed).await;
    assert_ne!(
        rig::error(&called.outcome).code(),
        Code::Trapped,
        "the reader of types"
    );
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_that_is_not_there() {
    let rig = Rig::of("").open().await;
    for source in [
        "let a = 'a'; for (;;) a += a",
        "const all = []; for (;;) all.push(new Uint8Array(1 << 20))",
        "const all = []; for (;;) all.push({})",
        "return new Uint8Array(2 ** 31).length",
        "return new ArrayBuffer(1e12).byteLength",
        "return 'a'.repeat(2 ** 30 - 1).length",
        "return 'a'.padEnd(2 ** 29).length",
        "return new Array(2 ** 25).fill('a').join('abcdefgh').length",
        "const all = []; for (let i = 0; i < 1e7; i++) all.push(new Promise(() => {})); await Promise.all(all)",
        "const a = new Map(); for (let i = 0;; i++) a.set(i, {i})",
    ] {
        let (code, message) = stopped(&rig, source).await;
        assert!(
            [Code::OutOfMemory, Code::ScriptFailed].contains(&code),
            "{source}: {code:?} {message}"
        );
    }
    let (code, _) = stopped(&rig, "const all = []; for (;;) all.push({})").await;
    assert_eq!(code, Code::OutOfMemory);
    rig.assert_alive().await;
    let rig = hasty().await;
    let source = "const b = 'a'.repeat(1 << 20); const all = [];
        for (;;) { try { for (;;) all.push(b + all.length) } catch {} }";
    let (code, message) = stopped(&rig, source).await;
    let ends = [Code::OutOfMemory, Code::OutOfFuel, Code::TooSlow];
    assert!(ends.contains(&code), "{code:?} {message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_promises_are_contained() {
    let rig = Rig::of("").open().await;
    let called = rig
        .script("let n = 0; for (let i = 0; i < 1e6; i++) Promise.resolve().then(() => { n += 1 }); await null; return n >= 0")
        .await;
    if let Err(error) = &called.outcome.result {
        assert!(
            [Code::OutOfMemory, Code::OutOfFuel].contains(&error.code()),
            "{error:?}"
        );
    }
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_are_too_big_or_no_json() {
    let rig = Rig::of("").open().await;
    for (source, code) in [
        ("return 'a'.repeat(1 << 20)", Code::TooBig),
        ("return new Array(1 << 20).fill(0)", Code::TooBig),
        ("return 'a'.repeat(10 << 20)", Code::TooBig),
        // It does not fit beside its own text.
        ("return 'a'.repeat(30 << 20)", Code::OutOfMemory),
        ("const a = {}; a.a = a; return a", Code::NotJson),
        ("return 1n", Code::NotJson),
        ("return {a: 1n}", Code::NotJson),
        ("return () => 1", Code::NotJson),
        ("return Symbol('a')", Code::NotJson),
        ("return {toJSON() { return 1n }}", Code::NotJson),
    ] {
        let (told, message) = stopped(&rig, source).await;
        assert_eq!(told, code, "{source}: {message}");
    }
    for (source, value) in [
        ("return undefined", Value::Null),
        ("return NaN", Value::Null),
        ("return [undefined, () => 1]", json!([null, null])),
        ("return {a: undefined}", json!({})),
        ("return new Date(0)", json!("1970-01-01T00:00:00.000Z")),
    ] {
        let called = rig.script(source).await;
        assert_eq!(*rig::value(&called.outcome), value, "{source}");
    }
    // What is deeper than the host reads is refused by the host itself.
    let (code, message) = stopped(
        &rig,
        "let a = 1; for (let i = 0; i < 500; i++) a = [a]; return a",
    )
    .await;
    assert_eq!(code, Code::NotJson, "{message}");
    let (code, _) = stopped(&rig, "await tools.text.count({text: 'a'.repeat(2 << 20)})").await;
    assert_eq!(code, Code::TooBig);
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_no_tool_takes_are_errors_that_can_be_caught() {
    let rig = Rig::of("").open().await;
    let source = "
        const cycle = {}; cycle.a = cycle;
        let deep = 1; for (let i = 0; i < 500; i++) deep = [deep];
        const said = [];
        for (const args of [cycle, {text: 1n}, 'text', 7, null, [1], {text: 'a'.repeat(100000)}, {text: 'a'.repeat(2 << 20)}, {text: deep}, undefined]) {
            try { await tools.text.count(args); said.push('came back') }
            catch (error) { said.push(error.code ?? error.name) }
        }
        return said";
    let called = rig.script(source).await;
    let said = rig::value(&called.outcome)
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!(said.len(), 10);
    for (at, code) in said.iter().enumerate() {
        // A cycle and a BigInt are JavaScript's own errors.
        let known = ["bad_args", "too_big", "TypeError"];
        assert!(
            known.contains(&code.as_str().unwrap_or_default()),
            "{at}: {said:?}"
        );
    }
    assert_eq!(
        check_records(&rig.records(&called.run).await),
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_is_no_program_says_where() {
    let rig = Rig::of("").open().await;
    for (source, place) in [
        ("return (1 +", "line 1, column 12"),
        ("const a = 1;\nconst b = ;\nreturn 1", "line 2, column 11"),
        ("const a = 1;\n\n  let 2x = 1", "line 3"),
        ("} return 1; {", "line 1, column 1"),
        ("import fs from 'fs'; return 1", "line 1"),
        ("return 'a", "line 1"),
    ] {
        let (code, message) = stopped(&rig, source).await;
        assert_eq!(code, Code::BadInput, "{source}: {message}");
        assert!(message.contains(place), "{source}: {message}");
    }
    let called = rig.script(&"a".repeat(100_001)).await;
    assert_eq!(rig::error(&called.outcome).code(), Code::TooBig);
    // Characters are counted, not bytes.
    let long = format!("return 1 // {}", "é".repeat(99_988));
    assert_eq!(*rig::value(&rig.script(&long).await.outcome), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_script_throws_has_a_place_in_its_source() {
    let rig = Rig::of("").open().await;
    let source = "function inner() {\n  throw new TypeError('mine')\n}\nfunction outer() {\n  inner()\n}\nouter()";
    let (code, message) = stopped(&rig, source).await;
    assert_eq!(code, Code::ScriptFailed);
    for part in ["TypeError", "mine", "line 2, column", "inner", "outer"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    for source in [
        "Promise.reject(new Error('mine')); await new Promise(() => {})",
        "Promise.reject(new Error('mine')); return 1",
        "await tools.text.count({txt: 1})",
        "null.mine",
        "throw 'mine'",
        "throw null",
        "throw {mine: 1}",
        "await Promise.any([Promise.reject(1)])",
        "setTimeout(() => { throw new Error('mine') }, 0); await new Promise(() => {})",
    ] {
        let (code, message) = stopped(&rig, source).await;
        assert_eq!(code, Code::ScriptFailed, "{source}: {message}");
    }
    let (_, message) = stopped(&rig, "const a = 1\nawait tools.text.count({txt: 1})").await;
    assert!(
        message.contains("line 2") && message.contains("`text` is missing, a string"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nothing_will_resolve_is_stalled_at_once() {
    let rig = Rig::of("").open().await;
    for source in [
        "await new Promise(() => {})",
        "await tools.text.count({text: 'a'}); await new Promise(() => {})",
        "await Promise.race([])",
        "await {then() {}}",
        "const t = setTimeout(() => {}, 1e9); clearTimeout(t); await new Promise(() => {})",
    ] {
        let (code, message) = stopped(&rig, source).await;
        assert_eq!(code, Code::Stalled, "{source}: {message}");
    }
    rig.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_has_a_wall_where_policy_builds_one() {
    let rig = Rig::of("limits.script_wall_ms = 5000").open().await;
    let run = rig.host.new_run();
    let mut watcher = rig.host.watch(&run);
    let tasks = Tasks::new();
    let source = "console.log('rests'); await new Promise(resolve => setTimeout(resolve, 3600_000)); return 'never'";
    let clock = rig.clock.clone();
    let waiting = async {
        loop {
            let sight = serde_json::to_value(watcher.next().await).expect("JSON");
            if sight["message"] == "rests" {
                clock.advance(std::time::Duration::from_secs(6));
                return;
            }
        }
    };
    let (called, ()) = tokio::join!(rig.script_in(run, &tasks, source), waiting);
    let error = rig::error(&called.outcome);
    assert_eq!(error.code(), Code::TooSlow, "{error:?}");
    let hints = error.hints().join("\n");
    assert!(hints.contains("script_wall_ms"), "{error:?} {hints}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn console_lines_are_kept_and_counted() {
    let rig = Rig::of("").open().await;
    let called = rig
        .script("console.log('one', {a: 1}); console.error('\\u001b[31mred\\u202e'); await null; console.warn('two'); return 1")
        .await;
    let lines: Vec<_> = called
        .outcome
        .trail
        .logs
        .iter()
        .map(|line| (line.level, line.message.clone()))
        .collect();
    assert_eq!(lines[0].0, "info");
    assert!(lines[0].1.starts_with("one"), "{lines:?}");
    assert!(
        lines[1].0 == "error" && !lines[1].1.contains('\u{1b}') && !lines[1].1.contains('\u{202e}'),
        "{lines:?}"
    );
    assert_eq!(lines[2].0, "warn");
    let flood = rig
        .script("for (let i = 0; i < 100000; i++) console.log('x'.repeat(100)); return 'done'")
        .await;
    assert_eq!(*rig::value(&flood.outcome), "done");
    let kept: usize = flood
        .outcome
        .trail
        .logs
        .iter()
        .map(|line| line.message.len())
        .sum();
    assert!(kept <= 64 << 10, "{kept}");
}
