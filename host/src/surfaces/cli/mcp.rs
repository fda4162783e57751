//! `lazaret mcp`: the host as a server of MCP, for a client that begins it, or on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::surfaces::config::serve::ServeRules;
use crate::surfaces::http::{Token, accept};
use crate::surfaces::mcp::desk::Desk;
use crate::surfaces::mcp::http::{Clients, bearer};
use crate::surfaces::mcp::stdio;
use crate::surfaces::paint::{faint, strong};
use crate::words::error::{Error, Result, why};
use crate::words::id::Digest;
use crate::words::limits::SERVE_LAST_MS;

/// Serve the tools to a client of MCP, such as a desktop app or an editor.
///
/// The client begins this command itself, and talks to it over standard input and output. Calls are judged, asked about
/// and recorded as from anywhere else; `lazaret runs list` shows them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret mcp                                what a client's configuration names as the command
  lazaret mcp --listen 127.0.0.1:8931        over HTTP, at /mcp, with a token

What a client's configuration says:
  {\"mcpServers\": {\"lazaret\": {\"command\": \"lazaret\", \"args\": [\"mcp\"]}}}

`[mcp_server]` in lazaret.toml says how clients are served; `lazaret config show mcp_server` lists it.")]
pub(super) struct Mcp {
    /// Listen there for HTTP instead; an address of this machine alone.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

impl Mcp {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let config = scene.read_config()?;
        let serving = config.mcp_server()?;
        let rules = config.stack.serve.clone();
        let host = Arc::new(scene.open(config.setup).await?);
        let token = Token::of(&StateFolder::open(&scene.around.state)?)?;
        let desk = Desk::of(host, serving)?;
        match self.listen {
            None => stdio::serve(desk, ended()?).await?,
            Some(address) => listen(desk, (address, rules), (&token, scene)).await?,
        }
        Ok(0)
    }
}

/// Returns when the process is told to end.
fn ended() -> Result<impl Future<Output = ()>> {
    let listen = |kind| {
        signal(kind).map_err(|error| Error::bug("signals cannot be listened for").because(error))
    };
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut terminated = listen(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

async fn listen(
    desk: Arc<Desk>,
    (address, rules): (SocketAddr, ServeRules),
    (token, scene): (&Token, &Scene),
) -> Result<()> {
    if !address.ip().is_loopback() {
        let what = format!("`{address}` is no address of this machine alone");
        return Err(Error::bad_input(what).hint("lazaret mcp --listen 127.0.0.1:8931"));
    }
    let at = |error: std::io::Error| {
        let what = format!("`{address}` cannot be listened at: {}", why(error.kind()));
        Error::bad_input(what).hint("another port, or 0 for any")
    };
    let listener = TcpListener::bind(address).await.map_err(at)?;
    let address = listener.local_addr().map_err(at)?;
    // Before anybody is told where it is, and may end it.
    let ended = ended()?;
    print::line(format!("http://{address}/mcp"));
    if !scene.quiet {
        print::note(format!(
            "{}: Authorization: Bearer {}",
            faint("every request needs"),
            strong(token.text())
        ));
    }
    let clients = Clients::new(desk.clone(), rules.body_ms);
    let door = Door {
        clients: clients.clone(),
        token: token.digest(),
    };
    let come = move |request: Request| door.clone().come(request);
    let router = Router::new().route("/mcp", any(come));
    let (tell, ending) = watch::channel(false);
    // Connections have the bounds of `[serve]`.
    let mut connections = accept(listener, (&rules, router, ending), ended).await;
    clients.close();
    tell.send_replace(true);
    let drained = desk.drained().await;
    // Their answers are on the way; whoever does not read is not waited for.
    let last = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(SERVE_LAST_MS), last).await;
    drained
}

/// Who may come in: whoever has the token.
#[derive(Clone)]
struct Door {
    clients: Clients,
    token: Digest,
}

impl Door {
    async fn come(self, request: Request) -> Response {
        let shown = bearer(request.headers()).unwrap_or_default();
        // How long it takes to compare two digests says nothing of what they are of.
        if Digest::of(shown.as_bytes()) == self.token {
            return self.clients.answer(request).await;
        }
        let asks = [(header::WWW_AUTHENTICATE, "Bearer")];
        let what =
            "every request needs `Authorization: Bearer TOKEN`; `lazaret mcp --listen` prints it";
        (StatusCode::UNAUTHORIZED, asks, what).into_response()
    }
}
