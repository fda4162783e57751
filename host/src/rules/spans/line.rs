//! A record as one line of a log: as little of it as a span says.

use super::{Attribute, Value, about};
use crate::words::event::{EffectKind, End, Event, Judged, Record, Tried};

/// What a log says of a record beside its place and its word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// A name or closed words.
    pub subject: String,
    /// How long it took, where the record says so.
    pub ms: u64,
}

/// The line of a record.
#[must_use]
pub fn of(record: &Record) -> Line {
    let subject = match &record.event {
        Event::Started(started) if started.goal.is_empty() => String::new(),
        Event::Started(started) => about::name(&started.subject),
        Event::Prompted {
            turn,
            turns_max,
            model,
            ..
        } => format!("[{turn}/{turns_max}] {}", about::name(model)),
        Event::Attempted(attempted) => about::name(&attempted.model),
        Event::Judged(judged) => format!("{} {}", subject(judged), judged.verdict.word()),
        Event::Finished(finished) => of_end(&finished.end),
        Event::Stopped(stopped) => of_end(&stopped.end),
        Event::Replied { turn, .. } => format!("turn {turn}"),
        Event::Paused { questions } => format!("{} questions", questions.len()),
        Event::Observed { observation, .. } => {
            let word = if observation.ok { "ok" } else { "failed" };
            word.to_owned()
        }
        Event::Brought(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Overspent(_)
        | Event::Compacted(_) => String::new(),
    };
    let ms = match &record.event {
        Event::Finished(finished) => finished.spent.us / 1_000,
        Event::Compacted(compacted) => compacted.spent.us / 1_000,
        Event::Started(_)
        | Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Attempted(_)
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Overspent(_)
        | Event::Observed { .. }
        | Event::Stopped(_) => 0,
    };
    Line { subject, ms }
}

/// More of a record, for whoever looks for the cause of something.
#[must_use]
pub fn more(record: &Record) -> String {
    let said = match &record.event {
        Event::Started(started) => about::run(&record.run, started).1,
        Event::Replied { reply, .. } => about::reply(reply),
        Event::Attempted(attempted) => {
            let mut said = about::attempt(attempted);
            if let Tried::Failed { code, .. } = &attempted.tried {
                said.push(("error.type", Value::Text(code.word())));
            }
            said
        }
        Event::Judged(judged) => {
            let mut said = about::effect(judged, None).1;
            said.extend(about::verdict(&judged.verdict));
            said
        }
        Event::Finished(finished) => about::finish(finished),
        Event::Overspent(over) => about::overspent(over),
        Event::Compacted(compacted) => about::compacted(compacted),
        Event::Answered { answer, .. } => vec![("lazaret.answer", about::word(answer))],
        Event::Stopped(stopped) => about::stop(stopped),
        Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Observed { .. } => Vec::new(),
    };
    let said: Vec<String> = said.iter().map(written).collect();
    said.join(" ")
}

fn subject(judged: &Judged) -> String {
    match judged.effect {
        EffectKind::Call => about::tool(judged),
        EffectKind::Fetch => "fetch".to_owned(),
        EffectKind::File => "file".to_owned(),
        EffectKind::Keep => "keep".to_owned(),
        EffectKind::Show => "show".to_owned(),
    }
}

fn of_end(end: &End) -> String {
    match end {
        End::Done { .. } => "done".to_owned(),
        End::Failed { code, .. } => code.word(),
    }
}

fn written((key, value): &Attribute) -> String {
    match value {
        Value::Text(text) => format!("{key}={text}"),
        Value::Texts(texts) => format!("{key}={}", texts.join(",")),
        Value::Number(number) => format!("{key}={number}"),
        Value::Flag(flag) => format!("{key}={flag}"),
    }
}
