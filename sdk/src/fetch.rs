//! Requests to the outside, judged by the host one by one.
//!
//! ```no_run
//! # use lazaret_sdk::prelude::*;
//! # fn run() -> Result<(), Failure> {
//! let page = fetch::get("https://example.com/")?.success()?.text()?;
//! let found: Value = fetch::Request::get("https://api.example.com/search")
//!     .query("q", "two words")
//!     .header("accept", "application/json")
//!     .send()?
//!     .success()?
//!     .json()?;
//! # Ok(())
//! # }
//! ```
//!
//! Redirects are answers: following one is a new request ([`Response::redirect`] says where to).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::bindings::lazaret::plugin::fetch as raw;
use crate::{Failure, Reason, Refusal};

/// Sends a GET request.
pub fn get(url: impl Into<String>) -> Result<Response, Refusal> {
    Request::get(url).send()
}

/// Sends a POST request with a JSON body.
pub fn post(url: impl Into<String>, body: &impl Serialize) -> Result<Response, Failure> {
    Ok(Request::post(url).json(body)?.send()?)
}

/// A request to be sent.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request with a method in capitals and an absolute `http` or `https` URL.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A POST request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// A PUT request.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// A DELETE request.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a query parameter, escaped.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        let fragment = self.url.find('#').map(|at| self.url.split_off(at));
        let mark = if self.url.contains('?') { '&' } else { '?' };
        self.url.push(mark);
        escape(name, &mut self.url);
        self.url.push('=');
        escape(value, &mut self.url);
        self.url.push_str(&fragment.unwrap_or_default());
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, media_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = bytes.into();
        self.header("content-type", media_type)
    }

    /// Sets the body to JSON.
    pub fn json(self, value: &impl Serialize) -> Result<Self, Failure> {
        Ok(self.body("application/json", serde_json::to_vec(value)?))
    }

    /// Sends it.
    pub fn send(self) -> Result<Response, Refusal> {
        let Self {
            method,
            url,
            headers,
            body,
        } = self;
        let request = raw::Request {
            method,
            url,
            headers,
            body,
        };
        let raw::Response {
            status,
            headers,
            body,
        } = raw::send(&request)?;
        Ok(Response {
            url: request.url,
            status,
            headers,
            body,
        })
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Response {
    url: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    /// A response that nobody sent, for tests.
    pub fn new(url: &str, status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers = headers.iter().map(own).collect();
        Self {
            url: url.to_owned(),
            status,
            headers,
            body: body.into(),
        }
    }

    /// The URL that was asked for.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |header: &&(String, String)| header.0.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }

    /// All headers, in order.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The body, decoded.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The media type without its parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        let media_type = value.split(';').next().unwrap_or_default();
        Some(media_type.trim().to_ascii_lowercase())
    }

    /// Where to look instead: the `location` of a redirect, as written there.
    pub fn redirect(&self) -> Option<&str> {
        matches!(self.status, 301 | 302 | 303 | 307 | 308).then(|| self.header("location"))?
    }

    /// Itself if the status is 2xx, else a failure with the [`Reason`] that the status gives, which is retryable if trying
    /// later makes sense.
    pub fn success(self) -> Result<Self, Failure> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let failure = Failure::new(format!(
            "`{}` answered with status {}",
            self.url, self.status
        ))
        .with_details(json!({ "status": self.status }))
        .because_of(match self.status {
            401 => Reason::Unauthenticated,
            409 => Reason::Conflict,
            429 => Reason::RateLimited,
            _ => Reason::External,
        });
        let passing = matches!(self.status, 408 | 425 | 429 | 500 | 502..=504);
        Err(if passing {
            failure.retryable()
        } else {
            failure
        })
    }

    /// The body as text, which fails if it is not UTF-8.
    pub fn text(self) -> Result<String, Failure> {
        String::from_utf8(self.body)
            .map_err(|_| Failure::new(format!("`{}` did not answer with UTF-8", self.url)))
    }

    /// The body read as JSON.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::new(format!(
                "`{}` did not answer with the JSON expected: {error}",
                self.url
            ))
        })
    }
}

/// Percent-encodes all but the characters that a URL never gives a meaning to.
fn escape(text: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_parameters_are_escaped_and_stand_before_the_fragment() {
        let request = Request::get("https://a.example/x#top")
            .query("q", "a b&c")
            .query("n", "ä");
        assert_eq!(request.url, "https://a.example/x?q=a%20b%26c&n=%C3%A4#top");
    }

    #[test]
    fn a_status_decides() {
        let answer = |status| Response::new("https://a.example/", status, &[], "");
        assert!(answer(204).success().is_ok());
        assert!(answer(503).success().unwrap_err().is_retryable());
        assert!(!answer(404).success().unwrap_err().is_retryable());
        let limited = answer(429).success().unwrap_err();
        let details = json!({"status": 429, "code": "RATE_LIMITED"});
        assert_eq!(limited.details(), Some(&details));
    }

    #[test]
    fn a_redirect_has_a_place_to_go() {
        let answer = Response::new("https://a.example/", 302, &[("Location", "/b")], "");
        assert_eq!(answer.redirect(), Some("/b"));
        let answer = Response::new("https://a.example/", 200, &[("Location", "/b")], "");
        assert_eq!(answer.redirect(), None);
    }

    #[test]
    fn a_media_type_is_bare() {
        let header = [("Content-Type", "Text/HTML; charset=utf-8")];
        let answer = Response::new("https://a.example/", 200, &header, "");
        assert_eq!(answer.media_type().as_deref(), Some("text/html"));
    }
}
