//! What the configuration says of traces: `[traces]`, whom spans of runs are told to.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::secrets;
use crate::edges::vault::Vault;
use crate::rules::spans::collector::{Collector, Header, Pace, SERVICE};
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::{
    SPAN_NAME_CHARS, TRACES_ATTEMPTS_MAX, TRACES_HEADERS, TRACES_MS_MAX, TRACES_QUEUE_SPANS_MAX,
};

/// `[traces]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TracesTable {
    /// The base of a collector that speaks OTLP over HTTP, such as `http://localhost:4318`; absent: nobody is told.
    pub endpoint: Option<String>,
    /// Whether it may be at an address that is not public, such as `localhost`.
    pub private: bool,
    /// What the host calls itself there.
    pub service_name: Option<String>,
    /// Headers, each with a secret.
    pub headers: BTreeMap<String, HeaderTable>,
    /// Spans that wait to be sent; newer ones are dropped.
    pub queue_spans: Option<usize>,
    /// Spans of one request.
    pub batch_spans: Option<usize>,
    /// How long they wait for more.
    pub batch_ms: Option<u64>,
    /// How long one request may take.
    pub timeout_ms: Option<u64>,
    /// How long the end of a process waits for what is not sent.
    pub flush_ms: Option<u64>,
    /// Times that one request is sent.
    pub attempts: Option<u32>,
}

/// `{ env = … }` or `{ secret = … }`, with what stands before it.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a header of `[traces]` is a table: `{ env = \"VARIABLE\" }` or `{ secret = \"NAME\" }`, and if wanted \
                 `before = \"Bearer \"`; a value itself is never written here"
)]
pub struct HeaderTable {
    /// The environment variable that holds it.
    #[serde(deserialize_with = "secrets::env")]
    pub env: Option<String>,
    /// The secret of the vault that it is.
    pub secret: Option<String>,
    /// What stands before it.
    pub before: String,
}

/// The collector that the first of these tables names which names one: endpoint and headers belong together, so no
/// file adds a header to the endpoint of another.
///
/// # Errors
/// `BadInput` for what is none.
pub(super) fn collector<'a>(
    tables: impl Iterator<Item = &'a TracesTable>,
    vault: &mut Vault,
) -> Result<Option<Collector>> {
    for table in tables {
        let Some(endpoint) = &table.endpoint else {
            if table.private || !table.headers.is_empty() {
                let what =
                    "[traces] says how a collector is told and not which: `endpoint` is missing";
                return Err(Error::bad_input(what)
                    .hint("[traces]\nendpoint = \"https://collector.example\""));
            }
            continue;
        };
        let made = resolved(endpoint, table, vault);
        return made.map(Some).map_err(|error| {
            let about = Error::new(error.code(), format!("[traces]: {}", error.message()));
            error.hints().iter().cloned().fold(about, Error::hint)
        });
    }
    Ok(None)
}

fn resolved(endpoint: &str, table: &TracesTable, vault: &mut Vault) -> Result<Collector> {
    let service = table.service_name.as_deref().unwrap_or(SERVICE);
    if service.is_empty() || service.chars().count() > SPAN_NAME_CHARS {
        let what = format!("`service_name` has 1 to {SPAN_NAME_CHARS} characters");
        return Err(Error::bad_input(what));
    }
    if table.headers.len() > TRACES_HEADERS {
        let what = format!("`headers` has at most {TRACES_HEADERS} of them");
        return Err(Error::bad_input(what));
    }
    let headers = table.headers.iter();
    let headers = headers.map(|(name, said)| header(name, said, vault));
    let headers = headers.collect::<Result<Vec<_>>>()?;
    let named = (service.to_owned(), pace(table)?);
    Collector::new((endpoint, table.private), headers, named)
}

fn header(name: &str, said: &HeaderTable, vault: &mut Vault) -> Result<Header> {
    let secret = match (&said.env, &said.secret) {
        (Some(variable), None) => {
            let secret = format!("traces.{}", name.to_ascii_lowercase());
            *vault = vault.clone().with_variable(&secret, variable);
            secret
        }
        (None, Some(secret)) => secret.clone(),
        (Some(_), Some(_)) | (None, None) => {
            let what = format!("`headers.{}` has either `env` or `secret`", shown(name));
            return Err(Error::bad_input(what).hint(
                "headers = { authorization = { env = \"OTLP_TOKEN\", before = \"Bearer \" } }",
            ));
        }
    };
    Ok(Header {
        name: name.to_owned(),
        before: said.before.clone(),
        secret,
    })
}

fn pace(table: &TracesTable) -> Result<Pace> {
    let usual = Pace::default();
    let pace = Pace {
        queue_spans: table.queue_spans.unwrap_or(usual.queue_spans),
        batch_spans: table.batch_spans.unwrap_or(usual.batch_spans),
        batch_ms: table.batch_ms.unwrap_or(usual.batch_ms),
        timeout_ms: table.timeout_ms.unwrap_or(usual.timeout_ms),
        flush_ms: table.flush_ms.unwrap_or(usual.flush_ms),
        attempts: table.attempts.unwrap_or(usual.attempts),
    };
    let between = |key: &str, most: u64| {
        let what = format!("`{key}` is from 1 to {most}");
        Err(Error::bad_input(what))
    };
    let queue_max = TRACES_QUEUE_SPANS_MAX;
    let queued = u64::try_from(queue_max).unwrap_or(u64::MAX);
    if !(1..=queue_max).contains(&pace.queue_spans) {
        return between("queue_spans", queued);
    }
    if !(1..=queue_max).contains(&pace.batch_spans) {
        return between("batch_spans", queued);
    }
    if !(1..=TRACES_ATTEMPTS_MAX).contains(&pace.attempts) {
        return between("attempts", TRACES_ATTEMPTS_MAX.into());
    }
    for (key, ms) in [
        ("batch_ms", pace.batch_ms),
        ("timeout_ms", pace.timeout_ms),
        ("flush_ms", pace.flush_ms),
    ] {
        if !(1..=TRACES_MS_MAX).contains(&ms) {
            return between(key, TRACES_MS_MAX);
        }
    }
    Ok(pace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::vault::Backend;

    fn read(texts: &[&str]) -> Result<Option<Collector>> {
        let tables: Vec<TracesTable> = texts
            .iter()
            .map(|text| toml::from_str(text))
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| Error::bad_input(error.message()))?;
        let mut vault = Vault::new(Backend::default(), std::path::Path::new("/nowhere"));
        collector(tables.iter(), &mut vault)
    }

    #[test]
    fn nobody_is_told_unless_somebody_is_named() {
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&["", "batch_ms = 7"]).unwrap(), None);
        let named = read(&["", "endpoint = \"https://a.example\""]).unwrap();
        assert_eq!(named.unwrap().place(), "https://a.example/v1/traces");
    }

    /// A header of one file never goes to the endpoint of another.
    #[test]
    fn endpoint_and_headers_are_of_one_file() {
        let own = "endpoint = \"https://own.example\"";
        let other =
            "endpoint = \"https://other.example\"\nheaders = { x-key = { secret = \"a\" } }";
        let named = read(&[own, other]).unwrap().unwrap();
        assert_eq!(named.place(), "https://own.example/v1/traces");
        assert!(named.grant().secrets.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_the_line_that_mends_it() {
        let end = "endpoint = \"https://a.example\"\n";
        for (text, says) in [
            ("private = true", "`endpoint` is missing"),
            (
                &*format!("{end}headers = {{ a = \"Bearer x\" }}"),
                "never written here",
            ),
            (
                &*format!("{end}headers = {{ a = {{}} }}"),
                "either `env` or `secret`",
            ),
            (
                &*format!("{end}headers = {{ a = {{ env = \"A\", secret = \"b\" }} }}"),
                "either `env` or `secret`",
            ),
            (
                &*format!("{end}headers = {{ host = {{ env = \"A\" }} }}"),
                "set by the host alone",
            ),
            (&*format!("{end}queue_spans = 0"), "from 1 to"),
            (&*format!("{end}batch_spans = 0"), "from 1 to"),
            (&*format!("{end}attempts = 11"), "from 1 to 10"),
            (&*format!("{end}flush_ms = 0"), "from 1 to"),
            (&*format!("{end}service_name = \"\""), "characters"),
            ("endpoint = \"localhost:4318\"", "[traces]: "),
            ("endpont = \"https://a.example\"", "unknown field"),
        ] {
            let error = read(&[text]).unwrap_err();
            let all = format!("{} {}", error.message(), error.hints().join(" "));
            assert!(all.contains(says), "{text}: {all}");
        }
    }
}
