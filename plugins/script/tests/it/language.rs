//! Evaluation, values, failures and their positions.

use lazaret_script::Reason;

use crate::rig::{returns, run};

#[test]
fn the_source_is_the_body_of_an_async_function() {
    returns(&[
        ("return 1+1", "2"),
        ("1+1", "null"),
        ("", "null"),
        ("// nothing", "null"),
        ("return await Promise.resolve('ä€😀')", "\"ä€😀\""),
        ("const x = await 1; { const x = 2 } return x", "1"),
        ("return undefined", "null"),
        (
            "return { a: undefined, b: () => 1, c: [undefined], d: NaN, e: new Date(0) }",
            r#"{"c":[null],"d":null,"e":"1970-01-01T00:00:00.000Z"}"#,
        ),
        (
            "class A { #x = 1; static s = 2; get x() { return this.#x } } return [new A().x, A.s]",
            "[1,2]",
        ),
        (
            "function* g() { yield 1; yield* [2, 3] } return [...g()]",
            "[1,2,3]",
        ),
        (
            "const out = []; for await (const x of (async function* () { yield 1; yield 2 })()) out.push(x); return out",
            "[1,2]",
        ),
        (
            "return (await Promise.allSettled([1, Promise.reject(2)])).map(r => r.status)",
            r#"["fulfilled","rejected"]"#,
        ),
        ("return await Promise.any([Promise.reject(1), 2])", "2"),
        ("return await Promise.race([new Promise(() => {}), 3])", "3"),
        (
            "return [...new Map([[1, 2]])].flat().concat([...new Set([3, 3])])",
            "[1,2,3]",
        ),
        ("return (2n ** 64n).toString()", "\"18446744073709551616\""),
        ("return 'a1b22'.match(/\\d+/g)", r#"["1","22"]"#),
        (
            "return [1, 2, 3].at(-1) + [3, 1, 2].toSorted()[0] + Object.groupBy([1, 2], x => x % 2 ? 'o' : 'e').o[0]",
            "5",
        ),
        ("return new Float64Array([1.5, 2])[0]", "1.5"),
        (
            "let { a, ...rest } = { a: 1, b: 2 }; return rest?.b ?? 0",
            "2",
        ),
        ("return eval('1+2') + new Function('return 3')()", "6"),
        ("return '}{'", "\"}{\""),
        (
            "return (() => { if (true) { return `}) ${'{'}` } })()",
            "\"}) {\"",
        ),
    ]);
}

#[test]
fn syntax_errors_say_where() {
    let cases = [
        ("return )", 1, 8, "unexpected token"),
        ("let a = 1\nlet b = ;\n", 2, 9, "unexpected token"),
        ("let a = 1\nif (a) {", 2, 9, "ends too early"),
        ("import fs from 'fs'", 1, 0, "cannot import"),
        ("export const x = 1", 1, 0, "ends with `return`"),
        ("let x = 1; let x = 2", 1, 0, "redefinition"),
        ("interface A { b: string }", 1, 0, "TypeScript"),
        ("'abc", 1, 0, ""),
    ];
    for (source, line, column, words) in cases {
        let run = run(source);
        let failure = run.failure();
        assert_eq!(failure.reason, Reason::Syntax, "{source}: {failure:?}");
        assert_eq!(failure.line, line, "{source}: {failure:?}");
        if column > 0 {
            assert_eq!(failure.column, column, "{source}: {failure:?}");
        }
        assert!(
            failure.message.starts_with("SyntaxError: "),
            "{source}: {failure:?}"
        );
        assert!(failure.message.contains(words), "{source}: {failure:?}");
    }
}

#[test]
fn a_source_that_closes_its_function_is_no_program() {
    for source in [
        "}",
        "}, async function () {",
        "}, async function() { return 1",
        "}}); ({async script() {",
        "}}).script, ({async script() {{",
        "}, x: 1, async y() {",
        "}(0), function () {",
        "}\nconsole.log('outside')\nasync function y() {",
        "}; console.log('outside'); {",
        "}} + {async script() {{",
        "} catch {",
        "`}",
        "/*",
        "return 1 } //",
        "return 1 } /* { */",
        "return 1 } <!-- {",
    ] {
        let run = run(source);
        assert_eq!(run.failure().reason, Reason::Syntax, "{source}");
        assert!(run.logs.is_empty(), "{source}");
    }
}

#[test]
fn failures_have_a_place_in_the_script() {
    let run = run("function inner() {\n  throw new TypeError('no')\n}\nawait null\ninner()");
    let failure = run.failure();
    assert_eq!(failure.reason, Reason::Thrown);
    assert_eq!(failure.message, "TypeError: no");
    assert_eq!((failure.line, failure.column), (2, 13));
    assert_eq!(failure.stack, "at inner (2:13)\nat script (5:1)");
}

#[test]
fn what_is_thrown_may_be_anything() {
    let cases = [
        ("throw 'text'", "text"),
        ("throw { a: 1 }", "{ a: 1 }"),
        ("throw null", "null"),
        ("throw undefined", "undefined"),
        ("throw Symbol('s')", "Symbol(s)"),
        ("throw new Proxy({}, {})", "[Proxy]"),
        (
            "await Promise.any([Promise.reject(new Error('one'))])",
            "one",
        ),
        (
            "throw Object.assign(new Error('x'), { name: { toString() { throw 1 } } })",
            "x",
        ),
        (
            "throw new (class extends Error { get message() { throw 1 } })()",
            "Error",
        ),
        (
            "throw new (class Odd extends Error { get stack() { return 1 } })('odd')",
            "odd",
        ),
        ("null.x", "TypeError"),
        ("nowhere()", "ReferenceError: nowhere is not defined"),
    ];
    for (source, words) in cases {
        let run = run(source);
        assert_eq!(run.failure().reason, Reason::Thrown, "{source}");
        assert!(
            run.failure().message.contains(words),
            "{source}: {:?}",
            run.end
        );
    }
}

#[test]
fn rejections_that_nobody_handles_fail_the_script() {
    for source in [
        "Promise.reject(new Error('lost')); return 1",
        "(async () => { await null; throw new Error('lost') })(); return 1",
        "(async () => { await null; throw new Error('lost') })(); await tools.a.b()",
        "queueMicrotask(() => { throw new Error('lost') }); return 1",
        "new Promise((_, no) => no(new Error('lost'))).then(() => 1); return 1",
    ] {
        let run = run(source);
        assert_eq!(run.failure().message, "Error: lost", "{source}");
        assert_eq!(run.failure().line, 1, "{source}");
    }
    returns(&[
        (
            "const p = Promise.reject(1); await null; p.catch(() => {}); return 1",
            "1",
        ),
        (
            "const p = Promise.reject(1); try { await p } catch (e) { return e }",
            "1",
        ),
    ]);
}

#[test]
fn what_nothing_resolves_is_stalled_at_once() {
    for source in [
        "await new Promise(() => {})",
        "await { then() {} }",
        "const t = setTimeout(() => {}, 1000); clearTimeout(t); await new Promise(() => {})",
        "await tools.a.b(); await new Promise(() => {})",
    ] {
        assert_eq!(run(source).failure().reason, Reason::Stalled, "{source}");
    }
}

#[test]
fn values_that_are_no_json_say_what_to_do() {
    let cases = [
        ("const a = {}; a.a = a; return a", Reason::NotJson),
        ("return 1n", Reason::NotJson),
        ("return { a: [1n] }", Reason::NotJson),
        ("return () => 1", Reason::NotJson),
        ("return Symbol('x')", Reason::NotJson),
        ("return { toJSON() { return undefined } }", Reason::NotJson),
        (
            "return { toJSON() { throw new Error('mine') } }",
            Reason::Thrown,
        ),
        (
            "return { get a() { throw new TypeError('mine') } }",
            Reason::Thrown,
        ),
        ("return 'x'.repeat(70000)", Reason::TooBig),
        ("return 'ä'.repeat(40000)", Reason::TooBig),
        ("return '\\u0000'.repeat(20000)", Reason::TooBig),
    ];
    for (source, reason) in cases {
        let run = run(source);
        assert_eq!(run.failure().reason, reason, "{source}: {:?}", run.end);
    }
}

#[test]
fn a_script_without_its_await_is_told() {
    let run = run("tools.files.write({}); return 1");
    assert_eq!(run.value(), "1");
    assert!(run.asked.is_empty());
    assert!(
        run.text().contains("without awaiting `files.write`"),
        "{}",
        run.text()
    );
}
