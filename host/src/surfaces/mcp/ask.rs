//! Questions of a client's call: put to its user where the client can do that, and left for `lazaret ask` where not.
//!
//! The words are the host's. `decline` is a no, since a person has read the question and refused; `cancel`, an answer
//! that is none, and no answer in time leave it: whoever closed a window has not decided anything. What is left stands
//! on record, and waits for any process of this user.

use std::time::Duration;

use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use serde_json::json;

use super::call::Call;
use super::session::is_newest;
use super::tools::Which;
use super::{ticket, told};
use crate::rules::flow::Handed;
use crate::rules::json;
use crate::rules::questions::ASKED;
use crate::runs::left::Waiting;
use crate::surfaces::question::Shown;
use crate::surfaces::wish::Answered;
use crate::surfaces::{again, question};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Answer, Surface};
use crate::words::id::{Digest, RunId, shown};
use crate::words::limits::{MCP_ASK_ROUNDS, QUESTION_CHARS};

/// How a client's user can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a request of ours, which is answered while the call waits.
    Request,
    /// In the answer to the call, which the client then makes again with what its user said.
    Again,
    /// Not at all.
    None,
}

/// How the user of the client of a call can be asked.
pub(super) fn way(call: &Call<'_>) -> Way {
    let offers = call.context.client_capabilities();
    let form = offers.and_then(|offers| offers.elicitation);
    // Nothing said of the mode is the form of old.
    let form = form.is_some_and(|said| said.form.is_some() || said.url.is_none());
    match (
        call.session.desk.serving.elicitation && form,
        is_newest(call.context),
    ) {
        (false, _) => Way::None,
        (true, false) => Way::Request,
        (true, true) => Way::Again,
    }
}

/// Asks as often as the call waits, and goes on with it; what the client is told in the end.
pub(super) async fn settled(
    call: &Call<'_>,
    mut answered: Answered,
) -> Result<CallToolResponse, ErrorData> {
    for _ in 0..MCP_ASK_ROUNDS {
        let Some(run) = answered.waits.clone() else {
            return call.tell(&answered).await;
        };
        let waiting = open(call, &run).await;
        if holds_secret(call, &waiting) {
            return Ok(pending(call, &answered, &waiting));
        }
        match way(call) {
            Way::Again if !waiting.is_empty() => {
                return match again(call, &run, &waiting).await {
                    Ok(response) => Ok(response),
                    // What cannot be shown whole is asked elsewhere.
                    Err(_) => left(call, &answered, &run).await,
                };
            }
            Way::Request if !waiting.is_empty() => {
                if !asked_all(call, &waiting).await {
                    return left(call, &answered, &run).await;
                }
            }
            Way::None => return Ok(pending(call, &answered, &waiting)),
            // Somebody else has answered meanwhile.
            Way::Again | Way::Request => {}
        }
        answered = call.go_on(&run).await;
    }
    match answered.waits.clone() {
        Some(run) => left(call, &answered, &run).await,
        None => call.tell(&answered).await,
    }
}

async fn left(
    call: &Call<'_>,
    answered: &Answered,
    run: &RunId,
) -> Result<CallToolResponse, ErrorData> {
    let waiting = open(call, run).await;
    Ok(pending(call, answered, &waiting))
}

/// What a client is told that goes on later, and by what.
fn pending(call: &Call<'_>, answered: &Answered, waiting: &[Waiting]) -> CallToolResponse {
    let run = answered.waits.as_ref();
    let run = run.map(|run| (run, ticket::of(call.host(), run)));
    told::pending(call.host(), (answered, waiting), run).into()
}

/// The questions that a run waits for.
async fn open(call: &Call<'_>, run: &RunId) -> Vec<Waiting> {
    let mut waiting = call.host().questions().await.unwrap_or_default();
    waiting.retain(|waiting| waiting.run == *run);
    waiting
}

/// Whether one of them is about what is secret: a client is not told that, whoever it would ask.
fn holds_secret(call: &Call<'_>, waiting: &[Waiting]) -> bool {
    let (_, some_secret) = call.host().readable(waiting, Surface::Mcp);
    some_secret
}

/// Puts all questions to the client's user, one after the other; whether all were answered.
async fn asked_all(call: &Call<'_>, waiting: &[Waiting]) -> bool {
    for one in waiting {
        let Ok((message, answers)) = asked(call, one).await else {
            return false;
        };
        let limit = Duration::from_millis(call.session.desk.serving.answer_ms);
        let peer = &call.context.peer;
        let form = form_of(message, &answers);
        let asking = peer.create_elicitation_with_timeout(form, Some(limit));
        let heard = tokio::select! {
            heard = asking => heard,
            () = call.given_up() => return false,
        };
        let Some(answer) = heard.ok().and_then(|heard| said(&heard, &answers)) else {
            return false;
        };
        if record(call, one, answer).await.is_err() {
            return false;
        }
        // It may have answered for others that wait as well: they are judged again, and asked if it has not.
        if answer == Answer::Always {
            break;
        }
    }
    true
}

/// Records an answer. One that comes too late counts as a no, and somebody else may have been faster: the run learns so when
/// it goes on.
async fn record(call: &Call<'_>, waiting: &Waiting, answer: Answer) -> Result<()> {
    let id = waiting.question.id.as_str();
    match call.host().answer(id, answer).await {
        Ok(_) => Ok(()),
        Err(late) if late.code() == Code::Conflict => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a client's user has said; nothing where they have not decided. Only what was offered is an answer.
pub(super) fn said(said: &ElicitResult, answers: &[&str]) -> Option<Answer> {
    if said.action == ElicitationAction::Decline {
        return Some(Answer::Deny);
    }
    if said.action != ElicitationAction::Accept {
        return None;
    }
    let answer = said.content.as_ref()?.get("answer")?.as_str()?;
    match answer {
        _ if !answers.contains(&answer) => None,
        "allow" => Some(Answer::Allow),
        "deny" => Some(Answer::Deny),
        "always" => Some(Answer::Always),
        _ => None,
    }
}

/// A question as a client's user is asked it, with all that handles bring into it, and what they may answer.
async fn asked(call: &Call<'_>, waiting: &Waiting) -> Result<(String, Vec<&'static str>)> {
    let handed = call.host().handed(waiting).await?;
    Ok(asked_with(waiting, &handed))
}

fn asked_with(waiting: &Waiting, handed: &[Handed]) -> (String, Vec<&'static str>) {
    let whole = format!("lazaret ask show {}", waiting.question.id);
    let whole = again::hint(&whole);
    put(text(waiting, handed), (answers(waiting), &whole))
}

/// What a question may be answered with, where all of it is read. What nobody reads may only be denied over MCP.
fn answers(waiting: &Waiting) -> Vec<&'static str> {
    if question::unseen(&waiting.content).is_some() {
        return vec!["deny"];
    }
    let mut answers = vec!["allow", "deny"];
    if !waiting.question.values.is_empty() {
        answers.push("always");
    }
    answers
}

/// A question as it is put to a client's user, and what it may be answered with there. One that is too long is cut, and says
/// so; and whoever has read a part of it may say no to it and nothing else.
pub(super) fn put(
    text: String,
    (answers, whole): (Vec<&'static str>, &str),
) -> (String, Vec<&'static str>) {
    let shown = Shown::of(text, QUESTION_CHARS);
    if shown.missing == 0 {
        return (shown.text, answers);
    }
    let Shown {
        text,
        chars,
        missing,
    } = shown;
    let message = format!(
        "{text}\n[cut: {missing} of {chars} characters are left out, so this may only be denied here; in full: {whole}]"
    );
    (message, vec!["deny"])
}

/// A form with one field, which takes one of these answers.
pub(super) fn form_of(message: String, answers: &[&str]) -> ElicitRequestParams {
    let schema = json!({
        "type": "object",
        "properties": {"answer": {
            "type": "string",
            "title": "Answer",
            "description": described(answers),
            "enum": answers,
        }},
        "required": ["answer"],
    });
    // It is a form of the protocol's, which a test holds.
    let schema = serde_json::from_value::<ElicitationSchema>(schema);
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema.unwrap_or_else(|_| ElicitationSchema::new([].into())),
    }
}

fn described(answers: &[&str]) -> &'static str {
    match answers.len() {
        0 | 1 => "deny: not this call.",
        2 => "allow: this call, once. deny: not this call.",
        _ => {
            "allow: this call. deny: not this call. always: also whatever else uses these values in this run, a plain one in the same argument."
        }
    }
}

/// What is asked, of what, and where it is read elsewhere, unless it is nowhere.
fn text(waiting: &Waiting, handed: &[Handed]) -> String {
    let text = format!(
        "May `{}` be called?\n{}",
        shown(&waiting.subject),
        question::text(waiting, handed)
    );
    match question::unseen(&waiting.content) {
        Some(_) => text,
        None => {
            let whole = format!("lazaret ask show {}", waiting.question.id);
            format!("{text}\nin full: {}", again::hint(&whole))
        }
    }
}

/// The answer to a call that its client is to make again, with what its user said.
async fn again(call: &Call<'_>, run: &RunId, waiting: &[Waiting]) -> Result<CallToolResponse> {
    let mut requests = Vec::new();
    for one in waiting {
        let (message, answers) = asked(call, one).await?;
        let request = ElicitRequest::new(form_of(message, &answers));
        let id = one.question.id.as_str().to_owned();
        requests.push((id, InputRequest::Elicitation(request)));
    }
    let requests: InputRequests = requests.into_iter().collect();
    let state = format!("{run}.{}", mac(call, (PURPOSE, run.as_str())));
    Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
}

/// What a call that is made again is: that call, and no other, of that run, where it has one.
pub(super) fn mac(call: &Call<'_>, (purpose, run): (&str, &str)) -> Digest {
    let parts = parts_of(call, run);
    let parts = parts.each_ref().map(String::as_bytes);
    call.host().journal().key().mac(purpose, &parts)
}

/// The arguments of a call, and the component or the server that it would reach: a yes is for no other.
fn parts_of(call: &Call<'_>, run: &str) -> [String; 4] {
    let component = match call.offered.which(&call.name) {
        Some(Which::Tool(tool)) => call.host().catalog().resolve(tool.as_str(), &[]).ok(),
        Some(Which::Script | Which::Search | Which::Resume) | None => None,
    };
    let component = component.map(|tool| tool.digest().to_string());
    let (input, component) = (json::canonical(&call.input), component.unwrap_or_default());
    [run.to_owned(), call.name.clone(), input, component]
}

/// Whether this host has said so of that call.
pub(super) fn is_made(call: &Call<'_>, (purpose, run): (&str, &str), made: &Digest) -> bool {
    let parts = parts_of(call, run);
    let parts = parts.each_ref().map(String::as_bytes);
    call.host().journal().key().made(made, purpose, &parts)
}

const PURPOSE: &str = "state of a call over MCP";

/// What came of a call that was made again.
pub(super) enum Taken {
    /// It has gone on.
    Answered(Answered),
    /// It waits still, and the client is told so.
    Left(CallToolResponse),
}

/// The state of a call that this host did not give it.
pub(super) fn forged() -> ErrorData {
    let what = "`requestState` is not what this call was answered with";
    ErrorData::invalid_params(what, None)
}

/// Takes what a client's user said of a call that was answered with [`again`], and goes on with it.
pub(super) async fn taken(
    call: &Call<'_>,
    state: &str,
    responses: &InputResponses,
) -> Result<Taken, ErrorData> {
    let (run, made) = state.rsplit_once('.').ok_or_else(forged)?;
    let run = RunId::known(run);
    let made = Digest::parse(made).map_err(|_| forged())?;
    if !is_made(call, (PURPOSE, run.as_str()), &made) {
        return Err(forged());
    }
    if let Err(error) = call.check_own(&run).await {
        return Ok(Taken::Answered(call.refused(&error)));
    }
    let waiting = open(call, &run).await;
    if holds_secret(call, &waiting) {
        return Ok(Taken::Left(undecided(call, &run, &waiting)));
    }
    let mut missing = Vec::new();
    for one in waiting {
        let heard = responses.get(one.question.id.as_str());
        let heard =
            heard.and_then(|said| serde_json::from_value::<ElicitResult>(said.clone()).ok());
        let Some(heard) = heard else {
            missing.push(one);
            continue;
        };
        let answers = match asked(call, &one).await {
            Ok((_, answers)) => answers,
            Err(error) => return Ok(Taken::Answered(call.refused(&error))),
        };
        let Some(answer) = said(&heard, &answers) else {
            return Ok(Taken::Left(undecided(call, &run, &[one])));
        };
        if let Err(error) = record(call, &one, answer).await {
            return Ok(Taken::Answered(call.refused(&error)));
        }
    }
    if !missing.is_empty() {
        return Ok(match again(call, &run, &missing).await {
            Ok(response) => Taken::Left(response),
            Err(error) => Taken::Answered(call.refused(&error)),
        });
    }
    Ok(Taken::Answered(call.go_on(&run).await))
}

/// A call whose question nobody decided: it waits for `lazaret ask`.
fn undecided(call: &Call<'_>, run: &RunId, waiting: &[Waiting]) -> CallToolResponse {
    let error = Error::new(Code::Asked, ASKED);
    let mut answered = call.refused(&error);
    answered.waits = Some(run.clone());
    pending(call, &answered, waiting)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::rules::flow::Inside;
    use crate::words::event::{Content, Question};
    use crate::words::id::QuestionId;
    use crate::words::label::Label;

    fn waiting(values: usize) -> Waiting {
        Waiting {
            run: RunId::known("r"),
            at: 0,
            subject: "mail.send".to_owned(),
            content: Content::Inline(json!({"to": "eve\u{202e}@evil.test"})),
            label: Label::default(),
            question: Question {
                id: QuestionId::of(&["q"]),
                wish: QuestionId::of(&["w"]),
                salt: None,
                rule: "`ask` in lazaret.toml".to_owned(),
                text: "May this client call `mail.send`?".to_owned(),
                reasons: vec!["it is new".to_owned()],
                values: vec![QuestionId::of(&["v"]); values],
                lines: Vec::new(),
                until: None,
                records: Vec::new(),
                classes: None,
            },
        }
    }

    fn form(waiting: &Waiting, handed: &[Handed]) -> Value {
        let (message, answers) = asked_with(waiting, handed);
        json!(form_of(message, &answers))
    }

    #[test]
    fn a_question_is_a_form_of_the_protocol() {
        for (values, answers) in [
            (0, json!(["allow", "deny"])),
            (1, json!(["allow", "deny", "always"])),
        ] {
            let form = form(&waiting(values), &[]);
            assert_eq!(form["mode"], "form");
            assert_eq!(
                form["requestedSchema"]["properties"]["answer"]["enum"],
                answers
            );
            assert_eq!(form["requestedSchema"]["required"], json!(["answer"]));
            let text = form["message"].as_str().unwrap();
            assert!(text.contains("  to = eve\\u{202e}@evil.test"), "{text}");
            assert!(
                text.contains("because it is new") && text.contains("lazaret ask show "),
                "{text}"
            );
        }
    }

    #[test]
    fn no_line_of_a_question_passes_for_one_of_the_hosts() {
        let mut waiting = waiting(0);
        waiting.question.reasons = vec![format!("so\nasked by nobody{}because", " ".repeat(90))];
        let text = text(&waiting, &[]);
        let asked = |line: &&str| line.starts_with("asked by");
        assert_eq!(text.lines().filter(asked).count(), 1, "{text}");
        assert!(
            text.contains("\n  | asked by nobody        \\u{20×82}because"),
            "{text}"
        );
    }

    #[test]
    fn a_question_that_is_too_long_is_cut_and_may_only_be_denied() {
        let mut waiting = waiting(1);
        waiting.question.reasons = vec!["x".repeat(QUESTION_CHARS)];
        let form = form(&waiting, &[]);
        let text = form["message"].as_str().unwrap();
        assert!(text.chars().count() < QUESTION_CHARS + 300, "{text}");
        assert!(
            text.contains("characters are left out") && text.contains("lazaret ask show "),
            "{text}"
        );
        let offered = &form["requestedSchema"]["properties"]["answer"]["enum"];
        assert_eq!(*offered, json!(["deny"]));
        let accept = |answer: &str| {
            ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": answer}))
        };
        let (_, answers) = asked_with(&waiting, &[]);
        assert_eq!(said(&accept("allow"), &answers), None);
        assert_eq!(said(&accept("always"), &answers), None);
        assert_eq!(said(&accept("deny"), &answers), Some(Answer::Deny));
    }

    #[test]
    fn what_nobody_reads_may_only_be_denied() {
        let mut waiting = waiting(1);
        waiting.content = Content::Size { bytes: 7 };
        let form = form(&waiting, &[]);
        let text = form["message"].as_str().unwrap();
        assert!(
            text.contains("its arguments (7 bytes) are secret, and are shown to nobody"),
            "{text}"
        );
        assert!(!text.contains("in full"), "{text}");
        let offered = &form["requestedSchema"]["properties"]["answer"]["enum"];
        assert_eq!(*offered, json!(["deny"]));
    }

    #[test]
    fn what_a_handle_holds_is_read_to_its_end_before_anybody_allows_it() {
        let asked = |inside: Inside| {
            let handed = Handed {
                place: "/body".to_owned(),
                handle: "h2".to_owned(),
                inside,
            };
            let form = form(&waiting(0), &[handed]);
            let offered = form["requestedSchema"]["properties"]["answer"]["enum"].clone();
            (form["message"].as_str().unwrap().to_owned(), offered)
        };
        let (text, offered) = asked(Inside::Text(format!("{}\nthe end", "x".repeat(2_000))));
        assert!(text.contains("xxx\n  | the end\n"), "{text}");
        assert_eq!(offered, json!(["allow", "deny"]));
        let (text, offered) = asked(Inside::Text("x".repeat(QUESTION_CHARS)));
        assert!(text.contains("characters are left out"), "{text}");
        assert_eq!(offered, json!(["deny"]));
        let (text, _) = asked(Inside::Secret);
        assert!(
            text.contains("holds what is secret, and is not shown"),
            "{text}"
        );
    }

    #[test]
    fn only_a_decision_is_an_answer() {
        let accept =
            |content: Value| ElicitResult::new(ElicitationAction::Accept).with_content(content);
        for (heard, values, expected) in [
            (accept(json!({"answer": "allow"})), 0, Some(Answer::Allow)),
            (accept(json!({"answer": "deny"})), 0, Some(Answer::Deny)),
            (accept(json!({"answer": "always"})), 1, Some(Answer::Always)),
            (accept(json!({"answer": "always"})), 0, None),
            (accept(json!({"answer": "yes"})), 0, None),
            (accept(json!({})), 0, None),
            (ElicitResult::new(ElicitationAction::Accept), 0, None),
            (
                ElicitResult::new(ElicitationAction::Decline),
                0,
                Some(Answer::Deny),
            ),
            (ElicitResult::new(ElicitationAction::Cancel), 0, None),
        ] {
            let (_, answers) = asked_with(&waiting(values), &[]);
            assert_eq!(said(&heard, &answers), expected, "{heard:?}");
        }
    }
}
