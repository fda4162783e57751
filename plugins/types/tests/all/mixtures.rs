//! Random mixtures of snippets: nothing moves, and what is left is JavaScript with as many statements.

use lazaret_types::blank;
use oxc_allocator::Allocator;
use oxc_ast::ast::Statement;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;
use proptest::prelude::*;

use crate::keeps_places;

/// Statements that may follow each other in any order, if a line break is between them. None ends in an
/// expression that goes on with the beginning of another one in TypeScript itself.
const STATEMENTS: &[&str] = &[
    "let @: number",
    "let @!: Map<string, A<B>>",
    "const @ = a as\n  T",
    "const @ = (x: T): A<\n  B\n> => x",
    "const @ = async <\nT,>(x: T, y?: U): Promise<T> => x",
    "let @ = (b as any)!, @b: `日本${string}💥`",
    "type @ = { a: 1; b?: [x: 2] }",
    "interface @<T> extends U { (x: T): void }",
    "declare const @: { x: 1 }",
    "declare function @(): void",
    "function @(a: string): void\nfunction @(a?: any): asserts a {}",
    "function @<T>(this: T, a: T = 1 as any, ...r: T[]) { return <T>\n(a) }",
    "class @<T> extends (B as any)<T> implements C {\n x = 1 as T\n public [y]: T = 2\n get: T\n m(): void {}\n abstract = 1 }",
    "abstract class @ { abstract x: T\n [k: string]: any\n static: T\n protected *g<T>() {} }",
    "(b as T)",
    "[c!][0]",
    "`${d as string}`",
    "/[(]/.test(e)",
    "+f<T>(g satisfies U) satisfies number",
    "return <T>\n[h]",
    "if (x) { y as T } else z!",
    "for (const @ of i as T[]) { type Q = 1 }",
    "await j?.<T>(k)!",
    "// comment: T",
    "{ interface L {} }",
    ";",
];

/// How many statements a text has at its top that do something; `None` if it does not parse.
fn statements_in(text: &str, language: SourceType) -> Option<usize> {
    let allocator = Allocator::default();
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, text, language)
        .with_options(options)
        .parse();
    let statements = parsed.program.body.iter().filter(|it| does_something(it));
    (!parsed.diagnostics.has_errors()).then(|| statements.count())
}

fn does_something(it: &Statement<'_>) -> bool {
    match it {
        Statement::EmptyStatement(_)
        | Statement::TSTypeAliasDeclaration(_)
        | Statement::TSInterfaceDeclaration(_) => false,
        Statement::VariableDeclaration(it) => !it.declare,
        Statement::FunctionDeclaration(it) => it.body.is_some(),
        _ => true,
    }
}

#[test]
fn every_snippet_is_typescript() {
    for statement in STATEMENTS {
        let source = statement.replace('@', "v");
        assert!(blank(&source).is_ok(), "{source}");
    }
}

/// A statement, and what is between it and the next one.
fn snippet() -> impl Strategy<Value = (&'static str, &'static str)> {
    let ends = &["\n", "\r\n", ";\n", "\n\n // c\n"][..];
    (prop::sample::select(STATEMENTS), prop::sample::select(ends))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn statements(picks in prop::collection::vec(snippet(), 0..12)) {
        let mut source = String::new();
        for (number, (statement, end)) in picks.iter().enumerate() {
            source.push_str(&statement.replace('@', &format!("v{number}")));
            source.push_str(end);
        }
        // Some mixtures are no TypeScript either, since lines join; nothing is claimed of them.
        let text = blank(&source);
        prop_assume!(text.is_ok());
        let text = text.unwrap_or_default();
        let meant = statements_in(&source, SourceType::ts().with_module(true));
        let left = statements_in(&text, SourceType::mjs());
        prop_assert!(keeps_places(&source, &text), "{source}\n{text}");
        prop_assert!(left.is_some() && left == meant, "{source}\n{text}");
        prop_assert_eq!(blank(&text), Ok(text));
    }

    #[test]
    fn any_text_is_answered(text in "[a-z<>(){}\\[\\]=:;?!.,`'\"/\n@#$ä💥 ]{0,60}") {
        if let Ok(left) = blank(&text) {
            prop_assert!(keeps_places(&text, &left));
        }
    }
}
