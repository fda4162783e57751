//! `lazaret runs replay`: whether a run would go the same way again, and going on from one of its turns.

use serde_json::{Value, json};

use super::runs::open;
use super::{Scene, print};
use crate::runs::host::Host;
use crate::runs::replay::{Diverged, Replayed};
use crate::runs::session::Earlier;
use crate::surfaces::paint::strong;
use crate::words::error::Result;
use crate::words::event::{Event, Record};
use crate::words::inert::one_line;
use crate::words::length::cut;

/// Characters of a record that are shown where a replay went another way.
const SHOWN_CHARS: usize = 400;

/// Replays a run; 1 where it goes another way.
pub(super) async fn replay(scene: &Scene, run: &str, until: Option<u32>) -> Result<u8> {
    let records = {
        let audit = open(scene)?;
        let run = scene.find(audit.journal(), run).await?;
        let (records, verified) = audit.journal().verified(&run).await?;
        // Records of another host are told as well as one's own; those that were changed are not.
        if verified.broken.is_some() {
            verified.check()?;
        }
        records
    };
    // What it was told of its session stands in the runs before it.
    let earlier = match is_of_session(&records) {
        true => scene.open_host().await?.before(&records).await?,
        false => Earlier::default(),
    };
    let setup = scene.read_config()?.setup;
    let replaying = Box::pin(Host::replay(setup, (&records, earlier), until));
    let replayed = print::while_waiting(
        "preparing plugins (compiled once, then cached)",
        scene.quiet,
        replaying,
    );
    let replayed = replayed.await?;
    if scene.json {
        print::compact(&as_json(&replayed));
    } else {
        tell(&replayed, scene);
    }
    Ok(u8::from(replayed.diverged.is_some()))
}

fn is_of_session(records: &[Record]) -> bool {
    let first = records.first().map(|first| &first.event);
    matches!(first, Some(Event::Started(started)) if started.session.is_some())
}

/// Makes a run that begins with this one's turns, and goes on with it.
pub(super) async fn fork(scene: &Scene, run: &str, turn: u32) -> Result<u8> {
    let host = scene.open_host().await?;
    let from = scene.find(host.journal(), run).await?;
    let new = host.fork(&from, turn).await?;
    if !scene.quiet && !scene.json {
        print::note(format!("forked: {new} goes on after turn {turn} of {from}"));
    }
    super::script::resume(&host, &new, scene).await
}

fn tell(replayed: &Replayed, scene: &Scene) {
    let Replayed {
        run,
        same,
        inner,
        untold,
        diverged,
    } = replayed;
    let Some(diverged) = diverged else {
        let untold = match untold {
            0 => String::new(),
            1 => "; 1 of their judgements was not kept whole, and is not judged again".to_owned(),
            untold => format!(
                "; {untold} of their judgements were not kept whole, and are not judged again"
            ),
        };
        let same = match same {
            1 => "1 record is as it was".to_owned(),
            same => format!("{same} records are as they were"),
        };
        print::line(format!(
            "{} went the same way: {same}, and {inner} inside of calls{untold}",
            strong(run)
        ));
        return;
    };
    let what = format!(
        "the run `{run}` went another way at record {}",
        diverged.seq
    );
    print::line(format!(
        "{} {what}, after {same} that {}",
        strong("diverged:"),
        if *same == 1 {
            "is as it was"
        } else {
            "are as they were"
        }
    ));
    print::line(format!(
        "  expected: {}",
        shown(diverged.expected.as_ref(), "nothing more")
    ));
    let nothing = match diverged.why.as_str() {
        "" => "nothing".to_owned(),
        why => format!("nothing: {}", one_line(why)),
    };
    print::line(format!(
        "  came:     {}",
        shown(diverged.came.as_ref(), &nothing)
    ));
    if diverged.came.is_some() && !diverged.why.is_empty() {
        print::line(format!("  why:      {}", one_line(&diverged.why)));
    }
    if !scene.quiet {
        print::follow("all of it", &format!("lazaret runs show {run}"));
    }
}

/// A record on one line, cut. Where both are long, what differs may be behind that; `--json` has all of it.
fn shown(event: Option<&Event>, nothing: &str) -> String {
    let Some(event) = event else {
        return nothing.to_owned();
    };
    let text = serde_json::to_string(event).unwrap_or_default();
    one_line(&cut(text, SHOWN_CHARS))
}

fn as_json(replayed: &Replayed) -> Value {
    let diverged = replayed.diverged.as_ref().map(
        |Diverged {
             seq,
             expected,
             came,
             why,
         }| json!({"seq": seq, "expected": expected, "came": came, "why": why}),
    );
    json!({
        "run": replayed.run,
        "same": replayed.same,
        "inner": replayed.inner,
        "untold": replayed.untold,
        "diverged": diverged,
    })
}
