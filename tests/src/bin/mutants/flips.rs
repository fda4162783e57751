//! Conditions of the rules, each turned into its opposite, without anybody writing them down.
//!
//! Flipped is whatever decides by itself: an `if`, `while` or guard of a `match`, each side of an `&&` or `||`, and each
//! comparison. What is decided inside of a macro, or while the host is compiled, stays.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, UnOp};

use crate::tree;

/// Files, and folders with all in them, of `rules` that decide neither who may do what nor what is under whose influence:
/// formats of providers, which recorded streams and `make peers` hold; how a turn goes, what it costs and how much of it a
/// model is told; what is written, counted, found or proposed for somebody who looks.
const OTHERS: [&str; 29] = [
    "rules/advice.rs",
    "rules/agent.rs",
    "rules/answer.rs",
    "rules/budget.rs",
    "rules/call/foreseen.rs",
    "rules/chain",
    "rules/changes",
    "rules/code_mode.rs",
    "rules/codec",
    "rules/context",
    "rules/health.rs",
    "rules/pace.rs",
    "rules/plan",
    "rules/price.rs",
    "rules/progress.rs",
    "rules/prompted.rs",
    "rules/repair.rs",
    "rules/retry.rs",
    "rules/running.rs",
    "rules/schema.rs",
    "rules/schema/issue.rs",
    "rules/schema/patterns.rs",
    "rules/script.rs",
    "rules/search.rs",
    "rules/signature.rs",
    "rules/signature/",
    "rules/spans",
    "rules/tier.rs",
    "rules/tooling.rs",
];

/// What is flipped beside the rules.
const BESIDE: [&str; 3] = [
    "edges/egress/rates.rs",
    "gate/journal/prune.rs",
    "words/label.rs",
];

/// Where conditions are flipped, below `host/src`: what decides who may do what, and what is under whose influence. Whatever
/// is new among the rules is one of these, unless it is said to be another thing.
///
/// # Errors
/// Where they cannot be listed.
pub fn files(root: &Path) -> Result<Vec<String>, String> {
    let rules = tree::sources(&root.join("host/src"), "rules/", &OTHERS);
    let mut files = rules.map_err(|why| why.to_string())?;
    files.extend(BESIDE.map(str::to_owned));
    files.sort();
    Ok(files)
}

/// One condition.
pub struct Flip {
    /// What it decides, and in which function.
    pub about: String,
    /// Where it stands.
    pub place: Range<usize>,
}

/// All conditions of a source that are not planted already.
///
/// # Errors
/// Where it is no source.
pub fn of(source: &str) -> Result<Vec<Flip>, String> {
    let parsed = syn::parse_file(source).map_err(|why| why.to_string())?;
    let mut found = Found {
        source,
        function: String::new(),
        conditions: BTreeMap::new(),
    };
    found.visit_file(&parsed);
    let conditions = found.conditions.into_iter();
    let flips = conditions.map(|((start, end), about)| Flip {
        about,
        place: start..end,
    });
    Ok(flips.collect())
}

/// A source in which each of these conditions asks for its number.
pub fn planted(source: &str, flips: &[(usize, &Flip)]) -> String {
    let mut marks: Vec<(usize, bool, usize, String)> = Vec::new();
    for (number, flip) in flips {
        let Range { start, end } = flip.place;
        // Of two that begin together the longer stands outside, and so it does of two that end together.
        marks.push((start, true, usize::MAX - end, "((".to_owned()));
        let asks = format!(") != crate::mutant({number}))");
        marks.push((end, false, usize::MAX - start, asks));
    }
    // What ends somewhere ends before something begins there.
    marks.sort();
    let mut text = String::with_capacity(source.len());
    let mut done = 0;
    for (at, _, _, mark) in &marks {
        text.push_str(source.get(done..*at).unwrap_or_default());
        text.push_str(mark);
        done = *at;
    }
    text.push_str(source.get(done..).unwrap_or_default());
    text
}

struct Found<'a> {
    source: &'a str,
    function: String,
    /// Where it begins and ends → what is told of it.
    conditions: BTreeMap<(usize, usize), String>,
}

impl Found<'_> {
    /// What decides in a condition, each by itself.
    fn decides(&mut self, condition: &Expr) {
        match condition {
            Expr::Paren(inside) => self.decides(&inside.expr),
            Expr::Binary(both) if self.sleeps(both) => {}
            Expr::Binary(both) if matches!(both.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.decides(&both.left);
                self.decides(&both.right);
            }
            Expr::Unary(not) if matches!(not.op, UnOp::Not(_)) => self.decides(&not.expr),
            // It binds names.
            Expr::Let(_) => {}
            one => self.add(one),
        }
    }

    /// Whether it is a mutant alone that decides: whatever else is asked then, nobody is asked while it sleeps.
    fn is_mutant(&self, condition: &Expr) -> bool {
        let text = self.source.get(condition.span().byte_range());
        text.is_some_and(|text| {
            let number = text.strip_prefix("crate::mutant(");
            let number = number.and_then(|number| number.strip_suffix(')'));
            number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
        })
    }

    fn sleeps(&self, both: &syn::ExprBinary) -> bool {
        matches!(both.op, BinOp::And(_)) && self.is_mutant(&both.left)
    }

    fn add(&mut self, one: &Expr) {
        let Range { start, end } = one.span().byte_range();
        let text = self.source.get(start..end).unwrap_or_default();
        if text.is_empty() || text.contains("crate::mutant(") {
            return;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let about = format!("`{}` in `{}` is flipped", words.join(" "), self.function);
        self.conditions.insert((start, end), about);
    }

    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.function, name);
        visit(self);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !tree::is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    // What is known when the host is compiled asks nobody.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() {
            let name = item.sig.ident.to_string();
            self.inside(name, |found| visit::visit_item_fn(found, item));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() {
            let name = item.sig.ident.to_string();
            self.inside(name, |found| visit::visit_impl_item_fn(found, item));
        }
    }

    fn visit_expr_if(&mut self, item: &'ast syn::ExprIf) {
        if self.is_mutant(&item.cond) {
            if let Some((_, otherwise)) = &item.else_branch {
                self.visit_expr(otherwise);
            }
            return;
        }
        self.decides(&item.cond);
        visit::visit_expr_if(self, item);
    }

    fn visit_expr_while(&mut self, item: &'ast syn::ExprWhile) {
        self.decides(&item.cond);
        visit::visit_expr_while(self, item);
    }

    fn visit_pat_guard(&mut self, item: &'ast syn::PatGuard) {
        self.decides(&item.guard);
        visit::visit_pat_guard(self, item);
    }

    fn visit_expr_binary(&mut self, item: &'ast syn::ExprBinary) {
        if self.sleeps(item) {
            return;
        }
        match item.op {
            BinOp::And(_) | BinOp::Or(_) => {
                self.decides(&item.left);
                self.decides(&item.right);
            }
            BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_) => self.add(&Expr::Binary(item.clone())),
            _ => {}
        }
        visit::visit_expr_binary(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flipped(source: &str) -> String {
        let flips = of(source).expect("a source");
        let numbered: Vec<_> = (1..).zip(&flips).collect();
        let text = planted(source, &numbered);
        text.replace("crate::mutant", "m")
    }

    #[test]
    fn each_condition_is_flipped_by_itself() {
        for (source, expected) in [
            ("fn f() { if a {} }", "fn f() { if ((a) != m(1)) {} }"),
            (
                "fn f() { if a && !b.c() {} }",
                "fn f() { if ((a) != m(1)) && !((b.c()) != m(2)) {} }",
            ),
            (
                "fn f() { match a { b if b == 1 => 2 } }",
                "fn f() { match a { b if ((b == 1) != m(1)) => 2 } }",
            ),
            (
                "fn f() { if a.any(|b| b < 1) {} }",
                "fn f() { if ((a.any(|b| ((b < 1) != m(2)))) != m(1)) {} }",
            ),
            (
                "fn f() { if let Some(a) = b && a > 1 {} }",
                "fn f() { if let Some(a) = b && ((a > 1) != m(1)) {} }",
            ),
        ] {
            assert_eq!(flipped(source), expected);
        }
    }

    #[test]
    fn what_is_known_before_or_planted_or_a_test_stays() {
        for source in [
            "const A: bool = 1 > 2;",
            "const fn f() -> bool { 1 > 2 }",
            "#[cfg(test)] mod tests { fn f() { if a {} } }",
            "fn f() { if crate::mutant(7) || !a && crate::mutant(8) { } }",
            "fn f() { if crate::mutant(7) { if b {} } else if crate::mutant(8) && (c || d == 1) {} }",
        ] {
            let expected = source.replace("!a", "!((a) != m(1))");
            assert_eq!(flipped(source), expected.replace("crate::mutant", "m"));
        }
    }
}
