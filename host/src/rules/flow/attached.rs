//! Attached: files of a run's user as tools are given them, each under its name (U-43).
//!
//! They are held from the beginning and stand in no record, but for what steers a call: a run that goes on has them from
//! where they are kept, and what calls made of them stands where outcomes stand. A model was told of them, so to hold them
//! says nothing new.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::handles::{Handles, KEY, handle_in, numbered};
use crate::rules::call::Call;
use crate::rules::caller::Caller;
use crate::rules::policy::Policy;
use crate::words::attachment::Attachment;
use crate::words::limits::{OUTCOME_BYTES, STEERING_CHARS};

/// Holds each file that is there, as long as an outcome may be. What has its name already keeps it.
pub fn hold(handles: &mut Handles, files: &[Attachment]) {
    for one in files {
        if handles.get(&one.name).is_err()
            && let Some(value) = value_of(one)
        {
            // One that is too much is looked at, and given to nobody.
            let _ = handles.attach(&one.name, &value, &one.label);
        }
    }
}

/// How a tool is given a file, for whoever is told of it; nothing of one that cannot be.
#[must_use]
pub fn told(one: &Attachment) -> Option<String> {
    let name = json!({KEY: one.name});
    (fits(one) && one.content.bytes().is_some()).then(|| format!("tools take it as {name}"))
}

/// The texts of attached files that say where, whom or what a call acts on, by the names of the files: what they steer is
/// on record, and what a call is given to work with is not. Whoever looks only is steered by the files that it names.
#[must_use]
pub fn steering(call: &Call, caller: &Caller, policy: &Policy) -> BTreeMap<String, String> {
    if call.attached.is_empty() || policy.flows.classes.is_secret(&call.held) {
        return BTreeMap::new();
    }
    let is_sink = call.declared.is_sink();
    let (steers, files) = match is_sink {
        true => (super::steering(call, caller, policy), Vec::new()),
        false => (Vec::new(), super::files(call, caller, policy)),
    };
    let texts = call.attached.iter().filter_map(|place| {
        let name = handle_in(call.wish.as_ref()?.pointer(place)?)?;
        let text = call.args.value().pointer(place)?.as_str()?;
        let own = place.trim_start_matches('/');
        let steers =
            steers.iter().any(|(path, _)| path == own) || files.iter().any(|one| one == text);
        let is_short = text.chars().count() <= STEERING_CHARS;
        (steers && is_short).then(|| (name.to_owned(), text.to_owned()))
    });
    texts.collect()
}

/// A text is a text, and anything else says what it is.
fn value_of(one: &Attachment) -> Option<Value> {
    let bytes = one.content.bytes().filter(|_| fits(one))?;
    if let Some(text) = one.text() {
        return Some(text.into());
    }
    let base64 = STANDARD.encode(bytes);
    Some(json!({"name": one.name, "media": one.media.mime(), "base64": base64}))
}

fn fits(one: &Attachment) -> bool {
    usize::try_from(one.bytes).is_ok_and(|bytes| bytes <= OUTCOME_BYTES)
}

/// Gives each file a name of its own: where several came with one, all but the first are numbered, and so is one that is
/// called as something which is `held` from the runs before. What is called as the host calls handles is no longer.
pub fn name_apart(files: &mut [Attachment], held: &Handles) {
    let mut names = BTreeSet::new();
    for one in files {
        if numbered(&one.name).is_some() {
            one.name = format!("file-{}", one.name);
        }
        let said = one.name.clone();
        let (stem, ending) = said.rsplit_once('.').unwrap_or((&said, ""));
        let dot = if ending.is_empty() { "" } else { "." };
        let mut number = 2_u32;
        while held.knows(&one.name) || !names.insert(one.name.clone()) {
            one.name = format!("{stem}-{number}{dot}{ending}");
            number = number.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::handles::Naming;
    use crate::words::label::{Label, Source};

    fn file(name: &str, bytes: &[u8]) -> Attachment {
        let label = Label::of(Source::user()).with(Source::attached());
        Attachment::new(name, bytes.to_vec(), label).unwrap()
    }

    #[test]
    fn each_file_is_held_under_its_name_and_label() {
        let files = [file("a.txt", b"seen"), file("chart.gif", b"GIF89a chart")];
        let mut handles = Handles::default();
        hold(&mut handles, &files);
        let text = handles.get("a.txt").unwrap();
        assert_eq!(
            (&*text.value, &text.label),
            (&json!("seen"), &files[0].label)
        );
        let chart =
            json!({"name": "chart.gif", "media": "image/gif", "base64": "R0lGODlhIGNoYXJ0"});
        assert_eq!(*handles.get("chart.gif").unwrap().value, chart);
        assert_eq!(
            told(&files[1]).unwrap(),
            r#"tools take it as {"$handle":"chart.gif"}"#
        );
    }

    #[test]
    fn what_is_not_there_or_too_long_is_not_held_and_what_is_held_stays() {
        let mut gone = file("gone.txt", b"gone");
        gone.content = Default::default();
        let long = file("long.txt", &vec![b'a'; OUTCOME_BYTES + 1]);
        let fits = file("fits.txt", &vec![b'a'; OUTCOME_BYTES]);
        let mut handles = Handles::default();
        handles
            .hold_as("h1", &json!("held"), &Label::default())
            .unwrap();
        hold(
            &mut handles,
            &[gone.clone(), long.clone(), fits, file("h1", b"mine")],
        );
        assert!(handles.get("gone.txt").is_err() && handles.get("long.txt").is_err());
        assert!(handles.get("fits.txt").is_ok());
        assert_eq!(*handles.get("h1").unwrap().value, json!("held"));
        assert_eq!((told(&gone), told(&long)), (None, None));
    }

    #[test]
    fn names_are_told_apart() {
        let mut files =
            ["a.txt", "a.txt", "a-2.txt", "b", "b", "a.txt"].map(|name| file(name, b"x"));
        name_apart(&mut files, &Handles::default());
        let names = files.map(|one| one.name);
        assert_eq!(
            names,
            ["a.txt", "a-2.txt", "a-2-2.txt", "b", "b-2", "a-3.txt"]
        );
        let mut files = ["h1", "h18446744073709551615", "h01", "h"].map(|name| file(name, b"x"));
        name_apart(&mut files, &Handles::default());
        let names = files.clone().map(|one| one.name);
        assert_eq!(names, ["file-h1", "h18446744073709551615", "h01", "h"]);
        let mut handles = Handles::default();
        hold(&mut handles, &files);
        // The host's own names go on from the beginning.
        for name in ["h1", "h2"] {
            let held = handles.hold(Naming::Next, &json!(name), &Label::default());
            assert_eq!(held.unwrap(), name);
        }
    }

    #[test]
    fn no_file_has_the_name_of_what_the_session_holds_or_held() {
        let label = Label::default();
        let mut held = Handles::default();
        for name in ["letter", "file-h1", "b-2"] {
            held.hold_as(name, &json!("a stranger's"), &label).unwrap();
        }
        held.reserve("gone", &label);
        let said = ["letter", "letter", "h1", "gone", "b", "b", "c"];
        let mut files = said.map(|name| file(name, name.as_bytes()));
        name_apart(&mut files, &held);
        let names = [
            "letter-2",
            "letter-3",
            "file-h1-2",
            "gone-2",
            "b",
            "b-3",
            "c",
        ];
        assert_eq!(files.clone().map(|one| one.name), names);
        hold(&mut held, &files);
        for (name, said) in names.iter().zip(said) {
            assert_eq!(*held.get(name).unwrap().value, json!(said));
        }
        assert_eq!(*held.get("letter").unwrap().value, json!("a stranger's"));
    }
}
