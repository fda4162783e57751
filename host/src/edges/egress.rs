//! Egress: the only file from which a request leaves the process.
//!
//! A name is resolved here, once; every address of the answer is checked against the range table,
//! and the connection goes to those addresses and no others. Redirects are answers. Proxy variables
//! are ignored. Secrets are filled in here ([`fill`]), after the permit, and taken out of the answer.

mod certificate;
mod fill;
mod names;
mod rates;
mod stream;

use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io};

use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};

use self::fill::{Filled, Filling};
use self::names::{Checked, Refused};
pub use self::names::{Names, Slow};
use self::rates::Rates;
pub(crate) use self::stream::{Head, Outlet, Piece, Stream};
use crate::edges::vault::Vault;
use crate::gate::{Performed, Permit};
use crate::rules::fetch::Fetch;
use crate::rules::fetch::reason::Reason;
use crate::rules::scrub::KnownSecrets;
use crate::rules::secret::{is_coded, is_part};
use crate::rules::{Durability, Effect};
use crate::words::clock::{Clock, Deadline};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Spent};
use crate::words::label::Label;
use crate::words::limits::{CONNECT_TIMEOUT_MS, FETCH_HEADER_BYTES, FETCH_TIMEOUT_MS};

/// Sends requests that the gate has allowed.
#[derive(Clone)]
pub struct Egress {
    names: Names,
    public: Arc<OnceLock<Client>>,
    private: Arc<OnceLock<Client>>,
    filling: Filling,
    rates: Rates,
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

impl Egress {
    /// An edge that looks names up in `names`, finds secrets in `vault`, and keeps answers free of what is
    /// `known`.
    #[must_use]
    pub fn new(names: &Names, vault: Vault, known: KnownSecrets) -> Self {
        let (public, private) = Default::default();
        Self {
            names: names.clone(),
            public,
            private,
            filling: Filling::new(vault, known),
            rates: Rates::new(),
        }
    }

    /// The same for whoever brings secrets of their own that nobody else knows: none of the vault is put in, and what is
    /// sent is not searched for any.
    #[must_use]
    pub(super) fn bare(&self) -> Self {
        Self {
            filling: Filling::new(Vault::default(), KnownSecrets::default()),
            ..self.clone()
        }
    }

    /// Knows each secret that was set or changed since.
    ///
    /// # Errors
    /// `Denied` where one that is kept cannot be read.
    pub(crate) fn learn(&self) -> Result<()> {
        self.filling.learn()
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
        let once = must_not_happen_twice(&permit);
        let mut is_out = false;
        let exchange = async {
            let opened = self.begin(permit, &mut is_out).await?;
            Ok(self.filling.redact(read_answer(opened).await?))
        };
        let result = within(limit, exchange).await;
        let result = result.map_err(|error| unanswered(error, once && is_out));
        let bytes = result.as_ref().map_or(0, |answer| answer.body.len());
        Performed {
            content: Content::Size { bytes },
            ..Performed::of(result, label, Spent::since(began))
        }
    }

    /// Sends it; `is_out` says from then on that it may have arrived, whatever becomes of the answer.
    async fn begin(&self, permit: Permit<Fetch>, is_out: &mut bool) -> Result<Opened> {
        let (fetch, reach) = permit.redeem();
        self.rates.take(&reach)?;
        let client = self.client(reach.private)?;
        let method = Method::from_bytes(fetch.method().as_bytes())
            .map_err(|_| Error::bug("a method that was checked is none"))?;
        let Filled { url, headers, body } = self.filling.fill(fetch, &reach.fills).await?;
        let mut request = client.request(method, url).body(Filled::sent(body));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        *is_out = true;
        let response = request.send().await.map_err(|error| {
            *is_out = !error.is_connect() && !error.is_builder();
            explain(&error)
        })?;
        check_headers(&response)?;
        if reach.whole {
            check_whole(&response)?;
        }
        Ok(Opened {
            response,
            answer_bytes: reach.answer_bytes,
        })
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Egress")
    }
}

/// An answer of which the headers have come.
struct Opened {
    response: Response,
    /// Most bytes of its body.
    answer_bytes: usize,
}

/// Whether the request does something that must not happen twice.
fn must_not_happen_twice(permit: &Permit<Fetch>) -> bool {
    permit.effect().durability() == Durability::Synced
}

/// Why no answer has come. Nobody knows whether a request that was out, and must not happen twice, has done what it was
/// for: no more than of one whose process ended.
fn unanswered(error: Error, is_open: bool) -> Error {
    if is_open && matches!(error.code(), Code::TooSlow | Code::FetchFailed) {
        return error.in_doubt("it");
    }
    error
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

/// Bounds an exchange in time.
async fn within<T>(limit: Duration, exchange: impl Future<Output = Result<T>>) -> Result<T> {
    let bounded = tokio::time::timeout(limit, exchange).await;
    bounded.unwrap_or_else(|_| {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        Err(Error::too_slow("the request", limit_ms))
    })
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

/// Refuses a part of an answer, and one in which no secret would be known, before any of it is read.
fn check_whole(response: &Response) -> Result<()> {
    let headers = || {
        let headers = response.headers().iter();
        headers.map(|(name, value)| (name.as_str(), value.as_bytes()))
    };
    if is_part(response.status().as_u16(), headers()) {
        let what = "the server has answered with a part of what it has, and where a secret may go an answer is looked \
                    through whole";
        return Err(Reason::Part.error(what));
    }
    if is_coded(headers()) {
        let what = "the server has answered in letters, or packed, as no secret is known, and one may go there: ask it for \
                    UTF-8 that is not packed";
        return Err(Reason::Coding.error(what));
    }
    Ok(())
}

async fn read_answer(opened: Opened) -> Result<Answer> {
    let mut response = opened.response;
    let status = response.status().as_u16();
    let headers = headers_of(&response);
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| explain(&error))? {
        check_size(body.len() + piece.len(), opened.answer_bytes)?;
        body.extend_from_slice(&piece);
    }
    Ok(Answer {
        status,
        headers,
        body,
    })
}

/// Headers whose values are text.
fn headers_of(response: &Response) -> Vec<(String, String)> {
    let headers = response.headers().iter();
    headers
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}

/// Checked while the body is unpacked: what it would come to is nowhere in memory.
fn check_size(got: usize, most: usize) -> Result<()> {
    if got > most {
        let what = format!("the answer is too big: {got} bytes or more, and at most {most} may be");
        return Err(Reason::TooBig.error(&what));
    }
    Ok(())
}

/// What a failure of the HTTP library means. Its own text may hold the URL, which is left out.
fn explain(error: &reqwest::Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut deepest = String::new();
    while let Some(one) = cause {
        if let Some(refused) = one.downcast_ref::<Refused>() {
            return refused.error();
        }
        if let Some(fault) = certificate::fault(one) {
            return certificate::refused(error, fault);
        }
        deepest = one.to_string();
        cause = below(one);
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

/// What an error comes from. An error of input or output passes over the one that it was made of.
fn below<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a (dyn std::error::Error + 'static)> {
    let made_of = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    if let Some(made_of) = made_of {
        return Some(made_of);
    }
    error.source()
}
