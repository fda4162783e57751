//! `lazaret runs watch`: what happens in a run, also in one of another process, from any of its records on.

use super::transcript::Transcript;
use super::{Scene, print};
use crate::gate::journal::check_ahead;
use crate::runs::audit::Audit;
use crate::runs::rest;
use crate::surfaces::listed;
use crate::surfaces::paint::faint;
use crate::words::error::Result;
use crate::words::event::Record;
use crate::words::id::Seq;

/// Prints the records of a run from `from` on as they are written, until it ends or is left. One that was imported goes on
/// nowhere.
pub(super) async fn watch(scene: &Scene, run: &str, from: Seq) -> Result<u8> {
    let setup = scene.look_at_config()?.setup;
    let audit = Audit::of(&setup)?;
    let journal = audit.journal();
    let run = scene.find(journal, run).await?;
    let provenance = journal.provenance(&run).await?;
    let mut transcript = Transcript::of(&setup.policy);
    // What came before is read as well, since later lines speak of it.
    let mut next = 0;
    loop {
        let (records, last) = journal.records_from(&run, next).await?;
        check_ahead(&last, from)?;
        for record in &records {
            let line = transcript.line(record);
            if record.seq >= from {
                print(scene, record, line.as_deref());
            }
        }
        next = last.seq.saturating_add(1);
        if listed::is_all(&last, provenance) {
            if !listed::rests(&last) {
                print::note("the run was imported without its end: nothing in it goes on");
            }
            return Ok(0);
        }
        rest::a_moment().await;
    }
}

fn print(scene: &Scene, record: &Record, line: Option<&str>) {
    if scene.json {
        print::compact(record);
    } else if let Some(line) = line {
        for (place, line) in line.lines().enumerate() {
            let seq = match place {
                0 => record.seq.to_string(),
                _ => String::new(),
            };
            print::line(format!("{} {line}", faint(format!("{seq:>4}"))));
        }
    }
}
