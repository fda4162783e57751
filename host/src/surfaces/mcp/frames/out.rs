//! What is said to a client: on the spot where nothing else waits to be said and the client takes it, and otherwise by a task
//! of its own, in its order. To wake that one for every answer would take as long as many an answer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc};

use super::gone;
use crate::words::limits::MCP_FRAMES_QUEUED;

/// Where frames go. Cheap to clone.
#[derive(Clone)]
pub(super) struct Out {
    pub(super) queue: mpsc::Sender<Vec<u8>>,
    end: Arc<End>,
}

/// The client's end.
struct End {
    write: Mutex<Box<dyn AsyncWrite + Unpin + Send>>,
    /// How many frames wait in the queue, or are on their way to it.
    waiting: AtomicUsize,
}

/// Room for one frame.
pub(super) struct Room<'a>(mpsc::Permit<'a, Vec<u8>>, &'a End);

impl Room<'_> {
    pub(super) fn say(self, frame: Vec<u8>) {
        self.1.waiting.fetch_add(1, Ordering::AcqRel);
        self.0.send(frame);
    }
}

impl Out {
    /// To a client that is written to here; the work writes what was not taken on the spot, until all of these are gone.
    pub(super) fn new<W>(write: W) -> (Self, impl Future<Output = ()> + Send + 'static)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (queue, queued) = mpsc::channel(MCP_FRAMES_QUEUED);
        let end = Arc::new(End {
            write: Mutex::new(Box::new(write)),
            waiting: AtomicUsize::new(0),
        });
        let writing = write_all(end.clone(), queued);
        (Self { queue, end }, writing)
    }

    /// Waits for room; nothing where nobody takes anything any more.
    pub(super) async fn room(&self) -> Option<Room<'_>> {
        let permit = self.queue.reserve().await.ok()?;
        Some(Room(permit, &self.end))
    }

    /// Says it. What is not said when this returns is, when what it returns has come to its end, in its place.
    ///
    /// # Errors
    /// `BrokenPipe` where nobody takes anything any more.
    pub(super) fn say(
        &self,
        frame: Vec<u8>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let left = self.end.say_now(frame);
        let left = left.and_then(|left| {
            self.end.waiting.fetch_add(1, Ordering::AcqRel);
            // What is left of a frame comes next: nothing waits before it.
            match self.queue.try_send(left) {
                Ok(()) => None,
                Err(
                    mpsc::error::TrySendError::Full(left) | mpsc::error::TrySendError::Closed(left),
                ) => Some(left),
            }
        });
        let queue = left.map(|left| (self.queue.clone(), left));
        async move {
            match queue {
                Some((queue, left)) => queue.send(left).await.map_err(|_| gone()),
                None => Ok(()),
            }
        }
    }
}

impl End {
    /// Writes as much of a frame as is taken on the spot; what is left of it, if there is. Whatever fails is found once
    /// more by whoever writes the rest.
    fn say_now(&self, mut frame: Vec<u8>) -> Option<Vec<u8>> {
        if self.waiting.load(Ordering::Acquire) > 0 {
            return Some(frame);
        }
        let Ok(mut write) = self.write.try_lock() else {
            return Some(frame);
        };
        let mut nobody = Context::from_waker(Waker::noop());
        while !frame.is_empty() {
            match Pin::new(&mut *write).poll_write(&mut nobody, &frame) {
                Poll::Ready(Ok(taken)) if taken > 0 => drop(frame.drain(..taken)),
                Poll::Ready(_) | Poll::Pending => return Some(frame),
            }
        }
        match Pin::new(&mut *write).poll_flush(&mut nobody) {
            Poll::Ready(Ok(())) => None,
            Poll::Ready(Err(_)) | Poll::Pending => Some(frame),
        }
    }
}

/// Writes what comes, in its order, until there is no more, or nobody takes it.
async fn write_all(end: Arc<End>, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = queue.recv().await {
        let mut write = end.write.lock().await;
        let mut written = 1;
        if write.write_all(&frame).await.is_err() {
            return;
        }
        // What is there already goes along.
        while let Ok(frame) = queue.try_recv() {
            if write.write_all(&frame).await.is_err() {
                return;
            }
            written += 1;
        }
        if write.flush().await.is_err() {
            return;
        }
        drop(write);
        end.waiting.fetch_sub(written, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_a_client_takes_is_said_on_the_spot() {
        let (mut theirs, ours) = tokio::io::duplex(64);
        let (out, _writing) = Out::new(ours);
        out.say(b"one\n".to_vec()).now_or_never().unwrap().unwrap();
        let mut read = [0; 4];
        theirs
            .read_exact(&mut read)
            .now_or_never()
            .unwrap()
            .unwrap();
        assert_eq!(&read, b"one\n");
    }

    /// What it does not take waits, and so does what comes behind that.
    #[tokio::test]
    async fn what_waits_is_said_whole_and_in_its_order() {
        let (mut theirs, ours) = tokio::io::duplex(6);
        let (out, writing) = Out::new(ours);
        let said = ["a longer one\n", "x\n", "y\n"].map(|frame| out.say(frame.into()));
        out.room().await.unwrap().say(b"z\n".to_vec());
        drop(out);
        let read = async {
            let mut read = String::new();
            theirs.read_to_string(&mut read).await.unwrap();
            read
        };
        let said = futures_util::future::join_all(said);
        let (read, _, said) = tokio::join!(read, writing, said);
        assert_eq!(read, "a longer one\nx\ny\nz\n");
        assert!(said.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn a_client_that_has_gone_is_found_out() {
        let (theirs, ours) = tokio::io::duplex(64);
        let (out, writing) = Out::new(ours);
        drop(theirs);
        let _ = out.say(b"one\n".to_vec()).await;
        writing.await;
        assert!(out.room().await.is_none());
        assert!(out.say(b"two\n".to_vec()).await.is_err());
    }
}
