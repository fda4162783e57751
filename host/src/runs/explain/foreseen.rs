//! What a call is likely to ask for, as far as its arguments show it: addresses where its tool may reach out, and paths
//! where it wants files.

use serde_json::{Map, Value};

use crate::guests::catalog::Tool;
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::grant::Access;
use crate::rules::manifest::Risk;
use crate::words::error::Error;
use crate::words::label::{Label, Source};

/// An effect that a call's arguments make likely.
pub(super) enum Wish {
    Fetch(Fetch),
    /// One file, in each way in which it may be asked for; the first that is allowed is what counts.
    File(Vec<File>),
    /// An address that nothing can be sent to, and why.
    Unfit(String, Error),
}

/// Names by which tools call their paths, and their addresses.
const PATH_KEYS: [&str; 7] = ["path", "paths", "file", "folder", "source", "target", "to"];
const URL_KEYS: [&str; 4] = ["url", "urls", "uri", "href"];

/// Finds addresses among the arguments, and paths where the tool wants files.
pub(super) fn foresee_all(tool: &Tool, args: &Value, see: &mut impl FnMut(Wish)) {
    let ways = args.as_object().map_or_else(|| modes(None), mode_in);
    foresee(tool, (args, "", &ways), see);
}

fn foresee(
    tool: &Tool,
    (value, key, ways): (&Value, &str, &[WriteMode]),
    see: &mut impl FnMut(Wish),
) {
    match value {
        Value::String(text) if reaches_out(tool) && is_address(text, key) => {
            see(request(tool, text));
        }
        Value::String(text)
            if PATH_KEYS.contains(&key) && tool.declared.wants.mounts != Access::None =>
        {
            see(Wish::File(files(tool.declared.wants.mounts, text, ways)));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| foresee(tool, (item, key, ways), see)),
        Value::Object(map) => map
            .iter()
            .for_each(|(key, item)| foresee(tool, (item, key, ways), see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether its guest may want to send anything: its class is no evidence, since it says what the tool changes.
fn reaches_out(tool: &Tool) -> bool {
    let declared = &tool.declared;
    declared.risk != Risk::ReadOnly
        || !declared.wants.hosts.is_empty()
        || !tool.grant.fetch.is_empty()
}

fn is_address(text: &str, key: &str) -> bool {
    text.contains("://") || URL_KEYS.contains(&key)
}

/// A request as egress would read it.
fn request(tool: &Tool, text: &str) -> Wish {
    let method = match tool.declared.effect.leaves_no_trace() {
        true => "GET",
        false => "POST",
    };
    match Fetch::new(method, text, Vec::new(), Vec::new()) {
        Ok(fetch) => Wish::Fetch(fetch),
        Err(error) => Wish::Unfit(text.to_owned(), error),
    }
}

/// How a tool writes that has been told so, or any way in which it may where it has not.
fn mode_in(args: &Map<String, Value>) -> Vec<WriteMode> {
    modes(args.get("mode").and_then(Value::as_str))
}

fn modes(said: Option<&str>) -> Vec<WriteMode> {
    match said {
        Some("create") => vec![WriteMode::Create],
        Some("replace") => vec![WriteMode::Replace],
        Some("append") => vec![WriteMode::Append],
        Some(_) | None => vec![WriteMode::Replace, WriteMode::Create],
    }
}

fn files(wanted: Access, path: &str, ways: &[WriteMode]) -> Vec<File> {
    let file = |wish| File {
        path: path.to_owned(),
        label: Label::of(Source::user()),
        wish,
    };
    let written = |mode: &WriteMode| {
        file(FileWish::Write {
            bytes: Vec::new(),
            mode: *mode,
        })
    };
    match wanted {
        Access::Create | Access::Write => ways.iter().map(written).collect(),
        Access::None | Access::Read => vec![file(FileWish::Read {
            offset: 0,
            length: 0,
        })],
    }
}
