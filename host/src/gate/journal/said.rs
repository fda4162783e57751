//! Log lines for people who look on: one for each record, with names, numbers and closed words and never content.

use tracing::Level;

use crate::rules::spans::line;
use crate::words::event::Record;
use crate::words::id::{RunId, Seq};

/// What a log says of a record, to be written once nobody waits for it.
pub(super) struct Line {
    run: RunId,
    seq: Seq,
    parent: Seq,
    word: &'static str,
    said: line::Line,
    more: String,
}

/// The line of a record, where somebody listens.
pub(super) fn line(record: &Record) -> Option<Line> {
    if !tracing::enabled!(target: "lazaret::run", Level::INFO) {
        return None;
    }
    let is_long = tracing::enabled!(target: "lazaret::run", Level::DEBUG);
    Some(Line {
        run: record.run.clone(),
        seq: record.seq,
        parent: record.parent,
        word: record.event.word(),
        said: line::of(record),
        more: if is_long {
            line::more(record)
        } else {
            String::new()
        },
    })
}

impl Line {
    /// Writes it.
    pub(super) fn write(self) {
        let (run, seq, word) = (self.run.as_str(), self.seq, self.word);
        let line::Line { subject, ms } = self.said;
        tracing::info!(target: "lazaret::run", run, seq, subject, ms, "{word}");
        let (parent, more) = (self.parent, self.more);
        tracing::debug!(target: "lazaret::run", run, seq, parent, more, "{word}");
    }
}
