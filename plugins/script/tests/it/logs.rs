//! The console.

use lazaret_script::{Bounds, Level};

use crate::rig::{BOUNDS, run, run_with, usual};

/// What a script writes, and what stands there.
const LINES: &[(&str, &str)] = &[
    (
        "console.log('a', 1, true, null, undefined)",
        "a 1 true null undefined",
    ),
    ("console.log()", ""),
    (
        "console.log('%s has %d of %i, %f%%, %j %o', 'x', 42, 4.7, 1.5, {}, [1])",
        "x has 42 of 4, 1.5%, {} [ 1 ]",
    ),
    ("console.log('100%', 'x')", "100% x"),
    (
        "console.log({ a: 1, 'b c': 'q', [Symbol('s')]: [1n] })",
        "{ a: 1, 'b c': 'q', [Symbol(s)]: [ 1n ] }",
    ),
    (
        "console.log({ a: { b: { c: { d: { e: 1 } } } } })",
        "{ a: { b: { c: { d: [Object] } } } }",
    ),
    (
        "const a = [1]; a.push(a); console.log(a)",
        "<ref *1> [ 1, [Circular *1] ]",
    ),
    (
        "console.log({ get a() { throw 1 }, set b(x) {} })",
        "{ a: [Getter], b: [Setter] }",
    ),
    (
        "console.log([undefined, , 3])",
        "[ undefined, <1 empty item>, 3 ]",
    ),
    (
        "console.log(new Map([['a', { b: 1 }]]), new Set(['x']))",
        "Map(1) { 'a' => { b: 1 } } Set(1) { 'x' }",
    ),
    (
        "console.log(class A {}, function f() {}, () => {})",
        "[class A] [Function: f] [Function (anonymous)]",
    ),
    (
        "console.log(new (class Foo { x = 1 })(), Object.create(null))",
        "Foo { x: 1 } [Object: null prototype] {}",
    ),
    (
        "console.log(new Date(0), /a/g, Symbol('x'), -0, 'it')",
        "1970-01-01T00:00:00.000Z /a/g Symbol(x) -0 it",
    ),
    (
        "console.log([\"it's\", 'say \"hi\"', 'a\\nb'])",
        "[ \"it's\", 'say \"hi\"', 'a\\nb' ]",
    ),
    (
        "console.log(new Uint8Array(2), new ArrayBuffer(3))",
        "Uint8Array(2) [ 0, 0 ] ArrayBuffer { byteLength: 3 }",
    ),
    (
        "console.log(Promise.resolve(), new Proxy({}, { get() { throw 1 } }), tools.a)",
        "Promise { <fulfilled> } [Proxy] [tools.a]",
    ),
    (
        "console.log(Object(1), Object('s'), new WeakMap())",
        "[Number: 1] [String: 's'] WeakMap { <items unknown> }",
    ),
    (
        "console.group('g'); console.log('in\\nside'); console.groupEnd(); console.log('out')",
        "g\n  in\n  side\nout",
    ),
    (
        "console.count(); console.count(); console.assert(1 > 2, 'why %s', 'x'); console.assert(true)",
        "default: 1\ndefault: 2\nAssertion failed: why x",
    ),
    (
        "console.time('t'); console.timeEnd('t'); console.timeEnd('t')",
        "t: 0ms\nNo such label 't'",
    ),
    (
        "console.table([{ a: 1 }, { b: 'x' }]); console.table(3)",
        "(index) │ a │ b  \n0       │ 1 │    \n1       │   │ 'x'\n3",
    ),
    (
        "console.dir({ a: { b: 1 } }, { depth: 0 })",
        "{ a: [Object] }",
    ),
    (
        "console.log(new Error('e'))",
        "Error: e\n    at script (script:1:17)",
    ),
    (
        "console.log(Array(200).fill(0).length, Array.from({ length: 101 }, () => 1).toString().length)",
        "200 201",
    ),
];

#[test]
fn lines_look_as_in_node() {
    for (source, expected) in LINES {
        let run = run(source);
        assert!(run.end.is_ok(), "{source}: {:?}", run.end);
        assert_eq!(run.text(), *expected, "{source}");
    }
}

#[test]
fn long_things_are_cut() {
    assert!(
        run("console.log(Array(1000).fill(1))")
            .text()
            .contains("900 more items")
    );
    assert!(
        run("console.log(Object.fromEntries(Array.from({ length: 500 }, (_, i) => ['k' + i, i])))")
            .text()
            .contains("more")
    );
    assert!(run("console.log(['x'.repeat(20000)])").text().len() < 16_000);
}

#[test]
fn levels_are_kept() {
    let run =
        run("console.debug(1); console.info(2); console.log(3); console.warn(4); console.error(5)");
    let levels: Vec<Level> = run.logs.iter().map(|line| line.level).collect();
    assert_eq!(
        levels,
        [
            Level::Debug,
            Level::Info,
            Level::Info,
            Level::Warn,
            Level::Error
        ]
    );
}

#[test]
fn a_step_logs_no_more_than_it_may() {
    let bounds = Bounds {
        log_bytes: 1000,
        ..BOUNDS
    };
    for source in [
        "for (let i = 0; i < 100000; i++) console.log('')",
        "for (let i = 0; i < 1000; i++) console.log('x'.repeat(30))",
        "console.log('ä'.repeat(100000)); console.log('more')",
    ] {
        let run = run_with(source, bounds, 1, usual);
        assert!(run.end.is_ok(), "{source}: {:?}", run.end);
        assert!(run.text().len() < 1200, "{source}");
        assert!(
            run.text().contains("dropped: a step may log 1000 bytes"),
            "{source}: {}",
            run.text()
        );
    }
    let run = run_with(
        "console.log('x'.repeat(900)); await tools.a(); console.log('y'.repeat(900))",
        bounds,
        1,
        usual,
    );
    assert_eq!(run.logs.len(), 2);
}
