//! What the configuration says of money and tokens: the `price` of a model and the `budget` of an agent.

use serde::Deserialize;

use crate::rules::budget::{self, Caps, OnExceed, Unpriced};
use crate::rules::price::{Price, Priced, micros};
use crate::runs::host::Setup;
use crate::words::error::{Error, Result};

/// `price = { input = …, output = … }` of a model: for a million tokens, in the operator's currency.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
    /// Tokens that the provider has kept from before; absent: as those that are read.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Tokens that the provider keeps; absent: likewise.
    #[serde(default)]
    pub kept: Option<f64>,
}

/// `[agents.NAME.budget]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetTable {
    /// Tokens of one run, read and written; absent or 0: no cap.
    pub tokens: Option<u64>,
    /// What the models of one run may cost, in the currency of their prices; likewise.
    pub cost: Option<f64>,
    /// Turns of one run, beside the `turns` that end it; likewise.
    pub turns: Option<u64>,
    /// How long one run goes on, looked at before each turn, beside the `run_timeout_ms` that ends it; likewise.
    pub wall_ms: Option<u64>,
    /// What becomes of more: `fail`, `warn` or `ask`.
    pub on_exceed: OnExceed,
    /// What becomes of `cost` where a price is not known: `fail` or `allow`.
    pub unpriced: Unpriced,
    /// Tokens that an answer is taken to have before it is there.
    pub reply_tokens: Option<u64>,
}

/// The price of a model.
///
/// # Errors
/// `BadInput` for what is no amount.
pub(super) fn priced(table: &PriceTable) -> Result<Priced> {
    let input = amount("price.input", table.input)?;
    Ok(Priced::At(Price {
        input,
        output: amount("price.output", table.output)?,
        cached: table
            .cached
            .map_or(Ok(input), |cached| amount("price.cached", cached))?,
        kept: table
            .kept
            .map_or(Ok(input), |kept| amount("price.kept", kept))?,
    }))
}

/// The budget of an agent's runs.
///
/// # Errors
/// As [`priced`].
pub(super) fn caps(table: &BudgetTable) -> Result<Caps> {
    let most = Caps::default();
    Ok(Caps {
        tokens: table.tokens.unwrap_or(most.tokens),
        cost_micros: table
            .cost
            .map_or(Ok(most.cost_micros), |cost| amount("cost", cost))?,
        turns: table.turns.unwrap_or(most.turns),
        wall_ms: table.wall_ms.unwrap_or(most.wall_ms),
        on_exceed: table.on_exceed,
        unpriced: table.unpriced,
        reply_tokens: table.reply_tokens.unwrap_or(most.reply_tokens),
    })
}

/// A cap that nobody can check is none, and better said before the run than in it.
///
/// # Errors
/// `BadInput` with the model that has no price.
pub(super) fn check(setup: &Setup) -> Result<()> {
    let blind = |caps: &Caps| caps.cost_micros > 0 && caps.unpriced == Unpriced::Fail;
    for agent in setup.agents.values().filter(|agent| blind(&agent.caps)) {
        let (tiers, by_tools) = (&setup.chains.tiers, agent.terms.tool_tiers);
        let models = tiers.of_run(&[], &agent.models, by_tools);
        let mut models = models.iter().filter_map(|name| setup.models.get(name));
        if let Some(model) = models.find(|model| model.priced == Priced::Unknown) {
            return Err(without_price(setup, &agent.name, &model.name));
        }
    }
    Ok(())
}

fn without_price(setup: &Setup, agent: &str, model: &str) -> Error {
    let origin = &setup.policy.origin;
    let error = budget::without_price(agent, model);
    let what = format!("{origin}: {}", error.message());
    let hints = error.hints().iter().cloned();
    hints.fold(Error::bad_input(what), Error::hint)
}

fn amount(key: &str, amount: f64) -> Result<u64> {
    micros(amount).map_err(|why| Error::bad_input(format!("`{key}`: {why}")))
}
