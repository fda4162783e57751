//! Logs on standard error, for whoever asks for them: as `LAZARET_LOG` says, or else `RUST_LOG`.

use std::io::{self, IsTerminal};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// The variables that say what is logged, the first of them that is there.
const VARIABLES: [&str; 2] = ["LAZARET_LOG", EnvFilter::DEFAULT_ENV];

/// What is logged where nobody says: that spans are lost, once, which the operator who named a collector wants to know; and
/// that a key is taken out of nothing, which whoever chose it does.
const USUAL: &str = "off,lazaret::traces=warn,lazaret::vault=warn";

/// Libraries that hold requests with their secrets in place say no more than that something failed, whatever is asked
/// for.
const QUIET: [&str; 8] = [
    "h2",
    "hyper",
    "hyper_util",
    "reqwest",
    "rmcp",
    "rustls",
    "tower",
    "tower_http",
];

/// Begins to log.
pub(super) fn begin(quiet: bool) {
    let asked = VARIABLES
        .into_iter()
        .find_map(|variable| EnvFilter::try_from_env(variable).ok());
    let usual = || EnvFilter::new(if quiet { "off" } else { USUAL });
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_filter(filter_fn(may_be_said));
    tracing_subscriber::registry()
        .with(asked.unwrap_or_else(usual))
        .with(lines)
        .init();
}

fn may_be_said(what: &Metadata<'_>) -> bool {
    let library = what.target().split("::").next().unwrap_or_default();
    !QUIET.contains(&library) || *what.level() == Level::ERROR
}
