//! `lazaret json`: JSON automation on standard input and output.

use std::cell::Cell;
use std::io::Cursor;

use futures_util::StreamExt;
use futures_util::stream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::call::parse_user;
use super::run::until_cancelled;
use super::{Scene, print};
use crate::runs::host::Host;
use crate::surfaces::lines::{self, answer, worse};
use crate::surfaces::wish::Answered;
use crate::words::error::{Code, Error, Result, why};
use crate::words::event::Surface;
use crate::words::limits::JSON_LINE_JOBS_MAX;
use crate::words::session::{LOCAL, client_of};

/// Call tools for a program: a request a line on standard input, an envelope a line on standard output, in the same
/// order.
///
/// A request is {"action":TOOL,"input":{…}} with, if wanted, "confirm":true, "timeoutMs":N, "retries":N, "retryDelayMs":N,
/// "idempotencyKey":TEXT and "id", which its envelope bears. A line that is no request is answered with
/// INVALID_JSON_RUNNER_PAYLOAD, and the next one is read. The exit status is that of the worst envelope.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret json '{\"action\":\"text.count\",\"input\":{\"text\":\"a b\"}}'
  lazaret json < requests.jsonl > envelopes.jsonl
  lazaret json --jobs 8 < requests.jsonl             eight at once; envelopes stay in order
  lazaret tools --format json                        what can be called, with schemas")]
pub(super) struct Json {
    /// The only request, instead of standard input.
    request: Option<String>,
    /// Requests that are made at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_jobs)]
    jobs: usize,
    /// For whom the calls are made, where that are many: an idempotency key is their own.
    #[arg(long, value_name = "ID", default_value = LOCAL, value_parser = parse_user)]
    user: String,
}

fn parse_jobs(text: &str) -> std::result::Result<usize, String> {
    let jobs = text.parse().ok();
    jobs.filter(|jobs| (1..=JSON_LINE_JOBS_MAX).contains(jobs))
        .ok_or_else(|| format!("a number from 1 to {JSON_LINE_JOBS_MAX}"))
}

impl Json {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let host = scene.open_host().await?;
        let client = client_of(&self.user);
        let from = (client.as_str(), self.request.is_none());
        let mut interrupts = signal(SignalKind::interrupt())
            .map_err(|error| Error::bug("Ctrl-C cannot be listened for").because(error))?;
        let stopped = Cell::new(false);
        let interrupted = async {
            interrupts.recv().await;
            stopped.set(true);
        };
        let lines = read(self.request, self.jobs)?;
        let lines = stream::unfold(lines, async |mut lines| {
            lines.recv().await.map(|line| (line, lines))
        });
        // What is under way when Ctrl-C is pressed gives up by itself, and is answered; nothing more is begun.
        let lines = lines.take_until(Box::pin(interrupted));
        let answers = lines
            .map(|line| made(&host, line, from))
            .buffered(self.jobs);
        let mut answers = std::pin::pin!(answers);
        let mut worst = 0;
        while let Some(answered) = answers.next().await {
            print::compact(&answered.envelope);
            worst = worse(worst, answered.code.map_or(0, Code::exit_status));
        }
        Ok(match stopped.get() {
            true => worse(worst, Code::Cancelled.exit_status()),
            false => worst,
        })
    }
}

/// The lines, read by a thread of their own: standard input cannot be waited for otherwise. No more are read ahead
/// than are made at once.
fn read(request: Option<String>, jobs: usize) -> Result<mpsc::Receiver<Result<Vec<u8>>>> {
    let (sender, lines) = mpsc::channel(jobs);
    // Apart from the runtime, which would wait at the end for a thread that waits for input.
    let thread = std::thread::Builder::new().name("lines".to_owned());
    let reading = thread.spawn(move || {
        let send = |line| sender.blocking_send(line).is_ok();
        match request {
            Some(request) => each(&mut Cursor::new(request.into_bytes()), send),
            None => each(&mut std::io::stdin().lock(), send),
        }
    });
    reading.map_err(|error| Error::bug("no thread could be made").because(error))?;
    Ok(lines)
}

/// Hands over line after line, as long as somebody takes them.
fn each(reader: &mut impl std::io::BufRead, send: impl Fn(Result<Vec<u8>>) -> bool) {
    loop {
        let (line, last) = match lines::next(reader) {
            Ok(None) => return,
            Ok(Some(line)) => (line, false),
            Err(error) => {
                let what = format!("standard input cannot be read: {}", why(error.kind()));
                (Err(Error::new(Code::BadLine, what)), true)
            }
        };
        if !send(line) || last {
            return;
        }
    }
}

/// One line, made for as long as nobody presses Ctrl-C.
async fn made(host: &Host, line: Result<Vec<u8>>, from: (&str, bool)) -> Answered {
    let tasks = host.tasks();
    let work = async { Ok(answer(host, line, (from, &tasks)).await) };
    let answered = until_cancelled(&tasks, work).await;
    answered.unwrap_or_else(|error| Answered::refused("", Surface::Json, &error))
}
