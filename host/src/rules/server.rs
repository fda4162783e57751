//! MCP servers: what the operator says of one, and what may be made of what it says.
//!
//! A server is outside of the quarantine by nature: a program on this machine, or somebody else's. Everything that it
//! says is untrusted, from the names of its tools on. What its tools do, and how calls of them go, the operator says.

pub mod asked;
pub mod changed;
pub mod definition;
pub mod form;
pub mod lent;
pub mod login;
pub mod naming;
pub mod pin;
pub mod resources;
pub mod said;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::fetch::Fetch;
use super::flow::lines::ToolFlow;
use super::grant::{Destination, Grant};
use super::json;
use super::manifest::{EffectClass, Risk, Sensitivity};
use super::secret::{Placement, SecretGrant, marker};
use crate::words::error::Result;
use crate::words::id::Digest;
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::servers::SERVER_BYTES_PER_S;
use crate::words::limits::{
    CALL_TIMEOUT_MS, PATH_BYTES, SERVER_CALLS_AT_ONCE, SERVER_MESSAGE_BYTES, SERVER_MESSAGES_PER_S,
    SERVER_RESTARTS, SERVER_START_MS, SERVER_STOP_MS,
};

/// A server that the operator configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Its name, which its tools' names begin with.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// Which of its tools are offered, and what is said of them.
    pub choice: Choice,
    /// How far it may go.
    pub bounds: Bounds,
    /// What it may ask of us.
    pub asks: Asks,
    /// How one logs in to it.
    pub login: login::Terms,
}

/// What a server may ask of us in the middle of a call; nothing, where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Whether a person is asked what it wants to know of them.
    pub elicitation: bool,
    /// The model that answers it, and how far.
    pub sampling: Option<Sampling>,
}

/// How far a server may use a model of the operator's in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The model, by its name in `[models]`.
    pub model: String,
    /// Tokens in all.
    pub tokens: u64,
    /// Requests.
    pub requests: u32,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// A program on this machine, through its standard input and output.
    Program(Program),
    /// Somebody who is asked over HTTP.
    Remote(Remote),
}

/// A program that is started: native code, outside of the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is run, and with which arguments.
    pub command: Vec<String>,
    /// Variables of its environment, which has no others but `PATH`, `HOME` and `TMPDIR`.
    pub env: BTreeMap<String, Variable>,
    /// Where programs are looked for. It says nothing of who the server is.
    pub path: String,
    /// Where it is run; a folder of its own where nothing is said.
    pub folder: Option<PathBuf>,
    /// Where the file is that has the line. It says nothing of who the server is.
    pub beside: PathBuf,
    /// Files that its command names and that are no part of it: they may change.
    pub data: Vec<String>,
}

impl Program {
    /// What of its command may be the path of a file that is a part of it: its program, where that is not looked for, and
    /// each argument, or what an option is set to.
    #[must_use]
    pub fn parts(&self) -> Vec<&str> {
        let (program, args) = match self.command.split_first() {
            Some((program, args)) => (Some(program.as_str()), args),
            None => (None, &[][..]),
        };
        let program = program.filter(|program| program.contains('/'));
        let args = args.iter().flat_map(|word| {
            let set = word.split_once('=').map(|(_, set)| set);
            [Some(word.as_str()), set].into_iter().flatten()
        });
        let mut parts: Vec<&str> = program.into_iter().chain(args).collect();
        let is_data = |part: &str| self.data.iter().any(|data| data == part);
        parts.retain(|part| !part.is_empty() && part.len() <= PATH_BYTES && !is_data(part));
        parts
    }
}

/// A variable of a server's environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variable {
    /// This text.
    Plain(String),
    /// The secret of this name: whoever runs the program has it from then on.
    Secret(String),
}

/// A server over HTTP.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// Where it is.
    pub url: String,
    /// The same as a destination that requests may go to.
    pub to: Destination,
    /// Headers, each with a secret.
    pub headers: Vec<Header>,
}

/// A header whose value is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// What stands before the secret.
    pub before: String,
    /// The secret's name.
    pub secret: String,
}

/// Which tools of a server are offered, and what is said of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Those alone, by their names at the server; all, where none is named.
    pub allow: Vec<String>,
    /// Never those.
    pub block: Vec<String>,
    /// What is said of single ones.
    pub tools: BTreeMap<String, Line>,
}

impl Choice {
    /// Whether a tool of this name is offered.
    #[must_use]
    pub fn offers(&self, remote: &str) -> bool {
        let is = |name: &String| name == remote;
        !self.block.iter().any(is) && (self.allow.is_empty() || self.allow.iter().any(is))
    }

    /// What is said of a tool.
    #[must_use]
    pub fn line(&self, remote: &str) -> Line {
        self.tools.get(remote).cloned().unwrap_or_default()
    }
}

/// What the operator says of one tool. Nothing said is the most restrictive, as with a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// What it does to the world.
    pub effect: EffectClass,
    /// Its risk class.
    pub risk: Risk,
    /// The same call twice does no more than once.
    pub idempotent: bool,
    /// A person is asked before every call.
    pub needs_approval: bool,
    /// How confidential its outcomes are.
    pub sensitivity: Sensitivity,
    /// Deadline of one call; that of the server where nothing is said.
    pub timeout_ms: Option<u64>,
    /// Which of its arguments steer, and which are content.
    pub flow: ToolFlow,
}

/// How far a server may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// To start, and to list its tools.
    pub start_ms: u64,
    /// One call.
    pub call_ms: u64,
    /// To end by itself, before it is killed.
    pub stop_ms: u64,
    /// One message.
    pub message_bytes: usize,
    /// Messages in any second.
    pub messages_per_s: u32,
    /// Bytes in any second.
    pub bytes_per_s: usize,
    /// Times that it is started again.
    pub restarts: u32,
    /// Calls that are under way at once.
    pub calls_at_once: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            start_ms: SERVER_START_MS,
            call_ms: CALL_TIMEOUT_MS,
            stop_ms: SERVER_STOP_MS,
            message_bytes: SERVER_MESSAGE_BYTES,
            messages_per_s: SERVER_MESSAGES_PER_S,
            bytes_per_s: SERVER_BYTES_PER_S,
            restarts: SERVER_RESTARTS,
            calls_at_once: SERVER_CALLS_AT_ONCE,
        }
    }
}

impl Terms {
    /// Whatever it says is under this influence.
    #[must_use]
    pub fn source(&self) -> Source {
        source(&self.name)
    }

    /// The same as a label.
    #[must_use]
    pub fn label(&self) -> Label {
        Label::of(self.source())
    }

    /// Who it is: another program under its name, or another address, is another server. Consent is given to one.
    #[must_use]
    pub fn identity(&self) -> Digest {
        let who = match &self.way {
            Way::Program(program) => serde_json::json!({
                "name": self.name, "command": program.command, "env": program.env,
                "folder": program.folder.as_ref().map(|folder| folder.display().to_string()),
            }),
            Way::Remote(remote) => serde_json::json!({"name": self.name, "url": remote.url}),
        };
        Digest::of(json::canonical(&who).as_bytes())
    }

    /// Where it is, for people.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.way {
            Way::Program(program) => program.command.join(" "),
            Way::Remote(remote) => remote.url.clone(),
        }
    }
}

/// The source that a server of this name is.
#[must_use]
pub fn source(server: &str) -> Source {
    Source::new(Sort::Mcp, server)
}

/// The source that its words are: names, descriptions and schemas of its tools. Who has read those has read nothing else of it.
#[must_use]
pub fn words(server: &str) -> Source {
    Source::new(Sort::Mcp, &format!("{server}.*"))
}

impl Remote {
    /// A request to it: with its secrets in their headers, and these beside them.
    ///
    /// # Errors
    /// `BadInput`, `TooBig`.
    pub fn request(
        &self,
        method: &str,
        beside: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Fetch> {
        let value = |header: &Header| format!("{}{}", header.before, marker(&header.secret));
        let own = self.headers.iter();
        let own = own.map(|header| (header.name.clone(), value(header)));
        let headers = own.chain(beside).collect();
        Fetch::new(method, &self.url, headers, body)
    }

    /// What asking it takes: its own address, with its own secrets in their headers, and nothing else.
    #[must_use]
    pub fn grant(&self) -> Grant {
        let secret = |header: &Header| SecretGrant {
            name: header.secret.clone(),
            to: self.to.clone(),
            place: Placement::Header {
                name: header.name.clone(),
                before: header.before.clone(),
            },
        };
        Grant {
            fetch: vec![self.to.clone()],
            secrets: self.headers.iter().map(secret).collect(),
            ..Grant::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_command_is_another_server() {
        let terms = |command: &[&str]| Terms {
            name: "mail".to_owned(),
            way: Way::Program(Program {
                command: command.iter().map(|word| (*word).to_owned()).collect(),
                env: BTreeMap::new(),
                path: String::new(),
                folder: None,
                beside: PathBuf::new(),
                data: Vec::new(),
            }),
            choice: Choice::default(),
            bounds: Bounds::default(),
            asks: Asks::default(),
            login: login::Terms::default(),
        };
        assert_eq!(terms(&["a", "b"]).identity(), terms(&["a", "b"]).identity());
        assert_ne!(terms(&["a", "b"]).identity(), terms(&["a b"]).identity());
        assert_eq!(terms(&["a"]).label().to_string(), "mcp:mail");
    }

    #[test]
    fn what_a_command_names_may_be_a_part_of_it() {
        let program = |command: &[&str], data: &[&str]| Program {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            env: BTreeMap::new(),
            path: String::new(),
            folder: None,
            beside: PathBuf::new(),
            data: data.iter().map(|word| (*word).to_owned()).collect(),
        };
        for (command, data, expected) in [
            (&["node", "server.js"][..], &[][..], &["server.js"][..]),
            (&["/opt/mail", "-v"], &[], &["/opt/mail", "-v"]),
            (&["node", "-r=./a.js", ""], &[], &["-r=./a.js", "./a.js"]),
            (
                &["node", "s.js", "db=x.db", "y.db"],
                &["x.db", "y.db"],
                &["s.js", "db=x.db"],
            ),
            (&["npx"], &[], &[]),
        ] {
            assert_eq!(program(command, data).parts(), expected, "{command:?}");
        }
    }

    #[test]
    fn what_is_blocked_is_not_offered_even_where_it_is_allowed() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let choice = |allow: &[&str], block: &[&str]| Choice {
            allow: names(allow),
            block: names(block),
            ..Choice::default()
        };
        assert!(choice(&[], &[]).offers("a"));
        assert!(choice(&["a"], &[]).offers("a"));
        assert!(!choice(&["a"], &[]).offers("b"));
        assert!(!choice(&["a"], &["a"]).offers("a"));
    }
}
