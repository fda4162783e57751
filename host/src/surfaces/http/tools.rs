//! `/v1/tools`: what may be called here, and calls.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Answered, Failed, ok};
use super::body::{Named, Sought, Wished};
use super::shown::{self, lost};
use super::site::Site;
use crate::guests::catalog::Tool;
use crate::surfaces::carried::OverHttp;
use crate::surfaces::catalogue;
use crate::surfaces::wish::{self, Options};
use crate::words::error::{Code, Error};
use crate::words::event::Surface;
use crate::words::id;
use crate::words::session::LOCAL;

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Query {
    q: String,
    surface: OverHttp,
}

/// For whom.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct For {
    surface: OverHttp,
}

/// A call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Call {
    /// The arguments, as the tool's schema has them.
    input: Map<String, Value>,
    /// It is confirmed, where the tool asks for that.
    confirm: bool,
    /// How long it may take, in milliseconds.
    timeout_ms: Option<u64>,
    /// How often it is made again after a failure that may pass.
    retries: Option<u32>,
    /// How long the first wait before that is, in milliseconds; each is longer by as much. It goes with `retries`.
    retry_delay_ms: Option<u64>,
    /// The client's own name for a call that changes something: sent again under it with the same arguments within
    /// `cache.keyed_ttl_ms`, also after the server was started anew, it happens no second time.
    idempotency_key: Option<String>,
    /// A person typed the arguments with their own hands.
    typed: bool,
    /// Who calls. A tool may be for some alone.
    surface: OverHttp,
}

/// `GET /v1/tools`.
pub(super) async fn list(State(site): State<Site>, Sought(query): Sought<Query>) -> Answered {
    let host = site.host();
    let words = query.q.to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let found = |tool: &&std::sync::Arc<Tool>| {
        let text = format!("{} {}", tool.name, tool.declared.description).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let tools = host.catalog().callable(host.policy(), query.surface.into());
    let tools = tools.into_iter().filter(found);
    let tools: Vec<Value> = tools.map(|tool| described(tool)).collect();
    ok(&json!({"tools": tools}))
}

/// `GET /v1/tools/{name}`. Of a tool that is not for this surface nobody here learns that there is one.
pub(super) async fn one(
    State(site): State<Site>,
    Named(name): Named,
    Sought(whose): Sought<For>,
) -> Answered {
    let host = site.host();
    let tools = host.catalog().callable(host.policy(), whose.surface.into());
    let full = catalogue::full(&host, &name);
    let found = tools.into_iter().find(|tool| tool.name.as_str() == full);
    match found {
        Some(tool) => ok(&described(tool)),
        None => {
            let what = format!("there is no tool `{}`", id::shown(&name));
            Err(Error::new(Code::UnknownTool, what)
                .hint("`GET /v1/tools` lists them")
                .into())
        }
    }
}

/// `POST /v1/tools/{name}/call`.
pub(super) async fn call(
    State(site): State<Site>,
    Named(name): Named,
    Wished(call): Wished<Call>,
) -> Answered {
    let host = site.host();
    let run = host.new_run();
    let options = Options {
        confirm: call.confirm,
        timeout_ms: call.timeout_ms,
        retries: call.retries,
        retry_delay_ms: call.retry_delay_ms,
        idempotency_key: call.idempotency_key,
        typed: call.typed,
        piped: false,
        client: site.client(),
    };
    let (named, input) = (name.clone(), Value::Object(call.input));
    let surface = Surface::from(call.surface);
    let begun = site
        .underway()
        .begin(&host, (&run.clone(), LOCAL), |host, tasks| async move {
            let name = catalogue::full(&host, &name);
            let wish = (name.as_str(), input);
            wish::call(&host, (run, surface), wish, &options, &tasks).await
        });
    let begun = begun.map_err(|error| Failed::from(error).of(&host.told_again(&named)))?;
    let answered = begun.await.ok_or_else(lost)?;
    shown::envelope(&host, answered, surface).await
}

/// A tool as its callers see it.
fn described(tool: &Tool) -> Value {
    let declared = &tool.declared;
    let offer = &declared.offer;
    json!({
        "name": tool.name,
        "description": declared.description,
        "plugin": tool.name.plugin(),
        "digest": tool.digest(),
        "effect": declared.effect,
        "risk": declared.risk,
        "visibility": offer.visibility,
        "surfaces": offer.surfaces,
        "needsApproval": declared.conduct.needs_approval,
        "requiresConfirmation": declared.requires_confirmation(),
        "input": declared.input,
        "output": declared.output,
        "examples": declared.examples,
    })
}
