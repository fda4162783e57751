//! Listening: one task for each connection, so many at once, and an end that leaves nothing half done.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::router::router;
use super::site::Site;
use crate::surfaces::mcp::http::Clients;
use crate::words::error::Result;
use crate::words::limits::{SERVE_HEAD_BYTES, SERVE_LAST_MS};

/// How the server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// All that was under way has ended.
    Whole,
    /// Something was left, and can be taken up again.
    Left,
}

/// Serves until it is told to end; then nothing new begins, and what is under way has its grace, unless it is told
/// once more.
///
/// # Errors
/// `DiskFailed` where the last records cannot be kept.
pub async fn serve(
    listener: TcpListener,
    (site, clients): (Site, Clients),
    mut told: watch::Receiver<u32>,
) -> Result<Served> {
    let mut hurry = told.clone();
    let ending = async {
        // Nobody who could tell is left: then it ends as well.
        let _ = told.wait_for(|count| *count > 0).await;
    };
    let mut connections = JoinSet::new();
    let seats = Arc::new(Semaphore::new(site.rules().connections));
    let router = router(&site, &clients);
    let mut ending = std::pin::pin!(ending);
    loop {
        // Before the next is taken: those that wait do so in the system's own queue, which is bounded.
        let seat = tokio::select! {
            biased;
            () = &mut ending => break,
            seat = seats.clone().acquire_owned() => seat,
        };
        let stream = tokio::select! {
            biased;
            () = &mut ending => break,
            accepted = listener.accept() => accepted,
        };
        // One that is gone before it was taken is no reason to end; nor is a system that has no more files for now.
        let (Ok(seat), Ok((stream, _))) = (seat, stream) else {
            tokio::task::yield_now().await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        while connections.try_join_next().is_some() {}
        let (site, router) = (site.clone(), router.clone());
        connections.spawn(async move {
            let _seat = seat;
            connection(stream, &site, router).await;
        });
    }
    drop(listener);
    let hurry = async {
        let _ = hurry.wait_for(|count| *count > 1).await;
    };
    end((&site, &clients), connections, hurry).await
}

/// One connection, to its end.
async fn connection<S>(stream: S, site: &Site, router: axum::Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(site.rules().head_ms))
        .max_header_size(SERVE_HEAD_BYTES);
    let asked = TowerToHyperService::new(router);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), asked));
    // What a client does wrong on the wire is answered by the library, and is none of ours.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = site.ended() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn end(
    (site, clients): (&Site, &Clients),
    mut connections: JoinSet<()>,
    hurry: impl Future<Output = ()>,
) -> Result<Served> {
    site.end();
    let grace = Duration::from_millis(site.rules().grace_ms);
    let whole = async {
        site.underway().emptied().await;
        clients.close();
        // Their answers are on the way.
        while connections.join_next().await.is_some() {}
    };
    tokio::select! {
        _ = tokio::time::timeout(grace, whole) => {}
        () = hurry => {}
    }
    let left = site.underway().leave().await?;
    site.host().journal().sync().await?;
    // Whoever watches is being told that it ends; whoever does not listen is not waited for.
    let told = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(SERVE_LAST_MS), told).await;
    Ok(match left {
        0 => Served::Whole,
        _ => Served::Left,
    })
}
