//! What the configuration says of `lazaret serve`: `[serve]`.

use serde::{Deserialize, Serialize};

use crate::rules::rendered::{self, Pieces};
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::{
    SERVE_BODY_BYTES, SERVE_BODY_BYTES_MAX, SERVE_BODY_MS, SERVE_CONNECTIONS, SERVE_COUNT_MAX,
    SERVE_FAILURES_PER_MINUTE, SERVE_GRACE_MS, SERVE_HEAD_MS, SERVE_HOSTS, SERVE_MS_MAX,
    SERVE_NAME_CHARS, SERVE_RATE_MAX, SERVE_REQUESTS_PER_MINUTE, SERVE_RUNS, SERVE_WATCHERS,
    SERVE_WRITE_MS,
};

/// Where the server listens, where nobody says.
pub const LISTEN: &str = "127.0.0.1:7420";

/// How an agent's answer is told to a client of `/v1/chat/completions`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Markdown {
    /// With pictures and links written out, since such clients show Markdown.
    #[default]
    Inert,
    /// As the model wrote it, for clients that show no Markdown.
    AsIs,
}

impl Markdown {
    /// A whole answer, as it is told.
    #[must_use]
    pub fn told(self, text: &str) -> String {
        match self {
            Self::Inert => rendered::told(text),
            Self::AsIs => text.to_owned(),
        }
    }

    /// What waits for its end in an answer that is told in parts; nothing where it is told as it is.
    #[must_use]
    pub fn pieces(self) -> Option<Pieces> {
        match self {
            Self::Inert => Some(Pieces::default()),
            Self::AsIs => None,
        }
    }
}

/// `[serve]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServeTable {
    /// Where it listens: an address of this machine and a port, 0 for any that is free.
    pub listen: Option<String>,
    /// Names by which it may be spoken to, beside `localhost` and addresses of loopback.
    pub hosts: Option<Vec<String>>,
    /// The body of a request.
    pub body_bytes: Option<usize>,
    /// How long a body may take to arrive.
    pub body_ms: Option<u64>,
    /// How long the head of a request may take to arrive, and how long a connection may be idle.
    pub head_ms: Option<u64>,
    /// How long a client may leave unread what it is sent.
    pub write_ms: Option<u64>,
    /// Requests with the token.
    pub requests_per_minute: Option<u32>,
    /// Requests with a wrong one.
    pub failures_per_minute: Option<u32>,
    /// Connections at once.
    pub connections: Option<usize>,
    /// Runs, calls and scripts at once.
    pub runs: Option<usize>,
    /// The same, of one user.
    pub runs_per_user: Option<usize>,
    /// Clients that watch runs at once.
    pub watchers: Option<usize>,
    /// How long what is under way may take when the server ends.
    pub grace_ms: Option<u64>,
    /// How `/v1/chat/completions` tells an answer: `inert`, with pictures and links written out, or `as-is`.
    pub markdown: Option<Markdown>,
}

/// What holds for a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServeRules {
    /// Where it listens.
    pub listen: String,
    /// Names by which it may be spoken to.
    pub hosts: Vec<String>,
    /// The body of a request.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_ms: u64,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub head_ms: u64,
    /// How long a client may leave unread what it is sent.
    pub write_ms: u64,
    /// Requests with the token.
    pub requests_per_minute: u32,
    /// Requests with a wrong one.
    pub failures_per_minute: u32,
    /// Connections at once.
    pub connections: usize,
    /// Runs, calls and scripts at once.
    pub runs: usize,
    /// The same, of one user; as many as all together, where nobody says.
    pub runs_per_user: usize,
    /// Clients that watch runs at once.
    pub watchers: usize,
    /// How long what is under way may take when the server ends.
    pub grace_ms: u64,
    /// How an agent's answer is told to a client of `/v1/chat/completions`.
    pub markdown: Markdown,
}

impl Default for ServeRules {
    fn default() -> Self {
        Self {
            listen: LISTEN.to_owned(),
            hosts: Vec::new(),
            body_bytes: SERVE_BODY_BYTES,
            body_ms: SERVE_BODY_MS,
            head_ms: SERVE_HEAD_MS,
            write_ms: SERVE_WRITE_MS,
            requests_per_minute: SERVE_REQUESTS_PER_MINUTE,
            failures_per_minute: SERVE_FAILURES_PER_MINUTE,
            connections: SERVE_CONNECTIONS,
            runs: SERVE_RUNS,
            runs_per_user: SERVE_RUNS,
            watchers: SERVE_WATCHERS,
            grace_ms: SERVE_GRACE_MS,
            markdown: Markdown::default(),
        }
    }
}

/// What these tables say together; of each key the first that says something holds.
///
/// # Errors
/// `BadInput` for what cannot be.
pub(super) fn rules(tables: &[&ServeTable]) -> Result<ServeRules> {
    let usual = ServeRules::default();
    let runs = first(tables, |table| table.runs, usual.runs);
    let rules = ServeRules {
        listen: first(tables, |table| table.listen.clone(), usual.listen),
        hosts: first(tables, |table| table.hosts.clone(), usual.hosts),
        body_bytes: first(tables, |table| table.body_bytes, usual.body_bytes),
        body_ms: first(tables, |table| table.body_ms, usual.body_ms),
        head_ms: first(tables, |table| table.head_ms, usual.head_ms),
        write_ms: first(tables, |table| table.write_ms, usual.write_ms),
        requests_per_minute: first(
            tables,
            |table| table.requests_per_minute,
            usual.requests_per_minute,
        ),
        failures_per_minute: first(
            tables,
            |table| table.failures_per_minute,
            usual.failures_per_minute,
        ),
        connections: first(tables, |table| table.connections, usual.connections),
        runs,
        runs_per_user: first(tables, |table| table.runs_per_user, runs),
        watchers: first(tables, |table| table.watchers, usual.watchers),
        grace_ms: first(tables, |table| table.grace_ms, usual.grace_ms),
        markdown: first(tables, |table| table.markdown, usual.markdown),
    };
    check(&rules)?;
    Ok(rules)
}

fn first<T>(tables: &[&ServeTable], said: impl Fn(&ServeTable) -> Option<T>, usual: T) -> T {
    tables.iter().find_map(|table| said(table)).unwrap_or(usual)
}

fn check(rules: &ServeRules) -> Result<()> {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let most = count(SERVE_COUNT_MAX);
    let rate = u64::from(SERVE_RATE_MAX);
    for (key, said, least, most) in [
        (
            "body_bytes",
            count(rules.body_bytes),
            1,
            count(SERVE_BODY_BYTES_MAX),
        ),
        ("body_ms", rules.body_ms, 1, SERVE_MS_MAX),
        ("head_ms", rules.head_ms, 1, SERVE_MS_MAX),
        ("write_ms", rules.write_ms, 1, SERVE_MS_MAX),
        (
            "requests_per_minute",
            rules.requests_per_minute.into(),
            1,
            rate,
        ),
        (
            "failures_per_minute",
            rules.failures_per_minute.into(),
            1,
            rate,
        ),
        ("connections", count(rules.connections), 1, most),
        ("runs", count(rules.runs), 1, most),
        ("runs_per_user", count(rules.runs_per_user), 1, most),
        ("watchers", count(rules.watchers), 0, most),
        ("grace_ms", rules.grace_ms, 0, SERVE_MS_MAX),
    ] {
        if !(least..=most).contains(&said) {
            let what = format!("[serve]: `{key}` is from {least} to {most}");
            return Err(Error::bad_input(what));
        }
    }
    if rules.hosts.len() > SERVE_HOSTS {
        let what = "[serve]: `hosts`";
        return Err(Error::too_many(what, SERVE_HOSTS, rules.hosts.len()));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_name =
        |name: &String| (1..=SERVE_NAME_CHARS).contains(&name.len()) && name.chars().all(plain);
    match rules.hosts.iter().find(|name| !is_name(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!(
                "[serve]: `{}` in `hosts` is no name of a machine",
                shown(name)
            );
            Err(Error::bad_input(what).hint("[serve]\nhosts = [\"box.example\"]   # without port"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<ServeRules> {
        let tables: Vec<ServeTable> = texts
            .iter()
            .map(|text| toml::from_str(text))
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| Error::bad_input(error.message()))?;
        rules(&tables.iter().collect::<Vec<_>>())
    }

    #[test]
    fn an_answer_leads_nowhere_whole_or_in_parts_unless_it_is_told_as_it_is() {
        let (link, inert) = ("see [a](http://shop.test/)", "see a (link: shop.test)");
        for (markdown, expected) in [(Markdown::default(), inert), (Markdown::AsIs, link)] {
            assert_eq!(markdown.told(link), expected);
            let said = markdown
                .pieces()
                .map(|mut pieces| pieces.push(link) + &pieces.end());
            assert_eq!(said.as_deref().unwrap_or(link), expected);
        }
    }

    #[test]
    fn the_first_that_says_something_holds() {
        assert_eq!(read(&[]).expect("rules"), ServeRules::default());
        let both = read(&["runs = 3", "runs = 4\nwatchers = 5"]).expect("rules");
        assert_eq!((both.runs, both.watchers), (3, 5));
        // One user may take every place, where nobody says otherwise.
        assert_eq!(both.runs_per_user, 3);
        let both = read(&["runs = 9", "runs_per_user = 2"]).expect("rules");
        assert_eq!((both.runs, both.runs_per_user), (9, 2));
        assert_eq!(both.markdown, Markdown::Inert);
        let both = read(&["markdown = \"as-is\"", "markdown = \"inert\""]).expect("rules");
        assert_eq!(both.markdown, Markdown::AsIs);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (text, says) in [
            ("body_bytes = 0", "from 1 to"),
            ("runs = 0", "from 1 to"),
            ("runs_per_user = 0", "from 1 to"),
            ("grace_ms = 600001", "from 0 to"),
            ("requests_per_minute = 0", "from 1 to"),
            ("hosts = [\"a b\"]", "no name of a machine"),
            ("hosts = [\"a:1\"]", "no name of a machine"),
            ("markdown = \"html\"", "unknown variant"),
            ("port = 1", "unknown field"),
        ] {
            let error = read(&[text]).expect_err(text);
            assert!(error.message().contains(says), "{text}: {error}");
        }
    }
}
