//! `lazaret policy test`: what another policy would have said to runs that are on record.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::runs::open;
use super::super::{Scene, print};
use super::recorded;
use crate::gate::journal::Journal;
use crate::runs::host::Host;
use crate::runs::rejudge::{Change, Rejudged, Untold};
use crate::surfaces::config::Config;
use crate::surfaces::paint::{bad, faint, good, phrase, sentence, strong, warn};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Record, Verdict};
use crate::words::id::RunId;

/// Judge recorded runs again, by another policy; nothing is performed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret policy test last --policy new.toml
  lazaret policy test exported.jsonl --policy new.toml --json

Each effect is judged by itself: what a model would have done instead, nobody knows.
Exit status: 0 nothing would change, 1 something would, 2 nothing of a run could be judged again.")]
pub(in super::super) struct Test {
    /// Runs by name or beginning, `last`, or files as `runs show --json` prints them.
    #[arg(default_value = "last", value_name = "RUN")]
    runs: Vec<String>,
    /// The configuration that is tried, over the user's own; it need not be trusted.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

impl Test {
    pub(in super::super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let audit = open(scene)?;
        let runs = recorded::read(scene, &audit, &self.runs).await?;
        let mut preview = Config::preview(&scene.around, Some(&self.policy))?;
        // Nobody is told of what is only tried.
        preview.setup.places.collector = None;
        let opening = Host::open(preview.setup);
        let host = print::while_waiting("looking at plugins", scene.quiet, opening).await?;
        let mut told = Vec::new();
        for run in &runs {
            let tried = tried(&host, audit.journal(), &run.records).await;
            let first = run.records.first();
            told.extend(first.map(|first| (first.run.clone(), tried)));
        }
        let changes = told.iter().filter_map(|(_, tried)| tried.as_ref().ok());
        let changes: usize = changes.map(|told| told.changes.len()).sum();
        let unjudged = || told.iter().filter(|one| is_nothing(one));
        if scene.json {
            let runs: Vec<Value> = told.iter().map(as_json).collect();
            let unjudged: Vec<&RunId> = unjudged().map(|(run, _)| run).collect();
            let told = json!({"runs": runs, "changes": changes, "unjudged": unjudged});
            print::value(&told, true);
        } else {
            told.iter().for_each(describe);
        }
        for one in unjudged() {
            print::failed(&self.nothing_of(one));
        }
        Ok(match changes {
            _ if unjudged().next().is_some() => Code::BadInput.exit_status(),
            0 => 0,
            _ => DIFFERS,
        })
    }

    /// That nothing of a run was judged again says nothing about the policy, least of all that it changes nothing.
    fn nothing_of(&self, (run, tried): &Tried) -> Error {
        let nothing = |why: &str| {
            Error::bad_input(format!("nothing of run `{run}` could be judged again{why}"))
        };
        match tried {
            Ok(told) => {
                let why = told.untold.first();
                let why = why.map_or_else(String::new, |untold| format!(": {}", untold.why));
                nothing(&why).hint(format!(
                    "write the agents, plugins and servers that the run had into `{}` as well: it is tried instead of your workspace's file",
                    self.policy.display()
                ))
            }
            Err(error) => {
                let told = nothing(&format!(": {}", error.message()));
                error.hints().iter().cloned().fold(told, Error::hint)
            }
        }
    }
}

/// A run, and what the other policy would have said to it; or why that cannot be told of this one.
type Tried = (RunId, Result<Rejudged>);

/// Judges one run again, with what it was told of its session, which this journal has and the host that tries does not.
async fn tried(host: &Host, journal: &Journal, records: &[Record]) -> Result<Rejudged> {
    let earlier = host.before_in(journal, records).await?;
    host.rejudge_after(earlier, records)
}

fn is_nothing((_, tried): &Tried) -> bool {
    tried.as_ref().ok().is_none_or(Rejudged::is_nothing)
}

/// Neither wrong input nor a denial: the two policies differ, as `diff` would say it.
const DIFFERS: u8 = 1;

fn describe((run, tried): &Tried) {
    print::line(strong(run));
    let told = match tried {
        Ok(told) => told,
        Err(error) => {
            let why = sentence(error.message());
            print::marked_line(format!("{}  {why}", warn("not judged again")));
            return;
        }
    };
    for change in &told.changes {
        let (was, now) = (painted(&change.was), painted(&change.now));
        let seq = faint(format!("{:>4}", change.seq));
        let subject = strong(phrase(&change.subject));
        let reason = sentence(change.now.reason());
        print::marked_line(format!("{seq} {was} → {now}  {subject}: {reason}"));
    }
    for untold in &told.untold {
        let seq = faint(format!("{:>4}", untold.seq));
        let (subject, why) = (phrase(&untold.subject), sentence(&untold.why));
        print::marked_line(format!(
            "{seq} {}  {subject}: {why}",
            warn("not judged again")
        ));
    }
    print::line(format!(
        "{} as before, {}, {} not judged again",
        told.same,
        print::counted(told.changes.len(), "change"),
        told.untold.len()
    ));
}

fn painted(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow { .. } => good(verdict.word()),
        Verdict::Ask(_) => warn(verdict.word()),
        Verdict::Deny(_) => bad(verdict.word()),
    }
}

fn as_json((run, tried): &Tried) -> Value {
    let told = match tried {
        Ok(told) => told,
        Err(error) => {
            let why = error.message();
            return json!({"run": run, "same": 0, "changes": [], "untold": [], "error": why});
        }
    };
    let change = |change: &Change| json!({"seq": change.seq, "subject": change.subject, "was": change.was, "now": change.now});
    let untold =
        |untold: &Untold| json!({"seq": untold.seq, "subject": untold.subject, "why": untold.why});
    json!({
        "run": run,
        "same": told.same,
        "changes": told.changes.iter().map(change).collect::<Vec<_>>(),
        "untold": told.untold.iter().map(untold).collect::<Vec<_>>(),
    })
}
