//! What the configuration says of what an MCP server may ask for in the middle of a call: `elicitation` and `sampling` of
//! `[mcp.NAME]`. Nothing, where nothing is said.

use serde::Deserialize;

use crate::rules::server::{Asks, Sampling, Terms};
use crate::runs::host::Setup;
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::servers::{SAMPLE_REQUESTS_MAX, SAMPLE_TOKENS_MAX};

/// What becomes of a form that a server wants a person to fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ElicitationWord {
    /// It is refused.
    #[default]
    Off,
    /// It is a question of the run, for as long as the call can wait.
    Ask,
}

/// `sampling = { model = "m", tokens = 20000, requests = 10 }`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplingTable {
    /// The model of `[models]` that answers.
    pub model: String,
    /// Tokens that the server may use in one run, read and written.
    pub tokens: u64,
    /// Times that it may ask in one run.
    pub requests: u32,
}

/// What a server may ask for.
pub(super) fn asks(elicitation: ElicitationWord, sampling: Option<&SamplingTable>) -> Result<Asks> {
    let sampling = sampling.map(|table| {
        let wrong = |key: &str, most: u64| {
            Err(Error::bad_input(format!(
                "`sampling.{key}` is from 1 to {most}"
            )))
        };
        if !(1..=SAMPLE_TOKENS_MAX).contains(&table.tokens) {
            return wrong("tokens", SAMPLE_TOKENS_MAX);
        }
        if !(1..=SAMPLE_REQUESTS_MAX).contains(&table.requests) {
            return wrong("requests", SAMPLE_REQUESTS_MAX.into());
        }
        Ok(Sampling {
            model: table.model.clone(),
            tokens: table.tokens,
            requests: table.requests,
        })
    });
    Ok(Asks {
        elicitation: elicitation == ElicitationWord::Ask,
        sampling: sampling.transpose()?,
    })
}

/// The model that answers a server must be one.
pub(super) fn check(setup: &Setup) -> Result<()> {
    let model = |terms: &Terms| {
        let sampling = terms.asks.sampling.as_ref()?;
        let is_known = setup.models.contains_key(&sampling.model);
        (!is_known).then(|| (terms.name.clone(), sampling.model.clone()))
    };
    match setup.servers.iter().find_map(model) {
        None => Ok(()),
        Some((server, model)) => {
            let what = format!(
                "{}: `sampling` of [mcp.{server}] names the model `{}`, and there is none of that name",
                setup.policy.origin,
                shown(&model)
            );
            let known: Vec<&str> = setup.models.keys().map(String::as_str).collect();
            let error = Error::bad_input(what);
            Err(match known.is_empty() {
                true => error.hint("write `[models.NAME]` for it"),
                false => error.hint(format!("it may be one of: {}", known.join(", "))),
            })
        }
    }
}
