//! The outside: a server on loopback that answers as a test says, and counts what reached it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::spell::spelled;

/// What a path is answered with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// The path with its query; any other path is not found.
    pub path: String,
    /// The first request alone is answered so: the next one of this path finds the next answer.
    pub once: bool,
    /// The status; 200 where none is given.
    pub status: Option<u16>,
    /// Headers beside `content-length` and `connection`.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
    /// Instead of `body`: so many zeros, packed with gzip.
    pub gzip_zeros: usize,
    /// How often they are packed; once where it does not say.
    pub gzip_times: usize,
    /// Instead of `body`: so many zeros,
    pub zeros: usize,
    /// packed like this, one after the other: `gzip`, `br` or `zstd`. The header says so too.
    pub packed: Vec<String>,
    /// Says nothing more after the headers, and keeps the connection open.
    pub stall: bool,
    /// Repeats the body for ever.
    pub endless: bool,
    /// Repeats it at this pace, one time in so many milliseconds.
    pub drips_ms: u64,
    /// Is sent once the endless answer of another request goes on no more, and says why for `{endless}`: nobody takes more of
    /// it and it `waits`, or nobody listens any longer and it has `ended`.
    pub after_endless: bool,
    /// Puts all that it was sent into headers and body, in every spelling that it knows.
    pub reflect: bool,
    /// Each character of the body is one byte, so that it may be no text.
    pub bytes: bool,
    /// So many `x` stand for `{fill}` in the body.
    pub fill: usize,
    /// The body comes so often, if more than once.
    pub repeat: usize,
    /// The body comes in pieces of so many bytes.
    pub pieces: usize,
    /// Instead of everything else: these very bytes, then the end.
    pub raw: String,
}

type Answers = Arc<Mutex<Vec<Answer>>>;
type Seen = Arc<Mutex<Vec<(String, String)>>>;
/// Why an endless answer goes on no more; nothing while it does.
type Endless = watch::Sender<&'static str>;
/// What the server and its connections share.
type Shared = (Answers, Seen, watch::Receiver<bool>, Endless);
/// As long as nobody takes any more of an endless answer, it waits.
const WAITS: Duration = Duration::from_millis(300);

/// A server; it ends when it is dropped.
pub struct Server {
    port: u16,
    answers: Answers,
    seen: Seen,
    arrived: watch::Receiver<usize>,
    open: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on a free port of 127.0.0.1, and finds nothing yet.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("a bound port").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (arrival, arrived) = watch::channel(0);
        let answers = Answers::default();
        let open = watch::Sender::new(true);
        let endless = Endless::new("");
        let shared = (answers.clone(), seen.clone(), open.subscribe(), endless);
        let accepting = tokio::spawn(accept(listener, shared, arrival));
        Self {
            port,
            answers,
            seen,
            arrived,
            open,
            accepting,
        }
    }

    /// Answers so from now on.
    pub fn say(&self, answers: Vec<Answer>) {
        *self.answers.lock().expect("nobody panicked with it") = answers;
    }

    /// Whether requests are answered; those that arrive meanwhile wait.
    pub fn answer(&self, open: bool) {
        self.open.send_replace(open);
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Heads of the requests that arrived.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        let seen = self.seen.lock().expect("nobody panicked with it");
        seen.iter().map(|(head, _)| head.clone()).collect()
    }

    /// Requests that arrived, in full.
    #[must_use]
    pub fn sent(&self) -> Vec<String> {
        let seen = self.seen.lock().expect("nobody panicked with it");
        seen.iter()
            .map(|(head, body)| format!("{head}{body}"))
            .collect()
    }

    /// Returns when so many requests have arrived.
    pub async fn arrived(&self, requests: usize) {
        let mut arrived = self.arrived.clone();
        arrived
            .wait_for(|count| *count >= requests)
            .await
            .expect("the server listens");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Shared, arrival: watch::Sender<usize>) {
    // They end with this task.
    let mut open = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (shared, arrival) = (shared.clone(), arrival.clone());
        open.spawn(async move {
            // A client that goes away early is part of many tests.
            let _ = serve(stream, shared, &arrival).await;
        });
    }
}

/// Bytes of an endless answer that are sent at once.
const ENDLESS_BYTES: usize = 16 << 10;

async fn serve(
    mut stream: TcpStream,
    (answers, seen, mut open, endless): Shared,
    arrival: &watch::Sender<usize>,
) -> std::io::Result<()> {
    // Pieces are sent as they are cut.
    stream.set_nodelay(true)?;
    let (asked, brought) = read_request(&mut stream).await?;
    let path = asked.split(' ').nth(1).unwrap_or_default().to_owned();
    let all = (asked.clone(), brought.clone());
    seen.lock().expect("nobody panicked with it").push(all);
    arrival.send_modify(|count| *count += 1);
    // It ends with its server.
    let _ = open.wait_for(|open| *open).await;
    let Some(answer) = answer_of(&answers, &path) else {
        return stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            .await;
    };
    if !answer.raw.is_empty() {
        return stream.write_all(answer.raw.as_bytes()).await;
    }
    let mut body = body_of(&answer)?;
    if answer.after_endless {
        let why = endless
            .subscribe()
            .wait_for(|why| !why.is_empty())
            .await
            .map(|why| *why);
        let text = String::from_utf8_lossy(&body).replace("{endless}", why.unwrap_or_default());
        body = text.into_bytes();
    }
    let mut head = format!(
        "HTTP/1.1 {} Said\r\nconnection: close\r\n",
        answer.status.unwrap_or(200)
    );
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if answer.reflect {
        let (lines, text) = reflection(&asked, &brought);
        head.push_str(&lines);
        body.extend_from_slice(text.as_bytes());
    }
    if answer.gzip_zeros > 0 {
        head.push_str("content-encoding: gzip\r\n");
    }
    if !answer.packed.is_empty() {
        head.push_str(&format!(
            "content-encoding: {}\r\n",
            answer.packed.join(", ")
        ));
    }
    if !answer.endless && !answer.stall {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    for piece in body.chunks(piece_of(&answer, &body)) {
        stream.write_all(piece).await?;
        stream.flush().await?;
    }
    if answer.endless {
        let ended = go_on(&mut stream, (answer.drips_ms, &endless), &body).await;
        endless.send_replace("ended");
        return ended;
    }
    if answer.stall {
        // Until the client has gone.
        while stream.read(&mut [0; 64]).await? > 0 {}
    }
    Ok(())
}

/// What is said to a request of this path. A path of an answer that reflects is only its beginning: what is added to it is
/// what it is about.
fn answer_of(answers: &Answers, path: &str) -> Option<Answer> {
    let mut answers = answers.lock().expect("nobody panicked with it");
    let is =
        |answer: &Answer| answer.path == path || answer.reflect && path.starts_with(&answer.path);
    let at = answers.iter().position(is)?;
    match answers[at].once {
        true => Some(answers.remove(at)),
        false => Some(answers[at].clone()),
    }
}

/// Sends a body again and again until the client has had enough, which may be megabytes: only what drips is sent in small
/// pieces.
async fn go_on(
    stream: &mut TcpStream,
    (drips_ms, endless): (u64, &Endless),
    body: &[u8],
) -> std::io::Result<()> {
    let times = match drips_ms {
        0 => ENDLESS_BYTES.div_ceil(body.len().max(1)),
        _ => 1,
    };
    let body = body.repeat(times);
    let mut pace = tokio::time::interval(Duration::from_millis(drips_ms.max(1)));
    loop {
        if drips_ms > 0 {
            pace.tick().await;
        }
        send(stream, &body, endless).await?;
        stream.flush().await?;
    }
}

/// Sends a part of an endless answer, and tells where nobody takes it.
async fn send(stream: &mut TcpStream, part: &[u8], endless: &Endless) -> std::io::Result<()> {
    let mut sending = std::pin::pin!(stream.write_all(part));
    match tokio::time::timeout(WAITS, &mut sending).await {
        Ok(sent) => sent,
        Err(_) => {
            endless.send_replace("waits");
            sending.await
        }
    }
}

/// What was sent, word by word: the first words as headers, and everything, spelled, as text.
fn reflection(head: &str, body: &str) -> (String, String) {
    let apart = |c: char| c.is_whitespace() || "=&\"{}[],?".contains(c);
    let all = format!("{head}\n{body}");
    let words: Vec<&str> = all.split(apart).filter(|word| word.len() > 7).collect();
    let (mut lines, mut text) = (String::new(), format!("{head}{body}"));
    for (at, word) in words.iter().enumerate() {
        lines.push_str(&format!("x-word-{at}: so {word} so\r\n"));
        for (way, spelling) in spelled(word).iter().enumerate() {
            if way % 5 == at % 5 && !spelling.contains('\n') {
                lines.push_str(&format!("x-word-{at}-{way}: {spelling}\r\n"));
            }
            text.push_str(&format!("\n{spelling}"));
        }
    }
    (lines, text)
}

/// How many bytes the head of a request says that its body has.
pub fn body_length(head: &str) -> usize {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .find_map(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

/// Reads a request to its end, so that closing the connection does not cut the answer off.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < 65_536 {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut body = Vec::new();
    let mut rest = stream.take(body_length(&head).min(8 << 20) as u64);
    tokio::io::copy(&mut rest, &mut body).await?;
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}

fn body_of(answer: &Answer) -> std::io::Result<Vec<u8>> {
    if answer.zeros > 0 {
        let mut packed = answer.packed.iter();
        return packed.try_fold(vec![0; answer.zeros], |bytes, coding| pack(&bytes, coding));
    }
    if answer.gzip_zeros == 0 {
        let body = answer.body.replace("{fill}", &"x".repeat(answer.fill));
        let body = body.repeat(answer.repeat.max(1));
        return Ok(match answer.bytes {
            true => body.chars().map(|one| one as u8).collect(),
            false => body.into_bytes(),
        });
    }
    let times = answer.gzip_times.max(1);
    (0..times).try_fold(vec![0; answer.gzip_zeros], |bytes, _| pack(&bytes, "gzip"))
}

fn pack(bytes: &[u8], coding: &str) -> std::io::Result<Vec<u8>> {
    match coding {
        "gzip" => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(bytes)?;
            packer.finish()
        }
        "br" => {
            let mut packed = Vec::new();
            let mut packer = brotli::CompressorWriter::new(&mut packed, 4_096, 1, 22);
            packer.write_all(bytes)?;
            drop(packer);
            Ok(packed)
        }
        "zstd" => zstd::bulk::compress(bytes, 1),
        other => Err(std::io::Error::other(format!(
            "no coding is called {other}"
        ))),
    }
}

fn piece_of(answer: &Answer, body: &[u8]) -> usize {
    match answer.pieces {
        0 => body.len().max(1),
        size => size,
    }
}
