//! Repetition of a call that failed and may succeed later (U-17).
//!
//! Only what changes nothing, or nothing twice, is repeated, and only after a failure that says that it may pass.

use serde::{Deserialize, Serialize};

use super::manifest::{Declared, EffectClass};
use crate::words::error::{Code, Error};
use crate::words::limits::{CALL_RETRIES, CALL_RETRIES_MAX, CALL_RETRY_DELAY_MS};

/// Repetition after a failure that may pass (A-15…A-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Attempts after the first, 0 to 5.
    pub retries: u32,
    /// The first wait.
    pub delay_ms: u64,
    /// How waits grow.
    pub backoff: Growth,
}

/// How waits grow from attempt to attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Growth {
    /// Each is longer by the first.
    #[default]
    Linear,
    /// Each is twice the one before.
    Exponential,
}

impl Default for Retry {
    /// None; but whoever wants some and does not say how long to wait, waits as everybody does (A-17a).
    fn default() -> Self {
        Self {
            retries: 0,
            delay_ms: CALL_RETRY_DELAY_MS,
            backoff: Growth::Linear,
        }
    }
}

impl Retry {
    /// So many, each after a longer wait.
    #[must_use]
    pub const fn linear(retries: u32, delay_ms: u64) -> Self {
        Self {
            retries,
            delay_ms,
            backoff: Growth::Linear,
        }
    }
}

/// What the operator says of repetitions, from `[limits]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Of a tool whose manifest says nothing.
    pub silent: Retry,
    /// The most that a manifest or a caller may ask for.
    pub most: u32,
    /// Whether what changes something is made again as well, though it may be done twice then (C-37).
    pub writes: bool,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            silent: Retry::linear(CALL_RETRIES, CALL_RETRY_DELAY_MS),
            most: CALL_RETRIES_MAX,
            writes: false,
        }
    }
}

impl Declared {
    /// Whether a call may be made again when its end is not known; one that may not is in doubt then.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.effect.leaves_no_trace() || self.conduct.idempotent
    }
}

impl Retries {
    /// Nothing is made again.
    pub const NONE: Self = Self {
        silent: Retry::linear(0, 0),
        most: 0,
        writes: false,
    };

    /// What holds for a call of this tool: what its caller asked for, else its manifest, else policy.
    #[must_use]
    pub fn of(&self, declared: &Declared, asked: Option<Retry>) -> Retry {
        let conduct = &declared.conduct;
        if !declared.is_repeatable() && !self.writes {
            return Retry::linear(0, 0);
        }
        // What depends on its arguments alone comes to the same end again, unless it says otherwise.
        let silent = match declared.effect {
            EffectClass::Pure => Self::NONE.silent,
            EffectClass::ReadOnly
            | EffectClass::SideEffecting
            | EffectClass::ExternalStateful
            | EffectClass::Destructive => self.silent,
        };
        let retry = asked.or(conduct.retry).unwrap_or(silent);
        Retry {
            retries: retry.retries.min(self.most),
            ..retry
        }
    }
}

/// How long to wait before the next attempt, where there is one: the wait grows by `delay_ms` each time, or doubles.
/// `failed` attempts have been made.
#[must_use]
pub fn wait_ms(retry: Retry, failed: u32, error: &Error) -> Option<u64> {
    let may_pass = error.is_retryable() && is_of_the_call(error.code());
    let times = match retry.backoff {
        Growth::Linear => u64::from(failed),
        Growth::Exponential => 1_u64
            .checked_shl(failed.saturating_sub(1))
            .unwrap_or(u64::MAX),
    };
    (may_pass && failed <= retry.retries).then(|| retry.delay_ms.saturating_mul(times))
}

/// Whether a failure is one of the call itself: who was cancelled, or has to wait for a person, tries nothing again.
fn is_of_the_call(code: Code) -> bool {
    !matches!(
        code,
        Code::Cancelled | Code::Asked | Code::Unconfirmed | Code::Denied
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::manifest::Manifest;
    use serde_json::{Value, json};

    fn tool(more: &Value) -> Declared {
        let mut tool =
            json!({"name": "t", "description": "d", "input": {"type": "object"}, "output": {}});
        for (key, value) in more.as_object().unwrap() {
            tool[key] = value.clone();
        }
        let manifest =
            json!({"plugin": "p", "version": "1", "description": "d", "tools": [tool]}).to_string();
        Manifest::read(&manifest).unwrap().tools.remove(0)
    }

    fn check(more: &Value, asked: Option<Retry>, wanted: (u32, u64)) {
        let retry = Retries::default().of(&tool(more), asked);
        assert_eq!((retry.retries, retry.delay_ms), wanted, "{more}");
    }

    fn of(retries: u32, delay_ms: u64) -> Retry {
        Retry::linear(retries, delay_ms)
    }

    #[test]
    fn only_what_changes_nothing_twice_is_repeated() {
        check(&json!({"effect": "pure"}), None, (0, 0));
        check(&json!({"effect": "read-only"}), None, (2, 100));
        check(&json!({"effect": "side-effecting"}), None, (0, 0));
        check(&json!({"effect": "destructive"}), Some(of(3, 1)), (0, 0));
        check(
            &json!({"effect": "side-effecting", "idempotent": true}),
            None,
            (2, 100),
        );
        check(
            &json!({"effect": "side-effecting", "retry": {"retries": 5, "delay_ms": 1}}),
            None,
            (0, 0),
        );
    }

    #[test]
    fn who_says_so_has_what_changes_something_made_again() {
        let retries = Retries {
            writes: true,
            ..Retries::default()
        };
        for (more, wanted) in [
            (json!({"effect": "side-effecting"}), 2),
            (json!({"effect": "destructive", "retry": {"retries": 1}}), 1),
            (json!({"effect": "destructive", "retry": false}), 0),
            (json!({"effect": "pure"}), 0),
        ] {
            assert_eq!(retries.of(&tool(&more), None).retries, wanted, "{more}");
        }
    }

    #[test]
    fn who_calls_comes_before_the_manifest_and_that_before_policy() {
        let says = json!({"effect": "pure", "retry": {"retries": 1, "delay_ms": 7}});
        check(&says, None, (1, 7));
        check(&says, Some(of(3, 9)), (3, 9));
        check(&says, Some(of(90, 9)), (5, 9));
        check(&json!({"effect": "pure", "retry": {}}), None, (0, 100));
        check(&json!({"effect": "pure", "retry": true}), None, (2, 100));
        check(&json!({"effect": "pure", "retry": false}), None, (0, 100));
    }

    #[test]
    fn waits_grow_and_end() {
        let error = Error::new(Code::FetchFailed, "x");
        let waits = (1..=4).map(|failed| wait_ms(of(2, 100), failed, &error));
        assert_eq!(
            waits.collect::<Vec<_>>(),
            [Some(100), Some(200), None, None]
        );
        let doubling = tool(
            &json!({"effect": "read-only", "retry": {"retries": 4, "backoff": "exponential"}}),
        );
        let doubling = Retries::default().of(&doubling, None);
        let waits = (1..=5).map(|failed| wait_ms(doubling, failed, &error));
        assert_eq!(
            waits.collect::<Vec<_>>(),
            [Some(100), Some(200), Some(400), Some(800), None]
        );
        for (code, retryable) in [
            (Code::FetchFailed, false),
            (Code::GuestFailed, false),
            (Code::Cancelled, true),
            (Code::Asked, true),
        ] {
            let error = Error::new(code, "x").retry(retryable);
            assert_eq!(wait_ms(of(2, 100), 1, &error), None, "{code:?}");
        }
    }
}
