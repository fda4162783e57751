//! An HTML page as a tree, whatever page it is: the work grows with its length, and not with the square of that.
//!
//! The parser looks through all elements that are open for many a tag, compares each attribute of a tag with all before
//! it, and moves what a table cannot hold to a place that it has to find. So each of these has a bound here.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use html5ever::LocalName;
use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts};
use markup5ever_rcdom::{Node, RcDom};

/// Elements that are open at once: the text of deeper ones is read as that of the deepest one. Fewer than are kept.
const OPEN_MAX: usize = 190;
/// Elements and comments of a page: it is read so far.
const ELEMENTS_MAX: usize = 50_000;
/// Attributes of a tag: more are passed over.
const ATTRIBUTES_MAX: usize = 64;

/// Elements whose inside is text whatever it looks like: they hold no others, and what they hold is seldom to be read.
const RAW: &[&str] = &[
    "script",
    "style",
    "title",
    "textarea",
    "noscript",
    "iframe",
    "noembed",
    "noframes",
    "xmp",
    "plaintext",
];

/// A page that was read, whole or as far as it is.
pub(crate) struct Tree {
    pub(crate) root: Rc<Node>,
    /// There is more of it than is read.
    pub(crate) cut: bool,
}

/// Reads a page.
pub(crate) fn read(html: &str) -> Tree {
    let bounded = Bounded {
        builder: TreeBuilder::new(RcDom::default(), TreeBuilderOpts::default()),
        elements: Cell::new(0),
        passed_over: RefCell::default(),
    };
    let tokenizer = Tokenizer::new(bounded, TokenizerOpts::default());
    let page = BufferQueue::default();
    page.push_back(StrTendril::from(thinned(html)));
    while !matches!(tokenizer.feed(&page), TokenizerResult::Done) {}
    tokenizer.end();
    let bounded = tokenizer.sink;
    Tree {
        cut: bounded.is_full(),
        root: bounded.builder.sink.document,
    }
}

/// What stands between the tokens of a page and its tree.
struct Bounded {
    builder: TreeBuilder<Rc<Node>, RcDom>,
    elements: Cell<usize>,
    /// Tags that are not in the tree, and whose ends are not to end others.
    passed_over: RefCell<HashMap<LocalName, usize>>,
}

impl Bounded {
    fn is_full(&self) -> bool {
        self.elements.get() > ELEMENTS_MAX
    }

    fn is_deep(&self) -> bool {
        let open = Open(Cell::new(0));
        self.builder.trace_handles(&open);
        open.0.get() > OPEN_MAX
    }

    /// Whether a tag is not for the tree.
    fn passes_over(&self, tag: &Tag) -> bool {
        let mut passed_over = self.passed_over.borrow_mut();
        match tag.kind {
            TagKind::StartTag if self.holds_text(tag) || !self.is_deep() => false,
            TagKind::StartTag => {
                *passed_over.entry(tag.name.clone()).or_default() += 1;
                true
            }
            TagKind::EndTag => match passed_over.get_mut(&tag.name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                Some(_) | None => false,
            },
        }
    }

    /// Whether the tag is of an element that holds no others. Within a drawing or a formula there are none such.
    fn holds_text(&self, tag: &Tag) -> bool {
        RAW.contains(&&*tag.name)
            && !self
                .builder
                .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl TokenSink for Bounded {
    type Handle = Rc<Node>;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Rc<Node>> {
        if makes_one(&token) {
            self.elements.set(self.elements.get() + 1);
        }
        let passes = match &token {
            Token::EOFToken => false,
            Token::TagToken(tag) => self.is_full() || self.passes_over(tag),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::CharacterTokens(_)
            | Token::NullCharacterToken
            | Token::ParseError(_) => self.is_full(),
        };
        match passes {
            true => TokenSinkResult::Continue,
            false => self.builder.process_token(token, line),
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Whether there is one more in the tree: the ends of two elements make them where they are not open.
fn makes_one(token: &Token) -> bool {
    match token {
        Token::TagToken(tag) => tag.kind == TagKind::StartTag || matches!(&*tag.name, "p" | "br"),
        Token::CommentToken(_) => true,
        Token::DoctypeToken(_)
        | Token::CharacterTokens(_)
        | Token::NullCharacterToken
        | Token::EOFToken
        | Token::ParseError(_) => false,
    }
}

/// Counts what the parser holds open.
struct Open(Cell<usize>);

impl Tracer for Open {
    type Handle = Rc<Node>;

    fn trace_handle(&self, _: &Rc<Node>) {
        self.0.set(self.0.get() + 1);
    }
}

/// The page, with so many attributes of each tag and no more. What only looks like a tag, in a script or a comment, stays
/// as it is.
fn thinned(html: &str) -> String {
    let mut thin = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        thin.push_str(before);
        let (kept, end) = match comment_at(tag) {
            Some(end) => (end, end),
            None => tag_at(tag.as_bytes()),
        };
        thin.push_str(&tag[..kept]);
        let inside = raw_at(tag, end);
        thin.push_str(&tag[end..inside]);
        rest = &tag[inside..];
    }
    thin.push_str(rest);
    thin
}

/// Where the comment ends that begins here; all of the page where it does not.
fn comment_at(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("<!--")?;
    // Nothing is inside of `<!-->` and `<!--->`.
    if let Some(short) = [">", "->"].iter().find(|end| inside.starts_with(**end)) {
        return Some(4 + short.len());
    }
    let ends = ["-->", "--!>"].iter();
    let ends = ends.filter_map(|end| Some(4 + inside.find(end)? + end.len()));
    Some(ends.min().unwrap_or(text.len()))
}

/// Where the text ends that stands in the element whose tag begins here and ends there, where it holds no others: at its end
/// tag, or with the page.
fn raw_at(tag: &str, end: usize) -> usize {
    let name = |name: &&str| {
        let (head, rest) = tag[1..].split_at_checked(name.len()).unwrap_or_default();
        head.eq_ignore_ascii_case(name)
            && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
    };
    let Some(name) = RAW.iter().copied().find(name) else {
        return end;
    };
    let inside = &tag.as_bytes()[end..];
    let close = format!("</{name}");
    let mut windows = inside.windows(close.len());
    let found = windows.position(|text| text.eq_ignore_ascii_case(close.as_bytes()));
    end + found.unwrap_or(inside.len())
}

/// Where a scan is within a tag.
enum Place {
    Name,
    Between,
    Attribute,
    Behind,
    Equals,
    Bare,
    Quoted(u8),
}

/// Of the tag that begins here how much is kept, and where its attributes end; of what is no tag its first character.
fn tag_at(bytes: &[u8]) -> (usize, usize) {
    let begins = 1 + usize::from(bytes.get(1) == Some(&b'/'));
    if !bytes.get(begins).is_some_and(u8::is_ascii_alphabetic) {
        return (1, 1);
    }
    let (mut place, mut attributes, mut kept) = (Place::Name, 0, None);
    for (at, byte) in bytes.iter().copied().enumerate().skip(begins) {
        let space = byte.is_ascii_whitespace();
        let next = match (place, byte) {
            (Place::Quoted(quote), _) if byte == quote => Place::Between,
            (Place::Quoted(quote), _) => Place::Quoted(quote),
            (_, b'>') => match kept {
                // What closes itself does so still.
                Some(kept) if bytes[at - 1] == b'/' => return (kept, at - 1),
                kept => return (kept.unwrap_or(at), at),
            },
            (Place::Equals, b'"' | b'\'') => Place::Quoted(byte),
            (Place::Equals, _) if space => Place::Equals,
            (Place::Equals | Place::Bare, _) if !space => Place::Bare,
            (Place::Name, _) if !space && byte != b'/' => Place::Name,
            (Place::Attribute | Place::Behind, b'=') => Place::Equals,
            (Place::Attribute | Place::Behind, _) if space => Place::Behind,
            (_, b'/') => Place::Between,
            (_, _) if space => Place::Between,
            (Place::Attribute, _) => Place::Attribute,
            (_, _) => {
                attributes += 1;
                if attributes > ATTRIBUTES_MAX {
                    kept = kept.or(Some(at));
                }
                Place::Attribute
            }
        };
        place = next;
    }
    (kept.unwrap_or(bytes.len()), bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes by which a tag has so many.
    fn attributes(count: usize) -> String {
        (0..count).map(|at| format!(" a{at}='>'")).collect()
    }

    fn depth(node: &Rc<Node>) -> usize {
        let mut deepest = 0;
        let mut waiting = vec![(Rc::clone(node), 1)];
        while let Some((node, depth)) = waiting.pop() {
            deepest = deepest.max(depth);
            let children = node.children.borrow();
            waiting.extend(children.iter().map(|child| (Rc::clone(child), depth + 1)));
        }
        deepest
    }

    /// What looks like a tag there is none, however many words follow.
    #[test]
    fn scripts_and_comments_stay_as_they_are() {
        let words = "w ".repeat(100);
        for page in [
            format!("<script>for(i=0;i<n;i++){{ {words} }}</script><p>a"),
            format!("<STYLE a>b<c {words}</Style><p>a"),
            format!("<script>i<n {words}"),
            format!("<!-- if a<b then {words} --><p>a"),
            format!("<!-- a<b {words} --!><p>a"),
            format!("<!-- a<b {words}"),
        ] {
            assert_eq!(thinned(&page), page);
        }
        // What begins as such an element is called otherwise, and what is no comment hides none.
        let many = attributes(100);
        for page in ["<scripts>", "<!-->", "<!--->", "<!a>", "<script></script>"] {
            let thin = thinned(&format!("{page}<p{many}>"));
            assert_eq!(thin.matches('=').count(), ATTRIBUTES_MAX, "{page}");
        }
    }

    #[test]
    fn a_tag_keeps_its_first_attributes() {
        for usual in [
            "a < b <3 <!-- <p> --> </p>",
            "<a href=x/y title = \"a > b\" b='c'd e/f>text</a ><br/>",
            "<a b=\"never ends",
            "ä<ö>",
        ] {
            assert_eq!(thinned(usual), usual);
        }
        let (most, more) = (attributes(ATTRIBUTES_MAX), attributes(60_000));
        for tag in ["<p", "</p", "<svg"] {
            let thin = thinned(&format!("ä{tag}{more}>ö</p>"));
            assert_eq!(thin, format!("ä{tag}{most} >ö</p>"));
        }
        let thin = thinned(&format!("<path{more}/>ö"));
        assert_eq!(thin, format!("<path{most} />ö"));
        // Names need no space between them.
        let close: String = (0..100).map(|at| format!("a{at}=''")).collect();
        assert_eq!(thinned(&format!("<p {close}>")).matches('=').count(), 64);
        let slashes: String = (0..100).map(|at| format!("/a{at}")).collect();
        let thin = thinned(&format!("<p{slashes}>"));
        assert_eq!(thin.matches('a').count(), 64);
    }

    #[test]
    fn a_tree_is_only_so_deep_and_only_so_large() {
        for tags in ["<div>", "<ul><li>", "<b>", "<svg><g>", "<li><dd>"] {
            let tree = read(&format!("{}deep", tags.repeat(400)));
            assert!(!tree.cut, "{tags}");
            assert!(depth(&tree.root) <= OPEN_MAX + 2, "{tags}");
            let tree = read(&tags.repeat(200_000));
            assert!(tree.cut, "{tags}");
            assert!(depth(&tree.root) <= OPEN_MAX + 2, "{tags}");
        }
        let ends = read(&"</p>".repeat(200_000));
        assert!(ends.cut);
        let script = format!("<script>{}</script>", "<b>".repeat(200_000));
        assert!(!read(&script).cut);
    }

    #[test]
    fn what_ends_too_deep_ends_nothing_else() {
        let open = "<div>".repeat(300);
        let whole = depth(&read(&open).root);
        let tree = read(&format!("{open}{}text", "</div>".repeat(50)));
        assert_eq!(depth(&tree.root), whole + 1);
        let tree = read(&format!("{open}{}text", "</div>".repeat(200)));
        assert_eq!(depth(&tree.root), whole);
    }
}
