//! `[limits]` beyond what bounds a guest, `[search]` and `[health]`: from what was written to what holds.

use std::path::Path;

use super::file::{ConfigFile, LimitTable, SearchTable};
use crate::rules::bounds::Bounds;
use crate::rules::health::Weights;
use crate::rules::policy::Policy;
use crate::rules::running::{Attaching, Watching};
use crate::rules::search::SearchRules;
use crate::rules::signature::Brevity;
use crate::words::error::{Error, Result};
use crate::words::limits::run::{RUN_CPU_MS_MAX, RUN_JOURNAL_MIB_MAX};
use crate::words::limits::tuned::{CATALOGUE_LINE_CHARS_MIN, HANDLES_MIN, WASM_STACK_MIB_MIN};
use crate::words::limits::{
    ATTACHMENT_BYTES, CALL_RETRIES_MAX, CALL_TIMEOUT_MS_MAX, FETCH_BODY_BYTES, HANDLES,
    OUTCOME_BYTES, SEARCH_HITS_MAX, SEARCH_QUERY_CHARS, WASM_STACK_BYTES, WATCH_RECORDS,
};

/// What files say, in order.
type Files<'a> = [(&'a Path, &'a ConfigFile)];

/// The least that one of the files says.
fn least<T: Ord>(files: &Files<'_>, said: impl Fn(&LimitTable) -> Option<T>) -> Option<T> {
    files
        .iter()
        .filter_map(|(_, file)| said(&file.limits))
        .min()
}

pub(super) fn within<T: PartialOrd + std::fmt::Display>(
    key: &str,
    value: T,
    (from, to): (T, T),
) -> Result<T> {
    if value >= from && value <= to {
        return Ok(value);
    }
    Err(Error::bad_input(format!("{key} is from {from} to {to}")))
}

/// What holds for calls of tools that say nothing of it themselves, and for what comes of calls.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn silent(bounds: &mut Bounds, files: &Files<'_>) -> Result<()> {
    if let Some(ms) = least(files, |limits| limits.silent_timeout_ms) {
        let key = "[limits] silent_timeout_ms";
        bounds.silent_timeout_ms = within(key, ms, (1, CALL_TIMEOUT_MS_MAX))?;
    }
    if let Some(retries) = least(files, |limits| limits.silent_retries) {
        let key = "[limits] silent_retries";
        bounds.retries.silent.retries = within(key, retries, (0, CALL_RETRIES_MAX))?;
    }
    // A workspace cannot ask that anything is done twice: the first are the user's own words.
    let own = files.first();
    bounds.retries.writes = own
        .and_then(|(_, file)| file.limits.retry_writes)
        .unwrap_or(false);
    if let Some(bytes) = least(files, |limits| limits.outcome_bytes) {
        let key = "[limits] outcome_bytes";
        bounds.outcome_bytes = within(key, bytes, (4, OUTCOME_BYTES))?;
    }
    Ok(())
}

/// What one guest has of stack, and one run of handles, of processor time and of the journal.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn room(bounds: &mut Bounds, files: &Files<'_>) -> Result<()> {
    if let Some(mib) = least(files, |limits| limits.stack_mib) {
        let all = (WASM_STACK_MIB_MIN, WASM_STACK_BYTES >> 20);
        bounds.guest.stack_bytes = within("[limits] stack_mib", mib, all)? << 20;
    }
    if let Some(handles) = least(files, |limits| limits.handles) {
        bounds.run.handles = within("[limits] handles", handles, (HANDLES_MIN, HANDLES))?;
    }
    if let Some(ms) = least(files, |limits| limits.run_cpu_ms) {
        bounds.run.cpu_ms = within("[limits] run_cpu_ms", ms, (1, RUN_CPU_MS_MAX))?;
    }
    if let Some(mib) = least(files, |limits| limits.run_journal_mib) {
        let all = (1, RUN_JOURNAL_MIB_MAX);
        bounds.run.journal_bytes = within("[limits] run_journal_mib", mib, all)? << 20;
    }
    Ok(())
}

/// Answers from outside are no longer than this, wherever a line does not say less.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn answers(policy: &mut Policy, files: &Files<'_>) -> Result<()> {
    let Some(bytes) = least(files, |limits| limits.answer_bytes) else {
        return Ok(());
    };
    let most = within("[limits] answer_bytes", bytes, (1, FETCH_BODY_BYTES))?;
    for line in &mut policy.lines {
        for destination in &mut line.grant.fetch {
            let bounds = &mut destination.bounds;
            bounds.answer_bytes = bounds.answer_bytes.min(most);
        }
    }
    Ok(())
}

/// What a run may be given to look at.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn attaching(files: &Files<'_>) -> Result<Attaching> {
    let of = Attaching::default();
    let number = least(files, |limits| limits.attachments).unwrap_or(of.files);
    let bytes = least(files, |limits| limits.attachment_bytes).unwrap_or(of.bytes);
    Ok(Attaching {
        files: within("[limits] attachments", number, (0, of.files))?,
        bytes: within("[limits] attachment_bytes", bytes, (1, ATTACHMENT_BYTES))?,
    })
}

/// What waits for one watcher of a run.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn watching(files: &Files<'_>) -> Result<Watching> {
    let of = Watching::default();
    let events = least(files, |limits| limits.watch_events).unwrap_or(of.events);
    Ok(Watching {
        events: within("[limits] watch_events", events, (1, WATCH_RECORDS))?,
    })
}

/// How tools are looked for: the first file that says how many are found is followed, and the least bounds hold.
///
/// # Errors
/// `BadInput` for a number out of its range.
pub(super) fn search(files: &Files<'_>) -> Result<SearchRules> {
    let of = SearchRules::default();
    let tables = || files.iter().map(|(_, file)| file.search);
    let results = tables().find_map(|table| table.results);
    let most = tables().filter_map(|table| table.results_max).min();
    let least =
        |said: fn(&SearchTable) -> Option<usize>| tables().filter_map(|table| said(&table)).min();
    let chars = least(|table| table.query_chars);
    let all = (1, SEARCH_HITS_MAX);
    let most = within("[search] results_max", most.unwrap_or(of.results_max), all)?;
    Ok(SearchRules {
        results: match results {
            Some(results) => within("[search] results", results, (1, most))?,
            None => of.results.min(most),
        },
        results_max: most,
        query_chars: within(
            "[search] query_chars",
            chars.unwrap_or(of.query_chars),
            (1, SEARCH_QUERY_CHARS),
        )?,
        brevity: Brevity {
            line_chars: within(
                "[search] line_chars",
                least(|table| table.line_chars).unwrap_or(of.brevity.line_chars),
                (CATALOGUE_LINE_CHARS_MIN, of.brevity.line_chars),
            )?,
            type_depth: within(
                "[search] type_depth",
                least(|table| table.type_depth).unwrap_or(of.brevity.type_depth),
                (1, of.brevity.type_depth),
            )?,
        },
    })
}

/// How the health of models is counted: the first file that says something is followed, since none of it grants anything.
///
/// # Errors
/// `BadInput` for more than all.
pub(super) fn weights(files: &Files<'_>) -> Result<Weights> {
    let of = Weights::default();
    let percent = |key: &str, said: Option<u32>, or: u32| {
        within(&format!("[health] {key}"), said.unwrap_or(or), (0, 100))
    };
    let tables = || files.iter().map(|(_, file)| file.health);
    Ok(Weights {
        alpha_percent: percent(
            "alpha_percent",
            tables().find_map(|table| table.alpha_percent),
            of.alpha_percent,
        )?,
        start_percent: percent(
            "start_percent",
            tables().find_map(|table| table.start_percent),
            of.start_percent,
        )?,
        weight_percent: percent(
            "weight_percent",
            tables().find_map(|table| table.weight_percent),
            of.weight_percent,
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::grant::{Destination, FetchBounds, Grant, Pattern};
    use crate::rules::policy::Line;

    fn with<T>(texts: &[&str], made: impl Fn(&Files<'_>) -> T) -> T {
        let files: Vec<ConfigFile> = texts
            .iter()
            .map(|text| toml::from_str(text).unwrap())
            .collect();
        let files: Vec<_> = files.iter().map(|file| (Path::new("f"), file)).collect();
        made(&files)
    }

    #[test]
    fn the_least_of_what_two_files_say_bounds_calls() {
        let own = "[limits]\nsilent_timeout_ms = 9\nsilent_retries = 1\noutcome_bytes = 50";
        let theirs = "[limits]\nsilent_timeout_ms = 7\nsilent_retries = 3\noutcome_bytes = 60";
        let bounds = with(&[own, theirs], |files| {
            let mut bounds = Bounds::default();
            silent(&mut bounds, files).unwrap();
            bounds
        });
        assert_eq!(bounds.deadline_ms(None), 7);
        assert_eq!(bounds.deadline_ms(Some(8)), 8);
        assert_eq!(bounds.retries.silent.retries, 1);
        assert!(bounds.check_outcome(50).is_ok());
        let error = bounds.check_outcome(51).unwrap_err();
        assert!(
            error.hints()[0].contains("`[limits] outcome_bytes`"),
            "{error}"
        );
    }

    #[test]
    fn room_is_the_least_of_what_is_said_within_its_range() {
        let bounds = |texts: &[&str]| {
            with(texts, |files| {
                let mut bounds = Bounds::default();
                room(&mut bounds, files).map(|()| {
                    let run = bounds.run;
                    let of_run = (run.handles, run.cpu_ms, run.journal_bytes >> 20);
                    (bounds.guest.stack_bytes >> 20, of_run)
                })
            })
        };
        assert_eq!(bounds(&[""]).unwrap(), (16, (4_096, 3_600_000, 1_024)));
        let both = [
            "limits = { stack_mib = 2, run_cpu_ms = 7_000_000, run_journal_mib = 2 }",
            "limits = { stack_mib = 3, handles = 16, run_cpu_ms = 9_000_000, run_journal_mib = 1 }",
        ];
        assert_eq!(bounds(&both).unwrap(), (2, (16, 7_000_000, 1)));
        for (said, says) in [
            ("stack_mib = 17", "[limits] stack_mib is from 1 to 16"),
            ("stack_mib = 0", "[limits] stack_mib is from 1 to 16"),
            ("handles = 4097", "[limits] handles is from 16 to 4096"),
            (
                "run_cpu_ms = 0",
                "[limits] run_cpu_ms is from 1 to 604800000",
            ),
            (
                "run_journal_mib = 1048577",
                "[limits] run_journal_mib is from 1 to 1048576",
            ),
        ] {
            let error = bounds(&[&format!("[limits]\n{said}")]).unwrap_err();
            assert_eq!(error.message(), says);
        }
    }

    #[test]
    fn no_workspace_has_anything_done_twice() {
        let said = "limits.retry_writes = true";
        for (files, writes) in [
            ([said, ""], true),
            (["", said], false),
            ([said, "limits.retry_writes = false"], true),
        ] {
            let bounds = with(&files, |files| {
                let mut bounds = Bounds::default();
                silent(&mut bounds, files).unwrap();
                bounds
            });
            assert_eq!(bounds.retries.writes, writes, "{files:?}");
        }
    }

    #[test]
    fn an_answer_is_no_longer_than_its_line_and_the_common_number_say() {
        let small = FetchBounds {
            answer_bytes: 10,
            ..FetchBounds::default()
        };
        let to = |bounds| {
            Destination::parse("https://a.test/", &["GET"], false).map(|to| to.bounded(bounds))
        };
        let bytes = |text: &str| {
            let mut policy = Policy::nothing("f");
            policy.lines.push(Line {
                tools: Pattern::try_from("web.*".to_owned()).unwrap(),
                grant: Grant {
                    fetch: vec![to(small).unwrap(), to(FetchBounds::default()).unwrap()],
                    ..Grant::default()
                },
            });
            with(&[text], |files| {
                answers(&mut policy.clone(), files).map(|()| {
                    let mut policy = policy.clone();
                    answers(&mut policy, files).unwrap();
                    let fetch = &policy.lines[0].grant.fetch;
                    (fetch[0].bounds.answer_bytes, fetch[1].bounds.answer_bytes)
                })
            })
        };
        assert_eq!(bytes("").unwrap(), (10, FETCH_BODY_BYTES));
        assert_eq!(bytes("limits.answer_bytes = 20").unwrap(), (10, 20));
        assert!(bytes("limits.answer_bytes = 0").is_err());
    }

    #[test]
    fn bounds_of_a_search_hang_together() {
        let search = |text: &str| with(&[text], search);
        let found = |text: &str| {
            let rules = search(text).unwrap();
            (rules.results, rules.results_max, rules.query_chars)
        };
        assert_eq!(found(""), (8, 25, 512));
        assert_eq!(found("search.results_max = 5"), (5, 5, 512));
        let brevity = search("search = { line_chars = 60, type_depth = 2 }");
        let brevity = brevity.unwrap().brevity;
        assert_eq!((brevity.line_chars, brevity.type_depth), (60, 2));
        assert_eq!(
            found("search = { results = 2, query_chars = 9 }"),
            (2, 25, 9)
        );
        for wrong in [
            "search = { results = 6, results_max = 5 }",
            "search.results_max = 26",
            "search.query_chars = 0",
            "search.line_chars = 39",
            "search.line_chars = 121",
            "search.type_depth = 0",
            "search.type_depth = 5",
        ] {
            assert!(
                search(wrong)
                    .unwrap_err()
                    .message()
                    .starts_with("[search] ")
            );
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let says = |text: &str, says: &str| {
            let error = with(&[text], |files| {
                weights(files)
                    .map(|_| ())
                    .and(attaching(files).map(|_| ()))
                    .and(watching(files).map(|_| ()))
                    .and(silent(&mut Bounds::default(), files))
            });
            let error = error.unwrap_err();
            assert_eq!(error.message(), says);
        };
        says(
            "health.alpha_percent = 101",
            "[health] alpha_percent is from 0 to 100",
        );
        says(
            "limits.attachments = 5",
            "[limits] attachments is from 0 to 4",
        );
        for events in [0, 1025] {
            says(
                &format!("limits.watch_events = {events}"),
                "[limits] watch_events is from 1 to 1024",
            );
        }
        says(
            "limits.silent_timeout_ms = 0",
            "[limits] silent_timeout_ms is from 1 to 600000",
        );
        says(
            "limits.silent_retries = 6",
            "[limits] silent_retries is from 0 to 5",
        );
    }

    #[test]
    fn the_first_file_that_speaks_of_health_is_followed() {
        let weights = with(
            &[
                "health.alpha_percent = 3",
                "health = { alpha_percent = 4, start_percent = 5 }",
            ],
            weights,
        );
        let weights = weights.unwrap();
        assert_eq!((weights.alpha_percent, weights.start_percent), (3, 5));
    }
}
