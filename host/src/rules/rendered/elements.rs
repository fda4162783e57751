//! Elements of HTML in a text: those that load or lead somewhere are written out.
//!
//! This reads more as an element than a browser does, and less carefully: what only looks like one is
//! written out as well.

use super::leads_to;

/// Attributes whose value leads somewhere.
const LEADING: &[&str] = &[
    "action",
    "background",
    "cite",
    "data",
    "formaction",
    "href",
    "longdesc",
    "manifest",
    "ping",
    "poster",
    "profile",
    "src",
    "srcset",
    "xlink:href",
];
/// Elements that do something by themselves.
const ACTING: &[&str] = &[
    "base", "embed", "form", "frame", "iframe", "link", "math", "meta", "object", "script",
    "style", "svg", "template",
];

/// The text with such elements written out; nothing where there are none.
pub(super) fn inert(html: &str) -> Option<String> {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    let mut changed = false;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let (element, behind) = after.split_at(end_of(after));
        match instead(element) {
            Some(with) => {
                out.push_str(&with);
                rest = behind.strip_prefix('>').unwrap_or(behind);
                changed = true;
            }
            None => {
                out.push('<');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Where such elements begin, if what looks like one is one.
pub(super) fn leading(text: &str) -> impl Iterator<Item = usize> + '_ {
    let begins = text.match_indices('<');
    begins.filter_map(|(at, _)| {
        let after = text.get(at.checked_add(1)?..)?;
        let (element, _) = after.split_at(end_of(after));
        instead(element).map(|_| at)
    })
}

/// Where an element ends: at the next `>` outside of quotes, or before the next `<`. What a line begins with may be the
/// mark of a quoted text.
fn end_of(element: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    let mut begins_line = false;
    for (at, c) in element.char_indices() {
        begins_line = matches!(c, '\n' | '\r') || begins_line && (c == '>' || c.is_whitespace());
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && before == '=' => quote = Some(c),
            None if c == '<' || c == '>' && !begins_line => return at,
            None => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    element.len()
}

/// What stands for an element, if it loads or leads somewhere.
fn instead(element: &str) -> Option<String> {
    let name = element
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .next()?;
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let mut attributes = element.get(name.len()..).unwrap_or_default();
    let mut acts = ACTING.contains(&name.as_str());
    while let Some((before, after)) = attributes.split_once('=') {
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'');
        let mut words = before.trim_end().rsplit(ends);
        let key = words.next().unwrap_or_default().to_ascii_lowercase();
        let (value, behind) = value_of(after);
        if LEADING.contains(&key.as_str()) {
            return Some(format!("({name}: {})", leads_to(value)));
        }
        acts |= key.starts_with("on") || key == "style" || key == "srcdoc";
        attributes = behind;
    }
    acts.then(|| format!("({name})"))
}

/// The value of an attribute, and what is behind it.
fn value_of(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at(end)
}
