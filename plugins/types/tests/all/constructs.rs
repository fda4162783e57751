//! Every construct that is taken away, and JavaScript, which is not.

use crate::check;

#[test]
fn variables() {
    check(&[
        ("let x: number = 1", "let x~~~~~~~~ = 1"),
        ("let y!: string, z: T[]", "let y~~~~~~~~~, z~~~~~"),
        (
            "var m: Map<string, Array<T>>;",
            "var m~~~~~~~~~~~~~~~~~~~~~~~;",
        ),
        ("const { a, b }: P = p", "const { a, b }~~~ = p"),
        ("const [a]: [number] = p", "const [a]~~~~~~~~~~ = p"),
        ("let f: (a: A) => void = g", "let f~~~~~~~~~~~~~~~~ = g"),
        ("let u: unique symbol", "let u~~~~~~~~~~~~~~~"),
        ("let i: `a${string}` = x", "let i~~~~~~~~~~~~~~ = x"),
        ("let k: typeof import(\"x\")", "let k~~~~~~~~~~~~~~~~~~~~"),
        (
            "try {} catch (e: unknown) {}",
            "try {} catch (e~~~~~~~~~) {}",
        ),
        ("await using f: F = g", "await using f~~~ = g"),
        ("for (const x of <T[]>y) {}", "for (const x of ~~~~~y) {}"),
    ]);
}

#[test]
fn functions() {
    check(&[
        (
            "function f(a?: A, b = 1 as B) {}",
            "function f(a~~~~, b = 1~~~~~) {}",
        ),
        (
            "function f(a?, ...c: string[]) {}",
            "function f(a~, ...c~~~~~~~~~~) {}",
        ),
        (
            "function f<T extends U>(x: T): T {}",
            "function f~~~~~~~~~~~~~(x~~~)~~~ {}",
        ),
        (
            "function f(this: A, b: B) {}",
            "function f(~~~~~~~~ b~~~) {}",
        ),
        ("function f(this: A) {}", "function f(~~~~~~~) {}"),
        (
            "function f(v: any): asserts v is S {}",
            "function f(v~~~~~)~~~~~~~~~~~~~~~~ {}",
        ),
        (
            "const f = (x: number): T => x",
            "const f = (x~~~~~~~~)~~~ => x",
        ),
        ("const f = <T,>(x: T) => x", "const f = ~~~~(x~~~) => x"),
        (
            "const f = async <T>(x?: T) => x",
            "const f = async ~~~(x~~~~) => x",
        ),
        (
            "const f = function* <T>(x: T) {}",
            "const f = function* ~~~(x~~~) {}",
        ),
        (
            "o = { m<T>(a: T): U {}, get x(): T {} }",
            "o = { m~~~(a~~~)~~~ {}, get x()~~~ {} }",
        ),
        ("a ? (b): c => d : e", "a ? (b)~~~ => d : e"),
        (
            "function o(a: A): void;\nfunction o(a: any) {}",
            "~~~~~~~~~~~~~~~~~~~~~~~\nfunction o(a~~~~~) {}",
        ),
    ]);
}

#[test]
fn expressions() {
    check(&[
        ("a as T", "a~~~~~"),
        ("a as any as T;", "a~~~~~~~~~~~~;"),
        ("({} satisfies T)", "({}~~~~~~~~~~~~)"),
        ("const x = <T>y", "const x = ~~~y"),
        ("a!.b![0]!()", "a~.b~[0]~()"),
        ("a?.b!.c", "a?.b~.c"),
        ("(a as any)!.b", "(a~~~~~~~)~.b"),
        (
            "(a as any) = 1; b! += 2; (<T>c)++",
            "(a~~~~~~~) = 1; b~ += 2; (~~~c)++",
        ),
        ("[a as any] = b", "[a~~~~~~~] = b"),
        (
            "f<T>(x); g?.<T>(x); h?.i<T>(x)",
            "f~~~(x); g?.~~~(x); h?.i~~~(x)",
        ),
        ("new Foo<A<B>>(); new Foo<A>", "new Foo~~~~~~(); new Foo~~~"),
        ("const f = g<string>;", "const f = g~~~~~~~~;"),
        ("f<T>`x ${y as T}`", "f~~~`x ${y~~~~~}`"),
        (
            "await f<T>({ a: 1 } as const)",
            "await f~~~({ a: 1 }~~~~~~~~~)",
        ),
        ("a * b as T + c", "a * b~~~~~ + c"),
        ("x => (<T>{})", "x => (~~~{})"),
    ]);
}

#[test]
fn declarations() {
    check(&[
        ("interface A { x: number }", "~~~~~~~~~~~~~~~~~~~~~~~~~"),
        (
            "type A<T> = { [K in keyof T]?: T[K] };",
            "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        ),
        ("declare const a: A; b", "~~~~~~~~~~~~~~~~~~~ b"),
        (
            "declare function f(): void\nb",
            "~~~~~~~~~~~~~~~~~~~~~~~~~~\nb",
        ),
        ("declare class A { x: B } b", "~~~~~~~~~~~~~~~~~~~~~~~~ b"),
        ("declare enum A { X } b", "~~~~~~~~~~~~~~~~~~~~ b"),
        (
            "declare namespace N { const x: 1 }",
            "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        ),
        ("declare module \"x\" { }", "~~~~~~~~~~~~~~~~~~~~~~"),
        ("declare global { }", "~~~~~~~~~~~~~~~~~~"),
        (
            "namespace N { export type A = 1 }",
            "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        ),
        ("{ type A = 1; a }", "{ ~~~~~~~~~~~ a }"),
        ("case_: { interface A {} }", "case_: { ~~~~~~~~~~~~~~ }"),
    ]);
}

#[test]
fn classes() {
    check(&[
        (
            "class A<T> extends B<T> implements C, D<T> {}",
            "class A~~~ extends B~~~~~~~~~~~~~~~~~~~~~~ {}",
        ),
        (
            "abstract class A { abstract m(): void; n() {} }",
            "~~~~~~~~ class A { ~~~~~~~~~~~~~~~~~~~ n() {} }",
        ),
        (
            "abstract class A { abstract x: number; }",
            "~~~~~~~~ class A { ~~~~~~~~~~~~~~~~~~~ }",
        ),
        (
            "class A { x: T; y?: T; z!: T }",
            "class A { x~~~; y~~~~; z~~~~ }",
        ),
        (
            "class A { [k]?: T; 'q'?: T; #p: T = 1 }",
            "class A { [k]~~~~; 'q'~~~~; #p~~~ = 1 }",
        ),
        (
            "class A { public static readonly x = 1 }",
            "class A { ~~~~~~ static ~~~~~~~~ x = 1 }",
        ),
        (
            "class A { protected override async m?() {} }",
            "class A { ~~~~~~~~~ ~~~~~~~~ async m~() {} }",
        ),
        (
            "class A { private constructor(a: B) {} }",
            "class A { ~~~~~~~ constructor(a~~~) {} }",
        ),
        (
            "class A { constructor(a: B); constructor(a) {} }",
            "class A { ~~~~~~~~~~~~~~~~~~ constructor(a) {} }",
        ),
        (
            "class A { [k: string]: T; static [k: string]: T }",
            "class A { ~~~~~~~~~~~~~~~ ~~~~~~~~~~~~~~~~~~~~~ }",
        ),
        (
            "class A { declare x: T; declare }",
            "class A { ~~~~~~~~~~~~~ declare }",
        ),
        (
            "class A { get v(): T { return 1 } }",
            "class A { get v()~~~ { return 1 } }",
        ),
        (
            "class A { m(this: A, ) {} static { let x: T } }",
            "class A { m(~~~~~~~~~) {} static { let x~~~ } }",
        ),
        ("class A { readonly = 1; public() {} }", ""),
    ]);
}

#[test]
fn comments_and_wide_characters() {
    check(&[
        (
            "let x /* a */ : /* b */ T /* c */ = 1",
            "let x /* a */ ~~~~~~~~~~~ /* c */ = 1",
        ),
        ("a /* ! as T */ as T // as T", "a /* ! as T */ ~~~~ // as T"),
        ("let x: \"日本💥\" = '💥'", "let x~~~~~~~ = '💥'"),
        (
            "let x: /* ä\r\n */ T = 1\r\ny",
            "let x~~~~~~\r\n~~~~~ = 1\r\ny",
        ),
    ]);
}

#[test]
fn javascript_is_left_alone() {
    check(&[
        ("", ""),
        ("return await f(1)", ""),
        ("for await (const x of y) if (x) return x", ""),
        ("const r = await /x/u; await (a); await [b]", ""),
        ("a < b > c; f(a < b, c > d); a < (b >> 2)", ""),
        (
            "type = 1; declare = 2; let as = 3, satisfies = 4; namespace\nfoo",
            "",
        ),
        ("a\nsatisfies\nb", ""),
        ("x = a ? (b, c) : d => e", ""),
        ("label: for (;;) { break label }", ""),
        ("const { a = 1, ...b } = c, [d, , ...e] = f", ""),
        (
            "class A { static #x = 1; get; set; static async *g() {} }",
            "",
        ),
        ("`${a}${`${b}`}` + /[/(]/.test(c) // (((", ""),
        ("import('x')", ""),
        ("'use strict'; with_ = 010", ""),
        ("let 日本 = '💥'\r\n日本", ""),
    ]);
}
