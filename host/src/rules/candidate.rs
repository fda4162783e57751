//! Candidates: which of a run's models can take a prompt at all, and which of them may be told it (U-37).
//!
//! What is not said of a model is taken to be so (S-36): a server that cannot do it says so itself. What may be told
//! to whom is never guessed: whoever has said nothing accepts what is private, as a model that the operator
//! configured does, and nobody accepts what is secret.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::flow::class::Classes;
use crate::words::attachment::Attachment;
use crate::words::error::{Code, Error};
use crate::words::id::shown;
use crate::words::label::Label;
use crate::words::length::json_bytes;
use crate::words::message::{Message, Prompt, WishedArgs};
use crate::words::setback::Miss;

/// One model of a run, as its chain sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name in `[models]`.
    pub model: String,
    /// Who provides it: one server with one key, whatever its models are called.
    pub provider: String,
    /// Whether there is a key that could be read again.
    pub has_key: bool,
    /// What it can do.
    pub can: Can,
    /// What it may be told.
    pub accepts: Accepts,
}

/// What a model can do; where nothing is said, whatever it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Can {
    /// Tokens that it reads at once.
    pub context_tokens: Option<u64>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it looks at pictures.
    pub images: Option<bool>,
    /// Whether it reads documents, such as PDFs.
    pub documents: Option<bool>,
    /// Whether it keeps to a shape.
    pub structured: Option<bool>,
}

/// How secret that may be which a model is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accepts {
    /// What anybody may read.
    Public,
    /// What only the user may read, too.
    #[default]
    Private,
}

/// What a prompt asks of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The turn that it is of, from 1; 0 for a question about what is held.
    pub turn: u32,
    /// Its length in tokens, estimated.
    pub tokens: u64,
    /// What it takes beside: each by what a model misses that has it not.
    pub takes: BTreeSet<Miss>,
}

impl Needs {
    /// What this prompt asks, under this label, where so many characters are taken for a token.
    #[must_use]
    pub fn of(
        (turn, prompt): (u32, &Prompt),
        label: &Label,
        (classes, chars_per_token): (&Classes, usize),
    ) -> Self {
        let length = |message: &Message| length(message, chars_per_token);
        let chars = prompt.messages.iter().map(length).sum::<usize>()
            + prompt.instructions.len()
            + prompt.cards.iter().map(card).sum::<usize>();
        let secret = |message: &Message| is_secret(message, classes);
        let messages = || prompt.messages.iter();
        let takes = [
            (Miss::Secret, messages().any(secret)),
            (Miss::Private, classes.is_private(label)),
            (Miss::Tools, !prompt.cards.is_empty()),
            (Miss::Images, messages().any(|message| has(message, true))),
            (
                Miss::Documents,
                messages().any(|message| has(message, false)),
            ),
            (Miss::Structured, prompt.shape.is_some()),
        ];
        Self {
            turn,
            tokens: u64::try_from(chars / chars_per_token.max(1)).unwrap_or(u64::MAX),
            takes: takes
                .into_iter()
                .filter_map(|(miss, is_so)| is_so.then_some(miss))
                .collect(),
        }
    }
}

/// Whether a call has brought what nobody outside may read. Where it has not, a card says that it went well, and a sentence
/// of the host that it failed or was turned down; both have the label of a scalar, as far as bits were left for them. What
/// failed without has told of the secret for nothing, as what went well without.
fn is_secret(message: &Message, classes: &Classes) -> bool {
    match message {
        Message::Tool { observation, .. } => classes.holds_secret(&observation.label),
        Message::User { .. } | Message::Assistant(_) => false,
    }
}

fn length(message: &Message, chars_per_token: usize) -> usize {
    match message {
        Message::User { text, attached } => text.len() + length_of(attached, chars_per_token),
        Message::Assistant(reply) => {
            let args = reply.calls.iter().map(|call| match &call.args {
                WishedArgs::Json(args) => json_bytes(args),
                WishedArgs::Broken(text) => text.len(),
            });
            reply.text.len() + args.sum::<usize>()
        }
        Message::Tool { observation, .. } => observation.text.len(),
    }
}

/// As if it were text.
fn length_of(attached: &[Attachment], chars_per_token: usize) -> usize {
    let tokens: u64 = attached.iter().map(Attachment::tokens).sum();
    usize::try_from(tokens)
        .unwrap_or(usize::MAX)
        .saturating_mul(chars_per_token)
}

/// Whether something of this sort is to be looked at.
fn has(message: &Message, is_picture: bool) -> bool {
    match message {
        Message::User { attached, .. } => attached
            .iter()
            .any(|one| one.tokens() > 0 && one.media.is_picture() == is_picture),
        Message::Assistant(_) | Message::Tool { .. } => false,
    }
}

fn card(card: &crate::words::message::Card) -> usize {
    card.name.len() + card.description.len() + json_bytes(&card.input)
}

impl Candidate {
    /// Why it is not asked, where it is not.
    #[must_use]
    pub fn misses(&self, needs: &Needs) -> Option<Miss> {
        let lacks = |miss: Miss| match miss {
            Miss::Secret => true,
            Miss::Private => self.accepts == Accepts::Public,
            Miss::Tools => self.can.tools == Some(false),
            Miss::Images => self.can.images == Some(false),
            Miss::Documents => self.can.documents == Some(false),
            Miss::Structured => self.can.structured == Some(false),
            // Of these it is not the prompt that says so.
            Miss::Context | Miss::Cooling => false,
        };
        let is_long = |most: u64| needs.tokens > most;
        let first = needs.takes.iter().copied().find(|miss| lacks(*miss));
        first.or_else(|| {
            self.can
                .context_tokens
                .is_some_and(is_long)
                .then_some(Miss::Context)
        })
    }
}

/// Why nobody was asked: each model that was passed over, and the line that would change it.
#[must_use]
pub fn nobody(passed: &[(&str, Miss)], private: &[String]) -> Error {
    let Some((_, worst)) = passed.iter().min_by_key(|(_, miss)| *miss) else {
        return Error::bad_input("there is no model to ask");
    };
    let each = passed
        .iter()
        .map(|(model, miss)| format!("`{}`: {}", shown(model), miss.words()));
    let each = each.collect::<Vec<_>>().join("; ");
    let what = format!("no model of the run is asked: {each}");
    let error = Error::new(code(*worst), what);
    match worst {
        Miss::Private => {
            let from = if private.is_empty() {
                String::new()
            } else {
                format!(" (here: {})", private.join(", "))
            };
            let names = passed.iter().filter(|(_, miss)| *miss == Miss::Private);
            names.fold(error, |error, (model, _)| {
                error.hint(format!(
                    "write `accepts = \"private\"` in `[models.{}]`, if it may be told what is private{from}",
                    shown(model)
                ))
            })
        }
        Miss::Secret => error.hint("what a tool says is secret is for no model"),
        Miss::Context => error.hint("shorten the run, or name a model that reads more tokens"),
        Miss::Tools => error.hint("name a model without `can = { tools = false }`"),
        Miss::Images => error.hint("name a model without `can = { images = false }`"),
        Miss::Documents => error.hint("name a model that reads documents, or attach them as text"),
        Miss::Structured => error.hint("name a model without `can = { structured = false }`"),
        Miss::Cooling => error.hint("try again later, or name a model of another provider"),
    }
}

fn code(miss: Miss) -> Code {
    match miss {
        Miss::Secret | Miss::Private => Code::Denied,
        Miss::Context => Code::TooBig,
        Miss::Tools | Miss::Images | Miss::Documents | Miss::Structured => Code::BadInput,
        Miss::Cooling => Code::ProviderFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::class::{Class, Integrity, Secrecy};
    use crate::words::label::{Sort, Source};
    use crate::words::message::Observation;

    fn candidate(can: Can, accepts: Accepts) -> Candidate {
        Candidate {
            model: "m".to_owned(),
            provider: "p".to_owned(),
            has_key: false,
            can,
            accepts,
        }
    }

    /// What is said of the model, what the prompt needs, why it is not asked.
    #[track_caller]
    fn check(said: &str, needs: &Needs, miss: Option<Miss>) {
        let can = toml::from_str(said).unwrap();
        assert_eq!(
            candidate(can, Accepts::Private).misses(needs),
            miss,
            "{said}"
        );
    }

    #[test]
    fn what_a_model_is_said_not_to_do_it_is_not_asked() {
        let all = Needs {
            tokens: 1_000,
            takes: BTreeSet::from([Miss::Tools, Miss::Images, Miss::Documents, Miss::Structured]),
            ..Needs::default()
        };
        check("", &all, None);
        check("context_tokens = 1000", &all, None);
        check("context_tokens = 999", &all, Some(Miss::Context));
        let can = "tools = true\nimages = true\ndocuments = true\nstructured = true";
        check(can, &all, None);
        check("tools = false", &all, Some(Miss::Tools));
        check("images = false", &all, Some(Miss::Images));
        check("documents = false", &all, Some(Miss::Documents));
        check("structured = false", &all, Some(Miss::Structured));
        check(
            "tools = false\nimages = false\ndocuments = false\nstructured = false\ncontext_tokens = 0",
            &Needs::default(),
            None,
        );
    }

    #[test]
    fn a_prompt_is_as_long_as_its_characters_are_taken_for_tokens() {
        let prompt = Prompt {
            instructions: "a".repeat(12),
            ..Prompt::default()
        };
        let classes = Classes::default();
        let tokens = |chars| Needs::of((1, &prompt), &Label::default(), (&classes, chars)).tokens;
        assert_eq!((tokens(4), tokens(2), tokens(1)), (3, 6, 12));
    }

    #[test]
    fn what_is_private_goes_to_whom_it_may_and_what_is_secret_to_nobody() {
        for (private, secret, accepts, miss) in [
            (false, false, Accepts::Public, None),
            (true, false, Accepts::Public, Some(Miss::Private)),
            (true, false, Accepts::Private, None),
            (false, true, Accepts::Private, Some(Miss::Secret)),
            (true, true, Accepts::Public, Some(Miss::Secret)),
        ] {
            let takes = [(Miss::Private, private), (Miss::Secret, secret)];
            let takes = takes.into_iter().filter(|(_, is_so)| *is_so);
            let needs = Needs {
                takes: takes.map(|(miss, _)| miss).collect(),
                ..Needs::default()
            };
            assert_eq!(candidate(Can::default(), accepts).misses(&needs), miss);
        }
    }

    /// What came of a call, under a label of this source.
    fn came(ok: bool, source: Source) -> Message {
        Message::Tool {
            id: "c1".to_owned(),
            observation: Observation {
                text: "said".to_owned(),
                ok,
                label: Label::of(source),
                flags: Vec::new(),
            },
        }
    }

    fn attached(bytes: &[u8]) -> Message {
        let one = Attachment::new("a.x", bytes.to_vec(), Label::default()).unwrap();
        Message::User {
            text: "look".to_owned(),
            attached: vec![one],
        }
    }

    #[test]
    fn what_a_prompt_needs_is_what_stands_in_it() {
        let secret = || Source::new(Sort::Secret, "token");
        let page = Source::new(Sort::Web, "https://a.test");
        let keys = Class {
            integrity: Integrity::Trusted,
            secrecy: Secrecy::Secret,
        };
        let classes = Classes {
            said: [("file:keys".to_owned(), keys)].into(),
            ..Classes::default()
        };
        for (message, expected) in [
            (Message::user("hi"), None),
            (came(true, secret()), Some(Miss::Secret)),
            (came(false, secret()), Some(Miss::Secret)),
            (came(true, page), None),
            (
                came(true, Source::new(Sort::File, "keys")),
                Some(Miss::Secret),
            ),
            // That something of it went well, or did not.
            (came(true, Source::new(Sort::Scalar, "file:keys")), None),
            (came(false, Source::new(Sort::Scalar, "file:keys")), None),
            (came(true, secret().of_scalar()), None),
            (came(false, secret().of_scalar()), None),
            (attached(b"GIF89a chart"), Some(Miss::Images)),
            (attached(b"%PDF-1.4 report"), Some(Miss::Documents)),
            (attached(b"a text"), None),
        ] {
            let prompt = Prompt {
                messages: vec![message.clone()],
                ..Prompt::default()
            };
            let needs = Needs::of((1, &prompt), &Label::default(), (&classes, 4));
            let expected = expected.into_iter().collect();
            assert_eq!(needs.takes, expected, "{message:?}");
        }
    }

    #[test]
    fn who_is_left_with_nobody_is_told_why_and_what_to_write() {
        let passed = [("a", Miss::Cooling), ("b", Miss::Private)];
        let error = nobody(&passed, &["file:docs".to_owned()]);
        assert_eq!(error.code(), Code::Denied);
        assert!(
            error.message().contains("`a`: its provider"),
            "{}",
            error.message()
        );
        let hint = error.hints().concat();
        assert!(
            hint.contains("`accepts = \"private\"` in `[models.b]`"),
            "{hint}"
        );
        assert!(hint.contains("file:docs"), "{hint}");
        assert_eq!(nobody(&[], &[]).code(), Code::BadInput);
        let cooling = nobody(&[("a", Miss::Cooling)], &[]);
        assert!(cooling.is_retryable());
    }
}
