//! Where a run that is replayed was ended by what comes another way each time: its time, what it used, whoever gave it
//! up.

use std::ops::RangeInclusive;

use crate::rules::script::TOOL;
use crate::words::error::{Code, Error};
use crate::words::event::{EffectKind, End, Event, Finished, Limit, Record};
use crate::words::id::Seq;

/// A failure, as it stands on record.
pub(super) type Said = (Code, String, bool);

/// Where the time of a run was over: before the first call that was cut off for it, or else before its end.
pub(super) fn late(records: &[Record]) -> Option<Seq> {
    let (last, before) = records.split_last()?;
    let Event::Stopped(stopped) = &last.event else {
        return None;
    };
    // A budget of time cuts nothing off.
    let is_cut = matches!(stopped.end, End::Failed { code, .. } if code == Code::TooSlow);
    if stopped.limit != Some(Limit::RunTimeout) || !is_cut {
        return None;
    }
    let tail = before.iter().rev().take_while(|record| {
        matches!(record.event, Event::Observed { .. }) || is_cut_off(&record.event)
    });
    let cut = tail.filter(|record| matches!(record.event, Event::Finished(_)));
    Some(cut.last().unwrap_or(last).seq)
}

fn is_cut_off(event: &Event) -> bool {
    let Event::Finished(finished) = event else {
        return false;
    };
    matches!(&finished.end, End::Failed { code, .. } if *code == Code::Cancelled)
}

/// From which record on a run began nothing more, since it had used up what it may, and what was said of that.
pub(super) fn begun_last(records: &[Record]) -> Option<(Seq, Error)> {
    let Event::Stopped(stopped) = &records.last()?.event else {
        return None;
    };
    // A budget of its agent has a limit of its own.
    let said = used_up(&stopped.end).filter(|_| stopped.limit.is_none())?;
    let begins = |record: &&Record| {
        let is_show =
            matches!(&record.event, Event::Judged(judged) if judged.effect == EffectKind::Show);
        let begins = matches!(
            record.event,
            Event::Judged(_) | Event::Prompted { .. } | Event::Scripted(_) | Event::Rested { .. }
        );
        begins && !is_show
    };
    let last = records.iter().rev().find(begins);
    let from = last.map_or(1, |last| last.seq + 1);
    Some((from, error(&said)))
}

pub(super) fn error((code, why, retryable): &Said) -> Error {
    Error::new(*code, why.clone()).retry(*retryable)
}

/// Where scripts were ended by their time or by a bound of their run: from the first of the calls on that were cut off
/// with them.
pub(super) fn spent(records: &[Record]) -> Vec<(RangeInclusive<Seq>, Said)> {
    let is_script = |seq: Seq| {
        let place = usize::try_from(seq).ok();
        let judged = place.and_then(|place| records.get(place));
        matches!(judged.map(|record| &record.event), Some(Event::Judged(judged)) if judged.subject == TOOL)
    };
    let mut spent = Vec::new();
    for (place, record) in records.iter().enumerate() {
        if let Event::Finished(finished) = &record.event
            && is_script(finished.of)
            && let Some(said) = used_up(&finished.end)
        {
            let before = records.get(..place).unwrap_or_default().iter().rev();
            let cut = before.take_while(
                |record| matches!(&record.event, Event::Finished(finished) if is_open(finished)),
            );
            let from = cut.last().unwrap_or(record).seq;
            spent.push((from..=record.seq, said));
        }
    }
    spent
}

/// What is said of an end that came since something was used up.
fn used_up(end: &End) -> Option<Said> {
    match end {
        End::Failed {
            code: code @ (Code::OverBudget | Code::TooSlow | Code::OutOfFuel),
            message,
            retryable,
            ..
        } => Some((*code, message.clone(), *retryable)),
        End::Failed { .. } | End::Done { .. } => None,
    }
}

/// Whether somebody gave the run up, or its time was over.
pub(super) fn is_given_up(end: &End) -> bool {
    matches!(end, End::Failed { code, .. } if matches!(code, Code::Cancelled | Code::TooSlow))
}

/// Whether an end says that nobody saw it.
pub(super) fn is_open(finished: &Finished) -> bool {
    let code = match &finished.end {
        End::Failed { code, .. } => Some(*code),
        End::Done { .. } => None,
    };
    code == Some(Code::InDoubt)
}
