//! Providers: models that are asked, each a pure codec behind the one egress.

mod openai;
mod scripted;

use std::path::PathBuf;

use crate::guests::station::Station;
use crate::guests::tasks::Tasks;
use crate::rules::caller::Caller;
use crate::rules::grant::{Destination, Grant};
use crate::rules::secret::{Placement, SecretGrant};
use crate::words::error::Result;
use crate::words::message::{Delta, Prompt, Reply};

/// A model as it is configured.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name in `[models]`.
    pub name: String,
    /// Who answers.
    pub provider: Provider,
}

/// Who answers.
#[derive(Clone, Debug)]
pub enum Provider {
    /// A file of replies: for the demo, tests and replays.
    Scripted {
        /// JSON lines, one reply a line.
        script: PathBuf,
    },
    /// A server that speaks OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM.
    OpenAi {
        /// Where requests go; the operator's own line of policy for them.
        destination: Destination,
        /// `…/v1/chat/completions`.
        url: String,
        /// The model's name there.
        model: String,
        /// The secret that authenticates us, by name; empty for none.
        secret: String,
    },
}

impl Model {
    /// Asks the model. Pieces are handed to `see` as they come.
    ///
    /// # Errors
    /// `ProviderFailed`, `Denied`, `TooSlow`, `TooBig`, `Cancelled`.
    pub(super) async fn ask(
        &self,
        station: &Station,
        asking: Asking<'_>,
        see: impl FnMut(Delta),
    ) -> Result<Reply> {
        match &self.provider {
            Provider::Scripted { script } => scripted::reply(script, asking.prompt, asking.purpose),
            Provider::OpenAi { .. } => openai::ask(&self.provider, station, asking, see).await,
        }
    }
}

impl Provider {
    /// What asking it takes: its own server, with its own key in one header, and nothing else.
    pub(super) fn grant(&self) -> Grant {
        let Self::OpenAi {
            destination,
            secret,
            ..
        } = self
        else {
            return Grant::default();
        };
        let key = SecretGrant {
            name: secret.clone(),
            to: destination.clone(),
            place: Placement::Header {
                name: "authorization".to_owned(),
                before: "Bearer ".to_owned(),
            },
        };
        Grant {
            fetch: vec![destination.clone()],
            secrets: if secret.is_empty() {
                Vec::new()
            } else {
                vec![key]
            },
            ..Grant::default()
        }
    }
}

/// One question to a model.
pub(super) struct Asking<'a> {
    /// On whose behalf.
    pub(super) caller: &'a Caller,
    /// The run's tasks.
    pub(super) tasks: &'a Tasks,
    /// What it is told.
    pub(super) prompt: &'a Prompt,
    /// What for.
    pub(super) purpose: Purpose,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The next turn of a run.
    Turn,
    /// An answer about what is held.
    Consult,
}
