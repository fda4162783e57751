//! `lazaret mcp`: the host as a server of MCP, for a client that begins it, or on loopback.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::looking::{Looking, open};
use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::rules::scrub::KnownSecrets;
use crate::surfaces::http::{Names, Site, Token, serve_clients};
use crate::surfaces::mcp::desk::Desk;
use crate::surfaces::mcp::http::Clients;
use crate::surfaces::mcp::stdio;
use crate::surfaces::paint::{faint, strong};
use crate::words::error::{Error, Result, why};

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
        let state = StateFolder::open(&scene.around.state)?;
        let token = Token::of(&state)?;
        let host = Arc::new(open(&config, scene, KnownSecrets::default()).await?);
        let names = Names {
            remote: false,
            also: rules.hosts.clone(),
        };
        // Over standard input and output nobody comes through its door: then it has the newest host, and no more.
        let site = Site::new(host, rules, (names, &token));
        let desk = Desk::following(site.hosts(), serving)?;
        let looking = Looking::new(config, (state, site.clone()));
        let served = async {
            match self.listen {
                None => stdio::serve(desk, ended()?).await,
                Some(address) => listen(desk, (address, site), (&token, scene)).await,
            }
        };
        tokio::select! {
            served = served => served?,
            never = looking.look(scene) => match never {},
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
    (address, site): (SocketAddr, Site),
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
        let (needs, shown) = match token.is_new() {
            true => (
                "every request needs, and this is said this once",
                token.text(),
            ),
            false => ("every request needs", "TOKEN"),
        };
        let header = strong(format!("Authorization: Bearer {shown}"));
        print::note(format!("{}: {header}", faint(needs)));
        if !token.is_new() {
            print::note(faint("`lazaret serve --show-token` prints the token"));
        }
    }
    let clients = Clients::new(desk, site.rules().body_ms);
    serve_clients(listener, (site, clients), ended).await
}
