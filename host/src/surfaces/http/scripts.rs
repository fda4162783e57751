//! `/v1/scripts`: a script against the configured tools.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Answered, Failed};
use super::body::Wished;
use super::shown::{self, lost};
use super::site::Site;
use crate::rules::script::TOOL;
use crate::runs::left::Program;
use crate::surfaces::carried::OverHttp;
use crate::surfaces::wish::{self, Options};
use crate::words::error::Error;
use crate::words::event::Surface;
use crate::words::limits::SCRIPT_CHARS;
use crate::words::session::LOCAL;

/// A script.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Script {
    /// The body of an async function in JavaScript or TypeScript.
    source: String,
    /// A person typed it with their own hands.
    #[serde(default)]
    typed: bool,
    /// Whose it is. A tool may be for some alone.
    #[serde(default)]
    surface: OverHttp,
}

/// `POST /v1/scripts`.
pub(super) async fn run(State(site): State<Site>, Wished(script): Wished<Script>) -> Answered {
    let chars = script.source.chars().count();
    if chars > SCRIPT_CHARS {
        let error = Error::too_long("the script", SCRIPT_CHARS, chars);
        return Err(Failed::from(error).of(TOOL));
    }
    let host = site.host();
    let (run, surface) = (host.new_run(), Surface::from(script.surface));
    let written = Options {
        typed: script.typed,
        ..Options::default()
    }
    .written();
    let begun = site
        .underway()
        .begin(&host, (&run.clone(), LOCAL), |host, tasks| async move {
            let program = Program {
                source: script.source,
                written,
                with: &[],
            };
            host.program(run, surface, program, &tasks).await
        });
    let begun = begun.map_err(|error| Failed::from(error).of(TOOL))?;
    let called = begun.await.ok_or_else(lost)?;
    let called = called.map_err(|error| Failed::from(error).of(TOOL))?;
    let answered = wish::Answered::of(called, surface);
    shown::envelope(&host, answered, surface).await
}
