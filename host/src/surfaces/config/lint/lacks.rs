//! What there is no way to, whatever a file grants: requests and files of components that have no import for them, and models
//! of agents that name none.

use std::collections::BTreeSet;

use super::Look;
use crate::guests::catalog::{By, Tool};
use crate::rules::grant::Grant;
use crate::runs::host::Host;
use crate::surfaces::config::file::ConfigFile;

/// Who lacks what.
#[derive(Default)]
pub(super) struct Lacks {
    /// Plugins that can send no request.
    pub(super) requests: BTreeSet<String>,
    /// Plugins that look for no file through `wasi:filesystem`.
    files: BTreeSet<String>,
    /// Agents that nobody answers.
    models: BTreeSet<String>,
}

impl Lacks {
    /// What the components of a host import says it. Of those to which nobody grants any, or which say where they send
    /// their requests, it need not be known.
    pub(super) async fn of(files: &[(String, ConfigFile)], host: &Host) -> Self {
        let mut lacks = Self::default();
        for tool in host.catalog().tools() {
            let By::Component(plugin) = &tool.by else {
                continue;
            };
            let open = tool.declared.wants.hosts.is_empty() && !tool.grant.fetch.is_empty();
            if !open && !tool.grant.wasi_files {
                continue;
            }
            let Ok(imports) = plugin.imports(host.quarantine()).await else {
                continue;
            };
            let has = |names: &[&str]| {
                imports
                    .iter()
                    .any(|import| names.contains(&name_of(import)))
            };
            if open && !has(&["lazaret:plugin/fetch", "wasi:http/outgoing-handler"]) {
                lacks.requests.insert(plugin.name.clone());
            }
            if tool.grant.wasi_files && !has(&["wasi:filesystem/types", "wasi:filesystem/preopens"])
            {
                lacks.files.insert(plugin.name.clone());
            }
        }
        // An agent that names no model asks those of this tier.
        if files.iter().all(|(_, file)| file.tiers.balanced.is_empty()) {
            let agents = host.agents().values();
            let without = agents.filter(|agent| agent.models.is_empty());
            lacks.models.extend(without.map(|agent| agent.name.clone()));
        }
        lacks
    }
}

/// An interface without its version.
fn name_of(import: &str) -> &str {
    import.split('@').next().unwrap_or_default()
}

impl Look<'_> {
    /// Agents of this file that nobody answers.
    pub(super) fn agents(&mut self) {
        let file = self.file;
        for name in file.agents.keys() {
            if !self.lacks.models.contains(name) {
                continue;
            }
            let table = format!("[agents.{name}]");
            let what = format!("{table} has no model, so each of its runs fails");
            let fix = "write `models = [\"NAME\"]` there, or `balanced` in [tiers]; `--model NAME` says it for one run";
            self.say(&table, what, fix);
        }
    }

    /// Files for components that look for none in this way.
    pub(super) fn fileless(&mut self, name: &str, about: &[&Tool], grant: &Grant) {
        let looks = |tool: &&Tool| match &tool.by {
            By::Component(plugin) => !self.lacks.files.contains(&plugin.name),
            By::Server(_) => false,
        };
        if grant.wasi_files && !about.iter().any(looks) {
            let what = format!(
                "{name} says `wasi_files = true`, and no tool of it looks for files through `wasi:filesystem`"
            );
            self.say(name, what, "leave it out");
        }
    }
}
