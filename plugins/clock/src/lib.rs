//! Plugin `clock`: what time it is.
//!
//! The time zone database is part of the component, since a guest has none around it. The clock
//! itself is the host's, coarsened to a millisecond.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lazaret_sdk::prelude::*;

/// A moment, told in one time zone.
#[value]
#[derive(PartialEq, Eq)]
pub struct Moment {
    /// RFC 3339 with offset, such as `2026-03-01T09:05:00.250+01:00`.
    pub rfc3339: String,
    /// The date, `YYYY-MM-DD`.
    pub date: String,
    /// The time of day, `HH:MM:SS`.
    pub time: String,
    /// The day of the week in English, such as `Sunday`.
    pub weekday: String,
    /// The IANA name of the time zone.
    pub time_zone: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub unix_ms: i64,
}

/// Tells the current date and time in a time zone, with the weekday.
///
/// Use it whenever an answer depends on today's date: nothing else knows it.
#[tool(
    effect = "read-only",
    risk = "read_only",
    sensitivity = "public",
    tier = "fast",
    timeout_ms = 5000,
    example(title = "now in UTC", args = r#"{}"#),
    example(title = "now in Rome", args = r#"{"time_zone": "Europe/Rome"}"#)
)]
pub fn now(
    /// IANA name of the time zone, such as `Europe/Rome`.
    #[default("UTC".to_owned())]
    time_zone: String,
) -> Result<Moment, Failure> {
    tell(Timestamp::now(), &time_zone)
}

fn tell(timestamp: Timestamp, time_zone: &str) -> Result<Moment, Failure> {
    let zone = TimeZone::get(time_zone).ok().or_bad_input(format!(
        "there is no time zone `{time_zone}`: use an IANA name such as `Europe/Rome` or `UTC`"
    ))?;
    let told = timestamp.to_zoned(zone);
    Ok(Moment {
        rfc3339: told.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
        date: told.strftime("%Y-%m-%d").to_string(),
        time: told.strftime("%H:%M:%S").to_string(),
        weekday: told.strftime("%A").to_string(),
        time_zone: time_zone.to_owned(),
        unix_ms: timestamp.as_millisecond(),
    })
}

plugin! {
    name: "clock",
    description: "Tells the current date and time in any time zone.",
    tools: [now],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unix_ms: i64, time_zone: &str, rfc3339: &str, weekday: &str) {
        let moment = tell(Timestamp::from_millisecond(unix_ms).unwrap(), time_zone).unwrap();
        assert_eq!(
            (moment.rfc3339.as_str(), moment.weekday.as_str()),
            (rfc3339, weekday)
        );
        assert!(rfc3339.starts_with(&format!("{}T{}", moment.date, moment.time)));
    }

    #[test]
    fn a_moment_is_told_in_its_zone() {
        check(
            1_772_352_300_250,
            "UTC",
            "2026-03-01T08:05:00.250+00:00",
            "Sunday",
        );
        check(
            1_772_352_300_250,
            "Europe/Rome",
            "2026-03-01T09:05:00.250+01:00",
            "Sunday",
        );
        check(
            1_783_000_000_000,
            "Europe/Rome",
            "2026-07-02T15:46:40.000+02:00",
            "Thursday",
        );
        check(
            1_772_352_300_250,
            "America/New_York",
            "2026-03-01T03:05:00.250-05:00",
            "Sunday",
        );
    }

    #[test]
    fn an_unknown_zone_is_a_failure() {
        let failure = tell(Timestamp::UNIX_EPOCH, "Mars/Base").unwrap_err();
        assert!(
            failure
                .message()
                .starts_with("there is no time zone `Mars/Base`")
        );
    }
}
