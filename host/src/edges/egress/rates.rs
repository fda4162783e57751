//! Rates: how often each tool has sent under each destination line, on the monotonic clock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::rules::fetch::Reach;
use crate::rules::fetch::reason::Reason;
use crate::rules::rate::Minute;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::limits::FETCH_RATES;
use crate::words::lock::lock;

/// The requests of the last minute, of this process.
#[derive(Clone)]
pub(super) struct Rates(Arc<Inner>);

struct Inner {
    began: Instant,
    minutes: Mutex<HashMap<(String, Arc<str>), Minute>>,
}

impl Rates {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            began: Clock::instant(),
            minutes: Mutex::default(),
        }))
    }

    /// Counts one request under every line that it falls under, or under none.
    pub(super) fn take(&self, reach: &Reach) -> Result<()> {
        let now_ms = u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        take(&mut lock(&self.0.minutes), reach, now_ms)
    }
}

fn take(
    minutes: &mut HashMap<(String, Arc<str>), Minute>,
    reach: &Reach,
    now_ms: u64,
) -> Result<()> {
    let key = |line: &Arc<str>| (reach.wisher.clone(), line.clone());
    for (line, most) in &reach.rates {
        let Some(minute) = minutes.get_mut(&key(line)) else {
            continue;
        };
        minute.admits(now_ms, *most).map_err(|wait_ms| {
            let seconds = wait_ms.div_ceil(1_000);
            Reason::Rate.error(&format!(
                "`{}` has sent {most} requests in the last minute, as many as `{line}` allows; the next may go in {seconds} s",
                reach.wisher
            ))
        })?;
    }
    if minutes.len() + reach.rates.len() > FETCH_RATES {
        minutes.retain(|_, minute| !minute.is_idle(now_ms));
    }
    if minutes.len() + reach.rates.len() > FETCH_RATES {
        return Err(Error::new(
            Code::Busy,
            "too many tools send to too many destinations at once",
        ));
    }
    for (line, _) in &reach.rates {
        minutes.entry(key(line)).or_default().count(now_ms);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(wisher: &str, rates: &[(&str, u32)]) -> Reach {
        let rates = rates.iter().map(|(line, most)| ((*line).into(), *most));
        Reach {
            fills: Vec::new(),
            private: false,
            whole: false,
            answer_bytes: 0,
            wisher: wisher.to_owned(),
            rates: rates.collect(),
        }
    }

    #[test]
    fn every_line_counts_and_what_is_refused_counts_under_none() {
        let mut minutes = HashMap::new();
        let both = reach("a.b", &[("wide", 3), ("narrow", 1)]);
        let wide = reach("a.b", &[("wide", 3)]);
        let mut take = |reach: &Reach, now_ms| take(&mut minutes, reach, now_ms);
        take(&both, 0).unwrap();
        let error = take(&both, 10_000).unwrap_err();
        assert!(
            error
                .message()
                .contains("`narrow` allows; the next may go in 51 s")
        );
        assert_eq!(
            (error.code(), error.is_retryable()),
            (Code::OverBudget, true)
        );
        take(&wide, 10_000).unwrap();
        take(&wide, 10_000).unwrap();
        take(&wide, 10_000).unwrap_err();
        // Another tool has a count of its own.
        take(&reach("c.d", &[("wide", 3)]), 10_000).unwrap();
        take(&both, 61_000).unwrap();
    }

    #[test]
    fn no_more_pairs_are_remembered_than_there_may_be() {
        let mut minutes = HashMap::new();
        for at in 0..FETCH_RATES {
            take(&mut minutes, &reach(&at.to_string(), &[("x", 9)]), 0).unwrap();
        }
        let late = reach("late", &[("x", 9)]);
        assert_eq!(take(&mut minutes, &late, 0).unwrap_err().code(), Code::Busy);
        take(&mut minutes, &late, 61_000).unwrap();
        assert_eq!(minutes.len(), 1);
    }
}
