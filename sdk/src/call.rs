//! Calls of other tools, under the same policy, budget and depth limit as everybody.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::bindings::lazaret::plugin::call as raw;
use crate::failure::Refusal;

/// Calls a tool by its full name, such as `text.count`, and reads its answer as a `T`.
///
/// ```no_run
/// # use lazaret_sdk::prelude::*;
/// # fn run() -> Result<(), Failure> {
/// let count: Value = call::invoke("text.count", &json!({ "text": "a b" }))?;
/// # Ok(())
/// # }
/// ```
pub fn invoke<T: DeserializeOwned>(tool: &str, args: &impl Serialize) -> Result<T, Failure> {
    let args = serde_json::to_string(args)?;
    let answer = raw::invoke(tool, &args).map_err(Refusal::from)?;
    serde_json::from_str(&answer)
        .map_err(|error| Failure::new(format!("unexpected answer of `{tool}`: {error}")))
}
