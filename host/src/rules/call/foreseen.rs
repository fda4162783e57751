//! What a call is likely to ask for, as far as its arguments and its manifest show it: addresses where its tool may reach
//! out, paths where it wants files, and notes where it wants nothing else.

use serde_json::Value;

use super::{Call, Within};
use crate::rules::Effect;
use crate::rules::caller::{Caller, Origin};
use crate::rules::fetch::Fetch;
use crate::rules::file::{File, FileWish, WriteMode};
use crate::rules::flow::kind::Kind;
use crate::rules::flow::lines::{Flows, ToolFlow};
use crate::rules::flow::shape::{Said, path_below, said_of, says_new};
use crate::rules::grant::{Access, Pattern};
use crate::rules::keep::{Keep, KeepWish};
use crate::rules::manifest::{EffectClass, Risk};
use crate::rules::policy::Policy;
use crate::words::error::Error;
use crate::words::event::Denial;
use crate::words::label::{Label, Source};
use crate::words::limits::POINTS;

/// An effect that a call makes likely.
pub(crate) enum Wish {
    Fetch(Fetch),
    /// One file, in each way in which it may be asked for; the first that is allowed is what counts.
    File(Vec<File>),
    Keep(Keep),
    /// An address that nothing can be sent to, and why.
    Unfit(String, Error),
}

/// A wish, and the argument that it is guessed from, where only that one's name speaks for it.
pub(crate) struct Foreseen {
    pub(crate) wish: Wish,
    pub(crate) guessed: Option<String>,
}

impl Wish {
    /// Why it would be refused, where a line could help.
    fn denied(&self, caller: &Caller, policy: &Policy) -> Option<Denial> {
        match self {
            Self::Fetch(fetch) => fetch.judge(caller, policy).err(),
            Self::File(ways) => {
                let mut judged = ways.iter().map(|file| file.judge(caller, policy));
                let first = judged.next()?.err()?;
                judged.all(|other| other.is_err()).then_some(first)
            }
            Self::Keep(keep) => keep.judge(caller, policy).err(),
            Self::Unfit(..) => None,
        }
    }
}

/// The lines that let a tool be called that no line is about, with all that its call is known to ask for then: whoever
/// writes them is not sent away again for the next one.
pub(super) fn granting(call: &Call, caller: &Caller, policy: &Policy) -> Vec<String> {
    let inner = Caller {
        origin: Origin::Tool(call.tool.clone()),
        grant: call.grant.clone(),
        known: caller
            .known
            .inside(Within::default().bearing(&call.declared)),
        ..caller.clone()
    };
    let known = foresee_all(call, &policy.flows).into_iter();
    // Whoever wishes fills no record with lines: no more is proposed for than would be asked about.
    let known = known
        .filter(|foreseen| foreseen.guessed.is_none())
        .take(POINTS);
    let denied = known.filter_map(|foreseen| foreseen.wish.denied(&inner, policy));
    let mut lines: Vec<String> = denied.flat_map(|denial| denial.allow).collect();
    let head = format!("[grants.\"{}\"]", Pattern::exactly(&call.tool));
    if !lines.contains(&head) {
        lines.push(head);
    }
    lines
}

/// Names by which tools call their paths and nothing else.
const PATH_KEYS: [&str; 2] = ["path", "paths"];
/// Names that may be those of paths, and of much else: `to` of a letter is an address.
const PERHAPS_PATH_KEYS: [&str; 5] = ["file", "folder", "source", "target", "to"];
/// Names by which tools call their addresses.
const URL_KEYS: [&str; 4] = ["url", "urls", "uri", "href"];

/// Finds addresses among the arguments, and paths where the tool wants files. What is said of an argument, by policy or
/// by its manifest, counts over what its name is. What a handle holds is shown in no row and no line.
pub(crate) fn foresee_all(call: &Call, flows: &Flows) -> Vec<Foreseen> {
    let mut seer = Seer {
        call,
        said: flows.about(&call.tool),
        ways: ways(call),
        seen: Vec::new(),
    };
    if call.places.is_empty() {
        seer.look(call.args.value(), "", "");
    }
    seer.seen.extend(notes(call));
    seer.seen
}

/// What a tool cannot do without that wants notes and nothing else.
fn notes(call: &Call) -> Option<Foreseen> {
    let wants = &call.declared.wants;
    let files = wants.mounts != Access::None;
    if files || !wants.hosts.is_empty() || !wants.calls.is_empty() || !wants.secrets.is_empty() {
        return None;
    }
    let wish = match wants.notes {
        Access::None => return None,
        Access::Read => KeepWish::Get,
        Access::Create | Access::Write => KeepWish::Put {
            text: String::new(),
            label: Label::of(Source::user()),
        },
    };
    let keep = Keep {
        shelf: call.tool.plugin().to_owned(),
        key: String::new(),
        wish,
    };
    Some(Foreseen {
        wish: Wish::Keep(keep),
        guessed: None,
    })
}

struct Seer<'a> {
    call: &'a Call,
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
        let wanted = self.call.declared.wants.mounts;
        let file = |guessed| {
            (wanted != Access::None).then(|| Foreseen {
                wish: Wish::File(files(wanted, text, &self.ways)),
                guessed,
            })
        };
        match said_of(path, self.said, &self.call.declared) {
            Said::Steers(Kind::File) => file(None),
            Said::Steers(Kind::Url) => self.address(text),
            Said::Steers(_) | Said::Content => None,
            Said::Nothing if reaches_out(self.call) && is_address(text, key) => self.address(text),
            Said::Nothing if PATH_KEYS.contains(&key) => file(None),
            Said::Nothing if PERHAPS_PATH_KEYS.contains(&key) => file(Some(path.to_owned())),
            Said::Nothing => None,
        }
    }

    fn address(&self, text: &str) -> Option<Foreseen> {
        reaches_out(self.call).then(|| Foreseen {
            wish: request(self.call, text),
            guessed: None,
        })
    }
}

/// Whether its guest may want to send anything: its class is no evidence, since it says what the tool changes.
fn reaches_out(call: &Call) -> bool {
    let declared = &call.declared;
    declared.risk != Risk::ReadOnly
        || !declared.wants.hosts.is_empty()
        || !call.grant.fetch.is_empty()
}

/// An address by its argument's name, or by how it begins: a text with one in it is none.
fn is_address(text: &str, key: &str) -> bool {
    let is_one_word = !text.contains(char::is_whitespace);
    URL_KEYS.contains(&key) || (is_one_word && text.contains("://"))
}

/// A request as egress would read it.
fn request(call: &Call, text: &str) -> Wish {
    let method = match call.declared.effect.leaves_no_trace() {
        true => "GET",
        false => "POST",
    };
    match Fetch::new(method, text, Vec::new(), Vec::new()) {
        Ok(fetch) => Wish::Fetch(fetch),
        Err(error) => Wish::Unfit(text.to_owned(), error),
    }
}

/// How a tool writes that has been told so, or any way in which it may where nothing says it. Where its manifest has words
/// for a new file, what says nothing else makes one.
fn ways(call: &Call) -> Vec<WriteMode> {
    let (args, new) = (call.args.value(), &call.declared.flow.new);
    match args.get("mode").and_then(Value::as_str) {
        Some("create") => vec![WriteMode::Create],
        Some("replace") => vec![WriteMode::Replace],
        Some("append") => vec![WriteMode::Append],
        Some(_) | None if !new.is_empty() && says_new(args, new) => vec![WriteMode::Create],
        Some(_) | None if call.declared.effect == EffectClass::Destructive => {
            vec![WriteMode::Replace]
        }
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
        // It is granted no more than it wants.
        Access::Create => vec![written(&WriteMode::Create)],
        Access::Write => ways.iter().map(written).collect(),
        Access::None | Access::Read => vec![file(FileWish::Read {
            offset: 0,
            length: 0,
        })],
    }
}
