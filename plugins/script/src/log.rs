//! What a script writes to its console, bounded per step.

use crate::{Level, Line};

/// What a line costs beside its text, so that a million empty ones are not free.
const LINE_BYTES: usize = 8;

/// The lines of one step.
#[derive(Default)]
pub struct Log {
    lines: Vec<Line>,
    bytes: usize,
    dropped: u64,
}

impl Log {
    /// How many bytes of text the next line may have.
    pub fn room(&self, bytes_max: usize) -> usize {
        bytes_max.saturating_sub(self.bytes + LINE_BYTES)
    }

    /// Adds a line whose text, `length` bytes long, was cut to `text`. Where not even that fits, it is only counted.
    pub fn add(&mut self, level: Level, mut text: String, length: usize, bytes_max: usize) {
        let fits = text.len() <= self.room(bytes_max) && self.bytes + LINE_BYTES <= bytes_max;
        let cut = length > text.len();
        if !fits || (cut && text.is_empty()) || self.dropped > 0 {
            self.dropped += 1;
            return;
        }
        self.bytes += text.len() + LINE_BYTES;
        if cut {
            text.push_str(&format!("… ({} more bytes)", length - text.len()));
            self.bytes = bytes_max;
        }
        self.lines.push(Line { level, text });
    }

    /// Adds a line of the engine's own, whatever is there already.
    pub fn note(&mut self, text: String) {
        let level = Level::Warn;
        self.lines.push(Line { level, text });
    }

    /// Takes what a step returns; the next step begins with nothing.
    pub fn take(&mut self, bytes_max: usize) -> Vec<Line> {
        let mut log = std::mem::take(self);
        if log.dropped > 0 {
            let lines = if log.dropped == 1 {
                "line was"
            } else {
                "lines were"
            };
            log.note(format!(
                "{} more {lines} dropped: a step may log {bytes_max} bytes",
                log.dropped
            ));
        }
        log.lines
    }
}
