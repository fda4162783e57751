//! Words: how a question is put, so that what is said once is read once.

use crate::rules::flow::kind::text_of;
use crate::rules::flow::{NEEDS_OWN_WORDS, NEEDS_SOMEBODY, shell_word};
use crate::rules::manifest::EffectClass;
use crate::words::event::{Content, Question};
use crate::words::id::is_hidden;
use crate::words::inert::narrow;

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

/// What lets pass in one run what no line does: the flag that says the values of a model's call that cannot be undone as
/// its user's own words. Nothing where it is asked about anything else as well, or where a value is held.
#[must_use]
pub fn for_one_run(question: &Question, content: &Content) -> Option<String> {
    let by_model = question.text.starts_with("May this model ");
    let flags = flags(&question.reasons, content).filter(|_| by_model)?;
    Some(format!(
        "no line ends questions about what cannot be undone; a run that begins with `lazaret run …{flags}` is not asked this"
    ))
}

/// The flags themselves.
#[must_use]
pub fn flags<T: AsRef<str>>(reasons: &[T], content: &Content) -> Option<String> {
    let Content::Inline(args) = content else {
        return None;
    };
    let flag = |reason: &T| {
        let about = reason.as_ref().strip_suffix(NEEDS_OWN_WORDS)?;
        let (path, _) = about.strip_prefix('`')?.split_once('`')?;
        // One that is cut, or not shown as it is, may be the name of another argument.
        let is_path = !path.contains(['\\', '…']);
        let value = text_of(args.pointer(&format!("/{path}")).filter(|_| is_path)?)?;
        // In a wide gap the flag would go on below itself.
        let is_plain = !value.chars().any(is_hidden) && narrow(&value) == value;
        is_plain.then(|| format!(" --vouch {}", shell_word(&value)))
    };
    let flags: Option<String> = reasons.iter().map(flag).collect();
    flags.filter(|flags| !flags.is_empty())
}

/// What `always` lets pass beside the call that is asked about.
pub const ALWAYS: &str =
    "its values may then steer for the rest of the run, a plain value in the same argument alone";

/// Why `always` says no more to a question than `allow`.
#[must_use]
pub fn why_once(question: &Question) -> Option<&'static str> {
    let classes = question.classes.as_ref();
    let destroys = classes.is_some_and(|said| said.effect == EffectClass::Destructive.word());
    match (question.values.is_empty(), destroys) {
        (false, _) => None,
        (true, true) => Some("only this once: what cannot be undone is asked about each time"),
        (true, false) => Some("only this once: it was asked about no value that could steer again"),
    }
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
    use crate::words::event::Classes;
    use crate::words::id::QuestionId;
    use serde_json::json;

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
            salt: None,
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
    fn what_cannot_be_undone_has_a_flag_for_one_run_and_no_line() {
        let asked = |who: &str, reasons: &[String]| Question {
            id: QuestionId::of(&["q"]),
            wish: QuestionId::of(&["w"]),
            salt: None,
            rule: String::new(),
            text: format!("May this {who} call `mail.delete`?"),
            reasons: reasons.to_vec(),
            values: Vec::new(),
            lines: Vec::new(),
            until: None,
            records: Vec::new(),
            classes: Some(Box::new(Classes {
                effect: "destructive".to_owned(),
                risk: "high_risk".to_owned(),
            })),
        };
        let own = |path: &str| format!("`{path}` of `mail.delete` is it: {NEEDS_OWN_WORDS}");
        let content = Content::Inline(json!({
            "id": "m 3", "of": ["a", "b\u{202e}", "c          d"], "held": {"$handle": "h1"},
            "x\\u{a}": "e", "y…": "f",
        }));
        let flags = |who: &str, reasons: &[String]| {
            let said = for_one_run(&asked(who, reasons), &content)?;
            let (_, flags) = said.split_once("lazaret run …")?;
            Some(flags.split_once('`')?.0.to_owned())
        };
        let both = [own("id"), own("of/0")];
        assert_eq!(
            flags("model", &both).as_deref(),
            Some(" --vouch 'm 3' --vouch a")
        );
        for reasons in [
            vec![],
            vec![own("id"), "it is private".to_owned()],
            vec![format!("`id` of `mail.delete`: {NEEDS_SOMEBODY}")],
            vec![own("of/1")],
            vec![own("of/2")],
            vec![own("x\\u{a}")],
            vec![own("y…")],
            vec![own("held")],
            vec![own("none")],
        ] {
            assert_eq!(flags("model", &reasons), None, "{reasons:?}");
        }
        // A client has no such flag.
        assert_eq!(flags("client", &both), None);
        let why = why_once(&asked("model", &both));
        assert!(why.unwrap().ends_with("asked about each time"));
        let plain = Question {
            classes: None,
            ..asked("model", &both)
        };
        assert!(why_once(&plain).unwrap().contains("no value"));
        let values = Question {
            values: vec![QuestionId::of(&["v"])],
            ..plain
        };
        assert_eq!(why_once(&values), None);
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
