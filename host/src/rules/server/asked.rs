//! What a server asks for in the middle of a call: words of a person, or an answer of a model. Nothing of it happens
//! unless the operator says so in `[mcp.NAME]`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::form::Form;
use crate::rules::caller::Caller;
use crate::rules::context::tokens::Tokenizer;
use crate::rules::flow::Point;
use crate::rules::inbound::Marks;
use crate::rules::policy::Policy;
use crate::rules::{Allowed, Consent, Durability, Effect, deny, json as text};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Content, Denial, EffectKind, End, Finished, Judged, Verdict};
use crate::words::id::{Digest, Seq, shown};
use crate::words::inert::visible;
use crate::words::label::Label;
use crate::words::length::json_bytes;
use crate::words::limits::servers::{SAMPLE_BYTES, SAMPLE_FRAME_TOKENS, SAMPLE_MESSAGES};
use crate::words::message::{Cost, Message, Prompt, Reply, Usage};

/// Which wish of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// That a person fills a form.
    Form,
    /// That a model answers.
    Reply,
}

impl Want {
    /// The wish of a request by its method, if it is one that can be allowed.
    #[must_use]
    pub fn of(method: &str) -> Option<Self> {
        match method {
            "elicitation/create" => Some(Self::Form),
            "sampling/createMessage" => Some(Self::Reply),
            _ => None,
        }
    }
}

/// What stands before a server's name where a form of it is the subject.
const FORM_OF: &str = "form of ";

/// A form that is put to a person.
#[derive(Clone, Debug)]
pub struct Put {
    /// The server's name.
    pub server: String,
    /// What it wants to know.
    pub form: Form,
    /// The call in whose middle it asks, and how many forms that has put before.
    pub of: (Seq, u32),
}

impl Effect for Put {
    const KIND: EffectKind = EffectKind::Show;
    type Terms = ();

    fn subject(&self) -> String {
        format!("{FORM_OF}{}", super::source(&self.server))
    }

    fn wish(&self) -> String {
        "be told something by you, which goes to its server and nowhere else".to_owned()
    }

    fn content(&self) -> Content {
        Content::Inline(self.form.content())
    }

    fn waits(&self) -> bool {
        true
    }

    /// A form is on record and shown to whoever looks, and what is secret is neither.
    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<()>, Denial> {
        if policy.flows.classes.is_secret(&caller.label) {
            let reason = format!(
                "what the server `{}` asks a person may hold a secret",
                self.server
            );
            return Err(deny("secret", reason));
        }
        let rule = format!("`elicitation` of [mcp.{}]", self.server);
        let (call, nth) = self.of;
        let what = Digest::of(text::canonical(&self.form.content()).as_bytes());
        let point = |line| Point {
            reason: line,
            value: None,
            line: String::new(),
        };
        let consent = Consent::Needed {
            rule: rule.clone(),
            bound_to: vec![self.subject(), what.to_string(), format!("{call} {nth}")],
            open: self
                .form
                .lines(&self.server)
                .into_iter()
                .map(point)
                .collect(),
            lines: Vec::new(),
        };
        Ok(Allowed {
            rule,
            terms: (),
            consent,
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        Durability::Committed
    }
}

/// Whether a judgement is of a form that a person is asked to fill.
#[must_use]
pub fn is_form(judged: &Judged) -> bool {
    judged.effect == EffectKind::Show
        && matches!(judged.verdict, Verdict::Ask(_))
        && form_of(&judged.subject, &judged.content).is_some()
}

/// The form that a question is about, and the server's source, if it is about one.
#[must_use]
pub fn form_of<'a>(subject: &'a str, content: &Content) -> Option<(&'a str, Form)> {
    let source = subject.strip_prefix(FORM_OF)?;
    match content {
        Content::Inline(said) => Some((source, Form::known(said)?)),
        Content::Empty | Content::Stored { .. } | Content::Size { .. } => None,
    }
}

/// What a person has said to a form, on its way to whoever waits for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Filled {
    /// Whether the server is told anything; nothing where whoever was asked has not decided, and will not.
    pub answer: Option<Answer>,
    /// Why not.
    pub reason: String,
    /// What it is told.
    pub content: Value,
}

/// What a server is told in the middle of its call, beside its arguments.
#[derive(Clone, Debug)]
pub struct Told {
    /// The server's name.
    pub server: String,
    /// Which wish of it this answers.
    pub want: Want,
    /// What it is told; of a model's answer, how much it may be.
    pub content: Value,
    /// Whether something in it is known to be secret.
    pub is_secret: bool,
}

impl Effect for Told {
    const KIND: EffectKind = EffectKind::Fetch;
    type Terms = ();

    fn subject(&self) -> String {
        super::source(&self.server).to_string()
    }

    fn wish(&self) -> String {
        format!(
            "tell the server `{}` {}",
            self.server,
            self.content().shown()
        )
    }

    fn content(&self) -> Content {
        match self.is_secret {
            true => Content::Size {
                bytes: json_bytes(&self.content),
            },
            false => Content::Inline(self.content.clone()),
        }
    }

    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<()>, Denial> {
        let key = match self.want {
            Want::Form => "elicitation",
            Want::Reply => "sampling",
        };
        if self.is_secret || policy.flows.classes.is_secret(&caller.label) {
            return Err(deny(
                "secret",
                format!(
                    "what the server `{}` would be told holds a secret",
                    self.server
                ),
            ));
        }
        Ok(Allowed {
            rule: format!("`{key}` of [mcp.{}]", self.server),
            terms: (),
            consent: Consent::NotNeeded,
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        Durability::Committed
    }
}

/// Whether a judgement is of what a server was told in the middle of its call, or had for it, and of no request.
#[must_use]
pub fn is_told(judged: &Judged) -> bool {
    judged.effect == EffectKind::Fetch && judged.subject.starts_with("mcp:")
}

/// The server that a model was asked for, if the judgement is of that and allowed it.
#[must_use]
pub fn sampled_by(judged: &Judged) -> Option<&str> {
    let (Content::Inline(said), Verdict::Allow { rule }) = (&judged.content, &judged.verdict)
    else {
        return None;
    };
    let is_sample =
        is_told(judged) && rule.starts_with("`sampling`") && said.get("model").is_some();
    judged.subject.strip_prefix("mcp:").filter(|_| is_sample)
}

/// What an effect has used of models. Of a model that nobody waited for, which had been asked, it is what was taken for
/// it.
#[must_use]
pub fn used_by(judged: &Judged, finished: &Finished) -> Usage {
    let End::Failed { code, .. } = &finished.end else {
        return finished.spent.usage;
    };
    let is_left = *code == Code::InDoubt && sampled_by(judged).is_some();
    let Content::Inline(said) = &judged.content else {
        return finished.spent.usage;
    };
    if !is_left || !finished.spent.usage.is_nothing() {
        return finished.spent.usage;
    }
    let cost = said.get("cost").cloned();
    let cost = cost.and_then(|cost| serde_json::from_value(cost).ok());
    Usage {
        input_tokens: said.get("reads").and_then(Value::as_u64).unwrap_or(0),
        output_tokens: sample_most(judged),
        cost: cost.unwrap_or_else(Cost::unknown),
        ..Usage::default()
    }
}

/// Tokens that the answer has at most that such a judgement is of.
#[must_use]
pub fn sample_most(judged: &Judged) -> u64 {
    let Content::Inline(said) = &judged.content else {
        return 0;
    };
    said.get("tokens").and_then(Value::as_u64).unwrap_or(0)
}

/// What a server wants of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What it says to the model, each with whose words they are meant to be: `user` or `assistant`.
    said: Vec<(bool, String)>,
    /// What the model is to be.
    system: String,
    /// Tokens of the answer at most.
    pub tokens: u64,
}

impl Sample {
    /// Reads the parameters of `sampling/createMessage`.
    ///
    /// # Errors
    /// `BadInput` for tools, for anything but text, for words of other servers, and for too much of it.
    pub fn read(params: &Value) -> Result<Self> {
        let has = |key: &str| params.get(key).is_some_and(|value| !value.is_null());
        if has("tools") || has("toolChoice") {
            let what = "a model that answers a server has no tools";
            return Err(Error::bad_input(what));
        }
        let context = params.get("includeContext").and_then(Value::as_str);
        if context.is_some_and(|context| context != "none") {
            let what = "a model that answers a server is told nothing of what was said elsewhere";
            return Err(Error::bad_input(what));
        }
        let messages = params.get("messages").and_then(Value::as_array);
        let messages = messages.map(Vec::as_slice).unwrap_or_default();
        if messages.is_empty() || messages.len() > SAMPLE_MESSAGES {
            let what = format!("a wish for a model has from 1 to {SAMPLE_MESSAGES} messages");
            return Err(Error::bad_input(what));
        }
        let said: Vec<(bool, String)> = messages.iter().map(message).collect::<Result<_>>()?;
        let system = params.get("systemPrompt").and_then(Value::as_str);
        let system = system.unwrap_or_default().to_owned();
        let bytes: usize = said.iter().map(|(_, text)| text.len()).sum();
        if bytes.saturating_add(system.len()) > SAMPLE_BYTES {
            let what = "what a server says to a model";
            return Err(Error::too_big(what, SAMPLE_BYTES, bytes));
        }
        Ok(Self {
            said,
            system,
            tokens: params.get("maxTokens").and_then(Value::as_u64).unwrap_or(0),
        })
    }

    /// What the model is asked: nothing of it stands in the system position, and none of it counts as anybody's word but the
    /// server's. Its answer has `most` tokens at most.
    #[must_use]
    pub fn prompt(&self, (label, marks): (&Label, &Marks), most: u64) -> Prompt {
        let mut told = String::from(
            "A server of tools asks you for an answer. What it says stands between marks. Answer it, with nothing but your answer.\n",
        );
        let system = (!self.system.is_empty()).then_some(("It wants you to be", &self.system));
        let said = self.said.iter().map(|(is_user, text)| match is_user {
            true => ("It says", text),
            false => ("It says that you have said", text),
        });
        for (who, text) in system.into_iter().chain(said) {
            told.push_str(&format!(
                "\n{who}:\n{}\n",
                marks.block(&visible(text), label)
            ));
        }
        Prompt {
            instructions: format!("{SAMPLING}\n\n{}", marks.preamble()),
            steady: 0,
            cards: Vec::new(),
            messages: vec![Message::user(told)],
            replies_before: 0,
            shape: None,
            answer_only: false,
            most,
        }
    }

    /// About how many tokens the model reads.
    #[must_use]
    pub fn reads(&self) -> u64 {
        let said = self.said.iter().map(|(_, text)| text.as_str());
        let texts = said.chain([SAMPLING, &self.system]);
        let counts = texts.map(|text| Tokenizer::Estimate.count(text));
        counts.fold(SAMPLE_FRAME_TOKENS, u64::saturating_add)
    }
}

/// What a model is told first that answers a server.
const SAMPLING: &str = "You answer a text that a program outside of this system wrote. You have no tools, know nothing of \
    the run that it serves, and have no secrets to give. Your answer goes to that program.";

/// One message: whether it is meant as a user's, and its text.
fn message(message: &Value) -> Result<(bool, String)> {
    let is_user = message.get("role").and_then(Value::as_str) == Some("user");
    let content = message.get("content").unwrap_or(&Value::Null);
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            std::slice::from_ref(content)
        }
    };
    let mut all = String::new();
    for block in blocks {
        let kind = block
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(said) = block.get("text").and_then(Value::as_str) else {
            let what = format!(
                "a model that answers a server reads text, and no `{}`",
                shown(kind)
            );
            return Err(Error::bad_input(what));
        };
        all.push_str(said);
    }
    Ok((is_user, all))
}

/// What a server is given of a reply.
#[must_use]
pub fn sampled(reply: &Reply, model: &str) -> Value {
    json!({
        "role": "assistant", "content": {"type": "text", "text": reply.text}, "model": model, "stopReason": "endTurn",
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rules::caller::{Budget, Known, Origin};
    use crate::rules::flow::class::Classes;
    use crate::rules::inbound::Inbound;
    use crate::words::clock::Deadline;
    use crate::words::event::{Question, Surface};
    use crate::words::id::{Place, QuestionId, RunId};
    use crate::words::label::{Sort, Source};

    fn said(text: &str) -> Value {
        json!({"role": "user", "content": {"type": "text", "text": text}})
    }

    #[test]
    fn a_model_that_answers_a_server_has_no_tools_and_reads_nothing_else() {
        let with = |key: &str, value: Value| {
            let mut params = json!({"messages": [said("hello")], "maxTokens": 9});
            params[key] = value;
            Sample::read(&params)
        };
        assert_eq!(with("maxTokens", json!(7)).unwrap().tokens, 7);
        assert!(with("includeContext", json!("none")).is_ok());
        for (key, value) in [
            ("tools", json!([])),
            ("toolChoice", json!({"mode": "auto"})),
            ("includeContext", json!("thisServer")),
            ("includeContext", json!("allServers")),
            ("messages", json!([])),
            (
                "messages",
                json!([{"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}}]),
            ),
            ("systemPrompt", json!("x".repeat(SAMPLE_BYTES + 1))),
        ] {
            assert!(with(key, value.clone()).is_err(), "{key}: {value}");
        }
        let many = vec![said("a"); SAMPLE_MESSAGES + 1];
        assert!(with("messages", Value::Array(many)).is_err());
    }

    #[test]
    fn nothing_that_a_server_says_stands_in_the_system_position() {
        let params =
            json!({"messages": [said("canary one")], "systemPrompt": "canary two", "maxTokens": 9});
        let label = Label::of(super::super::source("mail"));
        let classes = Classes::default();
        let marks = Marks::new((Inbound::default(), &classes), "n0nce".to_owned());
        let prompt = Sample::read(&params).unwrap().prompt((&label, &marks), 50);
        assert!(
            !prompt.instructions.contains("canary"),
            "{}",
            prompt.instructions
        );
        let [Message::User { text, .. }] = prompt.messages.as_slice() else {
            panic!("{prompt:?}");
        };
        assert_eq!(text.matches("[untrusted text n0nce").count(), 2, "{text}");
        assert_eq!(prompt.most, 50);
        assert!(prompt.cards.is_empty());
    }

    fn judged(change: impl Fn(&mut Value)) -> Judged {
        let mut judged = json!({"effect": "fetch", "subject": "mcp:mail", "origin": "host",
            "content": {"inline": {"model": "m", "reads": 3, "tokens": 5, "cost": {"micros": 8}}}, "label": ["user"],
            "verdict": {"verdict": "allow", "rule": "`sampling` of [mcp.mail]"}});
        change(&mut judged);
        serde_json::from_value(judged).unwrap()
    }

    #[test]
    fn what_a_model_was_asked_for_a_server_is_known_by_its_record() {
        assert!(is_told(&judged(|_| {})));
        assert_eq!(sampled_by(&judged(|_| {})), Some("mail"));
        for (key, value, told) in [
            ("/effect", json!("call"), false),
            ("/subject", json!("GET https://a.test/"), false),
            ("/verdict/rule", json!("`elicitation` of [mcp.mail]"), true),
            ("/content", json!({"inline": {"name": "a"}}), true),
            ("/content", json!("empty"), true),
        ] {
            let judged = judged(|judged| *judged.pointer_mut(key).unwrap() = value.clone());
            assert_eq!(is_told(&judged), told, "{key}");
            assert_eq!(sampled_by(&judged), None, "{key}");
        }
    }

    #[test]
    fn a_model_that_nobody_waited_for_counts_as_what_it_was_taken_for() {
        let finished = |code: &str, input: u64| -> Finished {
            let mut finished = json!({"of": 1, "end": "failed", "code": code, "message": "gone",
                "label": [], "spent": {"us": 0}});
            if input > 0 {
                finished["spent"]["usage"] =
                    json!({"input_tokens": input, "output_tokens": 1, "cached_tokens": 0});
            }
            serde_json::from_value(finished).unwrap()
        };
        let used = |judged: &Judged, finished: &Finished| {
            let used = used_by(judged, finished);
            (used.input_tokens, used.output_tokens, used.cost)
        };
        let (sample, free) = (judged(|_| {}), Cost::default());
        assert_eq!(used(&sample, &finished("in_doubt", 0)), (3, 5, Cost::of(8)));
        assert_eq!(used(&sample, &finished("in_doubt", 7)), (7, 1, free));
        assert_eq!(used(&sample, &finished("cancelled", 0)), (0, 0, free));
        let unpriced = judged(|judged| judged["content"]["inline"]["cost"] = Value::Null);
        let expected = (3, 5, Cost::unknown());
        assert_eq!(used(&unpriced, &finished("in_doubt", 0)), expected);
        let form =
            judged(|judged| judged["verdict"]["rule"] = json!("`elicitation` of [mcp.mail]"));
        assert_eq!(used(&form, &finished("in_doubt", 0)), (0, 0, free));
    }

    #[test]
    fn a_form_is_known_by_its_record() {
        let question = Question {
            id: QuestionId::of(&["q"]),
            wish: QuestionId::of(&["w"]),
            salt: None,
            rule: String::new(),
            text: String::new(),
            reasons: Vec::new(),
            values: Vec::new(),
            lines: Vec::new(),
            until: None,
            records: Vec::new(),
            classes: None,
        };
        let form = |asks: bool| {
            let mut form = judged(|judged| {
                judged["effect"] = json!("show");
                judged["subject"] = json!("form of mcp:mail");
                judged["content"] = json!({"inline": {"message": "who?", "schema": {}}});
            });
            if asks {
                form.verdict = Verdict::Ask(question.clone());
            }
            form
        };
        assert!(is_form(&form(true)));
        assert!(!is_form(&form(false)));
        let changed = |change: fn(&mut Judged)| {
            let mut form = form(true);
            change(&mut form);
            is_form(&form)
        };
        assert!(!changed(|form| form.effect = EffectKind::Call));
        assert!(!changed(|form| form.subject = "envelope".to_owned()));
        assert!(!changed(|form| form.content = Content::Empty));
    }

    #[test]
    fn whose_words_a_message_is_meant_to_be_is_told() {
        for (role, is_user) in [("user", true), ("assistant", false), ("system", false)] {
            let said = message(&json!({"role": role, "content": {"type": "text", "text": "a"}}));
            assert_eq!(said.unwrap(), (is_user, "a".to_owned()), "{role}");
        }
    }

    fn caller(label: Label) -> Caller {
        Caller {
            run: RunId::known("run"),
            parent: 0,
            place: Place::default(),
            known: Known::default(),
            surface: Surface::Cli,
            origin: Origin::Host,
            reach: Arc::new([]),
            grant: Arc::default(),
            label,
            depth: 0,
            deadline: Deadline::after_ms(1_000),
            budget: Budget::of_calls(0),
        }
    }

    #[test]
    fn nobody_is_shown_a_form_that_may_hold_a_secret() {
        let put = Put {
            server: "mail".to_owned(),
            form: Form {
                message: "who?".to_owned(),
                schema: json!({}),
            },
            of: (1, 0),
        };
        let policy = Policy::nothing("test");
        let server = Label::of(super::super::source("mail"));
        assert!(put.judge(&caller(server.clone()), &policy).is_ok());
        let knows = server.with(Source::new(Sort::Secret, "mail.pin"));
        let denied = put.judge(&caller(knows), &policy).unwrap_err();
        assert_eq!(denied.rule, "secret");
    }

    #[test]
    fn nothing_that_is_secret_is_told_to_a_server() {
        let told = |is_secret| Told {
            server: "mail".to_owned(),
            want: Want::Form,
            content: json!({"name": "sesame"}),
            is_secret,
        };
        let policy = Policy::nothing("test");
        let user = caller(Label::of(Source::user()));
        assert!(told(false).judge(&user, &policy).is_ok());
        let denied = told(true).judge(&user, &policy).unwrap_err();
        assert_eq!(denied.rule, "secret");
        assert!(matches!(told(true).content(), Content::Size { .. }));
        let knows = caller(Label::of(Source::new(Sort::Secret, "token")));
        assert!(told(false).judge(&knows, &policy).is_err());
    }
}
