//! Rule for fetches: may this request leave, towards this destination?
//!
//! It is judged by name. What the name resolves to is the egress edge's business, after the permit.

mod headers;
pub mod reason;

use std::sync::Arc;

use url::{ParseError, Url};

pub(super) use self::headers::{check_headers, folded};
use self::reason::Reason;
use super::caller::{Caller, Origin};
use super::flow;
use super::grant::{Destination, FetchBounds, METHODS};
use super::policy::Policy;
use super::ranges::{Range, range};
use super::secret::{Fill, Filled, check_whole, fills};
use super::{Allowed, Consent, Durability, Effect, deny, deny_unless};
use crate::words::error::{Error, Result};
use crate::words::event::{Content, Denial, EffectKind};
use crate::words::id::shown;
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::{FETCH_REQUEST_BYTES, PROMPT_BYTES, URL_BYTES};

/// A request leaves. Made by [`Fetch::new`] only, so that no malformed one exists.
#[derive(Clone)]
pub struct Fetch {
    method: String,
    url: Url,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What an allowance of a fetch entails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Whether a line allows addresses that are not public.
    pub private: bool,
    /// Where secrets stand in the request; the egress edge fills them in, and nothing else.
    pub fills: Vec<Fill>,
    /// Whether its answer is taken whole or not at all: no part of a secret is known for what it is.
    pub whole: bool,
    /// Most bytes of the answer's body.
    pub answer_bytes: usize,
    /// Whose requests are counted.
    pub wisher: String,
    /// Every line that the request falls under, with how many of them it allows in a minute.
    pub rates: Vec<(Arc<str>, u32)>,
}

impl Fetch {
    /// Takes a request apart and refuses what parsers and connectors could read in two ways.
    ///
    /// # Errors
    /// `BadInput` for another scheme or method, user names, port 0, control characters, reserved
    /// headers, and such as stand in for method, host or path; `TooBig` past the limits.
    pub fn new(
        method: &str,
        url: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Self> {
        Self::bounded((method, url), headers, body, FETCH_REQUEST_BYTES)
    }

    /// What a model is asked: it may hold what is attached.
    ///
    /// # Errors
    /// As [`Fetch::new`].
    pub fn of_prompt(url: &str, headers: Vec<(String, String)>, body: Vec<u8>) -> Result<Self> {
        Self::bounded(("POST", url), headers, body, PROMPT_BYTES)
    }

    fn bounded(
        (method, url): (&str, &str),
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        most_bytes: usize,
    ) -> Result<Self> {
        let url = parse_url(url)?;
        if !METHODS.contains(&method) {
            return Err(
                Error::bad_input(format!("`{}` is no method", shown(method)))
                    .hint(format!("methods are {}", METHODS.join(", "))),
            );
        }
        check_headers(&headers)?;
        if body.len() > most_bytes {
            let what = "the body of the request";
            return Err(Error::too_big(what, most_bytes, body.len()));
        }
        Ok(Self {
            method: method.to_owned(),
            url,
            headers,
            body,
        })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The URL, as the connector will read it.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The wisher's headers.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body, leaving none behind.
    #[must_use]
    pub fn take_body(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }

    /// What an answer brings into a label.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::new(Sort::Web, &self.url.origin().ascii_serialization())
    }

    /// Where it goes: scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        shown(&self.url.origin().ascii_serialization())
    }

    /// Whether it only asks, and carries nothing but its URL and headers.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD") && self.body.is_empty()
    }

    /// Whether it carries content, as a body is, or a header that may say anything. Such a header alone makes it do nothing
    /// that another `GET` does not do.
    #[must_use]
    pub fn carries(&self) -> bool {
        !self.is_plain() || headers::carry(&self.headers)
    }

    fn lines_that_would_allow(&self, caller: &Caller) -> Vec<String> {
        let Origin::Tool(tool) = &caller.origin else {
            return Vec::new();
        };
        let origin = self.url.origin().ascii_serialization();
        // Where the host is granted up to a path, no line proposes all of it.
        let place = match self.granted_beside(caller) {
            Some(_) => format!("{origin}{}", self.url.path()),
            None => format!("{origin}/"),
        };
        let plain = matches!(self.method.as_str(), "GET" | "HEAD");
        let private = self.names_private_host();
        let wish = if plain && !private {
            format!("fetch = [\"{place}\"]")
        } else {
            let methods = if plain {
                String::new()
            } else {
                format!(", methods = [\"{}\"]", self.method)
            };
            let private = if private { ", private = true" } else { "" };
            format!("fetch = [{{ url = \"{place}\"{methods}{private} }}]")
        };
        vec![format!("[grants.\"{tool}\"]"), wish]
    }

    /// Where secrets stand in it, and whether its answer is taken whole or not at all. One tool has a secret sent, and another
    /// one could read it: so every line counts. What the host itself asks, no guest reads.
    fn filled(
        &self,
        who: &str,
        caller: &Caller,
        policy: &Policy,
    ) -> Result<(Filled, bool), Denial> {
        let own = &caller.grant.secrets;
        let filled = fills(self, own, (who, policy.declared(who)))?;
        let of_guest = caller.origin != Origin::Host;
        let whole = of_guest && check_whole(self, own.iter().chain(policy.secrets()))?;
        Ok((filled, whole))
    }

    /// What the URL says of its address by itself, without a look-up.
    fn written_range(&self) -> Range {
        written_range(&self.url)
    }

    fn names_private_host(&self) -> bool {
        self.written_range() != Range::Public
    }

    /// No line is about this request: nobody grants the place, or nobody the method there.
    fn not_granted(&self, caller: &Caller) -> Denial {
        if self.written_range() == Range::Metadata {
            return self.metadata();
        }
        let grant = &caller.grant.fetch;
        let beside = self.granted_beside(caller);
        let reason = if grant.iter().any(|line| line.matches_place(&self.url)) {
            Reason::MethodNotGranted
        } else if beside.is_some() {
            Reason::PathNotGranted
        } else {
            Reason::HostNotGranted
        };
        let lines = self.lines_that_would_allow(caller);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let origin = shown(&self.url.origin().ascii_serialization());
        let place = match beside {
            Some(line) => format!(
                "{origin}{}: granted there is {}",
                shown(self.url.path()),
                line.place()
            ),
            None => origin,
        };
        let what = format!(
            "`{}` may not send {} to {place}",
            caller.origin, self.method
        );
        deny_unless(reason.word(), what, &lines)
    }

    /// A line about the host that is not about the path, where no other line is about that.
    fn granted_beside<'a>(&self, caller: &'a Caller) -> Option<&'a Destination> {
        let grant = &caller.grant.fetch;
        let elsewhere = !grant.iter().any(|line| line.matches_place(&self.url));
        let mut beside = grant.iter().filter(|line| line.matches_origin(&self.url));
        elsewhere.then(|| beside.next()).flatten()
    }

    fn metadata(&self) -> Denial {
        let host = shown(self.url.host_str().unwrap_or_default());
        let what = format!("{host} is where clouds have metadata services, which no line opens");
        deny(Reason::MetadataAddress.word(), what)
    }

    /// An address that is written out is judged before there is a permit: it tells the guest nothing that it did
    /// not say itself.
    fn check_written(&self, caller: &Caller, lines: &[&Destination]) -> Result<(), Denial> {
        let host = shown(self.url.host_str().unwrap_or_default());
        let range = self.written_range();
        if range == Range::Metadata {
            return Err(self.metadata());
        }
        if range != Range::Public && !lines.iter().any(|line| line.private) {
            let line = lines.first().map(ToString::to_string).unwrap_or_default();
            // What the host itself asks is said by a table of its own, and by no line that stands anywhere.
            let said = match caller.origin {
                Origin::Host => "its table".to_owned(),
                Origin::Tool(_) | Origin::Client | Origin::Model | Origin::Script => {
                    format!("the line `{line}`")
                }
            };
            let what = format!(
                "{host} is not on the public internet, and {said} does not say `private = true`"
            );
            let mut denial = deny(Reason::PrivateAddress.word(), what);
            denial.allow = self.lines_that_would_allow(caller);
            return Err(denial);
        }
        Ok(())
    }
}

/// What a URL says of its address by itself, without a look-up.
fn written_range(url: &Url) -> Range {
    match url.host() {
        Some(url::Host::Domain(name)) if is_localhost(name) => Range::Special("loopback"),
        Some(url::Host::Ipv4(address)) => range(address.into()),
        Some(url::Host::Ipv6(address)) => range(address.into()),
        Some(url::Host::Domain(_)) | None => Range::Public,
    }
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether what goes to a URL is not encrypted, and may leave this machine. Its host may begin with `*.`, as in a line.
#[must_use]
pub fn is_open_on_the_way(url: &str) -> bool {
    let parsed = Url::parse(&url.replacen("://*.", "://", 1));
    parsed.is_ok_and(|url| {
        let is_here = match url.host() {
            Some(url::Host::Domain(name)) => is_localhost(name),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => true,
        };
        url.scheme() == "http" && !is_here
    })
}

/// Whether a URL is written with an address that is not public, and is opened by `private = true`.
#[must_use]
pub fn names_private(url: &str) -> bool {
    let parsed = Url::parse(url);
    parsed.is_ok_and(|url| matches!(written_range(&url), Range::Special(_)))
}

/// Names under which clouds have their metadata services.
const METADATA_NAMES: [&str; 4] = [
    "instance-data.ec2.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.tencentyun.com",
];

/// Whether a URL is written with an address, or a name, of a cloud's metadata service, which no line opens.
#[must_use]
pub fn names_metadata(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        written_range(&url) == Range::Metadata || METADATA_NAMES.contains(&host)
    })
}

/// What all lines together allow: one more line never lifts the bound of another.
fn tightest(lines: &[&Destination]) -> FetchBounds {
    let all = lines.iter().map(|line| line.bounds);
    all.fold(FetchBounds::default(), FetchBounds::tighter)
}

/// Each line once, though a manifest may have made several of one.
fn rates(lines: &[&Destination]) -> Vec<(Arc<str>, u32)> {
    let mut rates: Vec<(Arc<str>, u32)> = Vec::new();
    for line in lines {
        if !rates.iter().any(|(known, _)| known == line.line()) {
            rates.push((line.line().clone(), line.bounds.per_minute));
        }
    }
    rates
}

fn is_of_the_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// The address that was meant by one without its scheme, where it begins with the name of a server.
fn whole(text: &str) -> Option<String> {
    let is_bare = !text.starts_with('/') && !text.contains("://") && !text.contains('@');
    let is_local = text.split([':', '/']).next() == Some("localhost");
    let scheme = if is_local { "http" } else { "https" };
    let whole = format!("{scheme}://{text}");
    let url = Url::parse(&whole).ok().filter(|_| is_bare)?;
    let host = url.host_str()?;
    (is_local || host.contains('.')).then_some(whole)
}

fn parse_url(text: &str) -> Result<Url> {
    let wrong = |why: &str| Error::bad_input(format!("`{}` cannot be fetched: {why}", shown(text)));
    if text.len() > URL_BYTES {
        return Err(Error::too_big("the URL", URL_BYTES, text.len()));
    }
    // The URL standard forgives these; other parsers read them differently.
    if text
        .chars()
        .any(|c| c.is_control() || c == ' ' || c == '\\')
    {
        return Err(wrong("it has blanks, control characters or backslashes"));
    }
    let url = Url::parse(text);
    if !url.as_ref().is_ok_and(is_of_the_web)
        && let Some(whole) = whole(text)
    {
        return Err(wrong(&format!("write `{}`", shown(&whole))));
    }
    let url = url.map_err(|error| match error == ParseError::RelativeUrlWithoutBase {
        true => wrong("an address begins with `https://`"),
        false => wrong(&error.to_string()),
    })?;
    if !is_of_the_web(&url) {
        return Err(wrong("the scheme is not `http` or `https`"));
    }
    // The standard also forgives fewer slashes, or more, before the host; whoever reads such a URL takes something else for it.
    let rest = text.get(url.scheme().len()..).unwrap_or_default();
    let authority = rest.strip_prefix("://").unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(wrong("it does not begin as `https://host/` does"));
    }
    let names_user = !url.username().is_empty() || url.password().is_some();
    if names_user || authority.contains('@') {
        return Err(wrong("user name and password do not belong in a URL"));
    }
    if url.port() == Some(0) {
        return Err(wrong("there is no port 0"));
    }
    if url
        .host_str()
        .is_some_and(|host| host.ends_with('.') || host.contains('%'))
    {
        return Err(wrong("the host ends with a dot or has a zone"));
    }
    Ok(url)
}

/// What `line` allows, within the tightest bounds of all lines that the request falls under.
fn allowed(
    (lines, wisher): (&[&Destination], String),
    (filled, whole): (Filled, bool),
    line: &str,
    policy: &Policy,
) -> Allowed<Reach> {
    let mut rule = format!("{line} in {}", policy.origin);
    for line in &filled.lines {
        rule.push_str(&format!("; {line}"));
    }
    Allowed {
        rule,
        terms: Reach {
            private: lines.iter().any(|line| line.private),
            fills: filled.fills,
            whole,
            answer_bytes: tightest(lines).answer_bytes,
            wisher,
            rates: rates(lines),
        },
        consent: Consent::NotNeeded,
        weighed: Vec::new(),
    }
}

impl Effect for Fetch {
    const KIND: EffectKind = EffectKind::Fetch;
    type Terms = Reach;

    /// Without the query: it may carry what only the destination should read.
    fn subject(&self) -> String {
        let mut url = self.url.clone();
        let query = if url.query().is_some() { "?…" } else { "" };
        url.set_query(None);
        url.set_fragment(None);
        format!("{} {url}{query}", self.method)
    }

    fn content(&self) -> Content {
        Content::Size {
            bytes: self.body.len(),
        }
    }

    fn awaited(&self, _: &Caller, _: &Policy) -> Label {
        Label::of(self.source())
    }

    fn judge(&self, caller: &Caller, policy: &Policy) -> Result<Allowed<Reach>, Denial> {
        let grant = &caller.grant.fetch;
        let lines: Vec<&Destination> = grant
            .iter()
            .filter(|line| line.matches(&self.method, &self.url))
            .collect();
        let who = caller.origin.to_string();
        let Some(line) = lines.first() else {
            if flow::may_browse(self, caller, policy) && !self.names_private_host() {
                let filled = self.filled(&who, caller, policy)?;
                return Ok(allowed((&lines, who), filled, "browse = \"free\"", policy));
            }
            return Err(self.not_granted(caller));
        };
        self.check_written(caller, &lines)?;
        let bounds = tightest(&lines);
        if self.body.len() > bounds.request_bytes {
            let what = format!(
                "the body of the request has {} bytes, and `max_request_bytes` of its line allows {}",
                self.body.len(),
                bounds.request_bytes
            );
            return Err(deny(Reason::TooBig.word(), what));
        }
        let notice = flow::weigh_fetch(self, caller, policy)?;
        let filled = self.filled(&who, caller, policy)?;
        let line = line.to_string();
        let mut allowed = allowed((&lines, who), filled, &line, policy);
        allowed.rule.push_str(&notice);
        Ok(allowed)
    }

    fn durability(&self) -> Durability {
        match self.method.as_str() {
            "GET" | "HEAD" | "OPTIONS" => Durability::Committed,
            _ => Durability::Synced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::caller::{Budget, Known};
    use crate::rules::grant::Grant;
    use crate::words::clock::Deadline;
    use crate::words::event::Surface;
    use crate::words::id::{Place, RunId, ToolName};

    #[test]
    fn urls_that_two_parsers_read_differently_are_refused() {
        for bad in [
            "http://a.test\\@b.test/",
            "http://a.test/\tx",
            "http://a.test/\nx",
            "http://u@a.test/",
            "http://u:p@a.test/",
            "ftp://a.test/",
            "file:///etc/passwd",
            "http://a.test:0/",
            "http://a.test./",
            "//a.test/",
            "http://",
            "http://a b/",
            "http://[fe80::1%25eth0]/",
            "http://@a.test/",
            "http:u:p@a.test/",
            "http:/u:p@a.test/",
            "http:///u:p@a.test/",
            "http:////u@a.test/",
            "HTTP:u@a.test/",
            "https:/a.test:x@b.test/",
            "http:a.test/",
            "http:/a.test/",
            "http:///a.test/",
            "http:a.test/://b.test/",
        ] {
            assert!(Fetch::new("GET", bad, vec![], vec![]).is_err(), "{bad}");
        }
        assert!(Fetch::new("get", "http://a.test/", vec![], vec![]).is_err());
        assert!(Fetch::new("CONNECT", "http://a.test/", vec![], vec![]).is_err());
    }

    #[test]
    fn an_address_without_its_scheme_is_written_out() {
        for (url, says) in [
            ("example.com", "write `https://example.com`"),
            ("example.com:8080/a", "write `https://example.com:8080/a`"),
            ("localhost:8080/a", "write `http://localhost:8080/a`"),
            ("/etc/passwd", "an address begins with `https://`"),
            ("readme", "an address begins with `https://`"),
            ("ftp://a.test/", "the scheme is not `http` or `https`"),
            ("mailto:a@b.test", "the scheme is not `http` or `https`"),
        ] {
            let error = Fetch::new("GET", url, vec![], vec![]).err().unwrap();
            let expected = format!("`{url}` cannot be fetched: {says}");
            assert_eq!(error.message(), expected);
        }
    }

    #[test]
    fn headers_that_smuggle_are_refused() {
        for (name, value) in [
            ("x", "a\r\nb: c"),
            ("x", "a\nb"),
            ("x y", "a"),
            ("", "a"),
            ("Host", "evil.test"),
            ("content-length", "3"),
            ("Transfer-Encoding", "chunked"),
            ("x", "\u{0}"),
            ("é", "x"),
        ] {
            let headers = vec![(name.to_owned(), value.to_owned())];
            assert!(
                Fetch::new("GET", "http://a.test/", headers, vec![]).is_err(),
                "{name}: {value:?}"
            );
        }
    }

    #[test]
    fn numeric_hosts_are_read_as_addresses() {
        for (url, host) in [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
        ] {
            let fetch = Fetch::new("GET", url, vec![], vec![]).unwrap();
            assert_eq!(fetch.url().host_str(), Some(host));
            assert!(fetch.names_private_host());
        }
    }

    #[test]
    fn what_is_not_encrypted_and_leaves_this_machine_is_open_on_the_way() {
        for (url, is_open) in [
            ("http://a.test/", true),
            ("http://*.a.test/", true),
            ("HTTP://10.0.0.1/", true),
            ("http://localhost.a.test/", true),
            ("https://a.test/", false),
            ("http://127.0.0.2:1/", false),
            ("http://[::1]/", false),
            ("http://localhost:80/", false),
            ("http://a.localhost/", false),
            ("no address", false),
        ] {
            assert_eq!(is_open_on_the_way(url), is_open, "{url}");
        }
    }

    /// A guest of `web.get` that is granted these.
    fn guest(grant: &[(&str, &[&str], bool)]) -> Caller {
        let lines = grant.iter();
        let lines = lines.map(|(url, methods, private)| Destination::parse(url, methods, *private));
        let grant = Grant {
            fetch: lines.map(|line| line.unwrap()).collect(),
            ..Grant::default()
        };
        Caller {
            run: RunId::known("run"),
            parent: 0,
            place: Place::default(),
            known: Known::default(),
            surface: Surface::Cli,
            origin: Origin::Tool(ToolName::parse("web.get").unwrap()),
            reach: Arc::new([]),
            grant: Arc::new(grant),
            label: Label::default(),
            depth: 1,
            deadline: Deadline::after_ms(1_000),
            budget: Budget::of_calls(1),
        }
    }

    /// The rule of a denial; empty where it may be sent.
    fn denied(caller: &Caller, method: &str, url: &str) -> (String, Vec<String>) {
        let fetch = Fetch::new(method, url, vec![], vec![]).unwrap();
        let judged = fetch.judge(caller, &Policy::nothing("test"));
        let denial = judged.map(|_| ()).err();
        denial.map_or_else(Default::default, |denial| (denial.rule, denial.allow))
    }

    #[test]
    fn a_request_goes_where_a_line_is_about_it_and_nowhere_else() {
        let get: &[&str] = &["GET"];
        let public = guest(&[("https://a.test/x", get, false)]);
        let private = guest(&[
            ("http://10.0.0.1/", get, false),
            ("http://10.0.0.1/x", get, true),
        ]);
        let any = guest(&[("http://169.254.169.254/", get, true)]);
        for (caller, method, url, rule) in [
            (&public, "GET", "https://a.test/x/y", ""),
            (&public, "POST", "https://a.test/x", "method_not_granted"),
            (&public, "GET", "https://a.test/y", "path_not_granted"),
            (&public, "GET", "https://b.test/x", "host_not_granted"),
            (
                &public,
                "GET",
                "http://169.254.169.254/x",
                "metadata_address",
            ),
            // The line that is about it says so, and no other one.
            (&private, "GET", "http://10.0.0.1/x", ""),
            (&private, "GET", "http://10.0.0.1/y", "private_address"),
            (&any, "GET", "http://169.254.169.254/", "metadata_address"),
        ] {
            assert_eq!(denied(caller, method, url).0, rule, "{method} {url}");
        }
    }

    #[test]
    fn the_line_that_is_missing_says_no_more_than_it_has_to() {
        let nothing = guest(&[]);
        for (method, url, line) in [
            ("GET", "https://a.test/x", r#"fetch = ["https://a.test/"]"#),
            (
                "POST",
                "https://a.test/x",
                r#"fetch = [{ url = "https://a.test/", methods = ["POST"] }]"#,
            ),
            (
                "GET",
                "http://10.0.0.1/x",
                r#"fetch = [{ url = "http://10.0.0.1/", private = true }]"#,
            ),
            (
                "POST",
                "http://10.0.0.1/x",
                r#"fetch = [{ url = "http://10.0.0.1/", methods = ["POST"], private = true }]"#,
            ),
        ] {
            let (_, allow) = denied(&nothing, method, url);
            assert_eq!(allow, ["[grants.\"web.get\"]", line], "{method} {url}");
        }
        let beside = guest(&[("https://a.test/x", &["GET"], false)]);
        let (_, allow) = denied(&beside, "GET", "https://a.test/y");
        assert_eq!(allow[1], r#"fetch = ["https://a.test/y"]"#);
    }

    #[test]
    fn a_line_counts_once_however_many_a_manifest_has_made_of_it() {
        let line = |url: &str| Destination::parse(url, &["GET"], false).unwrap();
        let (one, other) = (line("https://a.test/"), line("https://a.test/x"));
        let counted = rates(&[&one, &one, &other]);
        let counted: Vec<&str> = counted.iter().map(|(line, _)| &**line).collect();
        assert_eq!(counted, [&**one.line(), &**other.line()]);
    }

    #[test]
    fn a_metadata_service_is_known_by_its_address_and_its_name() {
        for (url, is_one) in [
            ("http://169.254.169.254/latest", true),
            ("http://metadata.google.internal/", true),
            ("http://metadata.goog./", true),
            ("http://metadata.google.internal.a.test/", false),
            ("http://10.0.0.1/", false),
            ("https://a.test/", false),
            ("no address", false),
        ] {
            assert_eq!(names_metadata(url), is_one, "{url}");
        }
    }

    #[test]
    fn the_subject_hides_the_query() {
        let fetch = Fetch::new("GET", "https://a.test/p?key=canary#x", vec![], vec![]).unwrap();
        assert_eq!(fetch.subject(), "GET https://a.test/p?…");
    }
}
