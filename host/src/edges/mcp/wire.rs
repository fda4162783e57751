//! The wire of a server that is a program: one message a line, bounded, and nothing else on it.
//!
//! A line that is no message ends the server: what else it writes nobody could tell from an answer. What it says
//! without being asked is heard here and goes no further, so that a flood of it costs a flag and no tasks.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::ear::{self, Ear};
use super::ending::Ending;
use super::incoming::{Pace, strict};
use super::process::Process;
use crate::rules::server::Bounds;
use crate::words::limits::SERVER_WRITE_MS;

/// A process that ends closes its pipes first: how it ended says more, and comes soon, on a busy machine too. Only one
/// that lives on without them is waited for that long.
const PARTING: Duration = Duration::from_secs(5);

/// Reads and writes messages.
pub(super) struct Wire {
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    input: Arc<Mutex<Option<ChildStdin>>>,
    ear: Ear,
    ending: Arc<Ending>,
    bounds: Bounds,
    pace: Pace,
}

impl Wire {
    pub(super) fn new(process: Process, bounds: Bounds, ear: Ear, ending: Arc<Ending>) -> Self {
        Self {
            output: BufReader::new(process.output),
            line: Vec::new(),
            input: Arc::new(Mutex::new(Some(process.input))),
            ear,
            ending,
            bounds,
            pace: Pace::new(bounds),
        }
    }

    /// The next line, without its end. What was read of one that is not whole stays, for whoever asks again.
    ///
    /// # Errors
    /// Why there is none; nothing at the end of them.
    async fn next_line(&mut self) -> Result<Vec<u8>, Option<String>> {
        loop {
            let piece = self
                .output
                .fill_buf()
                .await
                .map_err(|error| error.to_string())?;
            if piece.is_empty() {
                return Err(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let whole = piece.split_at(end.unwrap_or(piece.len())).0;
            if self.line.len().saturating_add(whole.len()) > self.bounds.message_bytes {
                let most = self.bounds.message_bytes;
                let why = format!("it sent a message of more than {most} bytes (`message_bytes`)");
                return Err(Some(why));
            }
            self.line.extend_from_slice(whole);
            let taken = whole.len() + usize::from(end.is_some());
            self.output.consume(taken);
            if end.is_some() {
                return Ok(std::mem::take(&mut self.line));
            }
        }
    }

    /// The next message that is for whoever asked.
    async fn next(&mut self) -> Result<ServerJsonRpcMessage, Option<String>> {
        loop {
            let line = self.next_line().await?;
            // An empty line says nothing, and is work all the same.
            self.pace.count(1, line.len())?;
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let no_message = || no_message(line, &self.ear);
            let value = strict(line).map_err(|why| format!("{} ({why})", no_message()))?;
            if self.hears(&value) {
                continue;
            }
            return serde_json::from_value(value).map_err(|_| Some(no_message()));
        }
    }

    /// Whether that was something that nobody has asked for and nobody is told.
    fn hears(&self, message: &Value) -> bool {
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            return false;
        };
        if message.get("id").is_some() {
            return false;
        }
        let params = message.get("params").unwrap_or(&Value::Null);
        match method {
            "notifications/tools/list_changed" => self.ear.changed(),
            "notifications/progress" => self.progress(params),
            "notifications/message" => {
                let said = params.get("data").unwrap_or(&Value::Null);
                self.ear.log(&said.to_string());
            }
            _ => {}
        }
        true
    }

    fn progress(&self, params: &Value) {
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let token = params.get("progressToken").and_then(ear::token);
        let message = params
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let (Some(token), Some(done)) = (token, number("progress")) {
            self.ear.progress(&token, (done, number("total")), message);
        }
    }
}

impl Transport<RoleClient> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (input, ending) = (self.input.clone(), self.ending.clone());
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = async {
                let mut input = input.lock().await;
                let pipe = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
                pipe.write_all(&line).await?;
                pipe.flush().await
            };
            let limit = Duration::from_millis(SERVER_WRITE_MS);
            let written = tokio::select! {
                written = tokio::time::timeout(limit, write) => written,
                () = ending.over() => return Err(io::ErrorKind::NotConnected.into()),
            };
            // Part of a line may be there: nothing can be said after it.
            match written {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => {
                    ending
                        .end_after(PARTING, "it closed its standard input")
                        .await;
                    Err(error)
                }
                Err(_) => {
                    ending.end("it does not read what it is told");
                    Err(io::ErrorKind::TimedOut.into())
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let ending = self.ending.clone();
        let next = tokio::select! {
            next = self.next() => next,
            () = ending.over() => return None,
        };
        match next {
            Ok(message) => return Some(message),
            Err(Some(why)) => ending.end(why),
            Err(None) => {
                ending
                    .end_after(PARTING, "it closed its standard output")
                    .await
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.ending.end("it was ended");
        // Whoever writes has been told that it is over.
        self.input.lock().await.take();
        Ok(())
    }
}

/// Cleaned as a whole, and only then cut: half of a secret is none that anybody recognises.
fn no_message(line: &[u8], ear: &Ear) -> String {
    let begin = ear.clean(&String::from_utf8_lossy(line));
    format!("it wrote what is no message on its standard output: {begin}")
}

#[cfg(test)]
mod tests {
    use super::super::ear::tests::ear;
    use super::*;
    use crate::rules::scrub::KnownSecrets;

    #[test]
    fn what_is_no_message_is_cleaned_before_it_is_cut() {
        let known = KnownSecrets::default();
        known.learn(b"canary-7f3a9c-wired");
        let ear = ear(&known);
        for before in 60..160 {
            let line = format!("{}canary-7f3a9c-wired", "x".repeat(before));
            let said = no_message(line.as_bytes(), &ear);
            assert!(!said.contains("can"), "{said}");
        }
    }
}
