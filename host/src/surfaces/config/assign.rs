//! Variables and flags: `LAZARET__LIMITS__FUEL=5` and `--set limits.fuel=5`.
//!
//! They are the user's own words, for one process. Each is a layer of its own with one value in it, so that it goes
//! through the same parser and the same rules as a line of a file, and an error names it. What they can never hold is
//! a secret, since no key of the configuration does.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::layer::{Keys, Layer, Place};
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::limits::{ASSIGNED_BYTES, ASSIGNED_KEYS, ASSIGNMENTS};

/// What a variable's name begins with.
const PREFIX: &str = "LAZARET__";

/// The layers of what a process was given, variables first.
///
/// # Errors
/// `BadInput` for a name or value that is none; `TooBig`.
pub(super) fn layers(
    variables: &[(OsString, OsString)],
    flags: &[String],
    folder: &Path,
) -> Result<Vec<Layer>> {
    let mut variables: Vec<_> = variables.iter().filter(|(name, _)| is_ours(name)).collect();
    // Their order in the environment is nobody's choice.
    variables.sort();
    let count = variables.len().saturating_add(flags.len());
    if count > ASSIGNMENTS {
        return Err(Error::too_many(
            "the number of variables `LAZARET__…` and flags `--set`",
            ASSIGNMENTS,
            count,
        ));
    }
    let variables = variables
        .into_iter()
        .map(|(name, value)| variable(name, value));
    let layers = variables.chain(flags.iter().map(|text| flag(text)));
    layers.map(|layer| Ok(layer?.at(folder))).collect()
}

/// Whether a variable is one of these.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

fn variable(name: &OsStr, value: &OsStr) -> Result<Layer> {
    let text = |what: &OsStr| {
        what.to_str().map(str::to_owned).ok_or_else(|| {
            let name = name.to_string_lossy();
            Error::bad_input(format!("the variable `{}` is no UTF-8 text", shown(&name)))
        })
    };
    let (name, value) = (text(name)?, text(value)?);
    let place = Place::Variable(shown(&name));
    let keys: Keys = name
        .strip_prefix(PREFIX)
        .unwrap_or_default()
        .split("__")
        .map(str::to_lowercase)
        .collect();
    let hint = "write `LAZARET__LIMITS__SCRIPT_CALLS=5` for `[limits] script_calls`";
    layer(place, &keys, &value, hint)
}

fn flag(text: &str) -> Result<Layer> {
    let hint = "write `--set limits.script_calls=5`";
    let Some((written, value)) = text.split_once('=') else {
        let what = format!("`--set {}` has no `=`", shown(text));
        return Err(Error::bad_input(what).hint(hint));
    };
    let place = Place::Flag(shown(written.trim()));
    let keys = keys_of(written).unwrap_or_default();
    layer(place, &keys, value, hint)
}

/// The names of a dotted key, as TOML has them.
fn keys_of(written: &str) -> Option<Keys> {
    if written.len() > ASSIGNED_BYTES || written.contains(['\n', '\r', '#']) {
        return None;
    }
    let text = format!("{} = 0", written.trim());
    let table = DeTable::parse(&text).ok()?;
    let mut keys = Keys::new();
    let mut table = table.get_ref();
    loop {
        let (key, value) = table.iter().next()?;
        keys.push(key.get_ref().to_string());
        let DeValue::Table(inner) = value.get_ref() else {
            return Some(keys);
        };
        table = inner;
    }
}

fn layer(place: Place, keys: &[String], value: &str, hint: &str) -> Result<Layer> {
    if keys.is_empty() || keys.len() > ASSIGNED_KEYS || keys.iter().any(String::is_empty) {
        return Err(Error::bad_input(format!("`{place}` names no key")).hint(hint));
    }
    if matches!(keys.first().map(String::as_str), Some("secret" | "secrets")) {
        let what = format!("`{place}`: secrets are no part of the configuration");
        return Err(Error::bad_input(what).hint("`lazaret secret set NAME` keeps one"));
    }
    if value.len() > ASSIGNED_BYTES {
        let what = format!("the value of `{place}`");
        return Err(Error::too_big(&what, ASSIGNED_BYTES, value.len()));
    }
    let value = value_of(value).map_err(|why| {
        Error::bad_input(format!("`{place}`: {why}"))
            .hint("values are written as in the file; a word needs no quotes")
    })?;
    Ok(Layer::of_value(place, keys, value))
}

/// A value as TOML has it; what is none, and does not begin like one, is a text.
fn value_of(text: &str) -> std::result::Result<Value, String> {
    let text = text.trim();
    let parsed = ValueDeserializer::parse(text).and_then(Value::deserialize);
    match parsed {
        Ok(value) => Ok(value),
        Err(error) if text.starts_with(['"', '\'', '[', '{']) => Err(error.message().to_owned()),
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let table: toml::Table = toml::from_str(expected).unwrap();
        assert_eq!(flag(text).unwrap().table, table, "{text}");
    }

    #[test]
    fn a_flag_is_a_line_of_the_file() {
        check("limits.fuel=5", "limits.fuel = 5");
        check("limits . fuel = 5", "limits.fuel = 5");
        check(
            "grants.\"files.*\".notes=write",
            "[grants.\"files.*\"]\nnotes = \"write\"",
        );
        check("block=[\"web.*\"]", "block = [\"web.*\"]");
        check("unattended=deny", "unattended = \"deny\"");
        check(
            "agents.a.instructions=be brief = good",
            "agents.a.instructions = \"be brief = good\"",
        );
        check(
            "agents.a.instructions=\"5\"",
            "agents.a.instructions = \"5\"",
        );
        check("chain.restart_step=true", "chain.restart_step = true");
    }

    #[test]
    fn a_value_is_one_value_and_nothing_behind_it() {
        // What would be two lines of a file is one text, which no number's key takes.
        check(
            "limits.fuel=5\n[grants.\"*\"]",
            "limits.fuel = \"5\\n[grants.\\\"*\\\"]\"",
        );
        for text in [
            "limits.fuel",
            "=5",
            ".=5",
            "a..b=5",
            "a b=5",
            "a\nb=5",
            "[a]\nb=5",
            "a#=5",
            "#a\nb=5",
            "a={",
            "secrets.x=y",
        ] {
            assert!(flag(text).is_err(), "{text}");
        }
        let deep = ["a"; ASSIGNED_KEYS + 1].join(".");
        assert!(flag(&format!("{deep}=1")).is_err());
        let nested = format!("a={}", "[".repeat(10_000));
        assert!(flag(&nested).is_err());
        let long = format!("a={}", "x".repeat(ASSIGNED_BYTES + 1));
        assert!(flag(&long).unwrap_err().message().contains("too big"));
    }

    #[test]
    fn a_variable_has_two_underscores_between_its_names() {
        let of = |name: &str, value: &str| variable(name.as_ref(), value.as_ref());
        let layer = of("LAZARET__LIMITS__SCRIPT_CALLS", "7").unwrap();
        assert_eq!(
            layer.table,
            toml::from_str("limits.script_calls = 7").unwrap()
        );
        for name in [
            "LAZARET__",
            "LAZARET____A",
            "LAZARET__A__",
            "LAZARET__SECRET__X",
        ] {
            let error = of(name, "canary").unwrap_err();
            assert!(error.message().contains(name), "{error}");
            assert!(!error.message().contains("canary"), "{error}");
        }
        for name in [
            "LAZARET_LOG",
            "LAZARET_SECRET_X",
            "LAZARET_VAULT_PASSPHRASE",
        ] {
            assert!(!is_ours(name.as_ref()), "{name}");
        }
    }
}
