//! Rendered text: a model's answer as it is shown to a person, so that nothing in it loads by itself
//! and every link says where it leads.
//!
//! An answer may be written as Markdown, and whoever shows it may render it. Pictures and links become
//! text with their host; code stays as it is, but where it may be none for others (`rendered/doubtful.rs`).
//! The text is read by a parser of CommonMark, and otherwise left alone, but for controls, and for what may lead somewhere for
//! others (`rendered/others.rs`): parsers do not agree.

mod doubtful;
mod elements;
mod fenced;
mod others;
mod pieces;
mod quoted;

pub use self::fenced::fenced;
pub use self::pieces::Pieces;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use url::{Host, Url};

use self::doubtful::{Hidden, doubtful};

/// How often a text is looked at again: what was two things may become one when a third is taken away.
const ROUNDS: usize = 6;

/// The text with pictures, links and elements of HTML that lead somewhere written out, and with no control but line ends
/// and tabs.
#[must_use]
pub fn rendered(text: &str) -> String {
    let mut text = without_controls(text).into_owned();
    for _ in 0..ROUNDS {
        match round(&text) {
            Some(next) => text = next,
            None => return text,
        }
    }
    // Somebody tries hard.
    bare(&text)
}

/// The text with its controls written out, but line ends and tabs, and with marks of the order of bytes. Where one stands our
/// parser sees no link, and whoever leaves it out or replaces it does; what a NUL is replaced by is known. They are written as JSON has them, so that
/// what is JSON says the same.
fn without_controls(text: &str) -> Cow<'_, str> {
    let steers = |c: char| match c {
        '\n' | '\t' => false,
        c => c.is_control() || c == '\u{feff}',
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\0' => out.push(char::REPLACEMENT_CHARACTER),
            '\r' if chars.peek() == Some(&'\n') => out.push(c),
            // The end of a line for most, and not for our parser where code is.
            '\r' => out.push('\n'),
            c if steers(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The same of an answer for whoever may be a program: what is JSON stays that.
#[must_use]
pub fn told(answer: &str) -> String {
    quoted::inert(answer).unwrap_or_else(|| rendered(answer))
}

/// The text without what a link, a picture, an element or a block of code begins with.
fn bare(text: &str) -> String {
    let bare = |c: char| match c {
        '[' => '(',
        ']' => ')',
        '<' => '‹',
        '`' => '\'',
        '~' => '-',
        '$' => '＄',
        other => other,
    };
    text.chars().map(bare).collect()
}

/// A piece of the text, and what stands there instead.
struct Change {
    place: Range<usize>,
    with: String,
}

impl Change {
    /// Nothing stands there any more.
    fn gone(place: Range<usize>) -> Self {
        let with = String::new();
        Self { place, with }
    }
}

/// A link or picture that has begun.
struct Open {
    is_image: bool,
    start: usize,
    /// Where its own text is, as far as it is known.
    inner: Option<Range<usize>>,
    /// Where it leads, for people; nothing for an address that only looks like one.
    to: Option<String>,
}

impl Open {
    fn new(is_image: bool, start: usize, kind: LinkType, url: &str) -> Self {
        Self {
            is_image,
            start,
            inner: None,
            to: (kind != LinkType::Email).then(|| leads_to(url)),
        }
    }

    /// What stands for it: its own text, with what it is before and where it leads after.
    fn changes(self, end: usize) -> Vec<Change> {
        let Some(to) = self.to else {
            return Vec::new();
        };
        let (before, after) = if self.is_image {
            ("(image: ", format!(" — {to})"))
        } else {
            ("", format!(" (link: {to})"))
        };
        match self.inner {
            Some(inner) => vec![
                Change {
                    place: self.start..inner.start,
                    with: before.to_owned(),
                },
                Change {
                    place: inner.end..end,
                    with: after,
                },
            ],
            None => vec![Change {
                place: self.start..end,
                with: format!("{before}{}", after.trim_start_matches([' ', '—'])),
            }],
        }
    }
}

/// One look at the text; nothing where nothing in it leads anywhere, for whoever shows more than plain Markdown, shows just that,
/// or reads it in some other way.
fn round(text: &str) -> Option<String> {
    let look = |options| {
        let changes = changes(text, options);
        (!changes.is_empty()).then(|| apply(text, changes))
    };
    look(more())
        .or_else(|| look(Options::empty()))
        .or_else(|| others::inert(text))
}

/// What most know beside plain Markdown.
fn more() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS
}

/// What stands instead of what leads somewhere, and of where references lead; or, where nothing does, of what may for others.
fn changes(text: &str, options: Options) -> Vec<Change> {
    let parser = Parser::new_ext(text, options);
    let definitions = parser.reference_definitions().iter();
    let definitions: Vec<_> = definitions.map(|(_, found)| found.span.clone()).collect();
    let mut changes = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut hidden = Hidden::new(&definitions);
    for (event, place) in parser.into_offset_iter() {
        hidden.take(&event, &place);
        if let Event::End(ending) = event {
            if matches!(ending, TagEnd::Link | TagEnd::Image)
                && let Some(link) = open.pop()
            {
                // Of `[text][]` the parser counts the text alone.
                let rest = text.get(place.end..).unwrap_or_default();
                let empty = if rest.starts_with("[]") { 2 } else { 0 };
                changes.extend(link.changes(place.end + empty));
            }
            continue;
        }
        // What is further out has taken in the whole of this one when it began.
        if let Some(outer) = open.last_mut() {
            let inner = outer.inner.get_or_insert_with(|| place.clone());
            inner.end = inner.end.max(place.end);
        }
        match event {
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => open.push(Open::new(false, place.start, link_type, &dest_url)),
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                ..
            }) => open.push(Open::new(true, place.start, link_type, &dest_url)),
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let html = text.get(place.clone()).unwrap_or_default();
                changes.extend(elements::inert(html).map(|with| Change { place, with }));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_drawn(&info) => {
                changes.extend(language(text, &place).map(Change::gone));
            }
            // Of a block that was looked at as a whole.
            Event::Html(_) => {}
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    if changes.is_empty() {
        return doubtful(text, hidden);
    }
    changes.extend(definitions.into_iter().map(Change::gone));
    changes
}

/// Languages that clients draw in place of showing them, and what is drawn may load what it names.
const DRAWN: [&str; 24] = [
    "abc",
    "chart",
    "d2",
    "dot",
    "echarts",
    "geojson",
    "graphviz",
    "htm",
    "html",
    "infographic",
    "katex",
    "latex",
    "markmap",
    "math",
    "mermaid",
    "plantuml",
    "puml",
    "svg",
    "tex",
    "tikz",
    "topojson",
    "vega",
    "wavedrom",
    "xhtml",
];

/// Whether what a block of code says of itself names such a language, in whatever way it names one.
fn is_drawn(info: &str) -> bool {
    let words = info.split(|c: char| !c.is_alphanumeric());
    let mut words = words.map(str::to_lowercase);
    words.any(|word| DRAWN.contains(&word.as_str()))
}

/// Where the block of code at a place says of itself what it is.
fn language(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let block = text.get(place.clone())?;
    let line = block.split(['\n', '\r']).next()?;
    let mark = line.find(['`', '~'])?;
    let marks = line.get(mark..)?;
    let info = marks
        .trim_start_matches(['`', '~'])
        .trim_start_matches([' ', '\t']);
    let end = place.start.checked_add(line.len())?;
    Some(end.checked_sub(info.len())?..end)
}

fn apply(text: &str, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|change| (change.place.start, change.place.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for Change { place, with } in changes {
        if place.start < done {
            continue;
        }
        out.push_str(text.get(done..place.start).unwrap_or_default());
        out.push_str(&with);
        done = place.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Where a URL leads: its host as it is looked up, so that no letter looks like another; its scheme,
/// where it has no host.
fn leads_to(url: &str) -> String {
    let parsed = Url::parse(url).or_else(|_| {
        // Without a scheme, as `//host/path`, it takes that of the page that shows it.
        Url::parse("https://relative.invalid/").and_then(|page| page.join(url))
    });
    let Ok(parsed) = parsed else {
        return "an address that is none".to_owned();
    };
    let scheme = parsed.scheme();
    match parsed.host() {
        Some(Host::Domain("relative.invalid")) => "no other host".to_owned(),
        Some(host) if matches!(scheme, "http" | "https") => host.to_string(),
        Some(host) => format!("{scheme}, {host}"),
        None if scheme == "mailto" => format!("mail to {}", plain(parsed.path())),
        None => format!("{scheme}:"),
    }
}

/// Without what could begin a link of its own.
fn plain(text: &str) -> String {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "@.-_+".contains(c));
    text.chars()
        .map(|c| if odd(c) { '?' } else { c })
        .take(80)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(rendered(text), shown, "{text}");
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        for text in [
            "",
            "Plain *text* with `code`, 1 < 2, a[0], and\n\n- [ ] a list\n- https://shop.test/a?b=c\n",
            "```md\n<img src=\"http://evil.test/?q=1\">\n![x](http://evil.test/)\n```\n",
            "`![x](there/a.png)` and Vec<String> and <b>bold</b>\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "a\r\nb  \nc\\*d &amp; é 日本\n",
            "write to <me@shop.test>",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn pictures_are_not_loaded() {
        check(
            "a ![the plan](http://evil.test/?q=secret \"t\") b",
            "a (image: the plan — evil.test) b",
        );
        check("![](http://evil.test/x)", "(image: evil.test)");
        check(
            "![x][1]\n\n[1]: http://evil.test/?q=1\n",
            "(image: x — evil.test)\n\n\n",
        );
        check(
            "![x][]\n\n[X]: <http://evil.test/>",
            "(image: x — evil.test)\n\n",
        );
        check("![x]\n\n[x]: //evil.test/", "(image: x — evil.test)\n\n");
        check(
            "![a ![b](http://b.test) c](http://a.test)",
            "(image: a (image: b — b.test) c — a.test)",
        );
        check("![x](data:image/png;base64,AAAA)", "(image: x — data:)");
    }

    /// Other parsers replace them, or leave them out: then there is a picture.
    #[test]
    fn no_control_hides_a_picture() {
        check(
            "see ![x](http://evil.test/?q=1\u{1}) ok",
            "see (image: x — evil.test) ok",
        );
        check("![x](http://evil.test/\0)", "(image: x — evil.test)");
        check(
            "a\0b\u{1b}[2J\u{7f}\u{9b}\t\r\nc",
            "a\u{fffd}b\\u001b[2J\\u007f\\u009b\t\r\nc",
        );
        check("\u{feff}a", "\\ufeffa");
        for c in ('\0'..='\u{9f}').filter(|c| c.is_control()) {
            for text in [
                format!("![x](http://evil.test/{c}a)"),
                format!("![x](http://evil.test/ \"a{c}b\")"),
                format!("[x](<http://evil.test/{c}>)"),
                format!("![x]\n\n[x]: http://evil.test/{c}"),
                format!("<img src='http://evil.test/{c}'>"),
                format!("<http://evil.test/{c}>"),
            ] {
                let shown = rendered(&text);
                for with in ["", "\u{fffd}", "\\u{1}"] {
                    let other =
                        shown.replace(|c: char| c.is_control() && !"\n\r\t".contains(c), with);
                    assert!(round(&other).is_none(), "{text:?} → {other:?}");
                }
            }
        }
    }

    #[test]
    fn links_say_where_they_lead() {
        check(
            "see [my bank](https://evil.test/login?a=b).",
            "see my bank (link: evil.test).",
        );
        check(
            "[https://bank.test](https://bank.test@evil.test/)",
            "https://bank.test (link: evil.test)",
        );
        check(
            "<https://evil.test/a?b>",
            "https://evil.test/a?b (link: evil.test)",
        );
        check(
            "[*so*](https://xn--e1afmkfd.test/ж)",
            "*so* (link: xn--e1afmkfd.test)",
        );
        check("[a](https://bаnk.test)", "a (link: xn--bnk-6cd.test)");
        check("[run](javascript:alert(1))", "run (link: javascript:)");
        check("[there](docs/a.md)", "there (link: no other host)");
        check(
            "[me](mailto:a@b.test?subject=x)",
            "me (link: mail to a@b.test)",
        );
        check("[a][b]\n\n[b]: http://c.test\n", "a (link: c.test)\n\n\n");
    }

    #[test]
    fn what_is_code_for_one_reader_alone_is_written_as_text() {
        check(
            "$$\n```\n$$\n![x](http://evil.test/)\n",
            "$$\n'''\n＄＄\n!(x)(http://evil.test/)\n",
        );
        const IMG: &str = "![x](http://evil.test/)";
        for text in [
            // A formula within a line.
            "$`$ IMG `",
            "a $$`$$ IMG `",
            "$a\n`$ IMG `",
            "\\( ` \\) IMG `",
            "\\[ ` \\] IMG `",
            "| a |\n|---|\n| $`$ IMG ` |\n",
            "$` $` IMG `",
            "$`$ ` x` IMG `",
            "![x$`$](http://evil.test/)`",
            "$`$ <img src=http://evil.test/> `",
            // One that is a block.
            "\t$$\n\n$$\n```\n$$\nIMG",
            "> $$\n> ```\n> $$\n> IMG",
            "- $$\n  ```\n  $$\n  IMG",
            "$$\n~~~\n$$\nIMG",
            "\\[\n```\n\\]\nIMG\n```",
            "\\begin{equation}\n```\n\\end{equation}\nIMG\n```",
            "a `b\n$$\n$$\nIMG `",
            "a `b\n$$\n$$\nc` d `IMG`",
            "a `b\n$$\nc`\n\n```\n$$\nIMG\n```",
            "![x]\n\n> $$\n> ```\n> $$\n> [x]: http://evil.test/",
            // Facts about a page, and parts of it.
            "---\n```\n---\nIMG\n```",
            "+++\n```\n+++\nIMG\n```",
            ":::note\n```\n:::\nIMG\n```",
            // A comment, an attribute, a title.
            "$ <!-- $ IMG -->",
            "$$\n<!--\n$$\nIMG\n-->",
            "$ <b title='$ IMG'>",
            "[a]: /u '\n$$\n$$\nIMG\n'",
        ] {
            let text = text.replace("IMG", IMG);
            let shown = rendered(&text);
            for mark in ["](", "]: ", "<img"] {
                assert!(!shown.contains(mark), "{text:?} → {shown:?}");
            }
            assert!(shown.contains("evil.test"), "{text:?} → {shown:?}");
        }
    }

    #[test]
    fn code_beside_formulas_and_prices_stays_code() {
        for text in [
            "$$\na_{[0]}\n$$\n\n```python\na[0]\n```\n",
            "It costs $5.\n\n```sh\necho \"${a[0]}\" $$ > \"$b\"\n```\n",
            "It costs $5.\n\nUse `$HOME[0]`, or `$x` and `a[0]`.",
            "Where $x$ is `a[0]` and $y$ is `b[0]`.",
            "$5 are <b>much</b>, says `Vec<$t>`",
            "---\ntitle: a\n---\n\n```\na[0]\n```\n",
            "\\(x\\) is `a[0]`:\n\n```\n/\\([a-z]\\)/\n```\n",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn elements_load_nothing() {
        check(
            "x <img src='http://evil.test/?q=1' alt=y> z",
            "x (img: evil.test) z",
        );
        check(
            "<a href=\"https://evil.test\">bank</a>",
            "(a: evil.test)bank</a>",
        );
        check(
            "<div>\n<img\n src=//evil.test/p>\n</div>\n",
            "<div>\n(img: evil.test)\n</div>\n",
        );
        check("<script>fetch(1)</script>\n", "(script)fetch(1)</script>\n");
        check("<p style=\"background:url(http://evil.test)\">", "(p)");
        check(
            "<!--><img src=http://evil.test/>-->",
            "<!-->(img: evil.test)-->",
        );
        check("> a <img\n> src=http://evil.test/>", "> a (img: evil.test)");
        check(
            "> <div><img\n>\t> src=http://evil.test/>",
            "> <div>(img: evil.test)",
        );
    }

    #[test]
    fn what_is_taken_away_makes_nothing_new() {
        for text in [
            "![a](http://evil.test)(http://evil.test)",
            "[[x](http://a.test)](http://b.test)",
            "[![x](http://a.test)](http://b.test)",
            "![x[y](http://a.test)][z]\n\n[z]: http://b.test",
            "[a]: http://a.test\n[a]: http://b.test\n[a] [a][a] ![a]",
            "<<img src=http://a.test>img src=http://b.test>",
        ] {
            let shown = rendered(text);
            assert!(round(&shown).is_none(), "{text} → {shown}");
            assert!(
                shown.contains("a.test") || shown.contains("evil.test"),
                "{shown}"
            );
        }
    }

    #[test]
    fn much_of_it_takes_little_more_time() {
        const MUCH: usize = 160_000;
        for (begin, end) in [
            ("![", "](u)"),
            ("[", "](u)"),
            ("*![", "](u)*"),
            ("$`$ [", "` "),
            ("<b title='", "<img src=u>"),
            ("> ", "\n"),
        ] {
            let text = begin.repeat(MUCH) + &end.repeat(MUCH);
            assert!(round(&rendered(&text)).is_none(), "{begin}");
        }
        // What is looked at again for each reference that lies between.
        let quoted = |number| format!("> `a`\n>\n> [x{number}]: u\n>\n");
        let quoted: String = (0..40_000).map(quoted).collect();
        assert!(round(&rendered(&quoted)).is_none());
    }

    /// What a client draws may load what it names: it is shown as code in no language.
    #[test]
    fn code_that_clients_draw_is_code_in_no_language() {
        for (info, drawn) in [
            ("mermaid", true),
            ("Mermaid title=x", true),
            ("{.mermaid}", true),
            ("svg", true),
            ("html", true),
            ("math", true),
            ("vega-lite", true),
            ("rust", false),
            ("toml", false),
            ("", false),
        ] {
            let block = |info: &str| {
                format!("so:\n\n```{info}\nA@{{ img: \"https://e.test/p.png\" }}\n```\n")
            };
            let expected = if drawn { block("") } else { block(info) };
            assert_eq!(rendered(&block(info)), expected, "{info}");
        }
        // In a list, in a quote, and with other marks.
        assert_eq!(
            rendered("- ~~~ mermaid\n  a\n  ~~~\n"),
            "- ~~~ \n  a\n  ~~~\n"
        );
        assert_eq!(rendered("> ```mermaid\n> a\n"), "> ```\n> a\n");
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_leads_anywhere(text in r#"([\[\]()!<>\n"' a:#*`\\$]|http://e\.test/|<img src=|\[a\]: |\]\(|!\[|<a href="|\n\$\$|\x00|\x01|\x7f){0,40}"#) {
            let shown = rendered(&text);
            prop_assert!(round(&shown).is_none(), "{text:?} → {shown:?}");
        }
    }
}
