//! `lazaret runs`: what has happened.

use jiff::Timestamp;
use serde_json::json;

use super::transcript::{Transcript, short};
use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::gate::journal::Journal;
use crate::runs::host::Records;
use crate::surfaces::paint::{bad, faint, good, strong, table, warn};
use crate::words::clock::Clock;
use crate::words::error::Result;
use crate::words::event::{End, Event, Record};
use crate::words::limits::RUNS_LISTED;

/// Look at what has happened.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret runs list --limit 5
  lazaret runs show last                every record of the newest run
  lazaret runs show 20260314 --json     the run whose name begins so, one record a line
  lazaret runs resume                   go on with the newest run, which was left
  lazaret runs cancel 20260314          or end it")]
pub(super) enum Runs {
    /// List runs, newest first.
    List {
        /// At most this many.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show every record of a run.
    Show {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
    },
    /// Go on with a run that was left: one that waits for an answer, or a script that was interrupted.
    Resume {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
    },
    /// End a run that was left; nothing of it goes on.
    Cancel {
        /// The run's name, or its beginning.
        run: String,
    },
}

impl Runs {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        match self {
            Self::List { limit } => {
                let limit = usize::from(limit).min(RUNS_LISTED);
                list(&open(scene)?, scene, limit).await
            }
            Self::Show { run } => show(&open(scene)?, scene, &run).await,
            Self::Resume { run } => {
                let host = scene.open_host().await?;
                let run = host.journal().find(&run).await?;
                super::script::resume(&host, &run, scene).await
            }
            Self::Cancel { run } => {
                let host = scene.open_host().await?;
                let run = host.journal().find(&run).await?;
                host.abandon(&run).await?;
                if !scene.quiet {
                    print::note(format!("cancelled: {run}"));
                }
                Ok(0)
            }
        }
    }
}

/// The journal alone: looking at it needs no engine and no plugins.
pub(super) fn open(scene: &Scene) -> Result<Journal> {
    let config = scene.read_config()?;
    match &config.setup.places.records {
        Records::InMemory => Journal::in_memory(Clock::system()),
        Records::Folder(path) => Journal::open(
            &StateFolder::open(path)?.plain_file("journal.db")?,
            Clock::system(),
        ),
    }
}

async fn list(journal: &Journal, scene: &Scene, limit: usize) -> Result<u8> {
    let runs = journal.runs(limit).await?;
    if scene.json {
        for (first, last) in &runs {
            let stopped = matches!(last.event, Event::Stopped(_)).then_some(last);
            let state = state(last).0;
            print::compact(
                &json!({"run": first.run, "state": state, "started": first, "stopped": stopped}),
            );
        }
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = runs.iter().map(|(first, last)| row(first, last)).collect();
    if rows.is_empty() && !scene.quiet {
        print::note("no runs yet");
    }
    if !rows.is_empty() {
        print::line(table(&rows).trim_end());
    }
    Ok(0)
}

/// Where a run stands, as a word and as it is painted.
fn state(last: &Record) -> (String, String) {
    match &last.event {
        Event::Stopped(stopped) => match &stopped.end {
            End::Done { .. } => ("done".to_owned(), good("done")),
            End::Failed { code, .. } => (code.word(), bad(code.word())),
        },
        Event::Paused { questions } if !questions.is_empty() => {
            ("waiting".to_owned(), warn("waiting"))
        }
        Event::Paused { .. } => ("paused".to_owned(), warn("paused")),
        Event::Started(_)
        | Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Answered { .. }
        | Event::Resumed
        | Event::Observed { .. } => ("unfinished".to_owned(), warn("unfinished")),
    }
}

fn row(first: &Record, last: &Record) -> Vec<String> {
    let (subject, goal) = match &first.event {
        Event::Started(started) => (started.subject.clone(), started.goal.clone()),
        Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Observed { .. }
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Resumed
        | Event::Stopped(_) => ("?".to_owned(), String::new()),
    };
    let end = state(last).1;
    vec![
        strong(&first.run),
        faint(time(first.at)),
        end,
        short(&subject),
        short(&goal),
    ]
}

async fn show(journal: &Journal, scene: &Scene, run: &str) -> Result<u8> {
    let run = journal.find(run).await?;
    let records = journal.records(&run).await?;
    if scene.json {
        for record in &records {
            print::compact(record);
        }
        return Ok(0);
    }
    print::line(format!(
        "{} {}",
        strong(&run),
        faint(
            records
                .first()
                .map_or(String::new(), |first| time(first.at))
        )
    ));
    let mut transcript = Transcript::default();
    for record in &records {
        let Some(line) = transcript.line(record) else {
            continue;
        };
        for (place, line) in line.lines().enumerate() {
            let seq = if place == 0 {
                record.seq.to_string()
            } else {
                String::new()
            };
            print::line(format!("{} {line}", faint(format!("{seq:>4}"))));
        }
    }
    Ok(0)
}

pub(super) fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or(String::new(), |at| {
        at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    })
}
