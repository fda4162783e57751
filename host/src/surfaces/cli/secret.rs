//! `lazaret secret`: values that tools may use and never see.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read};

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{Scene, print};
use crate::edges::memory;
use crate::edges::vault::{Secret as Kept, check_name};
use crate::rules::policy::Policy;
use crate::runs::host::Setup;
use crate::surfaces::paint::{bad, faint, foreign, strong, table};
use crate::words::error::{Error, Result, why};
use crate::words::limits::SECRET_BYTES;

/// Keep values that tools may use and never see.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret secret set github                      asks for the value, without showing it
  pass show github | lazaret secret set github   takes it from another program
  lazaret secret list                            names, and which tool may send which where
  lazaret secret remove github

A tool gets nothing by this. It declares the secrets that it wants, and `lazaret.toml` says in which
requests it may place them:
  [grants.\"github.whoami\"]
  fetch = [\"https://api.github.com/\"]
  secrets = [
  { name = \"github\", to = \"https://api.github.com/\", header = \"authorization\", before = \"Bearer \" }
  ]
Instead of `header`: query = \"key\", json = \"/auth/token\", or basic = \"USER\".

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
    pub(super) fn perform(self, scene: &Scene) -> Result<u8> {
        // Nothing below needs what this forbids.
        memory::hide();
        let setup = scene.look_at_config()?.setup;
        match self {
            Self::Set { name, stdin } => set(scene, &setup, &name, stdin),
            Self::List => list(scene, &setup),
            Self::Remove { name } => remove(scene, &setup, &name),
        }
    }
}

fn set(scene: &Scene, setup: &Setup, name: &str, stdin: bool) -> Result<u8> {
    check_name(name)?;
    let value = read_value(name, stdin)?;
    setup.vault.store(name, &Kept::new(value)?)?;
    if scene.json {
        print::compact(&json!({"ok": true, "name": name, "backend": setup.vault.place()}));
        return Ok(0);
    }
    print::line(format!("kept `{name}` ({})", setup.vault.place()));
    if !grants(&setup.policy).contains_key(name) && !scene.quiet {
        print::note(format!(
            "{}: no tool may use it yet; `lazaret secret --help` shows the line that lets one",
            faint("hint")
        ));
    }
    Ok(0)
}

/// The value, from a terminal without echo, or all of standard input but one line end. Never from the
/// arguments: other users of the machine can read those.
fn read_value(name: &str, stdin: bool) -> Result<String> {
    let unreadable = |error: std::io::Error| {
        Error::bad_input(format!("the value cannot be read: {}", why(error.kind())))
    };
    if std::io::stdin().is_terminal() && !stdin {
        return rpassword::prompt_password(format!("value of {name}: ")).map_err(unreadable);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    let most = u64::try_from(SECRET_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(3);
    std::io::stdin()
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        Error::bad_input("the value is no UTF-8 text").hint("encode it, as in base64")
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Lines of policy by the secret that they are about, each with its tools.
fn grants(policy: &Policy) -> BTreeMap<&str, Vec<(String, String)>> {
    let mut grants: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for line in &policy.lines {
        for secret in &line.grant.secrets {
            let what = format!("{} to {}", secret.place, secret.to.place());
            let tools = line.tools.to_string();
            grants.entry(&secret.name).or_default().push((tools, what));
        }
    }
    grants
}

fn list(scene: &Scene, setup: &Setup) -> Result<u8> {
    let (kept, grants) = (setup.vault.names()?, grants(&setup.policy));
    let named = grants.keys().map(|name| (*name).to_owned());
    let names: BTreeSet<String> = kept.iter().cloned().chain(named).collect();
    let place = setup.vault.place();
    if scene.json {
        let each = |name: &String| {
            let granted = grants.get(name.as_str()).into_iter().flatten();
            let granted: Vec<Value> = granted
                .map(|(tools, place)| json!({"tools": tools, "place": place}))
                .collect();
            let trouble = setup.vault.trouble(name);
            let trouble = trouble.as_ref().map(Error::message);
            json!({
                "name": name, "backend": place, "set": kept.contains(name), "granted": granted, "trouble": trouble,
            })
        };
        let own = setup.vault.variables().iter().map(
            |(name, variable)| json!({"name": name, "backend": "variable", "variable": variable}),
        );
        print::value(&names.iter().map(each).chain(own).collect(), true);
        return Ok(0);
    }
    let mut rows = Vec::new();
    for name in &names {
        let state = match (kept.contains(name), setup.vault.trouble(name)) {
            (true, None) => faint(place),
            (true, Some(_)) => bad("cannot be read"),
            (false, _) => bad("not set"),
        };
        let granted = grants.get(name.as_str()).cloned().unwrap_or_default();
        let mut granted = granted
            .iter()
            .map(|(tools, what)| format!("{tools}: {what}"));
        let first = granted.next().unwrap_or_else(|| "no tool".to_owned());
        rows.push(vec![strong(name), state, foreign(&first)]);
        rows.extend(granted.map(|more| vec![strong(""), faint(""), foreign(&more)]));
    }
    for (name, variable) in setup.vault.variables() {
        let what = format!("the host itself, from the variable {variable}");
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
