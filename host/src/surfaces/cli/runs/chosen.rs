//! Which runs `lazaret runs list` shows: by how they stand, by what was begun, and by when.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::gate::journal::Provenance;
use crate::surfaces::listed;
use crate::words::error::Code;
use crate::words::event::{End, Event, Record};
use crate::words::limits::RUNS_LISTED;
use crate::words::near::nearest;

/// Which runs.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::surfaces::cli) struct Chosen {
    /// Only runs that stand so: `done`, `failed` (whatever for), `waiting`, `paused`, `unfinished`, or the kind of a
    /// failure, such as `denied`.
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    status: Option<Status>,
    /// Only runs of this agent, or calls of this tool.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only runs that began since then: `30m`, `12h`, `7d` ago, or a day such as `2026-03-14` (UTC).
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Since>,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Status {
    /// It ended, and not well.
    Failed,
    /// This, as it is listed.
    Word(String),
}

/// A time that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// So many milliseconds ago.
    Ago(u64),
    /// This one, in milliseconds since 1970.
    At(u64),
}

/// A run in a list: its first record, its last one, and where it comes from.
type Run = (Record, Record, Provenance);

impl Chosen {
    /// How many runs are looked at, so that so many are left.
    pub(super) fn looked_at(&self, limit: usize) -> usize {
        let is_narrow = self.status.is_some() || self.agent.is_some() || self.since.is_some();
        if is_narrow { RUNS_LISTED } else { limit }
    }

    /// Those of these runs that are wanted, in their order.
    pub(super) fn of(&self, runs: Vec<Run>, (limit, now): (usize, u64)) -> Vec<Run> {
        let wanted = runs.into_iter().filter(|run| self.is_wanted(run, now));
        wanted.take(limit).collect()
    }

    fn is_wanted(&self, (first, last, _): &Run, now: u64) -> bool {
        let stands = |status: &Status| match status {
            Status::Failed => is_failed(last),
            Status::Word(word) => listed::state(last) == *word,
        };
        let subject = listed::began(first).map(|started| started.subject.as_str());
        let begins = |since: Since| match since {
            Since::Ago(ms) => first.at >= now.saturating_sub(ms),
            Since::At(at) => first.at >= at,
        };
        self.status.as_ref().is_none_or(stands)
            && self
                .agent
                .as_deref()
                .is_none_or(|name| subject == Some(name))
            && self.since.is_none_or(begins)
    }
}

fn is_failed(last: &Record) -> bool {
    matches!(&last.event, Event::Stopped(stopped) if matches!(stopped.end, End::Failed { .. }))
}

/// How runs stand that have not failed.
const STATES: [&str; 4] = ["done", "waiting", "paused", "unfinished"];

fn parse_status(text: &str) -> Result<Status, String> {
    let is_code = serde_json::from_value::<Code>(text.into()).is_ok();
    if text == "failed" {
        return Ok(Status::Failed);
    }
    if is_code || STATES.contains(&text) {
        return Ok(Status::Word(text.to_owned()));
    }
    let known = STATES.into_iter().chain(["failed"]);
    Err(match nearest(text, known.clone()) {
        Some(near) => format!("no run stands so; did you mean `{near}`?"),
        None => {
            let known: Vec<&str> = known.collect();
            format!(
                "no run stands so: it is {}, or the kind of a failure",
                known.join(", ")
            )
        }
    })
}

fn parse_since(text: &str) -> Result<Since, String> {
    let wrong = || "write `30m`, `12h` or `7d`, or a day such as `2026-03-14`".to_owned();
    if let Some(ms) = ago(text) {
        return Ok(Since::Ago(ms));
    }
    let day = text.parse::<Date>().ok();
    let day = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    let at = day.map(|day| day.timestamp());
    let at = at
        .or_else(|| text.parse::<Timestamp>().ok())
        .ok_or_else(wrong)?;
    u64::try_from(at.as_millisecond())
        .map(Since::At)
        .map_err(|_| wrong())
}

/// `30m`, in milliseconds.
pub(super) fn ago(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let second: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    count.checked_mul(second)?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_so_long_ago_or_a_day() {
        for (text, since) in [
            ("90s", Since::Ago(90_000)),
            ("30m", Since::Ago(1_800_000)),
            ("7d", Since::Ago(604_800_000)),
            ("1970-01-02", Since::At(86_400_000)),
            ("1970-01-01T00:00:01Z", Since::At(1_000)),
        ] {
            assert_eq!(parse_since(text), Ok(since), "{text}");
        }
        for wrong in [
            "",
            "7",
            "d",
            "-7d",
            "7y",
            "1960-01-01",
            "soon",
            "99999999999999999999d",
        ] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_status_is_a_word_of_the_list() {
        assert_eq!(parse_status("failed"), Ok(Status::Failed));
        for word in ["done", "waiting", "denied", "turn_limit"] {
            let known = parse_status(word);
            let expected = word != "turn_limit";
            assert_eq!(known.is_ok(), expected, "{word}: {known:?}");
        }
        let wrong = parse_status("wating").unwrap_err();
        assert!(wrong.contains("did you mean `waiting`?"), "{wrong}");
    }
}
