//! What a person reads of what a handle holds: in a call that they are asked about, or before it becomes their own words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::class::Classes;
use super::handles::{Handles, handle_in};
use super::{Point, alike, brief, whole};
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::deny;
use crate::words::attachment::Attachment;
use crate::words::event::Denial;
use crate::words::id::shown;
use crate::words::inert::{narrow, visible};
use crate::words::label::Label;
use crate::words::limits::{ADOPTED_CHARS, HANDED, HANDED_CHARS};

/// What a person reads who is to make a text their own words.
///
/// # Errors
/// The denial, for a text that is too long to be read in a question, or secret.
pub fn adopting(call: &Call, caller: &Caller, classes: &Classes) -> Result<Point, Denial> {
    if classes.is_secret(&call.held) {
        let reason = format!(
            "what comes from {} stands in no question, and who has not read it cannot make it their own words",
            classes.suspects(&call.held).join(", ")
        );
        return Err(deny("flow_secret", reason));
    }
    let text = call.args.value().get("value").and_then(Value::as_str);
    let Some(text) = text.filter(|_| call.places == ["/value"]) else {
        let reason = "only what a handle holds can be made somebody's own words, and only a text";
        return Err(deny("flow_adopt", reason));
    };
    if text.chars().count() > ADOPTED_CHARS {
        let reason = format!(
            "nobody reads more than {ADOPTED_CHARS} characters in a question: take the part that matters with \
             `handle.slice`"
        );
        return Err(deny("flow_adopt", reason));
    }
    Ok(Point {
        reason: format!(
            "this text comes from {}, and would count as your own words in this run: “{}”{}",
            caller.label.join(&call.held),
            quoted(text),
            mixed(text)
        ),
        value: None,
        line: String::new(),
    })
}

/// Refuses a question about more handles than a person is shown.
///
/// # Errors
/// The denial.
pub fn check_handed(call: &Call) -> Result<(), Denial> {
    if call.places.len() <= HANDED {
        return Ok(());
    }
    let reason = format!(
        "a call of `{}` would ask a person about what more than {HANDED} handles hold",
        call.tool
    );
    Err(deny("flow_size", reason))
}

/// What a person reads of what handles bring into a call that they are asked about: to say yes to a name is to say
/// yes to anything. Of what is secret they read where it comes from: a question stands on record.
#[must_use]
pub fn handed(call: &Call, caller: &Caller, classes: &Classes) -> Vec<Point> {
    let points = call.places.iter().filter_map(|place| {
        let value = call.args.value().pointer(place)?;
        let from = caller.label.join(&call.held);
        let what = match inside(call, place, value).unless_secret(classes, &call.held) {
            Inside::Secret => {
                format!("what a handle holds, from {from}, and is not shown, since it is secret")
            }
            Inside::File { name, bytes } => {
                format!(
                    "the attached `{}`, {bytes} bytes, from {from}",
                    shown(&name)
                )
            }
            Inside::Text(text) => {
                format!("what a handle holds, from {from}: {}", beginning(&text))
            }
            Inside::Gone => "what no handle holds".to_owned(),
        };
        Some(Point {
            reason: format!("`{}` is {what}", brief(&named(place))),
            value: None,
            line: String::new(),
        })
    });
    points.collect()
}

/// What a person may read of what a handle holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Where it comes from, and no more: it is secret.
    Secret,
    /// A file that the user has attached themselves: its bytes stand in no record, and questions do.
    File {
        /// What it is called.
        name: String,
        /// How long it is.
        bytes: u64,
    },
    /// All of anything else.
    Text(String),
    /// Nothing is called so, or what was is not held any more: a call with it fails.
    Gone,
}

impl Inside {
    fn of(value: &Value) -> Self {
        Self::Text(match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        })
    }

    /// The same, where what handles bring into the call is under the influence of nothing secret.
    fn unless_secret(self, classes: &Classes, held: &Label) -> Self {
        match classes.is_secret(held) {
            true => Self::Secret,
            false => self,
        }
    }
}

fn inside(call: &Call, place: &str, value: &Value) -> Inside {
    let name = call.wish.as_ref().and_then(|wish| wish.pointer(place));
    let name = name.and_then(handle_in);
    match (name, Inside::of(value)) {
        (Some(name), Inside::Text(text)) if call.attached.iter().any(|one| one == place) => {
            Inside::File {
                name: name.to_owned(),
                bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            }
        }
        (_, all) => all,
    }
}

/// How a text begins, and how much more there is.
fn beginning(text: &str) -> String {
    let begins: String = text.chars().take(HANDED_CHARS).collect();
    let more = match text.chars().count().saturating_sub(HANDED_CHARS) {
        0 => String::new(),
        more => format!(" and {more} characters more"),
    };
    format!("“{}”{more}", quoted(&begins))
}

/// What stands in the place of a handle in a call, for a person who wants to read all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Where, as a pointer.
    pub place: String,
    /// The handle's name.
    pub handle: String,
    /// What it holds.
    pub inside: Inside,
}

/// What the handles in these arguments hold, of a run that holds so and was given these files; by the same rule as
/// [`handed`].
#[must_use]
pub fn handed_in(
    args: &Value,
    (handles, files): (&Handles, &[Attachment]),
    classes: &Classes,
) -> Vec<Handed> {
    let mut places = Vec::new();
    find(args, "", &mut places);
    let file = |name: &str| files.iter().find(|one| one.name == name);
    let named = places.iter().filter_map(|(_, name)| file(name));
    let held = named.fold(handles.label_in(args), |all, one| all.join(&one.label));
    let read = |name: &str| match handles.get(name) {
        Ok(held) => Inside::of(&held.value),
        Err(_) => file(name).map_or(Inside::Gone, |one| Inside::File {
            name: one.name.clone(),
            bytes: one.bytes,
        }),
    };
    let handed = places.iter().map(|(place, name)| Handed {
        place: place.clone(),
        handle: name.clone(),
        inside: read(name).unless_secret(classes, &held),
    });
    handed.collect()
}

/// Where handles stand, as pointers, and their names.
fn find(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    if let Some(name) = handle_in(value) {
        found.push((place.to_owned(), name.to_owned()));
        return;
    }
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                find(item, &format!("{place}/{number}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let name = key.replace('~', "~0").replace('/', "~1");
                find(item, &format!("{place}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text on one line, in which nothing ends it, and no gap is wide enough to begin another line behind it: what follows in the
/// question are our words. Tabs are written out, as they are in a value.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    let text = visible(text).replace('\t', "\\u{9}");
    for c in narrow(&text).chars() {
        match c {
            '\n' => quoted.push('↵'),
            '“' | '”' => quoted.push('"'),
            c => quoted.push(c),
        }
    }
    quoted
}

/// Its words in which letters that look like ours stand beside ours: whoever reads them reads other ones.
fn mixed(text: &str) -> String {
    let words: BTreeSet<&str> = text.split_whitespace().collect();
    let mixed = words.into_iter().map(|word| (word, alike(word)));
    let mixed = mixed.filter(|(_, said)| !said.is_empty());
    mixed
        .map(|(word, said)| format!("; `{}`{said}", whole(word)))
        .collect()
}

/// The place of an argument, for people.
pub(super) fn named(place: &str) -> String {
    match place.trim_start_matches('/') {
        "" => "all arguments".to_owned(),
        place => place.replace('/', "."),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::label::{Sort, Source};

    #[test]
    fn what_is_quoted_stays_on_its_line_and_within_its_quotes() {
        let gap = "\u{2003}".repeat(9);
        let text = format!("a\n\n\n\n? may “x” be{gap}called \r \t b");
        let quoted = quoted(&text);
        assert!(!quoted.contains(['\n', '\r', '\t', '“', '”']), "{quoted}");
        assert!(quoted.starts_with("a↵↵\\u{a×2}? may \"x\" be"), "{quoted}");
        assert!(!quoted.contains(&gap), "{quoted}");
        assert!(quoted.ends_with("called \\u{d} \\u{9} b"), "{quoted}");
    }

    #[test]
    fn a_person_reads_all_that_is_neither_secret_nor_a_file() {
        let mut handles = Handles::default();
        let web = Label::of(Source::new(Sort::Web, "https://evil.test"));
        let key = Label::of(Source::new(Sort::Secret, "key"));
        let long = "x".repeat(HANDED_CHARS + 400);
        handles.hold_as("h1", &json!(long), &web).unwrap();
        handles.hold_as("h2", &json!({"a": 1}), &web).unwrap();
        handles.hold_as("h3", &json!("hidden"), &key).unwrap();
        let file = Attachment::new("brief.txt", b"mine".to_vec(), Label::default()).unwrap();
        let inside = |args: &Value| -> Vec<(String, Inside)> {
            let given = (&handles, std::slice::from_ref(&file));
            let handed = handed_in(args, given, &Classes::default());
            let handed = handed.into_iter();
            handed.map(|one| (one.place, one.inside)).collect()
        };
        let named = |name: &str| json!({ "$handle": name });
        let at = |place: &str, inside: Inside| (place.to_owned(), inside);
        let brief = Inside::File {
            name: "brief.txt".to_owned(),
            bytes: 4,
        };
        let args =
            json!({"a/b": [named("h1"), 1, named("h2"), named("h9")], "c": named("brief.txt")});
        assert_eq!(
            inside(&args),
            [
                at("/a~1b/0", Inside::Text(long)),
                at("/a~1b/2", Inside::Text("{\"a\":1}".to_owned())),
                at("/a~1b/3", Inside::Gone),
                at("/c", brief),
            ]
        );
        // What stands beside a secret may have been made of it.
        let args = json!({"a": named("h1"), "b": named("h3"), "c": named("brief.txt")});
        let places = ["/a", "/b", "/c"].map(|place| at(place, Inside::Secret));
        assert_eq!(inside(&args), places);
        // Also beside a file that is.
        let file = Attachment::new("keys.txt", b"mine".to_vec(), key).unwrap();
        let args = json!({"a": named("h1"), "b": named("keys.txt")});
        let given = (&handles, std::slice::from_ref(&file));
        let handed = handed_in(&args, given, &Classes::default());
        assert!(handed.iter().all(|one| one.inside == Inside::Secret));
    }
}
