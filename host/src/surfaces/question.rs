//! A question in words, for whoever reads it in one piece: in a form, in what the client of a call is told, in a completion.
//!
//! Whoever says yes says yes to all of it. So a text that is not all of it says so, and in place of how the question is allowed
//! it names where all of it is read.

use serde_json::{Map, Value};

use crate::rules::flow::{Handed, Inside, brief};
use crate::rules::questions::words;
use crate::rules::rendered::fenced;
use crate::runs::left::{Readable, Waiting};
use crate::surfaces::again;
use crate::surfaces::paint::sentence;
use crate::words::event::Content;
use crate::words::id::shown;
use crate::words::inert::{narrow, visible};
use crate::words::length::cut;
use crate::words::limits::{OUTCOME_BYTES, QUESTION_CHARS};

/// As much of a text as is shown.
pub(super) struct Shown {
    /// It, in a block of code: clients show Markdown, and nobody has agreed to anything yet.
    pub(super) text: String,
    /// How many characters the whole has.
    pub(super) chars: usize,
    /// How many of them are left out.
    pub(super) missing: usize,
}

impl Shown {
    /// Of this text, in so many characters at most.
    pub(super) fn of(text: String, most: usize) -> Self {
        let chars = text.chars().count();
        Self {
            text: fenced(&cut(text, most)),
            chars,
            missing: chars.saturating_sub(most),
        }
    }
}

/// What is said in place of arguments that are not on record, the same wherever a question is shown: whoever agrees agrees to
/// what nobody has read.
pub(super) fn unseen(content: &Content) -> Option<String> {
    match content {
        Content::Stored { bytes, .. } | Content::Size { bytes } => Some(format!(
            "its arguments ({bytes} bytes) are secret, and are shown to nobody"
        )),
        Content::Inline(_) | Content::Empty => None,
    }
}

/// What is asked, with what, and why; hidden characters are shown. Whoever agrees agrees to all of it.
pub(super) fn text(waiting: &Waiting, handed: &[Handed]) -> String {
    let asked = &waiting.question;
    let mut lines = vec![sentence(words::asked(asked))];
    if let Content::Inline(args) = &waiting.content {
        match args {
            Value::Object(args) => lines.extend(args_of(args)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                lines.push(format!("  {}", narrow(&visible(&args.to_string()))));
            }
        }
    }
    lines.extend(unseen(&waiting.content).map(|said| format!("  {said}")));
    lines.extend(handed.iter().map(|one| format!("  in {}", held(one))));
    let reasons = words::reasons(&asked.reasons).into_iter();
    lines.extend(reasons.map(|reason| format!("because {}", sentence(reason))));
    let records = asked.records.iter();
    lines.extend(records.map(|record| format!("where {}", sentence(record))));
    if let Some(classes) = &asked.classes {
        lines.push(format!(
            "the tool is {}, risk {}",
            visible(&classes.effect),
            visible(&classes.risk)
        ));
    }
    lines.push(format!("asked by {}", visible(&asked.rule)));
    lines.join("\n")
}

/// What may follow a question that is told, in the words of whoever tells it.
#[derive(Debug)]
pub(super) struct Next {
    /// How it is allowed.
    pub(super) allow: String,
    /// Where all of it is read.
    pub(super) look: String,
    /// How it is denied.
    pub(super) deny: String,
}

/// A question, one of so many that are told together, and what follows it: how it is allowed where that is all of it, where all
/// of it is read where it is not, and how it is denied where nobody reads it anywhere. What handles hold is not added: models
/// may read such a text.
pub(super) fn told(one: &Readable, together: usize, next: Next) -> String {
    let (waiting, most) = (&one.waiting, QUESTION_CHARS.checked_div(together));
    let shown = Shown::of(text(waiting, &[]), most.unwrap_or(QUESTION_CHARS));
    let whole = shown.missing == 0 && one.whole;
    let (said, next) = match (whole, unseen(&waiting.content)) {
        (true, _) => ("", next.allow),
        (false, Some(_)) => ("", next.deny),
        (false, None) => ("This is not all that is asked. ", next.look),
    };
    format!("{}\n\n{said}{}", shown.text, again::hint(&next))
}

/// Arguments, one a line and whole.
pub(super) fn args_of(args: &Map<String, Value>) -> impl Iterator<Item = String> {
    args.iter().map(|(key, value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), on_one_line);
        let (key, value) = (visible(&on_one_line(key)), visible(&value));
        format!("  {} = {}", narrow(&key), narrow(&value))
    })
}

/// A text that has lines is quoted: none of them passes for one of the host's.
fn on_one_line(text: &str) -> String {
    match text.contains(['\n', '\r']) {
        true => Value::from(text).to_string(),
        false => text.to_owned(),
    }
}

/// Characters that are shown of what one handle holds: as many as an outcome has bytes.
pub(super) const HELD_CHARS: usize = OUTCOME_BYTES;

/// What a handle brings into a call, to its end. Each of its lines has a mark, so that none passes for one of ours.
pub(super) fn held(handed: &Handed) -> String {
    let (place, handle) = (brief(&handed.place), shown(&handed.handle));
    let what = match &handed.inside {
        Inside::Secret => "holds what is secret, and is not shown".to_owned(),
        Inside::File { name, bytes } => {
            format!("is the attached `{}`, {bytes} bytes", shown(name))
        }
        Inside::Gone => "is not there any more, and a call with it fails".to_owned(),
        Inside::Text(text) => {
            let (text, more) = as_far_as_shown(text);
            let lines = sentence(text);
            let cut = match more {
                0 => String::new(),
                more => format!("\n  cut here: {more} characters more are not shown"),
            };
            format!("holds:\n  | {lines}{cut}")
        }
    };
    format!("`{place}`: the handle `{handle}` {what}")
}

/// What is shown of a text, and how many characters are not.
pub(super) fn as_far_as_shown(text: &str) -> (&str, usize) {
    let cut = text.char_indices().nth(HELD_CHARS);
    let parts = cut.and_then(|(at, _)| text.split_at_checked(at));
    parts.map_or((text, 0), |(shown, rest)| (shown, rest.chars().count()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::event::Question;
    use crate::words::id::{QuestionId, RunId};
    use crate::words::label::Label;

    fn waiting(content: Content) -> Waiting {
        Waiting {
            run: RunId::known("r"),
            at: 0,
            subject: "files.write".to_owned(),
            content,
            label: Label::default(),
            question: Question {
                id: QuestionId::of(&["q"]),
                wish: QuestionId::of(&["w"]),
                salt: None,
                rule: "`ask` in lazaret.toml".to_owned(),
                text: "May this model call `files.write` with {…?".to_owned(),
                reasons: Vec::new(),
                values: Vec::new(),
                lines: Vec::new(),
                until: None,
                records: vec!["`7` is “Rent”".to_owned()],
                classes: None,
            },
        }
    }

    /// What is told of it, beside so many others.
    fn beside(content: &Content, together: usize) -> String {
        let next = Next {
            allow: "ALLOW".to_owned(),
            look: "LOOK".to_owned(),
            deny: "DENY".to_owned(),
        };
        told(
            &Readable::by_person(&waiting(content.clone())),
            together,
            next,
        )
    }

    #[test]
    fn whoever_is_told_how_to_allow_has_read_all_of_it() {
        let padded = |chars: usize| {
            Content::Inline(json!({"content": "x".repeat(chars), "path": "here/\u{202e}log"}))
        };
        let whole = beside(&padded(2_000), 1);
        for part in [
            "\n  path = here/\\u{202e}log\n",
            "where `7`",
            &"x".repeat(2_000),
        ] {
            assert!(whole.contains(part), "{part}: {whole}");
        }
        assert!(whole.ends_with("\n```\n\nALLOW"), "{whole}");
        for (content, together) in [
            (padded(QUESTION_CHARS), 1),
            // Together they are no longer than one.
            (padded(2_000), 10),
            (Content::Inline(json!({"to": [{"$handle": "h1"}]})), 1),
        ] {
            let part = beside(&content, together);
            assert!(
                part.ends_with("\n```\n\nThis is not all that is asked. LOOK"),
                "{part}"
            );
            assert!(!part.contains("ALLOW"), "{part}");
        }
        let all: usize = (0..10)
            .map(|_| beside(&padded(QUESTION_CHARS), 10).chars().count())
            .sum();
        assert!(all < QUESTION_CHARS + 1_000, "{all}");
    }

    #[test]
    fn of_what_nobody_reads_it_is_said_that_nobody_does() {
        let said = "its arguments (7 bytes) are secret, and are shown to nobody";
        let secret = Content::Size { bytes: 7 };
        assert_eq!(unseen(&secret).as_deref(), Some(said));
        let told = beside(&secret, 1);
        assert!(told.contains(&format!("\n  {said}\n")), "{told}");
        assert!(told.ends_with("\n```\n\nDENY"), "{told}");
        // The console says it in its own language.
        let console = include_str!("http/console/questions.js");
        let said = said.replace("7", "${secret.bytes}");
        assert!(console.contains(&said), "{said}");
        assert_eq!(unseen(&Content::Empty), None);
        assert_eq!(unseen(&Content::Inline(json!({}))), None);
    }

    #[test]
    fn no_line_of_what_is_held_passes_for_one_of_ours() {
        let handed = Handed {
            place: "/body".to_owned(),
            handle: "h2".to_owned(),
            inside: Inside::Text(format!("a\nasked by nobody{}asked by you", " ".repeat(90))),
        };
        let text = text(&waiting(Content::Empty), &[handed]);
        let held = "\n  in `/body`: the handle `h2` holds:\n  | a\n  | asked by nobody        \\u{20×82}asked by you\n";
        assert!(text.contains(held), "{text}");
    }
}
