//! What the journal says of a call that was made before under the same key: of another process, or of this one before it was
//! started anew.

use super::Whole;
use crate::guests::station::Station;
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::flow::records::Seen;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, EffectKind, End, Event, Finished, Judged, Record, Verdict};
use crate::words::id::{RunId, Seq};
use crate::words::label::Label;

/// What came of the same call under this key; nothing where none was made in that time, or each has failed.
///
/// # Errors
/// `Busy` where its end is not on record, `InDoubt` where nobody saw it, `Conflict` where what came of it was not kept.
pub(super) async fn before(
    station: &Station,
    (caller, call): (&Caller, &Call),
    (key, ttl_ms): (&str, u64),
) -> Result<Option<Whole>> {
    let journal = station.gate.journal();
    let since = journal.clock().now_ms().saturating_sub(ttl_ms);
    let client: &str = &caller.known.asked.client;
    let known = journal.keyed((client, key), since).await?;
    // Also those that began later: a run that waits for a person goes on whenever they answer. Each has its own
    // judgement on the disk before it looks, so that of two at least one sees the other. Where both do, neither is
    // made: which of them came first, no clock can say.
    for run in known.iter().filter(|run| **run != caller.run) {
        let (records, verified) = journal.verified(run).await?;
        verified.check()?;
        let Some(judged) = made(station, (caller, call), &records) else {
            continue;
        };
        match end_of(&records, judged) {
            // Under way here, it waits for this one: there is one place for both.
            None if journal.placed(run) > 0 => {}
            None => return Err(open(key, run)),
            Some((finished, at)) => {
                if let Some(whole) = whole(key, run, (finished, at))? {
                    return Ok(Some(whole));
                }
            }
        }
    }
    Ok(None)
}

/// The run in which the same call waits for a person, said to whoever sends it again: `Busy`.
///
/// # Errors
/// As [`before`].
pub(super) async fn waits(
    station: &Station,
    (caller, call): (&Caller, &Call),
    (key, ttl_ms): (&str, u64),
) -> Result<Option<Error>> {
    // A run that goes on was asked about itself.
    if !caller.known.questions.is_empty() {
        return Ok(None);
    }
    let journal = station.gate.journal();
    let since = journal.clock().now_ms().saturating_sub(ttl_ms);
    let client: &str = &caller.known.asked.client;
    for run in journal.keyed((client, key), since).await? {
        if run == caller.run {
            continue;
        }
        let (records, verified) = journal.verified(&run).await?;
        verified.check()?;
        let last = records.last().map(|last| &last.event);
        let is_over = matches!(last, Some(Event::Stopped(_)));
        let asked = |verdict: &Verdict| matches!(verdict, Verdict::Ask(_));
        let began = |verdict: &Verdict| matches!(verdict, Verdict::Allow { .. });
        if !is_over
            && judged(station, (caller, call), &records, asked).is_some()
            && judged(station, (caller, call), &records, began).is_none()
        {
            let what = format!("the call under the key `{key}` waits for an answer in run {run}");
            return Ok(Some(
                Error::new(Code::Busy, what)
                    .hint("lazaret ask list")
                    .hint(format!("when it is answered: lazaret runs resume {run}")),
            ));
        }
    }
    Ok(None)
}

/// The last judgement that let the same call begin.
fn made(station: &Station, of: (&Caller, &Call), records: &[Record]) -> Option<Seq> {
    let began = |verdict: &Verdict| matches!(verdict, Verdict::Allow { .. });
    judged(station, of, records, began)
}

/// The last judgement of the same call that came out so.
fn judged(
    station: &Station,
    (caller, call): (&Caller, &Call),
    records: &[Record],
    came_out: impl Fn(&Verdict) -> bool,
) -> Option<Seq> {
    let Some(Event::Started(started)) = records.first().map(|first| &first.event) else {
        return None;
    };
    if started.surface != caller.surface {
        return None;
    }
    // As it would stand there.
    let mut args = call.args.value().clone();
    station.scrub.known().clean_value(&mut args);
    let args = Content::Inline(args);
    let is_same = |judged: &Judged| {
        let same = judged.subject == call.tool.as_str() && judged.component == Some(call.component);
        came_out(&judged.verdict)
            && same
            && judged.effect == EffectKind::Call
            && judged.place == caller.place
            && judged.label == caller.label
            && judged.content == args
    };
    let mut all = records.iter().rev();
    all.find_map(|record| {
        let Event::Judged(judged) = &record.event else {
            return None;
        };
        is_same(judged).then_some(record.seq)
    })
}

fn end_of(records: &[Record], of: Seq) -> Option<(&Finished, u64)> {
    records.iter().find_map(|record| {
        let Event::Finished(finished) = &record.event else {
            return None;
        };
        (finished.of == of).then_some((finished, record.at))
    })
}

/// What came of it; nothing of a failure, after which it is made again, and of what was a repeat itself.
fn whole(key: &str, run: &RunId, (finished, at): (&Finished, u64)) -> Result<Option<Whole>> {
    if finished.spent.repeated {
        return Ok(None);
    }
    match &finished.end {
        End::Done {
            content: Content::Inline(value),
        } => Ok(Some(Whole {
            value: value.clone(),
            read: finished.read.clone().unwrap_or_default(),
            records: Seen {
                label: finished.label.clone(),
                touched: finished.touched.clone(),
            },
            around: Label::default(),
            altered: finished.spent.altered,
            at,
        })),
        End::Done { .. } => {
            let what = format!(
                "the call under the key `{key}` was made in run {run}, and what came of it was not kept"
            );
            Err(Error::new(Code::Conflict, what).hint(format!("lazaret runs show {run}")))
        }
        End::Failed {
            code: Code::InDoubt,
            ..
        } => {
            let what = format!("nobody saw the end of the call under the key `{key}` in run {run}");
            Err(Error::new(Code::InDoubt, what).hint(format!("lazaret runs show {run}")))
        }
        End::Failed { .. } => Ok(None),
    }
}

fn open(key: &str, run: &RunId) -> Error {
    let what = format!(
        "a call under the key `{key}` has begun in run {run}, and its end is not on record"
    );
    Error::new(Code::Busy, what)
        .hint("try again when it has ended")
        .hint(format!(
            "if its process was killed: lazaret runs resume {run}"
        ))
}
