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
  lazaret runs show 20260314 --json     the run whose name begins so, one record a line")]
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
}

impl Runs {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let journal = open(scene)?;
        match self {
            Self::List { limit } => {
                list(&journal, scene, usize::from(limit).min(RUNS_LISTED)).await
            }
            Self::Show { run } => show(&journal, scene, &run).await,
        }
    }
}

/// The journal alone: looking at it needs no engine and no plugins.
fn open(scene: &Scene) -> Result<Journal> {
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
            print::compact(&json!({"run": first.run, "started": first, "stopped": last}));
        }
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|(first, last)| row(first, last.as_ref()))
        .collect();
    if rows.is_empty() && !scene.quiet {
        print::note("no runs yet");
    }
    if !rows.is_empty() {
        print::line(table(&rows).trim_end());
    }
    Ok(0)
}

fn row(first: &Record, last: Option<&Record>) -> Vec<String> {
    let (subject, goal) = match &first.event {
        Event::Started(started) => (started.subject.clone(), started.goal.clone()),
        Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Observed { .. }
        | Event::Stopped(_) => ("?".to_owned(), String::new()),
    };
    let end = match last.map(|record| &record.event) {
        Some(Event::Stopped(stopped)) => match &stopped.end {
            End::Done { .. } => good("done"),
            End::Failed { code, .. } => {
                let word = serde_json::to_value(code).unwrap_or_default();
                bad(word.as_str().unwrap_or("failed"))
            }
        },
        Some(_) | None => warn("unfinished"),
    };
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

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or(String::new(), |at| {
        at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    })
}
