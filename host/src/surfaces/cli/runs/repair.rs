//! `lazaret runs repair`.

use serde_json::{Value, json};

use crate::runs::repair::{self, Repaired};
use crate::surfaces::cli::{Scene, print};
use crate::surfaces::paint::{bad, faint, good, shown_path, strong, warn};
use crate::words::error::Result;

/// Repairs, and says what is lost, run by run.
pub(super) async fn repair(scene: &Scene, replace: bool) -> Result<u8> {
    let setup = scene.look_at_config()?.setup;
    let repaired = repair::repair(&setup.places, replace).await?;
    if scene.json {
        print::compact(&described(&repaired));
        return Ok(0);
    }
    let Repaired {
        path,
        damaged,
        runs,
    } = &repaired;
    let Some(damaged) = damaged else {
        print::line(format!(
            "{} nothing is wrong with `{}`, which holds {}: there is nothing to repair",
            good("ok"),
            shown_path(path),
            print::counted(runs.len(), "run")
        ));
        return Ok(0);
    };
    let lost = runs
        .iter()
        .filter_map(|run| Some((run, run.lost.as_ref()?)));
    for (run, why) in lost.clone() {
        let what = match run.records {
            0 => bad("lost"),
            records => warn(format!(
                "cut after {}",
                print::counted(usize::try_from(records).unwrap_or(usize::MAX), "record")
            )),
        };
        print::line(format!("{} {what}: {why}", strong(&run.run)));
    }
    let whole = runs.len().saturating_sub(lost.count());
    print::line(format!(
        "{} {} whole, of {}; they are in `{}`",
        good("ok"),
        print::counted(whole, "run"),
        runs.len(),
        shown_path(path)
    ));
    if !scene.quiet {
        let next = match replace {
            true => format!("the damaged one is `{}` from now on", shown_path(damaged)),
            false => {
                "to put it in the damaged one's place: lazaret runs repair --replace".to_owned()
            }
        };
        print::follow(faint("hint"), &next);
        print::note(format!(
            "{}: a run of which no record at all can be read is missing without a trace",
            faint("hint")
        ));
    }
    Ok(0)
}

fn described(repaired: &Repaired) -> Value {
    let runs = repaired.runs.iter();
    let runs = runs.map(|run| json!({"run": run.run, "records": run.records, "lost": run.lost}));
    json!({
        "ok": true, "journal": repaired.path, "damaged": repaired.damaged, "runs": runs.collect::<Vec<_>>(),
    })
}
