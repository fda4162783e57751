//! Listening: one task for each connection, so many at once, and an end that leaves nothing half done.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use super::router::{router, router_of_clients};
use super::seats::{Seats, Standing};
use super::site::Site;
use crate::surfaces::config::serve::ServeRules;
use crate::surfaces::mcp::http::Clients;
use crate::surfaces::spot::OnTheSpot;
use crate::words::error::Result;
use crate::words::limits::seats::{SEAT_FIRST_MS, SEAT_TURN_MS};
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
/// `DiskFailed` where the last records cannot be kept; `Busy` where a call over MCP does not end.
pub async fn serve(
    listener: TcpListener,
    (site, clients): (Site, Clients),
    mut told: watch::Receiver<u32>,
) -> Result<Served> {
    let mut hurry = told.clone();
    let stop = async {
        // Nobody who could tell is left: then it ends as well.
        let _ = told.wait_for(|count| *count > 0).await;
    };
    let router = router(&site, &clients);
    let connections = accept(listener, (site.rules(), router, site.ending()), stop).await;
    let hurry = async {
        let _ = hurry.wait_for(|count| *count > 1).await;
    };
    end((&site, &clients), connections, hurry).await
}

/// Serves clients of MCP and nobody else, behind the same door, until `stop` returns: then their calls are given up.
///
/// # Errors
/// `Busy` where a call does not end.
pub async fn serve_clients(
    listener: TcpListener,
    (site, clients): (Site, Clients),
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let router = router_of_clients(&site, &clients);
    let mut connections = accept(listener, (site.rules(), router, site.ending()), stop).await;
    clients.close();
    site.end();
    let drained = clients.drained().await;
    told(&mut connections).await;
    drained
}

/// Answers are on the way; whoever does not read is not waited for.
async fn told(connections: &mut JoinSet<()>) {
    let last = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(SERVE_LAST_MS), last).await;
}

/// Takes connections until `stop` returns, so many at once; what is left then are those under way, which end once
/// `ending` says so.
async fn accept(
    listener: TcpListener,
    (rules, router, ending): (&ServeRules, axum::Router, watch::Receiver<bool>),
    stop: impl Future<Output = ()>,
) -> JoinSet<()> {
    let mut connections = JoinSet::new();
    let mut seats = Seats::new(rules.connections, Duration::from_millis(SEAT_TURN_MS));
    let mut stop = std::pin::pin!(stop);
    loop {
        // Those that come meanwhile wait in the system's own queue, which is bounded.
        let next = async { Some((listener.accept().await.ok()?, seats.take().await?)) };
        let next = tokio::select! {
            biased;
            () = &mut stop => return connections,
            next = next => next,
        };
        // One that is gone before it was taken is no reason to end; nor is a system that has no more files for now.
        let Some(((stream, _), seat)) = next else {
            tokio::task::yield_now().await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        while connections.try_join_next().is_some() {}
        let (times, router, ending) = (Times::of(rules), router.clone(), ending.clone());
        connections.spawn(OnTheSpot::new(async move {
            connection(stream, times, seat.standing(), (router, ending)).await;
        }));
    }
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// For the head of the first request.
    first: Duration,
    /// For the head of a request, and with the next one.
    head: Duration,
    /// Until it reads on.
    write: Duration,
}

impl Times {
    fn of(rules: &ServeRules) -> Self {
        Self {
            first: Duration::from_millis(SEAT_FIRST_MS),
            head: Duration::from_millis(rules.head_ms),
            write: Duration::from_millis(rules.write_ms),
        }
    }
}

/// One connection, to its end. A client that does not take what it is sent has gone: the system holds some of it for
/// a client that is slow, so a byte now and then is no reading. One whose seat is somebody else's, or that says nothing at
/// first, is left.
async fn connection<S>(
    stream: S,
    times: Times,
    standing: &Standing,
    (router, mut ending): (axum::Router, watch::Receiver<bool>),
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(times.head)
        .max_header_size(SERVE_HEAD_BYTES);
    let (router, known) = (TowerToHyperService::new(router), standing.clone());
    // The door says of each request how its connection stands.
    let asked = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(known.clone());
        router.call(request)
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(times.write));
    let stream = TokioIo::new(Box::pin(stream));
    let mut connection = std::pin::pin!(http.serve_connection(stream, asked));
    // What a client does wrong on the wire is answered by the library, and is none of ours.
    tokio::select! {
        biased;
        () = standing.leaves(times.first) => return,
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|ending| *ending) => connection.as_mut().graceful_shutdown(),
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
    // However it came here: what clients of MCP have begun is given up, and comes to its record.
    clients.close();
    let drained = clients.drained().await;
    let left = site.underway().leave().await?;
    site.host().journal().sync().await?;
    // Whoever watches is being told that it ends.
    told(&mut connections).await;
    drained?;
    Ok(match left {
        0 => Served::Whole,
        _ => Served::Left,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use futures_util::stream;
    use std::convert::Infallible;
    use tokio::io::AsyncWriteExt;

    const LONG: Duration = Duration::from_secs(60);

    /// A stream that never ends, such as one of events, and a client that never reads it.
    #[tokio::test]
    async fn a_client_that_does_not_read_has_gone() {
        let event = || Ok::<_, Infallible>(Bytes::from_static(b"data: x\n\n"));
        let endless = move || async move { Body::from_stream(stream::repeat_with(event)) };
        let router = axum::Router::new().route("/", get(endless));
        let times = Times {
            first: LONG,
            head: LONG,
            write: Duration::from_millis(50),
        };
        let (_tell, ending) = watch::channel(false);
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let ask = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
        client.write_all(ask).await.unwrap();
        let mut seats = Seats::new(1, LONG);
        let seat = seats.take().await.expect("a seat");
        let served = connection(server, times, seat.standing(), (router, ending));
        let limit = Duration::from_secs(30);
        tokio::time::timeout(limit, served).await.expect("it ends");
        drop(client);
    }

    /// Half a head is nothing that was asked.
    #[tokio::test]
    async fn whoever_says_nothing_at_first_is_left_before_others_are() {
        let times = Times {
            first: Duration::from_millis(50),
            head: LONG,
            write: LONG,
        };
        let (_tell, ending) = watch::channel(false);
        let (mut client, server) = tokio::io::duplex(1 << 10);
        client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        let mut seats = Seats::new(1, LONG);
        let seat = seats.take().await.expect("a seat");
        let served = connection(
            server,
            times,
            seat.standing(),
            (axum::Router::new(), ending),
        );
        let limit = Duration::from_secs(30);
        tokio::time::timeout(limit, served).await.expect("it ends");
        drop(client);
    }
}
