//! MCP over standard input and output: one client, which began this process and ends it by closing its side.

use std::sync::Arc;

use rmcp::service::{RunningService, ServerInitializeError};
use rmcp::{RoleServer, serve_server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use super::desk::Desk;
use super::frames::{Frames, LAST};
use super::pipes;
use super::session::Session;
use crate::edges::aside::aside;
use crate::words::error::{Error, Result};

/// Serves the client at standard input and output until it ends, or `stop` does.
///
/// It has a thread for itself: of a request, its answer, and what becomes of both, each is a task that wakes the next, and
/// among many threads the runtime wakes a second one for the last of them, which then reads the next request.
///
/// # Errors
/// `BadInput` for one that does not begin as the protocol has it; `Busy` where a call does not end.
pub async fn serve(desk: Arc<Desk>, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let alone = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::bug("no runtime could be made").because(error))?;
    let served = aside(move |_| {
        let served = alone.block_on(async { serve_over(desk, pipes::standard(), stop).await });
        // A thread that reads a terminal is not waited for.
        alone.shutdown_background();
        served
    });
    let served = served.await;
    served.unwrap_or_else(|| Err(Error::bug("the session panicked")))
}

/// The same with a client that is read from and written to elsewhere.
///
/// # Errors
/// As [`serve`].
pub async fn serve_over<R, W>(
    desk: Arc<Desk>,
    (read, write): (R, W),
    stop: impl Future<Output = ()>,
) -> Result<()>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (frames, writing) = Frames::new((read, write), desk.serving.frame_bytes, desk.gone());
    let mut stop = std::pin::pin!(stop);
    let begun = tokio::select! {
        begun = serve_server(Session::new(desk.clone()), frames) => begun,
        () = stop.as_mut() => return Ok(()),
    };
    match begun {
        Ok(running) => {
            until_end(&desk, running, stop).await?;
            ended(&desk, writing).await
        }
        // Whoever goes before it has begun wanted nothing, and still learns what was wrong with what they sent.
        Err(ServerInitializeError::ConnectionClosed(_)) => ended(&desk, writing).await,
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => Err(Error::bad_input(
            "the first message of a client of MCP is `initialize`, and this one was not",
        )
        .hint("`lazaret mcp` is for programs; how to set it up is in the README")),
        Err(error) => {
            Err(Error::bad_input("the client did not begin as MCP has it").because(error))
        }
    }
}

async fn until_end(
    desk: &Desk,
    running: RunningService<RoleServer, Session>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let cancel = running.cancellation_token();
    let mut waiting = std::pin::pin!(running.waiting());
    let end = tokio::select! {
        end = waiting.as_mut() => end,
        () = stop => {
            desk.close();
            cancel.cancel();
            waiting.await
        }
    };
    end.map(drop)
        .map_err(|error| Error::bug("the session panicked").because(error))
}

/// Waits for the ends of calls, and for what was said last.
async fn ended(desk: &Desk, writing: JoinHandle<()>) -> Result<()> {
    desk.close();
    let drained = desk.drained().await;
    // A client that does not read any more is not waited for.
    let _ = tokio::time::timeout(LAST, writing).await;
    drained
}
