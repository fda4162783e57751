//! What a person has to say to what a rule allows: whether they have, and what they are asked where they have not.

use super::{Gate, Refused};
use crate::rules::advice::{self, ANSWERED};
use crate::rules::caller::{Caller, Led, Origin};
use crate::rules::flow::Point;
use crate::rules::policy::Policy;
use crate::rules::questions::{Against, Said, Unattended, words};
use crate::rules::{Consent, Effect, deny};
use crate::words::error::{Code, Error};
use crate::words::event::{Denial, EffectKind, Question};
use crate::words::id::{Digest, QuestionId};
use crate::words::inert::one_line;

/// A question that a person has answered with yes.
pub(super) struct Answered {
    pub(super) id: QuestionId,
    pub(super) line: String,
    pub(super) reasons: Vec<String>,
}

/// The question about an effect, where it was asked and answered with yes.
pub(super) fn answered<E: Effect>(caller: &Caller, effect: &E, gate: &Gate) -> Option<Answered> {
    let Consent::Needed {
        rule,
        bound_to,
        open,
        ..
    } = effect.judge(caller, &gate.policy).ok()?.consent
    else {
        return None;
    };
    let reasons: Vec<&str> = open.iter().map(|open| open.reason.as_str()).collect();
    let salt = gate.journal.salt(&caller.run);
    let (id, wish) = named(caller, &bound_to, (salt.as_ref(), &reasons));
    let said = caller.known.questions.said((&id, &wish), &reasons);
    (said == Some(Said::Yes)).then(|| Answered {
        id,
        line: rule,
        reasons: open.into_iter().map(|open| open.reason).collect(),
    })
}

/// What follows a no, where a person has said why.
fn in_their_words(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(": \"{}\"", one_line(why)),
    }
}

/// What stands against an effect that a person was asked about. Only calls need a person's word at one time and none at
/// another: whatever else is asked about always does.
fn against<E: Effect>(caller: &Caller) -> Option<Against<'_>> {
    match E::KIND {
        EffectKind::Call => caller.known.questions.against(&caller.place),
        EffectKind::Fetch | EffectKind::File | EffectKind::Keep | EffectKind::Show => None,
    }
}

/// The rule and the reason of a denial of what a person was asked about.
fn refusal(subject: &str, against: Against<'_>) -> (&'static str, String) {
    match against {
        Against::No(why) => (
            ANSWERED,
            format!(
                "a person was asked about `{subject}`, and said no{}",
                in_their_words(why)
            ),
        ),
        Against::Late => (
            "expired",
            format!("a person was asked about `{subject}`, and did not answer in time"),
        ),
    }
}

/// What a person has to say to what a rule allows: the rule in full where they have said yes. Their
/// answer counts once, for this wish at this place. A no stands, also where nobody would be asked any more.
pub(super) fn consent<E: Effect>(
    caller: &Caller,
    effect: &E,
    gate: &Gate,
    (rule, consent): (String, Consent),
) -> Result<String, Refused> {
    let against = against::<E>(caller).map(|against| refusal(&effect.subject(), against));
    let Consent::Needed {
        rule: line,
        bound_to,
        open,
        lines,
    } = consent
    else {
        return match against {
            None => Ok(rule),
            Some((rule, reason)) => Err(Refused::Denied(deny(rule, reason))),
        };
    };
    let subject = effect.subject();
    let reasons: Vec<&str> = open.iter().map(|open| open.reason.as_str()).collect();
    let because = || words::because(&reasons);
    let no = |(rule, reason): (&str, String)| {
        let led = caller.origin == Origin::Model && caller.known.how.led == Led::ByModel;
        let flags = words::flags(&reasons, &effect.content()).filter(|_| led);
        let flags = flags.map(|flags| advice::one_run(&flags));
        Err(Refused::Denied(Denial {
            rule: rule.to_owned(),
            reason,
            allow: lines.iter().cloned().chain(flags).collect(),
        }))
    };
    if let Some(against) = against {
        return no(against);
    }
    let salt = gate.journal.salt(&caller.run);
    let (id, wish) = named(caller, &bound_to, (salt.as_ref(), &reasons));
    let questions = &caller.known.questions;
    let said = questions.said((&id, &wish), &reasons);
    match (said, &caller.origin, gate.policy.asks.unattended) {
        (Some(Said::Yes), ..) => Ok(format!("{line}; question {id} was answered with yes")),
        (Some(Said::No), ..) => no(refusal(&subject, Against::No(questions.why_not(&wish)))),
        (Some(Said::Nothing), ..) => no(refusal(&subject, Against::Late)),
        // A tool in the middle of its call cannot be left and taken up again.
        (None, Origin::Tool(_) | Origin::Host, _) if !effect.waits() => no((
            "ask",
            format!(
                "`{subject}` needs an answer by a person, and a tool's own call cannot wait for one.{}",
                because()
            ),
        )),
        (None, _, Unattended::Deny) => no((
            "unattended",
            format!(
                "`{subject}` needs an answer by a person, and nobody is there to give one (`unattended = \"deny\"`).{}",
                because()
            ),
        )),
        (None, _, Unattended::Pause) => {
            let about = (line, lines, open);
            let names = (id, wish, salt);
            let question = question((caller, effect, &gate.policy), names, about);
            Err(Refused::Asked(Box::new(question)))
        }
    }
}

/// What a person is asked, by this line and for these reasons.
fn question<E: Effect>(
    (caller, effect, policy): (&Caller, &E, &Policy),
    (id, wish, salt): (QuestionId, QuestionId, Option<Digest>),
    (rule, lines, open): (String, Vec<String>, Vec<Point>),
) -> Question {
    let reasons: Vec<&str> = open.iter().map(|open| open.reason.as_str()).collect();
    Question {
        text: format!(
            "May this {} {}?{}",
            caller.origin,
            effect.wish(),
            words::because(&reasons)
        ),
        id,
        wish,
        salt,
        rule,
        values: open.iter().filter_map(|open| open.value.clone()).collect(),
        lines,
        reasons: open.into_iter().map(|open| open.reason).collect(),
        records: effect.records(caller, policy),
        until: None,
        classes: effect.classes().map(Box::new),
    }
}

/// The names of a question and of the wish that it is about. A model and a client are told the first, which must not tell them
/// whether they have guessed what a handle holds; the other stands in the journal alone.
fn named(
    caller: &Caller,
    bound_to: &[String],
    (salt, reasons): (Option<&Digest>, &[&str]),
) -> (QuestionId, QuestionId) {
    let place = caller.place.to_string();
    let mut parts = vec![caller.run.as_str(), &place];
    parts.extend(bound_to.iter().map(String::as_str));
    let wish = QuestionId::of(&parts);
    let why = QuestionId::of(reasons);
    let salt = salt.map(ToString::to_string);
    let named: Vec<&str> = salt
        .iter()
        .map(String::as_str)
        .chain([wish.as_str(), why.as_str()])
        .collect();
    (QuestionId::of(&named), wish)
}

/// A question as an error: whoever called waits, and whoever may answer learns how.
#[must_use]
pub fn asked(question: &Question) -> Error {
    let id = &question.id;
    let error = Error::new(Code::Asked, question.text.clone())
        .hint(format!("it is asked by {}", question.rule))
        // The text is cut, and what a handle holds stands in it in part: how to read all of it comes before how to allow it.
        .hint(format!("lazaret ask show {id}   (all that is asked)"))
        .hint(format!("lazaret ask allow {id}"));
    match question.values.is_empty() {
        true => error,
        false => error.hint(format!("lazaret ask always {id}   ({})", words::ALWAYS)),
    }
}

/// Questions of one step as one error; nothing where there is none.
#[must_use]
pub fn all_asked<'a>(who: &str, asked: impl ExactSizeIterator<Item = &'a Error>) -> Option<Error> {
    let (count, mut asked) = (asked.len(), asked.peekable());
    let first = asked.peek()?.message();
    let message = words::waits(who, count, first);
    let mut hints: Vec<&String> = Vec::new();
    for hint in asked.flat_map(Error::hints) {
        // Several are often asked by one line.
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    let error = Error::new(Code::Asked, message);
    Some(hints.into_iter().cloned().fold(error, Error::hint))
}

#[cfg(test)]
mod tests;
