//! When a server may be asked again, as it says in a header: `Retry-After` in seconds or as a date, and the
//! `retry-after-ms` that some send beside it.

use jiff::fmt::rfc2822;

/// Headers that say so, the more exact one first.
pub const AGAIN: [&str; 2] = ["retry-after-ms", "retry-after"];

/// What the header says, in milliseconds from `now_ms` on; nothing where it says nothing that can be meant. It is
/// not bounded here: whoever waits has a bound of their own.
#[must_use]
pub fn again_after_ms(header: &str, value: &str, now_ms: u64) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are a very long time.
        let number = value.parse().unwrap_or(u64::MAX);
        let unit_ms = if header == "retry-after" { 1_000 } else { 1 };
        return Some(u64::saturating_mul(number, unit_ms));
    }
    if header != "retry-after" {
        return None;
    }
    let date = rfc2822::parse(value).ok()?.timestamp().as_millisecond();
    // A date before 1970 is past as well.
    Some(u64::try_from(date).unwrap_or(0).saturating_sub(now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const THEN_MS: u64 = 784_111_777_000;

    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        assert_eq!(
            again_after_ms("retry-after", value, THEN_MS),
            expected,
            "{value}"
        );
    }

    #[test]
    fn seconds_and_dates_and_nothing_else() {
        check("0", Some(0));
        check(" 7 ", Some(7_000));
        check("1000000000", Some(1_000_000_000_000));
        check("99999999999999999999999999", Some(u64::MAX));
        check("Sun, 06 Nov 1994 08:49:38 GMT", Some(1_000));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(0));
        check("Sat, 05 Nov 1994 08:49:37 GMT", Some(0));
        check("Thu, 01 Jan 1950 00:00:00 GMT", None);
        check("Sun, 01 Jan 1950 00:00:00 GMT", Some(0));
        for junk in [
            "",
            "-1",
            "1.5",
            "+3",
            "soon",
            "1e9",
            "Sun, 06 Nov",
            "\u{661}",
        ] {
            check(junk, None);
        }
    }

    #[test]
    fn milliseconds_have_a_header_of_their_own() {
        assert_eq!(again_after_ms("retry-after-ms", "250", 0), Some(250));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(again_after_ms("retry-after-ms", date, 0), None);
    }
}
