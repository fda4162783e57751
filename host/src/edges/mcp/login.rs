//! Logins to servers over HTTP: documents are read and tokens had through egress, with its checks of addresses, and what
//! comes of it is kept in the vault as secrets of the host's own, bound to the server that they are for.
//!
//! Server and issuer are told secrets, and may repeat them: what they say is read without what is known, but for what they are
//! asked to give. So nothing that is kept beside the vault, shown, or put into an address holds one.
//!
//! Nothing is opened for a person: they are told where to go, and whoever hears them come back is the surface's to say.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::Around;
use super::sender::{Sender, whole};
use crate::edges::egress::Egress;
use crate::edges::state::{StateFolder, random};
use crate::edges::vault::{Secret, Vault};
use crate::rules::fetch::Fetch;
use crate::rules::grant::{Destination, FetchBounds, Grant};
use crate::rules::json;
use crate::rules::scrub::KnownSecrets;
use crate::rules::server::login::{
    Attempt, Challenge, Client, Issuer, Resource, Showing, Terms as Said, Token, address, again,
    base64url, comes_back, is_own, issuer_places, joined, names, registration, resource_places,
    scope, wish,
};
use crate::rules::server::{Header, Remote, Terms};
use crate::words::clock::Clock;
use crate::words::error::{Code, Error, Result};
use crate::words::id::{plain_word, shown};
use crate::words::key::HostKey;
use crate::words::limits::servers::{LOGIN_AGAIN_MS, LOGIN_BYTES, LOGIN_EARLY_MS};

/// What is known of a login beside its secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    /// The server that it is for.
    url: String,
    /// What the token is for, as the server calls itself.
    resource: String,
    issuer: String,
    /// Where tokens are had.
    token: String,
    client: String,
    way: Showing,
    scope: String,
    /// When it is no longer good, in milliseconds since 1970, where that was said.
    until: Option<u64>,
    /// When it was last tried to have it anew.
    #[serde(default)]
    tried: u64,
}

/// How a login ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetIn {
    /// Who let us in.
    pub issuer: String,
    /// Whether the token is kept out of what is said: one that looks like ordinary text is not, since an issuer could choose
    /// with it what is no longer said.
    pub is_redacted: bool,
}

/// A login that is under way: the person is on their way.
#[derive(Debug)]
pub struct Begun {
    attempt: Attempt,
    issuer: Issuer,
    client: Client,
    known: KnownSecrets,
}

impl Begun {
    /// Where the person goes.
    #[must_use]
    pub fn place(&self) -> String {
        self.attempt.place(&self.issuer, &self.client).to_string()
    }

    /// Who lets them in, where our code and secret go then, and what the token is for.
    #[must_use]
    pub fn parties(&self) -> [(&'static str, String); 4] {
        let scope = match self.attempt.scope.as_str() {
            "" => "nothing by name".to_owned(),
            scope => scope.to_owned(),
        };
        [
            ("issuer", self.issuer.issuer.clone()),
            ("token", self.issuer.token.to_string()),
            ("resource", self.attempt.resource.clone()),
            ("scope", scope),
        ]
    }

    /// The code in what somebody came back with; nothing where that is no answer to this login.
    ///
    /// # Errors
    /// As [`Attempt::code`].
    pub fn code(&self, target: &str) -> Result<Option<String>> {
        let code = self.attempt.code(&self.issuer, target);
        // A no quotes the issuer. A code is taken as it is: nobody is shown it.
        match self.known.clean(target).filter(|_| code.is_err()) {
            Some(clean) => self.attempt.code(&self.issuer, &clean),
            None => code,
        }
    }
}

/// The logins of this user.
#[derive(Clone, Debug)]
pub struct Logins {
    folder: StateFolder,
    vault: Vault,
    known: KnownSecrets,
    egress: Egress,
    key: HostKey,
}

impl Logins {
    /// Those that are kept beside what servers are started with.
    #[must_use]
    pub fn of(around: &Around) -> Self {
        Self {
            folder: around.folder.clone(),
            vault: around.vault.clone(),
            known: around.known.clone(),
            egress: around.egress.bare(),
            key: around.key.clone(),
        }
    }

    /// The header of whoever has logged in to this very server; nothing where nobody has, or the operator's own line says
    /// who asks.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn header(&self, (terms, remote): (&Terms, &Remote)) -> Result<Option<Header>> {
        let own = remote.headers.iter();
        let is_said = own
            .clone()
            .any(|header| header.name.eq_ignore_ascii_case("authorization"));
        let key = key(terms, remote);
        if is_said || self.kept((terms, remote))?.is_none() {
            return Ok(None);
        }
        Ok(Some(Header {
            name: "authorization".to_owned(),
            before: "Bearer ".to_owned(),
            secret: names::secret(&key, TOKEN),
        }))
    }

    /// What was granted before at this server; empty where nothing was.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn scope(&self, server: (&Terms, &Remote)) -> Result<String> {
        Ok(self
            .kept(server)?
            .map(|kept| kept.scope)
            .unwrap_or_default())
    }

    /// A login counts for the address that it was made for, and for no other that has the server's name.
    fn kept(&self, (terms, remote): (&Terms, &Remote)) -> Result<Option<Kept>> {
        let Some(text) = self.folder.read(&file(&key(terms, remote)))? else {
            return Ok(None);
        };
        let kept: Option<Kept> = serde_json::from_slice(&text).ok();
        let kept = kept.filter(|kept| kept.url == remote.url);
        Ok(kept.map(|kept| self.without_secrets(kept)))
    }

    /// What it is good for, if no secret stands there: it is shown, and asked for again.
    fn without_secrets(&self, mut kept: Kept) -> Kept {
        if self.known.finds_in(kept.scope.as_bytes()) {
            kept.scope.clear();
        }
        kept
    }

    /// What a server says with a header `www-authenticate`, without the secrets that it was sent.
    pub(super) fn challenge(&self, header: &str) -> Challenge {
        let clean = self.known.clean(header);
        Challenge::read(clean.as_deref().unwrap_or(header))
    }

    /// Keeps what a server wanted more than it was let in with, for the next login: a call sends nobody to log in.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn want(&self, (terms, remote): (&Terms, &Remote), scope: &str) -> Result<()> {
        let file = wanted(&key(terms, remote));
        self.folder.write(&file, scope.as_bytes())
    }

    /// What it wanted more; nothing where it did not.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn wanted(&self, (terms, remote): (&Terms, &Remote)) -> Result<Option<Challenge>> {
        let scope = self.folder.read(&wanted(&key(terms, remote)))?;
        Ok(scope.map(|scope| Challenge {
            // It may have been kept while nobody knew that it holds a secret.
            scope: (!self.known.finds_in(&scope))
                .then(|| String::from_utf8_lossy(&scope).into_owned()),
            too_little: true,
            ..Challenge::default()
        }))
    }

    /// Has a token anew that is about to be no longer good.
    ///
    /// # Errors
    /// As [`Logins::renew`].
    pub async fn freshen(&self, server: (&Terms, &Remote)) -> Result<()> {
        let Some(kept) = self.kept(server)? else {
            return Ok(());
        };
        let late = Clock::system().now_ms().saturating_add(LOGIN_EARLY_MS);
        if kept.until.is_some_and(|until| until <= late) {
            // One that cannot be had anew is told to the server as it is, which says what it thinks of it.
            let _ = self.renew(server).await;
        }
        Ok(())
    }

    /// Has a token anew, without the person; whether that could be done. It is tried once a minute: a server that likes no
    /// token would have one made for each request.
    ///
    /// # Errors
    /// `FetchFailed`, `DiskFailed`; `Denied` where the issuer says no.
    pub async fn renew(&self, server: (&Terms, &Remote)) -> Result<bool> {
        let (terms, remote) = server;
        let now = Clock::system().now_ms();
        let Some(kept) = self.kept(server)? else {
            return Ok(false);
        };
        let again = kept.tried..kept.tried.saturating_add(LOGIN_AGAIN_MS);
        if again.contains(&now) {
            return Ok(false);
        }
        let key = key(terms, remote);
        let Ok(refresh) = self.vault.reveal(&names::secret(&key, AGAIN)) else {
            return Ok(false);
        };
        let kept = Kept { tried: now, ..kept };
        self.note(&key, &kept)?;
        let place = address("where tokens are had", &kept.token)?;
        let secret = self.vault.reveal(&names::secret(&key, CLIENT)).ok();
        let client = Client {
            id: kept.client.clone(),
            secret: secret.map(|secret| secret.expose().to_owned()),
            way: kept.way,
        };
        let what = self::again(refresh.expose(), &kept.resource);
        let token = self.token((&place, &client), &what, remote).await?;
        self.keep(&key, kept, (token, None))?;
        Ok(true)
    }

    /// Begins to log in: reads who may let us in, and who we are there. The person comes back to `redirect`. What was granted
    /// before stays.
    ///
    /// # Errors
    /// `Denied` where somebody is not who they should be; `FetchFailed`.
    pub async fn begin(
        &self,
        (terms, remote): (&Terms, &Remote),
        (challenge, more): (&Challenge, &str),
        redirect: String,
    ) -> Result<Begun> {
        comes_back(&redirect)?;
        let server = address("the server", &remote.url)?;
        let asked = (challenge, &terms.login);
        let resource = self.resource(&server, asked, remote).await?;
        let issuer = self.issuer(&resource.issuer, remote).await?;
        // Before anything is sent there that is nobody else's to know.
        issuer.is_whole(&terms.login)?;
        let client = self
            .client(&issuer, (&terms.login, &redirect), remote)
            .await?;
        if let Some(secret) = client.secret.clone() {
            // The issuer is about to be sent it, and may repeat it. The operator's own is known by the name that they gave it.
            let name = names::secret(&key(terms, remote), CLIENT);
            let _ = Secret::new(secret)?.teach(&self.known, &name);
        }
        let before = self.kept((terms, remote))?;
        let before = before.filter(|kept| kept.issuer == issuer.issuer);
        let before = before.map(|kept| kept.scope).unwrap_or_default();
        let said = joined(&terms.login.scope, more);
        let attempt = Attempt {
            state: base64url(&random::<32>()?),
            verifier: base64url(&random::<32>()?),
            redirect,
            scope: scope((challenge, &resource, &issuer), (&said, &before)),
            resource: resource.resource,
        };
        let begun = Begun {
            attempt,
            issuer,
            client,
            known: self.known.clone(),
        };
        self.may_be_shown(&begun).map(|()| begun)
    }

    /// Where a person goes stands on the screen, in their browser and at the issuer: as no request of ours does, it holds no
    /// secret, whoever put it there.
    fn may_be_shown(&self, begun: &Begun) -> Result<()> {
        if !self.known.finds_in(begun.place().as_bytes()) {
            return Ok(());
        }
        let what = "the address where one logs in would hold the value of a secret in the clear, and is not shown";
        Err(Error::new(Code::Denied, what).hint(
            "look for it in `--scope` and in `login` of `[mcp.NAME]`; if it is not there, the issuer has put it there",
        ))
    }

    /// Ends a login with the code that the person brought back.
    ///
    /// # Errors
    /// `Denied` where the issuer says no; `FetchFailed`; what the vault says.
    pub async fn finish(
        &self,
        (terms, remote): (&Terms, &Remote),
        begun: Begun,
        code: &str,
    ) -> Result<LetIn> {
        let Begun {
            attempt,
            issuer,
            client,
            ..
        } = begun;
        let wish = attempt.wish(code);
        let token = self.token((&issuer.token, &client), &wish, remote).await?;
        let scope = token.scope.clone().unwrap_or(attempt.scope);
        let kept = Kept {
            url: remote.url.clone(),
            resource: attempt.resource,
            issuer: issuer.issuer.clone(),
            token: issuer.token.to_string(),
            client: client.id.clone(),
            way: client.way,
            scope,
            until: None,
            tried: 0,
        };
        // What is of another login is not kept beside this one.
        self.forget((terms, remote))?;
        let is_redacted = self.keep(&key(terms, remote), kept, (token, client.secret))?;
        Ok(LetIn {
            issuer: issuer.issuer,
            is_redacted,
        })
    }

    /// Forgets a login; whether there was one.
    ///
    /// # Errors
    /// `DiskFailed`; what the vault says.
    pub fn forget(&self, (terms, remote): (&Terms, &Remote)) -> Result<bool> {
        let key = key(terms, remote);
        let was = self.folder.has(&file(&key));
        self.folder.remove(&file(&key))?;
        self.folder.remove(&wanted(&key))?;
        if was {
            for what in names::SECRETS {
                self.vault.remove(&names::secret(&key, what))?;
            }
        }
        Ok(was)
    }

    /// Keeps a login; whether its tokens are kept out of what is said.
    fn keep(
        &self,
        key: &str,
        kept: Kept,
        (token, secret): (Token, Option<String>),
    ) -> Result<bool> {
        let now = Clock::system().now_ms();
        let kept = Kept {
            until: token.good_ms.map(|ms| now.saturating_add(ms)),
            ..kept
        };
        let values = [
            (TOKEN, Some(token.access)),
            (AGAIN, token.refresh),
            (CLIENT, secret),
        ];
        let mut is_redacted = true;
        for (what, value) in values {
            let Some(value) = value else { continue };
            let secret = Secret::new(value)?;
            let name = names::secret(key, what);
            // Our own secret may be the person's, who has said what it is.
            is_redacted &= secret.teach(&self.known, &name).is_ok() || what == CLIENT;
            self.vault.store(&name, &secret)?;
        }
        // What was given is known from here on, and may be in what was said beside it.
        self.note(key, &self.without_secrets(kept))?;
        Ok(is_redacted)
    }

    fn note(&self, key: &str, kept: &Kept) -> Result<()> {
        let text = serde_json::to_vec(kept)
            .map_err(|error| Error::bug("a login cannot be written").because(error))?;
        self.folder.write(&file(key), &text)
    }

    async fn resource(
        &self,
        server: &Url,
        (challenge, said): (&Challenge, &Said),
        remote: &Remote,
    ) -> Result<Resource> {
        for place in resource_places(server, challenge)? {
            if let Some(document) = self.document(&place, remote).await? {
                return Resource::read(&document, server, said);
            }
        }
        let what = "the server does not say who may let us in: it has no document at its well-known addresses";
        Err(Error::new(Code::FetchFailed, what)
            .retry(false)
            .hint("give it a header with a secret instead (`headers` of `[mcp.NAME]`)"))
    }

    async fn issuer(&self, name: &str, remote: &Remote) -> Result<Issuer> {
        for place in issuer_places(&address("the issuer", name)?) {
            if let Some(document) = self.document(&place, remote).await? {
                return Issuer::read(&document, name);
            }
        }
        let what = format!("the issuer `{}` does not say how one logs in", shown(name));
        Err(Error::new(Code::FetchFailed, what).retry(false))
    }

    /// A document, if there is one.
    async fn document(&self, place: &Url, remote: &Remote) -> Result<Option<Value>> {
        let headers = vec![("accept".to_owned(), "application/json".to_owned())];
        match self
            .ask("GET", place, (headers, Vec::new()), remote)
            .await?
        {
            (200, body) => self.parsed(place, &body).map(Some),
            (400..=499, _) => Ok(None),
            (status, _) => Err(odd(place, status)),
        }
    }

    /// Who we are at the issuer: as the operator says, or as the issuer says when we make ourselves known.
    async fn client(
        &self,
        issuer: &Issuer,
        (said, redirect): (&Said, &str),
        remote: &Remote,
    ) -> Result<Client> {
        if let Some(id) = &said.client {
            let is_document = id.starts_with("https://");
            if !is_document || issuer.reads_documents {
                let secret = said.secret.as_ref().filter(|_| !is_document);
                let secret = secret.map(|name| self.vault.reveal(name)).transpose()?;
                let secret = secret.map(|secret| secret.expose().to_owned());
                return Ok(Client {
                    id: id.clone(),
                    way: issuer.way(secret.is_some())?,
                    secret,
                });
            }
        }
        let Some(place) = &issuer.register else {
            let what = format!(
                "one cannot make oneself known at the issuer `{}`",
                shown(&issuer.issuer)
            );
            return Err(Error::new(Code::Denied, what).hint(
                "ask whoever runs it for a client, and write `login = { client = \"ID\", secret = \"NAME\", issuer = \"https://…\" }` \
                 in `[mcp.NAME]`",
            ));
        };
        let headers = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        let body = registration(redirect, issuer).to_string().into_bytes();
        match self.ask("POST", place, (headers, body), remote).await? {
            (200 | 201, body) => Client::read(&self.parsed(place, &body)?, issuer),
            (status, _) => Err(odd(place, status)),
        }
    }

    async fn token(
        &self,
        (place, client): (&Url, &Client),
        what: &[(&'static str, String)],
        remote: &Remote,
    ) -> Result<Token> {
        let (status, body) = self.ask("POST", place, wish(client, what), remote).await?;
        if status == 200 {
            return Token::read(&self.parsed(place, &body)?);
        }
        let said = self.parsed(place, &body).unwrap_or_default();
        let word = said
            .get("error")
            .and_then(Value::as_str)
            .unwrap_or_default();
        // It was sent secrets, and may quote them.
        let word = plain_word(word).unwrap_or_default();
        let what = format!("the issuer gives no token: status {status} {word}");
        Err(Error::new(Code::Denied, what.trim_end()))
    }

    /// What somebody says, without what is known; but for what they are asked to give, which goes into the vault.
    fn parsed(&self, place: &Url, body: &[u8]) -> Result<Value> {
        let text = String::from_utf8_lossy(body);
        let mut said = json::parse(&text).map_err(|why| {
            let what = format!("`{}` answers with no JSON: {why}", shown(place.as_str()));
            Error::new(Code::NotJson, what)
        })?;
        let mut given = Map::new();
        if let Value::Object(said) = &mut said {
            for name in GIVEN {
                given.extend(said.remove_entry(name));
            }
        }
        self.known.clean_value(&mut said);
        if let Value::Object(said) = &mut said {
            said.append(&mut given);
        }
        Ok(said)
    }

    /// One request of a login: to this very address, as any request of the host's, and without any redirect.
    async fn ask(
        &self,
        method: &str,
        place: &Url,
        (headers, body): (Vec<(String, String)>, Vec<u8>),
        remote: &Remote,
    ) -> Result<(u16, Vec<u8>)> {
        let mut to = place.clone();
        to.set_query(None);
        // What is on this machine is asked where the server is, too.
        let private = remote.to.private && is_own(place);
        let to = Destination::parse(to.as_str(), &[method], private)?;
        let grant = Grant {
            fetch: vec![to.bounded(FetchBounds::default())],
            ..Grant::default()
        };
        let fetch = Fetch::new(method, place.as_str(), headers, body)?;
        let sender = Sender::new("a login", grant, (&self.egress, &self.key));
        let stream = sender.send(fetch).await?;
        let status = stream.status();
        Ok((status, whole(stream, LOGIN_BYTES).await?))
    }
}

/// The secrets of a login.
const TOKEN: &str = "token";
const AGAIN: &str = "again";
const CLIENT: &str = "client";
/// As an issuer calls them.
const GIVEN: [&str; 3] = ["access_token", "refresh_token", "client_secret"];

/// What a login to this server is kept under, and no other server's.
fn key(terms: &Terms, remote: &Remote) -> String {
    names::key(&terms.name, &remote.url, &terms.login)
}

fn file(key: &str) -> String {
    format!("{key}.login")
}

fn wanted(key: &str) -> String {
    format!("{key}.wanted")
}

fn odd(place: &Url, status: u16) -> Error {
    let place = shown(place.as_str());
    let what = match status {
        300..=399 => format!("`{place}` sends elsewhere, and redirects are not followed"),
        _ => format!("`{place}` answers with status {status}"),
    };
    Error::new(Code::FetchFailed, what).retry(false)
}
