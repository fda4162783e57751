//! The families of text that reads as if it were meant for the model: one small table of patterns.
//!
//! They are matched against folded text (lower case, without hidden characters and marks on letters).
//! Every repetition is bounded, so that looking through a text takes time in proportion to it.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// A family's name, as the journal has it, and its patterns. `~` is what may stand between two words.
const FAMILIES: &[(&str, &[&str])] = &[
    (
        "ignore_previous",
        &[
            r"\b(?:ignore|disregard|bypass|skip)~(?:(?:all|any|every|the|of|your|my|these|those)~){0,4}(?:previous|prior|preceding|above|earlier|foregoing)~(?:\w{1,16}~){0,2}(?:instruction|prompt|rule|direction|guideline|command|message|context|order)",
            r"\b(?:ignore|disregard)~(?:everything|all|anything)~(?:(?:that|said|written|stated|you|were|was|is|told)~){0,4}(?:above|before|so~far|previously)\b",
        ],
    ),
    (
        "forget",
        &[
            r"\bforget~(?:(?:all|everything|about|any|of|the)~){0,4}(?:your|previous|prior|earlier|above)~(?:\w{1,16}~)?(?:instruction|prompt|rule|guideline|training|order)",
            r"\bforget~(?:everything|all|whatever|what)~(?:(?:that|of)~)?you~(?:know|knew|learned|were~(?:told|taught|instructed)|have~been~told)",
            r"\bforget~everything~(?:above|before|so~far)\b",
        ],
    ),
    (
        "override_instructions",
        &[
            r"\b(?:override|overrule|supersede|replace|overwrite|cancel)~(?:(?:all|any|the|of|your|my)~){0,3}(?:(?:previous|prior|existing|current|system|safety|original)~){1,3}(?:instruction|prompt|rule|guideline|polic|protocol|restriction)",
            r"\b(?:these|this|the~following|my)~(?:new~)?instructions?~(?:override|overrule|supersede|replace|takes?~(?:precedence|priority)~over)",
            r"\bnew~(?:(?:system|important|priority|updated)~)?instructions?[ \t]{0,3}:",
        ],
    ),
    (
        "prompt_leak",
        &[
            r"\b(?:reveal|print|show|repeat|output|display|disclose|tell|give|leak|dump|recite)~(?:(?:me|us|to|back|out|all|the|of|your|full|entire|exact|complete|contents?|text|verbatim)~){0,8}(?:system|initial|hidden|secret|original|developer)~(?:prompt|instruction)",
            r"\bwhat~(?:is|are|was|were)~your~(?:(?:system|initial|hidden|secret|original)~){1,2}(?:prompt|instruction|message)",
            r"\brepeat~(?:everything|all|the~(?:words|text))~(?:(?:written|that~is)~)?above\b",
        ],
    ),
    (
        "role_reassignment",
        &[
            r"\byou~(?:are|re)~now~(?:(?:going~to~(?:be|act)|acting|playing)~)?(?:a|an|the|my|as|no~longer|called|named)\b",
            r"\bfrom~(?:now|this~(?:point|moment))~(?:on|onwards?|forward)~you~(?:are|will|must|act|shall|only)\b",
            r"\byour~(?:new|real|true|actual)~(?:role|task|goal|purpose|objective|identity|mission|name)~(?:is|shall|will)\b",
            r"\b(?:pretend|roleplay|role~play|imagine)~(?:(?:to~be|that~you~are|you~are|as)~)(?:a|an|the|my)\b",
        ],
    ),
    (
        "developer_mode",
        &[
            r"\b(?:enable|enter|activate|switch~(?:to|into)|turn~on|you~are~(?:now~)?in)~(?:(?:the|your)~)?(?:developer|god|sudo|unrestricted|unfiltered|dan)~mode\b",
            r"\b(?:developer|god|sudo|unrestricted|unfiltered)~mode~(?:is~(?:now~)?)?(?:enabled|activated|engaged)\b",
        ],
    ),
    (
        "jailbreak",
        &[
            r"\bdo~anything~now\b|\bdan~(?:mode|prompt)\b",
            r"\bjailbreak~(?:mode|prompt|yourself|the~(?:model|assistant|ai))\b|\byou~(?:are|have~been)~jailbroken\b",
            r"\b(?:bypass|disable|ignore|remove|drop)~(?:(?:all|any|your|the|of)~){0,3}(?:(?:safety|content|ethical|moral)~){0,2}(?:guardrails?|safeguards?|safety~(?:filters?|guidelines?|rules?|measures?)|content~polic(?:y|ies)|ethical~guidelines?)\b",
            r"\byou~(?:have|are~bound~by)~no~(?:more~)?(?:restrictions|limitations|filters|guidelines|rules)\b",
        ],
    ),
    (
        "tool_call",
        &[
            r"</?(?:antml:)?(?:tool_calls?|function_calls?|tool_use|tool_code|invoke)\b[^<>\n]{0,120}>",
            r#""(?:tool_calls|function_call|tool_use)"\s{0,4}:\s{0,4}[\[{]|"type"\s{0,4}:\s{0,4}"tool_use""#,
            r"\[/?tool_calls?\]|<\|(?:tool_calls?|python_tag|plugin|tool_calls_begin)\|>",
            r"\baction:[ \t]{0,3}[\w.]{1,60}[ \t]{0,3}\n[ \t]{0,3}action input:",
        ],
    ),
    (
        "role_tag",
        &[
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end|channel|message)\|>",
            r"\[/?inst\]|<</?sys>>|</?(?:start_of_turn|end_of_turn)>",
            r"(?:^|\n)[ \t]{0,3}#{2,4}[ \t]{0,3}(?:system|instruction|assistant|human|response)s?[ \t]{0,2}:",
            r"\n[ \t]{0,3}\n[ \t]{0,3}(?:human|assistant|system)[ \t]{0,2}:[ \t]",
            r"</?(?:system|assistant|human|developer)(?:[_-](?:prompt|message|instructions?))?>",
        ],
    ),
    (
        "delimiter",
        &[
            r"\[(?:end~of~)?untrusted~text\b",
            r"(?:-{3}|={3}|<{2}|#{3})[ \t]{0,3}(?:end|begin|start)~(?:of~)?(?:the~)?(?:untrusted|external|tool|retrieved|document|search)~(?:text|content|data|outcome|output|result|document|context)",
            r"</?(?:untrusted|external|retrieved|tool)[_-](?:text|content|data|output|result|document)>",
        ],
    ),
    (
        "exfil_link",
        &[
            r"!\[[^\]]{0,200}\]\([ <]{0,2}https?:[^)\s?]{1,300}\?",
            r"<img\b[^>]{0,200}\bsrc[^>]{0,20}https?:[^>\s?]{1,300}\?",
            r"!\[[^\]]{0,200}\]\([ <]{0,2}https?://[^)\s]{0,300}(?:\{|%7b|<[a-z])",
        ],
    ),
    (
        "encoded",
        &[
            r"\b(?:decode|decipher|decrypt|unscramble|deobfuscate)\b[^\x00]{0,160}[a-z0-9+/]{40}",
            r"[a-z0-9+/]{40}[a-z0-9+/]{0,400}={0,2}[^a-z0-9+/][^\x00]{0,80}\b(?:decode|decipher|decrypt|unscramble|deobfuscate)\b",
        ],
    ),
];

/// The name of the family that is counted and not matched.
pub(super) const HIDDEN: &str = "hidden_characters";

struct Table {
    set: RegexSet,
    /// Of each pattern: its family, and the pattern alone.
    patterns: Vec<(&'static str, Option<Regex>)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let between = r#"[ \t\r\n\-_.,:;*'"/]{1,8}"#;
    let all = FAMILIES.iter().flat_map(|(family, patterns)| {
        let whole = |pattern: &&str| (*family, pattern.replace('~', between));
        patterns.iter().map(whole).collect::<Vec<_>>()
    });
    let all: Vec<(&'static str, String)> = all.collect();
    let texts = all.iter().map(|(_, pattern)| pattern);
    // A pattern that does not compile matches nothing; a test compiles them all.
    let set = RegexSetBuilder::new(texts).unicode(false).build();
    let alone = |pattern: &str| RegexBuilder::new(pattern).unicode(false).build().ok();
    Table {
        set: set.unwrap_or_else(|_| RegexSet::empty()),
        patterns: all
            .iter()
            .map(|(family, pattern)| (*family, alone(pattern)))
            .collect(),
    }
});

/// The families that a folded text holds.
pub(super) fn families_in(folded: &str) -> Vec<&'static str> {
    let found = TABLE.set.matches(folded.as_bytes()).into_iter();
    let mut families: Vec<_> = found
        .filter_map(|at| TABLE.patterns.get(at).map(|(family, _)| *family))
        .collect();
    families.dedup();
    families
}

/// Where in a folded text one of the families stands, as ranges of bytes in order.
pub(super) fn places_in(folded: &str) -> Vec<(usize, usize)> {
    let found = TABLE.set.matches(folded.as_bytes()).into_iter();
    let patterns = found.filter_map(|at| TABLE.patterns.get(at)?.1.as_ref());
    let mut places: Vec<_> = patterns
        .flat_map(|pattern| pattern.find_iter(folded.as_bytes()))
        .map(|found| (found.start(), found.end()))
        .collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_is_bounded() {
        assert_eq!(TABLE.set.len(), TABLE.patterns.len());
        assert!(TABLE.patterns.iter().all(|(_, pattern)| pattern.is_some()));
        for (family, patterns) in FAMILIES {
            for pattern in *patterns {
                let plain = pattern.replace("++", "").replace("[a-z0-9+/]", "x");
                let plain = plain.replace("[^a-z0-9+/]", "x");
                assert!(!plain.contains(['+', '*']), "{family}: {pattern}");
            }
        }
    }
}
