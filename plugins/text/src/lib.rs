//! Plugin `text`: work on texts and tables that are handed over as they are.
//!
//! Every tool here is pure: it asks the host for nothing. Inputs and outputs are bounded, since
//! both cross the boundary whole and the outcome is usually read by a model.

mod aggregate;
mod count;
mod diff;
mod pattern;
mod query;
mod replace;
mod search;
mod table;

use lazaret_sdk::prelude::*;

/// The largest text that a tool takes.
const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The largest text that a tool returns.
const OUTCOME_BYTES_MAX: usize = 1024 * 1024;

plugin! {
    name: "text",
    description: "Searches, compares, counts and replaces in texts, queries JSON, reads CSV tables \
        and computes figures from them. Pure: it needs nothing but its arguments.",
    tools: [
        search::search,
        replace::replace,
        count::count,
        diff::diff,
        query::query,
        table::csv_to_json,
        aggregate::aggregate,
    ],
}

fn check_size(text: &str) -> Result<(), Failure> {
    if text.len() > TEXT_BYTES_MAX {
        fail!(
            "the text has {} bytes, at most {TEXT_BYTES_MAX} are taken",
            text.len()
        );
    }
    Ok(())
}
