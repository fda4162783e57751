//! Providers: models that are asked, each a pure codec behind the one egress.

mod remote;
mod scripted;

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::caller::Caller;
use crate::rules::candidate::{Accepts, Can, Candidate};
use crate::rules::codec::{Encoded, Target, Wire};
use crate::rules::context::window::Window;
use crate::rules::fetch::names_private;
use crate::rules::grant::{Destination, Grant};
use crate::rules::price::Priced;
use crate::rules::prompted::{digest, on_record};
use crate::rules::secret::{Placement, SecretGrant};
use crate::words::error::{Code, Error, Result};
use crate::words::id::Digest;
use crate::words::message::{Delta, Prompt, Reply};

/// A model as it is configured.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name in `[models]`.
    pub name: String,
    /// Who answers.
    pub provider: Provider,
    /// What its tokens cost.
    pub priced: Priced,
    /// What it can do.
    pub can: Can,
    /// What it may be told.
    pub accepts: Accepts,
    /// What it can be told at once.
    pub window: Window,
}

/// Who answers.
#[derive(Clone, Debug)]
pub enum Provider {
    /// A file of replies: for the demo, tests and replays.
    Scripted {
        /// JSON lines, one reply a line.
        script: PathBuf,
    },
    /// A server.
    Remote(Box<Remote>),
}

/// A server that answers prompts.
#[derive(Clone, Debug)]
pub struct Remote {
    /// The format it speaks.
    pub wire: Wire,
    /// Where requests go; the operator's own line of policy for them.
    pub destination: Destination,
    /// The whole URL, such as `…/v1/chat/completions`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The secret that authenticates us, by name; empty for none.
    pub secret: String,
    /// Keys of the request's body beside the host's own.
    pub extra: Map<String, Value>,
    /// One server with one key, whatever its models are called.
    pub account: String,
    /// Whether it is asked for streams.
    pub streams: bool,
    /// Characters that are kept of a call's arguments where they are too long for any tool.
    pub summary_chars: usize,
}

impl Model {
    /// What the model is sent for a prompt.
    pub(super) fn write(&self, prompt: &Prompt, streams: bool) -> Sent {
        match &self.provider {
            Provider::Scripted { .. } => Sent::Read,
            Provider::Remote(remote) => Sent::Wire(Box::new(remote.encode(prompt, streams))),
        }
    }

    /// What the prompt is known by on record.
    pub(super) fn digest(&self, prompt: &Prompt, (sent, streams): (&Sent, bool)) -> Digest {
        let again = match on_record(prompt) {
            Cow::Borrowed(_) => None,
            Cow::Owned(other) => Some((self.write(&other, streams), other)),
        };
        let (sent, prompt) = again
            .as_ref()
            .map_or((sent, prompt), |(sent, prompt)| (sent, prompt));
        match sent {
            Sent::Wire(encoded) => digest(&encoded.body),
            // Words with text as keys always have a JSON form.
            Sent::Read => digest(&serde_json::to_vec(prompt).unwrap_or_default()),
        }
    }

    /// Asks the model. Pieces are handed to `see` as they come.
    ///
    /// # Errors
    /// `ProviderFailed`, `Denied`, `TooSlow`, `TooBig`, `Cancelled`.
    pub(super) async fn ask(
        &self,
        station: &Station,
        (asking, sent): (Asking<'_>, Sent),
        mut see: impl FnMut(Delta),
    ) -> Result<Reply> {
        if let Some(recorded) = &station.recorded {
            let (reply, said) = recorded.reply();
            if said {
                see(Delta::Text(String::new()));
            }
            return reply;
        }
        let reply = match &self.provider {
            Provider::Scripted { script } => scripted::reply(script, &asking, see),
            Provider::Remote(remote) => remote::ask(remote, station, (asking, sent), see)
                .await
                .map_err(|error| self.unless_private(remote, error)),
        };
        let mut reply = reply.map_err(|error| self.with_price(error))?;
        reply.usage.cost = self.priced.cost(reply.usage);
        Ok(reply)
    }

    /// What was counted before it failed costs what it costs.
    fn with_price(&self, error: Error) -> Error {
        let Some(mut usage) = error.spent() else {
            return error;
        };
        usage.cost = self.priced.cost(usage);
        error.spending(usage)
    }

    /// A server on this machine or beside it is asked only where its table says so.
    fn unless_private(&self, remote: &Remote, error: Error) -> Error {
        let refused = error.code() == Code::Denied && !remote.destination.private;
        if !refused || !names_private(&remote.url) {
            return error;
        }
        error.hint(format!(
            "to allow it, write in `lazaret.toml`:\n[models.{}]\nprivate = true",
            self.name
        ))
    }

    /// As the chain of a run sees it.
    pub(super) fn candidate(&self) -> Candidate {
        let (provider, has_key) = match &self.provider {
            Provider::Scripted { .. } => (self.name.clone(), false),
            Provider::Remote(remote) => (remote.account.clone(), !remote.secret.is_empty()),
        };
        Candidate {
            model: self.name.clone(),
            provider,
            has_key,
            can: self.can,
            accepts: self.accepts,
        }
    }

    /// Whether it is asked for streams.
    pub(super) fn streams(&self) -> bool {
        match &self.provider {
            Provider::Scripted { .. } => true,
            Provider::Remote(remote) => remote.streams,
        }
    }
}

impl Provider {
    /// What asking it takes: its own server, with its own key in one header, and nothing else.
    pub(super) fn grant(&self) -> Grant {
        let Self::Remote(remote) = self else {
            return Grant::default();
        };
        let (name, before) = remote.wire.key();
        let key = SecretGrant {
            name: remote.secret.clone(),
            to: remote.destination.clone(),
            place: Placement::Header {
                name: name.to_owned(),
                before: before.to_owned(),
            },
        };
        Grant {
            fetch: vec![remote.destination.clone()],
            secrets: if remote.secret.is_empty() {
                Vec::new()
            } else {
                vec![key]
            },
            ..Grant::default()
        }
    }
}

impl Remote {
    /// Where it is, for people; and whose thoughts its replies hold.
    pub(super) fn place(&self) -> String {
        format!("{} at {}", self.model, self.url)
    }

    fn encode(&self, prompt: &Prompt, streams: bool) -> Encoded {
        self.wire
            .encode(&self.target(&self.place(), streams), prompt)
    }

    fn target<'a>(&'a self, by: &'a str, streams: bool) -> Target<'a> {
        Target {
            model: &self.model,
            by,
            extra: &self.extra,
            streams,
        }
    }
}

/// What a model gets.
pub(super) enum Sent {
    /// The prompt itself.
    Read,
    /// The body of a request.
    Wire(Box<Encoded>),
}

/// One question to a model.
pub(super) struct Asking<'a> {
    /// On whose behalf.
    pub(super) caller: &'a Caller,
    /// The run's tasks.
    pub(super) tasks: &'a Tasks,
    /// What it is told.
    pub(super) prompt: &'a Prompt,
    /// The turn, from 1; 0 for a question about what is held.
    pub(super) turn: u32,
    /// How often the model was asked for this reply before.
    pub(super) attempt: u32,
}
