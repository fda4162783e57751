//! Frames: messages of JSON-RPC, one a line, in and out of this process (row A-34).
//!
//! Everything is bounded, whatever a client does: a line that is too long is skipped to its end, a client that does not
//! read is not read from, and one whose requests are not answered yet waits before it may make more.

mod out;

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, JsonRpcMessage, NumberOrString, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use self::out::Out;
use crate::guests::tasks;
use crate::rules::json;
use crate::words::clock::Deadline;
use crate::words::id::shown;
use crate::words::limits::{MCP_END_MS, MCP_ID_CHARS, MCP_REQUESTS};
use crate::words::lock::lock;

/// One client's messages, both ways.
pub(super) struct Frames<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Bytes of one line.
    most: usize,
    /// The rest of a line that was too long.
    is_skipping: bool,
    /// When the client had no more to say: what it waits for has a moment to come.
    ended: Option<Deadline>,
    out: Option<Out>,
    open: Arc<Open>,
    /// Is told when the client has gone.
    gone: Arc<watch::Sender<bool>>,
}

/// Requests that are not answered.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl Open {
    fn count(&self) -> usize {
        lock(&self.ids).len()
    }

    /// Whether this is a new one.
    fn add(&self, id: &RequestId) -> bool {
        lock(&self.ids).insert(id.clone())
    }

    fn remove(&self, id: &RequestId) {
        if lock(&self.ids).remove(id) {
            self.fewer.notify_waiters();
        }
    }

    /// Returns when there are fewer than so many.
    async fn below(&self, most: usize) {
        loop {
            let fewer = self.fewer.notified();
            let mut fewer = std::pin::pin!(fewer);
            // Before it is looked at, so that nothing is missed between the two.
            fewer.as_mut().enable();
            if self.count() < most {
                return;
            }
            fewer.await;
        }
    }
}

/// What reading has come to.
enum Read {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin + Send> Frames<R> {
    /// Of a client that is read from here and written to there, in lines of so many bytes at most; the task writes until
    /// the frames are closed.
    pub(super) fn new<W>(
        (read, write): (R, W),
        most: usize,
        gone: Arc<watch::Sender<bool>>,
    ) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (out, writing) = Out::new(write);
        let frames = Self {
            read: BufReader::new(read),
            line: Vec::new(),
            most,
            is_skipping: false,
            ended: None,
            out: Some(out),
            open: Arc::default(),
            gone,
        };
        (frames, tasks::begin(writing))
    }

    /// Reads on; nothing is lost where the waiting is given up.
    async fn read(&mut self) -> Read {
        loop {
            let Ok(bytes) = self.read.fill_buf().await else {
                return Read::End;
            };
            if bytes.is_empty() {
                return Read::End;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end.saturating_add(1));
            let was_skipping = self.is_skipping;
            if !was_skipping {
                let most = self.most.saturating_add(1);
                if self.line.len().saturating_add(taken) > most {
                    self.line.clear();
                    self.is_skipping = true;
                } else {
                    self.line.extend(bytes.iter().take(taken));
                }
            }
            self.read.consume(taken);
            match (end.is_some(), was_skipping, self.is_skipping) {
                (true, false, false) => return Read::Line,
                (true, true, _) => self.is_skipping = false,
                (true, false, true) => {
                    self.is_skipping = false;
                    return Read::TooLong;
                }
                (false, false, true) => return Read::TooLong,
                (false, _, _) => {}
            }
        }
    }

    /// The next message; nothing once the client has gone, or takes nothing any more.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        let out = self.out.clone()?;
        loop {
            if let Some(ended) = self.ended {
                // Running out is what the deadline is for.
                let _ = tokio::time::timeout(ended.rest(), self.open.below(1)).await;
                return None;
            }
            self.open.below(MCP_REQUESTS).await;
            // Room for what is said of a bad line, and so for a client that reads.
            let room = out.room().await?;
            let bad = match self.read().await {
                Read::Line => {
                    let line = std::mem::take(&mut self.line);
                    match self.message(&line) {
                        Ok(Some(message)) => return Some(message),
                        Ok(None) => continue,
                        Err(bad) => bad,
                    }
                }
                Read::TooLong => {
                    let what = format!("a message has at most {} bytes", self.most);
                    error(ErrorCode::INVALID_REQUEST, &what, None)
                }
                Read::End => {
                    self.ended = Some(Deadline::after_ms(MCP_END_MS));
                    continue;
                }
            };
            room.say(bad);
        }
    }

    /// The message of a line; nothing for a line that has none, an error's frame for one that is wrong.
    fn message(&self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Vec<u8>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let value = strict(line, "line")?;
        let id = value.get("id").cloned();
        // Notifications of others, such as an editor's, are none of ours.
        let is_note = id.is_none() && value.get("method").is_some();
        let message = match serde_json::from_value::<ClientJsonRpcMessage>(value) {
            Ok(message) => message,
            Err(_) if is_note => return Ok(None),
            Err(_) => {
                let what = "the line is no message of MCP";
                return Err(error(ErrorCode::INVALID_REQUEST, what, id.as_ref()));
            }
        };
        self.admit(&message, id.as_ref())?;
        Ok(Some(message))
    }

    /// Whether a request may be made under its id, which it is answered by.
    fn admit(&self, message: &ClientJsonRpcMessage, id: Option<&Value>) -> Result<(), Vec<u8>> {
        match message {
            JsonRpcMessage::Request(request) => {
                if let NumberOrString::String(name) = &request.id
                    && name.chars().count() > MCP_ID_CHARS
                {
                    let what = format!("the id of a request has at most {MCP_ID_CHARS} characters");
                    return Err(error(ErrorCode::INVALID_REQUEST, &what, None));
                }
                if !self.open.add(&request.id) {
                    let what = "a request of this id is not answered yet";
                    return Err(error(ErrorCode::INVALID_REQUEST, what, id));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It is not answered any more.
                    self.open.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Frames<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let message = explained(message);
        let frame = framed(&message);
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(answer.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let open = self.open.clone();
        let said = match &self.out {
            Some(out) => frame.map(|frame| out.say(frame)),
            None => Err(gone()),
        };
        async move {
            let sent = match said {
                Ok(said) => said.await,
                Err(error) => Err(error),
            };
            if let Some(id) = answered {
                open.remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let next = self.next().await;
        if next.is_none() {
            self.gone.send_replace(true);
        }
        next
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out = None;
        Ok(())
    }
}

/// The JSON that a client sent, as strict as anywhere else; an error's frame for what is none.
pub(super) fn strict(sent: &[u8], what: &str) -> Result<Value, Vec<u8>> {
    let bad = |why: &str| {
        let said = format!("the {what} is no {why}");
        error(ErrorCode::PARSE_ERROR, &said, None)
    };
    let text = std::str::from_utf8(sent).map_err(|_| bad("UTF-8 text"))?;
    json::parse(text).map_err(|why| bad(&format!("JSON: {}", shown(&why))))
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// What the library says of a client that has not begun as the protocol has it, with what it is to do.
fn explained(mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    if let JsonRpcMessage::Error(failed) = &mut message
        && failed.error.message.starts_with(UNBEGUN)
    {
        let what = format!(
            "send `initialize` first; or, as the newest version has it, say of each request who asks: {}",
            failed.error.message
        );
        failed.error.message = what.into();
    }
    message
}

/// How the library's words begin, of a request that came before `initialize` and says nothing of its client.
const UNBEGUN: &str = "request _meta is missing";

fn framed(message: &ServerJsonRpcMessage) -> Result<Vec<u8>, io::Error> {
    let mut frame = serde_json::to_vec(message)?;
    frame.push(b'\n');
    Ok(frame)
}

/// What is said of a line that no answer can be made to; an id that is none is left out.
fn error(code: ErrorCode, message: &str, id: Option<&Value>) -> Vec<u8> {
    let mut said = json!({"jsonrpc": "2.0", "error": {"code": code.0, "message": message}});
    let id = id.filter(|id| id.is_i64() || id.as_str().is_some_and(|id| id.len() <= MCP_ID_CHARS));
    if let (Some(map), Some(id)) = (said.as_object_mut(), id) {
        map.insert("id".to_owned(), id.clone());
    }
    format!("{said}\n").into_bytes()
}

/// How long the last frames may take to be written.
pub(super) const LAST: Duration = Duration::from_millis(MCP_END_MS);

#[cfg(test)]
mod tests;
