//! MCP servers: tools that somebody else performs, outside of the quarantine.
//!
//! A server is started, or asked, at the first call of one of its tools: until then nothing of it runs, since what its
//! tools are is known from what a person has read ([`pins`]). What it says from then on is compared with that. One that
//! ends is started again, a few times; whatever it does beyond its bounds ends it.

mod ear;
mod ending;
mod incoming;
mod link;
pub mod login;
mod parts;
pub mod pins;
pub mod process;
mod remote;
mod sender;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

pub use self::ear::{Progress, Wants};
use self::link::Link;
use self::login::Logins;
pub use self::parts::parts;
use self::remote::{Challenged, Desk};
use crate::edges::egress::Egress;
use crate::edges::state::StateFolder;
use crate::edges::vault::Vault;
use crate::rules::scrub::KnownSecrets;
use crate::rules::server::definition::Listed;
use crate::rules::server::lent::Use;
use crate::rules::server::login::Challenge;
use crate::rules::server::pin::{Parts, changed};
use crate::rules::server::resources::Act;
use crate::rules::server::{Terms, Way};
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::id::{Digest, shown};
use crate::words::key::HostKey;
use crate::words::limits::{SERVER_FORGIVEN_MS, SERVER_RESTART_MS};
use crate::words::lock::lock;

/// What servers are started and asked with.
#[derive(Clone, Debug)]
pub struct Around {
    /// The `lazaret` program, which becomes a server's own in a session of its own.
    pub program: std::path::PathBuf,
    /// Folders in which servers run.
    pub folder: StateFolder,
    /// Where secrets are found.
    pub vault: Vault,
    /// What must not be read by anybody.
    pub known: KnownSecrets,
    /// How requests leave.
    pub egress: Egress,
    /// Authenticates the records of requests.
    pub key: HostKey,
}

/// One server, up or not.
pub struct Server {
    terms: Terms,
    around: Around,
    /// The files that its command named when a person read it.
    read: OnceLock<Parts>,
    state: Mutex<State>,
    at_once: Semaphore,
    challenged: Challenged,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    /// How often it has ended.
    ended: u32,
    /// Not before then it is started again.
    again: Option<Deadline>,
}

/// A call of one of a server's tools.
pub struct Ask<'a> {
    /// The tool's name at the server.
    pub tool: &'a str,
    /// What that is asked for.
    pub act: Act,
    /// What it said of itself when a person read it.
    pub read: Digest,
    /// With what.
    pub args: &'a Value,
    /// When nobody waits for it any more.
    pub deadline: Deadline,
    /// Whether a second call does no more than one.
    pub repeatable: bool,
    /// Whom to tell how it goes.
    pub progress: Progress,
    /// Who sees to what the server asks for meanwhile; nobody, where it may ask for nothing.
    pub wants: Option<Wants>,
}

impl Server {
    /// A server that is not up yet.
    #[must_use]
    pub fn new(terms: Terms, around: Around) -> Self {
        let at_once = Semaphore::new(terms.bounds.calls_at_once);
        Self {
            terms,
            around,
            read: OnceLock::new(),
            state: Mutex::default(),
            at_once,
            challenged: Challenged::default(),
        }
    }

    /// What the operator says of it.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The secrets that it has when it is called.
    ///
    /// # Errors
    /// `DiskFailed` where it cannot be read who has logged in.
    pub fn uses(&self) -> Result<Vec<Use>> {
        let mut uses = self.terms.uses();
        if let Way::Remote(remote) = &self.terms.way {
            let header = Logins::of(&self.around).header((&self.terms, remote))?;
            uses.extend(header.map(|header| header.used()));
        }
        Ok(uses)
    }

    /// It is started only with these files.
    pub fn as_read(&self, parts: &Parts) {
        // Who it is was read once.
        let _ = self.read.set(parts.clone());
    }

    /// Whether its files are those that were read: it is started only with them.
    ///
    /// # Errors
    /// `BadPlugin` for another file; what looking at them says.
    pub async fn check_parts(&self) -> Result<()> {
        let Some(read) = self.read.get() else {
            return Ok(());
        };
        let (terms, around) = (self.terms.clone(), self.around.clone());
        let now = tokio::task::spawn_blocking(move || parts(&terms, &around)).await;
        let now = now.map_err(|_| Error::bug("looking at a server's files panicked"))??;
        let name = &self.terms.name;
        let Some(part) = changed(read, &now).into_iter().next() else {
            return Ok(());
        };
        let what = format!(
            "the file `{}`, which `command` of the server `{name}` names, is not what it was when you trusted it",
            shown(&part)
        );
        let error = Error::bad_plugin(what).retry(false);
        Err(error.hint(format!(
            "look at what changed, then run `lazaret servers trust {name}`; if it is no program, write \
             `data = [\"{part}\"]` in `[mcp.{name}]`"
        )))
    }

    /// What it says of its tools now.
    ///
    /// # Errors
    /// `FetchFailed`, `TooSlow` where it cannot be had.
    pub async fn look(&self) -> Result<Listed> {
        let deadline = Deadline::after_ms(self.terms.bounds.start_ms);
        let link = self.link(deadline).await;
        Ok(link.map_err(|error| self.refused(error))?.listed().await)
    }

    /// Nothing of a run is on record where a server is only looked at, so the log says that it could not be: which, and why
    /// in a word. What the error quotes is the server's own, and stays out of it.
    fn refused(&self, error: Error) -> Error {
        let (server, digest) = (&self.terms.name, self.terms.identity());
        let code = error.code().word();
        tracing::warn!(target: "lazaret::mcp", %server, %digest, code, "refused");
        error
    }

    /// What it said last when it wanted to know who asks; nothing where it never did.
    #[must_use]
    pub fn challenge(&self) -> Option<Challenge> {
        lock(&self.challenged).clone()
    }

    /// Calls one of its tools. Dropping this tells the server that nobody waits.
    ///
    /// # Errors
    /// `FetchFailed`, `TooSlow`, `Busy`; `BadPlugin` where the tool says something else than was read.
    pub async fn call(&self, ask: Ask<'_>) -> Result<Value> {
        let rest = ask.deadline.rest();
        let turn = tokio::time::timeout(rest, self.at_once.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            let what = format!(
                "the server `{}` has too many calls under way",
                self.terms.name
            );
            return Err(Error::new(Code::Busy, what));
        };
        let link = self.link(ask.deadline).await?;
        self.check(&link, &ask).await?;
        link.call(ask).await
    }

    /// A tool is called only as it was read.
    async fn check(&self, link: &Link, ask: &Ask<'_>) -> Result<()> {
        let now = link.digest_of(ask.tool, ask.deadline).await?;
        if now == Some(ask.read) {
            return Ok(());
        }
        let name = &self.terms.name;
        let what = match now {
            Some(_) => "says something else of itself than when you trusted it",
            None => "is no longer offered",
        };
        let what = format!(
            "the tool `{}` of the server `{name}` {what}",
            shown(ask.tool)
        );
        let error = Error::bad_plugin(what).retry(false);
        Err(error.hint(format!(
            "look at what changed, then run `lazaret servers trust {name}`"
        )))
    }

    /// Ends it; whatever is under way there has failed.
    pub async fn end(&self) {
        let link = self.state.lock().await.link.take();
        if let Some(link) = link {
            link.end().await;
        }
    }

    /// The server, up: as it is, or started.
    async fn link(&self, deadline: Deadline) -> Result<Arc<Link>> {
        let name = &self.terms.name;
        let waiting = tokio::time::timeout(deadline.rest(), self.state.lock());
        let mut state = waiting.await.map_err(|_| {
            Error::new(
                Code::TooSlow,
                format!("the server `{name}` did not start in time"),
            )
        })?;
        if let Some(link) = state.link.clone() {
            if link.is_up() {
                return Ok(link);
            }
            let forgiven = link.age() >= Duration::from_millis(SERVER_FORGIVEN_MS);
            state.ended = if forgiven {
                1
            } else {
                state.ended.saturating_add(1)
            };
            let wait_ms = SERVER_RESTART_MS << state.ended.saturating_sub(1).min(10);
            state.again = Some(Deadline::after_ms(wait_ms));
            if state.ended > self.terms.bounds.restarts {
                return Err(self.gone(&link.why()));
            }
            state.link = None;
        }
        if state.ended > self.terms.bounds.restarts {
            return Err(self.gone("it could not be started"));
        }
        if let Some(again) = state.again.take() {
            let wait = again.rest().min(deadline.rest());
            // Running out is what this is for.
            let _ = tokio::time::timeout(wait, std::future::pending::<()>()).await;
        }
        self.check_parts().await?;
        let start_ms = self.terms.bounds.start_ms;
        let rest = Duration::from_millis(start_ms).min(deadline.rest());
        // What was said of it, and not what is left of that by now.
        let limit = (rest, start_ms.min(deadline.ms()));
        let opening = Link::open((&self.terms, &self.around), &self.challenged, limit);
        match opening.await {
            Ok(link) => {
                let link = Arc::new(link);
                state.link = Some(link.clone());
                Ok(link)
            }
            Err(error) => {
                state.ended = state.ended.saturating_add(1);
                let wait_ms = SERVER_RESTART_MS << state.ended.saturating_sub(1).min(10);
                state.again = Some(Deadline::after_ms(wait_ms));
                Err(error)
            }
        }
    }

    fn gone(&self, why: &str) -> Error {
        let name = &self.terms.name;
        let times = self.terms.bounds.restarts;
        let what =
            format!("the server `{name}` has ended, and was started again {times} times: {why}");
        Error::new(Code::FetchFailed, what)
            .hint(format!("`lazaret servers check {name}` looks at it anew"))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Server({})", self.terms.name)
    }
}

/// All servers of a configuration, by name.
#[must_use]
pub fn servers(terms: Vec<Terms>, around: &Around) -> BTreeMap<String, Arc<Server>> {
    let servers = terms.into_iter();
    let named = servers.map(|terms| {
        let name = terms.name.clone();
        (name, Arc::new(Server::new(terms, around.clone())))
    });
    named.collect()
}
