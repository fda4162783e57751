//! Whom spans are told to, and how patiently: `[traces]`, resolved.
//!
//! It is the operator's own line: it says where requests with spans may go and which secrets stand in their headers,
//! as the line of a model does, and grants nothing to any run.

use crate::rules::fetch::Fetch;
use crate::rules::grant::{Destination, FetchBounds, Grant};
use crate::rules::secret::{Placement, SecretGrant, marker};
use crate::words::error::Result;
use crate::words::event::TracedWith;
use crate::words::limits::{
    TRACES_AGAIN_MS, TRACES_ANSWER_BYTES, TRACES_ATTEMPTS, TRACES_BATCH_MS, TRACES_BATCH_SPANS,
    TRACES_FLUSH_MS, TRACES_QUEUE_SPANS, TRACES_TIMEOUT_MS,
};

/// What the host calls itself where the configuration says nothing.
pub const SERVICE: &str = "lazaret";
/// Where spans go below the endpoint.
pub const PATH: &str = "/v1/traces";

/// Whom spans are told to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    url: String,
    destination: Destination,
    headers: Vec<Header>,
    /// What the host calls itself there.
    pub service: String,
    /// How patiently.
    pub pace: Pace,
}

/// A header with a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// What stands before the secret, such as `Bearer `.
    pub before: String,
    /// The secret's name in the vault.
    pub secret: String,
}

/// How patiently spans are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Pace {
    /// Spans that wait; newer ones are dropped.
    pub queue_spans: usize,
    /// Spans of one request.
    pub batch_spans: usize,
    /// How long they wait for more.
    pub batch_ms: u64,
    /// How long one request may take.
    pub timeout_ms: u64,
    /// How long the end of a process waits.
    pub flush_ms: u64,
    /// Times that one request is sent.
    pub attempts: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            queue_spans: TRACES_QUEUE_SPANS,
            batch_spans: TRACES_BATCH_SPANS,
            batch_ms: TRACES_BATCH_MS,
            timeout_ms: TRACES_TIMEOUT_MS,
            flush_ms: TRACES_FLUSH_MS,
            attempts: TRACES_ATTEMPTS,
        }
    }
}

impl Collector {
    /// The collector at `endpoint`, below which spans have their path.
    ///
    /// # Errors
    /// `BadInput` for what is no destination, or no header.
    pub fn new(
        (endpoint, private): (&str, bool),
        headers: Vec<Header>,
        (service, pace): (String, Pace),
    ) -> Result<Self> {
        let url = format!("{}{PATH}", endpoint.trim_end_matches('/'));
        let destination = Destination::parse(&url, &["POST"], private)?.bounded(FetchBounds {
            answer_bytes: TRACES_ANSWER_BYTES,
            ..FetchBounds::default()
        });
        let collector = Self {
            url,
            destination,
            headers,
            service,
            pace,
        };
        // What can never be sent is better said before anything is.
        collector.request(Vec::new()).map(|_| collector)
    }

    /// A request with this body.
    ///
    /// # Errors
    /// `BadInput`, `TooBig`.
    pub fn request(&self, body: Vec<u8>) -> Result<Fetch> {
        let json = ("content-type".to_owned(), "application/json".to_owned());
        let value = |header: &Header| format!("{}{}", header.before, marker(&header.secret));
        let secrets = self.headers.iter();
        let secrets = secrets.map(|header| (header.name.clone(), value(header)));
        let headers = std::iter::once(json).chain(secrets).collect();
        Fetch::new("POST", &self.url, headers, body)
    }

    /// What telling it takes: its own server, with its own secrets in their headers, and nothing else.
    #[must_use]
    pub fn grant(&self) -> Grant {
        let secret = |header: &Header| SecretGrant {
            name: header.secret.clone(),
            to: self.destination.clone(),
            place: Placement::Header {
                name: header.name.clone(),
                before: header.before.clone(),
            },
        };
        Grant {
            fetch: vec![self.destination.clone()],
            secrets: self.headers.iter().map(secret).collect(),
            ..Grant::default()
        }
    }

    /// The secrets with which it is told, by their names.
    #[must_use]
    pub fn secrets(&self) -> Vec<TracedWith> {
        let secret = |header: &Header| TracedWith {
            to: self.place(),
            header: header.name.clone(),
            secret: header.secret.clone(),
        };
        self.headers.iter().map(secret).collect()
    }

    /// Where it is, for people.
    #[must_use]
    pub fn place(&self) -> String {
        self.destination.place()
    }
}

/// What becomes of a request that a collector answered so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It took what it was told.
    Taken,
    /// It may take it later.
    Later,
    /// It never will.
    Never,
}

impl Told {
    /// By the status of the answer, as the protocol has it. A redirect is an answer like any other: not taken.
    #[must_use]
    pub fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::Taken,
            429 | 502..=504 => Self::Later,
            _ => Self::Never,
        }
    }
}

/// How long to wait before a request is sent for the `attempt`th time, from 1; nothing where it is not sent again.
#[must_use]
pub fn again_after_ms(attempt: u32, most: u32) -> Option<u64> {
    let doublings = attempt.saturating_sub(1).min(16);
    (attempt < most).then(|| TRACES_AGAIN_MS << doublings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_again_only_where_that_may_help_and_not_for_ever() {
        for (status, expected) in [
            (200, Told::Taken),
            (202, Told::Taken),
            (301, Told::Never),
            (307, Told::Never),
            (400, Told::Never),
            (401, Told::Never),
            (408, Told::Never),
            (429, Told::Later),
            (500, Told::Never),
            (502, Told::Later),
            (503, Told::Later),
            (504, Told::Later),
        ] {
            assert_eq!(Told::of(status), expected, "{status}");
        }
        let waits: Vec<Option<u64>> = (1..=4).map(|attempt| again_after_ms(attempt, 3)).collect();
        assert_eq!(waits, [Some(250), Some(500), None, None]);
    }

    #[test]
    fn an_endpoint_is_a_place_and_its_headers_are_headers() {
        let made = |endpoint: &str, name: &str| {
            let header = Header {
                name: name.to_owned(),
                before: String::new(),
                secret: "otlp".to_owned(),
            };
            let service = ("lazaret".to_owned(), Pace::default());
            Collector::new((endpoint, false), vec![header], service)
        };
        let collector = made("https://traces.example/otlp/", "x-key").unwrap();
        assert_eq!(collector.place(), "https://traces.example/otlp/v1/traces");
        for (endpoint, name) in [
            ("https://a.example/?key=x", "x-key"),
            ("https://u:p@a.example/", "x-key"),
            ("ftp://a.example/", "x-key"),
            ("https://a.example", "Host"),
            ("https://a.example", "x key"),
        ] {
            assert!(made(endpoint, name).is_err(), "{endpoint} {name}");
        }
    }
}
