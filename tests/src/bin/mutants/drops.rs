//! Joins of labels, each dropped, without anybody writing them down.
//!
//! Joining is the only way to combine labels, so a label that shrinks somewhere is a join that is not there. Found is every
//! `a.join(b)` of the host whose `b` is a value and no text; woken, `b` is one that holds nothing.

use std::ops::Range;
use std::path::Path;

use syn::Expr;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::tree;

/// Files, and folders with all in them, in which what is joined are paths, addresses or crowds, and no labels; and where
/// nothing is planted, since a test of that would send requests.
const OTHERS: [&str; 15] = [
    "edges/egress",
    "edges/files.rs",
    "edges/files/kept.rs",
    "edges/files/nested.rs",
    "edges/mcp/parts.rs",
    "edges/state",
    "edges/vault",
    "gate.rs",
    "guests/crowd.rs",
    "rules/grant",
    "rules/ranges.rs",
    "rules/rendered",
    "rules/server/login.rs",
    "runs/repair.rs",
    "surfaces",
];

/// One join.
pub struct Drop {
    /// What is dropped, and in which function.
    pub about: String,
    /// Where it stands.
    pub place: Range<usize>,
}

/// All files of the host in which labels may be joined, below `host/src`.
///
/// # Errors
/// Where they cannot be listed.
pub fn files(root: &Path) -> Result<Vec<String>, String> {
    let files = tree::sources(&root.join("host/src"), "", &OTHERS);
    let mut files = files.map_err(|why| why.to_string())?;
    files.sort();
    Ok(files)
}

/// All joins of a source that are not planted already.
///
/// # Errors
/// Where it is no source.
pub fn of(source: &str) -> Result<Vec<Drop>, String> {
    let parsed = syn::parse_file(source).map_err(|why| why.to_string())?;
    let mut found = Found {
        source,
        function: String::new(),
        drops: Vec::new(),
    };
    found.visit_file(&parsed);
    Ok(found.drops)
}

/// A source in which what is joined asks each time whether it is dropped.
pub fn planted(source: &str, drops: &[(usize, &Drop)]) -> String {
    let mut text = source.to_owned();
    let mut last_first: Vec<_> = drops.iter().collect();
    last_first.sort_by_key(|(_, drop)| std::cmp::Reverse(drop.place.start));
    for (number, drop) in last_first {
        let inside = text.get(drop.place.clone()).unwrap_or_default();
        let asks = format!("crate::dropped({number}, {inside})");
        text.replace_range(drop.place.clone(), &asks);
    }
    text
}

struct Found<'a> {
    source: &'a str,
    function: String,
    drops: Vec<Drop>,
}

impl Found<'_> {
    fn text(&self, of: &impl Spanned) -> String {
        let text = self.source.get(of.span().byte_range()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.function, name);
        visit(self);
        self.function = outer;
    }
}

/// A value, and neither a text to be put between others nor the name of a file.
fn is_value(arg: &Expr) -> bool {
    match arg {
        Expr::Reference(of) => !matches!(*of.expr, Expr::Macro(_) | Expr::Lit(_)),
        Expr::Path(one) => !one.path.is_ident("name"),
        Expr::MethodCall(call) => call.method == "label",
        Expr::Field(_) => true,
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !tree::is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let name = item.sig.ident.to_string();
        self.inside(name, |found| visit::visit_item_fn(found, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let name = item.sig.ident.to_string();
        self.inside(name, |found| visit::visit_impl_item_fn(found, item));
    }

    // What stands beside a mutant is planted.
    fn visit_expr_if(&mut self, item: &'ast syn::ExprIf) {
        if !self.text(&*item.cond).contains("crate::mutant(") {
            visit::visit_expr_if(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, item: &'ast syn::ExprMethodCall) {
        visit::visit_expr_method_call(self, item);
        let (Some(arg), 1) = (item.args.first(), item.args.len()) else {
            return;
        };
        let on = self.text(&*item.receiver);
        let is_label = item.method == "join" && is_value(arg) && !on.ends_with("crowd");
        if !is_label || self.text(arg).contains("crate::mutant(") {
            return;
        }
        let about = format!(
            "`{on}.join({})` in `{}` is dropped",
            self.text(arg),
            self.function
        );
        let place = arg.span().byte_range();
        // Of two that stand in each other the outer one says less.
        if !self
            .drops
            .iter()
            .any(|drop| drop.place.start >= place.start && drop.place.end <= place.end)
        {
            self.drops.push(Drop { about, place });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(source: &str) -> String {
        let drops = of(source).expect("a source");
        let numbered: Vec<_> = (1..).zip(&drops).collect();
        planted(source, &numbered).replace("crate::dropped", "d")
    }

    #[test]
    fn each_join_of_labels_is_dropped_by_itself() {
        for (source, expected) in [
            ("fn f() { a.join(&b) }", "fn f() { a.join(d(1, &b)) }"),
            (
                "fn f() { a.join(&b).join(c) }",
                "fn f() { a.join(d(1, &b)).join(d(2, c)) }",
            ),
            (
                "fn f() { a.fold(x, |l, n| l.join(&n.label)) }",
                "fn f() { a.fold(x, |l, n| l.join(d(1, &n.label))) }",
            ),
            (
                "fn f() { self.a = self.a.join(self.b) }",
                "fn f() { self.a = self.a.join(d(1, self.b)) }",
            ),
        ] {
            assert_eq!(dropped(source), expected);
        }
    }

    #[test]
    fn what_is_no_label_or_planted_stays() {
        for source in [
            "fn f() { a.join(\", \"); b.join(); c.join(format!(\"x\")); d.join(&format!(\"x\")) }",
            "fn f() { if crate::mutant(3) { a.clone() } else { a.join(&b) } }",
            "fn f() { tool.crowd.join(&name) }",
            "#[cfg(test)] mod tests { fn f() { a.join(&b) } }",
        ] {
            assert_eq!(dropped(source), source);
        }
    }
}
