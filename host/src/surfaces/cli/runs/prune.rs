//! `lazaret runs prune`: runs that have ended are taken out of the journal.

use serde_json::json;

use super::{chosen, open};
use crate::gate::journal::{Journal, Pruned};
use crate::surfaces::cli::{Scene, print};
use crate::surfaces::paint::{bad, good, strong, warn};
use crate::words::error::{Error, Result};
use crate::words::limits::RUNS_PRUNED;

/// How old a run must be, in milliseconds.
pub(super) fn parse_age(text: &str) -> Result<u64, String> {
    chosen::ago(text).ok_or_else(|| "write `12h`, `30d` or `8w`".to_owned())
}

/// Takes out those that were named, or all that ended so long ago.
pub(super) async fn prune(
    scene: &Scene,
    (names, older): (&[String], Option<u64>),
    only_say: bool,
) -> Result<u8> {
    let audit = open(scene)?;
    let journal = audit.journal();
    let keyed_ms = scene.look_at_config()?.setup.rules.caching.keyed_ttl_ms;
    let keyed = journal.clock().now_ms().saturating_sub(keyed_ms);
    let (all, is_full) = match older {
        Some(age) => old(journal, age, (only_say, keyed)).await?,
        None if names.is_empty() => {
            let error = Error::bad_input("no run is named, and nothing says how old they are");
            return Err(error.hint("lazaret runs prune --older 30d, or lazaret runs prune RUN"));
        }
        None => {
            let mut runs = Vec::new();
            for name in names {
                let run = scene.find(journal, name).await?;
                if !runs.contains(&run) {
                    runs.push(run);
                }
            }
            (journal.prune(runs, (only_say, keyed)).await?, false)
        }
    };
    for pruned in &all {
        say(scene, pruned, only_say);
    }
    let gone = all.iter().filter(|pruned| pruned.stays.is_none()).count();
    if !scene.quiet && !scene.json {
        print::note(sum(gone, all.len(), only_say));
        if is_full {
            print::note(format!(
                "these are the oldest {RUNS_PRUNED}: run it again for more"
            ));
        }
    }
    // Whoever names a run wants that one gone.
    Ok(u8::from(older.is_none() && gone < all.len()))
}

/// Takes out the oldest that may go, behind whatever stays; and whether there may be more.
async fn old(journal: &Journal, age: u64, how: (bool, u64)) -> Result<(Vec<Pruned>, bool)> {
    let by = journal.clock().now_ms().saturating_sub(age);
    let mut all = Vec::new();
    loop {
        let runs = journal.ended_by(by, all.len()).await?;
        let is_full = runs.len() >= RUNS_PRUNED;
        let some = journal.prune(runs, how).await?;
        let goes = some.iter().any(|pruned| pruned.stays.is_none());
        all.extend(some);
        if goes || !is_full {
            return Ok((all, is_full));
        }
    }
}

fn say(scene: &Scene, pruned: &Pruned, only_say: bool) {
    let Pruned {
        run,
        records,
        stays,
    } = pruned;
    if scene.json {
        let is_gone = stays.is_none() && !only_say;
        let why = stays.map(|stays| stays.reason());
        print::compact(
            &json!({"run": run, "records": records, "gone": is_gone, "goes": stays.is_none(), "why": why}),
        );
        return;
    }
    let counted = print::counted(usize::try_from(*records).unwrap_or(usize::MAX), "record");
    let line = match (stays, only_say) {
        (Some(stays), _) => format!("{} {}: {}", warn("stays"), strong(run), stays.reason()),
        (None, true) => format!("{} {} {counted}", good("would go"), strong(run)),
        (None, false) => format!("{} {} {counted}", bad("gone"), strong(run)),
    };
    print::line(line);
}

fn sum(gone: usize, all: usize, only_say: bool) -> String {
    let runs = print::counted(gone, "run");
    match (only_say, gone) {
        (_, 0) if all == 0 => "no run has ended by then".to_owned(),
        (true, _) => format!("{runs} of {all} would go; nothing was taken out"),
        (false, 0) => format!("none of {all} was taken out"),
        (false, _) => format!("{runs} of {all} taken out, with all that they held"),
    }
}
