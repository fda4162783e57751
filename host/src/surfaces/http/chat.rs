//! `/v1/chat/completions`: an agent as programs know a model that speaks OpenAI's chat completions.
//!
//! `model` names the agent. The last message of the user is its goal; what stands before it is told beside it, as what
//! the client says was said. Nobody knows who wrote any of it: none of its words is a witness, and instructions are
//! the agent's own. A run that waits for a person says so in its answer, and is answered at `/v1/questions`.
//!
//! Such clients show what they are told as Markdown, to a person who may not even have asked for it: so answers lead
//! nowhere by themselves (`rules/rendered.rs`), and what a question shows stands in a block of code.

mod asked;
mod stream;
mod told;

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response as Answer};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use self::asked::Asked;
use self::told::{Refused, Told};
use super::agents;
use super::answer::{Answered, Failed, ok};
use super::body::{Named, Wished};
use super::shown::lost;
use super::site::Site;
use crate::gate::journal::Watcher;
use crate::runs::host::{Goal, Host};
use crate::runs::session::{Joining, Session};
use crate::surfaces::config::serve::Markdown;
use crate::words::error::{Error, Result};
use crate::words::event::Surface;
use crate::words::id::RunId;
use crate::words::session::LOCAL;

/// Names the session that a completion goes on with.
const SESSION: &str = "x-lazaret-session";

/// A run that answers a completion.
struct Course {
    host: Arc<Host>,
    run: RunId,
    agent: String,
    markdown: Markdown,
    watcher: Watcher,
    work: JoinHandle<Option<Result<String>>>,
}

/// Why a client is turned away that was not let in, in the form that it reads.
pub(super) fn turned_away(path: &str, failed: Failed) -> Answer {
    let theirs = path == "/v1/chat/completions" || path == "/v1/models";
    match theirs || path.starts_with("/v1/models/") {
        true => Refused(failed).into_response(),
        false => failed.into_response(),
    }
}

/// `POST /v1/chat/completions`.
pub(super) async fn complete(
    State(site): State<Site>,
    headers: HeaderMap,
    asked: std::result::Result<Wished<Asked>, Failed>,
) -> Answer {
    match completed(&site, &headers, asked).await {
        Ok(answer) => answer,
        Err(failed) => Refused(failed).into_response(),
    }
}

async fn completed(
    site: &Site,
    headers: &HeaderMap,
    asked: std::result::Result<Wished<Asked>, Failed>,
) -> Answered {
    let Wished(asked) = asked?;
    let streams = asked.streams();
    let course = begin(site, headers, asked).await?;
    match streams {
        Some(with_usage) => stream::answer(site, course, with_usage),
        None => whole(course).await,
    }
}

async fn begin(
    site: &Site,
    headers: &HeaderMap,
    asked: Asked,
) -> std::result::Result<Course, Failed> {
    let host = site.host();
    let session = match headers.get(SESSION) {
        None => None,
        Some(name) => {
            let name = name.to_str().unwrap_or_default();
            Some(Session::of(LOCAL, name)?)
        }
    };
    let agent = agents::chosen(&host, Some(asked.model.clone()))?;
    // A session holds what was said before: it is not told a second time.
    let text = asked.goal(session.is_none())?;
    super::runs::check_prompt(&text)?;
    let goal = Goal {
        answer: asked.schema()?,
        piped: true,
        ..Goal::new(host.new_run(), Surface::Http, &agent, &text)
    };
    let run = goal.run.clone();
    // Before it begins, so that its beginning is seen.
    let watcher = host.watch(&run);
    let work = site
        .underway()
        .begin(&host, (&run, LOCAL), |host, tasks| async move {
            match session {
                Some(session) => host.pursue_in(&Joining::now(session), goal, &tasks).await,
                None => host.pursue(goal, &tasks).await,
            }
        })?;
    Ok(Course {
        host,
        run,
        agent,
        markdown: site.rules().markdown,
        watcher,
        work: work.apart(),
    })
}

/// The whole answer at once.
async fn whole(course: Course) -> Answered {
    let Course {
        host,
        run,
        agent,
        markdown,
        work,
        watcher,
    } = course;
    drop(watcher);
    let answer = work.await.ok().flatten().ok_or_else(lost)?;
    let mut told = Told::of(&host, run, agent, answer).await?;
    if !told.waits() {
        told.text = markdown.told(&told.text);
    }
    ok(&told.completion())
}

/// `GET /v1/models`: the agents.
pub(super) async fn models(State(site): State<Site>) -> Answered {
    let host = site.host();
    let models: Vec<Value> = host.agents().keys().map(|name| model(name)).collect();
    ok(&json!({"object": "list", "data": models}))
}

/// `GET /v1/models/{model}`.
pub(super) async fn one(State(site): State<Site>, Named(name): Named) -> Answer {
    let found = site.host().agents().contains_key(&name);
    let answered = match found {
        true => ok(&model(&name)),
        false => Err(agents::unknown(&name).into()),
    };
    answered.unwrap_or_else(|failed: Failed| Refused(failed).into_response())
}

fn model(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "lazaret"})
}

/// What a client wishes for that an agent cannot do.
fn unfit(what: &str) -> Error {
    Error::bad_input(what)
}
