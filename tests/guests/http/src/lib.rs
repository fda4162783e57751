//! A guest that sends through `wasi:http` alone, as a component does that was written for any other host.

#[path = "../../lines.rs"]
mod lines;
#[path = "../../memory.rs"]
mod memory;

use lazaret_sdk::prelude::*;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method,
    OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

/// Characters of a body that stand in a line.
const SHOWN: usize = 200;
/// Bytes that one write of a body takes.
const PIECE: usize = 4_096;

/// A request before its body is written.
fn request(method: &str, url: &str, headers: &[String]) -> Result<OutgoingRequest, String> {
    let (scheme, rest) = url.split_once("://").ok_or("no scheme")?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let fields = Fields::new();
    for header in headers {
        let (name, value) = header.split_once('=').unwrap_or((header, ""));
        let value = value.replace("\\r", "\r").replace("\\n", "\n");
        fields
            .append(name, value.as_bytes())
            .map_err(|error| format!("header: {error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "DELETE" => Method::Delete,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    request.set_method(&method).map_err(|()| "method refused")?;
    request
        .set_scheme(Some(&scheme))
        .map_err(|()| "scheme refused")?;
    request
        .set_authority(Some(authority))
        .map_err(|()| "authority refused")?;
    request
        .set_path_with_query(Some(path))
        .map_err(|()| "path refused")?;
    Ok(request)
}

fn wait(answer: &FutureIncomingResponse) -> Result<IncomingResponse, ErrorCode> {
    answer.subscribe().block();
    answer.get().expect("it is ready").expect("it is got once")
}

/// All of a body, or how many bytes came before it broke off.
fn read(body: &IncomingBody) -> (Vec<u8>, Option<StreamError>) {
    let stream = body.stream().expect("the body is read once");
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(65_536) {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(StreamError::Closed) => return (bytes, None),
            Err(error) => return (bytes, Some(error)),
        }
    }
}

fn said(answer: Result<IncomingResponse, ErrorCode>) -> Result<String, String> {
    let answer = answer.map_err(|code| format!("{code:?}"))?;
    let to = answer.headers().get("location");
    let to = String::from_utf8_lossy(to.first().map_or(&[], Vec::as_slice)).into_owned();
    let body = answer.consume().expect("the body is taken once");
    let (bytes, broken) = read(&body);
    let text: String = String::from_utf8_lossy(&bytes)
        .chars()
        .take(SHOWN)
        .collect();
    match broken {
        None => Ok(format!("{} {to} {text}", answer.status())),
        Some(_) => Err(format!(
            "{} broke off after {} bytes",
            answer.status(),
            bytes.len()
        )),
    }
}

fn line(what: &str, answer: Result<String, String>) -> String {
    match answer {
        Ok(text) => format!("{what} -> ok: {text}"),
        Err(why) => format!("{what} -> {why}"),
    }
}

/// Sends one request to each URL and says what came of it.
#[tool(effect = "read-only", risk = "network_read")]
fn each(
    /// Where to.
    urls: Vec<String>,
    /// With this method.
    #[default("GET".to_owned())]
    method: String,
    /// And these headers, `name=value`; `\r` and `\n` are written out.
    #[default(Vec::new())]
    headers: Vec<String>,
) -> Vec<String> {
    let send = |url: &String| {
        let answer = handle(request(&method, url, &headers)?, None);
        said(answer.and_then(|answer| wait(&answer)))
    };
    urls.iter().map(|url| line(url, send(url))).collect()
}

/// A request with a body.
#[value]
struct Sending {
    /// Where to.
    url: String,
    /// With this method.
    #[serde(default = "get")]
    method: String,
    /// And these headers, `name=value`,
    #[serde(default)]
    headers: Vec<String>,
    /// and this body.
    #[serde(default)]
    body: String,
}

fn get() -> String {
    "GET".to_owned()
}

/// Sends requests that have places for secrets, and says what came of them.
#[tool(effect = "read-only", risk = "network_read", secrets = ["canary", "field"])]
fn send_each(
    /// What is sent.
    requests: Vec<Sending>,
) -> Vec<String> {
    let send = |sending: &Sending| {
        let made = request(&sending.method, &sending.url, &sending.headers)?;
        let body = made.body().expect("the body is taken once");
        let answer = handle(made, None).map_err(|code| format!("{code:?}"))?;
        let stream = body.write().expect("the body is written once");
        // What is wrong with the body is said by the answer as well.
        let _ = stream.blocking_write_and_flush(sending.body.as_bytes());
        drop(stream);
        let _ = OutgoingBody::finish(body, None);
        said(wait(&answer))
    };
    let said = |sending: &Sending| line(&sending.url, send(sending));
    requests.iter().map(said).collect()
}

/// Sends a body of so many bytes, and claims that it has `claim`; 0 for none.
#[tool(effect = "read-only", risk = "network_read")]
fn send_body(
    /// Where to.
    url: String,
    /// How many bytes; 0 for a body that never ends.
    bytes: usize,
    /// Its `content-length`.
    #[default(0)]
    claim: usize,
) -> Result<String, Failure> {
    let headers = match claim {
        0 => Vec::new(),
        claim => vec![format!("content-length={claim}")],
    };
    let made = request("POST", &url, &headers).map_err(Failure::new)?;
    let body = made.body().expect("the body is taken once");
    let answer = handle(made, None).map_err(|code| Failure::new(format!("{code:?}")))?;
    let stream = body.write().expect("the body is written once");
    let mut left = if bytes == 0 { usize::MAX } else { bytes };
    while left > 0 {
        let piece = left.min(PIECE);
        if stream.blocking_write_and_flush(&vec![b'x'; piece]).is_err() {
            break;
        }
        left -= piece;
    }
    drop(stream);
    // What is wrong with the body is said by the answer as well.
    let _ = OutgoingBody::finish(body, None);
    Ok(line(&url, said(wait(&answer))))
}

/// Asks for the same page so many times without waiting for any, then says what came of them.
#[tool(effect = "read-only", risk = "network_read")]
fn flood(
    /// Where to.
    url: String,
    /// How many times.
    times: usize,
) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::new();
    let sent: Vec<_> = (0..times)
        .map(|_| request("GET", &url, &[]).map(|made| handle(made, None)))
        .collect();
    for answer in sent {
        let answer = answer.and_then(|answer| said(answer.and_then(|answer| wait(&answer))));
        *counts.entry(line("", answer)).or_insert(0_u32) += 1;
    }
    counts
        .iter()
        .map(|(line, count)| format!("{count}{line}"))
        .collect()
}

/// Makes so many fields of so many bytes, and keeps them all.
#[tool(effect = "pure")]
fn hoard(
    /// How many.
    count: usize,
    /// How big each is.
    bytes: usize,
) -> Vec<String> {
    let mut said = std::collections::BTreeSet::new();
    let kept: Vec<Fields> = (0..count)
        .map(|_| {
            let fields = Fields::new();
            let added = fields.append("x", &vec![b'x'; bytes]);
            said.insert(format!("{added:?}"));
            fields
        })
        .collect();
    said.insert(format!("{} kept", kept.len()));
    said.into_iter().collect()
}

/// Asks for a method and an authority of so many bytes.
#[tool(effect = "pure")]
fn long_words(
    /// How many.
    bytes: usize,
) -> Vec<String> {
    let request = OutgoingRequest::new(Fields::new());
    let word = "w".repeat(bytes);
    let said = |what: &str, set: Result<(), ()>| {
        line(
            what,
            set.map(|()| "kept".to_owned())
                .map_err(|()| "refused".to_owned()),
        )
    };
    vec![
        said("method", request.set_method(&Method::Other(word.clone()))),
        said("authority", request.set_authority(Some(&word))),
    ]
}

/// Makes fields of so many values that all lie at the same place in memory.
#[tool(effect = "pure")]
fn same_field(
    /// How many.
    count: usize,
    /// How long each is.
    bytes: usize,
) -> String {
    let value = vec![b'x'; bytes];
    // SAFETY: the values share their memory, which is never freed: all of them are forgotten.
    let same = || unsafe { Vec::from_raw_parts(value.as_ptr().cast_mut(), bytes, bytes) };
    let all: Vec<(String, Vec<u8>)> = (0..count).map(|_| ("x".to_owned(), same())).collect();
    let made = Fields::from_list(&all).map(drop);
    let said = format!("{made:?}");
    std::mem::forget(all);
    std::mem::forget(value);
    said
}

/// Asks for a page, and reads its first bytes only, after which it is through with it; or asks for another one first, and
/// says what it holds as well.
#[tool(effect = "read-only", risk = "network_read")]
fn peek(
    /// Where to.
    url: String,
    /// Milliseconds that it waits for the beginning.
    #[default(30_000)]
    patience_ms: u64,
    /// The other page.
    then: Option<String>,
) -> Result<String, Failure> {
    let options = RequestOptions::new();
    options
        .set_first_byte_timeout(Some(patience_ms * 1_000_000))
        .expect("the time may be set");
    let made = request("GET", &url, &[]).map_err(Failure::new)?;
    let answer = handle(made, Some(options)).and_then(|answer| wait(&answer));
    let answer = answer.map_err(|code| Failure::new(format!("{code:?}")))?;
    let body = answer.consume().expect("the body is taken once");
    let stream = body.stream().expect("the body is read once");
    let first = stream
        .blocking_read(8)
        .map_err(|error| Failure::new(format!("{error:?}")))?;
    let mut said = String::from_utf8_lossy(&first).into_owned();
    if let Some(then) = then {
        let made = request("GET", &then, &[]).map_err(Failure::new)?;
        let answer = handle(made, None).and_then(|answer| wait(&answer));
        let answer = answer.map_err(|code| Failure::new(format!("{code:?}")))?;
        let (more, _) = read(&answer.consume().expect("the body is taken once"));
        said.push_str(&String::from_utf8_lossy(&more));
    }
    Ok(said)
}

/// Asks for a page and does not wait for it, then for others one after the other, and says what came of these.
#[tool(effect = "read-only", risk = "network_read")]
fn beside(
    /// The page that it does not wait for.
    url: String,
    /// The others.
    urls: Vec<String>,
) -> Result<Vec<String>, Failure> {
    let made = request("GET", &url, &[]).map_err(Failure::new)?;
    let _coming = handle(made, None).map_err(|code| Failure::new(format!("{code:?}")))?;
    let send = |url: &String| {
        let answer = handle(request("GET", url, &[])?, None);
        said(answer.and_then(|answer| wait(&answer)))
    };
    Ok(urls.iter().map(|url| line(url, send(url))).collect())
}

/// Asks for a page with a secret in a header, and looks for the secret in the answer and in all of its own memory, where its
/// two halves would stand one behind the other.
#[tool(effect = "read-only", risk = "network_read", secrets = ["canary"])]
fn spy(
    /// Where to.
    url: String,
    /// The halves of the secret.
    halves: Vec<String>,
) -> Result<String, Failure> {
    let header = format!("x-key={}", lazaret_sdk::secret("canary"));
    let made = request("GET", &url, &[header]).map_err(Failure::new)?;
    let answer = handle(made, None).and_then(|answer| wait(&answer));
    let answer = answer.map_err(|code| Failure::new(format!("{code:?}")))?;
    let headers = answer.headers().entries();
    let body = answer.consume().expect("the body is taken once");
    let (bytes, broken) = read(&body);
    let said_so = headers
        .iter()
        .any(|(_, value)| memory::stands_in(value, &halves));
    let came = String::from_utf8_lossy(&bytes).contains("x-key");
    Ok(format!(
        "header {came}, whole {}, in the answer {}, in memory {}",
        broken.is_none(),
        said_so || memory::stands_in(&bytes, &halves),
        memory::stands_in(memory::all(), &halves)
    ))
}

plugin! {
    name: "http",
    description: "Sends through wasi:http alone.",
    tools: [each, send_each, send_body, flood, hoard, long_words, same_field, peek, beside, spy, lines::log_lines],
}
