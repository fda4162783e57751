//! Scripts that are wrong, greedy or hostile: every one ends, with the right reason.

use lazaret_script::{Bounds, Reason};

use crate::rig::{BOUNDS, run, run_with, usual};

#[test]
fn endless_loops_end_in_every_disguise() {
    for source in [
        "for (;;) {}",
        "while (true) { try { for (;;) {} } catch {} finally { continue } }",
        "await null; for (;;) {}",
        "return { get a() { for (;;) {} } }",
        "return { toJSON() { for (;;) {} } }",
        "await tools.x({ get a() { for (;;) {} } })",
        "await tools.x({ toJSON() { for (;;) {} } })",
        "[3, 2, 1].sort(() => { for (;;) {} })",
        "const f = () => Promise.resolve().then(f); await f()",
        "const f = async () => { await null; return f() }; await f()",
        "for (;;) await null",
        "const f = () => queueMicrotask(f); f(); await tools.x()",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "'a'.repeat(40).concat('b').replace(/^(a|a)*$/, '')",
        "function* g() { for (;;) yield 1 } for (const x of g()) {}",
        "function* g() { for (;;); } g().next()",
        "new Proxy({}, { get() { for (;;) {} } }).x",
        "for (const x of { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) }) {}",
        "JSON.parse('[1]', () => { for (;;) {} })",
        "'x'.replace('x', () => { for (;;) {} })",
        "structuredClone({ get a() { for (;;) {} } })",
        "console.log({ [Symbol.toPrimitive]: 1 }); `${{ toString() { for (;;) {} } }}`",
        "throw { get a() { return 1 }, toString() { for (;;) {} } }; for (;;) {}",
        "throw new (class extends Error { get message() { for (;;) {} } })()",
        "throw new (class extends Error { get stack() { for (;;) {} } })()",
        "Array.from({ length: 1e9 }, () => 1)",
        "new Array(1e9).fill(0).map(x => x)",
        "eval('for (;;) {}')",
        "setTimeout(() => { for (;;) {} }, 1); await new Promise(() => {})",
        "await { then() { for (;;) {} } }",
        "Promise.prototype.then = function () { for (;;) {} }; await Promise.resolve().finally(() => {})",
        "class A { static { for (;;) {} } }",
        "Error.prepareStackTrace = () => { for (;;) {} }; for (;;) {}",
        "label: for (;;) { for (;;) { continue label } }",
        "(async () => { for (;;) {} })().catch(() => {}); return 1",
        "try { await (async () => { for (;;) {} })() } catch { return 'caught' }",
        "await Promise.allSettled([(async () => { for (;;) {} })()]); return 'caught'",
    ] {
        let run = run(source);
        let reason = run.end.as_ref().err().map(|failure| failure.reason);
        // A thrown value whose text cannot be had is still thrown.
        let is_fine = reason == Some(Reason::OutOfWork)
            || (source.starts_with("throw {") && reason == Some(Reason::Thrown))
            || ((source.contains("1e9")
                || source.contains("then(f)")
                || source.contains("return f()"))
                && reason == Some(Reason::OutOfMemory));
        assert!(is_fine, "{source}: {:?}", run.end);
    }
}

#[test]
fn an_endless_loop_has_a_line() {
    let run = run(
        "const a = 1\nfunction spin() {\n  let i = 0\n  for (;;) {\n    i = Math.abs(i)\n  }\n}\nspin()",
    );
    assert_eq!(run.failure().reason, Reason::OutOfWork);
    // Where it is looked at is a matter of counting; that it is in the loop's function is not.
    assert!((2..=6).contains(&run.failure().line), "{:?}", run.end);
    assert!(
        run.failure().stack.starts_with("at spin ("),
        "{:?}",
        run.end
    );
}

#[test]
fn work_is_counted_over_all_steps() {
    let source = "for (;;) { for (let i = 0; i < 100000; i++); await tools.x() }";
    let bounds = Bounds {
        calls: 100_000,
        ..BOUNDS
    };
    assert_eq!(
        run_with(source, bounds, 1, usual).failure().reason,
        Reason::OutOfWork
    );
}

#[test]
fn deep_recursion_can_be_caught() {
    for source in [
        "const f = () => f(); f()",
        "const f = async () => { await f() }; await f()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "JSON.parse('['.repeat(1e5))",
        "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
        "new RegExp('('.repeat(1e5))",
        "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))",
        "const o = { toString() { return `${o}` } }; `${o}`",
        "class A { get x() { return this.x } } new A().x",
        "eval('['.repeat(1e5))",
        "eval('('.repeat(1e5))",
        "eval('-'.repeat(1e5) + '1')",
        "eval('!'.repeat(1e5) + '1')",
        "eval('{'.repeat(1e5))",
        "eval('`${'.repeat(1e5))",
        "eval('a=>'.repeat(1e5) + '1')",
        "eval('a?'.repeat(1e5))",
        "eval('x.'.repeat(1e5))",
        "eval('new '.repeat(1e5) + 'X')",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a)",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.toString()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)",
        "const f = (...a) => f(...a, 1); f()",
        "const b = { valueOf() { return +b } }; +b",
        "const f = n => n.replace('x', f); f('x')",
        "const f = () => [1, 2].sort(f); f()",
        "const f = () => Reflect.apply(f, null, []); f()",
        "let g = (function* () {})(); for (let i = 0; i < 1e4; i++) { const h = g; g = (function* () { yield* h })() } g.next()",
        "let f = () => {}; for (let i = 0; i < 1e5; i++) f = f.bind(); f()",
    ] {
        let run = run(&format!(
            "try {{ {source}; return 'fine' }} catch (e) {{ return e.name }}"
        ));
        let value = run.value();
        let known = [
            "fine",
            "RangeError",
            "InternalError",
            "SyntaxError",
            "TypeError",
            "ReferenceError",
        ];
        assert!(
            known.contains(&value.trim_matches('"')),
            "{source}: {value}"
        );
    }
}

#[test]
fn deep_things_do_not_break_the_engine() {
    for source in [
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a); return 1",
        "let a = new Map(); for (let i = 0; i < 1e5; i++) a = new Map([[1, a]]); console.log(a); return 1",
        "let a = 1; for (let i = 0; i < 1e5; i++) a = Promise.resolve(a).then(x => x); return await a",
        "let a = new Error('x'); for (let i = 0; i < 1e5; i++) a = new Error('x', { cause: a }); console.log(a); return 1",
        "let a = null; for (let i = 0; i < 1e5; i++) a = { a }; a = null; return 1",
    ] {
        let bounds = Bounds {
            heap_bytes: 256 << 20,
            polls: 5000,
            ..BOUNDS
        };
        assert_eq!(run_with(source, bounds, 1, usual).value(), "1", "{source}");
    }
    for source in [
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
        &"(".repeat(100_000),
        &"[".repeat(100_000),
    ] {
        assert!(run(source).end.is_err());
    }
}

#[test]
fn the_heap_is_bounded() {
    for source in [
        "let s = 'x'; for (;;) s += s",
        "let s = 'x'.repeat(1e6); const a = []; for (;;) a.push(s + a.length + s.toUpperCase())",
        "const a = []; for (;;) a.push(new Array(1000).fill({}))",
        "new Uint8Array(1e9)",
        "const a = []; for (;;) a.push(new ArrayBuffer(1e6))",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })",
        "const a = []; for (;;) a.push(Promise.resolve(1))",
        "const a = []; for (;;) a.push(() => a)",
        "'x'.repeat(2 ** 28)",
        "[].concat(...Array(100).fill(new Array(1e6).fill(1)))",
        "'x'.padEnd(1e9)",
        "new Array(1e8).fill(1).join('xxxxxxxx')",
        "JSON.stringify(Array(1e6).fill('x'.repeat(100)))",
        "const f = async () => { const a = []; for (;;) a.push(new Array(1000).fill(1)) }; await f()",
        "await tools.x(); const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "return { toJSON() { const a = []; for (;;) a.push(new Array(1000).fill(1)) } }",
        "const a = []; try { for (;;) a.push(new Array(1000).fill(1)) } catch (e) { throw e }",
    ] {
        let bounds = Bounds {
            polls: 5000,
            ..BOUNDS
        };
        let run = run_with(source, bounds, 1, usual);
        let reason = run.end.as_ref().err().map(|failure| failure.reason);
        let is_range = run.end.as_ref().is_err_and(|failure| {
            failure.message.starts_with("RangeError")
                || failure.message.contains("invalid string length")
                || failure.message.contains("string too long")
        });
        assert!(
            reason == Some(Reason::OutOfMemory) || is_range,
            "{source}: {:?}",
            run.end
        );
    }
    let run = run("try { new Uint8Array(1e9) } catch (e) { return 'caught' }");
    assert_eq!(run.value(), "\"caught\"");
}

#[test]
fn a_million_promises_are_contained() {
    let run = run_with(
        "let n = 0; for (let i = 0; i < 1e6; i++) await i, n++; return n",
        Bounds {
            polls: 50_000,
            ..BOUNDS
        },
        1,
        usual,
    );
    assert_eq!(run.value(), "1000000");
    let run = run_with(
        "await Promise.all(Array.from({ length: 1e6 }, async (_, i) => i))",
        Bounds {
            polls: 50_000,
            ..BOUNDS
        },
        1,
        usual,
    );
    assert_eq!(run.failure().reason, Reason::OutOfMemory);
}

#[test]
fn nothing_runs_after_the_end() {
    let run = run(
        "tools.x().then(() => console.log('late')); setTimeout(() => console.log('late'), 1); return 1",
    );
    assert_eq!(run.value(), "1");
    assert!(!run.text().contains("late"));
}
