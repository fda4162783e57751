//! Observing: turning an outcome into what the model may read (U-09, C-30).

use serde_json::{Value, json};

use super::host::Host;
use crate::gate::{end_of, failed};
use crate::guests::dispatch::Outcome;
use crate::rules::caller::Known;
use crate::rules::code_mode::Names;
use crate::rules::flow::handles::{Naming, READ};
use crate::rules::inbound::Marks;
use crate::rules::manifest::Truncation;
use crate::rules::policy::Policy;
use crate::rules::questions::{ASKED, Readable, Waiting};
use crate::rules::sanitise::{preview, truncate, visible};
use crate::rules::script::TOOL;
use crate::rules::scrub::guess::Guess;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{End, Spent, Surface};
use crate::words::label::{Label, Sort, Source};
use crate::words::message::Observation;
use crate::words::whose::recovery;

/// An outcome is scrubbed and labelled already; here it is treated as its label asks for, and becomes
/// inert and bounded. Marks around it are put where a prompt is made (`rules/context.rs`). Hints stay behind: they speak to
/// the operator, and a model that reads policy lines would ask for them.
///
/// What is kept under a handle, because it is too long and its tool asks for that, is told with the handle's name. A
/// run that can keep no more shows what fits.
pub(super) fn observe(
    outcome: &Outcome,
    how: Truncation,
    (policy, known, names): (&Policy, &Known, &Names),
) -> (Observation, Option<String>) {
    let (caps, how) = (&policy.inbound.caps, policy.inbound.caps.how(how));
    let (ok, mut value) = match guessed(&outcome.result, policy.inbound.guess) {
        Ok(value) => (true, value),
        Err(error) => (false, policy.without_origin(&failure(&error)).into()),
    };
    let label = (&outcome.label, &policy.flows.classes);
    let flags = policy.inbound.treat(&mut value, label);
    let text = match &value {
        Value::String(text) => visible(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            visible(&value.to_string())
        }
    };
    let spills = how == Truncation::Spill && ok && !caps.fit(&text);
    let kept = spills.then(|| keep(outcome, policy, known)).flatten();
    let text = match &kept {
        Some(handle) => preview(&text, (handle, &names.read_result), caps),
        None => truncate(&text, how, caps),
    };
    let observation = Observation {
        text,
        ok,
        label: outcome.label.clone(),
        flags,
    };
    (observation, kept)
}

/// Keeps an outcome whole, as it was: whoever reads a part of it reads that as any other outcome.
fn keep(outcome: &Outcome, policy: &Policy, known: &Known) -> Option<String> {
    let value = outcome.result.as_ref().ok()?;
    // No handle is made of what must not be written down, is held already, or stands in no record: whoever goes on with the run
    // would hold nothing under its name.
    let is_recorded = outcome.seq > 0;
    if policy.flows.classes.is_secret(&outcome.label) || outcome.tool == READ || !is_recorded {
        return None;
    }
    let mut handles = known.handles();
    handles.hold(Naming::Next, value, &outcome.label).ok()
}

/// Whether whoever is on the other side of a surface is a model that is told nothing of what is under this influence.
pub(super) fn is_withheld(label: &Label, surface: Surface, policy: &Policy) -> bool {
    surface.is_for_models() && policy.flows.classes.is_secret(label)
}

/// What a model on the other side of a surface is told in place of a secret: of a call that it was made, well or not, or with
/// which code it was turned down, and of a script that it has ended. Whoever may call again as often as they like would learn
/// of a file, byte by byte, by what cannot be read as text. Its own files and logs go nowhere either, nor does what it took: how much a
/// search took says what it has found.
///
/// A script spells what it likes in the words of its failures, and in what it wishes for, which a question quotes. It spells
/// it as well by whether it fails and with which code, run by run, and by whom it names: each tool that it lets fail is a source
/// of its label. So all ends look alike, and the label is one and the same. That a script waits for a person is told, or
/// nobody could go on with it: it chooses that too, but each time a question stands on record that a person finds.
pub(super) fn withhold(outcome: &mut Outcome, surface: Surface, policy: &Policy) {
    if !is_withheld(&outcome.label, surface, policy) {
        return;
    }
    // Nothing was spent on what was turned down.
    let was_made = outcome.spent != Spent::default();
    outcome.trail.logs.clear();
    outcome.trail.artifacts.clear();
    outcome.spent = Spent::default();
    outcome.label = Label::of(Source::new(Sort::Secret, "*"));
    outcome.result = match &outcome.result {
        Err(error) if error.code() == Code::Asked => Err(error.unsaid().hint(READ_ELSEWHERE)),
        Ok(_) | Err(_) if outcome.tool == TOOL => Ok(json!({"ended": true, "withheld": ENDED})),
        Err(error) if !was_made => Err(error.unsaid()),
        Ok(_) | Err(_) => Ok(json!({"done": true, "withheld": WITHHELD})),
    };
}

/// How the run of an outcome ends on record, whoever reads that: as it did, without words that are secret.
pub(super) fn ending(outcome: &Outcome, policy: &Policy) -> End {
    match &outcome.result {
        Err(error) if policy.flows.classes.is_secret(&outcome.label) => failed(&error.unsaid()),
        Ok(_) | Err(_) => end_of(&outcome.result),
    }
}

/// Said of a secret where it would go to a model.
const WITHHELD: &str = "the outcome is secret, and goes to no model, nor does whether it went well; a person may call the tool with `lazaret call`";

/// Said of a script where what came of it is secret, however it has ended.
const ENDED: &str = "what came of the script is secret, and goes to no model, nor does whether it went well; a person finds that \
                     with `lazaret runs show`";

/// Said of a question where its words are secret. Its name is a digest of what is asked, and whoever guesses that knows it when
/// they see the name: so the list of them is named.
const READ_ELSEWHERE: &str = "a person finds it with `lazaret ask list`, and answers it there";

/// What the model of a client is told of a call that waits in place of the words of the question. They quote what handles
/// hold and what a stranger wrote; as far as it may read them they stand beside ([`Host::readable`]), and there is said how the
/// question is allowed, if that is all of it.
pub(super) fn hush(outcome: &mut Outcome, surface: Surface, policy: &Policy) {
    if let Err(error) = &mut outcome.result
        && error.code() == Code::Asked
        && surface.is_for_models()
    {
        *error = hushed(error).with_words(str::to_owned, |hint| policy.without_origin(hint));
    }
}

fn hushed(asked: &Error) -> Error {
    let stays = |hint: &&String| !hint.contains(" ask allow ") && !hint.contains(" ask always ");
    let hints = asked.hints().iter().filter(stays).cloned();
    hints.fold(Error::new(Code::Asked, ASKED), Error::hint)
}

impl Host {
    /// The questions of a run as whoever is on the other side of a surface may read them, and whether there are more.
    #[must_use]
    pub fn readable(&self, waiting: &[Waiting], surface: Surface) -> (Vec<Readable>, bool) {
        let policy = self.policy();
        let told = |one: &&Waiting| !is_withheld(&one.label, surface, policy);
        let read = |one: &Waiting| match surface.is_for_models() {
            true => Readable::by_model(one, policy),
            false => Readable::by_person(one),
        };
        let readable: Vec<Readable> = waiting.iter().filter(told).map(read).collect();
        let more = readable.len() < waiting.len();
        (readable, more)
    }

    /// What whoever is on the other side of a surface for models hears of a call while it is under way: nothing of what is
    /// secret, and the rest without what looks like a secret, and treated as its label asks for.
    #[must_use]
    pub fn overheard(&self, message: &str, label: &Label) -> Option<String> {
        let policy = self.policy();
        if policy.flows.classes.is_secret(label) {
            return None;
        }
        let clean = policy.inbound.guess.clean(message);
        let clean = clean.unwrap_or_else(|| message.to_owned());
        let (said, _flags) = policy
            .inbound
            .treated(clean, (label, &policy.flows.classes));
        Some(said)
    }

    /// What the model of a client is told beside an outcome, as it may read it: treated as its label asks for, and with
    /// what hides in it shown.
    pub fn fit(&self, value: &mut Value, label: &Label) {
        let policy = self.policy();
        let _flags = policy.inbound.tell(value, (label, &policy.flows.classes));
    }

    /// A text as such a model reads it: between marks where its label asks for that. They are of this telling alone, so
    /// that nobody has read them before.
    #[must_use]
    pub fn between_marks(&self, text: String, label: &Label) -> String {
        let policy = self.policy();
        let how = (policy.inbound, &policy.flows.classes);
        Marks::of_run(how, self.journal().key(), &self.new_run()).told(text, label)
    }
}

/// What a model on the other side of a surface reads is treated as its label asks for, as what a model of ours reads, and
/// what hides in it is shown; what it looks like. It stays a value that fits its schema: marks stand around the text that
/// is told beside it ([`Host::between_marks`]). Files that come with it stay whole.
pub(super) fn treat(outcome: &mut Outcome, surface: Surface, policy: &Policy) -> Vec<String> {
    if !surface.is_for_models() {
        return Vec::new();
    }
    let label = outcome.label.clone();
    let (inbound, how) = (policy.inbound, (&label, &policy.flows.classes));
    let read = |text: &str| visible(&inbound.treated(text.to_owned(), how).0);
    // Lines are in no record, so that a replay has none.
    for line in &mut outcome.trail.logs {
        line.message = read(&line.message);
        let _flags = inbound.tell(&mut line.fields, how);
    }
    match &mut outcome.result {
        Ok(value) => inbound.tell(value, how),
        Err(error) => {
            let mut said = json!([error.message(), error.issue_list()]);
            *error = error.with_words(read, read);
            inbound.treat(&mut said, how)
        }
    }
}

/// What is shown to a client of a call: without what looks like a secret. Scripts and tools that called
/// have had the outcome as it was.
pub(super) fn show(outcome: &mut Outcome, guess: Guess) {
    outcome.result = guessed(&outcome.result, guess);
    for line in &mut outcome.trail.logs {
        if let Some(clean) = guess.clean(&line.message) {
            line.message = clean;
        }
        guess.clean_value(&mut line.fields);
    }
}

/// A result without what looks like a secret. Hints are the host's own words, and stay.
fn guessed(result: &Result<Value>, guess: Guess) -> Result<Value> {
    match result {
        Ok(value) => {
            let mut value = value.clone();
            guess.clean_value(&mut value);
            Ok(value)
        }
        Err(error) => {
            let clean = |text: &str| guess.clean(text).unwrap_or_else(|| text.to_owned());
            Err(error.with_words(clean, str::to_owned))
        }
    }
}

/// The reason in the words of O-17, with every issue's place.
fn failure(error: &Error) -> String {
    let mut text = format!("Tool execution failed: {}", error.message());
    for issue in error.issue_list() {
        let place = if issue.path.is_empty() {
            "/"
        } else {
            &issue.path
        };
        text.push_str(&format!("\n- {place}: {}", issue.message));
    }
    // What was meant says it better.
    let code = match error.is_in_doubt() {
        true => Code::InDoubt,
        false => error.code(),
    };
    let advice = error.meant().unwrap_or(recovery(code));
    text.push_str(&format!("\n{advice}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_call_that_waits_says_where_all_that_is_asked_is_read_and_no_more() {
        let asked = Error::new(Code::Asked, "May it call `mail.send` with canary?")
            .hint("it is asked by `ask` in lazaret.toml")
            .hint("lazaret ask show abc123   (all that is asked)")
            .hint("lazaret ask allow abc123")
            .hint("lazaret ask always abc123   (its values)");
        let hushed = hushed(&asked);
        assert_eq!((hushed.code(), hushed.message()), (Code::Asked, ASKED));
        assert_eq!(hushed.hints(), &asked.hints()[..2]);
    }

    /// Advice for the operator would have a model ask for it.
    #[test]
    fn a_model_reads_what_it_may_have_meant_and_no_other_advice() {
        let error = Error::new(Code::Denied, "no line grants it").hint("write `ask = []`");
        let said = failure(&error);
        assert!(said.starts_with("Tool execution failed: no line grants it\n"));
        assert!(!said.contains("write `ask"), "{said}");
        let meant = failure(&error.meaning("there is `files.read`"));
        assert!(meant.ends_with("\nthere is `files.read`"), "{meant}");
        assert!(!meant.contains("write `ask"), "{meant}");
    }
}
