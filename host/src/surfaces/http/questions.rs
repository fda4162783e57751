//! `/v1/questions`: what waits for a person, and their answers.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answered, Failed, ok};
use super::body::{Named, Wished};
use super::feed::state_of;
use super::runs;
use super::site::Site;
use crate::surfaces::{listed, wish};
use crate::words::error::Error;
use crate::words::event::Answer;
use crate::words::id::shown;
use crate::words::limits::SERVE_QUESTION_CHARS;

/// What a person says.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// Yes, to this one call.
    Allow,
    /// Yes, and its values may steer for the rest of the run.
    Always,
    /// No.
    Deny,
}

impl Said {
    fn answer(self) -> Answer {
        match self {
            Self::Allow => Answer::Allow,
            Self::Always => Answer::Always,
            Self::Deny => Answer::Deny,
        }
    }
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Reply {
    /// What a person says.
    answer: Said,
    /// Why not: whoever wished is told so, in at most 500 characters.
    #[serde(default)]
    reason: String,
    /// What a form of a server is answered with: its call is under way, and goes on by itself.
    #[serde(default)]
    content: Option<Value>,
    /// Whether the run goes on, where nothing else of it waits.
    #[serde(default = "yes")]
    resume: bool,
}

fn yes() -> bool {
    true
}

/// `GET /v1/questions`.
pub(super) async fn list(State(site): State<Site>) -> Answered {
    let waiting = site.host().questions().await?;
    let questions: Vec<Value> = waiting.iter().map(listed::question).collect();
    ok(&json!({"questions": questions}))
}

/// `GET /v1/questions/{question}`: all that is asked.
pub(super) async fn one(State(site): State<Site>, Named(id): Named) -> Answered {
    let host = site.host();
    check_name(&id)?;
    let waiting = host.question(&id).await?;
    let handed = host.handed(&waiting).await?;
    ok(&listed::question_in_full(&waiting, &handed))
}

/// `POST /v1/questions/{question}`.
pub(super) async fn answer(
    State(site): State<Site>,
    Named(id): Named,
    Wished(reply): Wished<Reply>,
) -> Answered {
    let host = site.host();
    check_name(&id)?;
    let said = reply.answer.answer();
    let answered = match (said, reply.content) {
        (Answer::Allow, Some(content)) => host.answer_form(&id, content).await,
        (Answer::Always | Answer::Deny, Some(_)) => {
            Err(Error::bad_input("`content` goes with the answer `allow`"))
        }
        (Answer::Allow | Answer::Always | Answer::Deny, None) => {
            host.answer_because(&id, said, &reply.reason).await
        }
    };
    let waiting = answered?;
    let run = waiting.run.clone();
    let is_left = waiting.form().is_none();
    if is_left && reply.resume && wish::questions(&host, &run).await?.is_empty() {
        runs::go_on(&site, &host, &run).await?;
    }
    let state = state_of(&site, &host, &run).await;
    ok(&json!({
        "question": waiting.question.id,
        "answer": waiting.counted(said),
        "run": run,
        "state": state,
    }))
}

/// Over HTTP a question is named by as much of its name as is shown anywhere: nobody answers one by chance.
fn check_name(id: &str) -> Result<(), Failed> {
    if id.len() >= SERVE_QUESTION_CHARS {
        return Ok(());
    }
    let what = format!("question `{}`", shown(id));
    let hint = format!("name it by its first {SERVE_QUESTION_CHARS} characters or more");
    Err(Error::not_found(what).hint(hint).into())
}
