//! Budgets of a run: how much of its models it may use, and what becomes of more (U-40).
//!
//! A prompt is weighed before it leaves, by an estimate, and its answer when it is there, by what the provider counted.
//! Nothing here knows a clock: how long a run has gone on is told by its records, so that a replay says the same.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::caller::Caller;
use super::flow::Point;
use super::policy::Policy;
use super::{Allowed, Consent, Durability, Effect};
use crate::words::budget::{Budgeted, Over};
use crate::words::error::{Code, Error};
use crate::words::event::{Content, Denial, EffectKind, Event, Judged, Record, Verdict};
use crate::words::limits::REPLY_TOKENS_AHEAD;
use crate::words::message::Usage;

/// The most that a run may use; 0 is no cap (R-42a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Millionths of the currency of the prices.
    pub cost_micros: u64,
    /// Questions to models.
    pub turns: u64,
    /// Milliseconds that it goes on, looked at before each turn.
    pub wall_ms: u64,
    /// What becomes of more.
    pub on_exceed: OnExceed,
    /// What becomes of a cap on cost where a price is not known.
    pub unpriced: Unpriced,
    /// How many tokens an answer is taken to have before it is there.
    pub reply_tokens: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            tokens: 0,
            cost_micros: 0,
            turns: 0,
            wall_ms: 0,
            on_exceed: OnExceed::Fail,
            unpriced: Unpriced::Fail,
            reply_tokens: REPLY_TOKENS_AHEAD,
        }
    }
}

/// What becomes of a run that is about to use more than its budget.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OnExceed {
    /// It ends.
    #[default]
    Fail,
    /// It is said once, and the run goes on.
    Warn,
    /// A person is asked for as much again.
    Ask,
}

/// What becomes of a cap on cost where a price is not known.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Unpriced {
    /// A cap that nobody can check is none: the run ends.
    #[default]
    Fail,
    /// What is not known does not count.
    Allow,
}

/// What a prompt that has not left yet is taken to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of the currency.
    pub micros: u64,
    /// Turns.
    pub turns: u64,
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Of its models.
    pub usage: Usage,
    /// Turns.
    pub turns: u64,
    /// Milliseconds that it has gone on.
    pub wall_ms: u64,
}

impl Caps {
    /// Whether there is none.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        [self.tokens, self.cost_micros, self.turns, self.wall_ms] == [0; 4]
    }

    /// With what one run asks for: less, never more; nothing is asked for with 0.
    #[must_use]
    pub fn narrowed(self, tokens: u64, cost_micros: u64) -> Self {
        let least = |own: u64, asked: u64| match (own, asked) {
            (own, 0) => own,
            (0, asked) => asked,
            (own, asked) => own.min(asked),
        };
        Self {
            tokens: least(self.tokens, tokens),
            cost_micros: least(self.cost_micros, cost_micros),
            ..self
        }
    }

    /// The budgets that what was used is over, together with what is about to be.
    pub fn over(&self, used: Used, ahead: Ahead) -> impl Iterator<Item = Over> {
        let spent = used.usage;
        let tokens = spent.input_tokens.saturating_add(spent.output_tokens);
        let over = |budget, cap: u64, spent: u64, ahead| Over {
            budget,
            spent,
            ahead,
            cap,
        };
        [
            over(Budgeted::Tokens, self.tokens, tokens, ahead.tokens),
            over(
                Budgeted::Cost,
                self.cost_micros,
                spent.cost.micros,
                ahead.micros,
            ),
            over(Budgeted::Turns, self.turns, used.turns, ahead.turns),
            over(Budgeted::Wall, self.wall_ms, used.wall_ms, 0),
        ]
        .into_iter()
        .filter(|over| over.cap > 0 && over.spent.saturating_add(over.ahead) > over.cap)
    }

    /// Whether there is a cap on cost that cannot be checked.
    #[must_use]
    pub fn is_blind(&self, spent: Usage) -> bool {
        self.cost_micros > 0 && self.unpriced == Unpriced::Fail && spent.cost.unknown > 0
    }
}

/// What was said of budgets in a run. A fold of its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purse {
    warned: BTreeSet<Budgeted>,
    granted: Vec<(Budgeted, u64)>,
    /// How long it went on in earlier lives.
    active_ms: u64,
    /// The time of the record with which this life began.
    began: u64,
}

impl Purse {
    /// Reads the records of a run.
    #[must_use]
    pub fn of(records: &[Record]) -> Self {
        let mut purse = Self::default();
        let (mut last, mut is_left) = (None, true);
        for record in records {
            if let Some(last) =
                last.filter(|_| !is_left && !matches!(record.event, Event::Resumed { .. }))
            {
                purse.active_ms = purse
                    .active_ms
                    .saturating_add(record.at.saturating_sub(last));
            }
            last = Some(record.at);
            // Until it goes on, nothing is used of its time.
            let begins = matches!(record.event, Event::Started(_) | Event::Resumed { .. });
            is_left = matches!(record.event, Event::Paused { .. }) || is_left && !begins;
            if let Event::Overspent(over) = &record.event {
                purse.warn(over);
            }
            if let Event::Judged(judged) = &record.event {
                purse.granted.extend(granted(judged));
            }
        }
        purse
    }

    /// A life of the run begins with the record of that time.
    pub fn begin(&mut self, at: u64) {
        self.began = at;
    }

    /// How long the run has gone on by the time of its last record.
    #[must_use]
    pub fn wall_ms(&self, at: u64) -> u64 {
        self.active_ms.saturating_add(at.saturating_sub(self.began))
    }

    /// Whether this is said for the first time.
    pub fn warn(&mut self, over: &Over) -> bool {
        self.warned.insert(over.budget)
    }

    /// Whether it was settled that the run goes on over this.
    #[must_use]
    pub fn settles(&self, over: &Over, on_exceed: OnExceed) -> bool {
        match on_exceed {
            OnExceed::Fail => false,
            OnExceed::Warn => self.warned.contains(&over.budget),
            OnExceed::Ask => self.covers(over),
        }
    }

    /// A person has granted it.
    pub fn grant(&mut self, over: &Over) {
        self.granted.push((over.budget, over.times()));
    }

    /// Whether a person has granted as much, or more.
    #[must_use]
    pub fn covers(&self, over: &Over) -> bool {
        let granted = self.granted.iter();
        granted
            .filter(|(budget, _)| *budget == over.budget)
            .any(|(_, times)| *times >= over.times())
    }

    /// The cap that holds by now: as often as persons have granted it.
    #[must_use]
    pub fn cap(&self, over: &Over) -> u64 {
        let granted = self.granted.iter();
        let times = granted
            .filter(|(budget, _)| *budget == over.budget)
            .map(|(_, times)| *times);
        over.cap.saturating_mul(times.max().unwrap_or(1))
    }
}

fn granted(judged: &Judged) -> Option<(Budgeted, u64)> {
    let Verdict::Allow { .. } = judged.verdict else {
        return None;
    };
    let (Content::Inline(content), true) = (&judged.content, is_overspending(judged)) else {
        return None;
    };
    let over: Over = serde_json::from_value(content.clone()).ok()?;
    Some((over.budget, over.times()))
}

/// Whether a judgement is of this, and of no request.
#[must_use]
pub fn is_overspending(judged: &Judged) -> bool {
    judged.effect == EffectKind::Fetch && judged.origin == "model"
}

/// Asking a model beyond the budget of its run: a person says whether.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overspend {
    /// By how much.
    pub over: Over,
    /// The cap that holds by now ([`Purse::cap`]).
    pub cap: u64,
    /// The agent.
    pub agent: String,
}

impl Effect for Overspend {
    const KIND: EffectKind = EffectKind::Fetch;
    type Terms = ();

    fn subject(&self) -> String {
        format!("the budget of {}", self.over.budget.key())
    }

    fn wish(&self) -> String {
        let by_now = Over {
            cap: self.cap,
            ..self.over
        };
        format!("go on beyond the budget of its run ({by_now})")
    }

    fn content(&self) -> Content {
        Content::Inline(serde_json::to_value(self.over).unwrap_or(Value::Null))
    }

    fn judge(&self, _: &Caller, _: &Policy) -> Result<Allowed<()>, Denial> {
        let (over, key) = (&self.over, self.over.budget.key());
        let times = over.times();
        let point = Point {
            // Without what was used by now, so that the same is asked when the run goes on.
            reason: format!("A yes grants {} in all", over.granted()),
            value: None,
            line: String::new(),
        };
        let bound_to = json!({"budget": key, "cap": over.cap, "times": times});
        Ok(Allowed {
            rule: format!("`{key}` of [agents.{}.budget]", self.agent),
            terms: (),
            consent: Consent::Needed {
                rule: format!("`on_exceed = \"ask\"` of [agents.{}.budget]", self.agent),
                bound_to: vec![bound_to.to_string()],
                open: vec![point],
                lines: vec![format!(
                    "[agents.{}.budget]\n{key} = {}",
                    self.agent,
                    over.line()
                )],
            },
            weighed: Vec::new(),
        })
    }

    fn durability(&self) -> Durability {
        Durability::Batched
    }
}

/// What ends a run, or keeps a question in it from a model: a budget that is used up, with what comes `next`. It says the line
/// that would be enough.
#[must_use]
pub fn used_up(agent: &str, over: &Over, next: &str) -> Error {
    let (key, line) = (over.budget.key(), over.line());
    let words = over.words(next);
    let what = format!("the budget of this run is used up: {words}");
    let error = Error::new(Code::OverBudget, what).hint(format!(
        "write in `lazaret.toml`:\n[agents.{agent}.budget]\n{key} = {line}"
    ));
    match over.budget {
        Budgeted::Turns | Budgeted::Wall => error,
        Budgeted::Tokens | Budgeted::Cost => error.hint(format!(
            "or, where this run alone was given less: --max-{key} {line}"
        )),
    }
}

/// Likewise: a cap on cost that nobody can check any more.
#[must_use]
pub fn blind(agent: &str) -> Error {
    let what = "the run has a budget of cost, and an answer has no price that is known: the model has none, or its server did \
                not count tokens, or broke off before it did";
    Error::new(Code::OverBudget, what)
        .hint("write `price = { input = …, output = … }` for the model, for a million tokens")
        .hint(format!(
            "or let it go on uncounted:\n[agents.{agent}.budget]\nunpriced = \"allow\""
        ))
}

/// A cap that nobody can check is none, and better said before the run than in it.
#[must_use]
pub fn without_price(agent: &str, model: &str) -> Error {
    let what =
        format!("agent `{agent}` has a budget of cost, and its model `{model}` has no price");
    let price = format!("[models.{model}]\nprice = {{ input = 3.0, output = 15.0 }}");
    let unpriced = format!("[agents.{agent}.budget]\nunpriced = \"allow\"");
    Error::bad_input(what)
        .hint(format!("write what a million tokens cost:\n{price}"))
        .hint(format!("or do not count it:\n{unpriced}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::message::Cost;

    fn spent(tokens: u64, micros: u64) -> Usage {
        Usage {
            input_tokens: tokens,
            cost: Cost::of(micros),
            ..Usage::default()
        }
    }

    fn check(caps: (u64, u64), used: (u64, u64), ahead: (u64, u64), expected: &[&str]) {
        let caps = Caps {
            tokens: caps.0,
            cost_micros: caps.1,
            ..Caps::default()
        };
        let ahead = Ahead {
            tokens: ahead.0,
            micros: ahead.1,
            turns: 1,
        };
        let used = Used {
            usage: spent(used.0, used.1),
            ..Used::default()
        };
        let over: Vec<_> = caps.over(used, ahead).collect();
        let over: Vec<String> = over
            .iter()
            .map(|over| format!("{} × {}", over, over.times()))
            .collect();
        assert_eq!(over, expected, "{caps:?}");
    }

    #[test]
    fn a_budget_is_over_when_it_would_be_passed() {
        check((0, 0), (1_000_000, 1_000_000), (9, 9), &[]);
        check((100, 0), (60, 0), (40, 0), &[]);
        check(
            (100, 0),
            (61, 0),
            (40, 0),
            &["61 of 100 tokens used; the next turn takes about 40 tokens × 2"],
        );
        check((100, 0), (100, 0), (0, 0), &[]);
        check((100, 0), (101, 0), (0, 0), &["101 of 100 tokens used × 2"]);
        check(
            (0, 500_000),
            (0, 480_000),
            (0, 60_000),
            &["0.48 of 0.50 used; the next turn takes about 0.06 × 2"],
        );
        check((0, 10), (0, 41), (0, 0), &["0.000041 of 0.00001 used × 5"]);
        check(
            (10, 10),
            (u64::MAX, u64::MAX),
            (1, 1),
            &[
                "18446744073709551615 of 10 tokens used; the next turn takes about 1 tokens × 1844674407370955162",
                "18446744073709.551615 of 0.00001 used; the next turn takes about 0.000001 × 1844674407370955162",
            ],
        );
    }

    #[test]
    fn turns_and_time_are_budgets_too() {
        let caps = Caps {
            turns: 3,
            wall_ms: 1_000,
            ..Caps::default()
        };
        let over = |turns, wall_ms| -> Vec<String> {
            let used = Used {
                turns,
                wall_ms,
                ..Used::default()
            };
            let ahead = Ahead {
                turns: 1,
                ..Ahead::default()
            };
            let over = caps.over(used, ahead);
            over.map(|over| format!("{over} × {}", over.times()))
                .collect()
        };
        assert_eq!(over(2, 1_000), [""; 0]);
        assert_eq!(over(3, 0), ["3 of 3 turns used × 2"]);
        assert_eq!(
            over(6, 2_001),
            ["6 of 3 turns used × 3", "2001 of 1000 ms used × 3"]
        );
    }

    #[test]
    fn that_a_run_is_left_takes_none_of_its_time() {
        let record = |at: u64, event: Value| -> Record {
            let mut record =
                json!({"run": "20260301-090500-aaaaaaaa", "seq": 1, "at": at, "parent": 0});
            record
                .as_object_mut()
                .unwrap()
                .extend(event.as_object().unwrap().clone());
            serde_json::from_value(record).unwrap()
        };
        let id = "0".repeat(64);
        let records = [
            record(
                100,
                json!({"event": "started", "surface": "cli", "subject": "", "goal": "", "label": []}),
            ),
            record(130, json!({"event": "paused", "questions": []})),
            record(
                900,
                json!({"event": "answered", "question": id, "answer": "allow"}),
            ),
            record(1_000, json!({"event": "resumed"})),
            record(1_005, json!({"event": "rested", "place": [0]})),
            // The process ended.
            record(9_000, json!({"event": "resumed"})),
        ];
        let mut purse = Purse::of(&records);
        purse.begin(9_500);
        assert_eq!(purse.wall_ms(9_507), 30 + 5 + 7);
    }

    #[test]
    fn a_run_asks_for_less_and_never_for_more() {
        let own = Caps {
            tokens: 100,
            ..Caps::default()
        };
        assert_eq!(own.narrowed(0, 0), own);
        assert_eq!(own.narrowed(50, 0).tokens, 50);
        assert_eq!(own.narrowed(500, 0).tokens, 100);
        assert_eq!(own.narrowed(0, 7).cost_micros, 7);
    }

    #[test]
    fn a_cap_that_cannot_be_checked_is_none() {
        let mut caps = Caps {
            cost_micros: 5,
            ..Caps::default()
        };
        let unknown = Usage {
            cost: Cost::unknown(),
            ..Usage::default()
        };
        assert!(caps.is_blind(unknown));
        assert!(!caps.is_blind(spent(3, 3)));
        caps.unpriced = Unpriced::Allow;
        assert!(!caps.is_blind(unknown));
        assert!(!Caps::default().is_blind(unknown));
    }

    #[test]
    fn what_was_granted_covers_as_much_and_no_more() {
        let over = |spent| Over {
            budget: Budgeted::Cost,
            spent,
            ahead: 0,
            cap: 10,
        };
        let mut purse = Purse::default();
        assert!(!purse.covers(&over(11)));
        purse.grant(&over(25));
        assert!(purse.covers(&over(11)) && purse.covers(&over(30)));
        assert!(!purse.covers(&over(31)));
        let tokens = Over {
            budget: Budgeted::Tokens,
            ..over(11)
        };
        assert!(!purse.covers(&tokens));
        // What is asked next says what was granted, of this budget and no other one.
        assert_eq!([purse.cap(&over(31)), purse.cap(&tokens)], [30, 10]);
        assert!(purse.warn(&over(11)) && !purse.warn(&over(12)));
    }
}
