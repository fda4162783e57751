//! Health: how models have done lately, as an order in which they are asked (S-38).
//!
//! A moving average for each model, in the memory of the host alone: it starts in the middle, rises with every reply,
//! less for slow ones, and falls with every failure. What the configuration says first still counts a little.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What health is made of: `[health]`, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// How much of the average the latest attempt is.
    pub alpha_percent: u32,
    /// What is thought of a model that nobody has asked.
    pub start_percent: u32,
    /// How much of the order is health; the rest is the place in the configuration.
    pub weight_percent: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            alpha_percent: 20,
            start_percent: 50,
            weight_percent: 85,
        }
    }
}

/// What is known of models that were asked.
#[derive(Clone, Debug, Default)]
pub struct Health {
    models: BTreeMap<String, f64>,
    weights: Weights,
}

impl Health {
    /// Nobody was asked yet.
    #[must_use]
    pub fn new(weights: Weights) -> Self {
        Self {
            weights,
            ..Self::default()
        }
    }

    /// A model has replied, after so many milliseconds, or failed.
    pub fn saw(&mut self, model: &str, replied_ms: Option<u64>) {
        let outcome = match replied_ms {
            None => 0.0,
            Some(..=30_000) => 1.0,
            Some(..=60_000) => 0.9,
            Some(..=120_000) => 0.75,
            Some(_) => 0.6,
        };
        let before = self.of(model);
        let now = before + share(self.weights.alpha_percent) * (outcome - before);
        self.models.insert(model.to_owned(), now);
    }

    fn of(&self, model: &str) -> f64 {
        let start = share(self.weights.start_percent);
        self.models.get(model).copied().unwrap_or(start)
    }

    /// Sorts what is named so, the healthiest first; what is as healthy stays in its order.
    pub fn sort<T>(&self, models: &mut [T], name: impl Fn(&T) -> &str) {
        let length = count(models.len());
        let places: BTreeMap<String, f64> = models
            .iter()
            .enumerate()
            .map(|(at, model)| (name(model).to_owned(), 1.0 - count(at) / length))
            .collect();
        let weight = share(self.weights.weight_percent);
        let rank = |model: &T| {
            let place = places.get(name(model)).copied().unwrap_or_default();
            weight * self.of(name(model)) + (1.0 - weight) * place
        };
        models.sort_by(|one, other| {
            rank(other)
                .partial_cmp(&rank(one))
                .unwrap_or(Ordering::Equal)
        });
    }
}

fn share(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was seen, as `a` for a reply at once, `a:45000` for a slow one, `a!` for a failure; and the order then.
    #[track_caller]
    fn check(seen: &str, order: &str) {
        let mut health = Health::default();
        for one in seen.split_whitespace() {
            match (one.strip_suffix('!'), one.split_once(':')) {
                (Some(model), _) => health.saw(model, None),
                (None, Some((model, ms))) => health.saw(model, Some(ms.parse().unwrap())),
                (None, None) => health.saw(one, Some(0)),
            }
        }
        let mut models: Vec<&str> = "a b c".split(' ').collect();
        health.sort(&mut models, |model| model);
        assert_eq!(models.join(" "), order, "{seen}");
    }

    #[test]
    fn the_order_after_a_history() {
        check("", "a b c");
        check("a!", "b a c");
        check("a! b! c!", "a b c");
        check("a! a! b!", "c b a");
        check("a! a! b! a a a", "a c b");
        check("c", "a c b");
        check("c c", "c a b");
        check("a:200000 c", "a c b");
        check("a:200000 c c", "c a b");
    }

    #[test]
    fn the_weights_say_how_much_is_health() {
        let order = |seen: &[&str], weights| {
            let mut health = Health::new(weights);
            for model in seen {
                health.saw(
                    model.trim_end_matches('!'),
                    (!model.ends_with('!')).then_some(0),
                );
            }
            let mut models = vec!["a", "b", "c"];
            health.sort(&mut models, |model| model);
            models.join(" ")
        };
        let usual = Weights::default();
        // Nothing but the place counts.
        let none = Weights {
            weight_percent: 0,
            ..usual
        };
        assert_eq!(order(&["a!", "a!"], none), "a b c");
        assert_eq!(order(&["a!", "a!"], usual), "b c a");
        // The latest attempt is all that is remembered.
        let short = Weights {
            alpha_percent: 100,
            ..usual
        };
        assert_eq!(order(&["a!", "a!", "a!", "a"], short), "a b c");
        assert_eq!(order(&["a!", "a!", "a!", "a"], usual), "b a c");
        // Who was never asked is thought to be down.
        let low = Weights {
            start_percent: 0,
            ..usual
        };
        assert_eq!(order(&["c"], low), "c a b");
        assert_eq!(order(&["c"], usual), "a c b");
    }

    #[test]
    fn the_average_moves_by_its_share() {
        let mut health = Health::default();
        for (replied_ms, expected) in [
            (Some(30_000), 0.6),
            (Some(30_001), 0.66),
            (Some(60_001), 0.678),
            (Some(120_001), 0.662_4),
            (None, 0.529_92),
        ] {
            health.saw("a", replied_ms);
            assert!((health.of("a") - expected).abs() < 1e-9, "{expected}");
        }
    }
}
