//! What leads nowhere for us and somewhere for others: readers of Markdown do not agree on what a link, a picture or an
//! element is, nor on where code begins.
//!
//! So it is not asked what the text is. Whatever a link is, an address stands behind `](` or `]:`, or there with blanks between;
//! where one may, the bracket is another. Whatever an element is, it begins with a `<`. Only a block of code stays as it is that is
//! fenced for everybody who knows fences: from the beginning of a line, with one word at most behind the fence.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::pieces::fence_of;
use super::{Change, apply, elements, more};

/// How far it is looked for where an address ends.
const ADDRESS_CHARS: usize = 256;

/// The text without what may lead somewhere for others; nothing where there is none.
pub(super) fn inert(text: &str) -> Option<String> {
    let parts = Parts::of(text);
    let elements = marks(text, &parts.code, elements::leading).map(|at| Change {
        place: at..at.saturating_add(1),
        with: "‹".to_owned(),
    });
    // Nothing ends what has not begun.
    let begin = marks(text, &parts.fenced, |gap| places(gap, '[')).next();
    let ends = marks(text, &parts.fenced, |gap| places(gap, ']'));
    let ends = ends.filter(|at| begin.is_some_and(|begin| begin < *at));
    let behind = |at: usize| text.get(at.saturating_add(1)..).unwrap_or_default();
    let breaks = ends.filter(|at| leads(behind(*at))).map(|at| Change {
        place: at..at.saturating_add(1),
        with: ")".to_owned(),
    });
    let changes: Vec<_> = elements.chain(breaks).collect();
    (!changes.is_empty()).then(|| apply(text, changes))
}

/// Where something is found outside of some places.
fn marks<'a, Found: Iterator<Item = usize> + 'a>(
    text: &'a str,
    without: &[Range<usize>],
    find: impl Fn(&'a str) -> Found + 'a,
) -> impl Iterator<Item = usize> + 'a {
    gaps(text, without).into_iter().flat_map(move |gap| {
        let inner = text.get(gap.clone()).unwrap_or_default();
        find(inner).filter_map(move |at| gap.start.checked_add(at))
    })
}

fn places(text: &str, mark: char) -> impl Iterator<Item = usize> + '_ {
    text.match_indices(mark).map(|(at, _)| at)
}

/// Whether what stands behind a bracket may be an address beyond the place where the text is shown, in whatever way it is
/// written. What is as plain as an index or a pattern in code is none.
fn leads(behind: &str) -> bool {
    let Some(address) = address(behind) else {
        return false;
    };
    // Some leave out line ends within one, and some take a backslash for a slash.
    let whole: String = address.chars().filter(|c| !c.is_whitespace()).collect();
    let first = address
        .split([' ', '\u{a0}'])
        .find(|word| !word.trim().is_empty());
    let first: String = first.unwrap_or_default().split_whitespace().collect();
    address.chars().count() > ADDRESS_CHARS
        || whole.replace('\\', "/").contains("//")
        || whole.starts_with(['<', '>'])
        || has_scheme(&first)
        || is_written_otherwise(&whole)
}

/// Whether an address begins with a scheme, and something follows.
fn has_scheme(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once(':') else {
        return false;
    };
    let is_of_one = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    !rest.is_empty() && scheme.chars().all(is_of_one)
}

/// Whether a character of it is written as another, or is one that somebody may leave out.
fn is_written_otherwise(address: &str) -> bool {
    let mut before = ' ';
    address.chars().any(|c| {
        let escaped = before == '\\' && !c.is_ascii_alphabetic();
        let entity = before == '&' && (c == '#' || c.is_ascii_alphabetic());
        before = c;
        escaped || entity || !(c.is_ascii_graphic() || c.is_alphanumeric())
    })
}

/// The address behind a bracket, if one may be: of one that is too long, more than is ever looked at.
fn address(behind: &str) -> Option<String> {
    let near = |text: &str| -> String { text.chars().take(ADDRESS_CHARS + 1).collect() };
    if let Some(rest) = behind.trim_start().strip_prefix('(') {
        let rest = near(rest);
        return Some(rest.split(')').next().unwrap_or_default().to_owned());
    }
    let rest = near(behind.strip_prefix(':')?.trim_start());
    Some(
        rest.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned(),
    )
}

/// What stands between places that follow each other, and behind them.
fn gaps(text: &str, places: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut done = 0;
    let mut gaps = Vec::new();
    for place in places {
        if done < place.start {
            gaps.push(done..place.start);
        }
        done = done.max(place.end);
    }
    gaps.push(done..text.len());
    gaps
}

/// The code of a text.
#[derive(Default)]
struct Parts {
    /// What is a block of code for everybody.
    fenced: Vec<Range<usize>>,
    /// The same, and code within a line.
    code: Vec<Range<usize>>,
}

impl Parts {
    fn of(text: &str) -> Self {
        let mut parts = Self::default();
        // Where others may have seen a fence that is none for us, or none where we do, all fences behind it are the other way round.
        let mut is_lost = false;
        let mut done = 0;
        for (event, place) in Parser::new_ext(text, more()).into_offset_iter() {
            if matches!(event, Event::Code(_)) {
                parts.code.push(place.clone());
            }
            let is_fenced = matches!(
                event,
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
            );
            if is_fenced && !is_lost {
                let before = text.get(done..place.start).unwrap_or_default();
                let is_plain = is_plain(text, &place);
                is_lost = has_fence(before) || !(is_plain || is_even(text, &place));
                done = place.end;
                if is_plain && !is_lost {
                    parts.code.push(place.clone());
                    parts.fenced.push(place);
                }
            }
        }
        parts
    }
}

fn has_fence(text: &str) -> bool {
    ["```", "~~~"].iter().any(|fence| text.contains(fence))
}

/// Whether a block ends as it begins: whoever sees no fence where it begins sees none where it ends.
fn is_even(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).unwrap_or_default();
    let indent = before.rsplit('\n').next().unwrap_or_default();
    let mut lines = text.get(place.clone()).unwrap_or_default().lines();
    let fence = lines.next().and_then(fence_of);
    let last = lines.next_back().and_then(|last| last.strip_prefix(indent));
    fence.is_some() && fence.as_deref() == last.map(str::trim_end)
}

/// Whether a fenced block is one for everybody: it begins a line, and whatever is behind the fence is no more than a word.
fn is_plain(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).unwrap_or_default();
    let mut lines = text.get(place.clone()).unwrap_or_default().lines();
    let is_first = before.is_empty() || before.ends_with('\n');
    is_first && lines.next().and_then(fence_of).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::rendered;
    use super::*;

    const EVIL: &str = "https://evil.test/?q=1";

    /// Each was a picture for a reader that many use, and none for ours.
    #[test]
    fn what_is_a_picture_for_others_is_none() {
        for text in [
            // Parentheses that are not closed.
            "![x](EVIL( )",
            "[x]: EVIL(\n\n![x]",
            // A task, or a mark of the order of bytes, before where a reference leads.
            "- [ ] [x]: EVIL\n\n![x]",
            "\u{feff}[x]: EVIL\n\n![x]",
            "\u{feff}```\n![x](EVIL)\n```\n![x](EVIL)\n",
            // What is an element for us is text for others.
            "<!-- ![x](EVIL) -->",
            "<div>\n![x](EVIL)\n</div>",
            "<details>\n![x][r]\n\n[r]: EVIL\n</details>",
            "<? ![x](EVIL) ?>",
            "<![CDATA[ ![x](EVIL) ]]>",
            "<b title='![x](EVIL)'>",
            "<b title='\n[x]:\nEVIL\n'>\n\n![x]",
            // And a fence in it is one for them, so that the next one is the end of theirs.
            "<!--\n```\n-->\n\n```\n![x](EVIL)\n```\n",
            "- a\n\n      ```\n\n```\n![x](EVIL)\n```\n",
            "a ```b` c\n\n```\n![x](EVIL)\n```\n",
            "Done.\n```![x](EVIL)",
            "~~~ ![x](EVIL)",
            "~~~ a b\n![x](EVIL)\n~~~\n",
            "```\na\n\r```\n![x](EVIL)\n",
            // It ends with the quote for some, and with the next fence for others.
            "> ```\n> a\n\n```\n![x](EVIL)\n```\n",
            // A blank between the two is nothing to some.
            "![x] (EVIL)",
            "![x]\t(EVIL)",
            // Code that is none.
            "`![x](EVIL)`",
            "    ![x](EVIL)",
            "> ```\n> ![x](EVIL)\n> ```\n",
            // Addresses with no scheme, and in other ways to write them.
            "`![x](//evil.test/)`",
            "`![x](\\//evil.test/)`",
            "`![x](/\n/evil.test/)`",
            "`![x](&#47;/evil.test/)`",
            "`![x](<a b>)`",
            "`[x]:\n> EVIL`",
        ] {
            let text = text.replace("EVIL", EVIL);
            let shown = rendered(&text);
            for mark in ["](", "]:"] {
                assert!(!shown.contains(mark), "{text:?} → {shown:?}");
            }
        }
    }

    /// Whatever follows: nobody looks for where an address ends for ever.
    #[test]
    fn an_address_without_an_end_is_one() {
        assert!(leads(&format!("({}", "a".repeat(ADDRESS_CHARS + 1))));
        assert!(leads(&format!(":{}", "a".repeat(ADDRESS_CHARS + 1))));
        assert!(!leads(&format!(": a {}", "a".repeat(ADDRESS_CHARS))));
        assert!(!leads("(a"));
        assert!(leads(" (https://evil.test)"));
        assert!(!leads(" : https://evil.test"));
        assert!(!leads("(x: int)") && !leads(": a:"));
        for odd in [
            "(/\\evil.test)",
            "(\\\\evil.test)",
            "(x:y)",
            "(ht\ntp:y)",
            "(a\u{200b}b)",
            "(&sol;/e)",
        ] {
            assert!(leads(odd), "{odd}");
        }
    }

    #[test]
    fn an_element_for_others_begins_with_no_mark_of_one() {
        for (text, shown) in [
            ("a <img src=//e.test\u{b}", "a ‹img src=//e.test\\u000b"),
            ("for (i=0; i<n; src=next)", "for (i=0; i‹n; src=next)"),
            ("a <b and c=1", "a <b and c=1"),
            // Code that ends for most at a carriage return, and code that is none for some.
            (
                "so:\n\n    code\r<img src=//e.test>\n",
                "so:\n\n    code\n(img: e.test)\n",
            ),
            (
                "- a\n\n      <img src=//e.test>",
                "- a\n\n      ‹img src=//e.test>",
            ),
            (
                "```\na\n\r```\n<img src=//e.test>",
                "```\na\n\n```\n(img: e.test)",
            ),
            (
                "```md\n<img src=//e.test>\n```",
                "```md\n<img src=//e.test>\n```",
            ),
        ] {
            assert_eq!(rendered(text), shown);
        }
    }

    #[test]
    fn code_and_prose_that_lead_nowhere_stay() {
        for text in [
            "Call `handlers[i](x, y)`, and `if a[0]: return`.",
            "- [ ] a task\n- [x] done: yes\n\na[0] (b) and c[1]: d",
            "Match `[A-Z](?:a|b)`, `[a-z](\\w+)`, `x[0](y: int, 100%)` or `{[key: string]: string[]}`, a && b",
            "1. So:\n   ```sh\n   a[0](b)\n   ```\n\n```python\nx[0](\"https://a.test\")\n```\n",
            "> ```\n> a\n> ```\n\n```python\nx[0](\"https://a.test\")\n```\n",
            "```python\nx[0](\"https://a.test\")\n```\n\n~~~\n[a]: https://a.test\n~~~\n",
            "1. So:\n   ```sh\n   a[0](b)\n   ```\n",
        ] {
            assert_eq!(rendered(text), text);
        }
    }
}
