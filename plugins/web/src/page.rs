//! An HTML page, as Markdown that is good to read: without what is not content, with absolute
//! links.
//!
//! Images become their descriptions, and what a page hides from its readers is left out. The tree
//! is bounded (`tree.rs`), in depth also here, since the step to Markdown is recursive and a guest's
//! stack is small.

use std::rc::Rc;

use htmd::HtmlToMarkdown;
use lazaret_sdk::prelude::*;
use markup5ever_rcdom::{Node, NodeData};

use crate::{tree, url};

const DEPTH_MAX: usize = 200;
const LINKS_MAX: usize = 300;
const LINK_CHARACTERS_MAX: usize = 200;

/// What is never content.
const DROPPED: &[&str] = &[
    "script", "style", "noscript", "template", "nav", "footer", "aside", "form", "button", "input",
    "select", "textarea", "iframe", "object", "embed", "svg", "canvas", "video", "audio", "dialog",
    "link", "meta",
];

/// A link of a page.
#[value]
#[derive(PartialEq, Eq)]
pub struct Link {
    /// What it says.
    pub text: String,
    /// Where it leads, an absolute address.
    pub url: String,
}

/// What a page says.
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) markdown: String,
    pub(crate) links: Vec<Link>,
    /// It has more tags than are read.
    pub(crate) cut: bool,
}

/// Reads the page that was found at `base`.
pub(crate) fn read(html: &str, base: &str) -> Page {
    let converter = HtmlToMarkdown::new();
    let tree::Tree { root, cut } = tree::read(html);
    let mut cleaner = Cleaner {
        base: base.to_owned(),
        title: None,
        links: Vec::new(),
        main: None,
    };
    cleaner.clean(&root);
    // The tree must outlive this: when its root goes, it takes every node's children along.
    let content = cleaner.main.as_ref().unwrap_or(&root);
    let markdown = converter.tree_to_markdown(content).trim().to_owned();
    Page {
        title: cleaner.title,
        markdown,
        links: cleaner.links,
        cut,
    }
}

struct Cleaner {
    base: String,
    title: Option<String>,
    links: Vec<Link>,
    /// The page's `main` element, if it has one.
    main: Option<Rc<Node>>,
}

impl Cleaner {
    fn clean(&mut self, tree: &Rc<Node>) {
        let mut waiting = vec![(Rc::clone(tree), 0)];
        while let Some((node, depth)) = waiting.pop() {
            let children = std::mem::take(&mut *node.children.borrow_mut());
            let kept: Vec<Rc<Node>> = if depth >= DEPTH_MAX {
                Vec::new()
            } else {
                children
                    .into_iter()
                    .filter_map(|child| self.keep(child))
                    .collect()
            };
            waiting.extend(kept.iter().rev().map(|child| (Rc::clone(child), depth + 1)));
            *node.children.borrow_mut() = kept;
        }
    }

    /// The node to have in place of `node`, if any.
    fn keep(&mut self, node: Rc<Node>) -> Option<Rc<Node>> {
        let NodeData::Element { name, .. } = &node.data else {
            return (!matches!(node.data, NodeData::Comment { .. })).then_some(node);
        };
        let tag: &str = &name.local;
        if DROPPED.contains(&tag) || is_hidden(&node) {
            return None;
        }
        match tag {
            "title" => {
                self.title.get_or_insert_with(|| text_of(&node));
                return None;
            }
            "base" => {
                let base =
                    attribute(&node, "href").and_then(|base| url::resolve(&self.base, &base));
                self.base = base.unwrap_or_else(|| self.base.clone());
                return None;
            }
            "img" => {
                return attribute(&node, "alt")
                    .filter(|alt| !alt.trim().is_empty())
                    .map(|alt| text_node(&alt));
            }
            "main" if self.main.is_none() => self.main = Some(Rc::clone(&node)),
            "a" => self.link(&node),
            _ => {}
        }
        Some(node)
    }

    /// Makes a link absolute and notes it down; one that leads nowhere becomes a text.
    fn link(&mut self, node: &Node) {
        let target = attribute(node, "href").and_then(|link| url::resolve(&self.base, &link));
        let NodeData::Element { attrs, .. } = &node.data else {
            return;
        };
        match target {
            Some(target) => {
                let mut attrs = attrs.borrow_mut();
                attrs.retain(|attribute| &*attribute.name.local == "href");
                for attribute in attrs.iter_mut() {
                    attribute.value = target.as_str().into();
                }
                let text = text_of(node);
                let known = self.links.iter().any(|link| link.url == target);
                if !text.is_empty() && !known && self.links.len() < LINKS_MAX {
                    self.links.push(Link { text, url: target });
                }
            }
            None => attrs.borrow_mut().clear(),
        }
    }
}

fn is_hidden(node: &Node) -> bool {
    let style = attribute(node, "style")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let style: String = style.chars().filter(|char| !char.is_whitespace()).collect();
    attribute(node, "hidden").is_some()
        || attribute(node, "aria-hidden").is_some_and(|value| value == "true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

fn attribute(node: &Node, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attrs = attrs.borrow();
    let found = attrs
        .iter()
        .find(|attribute| &*attribute.name.local == name)?;
    Some(found.value.to_string())
}

fn text_node(text: &str) -> Rc<Node> {
    Node::new(NodeData::Text {
        contents: std::cell::RefCell::new(text.into()),
    })
}

/// The text in a node, in one line and bounded.
fn text_of(node: &Node) -> String {
    let mut text = String::new();
    let mut waiting: Vec<Rc<Node>> = node.children.borrow().iter().rev().cloned().collect();
    while let Some(node) = waiting.pop() {
        if text.len() > LINK_CHARACTERS_MAX * 4 {
            break;
        }
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&contents.borrow());
        }
        waiting.extend(node.children.borrow().iter().rev().cloned());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LINK_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, markdown: &str) {
        let page = read(html, "https://a.example/b/");
        assert_eq!(page.markdown, markdown, "{html}");
        assert!(!page.cut, "{html}");
    }

    #[test]
    fn content_becomes_markdown() {
        check("<h1>Tea</h1><p>Is <b>hot</b>.</p>", "# Tea\n\nIs **hot**.");
        check(
            "<p>see <a href='../c' onclick='x()'>there</a></p>",
            "see [there](https://a.example/c)",
        );
        check("<p><a href='javascript:x()'>no</a></p>", "no");
    }

    #[test]
    fn what_is_no_content_is_dropped() {
        check(
            "<nav>menu</nav><script>x()</script><p>text</p><footer>f</footer><!-- c -->",
            "text",
        );
        check(
            "<p>a</p><p hidden>b</p><p style='display: NONE'>c</p><p aria-hidden=true>d</p>",
            "a",
        );
        check(
            "<p>a <img src='https://b.example/x.png' alt='a cup'></p>",
            "a a cup",
        );
        check("<div>around</div><main><p>inside</p></main>", "inside");
    }

    #[test]
    fn title_and_links_are_found() {
        let html = "<title> Tea  time </title><base href='/x/'>\
            <p><a href=y>one</a> <a href=y>two</a> <a href=#></a>";
        let page = read(html, "https://a.example/b/");
        assert_eq!(page.title.as_deref(), Some("Tea time"));
        let link = Link {
            text: "one".to_owned(),
            url: "https://a.example/x/y".to_owned(),
        };
        assert_eq!(page.links, [link]);
    }

    #[test]
    fn a_deep_page_is_no_danger() {
        let html = format!("<p>top</p>{}deep", "<div>".repeat(20_000));
        check(&html, "top\n\ndeep");
    }

    #[test]
    fn a_page_of_tags_alone_is_cut() {
        for tags in ["<div>", "<ul><li>"] {
            let html = format!("<p>top</p>{}deep", tags.repeat(200_000));
            let page = read(&html, "https://a.example/b/");
            assert!(page.cut && page.markdown.starts_with("top"), "{tags}");
            assert!(!page.markdown.contains("deep"), "{tags}");
        }
    }

    #[test]
    fn what_stands_behind_a_long_script_is_read() {
        let words = "w ".repeat(100);
        for inside in [
            "script>for(i=0;i<n;i++){ W }</script",
            "!-- if a<b then W --",
        ] {
            let inside = inside.replace('W', &words);
            check(&format!("<p>a</p><{inside}><p>b</p>"), "a\n\nb");
        }
    }

    #[test]
    fn a_tag_of_many_attributes_is_read() {
        let many: String = (0..60_000).map(|at| format!(" a{at}=b")).collect();
        check(&format!("<p{many}>text</p><p>more</p>"), "text\n\nmore");
    }
}
