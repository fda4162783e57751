//! Lines for a log, from whichever guest has this.

use lazaret_sdk::prelude::*;

/// Writes so many lines to the log.
#[tool(effect = "pure")]
pub fn log_lines(
    /// How many.
    lines: u64,
    /// What stands in each.
    #[default("line".to_owned())]
    line: String,
) -> u64 {
    for _ in 0..lines {
        log::info(&line);
    }
    lines
}
