//! `lazaret plugin`: what a component is, wants and could do, before it may do anything.

mod diff;
mod sign;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Scene, print};
use crate::edges::state::StateFolder;
use crate::guests::cache::Cache;
use crate::guests::catalog::Offered;
use crate::guests::compile::Compiler;
use crate::guests::plugin::{Plugin as Looked, PluginBytes};
use crate::guests::station::Quarantine;
use crate::rules::grant::Access;
use crate::rules::manifest::Declared;
use crate::rules::scrub::{KnownSecrets, told};
use crate::runs::host::Host;
use crate::surfaces::paint::{cited, faint, good, phrase, shown_path, strong, table, warn};
use crate::words::clock::Clock;
use crate::words::error::{Error, Result};

/// Look at plugins.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret plugin list
  lazaret plugin inspect web              what it declares, and what it could ask for at all
  lazaret plugin check my-plugin.wasm     whether this host would take it
  lazaret plugin manifest web             all that it declares, as JSON
  lazaret plugin diff old.wasm new.wasm --fail-on breaking

Who makes plugins for others signs them, and whoever uses them names the key:
  lazaret plugin keygen mine.key          makes a key, and prints its public half
  lazaret plugin sign mail.wasm --key mine.key
  lazaret plugin verify mail.wasm --by ed25519:...
  [plugins]
  mail = { path = \"mail.wasm\", signed_by = \"ed25519:...\" }
From then on it is compiled only if that key has signed it, under its name in `[plugins]`,
and if no newer version of it was here before.")]
pub(super) enum Plugin {
    /// List the plugins that are installed.
    List,
    /// Show what a component declares, and what it could ask for at all.
    Inspect {
        /// A `.wasm` file, or the name of an installed plugin.
        plugin: String,
    },
    /// Say whether a component is a plugin that this host would take.
    Check {
        /// A `.wasm` file.
        file: PathBuf,
    },
    /// Print the manifest of a plugin, or of all that are installed, as JSON.
    Manifest {
        /// A `.wasm` file, a manifest in a `.json` file, or the name of an installed plugin.
        plugin: Option<String>,
    },
    /// Say what has changed from one manifest to another, and what may break whoever calls its tools.
    Diff(diff::Diff),
    /// Make a key that signs plugins, in a file that only you may read.
    #[command(after_help = "Examples:
  lazaret plugin keygen mine.key                  prints the public half, for `signed_by`
  lazaret plugin keygen mine.key --json")]
    Keygen {
        /// Where to; it must not be there yet.
        file: PathBuf,
    },
    /// Sign a component: its name, its version and its bytes, in a file beside it.
    Sign(sign::Sign),
    /// Say who has signed a component, and whether the signature beside it is of this file.
    Verify(sign::Verify),
}

impl Plugin {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        match self {
            Self::List => list(scene).await,
            Self::Inspect { plugin } => inspect(scene, &plugin).await,
            Self::Check { file } => check(scene, &file).await,
            Self::Manifest { plugin } => diff::manifests(scene, plugin.as_deref()).await,
            Self::Diff(diff) => diff.perform(scene).await,
            Self::Keygen { file } => sign::keygen(scene, &file),
            Self::Sign(sign) => sign.perform(scene).await,
            Self::Verify(verify) => verify.perform(scene).await,
        }
    }
}

async fn list(scene: &Scene) -> Result<u8> {
    let host = scene.open_host().await?;
    let plugins = host.catalog().plugins();
    if scene.json {
        let servers = host.catalog().servers().iter();
        let servers = servers.map(|offered| {
            json!({
                "name": offered.server.terms().name, "version": "", "digest": offered.digest,
                "from": offered.server.terms().place(), "tools": offered.tools, "outside": true,
            })
        });
        let all: Vec<Value> = plugins
            .iter()
            .map(|plugin| json!({
                "name": plugin.name, "version": plugin.manifest.version, "digest": plugin.digest,
                "from": plugin.origin.shown(), "tools": plugin.manifest.tools.len(),
            }))
            .chain(servers)
            .collect();
        print::list(all);
        return Ok(0);
    }
    let servers = host.catalog().servers().iter().map(served);
    let rows: Vec<Vec<String>> = plugins
        .iter()
        .map(|plugin| {
            vec![
                strong(&plugin.name),
                phrase(&plugin.manifest.version),
                print::counted(plugin.manifest.tools.len(), "tool"),
                faint(plugin.digest.short()),
                phrase(&plugin.origin.shown()),
            ]
        })
        .chain(servers)
        .collect();
    print::marked_line(table(&rows).trim_end());
    Ok(0)
}

/// A server among the plugins: its tools are called as theirs are.
fn served(offered: &Offered) -> Vec<String> {
    let terms = offered.server.terms();
    vec![
        strong(&terms.name),
        warn("outside"),
        print::counted(offered.tools, "tool"),
        faint(
            offered
                .digest
                .map_or_else(|| "not trusted".to_owned(), |digest| digest.short()),
        ),
        phrase(&format!("MCP server: {}", terms.place())),
    ]
}

async fn inspect(scene: &Scene, which: &str) -> Result<u8> {
    let path = Path::new(which);
    if path.extension().is_some() || which.contains('/') {
        let quarantine = quarantine(scene)?;
        let looked = look_to_show(scene, &quarantine, path).await?;
        let imports = looked.imports(&quarantine).await?;
        describe(scene, &looked, &imports);
        return Ok(0);
    }
    let host = scene.open_host().await?;
    let plugin = installed(&host, which)?;
    let imports = plugin.imports(host.quarantine()).await?;
    describe(scene, plugin, &imports);
    Ok(0)
}

/// The plugin of that name.
fn installed<'a>(host: &'a Host, name: &str) -> Result<&'a Looked> {
    let plugins = host.catalog().plugins().iter();
    let found = plugins.clone().find(|plugin| plugin.name == name);
    found.map(AsRef::as_ref).ok_or_else(|| {
        let names: Vec<&str> = plugins.map(|plugin| plugin.name.as_str()).collect();
        let hint = format!("installed: {}; or name a `.wasm` file", names.join(", "));
        Error::not_found(format!("plugin `{name}`")).hint(hint)
    })
}

async fn check(scene: &Scene, file: &Path) -> Result<u8> {
    let quarantine = quarantine(scene)?;
    let looked = look(scene, &quarantine, file).await?;
    if scene.json {
        print::value(
            &json!({"ok": true, "plugin": looked.manifest.plugin, "digest": looked.digest}),
            true,
        );
    } else {
        let tools = print::counted(looked.manifest.tools.len(), "tool");
        print::marked_line(format!(
            "{} `{}` is the plugin `{}` {} with {tools}",
            good("ok"),
            shown_path(file),
            looked.manifest.plugin,
            phrase(&looked.manifest.version)
        ));
        for tool in looked
            .manifest
            .tools
            .iter()
            .filter(|tool| tool.is_unclassified())
        {
            print::warning(
                &format!(
                    "`{}` does not declare its effect, so it counts as side-effecting and high risk",
                    tool.name
                ),
                "declare `effect` if it does less",
            );
        }
    }
    Ok(0)
}

async fn look(scene: &Scene, quarantine: &Quarantine, given: &Path) -> Result<Looked> {
    let path = scene.around.folder.join(given);
    let looking = Looked::look(quarantine, PluginBytes::File(path));
    let looked = print::while_waiting("compiling the component", scene.quiet, looking).await;
    looked.map_err(|error| about(given, &error))
}

/// The same for whoever reads what it says of itself. Where no configuration or vault can be read, nothing is known to be
/// a secret: it has been given none.
async fn look_to_show(scene: &Scene, quarantine: &Quarantine, given: &Path) -> Result<Looked> {
    let mut looked = look(scene, quarantine, given).await?;
    let known = KnownSecrets::default();
    let taught = scene
        .read_config()
        .and_then(|config| config.setup.vault.teach(&known));
    if let Err(error) = taught {
        tracing::debug!(%error, "what a component says of itself is shown as it is");
    }
    told::clean_manifest(&mut looked.manifest, &known);
    Ok(looked)
}

/// Names the file, where the error itself does not.
fn about(path: &Path, error: &Error) -> Error {
    let name = path.file_name().unwrap_or_default().display().to_string();
    let message = if error.message().contains(&name) {
        error.message().to_owned()
    } else {
        format!("`{}`: {}", path.display(), error.message())
    };
    let hints = error.hints().iter();
    hints
        .cloned()
        .fold(Error::new(error.code(), message), Error::hint)
}

/// An engine and nothing else: looking at a component needs no policy and no journal.
fn quarantine(scene: &Scene) -> Result<Quarantine> {
    let (engine, allocation) = crate::guests::engine::best()?;
    let cache = Cache::open(&StateFolder::open(&scene.around.state)?, &engine)?;
    Quarantine::new(
        (engine, allocation),
        cache,
        Compiler::new(&scene.around.program),
        Clock::system(),
    )
}

fn describe(scene: &Scene, plugin: &Looked, imports: &[String]) {
    if scene.json {
        print::value(
            &json!({
                "name": plugin.name, "digest": plugin.digest, "from": plugin.origin.shown(),
                "imports": imports, "asks": asks(imports), "manifest": plugin.manifest,
            }),
            true,
        );
        return;
    }
    let manifest = &plugin.manifest;
    print::marked_line(format!(
        "{} {}  {}",
        strong(&plugin.name),
        phrase(&manifest.version),
        faint(plugin.digest)
    ));
    print::marked_line(cited(&manifest.description));
    let asks = asks(imports);
    let asks = if asks.is_empty() {
        "nothing".to_owned()
    } else {
        asks.join(", ")
    };
    print::marked_line(format!("could ask for: {}", phrase(&asks)));
    for tool in &manifest.tools {
        print::line(format!(
            "\n{}",
            strong(format!("{}.{}", plugin.name, tool.name))
        ));
        let first = tool.description.lines().next().unwrap_or_default();
        print::marked_line(cited(first));
        print::line(format!("  {} {}", faint("effect"), effect(tool)));
        if tool.conduct.needs_approval {
            print::line(format!("  {} a person before every call", faint("asks")));
        }
        let wants = wants(tool);
        if !wants.is_empty() {
            print::marked_line(format!(
                "  {} {}",
                faint("wants"),
                phrase(&wants.join(", "))
            ));
        }
        for line in arguments(tool) {
            print::marked_line(format!("  {line}"));
        }
    }
}

/// What it says of its arguments, which counts where `[flow]` trusts the plugin.
fn arguments(tool: &Declared) -> Vec<String> {
    let flow = &tool.flow;
    let steering: Vec<String> = flow
        .steering
        .iter()
        .map(|(path, kind)| format!("{path} ({})", kind.word()))
        .collect();
    let content = flow.content.iter().chain([&flow.naming]);
    let content: Vec<&str> = content
        .map(String::as_str)
        .filter(|path| !path.is_empty())
        .collect();
    let said = [
        ("steers", steering.join(", ")),
        ("content", content.join(", ")),
    ];
    let said = said.into_iter().filter(|(_, paths)| !paths.is_empty());
    said.map(|(word, paths)| format!("{} {}", faint(word), phrase(&paths)))
        .collect()
}

/// What a component could ask for, by what it imports. What is left out of WASI leads nowhere here: clocks, random
/// numbers, standard streams, an empty environment.
fn asks(imports: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for import in imports {
        let name = import.split('@').next().unwrap_or_default();
        let asked = match (name.split_once('/'), name) {
            // An interface of types alone asks for nothing.
            (Some(("lazaret:plugin", "types")), _) => continue,
            (Some(("lazaret:plugin", ours)), _) => ours.to_owned(),
            (_, "wasi:http/outgoing-handler") => "fetch (wasi:http)".to_owned(),
            (Some(("wasi:filesystem", _)), _) => "files (wasi:filesystem)".to_owned(),
            (
                Some(("wasi:http" | "wasi:io" | "wasi:clocks" | "wasi:cli" | "wasi:random", _)),
                _,
            ) => {
                continue;
            }
            // Whatever else there is, is said as it is written.
            _ => name.to_owned(),
        };
        if !all.contains(&asked) {
            all.push(asked);
        }
    }
    all
}

fn effect(tool: &Declared) -> String {
    format!("{}, risk {}", tool.effect.word(), tool.risk.word())
}

fn wants(tool: &Declared) -> Vec<String> {
    let wants = &tool.wants;
    let mut all: Vec<String> = wants
        .hosts
        .iter()
        .map(|host| format!("fetch {host}"))
        .collect();
    if wants.mounts != Access::None {
        all.push(format!("{} files", wants.mounts.word()));
    }
    if wants.notes != Access::None {
        all.push(format!("{} notes", wants.notes.word()));
    }
    all.extend(wants.calls.iter().map(|call| format!("call {call}")));
    all.extend(
        wants
            .secrets
            .iter()
            .map(|secret| format!("secret {secret}")),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::asks;

    #[test]
    fn whoever_sends_or_writes_through_wasi_is_said_to() {
        let asks = |imports: &[&str]| {
            let imports: Vec<String> = imports.iter().map(ToString::to_string).collect();
            asks(&imports)
        };
        let idle = [
            "lazaret:plugin/types@0.1.0",
            "wasi:io/streams@0.2.6",
            "wasi:cli/environment@0.2.6",
            "wasi:http/types@0.2.12",
        ];
        assert!(asks(&idle).is_empty());
        let all = asks(&[
            "lazaret:plugin/fetch@0.1.0",
            "wasi:http/outgoing-handler@0.2.12",
            "wasi:filesystem/types@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:sockets/tcp@0.2.6",
        ]);
        let expected = [
            "fetch",
            "fetch (wasi:http)",
            "files (wasi:filesystem)",
            "wasi:sockets/tcp",
        ];
        assert_eq!(all, expected);
    }
}
