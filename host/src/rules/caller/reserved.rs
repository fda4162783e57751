//! Tokens that are taken for a server's wish before a model is asked, and settled when it has answered. A server that goes
//! away meanwhile has used them: whoever asks and leaves must not ask for nothing.

use super::room::Taken;
use crate::words::message::{Cost, Usage};

/// Tokens that are taken for one wish. What it comes to is settled once, at the latest when this is dropped.
#[derive(Debug)]
pub struct Reserved {
    /// Of the budget of the run.
    taken: Taken,
    server: String,
    /// What it comes to at most.
    most: Usage,
    /// Whether the model was asked.
    is_asked: bool,
    /// What it came to, as the provider says; and whether an answer came with it.
    told: Option<(Usage, bool)>,
}

impl Reserved {
    pub(super) fn new(taken: Taken, server: &str, most: Usage) -> Self {
        Self {
            taken,
            server: server.to_owned(),
            most,
            is_asked: false,
            told: None,
        }
    }

    /// Tokens of the answer at most.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most.output_tokens
    }

    /// What so many cost, with all that the model reads.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.most.cost
    }

    /// The model is asked from now on: it costs, whoever still waits.
    pub fn asked(&mut self) {
        self.is_asked = true;
    }

    /// The model has answered, or failed: that is what it has cost.
    pub fn settled(mut self, usage: Usage, has_answered: bool) {
        self.told = Some((usage, has_answered));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Usage {
            input_tokens,
            output_tokens,
            ..
        } = self.most;
        let taken = input_tokens.saturating_add(output_tokens);
        let (usage, used) = match self.told {
            Some((usage, has_answered)) => {
                let used = usage.input_tokens.saturating_add(usage.output_tokens);
                // Of a provider that does not count we know no better.
                let is_uncounted = has_answered && used == 0;
                (usage, if is_uncounted { taken } else { used })
            }
            None if self.is_asked => (self.most, taken),
            None => (Usage::default(), 0),
        };
        let consults = &self.taken.consults;
        consults.settle_sample(&self.server, taken, used);
        self.taken.settle(usage);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::server::Sampling;
    use super::super::Consults;
    use super::*;

    fn free(_: u64, _: u64) -> Cost {
        Cost::default()
    }

    const MAY: (u64, u32) = (1_000, 9);

    fn may() -> Sampling {
        Sampling {
            model: "m".to_owned(),
            tokens: MAY.0,
            requests: MAY.1,
        }
    }

    fn left(consults: &Arc<Consults>) -> u64 {
        consults
            .admit_sample("a", &may(), (0, 0), free)
            .map_or(0, |taken| taken.most())
    }

    #[test]
    fn many_at_once_see_what_the_others_leave() {
        let consults = Arc::<Consults>::default();
        let first = consults
            .admit_sample("a", &may(), (100, 300), free)
            .unwrap();
        let second = consults
            .admit_sample("a", &may(), (100, 900), free)
            .unwrap();
        assert_eq!((first.most(), second.most()), (300, 500));
        assert!(consults.admit_sample("a", &may(), (0, 1), free).is_err());
        drop((first, second));
        assert_eq!(left(&consults), MAY.0);
    }

    #[test]
    fn a_server_that_goes_away_has_used_what_was_taken_for_it() {
        for cost in [Cost::of(7), Cost::unknown()] {
            let consults = Arc::<Consults>::default();
            let mut taken = consults
                .admit_sample("a", &may(), (100, 300), |_, _| cost)
                .unwrap();
            taken.asked();
            drop(taken);
            assert_eq!(left(&consults), 600);
            let expected = Usage {
                input_tokens: 100,
                output_tokens: 300,
                cost,
                ..Usage::default()
            };
            assert_eq!(consults.usage(), expected);
        }
    }

    #[test]
    fn what_is_settled_is_what_it_came_to() {
        let consults = Arc::<Consults>::default();
        let used = Usage {
            input_tokens: 20,
            output_tokens: 5,
            ..Usage::default()
        };
        for (usage, has_answered, expected) in [
            (used, true, 975),
            (Usage::default(), false, 975),
            (Usage::default(), true, 575),
        ] {
            let mut taken = consults
                .admit_sample("a", &may(), (100, 300), free)
                .unwrap();
            taken.asked();
            taken.settled(usage, has_answered);
            assert_eq!(left(&consults), expected);
        }
        assert_eq!(consults.usage(), used);
    }
}
