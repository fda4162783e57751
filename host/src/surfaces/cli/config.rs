//! `lazaret config`: what holds here, where it was said, and what may be said at all.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Scene, print};
use crate::surfaces::config::schema::schema;
use crate::surfaces::config::show::{OVERRULED, Shown, shown};
use crate::surfaces::paint::{faint, foreign};
use crate::words::error::{Error, Result};
use crate::words::near;

/// Look at the configuration.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret config show                              everything that holds, defaults too
  lazaret config show limits --origin              some of it, and where it was said
  lazaret config show agents.writer --json         for programs
  lazaret config show pace --set profile=sage      what a profile would change
  lazaret config schema > lazaret.schema.json      for an editor

Later places are said over earlier ones:
  defaults < profile < /etc/lazaret/lazaret.toml < ~/.config/lazaret/lazaret.toml
  < the workspace's lazaret.toml, if it is trusted < LAZARET__LIMITS__FUEL=5 < --set limits.fuel=5
What a workspace says of limits and grants adds to what you say and never takes a limit or block away.
Of limits and of how flows are judged the stricter word holds, over variables and `--set` as well.")]
pub(super) enum Config {
    /// Print what holds, key by key.
    Show(Show),
    /// Print the JSON Schema of `lazaret.toml`.
    Schema,
}

/// Print what holds, key by key.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// Only this key, or the keys of this table.
    key: Option<String>,
    /// Say where each value comes from.
    #[arg(long)]
    origin: bool,
}

impl Config {
    pub(super) fn perform(self, scene: &Scene) -> Result<u8> {
        match self {
            Self::Show(show) => show.perform(scene),
            Self::Schema => {
                print::value(&schema(), scene.json);
                Ok(0)
            }
        }
    }
}

impl Show {
    fn perform(self, scene: &Scene) -> Result<u8> {
        let mut all = shown(&scene.look_at_config()?)?;
        if let Some(key) = &self.key {
            let known = nearest(&all, key);
            all.retain(|shown| shown.is_below(key));
            if all.is_empty() {
                let missing = Error::not_found(format!("key `{}`", foreign(key)));
                return Err(match known {
                    Some(known) => missing.hint(format!("did you mean `{known}`?")),
                    None => missing.hint("`lazaret config show` lists all"),
                });
            }
        }
        for one in all.iter().filter(|_| !scene.quiet) {
            if let Some(what) = one.against() {
                print::warning(&format!("`{}`: {what}", one.origin()), OVERRULED);
            }
        }
        if scene.json {
            let all: Vec<Value> = all.iter().map(Shown::json).collect();
            print::value(&Value::Array(all), true);
            return Ok(0);
        }
        let lines: Vec<String> = all.iter().map(line).collect();
        let longest = lines.iter().map(|line| line.chars().count()).max();
        let width = longest.unwrap_or_default().min(ORIGIN_COLUMN);
        for (shown, line) in all.iter().zip(lines) {
            if self.origin {
                let origin = format!("# {}", foreign(&shown.origin()));
                print::line(format!("{line:width$}  {}", faint(origin)));
            } else {
                print::line(line);
            }
        }
        Ok(0)
    }
}

/// Where origins stand, unless the value is longer.
const ORIGIN_COLUMN: usize = 48;

/// A value is written as the file writes it; what is nowhere said and has no default is a remark.
fn line(shown: &Shown) -> String {
    let key = foreign(&shown.key());
    if shown.value.is_null() {
        return format!("# {key} is not set");
    }
    format!("{key} = {}", foreign(&shown.value.to_string()))
}

/// A key as its table and its name there.
fn parts(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// What a key was meant to be: one of the same table whose name is near, or else one that is written nearly the same.
fn nearest(all: &[Shown], key: &str) -> Option<String> {
    let known: BTreeSet<String> = all.iter().flat_map(Shown::above).collect();
    let (table, name) = parts(key);
    let beside = known.iter().map(|known| parts(known));
    let beside = beside.filter(|(other, _)| *other == table);
    match near::nearest(name, beside.map(|(_, name)| name)) {
        Some(name) if table.is_empty() => Some(name.to_owned()),
        Some(name) => Some(format!("{table}.{name}")),
        None => near::misspelt(key, known.iter().map(String::as_str)).map(str::to_owned),
    }
}
