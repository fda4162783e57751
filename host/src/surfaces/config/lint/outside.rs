//! What a line needs outside of its file, and does not find: a request that its secret could be sent with, leave to speak
//! to this machine, a file of replies, a variable with a key. It is learned from the first run otherwise.

use std::path::Path;

use super::{Finding, Look};
use crate::edges::named;
use crate::rules::fetch::{is_open_on_the_way, names_metadata, names_private};
use crate::rules::flow::lines::Browse;
use crate::rules::grant::{Destination, Pattern};
use crate::surfaces::config::file::{ConfigFile, FetchEntry, ModelTable, RemoteTable};
use crate::surfaces::config::{has_variable, resolve};
use crate::words::id::shown;
use crate::words::limits::CONFIG_BYTES;

impl Look<'_> {
    /// All of it.
    pub(super) fn outside(&mut self) {
        let file = self.file;
        for (tools, table) in &file.grants {
            let name = format!("[grants.\"{tools}\"]");
            for entry in &table.fetch {
                let (url, private) = match entry {
                    FetchEntry::Url(url) => (url, false),
                    FetchEntry::Table(table) => (&table.url, table.private),
                };
                if !private && names_private(url) {
                    let fix = format!("write `{{ url = \"{url}\", private = true }}`");
                    self.say(&name, closed(&name, url), &fix);
                }
                if names_metadata(url) {
                    let what = format!(
                        "{name} `{}` leads to a cloud's metadata service, which no line opens",
                        shown(url)
                    );
                    self.say(&name, what, "leave it out");
                } else if is_open_on_the_way(url) {
                    let what = format!(
                        "{name} `{}` is not encrypted: who is on the way can read what is sent there, and change what comes back",
                        shown(url)
                    );
                    self.say(&name, what, "write `https://` if the server speaks it");
                }
            }
            let (Ok(pattern), Ok(grant)) =
                (Pattern::try_from(tools.clone()), resolve::grant(table))
            else {
                continue;
            };
            for secret in &grant.secrets {
                if !self.is_reached(&pattern, &secret.to) {
                    let to = secret.to.place();
                    let what = format!(
                        "{name} secrets: `{}` is for `{to}`, and no `fetch` lets these tools send anything there",
                        secret.name
                    );
                    self.say(
                        &name,
                        what,
                        &format!("write `fetch = [\"{to}\"]` beside it"),
                    );
                }
            }
        }
        let mut found = models((self.path, file));
        self.found.append(&mut found);
    }

    /// Whether a tool of these may send something to a destination, by any line.
    fn is_reached(&self, tools: &Pattern, to: &Destination) -> bool {
        let mut about = self
            .catalog
            .tools()
            .filter(|tool| tools.matches(&tool.name))
            .peekable();
        // What is about no tool is said elsewhere.
        if about.peek().is_none() || self.policy.flows.browse == Browse::Free {
            return true;
        }
        about.any(|tool| {
            let lines = self.policy.lines.iter();
            let mut lines = lines.filter(|line| line.tools.matches(&tool.name));
            lines.any(|line| line.grant.fetch.iter().any(|one| one.within(to).is_some()))
        })
    }
}

/// What the models of a file need and do not find.
pub fn models((path, file): (&str, &ConfigFile)) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, model) in &file.models {
        let table = format!("[models.{name}]");
        let missing = match model {
            ModelTable::Scripted(scripted) => {
                let script = Path::new(path).with_file_name("").join(&scripted.script);
                let read = named::read(&script, "the replies", CONFIG_BYTES);
                let missing = read.err().map(|error| {
                    let what = format!("{table} script: {}", error.message());
                    (what, "write the file, or name another one".to_owned())
                });
                missing.into_iter().collect()
            }
            ModelTable::OpenAi(remote)
            | ModelTable::Responses(remote)
            | ModelTable::Anthropic(remote)
            | ModelTable::Gemini(remote)
            | ModelTable::Ollama(remote) => of_server(&table, remote),
        };
        found.extend(missing.into_iter().map(|(what, fix)| Finding {
            file: path.to_owned(),
            line: None,
            table: table.clone(),
            what,
            fix,
        }));
    }
    found
}

fn of_server(table: &str, remote: &RemoteTable) -> Vec<(String, String)> {
    let mut missing = Vec::new();
    if !remote.private && names_private(&remote.url) {
        let fix = format!("write `private = true` in {table}");
        missing.push((closed(table, &remote.url), fix));
    }
    let variable = &remote.key_env;
    if !variable.is_empty() && !has_variable(variable) {
        let what = format!(
            "{table} key_env: the variable `{}` is not set here",
            shown(variable)
        );
        missing.push((what, format!("export {}=…", shown(variable))));
    }
    missing
}

fn closed(table: &str, url: &str) -> String {
    format!(
        "{table} `{}` is not on the public internet, and nothing is sent there without `private = true`",
        shown(url)
    )
}
