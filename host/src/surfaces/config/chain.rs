//! Chains and tiers: `[chain]`, `[agents.NAME.chain]` and `[tiers]`; and the schema of an agent's answer.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::file::AgentTable;
use crate::edges::named;
use crate::rules::chain::{Backoff, Order, Terms, Thoughts};
use crate::rules::json;
use crate::rules::schema::Schema;
use crate::rules::tier::{Tier, Tiers};
use crate::runs::host::Setup;
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::{CHAIN_ATTEMPTS_MAX, CHAIN_MODELS, CHAIN_MS_MAX, CONFIG_BYTES};

/// `[chain]`, and `[agents.NAME.chain]` over it, key by key.
#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChainTable {
    /// Times that one model is asked for one reply.
    pub attempts: Option<u32>,
    /// How waits grow: `exponential` or `linear`.
    pub backoff: Option<Backoff>,
    /// The first wait.
    pub backoff_ms: Option<u64>,
    /// The longest wait that is chosen.
    pub backoff_max_ms: Option<u64>,
    /// How long a provider is left alone that wanted fewer requests.
    pub cooldown_ms: Option<u64>,
    /// The longest `Retry-After` that is waited for.
    pub retry_after_max_ms: Option<u64>,
    /// Whether a step begins anew where a model broke off after its first words.
    pub restart_step: Option<bool>,
    /// Who is asked first: as they are `listed`, or by `health`.
    pub order: Option<Order>,
    /// Whether the tools of a turn say, by `tier` of their manifests, which of `[tiers]` is asked in the next one.
    pub tool_tiers: Option<bool>,
    /// What becomes of a model's thoughts: `keep` tells them back to it, `strip` to nobody. Some providers refuse a
    /// conversation with tools that lacks them.
    pub thoughts: Option<Thoughts>,
}

/// `[tiers]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TierTable {
    /// Models for what is easy or urgent, first choice first.
    pub fast: Vec<String>,
    /// For everything else; also for agents that name no model.
    pub balanced: Vec<String>,
    /// For what is hard.
    pub smart: Vec<String>,
}

impl ChainTable {
    /// What this table says, and what `below` does where it is silent.
    #[must_use]
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            attempts: self.attempts.or(below.attempts),
            backoff: self.backoff.or(below.backoff),
            backoff_ms: self.backoff_ms.or(below.backoff_ms),
            backoff_max_ms: self.backoff_max_ms.or(below.backoff_max_ms),
            cooldown_ms: self.cooldown_ms.or(below.cooldown_ms),
            retry_after_max_ms: self.retry_after_max_ms.or(below.retry_after_max_ms),
            restart_step: self.restart_step.or(below.restart_step),
            order: self.order.or(below.order),
            tool_tiers: self.tool_tiers.or(below.tool_tiers),
            thoughts: self.thoughts.or(below.thoughts),
        }
    }

    /// As terms.
    ///
    /// # Errors
    /// `BadInput` with the key that is out of its bounds.
    pub(super) fn terms(self, place: &str) -> Result<Terms> {
        let default = Terms::default();
        let terms = Terms {
            attempts: self.attempts.unwrap_or(default.attempts),
            backoff: self.backoff.unwrap_or(default.backoff),
            backoff_ms: self.backoff_ms.unwrap_or(default.backoff_ms),
            backoff_max_ms: self.backoff_max_ms.unwrap_or(default.backoff_max_ms),
            cooldown_ms: self.cooldown_ms.unwrap_or(default.cooldown_ms),
            retry_after_max_ms: self
                .retry_after_max_ms
                .unwrap_or(default.retry_after_max_ms),
            restart_step: self.restart_step.unwrap_or(default.restart_step),
            order: self.order.unwrap_or(default.order),
            tool_tiers: self.tool_tiers.unwrap_or(default.tool_tiers),
            thoughts: self.thoughts.unwrap_or(default.thoughts),
        };
        let wrong = |key: &str, least: u64, most: u64| {
            let what = format!("[{place}] {key} is from {least} to {most}");
            Err(Error::bad_input(what))
        };
        if !(1..=CHAIN_ATTEMPTS_MAX).contains(&terms.attempts) {
            return wrong("attempts", 1, u64::from(CHAIN_ATTEMPTS_MAX));
        }
        let times = [
            ("backoff_ms", terms.backoff_ms),
            ("backoff_max_ms", terms.backoff_max_ms),
            ("cooldown_ms", terms.cooldown_ms),
            ("retry_after_max_ms", terms.retry_after_max_ms),
        ];
        match times.iter().find(|(_, ms)| *ms > CHAIN_MS_MAX) {
            Some((key, _)) => wrong(key, 0, CHAIN_MS_MAX),
            None => Ok(terms),
        }
    }
}

/// The JSON Schema in a file.
///
/// # Errors
/// `NotFound`, `BadInput` for one that is none, `TooBig`, `DiskFailed`.
pub fn schema(path: &Path) -> Result<Value> {
    let shown = path.display();
    let bytes = named::read(path, "the schema", CONFIG_BYTES)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Error::bad_input(format!("`{shown}` is no UTF-8 text")))?;
    let schema = json::parse(&text).map_err(|why| {
        let what = format!("the schema `{shown}` is no JSON: {why}");
        Error::bad_input(what).hint("write a JSON Schema into it, such as `{\"type\": \"string\"}`")
    })?;
    checked(schema, &format!("`{shown}`"))
}

/// The schema of an agent's answers: the one that is written there, or in the file that is named.
pub(super) fn answer(folder: &Path, name: &str, table: &AgentTable) -> Result<Option<Value>> {
    match (&table.answer, &table.answer_schema) {
        (None, None) => Ok(None),
        (Some(schema), None) => {
            let place = format!("`answer` of agent `{name}`");
            checked(schema.clone(), &place).map(Some)
        }
        (None, Some(file)) => schema(&folder.join(file)).map(Some),
        (Some(_), Some(_)) => {
            let what = format!("agent `{name}` has `answer` and `answer_schema`");
            Err(Error::bad_input(what).hint("take one of them out"))
        }
    }
}

fn checked(schema: Value, place: &str) -> Result<Value> {
    let compiled = Schema::of_answer(schema);
    let compiled = compiled.map_err(|error| {
        let what = format!("{place}: {}", error.message());
        Error::bad_input(what)
    })?;
    Ok(compiled.source().clone())
}

/// Adds what a file says of tiers: where two files fill one, the first has its way.
pub(super) fn add_tiers(tiers: &mut Tiers, table: &TierTable) {
    for (tier, models) in [
        (Tier::Fast, &table.fast),
        (Tier::Balanced, &table.balanced),
        (Tier::Smart, &table.smart),
    ] {
        if !models.is_empty() {
            tiers.fill(tier, models);
        }
    }
}

/// A name that stands for a model must be one, and mean one thing.
pub(super) fn check(setup: &Setup) -> Result<()> {
    let origin = &setup.policy.origin;
    let tiers = &setup.chains.tiers;
    for (tier, models) in tiers.all() {
        if setup.models.contains_key(tier.word()) {
            let word = tier.word();
            let what = format!("{origin}: `{word}` is a tier and a model");
            return Err(Error::bad_input(what).hint(format!("give `[models.{word}]` another name")));
        }
        let of = format!("[tiers] {}", tier.word());
        check_models(setup, &of, models, |name| setup.models.contains_key(name))?;
    }
    check_models(setup, "[scripts]", &setup.counsel, |name| {
        setup.models.contains_key(name)
    })?;
    super::mcp_asks::check(setup)?;
    let is_known = |name: &str| setup.models.contains_key(name) || tiers.named(name).is_some();
    for agent in setup.agents.values() {
        let of = format!("agent `{}`", agent.name);
        check_models(setup, &of, &agent.models, is_known)?;
    }
    Ok(())
}

fn check_models(
    setup: &Setup,
    of: &str,
    names: &[String],
    is_known: impl Fn(&str) -> bool,
) -> Result<()> {
    let origin = &setup.policy.origin;
    if names.len() > CHAIN_MODELS {
        let what = format!("{origin}: {of} names more than {CHAIN_MODELS} models");
        return Err(Error::bad_input(what));
    }
    let Some(name) = names.iter().find(|name| !is_known(name)) else {
        return Ok(());
    };
    let name = shown(name);
    let what = format!("{origin}: {of} speaks of the model `{name}`, which is not there");
    let hint = match Tier::of(&name) {
        Some(_) => format!("write `{name} = [\"…\"]` in `[tiers]`"),
        None => format!("write `[models.{name}]`"),
    };
    Err(Error::bad_input(what).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> ChainTable {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_an_agent_says_counts_and_the_rest_is_everybodys() {
        let own = table("attempts = 3\nbackoff = \"linear\"");
        let all = table("attempts = 2\nbackoff_ms = 5\nrestart_step = true");
        let terms = own.over(all).terms("chain").unwrap();
        let expected = Terms {
            attempts: 3,
            backoff: Backoff::Linear,
            backoff_ms: 5,
            restart_step: true,
            ..Terms::default()
        };
        assert_eq!(terms, expected);
    }

    #[test]
    fn the_defaults_are_those_of_the_catalogue() {
        // R-11, R-12b, R-12c.
        let terms = table("").terms("chain").unwrap();
        let numbers = (
            terms.attempts,
            terms.backoff_ms,
            terms.backoff_max_ms,
            terms.cooldown_ms,
        );
        assert_eq!(numbers, (1, 250, 8_000, 30_000));
    }

    #[test]
    fn numbers_have_bounds() {
        for (text, key) in [
            ("attempts = 0", "attempts"),
            ("attempts = 11", "attempts"),
            ("backoff_ms = 3600001", "backoff_ms"),
            ("cooldown_ms = 3600001", "cooldown_ms"),
            ("retry_after_max_ms = 18000000", "retry_after_max_ms"),
        ] {
            let error = table(text).terms("agents.a.chain").unwrap_err();
            let says = format!("[agents.a.chain] {key} is from ");
            assert!(error.message().starts_with(&says), "{error}");
        }
        for text in [
            "attempts = -1",
            "backoff = \"never\"",
            "backof = \"linear\"",
        ] {
            assert!(toml::from_str::<ChainTable>(text).is_err(), "{text}");
        }
    }
}
