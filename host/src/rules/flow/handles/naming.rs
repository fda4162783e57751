//! What a card names of who was behind the value that is held.
//!
//! It names what whoever wished knew without it: what they were under the influence of, what the cards of the handles say
//! that they gave, the tool itself, and all that it could have read by its grant. Which of that it has read, and who had a
//! hand in what it found there, are not named: whoever lets a held value choose between two files would have as much of it
//! spelled out as they like, call by call, by who is named.

use serde_json::Value;
use url::Url;

use super::handle_in;
use crate::rules::call::Call;
use crate::rules::grant::{Access, Grant};
use crate::rules::policy::Policy;
use crate::rules::server;
use crate::words::label::{Label, Sort, Source};

/// The sources that a card names of an outcome of this call, of which whoever wished it knew those.
#[must_use]
pub fn named(call: &Call, known: &Label, label: &Label) -> Label {
    let own = [
        Source::new(Sort::Tool, call.tool.as_str()),
        server::source(call.tool.plugin()),
    ];
    // Whether a tool is of a server, and has a source, is the same for each of its calls.
    let own = own
        .into_iter()
        .filter(|one| label.covers(&Label::of(one.clone())));
    let wish = call.wish.as_ref().unwrap_or(call.args.value());
    let mut plain = Vec::new();
    texts(wish, &mut plain);
    let all = own.chain(within(&call.grant, &plain));
    all.fold(known.clone(), |all, one| all.with(one))
}

/// What a call with these arguments could read by this grant.
#[must_use]
pub fn readable(grant: &Grant, wish: &Value) -> Label {
    let mut plain = Vec::new();
    texts(wish, &mut plain);
    let all = within(grant, &plain).into_iter();
    all.fold(Label::default(), |label, one| label.with(one))
}

/// What a guest could read: of its mounts and addresses those alone that stand in plain arguments, where some do.
fn within(grant: &Grant, plain: &[&str]) -> Vec<Source> {
    let stands = |mount: &&str| {
        plain
            .iter()
            .any(|text| text.split('/').next() == Some(mount))
    };
    let mounts: Vec<&str> = grant.mounts.iter().map(|one| &*one.mount).collect();
    let meant: Vec<&str> = mounts.iter().copied().filter(stands).collect();
    let mounts = match meant.is_empty() {
        true => mounts,
        false => meant,
    };
    let mut all: Vec<Source> = mounts.into_iter().map(Policy::mount_source).collect();
    if !grant.fetch.is_empty() {
        let meant: Vec<Source> = plain.iter().filter_map(|text| origin(text)).collect();
        match meant.is_empty() {
            true => all.extend(grant.fetch.iter().filter_map(|line| origin(&line.place()))),
            false => all.extend(meant),
        }
    }
    if grant.notes > Access::None {
        all.push(Source::new(Sort::Note, "*"));
    }
    all
}

fn origin(text: &str) -> Option<Source> {
    let url = Url::parse(text).ok()?;
    let is_page = matches!(url.scheme(), "http" | "https");
    is_page.then(|| Source::new(Sort::Web, &url.origin().ascii_serialization()))
}

/// The texts of arguments, beside those that handles bring.
fn texts<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(map) if handle_in(value).is_none() => {
            map.values().for_each(|item| texts(item, all));
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a card has named.
#[must_use]
pub(super) fn on(card: &Value) -> Label {
    let said = card.get("label").and_then(Value::as_array);
    let said = said.into_iter().flatten().filter_map(Value::as_str);
    let sources = said.filter_map(|text| Source::try_from(text.to_owned()).ok());
    sources.fold(Label::default(), |label, source| label.with(source))
}
