//! `lazaret policy test`: what another policy would have said to runs that are on record.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::{Scene, print};
use super::recorded;
use crate::runs::host::Host;
use crate::runs::rejudge::{Change, Rejudged, Untold};
use crate::surfaces::config::Config;
use crate::surfaces::paint::{bad, faint, foreign, good, strong, warn};
use crate::words::error::Result;
use crate::words::event::Verdict;
use crate::words::id::RunId;

/// Judge recorded runs again, by another policy; nothing is performed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret policy test last --policy new.toml
  lazaret policy test exported.jsonl --policy new.toml --json

Each effect is judged by itself: what a model would have done instead, nobody knows.
Exit status: 0 nothing would change, 1 something would.")]
pub(in super::super) struct Test {
    /// Runs by name or beginning, `last`, or files as `runs show --json` prints them.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// The configuration that is tried, over the user's own; it need not be trusted.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

impl Test {
    pub(in super::super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let runs = recorded::read(scene, &self.runs).await?;
        let mut preview = Config::preview(&scene.around, Some(&self.policy))?;
        // Nobody is told of what is only tried.
        preview.setup.places.collector = None;
        let opening = Host::open(preview.setup);
        let host = print::while_waiting("looking at plugins", scene.quiet, opening).await?;
        let mut told = Vec::new();
        for records in &runs {
            let rejudged = host.rejudge(records).await?;
            told.extend(records.first().map(|first| (first.run.clone(), rejudged)));
        }
        let changes: usize = told.iter().map(|(_, told)| told.changes.len()).sum();
        if scene.json {
            let runs: Vec<Value> = told.iter().map(as_json).collect();
            print::value(&json!({"runs": runs, "changes": changes}), true);
        } else {
            told.iter().for_each(describe);
        }
        Ok(if changes == 0 { 0 } else { DIFFERS })
    }
}

/// Neither wrong input nor a denial: the two policies differ, as `diff` would say it.
const DIFFERS: u8 = 1;

fn describe((run, told): &(RunId, Rejudged)) {
    print::line(strong(run));
    for change in &told.changes {
        let (was, now) = (painted(&change.was), painted(&change.now));
        let seq = faint(format!("{:>4}", change.seq));
        let subject = strong(foreign(&change.subject));
        let reason = foreign(change.now.reason());
        print::line(format!("{seq} {was} → {now}  {subject}: {reason}"));
    }
    for untold in &told.untold {
        let seq = faint(format!("{:>4}", untold.seq));
        let (subject, why) = (foreign(&untold.subject), foreign(&untold.why));
        print::line(format!(
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

fn as_json((run, told): &(RunId, Rejudged)) -> Value {
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
