//! The rules about the shape of items: sizes, names, and where `async` may be.

use crate::rule::{Finding, Rule};
use crate::sources::Source;
use crate::tables;
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

pub fn check(source: &Source, syntax: &syn::File) -> Vec<Finding> {
    let layer = source
        .in_host()
        .and_then(|path| path.split(['/', '.']).next());
    let mut shape = Shape {
        source,
        lines: source.text.lines().collect(),
        is_pure: layer.is_some_and(|layer| tables::PURE_LAYERS.contains(&layer))
            && !tables::is_exempt(tables::WAITING_FILES, &source.path, ""),
        findings: Vec::new(),
    };
    for part in source.path.trim_end_matches(".rs").split('/') {
        shape.name(part, 1, "a file or folder");
    }
    shape.visit_file(syntax);
    shape.findings
}

struct Shape<'a> {
    source: &'a Source,
    lines: Vec<&'a str>,
    is_pure: bool,
    findings: Vec<Finding>,
}

impl Shape<'_> {
    fn find(&mut self, rule: Rule, line: usize, message: impl Into<String>) {
        self.findings.push(self.source.finding(rule, line, message));
    }

    fn name(&mut self, name: &str, line: usize, what: &str) {
        let idiom = (what, name) == ("a type", "Result");
        if idiom || tables::is_exempt(tables::FOREIGN_NAMES, &self.source.path, name) {
            return;
        }
        for word in words_of(name) {
            let banned = tables::BANNED_WORDS
                .iter()
                .find(|(banned, _)| is_form_of(&word, banned));
            if let Some((banned, instead)) = banned {
                let message = format!("{what} called `{name}`: not `{banned}`; {instead}");
                self.find(Rule::Name, line, message);
            }
        }
    }

    fn ident(&mut self, ident: &syn::Ident, what: &str) {
        self.name(&ident.to_string(), line_of(ident.span()), what);
    }

    fn function(&mut self, signature: &syn::Signature, whole: Span) {
        let (name, line) = (&signature.ident, line_of(signature.ident.span()));
        let parameters = signature.inputs.len();
        if parameters > tables::PARAMETERS_MAX {
            self.find(
                Rule::Parameters,
                line,
                format!("`{name}` has {parameters} parameters"),
            );
        }
        let span = signature.span().start().line..=whole.end().line;
        let written = &self.lines[span.start() - 1..*span.end()];
        let is_code = |line: &&&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let count = written.iter().filter(is_code).count();
        if count > tables::FUNCTION_LINES_MAX {
            self.find(
                Rule::FunctionLength,
                line,
                format!("`{name}` has {count} lines"),
            );
        }
        if signature.asyncness.is_some() {
            self.waits(signature.ident.span(), "async fn");
        }
    }

    fn waits(&mut self, at: Span, what: &str) {
        if self.is_pure {
            self.find(Rule::PureLayer, line_of(at), format!("`{what}`"));
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if ident == "async" || ident == "await" => {
                    self.waits(ident.span(), &ident.to_string());
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Shape<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, item.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.sig, item.span());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.ident(&item.ident, "a struct");
        let (fields, name) = (item.fields.len(), item.ident.to_string());
        let exempt = tables::is_exempt(tables::WIDE_STRUCTS, &self.source.path, &name);
        if fields > tables::FIELDS_MAX && self.source.in_host().is_some() && !exempt {
            let line = line_of(item.ident.span());
            self.find(Rule::Fields, line, format!("`{name}` has {fields} fields"));
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.ident(&item.ident, "an enum");
        visit::visit_item_enum(self, item);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.ident(&item.ident, "a union");
        visit::visit_item_union(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.ident(&item.ident, "a trait");
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.ident(&item.ident, "a type");
        visit::visit_item_type(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.ident(&item.ident, "a module");
        visit::visit_item_mod(self, item);
    }

    fn visit_expr_async(&mut self, expr: &'ast syn::ExprAsync) {
        self.waits(expr.async_token.span(), "async");
        visit::visit_expr_async(self, expr);
    }

    fn visit_expr_await(&mut self, expr: &'ast syn::ExprAwait) {
        self.waits(expr.await_token.span(), "await");
        visit::visit_expr_await(self, expr);
    }

    fn visit_expr_closure(&mut self, expr: &'ast syn::ExprClosure) {
        if let Some(token) = &expr.asyncness {
            self.waits(token.span(), "async closure");
        }
        visit::visit_expr_closure(self, expr);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

fn line_of(span: Span) -> usize {
    span.start().line
}

/// The words of `CamelCase`, `HTTPCase`, `snake_case` and `kebab-case` names, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let is_upper = |at: usize| letters.get(at).is_some_and(|c| c.is_uppercase());
    let mut words = vec![String::new()];
    for (at, c) in letters.iter().enumerate() {
        let next_is_lower = letters.get(at + 1).is_some_and(|c| c.is_lowercase());
        let starts = is_upper(at) && at > 0 && (!is_upper(at - 1) || next_is_lower);
        if starts || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// Singular or plural.
fn is_form_of(word: &str, banned: &str) -> bool {
    let plural = banned.strip_suffix('y').map(|stem| format!("{stem}ies"));
    word == banned || word == format!("{banned}s") || plural.is_some_and(|plural| word == plural)
}
