//! Uses: who gets which secret, and where it stands, of all that a configuration can say: grants of tools, MCP servers
//! and logins there, the collector of traces, keys of models. Names, never values.

use crate::edges::vault::Vault;
use crate::rules::secret::SecretGrant;
use crate::rules::server::{Terms, Variable, Way};
use crate::runs::host::Setup;
use crate::runs::provider::Provider;

/// One use of one secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The secret.
    pub secret: String,
    /// Who gets it.
    pub by: By,
    /// Where it stands then.
    pub place: String,
}

/// Who gets a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// These tools, in requests of theirs.
    Tools(String),
    /// The MCP server of this name.
    Server(String),
    /// Whom runs are told to.
    Traces,
    /// Whoever answers as this model.
    Model(String),
}

impl By {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Tools(tools) => tools.clone(),
            Self::Server(name) => format!("MCP server {name}"),
            Self::Traces => "traces".to_owned(),
            Self::Model(name) => format!("model {name}"),
        }
    }

    /// The table that says so.
    #[must_use]
    pub fn table(&self) -> String {
        match self {
            Self::Tools(tools) => format!("[grants.\"{tools}\"]"),
            Self::Server(name) => format!("[mcp.{name}]"),
            Self::Traces => "[traces]".to_owned(),
            Self::Model(name) => format!("[models.{name}]"),
        }
    }
}

/// All uses, in the order of the tables above.
#[must_use]
pub fn uses(setup: &Setup) -> Vec<Use> {
    let mut all = Vec::new();
    for line in &setup.policy.lines {
        let tools = line.tools.to_string();
        let of = |secret| in_requests(secret, By::Tools(tools.clone()));
        all.extend(line.grant.secrets.iter().map(of));
    }
    setup
        .servers
        .iter()
        .for_each(|terms| of_server(terms, &mut all));
    if let Some(collector) = &setup.places.collector {
        let grant = collector.grant();
        let of = |secret| in_requests(secret, By::Traces);
        all.extend(grant.secrets.iter().map(of));
    }
    for (name, model) in &setup.models {
        if let Provider::Remote(remote) = &model.provider
            && !remote.secret.is_empty()
        {
            all.push(Use {
                secret: remote.secret.clone(),
                by: By::Model(name.clone()),
                place: "its key".to_owned(),
            });
        }
    }
    all
}

fn in_requests(secret: &SecretGrant, by: By) -> Use {
    Use {
        secret: secret.name.clone(),
        by,
        place: format!("{} to {}", secret.place, secret.to.place()),
    }
}

fn of_server(terms: &Terms, all: &mut Vec<Use>) {
    let mut add = |secret: &str, place: String| {
        all.push(Use {
            secret: secret.to_owned(),
            by: By::Server(terms.name.clone()),
            place,
        });
    };
    match &terms.way {
        Way::Program(program) => {
            for (name, variable) in &program.env {
                if let Variable::Secret(secret) = variable {
                    add(secret, format!("variable {name}"));
                }
            }
        }
        Way::Remote(remote) => {
            for header in &remote.headers {
                let to = remote.to.place();
                add(&header.secret, format!("header {} to {to}", header.name));
            }
        }
    }
    if let Some(secret) = &terms.login.secret {
        add(secret, "login".to_owned());
    }
}

/// A secret that is named and not kept: what the matter is, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unkept {
    /// Whose use of it.
    pub by: By,
    /// What is the matter.
    pub what: String,
    /// What to do.
    pub fix: String,
}

/// Uses of secrets that nobody keeps. What stands in a variable of the environment is looked for elsewhere.
#[must_use]
pub fn unkept(uses: &[Use], vault: &Vault) -> Vec<Unkept> {
    let kept = vault.names().unwrap_or_default();
    let own = vault.variables();
    let missing = uses.iter().filter(|used| {
        !own.contains_key(&used.secret)
            && !kept.contains(&used.secret)
            && !vault.keeps(&used.secret)
    });
    missing
        .map(|used| {
            let name = &used.secret;
            Unkept {
                by: used.by.clone(),
                what: format!(
                    "{} {}: the secret `{name}` is not kept",
                    used.by.table(),
                    used.place
                ),
                fix: vault.how_to_have(name),
            }
        })
        .collect()
}
