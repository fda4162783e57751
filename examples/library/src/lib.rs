//! The host as a library. What the command line does is a few calls of [`Host`]: open it, start a run, watch it, answer
//! what it asks, go on with it, stop it.
//!
//! The model is scripted; everything else is real: components, files, the gate, the question, the journal.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use lazaret::edges::egress::Names;
use lazaret::runs::host::{Goal, Host, Places, Records};
use lazaret::runs::running::{Reached, Running};
use lazaret::runs::session::{Joining, Session};
use lazaret::surfaces::config;
use lazaret::words::clock::Clock;
use lazaret::words::event::{Answer, Event, Sight, Surface};

const GOAL: &str =
    "How many words has \"in quarantine for forty days\"? Write it to out/figure.txt.";

/// Opens a host by the `lazaret.toml` in a folder. `program` is `lazaret`, which compiles the plugins in a process of its
/// own; `state` is where it keeps the compiled ones and its keys.
///
/// # Errors
/// What is wrong with the file, line by line.
pub async fn open(folder: &Path, program: &Path, state: &Path) -> Result<Arc<Host>> {
    let places = Places {
        state: state.to_owned(),
        records: Records::Folder(folder.join(".lazaret")),
        program: program.to_owned(),
        names: Names::System,
        clock: Clock::system(),
        collector: None,
    };
    let setup = config::setup_of(&folder.join(config::NAME), places)?;
    Ok(Arc::new(Host::open(setup).await?))
}

/// Lets the clerk work; whoever is asked is `person`. What is returned is its answer, and the lines that were seen.
///
/// # Errors
/// How the run failed, or that its question was not the one expected.
pub async fn work(host: &Arc<Host>, person: Answer) -> Result<(String, Vec<String>)> {
    let goal = Goal::new(host.new_run(), Surface::Dev, "clerk", GOAL);
    let run = goal.run.clone();
    let mut seen = Vec::new();

    let waiting = match watched(host.start(goal), &mut seen).await? {
        Reached::Answer(answer) => return Ok((answer, seen)),
        Reached::Waits(waiting) => waiting,
    };
    for waiting in &waiting {
        seen.push(format!("asked: {}", waiting.question.text));
        host.answer(waiting.question.id.as_str(), person).await?;
    }

    // This could be another process, next week.
    match watched(host.go_on(run), &mut seen).await? {
        Reached::Answer(answer) => Ok((answer, seen)),
        Reached::Waits(waiting) => bail!("it asks again: {waiting:?}"),
    }
}

/// Says one thing after the other in a session, and returns the last answer.
///
/// # Errors
/// How a run failed.
pub async fn talk(host: &Arc<Host>, said: &[&str]) -> Result<String> {
    let joining = Joining::now(Session::of("ada", "ships")?);
    let mut last = String::new();
    for words in said {
        let goal = Goal::new(host.new_run(), Surface::Dev, "talker", words);
        last = match host.say(joining.clone(), goal).end().await? {
            Reached::Answer(answer) => answer,
            Reached::Waits(waiting) => bail!("it asks: {waiting:?}"),
        };
    }
    Ok(last)
}

/// Starts a run and stops it as soon as it has begun.
///
/// # Errors
/// Always: that it was cancelled.
pub async fn stopped(host: &Arc<Host>) -> Result<Reached> {
    let mut running = host.start(Goal::new(host.new_run(), Surface::Dev, "clerk", GOAL));
    running.next().await;
    running.stop();
    Ok(running.end().await?)
}

async fn watched(mut running: Running, seen: &mut Vec<String>) -> Result<Reached> {
    while let Some(sight) = running.next().await {
        if let Sight::Record(record) = sight {
            seen.extend(line(&record.event));
        }
    }
    Ok(running.end().await?)
}

fn line(event: &Event) -> Option<String> {
    match event {
        Event::Prompted { turn, model, .. } => Some(format!("turn {turn}: asking {model}")),
        Event::Judged(judged) => Some(format!("{} {}", judged.verdict.word(), judged.subject)),
        Event::Stopped(stopped) => Some(format!("cost {}", stopped.usage.cost)),
        _ => None,
    }
}
