//! `lazaret secret`: values that tools may use and never see.

mod hidden;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read};

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{Scene, print};
use crate::edges::memory;
use crate::edges::vault::{Secret as Kept, check_name};
use crate::runs::host::Setup;
use crate::surfaces::config::uses::{By, Use, uses};
use crate::surfaces::config::{Config, Surroundings};
use crate::surfaces::paint::{bad, faint, foreign, strong, table};
use crate::words::error::{Code, Error, Result, why};
use crate::words::limits::SECRET_BYTES;

/// Keep values that tools may use and never see.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret secret set github                      asks for the value, without showing it
  pass show github | lazaret secret set github   takes it from another program
  lazaret secret list                            names, and who may use which for what
  lazaret secret remove github

A tool gets nothing by this. It declares the secrets that it wants, and `lazaret.toml` says in which
requests it may place them:
  [grants.\"github.whoami\"]
  fetch = [\"https://api.github.com/\"]
  secrets = [
  { name = \"github\", to = \"https://api.github.com/\", header = \"authorization\", before = \"Bearer \" }
  ]
Instead of `header`: query = \"key\", json = \"/auth/token\", or basic = \"USER\".
An MCP server gets one by `env = { TOKEN = { secret = \"NAME\" } }` or, over HTTP, by `headers` or `login`
in its [mcp.NAME]; a collector by `headers` in [traces]. A model's key is a variable: `key_env`.

They are kept in an encrypted file in your own state folder. Its key lies beside it, or comes from
LAZARET_VAULT_PASSPHRASE if that is set. Elsewhere, in `lazaret.toml`:
  [vault]
  backend = \"desktop\"     the keyring of the desktop (GNOME, KDE, ...), asked through `secret-tool`
  backend = \"keyring\"     the keyring of the kernel: in memory, gone with the next start
  backend = \"env\"         variables LAZARET_SECRET_NAME, which are only read")]
pub(super) enum Secret {
    /// Keep a secret, or change it.
    Set {
        /// Its name, such as `github`.
        name: String,
        /// Take the value from standard input, even if that is a terminal.
        #[arg(long)]
        stdin: bool,
    },
    /// List names, and who may use them; never values.
    List,
    /// Forget a secret. From then on nobody has it, not even a run that is under way.
    Remove {
        /// Its name.
        name: String,
    },
}

impl Secret {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        // Nothing below needs what this forbids.
        memory::hide();
        match self {
            Self::Set { name, stdin } => {
                set(scene, &scene.look_at_config()?.setup, (&name, stdin)).await
            }
            Self::List => list(scene, &look(scene)?),
            Self::Remove { name } => remove(scene, &look(scene)?, &name),
        }
    }
}

/// The configuration, or where the workspace's cannot be read what holds everywhere: secrets are the user's own, and
/// what cannot be used must not keep anybody from looking at them.
fn look(scene: &Scene) -> Result<Setup> {
    let error = match scene.look_at_config() {
        Ok(config) => return Ok(config.setup),
        Err(error) => error,
    };
    let elsewhere = Surroundings {
        folder: scene.around.state.clone(),
        ..scene.around.clone()
    };
    let Ok(config) = Config::look(&elsewhere, None) else {
        return Err(error);
    };
    let what = format!("{}, so who may use them is not known here", error.message());
    print::warning(&what, "lazaret policy check");
    Ok(config.setup)
}

async fn set(scene: &Scene, setup: &Setup, (name, stdin): (&str, bool)) -> Result<u8> {
    check_name(name)?;
    let value = match std::io::stdin().is_terminal() && !stdin {
        true => hidden::typed(&format!("value of {name}:")).await?,
        false => read_value(name)?,
    };
    setup.vault.store(name, &Kept::new(value)?)?;
    if scene.json {
        print::compact(&json!({"ok": true, "name": name, "backend": setup.vault.place()}));
        return Ok(0);
    }
    print::line(format!("kept `{name}` ({})", setup.vault.place()));
    if !by_secret(setup).contains_key(name) && !scene.quiet {
        print::note(format!(
            "{}: nobody may use it yet; `lazaret secret --help` shows the lines that let a tool, or a server",
            faint("hint")
        ));
    }
    Ok(0)
}

/// The value: all of standard input but one line end. Never from the arguments: other users of the machine can read those.
fn read_value(name: &str) -> Result<String> {
    // As much as the longest has with its line end, and one byte more: where that comes, nobody knows how much would.
    let most = SECRET_BYTES.saturating_add(3);
    let mut bytes = Zeroizing::new(Vec::with_capacity(most));
    std::io::stdin()
        .take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Error::bad_input(format!("the value cannot be read: {}", why(error.kind())))
        })?;
    if bytes.len() == most {
        let what =
            format!("the secret has more than {SECRET_BYTES} bytes, the most that one may have");
        return Err(Error::new(Code::TooBig, what));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        Error::bad_input("the value is no UTF-8 text").hint("encode it, as in base64")
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        let what = "nothing was given on standard input";
        let hint = format!("pass show {name} | lazaret secret set {name}");
        return Err(Error::bad_input(what).hint(hint));
    }
    Ok(text.to_owned())
}

/// Uses by the secret that they are of.
fn by_secret(setup: &Setup) -> BTreeMap<String, Vec<Use>> {
    let mut all: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for used in uses(setup) {
        all.entry(used.secret.clone()).or_default().push(used);
    }
    all
}

fn list(scene: &Scene, setup: &Setup) -> Result<u8> {
    let (kept, uses) = (setup.vault.names()?, by_secret(setup));
    let variables = setup.vault.variables();
    let named = uses.keys().filter(|name| !variables.contains_key(*name));
    let names: BTreeSet<String> = kept.iter().chain(named).cloned().collect();
    if scene.json {
        let each = |name: &String| as_json(setup, name, (kept.contains(name), &uses));
        let own = variables.iter().map(
            |(name, variable)| json!({"name": name, "backend": "variable", "variable": variable}),
        );
        print::list(names.iter().map(each).chain(own));
        return Ok(0);
    }
    let place = setup.vault.place();
    let mut rows = Vec::new();
    for name in &names {
        let trouble = setup.vault.trouble(name).filter(|_| kept.contains(name));
        let state = match (kept.contains(name), &trouble) {
            (true, None) => faint(place),
            (true, Some(_)) => bad("cannot be read"),
            (false, _) => bad("not set"),
        };
        let used = uses.get(name).into_iter().flatten();
        let mut used = used.map(|used| {
            // Which tools there are, and what they declare, is not known here.
            let declared = match used.by {
                By::Tools(_) => ", if its manifest declares it",
                By::Server(_) | By::Traces | By::Model(_) => "",
            };
            format!("{}: {}{declared}", used.by.words(), used.place)
        });
        let first = used
            .next()
            .unwrap_or_else(|| "nobody in this configuration".to_owned());
        rows.push(vec![strong(name), state, foreign(&first)]);
        rows.extend(used.map(|more| vec![strong(""), faint(""), foreign(&more)]));
        if let Some(error) = trouble {
            let why = [&[error.message().to_owned()][..], error.hints()].concat();
            rows.push(vec![strong(""), faint(""), foreign(&why.join("; "))]);
        }
    }
    for (name, variable) in variables {
        let used = uses.get(name).and_then(|uses| uses.first());
        let by = used.map_or_else(|| "the host itself".to_owned(), |used| used.by.words());
        let what = format!("{by}, from the variable {variable}");
        rows.push(vec![strong(name), faint("variable"), foreign(&what)]);
    }
    if rows.is_empty() {
        if !scene.quiet {
            print::note("there are no secrets; `lazaret secret set NAME` keeps one");
        }
    } else {
        print::line(table(&rows).trim_end());
    }
    Ok(0)
}

fn as_json(
    setup: &Setup,
    name: &str,
    (is_set, uses): (bool, &BTreeMap<String, Vec<Use>>),
) -> Value {
    let (mut granted, mut others) = (Vec::new(), Vec::new());
    for used in uses.get(name).into_iter().flatten() {
        match &used.by {
            By::Tools(tools) => granted.push(json!({"tools": tools, "place": used.place})),
            by @ (By::Server(_) | By::Traces | By::Model(_)) => {
                others.push(json!({"by": by.words(), "place": used.place}));
            }
        }
    }
    let trouble = setup.vault.trouble(name);
    let trouble = trouble.as_ref().map(Error::message);
    json!({
        "name": name, "backend": setup.vault.place(), "set": is_set, "granted": granted, "uses": others,
        "trouble": trouble,
    })
}

fn remove(scene: &Scene, setup: &Setup, name: &str) -> Result<u8> {
    if !setup.vault.remove(name)? {
        return Err(Error::not_found(format!("secret `{name}`")).hint("lazaret secret list"));
    }
    if scene.json {
        print::compact(&json!({"ok": true, "name": name}));
    } else {
        print::line(format!("removed `{name}`"));
    }
    Ok(0)
}
