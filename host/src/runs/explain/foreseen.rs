//! What a call is likely to ask for, as far as its arguments show it: addresses where its tool may reach out, and paths
//! where it wants files.

use serde_json::{Map, Value};

use crate::guests::catalog::Tool;
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::flow::kind::Kind;
use crate::rules::flow::lines::{Flows, ToolFlow};
use crate::rules::flow::shape::{Said, path_below, said_of};
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

/// A wish, and the argument that it is guessed from, where only that one's name speaks for it.
pub(super) struct Foreseen {
    pub(super) wish: Wish,
    pub(super) guessed: Option<String>,
}

/// Names by which tools call their paths and nothing else.
const PATH_KEYS: [&str; 2] = ["path", "paths"];
/// Names that may be those of paths, and of much else: `to` of a letter is an address.
const PERHAPS_PATH_KEYS: [&str; 5] = ["file", "folder", "source", "target", "to"];
/// Names by which tools call their addresses.
const URL_KEYS: [&str; 4] = ["url", "urls", "uri", "href"];

/// Finds addresses among the arguments, and paths where the tool wants files. What is said of an argument, by policy or
/// by its manifest, counts over what its name is.
pub(super) fn foresee_all(tool: &Tool, args: &Value, flows: &Flows) -> Vec<Foreseen> {
    let ways = args.as_object().map_or_else(|| modes(None), mode_in);
    let mut seer = Seer {
        tool,
        said: flows.about(&tool.name),
        ways,
        seen: Vec::new(),
    };
    seer.look(args, "", "");
    seer.seen
}

struct Seer<'a> {
    tool: &'a Tool,
    said: Option<&'a ToolFlow>,
    ways: Vec<WriteMode>,
    seen: Vec<Foreseen>,
}

impl Seer<'_> {
    fn look(&mut self, value: &Value, path: &str, key: &str) {
        match value {
            Value::String(text) => self.seen.extend(self.wish(text, path, key)),
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.look(item, &path_below(path, &place.to_string()), key);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    self.look(item, &path_below(path, key), key);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn wish(&self, text: &str, path: &str, key: &str) -> Option<Foreseen> {
        let wanted = self.tool.declared.wants.mounts;
        let file = |guessed| {
            (wanted != Access::None).then(|| Foreseen {
                wish: Wish::File(files(wanted, text, &self.ways)),
                guessed,
            })
        };
        match said_of(path, self.said, &self.tool.declared) {
            Said::Steers(Kind::File) => file(None),
            Said::Steers(Kind::Url) => self.address(text),
            Said::Steers(_) | Said::Content => None,
            Said::Nothing if reaches_out(self.tool) && is_address(text, key) => self.address(text),
            Said::Nothing if PATH_KEYS.contains(&key) => file(None),
            Said::Nothing if PERHAPS_PATH_KEYS.contains(&key) => file(Some(path.to_owned())),
            Said::Nothing => None,
        }
    }

    fn address(&self, text: &str) -> Option<Foreseen> {
        reaches_out(self.tool).then(|| Foreseen {
            wish: request(self.tool, text),
            guessed: None,
        })
    }
}

/// Whether its guest may want to send anything: its class is no evidence, since it says what the tool changes.
fn reaches_out(tool: &Tool) -> bool {
    let declared = &tool.declared;
    declared.risk != Risk::ReadOnly
        || !declared.wants.hosts.is_empty()
        || !tool.grant.fetch.is_empty()
}

/// An address by its argument's name, or by how it begins: a text with one in it is none.
fn is_address(text: &str, key: &str) -> bool {
    let is_one_word = !text.contains(char::is_whitespace);
    URL_KEYS.contains(&key) || (is_one_word && text.contains("://"))
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
