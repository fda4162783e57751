//! Grants: what one call may touch, as values that can be asked.
//!
//! A grant is made of policy lines; the manifest can only narrow it. An empty grant allows nothing.

mod climbs;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::{ParseError, Url};

use self::climbs::climbs;
use super::secret::SecretGrant;
use crate::words::error::{Error, Result};
use crate::words::id::{ToolName, is_name, shown};
use crate::words::limits::{
    FETCH_BODY_BYTES, FETCH_REQUEST_BYTES, FETCHES_PER_MINUTE, PROMPT_BYTES,
};

/// Which tools a line is about: one by its full name, `PLUGIN.*` for all of a plugin or MCP server, or `*` for all. A `*`
/// stands nowhere else.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Which);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Which {
    All,
    Plugin(String),
    Tool(ToolName),
}

impl Pattern {
    /// The pattern of all tools.
    #[must_use]
    pub fn all() -> Self {
        Self(Which::All)
    }

    /// The pattern of exactly one tool.
    #[must_use]
    pub fn exactly(tool: &ToolName) -> Self {
        Self(Which::Tool(tool.clone()))
    }

    /// Whether the line is about `tool`.
    #[must_use]
    pub fn matches(&self, tool: &ToolName) -> bool {
        match &self.0 {
            Which::All => true,
            Which::Plugin(plugin) => tool.plugin() == plugin,
            Which::Tool(name) => name == tool,
        }
    }

    /// Whether the line names one tool and no other.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self.0, Which::Tool(_))
    }

    /// Whether every tool that `other` is about is one that this is about.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Which::All, _) => true,
            (_, Which::All) | (Which::Tool(_), Which::Plugin(_)) => false,
            (Which::Plugin(mine), Which::Plugin(theirs)) => mine == theirs,
            (Which::Plugin(mine), Which::Tool(theirs)) => theirs.plugin() == mine,
            (Which::Tool(mine), Which::Tool(theirs)) => mine == theirs,
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        if text == "*" {
            return Ok(Self(Which::All));
        }
        if let Some(plugin) = text.strip_suffix(".*").filter(|plugin| is_name(plugin)) {
            return Ok(Self(Which::Plugin(plugin.to_owned())));
        }
        ToolName::parse(&text)
            .map(|name| Self(Which::Tool(name)))
            .map_err(|_| {
                Error::bad_input(format!(
                    "`{}` names no tools: write `plugin.tool`, `plugin.*` or `*`",
                    shown(&text)
                ))
            })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Which::All => out.write_str("*"),
            Which::Plugin(plugin) => write!(out, "{plugin}.*"),
            Which::Tool(name) => name.fmt(out),
        }
    }
}

/// How far an access goes. Writing includes reading.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Not at all.
    #[default]
    None,
    /// Look, do not touch.
    Read,
    /// And make what is not there yet.
    Create,
    /// Read, create, change, remove.
    Write,
}

impl Access {
    /// The access as it stands in policy.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Create => "create",
            Self::Write => "write",
        }
    }
}

/// Where requests may go, with which methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    methods: Vec<String>,
    scheme: String,
    host: HostName,
    port: u16,
    path: String,
    /// Whether the name may lead to an address that is not public, such as `127.0.0.1`.
    pub private: bool,
    /// How much, and how often.
    pub bounds: FetchBounds,
    /// The line as it was written, before a manifest narrowed it: requests are counted under it.
    line: Arc<str>,
}

impl Destination {
    /// Whether a request may go there that does more than ask for something.
    #[must_use]
    pub fn is_sent_to(&self) -> bool {
        let asks = |method: &String| matches!(method.as_str(), "GET" | "HEAD");
        !self.methods.iter().all(asks)
    }
}

/// How much may go to a destination and come back, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchBounds {
    /// Body of one request.
    pub request_bytes: usize,
    /// Body of one answer, decoded.
    pub answer_bytes: usize,
    /// Requests of one tool in any minute.
    pub per_minute: u32,
}

impl Default for FetchBounds {
    /// What the host allows at all.
    fn default() -> Self {
        Self {
            request_bytes: FETCH_REQUEST_BYTES,
            answer_bytes: FETCH_BODY_BYTES,
            per_minute: FETCHES_PER_MINUTE,
        }
    }
}

impl FetchBounds {
    /// What both allow.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        Self {
            request_bytes: self.request_bytes.min(other.request_bytes),
            answer_bytes: self.answer_bytes.min(other.answer_bytes),
            per_minute: self.per_minute.min(other.per_minute),
        }
    }
}

impl fmt::Display for FetchBounds {
    /// What differs from what the host allows at all, in words.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = Self::default();
        if self.request_bytes < most.request_bytes {
            write!(out, " (requests of {} bytes at most)", self.request_bytes)?;
        }
        if self.answer_bytes < most.answer_bytes {
            write!(out, " (answers of {} bytes at most)", self.answer_bytes)?;
        }
        if self.per_minute < most.per_minute {
            write!(out, " ({} a minute at most)", self.per_minute)?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Exact(String),
    /// One label, then this.
    OneLabelBelow(String),
}

/// The methods that a request may have.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl Destination {
    /// Reads `url`, whose path is a prefix and whose host may begin with `*.` for one label.
    ///
    /// # Errors
    /// `BadInput` with what is wrong: another scheme, user name, query, fragment, unknown method, or a
    /// wildcard anywhere else.
    pub fn parse(url: &str, methods: &[&str], private: bool) -> Result<Self> {
        let wrong =
            |why: &str| Error::bad_input(format!("`{}` is no destination: {why}", shown(url)));
        let plain = url.replacen("://*.", "://", 1);
        let parsed = Url::parse(&plain).map_err(|error| {
            if error == ParseError::RelativeUrlWithoutBase {
                let what = wrong("it does not begin with `https://`");
                return match url.contains('*') {
                    true => what.hint("each host is named; `https://*.example.org/` is each of one label below that"),
                    false => what.hint(format!("https://{}", shown(url))),
                };
            }
            wrong(&error.to_string())
        })?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(wrong("the scheme is `http` or `https`"));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(wrong("user name and password do not belong here"));
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(wrong(
                "only scheme, host, port and the beginning of the path count",
            ));
        }
        let host = parsed.host_str().unwrap_or_default().to_owned();
        if plain.contains('*') {
            return Err(wrong(
                "`*` stands only for one label before the host, as in `https://*.example.org/`",
            ));
        }
        // No request has such a host: it would be a line that never matches.
        if host.ends_with('.') {
            return Err(wrong(
                "the host ends with a dot, which no request's host does; write it without",
            ));
        }
        let host = if plain == url {
            HostName::Exact(host)
        } else if host.contains('.') && parsed.domain().is_some() {
            HostName::OneLabelBelow(host)
        } else {
            return Err(wrong("a wildcard needs two labels after it"));
        };
        if let Some(method) = methods.iter().find(|method| !METHODS.contains(method)) {
            return Err(wrong(&format!("`{}` is no method", shown(method))));
        }
        let mut destination = Self {
            methods: methods.iter().map(|method| (*method).to_owned()).collect(),
            scheme: parsed.scheme().to_owned(),
            host,
            port: parsed.port_or_known_default().unwrap_or_default(),
            path: parsed.path().to_owned(),
            private,
            bounds: FetchBounds::default(),
            line: "".into(),
        };
        destination.line = destination.to_string().into();
        Ok(destination)
    }

    /// The same destination, within these bounds as well.
    #[must_use]
    pub fn bounded(mut self, bounds: FetchBounds) -> Self {
        self.bounds = self.bounds.tighter(bounds);
        self.line = self.to_string().into();
        self
    }

    /// A model's server: what it is asked may hold what is attached.
    #[must_use]
    pub fn of_model(mut self) -> Self {
        self.bounds.request_bytes = PROMPT_BYTES;
        self
    }

    /// The line as it was written: what requests are counted under, whatever a manifest makes of it.
    #[must_use]
    pub fn line(&self) -> &Arc<str> {
        &self.line
    }

    /// Whether requests of any method to `url` could fall under this line.
    #[must_use]
    pub fn matches_place(&self, url: &Url) -> bool {
        self.matches_origin(url) && self.matches_path(url.path())
    }

    /// Whether it is about that scheme, host and port, whatever the path.
    #[must_use]
    pub fn matches_origin(&self, url: &Url) -> bool {
        self.scheme == url.scheme()
            && self.port == url.port_or_known_default().unwrap_or_default()
            && self.matches_host(url.host_str().unwrap_or_default())
    }

    /// Whether a request of `method` to `url` falls under this line.
    #[must_use]
    pub fn matches(&self, method: &str, url: &Url) -> bool {
        self.methods.iter().any(|allowed| allowed == method) && self.matches_place(url)
    }

    /// Whether whatever falls under `other` falls under this line as well, within no tighter bounds.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let host = match (&self.host, &other.host) {
            (one, other) if one == other => true,
            (HostName::OneLabelBelow(_), HostName::Exact(name)) => self.matches_host(name),
            (HostName::Exact(_), _) | (HostName::OneLabelBelow(_), HostName::OneLabelBelow(_)) => {
                false
            }
        };
        let mut methods = other.methods.iter();
        host && self.scheme == other.scheme
            && self.port == other.port
            && starts_with(&other.path, &self.path)
            && methods.all(|method| self.methods.contains(method))
            && (self.private || !other.private)
            && self.bounds.tighter(other.bounds) == self.bounds
    }

    /// Whether more than a plain request may go there.
    #[must_use]
    pub fn sends(&self) -> bool {
        let plain = |method: &String| matches!(method.as_str(), "GET" | "HEAD");
        !self.methods.iter().all(plain)
    }

    /// What both this and `wish` allow: the grant within what a manifest asks for.
    #[must_use]
    pub fn within(&self, wish: &Self) -> Option<Self> {
        let both = |one: &str, other: &str| -> Option<String> {
            if starts_with(one, other) {
                Some(one.to_owned())
            } else if starts_with(other, one) {
                Some(other.to_owned())
            } else {
                None
            }
        };
        let host = match (&self.host, &wish.host) {
            (one, other) if one == other => one.clone(),
            (HostName::Exact(name), _) if wish.matches_host(name) => self.host.clone(),
            (_, HostName::Exact(name)) if self.matches_host(name) => wish.host.clone(),
            _ => return None,
        };
        let methods = self
            .methods
            .iter()
            .filter(|method| wish.methods.contains(method));
        let methods: Vec<String> = methods.cloned().collect();
        let same = self.scheme == wish.scheme && self.port == wish.port && !methods.is_empty();
        let path = both(&self.path, &wish.path).filter(|_| same)?;
        Some(Self {
            methods,
            scheme: self.scheme.clone(),
            host,
            port: self.port,
            path,
            private: self.private,
            bounds: self.bounds.tighter(wish.bounds),
            line: self.line.clone(),
        })
    }

    fn matches_host(&self, host: &str) -> bool {
        match &self.host {
            HostName::Exact(allowed) => allowed == host,
            HostName::OneLabelBelow(parent) => host
                .strip_suffix(parent.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|label| !label.is_empty() && !label.contains('.')),
        }
    }

    /// A prefix ends at a `/`; nothing may climb out of it on the far side.
    fn matches_path(&self, path: &str) -> bool {
        self.path == "/" || starts_with(path, &self.path) && !climbs(path)
    }
}

/// Whether `path` is `prefix` or below it; a prefix ends at a `/`.
fn starts_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
}

impl Destination {
    /// The destination without its methods, as it is written.
    #[must_use]
    pub fn place(&self) -> String {
        let (star, host) = match &self.host {
            HostName::Exact(host) => ("", host),
            HostName::OneLabelBelow(host) => ("*.", host),
        };
        let default_port = if self.scheme == "https" { 443 } else { 80 };
        let mut place = format!("{}://{star}{host}", self.scheme);
        if self.port != default_port {
            place.push_str(&format!(":{}", self.port));
        }
        place.push_str(&self.path);
        place
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.methods.join("|"), self.place())?;
        let private = if self.private {
            " (private addresses too)"
        } else {
            ""
        };
        write!(out, "{private}{}", self.bounds)
    }
}

/// Access to one mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountGrant {
    /// The mount's name.
    pub mount: Arc<str>,
    /// How far it goes.
    pub access: Access,
}

/// What one call may touch. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Where its requests may go.
    pub fetch: Vec<Destination>,
    /// Which files.
    pub mounts: Vec<MountGrant>,
    /// Its plugin's shelf of notes.
    pub notes: Access,
    /// Tools that it may call.
    pub calls: Vec<Pattern>,
    /// Secrets that it may place in its requests.
    pub secrets: Vec<SecretGrant>,
    /// Whether it sees its mounts through `wasi:filesystem` as well.
    pub wasi_files: bool,
    /// Whether it makes no file whose name begins with a dot: to other programs that may mean something.
    pub plain_names: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, url: &str, expected: bool) {
        let line = Destination::parse(line, &["GET"], false).unwrap();
        assert_eq!(
            line.matches("GET", &Url::parse(url).unwrap()),
            expected,
            "{line} {url}"
        );
        assert!(!line.matches("POST", &Url::parse(url).unwrap()));
    }

    #[test]
    fn destinations() {
        for (line, url, expected) in [
            ("https://a.test/", "https://a.test/x?y", true),
            ("https://a.test/", "http://a.test/x", false),
            ("https://a.test/", "https://a.test:8443/", false),
            ("https://a.test:8443/", "https://a.test:8443/", true),
            ("https://a.test/", "https://b.a.test/", false),
            ("https://a.test/", "https://a.test.evil.test/", false),
            ("https://a.test/v1/", "https://a.test/v1/x", true),
            ("https://a.test/v1/", "https://a.test/v1/../v2", false),
            ("https://a.test/v1/", "https://a.test/v1/..%2fv2", false),
            ("https://a.test/v1/", "https://a.test/v1/%2e%2e/v2", false),
            ("https://a.test/v1/", "https://a.test/v1/..;/v2", false),
            (
                "https://a.test/v1/",
                "https://a.test/v1/%252e%252e/v2",
                false,
            ),
            ("https://a.test/v1/", "https://a.test/v1/a%255cb", false),
            ("https://a.test/v1/", "https://a.test/v1/a;b=c/d", true),
            ("https://a.test/", "https://a.test/v1/..;/v2", true),
            ("https://a.test/v1", "https://a.test/v1", true),
            ("https://a.test/v1", "https://a.test/v10", false),
            ("https://*.a.test/", "https://b.a.test/", true),
            ("https://*.a.test/", "https://c.b.a.test/", false),
            ("https://*.a.test/", "https://a.test/", false),
            ("https://*.a.test/", "https://evila.test/", false),
            ("http://127.0.0.1:80/", "http://0x7f.1/", true),
            ("https://A.TEST/", "https://a.test/", true),
        ] {
            check(line, url, expected);
        }
    }

    #[test]
    fn a_grant_stays_within_the_wish() {
        let line = |url: &str| Destination::parse(url, &["GET", "POST"], true).unwrap();
        let wish = |url: &str| Destination::parse(url, &["GET"], false).unwrap();
        for (granted, wished, both) in [
            (
                "https://a.test/",
                "https://a.test/v1/",
                Some("https://a.test/v1/"),
            ),
            (
                "https://a.test/v1/",
                "https://a.test/",
                Some("https://a.test/v1/"),
            ),
            (
                "https://*.a.test/",
                "https://b.a.test/",
                Some("https://b.a.test/"),
            ),
            ("https://a.test/", "https://b.test/", None),
            ("https://a.test/v1/", "https://a.test/v2/", None),
            ("https://a.test/", "http://a.test/", None),
        ] {
            let got = line(granted).within(&wish(wished));
            let both = both.map(|url| Destination::parse(url, &["GET"], true).unwrap().to_string());
            assert_eq!(got.map(|got| got.to_string()), both, "{granted} {wished}");
        }
    }

    #[test]
    fn the_tighter_bound_of_grant_and_wish_holds_and_counts_under_the_grant() {
        let bounds = |request_bytes, answer_bytes, per_minute| FetchBounds {
            request_bytes,
            answer_bytes,
            per_minute,
        };
        let line = |url: &str| Destination::parse(url, &["GET"], false).unwrap();
        let granted = line("https://a.test/").bounded(bounds(10, 200, 30));
        let wished = line("https://a.test/v1/").bounded(bounds(100, 20, 300));
        let both = granted.within(&wished).unwrap();
        assert_eq!(both.bounds, bounds(10, 20, 30));
        assert_eq!(both.line(), granted.line());
        assert_eq!(
            granted.to_string(),
            "GET https://a.test/ (requests of 10 bytes at most) (answers of 200 bytes at most) (30 a minute at most)"
        );
        // A bound is never lifted.
        assert_eq!(
            both.bounded(FetchBounds::default()).bounds,
            bounds(10, 20, 30)
        );
    }

    #[test]
    fn ambiguous_destinations_are_refused() {
        for bad in [
            "a.test",
            "ftp://a.test/",
            "https://u:p@a.test/",
            "https://a.test/?q",
            "https://*/",
            "https://*.com/",
            "https://a.*.test/",
            "https://a.test/*",
            "https://*.127.0.0.1/",
            "https://a.test./",
            "https://*.a.test./",
            "https://a.test.:8443/x",
            "",
        ] {
            assert!(Destination::parse(bad, &["GET"], false).is_err(), "{bad}");
        }
        assert!(Destination::parse("https://a.test/", &["get"], false).is_err());
    }

    #[test]
    fn patterns() {
        let pattern = |text: &str| Pattern::try_from(text.to_owned()).unwrap();
        let tool = ToolName::parse("text.count").unwrap();
        assert!(pattern("*").matches(&tool) && pattern("text.*").matches(&tool));
        assert!(pattern("text.count").matches(&tool) && !pattern("files.*").matches(&tool));
        assert!(pattern("text.*").covers(&pattern("text.count")));
        assert!(!pattern("text.count").covers(&pattern("text.*")));
        for line in ["text.*", "text.count"] {
            assert!(pattern(line).covers(&pattern(line)), "{line}");
            for other in ["web.*", "web.count", "*"] {
                assert!(!pattern(line).covers(&pattern(other)), "{line} {other}");
            }
        }
        for bad in ["", "text", "te*", "*.count", "text.c*"] {
            assert!(Pattern::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_covers_what_it_says_more_widely() {
        let line = |text: &str| {
            let (methods, rest) = text.split_once(' ').unwrap();
            let (url, private) = match rest.strip_suffix(" private") {
                Some(url) => (url, true),
                None => (rest, false),
            };
            let methods: Vec<&str> = methods.split('|').collect();
            Destination::parse(url, &methods, private).unwrap()
        };
        for (wide, narrow, expected) in [
            ("GET https://a.test/", "GET https://a.test/x", true),
            ("GET|POST https://a.test/", "POST https://a.test/", true),
            ("GET https://*.a.test/", "GET https://b.a.test/x", true),
            ("GET https://a.test/ private", "GET https://a.test/", true),
            ("GET https://a.test/x", "GET https://a.test/", false),
            ("GET https://a.test/x", "GET https://a.test/xy", false),
            ("GET https://a.test/", "GET|POST https://a.test/", false),
            ("GET https://b.a.test/", "GET https://*.a.test/", false),
            ("GET https://*.a.test/", "GET https://*.b.a.test/", false),
            ("GET https://a.test/", "GET http://a.test/", false),
            ("GET https://a.test/", "GET https://a.test:8443/", false),
            ("GET https://a.test/", "GET https://a.test/ private", false),
        ] {
            assert_eq!(
                line(wide).covers(&line(narrow)),
                expected,
                "{wide} {narrow}"
            );
        }
        let wide = line("GET https://a.test/");
        let rare = FetchBounds {
            per_minute: 1,
            ..FetchBounds::default()
        };
        // A tighter bound says something of its own.
        assert!(!wide.covers(&wide.clone().bounded(rare)));
        assert!(wide.clone().bounded(rare).covers(&wide));
    }
}
