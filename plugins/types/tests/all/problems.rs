//! What is refused, in which words, and where.

use lazaret_types::{SOURCE_BYTES_MAX, blank};

/// Sources, each with a part of the sentence, the line and the column.
#[track_caller]
fn check(cases: &[(&str, &str, u32, u32)]) {
    for (source, words, line, column) in cases {
        let problem = blank(source).expect_err(source);
        let place = (problem.line, problem.column);
        assert_eq!(place, (*line, *column), "{source:?}: {problem:?}");
        assert!(problem.message.contains(words), "{source:?}: {problem:?}");
    }
}

#[test]
fn more_than_types() {
    check(&[
        ("enum A { X }", "`const Name = {", 1, 1),
        ("a\n  const enum A { X }", "`enum`", 2, 3),
        ("@d class A {}", "decorator", 1, 1),
        ("class A { @d x = 1 }", "decorator", 1, 11),
        (
            "class A { constructor(a, private b: B) {} }",
            "assign it in the constructor",
            1,
            26,
        ),
        (
            "class A { constructor(readonly b) {} }",
            "declare the field",
            1,
            23,
        ),
        ("namespace N { const x = 1 }", "namespace", 1, 1),
        (
            "module N { export function f() {} }",
            "plain functions",
            1,
            1,
        ),
        ("{\r\n\tenum A {}\r\n}", "`enum`", 2, 2),
        ("'💥'; enum A {}", "`enum`", 1, 6),
        // What is declared only is not in the way; what comes first is named.
        ("declare enum A { X } enum B {}\nenum C {}", "`enum`", 1, 22),
    ]);
}

#[test]
fn modules() {
    check(&[
        (
            "import a from 'b'",
            "a script has no modules; use `tools`",
            1,
            1,
        ),
        ("import type { A } from 'b'", "no modules", 1, 1),
        (" export const a = 1", "no modules", 1, 2),
        ("export type A = 1", "no modules", 1, 1),
        ("export default 1", "no modules", 1, 1),
        ("export = 1", "no modules", 1, 1),
        ("export as namespace N", "no modules", 1, 1),
        ("import a = require('b')", "no modules", 1, 1),
        ("import a = N.b", "`const`", 1, 1),
    ]);
}

#[test]
fn what_would_change_its_meaning() {
    check(&[
        ("f = (x) => <T>{ a: 1 }", "as T)`, in parentheses", 1, 12),
        ("<T>function () {}", "declaration", 1, 1),
        ("<T>{}.x", "block", 1, 1),
        ("throw <T>\nx", "begin the value on this line", 1, 7),
        ("a ** b as T ** c", "parentheses", 1, 1),
        ("-x as T ** c", "parentheses", 1, 1),
    ]);
}

#[test]
fn syntax() {
    check(&[
        ("let x: number = ;", "Unexpected token", 1, 17),
        ("f(\n1", "Expected", 2, 2),
        ("let x = 1 let y", "semicolon", 1, 10),
        ("function f() { await x }", "async", 1, 16),
        ("const v = <div>hi</div>", "", 1, 19),
        ("a ''' b", "semicolon", 1, 2),
        ("}", "", 1, 1),
    ]);
}

#[test]
fn too_deep() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("`${", "}`"),
        ("f<T>(", ")"),
    ] {
        let nested = |depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
        assert!(blank(&nested(150)).is_ok(), "{open}");
        let problem = blank(&nested(50_000)).expect_err(open);
        assert!(problem.message.contains("nested too deeply"), "{problem:?}");
        assert_eq!(problem.line, 1);
    }
}

#[test]
fn brackets_that_are_none_do_not_count() {
    for line in [
        "'((('",
        "\"[[\"",
        "`(((`",
        "// (((",
        "/* ((( */",
        "/[(]\\(/.test(x)",
        "a = b / (c) / d",
    ] {
        let source = format!("{line}\n;").repeat(500);
        assert_eq!(blank(&source).as_ref(), Ok(&source));
    }
}

#[test]
fn too_big() {
    let fits = "x;".repeat(SOURCE_BYTES_MAX / 2);
    assert_eq!(blank(&fits).as_ref(), Ok(&fits));
    check(&[(&(fits + ";"), "at most 409600 are read", 1, 1)]);
}
