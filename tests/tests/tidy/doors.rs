//! The rules about what a file of the host reaches for: layers, and doors to the outside.
//!
//! Every path that a file mentions is made absolute as far as its text allows: `use` names are
//! replaced by what they stand for, `self` and `super` by the module. Inside macros, tokens that
//! look like a path are taken for one.

use crate::rule::{Finding, Rule};
use crate::sources::Source;
use crate::tables::{self, Door};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::collections::HashMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

pub fn check(source: &Source, syntax: &syn::File) -> Vec<Finding> {
    let Some(below_src) = source.in_host() else {
        return Vec::new();
    };
    let mut mentions = Mentions {
        names: Names::of(syntax),
        module: module_of(below_src),
        in_test: source.is_test(),
        all: Vec::new(),
    };
    mentions.visit_file(syntax);
    mentions.find_unsafe(source.text.parse().unwrap_or_default());
    let mut findings = Vec::new();
    for mention in &mentions.all {
        findings.extend(check_layer(source, below_src, mention));
        findings.extend(tables::DOORS.iter().filter_map(|door| {
            let closed = door.in_tests || !mention.in_test;
            let what = door.what.iter().find(|what| mention.is(what))?;
            (closed && !is_owner(door, below_src)).then(|| {
                let owners = if door.owners.is_empty() {
                    "nobody".into()
                } else {
                    door.owners.join(", ")
                };
                let message = format!("`{what}` belongs to {owners}: {}", door.reason);
                source.finding(Rule::Door, mention.line, message)
            })
        }));
    }
    findings
}

fn check_layer(source: &Source, below_src: &str, mention: &Mention) -> Option<Finding> {
    if tables::NO_LAYER.contains(&below_src) || mention.kind != Kind::Path {
        return None;
    }
    let [root, used, ..] = mention.path.as_slice() else {
        return None;
    };
    if root != "crate" {
        return None;
    }
    let own = below_src.split(['/', '.']).next().unwrap_or_default();
    let rank = |name: &str| tables::LAYERS.iter().position(|layer| *layer == name);
    let message = match (rank(own), rank(used)) {
        (None, _) => format!(
            "`{own}` is no layer; the layers are {}",
            tables::LAYERS.join(", ")
        ),
        (_, None) => format!("`crate::{used}` is in no layer: name it through its layer"),
        (Some(own_rank), Some(used_rank)) if used_rank > own_rank => {
            format!("layer `{own}` uses the higher layer `{used}`")
        }
        (Some(_), Some(_)) => return None,
    };
    Some(source.finding(Rule::Layer, mention.line, message))
}

/// `gate.rs` is that file alone, `edges/egress` is the file and the folder of that name.
fn is_owner(door: &Door, below_src: &str) -> bool {
    door.owners.iter().any(|owner| {
        let rest = below_src.strip_prefix(owner);
        rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
    })
}

/// The module that a file of `host/src` is.
fn module_of(below_src: &str) -> Vec<String> {
    let stem = below_src.trim_end_matches(".rs").trim_end_matches("/mod");
    if tables::NO_LAYER.contains(&below_src) {
        return Vec::new();
    }
    stem.split('/').map(str::to_owned).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Path,
    Macro,
    Literal,
    Unsafe,
}

struct Mention {
    kind: Kind,
    path: Vec<String>,
    line: usize,
    in_test: bool,
}

impl Mention {
    /// Whether this is what a door names; see [`Door::what`].
    fn is(&self, what: &str) -> bool {
        let last = self.path.last().map(String::as_str);
        if let Some(name) = what.strip_suffix('!') {
            return self.kind == Kind::Macro && last == Some(name);
        }
        if let Some(name) = what.strip_suffix(" {") {
            return self.kind == Kind::Literal && last == Some(name);
        }
        if what == "unsafe" {
            return self.kind == Kind::Unsafe;
        }
        let wanted: Vec<&str> = what.trim_start_matches("*::").split("::").collect();
        let mut windows = self.path.windows(wanted.len());
        self.kind == Kind::Path
            && match what.starts_with("*::") {
                true => windows.any(|window| window == wanted),
                false => windows.next().is_some_and(|window| window == wanted),
            }
    }
}

/// What the names that a file imports stand for, and where it imports them.
struct Names {
    known: HashMap<String, Vec<String>>,
}

impl Names {
    fn of(syntax: &syn::File) -> Names {
        let mut names = Names {
            known: HashMap::new(),
        };
        names.visit_file(syntax);
        names
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut leaves = Vec::new();
        leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            self.known.insert(leaf.name, leaf.path);
        }
    }
}

struct Leaf {
    name: String,
    path: Vec<String>,
    span: Span,
}

/// Every name that a `use` brings, with its whole path.
fn leaves_of(tree: &syn::UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    let mut leaf = |ident: &syn::Ident, name: &syn::Ident| {
        let mut path = prefix.clone();
        if ident != "self" {
            path.push(ident.to_string());
        }
        let own_name = if name == "self" {
            path.last().cloned()
        } else {
            Some(name.to_string())
        };
        leaves.push(Leaf {
            name: own_name.unwrap_or_default(),
            path,
            span: ident.span(),
        });
    };
    match tree {
        syn::UseTree::Name(tree) => leaf(&tree.ident, &tree.ident),
        syn::UseTree::Rename(tree) => leaf(&tree.ident, &tree.rename),
        syn::UseTree::Glob(tree) => {
            let name = format!("{}::*", prefix.join("::"));
            leaves.push(Leaf {
                name,
                path: prefix.clone(),
                span: tree.star_token.span(),
            });
        }
        syn::UseTree::Path(tree) => {
            prefix.push(tree.ident.to_string());
            leaves_of(&tree.tree, prefix, leaves);
            prefix.pop();
        }
        syn::UseTree::Group(tree) => {
            for tree in &tree.items {
                leaves_of(tree, prefix, leaves);
            }
        }
    }
}

/// Collects everything that a file mentions.
struct Mentions {
    names: Names,
    module: Vec<String>,
    in_test: bool,
    all: Vec<Mention>,
}

impl Mentions {
    fn add(&mut self, kind: Kind, path: Vec<String>, at: Span) {
        let path = if kind == Kind::Path {
            self.absolute(path)
        } else {
            path
        };
        self.all.push(Mention {
            kind,
            path,
            line: at.start().line,
            in_test: self.in_test,
        });
    }

    fn absolute(&self, mut path: Vec<String>) -> Vec<String> {
        if let Some(known) = path.first().and_then(|first| self.names.known.get(first)) {
            // `use tokio;` stands for itself.
            path.splice(..1, known.iter().cloned());
        }
        let mut module = self.module.clone();
        let mut steps = 0;
        while let Some("self" | "super") = path.get(steps).map(String::as_str) {
            if path[steps] == "super" {
                module.pop();
            }
            steps += 1;
        }
        if steps > 0 {
            path.splice(..steps, std::iter::once("crate".to_owned()).chain(module));
        }
        path
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut start = Span::call_site();
        let mut joined = 0;
        for token in tokens {
            match &token {
                TokenTree::Ident(ident) if joined == 2 && !path.is_empty() => {
                    path.push(ident.to_string())
                }
                TokenTree::Ident(ident) => {
                    self.token_path(std::mem::take(&mut path), start);
                    start = ident.span();
                    path.push(ident.to_string());
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    joined += 1;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == '!' && !path.is_empty() => {
                    self.add(Kind::Macro, path.clone(), start);
                }
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Brace && !path.is_empty() {
                        self.add(Kind::Literal, path.clone(), start);
                    }
                    self.token_path(std::mem::take(&mut path), start);
                    self.tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.token_path(std::mem::take(&mut path), start);
                }
            }
            joined = 0;
        }
        self.token_path(path, start);
    }

    fn token_path(&mut self, path: Vec<String>, at: Span) {
        if !path.is_empty() {
            self.add(Kind::Path, path, at);
        }
    }

    /// The word has many places in the syntax, and no other meaning in any of them.
    fn find_unsafe(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.find_unsafe(group.stream()),
                TokenTree::Ident(ident) if ident == "unsafe" => {
                    self.add(Kind::Unsafe, Vec::new(), ident.span());
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let outer = self.in_test;
        self.in_test = outer || item.attrs.iter().any(is_cfg_test);
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
        self.in_test = outer;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut leaves = Vec::new();
        leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            self.add(Kind::Path, leaf.path, leaf.span);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.add(Kind::Path, segments, path.span());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        let path = &invocation.path;
        let segments = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.add(Kind::Macro, segments, path.span());
        self.tokens(invocation.tokens.clone());
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        let segments = expr
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.add(Kind::Literal, segments.collect(), expr.path.span());
        visit::visit_expr_struct(self, expr);
    }
}

/// `#[cfg(test)]`, also inside `all(…)`; not `not(test)`.
fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else {
        return false;
    };
    let words = list.tokens.to_string();
    attribute.path().is_ident("cfg")
        && (words == "test" || words.starts_with("all") && words.contains("test"))
}
