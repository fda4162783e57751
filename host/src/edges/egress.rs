//! Egress: the only file from which a request leaves the process.
//!
//! A name is resolved here, once; every address of the answer is checked against the range table,
//! and the connection goes to those addresses and no others. Redirects are answers. Proxy variables
//! are ignored. Secrets are filled in here ([`fill`]), after the permit, and taken out of the answer.

mod fill;

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use url::Host;

use self::fill::{Filled, Filling};
use crate::edges::vault::Vault;
use crate::gate::{Performed, Permit};
use crate::rules::fetch::{Fetch, Reach};
use crate::rules::ranges::{Range, range};
use crate::rules::scrub::Known;
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Spent};
use crate::words::label::Label;
use crate::words::limits::{
    CONNECT_TIMEOUT_MS, FETCH_BODY_BYTES, FETCH_HEADER_BYTES, FETCH_TIMEOUT_MS,
};

/// Sends requests that the gate has allowed.
#[derive(Clone)]
pub struct Egress {
    names: Names,
    public: Arc<OnceLock<Client>>,
    private: Arc<OnceLock<Client>>,
    filling: Filling,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status, whatever it is.
    pub status: u16,
    /// Its headers; values that are no text are left out.
    pub headers: Vec<(String, String)>,
    /// The body, decoded and bounded.
    pub body: Vec<u8>,
}

/// Where names are looked up.
#[derive(Clone, Debug, Default)]
pub enum Names {
    /// As the machine does.
    #[default]
    System,
    /// In this table and nowhere else: for tests, and for a host that may reach only these.
    Table(Arc<HashMap<String, Vec<IpAddr>>>),
}

impl Egress {
    /// An edge that looks names up in `names`, finds secrets in `vault`, and keeps answers free of what is
    /// `known`.
    #[must_use]
    pub fn new(names: &Names, vault: Vault, known: Known) -> Self {
        let (public, private) = Default::default();
        Self {
            names: names.clone(),
            public,
            private,
            filling: Filling::new(vault, known),
        }
    }

    /// The client that may reach private addresses, or the one that may not. Made at first use: it
    /// reads the machine's certificates, hundreds of files that most calls have no need of.
    fn client(&self, private: bool) -> Result<&Client> {
        let cell = if private { &self.private } else { &self.public };
        match cell.get() {
            Some(client) => Ok(client),
            None => {
                let made = client(&self.names, private)?;
                Ok(cell.get_or_init(|| made))
            }
        }
    }

    /// Sends one request and reads the whole answer.
    pub(crate) async fn send(
        &self,
        permit: Permit<Fetch>,
        deadline: Deadline,
    ) -> Performed<Answer> {
        let began = Clock::instant();
        if let Err(error) = self.filling.check(permit.effect()) {
            return Performed::of(Err(error), Label::default(), Spent::since(began));
        }
        let label = Label::of(source_of(&permit));
        let limit = Duration::from_millis(FETCH_TIMEOUT_MS).min(deadline.rest());
        let exchange = async {
            let response = self.begin(permit).await?;
            let answer = read_answer(response).await?;
            Ok(self.filling.redact(answer))
        };
        let result = match tokio::time::timeout(limit, exchange).await {
            Ok(result) => result,
            Err(_) => Err(Error::too_slow(
                "the request",
                u64::try_from(limit.as_millis()).unwrap_or(0),
            )),
        };
        let bytes = result.as_ref().map_or(0, |answer| answer.body.len());
        Performed {
            result,
            content: Content::Size { bytes },
            label,
            told: None,
            spent: Spent::since(began),
        }
    }

    /// Sends one request and leaves the body to be read as it comes.
    pub(crate) async fn open(&self, permit: Permit<Fetch>) -> Performed<Stream> {
        let began = Clock::instant();
        if let Err(error) = self.filling.check(permit.effect()) {
            return Performed::of(Err(error), Label::default(), Spent::since(began));
        }
        let label = Label::of(source_of(&permit));
        let result = self.begin(permit).await.map(Stream);
        Performed::of(result, label, Spent::since(began))
    }

    async fn begin(&self, permit: Permit<Fetch>) -> Result<Response> {
        let (fetch, Reach { private, fills }) = permit.redeem();
        check_literal(&fetch, private)?;
        let client = self.client(private)?;
        let method = Method::from_bytes(fetch.method().as_bytes())
            .map_err(|_| Error::bug("a method that was checked is none"))?;
        let Filled { url, headers, body } = self.filling.fill(fetch, &fills).await?;
        let mut request = client.request(method, url).body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| explain(&error))?;
        check_headers(&response)?;
        Ok(response)
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Egress")
    }
}

/// An answer whose body is read piece by piece.
pub(crate) struct Stream(Response);

impl Stream {
    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// The next piece of the decoded body; nothing at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let piece = self.0.chunk().await.map_err(|error| explain(&error))?;
        Ok(piece.map(|bytes| bytes.to_vec()))
    }
}

fn source_of(permit: &Permit<Fetch>) -> crate::words::label::Source {
    permit.effect().source()
}

#[expect(clippy::disallowed_methods, reason = "egress is where requests leave")]
fn client(names: &Names, private: bool) -> Result<Client> {
    Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
        .dns_resolver(Arc::new(Checked {
            names: names.clone(),
            private,
        }))
        .user_agent(concat!("lazaret/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Error::bug("no HTTP client could be made").because(error))
}

/// A connector does not ask the resolver for an address that is written out.
fn check_literal(fetch: &Fetch, private: bool) -> Result<()> {
    let address: IpAddr = match fetch.url().host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) => return Ok(()),
        None => return Err(Error::bug("a URL that was checked has no host")),
    };
    check_address(address, private).map_err(|why| Error::new(Code::Denied, why))
}

fn check_address(address: IpAddr, private: bool) -> Result<(), String> {
    match range(address) {
        Range::Public => Ok(()),
        Range::Special(_) if private => Ok(()),
        Range::Special(name) => Err(format!("the address is not on the public internet: {name}")),
        Range::Metadata => {
            Err("the address is a cloud's metadata service, which no line opens".to_owned())
        }
    }
}

/// Resolves a name and refuses the whole answer if one of its addresses may not be reached: a
/// mixed answer is an attack, and there is no second look-up.
struct Checked {
    names: Names,
    private: bool,
}

/// The refusal as it travels through the HTTP library.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (names, private) = (self.names.clone(), self.private);
        Box::pin(async move {
            let found = look_up(&names, name.as_str()).await?;
            for address in &found {
                check_address(address.ip(), private).map_err(Refused)?;
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "egress is where names are looked up, once"
)]
async fn look_up(names: &Names, name: &str) -> std::io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = match names {
        Names::System => tokio::net::lookup_host((name, 0)).await?.collect(),
        Names::Table(table) => {
            let addresses = table.get(name).map_or(&[][..], Vec::as_slice);
            addresses
                .iter()
                .map(|address| SocketAddr::new(*address, 0))
                .collect()
        }
    };
    if found.is_empty() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "no such host",
        ));
    }
    Ok(found)
}

fn check_headers(response: &Response) -> Result<()> {
    let bytes: usize = response
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if bytes > FETCH_HEADER_BYTES {
        return Err(Error::too_big(
            "the headers of the answer",
            FETCH_HEADER_BYTES,
            bytes,
        ));
    }
    Ok(())
}

async fn read_answer(mut response: Response) -> Result<Answer> {
    let status = response.status().as_u16();
    let headers = response.headers().iter();
    let headers = headers
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| explain(&error))? {
        if body.len() + piece.len() > FETCH_BODY_BYTES {
            return Err(Error::too_big(
                "the answer",
                FETCH_BODY_BYTES,
                body.len() + piece.len(),
            ));
        }
        body.extend_from_slice(&piece);
    }
    Ok(Answer {
        status,
        headers,
        body,
    })
}

/// What a failure of the HTTP library means. Its own text may hold the URL, which is left out.
fn explain(error: &reqwest::Error) -> Error {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut deepest = String::new();
    while let Some(one) = cause {
        if let Some(refused) = one.downcast_ref::<Refused>() {
            return Error::new(Code::Denied, refused.0.clone());
        }
        deepest = one.to_string();
        cause = one.source();
    }
    let (code, what) = if error.is_timeout() {
        (Code::TooSlow, "the server did not answer in time")
    } else if error.is_connect() {
        (Code::FetchFailed, "no connection to the server")
    } else if error.is_decode() {
        (Code::FetchFailed, "the answer's encoding is broken")
    } else {
        (Code::FetchFailed, "the request failed")
    };
    Error::new(
        code,
        format!("{what}: {}", crate::words::id::shown(&deepest)),
    )
}
