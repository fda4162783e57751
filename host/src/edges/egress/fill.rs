//! Filling: the one place where a secret enters a request, and where it is taken out of the answer.
//!
//! It fills what the judgement says and nothing else. A request that holds a secret's value by itself,
//! wherever its wisher had it from, does not leave.
//!
//! The body is overwritten once it has been sent, and so is each step on the way to it. What cannot be: the URL and the
//! headers, which `url` and `http` keep in buffers of their own; what the connection has of them while it writes; and
//! what TLS and the kernel copy.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use reqwest::header::HeaderValue;
use url::Url;
use zeroize::Zeroizing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Answer;
use crate::edges::state::Mark;
use crate::edges::vault::{Secret, Vault};
use crate::rules::fetch::Fetch;
use crate::rules::scrub::{ByteTrickle, KnownSecrets};
use crate::rules::secret::{Fill, Spot, with_query};
use crate::words::error::{Code, Error, Result};
use crate::words::lock::lock;

/// The vault as egress sees it, and what every answer is cleaned of.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    vault: Vault,
    known: KnownSecrets,
    learned: Arc<Mutex<Learned>>,
}

/// What `known` has of the vault. Whoever else knows what is in the same one learns that for themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Learned {
    /// Nothing, or not all that is there by now.
    #[default]
    Nothing,
    /// All that was there when it had this mark.
    All(Option<Mark>),
}

impl Filling {
    /// Knows what was kept since.
    ///
    /// # Errors
    /// `Denied` where it cannot be read.
    pub(super) fn learn(&self) -> Result<()> {
        // Before it is read: what is written meanwhile is learned the next time.
        let all = Learned::All(self.vault.mark());
        let learned = *lock(&self.learned);
        if learned == all {
            return Ok(());
        }
        *lock(&self.learned) = Learned::Nothing;
        self.vault.teach(&self.known)?;
        *lock(&self.learned) = all;
        Ok(())
    }
}

/// A request with its secrets in place. It lives for as long as it takes to send it.
pub(super) struct Filled {
    pub(super) url: Url,
    pub(super) headers: Vec<(String, HeaderValue)>,
    pub(super) body: Zeroizing<Vec<u8>>,
}

impl Filled {
    /// The body as it is sent: overwritten when the last of it is dropped.
    pub(super) fn sent(body: Zeroizing<Vec<u8>>) -> Bytes {
        Bytes::from_owner(body)
    }
}

impl Filling {
    pub(super) fn new(vault: Vault, known: KnownSecrets) -> Self {
        Self {
            vault,
            known,
            learned: Arc::default(),
        }
    }

    /// What cleans the body of an answer that is passed on as it comes.
    pub(super) fn trickle(&self) -> ByteTrickle {
        ByteTrickle::new(&self.known)
    }

    /// Whether a request is free of secrets' values as its wisher wrote it.
    pub(super) fn check(&self, fetch: &Fetch) -> Result<()> {
        if self.known.is_empty() {
            return Ok(());
        }
        let holds = |text: &str| self.known.finds_in(text.as_bytes());
        let headers = fetch.headers().iter();
        let found = holds(fetch.url().as_str())
            || headers
                .clone()
                .any(|(name, value)| holds(name) || holds(value))
            || self.known.finds_in(fetch.body());
        if !found {
            return Ok(());
        }
        Err(Error::new(
            Code::Denied,
            "the request holds the value of a secret in the clear, and does not leave",
        ))
    }

    /// Puts the secrets into their places.
    pub(super) async fn fill(&self, mut fetch: Fetch, fills: &[Fill]) -> Result<Filled> {
        let mut body = Zeroizing::new(fetch.take_body());
        let mut url = fetch.url().clone();
        let mut headers = Vec::new();
        for (name, value) in fetch.headers() {
            let value = HeaderValue::try_from(value.as_str());
            let value = value.map_err(|_| Error::bug("a header that was checked is none"))?;
            headers.push((name.clone(), value));
        }
        // Places in one text are filled from the last to the first, so that each is where it was.
        let mut fills: Vec<&Fill> = fills.iter().collect();
        fills.sort_by_key(|fill| std::cmp::Reverse(begin(&fill.spot)));
        for fill in fills {
            let secret = self.reveal(&fill.secret).await?;
            let cannot = || {
                let what = format!("the secret `{}` cannot stand in a header", fill.secret);
                Error::bad_input(what)
            };
            let broken = || Error::bug("a place for a secret is not in its request");
            match &fill.spot {
                Spot::Header { at, before } => {
                    let text = Zeroizing::new(format!("{before}{}", secret.expose()));
                    let header = headers.get_mut(*at).ok_or_else(broken)?;
                    header.1 = sensitive(&text).ok_or_else(cannot)?;
                }
                Spot::Basic { at, user } => {
                    let pair = Zeroizing::new(format!("{user}:{}", secret.expose()));
                    let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(&*pair)));
                    let header = headers.get_mut(*at).ok_or_else(broken)?;
                    header.1 = sensitive(&text).ok_or_else(cannot)?;
                }
                Spot::Query(place) => {
                    url = with_query(&url, place, secret.expose()).ok_or_else(broken)?;
                }
                Spot::Json(place) => {
                    let text = as_json(secret.expose()).ok_or_else(broken)?;
                    body = spliced(&body, place, &text).ok_or_else(broken)?;
                }
            }
        }
        Ok(Filled { url, headers, body })
    }

    /// A secret as it is now. Known before it is used, so that no answer can bring it back.
    async fn reveal(&self, name: &str) -> Result<Secret> {
        let (vault, wanted) = (self.vault.clone(), name.to_owned());
        // A keyring or a slow key may block for as long as it likes; a worker of the runtime may not.
        let found = tokio::task::spawn_blocking(move || vault.reveal(&wanted)).await;
        let secret = found.unwrap_or_else(|_| Err(Error::bug("the vault panicked")))?;
        secret.teach_again(&self.known, name);
        Ok(secret)
    }

    /// Takes out of an answer what a server has put back into it (row 62).
    pub(super) fn redact(&self, mut answer: Answer) -> Answer {
        if self.known.is_empty() {
            return answer;
        }
        self.redact_headers(&mut answer.headers);
        if let Some(clean) = self.known.clean_bytes(&answer.body) {
            answer.body = clean;
            answer.headers.retain(|(name, _)| !is_length(name));
        }
        answer
    }

    /// The same of the headers of an answer to such a request whose body is still to come: nobody knows yet how long that
    /// will be. To `HEAD` none comes, and how long it would be is all that was asked.
    pub(super) fn redact_beginning(&self, method: &str, headers: &mut Vec<(String, String)>) {
        if !self.known.is_empty() {
            self.redact_headers(headers);
            headers.retain(|(name, _)| method == "HEAD" || !is_length(name));
        }
    }

    fn redact_headers(&self, headers: &mut Vec<(String, String)>) {
        headers.retain(|(name, _)| !self.known.finds_in(name.as_bytes()));
        for (_, value) in headers {
            if let Some(clean) = self.known.clean(value) {
                *value = clean;
            }
        }
    }
}

fn is_length(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length")
}

fn begin(spot: &Spot) -> usize {
    match spot {
        Spot::Header { at, .. } | Spot::Basic { at, .. } => *at,
        Spot::Query(place) | Spot::Json(place) => place.start,
    }
}

/// A value as JSON, in a buffer that has room from the beginning: one that grows leaves a copy behind.
fn as_json(value: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::with_capacity(most_as_json(value)));
    serde_json::to_writer(&mut *text, value).ok()?;
    Some(text)
}

/// The most that a text may have as JSON: each byte as `\u00XX`, between quotes.
fn most_as_json(value: &str) -> usize {
    value.len().saturating_mul(6).saturating_add(2)
}

/// A body with `text` in that place. A new one, since one that makes room may leave what was filled before behind.
fn spliced(body: &[u8], place: &Range<usize>, text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (before, after) = (body.get(..place.start)?, body.get(place.end..)?);
    body.get(place.clone())?;
    let most = body.len().saturating_add(text.len());
    let mut filled = Zeroizing::new(Vec::with_capacity(most));
    for part in [before, text, after] {
        filled.extend_from_slice(part);
    }
    Some(filled)
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::vault::Backend;

    #[test]
    fn a_body_is_filled_without_leaving_a_copy() {
        let body = br#"{"a":"{{secret:one}}","b":1}"#;
        let text = as_json("say \"hi\"\n\u{1}").unwrap();
        let filled = spliced(body, &(5..21), &text).unwrap();
        assert_eq!(
            std::str::from_utf8(&filled).unwrap(),
            r#"{"a":"say \"hi\"\n\u0001","b":1}"#
        );
        // A buffer that had to grow would have more room than it was given.
        assert_eq!(filled.capacity(), body.len() + text.len());
        let sent = Filled::sent(filled.clone());
        assert_eq!(sent.as_ref(), filled.as_slice());
        for place in [Range { start: 9, end: 3 }, 0..99, 99..100] {
            assert!(spliced(body, &place, b"").is_none());
        }
    }

    /// A library that opens two hosts of one setup has them ask one vault.
    #[test]
    fn whoever_shares_a_vault_learns_of_it_for_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(Backend::File, &folder.path().join("state"));
        let known = [KnownSecrets::default(), KnownSecrets::default()];
        let both = known
            .clone()
            .map(|known| Filling::new(vault.clone(), known));
        for value in ["Canary-7F3A9C-one", "Canary-7F3A9C-two"] {
            let secret = Secret::new(value.to_owned()).unwrap();
            vault.store("late", &secret).unwrap();
            for (filling, known) in both.iter().zip(&known) {
                assert!(!known.finds_in(value.as_bytes()));
                filling.learn().unwrap();
                assert!(known.finds_in(value.as_bytes()));
                filling.learn().unwrap();
            }
        }
    }

    #[test]
    fn a_length_is_told_where_no_body_follows() {
        let known = KnownSecrets::default();
        known.learn(b"Canary-7F3A9C");
        let filling = Filling::new(Vault::default(), known);
        for (method, names) in [("GET", vec!["x"]), ("HEAD", vec!["Content-Length", "x"])] {
            let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let mut headers = vec![
                header("Content-Length", "12"),
                header("x", "canary-7f3a9c"),
                // Names of headers are in small letters by now.
                header("canary-7f3a9c", "1"),
            ];
            filling.redact_beginning(method, &mut headers);
            let told = headers.iter().map(|(name, _)| name.as_str());
            assert_eq!(told.collect::<Vec<_>>(), names);
            assert!(headers.iter().all(|(_, value)| !value.contains("canary")));
        }
    }

    #[test]
    fn a_value_as_json_has_room_from_the_beginning() {
        for value in ["", "plain", "\u{1}\u{2}\u{3}\u{4}", "\"\"\"\"", "ü€😀"] {
            let text = as_json(value).unwrap();
            assert_eq!(text.capacity(), most_as_json(value));
            assert_eq!(serde_json::from_slice::<String>(&text).unwrap(), value);
        }
    }
}
