//! `[flow] span_chars`, `floor_chars` and `tracked_chars`: how closely the older guards look.

use super::bounds::within;
use super::flow::FlowTable;
use crate::rules::flow::guarding::Guarding;
use crate::words::error::Result;
use crate::words::limits::tuned::{
    VERBATIM_CHARS_MAX, VERBATIM_FLOOR_CHARS_MIN, VERBATIM_SPAN_CHARS_MIN,
};

/// What the files say together: whoever looks closest has their way.
///
/// # Errors
/// `BadInput` for a number out of its range: none makes a guard find less than it does anyway.
pub(super) fn together(tables: &[&FlowTable]) -> Result<Guarding> {
    let of = Guarding::default();
    let said =
        |of: fn(&FlowTable) -> Option<usize>| tables.iter().filter_map(move |table| of(table));
    Ok(Guarding {
        span_chars: within(
            "[flow] span_chars",
            said(|table| table.span_chars)
                .min()
                .unwrap_or(of.span_chars),
            (VERBATIM_SPAN_CHARS_MIN, of.span_chars),
        )?,
        floor_chars: within(
            "[flow] floor_chars",
            said(|table| table.floor_chars)
                .min()
                .unwrap_or(of.floor_chars),
            (VERBATIM_FLOOR_CHARS_MIN, of.floor_chars),
        )?,
        tracked_chars: within(
            "[flow] tracked_chars",
            said(|table| table.tracked_chars)
                .max()
                .unwrap_or(of.tracked_chars),
            (of.tracked_chars, VERBATIM_CHARS_MAX),
        )?,
        on: of.on,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarding(texts: &[&str]) -> Result<Guarding> {
        let tables = texts.iter().map(|text| toml::from_str(text).unwrap());
        let tables: Vec<FlowTable> = tables.collect();
        together(&tables.iter().collect::<Vec<_>>())
    }

    #[test]
    fn whoever_looks_closest_has_their_way() {
        let own = "span_chars = 12\nfloor_chars = 6\ntracked_chars = 300000";
        let theirs = "span_chars = 15\nfloor_chars = 5\ntracked_chars = 400000";
        let both = guarding(&[own, theirs]).unwrap();
        let numbers = (both.span_chars, both.floor_chars, both.tracked_chars);
        assert_eq!(numbers, (12, 5, 400_000));
        assert_eq!(guarding(&[""]).unwrap(), Guarding::default());
    }

    #[test]
    fn nobody_makes_a_guard_find_less() {
        for (said, says) in [
            ("span_chars = 21", "[flow] span_chars is from 11 to 20"),
            ("span_chars = 10", "[flow] span_chars is from 11 to 20"),
            ("floor_chars = 9", "[flow] floor_chars is from 4 to 8"),
            (
                "tracked_chars = 262143",
                "[flow] tracked_chars is from 262144 to 1048576",
            ),
        ] {
            assert_eq!(guarding(&[said]).unwrap_err().message(), says);
        }
    }
}
