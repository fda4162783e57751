//! `/v1/runs`: runs of agents, and what became of every run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::agents;
use super::answer::{Answered, Failed, json, ok};
use super::body::{Named, Sought, Wished};
use super::failed::failure;
use super::feed::{state_of, under_way};
use super::shown::lost;
use super::site::Site;
use crate::gate::journal::Watcher;
use crate::rules::flow::class::Class;
use crate::rules::grant::Pattern;
use crate::rules::price::by_model;
use crate::runs::brought::{Listed, held_in};
use crate::runs::flowed::{Flowed, Holds, Steered};
use crate::runs::host::{Goal, Host};
use crate::runs::session::{Joining, Session, user_in};
use crate::surfaces::carried::OverHttp;
use crate::surfaces::{listed, wish};
use crate::words::error::{Error, Result};
use crate::words::event::{Content, End, Event, Record, Sight};
use crate::words::id::{RunId, Seq};
use crate::words::label::Source;
use crate::words::limits::{GOAL_BYTES, RUNS_LISTED};
use crate::words::message::Usage;
use crate::words::session::LOCAL;

/// Runs in a list where nobody says how many.
const LISTED: usize = 20;

/// A goal for an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Begin {
    /// What it shall do.
    prompt: String,
    /// Which agent; the only one where it is left out.
    #[serde(default)]
    agent: Option<String>,
    /// Which model, instead of the agent's own.
    #[serde(default)]
    model: Option<String>,
    /// Go on with this session, or begin it.
    #[serde(default)]
    session: Option<String>,
    /// Whose session it is, where one host serves many; the person's at this machine where it is left out.
    #[serde(default)]
    user: Option<String>,
    /// Wait while another run of the session goes on, and be answered when this one begins; it is refused otherwise.
    #[serde(default)]
    queue: bool,
    /// Fold the session's older turns into a summary first, however few they are.
    #[serde(default)]
    compact: bool,
    /// Values that the model may act on as if a person had typed them, each as a whole.
    #[serde(default)]
    vouch: Vec<String>,
    /// Only these of the agent's tools.
    #[serde(default)]
    tools: Vec<String>,
    /// A person typed the prompt with their own hands.
    #[serde(default)]
    typed: bool,
    /// Who asks. A tool may be for some alone.
    #[serde(default)]
    surface: OverHttp,
}

/// How many.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Most {
    limit: Option<usize>,
}

/// `POST /v1/runs`.
pub(super) async fn begin(State(site): State<Site>, Wished(begin): Wished<Begin>) -> Answered {
    let host = site.host();
    let joining = joining(&begin)?;
    let goal = goal(&host, begin)?;
    let run = goal.run.clone();
    start(&site, &host, goal, joining).await?;
    let state = state_of(&site, &host, &run).await;
    let mut answer = json(StatusCode::CREATED, &json!({"run": run, "state": state}));
    if let Ok(place) = HeaderValue::try_from(format!("/v1/runs/{run}")) {
        answer.headers_mut().insert(LOCATION, place);
    }
    Ok(answer)
}

/// How it joins its session.
fn joining(begin: &Begin) -> Result<Option<Joining>> {
    let Some(name) = &begin.session else {
        let without = [
            ("user", begin.user.is_some()),
            ("queue", begin.queue),
            ("compact", begin.compact),
        ];
        return match without.iter().find(|(_, said)| *said) {
            Some((key, _)) => {
                let what = format!("`{key}` is of a session, and there is none");
                Err(Error::bad_input(what).hint("name it: `\"session\": \"…\"`"))
            }
            None => Ok(None),
        };
    };
    Ok(Some(Joining {
        session: Session::of(begin.user.as_deref().unwrap_or(LOCAL), name)?,
        queue: begin.queue,
        compact: begin.compact,
    }))
}

fn goal(host: &Host, begin: Begin) -> Result<Goal> {
    check_prompt(&begin.prompt)?;
    check_vouched(&begin.vouch)?;
    let agent = agents::chosen(host, begin.agent)?;
    let tools: Result<Vec<Pattern>> = begin.tools.into_iter().map(Pattern::try_from).collect();
    Ok(Goal {
        tools: tools?,
        models: begin.model.into_iter().collect(),
        vouch: begin.vouch,
        piped: !begin.typed,
        ..Goal::new(host.new_run(), begin.surface.into(), &agent, &begin.prompt)
    })
}

/// Whether it is something to pursue.
pub(super) fn check_prompt(prompt: &str) -> Result<()> {
    if prompt.len() > GOAL_BYTES {
        return Err(Error::too_big("the prompt", GOAL_BYTES, prompt.len()));
    }
    match prompt.trim().is_empty() {
        true => Err(Error::bad_input("the prompt is empty")),
        false => Ok(()),
    }
}

/// Whether each of them is a value.
fn check_vouched(values: &[String]) -> Result<()> {
    match values.iter().any(|value| value.trim().is_empty()) {
        true => {
            let what = "`vouch` has an empty value, and nothing is vouched for by one";
            Err(Error::bad_input(what).hint("write a value, such as an address, or leave it out"))
        }
        false => Ok(()),
    }
}

/// Starts a run of an agent, and returns once it has begun.
pub(super) async fn start(
    site: &Site,
    host: &Arc<Host>,
    goal: Goal,
    joining: Option<Joining>,
) -> Result<(), Failed> {
    let run = goal.run.clone();
    let user = joining
        .as_ref()
        .map_or(LOCAL, |joining| joining.session.user())
        .to_owned();
    // Before it begins, so that its beginning is seen.
    let watcher = host.watch(&run);
    let work = site
        .underway()
        .begin(host, (&run, &user), |host, tasks| async move {
            let answer = match joining {
                Some(joining) => host.pursue_in(&joining, goal, &tasks).await,
                None => host.pursue(goal, &tasks).await,
            };
            answer.map(drop)
        })?;
    has_begun(watcher, work.apart()).await
}

/// Goes on with a run that was left, and returns once it does.
pub(super) async fn go_on(site: &Site, host: &Arc<Host>, run: &RunId) -> Result<(), Failed> {
    let user = user_in(&host.journal().records(run).await?).to_owned();
    let watcher = host.watch(run);
    let of = run.clone();
    let work = site
        .underway()
        .begin(host, (run, &user), |host, tasks| async move {
            host.resume(&of, &tasks).await.map(drop)
        })?;
    has_begun(watcher, work.apart()).await
}

/// A run that has a record has begun, and what becomes of it stands there; one that has none has failed.
async fn has_begun(
    mut watcher: Watcher,
    mut work: JoinHandle<Option<Result<()>>>,
) -> Result<(), Failed> {
    loop {
        tokio::select! {
            biased;
            sight = watcher.next() => if matches!(sight, Sight::Record(_)) {
                return Ok(());
            },
            done = &mut work => {
                let done = done.ok().flatten().ok_or_else(lost)?;
                while let Some(sight) = watcher.seen().await {
                    if matches!(sight, Sight::Record(_)) {
                        return Ok(());
                    }
                }
                return Ok(done?);
            }
        }
    }
}

/// `GET /v1/runs`.
pub(super) async fn list(State(site): State<Site>, Sought(most): Sought<Most>) -> Answered {
    let limit = most.limit.unwrap_or(LISTED);
    if !(1..=RUNS_LISTED).contains(&limit) {
        return Err(Error::bad_input(format!("`limit` is 1 to {RUNS_LISTED}")).into());
    }
    let host = site.host();
    let mut runs = Vec::new();
    for (first, mut last, provenance) in host.journal().listed(limit).await? {
        let is_here = site.underway().has(&first.run);
        if is_stale(is_here, &last) {
            (_, last) = host.journal().records_from(&first.run, Seq::MAX).await?;
        }
        let state = match is_here {
            true => "running".to_owned(),
            false => listed::state(&last),
        };
        runs.push(listed::run(&first, &last, &state, provenance));
    }
    ok(&json!({"runs": runs}))
}

/// Whether a run, whose last record this was a moment ago, may have ended here since: it is no longer under way, and
/// has its end on record by now.
fn is_stale(is_here: bool, last: &Record) -> bool {
    !is_here && !listed::rests(last)
}

/// `GET /v1/runs/{run}`.
pub(super) async fn one(State(site): State<Site>, Named(id): Named) -> Answered {
    let host = site.host();
    let run = host.journal().find(&id).await?;
    let mut all = records(&host, &run).await?;
    let is_here = site.underway().has(&run);
    if all.last().is_none_or(|last| is_stale(is_here, last)) {
        all = records(&host, &run).await?;
    }
    let records = all;
    let state = match (is_here, records.last()) {
        (false, Some(last)) => listed::state(last),
        (true, _) | (false, None) => under_way(&site).to_owned(),
    };
    let questions = wish::questions(&host, &run).await?;
    let held: Vec<Value> = held_in(&records).iter().map(held).collect();
    let started = records.first().and_then(listed::began);
    let end = records.last().and_then(end);
    ok(&json!({
        "run": run,
        "state": state,
        "subject": started.map(|started| &started.subject),
        "goal": started.map(|started| &started.goal),
        "answer": end.and_then(answer),
        "error": failure(&records, host.tasks().system()),
        "questions": questions,
        "held": held,
        "usage": usage(&records),
        "models": by_model(&records),
        "records": records,
    }))
}

async fn records(host: &Host, run: &RunId) -> Result<Vec<Record>> {
    let records = host.journal().records(run).await?;
    let shown = records.into_iter();
    Ok(shown.map(|record| host.journal().shown(record)).collect())
}

fn end(last: &Record) -> Option<&End> {
    if let Event::Stopped(stopped) = &last.event {
        return Some(&stopped.end);
    }
    None
}

/// What a run has come to: an agent's words. Of a call its outcome stands in its records.
pub(super) fn answer(end: &End) -> Option<&Value> {
    match end {
        End::Done {
            content: Content::Inline(value),
        } => Some(value),
        End::Done { .. } | End::Failed { .. } => None,
    }
}

/// What its models have read and written, so far.
pub(super) fn usage(records: &[Record]) -> Usage {
    if let Some(Event::Stopped(stopped)) = records.last().map(|last| &last.event) {
        return stopped.usage;
    }
    let mut usage = Usage::default();
    for record in records {
        if let Event::Replied { reply, .. } = &record.event {
            usage.add(reply.usage);
        }
    }
    usage
}

fn held(held: &Listed) -> Value {
    json!({
        "name": held.name,
        "type": held.kind,
        "bytes": held.bytes,
        "tool": held.tool,
        "label": held.label,
    })
}

/// `GET /v1/runs/{run}/flow`.
pub(super) async fn flow(State(site): State<Site>, Named(id): Named) -> Answered {
    let host = site.host();
    let run = host.journal().find(&id).await?;
    let flows = host.flows_in(host.journal(), &run).await?;
    let flows: Vec<Value> = flows.iter().map(flowed).collect();
    ok(&json!({"run": run, "flows": flows}))
}

fn flowed(flowed: &Flowed) -> Value {
    let values: Vec<Value> = flowed.values.iter().map(steered).collect();
    let handles: Vec<Value> = flowed.holds.iter().map(given).collect();
    json!({
        "seq": flowed.seq,
        "subject": flowed.subject,
        "origin": flowed.origin,
        "values": values,
        "handles": handles,
        "sources": classed(&flowed.sources),
        "verdict": flowed.verdict,
        "reason": flowed.verdict.reason(),
    })
}

fn classed(sources: &[(Source, Class)]) -> Vec<Value> {
    let sources = sources.iter().map(|(source, class)| {
        json!({"source": source, "integrity": class.integrity, "secrecy": class.secrecy})
    });
    sources.collect()
}

/// A handle that it was given; its sources are `null` where they are not on record.
fn given(holds: &Holds) -> Value {
    let sources = holds.sources.as_deref();
    json!({
        "argument": holds.taken.argument,
        "handle": holds.taken.handle,
        "sources": sources.map(classed),
        "said": holds.said(|class| class.to_string()),
    })
}

fn steered(steered: &Steered) -> Value {
    let origins = steered.origins.iter();
    let origins: Vec<Value> = origins
        .map(|origin| {
            json!({
                "seq": origin.seq, "tool": origin.tool, "path": origin.path, "label": origin.label,
            })
        })
        .collect();
    let weighed = &steered.weighed;
    json!({
        "argument": weighed.argument,
        "value": weighed.value,
        "kind": weighed.kind,
        "witness": weighed.witness,
        "origins": origins,
    })
}

/// `POST /v1/runs/{run}/cancel`: one that is under way is stopped, one that was left is ended.
pub(super) async fn cancel(State(site): State<Site>, Named(id): Named) -> Answered {
    let host = site.host();
    let run = host.journal().find(&id).await?;
    if !site.underway().stop(&run).await {
        host.abandon(&run).await?;
    }
    let state = state_of(&site, &host, &run).await;
    ok(&json!({"run": run, "state": state}))
}

/// `POST /v1/runs/{run}/resume`.
pub(super) async fn resume(State(site): State<Site>, Named(id): Named) -> Answered {
    let host = site.host();
    let run = host.journal().find(&id).await?;
    go_on(&site, &host, &run).await?;
    let state = state_of(&site, &host, &run).await;
    Ok(json(
        StatusCode::ACCEPTED,
        &json!({"run": run, "state": state}),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_vouched_for_by_an_empty_value() {
        for (value, is_one) in [("a@x.com", true), ("", false), (" \n", false)] {
            let values = ["ACC-1".to_owned(), value.to_owned()];
            assert_eq!(check_vouched(&values).is_ok(), is_one, "{value:?}");
        }
        assert!(check_vouched(&[]).is_ok());
    }
}
