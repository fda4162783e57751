//! `lazaret runs`: what has happened.

mod chosen;
mod prune;
mod repair;

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::json;

use self::chosen::Chosen;
use super::transcript::{Transcript, short};
use super::{Scene, audit, print, replay, watch};
use crate::gate::journal::{Journal, Provenance};
use crate::rules::flow::shell_word;
use crate::rules::price::by_model;
use crate::runs::audit::Audit;
use crate::runs::brought::{Listed, bits_gone, held_in};
use crate::surfaces::listed;
use crate::surfaces::paint::{bad, faint, good, strong, table, warn};
use crate::words::error::Result;
use crate::words::event::{End, Event, Record};
use crate::words::id::RunId;
use crate::words::inert::one_line;
use crate::words::limits::RUNS_LISTED;
use crate::words::message::Usage;

/// Look at what has happened.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret runs list --status waiting    see `lazaret runs list --help` for what else chooses
  lazaret runs show last                what happened in the newest run
  lazaret runs show 20260314 --json     every record of the run whose name begins so, one a line
  lazaret runs show last --audit        only what was decided, with labels
  lazaret runs watch last               what happens in a run, also of another process
  lazaret runs verify --all             whether every record is as it was written
  lazaret runs export last --output run.jsonl
  lazaret runs replay last              run it again, offline, and compare every record
  lazaret runs replay last --until 2 --fork   go on from the end of turn 2, as a new run
  lazaret runs resume                   go on with the newest run, which was left
  lazaret runs cancel 20260314          or end it
  lazaret runs prune --older 30d        take out what ended a month ago
  lazaret runs repair                   copy what can still be read of a damaged journal")]
pub(super) enum Runs {
    /// List runs, newest first.
    ///
    /// What is asked for is looked for among the newest 1000 runs. A run stays in the journal until `prune` takes it out.
    #[command(after_help = "Examples:
  lazaret runs list --status waiting           those that wait for an answer
  lazaret runs list --status failed --since 7d
  lazaret runs list --agent writer --limit 100 --json")]
    List {
        #[command(flatten)]
        chosen: Chosen,
        /// At most this many.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show what has happened in a run; every record of it with `--json`.
    Show {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
        /// Only what was decided: verdicts, questions and answers, one a line, with labels.
        #[arg(long)]
        audit: bool,
    },
    /// Show records of a run as they are written, also by another process, until it ends or is left.
    Watch {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
        /// From this record on: what was seen before is not shown again.
        #[arg(long, value_name = "PLACE", default_value_t = 0)]
        from: u64,
    },
    /// Say whether the records of a run are those that were written.
    Verify {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last", conflicts_with = "all")]
        run: String,
        /// Every run.
        #[arg(long)]
        all: bool,
    },
    /// Write a run as JSON lines that another journal can take in.
    Export {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
        /// Into this new file instead of standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// As records, or as the spans that a collector would be told (OTLP in JSON).
        #[arg(long, value_enum, default_value_t)]
        format: audit::Format,
        /// Without what has become a secret since the run was recorded. Nobody vouches for such an export.
        #[arg(long)]
        redacted: bool,
    },
    /// Take in an exported run, to look at. What another host wrote is marked, and nothing goes on with it.
    Import {
        /// What `export` wrote; `-` for standard input.
        file: PathBuf,
    },
    /// Run a run again, offline, and say where it goes another way: answers come from its records, and everything else
    /// is decided anew, with this policy and these plugins.
    Replay {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
        /// Only up to the end of this turn.
        #[arg(long, value_name = "TURN")]
        until: Option<u32>,
        /// Go on from there as a new run, in place of replaying.
        #[arg(long, requires = "until")]
        fork: bool,
    },
    /// Go on with a run that was left: one that waits for an answer, or a script that was interrupted.
    Resume {
        /// The run's name, its beginning, or `last`.
        #[arg(default_value = "last")]
        run: String,
    },
    /// Take runs that have ended out of the journal, with all that they hold.
    ///
    /// What is taken out is gone: its records, what its handles held, and which key its client gave it. Every other run
    /// stays as it was written, and so do files, notes and the labels on them. A run that has not ended stays, and so
    /// does one of a session that goes on.
    #[command(after_help = "Examples:
  lazaret runs prune --older 30d --dry-run     what would go
  lazaret runs prune --older 30d
  lazaret runs prune 20260314-0912 20260314-0915")]
    Prune {
        /// Their names, or the beginnings of these.
        runs: Vec<String>,
        /// All that ended so long ago: `12h`, `30d`, `8w`.
        #[arg(long, value_name = "AGE", value_parser = prune::parse_age, conflicts_with = "runs")]
        older: Option<u64>,
        /// Only say what would go.
        #[arg(long)]
        dry_run: bool,
    },
    /// End a run that was left; nothing of it goes on.
    Cancel {
        /// The run's name, or its beginning.
        run: String,
    },
    /// Copy what of a damaged journal can still be read, and is as it was written, into a new one beside it; say what is
    /// lost.
    #[command(after_help = "Examples:
  lazaret runs repair               the copy is `journal-repaired.db`; the damaged one stays
  lazaret runs repair --replace     the copy takes its place; that one is `journal-damaged.db`

A run that had not ended and waits for nobody ends with the copy: what came after its last
record may have happened. Before the copy takes its place, end whatever else of lazaret runs.")]
    Repair {
        /// Put the copy in the place of the damaged one, which is kept.
        #[arg(long)]
        replace: bool,
    },
}

impl Runs {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        match self {
            Self::List { chosen, limit } => {
                let limit = usize::from(limit).min(RUNS_LISTED);
                list(open(scene)?.journal(), scene, (&chosen, limit)).await
            }
            Self::Show { run, audit: true } => audit::show(scene, &run).await,
            Self::Show { run, audit: false } => show(scene, &run).await,
            Self::Prune {
                runs,
                older,
                dry_run,
            } => prune::prune(scene, (&runs, older), dry_run).await,
            Self::Verify { run, all } => audit::verify(scene, (!all).then_some(&run)).await,
            Self::Watch { run, from } => watch::watch(scene, &run, from).await,
            Self::Export {
                run,
                output,
                format,
                redacted,
            } => audit::export(scene, (&run, format, redacted), output.as_deref()).await,
            Self::Import { file } => audit::import(scene, &file).await,
            Self::Replay {
                run,
                until: Some(turn),
                fork: true,
            } => replay::fork(scene, &run, turn).await,
            Self::Replay { run, until, .. } => replay::replay(scene, &run, until).await,
            Self::Resume { run } => {
                let host = scene.open_host().await?;
                let run = scene.find(host.journal(), &run).await?;
                super::script::resume(&host, &run, scene).await
            }
            Self::Repair { replace } => repair::repair(scene, replace).await,
            Self::Cancel { run } => {
                // To end a run nothing has to be trusted.
                let host = scene.open(scene.look_at_config()?.setup).await?;
                let run = scene.find(host.journal(), &run).await?;
                host.abandon(&run).await?;
                if scene.json {
                    print::compact(&json!({"ok": true, "run": run, "state": "cancelled"}));
                } else if !scene.quiet {
                    print::note(format!("cancelled: {run}"));
                }
                Ok(0)
            }
        }
    }
}

/// The journal alone: looking at it needs no engine and no plugins.
pub(super) fn open(scene: &Scene) -> Result<Audit> {
    let setup = scene.look_at_config()?.setup;
    Audit::of(&setup)
}

async fn list(journal: &Journal, scene: &Scene, (chosen, limit): (&Chosen, usize)) -> Result<u8> {
    let runs = journal.listed(chosen.looked_at(limit)).await?;
    let (looked_at, now) = (runs.len(), journal.clock().now_ms());
    let runs = chosen.of(runs, (limit, now));
    if scene.json {
        print::list(runs.iter().map(|(first, last, provenance)| {
            let stopped = matches!(last.event, Event::Stopped(_)).then_some(last);
            let (state, imported) = (state(last).0, *provenance != Provenance::Here);
            json!({"run": first.run, "state": state, "imported": imported,
                "started": first, "stopped": stopped})
        }));
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|(first, last, provenance)| row(first, last, *provenance))
        .collect();
    if rows.is_empty() && !scene.quiet {
        print::note(match looked_at {
            0 => "no runs yet".to_owned(),
            count => format!("none of the newest {}", print::counted(count, "run")),
        });
    }
    if !rows.is_empty() {
        print::marked_line(table(&rows).trim_end());
    }
    Ok(0)
}

/// Where a run stands, as a word and as it is painted.
pub(super) fn state(last: &Record) -> (String, String) {
    let word = listed::state(last);
    let painted = match &last.event {
        Event::Stopped(stopped) if matches!(stopped.end, End::Done { .. }) => good(&word),
        Event::Stopped(_) => bad(&word),
        Event::Started(_)
        | Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Attempted(_)
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Overspent(_)
        | Event::Compacted(_)
        | Event::Observed { .. } => warn(&word),
    };
    (word, painted)
}

fn row(first: &Record, last: &Record, provenance: Provenance) -> Vec<String> {
    let (subject, goal) = match listed::began(first) {
        Some(started) => (started.subject.clone(), started.goal.clone()),
        None => ("?".to_owned(), String::new()),
    };
    let end = match provenance {
        Provenance::Here => state(last).1,
        Provenance::Returned | Provenance::Moved | Provenance::Foreign => {
            format!("{} {}", state(last).1, warn("(imported)"))
        }
    };
    vec![
        strong(one_line(first.run.as_str())),
        faint(time(first.at)),
        end,
        short(&subject),
        short(&goal),
    ]
}

async fn show(scene: &Scene, run: &str) -> Result<u8> {
    let setup = scene.look_at_config()?.setup;
    let audit = &Audit::of(&setup)?;
    let journal = audit.journal();
    let run = scene.find(journal, run).await?;
    let records = journal.records(&run).await?.into_iter();
    let records: Vec<Record> = records.map(|record| journal.shown(record)).collect();
    if scene.json {
        for record in &records {
            print::compact(record);
        }
        return audit::warn_of(audit, &run).await;
    }
    let began = records
        .first()
        .map_or(String::new(), |first| time(first.at));
    let imported = match journal.provenance(&run).await? {
        Provenance::Here => String::new(),
        Provenance::Returned | Provenance::Moved | Provenance::Foreign => {
            format!(" {}", warn("(imported)"))
        }
    };
    print::line(format!("{} {}{imported}", strong(&run), faint(began)));
    let mut transcript = Transcript::of(&setup.policy);
    let mut more = 0_usize;
    for record in &records {
        let Some(line) = transcript.line(record) else {
            more = more.saturating_add(1);
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
    if let Some(advice) = transcript.rest() {
        print::line(advice);
    }
    if more > 0 {
        let records = print::counted(more, "more record");
        print::line(faint(format!(
            "{records}: --audit shows what was decided, --json everything"
        )));
    }
    show_used(&records);
    show_held(&run, &records);
    let flows = &setup.policy.flows;
    match bits_gone(flows, &records) {
        0 => {}
        gone => print::line(faint(of_bits((gone, flows.bits)))),
    }
    audit::warn_of(audit, &run).await
}

/// How much has left handles, of how much may.
pub(super) fn of_bits((gone, most): (u32, u32)) -> String {
    format!("  {gone} of {most} bits left handles ([flow] bits)")
}

/// What each of several models has used.
fn show_used(records: &[Record]) {
    let used = by_model(records);
    if used.len() < 2 {
        return;
    }
    print::line(strong("used"));
    let row = |(model, usage): (String, Usage)| {
        let model = match model.as_str() {
            "" => "questions about what is held".to_owned(),
            model => one_line(model),
        };
        let (read, written) = (usage.input_tokens, usage.output_tokens);
        vec![
            strong(format!("  {model}")),
            format!("{read} tokens read"),
            format!("{written} written"),
            faint(format!("cost {}", usage.cost)),
        ]
    };
    let rows: Vec<Vec<String>> = used.into_iter().map(row).collect();
    print::marked_line(table(&rows).trim_end());
}

/// What the run holds, so that another one can begin with some of it.
fn show_held(run: &RunId, records: &[Record]) {
    let held = held_in(records);
    if held.is_empty() {
        return;
    }
    print::line(strong("held"));
    let row = |held: Listed| {
        vec![
            strong(format!("  {}", one_line(&held.name))),
            held.kind.to_owned(),
            format!("≤ {} B", held.bytes),
            one_line(&held.tool),
            faint(one_line(&held.label.to_string())),
        ]
    };
    let first = held.first().map(|held| held.name.clone());
    let rows: Vec<Vec<String>> = held.into_iter().map(row).collect();
    print::marked_line(table(&rows).trim_end());
    let with = with(run, &first.unwrap_or_default());
    print::line(faint(format!(
        "  begin another run with one of them: lazaret run --with {with} \"…\""
    )));
}

/// A handle of a run as one word of a shell: of an imported run somebody else has written both.
fn with(run: &RunId, handle: &str) -> String {
    one_line(&shell_word(&format!("{run}:{handle}")))
}

pub(super) fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or(String::new(), |at| {
        at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_somebody_else_is_one_word() {
        let run = RunId::known("20260101-000000-0000abcd");
        assert_eq!(with(&run, "h1"), "20260101-000000-0000abcd:h1");
        let shown = with(&run, "h1; id\u{1b}[2J\n#");
        assert_eq!(shown, "'20260101-000000-0000abcd:h1; id\\u{1b}[2J\\u{a}#'");
    }
}
