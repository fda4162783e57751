//! Places where what is left would join, or part, if it were only blanked.

use crate::check;

#[test]
fn a_statement_that_is_gone() {
    check(&[
        ("foo()\ntype X = 1\n(b)", "foo()\n;~~~~~~~~~\n(b)"),
        (
            "foo()\ninterface Y {}\n[1].map(f)",
            "foo()\n;~~~~~~~~~~~~~\n[1].map(f)",
        ),
        (
            "foo()\ndeclare let z: T\n`x`",
            "foo()\n;~~~~~~~~~~~~~~~\n`x`",
        ),
        (
            "foo()\ntype X = 1\n/x/.test(y)",
            "foo()\n;~~~~~~~~~\n/x/.test(y)",
        ),
        ("foo()\ntype X = 1\n+b", "foo()\n;~~~~~~~~~\n+b"),
        ("foo()\ntype X = 1\nb", "foo()\n~~~~~~~~~~\nb"),
        ("foo();\ntype X = 1\n(b)", "foo();\n~~~~~~~~~~\n(b)"),
        ("type X = 1\n(b)", "~~~~~~~~~~\n(b)"),
        ("return\ninterface A {}\n(x)", "return\n;~~~~~~~~~~~~~\n(x)"),
    ]);
}

#[test]
fn an_end_that_is_gone() {
    check(&[
        ("let x = a as\n  T\n(b)", "let x = a ;~\n  ~\n(b)"),
        ("let y: T\n(b)", "let y;~~\n(b)"),
        ("x = y! as T\n[b]", "x = y;~~~~~\n[b]"),
        ("x = y as T // z\n`b`", "x = y ;~~~ // z\n`b`"),
        ("return a as T\n(b)", "return a ;~~~\n(b)"),
        ("throw a as T\n[b]", "throw a ;~~~\n[b]"),
        ("let f = () => a as T\n(b)", "let f = () => a ;~~~\n(b)"),
        ("while (x) y as T\n[z]", "while (x) y ;~~~\n[z]"),
        ("let x = a as T\nb", "let x = a~~~~~\nb"),
        ("let x = a as T\n;(b)", "let x = a~~~~~\n;(b)"),
        // Here TypeScript joins the lines as well.
        ("a!\n(b)", "a~\n(b)"),
    ]);
}

#[test]
fn a_beginning_that_is_gone() {
    check(&[
        ("let a: T\n<U>(c)", "let a;~~\n;~~(c)"),
        ("if (a) { }\n<T>(b)", "if (a) { }\n;~~(b)"),
        ("if (a) <T>(b)", "if (a) ~~~(b)"),
        (
            "class A { x = 1\npublic [y] = 2 }",
            "class A { x = 1\n;~~~~~ [y] = 2 }",
        ),
        (
            "class A { x = {}\nprivate *m() {} }",
            "class A { x = {}\n;~~~~~~ *m() {} }",
        ),
    ]);
}

#[test]
fn members() {
    check(&[
        (
            "class A { x = 1 as T\n[y] = 2 }",
            "class A { x = 1 ;~~~\n[y] = 2 }",
        ),
        (
            "class A { x = 1\ndeclare y: T\n[z] = 2 }",
            "class A { x = 1\n;~~~~~~~~~~~\n[z] = 2 }",
        ),
        (
            "class A { get: T\nfoo() {} }",
            "class A { get;~~\nfoo() {} }",
        ),
        (
            "class A { static: T\nx = 1 }",
            "class A { static;~~\nx = 1 }",
        ),
        (
            "class A { set!: T\nfoo(a) {} }",
            "class A { set;~~~\nfoo(a) {} }",
        ),
        ("class A { get: T; x = 1 }", "class A { get~~~; x = 1 }"),
        ("class A { get: T\n}", "class A { get~~~\n}"),
    ]);
}

#[test]
fn arrows_on_several_lines() {
    check(&[
        (
            "const f = (x: A): Array<\n  B\n> => x",
            "const f = (x~~~~~~~~~~~~\n~~~\n) => x",
        ),
        ("const f = (x\n): T => x", "const f = (x\n)~~~ => x"),
        (
            "const f = (x): // c\n  Tä => x",
            "const f = (x~~~~~~~\n~~~) => x",
        ),
        (
            "return async (x): P<\nT> => x",
            "return async (x~~~~~\n~) => x",
        ),
        (
            "const f = async <\n  T\n>(x: T) => x",
            "const f = async (\n~~~\n~~x~~~) => x",
        ),
        ("return <T,>\n(x: T) => x", "return (~~~\n x~~~) => x"),
        ("function f(): A<\nB> {}", "function f()~~~~\n~~ {}"),
    ]);
}

#[test]
fn values_that_must_begin_on_their_line() {
    check(&[
        ("return <T>\n(x)", "return (~~\n x)"),
        ("return <T>\n[x]", "return [~~\n x]"),
        ("return <T>\n{ x: 1 }", "return {~~\n  x: 1 }"),
        ("throw <T>\n(x)", "throw (~~\n x)"),
        (
            "function* g() { yield <T>\n(y) }",
            "function* g() { yield (~~\n y) }",
        ),
        (
            "function* g() { yield* <T>\ny }",
            "function* g() { yield* ~~~\ny }",
        ),
        ("x = <T>\ny", "x = ~~~\ny"),
        (
            "return async <T>\n(x: T) => x",
            "return async (~~\n x~~~) => x",
        ),
    ]);
}
