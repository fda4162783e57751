//! The door: before anything is done for a request it has to name us, come from no other page, and bring the token.

use std::sync::Mutex;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response as Answer;

use super::answer::Failed;
use super::chat;
use super::names::Names;
use super::seats::Standing;
use super::site::Site;
use crate::rules::rate::Minute;
use crate::words::clock::Clock;
use crate::words::error::{Code, Error};
use crate::words::id::{Digest, shown};
use crate::words::lock::lock;

/// What needs no token: the console, which has none before its user gives it one, and what is no secret.
const OPEN: [&str; 3] = ["/", "/healthz", "/openapi.json"];
/// Where the parts of the console are.
const PARTS: &str = "/console/";

/// Who comes in.
#[derive(Debug)]
pub(super) struct Door {
    names: Names,
    token: Mutex<Digest>,
    began: Instant,
    /// What came in, what had a wrong token, and what needed none.
    passed: Mutex<Minute>,
    failed: Mutex<Minute>,
    opened: Mutex<Minute>,
    rates: Rates,
}

/// How often somebody may knock, each minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) requests: u32,
    pub(super) failures: u32,
    pub(super) open: u32,
}

impl Door {
    pub(super) fn new(names: Names, token: Digest, rates: Rates) -> Self {
        Self {
            names,
            token: Mutex::new(token),
            began: Clock::instant(),
            passed: Mutex::default(),
            failed: Mutex::default(),
            opened: Mutex::default(),
            rates,
        }
    }

    /// What whoever has the token is known by: nothing that helps to find it.
    pub(super) fn client(&self) -> String {
        format!("token {}", lock(&self.token).short())
    }

    /// From now on this is the token.
    pub(super) fn renew(&self, token: Digest) {
        *lock(&self.token) = token;
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether the request may come in; and of one that may, whether it brings the token.
    ///
    /// # Errors
    /// `Denied` for another server's name or page, `Unauthenticated` without the token, `RateLimited`.
    fn admits(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<bool, Failed> {
        let host = self.named(uri, headers)?;
        let path = uri.path();
        let looks = [Method::GET, Method::HEAD].contains(method);
        let open = looks && (OPEN.contains(&path) || path.starts_with(PARTS));
        check_page(headers, host, open)?;
        if open {
            // Whoever has the token is not kept out by those who have none, nor is the console by another page.
            let has_token = self.is_token(token_in(headers));
            if !has_token && !is_of_browser(headers) {
                let what = "there were too many requests without a token";
                self.count(&self.opened, self.rates.open, what)?;
            }
            return Ok(has_token);
        }
        self.check_token(headers)?;
        let what = "there were too many requests";
        self.count(&self.passed, self.rates.requests, what)?;
        Ok(true)
    }

    fn count(&self, minute: &Mutex<Minute>, most: u32, what: &str) -> Result<(), Failed> {
        let now_ms = self.now_ms();
        let mut minute = lock(minute);
        minute
            .admits(now_ms, most)
            .map_err(|after_ms| too_often(what, after_ms))?;
        minute.count(now_ms);
        Ok(())
    }

    /// The name by which the request speaks to us.
    fn named<'a>(&self, uri: &Uri, headers: &'a HeaderMap) -> Result<&'a str, Failed> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next().map(HeaderValue::to_str), hosts.next()) {
            (Some(Ok(host)), None) => host,
            (Some(_) | None, _) => {
                return Err(Error::bad_input("a request has one `Host`, which is text").into());
            }
        };
        let other = uri.authority().is_some_and(|named| named.as_str() != host);
        if self.names.are(host) && !other {
            return Ok(host);
        }
        let what = format!("`{}` is no name of this server", shown(host));
        Err(denied(&what)
            .hint("[serve]\nhosts = [\"…\"]   # if it is one that you have given it")
            .into())
    }

    /// Whoever brings the right token comes in, however many others bring wrong ones.
    fn check_token(&self, headers: &HeaderMap) -> Result<(), Failed> {
        let token = token_in(headers);
        if self.is_token(token) {
            return Ok(());
        }
        let many = "there were too many wrong tokens";
        self.count(&self.failed, self.rates.failures, many)?;
        let what = match token {
            Some(_) => "this is not the token",
            None => "a token is needed",
        };
        Err(Error::new(Code::Unauthenticated, what)
            .hint("authorization: Bearer TOKEN")
            .hint("`lazaret serve --show-token` prints it")
            .into())
    }

    fn is_token(&self, said: Option<&str>) -> bool {
        said.is_some_and(|token| Digest::of(token.as_bytes()) == *lock(&self.token))
    }
}

/// The token that a request brings, if it brings one.
fn token_in(headers: &HeaderMap) -> Option<&str> {
    let mut said = headers.get_all(AUTHORIZATION).iter();
    match (said.next().map(HeaderValue::to_str), said.next()) {
        (Some(Ok(said)), None) => bearer(said),
        (Some(_) | None, _) => None,
    }
}

/// The token of an `Authorization` header.
fn bearer(said: &str) -> Option<&str> {
    let (scheme, token) = said.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// A page of another server may not ask anything, and may only lead a person to the console.
fn check_page(headers: &HeaderMap, host: &str, open: bool) -> Result<(), Failed> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let foreign = origins.any(|origin| {
        let origin = origin.to_str().unwrap_or("");
        !Names::is_own(origin, host)
    });
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let elsewhere = matches!(site, Some(b"cross-site" | b"same-site"));
    let leads = headers.get("sec-fetch-mode").map(HeaderValue::as_bytes) == Some(b"navigate");
    if foreign || (elsewhere && !(open && leads)) {
        return Err(denied("a page of another server may not ask this one").into());
    }
    Ok(())
}

/// Whether a browser says that a person or a page of ours asks, which no page can say of itself.
fn is_of_browser(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    matches!(site, Some(b"none" | b"same-origin"))
}

fn denied(what: &str) -> Error {
    Error::new(Code::Denied, what)
}

fn too_often(what: &str, after_ms: u64) -> Failed {
    let error = Error::new(Code::RateLimited, format!("{what} within a minute"));
    Failed::from(error).after_ms(after_ms)
}

/// A connection that has brought the token keeps its seat. Of one that has just lost it nothing more begins.
fn keeps_seat(request: &Request, has_token: bool) -> Result<(), Failed> {
    let standing = request.extensions().get::<Standing>();
    if standing.is_none_or(|standing| standing.hears(has_token)) {
        return Ok(());
    }
    let what = "there are too many connections without a token";
    Err(Error::new(Code::Busy, what)
        .hint("bring the token with the first request")
        .into())
}

/// Lets a request in, or says why not.
pub(super) async fn pass(State(site): State<Site>, request: Request, next: Next) -> Answer {
    let admitted = site
        .door()
        .admits(request.method(), request.uri(), request.headers())
        .and_then(|has_token| keeps_seat(&request, has_token));
    match admitted {
        Ok(()) => {
            // Whoever only looks is shown no secret either that was set since. Where it cannot be read, nothing is called, and
            // whoever calls is told why.
            let _ = site.host().learn_secrets();
            next.run(request).await
        }
        Err(failed) => {
            // Nothing of what whoever knocks has written stands in it.
            let code = failed.error().code();
            tracing::info!(target: "lazaret::door", code = code.envelope(), "turned away");
            let mut answer = chat::turned_away(request.uri().path(), failed);
            if answer.status() == StatusCode::UNAUTHORIZED {
                let bearer = HeaderValue::from_static("Bearer");
                answer.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            }
            // Whoever is turned away has no seat to keep.
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
            answer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(requests: u32, failures: u32) -> Door {
        let rates = Rates {
            requests,
            failures,
            open: 2,
        };
        Door::new(Names::default(), Digest::of(b"right"), rates)
    }

    fn knock(door: &Door, path: &str, headers: &[(&'static str, &str)]) -> Option<Code> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        let uri: Uri = path.parse().expect("an address");
        let failed = door.admits(&Method::GET, &uri, &all).err();
        failed.map(|failed| failed.error().code())
    }

    const US: (&str, &str) = ("host", "localhost:7420");
    const RIGHT: (&str, &str) = ("authorization", "Bearer right");

    #[test]
    fn whoever_names_us_and_has_the_token_comes_in() {
        let door = door(100, 100);
        assert_eq!(knock(&door, "/v1/tools", &[US, RIGHT]), None);
        let quiet = ("authorization", "bearer  right ");
        assert_eq!(knock(&door, "/v1/tools", &[US, quiet]), None);
        assert_eq!(knock(&door, "/healthz", &[US]), None);
        let own = ("origin", "http://localhost:7420");
        assert_eq!(knock(&door, "/v1/tools", &[US, RIGHT, own]), None);
    }

    #[test]
    fn nobody_else_does() {
        let door = door(100, 100);
        for (headers, code) in [
            (&[RIGHT][..], Code::BadInput),
            (&[US, US, RIGHT], Code::BadInput),
            (&[("host", "evil.example"), RIGHT], Code::Denied),
            (
                &[US, RIGHT, ("origin", "http://evil.example")],
                Code::Denied,
            ),
            (&[US, RIGHT, ("origin", "null")], Code::Denied),
            (&[US, RIGHT, ("sec-fetch-site", "cross-site")], Code::Denied),
            (&[US], Code::Unauthenticated),
            (&[US, RIGHT, RIGHT], Code::Unauthenticated),
            (
                &[US, ("authorization", "Bearer wrong")],
                Code::Unauthenticated,
            ),
            (&[US, ("authorization", "right")], Code::Unauthenticated),
            (
                &[US, ("authorization", "Basic right")],
                Code::Unauthenticated,
            ),
            (&[US, ("authorization", "Bearer ")], Code::Unauthenticated),
        ] {
            assert_eq!(
                knock(&door, "/v1/tools", headers),
                Some(code),
                "{headers:?}"
            );
        }
        let evil = knock(&door, "/healthz", &[("host", "evil.example")]);
        assert_eq!(evil, Some(Code::Denied));
        let absolute = knock(&door, "http://evil.example/v1/tools", &[US, RIGHT]);
        assert_eq!(absolute, Some(Code::Denied));
    }

    #[test]
    fn wrong_tokens_are_counted_and_keep_nobody_out_who_has_the_right_one() {
        let door = door(100, 2);
        let wrong = ("authorization", "Bearer wrong");
        let codes = [1, 2, 3].map(|_| knock(&door, "/v1/tools", &[US, wrong]));
        assert_eq!(
            codes,
            [
                Some(Code::Unauthenticated),
                Some(Code::Unauthenticated),
                Some(Code::RateLimited)
            ]
        );
        assert_eq!(knock(&door, "/v1/tools", &[US, RIGHT]), None);
    }

    #[test]
    fn requests_are_counted() {
        let door = door(2, 2);
        let codes = [1, 2, 3].map(|_| knock(&door, "/v1/tools", &[US, RIGHT]));
        assert_eq!(codes, [None, None, Some(Code::RateLimited)]);
        assert_eq!(knock(&door, "/healthz", &[US]), None);
    }

    #[test]
    fn what_needs_no_token_is_counted_by_itself() {
        let door = door(100, 100);
        let codes = [1, 2, 3].map(|_| knock(&door, "/", &[US]));
        assert_eq!(codes, [None, None, Some(Code::RateLimited)]);
        assert_eq!(
            knock(&door, "/console/app.js", &[US]),
            Some(Code::RateLimited)
        );
        assert_eq!(knock(&door, "/", &[US, RIGHT]), None);
        assert_eq!(knock(&door, "/v1/tools", &[US, RIGHT]), None);
    }

    #[test]
    fn another_page_leads_a_person_to_the_console_and_keeps_nobody_out() {
        let door = door(100, 100);
        let (cross, mode) = (("sec-fetch-site", "cross-site"), "sec-fetch-mode");
        for _ in 0..5 {
            let code = knock(&door, "/healthz", &[US, cross, (mode, "no-cors")]);
            assert_eq!(code, Some(Code::Denied));
        }
        for _ in 0..5 {
            let own = ("sec-fetch-site", "same-origin");
            assert_eq!(knock(&door, "/console/app.js", &[US, own]), None);
        }
        assert_eq!(knock(&door, "/", &[US, cross, (mode, "navigate")]), None);
        let api = knock(&door, "/v1/tools", &[US, RIGHT, cross, (mode, "navigate")]);
        assert_eq!(api, Some(Code::Denied));
    }

    #[test]
    fn another_token_counts_at_once() {
        let door = door(100, 100);
        door.renew(Digest::of(b"other"));
        let code = knock(&door, "/v1/tools", &[US, RIGHT]);
        assert_eq!(code, Some(Code::Unauthenticated));
    }
}
