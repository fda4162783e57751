//! Code that may be none: a reader that knows more than Markdown may take the mark it begins with for a part of something
//! else, such as a formula, and show as a picture what the code was to show letter by letter.
//!
//! Which readers know what, nobody can say. So code is no refuge where something that some of them know begins before it and
//! may end in it: from there on, code that could lead somewhere is written as plain text. The same is true of
//! elements of HTML, comments among them, and of where references lead.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{Event, Tag};

use super::{Change, bare, elements};

/// What some readers know, by what it begins and ends with: formulas, and parts of a page.
const BLOCKS: [[&str; 2]; 4] = [
    ["$$", "$$"],
    ["\\[", "\\]"],
    ["\\begin{", "\\end{"],
    [":::", ":::"],
];
/// The same of what goes no further than its paragraph.
const SPANS: [[&str; 2]; 2] = [["$", "$"], ["\\(", "\\)"]];
/// What stands around facts about a page, at its beginning.
const FACTS: [&str; 2] = ["---", "+++"];

/// What leads nowhere since it is code, an element or where a reference leads.
pub(super) struct Hidden {
    parts: Vec<Part>,
    /// How many elements are open, and where the outermost one begins.
    depth: usize,
    outermost: usize,
}

struct Part {
    place: Range<usize>,
    /// Where the outermost block begins that it is in; nothing where it is a block of its own.
    within: Option<usize>,
}

impl Hidden {
    /// With where references lead.
    pub(super) fn new(definitions: &[Range<usize>]) -> Self {
        let part = |place: &Range<usize>| Part {
            place: place.clone(),
            within: Some(place.start),
        };
        Self {
            parts: definitions.iter().map(part).collect(),
            depth: 0,
            outermost: 0,
        }
    }

    /// Takes in what a parser has found next.
    pub(super) fn take(&mut self, event: &Event<'_>, place: &Range<usize>) {
        if self.depth == 0 {
            self.outermost = place.start;
        }
        let is_block = matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock));
        if is_block || matches!(event, Event::Code(_) | Event::InlineHtml(_)) {
            self.parts.push(Part {
                place: place.clone(),
                within: (!is_block).then_some(self.outermost),
            });
        }
        if matches!(event, Event::Start(_)) {
            self.depth += 1;
        } else if matches!(event, Event::End(_)) {
            self.depth = self.depth.saturating_sub(1);
        }
    }
}

/// What stands instead of what is hidden for us, and maybe not for others.
pub(super) fn doubtful(text: &str, hidden: Hidden) -> Vec<Change> {
    let mut parts = hidden.parts;
    parts.sort_by_key(|part| part.place.start);
    let mut blocks = BLOCKS.map(Doubt::about).to_vec();
    if begins_with_facts(text) {
        blocks.push(Doubt {
            has_begun: true,
            ..Doubt::about(FACTS)
        });
    }
    // Of each paragraph, and how far it was looked at: references may lie between its parts.
    let mut paragraphs: BTreeMap<usize, ([Doubt; 2], usize)> = BTreeMap::new();
    let mut done = 0;
    let mut changes = Vec::new();
    for Part { place, within } in parts {
        let inner = text.get(place.clone()).unwrap_or_default();
        let before = text.get(done..place.start).unwrap_or_default();
        done = done.max(place.end);
        // A line of it may be a block of its own for others, so that nothing need begin before it.
        let whole = within
            .filter(|_| inner.contains(['\n', '\r']))
            .map(|_| inner);
        blocks
            .iter_mut()
            .for_each(|doubt| doubt.take(before, whole, inner));
        let mut is_lost = blocks.iter().any(|doubt| doubt.is_lost);
        if let Some(start) = within {
            let new = || (SPANS.map(Doubt::about), start);
            let (spans, seen) = paragraphs.entry(start).or_insert_with(new);
            let before = text.get(*seen..place.start).unwrap_or_default();
            *seen = place.end.max(*seen);
            spans
                .iter_mut()
                .for_each(|doubt| doubt.take(before, whole, inner));
            is_lost |= spans.iter().any(|doubt| doubt.is_lost);
        }
        if is_lost && may_lead(inner) {
            let with = bare(inner);
            changes.push(Change { place, with });
        }
    }
    changes
}

/// Whether a text begins with facts about itself, for whoever knows such.
pub(super) fn begins_with_facts(text: &str) -> bool {
    let text = text.trim_start();
    FACTS.iter().any(|mark| text.starts_with(mark))
}

/// Whether something that is hidden may lead somewhere, alone or with what stands around it.
fn may_lead(hidden: &str) -> bool {
    hidden.contains(['[', ']']) || elements::inert(hidden).is_some()
}

/// Whether what one pair of marks stands around may have begun, and have ended in what is hidden.
#[derive(Clone, Copy)]
struct Doubt {
    marks: [&'static str; 2],
    has_begun: bool,
    is_lost: bool,
}

impl Doubt {
    fn about(marks: [&'static str; 2]) -> Self {
        Self {
            marks,
            has_begun: false,
            is_lost: false,
        }
    }

    /// Goes on by what stands before something hidden, and that itself; `whole` is it again where it may begin something.
    fn take(&mut self, before: &str, whole: Option<&str>, hidden: &str) {
        let has = |text: &str| self.marks.iter().any(|mark| text.contains(mark));
        self.has_begun |= has(before) || whole.is_some_and(has);
        self.is_lost |= self.has_begun && has(hidden);
    }
}
