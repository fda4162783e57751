//! Budgets as they stand on record: which one a run is over, and by how much.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::message::Amount;

/// What there is a budget of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budgeted {
    /// Tokens.
    Tokens,
    /// Millionths of the currency.
    Cost,
    /// Questions to models.
    Turns,
    /// Milliseconds that it goes on; that it is left does not count.
    #[serde(rename = "wall_ms")]
    Wall,
}

impl Budgeted {
    /// The key in `[agents.NAME.budget]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Turns => "turns",
            Self::Wall => "wall_ms",
        }
    }

    /// Of a currency nobody knows the name.
    fn unit(self) -> &'static str {
        match self {
            Self::Tokens => " tokens",
            Self::Cost => "",
            Self::Turns => " turns",
            Self::Wall => " ms",
        }
    }

    /// Whether what the next turn takes of it is an estimate.
    fn is_estimated(self) -> bool {
        match self {
            Self::Tokens | Self::Cost => true,
            Self::Turns | Self::Wall => false,
        }
    }

    fn amount(self, number: u64) -> String {
        match self {
            Self::Tokens | Self::Turns | Self::Wall => number.to_string(),
            Self::Cost => Amount(number).to_string(),
        }
    }
}

/// A budget that is used up, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// Of what.
    pub budget: Budgeted,
    /// What was used.
    pub spent: u64,
    /// What is about to be; 0 where this is known without it.
    #[serde(default)]
    pub ahead: u64,
    /// The cap.
    pub cap: u64,
}

impl Over {
    /// How often the cap would have to be granted to go on.
    #[must_use]
    pub fn times(&self) -> u64 {
        let all = self.spent.saturating_add(self.ahead);
        // As much as the cap is within it, one more is not.
        all.saturating_sub(1)
            .checked_div(self.cap)
            .unwrap_or(0)
            .saturating_add(1)
    }
}

impl fmt::Display for Over {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.words("the next turn"))
    }
}

impl Over {
    /// Such as `0.48 of 0.50 used; the next turn takes about 0.06`, of what comes `next`.
    #[must_use]
    pub fn words(&self, next: &str) -> String {
        let (spent, cap) = (self.budget.amount(self.spent), self.budget.amount(self.cap));
        let unit = self.budget.unit();
        let used = format!("{spent} of {cap}{unit} used");
        if self.ahead == 0 || !self.budget.is_estimated() {
            return used;
        }
        let ahead = self.budget.amount(self.ahead);
        format!("{used}; {next} takes about {ahead}{unit}")
    }

    /// What a person grants who says yes, as they read it.
    #[must_use]
    pub fn granted(&self) -> String {
        let all = self.cap.saturating_mul(self.times());
        format!("{}{}", self.budget.amount(all), self.budget.unit())
    }

    /// The cap that would have been enough, as it is written in the configuration.
    #[must_use]
    pub fn line(&self) -> String {
        self.budget.amount(self.cap.saturating_mul(self.times()))
    }
}
