//! What is kept, and shown, of what somebody says who knows a secret: that it was said.

use crate::rules::flow::class::Classes;
use crate::rules::flow::lines::unsaid;
use crate::words::event::{Content, Glimpse, Verdict, Weighed};
use crate::words::length::json_bytes;

/// What stands on record, and is shown, in place of the words of whoever knows a secret.
pub(super) const SECRET: &str = "secret";

/// Takes out of what stands on record what somebody says who knows a secret.
pub(super) fn hush(content: &mut Content, weighed: &mut [Weighed], verdict: &mut Verdict) {
    for value in weighed {
        value.value = String::new();
    }
    match verdict {
        Verdict::Allow { rule } => *rule = unsaid(rule, SECRET),
        Verdict::Deny(denial) => {
            denial.reason = SECRET.to_owned();
            denial.allow.clear();
        }
        Verdict::Ask(question) => {
            question.text = SECRET.to_owned();
            question.reasons.clear();
            question.records.clear();
            question.lines.clear();
        }
    }
    if let Content::Inline(value) = content {
        let bytes = json_bytes(value);
        *content = Content::Size { bytes };
    }
}

/// Takes out of what is shown what somebody says who knows a secret; whose it is, and how far that has come, stays.
pub(super) fn hush_glimpse(glimpse: &mut Glimpse, classes: &Classes) {
    let (words, label) = match glimpse {
        Glimpse::Progress { message, label, .. } | Glimpse::Said { message, label, .. } => {
            (message, label)
        }
        Glimpse::Artifact { name, label, .. } => (name, label),
        // Of what a run is about to do and what its model says: it is told of no secret.
        Glimpse::Step(_)
        | Glimpse::Text { .. }
        | Glimpse::Thought { .. }
        | Glimpse::Missed { .. } => return,
    };
    if !classes.holds_secret(label) {
        return;
    }
    SECRET.clone_into(words);
    if let Glimpse::Said { fields, .. } = glimpse {
        fields.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::event::{Denial, Question};
    use crate::words::id::QuestionId;
    use crate::words::label::{Label, Sort, Source};

    const CANARY: &str = "the pin is 9431";

    fn question() -> Question {
        Question {
            id: QuestionId::of(&["q"]),
            wish: QuestionId::of(&["w"]),
            salt: None,
            rule: "a rule".to_owned(),
            text: CANARY.to_owned(),
            reasons: vec![CANARY.to_owned()],
            values: Vec::new(),
            lines: vec![CANARY.to_owned()],
            until: Some(7),
            records: vec![CANARY.to_owned()],
            classes: None,
        }
    }

    #[test]
    fn of_a_secret_wish_no_words_are_kept_whatever_is_decided() {
        let denial = Denial {
            rule: "a rule".to_owned(),
            reason: CANARY.to_owned(),
            allow: vec![CANARY.to_owned()],
        };
        for mut verdict in [Verdict::Deny(denial), Verdict::Ask(question())] {
            let word = verdict.word();
            let mut content = Content::Inline(json!({"message": CANARY}));
            let mut weighed = [Weighed {
                argument: "message".to_owned(),
                value: CANARY.to_owned(),
                kind: "value".to_owned(),
                witness: String::new(),
            }];
            hush(&mut content, &mut weighed, &mut verdict);
            let kept = format!("{content:?} {weighed:?} {verdict:?}");
            assert!(!kept.contains(CANARY), "{kept}");
            assert!(kept.contains("a rule") && kept.contains(SECRET), "{kept}");
            assert!(matches!(content, Content::Size { .. }), "{kept}");
            assert_eq!(verdict.word(), word);
        }
        let mut allowed = Verdict::Allow {
            rule: format!("a line; `mode = \"shadow\"` lets pass: `to` is `{CANARY}` (flow_value)"),
        };
        hush(&mut Content::Empty, &mut [], &mut allowed);
        let rule = "a line; `mode = \"shadow\"` lets pass: secret (flow_value)".to_owned();
        assert_eq!(allowed, Verdict::Allow { rule });
        let mut asked = Verdict::Ask(question());
        hush(&mut Content::Empty, &mut [], &mut asked);
        let Verdict::Ask(asked) = asked else {
            panic!("it is a question still");
        };
        assert_eq!((asked.id, asked.until), (QuestionId::of(&["q"]), Some(7)));
    }

    #[test]
    fn of_what_is_secret_a_watcher_is_shown_that_it_was_said() {
        let said = |label: Label| Glimpse::Said {
            of: 1,
            tool: "safe.pin".to_owned(),
            level: "info",
            message: CANARY.to_owned(),
            fields: [("pin".to_owned(), json!(CANARY))].into_iter().collect(),
            label,
        };
        let far = |label: Label| Glimpse::Progress {
            of: 1,
            tool: "safe.pin".to_owned(),
            message: CANARY.to_owned(),
            percent: Some(25.0),
            label,
        };
        let handed = |label: Label| Glimpse::Artifact {
            of: 1,
            tool: "safe.pin".to_owned(),
            id: "artifact-1".to_owned(),
            name: CANARY.to_owned(),
            bytes: 7,
            label,
        };
        let shown = |mut glimpse: Glimpse| {
            hush_glimpse(&mut glimpse, &Classes::default());
            serde_json::to_string(&glimpse).unwrap()
        };
        let open = Label::of(Source::new(Sort::Mcp, "safe"));
        let secret = Label::of(Source::new(Sort::Secret, "safe.pin"));
        for glimpse in [said(open.clone()), far(open.clone()), handed(open)] {
            let whole = serde_json::to_string(&glimpse).unwrap();
            assert!(whole.contains(CANARY), "{whole}");
            assert_eq!(shown(glimpse), whole);
        }
        for (glimpse, words) in [
            (said(secret.clone()), "message"),
            (far(secret.clone()), "message"),
            (handed(secret), "name"),
        ] {
            let shown = shown(glimpse);
            assert!(!shown.contains(CANARY), "{shown}");
            let hushed = format!("\"{words}\":\"secret\"");
            assert!(shown.contains(&hushed), "{shown}");
            assert!(shown.contains("secret:safe.pin"), "{shown}");
        }
    }
}
