//! Log lines for people who look on: one for each record, with names, numbers and closed words and never content.

use tracing::Level;

use crate::rules::spans::line::{self, Line};
use crate::words::event::Record;

/// Says that a record was appended, where somebody listens.
pub(super) fn record(record: &Record) {
    if !tracing::enabled!(target: "lazaret::run", Level::INFO) {
        return;
    }
    let Line { subject, ms } = line::of(record);
    let (run, seq, word) = (record.run.as_str(), record.seq, record.event.word());
    tracing::info!(target: "lazaret::run", run, seq, subject, ms, "{word}");
    if tracing::enabled!(target: "lazaret::run", Level::DEBUG) {
        let (parent, more) = (record.parent, line::more(record));
        tracing::debug!(target: "lazaret::run", run, seq, parent, more, "{word}");
    }
}
