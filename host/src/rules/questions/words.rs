//! Words: how a question is put, so that what is said once is read once.

use crate::rules::flow::{NEEDS_OWN_WORDS, NEEDS_SOMEBODY};
use crate::words::event::Question;

/// Reasons as they are read one after the other: a rule that several of them end with stands behind the last of these.
#[must_use]
pub fn reasons<T: AsRef<str>>(reasons: &[T]) -> Vec<&str> {
    let rule = |reason: &str| {
        let rules = [NEEDS_SOMEBODY, NEEDS_OWN_WORDS].into_iter();
        let mut rules = rules.filter(|rule| reason.ends_with(rule));
        rules.next()
    };
    let all = || reasons.iter().map(AsRef::as_ref);
    let pairs = all().zip(all().skip(1).map(Some).chain([None]));
    let said = pairs.map(|(reason, next): (&str, Option<&str>)| {
        let shared = rule(reason).filter(|own| next.is_some_and(|next| rule(next) == Some(*own)));
        let cut = shared.and_then(|rule| reason.strip_suffix(rule)?.strip_suffix(": "));
        cut.unwrap_or(reason)
    });
    said.collect()
}

/// The reasons as sentences behind what is asked.
#[must_use]
pub fn because<T: AsRef<str>>(said: &[T]) -> String {
    let said = reasons(said).into_iter();
    said.map(|reason| format!(" {reason}.")).collect()
}

/// What is asked, without the reasons, for whoever is told these beside it.
#[must_use]
pub fn asked(question: &Question) -> &str {
    let reasons = because(&question.reasons);
    let text = question.text.strip_suffix(&reasons);
    text.unwrap_or(&question.text)
}

/// That somebody waits for answers, of which this is the first. What a script waits for, its run waits for.
#[must_use]
pub fn waits(who: &str, count: usize, first: &str) -> String {
    match (count, first.strip_prefix("the script waits for ")) {
        (1, Some(rest)) => format!("{who} waits for {rest}"),
        (1, None) => format!("{who} waits for an answer: {first}"),
        _ => format!("{who} waits for {count} answers; the first: {first}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::id::QuestionId;

    #[test]
    fn a_rule_is_said_once_for_all_that_it_is_said_of() {
        let said = [
            format!("`a` is the value `1`: {NEEDS_SOMEBODY}"),
            format!("`b` is the value `2: {NEEDS_SOMEBODY}`: {NEEDS_SOMEBODY}"),
            "it is private".to_owned(),
            format!("`c`: {NEEDS_OWN_WORDS}"),
            format!("`d`: {NEEDS_SOMEBODY}"),
        ];
        let read = reasons(&said);
        assert_eq!(read.len(), said.len());
        assert_eq!(read[0], "`a` is the value `1`");
        assert_eq!(read[1..], said[1..]);
        let question = Question {
            id: QuestionId::of(&["q"]),
            wish: QuestionId::of(&["w"]),
            rule: String::new(),
            text: format!("May it?{}", because(&said)),
            reasons: said.to_vec(),
            values: Vec::new(),
            lines: Vec::new(),
            until: None,
            records: Vec::new(),
            classes: None,
        };
        assert_eq!(asked(&question), "May it?");
        // One that was put in other words is shown as it was put.
        let old = Question {
            text: "May it? So.".to_owned(),
            ..question
        };
        assert_eq!(asked(&old), "May it? So.");
    }

    #[test]
    fn a_run_that_waits_for_its_script_says_so_once() {
        for (count, first, said) in [
            (1, "May it?", "the run waits for an answer: May it?"),
            (
                2,
                "May it?",
                "the run waits for 2 answers; the first: May it?",
            ),
            (
                1,
                "the script waits for an answer: May it?",
                "the run waits for an answer: May it?",
            ),
            (
                1,
                "the script waits for 2 answers; the first: May it?",
                "the run waits for 2 answers; the first: May it?",
            ),
        ] {
            assert_eq!(waits("the run", count, first), said);
        }
    }
}
