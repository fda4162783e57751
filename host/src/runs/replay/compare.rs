//! Comparing what a replay leaves with what stands on record.
//!
//! What happens inside of calls does not come again, so it is left out, and the places of what remains are counted
//! anew. What was measured, and until when a question may be answered, is of its own time.

use std::collections::BTreeMap;

use super::ends::is_open;
use super::outside::is_top;
use crate::words::event::{Content, Event, Judged, Record, Spent, Verdict};
use crate::words::id::{Digest, QuestionId, Seq};

/// The records that come again, each with the place that it then has, and with its own.
pub(super) fn top(records: &[Record]) -> (Vec<Record>, Vec<Seq>) {
    let mut places: BTreeMap<Seq, Seq> = BTreeMap::new();
    let (mut top, mut own) = (Vec::new(), Vec::new());
    for (record, place) in records
        .iter()
        .filter(|record| comes(record, records))
        .zip(0..)
    {
        places.insert(record.seq, place);
        let mut again = record.clone();
        let now = |seq: Seq| places.get(&seq).copied().unwrap_or_default();
        (again.seq, again.parent) = (place, now(record.parent));
        if let Event::Finished(finished) = &mut again.event {
            finished.of = now(finished.of);
        }
        top.push(again);
        own.push(record.seq);
    }
    (top, own)
}

fn comes(record: &Record, records: &[Record]) -> bool {
    match &record.event {
        Event::Judged(judged) => is_top(judged),
        Event::Finished(finished) => {
            let of = usize::try_from(finished.of)
                .ok()
                .and_then(|of| records.get(of));
            matches!(of.map(|of| &of.event), Some(Event::Judged(judged)) if is_top(judged))
        }
        // What becomes of a question goes with it: a form is part of a call.
        Event::Answered { question, .. } | Event::Expired { question } => {
            asked(question, records).is_none_or(is_top)
        }
        // A question about what is held is part of a call, and a summary comes from outside.
        Event::Attempted(attempted) => attempted.turn > 0,
        Event::Started(_)
        | Event::Overspent(_)
        | Event::Compacted(_)
        | Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::Observed { .. }
        | Event::Stopped(_) => true,
    }
}

/// What a question was asked about.
fn asked<'a>(question: &QuestionId, records: &'a [Record]) -> Option<&'a Judged> {
    records.iter().find_map(|record| {
        let Event::Judged(judged) = &record.event else {
            return None;
        };
        let is_it = matches!(&judged.verdict, Verdict::Ask(asked) if asked.id == *question);
        is_it.then_some(judged)
    })
}

/// Whether a record is the one that was expected.
pub(super) fn same(expected: &Record, came: &Record) -> bool {
    let (mut wanted, mut got) = (plain(expected), plain(came));
    set_aside_prompt(&wanted, &mut got);
    set_aside(&mut wanted, &mut got);
    level(&mut wanted, &mut got);
    (expected.seq, expected.parent) == (came.seq, came.parent) && wanted == got
}

/// Labels that cover each other say the same: which of too many sources stand for the others hangs on the order in which they came.
fn level(wanted: &mut Event, got: &mut Event) {
    let mut labels = Vec::new();
    wanted.each_label(|label| labels.push(label.clone()));
    let mut labels = labels.into_iter();
    got.each_label(|label| {
        let wanted = labels
            .next()
            .filter(|wanted| wanted.covers(label) && label.covers(wanted));
        if let Some(wanted) = wanted {
            *label = wanted;
        }
    });
}

/// Whether a record is one of several that were expected together: what is cut off at once ends in no order of its own.
pub(super) fn same_cut_off(expected: &[Record], at: usize, came: &Record) -> bool {
    let is_cut =
        |record: &&Record| matches!(&record.event, Event::Finished(finished) if is_open(finished));
    let (before, after) = expected.split_at(at.min(expected.len()));
    if !after.first().is_some_and(|first| is_cut(&first)) {
        return false;
    }
    let before = before.iter().rev().take_while(is_cut);
    let mut together = before.chain(after.iter().take_while(is_cut));
    together.any(|one| {
        let there = Record {
            seq: came.seq,
            ..one.clone()
        };
        same(&there, came)
    })
}

/// Why another record came, where the two do not show it: digests are no words.
pub(super) fn why(expected: &Record, came: &Record) -> String {
    let (mut wanted, mut got) = (plain(expected), plain(came));
    for event in [&mut wanted, &mut got] {
        if let Event::Prompted { digest, .. } = event {
            *digest = None;
        }
    }
    match wanted == got && matches!(got, Event::Prompted { .. }) {
        true => "what the model is sent has changed: its instructions, its tools, what stands around them, or the \
                 wire format and its `extra`"
            .to_owned(),
        false => String::new(),
    }
}

/// What a prompt was is not known of every run.
fn set_aside_prompt(wanted: &Event, got: &mut Event) {
    if let (Event::Prompted { digest: None, .. }, Event::Prompted { digest, .. }) = (wanted, got) {
        *digest = None;
    }
}

/// Large content that was read back from the journal stands in the record that comes by its digest.
fn set_aside(wanted: &mut Event, got: &mut Event) {
    let Some(Content::Stored { .. }) = got.content_mut() else {
        return;
    };
    let Some(content) = wanted.content_mut() else {
        return;
    };
    if let Content::Inline(value) = content {
        let text = value.to_string();
        *content = Content::Stored {
            digest: Digest::of(text.as_bytes()),
            bytes: text.len(),
        };
    }
}

/// What a record says, without what is of its own time.
pub(super) fn plain(record: &Record) -> Event {
    let mut event = record.event.clone();
    // That it is a copy is so of the run, and not of its way.
    if let Event::Started(started) = &mut event {
        started.forked = None;
    }
    if let Event::Finished(finished) = &mut event {
        finished.spent = Spent::default();
    }
    if let Event::Compacted(compacted) = &mut event {
        compacted.spent = Spent::default();
    }
    if let Event::Judged(judged) = &mut event
        && let Verdict::Ask(question) = &mut judged.verdict
    {
        question.until = None;
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::label::Label;
    use serde_json::json;

    fn prompted(digest: Option<&str>) -> Record {
        let mut record = json!({"run": "20260301-090500-aaaaaaaa", "seq": 1, "at": 1, "parent": 0,
            "event": "prompted", "turn": 1, "turns_max": 8, "model": "fast", "tools": []});
        if let Some(said) = digest {
            record["digest"] = json!(Digest::of(said.as_bytes()));
        }
        serde_json::from_value(record).unwrap()
    }

    /// A call of that place whose end nobody saw, or another one that has ended otherwise.
    fn ended(seq: u64, of: u64, code: &str) -> Record {
        let record = json!({"run": "20260301-090500-aaaaaaaa", "seq": seq, "at": 1, "parent": of,
            "event": "finished", "of": of, "end": "failed", "code": code, "message": "m",
            "label": [], "spent": {"us": 1}});
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn what_is_cut_off_together_is_compared_in_no_order() {
        let doubt = |seq, of| ended(seq, of, "in_doubt");
        let expected = [
            doubt(5, 1),
            doubt(6, 2),
            ended(7, 3, "cancelled"),
            doubt(8, 4),
        ];
        for (at, of, is_one) in [
            (0, 2, true),
            (1, 1, true),
            (0, 4, false),
            (2, 2, false),
            (4, 4, false),
        ] {
            let came = doubt(5 + u64::try_from(at).unwrap(), of);
            assert_eq!(same_cut_off(&expected, at, &came), is_one, "{of} at {at}");
        }
    }

    #[test]
    fn labels_of_too_many_sources_are_the_same_where_they_say_the_same() {
        let under = |label: &[&str]| {
            let mut record = ended(5, 1, "cancelled");
            let label: Label = serde_json::from_value(json!(label)).unwrap();
            record.event.each_label(|own| *own = label.clone());
            record
        };
        let many = under(&["note:*", "user"]);
        assert!(same(&many, &under(&["note:*", "note:a", "user"])));
        assert!(same(&under(&["note:*", "note:b", "user"]), &many));
        for less in [
            &["note:a", "user"][..],
            &["note:*"],
            &["note:*", "user", "web:x"],
        ] {
            assert!(!same(&many, &under(less)), "{less:?}");
            assert!(!same(&under(less), &many), "{less:?}");
        }
    }

    #[test]
    fn a_prompt_is_compared_by_its_digest_where_one_was_kept() {
        let (one, other, old) = (prompted(Some("a")), prompted(Some("b")), prompted(None));
        assert!(same(&one, &one));
        assert!(same(&old, &one), "a record from before");
        assert!(!same(&one, &other));
        assert!(!same(&one, &old));
        assert!(why(&one, &other).contains("what the model is sent"));
        let mut turn = one.clone();
        if let Event::Prompted { turn, .. } = &mut turn.event {
            *turn = 2;
        }
        assert!(!same(&old, &turn));
        assert_eq!(why(&one, &turn), "");
    }
}
