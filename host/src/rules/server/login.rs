//! Logging in to a server over HTTP: what may be believed of whom (OAuth 2.1; RFC 6750, 7591, 8414, 8707, 9207, 9728).
//!
//! The server says who its issuer is; the issuer says where to log in. Each document must be about the very address that
//! it was asked for, each address is `https` unless it is this machine's own, and an answer counts only with the state that
//! went out, and from the issuer that was asked. Whatever else is said is not followed.
//!
//! Who may be told a secret is in `pinned`, what may be taken as one in `random`, and where it is kept in `names`.

pub mod names;
mod pinned;
mod random;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url};

pub use self::random::is_random;
use self::random::is_token;
use crate::rules::scrub::REDACTED;
use crate::words::error::{Code, Error, Result};
use crate::words::id::{Digest, shown};
use crate::words::limits::servers::{LOGIN_SCOPE_BYTES, LOGIN_SHOWN_CHARS};

/// What the operator says of logging in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What we are called there: given by whoever runs the issuer, or the address of a document about us.
    pub client: Option<String>,
    /// The secret that goes with it, by name.
    pub secret: Option<String>,
    /// What is asked for, where the server does not say.
    pub scope: String,
    /// Who gives tokens, letter for letter; whoever the server names, where nothing is said and no secret is told.
    pub issuer: Option<String>,
    /// Where tokens are had, where that is not the issuer's own address.
    pub token: Option<String>,
}

/// What a server says when it wants to know who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where it says who its issuer is.
    pub metadata: Option<String>,
    /// What has to be asked for.
    pub scope: Option<String>,
    /// Whether who asks is known, and may too little.
    pub too_little: bool,
}

impl Challenge {
    /// Reads a header `www-authenticate`.
    #[must_use]
    pub fn read(header: &str) -> Self {
        let value = |key: &str| parameter(header, key);
        Self {
            metadata: value("resource_metadata"),
            scope: value("scope").filter(|scope| is_scope(scope)),
            too_little: value("error").as_deref() == Some("insufficient_scope"),
        }
    }
}

/// A parameter of a challenge, quoted or not.
fn parameter(header: &str, key: &str) -> Option<String> {
    let mut rest = header;
    loop {
        let at = rest.find(key)?;
        let (before, from) = rest.split_at(at);
        let after = from.get(key.len()..)?;
        let begins = before.chars().next_back();
        let is_whole = begins.is_none_or(|c| c == ' ' || c == ',');
        match after.trim_start().strip_prefix('=') {
            Some(value) if is_whole => {
                let value = value.trim_start();
                let value = match value.strip_prefix('"') {
                    Some(quoted) => quoted.split('"').next(),
                    None => value.split([',', ' ']).next(),
                };
                return value.map(str::to_owned).filter(|value| !value.is_empty());
            }
            Some(_) | None => rest = after,
        }
    }
}

/// Whether that can be asked for. One that held a secret is none: what is left of it nobody knows.
fn is_scope(scope: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\' || c == ' ';
    scope.len() <= LOGIN_SCOPE_BYTES && scope.chars().all(plain) && !scope.contains(REDACTED)
}

/// How a person logs in to a server, as they may copy it into a shell: with these scopes only where a shell reads nothing
/// else in them. They are kept for the login in any case.
#[must_use]
pub fn advice(server: &str, scope: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ":/._ -".contains(c);
    let is_plain = scope.chars().all(plain) && !scope.starts_with('-');
    match scope.is_empty() || !is_plain || scope.len() > LOGIN_SHOWN_CHARS {
        true => format!("lazaret servers login {server}"),
        false => format!("lazaret servers login {server} --scope '{scope}'"),
    }
}

/// These scopes and those, each once.
#[must_use]
pub fn joined(scope: &str, more: &str) -> String {
    let mut all: Vec<&str> = Vec::new();
    for one in scope.split_whitespace().chain(more.split_whitespace()) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all.join(" ")
}

/// An address that requests of a login may go to.
///
/// # Errors
/// `Denied` for one that is neither `https` nor on this machine, or has more than a path and a query.
pub fn address(what: &str, text: &str) -> Result<Url> {
    let refused = |why: &str| {
        let what = format!("{what} is `{}`: {why}", shown(text));
        Error::new(Code::Denied, what)
    };
    let url = Url::parse(text).map_err(|_| refused("that is no address"))?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(refused("that has more than an address"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_own(&url) => Ok(url),
        _ => Err(refused(
            "it has to be `https`, unless it is on this machine",
        )),
    }
}

/// That a person comes back to this machine, by its address: a name may lead elsewhere, and a code is worth a token.
///
/// # Errors
/// `Denied` for any other place.
pub fn comes_back(redirect: &str) -> Result<()> {
    let url = Url::parse(redirect).ok();
    let is_here = url.is_some_and(|url| {
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_loopback = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(_)) | None => false,
        };
        is_plain && is_loopback && url.scheme() == "http" && url.fragment().is_none()
    });
    if is_here {
        return Ok(());
    }
    let what = format!(
        "whoever logs in comes back to this machine, and not to `{}`",
        shown(redirect)
    );
    Err(Error::new(Code::Denied, what))
}

/// Whether an address is this machine's own.
#[must_use]
pub fn is_own(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Where a server may say who its issuer is, in the order in which it is looked for.
///
/// # Errors
/// As [`address`]; `Denied` for a document of another origin.
pub fn resource_places(server: &Url, challenge: &Challenge) -> Result<Vec<Url>> {
    if let Some(said) = &challenge.metadata {
        let place = address("where the server says who it belongs to", said)?;
        if place.origin() != server.origin() {
            let what = format!(
                "the server names a document of somebody else, `{}`",
                shown(said)
            );
            return Err(Error::new(Code::Denied, what));
        }
        return Ok(vec![place]);
    }
    Ok(well_known(server, &["oauth-protected-resource"], &[]))
}

/// Where an issuer may say how one logs in.
#[must_use]
pub fn issuer_places(issuer: &Url) -> Vec<Url> {
    let before = ["oauth-authorization-server", "openid-configuration"];
    well_known(issuer, &before, &["openid-configuration"])
}

/// Documents of these names: before the path, and without it or behind it.
fn well_known(url: &Url, before: &[&str], behind: &[&str]) -> Vec<Url> {
    let path = url.path().trim_end_matches('/').to_owned();
    let mut paths: Vec<String> = before
        .iter()
        .map(|name| format!("/.well-known/{name}{path}"))
        .collect();
    if !path.is_empty() {
        let behind = behind
            .iter()
            .map(|name| format!("{path}/.well-known/{name}"));
        paths.extend(behind);
        if behind_root(before) {
            paths.push("/.well-known/oauth-protected-resource".to_owned());
        }
    }
    let at = |path: String| {
        let mut url = url.clone();
        url.set_path(&path);
        url.set_query(None);
        url
    };
    paths.into_iter().map(at).collect()
}

/// A server may say it for all that is at its origin; an issuer may not.
fn behind_root(names: &[&str]) -> bool {
    names == ["oauth-protected-resource"]
}

/// What a server says of itself: who its issuer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What a token is for.
    pub resource: String,
    /// Who gives it.
    pub issuer: String,
    /// What there is to ask for.
    pub scopes: Option<String>,
}

impl Resource {
    /// Reads what a server says. It must be about the address that we ask, and name the operator's issuer if they name one.
    ///
    /// # Errors
    /// `Denied` where it is about another, or names another; `NotJson` where it says nothing.
    pub fn read(document: &Value, server: &Url, said: &Terms) -> Result<Self> {
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        let resource = word("resource").ok_or_else(|| unsaid("resource"))?;
        if !covers(resource, server) {
            let what = format!(
                "the server says that it is `{}`, and that is not where it was asked (`{server}`)",
                shown(resource)
            );
            return Err(Error::new(Code::Denied, what));
        }
        let named = list(document, "authorization_servers").unwrap_or_default();
        let issuer = said.issuer_of(&named)?;
        let issuer = issuer.ok_or_else(|| unsaid("authorization_servers"))?;
        address("the issuer", issuer)?;
        Ok(Self {
            resource: resource.to_owned(),
            issuer: issuer.to_owned(),
            scopes: list(document, "scopes_supported").map(|scopes| scopes.join(" ")),
        })
    }
}

/// Whether what a server says it is covers the address that is asked: the same origin, and a path of which this one is a part.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(said) = Url::parse(resource) else {
        return false;
    };
    let (wide, path) = (said.path().trim_end_matches('/'), server.path());
    let rest = path.strip_prefix(wide);
    said.origin() == server.origin()
        && said.query().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn unsaid(key: &str) -> Error {
    let what = format!("the document that says how to log in has no `{key}`");
    Error::new(Code::BadOutcome, what)
}

fn list<'a>(document: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    let all = document.get(key)?.as_array()?;
    Some(all.iter().filter_map(Value::as_str).collect())
}

/// What an issuer says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Who it is, letter for letter as it was named.
    pub issuer: String,
    /// Where a person logs in.
    pub authorize: Url,
    /// Where tokens are had.
    pub token: Url,
    /// Where one makes oneself known, if that can be done.
    pub register: Option<Url>,
    /// How one shows who one is, in the order of what we would rather do.
    pub ways: Vec<Showing>,
    /// Whether a document about us is read.
    pub reads_documents: bool,
    /// Whether every answer says whose it is.
    pub says_who: bool,
    /// Whether a token can be had again without the person.
    pub has_offline: bool,
}

/// How a client shows who it is where tokens are had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Showing {
    /// A secret in the header.
    ClientSecretBasic,
    /// A secret in the body.
    ClientSecretPost,
    /// Its name alone.
    None,
}

impl Showing {
    fn of(word: &str) -> Option<Self> {
        match word {
            "client_secret_basic" => Some(Self::ClientSecretBasic),
            "client_secret_post" => Some(Self::ClientSecretPost),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::None => "none",
        }
    }
}

impl Issuer {
    /// Reads what an issuer says, who must be the one that was asked, letter for letter.
    ///
    /// # Errors
    /// `Denied` for another issuer, for an address that may not be asked, and for one that does not know PKCE with S256.
    pub fn read(document: &Value, issuer: &str) -> Result<Self> {
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        if word("issuer") != Some(issuer) {
            let what = format!(
                "the issuer `{}` says that it is `{}`",
                shown(issuer),
                shown(word("issuer").unwrap_or_default())
            );
            return Err(Error::new(Code::Denied, what));
        }
        let challenges = list(document, "code_challenge_methods_supported");
        if !challenges.is_some_and(|known| known.contains(&"S256")) {
            let what = format!(
                "the issuer `{}` does not say that it knows PKCE with S256, so a login could be taken over",
                shown(issuer)
            );
            return Err(Error::new(Code::Denied, what));
        }
        let place = |key: &str| {
            let text = word(key).ok_or_else(|| unsaid(key))?;
            address(&format!("`{key}` of the issuer"), text)
        };
        let register = match word("registration_endpoint") {
            Some(_) => Some(place("registration_endpoint")?),
            None => None,
        };
        let flag = |key: &str| document.get(key).and_then(Value::as_bool) == Some(true);
        // Where nothing is said, it is the first (RFC 8414).
        let ways = list(document, "token_endpoint_auth_methods_supported");
        let ways = ways.unwrap_or_else(|| vec!["client_secret_basic"]);
        let scopes = list(document, "scopes_supported").unwrap_or_default();
        Ok(Self {
            issuer: issuer.to_owned(),
            authorize: place("authorization_endpoint")?,
            token: place("token_endpoint")?,
            register,
            ways: ways.into_iter().filter_map(Showing::of).collect(),
            reads_documents: flag("client_id_metadata_document_supported"),
            says_who: flag("authorization_response_iss_parameter_supported"),
            has_offline: scopes.contains(&"offline_access"),
        })
    }

    /// How a client shows who it is that has, or has not, a secret.
    ///
    /// # Errors
    /// `Denied` where there is no way that we know.
    pub fn way(&self, has_secret: bool) -> Result<Showing> {
        let fits = |way: &&Showing| has_secret || **way == Showing::None;
        let way = self.ways.iter().find(fits).copied();
        way.or((!has_secret).then_some(Showing::None))
            .ok_or_else(|| {
                let what = "the issuer knows no way to show who asks that Lazaret knows, too";
                Error::new(Code::Denied, what)
            })
    }
}

/// What we say of ourselves where one makes oneself known.
#[must_use]
pub fn registration(redirect: &str, issuer: &Issuer) -> Value {
    let way = issuer.ways.first().copied().unwrap_or(Showing::None);
    json!({
        "client_name": "Lazaret", "redirect_uris": [redirect], "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": way.word(),
    })
}

/// Who we are at an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Our name there.
    pub id: String,
    /// The secret that goes with it.
    pub secret: Option<String>,
    /// How we show it.
    pub way: Showing,
}

impl Client {
    /// Reads what came of making oneself known.
    ///
    /// # Errors
    /// `BadOutcome`, `Denied`.
    pub fn read(document: &Value, issuer: &Issuer) -> Result<Self> {
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        let id = word("client_id").ok_or_else(|| unsaid("client_id"))?;
        let secret = word("client_secret").map(str::to_owned);
        let way = match word("token_endpoint_auth_method").and_then(Showing::of) {
            Some(way) if secret.is_some() || way == Showing::None => way,
            Some(_) | None => issuer.way(secret.is_some())?,
        };
        Ok(Self {
            id: id.to_owned(),
            secret: secret.filter(|_| way != Showing::None),
            way,
        })
    }
}

/// One login that is under way: nothing of it is used twice.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What the answer must bring back.
    pub state: String,
    /// What proves that the code is ours.
    pub verifier: String,
    /// Where the person comes back to.
    pub redirect: String,
    /// What is asked for.
    pub scope: String,
    /// What the token is for.
    pub resource: String,
}

impl Attempt {
    /// Where the person goes.
    #[must_use]
    pub fn place(&self, issuer: &Issuer, client: &Client) -> Url {
        let mut url = issuer.authorize.clone();
        let challenge = base64url(Digest::of(self.verifier.as_bytes()).bytes());
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("state", &self.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &self.resource);
        if !self.scope.is_empty() {
            url.query_pairs_mut().append_pair("scope", &self.scope);
        }
        url
    }

    /// The code in what the person came back with; nothing where that is no answer to this login.
    ///
    /// # Errors
    /// `Denied` for an answer of another issuer, and for a no.
    pub fn code(&self, issuer: &Issuer, target: &str) -> Result<Option<String>> {
        let parsed = Url::parse("http://127.0.0.1").and_then(|base| base.join(target));
        let Ok(url) = parsed else { return Ok(None) };
        let value = |key: &str| {
            let mut found = url.query_pairs().filter(|(name, _)| name == key);
            let first = found.next().map(|(_, value)| value.into_owned());
            first.filter(|_| found.next().is_none())
        };
        // Whoever does not know the state may say what they like.
        if value("state").as_deref() != Some(&self.state) {
            return Ok(None);
        }
        match value("iss") {
            Some(said) if said != issuer.issuer => {
                let what = format!("the answer is of another issuer, `{}`", shown(&said));
                return Err(Error::new(Code::Denied, what));
            }
            None if issuer.says_who => {
                let what =
                    "the answer does not say whose it is, and the issuer says that its answers do";
                return Err(Error::new(Code::Denied, what));
            }
            Some(_) | None => {}
        }
        if let Some(error) = value("error") {
            let more = value("error_description").unwrap_or_default();
            let what = format!("the issuer said no: {} {}", shown(&error), shown(&more));
            return Err(Error::new(Code::Denied, what.trim_end()));
        }
        let none = || Error::new(Code::BadOutcome, "the answer has no code");
        value("code").map(Some).ok_or_else(none)
    }

    /// What is sent for a token.
    #[must_use]
    pub fn wish(&self, code: &str) -> Vec<(&'static str, String)> {
        vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", self.redirect.clone()),
            ("code_verifier", self.verifier.clone()),
            ("resource", self.resource.clone()),
        ]
    }
}

/// What is sent for a token again.
#[must_use]
pub fn again(refresh: &str, resource: &str) -> Vec<(&'static str, String)> {
    vec![
        ("grant_type", "refresh_token".to_owned()),
        ("refresh_token", refresh.to_owned()),
        ("resource", resource.to_owned()),
    ]
}

/// Headers and body of a wish for a token.
#[must_use]
pub fn wish(client: &Client, what: &[(&'static str, String)]) -> (Vec<(String, String)>, Vec<u8>) {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in what {
        form.append_pair(name, value);
    }
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        (
            "content-type".to_owned(),
            "application/x-www-form-urlencoded".to_owned(),
        ),
    ];
    match (&client.secret, client.way) {
        (Some(secret), Showing::ClientSecretBasic) => {
            let encoded = |text: &str| -> String {
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            let both = format!("{}:{}", encoded(&client.id), encoded(secret));
            headers.push((
                "authorization".to_owned(),
                format!("Basic {}", base64(both.as_bytes())),
            ));
        }
        (Some(secret), Showing::ClientSecretPost) => {
            form.append_pair("client_id", &client.id);
            form.append_pair("client_secret", secret);
        }
        (Some(_), Showing::None) | (None, _) => {
            form.append_pair("client_id", &client.id);
        }
    }
    (headers, form.finish().into_bytes())
}

/// What a token is worth.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The token.
    pub access: String,
    /// What it is had again with.
    pub refresh: Option<String>,
    /// For how long it is good, in milliseconds, where that is said.
    pub good_ms: Option<u64>,
    /// What it is good for, where that is not all that was asked for.
    pub scope: Option<String>,
}

impl Token {
    /// Reads what came of a wish for a token.
    ///
    /// # Errors
    /// `BadOutcome` for what is none, and for one that is used in another way than ours.
    pub fn read(document: &Value) -> Result<Self> {
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        let access = word("access_token").ok_or_else(|| unsaid("access_token"))?;
        if !is_token(access) {
            let what = "the issuer gives a token that cannot stand in a header (RFC 6750)";
            return Err(Error::new(Code::BadOutcome, what));
        }
        let refresh = word("refresh_token");
        // Neither is known to anybody yet, and nobody else would take them out of what is kept and shown.
        let is_apart = |text: &&str| {
            let mut secrets = [Some(access), refresh].into_iter().flatten();
            !secrets.any(|secret| text.contains(secret))
        };
        let kind = word("token_type").unwrap_or_default();
        if !kind.eq_ignore_ascii_case("bearer") {
            let what = format!(
                "the issuer gives a token of the kind `{}`, and only `Bearer` is known",
                shown(Some(kind).filter(is_apart).unwrap_or_default())
            );
            return Err(Error::new(Code::BadOutcome, what));
        }
        let seconds = document.get("expires_in").and_then(Value::as_u64);
        Ok(Self {
            access: access.to_owned(),
            refresh: refresh.map(str::to_owned),
            good_ms: seconds.map(|seconds| seconds.saturating_mul(1_000)),
            scope: word("scope")
                .filter(|scope| is_scope(scope))
                .filter(is_apart)
                .map(str::to_owned),
        })
    }
}

/// What is asked for: what the challenge says; else what the server says there is; else what the operator says. Beside that
/// what was granted before, so that nothing is lost, and that it can be had again without the person.
#[must_use]
pub fn scope(
    (challenge, resource, issuer): (&Challenge, &Resource, &Issuer),
    (said, before): (&str, &str),
) -> String {
    let wanted = challenge.scope.as_deref().or(resource.scopes.as_deref());
    let wanted = joined(before, &joined(wanted.unwrap_or_default(), said));
    match issuer.has_offline {
        true => joined(&wanted, "offline_access"),
        false => wanted,
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// As it stands in addresses.
#[must_use]
pub fn base64url(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests;
