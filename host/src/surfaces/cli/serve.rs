//! `lazaret serve`: tools, runs, questions and the console over HTTP.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::looking::{Looking, open};
use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::rules::scrub::KnownSecrets;
use crate::surfaces::http::{Names, Served, Site, Token, serve};
use crate::surfaces::mcp::desk::Desk;
use crate::surfaces::mcp::http::Clients;
use crate::surfaces::paint::{faint, strong};
use crate::words::error::{Code, Error, Result, why};
use crate::words::id::shown;

/// Serve tools, runs, questions and a console over HTTP, to whoever has the token.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  lazaret serve                              on 127.0.0.1:7420; open the address that it prints
  lazaret serve --listen 127.0.0.1:0 --json  on any free port, said as JSON
  lazaret serve --show-token                 print the token, and serve nothing
  lazaret serve --new-token                  make another one; the one before counts no more

  curl -H \"authorization: Bearer $(lazaret serve --show-token)\" http://127.0.0.1:7420/v1/tools

`GET /openapi.json` describes all of it. Ctrl-C ends it: what is under way has a moment to end.
What does not is left, and `lazaret runs resume` goes on with it.")]
pub(super) struct Serve {
    /// Where to listen: an address of this machine and a port, 0 for any that is free.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Listen for other machines as well: whoever reads the traffic has the token, and with it every tool.
    #[arg(long)]
    allow_remote: bool,
    /// Print the token, and serve nothing.
    #[arg(long, conflicts_with_all = ["new_token", "listen"])]
    show_token: bool,
    /// Make another token, print it, and serve nothing.
    #[arg(long, conflicts_with = "listen")]
    new_token: bool,
}

impl Serve {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let state = StateFolder::open(&scene.around.state)?;
        if self.show_token || self.new_token {
            let token = match self.new_token {
                true => Token::renewed(&state)?,
                false => Token::of(&state)?,
            };
            match scene.json {
                true => print::compact(&json!({"token": token.text()})),
                false => print::line(token.text()),
            }
            return Ok(0);
        }
        let config = scene.read_config()?;
        let rules = config.stack.serve.clone();
        let listen = self.listen.as_deref().unwrap_or(&rules.listen);
        let address = self.address(listen)?;
        let signals = Signals::listen()?;
        let listener = bind(address).await?;
        let host = Arc::new(open(&config, scene, KnownSecrets::default()).await?);
        let token = Token::of(&state)?;
        let names = Names {
            remote: self.allow_remote,
            also: rules.hosts.clone(),
        };
        let body_ms = rules.body_ms;
        let site = Site::new(host, rules, (names, &token));
        let desk = Desk::following(site.hosts(), config.mcp_server()?)?;
        let clients = Clients::new(desk, body_ms);
        say(&listener, &token, scene)?;
        let looking = Looking::new(config, (state, site.clone()));
        let (tell, told) = watch::channel(0);
        let served = tokio::select! {
            served = serve(listener, (site, clients), told) => served?,
            never = looking.look(scene) => match never {},
            never = signals.count(tell) => match never {},
        };
        if served == Served::Left && !scene.quiet {
            let what = "some runs were left as they are";
            print::follow(format!("{what}; {}", faint("see")), "lazaret runs list");
        }
        Ok(0)
    }

    /// Where to listen.
    fn address(&self, listen: &str) -> Result<SocketAddr> {
        let numbers = match listen.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => listen.to_owned(),
        };
        let address: SocketAddr = numbers.parse().map_err(|_| {
            let what = format!("`{}` is no address and port", shown(listen));
            Error::bad_input(what).hint("lazaret serve --listen 127.0.0.1:7420")
        })?;
        if address.ip().is_loopback() || self.allow_remote {
            return Ok(address);
        }
        let what = format!("`{address}` is open to other machines");
        Err(Error::bad_input(what)
            .hint("lazaret serve --listen 127.0.0.1:7420   # and reach it through a tunnel, such as `ssh -L`")
            .hint("or say `--allow-remote`: HTTP is not encrypted, so whoever reads the traffic has the token, and with it every tool"))
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let what = match error.kind() == ErrorKind::AddrInUse {
            true => format!("another program listens on `{address}` already"),
            false => format!("`{address}` cannot be listened on: {}", why(error.kind())),
        };
        Error::new(Code::Busy, what)
            .hint("lazaret serve --listen 127.0.0.1:0   # any port that is free")
            .because(error)
    })
}

/// Says where the server is, once it answers: one line of data.
fn say(listener: &TcpListener, token: &Token, scene: &Scene) -> Result<()> {
    let address = listener
        .local_addr()
        .map_err(|error| Error::bug("the server does not know its address").because(error))?;
    // What stands behind `#` is never sent to a server; it is how the console gets the token.
    let key = match token.is_new() {
        true => format!("#token={}", token.text()),
        false => String::new(),
    };
    let url = format!("http://{address}/{key}");
    if scene.json {
        let ready = json!({"ready": true, "address": address, "url": url, "version": env!("CARGO_PKG_VERSION")});
        print::compact(&ready);
        return Ok(());
    }
    print::line(format!("listening on {}", strong(&url)));
    if !scene.quiet {
        let hint = match token.is_new() {
            true => "open it in a browser; the token in it is shown this once",
            false => "`lazaret serve --show-token` prints the token",
        };
        print::note(faint(hint));
    }
    if !address.ip().is_loopback() {
        print::warning(
            "other machines can reach this server, and what they send is not encrypted",
            "give it a name in `[serve] hosts`, and put a server that speaks TLS before it",
        );
    }
    Ok(())
}

/// Ctrl-C, and what a system ends its programs with.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on they do not end the process.
    fn listen() -> Result<Self> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Error::bug("signals cannot be listened for").because(error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Tells how many have come.
    async fn count(mut self, tell: watch::Sender<u32>) -> Infallible {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
            tell.send_modify(|count| *count = count.saturating_add(1));
        }
    }
}
