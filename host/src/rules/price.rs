//! Prices: what tokens cost, in whole millionths of the operator's currency (U-39). Nothing is ever rounded down to free,
//! and what has no price is said to be unknown, never nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::event::{Event, Record, Tried};
use crate::words::limits::PRICE_MICROS;
use crate::words::message::{Cost, Usage};

/// Tokens that a price is of.
const PER: u128 = 1_000_000;

/// What a model's tokens cost: millionths of the currency for each million tokens. Whoever writes a price knows the
/// currency; the host adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Tokens read.
    pub input: u64,
    /// Tokens that the provider has read before and kept.
    pub cached: u64,
    /// Tokens that the provider keeps, to be read again.
    pub kept: u64,
    /// Tokens written, thoughts included.
    pub output: u64,
}

/// What is known of what a model costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priced {
    /// Nothing.
    #[default]
    Unknown,
    /// It costs nothing, such as a file of replies.
    Free,
    /// This.
    At(Price),
}

impl Priced {
    /// What one answer cost. A server that did not count its tokens has told no price.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> Cost {
        match self {
            Self::Free => Cost::default(),
            Self::At(price) if !usage.has_no_tokens() => Cost::of(price.micros(usage)),
            Self::At(_) | Self::Unknown => Cost::unknown(),
        }
    }

    /// The most that a prompt and its answer will cost, nothing of it being kept from before; nothing where that is not known.
    #[must_use]
    pub fn ahead(&self, input_tokens: u64, output_tokens: u64) -> u64 {
        match self {
            Self::Unknown | Self::Free => 0,
            Self::At(price) => price.micros(Usage {
                input_tokens,
                output_tokens,
                ..Usage::default()
            }),
        }
    }
}

impl Price {
    /// Each class by its price, and the sum rounded up once.
    fn micros(&self, usage: Usage) -> u64 {
        // A part is no more than the whole, whatever a server says.
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let kept = usage.kept_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - kept;
        let classes = [
            (fresh, self.input),
            (cached, self.cached),
            (kept, self.kept),
            (usage.output_tokens, self.output),
        ];
        let sum = classes.iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(*tokens).saturating_mul(u128::from(*price)))
        });
        u64::try_from(sum.div_ceil(PER)).unwrap_or(u64::MAX)
    }
}

/// A sum of the operator's currency as they write it, such as `0.25`, in millionths.
///
/// # Errors
/// What is wrong with it, in words.
pub fn micros(amount: f64) -> Result<u64, String> {
    // Formatting rounds to the nearest and is exact in this range, which a cast would not say.
    let text = format!("{:.0}", amount * 1e6);
    let micros = text.parse().ok().filter(|micros| *micros <= PRICE_MICROS);
    let exact = micros.filter(|micros: &u64| amount == 0.0 || *micros > 0);
    exact.ok_or_else(|| {
        format!(
            "{amount} is no amount between 0.000001 and {}, or 0",
            PRICE_MICROS / 1_000_000
        )
    })
}

/// What each model of a run has used, by its name (G-61); under no name what no record names a model of, which are
/// questions about what is held. All together is what the run has used.
#[must_use]
pub fn by_model(records: &[Record]) -> BTreeMap<String, Usage> {
    let mut used: BTreeMap<String, Usage> = BTreeMap::new();
    let mut add = |model: &str, usage: Usage| {
        if !usage.is_nothing() {
            used.entry(model.to_owned()).or_default().add(usage);
        }
    };
    let mut asked = "";
    for record in records {
        if let Event::Prompted { model, .. } = &record.event {
            asked = model;
        }
        if let Event::Replied { reply, .. } = &record.event {
            add(asked, reply.usage);
        }
        if let Event::Finished(finished) = &record.event {
            add("", finished.spent.usage);
        }
        if let Event::Compacted(compacted) = &record.event {
            add(&compacted.by, compacted.spent.usage);
        }
        // Of no turn: it stands in the end of its call, or beside its summary.
        if let Event::Attempted(attempted) = &record.event
            && let Tried::Failed { usage, .. } = &attempted.tried
            && attempted.turn > 0
        {
            add(&attempted.model, *usage);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const PRICE: Price = Price {
        input: 3_000_000,
        cached: 300_000,
        kept: 3_750_000,
        output: 15_000_000,
    };

    fn check((input, cached, kept, output): (u64, u64, u64, u64), micros: u64) {
        let usage = Usage {
            input_tokens: input,
            cached_tokens: cached,
            kept_tokens: kept,
            output_tokens: output,
            ..Usage::default()
        };
        assert_eq!(Priced::At(PRICE).cost(usage), Cost::of(micros), "{usage:?}");
    }

    #[test]
    fn each_class_of_tokens_has_its_price() {
        check((1_000_000, 0, 0, 0), 3_000_000);
        check((1_000_000, 1_000_000, 0, 0), 300_000);
        check((1_000_000, 0, 1_000_000, 0), 3_750_000);
        check((0, 0, 0, 1_000_000), 15_000_000);
        check((1_000, 600, 100, 10), 900 + 180 + 375 + 150);
    }

    #[test]
    fn a_sum_is_rounded_up_once_and_never_to_nothing() {
        check((1, 1, 0, 0), 1);
        check((1, 0, 0, 1), 18);
        check((7, 7, 0, 0), 3);
    }

    #[test]
    fn parts_that_are_more_than_the_whole_cost_no_more_than_it() {
        check((100, 1_000, 1_000, 0), 30);
        check((u64::MAX, 0, 0, u64::MAX), u64::MAX);
    }

    #[test]
    fn what_is_not_known_is_not_free() {
        let some = Usage {
            input_tokens: 5,
            ..Usage::default()
        };
        assert_eq!(Priced::Unknown.cost(some), Cost::unknown());
        assert_eq!(Priced::At(PRICE).cost(Usage::default()), Cost::unknown());
        assert_eq!(Priced::Free.cost(some), Cost::default());
    }

    #[test]
    fn amounts_are_whole_millionths() {
        for (amount, expected) in [
            (0.3, 300_000),
            (3.0, 3_000_000),
            (0.000_001, 1),
            (0.0, 0),
            (0.1, 100_000),
        ] {
            assert_eq!(micros(amount), Ok(expected), "{amount}");
        }
        for wrong in [-1.0, 0.000_000_1, f64::NAN, f64::INFINITY, 1e13] {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_model_has_its_own_sum() {
        let usage =
            |tokens: u64| json!({"input_tokens": tokens, "output_tokens": 1, "cached_tokens": 0});
        let event = |seq: u64, event: Value| {
            let mut record =
                json!({"run": "20260301-090500-aaaaaaaa", "seq": seq, "at": 1, "parent": 0});
            let all = record.as_object_mut().unwrap();
            all.extend(event.as_object().unwrap().clone());
            serde_json::from_value::<Record>(record).unwrap()
        };
        let prompted = |seq, model: &str| {
            event(
                seq,
                json!({"event": "prompted", "turn": 1, "turns_max": 8, "model": model, "tools": []}),
            )
        };
        let replied = |seq, tokens| {
            let reply = json!({"text": "a", "usage": usage(tokens)});
            event(
                seq,
                json!({"event": "replied", "turn": 1, "reply": reply, "label": ["user"]}),
            )
        };
        let failed = json!({"event": "attempted", "turn": 1, "model": "fast", "outcome": "failed", "setback": "broken",
            "code": "provider_failed", "message": "", "then": "next", "usage": usage(5)});
        let records = [
            prompted(0, "fast"),
            event(1, failed),
            prompted(2, "big"),
            replied(3, 10),
            prompted(4, "big"),
            replied(5, 20),
        ];
        let used = by_model(&records);
        let tokens: Vec<(&str, u64)> = used
            .iter()
            .map(|(model, usage)| (model.as_str(), usage.input_tokens))
            .collect();
        assert_eq!(tokens, [("big", 30), ("fast", 5)]);
    }
}
